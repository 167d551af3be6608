//! Rows as probabilities with outcomes and weights: what measures on [0, 1] read.

use std::ops::Range;

use rayon::prelude::*;

use crate::Error;
use crate::link::{Link, Logistic};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::predictions::{BinaryView, Rows, Scale};

/// A view whose scores are read as probabilities, and whose weights are divided by the largest.
pub(crate) struct Probabilities<'a> {
    view: &'a BinaryView<'a>,
    link: &'a dyn Link,
    largest_weight: f64,
}

/// Rows of one probability, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Group {
    pub(crate) p: f64,
    /// Sum of the weights, of which the largest is 1.
    pub(crate) weight: f64,
    /// That of outcome 1.
    pub(crate) positive: f64,
    pub(crate) n: u64,
}

impl<'a> Probabilities<'a> {
    pub(crate) fn new(view: &'a BinaryView<'a>, link: &'a dyn Link) -> Result<Self, Error> {
        match view.len() {
            0 => Err(Error::NoRows),
            _ => Ok(Probabilities { view, link, largest_weight: view.largest_weight() }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.view.len()
    }

    /// How far a probability can be from that of the raw score it was computed from.
    pub(crate) fn error(&self) -> f64 {
        match self.view.scale() {
            Scale::Probability => 0.0,
            // Scores far from 0 are rounded by more, but there the slope p(1 - p) is small.
            Scale::LogOdds | Scale::Link => 2f64.powi(-48) + self.view.score_error(1.0),
        }
    }

    /// Copies some rows, with scores as probabilities.
    pub(crate) fn read(&self, range: Range<usize>, rows: &mut Rows) {
        self.view.read(range, rows);
        if self.view.is_weighted() {
            rows.weights.iter_mut().for_each(|weight| *weight /= self.largest_weight);
        }
        match self.view.scale() {
            Scale::Probability => {}
            Scale::LogOdds => rows.scores.iter_mut().for_each(|score| *score = Logistic.response(*score)),
            Scale::Link => rows.scores.iter_mut().for_each(|score| *score = self.link.response(*score)),
        }
    }

    /// All rows.
    pub(crate) fn all(&self) -> Rows {
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |range| {
            let mut rows = Rows::default();
            self.read(range, &mut rows);
            rows
        });
        let mut all = Rows::default();
        for chunk in chunks {
            all.outcomes.extend(chunk.outcomes);
            all.scores.extend(chunk.scores);
            all.weights.extend(chunk.weights);
        }
        all
    }

    /// Rows in the order of their probabilities, equal ones together, those without weight left out.
    ///
    /// Equal probabilities are added up in the order of weight, so that the order of rows changes no bit.
    pub(crate) fn groups(&self) -> Result<Vec<Group>, Error> {
        let rows = self.all();
        let groups = if self.view.is_weighted() { weighted_groups(rows) } else { plain_groups(rows) };
        if groups.is_empty() {
            return Err(Error::ZeroWeights { n_rows: self.len() as u64 });
        }
        Ok(groups)
    }
}

/// Sorted as integers: the bits of a number in [0, 1] are in the order of its value, and the first of them is 0, which makes
/// room for the outcome. Counts are exact.
fn plain_groups(rows: Rows) -> Vec<Group> {
    // -0.0 + 0.0 is 0.0, whose bits are the smallest.
    let key = |(p, outcome): (&f64, &bool)| ((p + 0.0).to_bits() << 1) | u64::from(*outcome);
    let mut keys: Vec<u64> = rows.scores.iter().zip(&rows.outcomes).map(key).collect();
    keys.par_sort_unstable();
    let mut groups: Vec<Group> = Vec::new();
    for key in keys {
        let (p, positive) = (f64::from_bits(key >> 1), (key & 1) as f64);
        match groups.last_mut() {
            Some(last) if last.p == p => {
                last.weight += 1.0;
                last.positive += positive;
                last.n += 1;
            }
            _ => groups.push(Group { p, weight: 1.0, positive, n: 1 }),
        }
    }
    groups
}

fn weighted_groups(rows: Rows) -> Vec<Group> {
    let Rows { scores, outcomes, weights } = rows;
    let mut sorted: Vec<(f64, f64, bool)> =
        scores.into_iter().zip(weights).zip(outcomes).map(|((p, weight), y)| (p + 0.0, weight, y)).collect();
    sorted.retain(|row| row.1 > 0.0);
    sorted.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let groups = sorted.chunk_by(|a, b| a.0 == b.0);
    groups
        .map(|rows| Group {
            p: rows[0].0,
            weight: rows.iter().map(|row| row.1).collect::<Sum>().value(),
            positive: rows.iter().filter(|row| row.2).map(|row| row.1).collect::<Sum>().value(),
            n: rows.len() as u64,
        })
        .collect()
}
