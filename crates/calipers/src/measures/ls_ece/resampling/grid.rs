//! Rows on a grid: the sums of their panels, and the integrand at every node.

use super::super::points::Points;
use super::super::{Integrand, Kernel};
use super::nodes::{Masses, Nodes};
use super::panels::{Origin, Panel, panels};
use super::spacing::{MAX_ORDER, Spacing};
use crate::inference::{Enclosure, Likeness, Places};
use crate::numerics::lagrange::Lagrange;

/// Nodes beyond which rows are resampled one by one.
const MAX_NODES: usize = 1 << 22;

/// The length of a block of the bracket, in lengths over which the noise is alike: 8 sigma for
/// Gaussian noise. Chosen by simulation.
const BLOCK: f64 = 2.26;

/// What all resamplers of LS-ECE and its residual form have in common. G is the integrand of
/// either.
pub(super) struct Grid {
    pub(super) integrand: Integrand,
    pub(super) nodes: Nodes,
    pub(super) cells: Vec<Cell>,
    /// What a surplus of each cell is spread as: apart from the cells, since every draw reads it.
    spreads: Vec<Spread>,
    /// Nodes that a cell's sums are for.
    pub(super) order: usize,
    /// What the panel of a logit is found by.
    spacing: f64,
    /// The first panel, and the cell of each from there on; `None` where most would be empty.
    near: Option<(i64, Vec<u32>)>,
    likeness: Likeness,
    pub(super) total_weight: f64,
    /// G at every node.
    pub(super) residuals: Vec<f64>,
    /// G, had every row the outcome that its prediction expects: 0 in the residual form.
    pub(super) expected: Vec<f64>,
    /// ∫ |G|.
    pub(super) value: f64,
}

/// The standard deviation of G at every node.
pub(super) struct Noise {
    /// As the outcomes show it.
    pub(super) shown: Vec<f64>,
    /// As it would be were predictions the truth.
    pub(super) null: Vec<f64>,
}

/// An occupied panel.
pub(super) struct Cell {
    panel: i64,
    /// The place of its first node.
    pub(super) first: usize,
    pub(super) sums: Panel,
}

/// Where a surplus of 1 of a cell goes, as outcomes vary in it.
struct Spread {
    first: usize,
    masses: [f64; MAX_ORDER],
}

impl Grid {
    /// From points that are near enough for one stretch of nodes or a few. `None` where the grid
    /// would be too large, or the noise is not smooth enough for one.
    pub(super) fn new(points: &Points, origin: Origin<'_>, kernel: &Kernel<'_>, integrand: Integrand) -> Option<Self> {
        let spacing = Spacing::new(kernel)?;
        let panels = panels(points, origin, kernel, &spacing)?;
        let numbers: Vec<i64> = panels.keys().copied().collect();
        let (order, distance, likeness) = (spacing.order, spacing.spacing, spacing.likeness(kernel));
        let (nodes, places) = Nodes::new(&numbers, spacing, kernel, MAX_NODES)?;
        let cells: Vec<Cell> =
            panels.into_iter().zip(places).map(|((panel, sums), first)| Cell { panel, first, sums }).collect();
        let total_weight: f64 = cells.iter().map(|cell| cell.sums.weight[0] + cell.sums.weight[1]).sum();
        let near = near(&cells);
        let spreads = cells.iter().map(|cell| cell.spread(total_weight)).collect();
        let mut grid = Grid {
            integrand,
            expected: Vec::new(),
            residuals: Vec::new(),
            value: 0.0,
            nodes,
            cells,
            spreads,
            order,
            spacing: distance,
            near,
            likeness,
            total_weight,
        };
        let share = 1.0 / total_weight;
        grid.residuals = grid.gaps(|_, _| share);
        grid.expected = match integrand {
            Integrand::Residual => vec![0.0; grid.residuals.len()],
            Integrand::Paper => grid.expected_gaps(),
        };
        grid.value = grid.nodes.integrate(&grid.residuals);
        Some(grid)
    }

    /// G of the paper's form with every outcome as its prediction expects.
    fn expected_gaps(&self) -> Vec<f64> {
        let (mut expected, mut all) = (self.nodes.no_masses(), self.nodes.no_masses());
        let share = 1.0 / self.total_weight;
        for cell in &self.cells {
            expected.add(cell.first, share, &cell.sums.expected_masses[..self.order]);
            [0, 1].iter().for_each(|y| all.add(cell.first, share, &cell.sums.masses[*y][..self.order]));
        }
        minus_expected(self.nodes.smooth(&expected), &self.nodes.smooth(&all), &self.nodes.responses)
    }

    /// (Σw)² / Σw².
    pub(super) fn effective_rows(&self) -> f64 {
        let squares: f64 = self.cells.iter().map(|cell| cell.sums.squares[0] + cell.sums.squares[1]).sum();
        self.total_weight * self.total_weight / squares
    }

    /// The cell that a logit is in, and the weights of its nodes there. The logit is that of a
    /// point with weight.
    pub(super) fn place(&self, lagrange: &Lagrange, logit: f64) -> (usize, [f64; MAX_ORDER]) {
        let position = logit / self.spacing;
        let panel = position.floor() as i64;
        // proof: every point with weight is in a panel, and cells are all of those in ascending
        // order
        let cell = match &self.near {
            Some((first, cells)) => cells.get((panel - first) as usize).map_or(0, |cell| *cell as usize),
            None => self.cells.partition_point(|cell| cell.panel < panel).min(self.cells.len() - 1),
        };
        let weights = lagrange.weights_at(position - position.floor());
        let mut of_nodes = [0.0; MAX_ORDER];
        of_nodes[..self.order].copy_from_slice(&weights[..self.order]);
        (cell, of_nodes)
    }

    /// G with the rows of each cell and outcome counted `factor` times; cells in order, outcome 0
    /// before 1.
    pub(super) fn gaps(&self, mut factor: impl FnMut(usize, usize) -> f64) -> Vec<f64> {
        let (mut first, mut all) = (self.nodes.no_masses(), self.nodes.no_masses());
        for (place, cell) in self.cells.iter().enumerate() {
            for outcome in [0, 1] {
                if cell.sums.weight[outcome] == 0.0 {
                    continue;
                }
                let factor = factor(place, outcome);
                if factor == 0.0 {
                    continue;
                }
                let masses = &cell.sums.masses[outcome][..self.order];
                match self.integrand {
                    Integrand::Residual => {
                        first.add(cell.first, factor, &cell.sums.residual_masses[outcome][..self.order]);
                    }
                    Integrand::Paper => {
                        all.add(cell.first, factor, masses);
                        if outcome == 1 {
                            first.add(cell.first, factor, masses);
                        }
                    }
                }
            }
        }
        let first = self.nodes.smooth(&first);
        match self.integrand {
            Integrand::Residual => first,
            Integrand::Paper => minus_expected(first, &self.nodes.smooth(&all), &self.nodes.responses),
        }
    }

    /// ∫ |G| for surpluses Σ w (y - p) of the cells, in place of those that the rows have: spread
    /// over each cell as outcomes vary in it.
    ///
    /// Resamples and the rows that they are compared with both go through here: a draw with the
    /// outcomes of the rows gives their value to the last bits.
    pub(super) fn value_of_surpluses(&self, surpluses: impl Iterator<Item = f64>) -> f64 {
        self.nodes.integrate(&self.gaps_of_surpluses(surpluses))
    }

    /// The same, and the value of the residual form, which has nothing but the surpluses.
    pub(super) fn values_of_surpluses(&self, surpluses: impl Iterator<Item = f64>) -> (f64, f64) {
        let mut gaps = self.smoothed_surpluses(surpluses);
        let residual = self.nodes.integrate(&gaps);
        self.add_expected(&mut gaps);
        (self.nodes.integrate(&gaps), residual)
    }

    /// G for them.
    pub(super) fn gaps_of_surpluses(&self, surpluses: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut gaps = self.smoothed_surpluses(surpluses);
        self.add_expected(&mut gaps);
        gaps
    }

    fn add_expected(&self, gaps: &mut [f64]) {
        gaps.iter_mut().zip(&self.expected).for_each(|(gap, expected)| *gap += expected);
    }

    fn smoothed_surpluses(&self, surpluses: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut masses = self.nodes.no_masses();
        for (spread, surplus) in self.spreads.iter().zip(surpluses) {
            if surplus != 0.0 {
                masses.add(spread.first, surplus, &spread.masses[..self.order]);
            }
        }
        self.nodes.smooth(&masses)
    }

    /// What a surplus of 1 of a cell adds to G: the first node, and the values from there on.
    pub(super) fn gaps_of_surplus(&self, cell: &Cell) -> (usize, Vec<f64>) {
        let spread = cell.spread(self.total_weight);
        self.nodes.smooth_panel(spread.first, &spread.masses[..self.order])
    }

    /// The noise of G at every node for independent rows.
    pub(super) fn noise(&self) -> Noise {
        Noise { shown: self.deviations(), null: self.null_deviations() }
    }

    /// √Σ s² (y - ρ)² K², and in the residual form √Σ s² (y - p)² K².
    fn deviations(&self) -> Vec<f64> {
        let nodes = &self.nodes;
        let [negatives, positives] = [0, 1].map(|outcome| {
            let mut masses = nodes.no_masses();
            for cell in self.cells.iter().filter(|cell| cell.sums.weight[outcome] > 0.0) {
                let weight = cell.sums.weight[outcome];
                let size = match self.integrand {
                    Integrand::Paper => 1.0,
                    Integrand::Residual => cell.sums.residuals[outcome] / weight,
                };
                let factor = cell.sums.squares[outcome] / weight * size * size;
                masses.add(cell.first, factor, &cell.sums.masses[outcome][..self.order]);
            }
            nodes.smooth_by_square(&masses)
        });
        let both = nodes.complements.iter().zip(&nodes.responses).zip(positives.iter().zip(&negatives));
        let variance =
            |((complement, response), (positive, negative)): ((&f64, &f64), (&f64, &f64))| match self.integrand {
                Integrand::Paper => complement * complement * positive + response * response * negative,
                Integrand::Residual => positive + negative,
            };
        both.map(|each| self.root(variance(each))).collect()
    }

    /// √Σ s² p (1 - p) K².
    fn null_deviations(&self) -> Vec<f64> {
        let mut masses = self.nodes.no_masses();
        for cell in &self.cells {
            masses.add(cell.first, 1.0, &cell.sums.variance_masses[..self.order]);
        }
        self.nodes.smooth_by_square(&masses).into_iter().map(|variance| self.root(variance)).collect()
    }

    /// Of a variance in units of weight. Masses by six nodes are negative in part, and so may be
    /// what is next to nothing.
    fn root(&self, variance: f64) -> f64 {
        variance.max(0.0).sqrt() / self.total_weight
    }

    /// Where the population's ∫ |G| is, with the noise of G for rows or clusters.
    pub(super) fn enclose(&self, noise: &Noise) -> Enclosure {
        let places = Places {
            values: &self.residuals,
            deviations: &noise.shown,
            null_deviations: &noise.null,
            length: self.nodes.spacing(),
            block: ((BLOCK * self.likeness.of_values / self.nodes.spacing()).ceil() as usize).max(1),
            likeness: self.likeness,
        };
        let mut found = places.enclose();
        // Sums over nodes cut |G| at its changes of sign, where the integral does not.
        let size: f64 = self.residuals.iter().map(|residual| residual.abs()).sum::<f64>() * self.nodes.spacing();
        found.shift(self.value - size);
        found
    }
}

/// The place of each panel's cell, from the first panel on.
fn near(cells: &[Cell]) -> Option<(i64, Vec<u32>)> {
    let (first, last) = (cells.first()?.panel, cells.last()?.panel);
    let width = last.checked_sub(first).filter(|width| *width < 8 * cells.len() as i64 + 1024)?;
    let mut places = vec![0; width as usize + 1];
    cells.iter().zip(0..).for_each(|(cell, place)| places[(cell.panel - first) as usize] = place);
    Some((first, places))
}

impl Cell {
    /// Nothing for rows whose raw scores are so far out that their outcome is as good as sure: by
    /// less, the quotient would be infinite.
    fn spread(&self, total_weight: f64) -> Spread {
        let factor = if self.sums.variance > SURE { 1.0 / (self.sums.variance * total_weight) } else { 0.0 };
        Spread { first: self.first, masses: self.sums.variance_masses.map(|mass| factor * mass) }
    }
}

/// A variance below which no outcome is ever drawn to be other than it is.
const SURE: f64 = 1e-200;

/// positives - ρ · all, node by node.
fn minus_expected(mut positives: Vec<f64>, all: &[f64], responses: &[f64]) -> Vec<f64> {
    for ((residual, all), response) in positives.iter_mut().zip(all).zip(responses) {
        *residual -= response * all;
    }
    positives
}

/// Adds masses of rows by place, which is 2 · cell + outcome, to the nodes of their cells.
pub(super) fn add_by_place(grid: &Grid, surpluses: &[f64]) -> Masses {
    let mut masses = grid.nodes.no_masses();
    for (cell, surpluses) in grid.cells.iter().zip(surpluses.chunks_exact(2)) {
        for outcome in [0, 1] {
            let rows = cell.sums.weight[outcome];
            if surpluses[outcome] != 0.0 && rows > 0.0 {
                let factor = surpluses[outcome] / (rows * grid.total_weight);
                masses.add(cell.first, factor, &cell.sums.masses[outcome][..grid.order]);
            }
        }
    }
    masses
}
