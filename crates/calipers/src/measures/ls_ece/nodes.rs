//! Points spread over nodes that are so close that smoothed masses keep ten digits: for the curve
//! at many places, where summing over the rows again for each would take long.
//!
//! # Bound
//! As in `smooth.rs`, but for values in place of integrals. With K^(m) the kernel's m-th derivative
//! at scale sigma, masses on a grid of spacing Δ change a smoothed mass by at most
//! `max|w| / m! Δ^m sup|K^(m)|` in all, since shares sum to 1; and sup|K^(m)| is at most half the
//! L1 norm of K^(m+1), since K^(m) goes from 0 to 0. Gaussian noise is the only one for which that
//! norm is known at m = 7, so that the grid is of order 6.

use super::Kernel;
use super::points::Points;
use super::regression::Masses;
use crate::measures::prelude::Merge;
use crate::numerics::lagrange::{Lagrange, MAX_ORDER};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// Points above which nodes pay.
pub(super) const MANY: usize = 4096;

/// Nodes that there may be.
const MAX_NODES: f64 = (1u64 << 22) as f64;

/// Panels for each sigma: then (Δ / sigma)^6 is 2^-36.
pub(super) const PANELS: f64 = 64.0;

/// Nodes around a point that share its mass.
pub(super) const ORDER: usize = 6;

/// The masses of both outcomes at nodes of equal distance.
pub(super) struct Nodes {
    /// The logit at the left end of panel 0. Node j is at `origin + (j + 1 - ORDER / 2) spacing`.
    origin: f64,
    pub(super) spacing: f64,
    pub(super) lagrange: Lagrange,
    /// Of outcome 0 and of outcome 1.
    pub(super) masses: [Vec<f64>; 2],
    /// Σ |mass|: 1, and somewhat more for sparse points.
    pub(super) total_mass: f64,
    /// In sigmas: how far a node is felt.
    pub(super) reach: f64,
    /// What spreading a mass of 1 changes a smoothed mass by, at most.
    pub(super) spreading: f64,
    /// What neglecting a mass of 1 beyond reach changes a smoothed mass by, at most.
    pub(super) cut: f64,
    /// Masses added up one after another, at most.
    pub(super) longest_sum: usize,
}

impl Nodes {
    /// The nodes of these points; `None` if the noise is not as smooth as Gaussian noise, or if the
    /// logits span too many sigmas.
    pub(super) fn new(points: &Points, kernel: &Kernel<'_>) -> Option<Nodes> {
        let supremum = 0.5 * kernel.noise.variation(ORDER + 1)? / kernel.sigma;
        let mut reach = 1.0;
        while kernel.noise.tail(reach - 1.0) > 1e-30 {
            reach *= 1.05;
            if reach > 100.0 {
                return None;
            }
        }
        let (origin, last) = points.range;
        let spacing = kernel.sigma / PANELS;
        let n_nodes = (last - origin) / spacing + MAX_ORDER as f64 + 1.0;
        if !(n_nodes < MAX_NODES) {
            return None;
        }
        let n_nodes = n_nodes as usize;
        let lagrange = Lagrange::new(ORDER);
        let segment = points.len().div_ceil(64).max(parallel::CHUNK).max(n_nodes);
        let mut nodes = Nodes {
            origin,
            spacing,
            masses: [vec![0.0; n_nodes], vec![0.0; n_nodes]],
            total_mass: 0.0,
            reach,
            spreading: lagrange.max_remainder() * (1.0 / PANELS).powi(ORDER as i32) * supremum,
            cut: kernel.noise.tail(reach - 1.0) / kernel.sigma,
            longest_sum: segment + 64,
            lagrange,
        };
        let parts = parallel::map_chunks(points.len(), segment, |range| {
            let mut masses = [vec![0.0; n_nodes], vec![0.0; n_nodes]];
            for index in range.filter(|&index| points.weight(index) > 0.0) {
                let share = points.share(index);
                let (panel, theta) = nodes.panel(points.logits[index]);
                let weights = nodes.lagrange.weights_at(theta);
                let masses = &mut masses[usize::from(points.outcomes[index])][panel..panel + ORDER];
                masses.iter_mut().zip(&weights).for_each(|(mass, weight)| *mass += share * weight);
            }
            masses
        });
        parts.into_iter().for_each(|part| nodes.masses.merge(part));
        nodes.total_mass = nodes.masses.iter().flatten().map(|mass: &f64| mass.abs()).sum();
        Some(nodes)
    }

    /// The panel that a logit is in, and its place there in [0, 1). Its nodes are those from the
    /// number of the panel on.
    pub(super) fn panel(&self, logit: f64) -> (usize, f64) {
        let position = ((logit - self.origin) / self.spacing).max(0.0);
        let panel = position.floor();
        (panel as usize, position - panel)
    }

    /// What rounding in the masses changes a smoothed mass by, at most, where sums of `more` terms
    /// are made of them.
    pub(super) fn rounding(&self, kernel: &Kernel<'_>, more: usize) -> f64 {
        kernel.density(0.0) * self.total_mass * f64::EPSILON * (self.longest_sum + more) as f64
    }

    /// What the smoothed masses at a place can be off by.
    pub(super) fn lost(&self, kernel: &Kernel<'_>) -> f64 {
        // The densities have a relative error of 2^-45 each.
        self.spreading + self.cut * self.total_mass + self.rounding(kernel, 256)
    }

    /// The smoothed masses at u, by a sum over the nodes within reach.
    pub(super) fn at(&self, kernel: &Kernel<'_>, u: f64) -> Masses {
        let node = (u - self.origin) / self.spacing + (ORDER / 2 - 1) as f64;
        let reach = self.reach * PANELS;
        // Numbers below 0 become 0.
        let first = (node - reach).ceil() as usize;
        let last = ((node + reach).floor() + 1.0) as usize;
        let (mut negatives, mut positives) = (Sum::default(), Sum::default());
        for j in first..last.min(self.masses[0].len()) {
            let (negative, positive) = (self.masses[0][j], self.masses[1][j]);
            if negative != 0.0 || positive != 0.0 {
                let density = kernel.density((node - j as f64) * self.spacing);
                negatives.add(negative * density);
                positives.add(positive * density);
            }
        }
        // Masses between a point's neighbours and the next have either sign.
        let (negatives, positives) = (negatives.value().max(0.0), positives.value().max(0.0));
        Masses { positives, total: negatives + positives }
    }
}

#[cfg(test)]
mod tests {
    use super::super::regression::Regression;
    use super::*;
    use crate::link::Logistic;
    use crate::noise::{Gaussian, Laplace};

    #[test]
    fn masses_from_nodes_are_those_from_points_within_the_bound() {
        // Crowded in the middle, ties, and a few far away; weights of several sizes, 0 among them.
        let logit = |k: u32| match k % 10 {
            0 => f64::from(k * k % 997) / 30.0 - 16.0,
            1 => 0.25,
            _ => (f64::from(k * k % 9973) / 9973.0 - 0.5).powi(3) * 20.0,
        };
        let logits: Vec<f64> = (0..20_000).map(logit).collect();
        let outcomes = (0..20_000).map(|k| k % 3 == 0).collect();
        let weights = (0..20_000).map(|k| f64::from(k % 5)).collect();
        let points = Points::from_atoms(logits, outcomes, weights, 0.0, 0.0);
        for sigma in [0.002, 0.05, 1.0, 30.0] {
            let kernel = Kernel { noise: &Gaussian, link: &Logistic, sigma };
            let nodes = Nodes::new(&points, &kernel).unwrap();
            let regression = Regression::new(&points, kernel);
            let lost = nodes.lost(&kernel) + regression.neglected;
            assert!(lost < 1e-10 * kernel.density(0.0), "{sigma}: {lost}");
            for k in -300..300 {
                let u = f64::from(k) / 15.0;
                let (found, expected) = (nodes.at(&kernel, u), regression.at(u));
                assert!((found.total - expected.total).abs() <= lost, "{sigma} {u}");
                assert!((found.positives - expected.positives).abs() <= lost, "{sigma} {u}");
            }
        }
    }

    #[test]
    fn noise_with_a_kink_and_logits_that_span_too_many_sigmas_have_no_nodes() {
        let points = Points::from_atoms(vec![-9.0, 9.0], vec![false, true], vec![1.0; 2], 0.0, 0.0);
        assert!(Nodes::new(&points, &Kernel { noise: &Laplace, link: &Logistic, sigma: 1.0 }).is_none());
        assert!(Nodes::new(&points, &Kernel { noise: &Gaussian, link: &Logistic, sigma: 1e-4 }).is_none());
    }
}
