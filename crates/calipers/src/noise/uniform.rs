use super::Noise;

/// The uniform distribution on [-1/2, 1/2]; sigma is its full width, as in the paper's appendix.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uniform;

impl Noise for Uniform {
    fn name(&self) -> &str {
        "uniform"
    }

    fn density(&self, x: f64) -> f64 {
        if x.abs() <= 0.5 { 1.0 } else { 0.0 }
    }

    fn distribution(&self, x: f64) -> f64 {
        (x + 0.5).clamp(0.0, 1.0)
    }

    fn tail(&self, x: f64) -> f64 {
        (1.0 - 2.0 * x).max(0.0)
    }

    fn variation(&self, order: usize) -> Option<f64> {
        (order == 1).then_some(2.0)
    }

    fn kinks(&self) -> &[f64] {
        &[-0.5, 0.5]
    }

    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        uniform() - 0.5
    }

    fn plateau(&self) -> Option<f64> {
        Some(0.5)
    }
}
