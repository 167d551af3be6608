//! Whether the models of all files answer for the same rows, in the same order.

use super::Checked;
use crate::dataset::pairing::{self, Difference};
use crate::dataset::{Content, Dataset};

/// What stands in the way of comparing models pair by pair, in words; `None` if nothing does.
pub(super) fn obstacle(datasets: &[Dataset], checked: &[Vec<Checked<'_>>]) -> Option<String> {
    let mut all = Vec::new();
    for dataset in datasets {
        match &dataset.content {
            Content::Rows(batch) => all.push((dataset.file.name.display(), batch)),
            Content::Sketches(_) => {
                return Some(format!("{} is known by a sketch, which has lost its rows", dataset.file.name.display()));
            }
        }
    }
    let ((first, ours), others) = all.split_first()?;
    for (other, theirs) in others {
        let what = match pairing::difference(ours, theirs) {
            None => continue,
            Some(Difference::Rows(n, m)) => format!("{n} and {m} rows"),
            Some(Difference::Labels(unlike)) => {
                format!("the labels {} and {} in row {}", unlike.first, unlike.other, unlike.row)
            }
            Some(Difference::Weights(_) | Difference::NoWeights { .. }) => "different weights".to_owned(),
        };
        return Some(format!("{first} and {other} have {what}"));
    }
    let mut models = checked.iter().flatten();
    let first = models.next()?;
    let differ = models.any(|other| pairing::first_row_of_one(&first.predictions, &other.predictions).is_some());
    differ.then(|| "rows that are left out of one model are kept in another".to_owned())
}
