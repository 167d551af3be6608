//! Intervals for the population's value.

use super::Bootstrap;
use super::bracket::Sides;
use super::resampler::quantile;
use crate::Error;
use crate::link::{Link, Probit};
use crate::names::names;

/// How an interval is made.
///
/// Measures of miscalibration are biased up, and bootstrap draws are biased up once more: so
/// percentiles of them, which are the custom, do not cover. The first three methods take the bias
/// off.
///
/// # Accuracy
/// `calipers study estimators` has the share of 95 % intervals that hold the truth, for many
/// families and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum IntervalMethod {
    /// From the lower estimate of a [`Bracket`](super::Bracket) less its standard error to the
    /// upper one plus its own: for measures that know how their bias depends on the place, and the
    /// default there. It holds for models that are calibrated in part, too.
    BiasAware,
    /// Centre `2 v - mean(v*)`, with the standard error of v by influence values.
    Influence,
    /// Centre `2 v - mean(v*)`, with the standard deviation of the draws v*.
    Normal,
    /// Quantiles of the draws. Too high for a biased measure.
    Percentile,
    /// Quantiles of the draws at levels that are corrected for bias and acceleration (Efron 1987).
    /// The acceleration is that of influence values, or else a sixth of the skewness of the draws.
    /// Where (almost) all draws are above the value, it ends where the draws do.
    Bca,
}

names! { IntervalMethod, "method";
    BiasAware = "bias-aware", Influence = "influence", Normal = "normal", Percentile = "percentile", Bca = "bca",
}

/// An interval for the population's value of the measure, at the same settings; for LS-ECE at the
/// same sigma.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Interval {
    /// Its lower end; 0 for an upper limit.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
    /// The share of samples whose interval holds the population's value.
    pub level: f64,
    /// How it was made.
    pub method: IntervalMethod,
    /// Whether it is an upper limit: then all of 1 - level is above it.
    pub is_upper_limit: bool,
}

impl Interval {
    /// The interval of a measured `value`; two-sided, or an upper limit alone.
    pub fn new(
        value: f64,
        bootstrap: &Bootstrap,
        level: f64,
        method: IntervalMethod,
        is_upper_limit: bool,
    ) -> Result<Self, Error> {
        super::resampler::check_level(level)?;
        let tail = if is_upper_limit { 1.0 - level } else { 0.5 * (1.0 - level) };
        let sides = if is_upper_limit { Sides::One } else { Sides::Two };
        let (lower, upper) = ends(value, bootstrap, (tail, sides), method)?;
        let (least, most) = bootstrap.range;
        let lower = if is_upper_limit { least } else { lower.clamp(least, most) };
        Ok(Interval { lower, upper: upper.clamp(least, most), level, method, is_upper_limit })
    }
}

/// The ends that leave so much beyond them, wherever the measure's range ends.
pub(super) fn ends(
    value: f64,
    bootstrap: &Bootstrap,
    (tail, sides): (f64, Sides),
    method: IntervalMethod,
) -> Result<(f64, f64), Error> {
    let z = Probit.inverse(1.0 - tail, tail);
    let centre = value - bootstrap.bias();
    let about_centre = |deviation: f64| (centre - z * deviation, centre + z * deviation);
    let quantiles = |levels: [f64; 2]| {
        // Draws have the numerical error of the resampler, the value has its own.
        let shift = value - bootstrap.value;
        let [lower, upper] = levels.map(|level| quantile(&bootstrap.draws, level) + shift);
        (lower, upper)
    };
    let rule = "normal, percentile or bca for a measure without influence values";
    let unknown = || Error::setting("method", rule, method.name());
    let (lower, upper) = match method {
        IntervalMethod::BiasAware => {
            let (lower, upper) = bootstrap.bracket.ok_or_else(unknown)?.ends(tail, sides);
            // The bracket has the numerical error of the resampler, the value has its own.
            let shift = value - bootstrap.value;
            (lower + shift, upper + shift)
        }
        IntervalMethod::Influence => about_centre(bootstrap.influence_deviation.ok_or_else(unknown)?),
        IntervalMethod::Normal => about_centre(bootstrap.deviation),
        IntervalMethod::Percentile => quantiles([tail, 1.0 - tail]),
        IntervalMethod::Bca => quantiles(bca_levels(bootstrap, z)),
    };
    let (middle, half) = (0.5 * (lower + upper), 0.5 * (upper - lower));
    let least = least_half(tail, bootstrap.effective_rows);
    // With half or more beyond each end there is no interval left that could be too narrow.
    if tail >= 0.5 || half >= least {
        return Ok((lower, upper));
    }
    Ok((middle - least, middle + least))
}

/// Half of an interval at least: what happens to a share x of all rows is not among n of them with
/// the probability (1 - x)^n < e^(-n x), so that nothing is known of a share below -ln(tail) / n.
/// Rows of which all outcomes are as predicted, or equal, would have an interval of no width
/// otherwise.
pub(super) fn least_half(tail: f64, effective_rows: f64) -> f64 {
    -tail.ln() / effective_rows
}

/// The levels at which BCa takes its quantiles.
fn bca_levels(bootstrap: &Bootstrap, z: f64) -> [f64; 2] {
    let n = bootstrap.draws.len() as f64;
    let n_below = bootstrap.draws.partition_point(|draw| *draw < bootstrap.value) as f64;
    // Ties, of which a degenerate bootstrap has many, count half; never at an end, so that the
    // quantile is finite.
    let n_tied = bootstrap.draws.partition_point(|draw| *draw <= bootstrap.value) as f64 - n_below;
    let share = ((n_below + 0.5 * n_tied) / n).clamp(0.5 / n, 1.0 - 0.5 / n);
    let bias = Probit.inverse(share, 1.0 - share);
    [-z, z].map(|z| {
        let moved = bias + z;
        let stretched = 1.0 - bootstrap.acceleration * moved;
        // Beyond the pole of the formula the level is that of the end.
        if stretched > 0.0 {
            Probit.response(bias + moved / stretched)
        } else {
            Probit.response(f64::MAX.copysign(moved))
        }
    })
}
