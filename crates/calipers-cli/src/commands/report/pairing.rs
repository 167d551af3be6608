//! Whether the models of all files have the same rows, in the same order.

use super::Checked;
use crate::dataset::{Content, Dataset, pairing};

/// Why models cannot be compared in pairs; `None` if they can.
pub(super) fn obstacle(datasets: &[Dataset], checked: &[Vec<Checked<'_>>]) -> Option<String> {
    let mut all = Vec::new();
    for dataset in datasets {
        match &dataset.content {
            Content::Rows(batch) => all.push((name(dataset), batch)),
            Content::Sketches(_) => {
                return Some(format!("{} is a sketch, which does not have the rows", name(dataset)));
            }
        }
    }
    let ((first, ours), others) = all.split_first()?;
    let different = others.iter().find_map(|(other, theirs)| Some((other, pairing::difference(ours, theirs)?)));
    if let Some((other, what)) = different {
        return Some(format!("{first} and {other} have {what}"));
    }
    let mut models = checked.iter().flatten();
    let first = models.next()?;
    let differ = models.any(|other| pairing::first_row_of_one(&first.predictions, &other.predictions).is_some());
    differ.then(|| "rows that are left out of one model are kept in another".to_owned())
}

/// The name of a file without its folders, which are nobody's business on a page that is shared.
fn name(dataset: &Dataset) -> String {
    let path = &dataset.file.name;
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
