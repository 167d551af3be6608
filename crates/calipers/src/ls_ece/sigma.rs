//! How much noise: a number, or a rule that shrinks with the sample.

use super::points::Points;
use crate::numerics::sum::Sum;
use crate::{Error, error};

/// The scale of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sigma {
    /// `1.5 s n^(-1/3)` with s = min(standard deviation, interquartile range / 1.349) of the logits.
    ///
    /// n is the effective sample size under weights. Where the interquartile range is 0, s is the standard
    /// deviation, and where that is 0 too, s is 1. Since sigma -> 0 and n sigma -> infinity, LS-ECE with
    /// this rule is a consistent estimate of ECE under the conditions of the paper's theorem (ececonsist).
    #[default]
    Auto,
    /// The scale itself.
    Value(f64),
}

impl From<f64> for Sigma {
    fn from(value: f64) -> Self {
        Sigma::Value(value)
    }
}

impl std::str::FromStr for Sigma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Sigma::Auto),
            _ => text.parse().map(Sigma::Value).map_err(|_| Error::setting("sigma", RULE, format!("{text:?}"))),
        }
    }
}

const RULE: &str = "in (0, 1e6], or \"auto\"";

/// Beyond a million, noise drowns every logit that is one. Written so that NaN fails.
fn in_range(sigma: f64, origin: &str) -> Result<f64, Error> {
    if sigma > 0.0 && sigma <= 1e6 {
        return Ok(sigma);
    }
    Err(Error::setting("sigma", RULE, format!("{}{origin}", error::number(sigma))))
}

impl Sigma {
    pub(super) fn resolve(self, points: &Points) -> Result<f64, Error> {
        match self {
            Sigma::Value(sigma) => in_range(sigma, ""),
            Sigma::Auto => in_range(1.5 * spread(points) * points.effective_n.powf(-1.0 / 3.0), " by rule"),
        }
    }
}

fn spread(points: &Points) -> f64 {
    let deviation = standard_deviation(points);
    let quartiles = quantiles(points, [0.25, 0.75]);
    let from_quartiles = (quartiles[1] - quartiles[0]) / 1.349;
    match (from_quartiles > 0.0, deviation > 0.0) {
        (true, _) => deviation.min(from_quartiles),
        (false, true) => deviation,
        (false, false) => 1.0,
    }
}

fn standard_deviation(points: &Points) -> f64 {
    let shares = || (0..points.len()).map(|index| (points.share(index), points.logits[index]));
    let mean = shares().map(|(share, h)| share * h).collect::<Sum>().value();
    let variance = shares().map(|(share, h)| share * (h - mean) * (h - mean)).collect::<Sum>().value();
    // Equal logits leave rounding only, which is no spread.
    if variance.sqrt() <= 1e-12 * (1.0 + mean.abs()) { 0.0 } else { variance.sqrt() }
}

/// Weighted quantiles, the same whether a row has weight 2 or stands twice, and mirrored by mirrored logits: where the
/// cumulated weight meets the level exactly, the mean of the logits on both sides.
fn quantiles(points: &Points, levels: [f64; 2]) -> [f64; 2] {
    if points.weights.is_none() {
        let mut logits = points.logits.clone();
        let n = logits.len();
        return levels.map(|level| {
            let target = level * n as f64;
            let ranks = [target.ceil() as usize, target.floor() as usize + 1].map(|rank| rank.clamp(1, n) - 1);
            let [below, above] = ranks.map(|rank| *logits.select_nth_unstable_by(rank, f64::total_cmp).1);
            0.5 * (below + above)
        });
    }
    let order = points.sorted();
    let mut cumulated = Sum::default();
    let reached: Vec<f64> = order
        .iter()
        .map(|&index| {
            cumulated.add(points.weight(index));
            cumulated.value()
        })
        .collect();
    let logit = |place: usize| points.logits[order[place.min(order.len() - 1)]];
    levels.map(|level| {
        let target = level * points.total_weight;
        // Met up to rounding: weights 0.1, 0.2 and 0.3 are to have the quantiles of 1, 2 and 3.
        let below = reached.partition_point(|weight| *weight < target * (1.0 - 1e-12));
        let above = reached.partition_point(|weight| *weight <= target * (1.0 + 1e-12));
        0.5 * (logit(below) + logit(above))
    })
}
