//! Whether two files answer for the same rows, in the same order, which count as much.

use calipers::Predictions;

use super::batch::Batch;
use super::labels::{Unlike, first_difference};

/// Why rows of two files cannot be paired.
pub(crate) enum Difference {
    /// The numbers of rows.
    Rows(usize, usize),
    Labels(Unlike),
    Weights(Unlike),
    /// One of the two has weights.
    NoWeights {
        in_first: bool,
    },
}

/// The first thing in which the rows of two files differ.
pub(crate) fn difference(first: &Batch, other: &Batch) -> Option<Difference> {
    let (ours, theirs) = (first.labels.n_rows(), other.labels.n_rows());
    if ours != theirs {
        return Some(Difference::Rows(ours, theirs));
    }
    if let Some(unlike) = first_difference(&first.labels, &other.labels) {
        return Some(Difference::Labels(unlike));
    }
    match (&first.weights, &other.weights) {
        (Some(ours), Some(theirs)) => first_difference(ours, theirs).map(Difference::Weights),
        (None, None) => None,
        (ours, _) => Some(Difference::NoWeights { in_first: ours.is_none() }),
    }
}

/// The first row that was left out of one of two models and kept in the other, and whether the
/// first kept it.
pub(crate) fn first_row_of_one(first: &Predictions<'_>, other: &Predictions<'_>) -> Option<(usize, bool)> {
    let kept =
        |predictions: &Predictions<'_>, place: usize| (place < predictions.len()).then(|| predictions.row(place));
    let mut pairs = (0..first.len().max(other.len())).map(|place| (kept(first, place), kept(other, place)));
    match pairs.find(|(ours, theirs)| ours != theirs)? {
        // The smaller is in one of the two alone.
        (Some(ours), Some(theirs)) if ours < theirs => Some((ours, true)),
        (Some(ours), None) => Some((ours, true)),
        (_, theirs) => theirs.map(|theirs| (theirs, false)),
    }
}
