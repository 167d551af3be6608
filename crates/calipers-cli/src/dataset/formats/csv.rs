//! CSV and TSV: text, of which numbers are made where numbers are wanted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Result, anyhow, bail};
use calipers::Invalid;
use csv::{ByteRecord, ReaderBuilder, Trim};
use memchr::memchr_iter;

use super::text::{self, Block, Blocks, Cell, Cells, Content, Numbers, Records};
use super::{Extent, Part, Parts, Role, Stream, Table, open_file};

pub(crate) struct CsvTable {
    path: PathBuf,
    delimiter: u8,
    invalid: Invalid,
    names: Vec<String>,
    /// What columns of labels hold, as far as they have been read.
    contents: Vec<Content>,
    /// Where the first record begins: byte and line.
    start: (u64, u64),
}

impl CsvTable {
    pub(crate) fn open(path: &Path, delimiter: u8, invalid: Invalid) -> Result<Self> {
        let mut reader = reader(delimiter).from_reader(open_file(path)?);
        let mut header = ByteRecord::new();
        reader.read_byte_record(&mut header).map_err(|error| cannot_read(&error))?;
        let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if names.iter().all(|name| name.parse::<f64>().is_ok()) {
            bail!("the first line must name the columns, got {}", names.join(", "));
        }
        let contents = names.iter().map(|_| Content::default()).collect();
        let start = (reader.position().byte(), reader.position().line());
        Ok(CsvTable { path: path.to_owned(), delimiter, invalid, names, contents, start })
    }
}

fn reader(delimiter: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).trim(Trim::All).has_headers(false).flexible(true);
    builder
}

fn cannot_read(error: &dyn std::error::Error) -> anyhow::Error {
    anyhow!("cannot read as CSV: {error}")
}

impl Table for CsvTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn stream<'a>(&'a self, wanted: &'a [(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let file: File = open_file(&self.path)?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Box::new(CsvStream {
            table: self,
            wanted,
            blocks: Mutex::new(Blocks::new(file, Records::Delimited(self.delimiter), self.start, limit)?),
            contents: wanted.iter().map(|(place, _)| self.contents[*place].snapshot()).collect(),
            numbers: wanted.iter().map(|_| Numbers::default()).collect(),
            n_bytes: length.saturating_sub(self.start.0),
        }))
    }
}

struct CsvStream<'a> {
    table: &'a CsvTable,
    wanted: &'a [(usize, Role)],
    blocks: Mutex<Blocks>,
    /// What the columns are taken for in this reading.
    contents: Vec<Content>,
    numbers: Vec<Numbers>,
    n_bytes: u64,
}

impl Stream for CsvStream<'_> {
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

impl CsvStream<'_> {
    fn part(&self, block: &Block) -> Result<Part> {
        let (table, wanted) = (self.table, self.wanted);
        let n_rows = block.n_rows as usize;
        let mut columns: Vec<Cells> =
            wanted.iter().map(|&(_, role)| Cells::new(role, table.invalid, block.first_row, n_rows, 1)).collect();
        let mut push = |row: u64, cells: &[&[u8]]| {
            for ((column, numbers), &(place, _)) in columns.iter_mut().zip(&self.numbers).zip(wanted) {
                let cell = std::str::from_utf8(cells[place])
                    .map_err(|_| anyhow!("column {} in row {row} is not UTF-8", table.names[place]))?;
                column
                    .push(row, Cell::untyped(cell), numbers)
                    .map_err(|error| table.in_column(error, wanted, place))?;
            }
            Ok(())
        };
        match block.is_plain {
            true => self.plain_rows(block, &mut push)?,
            false => self.quoted_rows(block, &mut push)?,
        }
        let mut finished = Vec::with_capacity(wanted.len());
        for ((cells, taken_for), &(place, _)) in columns.into_iter().zip(&self.contents).zip(wanted) {
            let column = cells.finish(taken_for, &table.contents[place])?;
            finished.push(column.map_err(|error| table.in_column(error, wanted, place))?);
        }
        Ok(Part { first_row: block.first_row, columns: finished, extent: block.bytes.len() as u64 })
    }

    /// Rows of a block without quotes: lines, cut at delimiters.
    fn plain_rows(&self, block: &Block, push: &mut impl FnMut(u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut cells: Vec<&[u8]> = Vec::new();
        for (row, (line, text)) in (block.first_row..).zip(block.lines()) {
            cells.clear();
            let mut cell_start = 0;
            for cell_end in memchr_iter(self.table.delimiter, text).chain([text.len()]) {
                cells.push(text[cell_start..cell_end].trim_ascii());
                cell_start = cell_end + 1;
            }
            self.check_length(line, cells.len())?;
            push(row, &cells)?;
        }
        Ok(())
    }

    fn quoted_rows(&self, block: &Block, push: &mut impl FnMut(u64, &[&[u8]]) -> Result<()>) -> Result<()> {
        let mut reader = reader(self.table.delimiter).from_reader(&block.bytes[..]);
        let mut record = ByteRecord::new();
        let mut row = block.first_row;
        while reader.read_byte_record(&mut record).map_err(|error| cannot_read(&error))? {
            let line = record.position().map_or(0, |position| block.first_line + position.line() - 1);
            self.check_length(line, record.len())?;
            push(row, &record.iter().collect::<Vec<_>>())?;
            row += 1;
        }
        Ok(())
    }

    fn check_length(&self, line: u64, length: usize) -> Result<()> {
        let expected = self.table.names.len();
        if length == expected {
            return Ok(());
        }
        bail!("line {line} has {length} cells, the first line has {expected}")
    }
}
