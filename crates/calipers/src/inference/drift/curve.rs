//! Whether outcomes at equal predictions are as frequent after as before.
//!
//! # The test
//! Let r(h) be the probability of outcome 1 at score h, and S be 1 after and 0 before. The question
//! is whether r depends on S. With r̂ a smooth curve that is fitted to both samples together, look
//! at
//! ```text
//! U_m = Σ w Z_m (y - r̂(h))      Z_m = S cos(π m c(h)) - its projection on functions of h alone
//! ```
//! c is the rank of h in both samples together, from 0 to 1, so that m = 0 sees a shift, m = 1 a
//! change of slope, and larger m finer changes. The projection is that of least squares with the
//! weights w r̂ (1 - r̂) on the functions that r̂ is a sum of. So U_m is the score, in the sense of
//! likelihood, of S cos(π m c) beside them: to first order it does not depend on the error of r̂.
//! Where r is not quite a sum of these functions, what remains is a product of two errors, that of
//! r̂ and that of S given h by the same functions. A different distribution of scores alone does
//! not move it.
//!
//! The U_m are made uncorrelated with variance 1, one after the other, as z_1, z_2, ...; the
//! statistic is the largest over k of (z_1² + ... + z_k² - k) / √(2k), as Neyman's smooth tests
//! with an order that the data choose. Its p-value is by draws: outcomes with the probabilities r̂,
//! or for clusters of rows by changes of sign ([`super::clustered`]).

use super::clustered::Clustered;
use super::drawing::Drawing;
use super::pooled::{Features, Fitted, Pooled, Row, logit};
use crate::Error;
use crate::inference::{Interval, IntervalMethod};
use crate::link::{Link, Logistic, Probit};
use crate::numerics::binomial::binomial;
use crate::numerics::cholesky::Cholesky;

/// Directions in which a change is looked for.
pub(super) const N_DIRECTIONS: usize = 6;

/// A number for each direction.
pub(super) type Directions = [f64; N_DIRECTIONS];

/// Of a direction, the least part that is not in those before it.
const LEAST_NEW: f64 = 1e-6;

/// How outcomes at equal predictions have changed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CurveChange {
    /// Of "outcomes at equal predictions are as frequent after as before", by draws.
    pub p_value: f64,
    /// ln of the odds of outcome 1 after over those before, at equal predictions: one number for
    /// all predictions, by maximum likelihood beside a smooth curve.
    pub log_odds: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Where that of the populations is.
    pub interval: Interval,
}

/// The outcome rate of both samples together as a smooth curve.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonCurve {
    /// Logits in ascending order, each with the rate there.
    rates: Vec<(f64, f64)>,
}

impl CommonCurve {
    /// The rate at a probability; between places in proportion, and beyond them that of the last.
    pub fn at(&self, probability: f64) -> f64 {
        let h = logit(probability);
        let next = self.rates.partition_point(|(place, _)| *place < h);
        match (next.checked_sub(1).and_then(|below| self.rates.get(below)), self.rates.get(next)) {
            (Some((low, from)), Some((high, to))) => from + (h - low) / (high - low) * (to - from),
            (Some((_, rate)), None) | (None, Some((_, rate))) => *rate,
            (None, None) => f64::NAN,
        }
    }
}

/// What the test needs at each place.
struct Scores {
    /// Z at each place.
    directions: Vec<Directions>,
    /// Combinations of the directions that are uncorrelated with variance 1.
    whitened: Vec<Directions>,
    /// The rank of each score, in the order of the scores.
    ranks: Vec<(f64, f64)>,
    /// How much of each feature is taken off each direction.
    projections: Vec<Directions>,
}

impl CurveChange {
    pub(super) fn new(
        pooled: &Pooled,
        clustered: Option<&Clustered>,
        level: f64,
        drawing: &Drawing,
    ) -> Result<(Self, CommonCurve), Error> {
        let features = pooled.features();
        let positives: Vec<f64> = pooled.places.iter().map(|place| place.positive).collect();
        let fitted = features.fit(&pooled.places, &positives);
        let scores = Scores::new(pooled, &features, &fitted.probabilities);
        let p_value = match clustered {
            None => scores.p_value(pooled, &fitted.probabilities, drawing)?,
            Some(clustered) => {
                let contributions = clustered.sums(|row| {
                    let at = pooled.features_of(row, &features);
                    let residual = row.weight * (f64::from(u8::from(row.outcome)) - fitted.at(&at));
                    let directions = scores.at(row, &at);
                    combined(&scores.whitened, &directions.map(|direction| direction * residual))
                });
                clustered.p_value(&contributions, drawing)?
            }
        };
        let (log_odds, standard_error) = log_odds(pooled, clustered, &positives);
        let tail = 0.5 * (1.0 - level);
        let half = Probit.inverse(1.0 - tail, tail) * standard_error;
        let (lower, upper) = (log_odds - half, log_odds + half);
        let interval = Interval { lower, upper, level, method: IntervalMethod::Normal, is_upper_limit: false };
        let mut rates: Vec<(f64, f64)> =
            pooled.places.iter().map(|place| place.h).zip(fitted.probabilities.iter().copied()).collect();
        rates.dedup_by_key(|(h, _)| *h);
        Ok((CurveChange { p_value, log_odds, standard_error, interval }, CommonCurve { rates }))
    }
}

/// The logarithm of the odds ratio with its standard error, which rows or clusters show: that of
/// the linear part of the estimate.
fn log_odds(pooled: &Pooled, clustered: Option<&Clustered>, positives: &[f64]) -> (f64, f64) {
    let features = pooled.features_with_sample();
    let fitted = features.fit(&pooled.places, positives);
    let last = features.n - 1;
    let unit = features.scales[last];
    let log_odds = fitted.theta[last] * unit;
    let Some(factor) = &fitted.factor else { return (log_odds, f64::INFINITY) };
    let mut of_sample = vec![0.0; features.n];
    of_sample[last] = unit;
    let linear = factor.solve(&of_sample);
    let along = |row: &[f64]| row.iter().zip(&linear).map(|(feature, share)| feature * share).sum::<f64>();
    let variance = match clustered {
        None => {
            let places = features.rows().zip(&pooled.places).zip(&fitted.probabilities);
            places.map(|((row, place), p)| place.squares * p * (1.0 - p) * along(row).powi(2)).sum::<f64>()
        }
        Some(clustered) => clustered.variance(|row| {
            let at = pooled.features_of(row, &features);
            along(&at) * row.weight * (f64::from(u8::from(row.outcome)) - fitted.at(&at))
        }),
    };
    (log_odds, variance.sqrt())
}

impl Fitted {
    /// The probability of outcome 1 at these features.
    fn at(&self, features: &[f64]) -> f64 {
        Logistic.response(features.iter().zip(&self.theta).map(|(feature, theta)| feature * theta).sum())
    }
}

impl Scores {
    fn new(pooled: &Pooled, features: &Features, rates: &[f64]) -> Self {
        let places = &pooled.places;
        let spreads: Vec<f64> = places.iter().zip(rates).map(|(place, r)| place.weight * r * (1.0 - r)).collect();
        let total: f64 = spreads.iter().sum();
        let (mut directions, mut ranks) = (Vec::with_capacity(places.len()), Vec::new());
        let (mut below, mut first) = (0.0, 0);
        for equal in places.chunk_by(|a, b| a.h == b.h) {
            let spread: f64 = spreads[first..first + equal.len()].iter().sum();
            let rank = if total > 0.0 { (below + 0.5 * spread) / total } else { 0.5 };
            directions.extend(equal.iter().map(|place| waves(rank, place.is_after)));
            ranks.push((equal[0].h, rank));
            (below, first) = (below + spread, first + equal.len());
        }
        let projections = match Cholesky::new(&features.gram(spreads.iter().copied(), 1e-12 * total)) {
            Some(factor) => projections(&directions, &spreads, features, &factor),
            None => vec![[0.0; N_DIRECTIONS]; features.n],
        };
        let rows = directions.iter_mut().zip(features.rows());
        rows.for_each(|(directions, row)| take_off(directions, row, &projections));
        let variances = places.iter().zip(rates).map(|(place, r)| place.squares * r * (1.0 - r));
        let variances: Vec<f64> = variances.collect();
        let whitened = uncorrelated(directions.iter().zip(variances.iter().copied()), variances.iter().sum());
        Scores { directions, whitened, ranks, projections }
    }

    /// Z of a row with these features.
    fn at(&self, row: &Row, features: &[f64]) -> Directions {
        let next = self.ranks.partition_point(|(h, _)| *h < row.h);
        let (above, below) = (next.min(self.ranks.len() - 1), next.saturating_sub(1));
        let ((low, from), (high, to)) = (self.ranks[below], self.ranks[above]);
        // Rows between places, where those have several scores.
        let share = if high > low { ((row.h - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        let mut directions = waves(from + share * (to - from), row.is_after);
        take_off(&mut directions, features, &self.projections);
        directions
    }

    /// By draws of outcomes with the probabilities of the fitted curve.
    fn p_value(&self, pooled: &Pooled, rates: &[f64], drawing: &Drawing) -> Result<f64, Error> {
        let places = &pooled.places;
        let residuals = places.iter().zip(rates).map(|(place, r)| place.positive - place.weight * r);
        drawing.p_value(self.statistic(residuals), |mut uniforms| {
            self.statistic(places.iter().zip(rates).map(|(place, r)| {
                let drawn = binomial(&mut uniforms, place.trials, *r) as f64;
                (drawn - place.trials as f64 * r) * (place.squares / place.trials as f64).sqrt()
            }))
        })
    }

    /// The statistic of residuals Σ w (y - r̂) at each place.
    fn statistic(&self, residuals: impl Iterator<Item = f64>) -> f64 {
        let mut sums = [0.0; N_DIRECTIONS];
        for (direction, residual) in self.directions.iter().zip(residuals) {
            sums.iter_mut().zip(direction).for_each(|(sum, direction)| *sum += direction * residual);
        }
        statistic(&combined(&self.whitened, &sums)[..self.whitened.len()])
    }
}

/// Combinations of sums, of which there may be fewer than directions; the others are 0.
pub(super) fn combined(combinations: &[Directions], sums: &Directions) -> Directions {
    let mut all = [0.0; N_DIRECTIONS];
    all.iter_mut().zip(combinations).for_each(|(own, combination)| *own = product(combination, sums));
    all
}

/// The largest over k of (z_1² + ... + z_k² - k) / √(2k).
pub(super) fn statistic(uncorrelated: &[f64]) -> f64 {
    let (mut squares, mut largest) = (0.0, f64::NEG_INFINITY);
    for (k, z) in (1..).zip(uncorrelated) {
        squares += z * z;
        largest = largest.max((squares - f64::from(k)) / (2.0 * f64::from(k)).sqrt());
    }
    // Where no direction is left, nothing can be seen: all draws are equal to the value.
    if uncorrelated.is_empty() { 0.0 } else { largest }
}

/// S cos(π m c) for each m.
fn waves(rank: f64, is_after: bool) -> Directions {
    let wave = |m: usize| if is_after { (std::f64::consts::PI * m as f64 * rank).cos() } else { 0.0 };
    std::array::from_fn(wave)
}

/// How much of each feature the projection of each direction has.
fn projections(directions: &[Directions], spreads: &[f64], features: &Features, factor: &Cholesky) -> Vec<Directions> {
    let mut all = vec![[0.0; N_DIRECTIONS]; features.n];
    for m in 0..N_DIRECTIONS {
        let mut products = vec![0.0; features.n];
        for ((row, spread), direction) in features.rows().zip(spreads).zip(directions) {
            products.iter_mut().zip(row).for_each(|(sum, feature)| *sum += spread * feature * direction[m]);
        }
        all.iter_mut().zip(factor.solve(&products)).for_each(|(own, share)| own[m] = share);
    }
    all
}

/// Takes the projections off the directions of a place with these features.
fn take_off(directions: &mut Directions, features: &[f64], projections: &[Directions]) {
    for (feature, shares) in features.iter().zip(projections) {
        directions.iter_mut().zip(shares).for_each(|(direction, share)| *direction -= feature * share);
    }
}

fn product(a: &Directions, b: &Directions) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gram and Schmidt's combinations of directions, each with its variance, without those that are as
/// good as sums of those before.
pub(super) fn uncorrelated<'a>(directions: impl Iterator<Item = (&'a Directions, f64)>, total: f64) -> Vec<Directions> {
    let mut gram = [[0.0; N_DIRECTIONS]; N_DIRECTIONS];
    for (direction, variance) in directions {
        for i in 0..N_DIRECTIONS {
            (0..N_DIRECTIONS).for_each(|j| gram[i][j] += variance * direction[i] * direction[j]);
        }
    }
    let covariance = |a: &Directions, b: &Directions| -> f64 { product(a, &gram.map(|row| product(&row, b))) };
    let mut all: Vec<Directions> = Vec::new();
    for m in 0..N_DIRECTIONS {
        let mut combination = [0.0; N_DIRECTIONS];
        combination[m] = 1.0;
        // Twice, since rounding leaves a part of what is taken off first.
        for _ in 0..2 {
            for other in &all {
                let share = covariance(&combination, other);
                combination.iter_mut().zip(other).for_each(|(own, other)| *own -= share * other);
            }
        }
        let size = covariance(&combination, &combination);
        if size > LEAST_NEW * total && total > 0.0 {
            all.push(combination.map(|share| share / size.sqrt()));
        }
    }
    all
}
