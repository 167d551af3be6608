//! Size of the tests and coverage of the intervals.

use calipers::Error;

use super::cases::{self, Case};
use super::{Run, Share, rows_in_words};
use crate::replicates::{replicates, seed_of};
use crate::summary::extent;
use crate::table::full;
use crate::{Agreement, Page, Setting, Table};

/// A size at 5 % shall be in here.
pub(super) const SIZE: (f64, f64) = (0.03, 0.07);

/// The coverage of a 95 % interval shall be in here.
pub(super) const COVERAGE: (f64, f64) = (0.92, 0.98);

/// Rows before and after: these for plain predictions, and the second for others.
const SIZES: [[usize; 2]; 4] = [[500, 500], [2_000, 2_000], [10_000, 10_000], [500, 10_000]];

/// What is counted over all cells of a kind.
#[derive(Default)]
struct Counted {
    values: Vec<f64>,
    n_outside: usize,
}

impl Counted {
    fn add(&mut self, share: Share, target: (f64, f64)) {
        self.values.push(share.value);
        self.n_outside += usize::from(share.is_outside(target));
    }

    /// As "0.030 to 0.060 in 12 cells, of which 1 is outside 0.03 to 0.07".
    fn in_words(&self, (least, most): (f64, f64)) -> String {
        let (lower, upper) = extent(self.values.iter().copied());
        let outside = match self.n_outside {
            0 => "none".to_owned(),
            n => n.to_string(),
        };
        format!(
            "{lower:.3} to {upper:.3} over {} cells, of which {outside} {} outside {least} to {most} by more than two \
             standard errors",
            self.values.len(),
            if self.n_outside > 1 { "are" } else { "is" }
        )
    }
}

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(500, 10);
    page.heading("Size and coverage");
    page.text(&format!(
        "Each line has {n_runs} runs. *Size* is how often a test at 5 % finds a change that is not there; asked are 0.03 \
         to 0.07. *Coverage* is how often a 95 % interval holds the truth; asked are 0.92 to 0.98. What is outside by \
         more than two standard errors is in bold. Where the predictions differ, so do the values of LS-ECE, and where \
         outcomes have changed, both tests should find it: these shares are powers, marked as such.",
    ));
    let mut table = Table::new([
        "predictions",
        "outcomes",
        "rows in each sample",
        "size, outcomes",
        "size, value",
        "coverage, odds ratio",
        "coverage, difference",
    ]);
    let mut csv = Table::new([
        "predictions",
        "outcomes",
        "rows_before",
        "rows_after",
        "runs",
        "outcomes_found",
        "is_changed",
        "value_found",
        "is_value_changed",
        "odds_ratio_covered",
        "difference_covered",
    ]);
    let (mut sizes, mut of_value, mut odds_ratio) = (Counted::default(), Counted::default(), Counted::default());
    let (mut calibrated, mut others) = (Counted::default(), Counted::default());
    for (place, case) in cases::all()?.iter().enumerate() {
        let is_run = |which: &usize| match (setting.quick, case.predictions) {
            (false, "plain") => true,
            (false, _) => *which == 1 && !case.is_changed,
            (true, shape) => *which == 0 && shape == "plain" && case.is_same,
        };
        let sizes_of_case: Vec<usize> = (0..SIZES.len()).filter(is_run).collect();
        let tables = if sizes_of_case.is_empty() { None } else { case.tables()? };
        for which in sizes_of_case {
            let rows = SIZES[which];
            let seed = seed_of(setting.random_state, 8100 + place as u64, which as u64);
            let runs: Vec<Run> = replicates(n_runs, |run| case.run(tables.as_ref(), rows, seed_of(seed, 0, run)))?;
            let found = [0, 1].map(|test| Share::found(&runs, test));
            let covers = [0, 1].map(|interval| Share::of(&runs, |run| run.covers[interval]));
            let is_changed = [case.is_changed, !case.is_same];
            let [of_odds, of_difference] = covers;
            if !case.is_changed {
                sizes.add(found[0], SIZE);
            }
            if case.is_same {
                of_value.add(found[1], SIZE);
            }
            of_odds.iter().for_each(|share| odds_ratio.add(*share, COVERAGE));
            let of_kind = if case.outcomes == "both calibrated" { &mut calibrated } else { &mut others };
            of_difference.iter().for_each(|share| of_kind.add(*share, COVERAGE));
            add_rows(&mut table, &mut csv, case, rows, n_runs, (found, is_changed, covers));
        }
    }
    page.table(&table);
    page.csv("size", &csv);
    page.finding(Agreement::Noted, &format!("The size of the test of outcomes at 5 % is {}.", sizes.in_words(SIZE)));
    page.finding(
        Agreement::Noted,
        &format!("The coverage of the 95 % interval of the odds ratio is {}.", odds_ratio.in_words(COVERAGE)),
    );
    page.finding(
        Agreement::Noted,
        &format!(
            "The coverage of the 95 % interval of the difference of LS-ECE is {}, if both samples are calibrated. In \
             all other cases it is {}.",
            calibrated.in_words(COVERAGE),
            others.in_words(COVERAGE)
        ),
    );
    page.finding(
        Agreement::Noted,
        &format!("The size of the test of the value, where both values are equal, is {}.", of_value.in_words(SIZE)),
    );
    page.text(
        "Why the interval of the difference is too wide where both samples are calibrated: LS-ECE is an integral of \
         absolute values, and noise adds to it. How much depends on the gaps that are there: a sample without visible \
         gaps may have none, in which case noise adds the most, or many small ones, in which case it adds less. The rows \
         do not tell these cases apart, so that the interval of each value covers all of them, and the interval of the \
         difference is wider than one that knew both models to be calibrated. A narrower interval would be too narrow \
         for two models with small gaps of different sizes. So the question whether anything has changed is left to \
         the test of outcomes, which needs no such allowance.",
    );
    Ok(())
}

type Shares = ([Share; 2], [bool; 2], [Option<Share>; 2]);

fn add_rows(table: &mut Table, csv: &mut Table, case: &Case, rows: [usize; 2], n_runs: u64, shares: Shares) {
    let (found, is_changed, covers) = shares;
    let find = |test: usize| match is_changed[test] {
        true => format!("{} (power)", found[test].in_words()),
        false => found[test].judged(SIZE),
    };
    let cover = |interval: usize| covers[interval].map_or(String::new(), |share| share.judged(COVERAGE));
    let names = [case.predictions.to_owned(), case.outcomes.to_owned()];
    table.row(names.iter().cloned().chain([rows_in_words(rows), find(0), find(1), cover(0), cover(1)]));
    let value = |share: Option<Share>| share.map_or(String::new(), |share| full(share.value));
    csv.row(names.into_iter().chain([
        rows[0].to_string(),
        rows[1].to_string(),
        n_runs.to_string(),
        full(found[0].value),
        is_changed[0].to_string(),
        full(found[1].value),
        is_changed[1].to_string(),
        value(covers[0]),
        value(covers[1]),
    ]));
}
