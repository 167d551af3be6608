//! Resamples of clusters of rows, which depend on each other within.
//!
//! Rows of one cluster, panel and outcome are put together, so that a draw costs as much as there
//! are such sums, and the grid.

use super::super::points::Points;
use super::bracket::Influences;
use super::grid::{Grid, Noise, add_by_place};
use super::resampler::{Draws, Moments};
use super::slopes::Slopes;
use crate::inference::{Clusters, CorrelatedOutcomes, SecondTest, deviation_of_sums};
use crate::link::Link;
use crate::numerics::lagrange::Lagrange;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::watch;

/// Draws of signs from which the deviation of G is taken: to 6 %, where it decides on a factor
/// between 1 and 2 that hardly depends on it.
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

    /// The noise of G at every node. That of calibrated predictions is larger than for independent
    /// rows by as much as the clusters show at that node.
    pub(super) fn noise(&self, grid: &Grid) -> Noise {
        let (of_rows, shown) = (grid.noise(), self.deviations(grid));
        let inflated = |((null, by_rows), by_clusters): ((&f64, &f64), &f64)| match *by_rows > 0.0 {
            true => null * by_clusters / by_rows,
            false => *null,
        };
        let null = of_rows.null.iter().zip(&of_rows.shown).zip(&shown).map(inflated).collect();
        Noise { shown, null }
    }

    /// √Σ_c (Σ over rows of c of s (y - ρ) K)², and in the residual form with p in place of ρ, as
    /// random signs of the clusters show it.
    fn deviations(&self, grid: &Grid) -> Vec<f64> {
        let signed = |draw: u64| {
            watch::check();
            let weights = self.sums(grid, |part| part.weight, signs(seed_of_draw(0, draw)));
            let mut gaps = grid.gaps(|cell, outcome| {
                weights[2 * cell + outcome] / (grid.cells[cell].sums.weight[outcome] * grid.total_weight)
            });
            gaps.iter_mut().for_each(|gap| *gap *= *gap);
            gaps
        };
        let mut squares = vec![0.0; grid.residuals.len()];
        // Some at a time: memory; added in order: the same bits on any number of threads.
        for first in (0..SIGN_DRAWS).step_by(16) {
            let draws: Vec<Vec<f64>> = parallel::map(16, |number| signed(first + number as u64));
            draws.iter().for_each(|draw| squares.iter_mut().zip(draw).for_each(|(sum, square)| *sum += square));
        }
        squares.into_iter().map(|sum| (sum / SIGN_DRAWS as f64).sqrt()).collect()
    }

    /// Σ s IF over the rows of each cluster.
    fn influences(&self, grid: &Grid, slopes: &Slopes) -> Vec<f64> {
        let occupied = |place: usize| grid.cells[place / 2].sums.weight[place % 2] > 0.0;
        let influence = |place: usize| if occupied(place) { slopes.of_cell(grid, place / 2, place % 2) } else { 0.0 };
        let influence: Vec<f64> = (0..2 * grid.cells.len()).map(influence).collect();
        let influence = |part: &Part| part.weight * influence[part.place as usize] / grid.total_weight;
        self.of_clusters().map(|parts| parts.iter().map(influence).sum()).collect()
    }
}

/// An endless stream of 1 or -1 with equal probability.
fn signs(seed: u64) -> impl Iterator<Item = f64> {
    let mut uniforms = Uniforms::new(seed);
    std::iter::repeat_with(move || if uniforms.next() < 0.5 { -1.0 } else { 1.0 })
}

/// Draws of clusters of rows.
///
/// # Noise floor
/// Outcomes are drawn from their predictions, those of a cluster with a common correlation that the
/// rows show ([`CorrelatedOutcomes`]): right for any number of clusters and for rare outcomes, if
/// dependence within a cluster is alike for all of its rows.
///
/// A second test makes no such assumption. Let Z_c(u) = Σ over rows of cluster c of w_i (y_i - p_i)
/// K(u - h_i). Then G W is the expected part, which predictions alone make, plus Σ_c Z_c. A draw is
/// the expected part plus Σ_c s_c Z_c with random signs s_c (wild bootstrap). Where E[y | p] = p,
/// given all predictions of a cluster:
/// - the Z_c are independent of each other with mean 0, however outcomes depend within a cluster.
///   Given the rows, Σ s_c Z_c has mean 0 and the covariance Σ_c Z_c(u) Z_c(v), whose expectation
///   is that of Σ_c Z_c. Both are sums over independent clusters, so for many of them both are the
///   same Gaussian process, and the value is one more draw;
/// - where outcomes are rare that is far off: a few clusters have all of Z, and turned signs break
///   up what the many others have in common.
///
/// The p-value is the larger of both. So the test has its level wherever one of them has.
///
/// # Bootstrap
/// As many clusters as there are, drawn with replacement; their total weight is divided out.
pub(super) struct ClusterDraws {
    parts: ClusterParts,
    outcomes: CorrelatedOutcomes,
    /// The cell and the weight of each row that the outcomes are drawn for.
    rows: Vec<(u32, f64)>,
}

/// Influence values, summed by cluster.
pub(super) struct OfClusters<'a>(pub(super) &'a ClusterParts);

impl Influences for OfClusters<'_> {
    fn variance(&self, grid: &Grid, slopes: &Slopes) -> f64 {
        deviation_of_sums(&self.0.influences(grid, slopes)).powi(2)
    }
}

impl ClusterDraws {
    /// The share of each cluster in the weight.
    fn shares(&self, grid: &Grid) -> impl Iterator<Item = f64> {
        self.parts.of_clusters().map(|parts| parts.iter().map(|part| part.weight).sum::<f64>() / grid.total_weight)
    }

    pub(super) fn new(grid: &Grid, points: &Points, link: &dyn Link, clusters: &Clusters) -> Self {
        let probabilities: Vec<(f64, f64)> = points.logits.iter().map(|logit| link.both(*logit)).collect();
        let weight = |row: usize| points.weight(row);
        let lagrange = Lagrange::new(grid.order);
        let place = |row: usize| (grid.place(&lagrange, points.logits[row]).0 as u32, points.weight(row));
        ClusterDraws {
            parts: ClusterParts::new(grid, points, link, clusters),
            outcomes: CorrelatedOutcomes::new(clusters, &probabilities, &points.outcomes, weight),
            rows: clusters.rows().iter().map(|row| place(*row)).collect(),
        }
    }

    /// ∫ |G| with the residuals of each cluster times a sign.
    fn signed(&self, grid: &Grid, signs: impl Iterator<Item = f64>) -> f64 {
        let surpluses = self.parts.sums(grid, |part| part.residual, signs);
        let mut residuals = grid.nodes.smooth(&add_by_place(grid, &surpluses));
        residuals.iter_mut().zip(&grid.expected).for_each(|(residual, expected)| *residual += expected);
        grid.nodes.integrate(&residuals)
    }
}

impl Draws for ClusterDraws {
    fn noise(&self, grid: &Grid) -> Noise {
        self.parts.noise(grid)
    }

    fn influences(&self) -> impl Influences {
        OfClusters(&self.parts)
    }

    fn moments(&self, grid: &Grid, slopes: &Slopes) -> Moments {
        let influences = self.parts.influences(grid, slopes);
        let moment = |power: i32| influences.iter().map(|influence| influence.powi(power)).sum::<f64>();
        Moments { deviation: deviation_of_sums(&influences), squares: moment(2), cubes: moment(3) }
    }

    fn squared_differences(&self, grid: &Grid) -> f64 {
        self.shares(grid).map(|share| share * share).sum()
    }

    fn largest_difference(&self, grid: &Grid) -> f64 {
        self.shares(grid).fold(0.0, f64::max)
    }

    fn calibrated_value(&self, grid: &Grid) -> f64 {
        grid.value_of_surpluses(grid.cells.iter().map(|cell| cell.sums.weight[1] - cell.sums.expected[0]))
    }

    fn calibrated_draw(&self, grid: &Grid, draw: u64) -> f64 {
        let mut surpluses: Vec<f64> = grid.cells.iter().map(|cell| -cell.sums.expected[0]).collect();
        let mut rows = self.rows.iter();
        self.outcomes.draw(draw, |outcome| {
            if let Some((cell, weight)) = rows.next().filter(|_| outcome) {
                surpluses[*cell as usize] += weight;
            }
        });
        grid.value_of_surpluses(surpluses.into_iter())
    }

    fn second_test<'a>(&'a self, grid: &'a Grid) -> Option<SecondTest<'a>> {
        let value = self.signed(grid, std::iter::repeat(1.0));
        Some(SecondTest { value, draw: Box::new(|draw| self.signed(grid, signs(draw))) })
    }

    fn bootstrap_draw(&self, grid: &Grid, draw: u64) -> f64 {
        let (mut uniforms, n) = (Uniforms::new(draw), self.parts.len());
        let mut counts = vec![0.0; n];
        (0..n).for_each(|_| counts[((uniforms.next() * n as f64) as usize).min(n - 1)] += 1.0);
        let weights = self.parts.sums(grid, |part| part.weight, counts.into_iter());
        let gaps = grid.gaps(|cell, outcome| weights[2 * cell + outcome] / grid.cells[cell].sums.weight[outcome]);
        grid.nodes.integrate(&gaps) / weights.iter().sum::<f64>()
    }
}
