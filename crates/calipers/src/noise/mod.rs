//! The noise xi that is added to the logits.

mod epanechnikov;
mod gaussian;
mod laplace;
mod logistic;
mod uniform;

use std::fmt::Debug;
use std::sync::Arc;

pub use epanechnikov::Epanechnikov;
pub use gaussian::Gaussian;
pub use laplace::Laplace;
pub use logistic::LogisticNoise;
pub use uniform::Uniform;

use crate::Error;
use crate::names::rule;
use crate::shared::shared;

/// A distribution of noise at scale 1; LS-ECE adds `sigma` times a draw to each logit.
///
/// What the methods return is what the proof of the numerical bound stands on, so a noise of
/// your own is certified like the built-in ones, provided that
/// - the density is non-negative, integrates to 1 and does not grow with |x| where
///   `tail(x) < 1/100`;
/// - `variation(m)` is at least the L1 norm of the m-th derivative, jumps of lower derivatives
///   counted as point masses of size |jump|, and is `None` where that is no finite measure.
///
/// With `variation` up to order m the integral converges like `(grid spacing / sigma)^m`: smooth
/// noises need a dozen grid points for each sigma, those with `variation(2)` alone about a
/// thousand.
///
/// # Example
/// Triangular noise on [-1, 1], whose slope jumps by 1, -2 and 1:
/// ```
/// use calipers::{Measure, Input, LsEce, Noise};
///
/// #[derive(Debug)]
/// struct Triangular;
///
/// impl Noise for Triangular {
///     fn name(&self) -> &str { "triangular" }
///     fn density(&self, x: f64) -> f64 { (1.0 - x.abs()).max(0.0) }
///     fn distribution(&self, x: f64) -> f64 {
///         let x = x.clamp(-1.0, 1.0);
///         0.5 + x - 0.5 * x * x.abs()
///     }
///     fn tail(&self, x: f64) -> f64 { (1.0 - x).max(0.0).powi(2) }
///     fn variation(&self, order: usize) -> Option<f64> {
///         match order { 1 => Some(2.0), 2 => Some(4.0), _ => None }
///     }
///     fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 { uniform() + uniform() - 1.0 }
/// }
///
/// let predictions = Input::probabilities(&[0.9, 0.4], &[1, 0]).check()?;
/// let estimate = LsEce::new().sigma(0.5).noise(Triangular).estimate(&predictions.binary()?)?;
/// assert!(estimate.numerical_bound <= 1e-6);
/// # Ok::<(), calipers::Error>(())
/// ```
pub trait Noise: Debug + Send + Sync {
    /// The name that results carry.
    fn name(&self) -> &str;

    /// Density at `x`, to a relative error of at most 2^-46.
    fn density(&self, x: f64) -> f64;

    /// P(xi <= x).
    fn distribution(&self, x: f64) -> f64;

    /// P(|xi| > x) for x >= 0, or more.
    fn tail(&self, x: f64) -> f64;

    /// L1 norm of the derivative of the given order (from 1), or more.
    fn variation(&self, order: usize) -> Option<f64>;

    /// One draw, from numbers that are uniform in (0, 1).
    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64;

    /// Where the density or its slope jumps: integrals over a known population are cut there.
    /// Without them they are found by halving, which is slower.
    fn kinks(&self) -> &[f64] {
        &[]
    }

    /// `Some(a)` if the density is constant on [-a, a] and 0 elsewhere: the integral then has a
    /// closed form between the points.
    fn plateau(&self) -> Option<f64> {
        None
    }
}

shared! { Noise, IntoNoise, "noise";
    "gaussian" => Gaussian, "uniform" => Uniform, "laplace" => Laplace, "logistic" => LogisticNoise,
    "epanechnikov" => Epanechnikov
}
