//! The interval for what a fitted map gains on new rows.
//!
//! # The problem
//! Let Δ be the expected change of log-loss by the map that was fitted to n rows. The obvious
//! interval, the mean change of held-out rows plus or minus 1.96 of its standard errors, covers 65
//! to 85 % instead of 95 % where the predictions are nearly calibrated. The reason is the error of
//! the fitted parameters: it is as large as the gain, common to all rows, and no row's own spread
//! shows it.
//!
//! # The rule for formulas
//! 1. Near the optimum θ* the expected loss is quadratic with Hessian H. In units of H^(1/2) √n let
//!    μ be the distance of θ* from the identity, Z the error of the fit and x = μ + Z the distance
//!    of the fitted map from the identity. Z is standard normal in d dimensions.
//! 2. Then n Δ = ½|Z|² - ½|μ|² = ½|x|² - x'μ, and the change on the fitted rows is -½|x|². Given x,
//!    which is known, Δ is a linear function of the one component s = x'μ / |x| of μ.
//! 3. For d = 1, s = μ is within 1.96 of x in 95 % of samples: an interval for Δ follows that is
//!    exact for every μ.
//! 4. For d > 1 the length of x is biased up as a distance from the identity. The prior that is
//!    flat in |μ| and in its direction (the reference prior for a length) takes that bias off. The
//!    ends of the interval are quantiles of s given x, with density
//!    ```text
//!    e^(r s - s²/2) ∫ (1 + s²/u²)^(-(d-1)/2) e^(-u²/2) du / u        r = |x|
//!    ```
//!    In the normal model it covers 93 to 97 % for every μ and d up to 10.
//! 5. A ridge shortens the way: the map is at v = A x, and n Δ = ½|v|² - v'μ, while the change on
//!    the fitted rows is ½|v|² - v'x. Now the component of μ along v is needed. It is cos s + sin
//!    t, with the angle between x and v, where t is a component across x; t is taken to be standard
//!    normal, which is more than it varies.
//! 6. In units of the data: the change on the fitted rows has standard error se (from its spread
//!    over rows or clusters); κ = trace(H⁻¹ J) / d with J the scatter of the gradients is the unit,
//!    and |v| = se / κ. For n independent rows of a family that contains the truth κ is 1 / n; with
//!    weights, clusters and families that do not contain the truth, it is what it should be there.
//!    Neither is taken to be less than the family itself says, κ >= 1 / n and se² >= κ v'Hv: where
//!    predictions are sure and no outcome is unexpected, rows have hardly any spread, and an
//!    interval by their spread alone finds that a map helps which does not, in 15 % of samples.
//! 7. Steps 1 and 2 hold for many rows. With few, errors of logistic fits have longer tails than
//!    normal ones: the ends are moved away from the middle by a share of 4 (1 + d) / m, where m is
//!    the number of rows that decide the fit, 1 / m = Σ ℓ² / d² with the leverages ℓ of rows. With
//!    normal logits m is about 2/3 of n, and the share 6 % for one parameter and 200 rows; where
//!    most predictions are sure, m is far smaller.
//!
//! # The rule for tables
//! Isotonic maps have no Hessian. Their interval is centred at the cross-fitted change, and its
//! variance is that of the held-out changes plus 3/2 κ T, where T is by how much held-out rows do
//! worse than fitted ones: T / κ is the number of parameters that the table is worth. In the normal
//! model the variance of held-out changes lacks κ T; tables lack half as much again in simulations
//! of normal logits, where this factor was chosen. Scalings of classes have the same rule: in
//! simulations of 40 runs each the rule for formulas covers as little as 65 % of them where nothing
//! is to fix, since the ridge bends the way in many directions at once.

use super::options::Spread;
use crate::link::{Link, Probit};

/// By how much ends are moved away from the middle, in units of (1 + d) / m: chosen in simulations
/// of normal logits with 200 rows, and checked on others in `tests/recalibrate/verdict.rs`.
const FEW_ROWS: f64 = 4.0;

/// What the interval is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    /// Mean change of log-loss on the fitted rows: negative as a rule.
    pub(crate) in_sample: f64,
    /// Its standard error, for the map as it is.
    pub(crate) deviation: f64,
    /// κ, d and the angle of the rule.
    pub(crate) spread: Spread,
}

impl Evidence {
    /// The ends for the change of log-loss by the map on new rows.
    pub(crate) fn interval(&self, level: f64) -> (f64, f64) {
        let Spread { unit, dimension, bend, square, concentration } = self.spread;
        let z = normal_quantile(0.5 * (1.0 - level));
        if !(unit > 0.0) {
            return (self.in_sample - z * self.deviation, self.in_sample + z * self.deviation);
        }
        let length = self.deviation.max((unit * square).sqrt()) / unit;
        let r = length * bend.stretch;
        let [least, middle, most] = component(r, dimension, 0.5 * (1.0 - level));
        let across = z * (1.0 - bend.cosine * bend.cosine).sqrt();
        let longer = 1.0 + FEW_ROWS * (1.0 + dimension) * concentration;
        let away = |end: f64| longer * (bend.cosine * (end - middle)).hypot(across) * (end - middle).signum();
        let toward = |end: f64| bend.cosine * middle + away(end);
        let change = |component: f64| self.in_sample + unit * length * (bend.cosine * r - component);
        (change(toward(most)), change(toward(least)))
    }
}

/// The ends for the change of log-loss by a table on new rows.
pub(crate) fn of_table(cross_fitted: f64, deviation: f64, optimism: f64, unit: f64, level: f64) -> (f64, f64) {
    let half = normal_quantile(0.5 * (1.0 - level)) * (deviation * deviation + 1.5 * unit * optimism).sqrt();
    (cross_fitted - half, cross_fitted + half)
}

/// z with P(Z > z) = tail.
pub(crate) fn normal_quantile(tail: f64) -> f64 {
    Probit.inverse(1.0 - tail, tail)
}

/// Quantiles of s given r: that which leaves `tail` below, the median, and that which leaves `tail`
/// above.
fn component(r: f64, dimension: f64, tail: f64) -> [f64; 3] {
    let flat = || [r - normal_quantile(tail), r, r + normal_quantile(tail)];
    // Below 3/2 the integrand is too flat for the sum over its logarithm.
    const LEAST: f64 = 1.5;
    if dimension <= 1.0 {
        return flat();
    }
    if dimension < LEAST {
        let share = (dimension - 1.0) / (LEAST - 1.0);
        let (flat, curved) = (flat(), component(r, LEAST, tail));
        return std::array::from_fn(|end| flat[end] + share * (curved[end] - flat[end]));
    }
    // Far from the identity only the first term of an expansion in 1 / r is left.
    if r > 30.0 + 5.0 * dimension {
        return flat().map(|end| end - (dimension - 1.0) / r);
    }
    const POINTS: usize = 500;
    let from = (r - 10.0 - dimension / r.max(1.0)).max(-9.0);
    let step = (r + 9.0 - from) / POINTS as f64;
    let at = |k: usize| from + step * (k as f64 + 0.5);
    let density: Vec<f64> = (0..POINTS).map(|k| density(at(k), r, dimension)).collect();
    let total: f64 = density.iter().sum();
    let quantile = |level: f64| {
        let mut below = 0.0;
        for (k, density) in density.iter().enumerate() {
            let share = density / total;
            if below + share >= level {
                return from + step * (k as f64 + (level - below) / share);
            }
            below += share;
        }
        from + step * POINTS as f64
    };
    [quantile(tail), quantile(0.5), quantile(1.0 - tail)]
}

/// The density of s given r, but for a constant.
fn density(s: f64, r: f64, dimension: f64) -> f64 {
    const POINTS: usize = 120;
    let size = s.abs().max(1e-9);
    // The integral over ln u, from where the integrand is nothing to where e^(-u²/2) is.
    let to = 9f64.ln();
    let from = size.min(9.0).ln() - 30.0 / (dimension - 1.0);
    let step = (to - from) / POINTS as f64;
    let integrand = |k: usize| {
        let u = (from + step * (k as f64 + 0.5)).exp();
        (-0.5 * (dimension - 1.0) * (size * size / (u * u)).ln_1p() - 0.5 * u * u).exp()
    };
    let integral: f64 = (0..POINTS).map(integrand).sum();
    (-0.5 * (s - r) * (s - r)).exp() * integral * step
}

#[cfg(test)]
mod tests {
    use super::super::formula::Bend;
    use super::*;
    use crate::numerics::random::Normals;

    /// The share of samples whose interval holds Δ, in the normal model of the rule.
    fn coverage(dimension: usize, length: f64, n_runs: usize) -> f64 {
        let mut normals = Normals::new(dimension as u64 + 100 * length as u64);
        let holds = |_| {
            let z: Vec<f64> = (0..dimension).map(|_| normals.next()).collect();
            let along = z[0] + length;
            let square = along * along + z[1..].iter().map(|z| z * z).sum::<f64>();
            // As many rows as leave nothing of the last step of the rule.
            let unit = 1e-9;
            let change = unit * (0.5 * square - along * length);
            let evidence = Evidence {
                in_sample: -0.5 * unit * square,
                deviation: unit * square.sqrt(),
                spread: Spread {
                    unit,
                    dimension: dimension as f64,
                    bend: Bend::NONE,
                    square: 0.0,
                    concentration: unit,
                },
            };
            let (lower, upper) = evidence.interval(0.95);
            lower <= change && change <= upper
        };
        (0..n_runs).map(holds).filter(|holds| *holds).count() as f64 / n_runs as f64
    }

    #[test]
    fn the_interval_covers_in_the_normal_model_whatever_the_distance() {
        for dimension in [1, 2, 3] {
            for length in [0.0, 1.0, 2.0, 4.0, 12.0] {
                let share = coverage(dimension, length, 1500);
                assert!((0.92..=0.98).contains(&share), "{dimension} parameters at {length}: {share}");
            }
        }
    }

    #[test]
    fn the_ends_do_not_jump_between_dimensions_and_distances() {
        for r in [0.1, 1.0, 3.0, 10.0, 44.0] {
            let ends = |dimension: f64| component(r, dimension, 0.025);
            for dimension in [1.0, 1.2, 1.49, 2.0, 2.7] {
                let (one, other) = (ends(dimension), ends(dimension + 0.02));
                (0..3).for_each(|end| assert!((one[end] - other[end]).abs() < 0.2, "{r} {dimension}"));
            }
        }
        for dimension in [2.0, 3.0, 8.0] {
            let border = 30.0 + 5.0 * dimension;
            let (near, far) = (component(border, dimension, 0.025), component(border + 1e-9, dimension, 0.025));
            (0..3).for_each(|end| assert!((near[end] - far[end]).abs() < 0.02, "{near:?} {far:?}"));
        }
    }
}
