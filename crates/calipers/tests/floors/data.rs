//! Rows of families that are hard for cells: sure, tied, rare and weighted predictions.

use calipers::Input;

pub(crate) struct Data {
    pub(crate) probabilities: Vec<f64>,
    outcomes: Vec<bool>,
    weights: Option<Vec<f64>>,
}

pub(crate) const FAMILIES: [&str; 6] = ["uniform", "sure", "tied", "rare", "weighted", "overconfident"];

/// Numbers in (0, 1) that look random.
pub(crate) fn sequence(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    };
    (0..50).for_each(|_| _ = next());
    next
}

fn logistic(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

impl Data {
    /// Outcomes are drawn from the predictions, but for the family "overconfident".
    pub(crate) fn new(family: &str, n: usize, seed: u64) -> Self {
        let mut next = sequence(seed);
        let mut probability = || match family {
            "sure" => logistic(9.0 * (next() - 0.5).signum() + 4.0 * (next() - 0.5)),
            "tied" => (1.0 + (19.0 * next()).floor()) / 20.0,
            "rare" => 0.02 * next().powi(4),
            _ => next(),
        };
        let probabilities: Vec<f64> = (0..n).map(|_| probability()).collect();
        let truth = |p: f64| if family == "overconfident" { logistic(0.8 * (p / (1.0 - p)).ln()) } else { p };
        let outcomes = probabilities.iter().map(|p| next() < truth(*p)).collect();
        let weights = (family == "weighted").then(|| (0..n).map(|_| 0.1 + 4.9 * next().powi(3)).collect());
        Data { probabilities, outcomes, weights }
    }

    pub(crate) fn input(&self) -> Input<'_> {
        let input = Input::probabilities(&self.probabilities, &self.outcomes);
        match &self.weights {
            Some(weights) => input.weights(weights),
            None => input,
        }
    }
}
