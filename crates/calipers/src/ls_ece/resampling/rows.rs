//! Resamples of independent rows.

use super::grid::{Cell, Grid};
use super::slopes::{Slopes, acceleration};
use crate::numerics::counts::Count;
use crate::numerics::random::Normals;
use crate::significance::Resampler;

/// A variance below which no outcome is ever drawn to be other than it is.
const SURE: f64 = 1e-200;

/// LS-ECE of resampled rows.
pub(super) struct GridResampler {
    grid: Grid,
    /// For each cell of the grid.
    laws: Vec<Laws>,
    influence_deviation: f64,
    corrected_deviation: f64,
    acceleration: f64,
}

/// The laws of a cell's resamples.
struct Laws {
    outcomes: Count,
    /// The mean of `outcomes`, and what a unit of it is in terms of [`Panel::variance_masses`](super::panels::Panel::variance_masses).
    outcomes_mean: f64,
    outcomes_unit: f64,
    /// How often rows of each outcome are drawn, and how many there are.
    draws: [Count; 2],
    effective: [f64; 2],
}

impl Laws {
    fn new(cell: &Cell) -> Self {
        let sums = &cell.sums;
        let weight = sums.weight[0] + sums.weight[1];
        let effective_rows = (weight * weight / (sums.squares[0] + sums.squares[1])).round().max(1.0);
        let (p, complement) = (sums.expected[0] / weight, sums.expected[1] / weight);
        let binomial_variance = effective_rows * p * complement;
        let scale = if binomial_variance > 0.0 { (sums.variance / binomial_variance).sqrt() } else { 0.0 };
        let effective = [0, 1].map(|outcome| match sums.squares[outcome] {
            0.0 => 0.0,
            squares => sums.weight[outcome] * sums.weight[outcome] / squares,
        });
        Laws {
            outcomes: Count::binomial(effective_rows, p, complement),
            outcomes_mean: effective_rows * p,
            // Rows whose raw scores are so far out that their outcome is as good as sure: by less, the quotient would be infinite.
            outcomes_unit: if sums.variance > SURE { scale / sums.variance } else { 0.0 },
            draws: effective.map(Count::poisson),
            effective,
        }
    }
}

impl GridResampler {
    pub(super) fn new(grid: Grid) -> Self {
        let slopes = Slopes::new(&grid, &grid.nodes.signs(&grid.residuals));
        let corrected = Slopes::new(&grid, &grid.corrected_signs(&grid.deviations()));
        let variance = slopes.moment(&grid, 2);
        GridResampler {
            laws: grid.cells.iter().map(Laws::new).collect(),
            influence_deviation: variance.sqrt(),
            corrected_deviation: corrected.moment(&grid, 2).sqrt(),
            acceleration: acceleration(variance, slopes.moment(&grid, 3)),
            grid,
        }
    }

    fn cells(&self) -> impl Iterator<Item = (&Cell, &Laws)> {
        self.grid.cells.iter().zip(&self.laws)
    }
}

impl Resampler for GridResampler {
    fn value(&self) -> f64 {
        self.grid.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let (grid, mut random) = (&self.grid, Normals::new(draw));
        let mut masses = grid.nodes.no_masses();
        for (cell, laws) in self.cells() {
            let surplus = laws.outcomes.draw(&mut random) - laws.outcomes_mean;
            let factor = surplus * laws.outcomes_unit / grid.total_weight;
            masses.add(cell.first, factor, &cell.sums.variance_masses[..grid.order]);
        }
        let mut residuals = grid.nodes.smooth(&masses);
        residuals.iter_mut().zip(&grid.expected).for_each(|(residual, expected)| *residual += expected);
        grid.nodes.integrate(&residuals)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let (grid, mut random) = (&self.grid, Normals::new(draw));
        let (mut positives, mut all) = (grid.nodes.no_masses(), grid.nodes.no_masses());
        let mut total = 0.0;
        // No row at all, as happens to a single one, is no resample.
        while total == 0.0 {
            for (cell, laws) in self.cells() {
                for outcome in [0, 1] {
                    if laws.effective[outcome] == 0.0 {
                        continue;
                    }
                    let factor = laws.draws[outcome].draw(&mut random) / laws.effective[outcome];
                    let masses = &cell.sums.masses[outcome][..grid.order];
                    all.add(cell.first, factor, masses);
                    if outcome == 1 {
                        positives.add(cell.first, factor, masses);
                    }
                    total += factor * cell.sums.weight[outcome];
                }
            }
        }
        grid.nodes.integrate(&grid.residuals_of(&positives, &all)) / total
    }

    fn influence_deviation(&self) -> Option<f64> {
        Some(self.influence_deviation)
    }

    fn corrected_deviation(&self) -> Option<f64> {
        Some(self.corrected_deviation)
    }

    fn acceleration(&self) -> Option<f64> {
        Some(self.acceleration)
    }

    fn effective_rows(&self) -> f64 {
        self.grid.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}
