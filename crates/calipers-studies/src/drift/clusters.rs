//! Rows that depend on each other: people with several rows, on one day or on both.

use calipers::{Drift, Error, Input, LsEce, Sample};

use super::cases::normal;
use super::{DRAWS, Run, Shares, failures, summary};
use crate::replicates::{replicates, seed_of, uniform};
use crate::{Agreement, Page, Setting, Table};

/// People, and what they do.
struct People {
    name: &'static str,
    /// Before and after; where they are shared, people are the same.
    n: [u64; 2],
    are_shared: bool,
    /// Rows of one person, at most.
    most_rows: u64,
    /// The standard deviation of what all rows of a person have in common, in logits: of scores and
    /// of outcomes.
    common: [f64; 2],
    /// Of the truth against the scores.
    affine: (f64, f64),
    /// How far all logits of the truth are moved after.
    shift: f64,
}

const ALL: &[People] = &[
    People { name: "calibrated", n: [40, 40], are_shared: false, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.0 },
    People { name: "calibrated", n: [200, 200], are_shared: false, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.0 },
    People { name: "the same people", n: [40, 40], are_shared: true, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.0 },
    People { name: "the same people", n: [200, 200], are_shared: true, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.0 },
    People { name: "miscalibrated, the same people", n: [100, 100], are_shared: true, most_rows: 40, common: [0.5, 1.5], affine: (0.4, 0.6), shift: 0.0 },
    People { name: "miscalibrated", n: [50, 300], are_shared: false, most_rows: 10, common: [1.5, 0.7], affine: (0.4, 0.6), shift: 0.0 },
    People { name: "5 % events, predicted too high", n: [200, 200], are_shared: false, most_rows: 10, common: [0.7, 0.8], affine: (-3.0, 1.0), shift: 0.0 },
    People { name: "nothing in common", n: [300, 300], are_shared: false, most_rows: 5, common: [0.0, 0.0], affine: (0.0, 1.0), shift: 0.0 },
    People { name: "changed", n: [100, 100], are_shared: false, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.7 },
    People { name: "changed, the same people", n: [100, 100], are_shared: true, most_rows: 20, common: [1.0, 1.0], affine: (0.0, 1.0), shift: 0.7 },
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
            let of_person = |what: u64| normal(seed_of(seed, 1, what), person);
            let own = seed_of(seed, 2 + side as u64, person);
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

    fn run(&self, by_cluster: bool, seed: u64) -> Result<Run, Error> {
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

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_runs = setting.pick(1_000, 8);
    page.heading("Clusters");
    page.text(&format!(
        "People have 1 to so many rows each, of which scores and outcomes have something in common; *the same people* \
         have rows before and after. {n_runs} runs each by clusters. *By rows* is the curve test of the same rows without their \
         clusters."
    ));
    let head = ["people", "before and after", "rows of each", "curve", "value", "interval of difference", "interval of odds ratio", "curve, by rows"];
    let mut table = Table::new(head);
    let mut outside = Vec::new();
    let all = &ALL[..setting.pick(ALL.len(), 3)];
    for (place, people) in all.iter().enumerate() {
        let seed = |run: u64| seed_of(setting.random_state, 500 + place as u64, run);
        let shares = Shares::of(&replicates(n_runs, |run| people.run(true, seed(run)))?);
        let by_rows = Shares::of(&replicates(setting.pick(200, 8), |run| people.run(false, seed(run)))?);
        let is_changed = people.shift != 0.0;
        let where_ = format!("{}, {} and {} people", people.name, people.n[0], people.n[1]);
        outside.extend(failures(&shares, is_changed, n_runs, &where_));
        let first = [people.name.to_owned(), format!("{} and {}", people.n[0], people.n[1]), format!("1 to {}", people.most_rows)];
        let by_rows = crate::table::fixed(by_rows.finds[0], 3);
        table.row(first.into_iter().chain(shares.cells(is_changed, n_runs)).chain([by_rows]));
    }
    page.table(&table);
    page.finding(Agreement::seen_if(outside.is_empty()), &summary(&outside, all.len()));
    Ok(())
}
