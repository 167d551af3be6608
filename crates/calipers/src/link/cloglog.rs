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

    fn derivative_bound(&self, order: usize) -> Option<f64> {
        DERIVATIVE_BOUNDS.get(order.checked_sub(1)?).copied()
    }
}
