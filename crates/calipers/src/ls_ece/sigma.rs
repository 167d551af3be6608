//! How much noise: a number, or a rule that shrinks with the sample.

use super::points::Points;
use crate::link::Link;
use crate::numerics::sum::Sum;
use crate::predictions::BinaryView;
use crate::{Error, error};

/// The scale of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sigma {
    /// `s n^(-1/3)` with s = min(standard deviation, interquartile range / 1.349) of the logits after clipping. A
    /// quartile is the logit at which the cumulated weight passes its level; where it meets it, the mean of both sides.
    ///
    /// n is the effective sample size under weights, (Σw)² / Σw², which does not change when all weights double: so a
    /// weight of 2 is a repeated row for every measure at a given sigma, but not for this rule. Where the interquartile range is 0, s is the standard
    /// deviation, and where that is 0 too, s is 1. Since sigma -> 0 and n sigma -> infinity, LS-ECE with
    /// this rule is a consistent estimate of ECE, whatever the law (the paper's theorem ececonsist asks for more than it needs).
    ///
    /// The factor, 1, was chosen by simulation: of 0.35 to 4, mean RMSE over the families of [`Family::all`](crate::population::Family::all) for n from 300 to 50,000,
    /// of the value without its noise ([`Debias`](crate::significance::Debias)). `calipers study estimators` shows it, with families that were kept aside.
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

const RULE: &str = "in [1e-9, 1e6], or \"auto\"";

impl Sigma {
    pub(super) fn resolve(self, points: &Points) -> Result<f64, Error> {
        self.in_range(match self {
            Sigma::Value(sigma) => sigma,
            Sigma::Auto => rule(standard_deviation(points), quartiles(points), points.effective_n),
        })
    }

    /// One for several models on the same rows, by rule: the geometric mean of what it is for each, which does not depend on the unit that logits have. `None` where
    /// sigma is given.
    pub(super) fn common(self, views: &[&BinaryView<'_>], link: &dyn Link, clip: f64) -> Result<Option<f64>, Error> {
        if self != Sigma::Auto {
            return Ok(None);
        }
        let mut logarithms = 0.0;
        for view in views {
            logarithms += self.resolve(&Points::new(view, link, clip)?)?.ln();
        }
        Ok(Some((logarithms / views.len() as f64).exp()))
    }

    /// How it was settled, as results have it; `common` where it was for several models.
    pub(super) fn rule_name(self, common: bool) -> &'static str {
        match self {
            Sigma::Auto => "auto",
            Sigma::Value(_) if common => "auto, geometric mean over models",
            Sigma::Value(_) => "given",
        }
    }

    /// Below, doubles hardly tell logits apart; beyond, noise drowns them. Written so that NaN fails.
    pub(super) fn in_range(self, sigma: f64) -> Result<f64, Error> {
        if (1e-9..=1e6).contains(&sigma) {
            return Ok(sigma);
        }
        let origin = if self == Sigma::Auto { " by rule" } else { "" };
        Err(Error::setting("sigma", RULE, format!("{}{origin}", error::number(sigma))))
    }
}

/// The rule of [`Sigma::Auto`].
pub(super) fn rule(deviation: f64, quartiles: [f64; 2], effective_n: f64) -> f64 {
    let from_quartiles = (quartiles[1] - quartiles[0]) / 1.349;
    // Logits that are equal but for rounding, in single precision too, have no spread.
    let none = 1e-6 * (1.0 + quartiles[0].abs().min(quartiles[1].abs()));
    let spread = match (from_quartiles > none, deviation > none) {
        (true, _) => deviation.min(from_quartiles),
        (false, true) => deviation,
        (false, false) => 1.0,
    };
    spread * effective_n.powf(-1.0 / 3.0)
}

pub(super) fn standard_deviation(points: &Points) -> f64 {
    let shares = || (0..points.len()).map(|index| (points.share(index), points.logits[index]));
    let mean = shares().map(|(share, h)| share * h).collect::<Sum>().value();
    let variance = shares().map(|(share, h)| share * (h - mean) * (h - mean)).collect::<Sum>().value();
    variance.sqrt()
}

const QUARTILES: [f64; 2] = [0.25, 0.75];

/// The order statistics, from 0, whose means are the quartiles of n rows: two where a quarter of n is a whole number.
pub(super) fn quartile_ranks(n: usize) -> [[usize; 2]; 2] {
    QUARTILES.map(|level| {
        let target = level * n as f64;
        [target.ceil() as usize, target.floor() as usize + 1].map(|rank| rank.clamp(1, n) - 1)
    })
}

/// Weighted quartiles, the same whether a row has weight 2 or stands twice, and mirrored by mirrored logits: where
/// the cumulated weight meets the level exactly, the mean of the logits on both sides.
pub(super) fn quartiles(points: &Points) -> [f64; 2] {
    if points.weights.is_none() {
        let mut logits = points.logits.clone();
        return quartile_ranks(logits.len()).map(|ranks| {
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
    QUARTILES.map(|level| {
        let target = level * points.total_weight;
        // Met up to rounding: weights 0.1, 0.2 and 0.3 are to have the quartiles of 1, 2 and 3.
        let below = reached.partition_point(|weight| *weight < target * (1.0 - 1e-12));
        let above = reached.partition_point(|weight| *weight <= target * (1.0 + 1e-12));
        0.5 * (logit(below) + logit(above))
    })
}
