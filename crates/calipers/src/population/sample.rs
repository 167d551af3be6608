//! Rows that are drawn from a known distribution.

use crate::numerics::sum::Sum;
use crate::{Form, Input};

/// Outcomes with the scores that a predictor gave them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What the scores are: probabilities, or logits.
    pub form: Form,
    /// One for each row.
    pub scores: Vec<f64>,
    /// One for each row.
    pub outcomes: Vec<bool>,
}

impl Sample {
    pub(super) fn collect(form: Form, n: usize, mut draw: impl FnMut() -> (f64, bool)) -> Self {
        let (scores, outcomes) = (0..n).map(|_| draw()).unzip();
        Sample { form, scores, outcomes }
    }

    /// The rows as input of any measure.
    pub fn input(&self) -> Input<'_> {
        match self.form {
            Form::Probabilities => Input::probabilities(&self.scores, &self.outcomes),
            Form::Logits => Input::logits(&self.scores, &self.outcomes),
        }
    }
}

/// Shares that are drawn from.
pub(super) struct Cumulated(Vec<f64>);

impl Cumulated {
    pub(super) fn new(shares: &[f64]) -> Self {
        let add = |sum: &mut Sum, share: &f64| {
            sum.add(*share);
            Some(sum.value())
        };
        Cumulated(shares.iter().scan(Sum::default(), add).collect())
    }

    /// The place of a uniform number. Rounding of the last sum does not lead past the end, nor to a
    /// place of share 0.
    pub(super) fn pick(&self, uniform: f64) -> usize {
        let last = self.0[self.0.len() - 1];
        self.0.partition_point(|&sum| sum <= uniform * last)
    }
}
