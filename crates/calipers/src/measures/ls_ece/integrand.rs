//! The two integrands: that of the paper, and that of the residual form.
//!
//! # Definition
//! ```text
//! paper      G(u) = Σ_i s_i (y_i - ρ(u)) K(u - h_i)
//! residual   R(u) = Σ_i s_i (y_i - p_i) K(u - h_i),   p_i = ρ(h_i)
//! ```
//! LS-ECE is ∫|G|, the residual form is ∫|R|. R smooths residuals and leaves predictions as they
//! are. Both are linear in the points, so one grid, one closed form and one reduction of cells
//! serve both; only the weights of the points and the norms in the bounds differ.

use std::borrow::Cow;

use super::Kernel;
use super::plan::Smoothness;
use super::points::Points;
use crate::link::Link;
use crate::numerics::parallel;

/// What is integrated over the logit axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Integrand {
    /// The gap between outcomes and the smoothed prediction ρ(u): LS-ECE, as the paper has it.
    #[default]
    Paper,
    /// The smoothed gap between outcomes and their own predictions.
    Residual,
}

impl Integrand {
    /// The norms that the bounds on a grid are made of.
    pub(super) fn smoothness(self, kernel: &Kernel<'_>) -> Smoothness {
        match self {
            Integrand::Paper => Smoothness::new(kernel.noise, kernel.link, kernel.sigma),
            Integrand::Residual => Smoothness::of_residuals(kernel.noise, kernel.link, kernel.sigma),
        }
    }

    /// The mass of each point for its outcome: its weight, or in the residual form its weight times
    /// |y - ρ(h)|. `None` if all are 1.
    pub(super) fn masses<'a>(self, points: &'a Points, link: &dyn Link) -> Option<Cow<'a, [f64]>> {
        match self {
            Integrand::Paper => points.weights.as_deref().map(Cow::Borrowed),
            Integrand::Residual => Some(Cow::Owned(residual_sizes(points, link))),
        }
    }

    /// A bound on Σ s_i |error of y_i - p_i|, where the masses are computed from logits that are
    /// taken to be exact: [`Link::both`] promises 2^-48, and the product with the weight is rounded
    /// once.
    pub(super) fn mass_error(self) -> f64 {
        match self {
            Integrand::Paper => 0.0,
            Integrand::Residual => 2f64.powi(-47),
        }
    }

    /// The derivatives of the factor y - ρ(h), which belongs to a point at h: bounds on their
    /// sizes, from order 0 to 3. The paper's factor depends on u alone.
    pub(crate) fn factor_bounds(self, link: &dyn Link) -> [Option<f64>; 4] {
        match self {
            Integrand::Paper => [Some(1.0), Some(0.0), Some(0.0), Some(0.0)],
            Integrand::Residual => {
                [Some(1.0), link.derivative_bound(1), link.derivative_bound(2), link.derivative_bound(3)]
            }
        }
    }
}

/// w_i |y_i - ρ(h_i)|, without cancellation near 0 and 1.
fn residual_sizes(points: &Points, link: &dyn Link) -> Vec<f64> {
    let n = points.len();
    let parts = parallel::map_chunks(n, parallel::chunk_of(n), |range| {
        let size = |index: usize| {
            let (response, complement) = link.both(points.logits[index]);
            points.weight(index) * if points.outcomes[index] { complement } else { response }
        };
        range.map(size).collect::<Vec<f64>>()
    });
    parts.concat()
}
