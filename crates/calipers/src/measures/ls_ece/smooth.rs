//! The integral for noise whose density has bounded variation of some order.
//!
//! # Definition
//! ```text
//! LS-ECE = ∫ |G(u)| du,   G(u) = Σ_i s_i (y_i - ρ(u)) K(u - h_i),   K(x) = p_ξ(x / σ) / σ,   Σ s_i = 1
//! ```
//! # Bound
//! Let Δ be the spacing of the nodes, m the (even) order, w(θ) the product of θ - k over the m
//! nodes k around a panel, N_j the L1 norm of K^(j) and M the L1 norm of ((y - ρ) K)^(m) by
//! Leibniz. Every step changes G in the L1 norm by at most the given bound, and so ∫|G| by no more.
//! 1. *Deposit.* A point is replaced by masses on the m nodes around it, which interpolate
//!    x -> K(u - x). The error at u is w(θ_i) Δ^m / m! times an average of K^(m) around u - h_i,
//!    so that its integral over u is at most |w(θ_i)| Δ^m N_m / m!. The mean of |w(θ_i)| over the
//!    points is measured, not assumed.
//! 2. *Cut.* The kernel ends at R nodes. What is lost, read at nodes and interpolated, is at most
//!    Λ S P(|ξ| > (R - 1) Δ), with S = Σ |mass| (measured) and Λ the Lebesgue constant.
//! 3. *Interpolation.* Between nodes G is the polynomial through the m nodes around the panel. By
//!    Peano the error at θ is w(θ) Δ^m / m! times an average of G^(m) with a B-spline of order m
//!    over m - 1 panels as weight. That weight is unimodal and at most m / ((m - 1) Δ), so its
//!    copies for all panels sum to at most min(m, 1 + m / (m - 1)) / Δ at any point. In all: that
//!    factor, times the mean of |w| / m!, times S Δ^m M.
//! 4. *Sign changes.* ∫|P| is exact up to pieces of at most 2^-8 panels that may hide a root; what
//!    they may hide is added up.
//! 5. *Logits.* An error δ_i in a logit, or in its place on the grid, costs at most s_i N_1 δ_i.
//! 6. *Rounding*, by the count of operations of each sum.
//!
//! The residual form has R(u) = Σ_i s_i (y_i - p_i) K(u - h_i) in place of G, p_i = ρ(h_i). Its
//! factor does not depend on u, and so
//! - in steps 1 and 2 the mass of a point is s_i |y_i - p_i|, and S and the mean of |w(θ_i)| are
//!   measured with these masses;
//! - in step 3, M is N_m: no derivative of the link comes in;
//! - in step 5, an error δ_i in a logit moves K(u - h_i), by |y_i - p_i| N_1 δ_i <= N_1 δ_i in the
//!   L1 norm, and p_i, by at most L δ_i with L the largest slope of the link: in all at most s_i
//!   (N_1 + L) δ_i;
//! - in step 6, y_i - p_i is computed to an absolute error of 2^-48 and multiplied with a rounding
//!   of 2^-53, so that masses are off by at most 2^-47 in all. Spreading and interpolating multiply
//!   that by Λ each.
//!
//! For noise of first order only, masses and interpolation are linear. Step 1 then costs
//! 2 θ (1 - θ) Δ N_1, the mass times the distance that it moves, and step 3 at most S Δ / 2
//! times the total variation of (y - ρ) K, or of K.

use std::ops::Range;

use super::grid::Grid;
use super::integrand::Integrand;
use super::plan::{MAX_NODES, Plan};
use super::points::Points;
use super::{Integral, Kernel};
use crate::Error;
use crate::numerics::bernstein::{AbsIntegral, PanelIntegral};
use crate::numerics::convolution::Taps;
use crate::numerics::sum::Sum;

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

/// Panels that are worked on at once.
const BLOCK: i64 = 1 << 9;

/// Nodes below which one thread is enough.
const FEW_NODES: f64 = 1024.0;

/// What one block of panels adds to the integral.
struct BlockIntegral {
    value: f64,
    slack: f64,
    convolution_error: f64,
}

/// Integrates |G|, or |R|, to within `tolerance`, or returns the reason why that is not possible.
pub(super) fn integrate(
    points: &Points,
    kernel: &Kernel<'_>,
    integrand: Integrand,
    tolerance: f64,
) -> Result<Integral, Error> {
    let smoothness = integrand.smoothness(kernel);
    let (min, max) = points.range;
    let logit_cost = smoothness.shift(points.logit_error * (1.0 + 1e-9));
    let unmet = |attainable: f64, reason| Err(Error::ToleranceNotMet { tolerance, attainable, reason });
    let budget = tolerance - logit_cost;
    if smoothness.order == 0 {
        return unmet(f64::INFINITY, "the noise has no bounded variation, or the link no bounded slope");
    }
    if !(budget > 0.0) {
        return unmet(f64::INFINITY, "the logits are rounded more coarsely than that at this sigma");
    }

    let plan = Plan::new(kernel.noise, &smoothness, budget);
    let too_large = || {
        // The finest of some coarser tolerances whose grid can be had.
        let coarser = (1..60).map(|doublings| tolerance * 2f64.powi(doublings));
        let feasible = |tolerance: &f64| {
            let budget = tolerance - logit_cost;
            Plan::new(kernel.noise, &smoothness, budget).is_feasible(points.len(), max - min)
        };
        let attainable = coarser.take_while(|tolerance| *tolerance < 1.0).find(feasible).unwrap_or(f64::INFINITY);
        unmet(attainable, "the grid would be too large for this noise, sigma and span of logits")
    };
    if !plan.is_feasible(1, 0.0) {
        return too_large();
    }
    let masses = integrand.masses(points, kernel.link);
    let Some(grid) = Grid::new(points, masses.as_deref(), &plan) else { return too_large() };
    drop(masses);
    let halo = plan.reach as i64 + plan.order as i64;
    let windows = grid.windows(halo);
    let n_nodes: f64 = windows.iter().map(|window| (window.end - window.start) as f64).sum();
    if n_nodes > MAX_NODES {
        return too_large();
    }

    let taps = kernel.taps(&plan);
    let panels = PanelIntegral::new(&plan.lagrange, plan.order, 1e-4 * tolerance);
    let mut blocks = Vec::new();
    let block_length = BLOCK.max(2 * taps.len() as i64);
    for window in windows {
        let mut start = window.start;
        while start < window.end {
            let end = window.end.min(start + block_length);
            blocks.push(start..end);
            start = end;
        }
    }
    // Few nodes are done before another thread is awake.
    let share = if n_nodes < FEW_NODES { blocks.len() } else { 1 };
    let parts = crate::numerics::parallel::map_chunks(blocks.len(), share, |range| {
        let integrate =
            |block: &Range<i64>| integrate_block(&grid, kernel, integrand, &plan, &taps, &panels, block.clone());
        blocks[range].iter().map(integrate).collect::<Vec<BlockIntegral>>()
    });
    let parts: Vec<BlockIntegral> = parts.into_iter().flatten().collect();

    // Weights become shares at the end: all of it is linear in them.
    let unit = plan.spacing / points.total_weight;
    let value = parts.iter().map(|part| part.value).collect::<Sum>().value() * unit;
    let slack: f64 = parts.iter().map(|part| part.slack).sum::<f64>() * unit;
    let convolution: f64 = parts.iter().map(|part| part.convolution_error).sum::<f64>() * unit;
    let total_mass = grid.total_mass() / points.total_weight * (1.0 + 1e-9);
    let remainder = grid.remainder / points.total_weight;
    let lebesgue = plan.lagrange.lebesgue();
    let m = plan.order as f64;
    let factorial: f64 = (1..=plan.order).map(|k| k as f64).product();
    let deposit = smoothness.deposit(plan.order, plan.spacing, remainder / factorial * (1.0 + 1e-9));
    let reach_sigmas = (plan.reach as f64 - 1.0) * plan.spacing / kernel.sigma;
    let cut = lebesgue * total_mass * kernel.noise.tail(reach_sigmas);
    let interpolation = total_mass * smoothness.interpolation(&plan.lagrange, plan.order, plan.spacing);
    let operations = 16.0 * m + grid.longest_sum + taps.len() as f64 + m * panels.norm() + 64.0;
    // Spreading and interpolating both weigh what was rounded before them.
    let rounding = lebesgue * lebesgue * total_mass * (U * operations + 2f64.powi(-45)) + lebesgue * convolution;
    let rounding = rounding + lebesgue * lebesgue * integrand.mass_error();
    let bound = deposit + cut + interpolation + slack + logit_cost + rounding;
    if !(bound <= tolerance) {
        return unmet(f64::INFINITY, "rounding may cost more");
    }
    Ok(Integral { value, bound })
}

/// The integral of |G|, or |R|, over the panels that start at the nodes of `block`, in units of the
/// spacing.
fn integrate_block(
    grid: &Grid,
    kernel: &Kernel<'_>,
    integrand: Integrand,
    plan: &Plan,
    taps: &Taps,
    panels: &PanelIntegral,
    block: Range<i64>,
) -> BlockIntegral {
    let margin = plan.order as i64 / 2;
    // The polynomial of a panel uses `margin - 1` nodes before it and `margin` after its start.
    let nodes = block.start - (margin - 1)..block.end + margin;
    let reach = taps.reach() as i64;
    let [mut negatives, positives] =
        [false, true].map(|outcome| taps.convolve(&grid.masses(outcome, nodes.start - reach..nodes.end + reach)));
    let residuals = &mut negatives.values;
    match integrand {
        Integrand::Paper => {
            const SOME: usize = 64;
            let (mut logits, mut responses, mut complements) = ([0.0; SOME], [0.0; SOME], [0.0; SOME]);
            let some = residuals.chunks_mut(SOME).zip(positives.values.chunks(SOME));
            for ((residuals, positives), first) in some.zip((nodes.start..).step_by(SOME)) {
                let n = residuals.len();
                for (logit, node) in logits[..n].iter_mut().zip(first..) {
                    *logit = node as f64 * plan.spacing;
                }
                kernel.link.both_all(&logits[..n], &mut responses[..n], &mut complements[..n]);
                for (k, residual) in residuals.iter_mut().enumerate() {
                    *residual = complements[k] * positives[k] - responses[k] * *residual;
                }
            }
        }
        Integrand::Residual => {
            residuals
                .iter_mut()
                .zip(&positives.values)
                .for_each(|(residual, positive)| *residual = positive - *residual);
        }
    }
    let AbsIntegral { value, slack } = panels.of_abs(residuals);
    let convolution_error = negatives.extra_error + positives.extra_error;
    BlockIntegral { value, slack, convolution_error }
}
