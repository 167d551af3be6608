//! JSON lines: an object for each row, whose keys are the columns. A key that is absent is as one that is null: missing.

mod object;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Result, bail};
use calipers::{Error, Invalid};

use super::text::{self, Block, Blocks, Cell, Cells, Content, Numbers, Records};
use super::{Extent, Part, Parts, Role, Stream, Table, open_file};
use object::{Found, Value};

/// Keys are looked for in so many rows: a column that begins later cannot be named.
const ROWS_WITH_KEYS: u64 = 1000;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

pub(crate) struct JsonLines {
    path: PathBuf,
    invalid: Invalid,
    names: Vec<String>,
    /// What columns of labels hold, as far as they have been read.
    contents: Vec<Content>,
    /// The byte at which the first row begins.
    start: u64,
}

impl JsonLines {
    pub(crate) fn open(path: &Path, invalid: Invalid) -> Result<Self> {
        let mut first = Vec::new();
        open_file(path)?.take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
        let start = if first == BYTE_ORDER_MARK { first.len() as u64 } else { 0 };
        let mut table = JsonLines { path: path.to_owned(), invalid, names: Vec::new(), contents: Vec::new(), start };
        let mut names: Vec<String> = Vec::new();
        table.each_row(ROWS_WITH_KEYS, |_, line, text| {
            object::each_key(text, |key| {
                if !names.iter().any(|name| name == key) {
                    names.push(key.to_owned());
                }
            })
            .map_err(|error| error.in_line(line, text))?;
            Ok(true)
        })?;
        if names.is_empty() {
            bail!("the file has no rows: each line must be an object, as {{\"prob\": 0.5, \"label\": 1}}");
        }
        table.contents = names.iter().map(|_| Content::default()).collect();
        table.names = names;
        Ok(table)
    }

    fn blocks(&self, limit: u64) -> Result<Blocks> {
        let file: File = open_file(&self.path)?;
        Blocks::new(file, Records::Lines, (self.start, 1), limit)
    }

    /// Hands on number, line and text of row after row, until there is enough.
    fn each_row(&self, limit: u64, mut take: impl FnMut(u64, u64, &[u8]) -> Result<bool>) -> Result<()> {
        let mut blocks = self.blocks(limit)?;
        while let Some(block) = blocks.next()? {
            for (row, (line, text)) in (block.first_row..).zip(block.lines()) {
                if !take(row, line, text)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The values of a row, for each wanted column: the length of the first list in the file, or 1.
    fn n_classes(&self, wanted: &[(usize, Role)], limit: u64) -> Result<Vec<usize>> {
        let mut lengths: Vec<Option<usize>> =
            wanted.iter().map(|(_, role)| (!role.may_have_classes()).then_some(1)).collect();
        let names: Vec<&str> = wanted.iter().map(|(place, _)| self.names[*place].as_str()).collect();
        self.each_row(limit, |row, line, text| {
            let found = Found::read(text, &names).map_err(|error| error.in_line(line, text))?;
            for (((length, raw), &(_, role)), name) in lengths.iter_mut().zip(found.values()).zip(wanted).zip(&names) {
                if length.is_some() {
                    continue;
                }
                *length = match Value::new(raw).map_err(|error| error.in_line(line, text))? {
                    Value::Cell(Cell::Missing) => None,
                    Value::List(list) => match list.items().count() {
                        0 => return Err(no_values(role, row, name).into()),
                        length => Some(length),
                    },
                    Value::Text(_) | Value::Cell(_) | Value::Object => Some(1),
                };
            }
            Ok(lengths.contains(&None))
        })?;
        Ok(lengths.into_iter().map(|length| length.unwrap_or(1)).collect())
    }
}

fn no_values(role: Role, row: u64, name: &str) -> Error {
    role.wrong_shape(format!("no values in row {row} of column {name}"))
}

impl Table for JsonLines {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn stream<'a>(&'a self, wanted: &'a [(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let n_bytes = open_file(&self.path)?.metadata().map_or(0, |metadata| metadata.len());
        Ok(Box::new(JsonStream {
            table: self,
            wanted,
            names: wanted.iter().map(|(place, _)| self.names[*place].as_str()).collect(),
            n_classes: self.n_classes(wanted, limit)?,
            blocks: Mutex::new(self.blocks(limit)?),
            contents: wanted.iter().map(|(place, _)| self.contents[*place].snapshot()).collect(),
            numbers: wanted.iter().map(|_| Numbers::default()).collect(),
            n_bytes: n_bytes.saturating_sub(self.start),
        }))
    }
}

struct JsonStream<'a> {
    table: &'a JsonLines,
    wanted: &'a [(usize, Role)],
    /// Of the wanted columns.
    names: Vec<&'a str>,
    n_classes: Vec<usize>,
    blocks: Mutex<Blocks>,
    /// What the columns are taken for in this reading.
    contents: Vec<Content>,
    numbers: Vec<Numbers>,
    n_bytes: u64,
}

impl Stream for JsonStream<'_> {
    fn extent(&self) -> Extent {
        Extent::Bytes(self.n_bytes)
    }

    fn parts(&self) -> Parts<'_> {
        text::parts(&self.blocks, |block| self.part(block))
    }

    fn finish(&self) -> Result<()> {
        for (numbers, &(place, role)) in self.numbers.iter().zip(self.wanted) {
            numbers.finish(role).map_err(|error| self.table.in_column(error, self.wanted, place))?;
        }
        Ok(())
    }
}

impl JsonStream<'_> {
    fn part(&self, block: &Block) -> Result<Part> {
        let (table, wanted) = (self.table, self.wanted);
        let cells = wanted.iter().zip(&self.n_classes).map(|(&(_, role), n_classes)| {
            Cells::new(role, table.invalid, block.first_row, block.n_rows as usize, *n_classes)
        });
        let mut columns: Vec<Cells> = cells.collect();
        for (row, (line, text)) in (block.first_row..).zip(block.lines()) {
            let found = Found::read(text, &self.names).map_err(|error| error.in_line(line, text))?;
            for (index, (column, raw)) in columns.iter_mut().zip(found.values()).enumerate() {
                let value = Value::new(raw).map_err(|error| error.in_line(line, text))?;
                let pushed = self.push(index, column, row, &value);
                pushed.map_err(|error| table.in_column(error, wanted, wanted[index].0))?;
            }
        }
        let mut finished = Vec::with_capacity(wanted.len());
        for ((cells, taken_for), &(place, _)) in columns.into_iter().zip(&self.contents).zip(wanted) {
            let column = cells.finish(taken_for, &table.contents[place])?;
            finished.push(column.map_err(|error| table.in_column(error, wanted, place))?);
        }
        Ok(Part { first_row: block.first_row, columns: finished, extent: block.bytes.len() as u64 })
    }

    fn push(&self, index: usize, column: &mut Cells, row: u64, value: &Value<'_>) -> Result<(), Error> {
        let (role, name, k, seen) =
            (self.wanted[index].1, self.names[index], self.n_classes[index], &self.numbers[index]);
        match value {
            Value::Object => Err(role.wrong_type(format!("an object in row {row} of column {name}"))),
            Value::List(_) if !role.may_have_classes() => {
                Err(role.wrong_shape(format!("a list in row {row} of column {name}")))
            }
            Value::List(list) => match list.items().count() {
                0 => Err(no_values(role, row, name)),
                length if length == k => column.push_all(row, list.items(), seen),
                length => Err(other_length(role, row, name, length, k)),
            },
            // In a column of lists a row without one is missing all of it.
            Value::Cell(Cell::Missing) if k > 1 => column.push_all(row, std::iter::repeat_n(Cell::Missing, k), seen),
            Value::Cell(_) | Value::Text(_) if k > 1 => Err(other_length(role, row, name, 1, k)),
            Value::Cell(cell) => column.push(row, *cell, seen),
            Value::Text(text) => column.push(row, Cell::Text(text), seen),
        }
    }
}

fn other_length(role: Role, row: u64, name: &str, length: usize, k: usize) -> Error {
    role.wrong_shape(format!("{length} values in row {row} of column {name} and {k} before it"))
}
