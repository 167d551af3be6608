//! Resamples of independent rows.

use super::super::points::Points;
use super::bracket::Influences;
use super::grid::{Cell, Grid, Noise};
use super::panels::Panel;
use super::patches::Patches;
use super::resampler::{Draws, Moments};
use super::slopes::Slopes;
use super::tilted::Tilted;
use crate::inference::RareDraws;
use crate::link::Link;
use crate::numerics::counts::{Count, Share};
use crate::numerics::lagrange::Lagrange;
use crate::numerics::random::Normals;

/// Draws of independent rows: the laws of each cell of the grid.
///
/// Rows of one cell are drawn as one number of equal rows. If weights are unequal, a heavy row is
/// drawn by itself: when its outcome is rare, no number of equal rows shows how far it moves the
/// value.
pub(super) struct RowDraws {
    laws: Vec<Laws>,
    /// Rows that are drawn by themselves, in the order of their cells.
    singles: Vec<Single>,
    drawn: Vec<Drawn>,
    /// Where most cells have the same share in most draws.
    patches: Option<Patches>,
}

/// Weighted rows up to which each is drawn by itself.
const FEW: usize = 1 << 13;

/// Of more rows, those with more than this share of the variance of their cell.
const HEAVY: f64 = 0.02;

/// A row that is drawn by itself.
struct Single {
    cell: usize,
    weight: f64,
    p: f64,
    complement: f64,
    outcome: bool,
}

impl Single {
    fn surplus(&self, outcome: bool) -> f64 {
        self.weight * if outcome { self.complement } else { -self.p }
    }
}

/// Sums of the rows of a cell that are drawn together.
#[derive(Debug, Clone, Copy, Default)]
struct Together {
    /// Σ w by outcome.
    weight: [f64; 2],
    /// Σ w².
    squares: f64,
    /// Σ w p and Σ w (1 - p).
    expected: [f64; 2],
    /// Σ w² p (1 - p).
    variance: f64,
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
        let Panel { weight, squares: [of_0, of_1], expected, variance, .. } = cell.sums;
        Self::of(&Together { weight, squares: of_0 + of_1, expected, variance })
    }

    fn of(sums: &Together) -> Self {
        let weight = sums.weight[0] + sums.weight[1];
        if weight == 0.0 {
            let nothing = Share::new(1.0, 0.0, 1.0);
            return Laws { outcomes: nothing, outcomes_mean: 0.0, outcomes_unit: 0.0, outcomes_seen: 0.0 };
        }
        let effective_rows = weight * weight / sums.squares;
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
    /// Of cells, where the weights of rows are not known.
    pub(super) fn new(grid: &Grid) -> Self {
        let laws: Vec<Laws> = grid.cells.iter().map(Laws::new).collect();
        let drawn = grid.cells.iter().map(Drawn::new).collect();
        RowDraws { patches: Patches::new(grid, &laws), laws, singles: Vec::new(), drawn }
    }

    /// Of the rows that the grid is of.
    pub(super) fn of_points(grid: &Grid, points: &Points, link: &dyn Link) -> Self {
        let mut weights = points.weights.iter().flatten().filter(|weight| **weight > 0.0);
        let first = weights.next();
        if weights.all(|weight| Some(weight) == first) {
            return Self::new(grid);
        }
        let lagrange = Lagrange::new(grid.order);
        let least = if points.len() <= FEW { 0.0 } else { HEAVY };
        let mut together = vec![Together::default(); grid.cells.len()];
        let mut singles = Vec::new();
        for index in (0..points.len()).filter(|index| points.weight(*index) > 0.0) {
            let (weight, outcome, logit) = (points.weight(index), points.outcomes[index], points.logits[index]);
            let (cell, _) = grid.place(&lagrange, logit);
            let (p, complement) = link.both(logit);
            let variance = weight * weight * p * complement;
            if variance > least * grid.cells[cell].sums.variance {
                singles.push(Single { cell, weight, p, complement, outcome });
                continue;
            }
            let sums = &mut together[cell];
            sums.weight[usize::from(outcome)] += weight;
            sums.squares += weight * weight;
            sums.expected[0] += weight * p;
            sums.expected[1] += weight * complement;
            sums.variance += variance;
        }
        singles.sort_by_key(|single| single.cell);
        let drawn = grid.cells.iter().map(Drawn::new).collect();
        RowDraws { laws: together.iter().map(Laws::of).collect(), singles, drawn, patches: None }
    }

    /// Adds to each cell what its single rows have.
    fn with_singles(&self, surpluses: impl Iterator<Item = f64>, mut outcome: impl FnMut(&Single) -> bool) -> Vec<f64> {
        let mut surpluses: Vec<f64> = surpluses.collect();
        for single in &self.singles {
            surpluses[single.cell] += single.surplus(outcome(single));
        }
        surpluses
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
        let surpluses = self.laws.iter().map(|laws| laws.surplus(laws.outcomes_seen));
        self.with_singles(surpluses, |single| single.outcome).into_iter()
    }

    /// The same for drawn outcomes.
    pub(super) fn drawn_surpluses(&self, random: &mut Normals) -> impl Iterator<Item = f64> {
        let surpluses: Vec<f64> = self.laws.iter().map(|laws| laws.surplus(laws.outcomes.draw(random))).collect();
        self.with_singles(surpluses.into_iter(), |single| random.uniform() < single.p).into_iter()
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
        if !self.singles.is_empty() {
            return None;
        }
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
