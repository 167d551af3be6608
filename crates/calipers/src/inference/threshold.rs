//! Comparison of a value with a threshold.

use super::bracket::Sides;
use super::interval::{IntervalMethod, ends};
use super::{Assessment, Interval};
use crate::Error;
use crate::error::number;

/// The side of a threshold on which the population's value is, with a p-value.
///
/// # Definition
/// The p-value is the least α for which the interval of level 1 - α, made as the assessment's own
/// was, leaves the threshold out: two-sided for an interval, one-sided for an upper limit, which
/// can only say that the value is below. So it is at most 1 - level where, and only where, that
/// interval excludes the threshold: its upper end is at most the threshold, or its lower end is
/// above it. By quantiles of draws it is never below 1 / (draws + 1) for each end.
///
/// For LS-ECE it is the residual form that is compared with the threshold, as for every verdict
/// ([`Assessment::deciding`]).
///
/// Where many thresholds are tested, the p-values can be adjusted by [`holm`](super::holm).
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::{Assess, LsEce};
///
/// let sample = Family::named("overconfident")?.sample(2000, 1);
/// let predictions = sample.input().check()?;
/// let measure = LsEce::new().sigma(0.5);
/// let assessment = Assess::new(&measure).n_resamples(200).run(&predictions.binary()?)?;
/// let [low, high] = [0.01, 0.5].map(|threshold| assessment.against(threshold));
/// assert!(low.as_ref().is_ok_and(|against| against.above && against.p_value < 0.05));
/// assert!(high.is_ok_and(|against| !against.above && against.p_value < 0.05));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Against {
    /// The threshold.
    pub threshold: f64,
    /// Of "the population's value is the threshold".
    pub p_value: f64,
    /// Whether the value looks to be above it; else it is at most that.
    pub above: bool,
    /// The smallest p-value that this number of draws can give; 0, except for intervals by
    /// quantiles of draws.
    pub least_p_value: f64,
}

/// The smallest tail that is tried; beyond it the side is taken as certain.
const LEAST_TAIL: f64 = 1e-300;

/// Halvings of the logarithm of the tail, which leave less than a rounding error of it.
const N_HALVINGS: usize = 64;

impl Assessment {
    /// Compares the population's value with a threshold, which is finite and not negative.
    pub fn against(&self, threshold: f64) -> Result<Against, Error> {
        let valid = threshold >= 0.0 && threshold.is_finite();
        Error::require(valid, "threshold", "finite and not negative", number(threshold))?;
        if let Some(residual) = &self.residual {
            return residual.against(threshold);
        }
        let Interval { method, is_upper_limit, .. } = self.interval;
        let (least, most) = self.bootstrap.range;
        let (tails, sides) = if is_upper_limit { (1.0, Sides::One) } else { (2.0, Sides::Two) };
        // Whether the interval with so much beyond an end leaves the threshold out, and on which
        // side of it the value is then.
        let side = |tail: f64| -> Result<Option<bool>, Error> {
            let (lower, upper) = ends(self.estimate.value, &self.bootstrap, (tail, sides), method)?;
            Ok(if upper.clamp(least, most) <= threshold {
                Some(false)
            } else {
                (!is_upper_limit && lower.clamp(least, most) > threshold).then_some(true)
            })
        };
        // All of one, short of what rounding makes of it: an upper limit has then nothing below it.
        let most_tail = if is_upper_limit { 1.0 - 1e-9 } else { 0.5 };
        let least_p_value = match method {
            IntervalMethod::Percentile | IntervalMethod::Bca => tails / (self.bootstrap.draws.len() + 1) as f64,
            IntervalMethod::BiasAware | IntervalMethod::Influence | IntervalMethod::Normal => 0.0,
        };
        let Some(mut above) = side(most_tail)? else {
            let above = self.estimate.value - self.bias > threshold;
            return Ok(Against { threshold, p_value: 1.0, above, least_p_value });
        };
        let (mut inside, mut outside) = (LEAST_TAIL, most_tail);
        match side(inside)? {
            Some(certain) => (above, outside) = (certain, inside),
            None => {
                for _ in 0..N_HALVINGS {
                    let middle = (0.5 * (inside.ln() + outside.ln())).exp();
                    match side(middle)? {
                        Some(known) => (above, outside) = (known, middle),
                        None => inside = middle,
                    }
                }
            }
        }
        let p_value = (tails * outside).min(1.0).max(least_p_value);
        Ok(Against { threshold, p_value, above, least_p_value })
    }
}
