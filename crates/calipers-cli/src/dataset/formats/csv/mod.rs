//! CSV and TSV: text, of which numbers are made where numbers are wanted.

pub(super) mod dialect;

use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use csv::{ByteRecord, ReaderBuilder, Trim};
use memchr::memchr_iter;

use super::text::{self, Block, Cell, Cells, Records, TextFormat, TextStream, TextTable};
use super::{Place, Reading, Role};
use dialect::Dialect;

/// Cells with a byte between them.
pub(crate) struct Csv {
    dialect: Dialect,
}

/// So many bytes show how a file is written.
const START: u64 = 1 << 16;

/// Bytes of a header that no file of predictions has: a million names of 16 letters.
const LONGEST_HEADER: u64 = 1 << 24;

/// With the delimiter that was given, or that of the format, or the one that the file shows.
pub(crate) fn open(path: &Path, of_format: Option<u8>, reading: &Reading) -> Result<TextTable<Csv>> {
    let expansion = reading.expansion(path);
    let decimal_comma = reading.decimal == Some(b',');
    let delimiter = match reading.delimiter.or(of_format) {
        Some(delimiter) => delimiter,
        None => {
            let mut start = Vec::new();
            text::source(path, expansion)?.take(START).read_to_end(&mut start).map_err(|error| cannot_read(&error))?;
            dialect::sniff(&start, (start.len() as u64) < START, decimal_comma)
        }
    };
    let mut reader = reader(delimiter).from_reader(text::source(path, expansion)?.take(LONGEST_HEADER));
    let mut header = ByteRecord::new();
    reader.read_byte_record(&mut header).map_err(|error| cannot_read(&error))?;
    if reader.position().byte() >= LONGEST_HEADER {
        bail!("the first line, which names the columns, has more than {} MiB", LONGEST_HEADER >> 20);
    }
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        bail!("the first line must name the columns, got {}", names.join(", "));
    }
    let start = (reader.position().byte(), reader.position().line());
    let dialect = Dialect { delimiter, decimal_comma, is_scaled: reading.is_scaled };
    Ok(TextTable::new(Csv { dialect }, path, reading, start).with_names(names))
}

fn reader(delimiter: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).trim(Trim::All).has_headers(false).flexible(true);
    builder
}

fn cannot_read(error: &dyn std::error::Error) -> anyhow::Error {
    anyhow!("cannot read as CSV: {error}")
}

impl TextFormat for Csv {
    fn records(&self) -> Records {
        Records::Delimited(self.dialect.delimiter)
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(self.dialect)
    }

    fn line_in(&self, block: &Block, row: u64) -> Option<u64> {
        let mut found = None;
        let find = |other: u64, line: u64, _: &[&[u8]]| {
            found = found.or((other == row).then_some(line));
            Ok(())
        };
        self.rows(block, find).ok()?;
        found
    }

    fn push_rows(&self, stream: &TextStream<'_, Self>, block: &Block, columns: &mut [Cells]) -> Result<()> {
        let names = &stream.table.names;
        let push = |_: u64, line: u64, cells: &[&[u8]]| {
            if cells.len() != names.len() {
                bail!("line {line} has {} cells, the first line has {}", cells.len(), names.len());
            }
            for (index, (column, numbers)) in columns.iter_mut().zip(&stream.numbers).enumerate() {
                let place = stream.wanted[index].0;
                let cell = std::str::from_utf8(cells[place])
                    .map_err(|_| anyhow!("column {} in line {line} is not UTF-8", names[place]))?;
                let role = stream.wanted[index].1;
                let number = match role {
                    Role::Groups | Role::Kept { as_text: true } => cell.into(),
                    Role::Probabilities => self.dialect.probability(cell),
                    _ => self.dialect.number(cell),
                };
                let cell = match self.dialect.is_of_other(cell) && role.is_numeric() {
                    true => Cell::Text(cell),
                    false => Cell::untyped(&number),
                };
                let pushed = column.push(Place::Line(line), cell, numbers);
                pushed.map_err(|error| stream.in_column(index, error))?;
            }
            Ok(())
        };
        self.rows(block, push)
    }
}

impl Csv {
    /// Number, line and cells of each row.
    fn rows(&self, block: &Block, push: impl FnMut(u64, u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        if block.is_plain { self.plain_rows(block, push) } else { self.quoted_rows(block, push) }
    }

    /// Rows of a block without quotes: lines, cut at delimiters.
    fn plain_rows(&self, block: &Block, mut push: impl FnMut(u64, u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut cells: Vec<&[u8]> = Vec::new();
        for (row, (line, text)) in (block.first_row..).zip(block.lines()) {
            cells.clear();
            let mut cell_start = 0;
            for cell_end in memchr_iter(self.dialect.delimiter, text).chain([text.len()]) {
                cells.push(text[cell_start..cell_end].trim_ascii());
                cell_start = cell_end + 1;
            }
            push(row, line, &cells)?;
        }
        Ok(())
    }

    fn quoted_rows(&self, block: &Block, mut push: impl FnMut(u64, u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut reader = reader(self.dialect.delimiter).from_reader(&block.bytes[..]);
        let mut record = ByteRecord::new();
        let mut row = block.first_row;
        while reader.read_byte_record(&mut record).map_err(|error| cannot_read(&error))? {
            let line = record.position().map_or(0, |position| block.first_line + position.line() - 1);
            push(row, line, &record.iter().collect::<Vec<_>>())?;
            row += 1;
        }
        Ok(())
    }
}
