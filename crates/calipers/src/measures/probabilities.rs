//! Rows as probabilities with outcomes and weights: one after another, or in order with equal
//! probabilities pooled.

use std::ops::Range;

use crate::Error;
use crate::data::{BinaryView, Rows, Scale};
use crate::link::Link;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// A view whose scores are read as probabilities, and whose weights are divided by the largest.
pub(crate) struct Probabilities<'a> {
    view: &'a BinaryView<'a>,
    /// `None` leaves scores as they are.
    link: Option<&'a dyn Link>,
    largest_weight: f64,
}

/// Sums of some rows, to which those of others can be added.
pub(crate) trait Merge {
    fn merge(&mut self, other: Self);
}

impl Merge for Sum {
    fn merge(&mut self, other: Sum) {
        Sum::merge(self, other);
    }
}

impl Merge for f64 {
    fn merge(&mut self, other: f64) {
        *self += other;
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: [T; N]) {
        self.iter_mut().zip(other).for_each(|(sum, other)| sum.merge(other));
    }
}

impl<T: Merge> Merge for Vec<T> {
    fn merge(&mut self, other: Vec<T>) {
        self.iter_mut().zip(other).for_each(|(sum, other)| sum.merge(other));
    }
}

/// Rows of one probability, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Group {
    pub(crate) p: f64,
    /// Weight with outcome 0. Weights are divided by the largest, or in [`Pooled`] by their sum.
    pub(crate) negative: f64,
    /// Weight with outcome 1.
    pub(crate) positive: f64,
    /// Rows with weight.
    pub(crate) n: u64,
}

impl Group {
    pub(crate) fn weight(&self) -> f64 {
        self.negative + self.positive
    }

    /// Σ s (y - p) over the group, with an error of at most 4 ε Σ s |y - p|, ε = 2^-53, beyond that
    /// of the weights.
    pub(crate) fn residual(&self) -> f64 {
        self.positive * (1.0 - self.p) - self.negative * self.p
    }

    /// Σ s |y - p| over the group.
    pub(crate) fn absolute(&self) -> f64 {
        self.positive * (1.0 - self.p) + self.negative * self.p
    }
}

impl<'a> Probabilities<'a> {
    /// Requires at least one row with weight.
    pub(crate) fn new(view: &'a BinaryView<'a>, link: &'a dyn Link) -> Result<Self, Error> {
        let scores = Self::of_scores(view)?;
        Ok(Probabilities { link: Some(link), ..scores })
    }

    /// The scores as they are, whatever their scale. Requires at least one row with weight.
    pub(crate) fn of_scores(view: &'a BinaryView<'a>) -> Result<Self, Error> {
        if view.is_empty() {
            return Err(Error::NoRows);
        }
        let largest_weight = if view.is_weighted() { view.weight_extent().0 } else { 1.0 };
        if !(largest_weight > 0.0) {
            return Err(Error::ZeroWeights { n_rows: view.len() as u64 });
        }
        Ok(Probabilities { view, link: None, largest_weight })
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

    /// The weight of each of the rows that a weight stands for: one row, unless weights are numbers
    /// of rows.
    pub(crate) fn row_weight(&self, weight: f64) -> f64 {
        if self.view.is_counted() { 1.0 / self.largest_weight } else { weight }
    }

    /// Copies some rows, with scores as probabilities.
    pub(crate) fn read(&self, range: Range<usize>, rows: &mut Rows) {
        match self.link {
            Some(link) => self.view.read_probabilities(range, link, rows),
            None => self.view.read(range, rows),
        }
        if self.view.is_weighted() {
            rows.weights.iter_mut().for_each(|weight| *weight /= self.largest_weight);
        }
    }

    /// Some rows.
    pub(crate) fn rows(&self, range: Range<usize>) -> Rows {
        let mut rows = Rows::default();
        self.read(range, &mut rows);
        rows
    }

    /// All rows.
    pub(crate) fn all(&self) -> Rows {
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |range| self.rows(range));
        let mut all = Rows::default();
        for chunk in chunks {
            all.outcomes.extend(chunk.outcomes);
            all.scores.extend(chunk.scores);
            all.weights.extend(chunk.weights);
        }
        all
    }

    /// Sums over all rows in chunks of `chunk` rows. `add` gets the sums of the chunk, and the
    /// probability, the outcome and the weight of a row.
    pub(crate) fn sums<T: Merge + Send>(
        &self,
        chunk: usize,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, f64, bool, f64) + Sync,
    ) -> T {
        let parts = parallel::map_chunks(self.len(), chunk, |range| {
            let (rows, mut sums) = (self.rows(range), empty());
            for ((&p, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
                add(&mut sums, p, outcome, weight);
            }
            sums
        });
        parts.into_iter().fold(empty(), |mut all, part| {
            all.merge(part);
            all
        })
    }

    /// The same for each of some bins. `place` gives the bin of a probability, and the probability
    /// that the bin takes it for.
    pub(crate) fn sums_by_bin<T: Merge + Clone + Default + Send>(
        &self,
        n_bins: usize,
        place: impl Fn(f64) -> (usize, f64) + Sync,
        add: impl Fn(&mut T, f64, bool, f64) + Sync,
    ) -> Vec<T> {
        // Long enough that the sums of all chunks take no more room than the rows.
        let chunk = parallel::CHUNK.max(64 * n_bins);
        let empty = || vec![T::default(); n_bins];
        self.sums(chunk, empty, |bins, p, outcome, weight| {
            let (bin, p) = place(p);
            add(&mut bins[bin], p, outcome, weight);
        })
    }

    /// Rows in the order of their probabilities, equal ones together, those without weight left
    /// out.
    ///
    /// What is equal is equal in bits, and weights are added in the order of their size: so the
    /// order of rows and the number of threads change nothing.
    pub(crate) fn groups(&self) -> Vec<Group> {
        if self.view.is_weighted() { self.weighted() } else { self.counted() }
    }

    /// Something of each row with weight, sorted: its key, which [`split_key`] takes apart, and its
    /// weight.
    pub(crate) fn keyed<T: Send + Clone + Ord>(&self, of: impl Fn(u64, f64) -> T + Sync) -> Vec<T> {
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |range| {
            let rows = self.rows(range);
            let all = rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights).filter(|(_, weight)| **weight > 0.0);
            all.map(|((&p, &outcome), &weight)| of(key(p, outcome), weight)).collect::<Vec<T>>()
        });
        let mut all = chunks.concat();
        parallel::sort_unstable_by(&mut all, T::cmp);
        all
    }

    fn counted(&self) -> Vec<Group> {
        let keys = self.keyed(|key, _| key);
        let group = |keys: &[u64]| {
            let n_positive = keys.iter().filter(|key| *key & 1 == 1).count();
            Group {
                p: split_key(keys[0]).0,
                negative: (keys.len() - n_positive) as f64,
                positive: n_positive as f64,
                n: keys.len() as u64,
            }
        };
        keys.chunk_by(|a, b| a >> 1 == b >> 1).map(group).collect()
    }

    fn weighted(&self) -> Vec<Group> {
        // Weights are not negative, so their bits are in their order.
        let rows = self.keyed(|key, weight| (key, weight.to_bits()));
        let group = |rows: &[(u64, u64)]| {
            let (mut negative, mut positive) = (Sum::default(), Sum::default());
            for (key, weight) in rows {
                if key & 1 == 1 { &mut positive } else { &mut negative }.add(f64::from_bits(*weight));
            }
            let p = split_key(rows[0].0).0;
            Group { p, negative: negative.value(), positive: positive.value(), n: rows.len() as u64 }
        };
        rows.chunk_by(|a, b| a.0 >> 1 == b.0 >> 1).map(group).collect()
    }
}

/// The sums of the first value, of the first two, and so on.
pub(crate) fn running_sums(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.scan(Sum::default(), |sum, value| {
        sum.add(value);
        Some(sum.value())
    })
}

/// The bits of p and the outcome in one integer, in the order of p: p is in [0, 1], so two bits are
/// free.
fn key(p: f64, outcome: bool) -> u64 {
    // Adding 0 turns -0 into 0.
    (p + 0.0).to_bits() << 1 | u64::from(outcome)
}

/// The probability and the outcome of a key.
pub(crate) fn split_key(key: u64) -> (f64, bool) {
    (f64::from_bits(key >> 1), key & 1 == 1)
}

/// Groups in ascending order of p as shares of the whole weight, each with some. Shares have a
/// relative error of at most 4 units of rounding.
#[derive(Debug, Clone)]
pub(crate) struct Pooled {
    pub(crate) groups: Vec<Group>,
    /// By how much computed scores can have moved a probability.
    score_error: f64,
}

impl Pooled {
    pub(crate) fn new(view: &BinaryView<'_>, link: &dyn Link) -> Result<Self, Error> {
        let mut groups = Probabilities::new(view, link)?.groups();
        let total = groups.iter().map(Group::weight).collect::<Sum>().value();
        for group in &mut groups {
            (group.negative, group.positive) = (group.negative / total, group.positive / total);
        }
        // A weight can be so small beside others that its share is 0.
        groups.retain(|group| group.weight() > 0.0);
        Ok(Pooled { groups, score_error: view.score_error(1.0) })
    }

    /// By how much any sum Σ s (y - p) w(p) with |w| <= 1 can be off before a measure has done
    /// anything: shares and residuals by a few units of rounding, computed scores by their own
    /// error at a slope of at most 1 / 4.
    pub(crate) fn residual_error(&self) -> f64 {
        8.0 * f64::EPSILON * self.groups.iter().map(Group::absolute).sum::<f64>() + self.score_error
    }

    /// Bound on the rounding error of a probability that was computed from a score.
    pub(crate) fn score_error(&self) -> f64 {
        self.score_error
    }
}
