//! Resamples of independent rows.

use super::bracket::{self, Influences};
use super::grid::{Cell, Grid};
use super::slopes::{Slopes, acceleration};
use crate::inference::{Bracket, Enclosure, PartBrackets, Resampler};
use crate::numerics::counts::{Count, Share};
use crate::numerics::random::Normals;

/// LS-ECE, or its residual form, of resampled rows.
pub(super) struct GridResampler {
    grid: Grid,
    /// For each cell of the grid.
    laws: Vec<Laws>,
    enclosure: Enclosure,
    bracket: Bracket,
    calibrated_value: f64,
    influence_deviation: f64,
    acceleration: f64,
}

/// The laws of a cell's resamples.
struct Laws {
    /// The share of outcomes 1, and its mean.
    outcomes: Share,
    outcomes_mean: f64,
    /// What a unit of that share is as a sum of w (y - p).
    outcomes_unit: f64,
    /// The share that the rows have.
    outcomes_seen: f64,
    /// How often rows of each outcome are drawn, and how many there are.
    draws: [Count; 2],
    effective: [f64; 2],
}

impl Laws {
    fn new(cell: &Cell) -> Self {
        let sums = &cell.sums;
        let weight = sums.weight[0] + sums.weight[1];
        let effective_rows = weight * weight / (sums.squares[0] + sums.squares[1]);
        let (p, complement) = (sums.expected[0] / weight, sums.expected[1] / weight);
        let of_share = p * complement / effective_rows;
        let scale = if of_share > 0.0 { (sums.variance / of_share).sqrt() } else { 0.0 };
        let effective = [0, 1].map(|outcome| match sums.squares[outcome] {
            0.0 => 0.0,
            squares => sums.weight[outcome] * sums.weight[outcome] / squares,
        });
        Laws {
            outcomes: Share::new(effective_rows, p, complement),
            outcomes_mean: p,
            outcomes_unit: scale,
            // Exactly 1 where all outcomes are, as in a draw: the rows would be above such draws
            // otherwise.
            outcomes_seen: sums.weight[1] / weight,
            draws: effective.map(Count::poisson),
            effective,
        }
    }

    fn surplus(&self, share: f64) -> f64 {
        (share - self.outcomes_mean) * self.outcomes_unit
    }
}

/// Influence values of independent rows.
pub(super) struct OfRows;

impl Influences for OfRows {
    fn variance(&self, grid: &Grid, slopes: &Slopes) -> f64 {
        slopes.moment(grid, 2)
    }
}

impl GridResampler {
    pub(super) fn new(grid: Grid) -> Self {
        let slopes = Slopes::new(&grid, &grid.nodes.signs(&grid.residuals));
        let enclosure = grid.enclose(&grid.noise());
        let variance = slopes.moment(&grid, 2);
        let laws: Vec<Laws> = grid.cells.iter().map(Laws::new).collect();
        GridResampler {
            calibrated_value: grid.value_of_surpluses(laws.iter().map(|laws| laws.surplus(laws.outcomes_seen))),
            laws,
            bracket: bracket::of_enclosure(&grid, &enclosure, &OfRows),
            enclosure,
            influence_deviation: variance.sqrt(),
            acceleration: acceleration(variance, slopes.moment(&grid, 3)),
            grid,
        }
    }
}

impl Resampler for GridResampler {
    fn value(&self) -> f64 {
        self.grid.value
    }

    fn calibrated_value(&self) -> f64 {
        self.calibrated_value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        self.grid.value_of_surpluses(self.laws.iter().map(|laws| laws.surplus(laws.outcomes.draw(&mut random))))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let (grid, mut random) = (&self.grid, Normals::new(draw));
        loop {
            let mut total = 0.0;
            let gaps = grid.gaps(|cell, outcome| {
                let laws = &self.laws[cell];
                let factor = laws.draws[outcome].draw(&mut random) / laws.effective[outcome];
                total += factor * grid.cells[cell].sums.weight[outcome];
                factor
            });
            // No row at all, as happens to a single one, is no resample.
            if total > 0.0 {
                return grid.nodes.integrate(&gaps) / total;
            }
        }
    }

    fn influence_deviation(&self) -> Option<f64> {
        Some(self.influence_deviation)
    }

    fn bracket(&self) -> Option<Bracket> {
        Some(self.bracket)
    }

    fn parts(&self) -> Option<PartBrackets> {
        bracket::parts(&self.grid, &self.enclosure, &OfRows)
    }

    fn smoothing_alone(&self) -> Option<f64> {
        Some(self.grid.nodes.integrate(&self.grid.expected))
    }

    fn squared_differences(&self) -> Option<f64> {
        Some(1.0 / self.grid.effective_rows())
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
