//! Whether two samples are told apart as often as stated: size of the tests of `Drift`, coverage of
//! its intervals, and power, on data whose truth is known.

mod cases;
mod clusters;

use calipers::simulate::LsEceTable;
use calipers::{Change, Drift, Error, Input, LsEce, Sample};

use crate::replicates::{replicates, seed_of};
use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};
use cases::Case;

/// A size at 5 % shall be in here.
const SIZE: (f64, f64) = (0.03, 0.07);

/// The coverage of a 95 % interval shall be in here.
const COVERAGE: (f64, f64) = (0.92, 0.98);

/// Draws of each run: with so many, a level of 5 % is met exactly.
const DRAWS: u64 = 39;

/// What one run shows.
struct Run {
    /// Whether the tests at 5 % find a change: of outcomes at equal predictions, and of the value.
    finds: [bool; 2],
    /// Whether the intervals hold the truth: of the difference, and of the odds ratio where there
    /// is one for all predictions.
    covers: [Option<bool>; 2],
}

/// Shares of runs.
struct Shares {
    finds: [f64; 2],
    covers: [Option<f64>; 2],
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

impl Shares {
    fn of(runs: &[Run]) -> Self {
        let share = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is(run)).count() as f64 / runs.len() as f64;
        Shares {
            finds: [0, 1].map(|test| share(&|run: &Run| run.finds[test])),
            covers: [0, 1].map(|interval| {
                let known = runs.iter().all(|run| run.covers[interval].is_some());
                known.then(|| share(&|run: &Run| run.covers[interval] == Some(true)))
            }),
        }
    }

    /// The cells of a table: sizes where nothing has changed, else powers, and coverages.
    fn cells(&self, is_changed: bool, n_runs: u64) -> Vec<String> {
        let size = |share: f64| if is_changed { fixed(share, 3) } else { judged(share, SIZE, n_runs) };
        let coverage = |share: Option<f64>| share.map_or(String::new(), |share| judged(share, COVERAGE, n_runs));
        vec![size(self.finds[0]), size(self.finds[1]), coverage(self.covers[0]), coverage(self.covers[1])]
    }
}

/// Bold where it is outside of the target by more than two standard errors.
fn judged(share: f64, target: (f64, f64), n_runs: u64) -> String {
    let text = fixed(share, 3);
    if is_outside(share, target, n_runs) { format!("**{text}**") } else { text }
}

fn is_outside(share: f64, (least, most): (f64, f64), n_runs: u64) -> bool {
    let error = |target: f64| 2.0 * (target * (1.0 - target) / n_runs as f64).sqrt();
    share < least - error(least) || share > most + error(most)
}

/// The page of the study.
pub(crate) fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("drift", "Whether two samples are told apart as often as stated", setting);
    page.text(
        "Pairs of samples from distributions whose truth is known, most of which no constant of the method was chosen \
         on. The tests are at 5 %, the intervals at 95 %. *Curve* is the test of whether outcomes at equal predictions \
         have changed, *value* that of whether residual LS-ECE has. Sizes are in bold where they are outside 3 to 7 %, \
         and coverages where they are outside 92 to 98 %, by more than two standard errors of so many runs.",
    );
    independent(&mut page, setting)?;
    clusters::section(&mut page, setting)?;
    Ok(page)
}

fn independent(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let sizes: &[[usize; 2]] = setting.pick(&[[200, 200], [2_000, 2_000], [200, 20_000]], &[[200, 200]]);
    let n_runs = setting.pick(1_000, 8);
    page.heading("Independent rows");
    page.text(&format!(
        "{n_runs} runs each, with {DRAWS} draws. *Calibrated* and *miscalibrated*: the same distribution before and after. \
         *Other scores*: the same outcome rates at equal predictions, and another distribution of predictions. \
         *Changed*: outcomes differ, and the columns of the tests are their power."
    ));
    let head = ["predictions", "outcomes", "rows", "curve", "value", "interval of difference", "interval of odds ratio"];
    let mut table = Table::new(head);
    let mut csv = Table::new(["predictions", "outcomes", "n_before", "n_after", "n_runs", "curve", "value", "difference", "log_odds"]);
    let (mut outside, mut n_cells) = (Vec::new(), 0);
    let all = cases::all()?;
    for (place, case) in all.iter().enumerate().take(setting.pick(usize::MAX, 3)) {
        let tables = case.tables()?;
        for (which, [before, after]) in sizes.iter().enumerate() {
            let seed = |run: u64| seed_of(setting.random_state, 100 + (8 * place + which) as u64, run);
            let runs = replicates(n_runs, |run| one(case, tables.as_ref(), [*before, *after], seed(run)))?;
            let shares = Shares::of(&runs);
            let rows = if before == after { before.to_string() } else { format!("{before} and {after}") };
            let place = format!("{}, {}, {rows} rows", case.predictions, case.outcomes);
            outside.extend(failures(&shares, case.is_changed, n_runs, &place));
            n_cells += 1;
            let first = [case.predictions.to_owned(), case.outcomes.to_owned(), rows];
            table.row(first.into_iter().chain(shares.cells(case.is_changed, n_runs)));
            let first = [case.predictions, case.outcomes].map(str::to_owned);
            let numbers = [before.to_string(), after.to_string(), n_runs.to_string()];
            let found = shares.finds.map(full).into_iter();
            let covers = shares.covers.map(|share| share.map_or(String::new(), full));
            csv.row(first.into_iter().chain(numbers).chain(found).chain(covers));
        }
    }
    page.table(&table);
    page.finding(Agreement::seen_if(outside.is_empty()), &summary(&outside, n_cells));
    page.csv("independent", &csv);
    Ok(())
}

/// What is outside of its target, in words.
fn failures(shares: &Shares, is_changed: bool, n_runs: u64, place: &str) -> Vec<String> {
    let mut all = Vec::new();
    let sizes = shares.finds.iter().zip(["curve", "value"]).filter(|_| !is_changed);
    for (share, test) in sizes.filter(|(share, _)| is_outside(**share, SIZE, n_runs)) {
        all.push(format!("size of the {test} test {} ({place})", fixed(*share, 3)));
    }
    let covers = shares.covers.iter().zip(["difference", "odds ratio"]);
    for (share, what) in covers.filter_map(|(share, what)| Some(((*share)?, what))) {
        if is_outside(share, COVERAGE, n_runs) {
            all.push(format!("coverage of the {what} {} ({place})", fixed(share, 3)));
        }
    }
    all
}

fn summary(outside: &[String], n_cells: usize) -> String {
    let which = if outside.is_empty() { "none".to_owned() } else { outside.join("; ") };
    format!("Of {n_cells} cells, outside of the targets by more than two standard errors: {which}.")
}

fn weighted<'a>(input: Input<'a>, weights: Option<&'a [f64]>) -> Input<'a> {
    match weights {
        Some(weights) => input.weights(weights),
        None => input,
    }
}

/// One pair of samples.
fn one(case: &Case, tables: Option<&[LsEceTable; 2]>, sizes: [usize; 2], seed: u64) -> Result<Run, Error> {
    let [before, after] = [0, 1].map(|side| case.populations[side].sample(sizes[side], seed_of(seed, 1, side as u64)));
    let weights = [0, 1].map(|side| cases::weights(sizes[side], seed_of(seed, 2, side as u64)));
    let measure = LsEce::new();
    let drift = Drift::new(&measure).n_resamples(DRAWS).random_state(seed);
    let weights = weights.each_ref().map(|weights| case.is_weighted.then_some(&weights[..]));
    let (before, after) = (weighted(before.input(), weights[0]).check()?, weighted(after.input(), weights[1]).check()?);
    let found = drift.run(Sample::from(&before.binary()?), Sample::from(&after.binary()?))?;
    let sigma = found.before.estimate.settings.number("sigma").unwrap_or(f64::NAN);
    let difference = tables.map_or(0.0, |[before, after]| after.at(sigma) - before.at(sigma));
    Ok(Run::new(&found, Some(difference), case.log_odds))
}
