//! CSV and TSV: text, of which numbers are made where numbers are wanted.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use calipers::Invalid;
use csv::{ByteRecord, ReaderBuilder, Trim};
use memchr::memchr_iter;

use super::open_file;
use super::text::{Block, Cell, Cells, Records, TextFormat, TextStream, TextTable};

/// Cells with this byte between them.
pub(crate) struct Csv {
    delimiter: u8,
}

pub(crate) fn open(path: &Path, delimiter: u8, invalid: Invalid) -> Result<TextTable<Csv>> {
    let mut reader = reader(delimiter).from_reader(open_file(path)?);
    let mut header = ByteRecord::new();
    reader.read_byte_record(&mut header).map_err(|error| cannot_read(&error))?;
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        bail!("the first line must name the columns, got {}", names.join(", "));
    }
    let start = (reader.position().byte(), reader.position().line());
    Ok(TextTable::new(Csv { delimiter }, path, invalid, start).with_names(names))
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
        Records::Delimited(self.delimiter)
    }

    fn push_rows(&self, stream: &TextStream<'_, Self>, block: &Block, columns: &mut [Cells]) -> Result<()> {
        let names = &stream.table.names;
        let push = |row: u64, line: u64, cells: &[&[u8]]| {
            if cells.len() != names.len() {
                bail!("line {line} has {} cells, the first line has {}", cells.len(), names.len());
            }
            for (index, (column, numbers)) in columns.iter_mut().zip(&stream.numbers).enumerate() {
                let place = stream.wanted[index].0;
                let cell = std::str::from_utf8(cells[place])
                    .map_err(|_| anyhow!("column {} in row {row} is not UTF-8", names[place]))?;
                let pushed = column.push(row, Cell::untyped(cell), numbers);
                pushed.map_err(|error| stream.in_column(index, error))?;
            }
            Ok(())
        };
        if block.is_plain { self.plain_rows(block, push) } else { self.quoted_rows(block, push) }
    }
}

impl Csv {
    /// Rows of a block without quotes: lines, cut at delimiters.
    fn plain_rows(&self, block: &Block, mut push: impl FnMut(u64, u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut cells: Vec<&[u8]> = Vec::new();
        for (row, (line, text)) in (block.first_row..).zip(block.lines()) {
            cells.clear();
            let mut cell_start = 0;
            for cell_end in memchr_iter(self.delimiter, text).chain([text.len()]) {
                cells.push(text[cell_start..cell_end].trim_ascii());
                cell_start = cell_end + 1;
            }
            push(row, line, &cells)?;
        }
        Ok(())
    }

    fn quoted_rows(&self, block: &Block, mut push: impl FnMut(u64, u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut reader = reader(self.delimiter).from_reader(&block.bytes[..]);
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
