//! Resamples of LS-ECE on a grid, whose cost does not grow with the number of rows.
//!
//! ```text
//! Points of rows or of cells -> panels (sums by panel) -> nodes (convolution, ∫|G|) -> Grid -> slopes (influence values)
//!                                                                                         -> rows (draws of independent rows)
//!                                                                                         -> clusters (draws of clusters)
//! ```
//! G is linear in the masses by outcome, and rows of a panel, which is narrow against sigma, are
//! all but alike. So a resample takes one random number for each panel (and outcome) in place of
//! one for each row:
//! - outcomes drawn from the predictions: the sum of w (y - p) over a panel is a binomial number,
//!   standardised and brought to the variance Σ w² p (1 - p). The number of its tries is that of
//!   the rows, or under weights next to the effective one, (Σw)² / Σw²;
//! - rows drawn with replacement: every row counts a Poisson number of times with mean 1 and the
//!   total is divided out, so that the weight of a panel and outcome is that of a Poisson number
//!   with the effective number of rows as mean.
//!
//! Counts above a mean of 20 are normal numbers (`numerics/counts.rs`). What the grid itself costs
//! is in `spacing.rs`.

mod bracket;
mod clusters;
mod gaps_at_rows;
mod grid;
mod nodes;
mod panels;
mod patches;
mod resampler;
mod rows;
mod slopes;
mod spacing;
mod tilted;

use super::LsEce;
use super::points::Points;
use super::saturated::Clamped;
use crate::Error;
use crate::data::BinaryView;
use crate::inference::{Clusters, End, Resampler, RowBracket, RowEnd};
use crate::sketch::Sketch;
use bracket::Influences;
use clusters::{ClusterDraws, ClusterParts, OfClusters};
pub(crate) use gaps_at_rows::OfGaps;
use grid::Grid;
use panels::Origin;
use resampler::GridResampler;
use rows::{OfRows, RowDraws};
use slopes::Slopes;

/// Points on their grid.
struct OnGrid {
    points: Points,
    grid: Grid,
}

/// Resamples of independent rows that stand together in cells. Those of a cell count as equally
/// heavy, since a sketch has the sum of their squared weights, and not each weight.
fn resampler_of_cells(grid: Grid) -> Box<dyn Resampler> {
    let draws = RowDraws::new(&grid);
    Box::new(GridResampler::new(grid, draws))
}

impl LsEce {
    /// The resampler on a grid; `None` where rows have to be resampled one by one.
    pub(super) fn grid_resampler(&self, view: &BinaryView<'_>) -> Result<Option<Box<dyn Resampler>>, Error> {
        self.check_settings()?;
        if let Some(rows) = view.plain()
            && let Some(by_cells) = self.atoms_of_cells(rows)?
        {
            let grid = self.grid_of(&by_cells.atoms.points, Origin::Cells { row_weights: None }, by_cells.sigma)?;
            return Ok(grid.map(resampler_of_cells));
        }
        let Some(OnGrid { points, grid }) = self.on_grid(view)? else { return Ok(None) };
        let draws = RowDraws::of_points(&grid, &points, &*self.link);
        Ok(Some(Box::new(GridResampler::new(grid, draws))))
    }

    /// The same for clusters of rows.
    pub(super) fn grid_cluster_resampler(
        &self,
        view: &BinaryView<'_>,
        clusters: &Clusters,
    ) -> Result<Option<Box<dyn Resampler>>, Error> {
        let Some(OnGrid { points, grid }) = self.on_grid(view)? else { return Ok(None) };
        let draws = ClusterDraws::new(&grid, &points, &*self.link, clusters);
        Ok(Some(Box::new(GridResampler::new(grid, draws))))
    }

    /// The same for the rows of a sketch, which are in its cells.
    pub(super) fn grid_sketch_resampler(&self, sketch: &Sketch) -> Result<Box<dyn Resampler>, Error> {
        sketch.check_rows()?;
        self.check_settings()?;
        let (atoms, sigma) = self.atoms_of_sketch(sketch)?;
        let row_weights: Option<Vec<f64>> =
            sketch.is_weighted().then(|| atoms.row_weights.iter().map(|weight| weight * sketch.unit()).collect());
        let origin = Origin::Cells { row_weights: row_weights.as_deref() };
        Ok(resampler_of_cells(self.grid_of(&atoms.points, origin, sigma)?.ok_or_else(|| self.no_grid())?))
    }

    /// The bracket with the influence of each row on either end: its share of the weight times its
    /// influence; `None` without a grid.
    pub(super) fn row_bracket_of(
        &self,
        view: &BinaryView<'_>,
        clusters: Option<&Clusters>,
    ) -> Result<Option<RowBracket>, Error> {
        let Some(OnGrid { points, grid }) = self.on_grid(view)? else { return Ok(None) };
        let parts = clusters.map(|clusters| ClusterParts::new(&grid, &points, &*self.link, clusters));
        let of_clusters = parts.as_ref().map(OfClusters);
        let of_parts: &dyn Influences = match &of_clusters {
            None => &OfRows,
            Some(of_clusters) => of_clusters,
        };
        let found = grid.enclose(&parts.as_ref().map_or_else(|| grid.noise(), |parts| parts.noise(&grid)));
        let slopes = [&found.lower, &found.upper].map(|end| Slopes::of_weights(&grid, &end.weights));
        let [of_lower, of_upper] = Slopes::all_of_points(slopes.each_ref(), &grid, &points, &*self.link);
        let end = |end: &End, mut influences: Vec<f64>| {
            influences.iter_mut().enumerate().for_each(|(row, influence)| *influence *= points.share(row));
            let lacking = end.quiet.as_ref().map_or(0.0, |quiet| bracket::lacking(&grid, quiet, of_parts));
            RowEnd { value: end.value, influences, lacking }
        };
        let (lower, upper) = (end(&found.lower, of_lower), end(&found.upper, of_upper));
        let (corrected, debiased) = (found.corrected, found.debiased);
        Ok(Some(RowBracket { value: grid.value, lower, upper, corrected, debiased }))
    }

    fn on_grid(&self, view: &BinaryView<'_>) -> Result<Option<OnGrid>, Error> {
        let (points, sigma) = self.points(view)?;
        let kernel = self.kernel(sigma);
        let points = match kernel.clamped(&points, self.integrand)? {
            Some(Clamped { points, .. }) => points,
            None => points,
        };
        Ok(Grid::new(&points, Origin::Rows, &kernel, self.integrand).map(|grid| OnGrid { points, grid }))
    }

    fn grid_of(&self, points: &Points, origin: Origin<'_>, sigma: f64) -> Result<Option<Grid>, Error> {
        let kernel = self.kernel(sigma);
        Ok(match kernel.clamped(points, self.integrand)? {
            Some(Clamped { points, .. }) => Grid::new(&points, origin, &kernel, self.integrand),
            None => Grid::new(points, origin, &kernel, self.integrand),
        })
    }

    fn no_grid(&self) -> Error {
        let rule = "one whose tail and smoothness allow a grid, and sigma not too small for the span of the logits";
        Error::setting("noise", rule, self.noise.name())
    }

    /// The influence of each row on the measure: the derivative of LS-ECE when the row's share of
    /// the weight grows.
    ///
    /// # Definition
    /// ```text
    /// IF_i = ∫ sign(G(u)) (y_i - ρ(u)) K(u - h_i) du - LS-ECE
    /// ```
    /// or in the residual form with p_i in place of ρ(u), at the sigma of these rows. Σ s_i IF_i is
    /// 0, and the standard error of the measure is √Σ (s_i IF_i)², with s_i the shares of the
    /// weight. Sums within clusters and differences between models on the same rows give theirs. A
    /// row of weight 0 has the value 0.
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
        let OnGrid { points, grid } = self.on_grid(view)?.ok_or_else(|| self.no_grid())?;
        Ok(Slopes::new(&grid, &grid.nodes.signs(&grid.residuals)).of_points(&grid, &points, &*self.link))
    }
}
