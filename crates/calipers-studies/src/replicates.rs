//! Repetitions with seeds of their own, on all cores.

use calipers::Error;
use rayon::prelude::*;

/// A seed for each of several streams of a study: the same for the same place, however the work is
/// shared out.
pub(crate) fn seed_of(study: u64, stream: u64, index: u64) -> u64 {
    // SplitMix64's finaliser, by which neighbouring places get unlike seeds.
    let mut mixed = study.wrapping_add(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(index << 32 | index);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number uniform in (0, 1) for each place of a stream.
pub(crate) fn uniform(stream: u64, index: u64) -> f64 {
    open_unit(seed_of(stream, 0, index))
}

/// Numbers uniform in (0, 1), one after the other: SplitMix64, as fast as the work between draws.
pub(crate) struct Stream(u64);

impl Stream {
    /// The same for the same seed; [`seed_of`] makes seeds.
    pub(crate) fn new(seed: u64) -> Self {
        Stream(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number.
    pub(crate) fn uniform(&mut self) -> f64 {
        open_unit(self.bits())
    }

    /// The next place below `n`, which is not 0.
    pub(crate) fn place(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}

/// An odd number over 2^53: exact, so that it is never 0, 1/2 or 1. With k + 1/2 over 2^53, k =
/// 2^53 - 1 rounds to 1.
fn open_unit(bits: u64) -> f64 {
    ((bits >> 11) | 1) as f64 * 2f64.powi(-53)
}

/// `run` for each index, in order.
pub(crate) fn replicates<T: Send>(
    n: u64,
    run: impl Fn(u64) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    (0..n).into_par_iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::open_unit;

    #[test]
    fn uniform_numbers_are_never_0_a_half_or_1() {
        assert_eq!(open_unit(0), 2f64.powi(-53));
        assert_eq!(open_unit(u64::MAX), 1.0 - 2f64.powi(-53));
        assert!(open_unit(1 << 63) > 0.5 && open_unit((1 << 63) - 1) < 0.5);
    }
}
