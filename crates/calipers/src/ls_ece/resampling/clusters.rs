//! Resamples of clusters of rows, which depend on each other within.
//!
//! Rows of one cluster, panel and outcome are put together, so that a draw costs as much as there are such sums, and the grid.

use rayon::prelude::*;

use super::super::points::Points;
use super::grid::Grid;
use super::slopes::{Slopes, acceleration};
use crate::link::Link;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::significance::{Clusters, Resampler, deviation_of_sums};
use crate::watch;

/// Draws of signs from which the deviation of G is taken: to 6 %, where it decides on a factor between 1 and 2 that hardly depends on it.
const SIGN_DRAWS: u64 = 128;

/// The rows of one cluster in one cell with one outcome.
struct Part {
    /// 2 · cell + outcome.
    place: u32,
    /// Σ w.
    weight: f64,
    /// Σ w (y - p).
    residual: f64,
}

/// All clusters, by the cells of a grid.
pub(super) struct ClusterParts {
    parts: Vec<Part>,
    /// Where the parts of each cluster end.
    ends: Vec<usize>,
}

impl ClusterParts {
    /// `points` are those of the grid.
    pub(super) fn new(grid: &Grid, points: &Points, link: &dyn Link, clusters: &Clusters) -> Self {
        let lagrange = Lagrange::new(grid.order);
        let (mut parts, mut ends) = (Vec::new(), Vec::with_capacity(clusters.len()));
        for cluster in 0..clusters.len() {
            let with_weight = clusters.rows_of(cluster).iter().copied().filter(|row| points.weight(*row) > 0.0);
            let mut of_cluster: Vec<Part> = with_weight
                .map(|row| {
                    let (cell, _) = grid.place(&lagrange, points.logits[row]);
                    let (outcome, weight) = (points.outcomes[row], points.weight(row));
                    let (response, complement) = link.both(points.logits[row]);
                    let residual = weight * if outcome { complement } else { -response };
                    Part { place: (2 * cell + usize::from(outcome)) as u32, weight, residual }
                })
                .collect();
            // Stable, so that sums do not depend on anything but the order of rows.
            of_cluster.sort_by_key(|part| part.place);
            let together = of_cluster.chunk_by(|a, b| a.place == b.place).map(|parts| Part {
                place: parts[0].place,
                weight: parts.iter().map(|part| part.weight).sum(),
                residual: parts.iter().map(|part| part.residual).sum(),
            });
            parts.extend(together);
            ends.push(parts.len());
        }
        ClusterParts { parts, ends }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn of_clusters(&self) -> impl Iterator<Item = &[Part]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.parts[*start..*end])
    }

    /// Sums by place of something of the parts, each times the factor of its cluster.
    fn sums(&self, grid: &Grid, of: impl Fn(&Part) -> f64, factors: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; 2 * grid.cells.len()];
        for (parts, factor) in self.of_clusters().zip(factors).filter(|(_, factor)| *factor != 0.0) {
            parts.iter().for_each(|part| sums[part.place as usize] += factor * of(part));
        }
        sums
    }

    /// The standard deviation of G at every node, times the total weight: √Σ_c (Σ over rows of c of w (y - ρ) K)², as random signs of the clusters show it.
    pub(super) fn deviations(&self, grid: &Grid) -> Vec<f64> {
        let signed = |draw: u64| {
            watch::look();
            let weights = self.sums(grid, |part| part.weight, signs(seed_of_draw(0, draw)));
            let mut residuals = grid.residuals_of_weights(&weights);
            residuals.iter_mut().for_each(|residual| *residual *= *residual);
            residuals
        };
        let mut squares = vec![0.0; grid.residuals.len()];
        // Some at a time: memory; added in order: the same bits on any number of threads.
        for first in (0..SIGN_DRAWS).step_by(16) {
            let draws: Vec<Vec<f64>> = (first..first + 16).into_par_iter().map(signed).collect();
            draws.iter().for_each(|draw| squares.iter_mut().zip(draw).for_each(|(sum, square)| *sum += square));
        }
        squares.into_iter().map(|sum| (sum / SIGN_DRAWS as f64).sqrt()).collect()
    }

    /// Σ s IF over the rows of each cluster.
    fn pulls(&self, grid: &Grid, slopes: &Slopes) -> Vec<f64> {
        let occupied = |place: usize| grid.cells[place / 2].sums.weight[place % 2] > 0.0;
        let influence = |place: usize| if occupied(place) { slopes.of_cell(grid, place / 2, place % 2) } else { 0.0 };
        let influence: Vec<f64> = (0..2 * grid.cells.len()).map(influence).collect();
        let pull = |part: &Part| part.weight * influence[part.place as usize] / grid.total_weight;
        self.of_clusters().map(|parts| parts.iter().map(pull).sum()).collect()
    }
}

/// 1 or -1 with equal chance, without end.
fn signs(seed: u64) -> impl Iterator<Item = f64> {
    let mut uniforms = Uniforms::new(seed);
    std::iter::repeat_with(move || if uniforms.next() < 0.5 { -1.0 } else { 1.0 })
}

/// LS-ECE of resampled clusters.
///
/// # Noise floor
/// Let Z_c(u) = Σ over rows of cluster c of w_i (y_i - p_i) K(u - h_i). Then G W is the expected part, which predictions alone make, plus Σ_c Z_c. A draw is the expected
/// part plus Σ_c s_c Z_c with random signs s_c (wild bootstrap), and LS-ECE of it. Where E[y | p] = p, given all predictions of a cluster:
/// - the Z_c are independent of each other with mean 0, however outcomes depend within a cluster. Given the rows, Σ s_c Z_c has mean 0 and the covariance
///   Σ_c Z_c(u) Z_c(v), whose expectation is that of Σ_c Z_c. Both are sums over independent clusters, so for many of them both are the same Gaussian process, and the value is one more draw;
/// - where the Z_c are symmetric, as with probabilities near 1/2, s_c Z_c has the distribution of Z_c given all |Z_c|, so that the p-value is exact for any number of clusters.
///
/// Where predictions are not calibrated, Z_c has a mean, which the signs turn as well: the floor is raised by about value / √C.
///
/// # Bootstrap
/// As many clusters as there are, drawn with replacement; their total weight is divided out.
pub(super) struct ClusterResampler {
    grid: Grid,
    parts: ClusterParts,
    influence_deviation: f64,
    corrected_deviation: f64,
    acceleration: f64,
}

impl ClusterResampler {
    pub(super) fn new(grid: Grid, parts: ClusterParts) -> Self {
        let pulls = parts.pulls(&grid, &Slopes::new(&grid, &grid.nodes.signs(&grid.residuals)));
        let corrected = Slopes::new(&grid, &grid.corrected_signs(&parts.deviations(&grid)));
        let moment = |power: i32| pulls.iter().map(|pull| pull.powi(power)).sum::<f64>();
        ClusterResampler {
            influence_deviation: deviation_of_sums(&pulls),
            corrected_deviation: deviation_of_sums(&parts.pulls(&grid, &corrected)),
            acceleration: acceleration(moment(2), moment(3)),
            grid,
            parts,
        }
    }
}

impl Resampler for ClusterResampler {
    fn value(&self) -> f64 {
        self.grid.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let grid = &self.grid;
        let surplus = self.parts.sums(grid, |part| part.residual, signs(draw));
        let mut masses = grid.nodes.no_masses();
        grid.add_by_place(&surplus, |_, first, factor, sums| masses.add(first, factor / grid.total_weight, sums));
        let mut residuals = grid.nodes.smooth(&masses);
        residuals.iter_mut().zip(&grid.expected).for_each(|(residual, expected)| *residual += expected);
        grid.nodes.integrate(&residuals)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let (mut uniforms, n) = (Uniforms::new(draw), self.parts.len());
        let mut counts = vec![0.0; n];
        (0..n).for_each(|_| counts[((uniforms.next() * n as f64) as usize).min(n - 1)] += 1.0);
        let weights = self.parts.sums(&self.grid, |part| part.weight, counts.into_iter());
        self.grid.nodes.integrate(&self.grid.residuals_of_weights(&weights)) / weights.iter().sum::<f64>()
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
