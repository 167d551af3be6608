//! The link rho, which turns a logit into a probability.

mod cloglog;
mod logistic;
mod probit;

use std::fmt::Debug;
use std::sync::Arc;

pub use cloglog::CLogLog;
pub use logistic::Logistic;
pub use probit::Probit;

use crate::Error;
use crate::names::rule;
use crate::shared::shared;

/// A strictly increasing, smooth map from the real line onto (0, 1).
///
/// As with [`Noise`](crate::Noise), the proof of the numerical bound stands on what the methods
/// return, so a link of your own is certified too.
pub trait Link: Debug + Send + Sync {
    /// The name that results carry.
    fn name(&self) -> &str;

    /// rho(u), to an absolute error of at most 2^-48.
    fn response(&self, u: f64) -> f64;

    /// 1 - rho(u), to the same error and without cancellation: small values have all their digits.
    fn complement(&self, u: f64) -> f64;

    /// rho(u) and 1 - rho(u), where that is cheaper than one after the other.
    fn both(&self, u: f64) -> (f64, f64) {
        (self.response(u), self.complement(u))
    }

    /// rho(u) and 1 - rho(u) of many logits, which replace what the other two slices hold. All
    /// three have one length.
    ///
    /// Unless overridden, one after another.
    fn both_all(&self, logits: &[f64], responses: &mut [f64], complements: &mut [f64]) {
        for ((u, response), complement) in logits.iter().zip(responses).zip(complements) {
            (*response, *complement) = self.both(*u);
        }
    }

    /// rho'(u).
    fn derivative(&self, u: f64) -> f64;

    /// rho^-1(p), where `complement` is 1 - p without cancellation.
    fn inverse(&self, p: f64, complement: f64) -> f64;

    /// Puts rho^-1(p) in the place of each p inside (0, 1), and its [error](Self::inverse_error)
    /// beside it.
    ///
    /// Unless overridden, one after another.
    fn inverse_all(&self, probabilities: &mut [f64], errors: &mut [f64]) {
        for (p, error) in probabilities.iter_mut().zip(errors) {
            *p = self.inverse(*p, 1.0 - *p);
            *error = self.inverse_error(*p);
        }
    }

    /// rho^-1 of the probability that has these log-odds, and a bound on its error where the
    /// log-odds are off by at most `error`. NaN means that it cannot be computed; the row is
    /// then an error.
    ///
    /// Unless overridden: by way of p and 1 - p, which have all their digits up to log-odds of 700.
    fn inverse_log_odds(&self, log_odds: f64, error: f64) -> (f64, f64) {
        if log_odds.abs() > 700.0 {
            return (f64::NAN, f64::NAN);
        }
        let (p, complement) = Logistic.both(log_odds);
        let u = self.inverse(p, complement);
        let slope = p * complement / self.derivative(u);
        (u, self.inverse_error(u) + slope * (error + 4.0 * f64::EPSILON))
    }

    /// Bound on the rounding error of [`inverse`](Self::inverse) where it returns `u`.
    fn inverse_error(&self, u: f64) -> f64 {
        4.0 * f64::EPSILON * (1.0 + u.abs())
    }

    /// sup |rho^(order)|, or more, for orders from 1 to 8; `None` where it is not known.
    fn derivative_bound(&self, order: usize) -> Option<f64>;

    /// Bounds on |rho″ / rho′| and |rho‴ / rho′| over [a, b], for a link whose slope has one peak:
    /// they let many rows be taken together. Without them (`None`) every row is taken by itself,
    /// which is slower.
    fn curvature(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let _ = (a, b);
        None
    }

    /// The steepest slope of rho^-1 between two probabilities, each given with its complement, or
    /// more; and [`curvature`](Self::curvature) there. For a link whose slope has one peak.
    #[doc(hidden)]
    fn steepness(&self, from: (f64, f64), to: (f64, f64)) -> (f64, Option<(f64, f64)>) {
        let ends = [from, to].map(|(p, complement)| self.inverse(p, complement));
        let (a, b) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let flattest = self.derivative(a).min(self.derivative(b));
        (1.0 / flattest, self.curvature(a, b))
    }

    /// The integral of rho over [a, b], to an error of at most 2^-43 (b - a).
    ///
    /// Unless overridden: Gauss's rule of 4 points on pieces so short that its error on a piece of
    /// length l, which is below `5.7e-10 R_8 l^9` with R_8 = sup |rho^(8)|, is below 2^-46 l. Where
    /// rho is 0 or 1 in all its digits, no piece is needed; where R_8 is not known, the result is
    /// NaN, and uniform noise is an error.
    fn integral(&self, a: f64, b: f64) -> f64 {
        if self.response(b) == 0.0 {
            return 0.0;
        }
        if self.complement(a) == 0.0 {
            return b - a;
        }
        if b - a > 64.0 {
            let middle = a + 0.5 * (b - a);
            return self.integral(a, middle) + self.integral(middle, b);
        }
        let Some(r_8) = self.derivative_bound(8) else { return f64::NAN };
        let longest = (2f64.powi(-46) / (5.7e-10 * r_8)).powf(0.125);
        let n_pieces = ((b - a) / longest.min(1.0 / 16.0)).ceil().max(1.0);
        let length = (b - a) / n_pieces;
        let piece = |index: f64| {
            let middle = a + (index + 0.5) * length;
            let at = |x: f64| self.response(middle + 0.5 * length * x) + self.response(middle - 0.5 * length * x);
            0.5 * length * (INNER_WEIGHT * at(INNER_POINT) + OUTER_WEIGHT * at(OUTER_POINT))
        };
        (0..n_pieces as u64).map(|index| piece(index as f64)).sum()
    }
}

shared! { Link, IntoLink, "link";
    "logistic" => Logistic, "probit" => Probit, "cloglog" => CLogLog
}

// Gauss's rule of 4 points on [-1, 1].
const INNER_POINT: f64 = 0.339_981_043_584_856_26;
const OUTER_POINT: f64 = 0.861_136_311_594_052_6;
const INNER_WEIGHT: f64 = 0.652_145_154_862_546_1;
const OUTER_WEIGHT: f64 = 0.347_854_845_137_453_85;
