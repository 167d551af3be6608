//! Streams of windows with a known truth.

use calipers::{Input, Monitor, Predictions, Sketch};

/// Numbers in (0, 1) that look random, the same everywhere.
pub(crate) fn sequence(seed: u64) -> impl FnMut() -> f64 {
    // Neighbouring seeds must not give the same numbers one place further on.
    let mut state = (seed ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0xd134_2543_de82_ef95);
    state = (state ^ (state >> 32)).wrapping_mul(0xda94_2042_e4dd_58b5);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

pub(crate) fn logistic(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

pub(crate) fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// Rows of one window.
pub(crate) struct Rows {
    pub(crate) p: Vec<f64>,
    pub(crate) y: Vec<bool>,
}

impl Rows {
    /// Log-odds about `mean`, triangular, up to `reach` away; outcomes with log-odds `truth(h)`.
    pub(crate) fn new(n: usize, mean: f64, reach: f64, truth: impl Fn(f64) -> f64, seed: u64) -> Self {
        let mut uniform = sequence(seed);
        let (mut p, mut y) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let h = mean + reach * (uniform() + uniform() - 1.0);
            p.push(logistic(h));
            y.push(uniform() < logistic(truth(h)));
        }
        Rows { p, y }
    }

    pub(crate) fn check(&self) -> Predictions<'_> {
        Input::probabilities(&self.p, &self.y).check().unwrap()
    }

    pub(crate) fn sketch(&self) -> Sketch {
        let mut sketch = Sketch::new();
        sketch.update(&self.check().binary().unwrap()).unwrap();
        sketch
    }

    pub(crate) fn add_to(&self, monitor: &mut Monitor, name: &str) {
        monitor.update(name, &self.check().binary().unwrap()).unwrap();
    }
}
