//! The direction of miscalibration: too high or too low, over- or underconfident.

use super::bracket::Sides;
use super::interval::least_half;
use super::{Bracket, Interval, IntervalMethod};

/// The signed parts of a residual measure, before a level is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartBrackets {
    /// Outcomes above predictions.
    pub too_low: PartBracket,
    /// Outcomes below predictions.
    pub too_high: PartBracket,
    /// Predictions further from 1/2 than outcomes are.
    pub overconfident: PartBracket,
    /// Predictions nearer to 1/2 than outcomes are.
    pub underconfident: PartBracket,
}

/// One part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartBracket {
    /// The part of the measure of the rows.
    pub value: f64,
    /// Where that of the population is.
    pub bracket: Bracket,
}

/// The signed parts of a residual measure: how much of it is due to predictions that are too high
/// or too low, and to those that are too far from 1/2 or too near to it.
///
/// # Definition
/// ```text
/// too_low       = ∫ max(R(u), 0) du            too_high       = ∫ max(-R(u), 0) du
/// overconfident = ∫ max(-d(u) R(u), 0) du      underconfident = ∫ max(d(u) R(u), 0) du
/// ```
/// with d = 1 where the prediction is above 1/2, and -1 elsewhere. The first two sum to the
/// measure, and so do the last two. For a confidence in a predicted class, overconfident is the
/// same as too high.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Parts {
    /// Outcomes happen more often than predicted.
    pub too_low: Part,
    /// Outcomes happen less often than predicted.
    pub too_high: Part,
    /// Over- and underconfidence; `None` for a sketch, which does not know whether predictions are
    /// confidences in a predicted class.
    pub confidence: Option<Confidence>,
}

/// How far predictions are from 1/2, against where outcomes are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Confidence {
    /// Predictions are further from 1/2 than outcomes are.
    pub over: Part,
    /// Predictions are nearer to 1/2 than outcomes are.
    pub under: Part,
}

/// One signed part.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Part {
    /// Of the rows.
    pub value: f64,
    /// Without what chance adds to it.
    pub debiased: f64,
    /// Where the part of the population is.
    pub interval: Interval,
}

impl Parts {
    /// With the interval of the whole measure; `confidences` is whether predictions are
    /// confidences in a predicted class.
    pub(super) fn new(parts: &PartBrackets, whole: &Interval, effective_rows: f64, confidences: Option<bool>) -> Self {
        let level = whole.level;
        let part = |part: &PartBracket| {
            let tail = 0.5 * (1.0 - level);
            let (lower, upper) = part.bracket.ends(tail, Sides::Two);
            // So few rows do not tell more, however equal their outcomes are.
            let (middle, least) = (0.5 * (lower + upper), least_half(tail, effective_rows));
            let (lower, upper) = (lower.min(middle - least), upper.max(middle + least));
            // No part is larger than the whole.
            let (lower, upper) = (lower.clamp(0.0, whole.lower), upper.clamp(0.0, whole.upper));
            let interval = Interval { lower, upper, level, method: IntervalMethod::BiasAware, is_upper_limit: false };
            Part { value: part.value, debiased: part.bracket.debiased, interval }
        };
        let (too_low, too_high) = (part(&parts.too_low), part(&parts.too_high));
        let confidence = confidences.map(|confidences| match confidences {
            true => Confidence { over: too_high, under: too_low },
            false => Confidence { over: part(&parts.overconfident), under: part(&parts.underconfident) },
        });
        Parts { too_low, too_high, confidence }
    }

    /// The parts by name, in the order in which results have them.
    pub fn named(&self) -> [(&'static str, Option<&Part>); 4] {
        let confidence = self.confidence.as_ref();
        [
            ("too_high", Some(&self.too_high)),
            ("too_low", Some(&self.too_low)),
            ("overconfident", confidence.map(|confidence| &confidence.over)),
            ("underconfident", confidence.map(|confidence| &confidence.under)),
        ]
    }
}
