//! Rows by fold: which rows are held out together where sketches stand for them.

use calipers::Error;
use calipers::recalibrate::fold_of;

use super::batch::Batch;
use super::groups::RowGroups;

/// The column of folds in a file of sketches.
pub(crate) const FOLD: &str = "fold";

/// The folds of the rows of a batch. Rows of a cluster are in the same one, in all files; without
/// clusters the fold of a row is decided by its number in the file.
pub(super) fn row_folds(batch: &Batch, first_row: u64, n_folds: usize) -> Result<RowGroups, Error> {
    let fold = |row: usize| {
        let number = first_row + row as u64;
        let fold = match &batch.clusters {
            Some(column) if column.is_missing(row) => return Err(Error::Missing { what: "cluster", row: number }),
            Some(column) => fold_of(column.text(row).as_bytes(), n_folds),
            None => fold_of(&number.to_le_bytes(), n_folds),
        };
        Ok(fold as u64)
    };
    let folds = (0..batch.labels.n_rows()).map(fold).collect::<Result<Vec<u64>, Error>>()?;
    Ok(RowGroups::of_numbers(&folds))
}
