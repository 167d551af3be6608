//! The cells of one column and one block -> values.
//!
//! Labels are integers if all of the file are, else numbers, else text. A block is taken for what
//! the blocks before it were; one that does not fit teaches the table, and the file is read again
//! ([`ReadAgain`]): so no result depends on where blocks end.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use calipers::{Error, Invalid};

use crate::dataset::formats::{Column, ReadAgain, Role, Values};

/// The kinds of cells that a column of labels has, empty ones apart.
#[derive(Debug, Default)]
pub(in crate::dataset::formats) struct Content(AtomicU8);

const INTEGERS: u8 = 1;
const OTHER_NUMBERS: u8 = 2;
const TEXTS: u8 = 4;
const TRUTHS: u8 = 8;

/// What such a column is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Truths,
    Integers,
    Numbers,
    Text,
    /// Text with numbers among it.
    Mixed,
}

impl Content {
    pub(in crate::dataset::formats) fn snapshot(&self) -> Content {
        Content(AtomicU8::new(self.bits()))
    }

    fn bits(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    fn learn(&self, bits: u8) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }
}

fn kind(bits: u8) -> Kind {
    match bits {
        0 | INTEGERS => Kind::Integers,
        TRUTHS => Kind::Truths,
        TEXTS => Kind::Text,
        _ if bits & (TEXTS | TRUTHS) == 0 => Kind::Numbers,
        _ => Kind::Mixed,
    }
}

/// What all threads have seen of a column that has to be numbers.
#[derive(Debug, Default)]
pub(in crate::dataset::formats) struct Numbers {
    /// The first cell that is no number.
    text: Mutex<Option<(u64, String)>>,
    any: AtomicBool,
}

impl Numbers {
    fn note_text(&self, row: u64, cell: &str) {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if text.as_ref().is_none_or(|(earlier, _)| row < *earlier) {
            *text = Some((row, cell.to_owned()));
        }
    }

    /// Text alone is the wrong column, not bad rows.
    pub(in crate::dataset::formats) fn finish(&self, role: Role) -> Result<(), Error> {
        match &*self.text.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((row, cell)) if !self.any.load(Ordering::Relaxed) => Err(not_a_number(role, *row, cell)),
            _ => Ok(()),
        }
    }
}

fn not_a_number(role: Role, row: u64, cell: &str) -> Error {
    role.wrong_type(format!("text {cell:?} in row {row}"))
}

/// A cell as its format has it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dataset::formats) enum Cell<'a> {
    Missing,
    /// Of a format in which all is text: a number if it can be read as one.
    Untyped(&'a str),
    Number(&'a str),
    Truth(bool),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// An empty one is missing.
    pub(in crate::dataset::formats) fn untyped(text: &'a str) -> Self {
        if text.is_empty() { Cell::Missing } else { Cell::Untyped(text) }
    }

    /// As it is shown, and compared with a label.
    fn text(self) -> &'a str {
        match self {
            Cell::Missing => "",
            Cell::Untyped(text) | Cell::Number(text) | Cell::Text(text) => text,
            Cell::Truth(true) => "true",
            Cell::Truth(false) => "false",
        }
    }

    /// What is missing has any number in its place.
    fn number(self) -> Option<f64> {
        match self {
            Cell::Missing => Some(0.0),
            Cell::Untyped(text) | Cell::Number(text) => text.parse().ok(),
            Cell::Truth(truth) => Some(f64::from(u8::from(truth))),
            Cell::Text(_) => None,
        }
    }

    /// What it makes of a column of labels.
    fn content(self) -> u8 {
        match self {
            Cell::Missing => 0,
            Cell::Truth(_) => TRUTHS,
            Cell::Text(_) => TEXTS,
            Cell::Untyped(text) | Cell::Number(text) if integer(text).is_some() => INTEGERS,
            Cell::Untyped(text) | Cell::Number(text) if number(text).is_some() => OTHER_NUMBERS,
            Cell::Untyped(_) | Cell::Number(_) => TEXTS,
        }
    }
}

/// The cells of one column so far.
pub(in crate::dataset::formats) struct Cells {
    role: Role,
    invalid: Invalid,
    first_row: u64,
    n_classes: usize,
    missing: Vec<bool>,
    /// For columns that have to be numbers. A cell that is none is rejected, or stands as NaN,
    /// which will be counted.
    numbers: Vec<f64>,
    /// For labels and classes, whose type shows when all are there.
    texts: Texts,
    content: u8,
}

impl Cells {
    pub(in crate::dataset::formats) fn new(
        role: Role,
        invalid: Invalid,
        first_row: u64,
        n_rows: usize,
        n_classes: usize,
    ) -> Self {
        let numbers = if role.is_numeric() { Vec::with_capacity(n_rows * n_classes) } else { Vec::new() };
        let (missing, texts) = (Vec::with_capacity(n_rows), Texts::default());
        Cells { role, invalid, first_row, n_classes, missing, numbers, texts, content: 0 }
    }

    pub(in crate::dataset::formats) fn push(&mut self, row: u64, cell: Cell<'_>, seen: &Numbers) -> Result<(), Error> {
        self.missing.push(matches!(cell, Cell::Missing));
        match self.role.is_numeric() {
            true => self.push_number(row, cell, seen),
            false => {
                self.content |= cell.content();
                self.texts.push(cell.text());
                Ok(())
            }
        }
    }

    /// A row of several values, of which there have to be as many as there are classes.
    pub(in crate::dataset::formats) fn push_all<'a>(
        &mut self,
        row: u64,
        cells: impl Iterator<Item = Cell<'a>>,
        seen: &Numbers,
    ) -> Result<(), Error> {
        let mut is_missing = false;
        for cell in cells {
            is_missing |= matches!(cell, Cell::Missing);
            self.push_number(row, cell, seen)?;
        }
        self.missing.push(is_missing);
        Ok(())
    }

    fn push_number(&mut self, row: u64, cell: Cell<'_>, seen: &Numbers) -> Result<(), Error> {
        match cell.number() {
            Some(number) => {
                // Looked at first, since threads need not share what does not change.
                if !seen.any.load(Ordering::Relaxed) {
                    seen.any.store(true, Ordering::Relaxed);
                }
                self.numbers.push(number);
            }
            None if self.invalid == Invalid::Reject => return Err(not_a_number(self.role, row, cell.text())),
            None => {
                seen.note_text(row, cell.text());
                self.numbers.push(f64::NAN);
            }
        }
        Ok(())
    }

    /// The column or its error; [`ReadAgain`] if `taken_for` was wrong.
    pub(in crate::dataset::formats) fn finish(
        self,
        taken_for: &Content,
        content: &Content,
    ) -> Result<Result<Column, Error>> {
        let values = match self.role {
            Role::Groups => Ok(self.texts.into_values()),
            role if role.is_numeric() => Ok(self.numbers.into()),
            _ => {
                content.learn(self.content);
                if kind(taken_for.bits() | self.content) != kind(taken_for.bits()) {
                    return Err(ReadAgain.into());
                }
                self.labels(kind(taken_for.bits()))
            }
        };
        let missing = self.missing.contains(&true).then_some(self.missing);
        Ok(values.map(|values| Column { values, n_classes: self.n_classes, missing }))
    }

    fn labels(&self, kind: Kind) -> Result<Values, Error> {
        let texts = &self.texts;
        Ok(match kind {
            Kind::Integers => texts.iter().map(|text| integer(text).unwrap_or(0)).collect::<Vec<i64>>().into(),
            Kind::Truths => texts.iter().map(|text| text == "true").collect::<Vec<bool>>().into(),
            Kind::Numbers => texts.iter().map(|text| number(text).unwrap_or(0.0)).collect::<Vec<f64>>().into(),
            Kind::Mixed if self.role == (Role::Labels { as_text: false }) => {
                // Those that are no numbers are the mistake, and not all.
                if self.invalid == Invalid::Reject
                    && let Some((row, text)) = texts.iter().enumerate().find(|(_, text)| number(text).is_none())
                {
                    let row = self.first_row + row as u64;
                    return Err(Error::InvalidOutcome { row, value: format!("{text:?}") });
                }
                texts.iter().map(|text| number(text).unwrap_or(f64::INFINITY)).collect::<Vec<f64>>().into()
            }
            Kind::Text | Kind::Mixed => texts.iter().map(str::to_owned).collect::<Vec<String>>().into(),
        })
    }
}

/// An empty cell is missing, and any number will do in its place.
fn number(cell: &str) -> Option<f64> {
    if cell.is_empty() { Some(0.0) } else { cell.parse().ok() }
}

fn integer(cell: &str) -> Option<i64> {
    if cell.is_empty() { Some(0) } else { cell.parse().ok() }
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

    fn into_values(self) -> Values {
        self.iter().map(str::to_owned).collect::<Vec<String>>().into()
    }
}
