//! The smoothed curve at every row: what indices of the gap row by row are made of.
//!
//! Of many rows by way of [`Nodes`], smoothed by one convolution. Reading between nodes costs as
//! much again as spreading points over them, times Σ|mass|.

use super::nodes::{MANY, Nodes, ORDER, PANELS};
use super::points::Points;
use super::regression::Regression;
use super::{Kernel, LsEce};
use crate::Error;
use crate::data::BinaryView;
use crate::numerics::convolution::Taps;
use crate::numerics::parallel::{self, CHUNK};

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
        let (rates, bounds) = match on_nodes(&points, &kernel) {
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

/// Rates and bounds by way of nodes, where there are any.
fn on_nodes(points: &Points, kernel: &Kernel<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
    let nodes = Nodes::new(points, kernel)?;
    let n_nodes = nodes.masses[0].len();
    let reach = (nodes.reach * PANELS).ceil() as usize;
    let taps = Taps::new(reach, |offset| kernel.density(offset * nodes.spacing));
    let mut transform_error = 0.0;
    let smoothed = [0, 1].map(|outcome: usize| {
        let mut padded = vec![0.0; n_nodes + 2 * reach];
        padded[reach..reach + n_nodes].copy_from_slice(&nodes.masses[outcome]);
        let convolved = taps.convolve(&padded);
        // A bound on the sum of all errors is one on each.
        transform_error += convolved.extra_error / ((n_nodes + 2 * reach) as f64).sqrt();
        convolved.values
    });
    let lebesgue = nodes.lagrange.lebesgue();
    let grid = nodes.spreading * (1.0 + nodes.total_mass);
    let rounding = transform_error + nodes.rounding(kernel, taps.len());
    let lost = lebesgue * (grid + rounding) + nodes.cut * nodes.total_mass + 0.5 * shift(kernel, points);
    let (min, max) = points.range;
    let at_logit = |logit: f64| {
        let (panel, theta) = nodes.panel(logit.clamp(min, max));
        let weights = nodes.lagrange.weights_at(theta);
        let at = |values: &[f64]| -> f64 {
            values[panel..panel + ORDER].iter().zip(&weights).map(|(value, weight)| value * weight).sum()
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
