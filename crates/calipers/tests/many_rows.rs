//! 10^7 rows: sums that are exact to the last digits where single precision is off in the first.
//!
//! Tools that accumulate in the precision of their input (torchmetrics does) add 0.97 to a sum of
//! millions, whose nearest neighbours are half a unit away: every addition is rounded, most in the
//! same direction.

use calipers::{BinnedEce, Floats, Input, Measure, Norm};

const N: usize = 10_000_000;
const BINS: usize = 15;

/// Outcomes, and probabilities as integers: multiples of 2^-bits, which floats hold exactly.
struct Rows {
    bits: u32,
    p: Vec<u64>,
    y: Vec<bool>,
}

impl Rows {
    /// An over-confident model that is mostly right: logits near N(2.5, 2), outcomes at 3/4 of
    /// them.
    fn new(bits: u32) -> Self {
        let mut state = 1u64;
        let mut uniform = || {
            // SplitMix64
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) as f64 / 2f64.powi(64)
        };
        let rho = |h: f64| 1.0 / (1.0 + (-h).exp());
        let one = 2f64.powi(bits as i32);
        let mut rows = Rows { bits, p: Vec::with_capacity(N), y: Vec::with_capacity(N) };
        for _ in 0..N {
            // The sum of three uniforms is near enough to a normal, with variance 1/4.
            let h = 2.5 + 4.0 * (uniform() + uniform() + uniform() - 1.5);
            rows.p.push((rho(h) * one) as u64);
            rows.y.push(uniform() < rho(0.75 * h));
        }
        rows
    }

    fn singles(&self) -> Vec<f32> {
        assert!(self.bits <= 24);
        self.p.iter().map(|&p| p as f32 / 2f32.powi(self.bits as i32)).collect()
    }

    fn doubles(&self) -> Vec<f64> {
        assert!(self.bits <= 53);
        self.p.iter().map(|&p| p as f64 / 2f64.powi(self.bits as i32)).collect()
    }

    /// The bin ((b - 1) / B, b / B] of a probability, in integers.
    fn bin(&self, p: u64) -> usize {
        (u128::from(p) * BINS as u128).div_ceil(1 << self.bits).max(1) as usize - 1
    }

    /// Σ_b |Σ y - Σ p| / n, with sums that have no rounding at all.
    fn exact_ece(&self) -> f64 {
        let (mut p, mut y) = ([0u128; BINS], [0u128; BINS]);
        for (&probability, &outcome) in self.p.iter().zip(&self.y) {
            let bin = self.bin(probability);
            p[bin] += u128::from(probability);
            y[bin] += u128::from(outcome) << self.bits;
        }
        let gaps: u128 = p.iter().zip(&y).map(|(&p, &y)| p.abs_diff(y)).sum();
        gaps as f64 / (N as f64 * 2f64.powi(self.bits as i32))
    }

    /// The same with running sums in single precision, as torchmetrics forms them.
    fn single_precision_ece(&self) -> f32 {
        let (mut n, mut p, mut y) = ([0f32; BINS], [0f32; BINS], [0f32; BINS]);
        for ((&integer, probability), &outcome) in self.p.iter().zip(self.singles()).zip(&self.y) {
            let bin = self.bin(integer);
            n[bin] += 1.0;
            p[bin] += probability;
            y[bin] += f32::from(u8::from(outcome));
        }
        (0..BINS).map(|bin| (y[bin] / n[bin] - p[bin] / n[bin]).abs() * n[bin] / N as f32).sum()
    }

    fn ece(&self, scores: Floats<'_>) -> f64 {
        let predictions = Input::probabilities(scores, &self.y).check().unwrap();
        BinnedEce::new().norm(Norm::L1).n_bins(BINS).estimate(&predictions.binary().unwrap()).unwrap().value
    }
}

#[track_caller]
fn assert_exact(value: f64, exact: f64) {
    assert!((value - exact).abs() <= 1e-15, "{value:e} is off {exact:e} by {:e}", (value - exact).abs());
}

#[test]
fn sums_of_ten_million_singles_are_exact_where_single_precision_is_off() {
    let rows = Rows::new(24);
    let singles = rows.singles();
    let exact = rows.exact_ece();
    assert_exact(rows.ece(Floats::F32(&singles)), exact);
    let naive = f64::from(rows.single_precision_ece());
    assert!((naive - exact).abs() > 0.05 * exact, "{naive} is near {exact}: these rows show nothing");
}

#[test]
fn sums_of_ten_million_doubles_are_exact() {
    let rows = Rows::new(53);
    let doubles = rows.doubles();
    assert_exact(rows.ece(Floats::F64(&doubles)), rows.exact_ece());
}
