//! Rows in order of their probability, and the sets of equal ones: what a tie hides, and what
//! chance can do.

use crate::Error;
use crate::data::{BinaryView, Input, Predictions};
use crate::link::Link;
use crate::measures::{Probabilities, binned, split_key};
use crate::numerics::sum::Sum;

/// The rows of a view, sorted: equal-mass bins of many sizes need one order.
pub(super) struct Ordered {
    probabilities: Vec<f64>,
    outcomes: Vec<bool>,
    /// `None`: all weights are 1, as the largest is. Those of weight 0 are left out.
    weights: Option<Vec<f64>>,
}

impl Ordered {
    pub(super) fn new(view: &BinaryView<'_>, link: &dyn Link) -> Result<Self, Error> {
        let rows = Probabilities::new(view, link)?;
        let ((probabilities, outcomes), weights) = if view.is_weighted() {
            let keys = rows.keyed(|key, weight| (key, weight.to_bits()));
            let weights = keys.iter().map(|(_, weight)| f64::from_bits(*weight)).collect();
            (keys.into_iter().map(|(key, _)| split_key(key)).unzip(), Some(weights))
        } else {
            (rows.keyed(|key, _| key).into_iter().map(split_key).unzip(), None)
        };
        Ok(Ordered { probabilities, outcomes, weights })
    }

    /// In ascending order.
    pub(super) fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// In the same order; those of equal probabilities are sorted.
    pub(super) fn outcomes(&self) -> &[bool] {
        &self.outcomes
    }

    /// The rows with their sums, for bins of equal mass; `None` where weights differ.
    pub(super) fn sums(&self) -> Option<binned::Ordered<'_>> {
        self.weights.is_none().then(|| binned::Ordered::new(&self.probabilities, &self.outcomes))
    }

    /// The rows as predictions, for any measure.
    pub(super) fn predictions(&self) -> Result<Predictions<'_>, Error> {
        let input = Input::probabilities(&self.probabilities, &self.outcomes);
        self.weights.iter().fold(input, |input, weights| input.weights(weights)).check()
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// The share of each row in the total weight.
    pub(super) fn shares(&self) -> Vec<f64> {
        let n = self.probabilities.len();
        let Some(weights) = &self.weights else { return vec![1.0 / n as f64; n] };
        let total = weights.iter().copied().collect::<Sum>().value();
        weights.iter().map(|weight| weight / total).collect()
    }

    pub(super) fn ties(&self) -> TiedJump {
        let (mut jump, mut ece, mut total) = (Sum::default(), Sum::default(), Sum::default());
        let (mut n_tied, mut n_sets) = (0, 0);
        let mut start = 0;
        for level in self.probabilities.chunk_by(|a, b| a == b) {
            let (p, rows) = (level[0], start..start + level.len());
            start = rows.end;
            let (mut negative, mut positive) = (Sum::default(), Sum::default());
            for row in rows {
                if self.outcomes[row] { &mut positive } else { &mut negative }.add(self.weight(row));
            }
            let (negative, positive) = (negative.value(), positive.value());
            total.add(negative + positive);
            let (above, below) = (positive * (1.0 - p), negative * p);
            ece.add((above - below).abs());
            if level.len() > 1 {
                jump.add(2.0 * above.min(below));
                n_tied += level.len() as u64;
                n_sets += 1;
            }
        }
        let total = total.value();
        TiedJump { jump: jump.value() / total, tied_ece: ece.value() / total, n_tied, n_sets }
    }
}

/// The effect of ties: ECE of the data with ties as they are, and by how much it would jump if the
/// ties were split.
///
/// The ECE of the data takes each distinct probability as a level set. Probabilities that differ by
/// the smallest amount would put each row into a set of its own, whose gap is |y - p|: a tied set
/// with P = Σ w (1 - p) over its outcomes 1 and N = Σ w p over its outcomes 0 then adds P + N where
/// it added |P - N|, which is 2 min(P, N) more.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TiedJump {
    /// Σ over tied sets of 2 min(P, N), by the total weight: how far ECE of the rows jumps when
    /// ties are split.
    pub jump: f64,
    /// ECE with each distinct probability as a level set of its own.
    pub tied_ece: f64,
    /// Rows that share their probability with another one; rows of weight 0 do not count.
    pub n_tied: u64,
    /// Sets of such rows.
    pub n_sets: u64,
}
