//! The difference of a measure between two models or two samples.

use super::bracket::REACH;
use super::interval::least_half;
use super::rows::variance;
use super::{Bracket, Clusters, Interval, IntervalMethod, RowBracket, RowEnd};
use crate::link::{Link, Probit};

/// Of a standard error, what is rounding alone.
const NOTHING: f64 = 1e-13;

/// Two estimates that enclose a difference but for chance, and one between them.
pub(super) struct Difference {
    pub(super) centre: f64,
    /// The standard error of a difference of two estimates of one kind.
    pub(super) deviation: f64,
    /// Each with its standard error.
    lower: (f64, f64),
    upper: (f64, f64),
    method: IntervalMethod,
}

/// Covariances of estimates of two samples; 0 where the samples are independent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Covariances {
    /// Of both upper estimates.
    pub(super) of_upper: f64,
    /// Of the lower estimate of the first and the upper one of the second.
    pub(super) of_least: f64,
    /// Of the upper estimate of the first and the lower one of the second.
    pub(super) of_most: f64,
}

impl Difference {
    /// From the brackets of both models: the possible biases are as alike as the noise of the upper
    /// estimates.
    pub(super) fn of_brackets(a: &RowBracket, b: &RowBracket, clusters: Option<&Clusters>) -> Self {
        let [half_a, half_b] = [a, b].map(|bracket| 0.5 * (bracket.upper.value - bracket.lower.value));
        let middle = 0.5 * (a.upper.value + a.lower.value) - 0.5 * (b.upper.value + b.lower.value);
        let alike = likeness(&a.upper.influences, &b.upper.influences);
        let slack = (half_a * half_a + half_b * half_b - 2.0 * alike * half_a * half_b).max(0.0).sqrt();
        // Upper estimates have the noise of all places, and that of like models cancels in their
        // difference.
        let of_upper = deviation(&a.upper, &b.upper, alike, clusters);
        // Unlike models differ by at least the lower estimate of one less the upper one of the
        // other, with less noise.
        let least = (a.lower.value - b.upper.value, deviation(&a.lower, &b.upper, alike, clusters));
        let most = (a.upper.value - b.lower.value, deviation(&a.upper, &b.lower, alike, clusters));
        Self::between(a.debiased - b.debiased, middle, slack, of_upper, [least, most])
    }

    /// Whichever leaves the narrower interval at each end: the middle less or more what the biases
    /// may be, or the least and the most that the difference can be.
    fn between(centre: f64, middle: f64, slack: f64, deviation: f64, [least, most]: [(f64, f64); 2]) -> Self {
        let reach = |(value, deviation): (f64, f64)| value - REACH * deviation;
        let least_is_higher = reach(least) > reach((middle - slack, deviation));
        let most_is_lower = reach((-most.0, most.1)) > reach((-middle - slack, deviation));
        Difference {
            centre,
            deviation,
            lower: if least_is_higher { least } else { (middle - slack, deviation) },
            upper: if most_is_lower { most } else { (middle + slack, deviation) },
            method: IntervalMethod::BiasAware,
        }
    }

    /// Of two samples that have no rows in common: what is left of their biases is taken to be
    /// independent, and so is their noise but for what their clusters share.
    pub(super) fn of_samples(a: &Bracket, b: &Bracket, shared: &Covariances) -> Self {
        let [half_a, half_b] = [a, b].map(|bracket| 0.5 * (bracket.upper - bracket.lower));
        let middle = 0.5 * (a.upper + a.lower) - 0.5 * (b.upper + b.lower);
        let both = |a: f64, b: f64, covariance: f64| (a * a + b * b - 2.0 * covariance).max(0.0).sqrt();
        let of_upper = both(a.upper_deviation, b.upper_deviation, shared.of_upper);
        let least = (a.lower - b.upper, both(a.lower_deviation, b.upper_deviation, shared.of_least));
        let most = (a.upper - b.lower, both(a.upper_deviation, b.lower_deviation, shared.of_most));
        Self::between(a.debiased - b.debiased, middle, half_a.hypot(half_b), of_upper, [least, most])
    }

    pub(super) fn about(centre: f64, deviation: f64) -> Self {
        let end = (centre, deviation);
        Difference { centre, deviation, lower: end, upper: end, method: IntervalMethod::Normal }
    }

    /// The interval at a level; `effective_rows` are those of the sample with fewer.
    pub(super) fn interval(&self, level: f64, (smallest, largest): (f64, f64), effective_rows: f64) -> Interval {
        let tail = 0.5 * (1.0 - level);
        let (least, z) = (least_half(tail, effective_rows), Probit.inverse(1.0 - tail, tail));
        let beyond = |deviation: f64| least.max(z * deviation);
        let lower = (self.lower.0 - beyond(self.lower.1)).clamp(smallest, largest);
        let upper = (self.upper.0 + beyond(self.upper.1)).clamp(smallest, largest);
        Interval { lower, upper, level, method: self.method, is_upper_limit: false }
    }

    /// Of no difference, two-sided.
    pub(super) fn p_value(&self, effective_rows: f64) -> f64 {
        // How far 0 is outside of what the estimates enclose, and the standard error of the end
        // that is nearer.
        let (distance, deviation) =
            if self.lower.0 > -self.upper.0 { self.lower } else { (-self.upper.0, self.upper.1) };
        let beyond = match (deviation > NOTHING, distance > NOTHING) {
            (true, _) => 2.0 * Probit.complement(distance / deviation),
            (false, true) => 0.0,
            (false, false) => 1.0,
        };
        // The α of the interval that ends at 0.
        beyond.max(2.0 * (-effective_rows * distance.max(0.0)).exp()).min(1.0)
    }
}

/// The correlation of two models' influences, or 0 where it is negative.
fn likeness(a: &[f64], b: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let squares = product(a, a) * product(b, b);
    if squares > 0.0 { (product(a, b) / squares.sqrt()).clamp(0.0, 1.0) } else { 0.0 }
}

/// The standard error of the difference between estimates of two models.
fn deviation(a: &RowEnd, b: &RowEnd, alike: f64, clusters: Option<&Clusters>) -> f64 {
    let influences: Vec<f64> = a.influences.iter().zip(&b.influences).map(|(a, b)| a - b).collect();
    // What few rows lack is as alike as the rest.
    (variance(&influences, clusters) + (a.lacking + b.lacking) * (1.0 - alike)).sqrt()
}
