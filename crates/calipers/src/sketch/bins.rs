//! Sums of declared bins, kept exactly beside the cells: cells do not end where bins do.

use std::ops::Range;

use crate::binned::EqualWidth;
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
    pub(super) fn add_row(&mut self, probability: f64, outcome: bool, units: u64) {
        let weight = u128::from(units);
        self.count += 1;
        self.weight += weight;
        self.positive += weight * u128::from(outcome);
        self.probability += weight * u128::from(fixed_point(probability));
    }

    pub(super) fn add(&mut self, other: BinTotals) {
        self.count += other.count;
        self.weight += other.weight;
        self.positive += other.positive;
        self.probability += other.probability;
    }

    /// Turns counts into weights of 1, of so many bits.
    pub(super) fn weighted(self, weight_bits: u32) -> Self {
        BinTotals {
            count: self.count,
            weight: self.weight << weight_bits,
            positive: self.positive << weight_bits,
            probability: self.probability << weight_bits,
        }
    }
}

/// Adds plain rows, each of weight 1 in units of so many bits.
pub(super) fn add_plain(
    totals: &mut [BinTotals],
    binning: &EqualWidth,
    rows: PlainRows<'_>,
    range: Range<usize>,
    weight_bits: u32,
) {
    let mut more = vec![[0; 3]; binning.len()];
    // proof: plain rows have no labels that are text
    let _ = rows.visit(range, AddTo { binning, sums: &mut more });
    for (totals, [count, positive, probability]) in totals.iter_mut().zip(more) {
        let count = count as u64;
        totals.add(BinTotals { count, weight: count.into(), positive, probability }.weighted(weight_bits));
    }
}

/// The pass over some plain rows; for each bin the number of rows, those of outcome 1, and the sum of probabilities.
struct AddTo<'a> {
    binning: &'a EqualWidth,
    sums: &'a mut [[u128; 3]],
}

impl PlainPass for AddTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        for (&p, &label) in probabilities.iter().zip(labels) {
            // Outside [0, 1] by rounding only: the door has counted it.
            let p: f64 = p.into().clamp(0.0, 1.0);
            let [count, positive, probability] = &mut self.sums[self.binning.place(p)];
            *count += 1;
            *positive += u128::from(label.bit());
            *probability += u128::from(fixed_point(p));
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
