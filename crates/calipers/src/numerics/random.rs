//! Seeded random numbers: the same on every machine, whatever the number of threads.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A stream of uniform numbers in the open interval (0, 1).
pub(crate) struct Uniforms(Pcg64);

impl Uniforms {
    pub(crate) fn new(seed: u64) -> Self {
        Uniforms(Pcg64::seed_from_u64(seed))
    }

    /// One of 2^52 equally spaced numbers, odd multiples of 2^-53 and so none of them 0, 1/2 or 1: logarithms are finite.
    pub(crate) fn next(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) * 2f64.powi(-52)
    }
}
