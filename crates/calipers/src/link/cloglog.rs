use super::Link;

/// rho(u) = 1 - exp(-exp(u)), the complementary log-log link.
#[derive(Debug, Clone, Copy, Default)]
pub struct CLogLog;

/// sup |rho^(m)| for m = 1..=8, rounded up: with x = e^u they are e^-x times polynomials in x.
const DERIVATIVE_BOUNDS: [f64; 8] = [
    0.367_879_442,
    0.309_004_787,
    0.429_614_671,
    1.118_745_754,
    3.194_291_147,
    10.157_209_12,
    45.616_407_18,
    222.773_128_1,
];

impl Link for CLogLog {
    fn name(&self) -> &str {
        "cloglog"
    }

    fn response(&self, u: f64) -> f64 {
        -(-u.exp()).exp_m1()
    }

    fn complement(&self, u: f64) -> f64 {
        (-u.exp()).exp()
    }

    fn derivative(&self, u: f64) -> f64 {
        (u - u.exp()).exp()
    }

    fn inverse(&self, p: f64, complement: f64) -> f64 {
        let hazard = if p < 0.5 { -(-p).ln_1p() } else { -complement.ln() };
        hazard.ln()
    }

    /// -ln(1 - p) is softplus(log-odds): no probability is needed, and none saturates. The slope is
    /// below 1.
    fn inverse_log_odds(&self, log_odds: f64, error: f64) -> (f64, f64) {
        let tail = (-log_odds.abs()).exp().ln_1p();
        // Far below 0, softplus(l) is e^l to all digits, and its logarithm l.
        let u = if log_odds < -40.0 { log_odds } else { (log_odds.max(0.0) + tail).ln() };
        (u, error + self.inverse_error(u))
    }

    fn derivative_bound(&self, order: usize) -> Option<f64> {
        DERIVATIVE_BOUNDS.get(order.checked_sub(1)?).copied()
    }

    /// 1 - x and 1 - 3x + x² with x = e^u.
    fn curvature(&self, _a: f64, b: f64) -> Option<(f64, f64)> {
        let x = b.exp();
        Some((x.max(1.0), 1.25 + x * x))
    }
}
