//! Logits so far out that it does not matter where they are.

use super::Kernel;
use super::points::{FAR, Points};
use crate::Error;

/// Points within a distance of 0, and what bringing them there costs.
pub(super) struct Near {
    pub(super) points: Points,
    pub(super) cost: f64,
}

impl Kernel<'_> {
    /// Brings logits beyond ±H to ±H; `None` if there are none.
    ///
    /// # Bound
    /// Let the noise stay within R but for a probability τ, and let d = H - R. Left of -d, |G| differs from the smoothed
    /// mass of outcome 1 by at most ρ(-d) times all smoothed mass: so the integral there is the weight of outcome 1,
    /// wherever its points are, up to 2 ρ(-d) + 2 τ before and after the move. The right side is its mirror image, with
    /// outcome 0 and 1 - ρ(d).
    pub(super) fn near(&self, points: &Points) -> Result<Option<Near>, Error> {
        let (min, max) = points.range();
        let largest = min.abs().max(max.abs());
        let Some((limit, cost)) = self.limit() else {
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
        Ok(Some(Near { points, cost }))
    }

    /// H, and the cost of a move to it; `None` if the noise reaches too far.
    fn limit(&self) -> Option<(f64, f64)> {
        const NOTHING: f64 = 1e-18;
        let doubled = |start: f64, most: f64, enough: &dyn Fn(f64) -> bool| {
            std::iter::successors(Some(start), |x| Some(2.0 * x)).take_while(|x| *x <= most).find(|x| enough(*x))
        };
        let reach = doubled(1.0, 64.0, &|x| self.noise.tail(x) <= NOTHING)?;
        let saturated = |d: f64| self.link.response(-d).max(self.link.complement(d)) <= NOTHING;
        let distance = doubled(50.0, 1e6, &saturated)?;
        Some((distance + reach * self.sigma, 8.0 * NOTHING))
    }
}
