//! The cells of one column and one block -> values.
//!
//! Labels are integers if all of the file are, else numbers, else text. A block is taken for what
//! the blocks before it were; one that does not fit teaches the table, and the file is read again
//! ([`ReadAgain`]): so no result depends on where blocks end.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use calipers::{Error, Invalid};

use crate::dataset::formats::csv::dialect;
use crate::dataset::formats::{Column, Place, ReadAgain, Role, Values};

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
    text: Mutex<Option<(Place, String)>>,
    any: AtomicBool,
}

impl Numbers {
    fn note_text(&self, place: Place, cell: &str) {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if text.as_ref().is_none_or(|(earlier, _)| place < *earlier) {
            *text = Some((place, cell.to_owned()));
        }
    }

    /// Text alone is the wrong column, not bad rows.
    pub(in crate::dataset::formats) fn finish(&self, role: Role) -> Result<(), Error> {
        match &*self.text.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((place, cell)) if !self.any.load(Ordering::Relaxed) => Err(not_a_number(role, *place, cell)),
            _ => Ok(()),
        }
    }
}

/// With the option that helps, where the cell is a number in another notation.
fn not_a_number(role: Role, place: Place, cell: &str) -> Error {
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    let hint = match () {
        () if dialect::with_point(dialect::without_percent(cell).unwrap_or(cell)).is_some() => {
            "; pass --decimal , for numbers with a decimal comma"
        }
        () if cell.strip_suffix('%').is_some_and(is_number) => {
            "; remove the signs and pass --scale 100 for percentages"
        }
        () => "",
    };
    role.wrong_type(format!("text {cell:?} in {place}{hint}"))
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

    /// What it makes of a column of labels, or of classes that are compared as they are written.
    fn content(self, role: Role) -> u8 {
        match self {
            Cell::Missing => 0,
            Cell::Truth(_) => TRUTHS,
            Cell::Text(_) => TEXTS,
            Cell::Untyped(text) if role != Role::Classes && truth(text).is_some() => TRUTHS,
            // A number of a house or of an account, whose zeros would be lost.
            Cell::Untyped(text) if matches!(role, Role::Kept { .. }) && begins_with_zeros(text) => TEXTS,
            Cell::Untyped(text) | Cell::Number(text) if integer(text).is_some() => INTEGERS,
            Cell::Untyped(text) | Cell::Number(text) if number(text).is_some() => OTHER_NUMBERS,
            Cell::Untyped(_) | Cell::Number(_) => TEXTS,
        }
    }
}

/// How many labels an error lists.
const LABELS_SEEN: usize = 5;

/// The cells of one column so far.
pub(in crate::dataset::formats) struct Cells {
    role: Role,
    invalid: Invalid,
    first_row: u64,
    n_classes: usize,
    missing: Vec<bool>,
    n_missing_lists: usize,
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
        // Of lists, which may be missing, room is made as they come.
        let numbers = if role.is_numeric() && n_classes == 1 { Vec::with_capacity(n_rows) } else { Vec::new() };
        let (missing, texts) = (Vec::with_capacity(n_rows), Texts::default());
        Cells { role, invalid, first_row, n_classes, missing, n_missing_lists: 0, numbers, texts, content: 0 }
    }

    pub(in crate::dataset::formats) fn push(
        &mut self,
        place: Place,
        cell: Cell<'_>,
        seen: &Numbers,
    ) -> Result<(), Error> {
        self.missing.push(matches!(cell, Cell::Missing));
        match self.role.is_numeric() {
            true => self.push_number(place, cell, seen),
            false => {
                self.content |= cell.content(self.role);
                self.texts.push(cell.text());
                Ok(())
            }
        }
    }

    /// A row of several values, of which there have to be as many as there are classes.
    pub(in crate::dataset::formats) fn push_all<'a>(
        &mut self,
        place: Place,
        cells: impl Iterator<Item = Cell<'a>>,
        seen: &Numbers,
    ) -> Result<(), Error> {
        let mut is_missing = false;
        for cell in cells {
            is_missing |= matches!(cell, Cell::Missing);
            self.push_number(place, cell, seen)?;
        }
        self.missing.push(is_missing);
        Ok(())
    }

    /// A row whose list is missing: all of its values are.
    pub(in crate::dataset::formats) fn push_missing_list(&mut self, place: Place, seen: &Numbers) -> Result<(), Error> {
        self.n_missing_lists += 1;
        self.role.check_missing_lists(self.n_missing_lists, self.missing.len() + 1, self.n_classes)?;
        self.push_all(place, std::iter::repeat_n(Cell::Missing, self.n_classes), seen)
    }

    fn push_number(&mut self, place: Place, cell: Cell<'_>, seen: &Numbers) -> Result<(), Error> {
        match cell.number() {
            Some(number) => {
                // Looked at first, since threads need not share what does not change.
                if !seen.any.load(Ordering::Relaxed) {
                    seen.any.store(true, Ordering::Relaxed);
                }
                self.numbers.push(number);
            }
            None if self.invalid == Invalid::Reject => return Err(not_a_number(self.role, place, cell.text())),
            None => {
                seen.note_text(place, cell.text());
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
            Role::Groups | Role::Kept { as_text: true } => Ok(self.texts.into_values()),
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
        Ok(values.map(|values| Column { n_classes: self.n_classes, missing, ..Column::plain(values) }))
    }

    /// The first few distinct labels, in words.
    fn first_labels(&self) -> String {
        let mut seen: Vec<&str> = Vec::new();
        for text in self.texts.iter().filter(|text| !text.is_empty()) {
            if seen.len() < LABELS_SEEN && !seen.contains(&text) {
                seen.push(text);
            }
        }
        seen.join(", ") + if seen.len() < LABELS_SEEN { "" } else { ", ..." }
    }

    fn labels(&self, kind: Kind) -> Result<Values, Error> {
        let texts = &self.texts;
        Ok(match kind {
            Kind::Integers => texts.iter().map(|text| integer(text).unwrap_or(0)).collect::<Vec<i64>>().into(),
            Kind::Truths => texts.iter().map(|text| truth(text) == Some(true)).collect::<Vec<bool>>().into(),
            Kind::Numbers => texts.iter().map(|text| number(text).unwrap_or(0.0)).collect::<Vec<f64>>().into(),
            Kind::Mixed if self.role == (Role::Labels { as_text: false }) => {
                // Those that are no numbers are the mistake, and not all.
                if self.invalid == Invalid::Reject
                    && let Some((row, text)) = texts.iter().enumerate().find(|(_, text)| number(text).is_none())
                {
                    let row = self.first_row + row as u64;
                    return Err(Error::InvalidOutcome { row, value: format!("{text:?}"), labels: self.first_labels() });
                }
                texts.iter().map(|text| number(text).unwrap_or(f64::INFINITY)).collect::<Vec<f64>>().into()
            }
            Kind::Text | Kind::Mixed => texts.iter().collect(),
        })
    }
}

/// True and false as programs write them: in any case.
fn truth(cell: &str) -> Option<bool> {
    let is = |word: &str| cell.eq_ignore_ascii_case(word);
    if is("true") { Some(true) } else { is("false").then_some(false) }
}

fn begins_with_zeros(cell: &str) -> bool {
    let mut bytes = cell.bytes();
    bytes.next() == Some(b'0') && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
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
        self.iter().collect()
    }
}
