//! Sums that do not depend on the order of their terms, in vector code.
//!
//! A grid rounds every term to a multiple of a power of two. The multiples of a block of terms
//! are added as doubles, without any rounding, and blocks are added as integers. So the sum depends
//! on nothing but the terms: neither their order nor their split among threads changes a bit.
//!
//! # Why a block is exact
//! Terms of a grid below 2^e are at most 2^e in size, and become multiples of the unit 2^(e - 45).
//! A block has at most 2^8 terms, so that every partial sum is a multiple of the unit of at most
//! 2^53 of them, which a double holds exactly.

/// Terms of a block, of which those that are not used must be 0.
pub(crate) const BLOCK: usize = 256;

/// Digits of a term: 53 less those that a block needs.
const DIGITS: i32 = 45;

/// Sums that do not wait for each other.
const LANES: usize = 16;

/// The multiples of a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grid {
    unit: f64,
    /// Adding it rounds to a multiple of the unit, since doubles of its size are such multiples.
    rounder: f64,
}

impl Grid {
    /// For terms of at most 2^exponent in size.
    #[inline(always)]
    fn below(exponent: i32) -> Self {
        let unit = power_of_two(exponent - DIGITS);
        Grid { unit, rounder: 1.5 * power_of_two(exponent - DIGITS + 52) }
    }

    /// For what this grid leaves of a term.
    #[inline(always)]
    fn finer(exponent: i32) -> Self {
        Grid::below(exponent - DIGITS - 1)
    }

    #[inline(always)]
    fn round(self, term: f64) -> f64 {
        (term + self.rounder) - self.rounder
    }

    fn units(self, block: f64) -> i128 {
        // proof: a whole number of units, fewer than 2^54
        i128::from((block / self.unit) as i64)
    }
}

/// 2^exponent of a normal number.
#[inline(always)]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A sum of terms that are at most 2^exponent in size. A second grid has what the first one leaves:
/// terms are rounded by up to 2^(exponent - 92), which is nothing beside their own rounding unless
/// they are tiny.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GridSum {
    coarse: i128,
    fine: i128,
}

impl GridSum {
    #[inline(always)]
    pub(crate) fn add(&mut self, exponent: i32, term: impl Fn(usize) -> f64) {
        let (coarse, fine) = (Grid::below(exponent), Grid::finer(exponent));
        let (mut of_coarse, mut of_fine) = ([0.0; LANES], [0.0; LANES]);
        for start in (0..BLOCK).step_by(LANES) {
            for lane in 0..LANES {
                let term = term(start + lane);
                let rounded = coarse.round(term);
                of_coarse[lane] += rounded;
                // What is left is at most half a unit, and exact.
                of_fine[lane] += fine.round(term - rounded);
            }
        }
        self.coarse += coarse.units(of_coarse.iter().sum());
        self.fine += fine.units(of_fine.iter().sum());
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.coarse += other.coarse;
        self.fine += other.fine;
    }

    pub(crate) fn value(self, exponent: i32) -> f64 {
        // One number in units of the fine grid, unless it is too large for the second to matter.
        match self.coarse.checked_mul(1 << (DIGITS + 1)) {
            Some(coarse) => (coarse + self.fine) as f64 * Grid::finer(exponent).unit,
            None => self.coarse as f64 * Grid::below(exponent).unit,
        }
    }
}

/// A sum of terms that are at most 2^exponent in size and rounded to 2^(exponent - 45): one grid,
/// and half the work of [`GridSum`], for sums that need no more digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoarseSum(i128);

impl CoarseSum {
    #[inline(always)]
    pub(crate) fn add(&mut self, exponent: i32, term: impl Fn(usize) -> f64) {
        let grid = Grid::below(exponent);
        let mut lanes = [0.0; LANES];
        for start in (0..BLOCK).step_by(LANES) {
            for (place, lane) in (start..).zip(&mut lanes) {
                *lane += grid.round(term(place));
            }
        }
        self.0 += grid.units(lanes.iter().sum());
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    pub(crate) fn value(self, exponent: i32) -> f64 {
        self.0 as f64 * Grid::below(exponent).unit
    }

    /// How far the sum of so many terms is from their own at most.
    pub(crate) fn error(n_terms: f64, exponent: i32) -> f64 {
        0.5 * n_terms * Grid::below(exponent).unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::{Normals, Uniforms};
    use crate::numerics::sum::Sum;

    fn blocks(terms: &[f64]) -> impl Iterator<Item = [f64; BLOCK]> {
        terms.chunks(BLOCK).map(|chunk| {
            let mut block = [0.0; BLOCK];
            block[..chunk.len()].copy_from_slice(chunk);
            block
        })
    }

    #[test]
    fn sums_are_those_of_the_terms_in_any_order() {
        let (mut normals, mut uniforms) = (Normals::new(1), Uniforms::new(2));
        for exponent in [-3, 0, 7, 40] {
            let size = 2f64.powi(exponent);
            let mut terms: Vec<f64> =
                (0..10_000).map(|_| size * (0.1 * normals.next()).clamp(-1.0, 1.0) * uniforms.next().powi(8)).collect();
            terms.extend([size, -size, size, 0.0, -0.0, size * 1e-20]);
            let exact = terms.iter().copied().collect::<Sum>().value();
            let sum = |terms: &[f64]| {
                let mut sum = GridSum::default();
                blocks(terms).for_each(|block| sum.add(exponent, |at| block[at]));
                sum.value(exponent)
            };
            let found = sum(&terms);
            assert!((found - exact).abs() <= 2.0 * f64::EPSILON * exact.abs(), "{found} {exact}");
            terms.sort_by(f64::total_cmp);
            assert_eq!(sum(&terms), found);
            terms.rotate_left(777);
            assert_eq!(sum(&terms), found);
        }
    }

    #[test]
    fn coarse_sums_are_within_their_error_in_any_order() {
        let mut uniforms = Uniforms::new(4);
        let mut terms: Vec<f64> = (0..5000).map(|_| 8.0 * uniforms.next() - 4.0).collect();
        let exact = terms.iter().copied().collect::<Sum>().value();
        let sum = |terms: &[f64]| {
            let mut sum = CoarseSum::default();
            blocks(terms).for_each(|block| sum.add(2, |at| block[at]));
            sum
        };
        let found = sum(&terms);
        let mut merged = sum(&terms[..1234]);
        merged.merge(sum(&terms[1234..]));
        assert_eq!(merged, found);
        assert!((found.value(2) - exact).abs() <= CoarseSum::error(5000.0, 2));
        terms.reverse();
        assert_eq!(sum(&terms), found);
    }

    #[test]
    fn a_block_of_the_largest_terms_is_exact() {
        for term in [-128.0, 128.0 - 128.0 * f64::EPSILON] {
            let mut sum = GridSum::default();
            sum.add(7, |_| term);
            assert_eq!(sum.value(7), 256.0 * term);
        }
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let mut uniforms = Uniforms::new(3);
        let terms: Vec<f64> = (0..2000).map(|_| uniforms.next()).collect();
        let sum = |terms: &[f64]| {
            let mut sum = GridSum::default();
            blocks(terms).for_each(|block| sum.add(0, |at| block[at]));
            sum
        };
        let mut merged = sum(&terms[..700]);
        merged.merge(sum(&terms[700..]));
        assert_eq!(merged, sum(&terms));
    }
}
