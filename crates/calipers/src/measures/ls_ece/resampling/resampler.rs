//! A resampler on the grid, of independent rows or of clusters of rows.

use super::super::Integrand;
use super::bracket;
use super::bracket::Influences;
use super::grid::{Grid, Noise};
use super::slopes::Slopes;
use crate::inference::{Bracket, Enclosure, PartBrackets, RareDraws, Resampler, SecondTest};

/// The part in which resamples of rows and of clusters differ.
pub(super) trait Draws: Send + Sync {
    /// The noise of G at every node.
    fn noise(&self, grid: &Grid) -> Noise;

    /// The variance of integrals from influence values.
    fn influences(&self) -> impl Influences;

    /// Σ l² and Σ l³ of the influence values l of rows or clusters, and the standard deviation of
    /// their sum.
    fn moments(&self, grid: &Grid, slopes: &Slopes) -> Moments;

    /// Σ c², c the most by which the outcomes of a row or a cluster can move the measure.
    fn squared_differences(&self, grid: &Grid) -> f64;

    /// The largest such c.
    fn largest_difference(&self, grid: &Grid) -> f64;

    /// The measure of the outcomes as they are, by the way of a draw.
    fn calibrated_value(&self, grid: &Grid) -> f64;

    /// The measure of outcomes drawn from the predictions.
    fn calibrated_draw(&self, grid: &Grid, draw: u64) -> f64;

    /// The same of the paper's form, and of the residual form of the same outcomes.
    fn calibrated_pair(&self, _: &Grid, _draw: u64) -> Option<(f64, f64)> {
        None
    }

    /// The measure of rows or clusters drawn with replacement.
    fn bootstrap_draw(&self, grid: &Grid, draw: u64) -> f64;

    /// Another test of calibration, where there is one.
    fn second_test<'a>(&'a self, _: &'a Grid) -> Option<SecondTest<'a>> {
        None
    }

    /// Draws that often reach values of a small probability, where there are any.
    fn rare_draws<'a>(&'a self, _: &'a Grid, _level: f64) -> Option<RareDraws<'a>> {
        None
    }
}

/// Moments of influence values.
pub(super) struct Moments {
    pub(super) deviation: f64,
    pub(super) squares: f64,
    pub(super) cubes: f64,
}

/// LS-ECE, or its residual form, of resamples.
pub(super) struct GridResampler<D> {
    grid: Grid,
    draws: D,
    enclosure: Enclosure,
    bracket: Bracket,
    calibrated_value: f64,
    moments: Moments,
}

impl<D: Draws> GridResampler<D> {
    pub(super) fn new(grid: Grid, draws: D) -> Self {
        let slopes = Slopes::new(&grid, &grid.nodes.signs(&grid.residuals));
        let enclosure = grid.enclose(&draws.noise(&grid));
        let bracket = bracket::of_enclosure(&grid, &enclosure, &draws.influences());
        GridResampler {
            bracket,
            calibrated_value: draws.calibrated_value(&grid),
            moments: draws.moments(&grid, &slopes),
            enclosure,
            draws,
            grid,
        }
    }
}

impl<D: Draws> Resampler for GridResampler<D> {
    fn value(&self) -> f64 {
        self.grid.value
    }

    fn calibrated_value(&self) -> f64 {
        self.calibrated_value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        self.draws.calibrated_draw(&self.grid, draw)
    }

    fn calibrated_pair(&self, draw: u64) -> Option<(f64, f64)> {
        self.draws.calibrated_pair(&self.grid, draw).filter(|_| self.grid.integrand == Integrand::Paper)
    }

    fn second_test(&self) -> Option<SecondTest<'_>> {
        self.draws.second_test(&self.grid)
    }

    fn rare_draws(&self, level: f64) -> Option<RareDraws<'_>> {
        self.draws.rare_draws(&self.grid, level)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.draws.bootstrap_draw(&self.grid, draw)
    }

    fn influence_deviation(&self) -> Option<f64> {
        Some(self.moments.deviation)
    }

    fn bracket(&self) -> Option<Bracket> {
        Some(self.bracket)
    }

    fn parts(&self) -> Option<PartBrackets> {
        bracket::parts(&self.grid, &self.enclosure, &self.draws.influences())
    }

    fn smoothing_alone(&self) -> Option<f64> {
        Some(self.grid.nodes.integrate(&self.grid.expected))
    }

    fn squared_differences(&self) -> Option<f64> {
        Some(self.draws.squared_differences(&self.grid))
    }

    fn largest_difference(&self) -> Option<f64> {
        Some(self.draws.largest_difference(&self.grid))
    }

    /// Σ l³ / 6 (Σ l²)^(3/2).
    fn acceleration(&self) -> Option<f64> {
        let Moments { squares, cubes, .. } = self.moments;
        // A variance that is rounding alone has no skewness.
        Some(if squares > 1e-30 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 })
    }

    fn effective_rows(&self) -> f64 {
        self.grid.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}
