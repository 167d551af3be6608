//! Rows to measure, made before any clock runs: seeded, of an over-confident model that is mostly
//! right.
#![allow(dead_code)] // each bench takes what it needs

/// Sizes on both sides of where LS-ECE turns from rows to cells, up to where reading is what takes
/// the time.
pub(crate) const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Probabilities and outcomes.
pub(crate) struct Sample {
    pub(crate) p: Vec<f64>,
    pub(crate) y: Vec<i64>,
}

impl Sample {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = Random(n as u64);
        let mut sample = Sample { p: Vec::with_capacity(n), y: Vec::with_capacity(n) };
        for _ in 0..n {
            let h = 2.5 + 2.0 * random.normal();
            sample.p.push(rho(h));
            sample.y.push(i64::from(random.uniform() < rho(0.75 * h)));
        }
        sample
    }

    pub(crate) fn singles(&self) -> Vec<f32> {
        self.p.iter().map(|&p| p as f32).collect()
    }
}

/// Raw scores, row after row, and labels.
pub(crate) fn raw_scores(n_rows: usize, n_classes: usize) -> (Vec<f32>, Vec<i64>) {
    let mut random = Random(n_rows as u64);
    let mut scores: Vec<f32> = (0..n_rows * n_classes).map(|_| random.normal() as f32).collect();
    let labels: Vec<i64> = (0..n_rows).map(|_| (random.uniform() * n_classes as f64) as i64).collect();
    for (row, &label) in scores.chunks_exact_mut(n_classes).zip(&labels) {
        row[label as usize] += 6.0 + 3.0 * random.normal() as f32;
    }
    (scores, labels)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / 2f64.powi(64)
    }

    /// Three uniforms are near enough to a normal here.
    fn normal(&mut self) -> f64 {
        2.0 * (self.uniform() + self.uniform() + self.uniform() - 1.5)
    }
}

fn rho(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}
