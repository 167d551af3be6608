use std::f64::consts::FRAC_1_SQRT_2;

use super::Link;

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

fn density(u: f64) -> f64 {
    const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
    INV_SQRT_2PI * (-0.5 * u * u).exp()
}

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
        let step = (current / tail).ln() * current / density(u);
        u += step;
        if step.abs() <= 2.0 * f64::EPSILON * (1.0 + u) {
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
        density(u)
    }

    fn inverse(&self, p: f64, complement: f64) -> f64 {
        if p <= complement { -upper_quantile(p) } else { upper_quantile(complement) }
    }

    fn inverse_error(&self, u: f64) -> f64 {
        // erfc of libm is good to a few ulp; the argument's rounding is u² ulp in the tail,
        // and dividing by the slope of ln P(Z > u), about u, leaves u ulp.
        16.0 * f64::EPSILON * (1.0 + u.abs())
    }

    fn derivative_bound(&self, order: usize) -> Option<f64> {
        DERIVATIVE_BOUNDS.get(order.checked_sub(1)?).copied()
    }
}
