use super::Link;
use crate::numerics::logarithm;

/// rho(u) = 1 / (1 + exp(-u)), the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logistic;

/// sup |rho^(m)| for m = 1..=8, rounded up: polynomials in rho, at their extrema.
const DERIVATIVE_BOUNDS: [f64; 8] = [0.25, 0.096_225_05, 0.125, 0.127_683_93, 0.25, 0.408_327_76, 1.0625, 2.390_079_15];

impl Link for Logistic {
    fn name(&self) -> &str {
        "logistic"
    }

    #[inline]
    fn response(&self, u: f64) -> f64 {
        let small = (-u.abs()).exp();
        if u < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
    }

    #[inline]
    fn complement(&self, u: f64) -> f64 {
        self.response(-u)
    }

    fn both(&self, u: f64) -> (f64, f64) {
        let small = (-u.abs()).exp();
        let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
        if u < 0.0 { (less, more) } else { (more, less) }
    }

    fn derivative(&self, u: f64) -> f64 {
        let (response, complement) = self.both(u);
        response * complement
    }

    fn inverse(&self, p: f64, complement: f64) -> f64 {
        // Near 0 the logarithm of a ratio close to 1 would lose digits of u, but none that matter:
        // its absolute error stays below 2 epsilon.
        (p / complement).ln()
    }

    /// Several at once, to within a quarter of the bound that holds for one.
    fn inverse_all(&self, probabilities: &mut [f64], errors: &mut [f64]) {
        logarithm::log_odds(probabilities);
        for (logit, error) in probabilities.iter().zip(errors) {
            *error = self.inverse_error(*logit);
        }
    }

    /// Log-odds are the logit.
    fn inverse_log_odds(&self, log_odds: f64, error: f64) -> (f64, f64) {
        (log_odds, error)
    }

    fn derivative_bound(&self, order: usize) -> Option<f64> {
        DERIVATIVE_BOUNDS.get(order.checked_sub(1)?).copied()
    }

    /// 1 - 2 rho and 1 - 6 rho (1 - rho), which lie in [-1, 1] and [-1/2, 1].
    fn curvature(&self, _a: f64, _b: f64) -> Option<(f64, f64)> {
        Some((1.0, 1.0))
    }

    /// softplus(b) - softplus(a), as one logarithm: relative accuracy on pieces of any length.
    fn integral(&self, a: f64, b: f64) -> f64 {
        let length = b - a;
        if length > 30.0 {
            let softplus = |u: f64| u.max(0.0) + (-u.abs()).exp().ln_1p();
            softplus(b) - softplus(a)
        } else {
            // (1 + e^b) / (1 + e^a) = 1 + rho(a) (e^(b-a) - 1)
            (self.response(a) * length.exp_m1()).ln_1p()
        }
    }
}
