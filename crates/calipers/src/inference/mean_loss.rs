//! Resamples of a score of all classes: the mean over rows of a loss that depends on the predicted
//! distribution and on the label.

use std::sync::OnceLock;

use super::Clusters;
use super::resampler::{Resampler, drawn};
use super::rows::effective_rows;
use crate::Error;
use crate::data::{Distribution, Distributions};
use crate::numerics::parallel;
use crate::numerics::random::Uniforms;
use crate::numerics::sum::Sum;

/// The loss of a row, had it this label.
pub(crate) type Loss<'a> = Box<dyn Fn(Distribution<'_>, usize) -> f64 + Sync + 'a>;

/// The mean loss of rows of classes.
///
/// A bootstrap draw is a mean of losses that are known already. A calibrated draw gives each row a
/// label with its predicted probabilities, and asks for the loss of that label.
pub(crate) struct MeanLoss<'a> {
    rows: Distributions<'a>,
    loss: Loss<'a>,
    /// Of the labels that the rows have.
    losses: Vec<f64>,
    /// Divided by the largest.
    weights: Vec<f64>,
    clusters: Option<&'a Clusters>,
    range: (f64, f64),
    /// The sums of the first probability of a row, of the first two, and so on, row after row; made
    /// for the first calibrated draw.
    cumulative: OnceLock<Vec<f64>>,
}

impl<'a> MeanLoss<'a> {
    /// Requires at least one row with weight. `range` has the values that the score can have.
    pub(crate) fn new(
        rows: Distributions<'a>,
        clusters: Option<&'a Clusters>,
        range: (f64, f64),
        loss: Loss<'a>,
    ) -> Result<Self, Error> {
        let weights = rows.scaled_weights()?;
        let of_rows = |range: std::ops::Range<usize>| range.map(|row| loss(rows.row(row), rows.label(row))).collect();
        let losses: Vec<Vec<f64>> = parallel::map_chunks(rows.len(), parallel::CHUNK, of_rows);
        let (losses, cumulative) = (losses.concat(), OnceLock::new());
        Ok(MeanLoss { rows, loss, losses, weights, clusters, range, cumulative })
    }

    /// The weighted mean of losses of some rows; NaN where none has weight.
    fn mean(&self, losses: impl Iterator<Item = (usize, f64)>) -> f64 {
        let (mut sum, mut total) = (Sum::default(), Sum::default());
        for (row, loss) in losses.filter(|(row, _)| self.weights[*row] > 0.0) {
            sum.add(self.weights[row] * loss);
            total.add(self.weights[row]);
        }
        sum.value() / total.value()
    }

    fn cumulative(&self) -> &[f64] {
        self.cumulative.get_or_init(|| {
            let of_rows = |range: std::ops::Range<usize>| {
                let of_row = |row: usize| {
                    self.rows
                        .row(row)
                        .probabilities()
                        .scan(0.0, |sum, p| {
                            *sum += p;
                            Some(*sum)
                        })
                        .collect::<Vec<f64>>()
                };
                range.flat_map(of_row).collect::<Vec<f64>>()
            };
            parallel::map_chunks(self.rows.len(), parallel::CHUNK, of_rows).concat()
        })
    }
}

impl Resampler for MeanLoss<'_> {
    fn value(&self) -> f64 {
        self.mean(self.losses.iter().copied().enumerate())
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let of_row = |(row, cumulative): (usize, &[f64])| {
            // Rows sum to 1 up to their tolerance.
            let place = uniforms.next() * cumulative[cumulative.len() - 1];
            let label = cumulative.partition_point(|sum| *sum <= place).min(cumulative.len() - 1);
            (row, (self.loss)(self.rows.row(row), label))
        };
        self.mean(self.cumulative().chunks_exact(self.rows.n_classes()).enumerate().map(of_row))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let rows = match self.clusters {
            None => drawn(self.rows.len(), draw),
            Some(clusters) => clusters.drawn_rows(draw),
        };
        self.mean(rows.into_iter().map(|row| (row, self.losses[row])))
    }

    fn effective_rows(&self) -> f64 {
        effective_rows(&self.weights)
    }

    fn range(&self) -> (f64, f64) {
        self.range
    }

    fn floor_unavailable(&self) -> Option<&'static str> {
        self.clusters.map(|_| "rows of a cluster depend on each other, and so do the classes of a row")
    }
}
