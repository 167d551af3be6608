use super::Noise;

/// The normal distribution; sigma is its standard deviation. The default, and the paper's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gaussian;

/// E|He_m(Z)| for m = 1..=8, rounded up: the total variation of the (m-1)-th derivative, summed
/// over its monotone pieces between the roots of He_m.
const VARIATIONS: [f64; 8] = [
    0.797_884_561,
    0.967_882_899,
    1.510_013_001,
    2.800_600_301,
    5.910_085_822,
    13.815_597_05,
    35.147_887_23,
    96.112_369_67,
];

impl Noise for Gaussian {
    fn name(&self) -> &str {
        "gaussian"
    }

    fn density(&self, x: f64) -> f64 {
        const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
        INV_SQRT_2PI * (-0.5 * x * x).exp()
    }

    fn distribution(&self, x: f64) -> f64 {
        0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }

    fn tail(&self, x: f64) -> f64 {
        libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
    }

    fn variation(&self, order: usize) -> Option<f64> {
        VARIATIONS.get(order.checked_sub(1)?).copied()
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        // Box and Muller: one of the pair is enough, and keeps the draws independent of their
        // order.
        let radius = (-2.0 * uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    }
}
