//! Rows on a grid: the sums of their panels, and G at every node.

use super::super::Kernel;
use super::super::points::Points;
use super::nodes::{Masses, Nodes};
use super::panels::{Origin, Panel, panels};
use super::spacing::{MAX_ORDER, Spacing};
use crate::link::{Link, Probit};
use crate::numerics::lagrange::Lagrange;

/// Nodes beyond which rows are resampled one by one.
const MAX_NODES: usize = 1 << 22;

/// What all resamplers of LS-ECE have in common.
pub(super) struct Grid {
    pub(super) nodes: Nodes,
    pub(super) cells: Vec<Cell>,
    /// Nodes that a cell's sums are for.
    pub(super) order: usize,
    /// What the panel of a logit is found by.
    spacing: f64,
    pub(super) total_weight: f64,
    /// G at every node.
    pub(super) residuals: Vec<f64>,
    /// G, had every row the outcome that its prediction expects.
    pub(super) expected: Vec<f64>,
    /// LS-ECE.
    pub(super) value: f64,
}

/// An occupied panel.
pub(super) struct Cell {
    panel: i64,
    /// The place of its first node.
    pub(super) first: usize,
    pub(super) sums: Panel,
}

impl Grid {
    /// From points that are near enough for one stretch of nodes or a few. `None` where the grid would be too large, or the noise is not smooth enough for one.
    pub(super) fn new(points: &Points, origin: Origin<'_>, kernel: &Kernel<'_>) -> Option<Self> {
        let spacing = Spacing::new(kernel)?;
        let panels = panels(points, origin, kernel, &spacing)?;
        let numbers: Vec<i64> = panels.keys().copied().collect();
        let (order, distance) = (spacing.order, spacing.spacing);
        let (nodes, places) = Nodes::new(&numbers, spacing, kernel, MAX_NODES)?;
        let cells: Vec<Cell> =
            panels.into_iter().zip(places).map(|((panel, sums), first)| Cell { panel, first, sums }).collect();
        let total_weight: f64 = cells.iter().map(|cell| cell.sums.weight[0] + cell.sums.weight[1]).sum();
        let smoothed = |sums: &dyn Fn(&Cell, &mut Masses)| {
            let mut masses = nodes.no_masses();
            cells.iter().for_each(|cell| sums(cell, &mut masses));
            nodes.smooth(&masses)
        };
        let share = 1.0 / total_weight;
        let [negatives, positives] =
            [0, 1].map(|y| smoothed(&|cell, masses| masses.add(cell.first, share, &cell.sums.masses[y][..order])));
        let expected = smoothed(&|cell, masses| masses.add(cell.first, share, &cell.sums.expected_masses[..order]));
        let all: Vec<f64> = negatives.iter().zip(&positives).map(|(negative, positive)| negative + positive).collect();
        let residuals = minus_expected(positives, &all, &nodes.responses);
        let expected = minus_expected(expected, &all, &nodes.responses);
        let value = nodes.integrate(&residuals);
        Some(Grid { nodes, cells, order, spacing: distance, total_weight, residuals, expected, value })
    }

    /// (Σw)² / Σw².
    pub(super) fn effective_rows(&self) -> f64 {
        let squares: f64 = self.cells.iter().map(|cell| cell.sums.squares[0] + cell.sums.squares[1]).sum();
        self.total_weight * self.total_weight / squares
    }

    /// The cell that a logit is in, and the weights of its nodes there. The logit is that of a point with weight.
    pub(super) fn place(&self, lagrange: &Lagrange, logit: f64) -> (usize, [f64; MAX_ORDER]) {
        let position = logit / self.spacing;
        let panel = position.floor() as i64;
        // proof: every point with weight is in a panel, and cells are all of those in ascending order
        let cell = self.cells.partition_point(|cell| cell.panel < panel).min(self.cells.len() - 1);
        let weights = lagrange.weights_at(position - position.floor());
        let mut of_nodes = [0.0; MAX_ORDER];
        of_nodes[..self.order].copy_from_slice(&weights[..self.order]);
        (cell, of_nodes)
    }

    /// G times the total weight, of masses by outcome.
    pub(super) fn residuals_of(&self, positives: &Masses, all: &Masses) -> Vec<f64> {
        minus_expected(self.nodes.smooth(positives), &self.nodes.smooth(all), &self.nodes.responses)
    }

    /// G times the total weight, of weights by place, which is 2 · cell + outcome.
    pub(super) fn residuals_of_weights(&self, weights: &[f64]) -> Vec<f64> {
        let (mut positives, mut all) = (self.nodes.no_masses(), self.nodes.no_masses());
        self.add_by_place(weights, |outcome, first, factor, sums| {
            all.add(first, factor, sums);
            if outcome == 1 {
                positives.add(first, factor, sums);
            }
        });
        self.residuals_of(&positives, &all)
    }

    /// Hands weights by place to `add`, spread over nodes as the rows there are: outcome, first node, factor and the rows' masses.
    pub(super) fn add_by_place(&self, weights: &[f64], mut add: impl FnMut(usize, usize, f64, &[f64])) {
        for (cell, weights) in self.cells.iter().zip(weights.chunks_exact(2)) {
            for outcome in [0, 1] {
                let rows = cell.sums.weight[outcome];
                if weights[outcome] != 0.0 && rows > 0.0 {
                    add(outcome, cell.first, weights[outcome] / rows, &cell.sums.masses[outcome][..self.order]);
                }
            }
        }
    }

    /// The standard deviation of G at every node, times the total weight, for independent rows: √Σ w² (y - ρ)² K².
    pub(super) fn deviations(&self) -> Vec<f64> {
        let nodes = &self.nodes;
        let [negatives, positives] = [0, 1].map(|outcome| {
            let mut masses = nodes.no_masses();
            for cell in self.cells.iter().filter(|cell| cell.sums.weight[outcome] > 0.0) {
                let factor = cell.sums.squares[outcome] / cell.sums.weight[outcome];
                masses.add(cell.first, factor, &cell.sums.masses[outcome][..self.order]);
            }
            nodes.smooth_by_square(&masses)
        });
        let both = nodes.complements.iter().zip(&nodes.responses).zip(positives.iter().zip(&negatives));
        let variance = |((complement, response), (positive, negative)): ((&f64, &f64), (&f64, &f64))| {
            complement * complement * positive + response * response * negative
        };
        // Masses by six nodes are negative in part, and so may be what is next to nothing.
        both.map(|each| variance(each).max(0.0).sqrt()).collect()
    }

    /// The integrals of sign(G) times the hat functions of the nodes, with the factor 3 - 2 Φ(|G| / s) of
    /// [`Resampler::corrected_deviation`](crate::significance::Resampler::corrected_deviation); s are deviations of G times the total weight.
    pub(super) fn corrected_signs(&self, deviations: &[f64]) -> Vec<f64> {
        let signs = self.nodes.signs(&self.residuals);
        let each = signs.iter().zip(self.residuals.iter().zip(deviations));
        each.map(|(sign, (residual, deviation))| match *deviation > 0.0 {
            true => sign * (1.0 + 2.0 * Probit.complement(residual.abs() * self.total_weight / deviation)),
            false => *sign,
        })
        .collect()
    }
}

/// positives - ρ · all, node by node.
fn minus_expected(mut positives: Vec<f64>, all: &[f64], responses: &[f64]) -> Vec<f64> {
    for ((residual, all), response) in positives.iter_mut().zip(all).zip(responses) {
        *residual -= response * all;
    }
    positives
}
