//! Resamples of LS-ECE on a grid, whose cost does not grow with the number of rows.
//!
//! ```text
//! Points of rows or of cells -> panels (sums by panel) -> nodes (grid, convolution, ∫|G|) -> draws, influence
//! ```
//! G is linear in the masses by outcome, and rows of a panel, which is narrow against sigma, are all but alike. So a resample takes one random
//! number for each panel (and outcome) in place of one for each row:
//! - outcomes drawn from the predictions: the sum of w (y - p) over a panel is a binomial number, standardised and brought to the variance
//!   Σ w² p (1 - p). The number of its tries is that of the rows, or under weights the effective one, (Σw)² / Σw²;
//! - rows drawn with replacement: every row counts a Poisson number of times with mean 1 and the total is divided out, so that
//!   the weight of a panel and outcome is that of a Poisson number with the effective number of rows as mean.
//!
//! Counts above a mean of 20 are normal numbers (`numerics/counts.rs`). What the grid itself costs is in `spacing.rs`.

mod nodes;
mod panels;
mod spacing;

use super::far::Near;
use super::points::Points;
use super::{Kernel, LsEce};
use crate::Error;
use crate::link::{Link, Probit};
use crate::numerics::counts::Count;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::random::Normals;
use crate::predictions::BinaryView;
use crate::significance::Resampler;
use nodes::{Masses, Nodes};
use panels::{Origin, Panel, panels};
use spacing::Spacing;

/// Nodes beyond which rows are resampled one by one.
const MAX_NODES: usize = 1 << 22;

/// LS-ECE of resampled rows.
pub(super) struct GridResampler {
    nodes: Nodes,
    cells: Vec<Cell>,
    /// Nodes that a cell's sums are for.
    order: usize,
    /// What the panel of a logit is found by.
    spacing: f64,
    total_weight: f64,
    /// G, had every row the outcome that its prediction expects.
    expected: Vec<f64>,
    value: f64,
    slopes: Slopes,
    influence_deviation: f64,
    corrected_deviation: f64,
    acceleration: f64,
}

/// An occupied panel with the laws of its resamples.
struct Cell {
    panel: i64,
    /// The place of its first node.
    first: usize,
    sums: Panel,
    outcomes: Count,
    /// The mean of `outcomes`, and what a unit of it is in terms of [`Panel::variance_masses`].
    outcomes_mean: f64,
    outcomes_unit: f64,
    /// How often rows of each outcome are drawn, and how many there are.
    draws: [Count; 2],
    effective: [f64; 2],
}

impl Cell {
    fn new(panel: i64, first: usize, sums: Panel) -> Self {
        let weight = sums.weight[0] + sums.weight[1];
        let effective_rows = (weight * weight / (sums.squares[0] + sums.squares[1])).round().max(1.0);
        let (p, complement) = (sums.expected[0] / weight, sums.expected[1] / weight);
        let binomial_variance = effective_rows * p * complement;
        let scale = if binomial_variance > 0.0 { (sums.variance / binomial_variance).sqrt() } else { 0.0 };
        let effective = [0, 1].map(|outcome| match sums.squares[outcome] {
            0.0 => 0.0,
            squares => sums.weight[outcome] * sums.weight[outcome] / squares,
        });
        Cell {
            panel,
            first,
            outcomes: Count::binomial(effective_rows, p, complement),
            outcomes_mean: effective_rows * p,
            outcomes_unit: if sums.variance > 0.0 { scale / sums.variance } else { 0.0 },
            draws: effective.map(Count::poisson),
            effective,
            sums,
        }
    }
}

/// Where rows of each outcome push the measure, at every node: ∫ f (1 - ρ) K(u - h) du and ∫ f ρ K(u - h) du, f being the sign of G.
struct Slopes {
    positive: Masses,
    negative: Masses,
    /// The mean over the rows.
    mean: f64,
}

impl Slopes {
    /// From the integrals of f times the hat functions of the nodes.
    fn new(nodes: &Nodes, cells: &[Cell], order: usize, integrals: &[f64]) -> Self {
        let slope = |factors: &[f64]| {
            let integrals: Vec<f64> = integrals.iter().zip(factors).map(|(value, factor)| value * factor).collect();
            nodes.correlate(&integrals)
        };
        let mut slopes = Slopes { positive: slope(&nodes.complements), negative: slope(&nodes.responses), mean: 0.0 };
        slopes.mean = slopes.moment(nodes, cells, order, 1);
        slopes
    }

    /// The influence of a row between the nodes from `first` on.
    fn at(&self, nodes: &Nodes, first: usize, outcome: bool, weights: &[f64], total: f64) -> f64 {
        let slope = match outcome {
            true => nodes.interpolate(&self.positive, first, weights, total),
            false => -nodes.interpolate(&self.negative, first, weights, total),
        };
        slope - self.mean
    }

    /// Σ (s IF)^power over the rows; those of a panel and outcome are taken to be alike.
    fn moment(&self, nodes: &Nodes, cells: &[Cell], order: usize, power: i32) -> f64 {
        let total: f64 = cells.iter().map(|cell| cell.sums.weight[0] + cell.sums.weight[1]).sum();
        let of_cell = |cell: &Cell| -> f64 {
            let of_outcome = |outcome: usize| {
                let (weight, squares) = (cell.sums.weight[outcome], cell.sums.squares[outcome]);
                if weight == 0.0 {
                    return 0.0;
                }
                let influence = self.at(nodes, cell.first, outcome == 1, &cell.sums.masses[outcome][..order], weight);
                // Σ w, Σ w² or Σ w³, the last as if all weights of the panel were alike.
                let weights = match power {
                    1 => weight,
                    2 => squares,
                    _ => squares * squares / weight,
                };
                weights / total.powi(power) * influence.powi(power)
            };
            of_outcome(0) + of_outcome(1)
        };
        cells.iter().map(of_cell).sum()
    }
}

/// The standard deviation of G at every node, times the total weight: √Σ w² (y - ρ)² K².
fn deviations(nodes: &Nodes, cells: &[Cell], order: usize) -> Vec<f64> {
    let [negatives, positives] = [0, 1].map(|outcome| {
        let mut masses = nodes.no_masses();
        for cell in cells.iter().filter(|cell| cell.sums.weight[outcome] > 0.0) {
            let factor = cell.sums.squares[outcome] / cell.sums.weight[outcome];
            masses.add(cell.first, factor, &cell.sums.masses[outcome][..order]);
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

impl GridResampler {
    /// `None` where the grid would be too large, or the noise is not smooth enough for one.
    fn new(points: &Points, origin: Origin, kernel: &Kernel<'_>) -> Result<Option<Self>, Error> {
        match kernel.near(points)? {
            Some(Near { points, .. }) => Ok(Self::of_near(&points, origin, kernel)),
            None => Ok(Self::of_near(points, origin, kernel)),
        }
    }

    fn of_near(points: &Points, origin: Origin, kernel: &Kernel<'_>) -> Option<Self> {
        let spacing = Spacing::new(kernel)?;
        let panels = panels(points, origin, kernel, &spacing)?;
        let numbers: Vec<i64> = panels.keys().copied().collect();
        let (order, distance) = (spacing.order, spacing.spacing);
        let (nodes, places) = Nodes::new(&numbers, spacing, kernel, MAX_NODES)?;
        let cells: Vec<Cell> =
            panels.into_iter().zip(places).map(|((panel, sums), first)| Cell::new(panel, first, sums)).collect();
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

        let signs = nodes.signs(&residuals);
        let slopes = Slopes::new(&nodes, &cells, order, &signs);
        // 3 - 2 Φ(|G| / s) times the sign: see `Resampler::corrected_deviation`.
        let corrected = signs.iter().zip(residuals.iter().zip(deviations(&nodes, &cells, order)));
        let corrected: Vec<f64> = corrected
            .map(|(sign, (residual, deviation))| match deviation > 0.0 {
                true => sign * (1.0 + 2.0 * Probit.complement(residual.abs() * total_weight / deviation)),
                false => *sign,
            })
            .collect();
        let corrected = Slopes::new(&nodes, &cells, order, &corrected);
        let variance = slopes.moment(&nodes, &cells, order, 2);
        Some(GridResampler {
            value: nodes.integrate(&residuals),
            influence_deviation: variance.sqrt(),
            corrected_deviation: corrected.moment(&nodes, &cells, order, 2).sqrt(),
            // A variance that is rounding alone has no skewness.
            acceleration: match variance > 1e-30 {
                true => slopes.moment(&nodes, &cells, order, 3) / (6.0 * variance.powf(1.5)),
                false => 0.0,
            },
            nodes,
            cells,
            order,
            spacing: distance,
            total_weight,
            expected,
            slopes,
        })
    }

    /// The influence of each point.
    fn influence_of(&self, points: &Points) -> Vec<f64> {
        let lagrange = Lagrange::new(self.order);
        let influence = |index: usize| {
            if points.weight(index) == 0.0 {
                return 0.0;
            }
            let position = points.logits[index] / self.spacing;
            let panel = position.floor() as i64;
            // proof: every point with weight is in a panel, and cells are all of those in ascending order
            let cell = &self.cells[self.cells.partition_point(|cell| cell.panel < panel).min(self.cells.len() - 1)];
            let weights = lagrange.weights_at(position - position.floor());
            self.slopes.at(&self.nodes, cell.first, points.outcomes[index], &weights[..self.order], 1.0)
        };
        (0..points.len()).map(influence).collect()
    }
}

/// positives - ρ · all, node by node.
fn minus_expected(mut positives: Vec<f64>, all: &[f64], responses: &[f64]) -> Vec<f64> {
    for ((residual, all), response) in positives.iter_mut().zip(all).zip(responses) {
        *residual -= response * all;
    }
    positives
}

impl Resampler for GridResampler {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let mut masses = self.nodes.no_masses();
        for cell in &self.cells {
            let surplus = cell.outcomes.draw(&mut random) - cell.outcomes_mean;
            let factor = surplus * cell.outcomes_unit / self.total_weight;
            masses.add(cell.first, factor, &cell.sums.variance_masses[..self.order]);
        }
        let mut residuals = self.nodes.smooth(&masses);
        residuals.iter_mut().zip(&self.expected).for_each(|(residual, expected)| *residual += expected);
        self.nodes.integrate(&residuals)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let (mut positives, mut all) = (self.nodes.no_masses(), self.nodes.no_masses());
        let mut total = 0.0;
        // No row at all, as happens to a single one, is no resample.
        while total == 0.0 {
            for cell in &self.cells {
                for outcome in [0, 1] {
                    if cell.effective[outcome] == 0.0 {
                        continue;
                    }
                    let factor = cell.draws[outcome].draw(&mut random) / cell.effective[outcome];
                    let masses = &cell.sums.masses[outcome][..self.order];
                    all.add(cell.first, factor, masses);
                    if outcome == 1 {
                        positives.add(cell.first, factor, masses);
                    }
                    total += factor * cell.sums.weight[outcome];
                }
            }
        }
        let residuals = minus_expected(self.nodes.smooth(&positives), &self.nodes.smooth(&all), &self.nodes.responses);
        self.nodes.integrate(&residuals) / total
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

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

impl LsEce {
    /// The resampler on a grid; `None` where rows have to be resampled one by one.
    pub(super) fn grid_resampler(&self, view: &BinaryView<'_>) -> Result<Option<GridResampler>, Error> {
        self.check_settings()?;
        if let Some(rows) = view.plain()
            && let Some(by_cells) = self.atoms_of_cells(rows)?
        {
            let kernel = Kernel { noise: &*self.noise, link: &*self.link, sigma: by_cells.sigma };
            return GridResampler::new(&by_cells.atoms.points, Origin::Cells, &kernel);
        }
        let points = Points::new(view, &*self.link, self.clip)?;
        let kernel = Kernel { noise: &*self.noise, link: &*self.link, sigma: self.sigma.resolve(&points)? };
        GridResampler::new(&points, Origin::Rows, &kernel)
    }

    /// How each row pulls at the measure: the derivative of LS-ECE when the row's share of the weight grows.
    ///
    /// # Definition
    /// ```text
    /// IF_i = ∫ sign(G(u)) (y_i - ρ(u)) K(u - h_i) du - LS-ECE
    /// ```
    /// with sigma as it was settled for these rows. Σ s_i IF_i is 0, and the standard error of the measure is √Σ (s_i IF_i)², with s_i the shares of the
    /// weight. Sums within clusters and differences between models on the same rows give theirs. A row of weight 0 has the value 0.
    ///
    /// # Accuracy
    /// By the grid of resamples: to about 1e-3, and for uniform noise 1e-2.
    ///
    /// # Example
    /// Of two rows at one place, the one that the gap comes from has the larger influence.
    /// ```
    /// use calipers::{Input, LsEce};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.5, 0.5], &[1, 1, 0]).check()?;
    /// let influence = LsEce::new().sigma(0.1).influence(&predictions.binary()?)?;
    /// assert!(influence[0] > 0.0 && influence[2] < 0.0);
    /// assert!(influence.iter().sum::<f64>().abs() < 1e-9);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn influence(&self, view: &BinaryView<'_>) -> Result<Vec<f64>, Error> {
        self.check_settings()?;
        let mut points = Points::new(view, &*self.link, self.clip)?;
        let kernel = Kernel { noise: &*self.noise, link: &*self.link, sigma: self.sigma.resolve(&points)? };
        if let Some(Near { points: near, .. }) = kernel.near(&points)? {
            points = near;
        }
        let Some(resampler) = GridResampler::of_near(&points, Origin::Rows, &kernel) else {
            let rule = "one whose tail and smoothness allow a grid, and sigma not too small for the span of the logits";
            return Err(Error::setting("noise", rule, kernel.noise.name()));
        };
        Ok(resampler.influence_of(&points))
    }
}
