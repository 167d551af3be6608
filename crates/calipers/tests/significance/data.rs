//! Rows of many shapes, made from known families.

use calipers::population::Family;
use calipers::{BinaryView, Input};

/// Probabilities, outcomes and perhaps weights.
pub(crate) struct Data {
    pub(crate) probabilities: Vec<f64>,
    pub(crate) outcomes: Vec<bool>,
    pub(crate) weights: Option<Vec<f64>>,
}

/// What is done to the scores of a family before outcomes are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Plain,
    /// Rounded to tenths.
    Ties,
    /// Rounded to 1/256.
    Quantised,
    /// With weights, of which some are 0 and some large.
    Weighted,
}

/// Numbers in [0, 1) that look random, the same everywhere.
pub(crate) fn sequence(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub(crate) fn logistic(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

impl Data {
    /// Scores of a family; the outcome of a row is 1 with the probability of the family's truth at its (rounded) score.
    pub(crate) fn new(family: &str, shape: Shape, n: usize, seed: u64) -> Self {
        let family = Family::named(family).unwrap();
        let sample = family.sample(n, seed);
        let round = |p: f64| match shape {
            Shape::Ties => ((p * 10.0).round() / 10.0).clamp(0.05, 0.95),
            Shape::Quantised => ((p * 256.0).round() / 256.0).clamp(0.0, 1.0),
            Shape::Plain | Shape::Weighted => p,
        };
        let mut next = sequence(seed ^ 0x5bd1_e995);
        (0..50).for_each(|_| _ = next());
        let probabilities: Vec<f64> = sample.scores.iter().map(|h| round(logistic(*h))).collect();
        let truth = |p: f64| match p {
            0.0 => 0.0,
            1.0 => 1.0,
            p => family.truth().probability((p / (1.0 - p)).ln()),
        };
        let outcomes = probabilities.iter().map(|p| next() < truth(*p)).collect();
        let weights = (shape == Shape::Weighted)
            .then(|| (0..n).map(|_| if next() < 0.1 { 0.0 } else { 0.2 + 3.0 * next() * next() }).collect());
        Data { probabilities, outcomes, weights }
    }

    pub(crate) fn with<T>(&self, ask: impl FnOnce(&BinaryView<'_>) -> T) -> T {
        let input = Input::probabilities(&self.probabilities, &self.outcomes);
        let input = match &self.weights {
            Some(weights) => input.weights(weights),
            None => input,
        };
        let predictions = input.check().unwrap();
        ask(&predictions.binary().unwrap())
    }
}

/// Mean, standard deviation and the quantiles at 0.05, 0.5 and 0.95.
pub(crate) fn summary(mut draws: Vec<f64>) -> (f64, f64, [f64; 3]) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let deviation = (draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    draws.sort_unstable_by(f64::total_cmp);
    (mean, deviation, [0.05, 0.5, 0.95].map(|level| draws[(level * (n - 1.0)).round() as usize]))
}
