use super::Noise;

/// The Laplace distribution, density exp(-|x|) / 2; sigma is its scale.
#[derive(Debug, Clone, Copy, Default)]
pub struct Laplace;

impl Noise for Laplace {
    fn name(&self) -> &str {
        "laplace"
    }

    fn density(&self, x: f64) -> f64 {
        0.5 * (-x.abs()).exp()
    }

    fn distribution(&self, x: f64) -> f64 {
        if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() }
    }

    fn tail(&self, x: f64) -> f64 {
        (-x).exp()
    }

    fn variation(&self, order: usize) -> Option<f64> {
        match order {
            1 => Some(1.0),
            // The second derivative is the density itself less a unit mass at the kink.
            2 => Some(2.0),
            _ => None,
        }
    }

    fn kinks(&self) -> &[f64] {
        &[0.0]
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        let u = uniform();
        if u < 0.5 { (2.0 * u).ln() } else { -(2.0 * (1.0 - u)).ln() }
    }
}
