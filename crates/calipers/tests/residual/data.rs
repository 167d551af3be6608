//! Random rows, and what is asked of them.

use calipers::{Estimate, Input, LsEce, Measure, link, noise};

use crate::oracle::{self, Point};

/// What quadrature may itself be off by: rounding, and lobes of |R| narrower than sigma / 40.
pub(crate) const ORACLE_ERROR: f64 = 2e-10;

/// Noises with a tolerance that is cheap for their order, the total variation of their density and
/// E|ξ|, all at scale 1.
pub(crate) const NOISES: [(&str, f64, f64, f64); 5] = [
    ("gaussian", 1e-7, 0.797_884_561, 0.797_884_561),
    ("uniform", 1e-7, 2.0, 0.25),
    ("laplace", 1e-5, 1.0, 1.0),
    ("logistic", 1e-7, 0.5, 2.0 * std::f64::consts::LN_2),
    ("epanechnikov", 1e-5, 1.5, 0.375),
];

/// Links with their largest slopes.
pub(crate) const LINKS: [(&str, f64); 3] = [("logistic", 0.25), ("probit", 0.398_942_281), ("cloglog", 0.367_879_442)];

/// A small generator of its own, so that the tests share none with the product.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// Rows with logits from -4 to 4, some of them tied, and outcomes that the predictions get
    /// wrong in some places.
    pub(crate) fn rows(&mut self, n: usize) -> Vec<Point> {
        let levels: Vec<f64> = (0..6).map(|_| 8.0 * self.next() - 4.0).collect();
        let row = |_| {
            let h = if self.below(3) == 0 { levels[self.below(6)] } else { 8.0 * self.next() - 4.0 };
            let truth = oracle::logistic(h + (2.0 * h).sin());
            Point { h, y: self.next() < truth, w: if self.below(8) == 0 { 0.0 } else { 0.1 + self.next() } }
        };
        (0..n).map(row).collect()
    }
}

pub(crate) fn residual(noise_name: &str, link_name: &str, sigma: f64, tolerance: f64) -> LsEce {
    paper(noise_name, link_name, sigma, tolerance).residual()
}

pub(crate) fn paper(noise_name: &str, link_name: &str, sigma: f64, tolerance: f64) -> LsEce {
    let (noise, link) = (noise::by_name(noise_name).unwrap(), link::by_name(link_name).unwrap());
    LsEce::new().sigma(sigma).noise(noise).link(link).tolerance(tolerance)
}

/// The measure of points as raw scores with weights.
pub(crate) fn estimate(measure: &LsEce, points: &[Point]) -> Estimate {
    let h: Vec<f64> = points.iter().map(|point| point.h).collect();
    let y: Vec<bool> = points.iter().map(|point| point.y).collect();
    let w: Vec<f64> = points.iter().map(|point| point.w).collect();
    let predictions = Input::logits(&h, &y).weights(&w).check().unwrap();
    measure.estimate(&predictions.binary().unwrap()).unwrap()
}

/// ECE over the distinct logits, in the plainest way.
pub(crate) fn ece(points: &[Point], rho: fn(f64) -> f64) -> f64 {
    let total: f64 = points.iter().map(|point| point.w).sum();
    let gap = |point: &Point| point.w / total * (f64::from(u8::from(point.y)) - rho(point.h));
    let mut logits: Vec<f64> = points.iter().map(|point| point.h).collect();
    logits.sort_by(f64::total_cmp);
    logits.dedup();
    logits.iter().map(|h| points.iter().filter(|point| point.h == *h).map(gap).sum::<f64>().abs()).sum()
}

#[track_caller]
pub(crate) fn assert_within(found: &Estimate, truth: f64, what: &str) {
    let error = (found.value - truth).abs();
    let allowed = found.numerical_bound + ORACLE_ERROR;
    assert!(error <= allowed, "{what}: {} against {truth}, error {error:e}, bound {allowed:e}", found.value);
}
