//! Rows by fold: which rows are held out together where sketches stand for them.

use std::collections::BTreeMap;

use calipers::Error;
use calipers::recalibrate::fold_of;

use super::batch::Batch;
use super::groups::key;

/// The column of folds in a file of sketches.
pub(crate) const FOLD: &str = "fold";

/// The rows of a batch by their fold. Rows of a cluster are in the same one, in all files; without
/// clusters the fold of a row is decided by its number in the file.
pub(super) fn rows_of_folds(
    batch: &Batch,
    first_row: u64,
    n_folds: usize,
) -> Result<BTreeMap<String, Vec<usize>>, Error> {
    let mut folds: Vec<Vec<usize>> = vec![Vec::new(); n_folds];
    for row in 0..batch.labels.n_rows() {
        let number = first_row + row as u64;
        let fold = match &batch.clusters {
            Some(column) if column.is_missing(row) => return Err(Error::Missing { what: "cluster", row: number }),
            Some(column) => fold_of(key(column, row).as_bytes(), n_folds),
            None => fold_of(&number.to_le_bytes(), n_folds),
        };
        folds[fold].push(row);
    }
    let with_rows = folds.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    Ok(with_rows.map(|(fold, rows)| (fold.to_string(), rows)).collect())
}
