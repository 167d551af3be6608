//! Whether two files have the same rows, in the same order, with the same weights.

use calipers::Predictions;

use super::batch::Batch;
use super::formats::Column;
use super::labels::first_difference;

/// The first thing in which the rows of two files differ, in words: `3 and 4 rows`.
pub(crate) fn difference(first: &Batch, other: &Batch) -> Option<String> {
    let (ours, theirs) = (first.labels.n_rows(), other.labels.n_rows());
    if ours != theirs {
        return Some(format!("{ours} and {theirs} rows"));
    }
    let differ = |what: &str, ours: &Column, theirs: &Column| {
        let (row, values) = first_difference(ours, theirs)?;
        Some(format!("the {what} {values} in {}", place(first, other, row)))
    };
    let weights = || match (&first.weights, &other.weights) {
        (Some(ours), Some(theirs)) => differ("weights", ours, theirs),
        (None, None) => None,
        _ => Some("weights in one of them only".to_owned()),
    };
    differ("labels", &first.labels, &other.labels).or_else(weights)
}

/// Where the same row is in two files, as people find it.
pub(crate) fn place(first: &Batch, other: &Batch, row: usize) -> String {
    match (first.place(row), other.place(row)) {
        (ours, theirs) if ours == theirs => ours,
        (ours, theirs) => format!("{ours} there and {theirs} here"),
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
