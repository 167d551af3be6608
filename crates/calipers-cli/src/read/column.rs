//! A column as it was in the file: its own type, row after row, with the rows that are missing.

use calipers::{Error, Floats, Labels};

/// What a column is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Probabilities,
    Logits,
    Weights,
    /// Outcomes or class labels; `as_text` if they are compared with a label that the user named.
    Labels {
        as_text: bool,
    },
    /// Labels or predicted classes, which are compared with each other.
    Classes,
}

impl Role {
    /// Whether the values have to be numbers.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Role::Probabilities | Role::Logits | Role::Weights)
    }

    /// Whether a row may have several values, one for each class.
    pub(crate) fn may_have_classes(self) -> bool {
        matches!(self, Role::Probabilities | Role::Logits)
    }

    fn what(self) -> &'static str {
        match self {
            Role::Probabilities => "probabilities",
            Role::Logits => "logits",
            Role::Weights => "weights",
            Role::Labels { .. } | Role::Classes => "labels",
        }
    }

    pub(crate) fn wrong_type(self, got: impl Into<String>) -> Error {
        let expected = if self.is_numeric() { "numbers" } else { "numbers, true and false, or text" };
        Error::WrongType { what: self.what().to_owned(), expected, got: got.into() }
    }

    pub(crate) fn wrong_shape(self, got: impl Into<String>) -> Error {
        let expected = if self.may_have_classes() { "(n,) or (n, k)" } else { "(n,)" };
        Error::Shape { what: self.what(), expected, got: got.into() }
    }
}

/// Values of the types that the core reads in place.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
}

/// One expression for the vector inside of any variant.
macro_rules! each {
    ($values:expr, $vec:ident => $result:expr) => {
        match $values {
            Values::Bool($vec) => $result,
            Values::I8($vec) => $result,
            Values::I16($vec) => $result,
            Values::I32($vec) => $result,
            Values::I64($vec) => $result,
            Values::U8($vec) => $result,
            Values::U16($vec) => $result,
            Values::U32($vec) => $result,
            Values::U64($vec) => $result,
            Values::F32($vec) => $result,
            Values::F64($vec) => $result,
            Values::Text($vec) => $result,
        }
    };
}

macro_rules! values_from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<Vec<$type>> for Values {
            fn from(values: Vec<$type>) -> Self {
                Values::$variant(values)
            }
        }
    )*};
}
values_from!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16,
             u32 => U32, u64 => U64, f32 => F32, f64 => F64, String => Text);

impl Values {
    pub(crate) fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Adds zeros, or empty texts: for rows that are missing.
    pub(crate) fn extend_blank(&mut self, n: usize) {
        each!(self, values => values.resize(values.len() + n, Default::default()));
    }

    /// The values at the given places.
    pub(crate) fn gather(&self, places: impl Iterator<Item = usize>) -> Values {
        each!(self, values => gathered(values, places).into())
    }

    /// Moves all values of `other` to the end; both have the same type.
    pub(crate) fn append(&mut self, other: Values) -> Result<(), Error> {
        macro_rules! same {
            ($($variant:ident)*) => {
                match (&mut *self, other) {
                    $((Values::$variant(values), Values::$variant(mut more)) => values.append(&mut more),)*
                    (_, other) => return Err(Role::Classes.wrong_type(format!("several types, the last {}", other.type_name()))),
                }
            };
        }
        same!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 Text);
        Ok(())
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Values::Bool(_) => "true and false",
            Values::Text(_) => "text",
            _ => "numbers",
        }
    }

    /// Every type of number but f32 as f64; text has no numbers.
    pub(crate) fn into_floats(self) -> Option<Values> {
        macro_rules! convert {
            ($values:ident, $to_float:expr) => {
                Some(Values::F64($values.into_iter().map($to_float).collect()))
            };
        }
        match self {
            Values::F32(_) | Values::F64(_) => Some(self),
            Values::Bool(values) => convert!(values, |value| f64::from(u8::from(value))),
            Values::I8(values) => convert!(values, f64::from),
            Values::I16(values) => convert!(values, f64::from),
            Values::I32(values) => convert!(values, f64::from),
            Values::U8(values) => convert!(values, f64::from),
            Values::U16(values) => convert!(values, f64::from),
            Values::U32(values) => convert!(values, f64::from),
            // Beyond 2^53 rounded: no probability, and as a weight or logit no worse than a double ever is.
            Values::I64(values) => convert!(values, |value| value as f64),
            Values::U64(values) => convert!(values, |value| value as f64),
            Values::Text(_) => None,
        }
    }
}

fn gathered<T: Clone>(values: &[T], places: impl Iterator<Item = usize>) -> Vec<T> {
    places.map(|place| values[place].clone()).collect()
}

/// A column of a file.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) values: Values,
    /// Values of a row: 1, or the number of classes.
    pub(crate) n_classes: usize,
    /// Marks the rows that are missing, if any are.
    pub(crate) missing: Option<Vec<bool>>,
}

impl Column {
    pub(crate) fn plain(values: Values) -> Self {
        Column { values, n_classes: 1, missing: None }
    }

    pub(crate) fn floats(&self) -> Option<Floats<'_>> {
        match &self.values {
            Values::F32(values) => Some(Floats::F32(values)),
            Values::F64(values) => Some(Floats::F64(values)),
            _ => None,
        }
    }

    pub(crate) fn labels(&self) -> Labels<'_> {
        each!(&self.values, values => Labels::from(values))
    }
}
