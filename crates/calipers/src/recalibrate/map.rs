//! Recalibration maps as values.

use super::formula::both;
use super::linear::{predictor, softplus};
use super::method::Method;
use super::table::Table;
use crate::data::{BinaryView, Rows, Scale};
use crate::link::{Link, Logistic};

/// A map from a probability, or its logit, to a recalibrated probability.
///
/// It is small, immutable and comparable: a method with its parameters, or a table. Equal inputs
/// get equal outputs, whatever stands beside them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BinaryMap {
    /// The family.
    pub method: Method,
    /// In the order of [`Method::parameter_names`].
    pub parameters: Vec<f64>,
    /// Of isotonic maps.
    pub table: Option<Table>,
    /// The share of 1/2 that is mixed in: p becomes (1 - mixture) p + mixture / 2.
    pub mixture: f64,
    /// Probabilities are clipped to [clip, 1 - clip] first; logits are taken as they are.
    pub clip: f64,
}

impl BinaryMap {
    /// The map that changes nothing.
    pub fn identity() -> Self {
        BinaryMap { method: Method::Identity, parameters: Vec::new(), table: None, mixture: 0.0, clip: 1e-12 }
    }

    /// The recalibrated probability of outcome 1, for the logit of one.
    pub fn apply(&self, logit: f64) -> f64 {
        self.both(logit).0
    }

    /// The recalibrated probability of outcome 1, for a probability.
    pub fn apply_probability(&self, probability: f64) -> f64 {
        self.apply(self.logit_of(probability))
    }

    /// The recalibrated probabilities of all rows of a view.
    pub fn apply_view(&self, view: &BinaryView<'_>) -> Vec<f64> {
        let mut rows = Rows::default();
        view.read(0..view.len(), &mut rows);
        match view.scale() {
            Scale::Probability => rows.scores.iter().map(|p| self.apply_probability(*p)).collect(),
            Scale::LogOdds | Scale::Link => rows.scores.iter().map(|logit| self.apply(*logit)).collect(),
        }
    }

    /// The logit that the map sees of a probability.
    pub fn logit_of(&self, probability: f64) -> f64 {
        let p = probability.clamp(self.clip, 1.0 - self.clip);
        Logistic.inverse(p, 1.0 - p)
    }

    /// The probabilities of outcome 1 and of outcome 0, neither of them a difference from 1.
    pub fn both(&self, logit: f64) -> (f64, f64) {
        let (p, complement) = match &self.table {
            Some(table) => {
                let value = table.value_at(logit);
                (value, 1.0 - value)
            }
            None => both(predictor(self.method, logit, &self.parameters)),
        };
        let mixed = |p: f64| (1.0 - self.mixture) * p + 0.5 * self.mixture;
        if self.mixture == 0.0 { (p, complement) } else { (mixed(p), mixed(complement)) }
    }

    /// The log-loss of outcome 0 and of outcome 1 at a logit.
    pub fn losses(&self, logit: f64) -> [f64; 2] {
        if self.table.is_none() && self.mixture == 0.0 {
            // Where the probability rounds to 0 its logarithm is still known.
            let u = predictor(self.method, logit, &self.parameters);
            return [softplus(u), softplus(-u)];
        }
        let (p, complement) = self.both(logit);
        [-complement.ln(), -p.ln()]
    }

    /// Whether different probabilities stay different and in their order, so that ranks are kept.
    pub fn keeps_ranks(&self) -> bool {
        // Slopes are never negative, and one above 0 is enough: all features of slopes rise.
        let slopes = &self.parameters[..self.method.n_slopes()];
        self.table.is_none() && (slopes.is_empty() || slopes.iter().any(|slope| *slope > 0.0))
    }
}
