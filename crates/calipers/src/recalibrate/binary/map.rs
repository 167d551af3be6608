//! Recalibration maps as values.

use super::formula::both;
use super::linear::{predictor, softplus};
use super::spline::Spline;
use super::table::Table;
use super::venn_abers::VennAbers;
use crate::data::{BinaryView, Rows, Scale};
use crate::numerics::logarithm;
use crate::recalibrate::fit::Band;
use crate::recalibrate::method::Method;

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
    /// Of splines, whose parameters are its values.
    pub spline: Option<Spline>,
    /// Of isotonic maps and of bins.
    pub table: Option<Table>,
    /// Of Venn-Abers prediction.
    pub venn_abers: Option<VennAbers>,
    /// The share of 1/2 that is mixed in: p becomes (1 - mixture) p + mixture / 2.
    pub mixture: f64,
    /// Probabilities are clipped to [clip, 1 - clip] first; logits are taken as they are.
    pub clip: f64,
}

impl BinaryMap {
    /// The map that changes nothing.
    pub fn identity() -> Self {
        BinaryMap {
            method: Method::Identity,
            parameters: Vec::new(),
            spline: None,
            table: None,
            venn_abers: None,
            mixture: 0.0,
            clip: 1e-12,
        }
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
        self.logits(view).into_iter().map(|logit| self.apply(logit)).collect()
    }

    /// The logits that the map sees of all rows of a view.
    pub fn logits(&self, view: &BinaryView<'_>) -> Vec<f64> {
        let mut rows = Rows::default();
        view.read(0..view.len(), &mut rows);
        match view.scale() {
            Scale::Probability => rows.scores.iter().map(|p| self.logit_of(*p)).collect(),
            Scale::LogOdds | Scale::Link => rows.scores,
        }
    }

    /// The logit that the map sees of a probability.
    pub fn logit_of(&self, probability: f64) -> f64 {
        // The logarithm of the fit, to the last digit: a row on a step must not fall below it.
        let mut logit = [probability.clamp(self.clip, 1.0 - self.clip)];
        logarithm::log_odds(&mut logit);
        logit[0]
    }

    /// The probabilities of outcome 1 and of outcome 0, neither of them a difference from 1.
    pub fn both(&self, logit: f64) -> (f64, f64) {
        let (p, complement) = match (&self.table, &self.venn_abers) {
            (Some(table), _) => {
                let value = table.value_at(logit);
                (value, 1.0 - value)
            }
            (_, Some(venn_abers)) => {
                let value = venn_abers.at(logit).value;
                (value, 1.0 - value)
            }
            _ => both(self.predictor(logit)),
        };
        if self.mixture == 0.0 { (p, complement) } else { (self.mixed(p), self.mixed(complement)) }
    }

    /// Of Venn-Abers prediction: the probabilities p0 and p1 at a logit, and the value between
    /// them; `None` for other maps.
    ///
    /// One of p0 and p1 is the probability that isotonic regression would give if the outcome of
    /// this row were known. So for independent rows the outcome rate of rows whose outcome's own
    /// probability of the two has some value is that value: the pair is calibrated, whatever the
    /// model and the number of rows.
    pub fn interval(&self, logit: f64) -> Option<Band> {
        let Band { value, lower, upper } = self.venn_abers.as_ref()?.at(logit);
        Some(Band { value: self.mixed(value), lower: self.mixed(lower), upper: self.mixed(upper) })
    }

    /// The recalibrated logit of a formula.
    pub(crate) fn predictor(&self, logit: f64) -> f64 {
        match &self.spline {
            Some(spline) => spline.at(logit),
            None => predictor(self.method, logit, &self.parameters),
        }
    }

    pub(crate) fn mixed(&self, p: f64) -> f64 {
        (1.0 - self.mixture) * p + 0.5 * self.mixture
    }

    /// The log-loss of outcome 0 and of outcome 1 at a logit.
    pub fn losses(&self, logit: f64) -> [f64; 2] {
        if !self.method.is_table() && self.mixture == 0.0 {
            // Where the probability rounds to 0 its logarithm is still known.
            let u = self.predictor(logit);
            return [softplus(u), softplus(-u)];
        }
        let (p, complement) = self.both(logit);
        [-complement.ln(), -p.ln()]
    }

    /// Whether different probabilities stay different and in their order, so that ranks are kept.
    pub fn keeps_ranks(&self) -> bool {
        if let Some(spline) = &self.spline {
            return spline.least_slope() > 0.0;
        }
        // Slopes are never negative, and one above 0 is enough: all features of slopes rise.
        let slopes = &self.parameters[..self.method.n_slopes()];
        !self.method.is_table() && (slopes.is_empty() || slopes.iter().any(|slope| *slope > 0.0))
    }
}
