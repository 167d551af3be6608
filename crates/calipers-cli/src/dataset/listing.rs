//! What is in a file, before anything of it is measured.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use calipers::Invalid;

use super::files::InputFile;
use super::formats::{self, Column, Extent, Format, Role, Table};
use super::sketches::Sketches;

/// The type of a column of text is that of so many rows.
const ROWS_FOR_TYPES: u64 = 1000;

/// Values that are listed of each column.
const N_VALUES: usize = 4;

/// A file and what is in it.
pub(crate) struct Listing {
    pub(crate) file: InputFile,
    pub(crate) format: Format,
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
    /// `None` where one is missing.
    pub(crate) values: Vec<Option<String>>,
}

impl Listing {
    pub(crate) fn new(file: InputFile, limit: u64) -> Result<Self> {
        if file.is_sketch() {
            let sketches = Sketches::read(&file.path)?;
            let (n_rows, columns, sketches) = (sketches.all.n(), Vec::new(), Some(sketches));
            return Ok(Listing { file, format: Format::Sketch, n_rows, noun: "column", columns, sketches });
        }
        let format = file.format()?;
        let table = formats::open(&file.path, format, Invalid::Count)?;
        let columns = (0..table.names().len()).map(|place| column(&*table, place, limit)).collect();
        let n_rows = n_rows(&*table, limit)?;
        Ok(Listing { file, format, n_rows, noun: table.noun(), columns, sketches: None })
    }
}

/// Of the first column, which has as many as all.
fn n_rows(table: &dyn Table, limit: u64) -> Result<u64> {
    let wanted = [(0, role_of(table, 0))];
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

/// Any plain column can be read as what tells groups apart; those of lists are numbers.
fn role_of(table: &dyn Table, place: usize) -> Role {
    match formats::collect(table, &[(place, Role::Groups)], 1, u64::MAX) {
        Ok(_) => Role::Groups,
        Err(_) => Role::Logits,
    }
}

fn column(table: &dyn Table, place: usize, limit: u64) -> ListedColumn {
    let wanted = [(place, role_of(table, place))];
    // What cannot be read has no values to show, and its type shows why.
    let read = formats::collect(table, &wanted, limit.min(ROWS_FOR_TYPES), u64::MAX).ok().flatten();
    let column = read.and_then(|columns| columns.into_iter().next());
    let type_name = table.type_name(place).unwrap_or_else(|| column.as_ref().map_or("-", type_of_text).to_owned());
    let values = column.as_ref().map_or_else(Vec::new, |column| {
        (0..column.n_rows().min(N_VALUES)).map(|row| (!column.is_missing(row)).then(|| value(column, row))).collect()
    });
    ListedColumn { name: table.names()[place].clone(), type_name, values }
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
        () if all(|value| value == "true" || value == "false") => "true and false",
        () => "text",
    }
}
