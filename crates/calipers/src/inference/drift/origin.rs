//! How much of a change in a measure comes from other predictions, and how much from other outcomes
//! at equal predictions.

use super::pooled::{Pooled, logit};
use crate::data::{Input, Sample};
use crate::link::Logistic;
use crate::measure::Measure;

/// Of the rows of a sample, what its reweighted rows have to be worth at least.
const LEAST_SHARE: f64 = 0.1;

/// Where the change of a value comes from.
///
/// # Definition
/// With V(F, r) the measure under the distribution F of predictions and the outcome rates r, and b
/// and a for before and after, V_a - V_b is the sum of
/// ```text
/// predictions = ½ (V(F_a, r_b) - V(F_b, r_b) + V(F_a, r_a) - V(F_b, r_a))
/// outcomes    = ½ (V(F_a, r_a) - V(F_a, r_b) + V(F_b, r_a) - V(F_b, r_b))
/// ```
/// V(F_a, r_b) is the measure of the rows before, weighted by how much more frequent their scores
/// are after (by logistic regression of the sample on the score), and V(F_b, r_a) likewise. Values
/// are as measured, with what chance adds to each of them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Origin {
    /// From another distribution of predictions.
    pub predictions: f64,
    /// From other outcomes at equal predictions.
    pub outcomes: f64,
}

impl Origin {
    /// `None` where the predictions of the samples hardly overlap, or the measure takes no weights.
    pub(super) fn new(
        measure: &dyn Measure,
        samples: [&Sample<'_>; 2],
        pooled: &Pooled,
        [before, after]: [f64; 2],
    ) -> Option<Self> {
        let ratio = pooled.log_density_ratio();
        let before_as_after = reweighted(measure, samples[0], |h| ratio(h).exp())?;
        let after_as_before = reweighted(measure, samples[1], |h| (-ratio(h)).exp())?;
        let predictions = 0.5 * (before_as_after - before + after - after_as_before);
        Some(Origin { predictions, outcomes: after - before - predictions })
    }
}

/// The measure with the weights of rows multiplied by a function of their logit.
fn reweighted(measure: &dyn Measure, sample: &Sample<'_>, factor: impl Fn(f64) -> f64) -> Option<f64> {
    let groups = sample.groups(&Logistic).ok()?;
    let (mut p, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sum, mut squares, mut total) = (0.0, 0.0, 0.0);
    for group in &groups {
        let factor = factor(logit(group.p));
        total += group.weight();
        sum += factor * group.weight();
        squares += factor * factor * group.weight();
        for (outcome, weight) in [(false, group.negative), (true, group.positive)] {
            if weight > 0.0 {
                p.push(group.p);
                y.push(outcome);
                weights.push(factor * weight);
            }
        }
    }
    let worth = sum * sum / (squares * total);
    if !(worth >= LEAST_SHARE) {
        return None;
    }
    let predictions = Input::probabilities(&p, &y).weights(&weights).check().ok()?;
    let view = predictions.binary().ok()?;
    measure.estimate(&view).ok().map(|estimate| estimate.value)
}
