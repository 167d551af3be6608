//! The cells of one column and one block -> values.
//!
//! Labels are integers if all of the file are, else numbers, else text. A block is taken for what the blocks before it were; one
//! that does not fit teaches the table, and the file is read again ([`ReadAgain`]): so no result depends on where blocks end.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use calipers::{Error, Invalid};

use crate::read::{Column, ReadAgain, Role, Values};

/// The kinds of cells that a column of labels has, empty ones apart.
#[derive(Debug, Default)]
pub(super) struct Content(AtomicU8);

const INTEGERS: u8 = 1;
const OTHER_NUMBERS: u8 = 2;
const TEXTS: u8 = 4;

/// What such a column is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integers,
    Numbers,
    Text,
    /// Text with numbers among it.
    Mixed,
}

impl Content {
    pub(super) fn snapshot(&self) -> Content {
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
    match (bits & TEXTS != 0, bits & OTHER_NUMBERS != 0, bits & INTEGERS != 0) {
        (false, false, _) => Kind::Integers,
        (false, true, _) => Kind::Numbers,
        (true, false, false) => Kind::Text,
        (true, _, _) => Kind::Mixed,
    }
}

/// What all threads have seen of a column that has to be numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
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
    pub(super) fn finish(&self, role: Role) -> Result<(), Error> {
        match &*self.text.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((row, cell)) if !self.any.load(Ordering::Relaxed) => Err(not_a_number(role, *row, cell)),
            _ => Ok(()),
        }
    }
}

fn not_a_number(role: Role, row: u64, cell: &str) -> Error {
    role.wrong_type(format!("text {cell:?} in row {row}"))
}

/// The cells of one column so far.
pub(super) struct Cells {
    role: Role,
    invalid: Invalid,
    first_row: u64,
    missing: Vec<bool>,
    /// For columns that have to be numbers. A cell that is none is refused, or stands as NaN, which will be counted.
    numbers: Vec<f64>,
    /// For labels and classes, whose type shows when all are there.
    texts: Texts,
}

impl Cells {
    pub(super) fn new(role: Role, invalid: Invalid, first_row: u64, n_rows: usize) -> Self {
        let numbers = if role.is_numeric() { Vec::with_capacity(n_rows) } else { Vec::new() };
        Cells { role, invalid, first_row, missing: Vec::with_capacity(n_rows), numbers, texts: Texts::default() }
    }

    pub(super) fn push(&mut self, row: u64, cell: &str, seen: &Numbers) -> Result<(), Error> {
        self.missing.push(cell.is_empty());
        if !self.role.is_numeric() {
            self.texts.push(cell);
            return Ok(());
        }
        match number(cell) {
            Some(number) => {
                // Looked at first, since threads need not share what does not change.
                if !seen.any.load(Ordering::Relaxed) {
                    seen.any.store(true, Ordering::Relaxed);
                }
                self.numbers.push(number);
            }
            None if self.invalid == Invalid::Refuse => return Err(not_a_number(self.role, row, cell)),
            None => {
                seen.note_text(row, cell);
                self.numbers.push(f64::NAN);
            }
        }
        Ok(())
    }

    /// The column, or its refusal; or word that the file has to be read again, since `taken_for` was wrong.
    pub(super) fn finish(self, taken_for: &Content, content: &Content) -> Result<Result<Column, Error>> {
        let values = match self.role {
            Role::Groups => Ok(self.texts.into_values()),
            role if role.is_numeric() => Ok(self.numbers.into()),
            _ => {
                let bits = self.texts.content();
                content.learn(bits);
                if kind(taken_for.bits() | bits) != kind(taken_for.bits()) {
                    return Err(ReadAgain.into());
                }
                self.labels(kind(taken_for.bits()))
            }
        };
        let missing = self.missing.contains(&true).then_some(self.missing);
        Ok(values.map(|values| Column { values, n_classes: 1, missing }))
    }

    fn labels(&self, kind: Kind) -> Result<Values, Error> {
        let texts = &self.texts;
        Ok(match kind {
            Kind::Integers => texts.iter().map(|text| integer(text).unwrap_or(0)).collect::<Vec<i64>>().into(),
            Kind::Numbers => texts.iter().map(|text| number(text).unwrap_or(0.0)).collect::<Vec<f64>>().into(),
            Kind::Mixed if self.role == (Role::Labels { as_text: false }) => {
                // Those that are no numbers are the mistake, and not all.
                if self.invalid == Invalid::Refuse
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

    fn content(&self) -> u8 {
        let bits = |text: &str| match text {
            "" => 0,
            text if integer(text).is_some() => INTEGERS,
            text if number(text).is_some() => OTHER_NUMBERS,
            _ => TEXTS,
        };
        self.iter().fold(0, |all, text| all | bits(text))
    }

    fn into_values(self) -> Values {
        self.iter().map(str::to_owned).collect::<Vec<String>>().into()
    }
}
