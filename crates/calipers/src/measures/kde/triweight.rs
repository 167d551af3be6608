use crate::noise::Noise;

/// The triweight kernel, 35/32 (1 - u²)³ on [-1, 1], scaled to a standard deviation of 1: its
/// support is [-3, 3].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Triweight;

/// L1 norms of the derivatives up to the fourth, rounded up; the third jumps by 52.5 / 27 at both
/// ends, which is part of the fourth.
const VARIATIONS: [f64; 4] = [0.729_166_667, 0.834_798_1, 1.263_889, 3.752_04];

impl Noise for Triweight {
    fn name(&self) -> &str {
        "triweight"
    }

    fn density(&self, x: f64) -> f64 {
        let inside = (1.0 - x * x / 9.0).max(0.0);
        35.0 / 96.0 * inside * inside * inside
    }

    fn distribution(&self, x: f64) -> f64 {
        let u = (x / 3.0).clamp(-1.0, 1.0);
        let odd = u * (1.0 + u * u * (-1.0 + u * u * (0.6 - u * u / 7.0)));
        0.5 + 35.0 / 32.0 * odd
    }

    fn tail(&self, x: f64) -> f64 {
        2.0 * self.distribution(-x)
    }

    fn variation(&self, order: usize) -> Option<f64> {
        VARIATIONS.get(order.checked_sub(1)?).copied()
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        // The middle of 7 uniforms has density proportional to (1 - u²)³.
        let mut draws: [f64; 7] = std::array::from_fn(|_| uniform());
        draws.sort_by(f64::total_cmp);
        3.0 * (2.0 * draws[3] - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_and_variations_are_those_of_the_kernel() {
        let step = 1e-3;
        let mut values: Vec<f64> = (-3100..=3100).map(|k| Triweight.density(f64::from(k) * step)).collect();
        assert!((values.iter().sum::<f64>() * step - 1.0).abs() < 1e-9);
        let second: f64 = (-3100..=3100).map(|k| (f64::from(k) * step).powi(2)).zip(&values).map(|(x, v)| x * v).sum();
        assert!((second * step - 1.0).abs() < 1e-6);
        for claimed in VARIATIONS {
            values = values.windows(2).map(|pair| (pair[1] - pair[0]) / step).collect();
            let norm = values.iter().map(|value| value.abs()).sum::<f64>() * step;
            assert!(norm <= claimed * (1.0 + 1e-6) && norm > 0.99 * claimed, "{norm} against {claimed}");
        }
        assert!(
            (Triweight.distribution(1.0) - 0.5 - 35.0 / 32.0 * (1.0 / 3.0 - 1.0 / 27.0 + 0.6 / 243.0 - 1.0 / 15309.0))
                .abs()
                < 1e-12
        );
        assert!(Triweight.tail(3.0).abs() < 1e-15);
    }
}
