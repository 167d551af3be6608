//! CSV and TSV: text, of which numbers are made where numbers are wanted.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use calipers::{Error, Invalid};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, Trim};

use super::{Column, Role, Table, Values, open_file};

pub(crate) struct CsvTable {
    path: PathBuf,
    delimiter: u8,
    invalid: Invalid,
    names: Vec<String>,
}

impl CsvTable {
    pub(crate) fn open(path: &Path, delimiter: u8, invalid: Invalid) -> Result<Self> {
        let header = reader(path, delimiter)?.byte_headers().map_err(|error| explain(&error))?.clone();
        let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if names.iter().all(|name| name.parse::<f64>().is_ok()) {
            bail!("the first line must name the columns, got {}", names.join(", "));
        }
        Ok(CsvTable { path: path.to_owned(), delimiter, invalid, names })
    }
}

fn reader(path: &Path, delimiter: u8) -> Result<Reader<File>> {
    let file = open_file(path)?;
    Ok(ReaderBuilder::new().delimiter(delimiter).trim(Trim::All).buffer_capacity(1 << 16).from_reader(file))
}

fn explain(error: &csv::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            anyhow!("line {line} has {len} cells, the first line has {expected_len}")
        }
        _ => anyhow!("cannot read as CSV: {error}"),
    }
}

impl Table for CsvTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self, wanted: &[(usize, Role)]) -> Result<Vec<Column>> {
        let mut reader = reader(&self.path, self.delimiter)?;
        let mut cells: Vec<Cells> = wanted.iter().map(|&(_, role)| Cells::new(role, self.invalid)).collect();
        let mut record = ByteRecord::new();
        let mut row = 0;
        while reader.read_byte_record(&mut record).map_err(|error| explain(&error))? {
            for (cells, (place, _)) in cells.iter_mut().zip(wanted) {
                let cell = std::str::from_utf8(record.get(*place).unwrap_or_default())
                    .map_err(|_| anyhow!("column {} in row {row} is not UTF-8", self.names[*place]))?;
                cells.push(row, cell).map_err(|error| self.in_column(error, wanted, *place))?;
            }
            row += 1;
        }
        let columns = cells.into_iter().zip(wanted);
        columns
            .map(|(cells, (place, _))| cells.finish().map_err(|error| self.in_column(error, wanted, *place)))
            .collect()
    }
}

/// The cells of one column so far.
enum Cells {
    Numbers(NumberCells),
    /// Labels and classes, whose type shows when all are there.
    Texts {
        texts: Texts,
        role: Role,
        invalid: Invalid,
    },
}

impl Cells {
    fn new(role: Role, invalid: Invalid) -> Self {
        match role.is_numeric() {
            true => Cells::Numbers(NumberCells {
                role,
                invalid,
                values: vec![],
                missing: vec![],
                text: None,
                any_number: false,
            }),
            false => Cells::Texts { texts: Texts::default(), role, invalid },
        }
    }

    fn push(&mut self, row: usize, cell: &str) -> Result<(), Error> {
        match self {
            Cells::Numbers(numbers) => numbers.push(row, cell),
            Cells::Texts { texts, .. } => {
                texts.push(cell);
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<Column, Error> {
        let (values, missing) = match self {
            Cells::Numbers(mut numbers) => (Values::F64(numbers.values()?), numbers.missing),
            Cells::Texts { texts, role, invalid } => {
                (labels(&texts, role, invalid)?, texts.iter().map(str::is_empty).collect())
            }
        };
        Ok(Column { values, n_classes: 1, missing: missing.contains(&true).then_some(missing) })
    }
}

/// Cells that have to be numbers. One that is not is refused, or stands as NaN, which will be counted.
struct NumberCells {
    role: Role,
    invalid: Invalid,
    values: Vec<f64>,
    missing: Vec<bool>,
    /// The first cell that is no number, and where.
    text: Option<String>,
    any_number: bool,
}

impl NumberCells {
    fn push(&mut self, row: usize, cell: &str) -> Result<(), Error> {
        self.missing.push(cell.is_empty());
        let number = number(cell);
        if number.is_none() {
            let text = self.text.get_or_insert_with(|| format!("text {cell:?} in row {row}"));
            if self.invalid == Invalid::Refuse {
                return Err(self.role.wrong_type(text.as_str()));
            }
        }
        self.any_number |= number.is_some();
        self.values.push(number.unwrap_or(f64::NAN));
        Ok(())
    }

    /// Text alone is the wrong column, not bad rows.
    fn values(&mut self) -> Result<Vec<f64>, Error> {
        match &self.text {
            Some(text) if !self.any_number => Err(self.role.wrong_type(text.as_str())),
            _ => Ok(std::mem::take(&mut self.values)),
        }
    }
}

/// An empty cell is missing, and any number will do in its place.
fn number(cell: &str) -> Option<f64> {
    if cell.is_empty() { Some(0.0) } else { cell.parse().ok() }
}

/// Many short texts in one allocation.
#[derive(Default)]
struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.all[start..*end])
    }
}

/// Labels as integers if all are, else as numbers, else as text.
fn labels(texts: &Texts, role: Role, invalid: Invalid) -> Result<Values, Error> {
    let integer = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i64>().ok() };
    if let Some(integers) = texts.iter().map(integer).collect() {
        return Ok(Values::I64(integers));
    }
    if let Some(numbers) = texts.iter().map(number).collect() {
        return Ok(Values::F64(numbers));
    }
    let is_number = |text: &str| !text.is_empty() && number(text).is_some();
    let some_numbers = || texts.iter().any(is_number);
    if role == (Role::Labels { as_text: false }) && some_numbers() {
        // Those that are no numbers are the mistake, and not all.
        if invalid == Invalid::Refuse
            && let Some((row, text)) = texts.iter().enumerate().find(|(_, text)| number(text).is_none())
        {
            return Err(Error::InvalidOutcome { row: row as u64, value: format!("{text:?}") });
        }
        return Ok(Values::F64(texts.iter().map(|text| number(text).unwrap_or(f64::INFINITY)).collect()));
    }
    Ok(Values::Text(texts.iter().map(str::to_owned).collect()))
}
