use super::Noise;

/// The logistic distribution, density s(1 - s) with s = 1 / (1 + exp(-x)); sigma is its scale.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogisticNoise;

/// For m = 1..=8, rounded up: the (m-1)-th derivative is a polynomial in s, and its total
/// variation is summed over the monotone pieces between the roots of the next one.
const VARIATIONS: [f64; 8] =
    [0.5, 0.384_900_180, 0.416_666_667, 0.586_996_581, 1.016_397_780, 2.085_502_080, 4.946_491_269, 13.314_674_73];

impl Noise for LogisticNoise {
    fn name(&self) -> &str {
        "logistic"
    }

    fn density(&self, x: f64) -> f64 {
        let small = (-x.abs()).exp();
        small / ((1.0 + small) * (1.0 + small))
    }

    fn distribution(&self, x: f64) -> f64 {
        let small = (-x.abs()).exp();
        if x < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
    }

    fn tail(&self, x: f64) -> f64 {
        2.0 * self.distribution(-x)
    }

    fn variation(&self, order: usize) -> Option<f64> {
        VARIATIONS.get(order.checked_sub(1)?).copied()
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        let u = uniform();
        (u / (1.0 - u)).ln()
    }
}
