//! Rows of class probabilities with their labels, copied out for measures that need all classes at
//! once.

use super::{Form, Predictions};
use crate::Error;
use crate::numerics::parallel;

/// Rows of classes as doubles.
pub(crate) struct AllClasses {
    /// Row after row; by softmax where the input has raw scores.
    pub(crate) probabilities: Vec<f64>,
    pub(crate) labels: Vec<usize>,
    /// Divided by the largest; 1 where there are none.
    pub(crate) weights: Vec<f64>,
}

impl Predictions<'_> {
    pub(crate) fn all_classes(&self) -> Result<AllClasses, Error> {
        let k = self.n_classes();
        self.check_no_positive()?;
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |range| {
            let mut probabilities = Vec::with_capacity(range.len() * k);
            for index in range {
                let row = self.row(index);
                let scores = (0..k).map(|class| self.input.scores.get(row * k + class));
                match self.input.rules.form {
                    Form::Probabilities => probabilities.extend(scores.map(|p| p.clamp(0.0, 1.0))),
                    Form::Logits => {
                        let scores: Vec<f64> = scores.collect();
                        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
                        probabilities.extend(scores.iter().map(|score| (score - largest).exp() / total));
                    }
                }
            }
            probabilities
        });
        let weights = self.row_weights();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let scale = if largest > 0.0 { largest } else { 1.0 };
        Ok(AllClasses {
            probabilities: chunks.concat(),
            labels: (0..self.len()).map(|index| self.label(index)).collect(),
            weights: weights.into_iter().map(|weight| weight / scale).collect(),
        })
    }
}
