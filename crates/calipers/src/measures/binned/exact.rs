//! Sums of equal-width bins as integers: exact, and the same in any order. Sketches keep them, too,
//! since cells do not end where bins do.

use std::ops::Range;

use super::EqualWidth;
use crate::data::{Outcome, PlainPass, PlainRows, Probability};
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;

/// A probability is kept as a multiple of 2^-56: exact from 1/16 on, and off by less than that
/// below.
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
    if binning.len() > FEW_BINS {
        // proof: plain rows have no labels that are text
        let _ = rows.visit(range, AddOneByOne { totals, binning, weight_bits });
        return;
    }
    let mut sums = [BinSums::default(); FEW_BINS];
    // proof: as above
    let _ = rows.visit(range, AddTo { binning, sums: &mut sums });
    for (totals, BinSums { count, positive, probability }) in totals.iter_mut().zip(sums) {
        let sums = BinTotals { count, weight: count.into(), positive: positive.into(), probability };
        totals.add(sums.weighted(weight_bits));
    }
}

/// What plain rows add to a bin: rows, outcomes 1, and Σ probability in units of 2^-56.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct BinSums {
    count: u64,
    positive: u64,
    probability: u128,
}

/// Few bins have several copies of their words, to which rows are added in turn: in one, an
/// addition would have to wait for the one before.
const COPIES: usize = 4;
const FEW_BINS: usize = 64;

/// For each bin, for each copy: Σ probability in units of 2^-56, and outcomes 1 above rows.
type Words = [[u64; 2]; COPIES * FEW_BINS];

/// Rows that are worked on at once.
const LANES: usize = 16;

/// Rows after which words are moved to the sums. A probability is at most 2^56 units, so a word has
/// room for 2^8 - 1 of them; and a copy gets as many of these rows, and one of each of the last.
const MOST_ROWS: usize = 62 * LANES;
const _: () = assert!(MOST_ROWS / COPIES + LANES / COPIES < 1 << (64 - PROBABILITY_BITS));

/// Where outcomes 1 are counted in a word, above the rows.
const POSITIVE_BIT: u32 = 32;

/// The pass over some plain rows.
struct AddTo<'a> {
    binning: &'a EqualWidth,
    sums: &'a mut [BinSums; FEW_BINS],
}

impl PlainPass for AddTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        add_rows(probabilities, labels, self.binning, self.sums);
    }
}

dispatched! {
    // With AVX-512 the words of 10,000 rows take 1.5 times as long.
    narrow;
    /// The bins and words of some rows at once, which the compiler does in vectors, and then their
    /// sums.
    fn add_rows / add_rows_portable<P: Probability, L: Outcome>(
        probabilities: &[P],
        labels: &[L],
        binning: &EqualWidth,
        sums: &mut [BinSums; FEW_BINS],
    ) {
        let mut words: Words = [[0; 2]; COPIES * FEW_BINS];
        for (probabilities, labels) in probabilities.chunks(MOST_ROWS).zip(labels.chunks(MOST_ROWS)) {
            let (p_lanes, p_rest) = probabilities.as_chunks::<LANES>();
            let (label_lanes, label_rest) = labels.as_chunks::<LANES>();
            for (chunk, labels) in p_lanes.iter().zip(label_lanes) {
                let (mut p, mut row_words) = ([0.0; LANES], [[0; 2]; LANES]);
                for lane in 0..LANES {
                    p[lane] = within_unit(chunk[lane]);
                    row_words[lane] = words_of(p[lane], labels[lane]);
                }
                let bins = binning.places(&p);
                for lane in 0..LANES {
                    let words = &mut words[bins[lane] as usize % FEW_BINS * COPIES + lane % COPIES];
                    words[0] += row_words[lane][0];
                    words[1] += row_words[lane][1];
                }
            }
            for (lane, (p, label)) in p_rest.iter().zip(label_rest).enumerate() {
                let p = within_unit(*p);
                let row_words = words_of(p, *label);
                let words = &mut words[binning.place(p) % FEW_BINS * COPIES + lane % COPIES];
                words[0] += row_words[0];
                words[1] += row_words[1];
            }
            for (sums, copies) in sums[..binning.len()].iter_mut().zip(words.as_chunks_mut::<COPIES>().0) {
                for [probability, counts] in copies {
                    sums.probability += u128::from(*probability);
                    sums.count += *counts & ((1 << POSITIVE_BIT) - 1);
                    sums.positive += *counts >> POSITIVE_BIT;
                    (*probability, *counts) = (0, 0);
                }
            }
        }
    }
}

/// A probability below has no whole unit of 2^-56, and is in the first bin as 0 is: so it stands
/// for all of them, and the shift in [`words_of`] is shorter than a word.
const NOTHING: f64 = 1.0 / (1u64 << 62) as f64;

/// Outside [0, 1] by rounding only: input validation has counted it.
#[inline(always)]
fn within_unit<P: Probability>(probability: P) -> f64 {
    let p: f64 = probability.into();
    let raised = if p > NOTHING { p } else { NOTHING };
    if raised < 1.0 { raised } else { 1.0 }
}

/// What a row adds to its bin: [`fixed_point`], without what it needs below [`NOTHING`].
#[inline(always)]
fn words_of<L: Outcome>(p: f64, label: L) -> [u64; 2] {
    let bits = p.to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
    let probability = (mantissa << (PROBABILITY_BITS - 52)) >> (1023_u64.wrapping_sub(bits >> 52) & 63);
    [probability, 1 + (label.bit() << POSITIVE_BIT)]
}

/// The pass for many bins, whose words would not stay in the cache.
struct AddOneByOne<'a> {
    totals: &'a mut [BinTotals],
    binning: &'a EqualWidth,
    weight_bits: u32,
}

impl PlainPass for AddOneByOne<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        for (&p, &label) in probabilities.iter().zip(labels) {
            let p = within_unit(p);
            let mut row = BinTotals::default();
            row.add_row(p, label.bit() == 1, 1);
            self.totals[self.binning.place(p)].add(row.weighted(self.weight_bits));
        }
    }
}

/// p in [0, 1] as a multiple of 2^-56, cut: the mantissa, shifted by the exponent.
#[inline(always)]
pub(super) fn fixed_point(p: f64) -> u64 {
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
    use crate::data::{Floats, Labels};

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
        // More of the largest than a word has room for.
        let largest = std::iter::repeat_n(1.0, 5000);
        let p: Vec<f64> = (0..=n_bins).flat_map(near).chain(between).chain(largest).collect();
        let y = (0..p.len() as i64).map(|k| k % 3 % 2).collect();
        (p, y)
    }

    #[test]
    fn many_rows_at_once_are_rows_one_by_one() {
        for n_bins in [1, 2, 10, 15, 64, 65, 1000] {
            let (p, y) = rows(n_bins);
            let binning = EqualWidth::new(n_bins);
            let mut expected = vec![BinTotals::default(); n_bins];
            for (p, y) in p.iter().zip(&y) {
                expected[binning.place(*p)].add_row(*p, *y == 1, 1);
            }
            let plain = PlainRows { probabilities: Floats::F64(&p), labels: Labels::I64(&y), checked: true };
            assert_eq!(of_plain(plain, &binning), expected, "{n_bins}");
            if n_bins <= FEW_BINS {
                let (mut fast, mut portable) = ([BinSums::default(); FEW_BINS], [BinSums::default(); FEW_BINS]);
                add_rows(&p, &y, &binning, &mut fast);
                add_rows_portable(&p, &y, &binning, &mut portable);
                assert_eq!(fast, portable);
            }
        }
    }
}
