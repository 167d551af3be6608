//! Rows as some test wants them, and what is asked of their sketch.

use calipers::{BinaryView, Input, LsEce, Measure, Predictions, Sketch, SketchOptions, Tally, link, noise};

/// Probabilities, outcomes and weights as some test wants them.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) p: Vec<f64>,
    pub(crate) y: Vec<u8>,
    pub(crate) w: Option<Vec<f64>>,
}

impl Data {
    /// Logit-normal probabilities, with ends and repeated values, by a small generator of our own.
    pub(crate) fn new(n: usize, seed: u64, weighted: bool) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut data = Data { p: vec![], y: vec![], w: weighted.then(Vec::new) };
        for row in 0..n {
            let normal: f64 = (0..6).map(|_| uniform() - 0.5).sum::<f64>() * 2f64.sqrt();
            let p = match row % 97 {
                0 => 0.0,
                1 => 1.0,
                2 => 0.25,
                3 => (uniform() * 20.0).floor() / 20.0,
                _ => 1.0 / (1.0 + (-2.5 * normal).exp()),
            };
            data.p.push(p);
            data.y.push(u8::from(uniform() < 0.8 * p + 0.1));
            if let Some(w) = &mut data.w {
                w.push(if row % 31 == 0 { 0.0 } else { uniform() * 3.0 });
            }
        }
        data
    }

    pub(crate) fn rows(&self, range: std::ops::Range<usize>) -> Predictions<'_> {
        let mut input = Input::probabilities(&self.p[range.clone()], &self.y[range.clone()]);
        if let Some(w) = &self.w {
            input = input.weights(&w[range]);
        }
        // A batch of a stream: rows of weight 0 may be alone in it.
        input.check_batch(&mut Tally::default()).unwrap()
    }

    pub(crate) fn all(&self) -> Predictions<'_> {
        self.rows(0..self.p.len())
    }

    /// A sketch of batches that end at the given places.
    pub(crate) fn sketch(&self, options: &SketchOptions, ends: &[usize]) -> Sketch {
        let mut sketch = Sketch::with(options).unwrap();
        let mut start = 0;
        for end in ends.iter().copied().chain([self.p.len()]) {
            if start < end {
                sketch.update(&self.rows(start..end).binary().unwrap()).unwrap();
                start = end;
            }
        }
        sketch
    }
}

pub(crate) fn sketch_of(view: &BinaryView<'_>) -> Sketch {
    let mut sketch = Sketch::new();
    sketch.update(view).unwrap();
    sketch
}

/// Both answers are within their bounds of each other.
pub(crate) fn assert_agree(measure: &dyn Measure, view: &BinaryView<'_>, sketch: &Sketch, what: &str) {
    let (rows, cells) = (measure.estimate(view).unwrap(), sketch.estimate(measure).expect(what));
    assert_eq!(rows.n, cells.n);
    assert_eq!(rows.input, cells.input);
    let (rows, cells, allowed) = (rows.value, cells.value, rows.numerical_bound + cells.numerical_bound);
    assert!((rows - cells).abs() <= allowed, "{what}: {rows} and {cells} differ by more than {allowed:e}");
}

pub(crate) fn smoothing(noise_name: &str, link_name: &str, sigma: f64, tolerance: f64) -> LsEce {
    let (noise, link) = (noise::by_name(noise_name).unwrap(), link::by_name(link_name).unwrap());
    LsEce::new().sigma(sigma).noise(noise).link(link).tolerance(tolerance)
}

/// A tolerance that cells of 2^-12 can prove, by the order of the noise.
pub(crate) const NOISES: [(&str, f64); 5] =
    [("gaussian", 1e-6), ("logistic", 1e-6), ("laplace", 1e-4), ("epanechnikov", 1e-4), ("uniform", 0.05)];
