//! JSON lines: an object for each row, whose keys are the columns. A key that is absent is as one
//! that is null: missing.

mod object;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};
use calipers::Error;

use super::text::{self, Block, Cell, Cells, Records, TextFormat, TextStream, TextTable};
use super::{Place, Reading, Role};
use object::{Found, Kind, Value, Wanted};

/// Keys are looked for in so many rows: a column that begins later cannot be named.
const ROWS_WITH_KEYS: u64 = 1000;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An object a line.
#[derive(Default)]
pub(crate) struct JsonLines {
    /// For each column, what the first value of it is that is not null.
    kinds: Vec<Kind>,
}

pub(crate) fn open(path: &Path, reading: &Reading) -> Result<TextTable<JsonLines>> {
    let mut first = Vec::new();
    text::source(path, reading.expansion(path))?.take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
    let start = if first == BYTE_ORDER_MARK { first.len() as u64 } else { 0 };
    let table = TextTable::new(JsonLines::default(), path, reading, (start, 1));
    let (mut names, mut kinds, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    table.each_row(ROWS_WITH_KEYS, |line, text| {
        object::each_key(text, |key, kind| {
            let place = *places.entry(key.to_owned()).or_insert_with(|| {
                names.push(key.to_owned());
                kinds.push(Kind::Null);
                names.len() - 1
            });
            if kinds[place] == Kind::Null {
                kinds[place] = kind;
            }
        })
        .map_err(|error| error.in_line(line, text))?;
        Ok(true)
    })?;
    if names.is_empty() {
        bail!("the file has no rows: each line must be an object, as {{\"prob\": 0.5, \"label\": 1}}");
    }
    Ok(table.with_format(JsonLines { kinds }).with_names(names))
}

impl TextTable<JsonLines> {
    /// Hands on line and text of row after row, until there is enough.
    fn each_row(&self, limit: u64, mut take: impl FnMut(u64, &[u8]) -> Result<bool>) -> Result<()> {
        let mut blocks = self.blocks(limit)?;
        while let Some(block) = blocks.next()? {
            for (line, text) in block.lines() {
                if !take(line, text)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn wanted_names(&self, wanted: &[(usize, Role)]) -> Wanted<'_> {
        Wanted::new(wanted.iter().map(|(place, _)| self.names[*place].as_str()))
    }
}

impl TextFormat for JsonLines {
    fn records(&self) -> Records {
        Records::Lines
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        match self.kinds.get(place)? {
            Kind::List => Some(Role::Logits),
            Kind::Object => None,
            Kind::Null | Kind::Plain => Some(Role::Groups),
        }
    }

    /// The length of the first list in the file, or 1.
    fn n_classes(&self, table: &TextTable<Self>, wanted: &[(usize, Role)], limit: u64) -> Result<Vec<usize>> {
        let mut lengths: Vec<Option<usize>> =
            wanted.iter().map(|(_, role)| (!role.may_have_classes()).then_some(1)).collect();
        let names = table.wanted_names(wanted);
        table.each_row(limit, |line, text| {
            let found = Found::read(text, &names).map_err(|error| error.in_line(line, text))?;
            for (((length, raw), &(_, role)), name) in
                lengths.iter_mut().zip(found.values()).zip(wanted).zip(names.iter())
            {
                if length.is_some() {
                    continue;
                }
                *length = match Value::new(raw).map_err(|error| error.in_line(line, text))? {
                    Value::Cell(Cell::Missing) => None,
                    Value::List(items) => match items.len() {
                        0 => return Err(role.no_values(Place::Line(line), name).into()),
                        length => Some(length),
                    },
                    Value::Text(_) | Value::Cell(_) | Value::Object => Some(1),
                };
            }
            Ok(lengths.contains(&None))
        })?;
        Ok(lengths.into_iter().map(|length| length.unwrap_or(1)).collect())
    }

    fn push_rows(&self, stream: &TextStream<'_, Self>, block: &Block, columns: &mut [Cells]) -> Result<()> {
        let names = stream.table.wanted_names(&stream.wanted);
        for (line, text) in block.lines() {
            let found = Found::read(text, &names).map_err(|error| error.in_line(line, text))?;
            for (index, (column, raw)) in columns.iter_mut().zip(found.values()).enumerate() {
                let value = Value::new(raw).map_err(|error| error.in_line(line, text))?;
                let pushed = push(stream, index, column, Place::Line(line), &value);
                pushed.map_err(|error| stream.in_column(index, error))?;
            }
        }
        Ok(())
    }
}

fn push(
    stream: &TextStream<'_, JsonLines>,
    index: usize,
    column: &mut Cells,
    place: Place,
    value: &Value<'_>,
) -> Result<(), Error> {
    let ((column_place, role), k, seen) = (stream.wanted[index], stream.n_classes[index], &stream.numbers[index]);
    let name = &stream.table.names[column_place];
    match value {
        Value::Object => Err(role.wrong_type(format!("an object in {place} of column {name}"))),
        Value::List(_) if !role.may_have_classes() => {
            Err(role.wrong_shape(format!("a list in {place} of column {name}")))
        }
        Value::List(items) => match items.len() {
            0 => Err(role.no_values(place, name)),
            length if length == k => column.push_all(place, items.iter().copied(), seen),
            length => Err(role.other_length(place, name, length, k)),
        },
        // In a column of lists a row without one is missing all of it.
        Value::Cell(Cell::Missing) if k > 1 => column.push_missing_list(place, seen),
        Value::Cell(_) | Value::Text(_) if k > 1 => Err(role.other_length(place, name, 1, k)),
        Value::Cell(cell) => column.push(place, *cell, seen),
        Value::Text(text) => column.push(place, Cell::Text(text), seen),
    }
}
