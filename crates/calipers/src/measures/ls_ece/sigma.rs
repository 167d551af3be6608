//! The scale of the noise: a number, or a rule that shrinks it with the sample size.

use super::points::Points;
use crate::data::BinaryView;
use crate::link::Link;
use crate::measure::or_auto;
use crate::numerics::dispatch::dispatched;
use crate::numerics::sum::{LANES, LaneSum};
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
    if let Some([total, first, second]) = points.moments {
        // Logits of clipped probabilities are at most 35 in size: what the difference loses is far
        // below the square of what the rule resolves.
        let mean = first / total;
        return if total > 0.0 { (second / total - mean * mean).max(0.0).sqrt() } else { 0.0 };
    }
    let mut counts = vec![0.0; points.len()];
    let mut complements = counts.clone();
    link.both_all(&points.logits, &mut counts, &mut complements);
    counts.iter_mut().zip(&complements).for_each(|(response, complement)| *response *= complement);
    if let Some(weights) = &points.weights {
        counts.iter_mut().zip(weights).for_each(|(count, weight)| *count *= weight);
    }
    spread_of(&counts, &points.logits)
}

/// The same for logits with what they count.
pub(super) fn spread_of(counts: &[f64], logits: &[f64]) -> f64 {
    let (total, weighted) = first_moments(counts, logits);
    if !(total > 0.0) {
        return 0.0;
    }
    let squares = second_moment(counts, logits, weighted / total);
    (squares / total).max(0.0).sqrt()
}

dispatched! {
    /// Σ c and Σ c h.
    fn first_moments / first_moments_portable(counts: &[f64], logits: &[f64]) -> (f64, f64) {
        let (mut total, mut weighted) = (LaneSum::default(), LaneSum::default());
        for (counts, logits) in counts.chunks(LANES).zip(logits.chunks(LANES)) {
            let (counts, mut logits) = (block(counts), block(logits));
            for lane in 0..LANES {
                logits[lane] = counts[lane] * if counts[lane] > 0.0 { logits[lane] } else { 0.0 };
            }
            total.add(counts);
            weighted.add(logits);
        }
        (total.value(), weighted.value())
    }
}

dispatched! {
    /// Σ c (h - mean)².
    fn second_moment / second_moment_portable(counts: &[f64], logits: &[f64], mean: f64) -> f64 {
        let mut squares = LaneSum::default();
        for (counts, logits) in counts.chunks(LANES).zip(logits.chunks(LANES)) {
            let (counts, mut logits) = (block(counts), block(logits));
            for lane in 0..LANES {
                let apart = if counts[lane] > 0.0 { logits[lane] - mean } else { 0.0 };
                logits[lane] = counts[lane] * apart * apart;
            }
            squares.add(logits);
        }
        squares.value()
    }
}

/// Some values, filled up with 0. A logit so far out that it counts nothing may be too large for a
/// square: sums take 0 in its place, too.
#[inline(always)]
fn block(values: &[f64]) -> [f64; LANES] {
    match values.first_chunk() {
        Some(values) => *values,
        None => {
            let mut block = [0.0; LANES];
            block[..values.len()].copy_from_slice(values);
            block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_the_deviation_of_what_counts() {
        let logits: Vec<f64> = (0..1001).map(|k| (f64::from(k) * 0.37).sin() * 5.0).chain([1e300, -1e200]).collect();
        let counts: Vec<f64> = (0..1001).map(|k| f64::from(k % 7)).chain([0.0, 0.0]).collect();
        let total: f64 = counts.iter().sum();
        let mean = counts.iter().zip(&logits).map(|(c, h)| c * h).sum::<f64>() / total;
        let variance = counts.iter().zip(&logits).map(|(c, h)| c * (h - mean) * (h - mean)).sum::<f64>() / total;
        assert!((spread_of(&counts, &logits) / variance.sqrt() - 1.0).abs() < 1e-13);
        assert_eq!(spread_of(&[0.0; 3], &[1.0, 2.0, 1e300]), 0.0);
        let of = |moments: (f64, f64)| [moments.0, moments.1].map(f64::to_bits);
        assert_eq!(of(first_moments(&counts, &logits)), of(first_moments_portable(&counts, &logits)));
        let squares = [second_moment(&counts, &logits, mean), second_moment_portable(&counts, &logits, mean)];
        assert_eq!(squares[0].to_bits(), squares[1].to_bits());
    }
}
