//! Resamples of independent rows.

use super::bracket::Influences;
use super::grid::{Cell, Grid, Noise};
use super::patches::Patches;
use super::resampler::{Draws, Moments};
use super::slopes::Slopes;
use super::tilted::Tilted;
use crate::inference::RareDraws;
use crate::numerics::counts::{Count, Share};
use crate::numerics::random::Normals;

/// Draws of independent rows: the laws of each cell of the grid.
pub(super) struct RowDraws {
    laws: Vec<Laws>,
    drawn: Vec<Drawn>,
    /// Where most cells have the same share in most draws.
    patches: Option<Patches>,
}

/// The law of a cell's outcomes.
pub(super) struct Laws {
    /// The share of outcomes 1, and its mean.
    pub(super) outcomes: Share,
    outcomes_mean: f64,
    /// What a unit of that share is as a sum of w (y - p).
    pub(super) outcomes_unit: f64,
    /// The share that the rows have.
    pub(super) outcomes_seen: f64,
}

/// How often rows of each outcome of a cell are drawn, and how many there are.
struct Drawn {
    counts: [Count; 2],
    effective: [f64; 2],
}

impl Laws {
    pub(super) fn new(cell: &Cell) -> Self {
        let sums = &cell.sums;
        let weight = sums.weight[0] + sums.weight[1];
        let effective_rows = weight * weight / (sums.squares[0] + sums.squares[1]);
        let (p, complement) = (sums.expected[0] / weight, sums.expected[1] / weight);
        let of_share = p * complement / effective_rows;
        let scale = if of_share > 0.0 { (sums.variance / of_share).sqrt() } else { 0.0 };
        Laws {
            outcomes: Share::new(effective_rows, p, complement),
            outcomes_mean: p,
            outcomes_unit: scale,
            // Exactly 1 where all outcomes are, as in a draw: the rows would be above such draws
            // otherwise.
            outcomes_seen: sums.weight[1] / weight,
        }
    }

    pub(super) fn surplus(&self, share: f64) -> f64 {
        (share - self.outcomes_mean) * self.outcomes_unit
    }
}

impl Drawn {
    fn new(cell: &Cell) -> Self {
        let sums = &cell.sums;
        let effective = [0, 1].map(|outcome| match sums.squares[outcome] {
            0.0 => 0.0,
            squares => sums.weight[outcome] * sums.weight[outcome] / squares,
        });
        Drawn { counts: effective.map(Count::poisson), effective }
    }
}

/// Influence values of independent rows.
pub(super) struct OfRows;

impl Influences for OfRows {
    fn variance(&self, grid: &Grid, slopes: &Slopes) -> f64 {
        slopes.moment(grid, 2)
    }
}

impl RowDraws {
    pub(super) fn new(grid: &Grid) -> Self {
        let laws: Vec<Laws> = grid.cells.iter().map(Laws::new).collect();
        let drawn = grid.cells.iter().map(Drawn::new).collect();
        RowDraws { patches: Patches::new(grid, &laws), laws, drawn }
    }

    /// ∫ |G| with the surpluses of some cells changed by so much from their usual ones.
    fn value_of_changes(&self, grid: &Grid, changes: impl Iterator<Item = (usize, f64)>) -> f64 {
        if let Some(patches) = &self.patches {
            return patches.value(grid, changes);
        }
        let usual = self.laws.iter().map(|laws| laws.surplus(laws.outcomes.usual().0));
        let mut surpluses: Vec<f64> = usual.collect();
        changes.for_each(|(cell, change)| surpluses[cell] += change);
        grid.value_of_surpluses(surpluses.into_iter())
    }

    /// Σ w (y - p) of each cell, as the rows have it.
    pub(super) fn seen_surpluses(&self) -> impl Iterator<Item = f64> {
        self.laws.iter().map(|laws| laws.surplus(laws.outcomes_seen))
    }

    /// The same for drawn outcomes.
    pub(super) fn drawn_surpluses(&self, random: &mut Normals) -> impl Iterator<Item = f64> {
        self.laws.iter().map(|laws| laws.surplus(laws.outcomes.draw(random)))
    }

    /// How often rows of a cell and outcome are drawn, over how often they are there.
    pub(super) fn drawn_factor(&self, cell: usize, outcome: usize, random: &mut Normals) -> f64 {
        let drawn = &self.drawn[cell];
        drawn.counts[outcome].draw(random) / drawn.effective[outcome]
    }
}

impl Draws for RowDraws {
    fn noise(&self, grid: &Grid) -> Noise {
        grid.noise()
    }

    fn influences(&self) -> impl Influences {
        OfRows
    }

    fn moments(&self, grid: &Grid, slopes: &Slopes) -> Moments {
        let squares = slopes.moment(grid, 2);
        Moments { deviation: squares.sqrt(), squares, cubes: slopes.moment(grid, 3) }
    }

    fn squared_differences(&self, grid: &Grid) -> f64 {
        1.0 / grid.effective_rows()
    }

    fn largest_difference(&self, grid: &Grid) -> f64 {
        grid.cells.iter().map(|cell| cell.sums.largest).fold(0.0, f64::max) / grid.total_weight
    }

    fn calibrated_value(&self, grid: &Grid) -> f64 {
        match &self.patches {
            Some(patches) => {
                let change = |laws: &Laws| (laws.outcomes_seen - laws.outcomes.usual().0) * laws.outcomes_unit;
                patches.value(grid, self.laws.iter().map(change).enumerate())
            }
            None => grid.value_of_surpluses(self.seen_surpluses()),
        }
    }

    fn calibrated_draw(&self, grid: &Grid, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        match &self.patches {
            Some(patches) => patches.draw(grid, &mut random),
            None => grid.value_of_surpluses(self.drawn_surpluses(&mut random)),
        }
    }

    fn calibrated_pair(&self, grid: &Grid, draw: u64) -> Option<(f64, f64)> {
        let surpluses = || self.drawn_surpluses(&mut Normals::new(draw)).collect::<Vec<f64>>();
        self.patches.is_none().then(|| grid.values_of_surpluses(surpluses().into_iter()))
    }

    fn rare_draws<'a>(&'a self, grid: &'a Grid, level: f64) -> Option<RareDraws<'a>> {
        let tilted = Tilted::new(grid, &self.laws, level)?;
        let weight = tilted.weight_of_rows(&self.laws);
        let draw = move |draw: u64| {
            let (changes, weight) = tilted.draw(draw);
            (self.value_of_changes(grid, changes.into_iter()), weight)
        };
        Some(RareDraws { weight, draw: Box::new(draw) })
    }

    fn bootstrap_draw(&self, grid: &Grid, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        loop {
            let mut total = 0.0;
            let gaps = grid.gaps(|cell, outcome| {
                let factor = self.drawn_factor(cell, outcome, &mut random);
                total += factor * grid.cells[cell].sums.weight[outcome];
                factor
            });
            // No row at all, as happens to a single one, is no resample.
            if total > 0.0 {
                return grid.nodes.integrate(&gaps) / total;
            }
        }
    }
}
