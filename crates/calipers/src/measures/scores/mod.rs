//! Proper scores, which measure calibration and sharpness together.

mod brier;
mod log_loss;

pub(crate) use brier::ENTRY as BRIER;
pub use brier::{BrierScore, ScaleByHalf};
pub(crate) use log_loss::ENTRY as LOG_LOSS;
pub use log_loss::LogLoss;

use super::prelude::*;
use crate::cells::Summary;
use crate::data::{Distribution, Distributions, Scale};
use crate::inference::{Clusters, FEW_ROWS, LossDraws, Resampler};
use crate::measure::resampler_by_rows;
use crate::numerics::parallel;
use crate::sketch::Sketch;

/// What turns scores into probabilities, if they are none.
fn link_of(scale: Scale, link: &dyn Link) -> Option<&dyn Link> {
    match scale {
        Scale::Probability => None,
        Scale::LogOdds => Some(&Logistic),
        Scale::Link => Some(link),
    }
}

/// The cells of raw scores are those of the logistic link.
pub(super) fn check_link(sketch: &Sketch, link: &dyn Link) -> Result<(), Error> {
    if sketch.scale() == Some(Scale::Link) && link.name() != Logistic.name() {
        let rule = "\"logistic\" for the scores of a sketch of raw scores";
        return Err(Error::setting("link", rule, format!("{:?}", link.name())));
    }
    Ok(())
}

/// Resamples of the mean loss of many rows by cells, with the loss of a score by its outcome; of
/// few rows, or where a loss is infinite, row by row.
fn resampler_of_losses<'a, E: Measure>(
    measure: &'a E,
    view: &'a BinaryView<'a>,
    clusters: Option<&'a Clusters>,
    loss: impl Fn(f64, bool) -> f64 + Sync,
) -> Result<Box<dyn Resampler + 'a>, Error> {
    if clusters.is_none()
        && view.len() > FEW_ROWS
        && let Some(draws) = LossDraws::new(measure, view, loss)?
    {
        return Ok(Box::new(draws));
    }
    resampler_by_rows(measure, view, clusters)
}

/// A weighted mean over rows or cells.
struct Mean {
    value: f64,
    bound: f64,
    n_clipped: u64,
}

/// The weighted mean of `of_row` of score and outcome, which also returns whether the score was
/// clipped.
fn mean_of(view: &BinaryView<'_>, of_row: impl Fn(f64, bool) -> (f64, bool) + Sync) -> Result<Mean, Error> {
    let empty = || [Sum::default(); 3];
    let rows = Probabilities::of_scores(view)?;
    let sums = rows.sums(parallel::CHUNK, empty, |[sum, weights, n_clipped], score, outcome, weight| {
        let (value, clipped) = of_row(score, outcome);
        if weight > 0.0 {
            sum.add(weight * value);
            weights.add(weight);
        }
        n_clipped.add(f64::from(clipped));
    });
    let [sum, weights, n_clipped] = sums.map(Sum::value);
    Ok(Mean { value: sum / weights, bound: 0.0, n_clipped: n_clipped as u64 })
}

/// The weighted mean of `of_row` of the distribution and the label, which also returns whether the
/// probability was clipped.
fn mean_of_classes(
    rows: &Distributions<'_>,
    of_row: impl Fn(Distribution<'_>, usize) -> (f64, bool) + Sync,
) -> Result<Mean, Error> {
    let weights = rows.scaled_weights()?;
    let [sum, total, n_clipped] = parallel::sums(rows.len(), |range, [sum, total, n_clipped]| {
        for index in range {
            let (value, clipped) = of_row(rows.row(index), rows.label(index));
            if weights[index] > 0.0 {
                sum.add(weights[index] * value);
                total.add(weights[index]);
            }
            n_clipped.add(f64::from(clipped));
        }
    });
    Ok(Mean { value: sum / total, bound: 0.0, n_clipped: n_clipped as u64 })
}

/// The weighted mean of `of_cell`: a value, and a bound on its error.
fn mean_of_cells(sketch: &Sketch, of_cell: impl Fn(&Summary) -> (f64, f64)) -> Mean {
    let (mut value, mut bound) = (Sum::default(), Sum::default());
    for cell in sketch.summaries().filter(|cell| cell.weight > 0.0) {
        let (of_cell, price) = of_cell(&cell);
        value.add(cell.weight * of_cell);
        bound.add(cell.weight * price);
    }
    let total = sketch.total_units() as f64;
    Mean { value: value.value() / total, bound: bound.value() / total * (1.0 + 1e-9), n_clipped: 0 }
}
