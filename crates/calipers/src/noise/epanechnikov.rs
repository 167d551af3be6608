use super::Noise;

/// Epanechnikov's parabola, density 3(1 - x²)/4 on [-1, 1]; sigma is its half-width.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epanechnikov;

impl Noise for Epanechnikov {
    fn name(&self) -> &str {
        "epanechnikov"
    }

    fn density(&self, x: f64) -> f64 {
        // The factored form keeps its relative accuracy up to the ends.
        if x.abs() < 1.0 { 0.75 * (1.0 - x) * (1.0 + x) } else { 0.0 }
    }

    fn distribution(&self, x: f64) -> f64 {
        let x = x.clamp(-1.0, 1.0);
        0.25 * (1.0 + x) * (1.0 + x) * (2.0 - x)
    }

    fn tail(&self, x: f64) -> f64 {
        2.0 * self.distribution(-x)
    }

    fn variation(&self, order: usize) -> Option<f64> {
        match order {
            1 => Some(1.5),
            // -3/2 over a length of 2, and the slope's jumps of 3/2 at both ends.
            2 => Some(6.0),
            _ => None,
        }
    }

    fn kinks(&self) -> &[f64] {
        &[-1.0, 1.0]
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        // Of three uniform numbers on [-1, 1], the last, or the second if the last is the largest
        // in size, has this density (Devroye 1986).
        let draws: [f64; 3] = std::array::from_fn(|_| 2.0 * uniform() - 1.0);
        let last_is_largest = draws[2].abs() >= draws[0].abs() && draws[2].abs() >= draws[1].abs();
        if last_is_largest { draws[1] } else { draws[2] }
    }
}
