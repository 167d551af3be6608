//! Rows of many shapes, made from known families.

use calipers::population::Family;
use calipers::simulate::MonteCarlo;
use calipers::{BinaryView, Input};
use rayon::prelude::*;

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
    /// Scores of a family; the outcome of a row is 1 with the probability of the family's truth at
    /// its (rounded) score.
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

/// What `run` gives for each number below `n_runs`, on all threads, in order.
pub(crate) fn runs<T: Send>(n_runs: u64, run: impl Fn(u64) -> T + Sync + Send) -> Vec<T> {
    (0..n_runs).into_par_iter().map(run).collect()
}

/// The share of runs in which something held, with its standard error.
pub(crate) fn share(held: impl IntoIterator<Item = bool>) -> MonteCarlo {
    MonteCarlo::share(held.into_iter())
}

/// A share with its standard error, to be printed.
pub(crate) fn shown(share: MonteCarlo) -> String {
    format!("{:.3} ± {:.3}", share.value, share.standard_error)
}

/// What was not as it should be, so that a table of simulations is seen as a whole before it fails.
#[derive(Default)]
pub(crate) struct Failures(Vec<String>);

impl Failures {
    /// Expects something to hold.
    pub(crate) fn expect(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.0.push(what.into());
        }
    }

    /// Expects a share to be in a range, but for two standard errors of the simulation.
    pub(crate) fn expect_within(&mut self, share: MonteCarlo, range: std::ops::RangeInclusive<f64>, what: &str) {
        let chance = 2.0 * share.standard_error;
        let holds = (range.start() - chance..=range.end() + chance).contains(&share.value);
        self.expect(holds, format!("{what}: {} is not in {range:?}", shown(share)));
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
        }
    }
}

/// Random numbers that are good enough for tests of size: SplitMix64, with the seed mixed so that
/// streams do not overlap.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut seeding = Random(seed);
        Random(seeding.bits())
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The standard normal distribution function.
pub(crate) fn normal_distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x / 2f64.sqrt())
}

/// ∫ f(z) φ(z) dz by the midpoint rule, which is exact to many digits for a smooth f and to 1e-4 of
/// it for one that jumps.
pub(crate) fn normal_mean(f: impl Fn(f64) -> f64) -> f64 {
    let step = 1e-3;
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    (-9_000..9_000).map(|k| (f64::from(k) + 0.5) * step).map(|z| f(z) * density(z)).sum::<f64>() * step
}

/// The x between two ends at which an increasing function is 0.
pub(crate) fn root(mut least: f64, mut most: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (least + most);
        if f(middle) < 0.0 { least = middle } else { most = middle }
    }
    0.5 * (least + most)
}
