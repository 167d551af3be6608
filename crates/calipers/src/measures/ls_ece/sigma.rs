//! The scale of the noise: a number, or a rule that shrinks it with the sample size.

use super::points::Points;
use crate::data::BinaryView;
use crate::link::Link;
use crate::measure::or_auto;
use crate::numerics::sum::Sum;
use crate::{Error, error};

/// The scale of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sigma {
    /// `1.25 n^(-1/3) √(s² + 0.1²)` with s the standard deviation of the logits after clipping, in
    /// which each row counts with p (1 - p) times its weight: with the noise that its outcome has.
    ///
    /// - It moves as little as the predictions do: no quantile jumps where many rows share a score
    ///   or nearly do, and half of all rows within 1e-6 of each other do not make it tiny. The 0.1
    ///   is a difference of logits that rules do not resolve: so equal scores and nearly equal ones
    ///   are treated alike.
    /// - Rows that are all but sure, however far out their logits are, hardly count: they have no
    ///   noise to smooth.
    /// - n is the effective sample size under weights, (Σw)² / Σw², which does not change when all
    ///   weights double: so a weight of 2 is a repeated row for every measure at a given sigma, but
    ///   not for this rule.
    ///
    /// Since sigma -> 0 and n sigma -> infinity, LS-ECE with this rule is a consistent estimate of
    /// ECE, whatever the law (the paper's theorem ececonsist asks for more than it needs). The
    /// factor was chosen by simulation: mean RMSE over the families of
    /// [`Family::all`](crate::population::Family::all) for n from 300 to 50,000, of the value
    /// without its noise ([`Debias`](crate::inference::Debias)). `calipers study estimators` shows
    /// it, with families that were kept aside.
    #[default]
    Auto,
    /// The scale itself.
    Value(f64),
}

or_auto! { Sigma, "sigma", RULE; Auto or Value(f64) }

const RULE: &str = "in [1e-9, 1e6], or \"auto\"";

impl Sigma {
    pub(super) fn resolve(self, points: &Points, link: &dyn Link) -> Result<f64, Error> {
        self.in_range(match self {
            Sigma::Value(sigma) => sigma,
            Sigma::Auto => rule(spread(points, link), points.effective_n),
        })
    }

    /// The sigma that is chosen automatically for several models on the same rows: the geometric
    /// mean of those of the models, which does not depend on the unit of the logits. `None` where
    /// sigma is given.
    pub(super) fn common(self, views: &[&BinaryView<'_>], link: &dyn Link, clip: f64) -> Result<Option<f64>, Error> {
        if self != Sigma::Auto {
            return Ok(None);
        }
        let mut logarithms = 0.0;
        for view in views {
            logarithms += self.resolve(&Points::new(view, link, clip)?, link)?.ln();
        }
        Ok(Some((logarithms / views.len() as f64).exp()))
    }

    /// How it was chosen, as results report it; `common` where it was chosen for several models.
    pub(super) fn rule_name(self, common: bool) -> &'static str {
        match self {
            Sigma::Auto => "auto",
            Sigma::Value(_) if common => "auto, geometric mean over models",
            Sigma::Value(_) => "given",
        }
    }

    /// Below, doubles hardly tell logits apart; beyond, noise drowns them. Written so that NaN
    /// fails.
    pub(super) fn in_range(self, sigma: f64) -> Result<f64, Error> {
        if (1e-9..=1e6).contains(&sigma) {
            return Ok(sigma);
        }
        let origin = if self == Sigma::Auto { ", chosen automatically" } else { "" };
        Err(Error::setting("sigma", RULE, format!("{}{origin}", error::number(sigma))))
    }
}

/// The rule of [`Sigma::Auto`], from the [`spread`] of the logits.
pub(super) fn rule(spread: f64, effective_n: f64) -> f64 {
    FACTOR * spread.hypot(UNRESOLVED) * effective_n.powf(-1.0 / 3.0)
}

const FACTOR: f64 = 1.25;

/// A difference of logits that the rule does not resolve.
const UNRESOLVED: f64 = 0.1;

/// The standard deviation of logits in which each counts with p (1 - p) times its weight; 0 where
/// all predictions are sure.
pub(super) fn spread(points: &Points, link: &dyn Link) -> f64 {
    let counts = |index: usize| {
        let (response, complement) = link.both(points.logits[index]);
        points.weight(index) * response * complement
    };
    let counts: Vec<f64> = (0..points.len()).map(counts).collect();
    spread_of(counts.iter().copied().zip(points.logits.iter().copied()))
}

/// The same for logits with what they count.
pub(super) fn spread_of(logits: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    // A logit so far out that it counts nothing may be too large for a square.
    let counted = || logits.clone().filter(|(count, _)| *count > 0.0);
    // Side by side: each addition of a sum waits for the one before.
    let (mut total, mut weighted) = (Sum::default(), Sum::default());
    counted().for_each(|(count, h)| {
        total.add(count);
        weighted.add(count * h);
    });
    let total = total.value();
    if !(total > 0.0) {
        return 0.0;
    }
    let mean = weighted.value() / total;
    let squares = counted().map(|(count, h)| count * (h - mean) * (h - mean)).collect::<Sum>().value();
    (squares / total).max(0.0).sqrt()
}
