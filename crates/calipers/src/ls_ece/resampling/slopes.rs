//! Influence values: how each row pulls at the measure.

use super::super::points::Points;
use super::grid::Grid;
use super::nodes::Masses;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::parallel;

/// Where rows of each outcome push the measure, at every node: ∫ f (1 - ρ) K(u - h) du and ∫ f ρ K(u - h) du, f being the sign of G.
pub(super) struct Slopes {
    positive: Masses,
    negative: Masses,
    /// The mean over the rows.
    mean: f64,
}

impl Slopes {
    /// From the integrals of f times the hat functions of the nodes.
    pub(super) fn new(grid: &Grid, integrals: &[f64]) -> Self {
        let slope = |factors: &[f64]| {
            let integrals: Vec<f64> = integrals.iter().zip(factors).map(|(value, factor)| value * factor).collect();
            grid.nodes.correlate(&integrals)
        };
        let nodes = &grid.nodes;
        let mut slopes = Slopes { positive: slope(&nodes.complements), negative: slope(&nodes.responses), mean: 0.0 };
        slopes.mean = slopes.moment(grid, 1);
        slopes
    }

    /// The influence of a row between the nodes from `first` on.
    fn at(&self, grid: &Grid, first: usize, outcome: bool, weights: &[f64], total: f64) -> f64 {
        let slope = match outcome {
            true => grid.nodes.interpolate(&self.positive, first, weights, total),
            false => -grid.nodes.interpolate(&self.negative, first, weights, total),
        };
        slope - self.mean
    }

    /// The mean influence of the rows of a cell with one outcome, of which there are some.
    pub(super) fn of_cell(&self, grid: &Grid, cell: usize, outcome: usize) -> f64 {
        let cell = &grid.cells[cell];
        let (masses, weight) = (&cell.sums.masses[outcome][..grid.order], cell.sums.weight[outcome]);
        self.at(grid, cell.first, outcome == 1, masses, weight)
    }

    /// The influence of each point; 0 for those without weight.
    pub(super) fn of_points(&self, grid: &Grid, points: &Points) -> Vec<f64> {
        let lagrange = Lagrange::new(grid.order);
        let influence = |index: usize| {
            if points.weight(index) == 0.0 {
                return 0.0;
            }
            let (cell, weights) = grid.place(&lagrange, points.logits[index]);
            self.at(grid, grid.cells[cell].first, points.outcomes[index], &weights[..grid.order], 1.0)
        };
        let of_chunk = |range: std::ops::Range<usize>| range.map(influence).collect::<Vec<f64>>();
        parallel::map_chunks(points.len(), parallel::CHUNK, of_chunk).concat()
    }

    /// Σ (s IF)^power over the rows; those of a panel and outcome are taken to be alike.
    pub(super) fn moment(&self, grid: &Grid, power: i32) -> f64 {
        let of_cell = |(place, cell): (usize, &super::grid::Cell)| -> f64 {
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
}

/// Σ l³ / 6 (Σ l²)^(3/2).
pub(super) fn acceleration(squares: f64, cubes: f64) -> f64 {
    // A variance that is rounding alone has no skewness.
    if squares > 1e-30 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
