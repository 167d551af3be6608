//! What is in a file, before anything of it is measured.

use std::sync::atomic::{AtomicU64, Ordering};

use super::classes;
use super::files::InputFile;
use super::formats::{self, AtPlace, Column, Compression, Dialect, Extent, Format, Reading, Role, Table, with_point};
use super::names::{CONFIDENCE, CORRECT, LABEL, LOGIT, PREDICTED, PROBABILITY, WEIGHT};
use super::sketches::Sketches;
use anyhow::Result;
use calipers::Error;

/// The type of a column of text is that of so many rows.
const ROWS_FOR_TYPES: u64 = 1000;

/// And of no more cells of all columns.
const CELLS_FOR_TYPES: u64 = 1 << 20;

/// So often a file is read, where columns have faults.
const MOST_READINGS: u32 = 256;

/// Values that are listed of each column.
const N_VALUES: usize = 4;

/// A file and what is in it.
pub(crate) struct Listing {
    pub(crate) file: InputFile,
    /// `None` for a folder, whose files may be of several.
    pub(crate) format: Option<Format>,
    /// How text is written, as it was given or as the file shows it.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) compression: Option<Compression>,
    pub(crate) n_rows: u64,
    /// What a column is called in such a file.
    pub(crate) noun: &'static str,
    pub(crate) columns: Vec<ListedColumn>,
    /// In place of columns.
    pub(crate) sketches: Option<Sketches>,
}

/// A column and its first values.
pub(crate) struct ListedColumn {
    pub(crate) name: String,
    pub(crate) type_name: String,
    /// What its name tells that it is.
    pub(crate) role: Option<&'static str>,
    /// `None` where one is missing.
    pub(crate) values: Vec<Option<String>>,
}

impl Listing {
    pub(crate) fn new(file: InputFile, reading: &Reading, limit: u64) -> Result<Self> {
        if file.is_sketch() {
            let sketches = Sketches::open(&file)?;
            let (n_rows, columns, sketches) = (sketches.n(), Vec::new(), Some(sketches));
            let (format, noun, dialect, compression) = (Some(Format::Sketch), "column", None, None);
            return Ok(Listing { file, format, dialect, compression, n_rows, noun, columns, sketches });
        }
        let format = if file.is_folder() { None } else { Some(file.format()?) };
        let table = file.open_table(reading)?;
        let mut columns = columns(&*table, limit);
        let of_classes = classes::guessed(&*table).map_or_else(Vec::new, |(found, _)| found.places);
        of_classes.into_iter().for_each(|place| columns[place].role = Some("class"));
        let n_rows = n_rows(&*table, limit)?;
        let (dialect, compression, noun) = (table.dialect(), table.compression(), table.noun());
        Ok(Listing { file, format, dialect, compression, n_rows, noun, columns, sketches: None })
    }
}

/// Of the first column that can be read, which has as many as all.
fn n_rows(table: &dyn Table, limit: u64) -> Result<u64> {
    let readable = (0..table.names().len()).find_map(|place| Some((place, table.listed_role(place)?)));
    let wanted: Vec<(usize, Role)> = readable.into_iter().collect();
    if let Extent::Rows(n_rows) = table.stream(&wanted, limit)?.extent() {
        return Ok(n_rows);
    }
    let count = formats::for_each(
        table,
        &wanted,
        limit,
        |_| AtomicU64::new(0),
        |count, part| {
            count.fetch_add(part.n_rows() as u64, Ordering::Relaxed);
            Ok(())
        },
    );
    Ok(count?.into_inner())
}

/// All columns, of which the file is read once.
fn columns(table: &dyn Table, limit: u64) -> Vec<ListedColumn> {
    let n_columns = table.names().len();
    let n_rows = (CELLS_FOR_TYPES / n_columns.max(1) as u64).clamp(N_VALUES as u64, ROWS_FOR_TYPES).min(limit);
    let readable = (0..n_columns).filter_map(|place| Some((place, table.listed_role(place)?)));
    let mut read: Vec<Option<Column>> = (0..n_columns).map(|_| None).collect();
    read_columns(table, &readable.collect::<Vec<_>>(), n_rows, &mut MOST_READINGS.clone(), &mut read);
    read.into_iter().enumerate().map(|(place, column)| listed(table, place, column.as_ref())).collect()
}

/// Reads columns together; where one has a fault, in halves, so that all others are read. What
/// cannot be read has no values to show, and its type shows why.
fn read_columns(
    table: &dyn Table,
    wanted: &[(usize, Role)],
    n_rows: u64,
    n_left: &mut u32,
    read: &mut [Option<Column>],
) {
    if wanted.is_empty() || *n_left == 0 {
        return;
    }
    *n_left -= 1;
    match formats::collect(table, wanted, n_rows, u64::MAX) {
        Ok(Some(found)) => {
            for ((place, _), column) in wanted.iter().zip(found.columns) {
                read[*place] = Some(column);
            }
        }
        // Other faults are those of all columns, such as a row with too few cells.
        Err(error) if wanted.len() > 1 && (error.is::<Error>() || error.is::<AtPlace>()) => {
            let (first, second) = wanted.split_at(wanted.len() / 2);
            read_columns(table, first, n_rows, n_left, read);
            read_columns(table, second, n_rows, n_left, read);
        }
        Ok(None) | Err(_) => {}
    }
}

fn listed(table: &dyn Table, place: usize, column: Option<&Column>) -> ListedColumn {
    let type_name = table.type_name(place).unwrap_or_else(|| column.map_or("-", type_of_text).to_owned());
    let values = column.map_or_else(Vec::new, |column| {
        (0..column.n_rows().min(N_VALUES)).map(|row| (!column.is_missing(row)).then(|| value(column, row))).collect()
    });
    let name = table.names()[place].clone();
    ListedColumn { role: role_by_name(&name), name, type_name, values }
}

fn role_by_name(name: &str) -> Option<&'static str> {
    let usual = [PROBABILITY, LOGIT, CONFIDENCE, CORRECT, LABEL, PREDICTED, WEIGHT];
    usual.iter().find(|usual| usual.fits(name)).map(|usual| usual.what)
}

/// A value, or all of a row.
fn value(column: &Column, row: usize) -> String {
    match column.n_classes {
        1 => column.values.display(row),
        k => {
            let values: Vec<String> = (row * k..(row + 1) * k).map(|place| column.values.display(place)).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

fn type_of_text(column: &Column) -> &'static str {
    if column.n_classes > 1 {
        return "lists of numbers";
    }
    let values = || (0..column.n_rows()).filter(|row| !column.is_missing(*row)).map(|row| column.values.display(row));
    let all = |is: fn(&str) -> bool| values().all(|value| is(&value));
    match () {
        () if values().next().is_none() => "empty",
        () if all(|value| value.parse::<i64>().is_ok()) => "integers",
        () if all(|value| value.parse::<f64>().is_ok()) => "numbers",
        () if all(|value| value.parse::<f64>().is_ok() || with_point(value).is_some()) => {
            "numbers with a decimal comma"
        }
        () if all(|value| ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word))) => "true and false",
        () => "text",
    }
}
