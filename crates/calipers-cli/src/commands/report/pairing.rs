//! Whether the models of all files answer for the same rows, in the same order.

use super::read::{Checked, Content, InMemory, Opened};
use crate::dataset::batch;

/// What stands in the way of comparing models pair by pair, in words; `None` if nothing does.
pub(super) fn obstacle(opened: &[Opened], checked: &[Vec<Checked<'_>>]) -> Option<String> {
    let mut all: Vec<(&Opened, &InMemory)> = Vec::new();
    for opened in opened {
        match &opened.content {
            Content::Rows(rows) => all.push((opened, rows)),
            Content::Sketches(_) => {
                return Some(format!("{} is known by a sketch, which has lost its rows", opened.file.display()));
            }
        }
    }
    let ((first, ours), others) = all.split_first()?;
    for (other, theirs) in others {
        let names = format!("{} and {}", first.file.display(), other.file.display());
        let (n, m) = (ours.labels.n_rows(), theirs.labels.n_rows());
        if n != m {
            return Some(format!("{names} have {n} and {m} rows"));
        }
        if let Some((row, a, b)) = batch::first_difference(&ours.labels, &theirs.labels) {
            return Some(format!("{names} have the labels {a} and {b} in row {row}"));
        }
        match (ours.loaded.weights(), theirs.loaded.weights()) {
            (None, None) => {}
            (Some(a), Some(b)) if batch::first_difference(a, b).is_none() => {}
            _ => return Some(format!("{names} have different weights")),
        }
    }
    let kept =
        |rows: &Checked<'_>| (0..rows.predictions.len()).map(|place| rows.predictions.row(place)).collect::<Vec<_>>();
    let mut models = checked.iter().flatten();
    let first = models.next().map(kept);
    let same = models.all(|rows| Some(kept(rows)) == first);
    (!same).then(|| "rows that are left out of one model are kept in another".to_owned())
}
