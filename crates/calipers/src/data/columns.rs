//! Borrowed columns of the usual numeric types, read in place.

use std::ops::Range;
use std::sync::Arc;

/// A borrowed column of floating-point numbers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Floats<'a> {
    /// Single precision; every value is read as the double that equals it.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Runs one expression with `$values` bound to the slice inside a [`Floats`].
macro_rules! match_floats {
    ($floats:expr, $values:ident => $expression:expr) => {
        match $floats {
            Floats::F32($values) => $expression,
            Floats::F64($values) => $expression,
        }
    };
}

pub(super) use match_floats;

impl Floats<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match_floats!(self, values => values.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the values; panics where they are not all there.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match_floats!(self, values => values[range].into())
    }

    /// The value at `index`, exactly.
    #[inline]
    pub fn get(&self, index: usize) -> f64 {
        match self {
            Floats::F32(values) => values[index].into(),
            Floats::F64(values) => values[index],
        }
    }
}

/// A borrowed column of outcomes or class labels.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // the variants are the types that they hold
pub enum Labels<'a> {
    Bool(&'a [bool]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [String]),
    /// Texts that rows may share, as those of a dictionary.
    SharedText(&'a [Arc<str>]),
}

/// Runs one expression with `$values` bound to the numeric slice inside a [`Labels`];
/// the other two forms, which are no numbers, get expressions of their own.
macro_rules! match_labels {
    ($labels:expr, $values:ident => $numeric:expr, bool $bools:ident => $boolean:expr, text $texts:ident => $text:expr) => {
        match $labels {
            Labels::Bool($bools) => $boolean,
            Labels::I8($values) => $numeric,
            Labels::I16($values) => $numeric,
            Labels::I32($values) => $numeric,
            Labels::I64($values) => $numeric,
            Labels::U8($values) => $numeric,
            Labels::U16($values) => $numeric,
            Labels::U32($values) => $numeric,
            Labels::U64($values) => $numeric,
            Labels::F32($values) => $numeric,
            Labels::F64($values) => $numeric,
            Labels::Text($texts) => $text,
            Labels::SharedText($texts) => $text,
        }
    };
}

impl Labels<'_> {
    /// Number of labels.
    pub fn len(&self) -> usize {
        match_labels!(self, values => values.len(), bool values => values.len(), text values => values.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the labels; panics where they are not all there.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match_labels!(self, values => values[range].into(), bool values => values[range].into(), text values => values[range].into())
    }

    pub(crate) fn are_text(&self) -> bool {
        matches!(self, Labels::Text(_) | Labels::SharedText(_))
    }

    /// The label at `index` as a number; `None` for text other than true and false.
    ///
    /// A 64-bit integer beyond 2^53 may be rounded: still no valid class, so the checks hold.
    #[inline]
    #[allow(clippy::unnecessary_cast)] // of the one variant that is double already
    pub(crate) fn number(&self, index: usize) -> Option<f64> {
        match_labels!(self,
            values => Some(values[index] as f64),
            bool values => Some(f64::from(u8::from(values[index]))),
            text values => truth(&values[index]))
    }

    /// Whether all labels of these rows are 0 or 1: the quick way through, without a branch for
    /// each row.
    pub(crate) fn are_outcomes(&self, rows: Range<usize>) -> bool {
        match_labels!(self,
            values => are_outcomes(&values[rows]),
            bool _values => true,
            text _values => false)
    }

    /// The label at `index` as a user would write it.
    pub(crate) fn display(&self, index: usize) -> String {
        match_labels!(self,
            values => shown(values[index].to_string()),
            bool values => values[index].to_string(),
            text values => format!("{:?}", values[index]))
    }

    /// Whether two labels are the same value. NaN is not the same as NaN.
    pub(crate) fn are_same(&self, a: usize, b: usize) -> bool {
        match_labels!(self,
            values => values[a] == values[b],
            bool values => values[a] == values[b],
            text values => values[a] == values[b])
    }

    /// Whether the label at `index` is the one that the user named as positive.
    #[inline]
    pub(crate) fn is_positive(&self, index: usize, positive: &PositiveLabel) -> bool {
        match_labels!(self,
            values => values[index].is(positive),
            bool values => if values[index] { positive.means_true() } else { positive.means_false() },
            text values => *values[index] == *positive.text)
    }
}

/// True and false as programs write them: in any case.
fn truth(text: &str) -> Option<f64> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") { Some(1.0) } else { is("false").then_some(0.0) }
}

/// Labels that stand for others by number, as those of classes with names do, and what an error
/// calls them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coded<'a> {
    /// What a label must be.
    pub(super) rule: &'a str,
    /// Label i was written so.
    pub(super) texts: &'a [String],
}

impl Coded<'_> {
    /// The label at `index` as the user wrote it.
    pub(super) fn text(&self, labels: &Labels<'_>, index: usize) -> String {
        let text = labels.number(index).and_then(|code| self.texts.get(code as usize));
        text.cloned().unwrap_or_else(|| labels.display(index))
    }
}

/// A column from slices, arrays and vectors of each type.
macro_rules! column_from {
    ($column:ident: $($type:ty => $variant:ident),*) => {$(
        impl<'a> From<&'a [$type]> for $column<'a> {
            fn from(values: &'a [$type]) -> Self {
                $column::$variant(values)
            }
        }
        impl<'a, const N: usize> From<&'a [$type; N]> for $column<'a> {
            fn from(values: &'a [$type; N]) -> Self {
                $column::$variant(values)
            }
        }
        impl<'a> From<&'a Vec<$type>> for $column<'a> {
            fn from(values: &'a Vec<$type>) -> Self {
                $column::$variant(values)
            }
        }
    )*};
}
column_from!(Floats: f32 => F32, f64 => F64);
column_from!(Labels: bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16,
             u32 => U32, u64 => U64, f32 => F32, f64 => F64, String => Text,
             Arc<str> => SharedText);

/// Whether all are 0 or 1; without a branch, so that it is vectorised.
#[inline]
fn are_outcomes<T: Copy + PartialEq + From<bool>>(labels: &[T]) -> bool {
    labels.iter().fold(true, |all, &label| all & ((label == T::from(false)) | (label == T::from(true))))
}

/// Numbers as they are written, but those of many digits with an exponent.
fn shown(text: String) -> String {
    if text.len() <= 24 { text } else { text.parse().map(crate::error::number).unwrap_or(text) }
}

/// A number that may be the positive label. Integers are compared as integers: doubles do not tell
/// large ones apart.
trait MaybePositive {
    fn is(self, positive: &PositiveLabel) -> bool;
}

macro_rules! maybe_positive {
    ($field:ident: $wide:ty => $($type:ty),*) => {$(
        impl MaybePositive for $type {
            #[inline]
            fn is(self, positive: &PositiveLabel) -> bool {
                Some(<$wide>::from(self)) == positive.$field
            }
        }
    )*};
}
maybe_positive!(integer: i128 => i8, i16, i32, i64, u8, u16, u32, u64);
maybe_positive!(number: f64 => f32, f64);

/// The label that counts as outcome 1; every other label counts as 0.
///
/// It is held as text, since a command line has nothing else, and compared as a number with
/// labels that are numbers: `1`, `1.0` and `+1` are the same label.
#[derive(Debug, Clone, PartialEq)]
pub struct PositiveLabel {
    text: String,
    number: Option<f64>,
    integer: Option<i128>,
}

impl PositiveLabel {
    /// The positive label, as a user writes it.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let number: Option<f64> = text.trim().parse().ok();
        let whole = number.filter(|number| number.fract() == 0.0 && number.abs() < 2f64.powi(53));
        let integer = text.trim().parse().ok().or(whole.map(|number| number as i128));
        PositiveLabel { text, number, integer }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn means_true(&self) -> bool {
        self.text.eq_ignore_ascii_case("true") || self.number == Some(1.0)
    }

    fn means_false(&self) -> bool {
        self.text.eq_ignore_ascii_case("false") || self.number == Some(0.0)
    }
}

impl<T: Into<String>> From<T> for PositiveLabel {
    fn from(text: T) -> Self {
        PositiveLabel::new(text)
    }
}
