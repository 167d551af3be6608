//! How often a change is found as it grows.

use calipers::Error;
use calipers::population::{Logits, Truth};
use calipers_report::{Axis, Chart, Series};

use super::cases::{Case, Law};
use super::{Run, Share, rows_in_words};
use crate::replicates::{replicates, seed_of};
use crate::table::full;
use crate::{Agreement, Page, Setting, Table};

/// Rows of each sample.
const ROWS: [usize; 3] = [500, 2_000, 10_000];

/// A change of the log-odds that grows.
struct Kind {
    name: &'static str,
    /// What grows.
    strength: &'static str,
    truth: fn(f64) -> Truth,
    strengths: [f64; 4],
}

fn kinds() -> [Kind; 3] {
    [
        Kind {
            name: "shift",
            strength: "shift of the log-odds",
            truth: |strength| Truth::Affine { intercept: strength, slope: 1.0 },
            strengths: [0.1, 0.2, 0.4, 0.8],
        },
        Kind {
            name: "slope",
            strength: "1 - slope of the log-odds",
            truth: |strength| Truth::Affine { intercept: 0.0, slope: 1.0 - strength },
            strengths: [0.1, 0.2, 0.35, 0.5],
        },
        Kind {
            name: "bump",
            strength: "shift of the log-odds between 0.5 and 1.5",
            truth: |strength| Truth::Piecewise { edges: vec![0.5, 1.5], shifts: vec![0.0, strength, 0.0] },
            strengths: [0.2, 0.4, 0.8, 1.2],
        },
    ]
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(500, 4);
    page.heading("Power");
    page.text(&format!(
        "The model is calibrated before; log-odds of predictions are normal with mean -0.3 and deviation 1.7. After, the \
         log-odds of outcomes are shifted, their slope is smaller than 1, or they are raised only where those of \
         predictions are between 0.5 and 1.5, which is true of one row in six. Each point has {n_runs} pairs of samples \
         with the same number of rows. Lines are the test of outcomes; the table has the test of the value, too.",
    ));
    let law = Law::Logits(Logits::Normal { mean: -0.3, deviation: 1.7 });
    let mut csv = Table::new(["change", "strength", "rows", "runs", "outcomes_found", "value_found"]);
    let mut found_at = Vec::new();
    for (number, kind) in kinds().into_iter().enumerate() {
        let mut chart = Chart::new(format!("Power against a {}", kind.name))
            .x(Axis::log(kind.strength))
            .y(Axis::linear("share of runs with p <= 0.05").range(0.0, 1.0))
            .size(640.0, 420.0)
            .horizontal_rule(0.05, "0.05");
        let names = ROWS.iter().flat_map(|n| {
            let rows = rows_in_words([*n, *n]);
            [format!("outcomes, {rows} rows"), format!("value, {rows} rows")]
        });
        let mut table = Table::new([kind.strength.to_owned()].into_iter().chain(names));
        let mut lines = vec![Vec::new(); ROWS.len()];
        let strengths = setting.pick(&kind.strengths[..], &kind.strengths[3..]);
        for (place, strength) in strengths.iter().enumerate() {
            let truth = (kind.truth)(*strength);
            let case = Case::new("plain", kind.name, [&law, &law], [&Truth::CALIBRATED, &truth], None)?;
            let mut cells = vec![strength.to_string()];
            for (which, n) in ROWS.into_iter().enumerate().take(setting.pick(ROWS.len(), 1)) {
                let seed = seed_of(setting.random_state, 8200 + number as u64, (10 * place + which) as u64);
                let runs: Vec<Run> = replicates(n_runs, |run| case.run(None, [n, n], seed_of(seed, 0, run)))?;
                let [outcomes, value] = [0, 1].map(|test| Share::found(&runs, test));
                lines[which].push((*strength, outcomes.value));
                cells.extend([outcomes.in_words(), value.in_words()]);
                csv.row([
                    kind.name.to_owned(),
                    full(*strength),
                    n.to_string(),
                    n_runs.to_string(),
                    full(outcomes.value),
                    full(value.value),
                ]);
            }
            table.row(cells);
        }
        for (which, line) in lines.into_iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let least = line.iter().find(|(_, share)| *share >= 0.8).map(|(strength, _)| *strength);
            found_at.push((kind.name, ROWS[which], least));
            let name = format!("{} rows in each sample", rows_in_words([ROWS[which]; 2]));
            chart = chart.add(Series::line(name, line).colour(which));
        }
        page.figure(&format!("power-{}", kind.name), &chart, &format!("Power of the test of outcomes: {}.", kind.name));
        page.table(&table);
    }
    page.csv("power", &csv);
    let words = |(name, n, least): &(&str, usize, Option<f64>)| match least {
        Some(strength) => format!("a {name} of {strength} with {} rows", rows_in_words([*n, *n])),
        None => format!("no {name} of the table with {} rows", rows_in_words([*n, *n])),
    };
    let all: Vec<String> = found_at.iter().map(words).collect();
    page.finding(
        Agreement::Noted,
        &format!(
            "The smallest changes of the tables that the test of outcomes finds in at least 80 % of runs are {}, each in \
             each sample.",
            all.join(", ")
        ),
    );
    Ok(())
}
