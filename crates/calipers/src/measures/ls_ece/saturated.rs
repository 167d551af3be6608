//! Logits so far out that it does not matter where they are.

use super::Kernel;
use super::integrand::Integrand;
use super::points::{FAR, Points};
use crate::Error;

/// Points within a distance of 0, and what bringing them there costs.
pub(super) struct Clamped {
    pub(super) points: Points,
    pub(super) cost: f64,
}

impl Kernel<'_> {
    /// Brings logits beyond ±H to ±H; `None` if there are none.
    ///
    /// # Bound
    /// Let the noise stay within R but for a probability τ, and let d = H - R. Left of -d, |G|
    /// differs from the smoothed mass of outcome 1 by at most ρ(-d) times all smoothed mass: so the
    /// integral there is the weight of outcome 1, wherever its points are, up to 2 ρ(-d) + 2 τ
    /// before and after the move. The right side is its mirror image, with outcome 0 and 1 - ρ(d).
    ///
    /// The residual form has H = d + 2 R. Let c = -(d + R), and take the left side first.
    /// 1. *Left of c, outcome 0.* Points up to -d have |y - p| = p <= ρ(-d), whether they are moved
    ///    or not; the others get left of c with probability τ at most. So the smoothed mass of
    ///    outcome 0 left of c is N <= ρ(-d) + τ, before and after the move.
    /// 2. *Left of c, outcome 1.* Its smoothed mass P is not negative, and ∫|R| left of c is P up
    ///    to N. A point that is moved comes from beyond -H and is put at -H, and all of it but τ is
    ///    left of c in either place; its factor 1 - p changes by ρ(-H) <= ρ(-d). So P changes by at
    ///    most τ + ρ(-d), and the integral left of c by at most 2 N + τ + ρ(-d) <= 3 ρ(-d) + 3 τ.
    /// 3. *Right of c.* Points that are moved have at most τ of their mass there, before and after:
    ///    the integral changes by at most 2 τ.
    ///
    /// The right side is the mirror image, with outcomes exchanged and 1 - ρ(d). In all 6
    /// max(ρ(-d), 1 - ρ(d)) + 10 τ.
    pub(super) fn clamped(&self, points: &Points, integrand: Integrand) -> Result<Option<Clamped>, Error> {
        let (min, max) = points.range;
        let largest = min.abs().max(max.abs());
        let Some((limit, cost)) = self.limit(integrand) else {
            let rule = "at most 1e8 in size for noise with so heavy a tail";
            return if largest <= FAR {
                Ok(None)
            } else {
                Err(Error::setting("logits", rule, crate::error::number(largest)))
            };
        };
        if largest <= limit {
            return Ok(None);
        }
        let mut points = points.clone();
        points.clamp(limit);
        Ok(Some(Clamped { points, cost }))
    }

    /// H, and the cost of a move to it; `None` if the noise reaches too far.
    fn limit(&self, integrand: Integrand) -> Option<(f64, f64)> {
        const NOTHING: f64 = 1e-18;
        let doubled = |start: f64, most: f64, enough: &dyn Fn(f64) -> bool| {
            std::iter::successors(Some(start), |x| Some(2.0 * x)).take_while(|x| *x <= most).find(|x| enough(*x))
        };
        let reach = doubled(1.0, 64.0, &|x| self.noise.tail(x) <= NOTHING)?;
        let saturated = |d: f64| self.link.response(-d).max(self.link.complement(d)) <= NOTHING;
        let distance = doubled(50.0, 1e6, &saturated)?;
        let (reaches, cost) = match integrand {
            Integrand::Paper => (1.0, 8.0 * NOTHING),
            Integrand::Residual => (2.0, 16.0 * NOTHING),
        };
        // Rounding of logits beyond FAR is in no bound, so that none may stay there.
        Some((distance + reaches * reach * self.sigma, cost)).filter(|(limit, _)| *limit <= FAR)
    }
}
