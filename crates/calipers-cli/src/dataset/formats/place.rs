//! Where a row is, as people find it: the line of a text file, else its number.

use std::fmt;

use calipers::Error;

use super::Table;

/// A row of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Its number, from 0, in a file that has no lines.
    Row(u64),
    /// The line on which it begins, from 1, header and all.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Row(row) => write!(f, "row {row} (counting from 0)"),
            Place::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// An error of the core in a row of a file.
#[derive(Debug)]
pub(crate) struct AtPlace {
    pub(crate) error: Error,
    place: String,
}

impl AtPlace {
    pub(crate) fn new(error: Error, place: String) -> Self {
        AtPlace { error, place }
    }
}

impl fmt::Display for AtPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error.text_at(&self.place))
    }
}

impl std::error::Error for AtPlace {}

/// An error of the core, whose row is that of the table.
pub(crate) fn located(error: Error, table: &dyn Table) -> anyhow::Error {
    match error.row() {
        Some(row) => AtPlace::new(error, table.place(row)).into(),
        None => error.into(),
    }
}

/// The numbers in the file of rows that are in memory: they begin anew where another file of a
/// folder does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbering {
    /// Rows in memory, and the number in the file of the first of them.
    runs: Vec<(u64, u64)>,
}

impl Numbering {
    /// Adds rows of a file to the first `n_rows`.
    pub(crate) fn push(&mut self, n_rows: u64, first_row: u64) {
        if self.number(n_rows) != first_row {
            self.runs.push((n_rows, first_row));
        }
    }

    pub(crate) fn number(&self, row: u64) -> u64 {
        let run = self.runs.iter().rev().find(|(start, _)| *start <= row);
        run.map_or(row, |(start, first_row)| first_row + (row - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_memory_have_the_numbers_of_their_files() {
        let mut numbering = Numbering::default();
        for (n_rows, first_row) in [(0, 0), (10, 10), (20, 1000), (25, 1005), (30, 5000)] {
            numbering.push(n_rows, first_row);
        }
        assert_eq!(numbering.runs.len(), 2);
        let found = [0, 9, 19, 20, 29, 30, 31].map(|row| numbering.number(row));
        assert_eq!(found, [0, 9, 19, 1000, 1009, 5000, 5001]);
    }
}
