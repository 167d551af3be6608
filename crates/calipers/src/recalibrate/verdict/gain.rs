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
//! 1. Let u = θ'φ be the recalibrated logit and c the parameters of the identity. Log-loss is
//!    softplus(u) - y u, so the outcomes enter through the sums of y φ alone. Let v be the way from
//!    c to the fit. On new rows at the same logits, Δ is the change on the fitted rows less
//!    v'∇(θ*), where ∇ is the gradient of the mean loss of the fitted rows, and θ* the parameters
//!    at which the expected gradient is 0, whether the family contains the truth or not. So an
//!    interval for θ* is one for Δ, without any expansion.
//! 2. In units of H^(1/2) / √κ, with H the Hessian, let μ be the distance of θ* from the identity,
//!    Z the error of the fit without ridge and x = μ + Z its distance from the identity. κ =
//!    trace(H⁻¹ J) / d, with J the scatter of the gradients; it is 1 / n for n independent rows of
//!    a family that contains the truth, and is not taken to be less. With many rows Z is standard
//!    normal in d dimensions, and n Δ = ½|x|² - x'μ: only the component s of μ along x matters.
//! 3. What is known about s is its likelihood on the line from the identity through the fit: the
//!    mean loss there over -κ (`line.rs`). With few rows, or where most predictions are sure, it is
//!    far from normal: an outcome that no row shows may well occur. The prior is flat in the
//!    distance from the identity as the information measures it: ds √H(s). For d = 1 it is the
//!    prior of Jeffreys, whose quantiles cover up to O(1/n) as they should.
//! 4. For d > 1 the length of x is biased up as a distance from the identity. The prior that is
//!    flat in |μ| and in its direction (the reference prior for a length) takes that bias off:
//!    ```text
//!    density of s = likelihood √H(s) ∫ (1 + s²/u²)^(-(d-1)/2) e^(-u²/2) du / u
//!    ```
//!    where u is the distance across x. In the normal model it covers 93 to 97 % for every μ and d
//!    up to 10.
//! 5. A ridge turns the way: x is H⁻¹(H + 2Λ) v. The component of μ along v is cos s + sin t, with
//!    the angle between x and v; the variance of t is that of step 4.
//! 6. Logits are drawn, too: the variance of the expected change over rows is added, and in any
//!    case as much that the interval is not narrower than the spread of the rows' changes says, by
//!    rows or by clusters.
//!
//! Ends are those of s, mapped by step 1; the variances of steps 5 and 6 are added to the squares
//! of their distances from the median.
//!
//! # The rule for tables
//! Isotonic maps have no Hessian. Their interval is centred at the cross-fitted change, with three
//! corrections:
//! 1. Maps of folds are fitted to fewer rows, and are worse than the map of all. The correction of
//!    Burman (Biometrika 76, 1989) is the change on all rows by the map of all, less that by the
//!    maps of the folds: for a table whose loss is c / n it takes off all of c / (K n), nearly.
//! 2. To the variance of held-out changes 3/2 κ T is added, where T is by how much held-out rows do
//!    worse than fitted ones: T / κ is the number of parameters that the table is worth. In the
//!    normal model the variance of held-out changes lacks κ T; tables lack half as much again in
//!    simulations of normal logits, where this factor was chosen.
//! 3. A block of a table in which no outcome was unexpected says that none ever is, and neither its
//!    fitted nor its held-out rows show any spread. So the variance is not taken to be less than
//!    that of outcomes which are drawn from the predictions, which nobody has shown to be wrong
//!    there.
//!
//! Scalings of classes and the automatic choice have the same rule. Of scalings, the rule for
//! formulas covers as little as 65 % where nothing is to fix, since the ridge bends the way in many
//! directions at once (simulations of 40 runs each). Of the choice, which map is fitted depends on
//! the rows, too.
//!
//! # Where it is weak
//! Where predictions are very sure and too sure, a few unexpected outcomes decide the gain of a
//! table, and samples without them show neither the gain nor its spread: with 200 rows, upper ends
//! of centred isotonic regression, Venn-Abers prediction and bins are too low in a tenth of
//! samples. Where the choice is not the identity though nothing is to fix, its interval is too high
//! more often than 1 in 20. `calipers study recalibration` has the numbers.

use super::line::Line;
use crate::link::{Link, Probit};
use crate::recalibrate::options::Spread;

/// How much variance held-out changes of tables lack, in units of κ T: chosen in simulations of
/// normal logits.
const LACK: f64 = 1.5;

/// What the interval of a formula is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence<'a> {
    /// Mean change of log-loss on the fitted rows: negative as a rule.
    pub(crate) in_sample: f64,
    /// Its standard error, for the map as it is.
    pub(crate) deviation: f64,
    /// The part of it that is due to which rows were drawn, whatever their outcomes.
    pub(crate) design: f64,
    /// κ, d and the angle of the rule.
    pub(crate) spread: Spread,
    /// The likelihood; where it is not known, it is taken to be normal.
    pub(crate) line: Option<&'a Line>,
}

impl Evidence<'_> {
    /// The ends for the change of log-loss by the map on new rows.
    pub(crate) fn interval(&self, level: f64) -> (f64, f64) {
        let Spread { unit, dimension, bend, square, .. } = self.spread;
        let tail = 0.5 * (1.0 - level);
        let z = normal_quantile(tail);
        if !(unit > 0.0) {
            return (self.in_sample - z * self.deviation, self.in_sample + z * self.deviation);
        }
        let length = (square / unit).sqrt();
        let r = length * bend.stretch;
        let normal = |s: f64| -0.5 * (s - r) * (s - r);
        let (known, optimism): (Components, &dyn Fn(f64) -> f64) = match self.line {
            Some(line) => (components(line.ends(), &|s| line.log_density(s), dimension, tail), &|s| line.optimism(s)),
            None => (components((r - 9.0 - dimension, r + 9.0), &normal, dimension, tail), &|s| {
                unit * length * bend.cosine * (r - s)
            }),
        };
        let [least, middle, most] = known.along.map(|s| self.in_sample + optimism(s));
        let across = unit * square * (1.0 - bend.cosine * bend.cosine) * known.across;
        // What rows show beyond the noise of the outcomes.
        let rest = (self.deviation * self.deviation - unit * square).max(self.design * self.design);
        let others = z * (across + rest).sqrt();
        (middle - (middle - most).hypot(others), middle + (least - middle).hypot(others))
    }
}

/// What the interval of a table is made from: changes of log-loss, after less before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TableEvidence {
    /// Mean change of held-out rows.
    pub(crate) cross_fitted: f64,
    /// Mean change of the fitted rows.
    pub(crate) in_sample: f64,
    /// Mean change of all rows by the maps of the folds.
    pub(crate) of_folds: f64,
    /// The standard error of the mean change of held-out rows, for maps as they are.
    pub(crate) deviation: f64,
    /// That of the fitted map, for outcomes that are drawn from the predictions.
    pub(crate) drawn: f64,
    /// κ.
    pub(crate) unit: f64,
}

impl TableEvidence {
    /// The ends for the change of log-loss by the map on new rows.
    pub(crate) fn interval(&self, level: f64) -> (f64, f64) {
        let middle = self.cross_fitted + self.in_sample - self.of_folds;
        let optimism = (self.cross_fitted - self.in_sample).max(0.0);
        let of_rows = self.deviation.max(self.drawn);
        let half = normal_quantile(0.5 * (1.0 - level)) * (of_rows * of_rows + LACK * self.unit * optimism).sqrt();
        (middle - half, middle + half)
    }
}

/// z with P(Z > z) = tail.
pub(crate) fn normal_quantile(tail: f64) -> f64 {
    Probit.inverse(1.0 - tail, tail)
}

/// What is known about the components of μ.
struct Components {
    /// Of s: the quantile that leaves the tail below, the median, and that which leaves it above.
    along: [f64; 3],
    /// The variance of a component across x.
    across: f64,
}

/// For s between two ends, and the logarithm of its likelihood.
fn components(ends: (f64, f64), log_density: &dyn Fn(f64) -> f64, dimension: f64, tail: f64) -> Components {
    const POINTS: usize = 400;
    let (from, to) = ends;
    let step = (to - from) / POINTS as f64;
    let at = |k: usize| from + step * (k as f64 + 0.5);
    let logs: Vec<f64> = (0..POINTS).map(|k| log_density(at(k))).collect();
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = |k: usize| {
        let likelihood = (logs[k] - highest).exp();
        // What is nothing needs no integral.
        if likelihood < 1e-12 { [0.0; 2] } else { across(at(k), dimension).map(|integral| likelihood * integral) }
    };
    let density: Vec<[f64; 2]> = (0..POINTS).map(weights).collect();
    let total: f64 = density.iter().map(|[density, _]| density).sum();
    let quantile = |level: f64| {
        let mut below = 0.0;
        for (k, [density, _]) in density.iter().enumerate() {
            let share = density / total;
            if below + share >= level {
                return from + step * (k as f64 + (level - below) / share);
            }
            below += share;
        }
        to
    };
    let squares = density.iter().map(|[_, square]| square).sum::<f64>() / total;
    Components { along: [quantile(tail), quantile(0.5), quantile(1.0 - tail)], across: squares }
}

/// The integral of the rule over the distance u across x, at s; and that with the square of one
/// component of it.
fn across(s: f64, dimension: f64) -> [f64; 2] {
    const POINTS: usize = 64;
    if dimension <= 1.0 {
        return [1.0, 1.0];
    }
    let size = s.abs().max(1e-9);
    // Over ln u, from where the integrand is nothing to where e^(-u²/2) is.
    let to = 9f64.ln();
    let from = size.min(9.0).ln() - 30.0 / (dimension - 1.0);
    let step = (to - from) / POINTS as f64;
    let mut sums = [0.0; 2];
    for k in 0..POINTS {
        let u = (from + step * (k as f64 + 0.5)).exp();
        let part = (-0.5 * (dimension - 1.0) * (size * size / (u * u)).ln_1p() - 0.5 * u * u).exp() * step;
        sums[0] += part;
        sums[1] += part * u * u / (dimension - 1.0);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::Normals;
    use crate::recalibrate::binary::formula::Bend;

    /// The share of samples whose interval holds Δ, in the normal model of the rule.
    fn coverage(dimension: usize, length: f64, n_runs: usize) -> f64 {
        let mut normals = Normals::new(dimension as u64 + 100 * length as u64);
        let holds = |_| {
            let z: Vec<f64> = (0..dimension).map(|_| normals.next()).collect();
            let along = z[0] + length;
            let square = along * along + z[1..].iter().map(|z| z * z).sum::<f64>();
            let unit = 1e-9;
            let change = unit * (0.5 * square - along * length);
            let evidence = Evidence {
                in_sample: -0.5 * unit * square,
                deviation: unit * square.sqrt(),
                design: 0.0,
                spread: Spread {
                    unit,
                    dimension: dimension as f64,
                    bend: Bend::NONE,
                    square: unit * square,
                    concentration: unit,
                },
                line: None,
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
    fn across_the_way_less_is_known_far_from_the_identity_and_never_more_than_one_error() {
        for dimension in [2.0, 3.0, 8.0] {
            let known = |r: f64| components((r - 12.0, r + 9.0), &|s| -0.5 * (s - r) * (s - r), dimension, 0.025);
            let (near, far) = (known(0.5).across, known(40.0).across);
            assert!(near < far && far <= 1.0 + 1e-9 && far > 0.99, "{near} {far}");
            // Far from the identity the length is biased up by (d - 1) / 2r, and s is normal.
            let [least, middle, most] = known(40.0).along;
            assert!((middle - 40.0 + (dimension - 1.0) / 40.0).abs() < 0.01, "{middle}");
            assert!((most - least - 3.92).abs() < 0.02, "{least} {most}");
        }
    }
}
