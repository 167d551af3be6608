//! Sums of equal-width bins as integers: exact, and the same in any order. Sketches keep them, too, since cells do not end where
//! bins do.

use std::ops::Range;

use super::EqualWidth;
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::predictions::{Outcome, PlainPass, PlainRows, Probability};

/// A probability is kept as a multiple of 2^-56: exact from 1/16 on, and off by less than that below.
pub(crate) const PROBABILITY_BITS: u32 = 56;

/// The sums of one bin; weights are in units of the sketch, and counts where it is not weighted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BinTotals {
    pub(crate) count: u64,
    pub(crate) weight: u128,
    /// Weight of outcome 1.
    pub(crate) positive: u128,
    /// Σ weight · probability, in units of 2^-56.
    pub(crate) probability: u128,
}

impl BinTotals {
    /// One row, with a weight in units.
    #[inline(always)]
    pub(crate) fn add_row(&mut self, probability: f64, outcome: bool, units: u64) {
        let weight = u128::from(units);
        self.count += 1;
        self.weight += weight;
        self.positive += weight * u128::from(outcome);
        self.probability += weight * u128::from(fixed_point(probability));
    }

    pub(crate) fn add(&mut self, other: BinTotals) {
        self.count += other.count;
        self.weight += other.weight;
        self.positive += other.positive;
        self.probability += other.probability;
    }

    /// Turns counts into weights of 1, of so many bits.
    pub(crate) fn weighted(self, weight_bits: u32) -> Self {
        BinTotals {
            count: self.count,
            weight: self.weight << weight_bits,
            positive: self.positive << weight_bits,
            probability: self.probability << weight_bits,
        }
    }
}

/// The sums of plain rows, each of weight 1.
pub(super) fn of_plain(rows: PlainRows<'_>, binning: &EqualWidth) -> Vec<BinTotals> {
    // Long enough that the sums of all chunks take no more room than the rows.
    let chunk = parallel::CHUNK.max(64 * binning.len());
    let mut all = vec![BinTotals::default(); binning.len()];
    for totals in parallel::map_chunks(rows.len(), chunk, |range| {
        let mut totals = vec![BinTotals::default(); binning.len()];
        add_plain(&mut totals, binning, rows, range, 0);
        totals
    }) {
        all.iter_mut().zip(totals).for_each(|(all, totals)| all.add(totals));
    }
    all
}

/// Adds plain rows, each of weight 1 in units of so many bits.
pub(crate) fn add_plain(
    totals: &mut [BinTotals],
    binning: &EqualWidth,
    rows: PlainRows<'_>,
    range: Range<usize>,
    weight_bits: u32,
) {
    let n_copies = if binning.len() <= FEW_BINS { COPIES } else { 1 };
    for start in range.clone().step_by(MOST_ROWS) {
        let mut words = vec![[0; 4]; n_copies * binning.len()];
        // proof: plain rows have no labels that are text
        let _ = rows.visit(start..range.end.min(start + MOST_ROWS), AddTo { binning, words: &mut words });
        for (index, [count, positive, high, low]) in words.into_iter().enumerate() {
            let probability = (u128::from(high) << LOW_BITS) + u128::from(low);
            let sums = BinTotals { count, weight: count.into(), positive: positive.into(), probability };
            totals[index % binning.len()].add(sums.weighted(weight_bits));
        }
    }
}

/// Bits of a probability that go into a word of their own, so that neither word of a sum overflows.
const LOW_BITS: u32 = 28;

/// Rows after which words are added up: 28 bits for each of them leave room for 2^36.
const MOST_ROWS: usize = 1 << 31;

/// Few bins have several copies of their words, to which rows are added in turn: in one, an addition would have to wait for the one before.
const COPIES: usize = 4;
const FEW_BINS: usize = 256;

/// The pass over some plain rows: for each bin rows, rows of outcome 1, and the high and the low part of probabilities.
struct AddTo<'a> {
    binning: &'a EqualWidth,
    words: &'a mut [[u64; 4]],
}

impl PlainPass for AddTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        add_rows(probabilities, labels, self.binning, self.words);
    }
}

dispatched! {
    /// The bins and words of some rows at once, which the compiler does in vectors, and then their sums.
    fn add_rows / add_rows_portable<P: Probability, L: Outcome>(
        probabilities: &[P],
        labels: &[L],
        binning: &EqualWidth,
        words: &mut [[u64; 4]],
    ) {
        const LANES: usize = 16;
        let n_bins = binning.len();
        let last_copy = words.len() / n_bins - 1;
        for (chunk, labels) in probabilities.chunks(LANES).zip(labels.chunks(LANES)) {
            let mut p = [0.0; LANES];
            for (p, probability) in p.iter_mut().zip(chunk) {
                // Outside [0, 1] by rounding only: the door has counted it.
                let probability: f64 = (*probability).into();
                let raised = if probability > 0.0 { probability } else { 0.0 };
                *p = if raised < 1.0 { raised } else { 1.0 };
            }
            let bins = binning.places(&p);
            let (mut high, mut low) = ([0; LANES], [0; LANES]);
            for lane in 0..LANES {
                // Exact, as the products by powers of two are, and both parts fit 32 bits, which convert in vectors.
                let scaled = p[lane] * HALF;
                let whole = scaled as i32;
                high[lane] = whole as u64;
                low[lane] = ((scaled - f64::from(whole)) * HALF) as i32 as u64;
            }
            for (lane, label) in labels.iter().enumerate() {
                let words = &mut words[(lane & last_copy) * n_bins + bins[lane] as usize];
                let row = [1, label.bit(), high[lane], low[lane]];
                words.iter_mut().zip(row).for_each(|(word, more)| *word += more);
            }
        }
    }
}

/// 2 to the power of half of the bits of a probability.
const HALF: f64 = (1u64 << LOW_BITS) as f64;
const _: () = assert!(2 * LOW_BITS == PROBABILITY_BITS);

/// p in [0, 1] as a multiple of 2^-56, cut: the mantissa, shifted by the exponent.
#[inline(always)]
fn fixed_point(p: f64) -> u64 {
    let bits = p.to_bits();
    // Without the sign, which 0 may have.
    let exponent = (bits >> 52) as u32 & 0x7ff;
    let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
    // 1 has exponent 1023; from 2^-57 on nothing is left, nor of subnormal numbers and 0.
    (mantissa << (PROBABILITY_BITS - 52)) >> (1023 - exponent).min(63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predictions::{Floats, Labels};

    #[test]
    fn fixed_points_are_probabilities_cut() {
        let unit = 2f64.powi(56);
        for p in [0.0, -0.0, 1.0, 0.5, 0.1, 0.9, 1.0 - f64::EPSILON / 2.0, 1e-3, 1e-9, 1e-16, 1e-17, 1e-300, 5e-324] {
            assert_eq!(fixed_point(p), (p * unit).floor() as u64, "{p}");
        }
    }

    /// Rows at and next to edges, and all between.
    fn rows(n_bins: usize) -> (Vec<f64>, Vec<i64>) {
        let near = |k: usize| {
            let edge = k as f64 / n_bins as f64;
            [edge.next_down().max(0.0), edge, edge.next_up().min(1.0), -0.0, 1e-300]
        };
        let between = (0..1000).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract());
        let p: Vec<f64> = (0..=n_bins).flat_map(near).chain(between).collect();
        let y = (0..p.len() as i64).map(|k| k % 3 % 2).collect();
        (p, y)
    }

    #[test]
    fn many_rows_at_once_are_rows_one_by_one() {
        for n_bins in [1, 2, 10, 15, 300, 1000] {
            let (p, y) = rows(n_bins);
            let binning = EqualWidth::new(n_bins);
            let mut expected = vec![BinTotals::default(); n_bins];
            for (p, y) in p.iter().zip(&y) {
                expected[binning.place(*p)].add_row(*p, *y == 1, 1);
            }
            let plain = PlainRows { probabilities: Floats::F64(&p), labels: Labels::I64(&y), checked: true };
            assert_eq!(of_plain(plain, &binning), expected, "{n_bins}");
            let mut portable = vec![[0; 4]; n_bins];
            add_rows_portable(&p, &y, &binning, &mut portable);
            assert!(portable.iter().zip(&expected).all(|(words, totals)| words[0] == totals.count));
        }
    }
}
