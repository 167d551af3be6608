//! How often `Drift` finds a change that is not there, and how often its intervals hold the truth:
//! a table of sizes, coverages and powers on distributions whose truth is known.
//!
//! ```text
//! cargo run --release -p calipers-studies --example drift -- [RUNS] [WORDS]
//! ```
//! WORDS select the lines that have one of them. Size at 5 % shall be 3 to 7 %, coverage of 95 %
//! intervals 92 to 98 %; a star marks what is outside by more than two standard errors.

mod cases;
mod clusters;
mod random;

use calipers::simulate::LsEceTable;
use calipers::{Change, Drift, Error, Input, LsEce, Sample};
use rayon::prelude::*;

use cases::Case;
use random::seed_of;

/// A size at 5 % shall be in here.
const SIZE: (f64, f64) = (0.03, 0.07);

/// The coverage of a 95 % interval shall be in here.
const COVERAGE: (f64, f64) = (0.92, 0.98);

/// Draws of each run: with so many, a level of 5 % is met exactly.
const DRAWS: u64 = 39;

/// Rows before and after.
const SIZES: [[usize; 2]; 3] = [[200, 200], [2_000, 2_000], [200, 20_000]];

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let n_runs = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let words: Vec<String> = arguments.collect();
    println!(
        "| sample | rows | curve | value | interval of difference | interval of odds ratio |\n|---|---|---|---|---|---|"
    );
    let is_wanted = |line: &str| words.is_empty() || words.iter().any(|word| line.contains(word.as_str()));
    for (place, case) in cases::all()?.iter().enumerate() {
        for (which, sizes) in SIZES.into_iter().enumerate() {
            let name = format!("{}, {} | {} and {}", case.predictions, case.outcomes, sizes[0], sizes[1]);
            if is_wanted(&name) {
                let tables = case.tables()?;
                let seed = |run: u64| seed_of(100 + (8 * place + which) as u64, run);
                show(&name, [case.is_changed, !case.is_same], n_runs, |run| {
                    one(case, tables.as_ref(), sizes, seed(run))
                })?;
            }
        }
    }
    for (place, people) in clusters::ALL.iter().enumerate() {
        for (by_cluster, how) in [(true, "by cluster"), (false, "by row")] {
            let name = format!("{how}: {} | {} and {} people", people.name, people.n[0], people.n[1]);
            if is_wanted(&name) {
                let seed = |run: u64| seed_of(500 + place as u64, run);
                show(&name, [people.shift != 0.0; 2], n_runs, |run| people.run(by_cluster, seed(run)))?;
            }
        }
    }
    Ok(())
}

/// What one run shows.
struct Run {
    /// Whether the tests at 5 % find a change: of outcomes at equal predictions, and of the value.
    finds: [bool; 2],
    /// Whether the intervals hold the truth: of the difference, and of the odds ratio.
    covers: [Option<bool>; 2],
}

impl Run {
    fn new(found: &Change, difference: Option<f64>, log_odds: Option<f64>) -> Self {
        let holds = |interval: &calipers::Interval, truth: f64| (interval.lower..=interval.upper).contains(&truth);
        Run {
            finds: [found.curve.p_value, found.p_value].map(|p| p <= 0.05 + 1e-12),
            covers: [
                difference.map(|truth| holds(&found.interval, truth)),
                log_odds.map(|truth| holds(&found.curve.interval, truth)),
            ],
        }
    }
}

/// Prints a line of the table; `is_changed` is whether the curve and the value truly differ.
fn show(
    name: &str,
    is_changed: [bool; 2],
    n_runs: u64,
    run: impl Fn(u64) -> Result<Run, Error> + Sync + Send,
) -> Result<(), Error> {
    let runs: Vec<Run> = (0..n_runs).into_par_iter().map(run).collect::<Result<_, _>>()?;
    let share = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is(run)).count() as f64 / n_runs as f64;
    let judged = |share: f64, (least, most): (f64, f64)| {
        let error = |target: f64| 2.0 * (target * (1.0 - target) / n_runs as f64).sqrt();
        let is_outside = share < least - error(least) || share > most + error(most);
        format!("{share:.3}{}", if is_outside { "*" } else { "" })
    };
    let find = |test: usize| {
        let share = share(&|run| run.finds[test]);
        if is_changed[test] { format!("{share:.3} (power)") } else { judged(share, SIZE) }
    };
    let cover = |interval: usize| match runs.iter().all(|run| run.covers[interval].is_some()) {
        true => judged(share(&|run| run.covers[interval] == Some(true)), COVERAGE),
        false => String::new(),
    };
    println!("| {name} | {} | {} | {} | {} |", find(0), find(1), cover(0), cover(1));
    Ok(())
}

/// One pair of samples.
fn one(case: &Case, tables: Option<&[LsEceTable; 2]>, sizes: [usize; 2], seed: u64) -> Result<Run, Error> {
    let [before, after] = [0, 1].map(|side| case.populations[side].sample(sizes[side], seed_of(seed, side as u64)));
    let weights = [0, 1].map(|side| cases::weights(sizes[side], seed_of(seed, 2 + side as u64)));
    let weights = weights.each_ref().map(|weights| case.is_weighted.then_some(&weights[..]));
    let (before, after) = (weighted(before.input(), weights[0]).check()?, weighted(after.input(), weights[1]).check()?);
    let measure = LsEce::new();
    let drift = Drift::new(&measure).n_resamples(DRAWS).random_state(seed);
    let found = drift.run(Sample::from(&before.binary()?), Sample::from(&after.binary()?))?;
    let sigma = found.before.estimate.settings.number("sigma").unwrap_or(f64::NAN);
    let difference = tables.map_or(0.0, |[before, after]| after.at(sigma) - before.at(sigma));
    Ok(Run::new(&found, Some(difference), case.log_odds))
}

fn weighted<'a>(input: Input<'a>, weights: Option<&'a [f64]>) -> Input<'a> {
    match weights {
        Some(weights) => input.weights(weights),
        None => input,
    }
}
