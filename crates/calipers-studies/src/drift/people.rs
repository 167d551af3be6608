//! Rows that depend on each other: people with several rows, on one day or on both.

use calipers::{Drift, Error, Input, LsEce, Sample};

use super::cases::normal;
use super::size::{COVERAGE, SIZE};
use super::{DRAWS, Run, Share, rows_in_words};
use crate::replicates::{replicates, seed_of, uniform};
use crate::summary::extent;
use crate::table::full;
use crate::{Agreement, Page, Setting, Table};

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(500, 4);
    page.heading("Rows that depend on each other");
    page.text(&format!(
        "People have 1 to 40 rows each, whose scores and outcomes have something in common, and some are in both samples. \
         Each line has {n_runs} runs: once with the people as clusters, and once as if all rows were independent. People \
         with nothing in common have independent rows. The interval of the difference is left out where its truth is not \
         known.",
    ));
    let mut table = Table::new([
        "people",
        "in each sample",
        "how",
        "size, outcomes",
        "size, value",
        "coverage, odds ratio",
        "coverage, difference",
    ]);
    let mut csv = Table::new([
        "people",
        "before",
        "after",
        "by_cluster",
        "runs",
        "is_changed",
        "outcomes_found",
        "value_found",
        "odds_ratio_covered",
        "difference_covered",
    ]);
    let mut sizes = [Vec::new(), Vec::new()];
    for (place, people) in ALL.iter().enumerate().take(setting.pick(ALL.len(), 1)) {
        for (which, (by_cluster, how)) in [(true, "by cluster"), (false, "by row")].into_iter().enumerate() {
            let seed = seed_of(setting.random_state, 8300, place as u64);
            let runs: Vec<Run> = replicates(n_runs, |run| people.run(by_cluster, seed_of(seed, 0, run)))?;
            let found = [0, 1].map(|test| Share::found(&runs, test));
            let covers = [0, 1].map(|interval| Share::of(&runs, |run| run.covers[interval]));
            let is_changed = people.shift != 0.0;
            if !is_changed {
                sizes[which].push(found[0].value);
            }
            let find = |test: usize| match is_changed {
                true => format!("{} (power)", found[test].in_words()),
                false => found[test].judged(SIZE),
            };
            let cover = |interval: usize| covers[interval].map_or(String::new(), |share| share.judged(COVERAGE));
            let numbers = rows_in_words(people.n.map(|n| n as usize));
            table.row([people.name.to_owned(), numbers, how.to_owned(), find(0), find(1), cover(0), cover(1)]);
            let value = |share: Option<Share>| share.map_or(String::new(), |share| full(share.value));
            csv.row([
                people.name.to_owned(),
                people.n[0].to_string(),
                people.n[1].to_string(),
                by_cluster.to_string(),
                n_runs.to_string(),
                is_changed.to_string(),
                full(found[0].value),
                full(found[1].value),
                value(covers[0]),
                value(covers[1]),
            ]);
        }
    }
    page.table(&table);
    page.csv("people", &csv);
    let [by_cluster, by_row] = sizes.map(|sizes| extent(sizes.into_iter()));
    page.finding(
        Agreement::Noted,
        &format!(
            "If rows of one person depend on each other, the size of the test of outcomes is {:.3} to {:.3} with people \
             as clusters, and up to {:.3} if rows are taken to be independent.",
            by_cluster.0, by_cluster.1, by_row.1
        ),
    );
    Ok(())
}

/// People, and what they do.
pub(super) struct People {
    pub(super) name: &'static str,
    /// Before and after; where they are shared, people are the same.
    pub(super) n: [u64; 2],
    are_shared: bool,
    /// Rows of one person, at most.
    most_rows: u64,
    /// The standard deviation of what all rows of a person have in common, in logits: of scores and
    /// of outcomes.
    common: [f64; 2],
    /// Of the truth against the scores.
    affine: (f64, f64),
    /// How far all logits of the truth are moved after.
    pub(super) shift: f64,
}

/// People whose rows have much in common, and who are calibrated on average over all of them.
const PEOPLE: People = People {
    name: "",
    n: [100, 100],
    are_shared: false,
    most_rows: 20,
    common: [1.0, 1.0],
    affine: (0.0, 1.0),
    shift: 0.0,
};

pub(super) const ALL: &[People] = &[
    People { name: "people", n: [40, 40], ..PEOPLE },
    People { name: "people", n: [200, 200], ..PEOPLE },
    People { name: "the same people", n: [40, 40], are_shared: true, ..PEOPLE },
    People { name: "the same people", n: [200, 200], are_shared: true, ..PEOPLE },
    People {
        name: "the same people, overconfident",
        are_shared: true,
        most_rows: 40,
        common: [0.5, 1.5],
        affine: (0.4, 0.6),
        ..PEOPLE
    },
    People { name: "people with nothing in common", n: [300, 300], most_rows: 5, common: [0.0, 0.0], ..PEOPLE },
    People { name: "people, changed", shift: 0.7, ..PEOPLE },
    People { name: "the same people, changed", are_shared: true, shift: 0.7, ..PEOPLE },
];

/// Rows of one sample.
struct Rows {
    logits: Vec<f64>,
    outcomes: Vec<bool>,
    people: Vec<u32>,
}

impl People {
    fn rows(&self, side: usize, seed: u64) -> Rows {
        let mut rows = Rows { logits: Vec::new(), outcomes: Vec::new(), people: Vec::new() };
        let first = if self.are_shared { 0 } else { side as u64 * self.n[0] };
        for person in first..first + self.n[side] {
            let of_person = |what: u64| normal(seed_of(seed, 1 + what, 0), person);
            let own = seed_of(seed, 10 + side as u64, person);
            let n = 1 + (uniform(own, 0) * self.most_rows as f64) as u64;
            for row in 0..n {
                let h = self.common[0] * of_person(0) + normal(own, 1_000 + row);
                let (intercept, slope) = self.affine;
                let moved = if side == 1 { self.shift } else { 0.0 };
                let truth = intercept + slope * h + self.common[1] * of_person(1) + moved;
                rows.logits.push(h);
                rows.outcomes.push(uniform(own, 10_000 + row) < 1.0 / (1.0 + (-truth).exp()));
                rows.people.push(person as u32);
            }
        }
        rows
    }

    pub(super) fn run(&self, by_cluster: bool, seed: u64) -> Result<Run, Error> {
        let [before, after] = [0, 1].map(|side| self.rows(side, seed));
        let checked = [&before, &after].map(|rows| Input::logits(&rows.logits, &rows.outcomes).check());
        let [one, other] = checked;
        let (one, other) = (one?, other?);
        let (one, other) = (one.binary()?, other.binary()?);
        let samples = [(&one, &before), (&other, &after)].map(|(view, rows)| match by_cluster {
            true => Sample::from(view).clusters(&rows.people),
            false => Sample::from(view),
        });
        let measure = LsEce::new();
        let found = Drift::new(&measure).n_resamples(DRAWS).random_state(seed).run(samples[0], samples[1])?;
        let truth = (self.shift == 0.0).then_some(0.0);
        Ok(Run::new(&found, truth, truth))
    }
}
