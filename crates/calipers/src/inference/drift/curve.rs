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
//! with an order that the data choose. Its p-value is by draws: outcomes with the probabilities r̂.

use super::pooled::Pooled;
use crate::Error;
use crate::inference::resampler::Draws;
use crate::inference::{Interval, IntervalMethod};
use crate::link::{Link, Probit};
use crate::numerics::cholesky::Cholesky;
use crate::numerics::counts::binomial;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::watch;

/// Directions in which a change is looked for.
const N_DIRECTIONS: usize = 6;

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

/// What the test needs at each place.
struct Scores {
    /// Z at each place, `N_DIRECTIONS` numbers each.
    directions: Vec<f64>,
    /// Combinations of the directions that are uncorrelated with variance 1.
    whitened: Vec<[f64; N_DIRECTIONS]>,
}

impl CurveChange {
    pub(super) fn new(pooled: &Pooled, level: f64, n_resamples: u64, random_state: u64) -> Result<Self, Error> {
        let places = &pooled.places;
        let positives: Vec<f64> = places.iter().map(|place| place.positive).collect();
        let rates = pooled.features().fit(places, &positives).probabilities;
        let scores = Scores::new(pooled, &rates);
        let residuals: Vec<f64> =
            places.iter().zip(&rates).map(|(place, r)| place.positive - place.weight * r).collect();
        let value = scores.statistic(residuals.iter().copied());
        let draw = |number: usize| {
            watch::draw_begins();
            let mut uniforms = Uniforms::new(seed_of_draw(random_state, number as u64));
            scores.statistic(places.iter().zip(&rates).map(|(place, r)| {
                let expected = place.trials as f64 * r;
                let drawn = binomial(&mut uniforms, place.trials, *r) as f64;
                (drawn - expected) * place.weight / place.trials as f64
            }))
        };
        let draws = Draws::of(parallel::map(n_resamples as usize, draw))?;
        let with_sample = pooled.features_with_sample();
        let fitted = with_sample.fit(places, &positives);
        let last = with_sample.n - 1;
        let unit = with_sample.scales[last];
        let log_odds = fitted.theta[last] * unit;
        let variance = fitted.factor.map_or(f64::INFINITY, |factor| factor.inverse_diagonal()[last]);
        let standard_error = variance.sqrt() * unit;
        let tail = 0.5 * (1.0 - level);
        let half = Probit.inverse(1.0 - tail, tail) * standard_error;
        let (lower, upper) = (log_odds - half, log_odds + half);
        let interval = Interval { lower, upper, level, method: IntervalMethod::Normal, is_upper_limit: false };
        Ok(CurveChange { p_value: draws.p_value(value), log_odds, standard_error, interval })
    }
}

impl Scores {
    fn new(pooled: &Pooled, rates: &[f64]) -> Self {
        let places = &pooled.places;
        let spreads: Vec<f64> = places.iter().zip(rates).map(|(place, r)| place.weight * r * (1.0 - r)).collect();
        let total: f64 = spreads.iter().sum();
        let mut directions = Vec::with_capacity(N_DIRECTIONS * places.len());
        let (mut below, mut first) = (0.0, 0);
        for equal in places.chunk_by(|a, b| a.h == b.h) {
            let spread: f64 = spreads[first..first + equal.len()].iter().sum();
            let rank = if total > 0.0 { (below + 0.5 * spread) / total } else { 0.5 };
            for place in equal {
                let wave = |m: usize| if place.is_after { (std::f64::consts::PI * m as f64 * rank).cos() } else { 0.0 };
                directions.extend((0..N_DIRECTIONS).map(wave));
            }
            (below, first) = (below + spread, first + equal.len());
        }
        let features = pooled.features();
        if let Some(factor) = Cholesky::new(&features.gram(spreads.iter().copied(), 1e-12 * total)) {
            project(&mut directions, &spreads, &features, &factor);
        }
        let whitened = whitened(&directions, &spreads);
        Scores { directions, whitened }
    }

    /// The statistic of residuals Σ w (y - r̂) at each place.
    fn statistic(&self, residuals: impl Iterator<Item = f64>) -> f64 {
        let mut sums = [0.0; N_DIRECTIONS];
        for (direction, residual) in self.directions.chunks_exact(N_DIRECTIONS).zip(residuals) {
            sums.iter_mut().zip(direction).for_each(|(sum, direction)| *sum += direction * residual);
        }
        let (mut squares, mut largest) = (0.0, f64::NEG_INFINITY);
        for (k, combination) in (1..).zip(&self.whitened) {
            let z: f64 = combination.iter().zip(&sums).map(|(share, sum)| share * sum).sum();
            squares += z * z;
            largest = largest.max((squares - f64::from(k)) / (2.0 * f64::from(k)).sqrt());
        }
        // Where no direction is left, nothing can be seen: all draws are equal to the value.
        if self.whitened.is_empty() { 0.0 } else { largest }
    }
}

/// Takes off from each direction its projection on the features.
fn project(directions: &mut [f64], spreads: &[f64], features: &super::pooled::Features, factor: &Cholesky) {
    for m in 0..N_DIRECTIONS {
        let mut products = vec![0.0; features.n];
        for ((row, spread), direction) in features.rows().zip(spreads).zip(directions.chunks_exact(N_DIRECTIONS)) {
            products.iter_mut().zip(row).for_each(|(sum, feature)| *sum += spread * feature * direction[m]);
        }
        let shares = factor.solve(&products);
        for (row, direction) in features.rows().zip(directions.chunks_exact_mut(N_DIRECTIONS)) {
            direction[m] -= row.iter().zip(&shares).map(|(feature, share)| feature * share).sum::<f64>();
        }
    }
}

/// Gram and Schmidt's combinations, without directions that are as good as sums of those before.
fn whitened(directions: &[f64], spreads: &[f64]) -> Vec<[f64; N_DIRECTIONS]> {
    let mut gram = [[0.0; N_DIRECTIONS]; N_DIRECTIONS];
    for (direction, spread) in directions.chunks_exact(N_DIRECTIONS).zip(spreads) {
        for i in 0..N_DIRECTIONS {
            (0..N_DIRECTIONS).for_each(|j| gram[i][j] += spread * direction[i] * direction[j]);
        }
    }
    let product = |a: &[f64; N_DIRECTIONS], b: &[f64; N_DIRECTIONS]| -> f64 {
        (0..N_DIRECTIONS).map(|i| a[i] * (0..N_DIRECTIONS).map(|j| gram[i][j] * b[j]).sum::<f64>()).sum()
    };
    let total: f64 = spreads.iter().sum();
    let mut all: Vec<[f64; N_DIRECTIONS]> = Vec::new();
    for m in 0..N_DIRECTIONS {
        let mut combination = [0.0; N_DIRECTIONS];
        combination[m] = 1.0;
        // Twice, since rounding leaves a part of what is taken off first.
        for _ in 0..2 {
            for other in &all {
                let share = product(&combination, other);
                combination.iter_mut().zip(other).for_each(|(own, other)| *own -= share * other);
            }
        }
        let size = product(&combination, &combination);
        if size > LEAST_NEW * total && total > 0.0 {
            all.push(combination.map(|share| share / size.sqrt()));
        }
    }
    all
}
