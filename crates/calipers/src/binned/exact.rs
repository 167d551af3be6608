//! Sums of equal-width bins as integers: exact, and the same in any order. Sketches keep them, too, since cells do not end where
//! bins do.

use std::ops::Range;

use super::EqualWidth;
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
        let n_bins = self.binning.len();
        let copies = self.words.len() / n_bins - 1;
        for (row, (&p, &label)) in probabilities.iter().zip(labels).enumerate() {
            // Outside [0, 1] by rounding only: the door has counted it.
            let p: f64 = p.into();
            let p = if p > 0.0 { p } else { 0.0 };
            let p = if p < 1.0 { p } else { 1.0 };
            let fixed = fixed_point(p);
            let row_words = [1, label.bit(), fixed >> LOW_BITS, fixed & ((1 << LOW_BITS) - 1)];
            let words = &mut self.words[(row & copies) * n_bins + self.binning.place(p)];
            words.iter_mut().zip(row_words).for_each(|(word, more)| *word += more);
        }
    }
}

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

    #[test]
    fn fixed_points_are_probabilities_cut() {
        let unit = 2f64.powi(56);
        for p in [0.0, -0.0, 1.0, 0.5, 0.1, 0.9, 1.0 - f64::EPSILON / 2.0, 1e-3, 1e-9, 1e-16, 1e-17, 1e-300, 5e-324] {
            assert_eq!(fixed_point(p), (p * unit).floor() as u64, "{p}");
        }
    }
}
