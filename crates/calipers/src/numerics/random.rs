//! Seeded random numbers: the same on every machine, whatever the number of threads.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A stream of uniform numbers in the open interval (0, 1).
pub(crate) struct Uniforms(Pcg64);

impl Uniforms {
    pub(crate) fn new(seed: u64) -> Self {
        Uniforms(Pcg64::seed_from_u64(seed))
    }

    /// One of 2^52 equally spaced numbers, odd multiples of 2^-53 and so none of them 0, 1/2 or 1:
    /// logarithms are finite.
    pub(crate) fn next(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) * 2f64.powi(-52)
    }
}

/// Standard normal numbers, two at a time (Box and Muller), and uniform ones from the same stream.
pub(crate) struct Normals {
    uniforms: Uniforms,
    second: Option<f64>,
}

impl Normals {
    pub(crate) fn new(seed: u64) -> Self {
        Normals { uniforms: Uniforms::new(seed), second: None }
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.uniforms.next()
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let radius = (-2.0 * self.uniforms.next().ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniforms.next()).sin_cos();
        self.second = Some(radius * sine);
        radius * cosine
    }
}

/// The seed of draw number `draw`: one for each, so that threads change nothing; multiplied, so
/// that neighbouring seeds share no draw.
pub(crate) fn seed_of_draw(seed: u64, draw: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut normals = Normals::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| normals.next()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
