//! Seeded random numbers: the same on every machine, whatever the number of threads.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::logarithm::ln;

/// A stream of uniform numbers in the open interval (0, 1).
pub(crate) struct Uniforms(Pcg64);

impl Uniforms {
    pub(crate) fn new(seed: u64) -> Self {
        Uniforms(Pcg64::seed_from_u64(seed))
    }

    /// One of 2^52 equally spaced numbers, odd multiples of 2^-53 and so none of them 0, 1/2 or 1:
    /// logarithms are finite.
    #[inline]
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

    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.uniforms.next()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let radius = (-2.0 * ln(self.uniforms.next())).sqrt();
        let (sine, cosine) = sine_and_cosine(self.uniforms.next());
        self.second = Some(radius * sine);
        radius * cosine
    }
}

// The polynomials of fdlibm's `__kernel_sin` and `__kernel_cos` (Sun Microsystems, 1993).
const SINE: [f64; 6] = [
    -0.16666666666666632,
    0.00833333333332249,
    -0.0001984126982985795,
    2.7557313707070068e-6,
    -2.5050760253406863e-8,
    1.58969099521155e-10,
];
const COSINE: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887411,
    2.480158728947673e-5,
    -2.7557314351390663e-7,
    2.087572321298175e-9,
    -1.1359647557788195e-11,
];

/// Sine and cosine of a share of a whole turn, in [0, 1): a quarter of the time of the library.
///
/// # Accuracy
/// 4 turn less the nearest integer is exact and at most 1/2. Its product with π/2 is off by 2^-52
/// of itself, and the polynomials by 2^-53 (fdlibm, `k_sin.c` and `k_cos.c`): 2^-51 in all.
#[inline]
fn sine_and_cosine(turn: f64) -> (f64, f64) {
    let quarter = (4.0 * turn + 0.5) as u32;
    let angle = (4.0 * turn - f64::from(quarter)) * std::f64::consts::FRAC_PI_2;
    let square = angle * angle;
    let fourth = square * square;
    let [s1, s2, s3, s4, s5, s6] = SINE;
    let sine =
        angle + angle * square * ((s1 + s2 * square) + fourth * ((s3 + s4 * square) + fourth * (s5 + s6 * square)));
    let [c1, c2, c3, c4, c5, c6] = COSINE;
    let tail = (c1 + c2 * square) + fourth * ((c3 + c4 * square) + fourth * (c5 + c6 * square));
    let cosine = 1.0 - (0.5 * square - fourth * tail);
    match quarter % 4 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
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
    fn sines_and_cosines_are_those_of_the_library() {
        for step in 0..400_000 {
            let turn = f64::from(step) / 400_000.0 + 1e-7 * f64::from(step % 7);
            let (sine, cosine) = sine_and_cosine(turn);
            // The angle of the library is rounded once more, by up to 2^-51.
            let (of_sine, of_cosine) = (std::f64::consts::TAU * turn).sin_cos();
            assert!((sine - of_sine).abs() < 1.5e-15 && (cosine - of_cosine).abs() < 1.5e-15, "{turn}");
        }
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut normals = Normals::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| normals.next()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
