//! Influence values: how each row influences an integral of weights times G.

use super::super::Integrand;
use super::super::points::Points;
use super::grid::{Cell, Grid};
use super::nodes::Masses;
use crate::link::Link;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::parallel;

/// By how much rows of each outcome at a logit move ∫ f G, at every node: f being the sign of G, or
/// weights like it.
///
/// A row of outcome y at h moves it by ∫ f(u) (y - ρ(u)) K(u - h) du, and in the residual form by
/// (y - p) ∫ f(u) K(u - h) du.
pub(super) struct Slopes {
    /// ∫ f (1 - ρ) K(u - h) du and ∫ f ρ K(u - h) du, or in the residual form ∫ f K(u - h) du
    /// alone.
    of_outcome: [Masses; 2],
    /// The mean over the rows.
    mean: f64,
}

impl Slopes {
    /// From the integrals of f times the hat functions of the nodes.
    pub(super) fn new(grid: &Grid, integrals: &[f64]) -> Self {
        let nodes = &grid.nodes;
        let slope = |factors: &[f64]| {
            let integrals: Vec<f64> = integrals.iter().zip(factors).map(|(value, factor)| value * factor).collect();
            nodes.correlate(&integrals)
        };
        let of_outcome = match grid.integrand {
            Integrand::Paper => [slope(&nodes.responses), slope(&nodes.complements)],
            Integrand::Residual => [nodes.no_masses(), nodes.correlate(integrals)],
        };
        let mut slopes = Slopes { of_outcome, mean: 0.0 };
        slopes.mean = slopes.moment(grid, 1);
        slopes
    }

    /// For weights f at the nodes.
    pub(super) fn of_weights(grid: &Grid, weights: &[f64]) -> Self {
        let integrals: Vec<f64> = weights.iter().map(|weight| weight * grid.nodes.spacing()).collect();
        Self::new(grid, &integrals)
    }

    /// The mean influence of the rows of a cell with one outcome, of which there are some.
    pub(super) fn of_cell(&self, grid: &Grid, cell: usize, outcome: usize) -> f64 {
        let cell = &grid.cells[cell];
        let weight = cell.sums.weight[outcome];
        let at =
            |slope: &Masses, masses: &[f64]| grid.nodes.interpolate(slope, cell.first, &masses[..grid.order], weight);
        let influence = match (grid.integrand, outcome) {
            (Integrand::Residual, _) => at(&self.of_outcome[1], &cell.sums.residual_masses[outcome]),
            (Integrand::Paper, 1) => at(&self.of_outcome[1], &cell.sums.masses[1]),
            (Integrand::Paper, _) => -at(&self.of_outcome[0], &cell.sums.masses[0]),
        };
        influence - self.mean
    }

    /// The influence of each point; 0 for those without weight.
    pub(super) fn of_points(&self, grid: &Grid, points: &Points, link: &dyn Link) -> Vec<f64> {
        let [influences] = Self::all_of_points([self], grid, points, link);
        influences
    }

    /// The influences of each point on several integrals: where it is on the grid is found once.
    pub(super) fn all_of_points<const N: usize>(
        all: [&Slopes; N],
        grid: &Grid,
        points: &Points,
        link: &dyn Link,
    ) -> [Vec<f64>; N] {
        let lagrange = Lagrange::new(grid.order);
        let influence = |index: usize| {
            if points.weight(index) == 0.0 {
                return [0.0; N];
            }
            let (cell, weights) = grid.place(&lagrange, points.logits[index]);
            let first = grid.cells[cell].first;
            let at = |slope: &Masses| grid.nodes.interpolate(slope, first, &weights[..grid.order], 1.0);
            let residual = match (grid.integrand, points.outcomes[index]) {
                (Integrand::Paper, true) => 1.0,
                (Integrand::Paper, false) => -1.0,
                (Integrand::Residual, true) => link.complement(points.logits[index]),
                (Integrand::Residual, false) => -link.response(points.logits[index]),
            };
            let side = usize::from(grid.integrand == Integrand::Residual || points.outcomes[index]);
            all.map(|slopes| at(&slopes.of_outcome[side]) * residual - slopes.mean)
        };
        let of_chunk = |range: std::ops::Range<usize>| {
            let mut influences = [(); N].map(|()| Vec::with_capacity(range.len()));
            for index in range {
                influences.iter_mut().zip(influence(index)).for_each(|(all, influence)| all.push(influence));
            }
            influences
        };
        let chunks = parallel::map_chunks(points.len(), parallel::CHUNK, of_chunk);
        std::array::from_fn(|k| chunks.iter().flat_map(|chunk| &chunk[k]).copied().collect())
    }

    /// Σ (s IF)^power over the rows; those of a panel and outcome are taken to be alike.
    pub(super) fn moment(&self, grid: &Grid, power: i32) -> f64 {
        let of_cell = |(place, cell): (usize, &Cell)| -> f64 {
            let of_outcome = |outcome: usize| {
                let (weight, squares) = (cell.sums.weight[outcome], cell.sums.squares[outcome]);
                if weight == 0.0 {
                    return 0.0;
                }
                // Σ w, Σ w² or Σ w³, the last as if all weights of the panel were alike.
                let weights = match power {
                    1 => weight,
                    2 => squares,
                    _ => squares * squares / weight,
                };
                weights / grid.total_weight.powi(power) * self.of_cell(grid, place, outcome).powi(power)
            };
            of_outcome(0) + of_outcome(1)
        };
        grid.cells.iter().enumerate().map(of_cell).sum()
    }

    /// The variance of ∫ f G if every outcome were drawn from its prediction:
    /// Σ s² p (1 - p) (∫ f K(u - h) du)².
    pub(super) fn null_variance(&self, grid: &Grid) -> f64 {
        let of_cell = |cell: &Cell| {
            if !(cell.sums.variance > 0.0) {
                return 0.0;
            }
            let masses = &cell.sums.variance_masses[..grid.order];
            let at = |slope: &Masses| grid.nodes.interpolate(slope, cell.first, masses, cell.sums.variance);
            // ∫ f (1 - ρ) K and ∫ f ρ K are ∫ f K together.
            let influence: f64 = self.of_outcome.iter().map(at).sum();
            cell.sums.variance * influence * influence
        };
        grid.cells.iter().map(of_cell).sum::<f64>() / (grid.total_weight * grid.total_weight)
    }
}
