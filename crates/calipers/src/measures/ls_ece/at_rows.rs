//! The smoothed curve at every row: what indices of the gap row by row are made of.
//!
//! # Bound
//! As in `smooth.rs`, but for values in place of integrals. With K^(m) the kernel's m-th derivative
//! at scale sigma, masses on a grid of spacing Δ change a smoothed mass by at most
//! `max|w| / m! Δ^m sup|K^(m)|` in all, since shares sum to 1; reading between nodes costs as much
//! again times S = Σ|mass|; and sup|K^(m)| is at most half the L1 norm of K^(m+1), since K^(m) goes
//! from 0 to
//! 0. Gaussian noise is the only one for which that norm is known at m = 7, so that its grid is of
//!    order 6.

use super::points::Points;
use super::regression::Regression;
use super::{Kernel, LsEce};
use crate::Error;
use crate::data::BinaryView;
use crate::measures::prelude::Merge;
use crate::numerics::convolution::Taps;
use crate::numerics::lagrange::{Lagrange, MAX_ORDER};
use crate::numerics::parallel::{self, CHUNK};

/// Nodes that a grid may have; beyond, places are looked at one by one.
const MAX_NODES: f64 = (1u64 << 22) as f64;

/// Panels for each sigma: then (Δ / sigma)^6 is 2^-36.
const PANELS: f64 = 64.0;

/// Rows above which the grid pays.
const MANY: usize = 4096;

/// The curve at the rows of a view.
pub(crate) struct AtRows {
    /// |E[Y | T = p] - p| for each row.
    pub(crate) gaps: Vec<f64>,
    /// Bounds on the numerical error of the gaps.
    pub(crate) bounds: Vec<f64>,
    /// The weights of the rows, of which the largest is 1.
    pub(crate) weights: Option<Vec<f64>>,
    /// Of the noise, where there is one.
    pub(crate) sigma: Option<f64>,
    pub(crate) n_clipped: u64,
}

impl LsEce {
    /// The gaps between the curve and the diagonal, row by row.
    pub(crate) fn at_rows(&self, view: &BinaryView<'_>) -> Result<AtRows, Error> {
        let (points, sigma) = self.points(view)?;
        let kernel = self.kernel(sigma);
        let (rates, bounds) = match on_grid(&points, &kernel) {
            Some(found) if points.len() > MANY => found,
            _ => one_by_one(&points, kernel),
        };
        let gap = |(rate, logit): (&f64, &f64)| {
            // Without cancellation where both are near 1.
            if *rate > 0.5 {
                (self.link.complement(*logit) - (1.0 - rate)).abs()
            } else {
                (rate - self.link.response(*logit)).abs()
            }
        };
        let gaps = rates.iter().zip(&points.logits).map(gap).collect();
        Ok(AtRows { gaps, bounds, sigma: Some(sigma), n_clipped: points.n_clipped, weights: points.weights })
    }
}

/// Rates and bounds from the rows within reach of each.
fn one_by_one(points: &Points, kernel: Kernel<'_>) -> (Vec<f64>, Vec<f64>) {
    let regression = Regression::new(points, kernel);
    // Equal logits have equal rates; they are neighbours in the order.
    let order = regression.order();
    let groups: Vec<&[usize]> = order.chunk_by(|a, b| points.logits[*a] == points.logits[*b]).collect();
    let found: Vec<(f64, f64)> = parallel::map_each(&groups, |group| {
        let masses = regression.at(points.logits[group[0]]);
        let lost = 0.5 * shift(&kernel, points) + regression.neglected + masses.total * 2f64.powi(-44);
        let bound = if masses.total > lost { (2.0 * lost / (masses.total - lost)).min(1.0) } else { 1.0 };
        (masses.positives / masses.total, bound)
    });
    let (mut rates, mut bounds) = (vec![0.0; points.len()], vec![0.0; points.len()]);
    for (group, (rate, bound)) in groups.into_iter().zip(found) {
        group.iter().for_each(|&row| (rates[row], bounds[row]) = (rate, bound));
    }
    (rates, bounds)
}

/// Twice what errors in the logits of row and place can do to a smoothed mass: sup|K'| times both.
/// For noise with jumps there is no such bound.
fn shift(kernel: &Kernel<'_>, points: &Points) -> f64 {
    let second = kernel.noise.variation(2).unwrap_or(f64::INFINITY) / (kernel.sigma * kernel.sigma);
    if points.largest_logit_error > 0.0 { 2.0 * second * points.largest_logit_error } else { 0.0 }
}

/// Rates and bounds by a grid, where the noise is Gaussian or as smooth and the logits do not span
/// too many sigmas.
fn on_grid(points: &Points, kernel: &Kernel<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
    let order = 6;
    let supremum = 0.5 * kernel.noise.variation(order + 1)? / kernel.sigma;
    let (min, max) = points.range;
    let spacing = kernel.sigma / PANELS;
    let mut reach_sigmas = 1.0;
    while kernel.noise.tail(reach_sigmas - 1.0) > 1e-30 {
        reach_sigmas *= 1.05;
        if reach_sigmas > 100.0 {
            return None;
        }
    }
    let n_nodes = (max - min) / spacing + MAX_ORDER as f64 + 1.0;
    if !(n_nodes < MAX_NODES) {
        return None;
    }
    let n_nodes = n_nodes as usize;
    let lagrange = Lagrange::new(order);
    // Node j is at min + (j + 1 - order / 2) spacing.
    let place = |logit: f64| {
        let position = ((logit - min) / spacing).max(0.0);
        let panel = position.floor();
        (panel as usize, position - panel)
    };
    let segment = points.len().div_ceil(64).max(parallel::CHUNK).max(n_nodes);
    let parts = parallel::map_chunks(points.len(), segment, |range| {
        let mut masses = [vec![0.0; n_nodes], vec![0.0; n_nodes]];
        for index in range.filter(|&index| points.weight(index) > 0.0) {
            let share = points.share(index);
            let (panel, theta) = place(points.logits[index]);
            let weights = lagrange.weights_at(theta);
            let masses = &mut masses[usize::from(points.outcomes[index])][panel..panel + order];
            masses.iter_mut().zip(&weights).for_each(|(mass, weight)| *mass += share * weight);
        }
        masses
    });
    let mut masses = [vec![0.0; n_nodes], vec![0.0; n_nodes]];
    parts.into_iter().for_each(|part| masses.merge(part));
    let total_mass: f64 = masses.iter().flatten().map(|mass: &f64| mass.abs()).sum();
    let reach = (reach_sigmas * PANELS).ceil() as usize;
    let taps = Taps::new(reach, |offset| kernel.density(offset * spacing));
    let mut transform_error = 0.0;
    let smoothed = masses.map(|masses| {
        let mut padded = vec![0.0; n_nodes + 2 * reach];
        padded[reach..reach + n_nodes].copy_from_slice(&masses);
        let convolved = taps.convolve(&padded);
        // A bound on the sum of all errors is one on each.
        transform_error += convolved.extra_error / ((n_nodes + 2 * reach) as f64).sqrt();
        convolved.values
    });
    let lebesgue = lagrange.lebesgue();
    let grid = lagrange.max_remainder() * (1.0 / PANELS).powi(order as i32) * supremum * (1.0 + total_mass);
    let largest = kernel.density(0.0) * total_mass;
    let rounding = lebesgue * (transform_error + largest * f64::EPSILON * (segment + taps.len() + 64) as f64);
    let cut = kernel.noise.tail(reach_sigmas - 1.0) / kernel.sigma * total_mass;
    let lost = lebesgue * grid + rounding + cut + 0.5 * shift(kernel, points);
    let at_logit = |logit: f64| {
        let logit = logit.clamp(min, max);
        let (panel, theta) = place(logit);
        let weights = lagrange.weights_at(theta);
        let at = |values: &[f64]| -> f64 {
            values[panel..panel + order].iter().zip(&weights).map(|(value, weight)| value * weight).sum()
        };
        let (negatives, positives) = (at(&smoothed[0]), at(&smoothed[1]));
        let total = negatives + positives;
        let rate = (positives / total).clamp(0.0, 1.0);
        (rate, if total > 2.0 * lost { (2.0 * lost / (total - 2.0 * lost)).min(1.0) } else { 1.0 })
    };
    let found = parallel::map_chunks(points.len(), CHUNK, |rows| -> Vec<(f64, f64)> {
        points.logits[rows].iter().map(|logit| at_logit(*logit)).collect()
    });
    Some(found.into_iter().flatten().unzip())
}
