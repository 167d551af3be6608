//! How fine the grid must be for a tolerance, by the bounds that are proven in `smooth.rs`.

use crate::link::Link;
use crate::noise::Noise;
use crate::numerics::lagrange::{Lagrange, MAX_ORDER};

/// Nodes that an integral may take at most; beyond, the tolerance cannot be met.
pub(super) const MAX_NODES: f64 = (1u64 << 28) as f64;

/// Nodes that a kernel may reach at most: a gigabyte of transforms.
pub(super) const MAX_REACH: usize = 1 << 20;

/// Panels of a page of the grid.
pub(super) const PAGE: i64 = 512;

/// Pages that may hold points: a gigabyte.
pub(super) const MAX_OCCUPIED: usize = 1 << 17;

/// A grid on the logit axis.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Nodes of a panel's polynomial: 2, 4, 6 or 8.
    pub(super) order: usize,
    /// Distance of neighbouring nodes.
    pub(super) spacing: f64,
    /// 1 / spacing.
    per_spacing: f64,
    /// Nodes beyond which the kernel is cut off.
    pub(super) reach: usize,
    pub(super) lagrange: Lagrange,
}

/// Norms of noise and link that the bounds are made of.
#[derive(Debug, Clone)]
pub(super) struct Smoothness {
    sigma: f64,
    /// Derivatives that exist: the order of the bounds.
    pub(super) order: usize,
    /// L1 norms of the kernel's derivatives of order 0..=order at scale 1.
    variations: Vec<f64>,
    /// sup |(y - rho)^(j)| for j in 0..=order; 1, 0, 0 and so on where the factor of the kernel
    /// does not depend on u.
    link_bounds: Vec<f64>,
    /// By how much the factor of a point changes when its logit moves by 1: at most the slope of
    /// the link in the residual form, and nothing in that of the paper.
    factor_slope: f64,
}

impl Smoothness {
    pub(super) fn new(noise: &dyn Noise, link: &dyn Link, sigma: f64) -> Self {
        let both = |order| Some((noise.variation(order)?, link.derivative_bound(order)?));
        let (mut variations, mut link_bounds) = (vec![1.0], vec![1.0]);
        for (variation, link_bound) in (1..=MAX_ORDER).map_while(both) {
            variations.push(variation);
            link_bounds.push(link_bound);
        }
        Smoothness { sigma, order: variations.len() - 1, variations, link_bounds, factor_slope: 0.0 }
    }

    /// The norms of the residual form: its factor y - rho(h) belongs to the point and is constant
    /// in u, so that no derivative of the link has a part in them. The slope of the link bounds
    /// the effect of an error in a logit on the factor.
    pub(super) fn of_residuals(noise: &dyn Noise, link: &dyn Link, sigma: f64) -> Self {
        let slope = link.derivative_bound(1);
        let mut variations = vec![1.0];
        variations.extend((1..=MAX_ORDER).map_while(|order| slope.and(noise.variation(order))));
        let mut link_bounds = vec![0.0; variations.len()];
        link_bounds[0] = 1.0;
        let order = variations.len() - 1;
        Smoothness { sigma, order, variations, link_bounds, factor_slope: slope.unwrap_or(f64::INFINITY) }
    }

    /// `spacing^m` times the L1 norm of the kernel's m-th derivative.
    fn kernel(&self, m: usize, spacing: f64) -> f64 {
        self.variations[m] * (spacing / self.sigma).powi(m as i32)
    }

    /// `spacing^m` times a bound on the L1 norm of the m-th derivative of (y - rho) K, by Leibniz.
    fn product(&self, m: usize, spacing: f64) -> f64 {
        let mut binomial = 1.0;
        let mut total = 0.0;
        for j in 0..=m {
            total += binomial * self.link_bounds[j] * spacing.powi(j as i32) * self.kernel(m - j, spacing);
            binomial *= (m - j) as f64 / (j + 1) as f64;
        }
        total
    }

    /// Moving a logit by `distance` moves the integral by at most this.
    pub(super) fn shift(&self, distance: f64) -> f64 {
        let kernel = self.variations.get(1).map_or(f64::INFINITY, |variation| variation * distance / self.sigma);
        kernel + self.factor_slope * distance
    }

    /// L1 norm of the second derivative of the kernel.
    pub(super) fn second_variation(&self) -> f64 {
        self.variations.get(2).map_or(f64::INFINITY, |variation| variation / (self.sigma * self.sigma))
    }

    /// Cost of spreading points over the nodes around them, `remainder` being the mean of |w| / m!
    /// over points, or its largest value. See `smooth.rs`, step 1.
    pub(super) fn deposit(&self, order: usize, spacing: f64, remainder: f64) -> f64 {
        if self.order >= 2 {
            remainder * self.kernel(order, spacing)
        } else {
            // Linear weights a, 1 - a move mass by 2a(1 - a) spacings, which is 4 |w| / 2!.
            4.0 * remainder * self.kernel(1, spacing)
        }
    }

    /// Cost of a polynomial between nodes in place of the smoothed residual: `smooth.rs`, step 3.
    pub(super) fn interpolation(&self, lagrange: &Lagrange, order: usize, spacing: f64) -> f64 {
        if self.order >= 2 {
            let m = order as f64;
            m.min(1.0 + m / (m - 1.0)) * lagrange.mean_remainder() * self.product(order, spacing)
        } else {
            // By (1 - θ) V(0, θ) + θ V(θ, 1): a jump at s adds (1 - s)²/2 + s²/2 of itself.
            0.5 * self.product(1, spacing)
        }
    }
}

impl Plan {
    /// The coarsest grid whose proven error is within `budget`.
    pub(super) fn new(noise: &dyn Noise, smoothness: &Smoothness, budget: f64) -> Self {
        let order = (smoothness.order / 2 * 2).max(2);
        let lagrange = Lagrange::new(order);
        let lebesgue = lagrange.lebesgue();
        let error = |spacing: f64| {
            smoothness.deposit(order, spacing, lagrange.max_remainder())
                + lebesgue * smoothness.interpolation(&lagrange, order, spacing)
        };

        // Noise promises to fall from where its tail is below 1/100.
        let (tail_budget, grid_budget) = ((0.05 * budget).min(0.01), 0.9 * budget);
        let spacing = coarsest(smoothness, order, error(smoothness.sigma), grid_budget);
        let per_sigma = spacing / smoothness.sigma;
        let fits = |reach: usize| lebesgue * lebesgue * noise.tail((reach as f64 - 1.0) * per_sigma) <= tail_budget;
        let reach = least(fits, MAX_REACH).unwrap_or(usize::MAX);
        Plan { order, spacing, per_spacing: 1.0 / spacing, reach, lagrange }
    }

    /// Whether a grid of these points can be held and worked through.
    pub(super) fn is_feasible(&self, n_points: usize, span: f64) -> bool {
        let n_pages = (span / self.spacing / PAGE as f64).min(n_points as f64) + 1.0;
        let n_nodes = n_pages * PAGE as f64 + 2.0 * n_pages.min(n_points as f64) * self.reach as f64;
        let n_nodes = n_nodes.min(span / self.spacing + 2.0 * self.reach as f64);
        self.reach <= MAX_REACH && n_pages <= MAX_OCCUPIED as f64 && n_nodes <= MAX_NODES
    }

    /// Where a logit is, in units of the spacing. It rounds the logit by 2u of itself.
    #[inline(always)]
    pub(super) fn position(&self, logit: f64) -> f64 {
        logit * self.per_spacing
    }

    /// The panel that a logit is in, and where in it, from 0 to 1; for positions up to 2^51.
    #[inline(always)]
    pub(super) fn panel(&self, logit: f64) -> (i64, f64) {
        // Added to a number, it leaves the nearest integer in the last bits: most processors have
        // no faster way to one.
        const LAST_BITS: f64 = 1.5 * (1u64 << 52) as f64;
        let position = self.position(logit);
        let shifted = position + LAST_BITS;
        let nearest = shifted - LAST_BITS;
        let above = nearest > position;
        let panel = shifted.to_bits() as i64 - LAST_BITS.to_bits() as i64 - i64::from(above);
        (panel, position - (nearest - if above { 1.0 } else { 0.0 }))
    }
}

/// The spacing at which an error is within the budget that is `at_sigma` at a spacing of sigma: all
/// errors are multiples of one power of the spacing.
fn coarsest(smoothness: &Smoothness, order: usize, at_sigma: f64, budget: f64) -> f64 {
    let (ratio, power) = (budget / at_sigma, if smoothness.order >= 2 { order } else { 1 });
    // Roots of squares are the same on all processors.
    let share = match power {
        1 => ratio,
        2 => ratio.sqrt(),
        4 => ratio.sqrt().sqrt(),
        8 => ratio.sqrt().sqrt().sqrt(),
        _ => ratio.powf(1.0 / power as f64),
    };
    // A little less, for what rounding has added. NaN becomes the smallest.
    let share = (1.0 - 1e-12) * share;
    smoothness.sigma * if share > 1e-12 { share.min(1.0) } else { 1e-12 }
}

/// The least number up to `most` that fits, where all above one that fits do too.
fn least(fits: impl Fn(usize) -> bool, most: usize) -> Option<usize> {
    const USUAL: usize = 32;
    let (mut below, mut fitting) = (1, USUAL);
    while !fits(fitting) {
        if fitting >= most {
            return None;
        }
        (below, fitting) = (fitting, 2 * fitting);
    }
    while fitting - below > 1 {
        let middle = below + (fitting - below) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            below = middle;
        }
    }
    Some(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Logistic;
    use crate::noise::Gaussian;

    #[test]
    fn panels_are_those_of_floor() {
        let plan = Plan::new(&Gaussian, &Smoothness::new(&Gaussian, &Logistic, 0.1), 1e-6);
        let near = [-2.0, -1.0, 0.0, 1.0, 7.0, 1e9].map(|k: f64| k * plan.spacing);
        for logit in near.into_iter().flat_map(|x| [x.next_down(), x, x.next_up(), 1.3 * x, 0.7 * x]) {
            let position = plan.position(logit);
            let (panel, theta) = plan.panel(logit);
            assert_eq!((panel as f64, theta), (position.floor(), position - position.floor()), "{logit}");
        }
    }
}
