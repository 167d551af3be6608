use super::Link;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;

/// rho(u) = 1 / (1 + exp(-u)), the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logistic;

/// sup |rho^(m)| for m = 1..=8, rounded up: polynomials in rho, at their extrema.
const DERIVATIVE_BOUNDS: [f64; 8] = [0.25, 0.096_225_05, 0.125, 0.127_683_93, 0.25, 0.408_327_76, 1.0625, 2.390_079_15];

impl Logistic {
    /// Puts rho(u) in the place of each logit, with the accuracy and the bits of `both_all`.
    pub(crate) fn response_all(&self, logits: &mut [f64]) {
        respond_in_place(logits);
    }
}

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

    fn both_all(&self, logits: &[f64], responses: &mut [f64], complements: &mut [f64]) {
        respond_to_all(logits, responses, complements);
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

    /// The slope is 1 / (p (1 - p)): no logarithm is needed.
    fn steepness(&self, from: (f64, f64), to: (f64, f64)) -> (f64, Option<(f64, f64)>) {
        (1.0 / (from.0 * from.1).min(to.0 * to.1), Some((1.0, 1.0)))
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

/// Beyond this, the smaller of the two is taken as 0; the larger is 1 in all its digits.
const SURE: f64 = 690.0;

dispatched! {
    /// rho and 1 - rho of many logits, without a branch.
    ///
    /// # Accuracy
    /// With x = |u| and e = exp(-x), which is off by at most (6 + 2 x) 2^-53 of itself, e / (1 + e)
    /// and 1 / (1 + e) are off by at most (6 + 2 x) e 2^-53 + 2 · 2^-53. Since 2 x e is below 1,
    /// that is less than 2^-49.
    fn respond_to_all / respond_to_all_portable(logits: &[f64], responses: &mut [f64], complements: &mut [f64]) {
        for ((u, response), complement) in logits.iter().zip(responses).zip(complements) {
            let x = u.abs();
            let small = exp_of_nonpositive(-x);
            let small = if x < SURE { small } else { 0.0 };
            let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
            *response = if *u < 0.0 { less } else { more };
            *complement = if *u < 0.0 { more } else { less };
        }
    }
}

dispatched! {
    /// rho in the place of each logit, with the accuracy and the bits of [`respond_to_all`].
    fn respond_in_place / respond_in_place_portable(logits: &mut [f64]) {
        for u in logits {
            let x = u.abs();
            let small = exp_of_nonpositive(-x);
            let small = if x < SURE { small } else { 0.0 };
            *u = if *u < 0.0 { small } else { 1.0 } / (1.0 + small);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_logits_give_the_responses_of_each_within_their_bound() {
        let mut logits: Vec<f64> = (-8_000..=8_000).map(|k| f64::from(k) * 0.1).collect();
        logits.extend([0.0, -0.0, 1e-300, -1e300, 1e300, f64::MAX, 689.9, -690.1]);
        let mut all = [vec![f64::NAN; logits.len()], vec![f64::NAN; logits.len()]];
        let mut portable = all.clone();
        let [responses, complements] = &mut all;
        Logistic.both_all(&logits, responses, complements);
        let [responses, complements] = &mut portable;
        respond_to_all_portable(&logits, responses, complements);
        let (mut in_place, mut in_place_portable) = (logits.clone(), logits.clone());
        Logistic.response_all(&mut in_place);
        respond_in_place_portable(&mut in_place_portable);
        for (place, u) in logits.iter().enumerate() {
            let (response, complement) = Logistic.both(*u);
            for (found, expected) in [(all[0][place], response), (all[1][place], complement)] {
                assert!((found - expected).abs() <= 2f64.powi(-48), "{u}: {found} {expected}");
                let digits = (found / expected - 1.0).abs();
                assert!(expected < 1e-290 || digits <= (9.0 + 2.0 * u.abs()) * f64::EPSILON, "{u}: {digits:e}");
            }
            assert_eq!(
                [all[0][place], all[1][place]].map(f64::to_bits),
                [portable[0][place], portable[1][place]].map(f64::to_bits)
            );
            assert_eq!([in_place[place], in_place_portable[place]].map(f64::to_bits), [all[0][place].to_bits(); 2]);
        }
    }
}
