//! Rows that depend on each other: people with several rows, on one day or on both.

use calipers::{Drift, Error, Input, LsEce, Sample};

use crate::random::{normal, seed_of, uniform};
use crate::{DRAWS, Run};

/// People, and what they do.
pub(crate) struct People {
    pub(crate) name: &'static str,
    /// Before and after; where they are shared, people are the same.
    pub(crate) n: [u64; 2],
    are_shared: bool,
    /// Rows of one person, at most.
    most_rows: u64,
    /// The standard deviation of what all rows of a person have in common, in logits: of scores and
    /// of outcomes.
    common: [f64; 2],
    /// Of the truth against the scores.
    affine: (f64, f64),
    /// How far all logits of the truth are moved after.
    pub(crate) shift: f64,
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

pub(crate) const ALL: &[People] = &[
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
    People {
        name: "people, overconfident",
        n: [50, 300],
        most_rows: 10,
        common: [1.5, 0.7],
        affine: (0.4, 0.6),
        ..PEOPLE
    },
    People {
        name: "people, 5 % events",
        n: [200, 200],
        most_rows: 10,
        common: [0.7, 0.8],
        affine: (-3.0, 1.0),
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
            let of_person = |what: u64| normal(seed_of(seed, 1 + what), person);
            let own = seed_of(seed_of(seed, 10 + side as u64), person);
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

    pub(crate) fn run(&self, by_cluster: bool, seed: u64) -> Result<Run, Error> {
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
