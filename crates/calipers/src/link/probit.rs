use std::f64::consts::FRAC_1_SQRT_2;

use super::Link;
use crate::noise::{Gaussian, Noise};

/// rho(u) = Phi(u), the distribution function of the standard normal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Probit;

/// sup |phi^(m-1)| for m = 1..=8, rounded up: Hermite functions at their extrema.
const DERIVATIVE_BOUNDS: [f64; 8] = [
    0.398_942_281,
    0.241_970_725,
    0.398_942_281,
    0.550_587_840,
    1.196_826_842,
    2.307_105_930,
    5.984_134_207,
    14.177_977_13,
];

/// P(Z > u).
fn upper_tail(u: f64) -> f64 {
    0.5 * libm::erfc(u * FRAC_1_SQRT_2)
}

/// The u >= 0 with P(Z > u) = `tail` <= 1/2.
///
/// Newton's method on ln P(Z > u), which is concave: started right of the root, where
/// P(Z > u) <= exp(-u²/2) / 2 puts it, the steps go left and never past the root.
fn upper_quantile(tail: f64) -> f64 {
    let mut u = (-2.0 * (2.0 * tail).ln()).max(0.0).sqrt();
    for _ in 0..30 {
        let current = upper_tail(u);
        let step = (current / tail).ln() * current / Gaussian.density(u);
        u += step;
        if step.abs() <= 2.0 * f64::EPSILON * (1.0 + u) {
            break;
        }
    }
    u
}

/// The u > 0 with ln P(Z > u) = `log_tail`, for tails too small for a double.
///
/// P(Z > u) is the density over the continued fraction u + 1/(u + 2/(u + 3/(u + ...))), of which 30
/// terms give all digits for u > 30. Newton's method as in [`upper_quantile`].
fn far_upper_quantile(log_tail: f64) -> f64 {
    const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;
    let mut u = (-2.0 * log_tail).sqrt();
    for _ in 0..30 {
        let hazard = (1..=30).rev().fold(u, |fraction, k| u + f64::from(k) / fraction);
        let step = (-0.5 * u * u - LN_SQRT_2PI - hazard.ln() - log_tail) / hazard;
        u += step;
        if step.abs() <= 2.0 * f64::EPSILON * u {
            break;
        }
    }
    u
}

impl Link for Probit {
    fn name(&self) -> &str {
        "probit"
    }

    fn response(&self, u: f64) -> f64 {
        upper_tail(-u)
    }

    fn complement(&self, u: f64) -> f64 {
        upper_tail(u)
    }

    fn derivative(&self, u: f64) -> f64 {
        Gaussian.density(u)
    }

    fn inverse(&self, p: f64, complement: f64) -> f64 {
        if p <= complement { -upper_quantile(p) } else { upper_quantile(complement) }
    }

    /// In the far tails ln(1 - p) is -log-odds to all digits. The slope is below 0.63 everywhere.
    fn inverse_log_odds(&self, log_odds: f64, error: f64) -> (f64, f64) {
        let u = if log_odds.abs() > 600.0 {
            far_upper_quantile(-log_odds.abs()).copysign(log_odds)
        } else {
            let small = (-log_odds.abs()).exp();
            upper_quantile(small / (1.0 + small)).copysign(log_odds)
        };
        (u, 0.63 * error + self.inverse_error(u))
    }

    fn inverse_error(&self, u: f64) -> f64 {
        // erfc of libm is good to a few ulp; the argument's rounding is u² ulp in the tail,
        // and dividing by the slope of ln P(Z > u), about u, leaves u ulp.
        16.0 * f64::EPSILON * (1.0 + u.abs())
    }

    fn derivative_bound(&self, order: usize) -> Option<f64> {
        DERIVATIVE_BOUNDS.get(order.checked_sub(1)?).copied()
    }

    /// -u and u² - 1.
    fn curvature(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let largest = a.abs().max(b.abs());
        Some((largest, (largest * largest).max(1.0)))
    }
}
