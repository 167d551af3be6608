//! The paper's two points.

use super::finite::Finite;
use crate::{Error, error};

/// The 2-point distribution (Definition discretedist) with the predictor rho(alpha x), rho the
/// logistic function.
///
/// x is -1/2 with outcome 0 or 1/2 with outcome 1, each with probability 1/2. At alpha = 0 both are
/// predicted as 1/2 and ECE is 0; at any other small alpha it is 1/2 - (rho(alpha / 2) - 1/2). ECE
/// in bins is near 0 or near 1/2 as their number is odd or even.
///
/// # Example
/// ```
/// use calipers::population::two_point;
///
/// assert_eq!(two_point(0.0)?.ece(), 0.0);
/// assert_eq!(two_point(0.0)?.jump(), 0.5);
/// assert!((two_point(1e-3)?.ece() - 0.5).abs() < 2e-4);
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn two_point(alpha: f64) -> Result<Finite, Error> {
    Error::require(alpha.is_finite(), "alpha", "finite", error::number(alpha))?;
    let p = |x: f64| 1.0 / (1.0 + (-alpha * x).exp());
    Finite::new(&[0.5, 0.5], &[0.0, 1.0], &[p(-0.5), p(0.5)])
}
