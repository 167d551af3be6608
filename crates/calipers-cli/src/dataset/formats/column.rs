//! A column as it was in the file: its own type, row after row, with the rows that are missing.

use std::sync::Arc;

use arrow_array::{Array, StringArray};
use arrow_buffer::ScalarBuffer;
use calipers::{Error, Floats, Labels};

use super::Place;

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
    /// What tells groups of rows apart.
    Groups,
    /// Nothing: it is written again as it is; `as_text` as text, where the format has text.
    Kept {
        as_text: bool,
    },
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
            Role::Groups => "groups",
            Role::Kept { .. } => "values",
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

    /// A row whose list is empty.
    pub(crate) fn no_values(self, place: Place, column: &str) -> Error {
        self.wrong_shape(format!("no values in {place} of column {column}"))
    }

    /// A row whose list has another length than those before it.
    pub(crate) fn other_length(self, place: Place, column: &str, length: usize, before: usize) -> Error {
        self.wrong_shape(format!("{length} values in {place} of column {column} and {before} before it"))
    }

    /// An error where missing lists would take far more memory than the file has values for. A
    /// missing list gets a place for each class, so that a small file could ask for any amount.
    pub(crate) fn check_missing_lists(self, n_missing: usize, n_rows: usize, n_classes: usize) -> Result<(), Error> {
        let n_present = n_rows.saturating_sub(n_missing);
        let most = n_present.saturating_mul(n_classes).saturating_mul(MISSING_FOR_EACH).saturating_add(FREE_MISSING);
        if n_classes == 1 || n_missing.saturating_mul(n_classes) <= most {
            return Ok(());
        }
        Err(self.wrong_shape(format!(
            "{n_missing} of {n_rows} lists of {n_classes} values missing, which is too many to keep; remove these rows"
        )))
    }
}

/// How many values of missing lists are kept whatever a file has: 512 MiB of doubles.
const FREE_MISSING: usize = 1 << 26;

/// How many more are kept for each value that is there.
const MISSING_FOR_EACH: usize = 16;

/// Values of the types that the core reads in place. Numbers may be in memory that a reader owns:
/// the bytes of a file, or the buffer that a library decoded into.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
    /// Rows of one word of a dictionary share its text.
    Text(Vec<Arc<str>>),
}

/// One expression for the values inside of any variant.
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
                Values::$variant(values.into())
            }
        }
    )*};
    (buffers: $($type:ty => $variant:ident),*) => {$(
        impl From<ScalarBuffer<$type>> for Values {
            fn from(values: ScalarBuffer<$type>) -> Self {
                Values::$variant(values)
            }
        }
        values_from!($type => $variant);
    )*};
}
values_from!(bool => Bool, Arc<str> => Text);
values_from!(buffers: i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
             f32 => F32, f64 => F64);

impl FromIterator<String> for Values {
    fn from_iter<T: IntoIterator<Item = String>>(texts: T) -> Self {
        Values::Text(texts.into_iter().map(Arc::from).collect())
    }
}

impl<'a> FromIterator<&'a str> for Values {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Self {
        Values::Text(texts.into_iter().map(Arc::from).collect())
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// The values at the given places; zero, or an empty text, where there is none.
    pub(crate) fn gather(&self, places: impl Iterator<Item = Option<usize>>) -> Values {
        each!(self, values => gathered(values, places).into())
    }

    /// All values in order, of parts of one type.
    pub(crate) fn concat(mut parts: Vec<Values>) -> Result<Values, Error> {
        if parts.len() == 1
            && let Some(part) = parts.pop()
        {
            return Ok(part);
        }
        // Files of a folder may have integers of several types.
        let is_same = |part: &Values| std::mem::discriminant(part) == std::mem::discriminant(&parts[0]);
        if !parts.iter().all(is_same) && !parts.iter().any(|part| matches!(part, Values::Text(_))) {
            let doubles = parts.into_iter().map(Values::into_doubles).collect();
            return Values::concat(doubles);
        }
        let mixed = |other: &Values| Role::Classes.wrong_type(format!("several types, the last {}", other.type_name()));
        macro_rules! concat {
            ($($variant:ident)*) => {
                match parts.first() {
                    $(Some(Values::$variant(_)) => {
                        let mut all = Vec::with_capacity(parts.iter().map(Values::len).sum());
                        for part in parts {
                            match part {
                                Values::$variant(values) => all.extend_from_slice(&values),
                                other => return Err(mixed(&other)),
                            }
                        }
                        Ok(all.into())
                    })*
                    None => Ok(Values::Bool(Vec::new())),
                }
            };
        }
        concat!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 Text)
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
        macro_rules! floats {
            ($($integers:ident)*) => {
                match self {
                    Values::F32(_) | Values::F64(_) => Some(self),
                    Values::Text(_) => None,
                    Values::Bool(values) => Some(values.into_iter().map(f64::from).collect::<Vec<f64>>().into()),
                    // Beyond 2^53 rounded: no probability, and as a weight or logit no worse than a
                    // double ever is.
                    $(Values::$integers(values) => {
                        Some(values.iter().map(|value| *value as f64).collect::<Vec<f64>>().into())
                    })*
                }
            };
        }
        floats!(I8 I16 I32 I64 U8 U16 U32 U64)
    }

    /// All numbers as f64.
    pub(crate) fn into_doubles(self) -> Values {
        match self.into_floats() {
            Some(Values::F32(values)) => values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>().into(),
            Some(values) => values,
            None => Values::F64(Vec::new().into()),
        }
    }

    /// The bits of each value, the same for equal numbers but for 0 and -0; none for texts.
    pub(crate) fn bits(&self) -> Vec<u64> {
        macro_rules! bits {
            ($($integers:ident)*) => {
                match self {
                    Values::Bool(values) => values.iter().map(|value| u64::from(*value)).collect(),
                    // Negative numbers get the same upper bits each time.
                    $(Values::$integers(values) => values.iter().map(|value| *value as u64).collect(),)*
                    Values::F32(values) => values.iter().map(|value| value.to_bits().into()).collect(),
                    Values::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
                    Values::Text(_) => Vec::new(),
                }
            };
        }
        bits!(I8 I16 I32 I64 U8 U16 U32 U64)
    }

    /// The value of a row as a user would write it.
    pub(crate) fn display(&self, row: usize) -> String {
        each!(self, values => values[row].to_string())
    }
}

fn gathered<T: Clone + Default>(values: &[T], places: impl Iterator<Item = Option<usize>>) -> Vec<T> {
    places.map(|place| place.map_or_else(T::default, |place| values[place].clone())).collect()
}

/// Row after row, of columns of one length.
fn interleaved<T: Copy>(columns: &[&[T]], n_rows: usize) -> Vec<T> {
    (0..n_rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
}

/// A column of a file, or of a part of it.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) values: Values,
    /// Values of a row: 1, or the number of classes.
    pub(crate) n_classes: usize,
    /// Marks the rows that are missing, if any are.
    pub(crate) missing: Option<Vec<bool>>,
    /// In a column of groups, the words that its values number, where the file has such.
    pub(crate) words: Option<StringArray>,
}

impl Column {
    pub(crate) fn plain(values: Values) -> Self {
        Column { values, n_classes: 1, missing: None, words: None }
    }

    /// The value of a row as a user would write it.
    pub(crate) fn text(&self, row: usize) -> String {
        match (&self.words, &self.values) {
            (Some(words), Values::U32(codes)) => words.value(codes[row] as usize).to_owned(),
            _ => self.values.display(row),
        }
    }

    /// The same with words in the place of their numbers.
    fn spelled_out(self) -> Self {
        let (Some(words), Values::U32(codes)) = (&self.words, &self.values) else { return self };
        let shared: Vec<Arc<str>> = (0..words.len()).map(|word| words.value(word).into()).collect();
        let text = |(row, code): (usize, &u32)| match self.is_missing(row) {
            true => Arc::default(),
            false => Arc::clone(&shared[*code as usize]),
        };
        let texts: Vec<Arc<str>> = codes.iter().enumerate().map(text).collect();
        Column { values: texts.into(), words: None, ..self }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.values.len() / self.n_classes.max(1)
    }

    pub(crate) fn n_missing(&self) -> usize {
        self.missing.as_ref().map_or(0, |missing| missing.iter().filter(|missing| **missing).count())
    }

    pub(crate) fn is_missing(&self, row: usize) -> bool {
        self.missing.as_ref().is_some_and(|missing| missing[row])
    }

    /// Some of its rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let k = self.n_classes;
        let places = rows.iter().flat_map(|row| row * k..(row + 1) * k).map(Some);
        let missing = self.missing.as_ref().map(|missing| rows.iter().map(|row| missing[*row]).collect());
        Column { values: self.values.gather(places), n_classes: k, missing, words: self.words.clone() }
    }

    /// Columns of one value as one of several: those of the classes of a model.
    pub(crate) fn classes(columns: Vec<Column>) -> Self {
        let n_rows = columns.first().map_or(0, Column::n_rows);
        let is_missing = |row: usize| columns.iter().any(|column| column.is_missing(row));
        let missing = columns.iter().any(|column| column.missing.is_some());
        let missing = missing.then(|| (0..n_rows).map(is_missing).collect());
        let n_classes = columns.len();
        let values: Vec<Values> = columns.into_iter().map(|column| column.values).collect();
        let singles: Option<Vec<&[f32]>> = values
            .iter()
            .map(|values| if let Values::F32(values) = values { Some(&values[..]) } else { None })
            .collect();
        let values = match singles {
            Some(columns) => interleaved(&columns, n_rows).into(),
            None => {
                let doubles: Vec<Values> = values.into_iter().map(Values::into_doubles).collect();
                let doubles: Vec<&[f64]> = doubles
                    .iter()
                    .map(|values| if let Values::F64(values) = values { &values[..] } else { &[] })
                    .collect();
                interleaved(&doubles, n_rows).into()
            }
        };
        Column { values, n_classes, missing, words: None }
    }

    /// All values divided by one number.
    pub(crate) fn divided(self, by: f64) -> Self {
        let values = match self.values.into_doubles() {
            Values::F64(values) => values.iter().map(|value| value / by).collect::<Vec<f64>>().into(),
            other => other,
        };
        Column { values, ..self }
    }

    /// The parts of a column, put together.
    pub(crate) fn concat(parts: Vec<Column>, role: Role) -> Result<Self, Error> {
        if parts.is_empty() {
            let numbers: Values = Vec::<f64>::new().into();
            return Ok(Column::plain(if role.is_numeric() { numbers } else { Values::Bool(Vec::new()) }));
        }
        let n_classes = parts.first().map_or(1, |part| part.n_classes);
        let missing = parts.iter().any(|part| part.missing.is_some()).then(|| {
            parts.iter().flat_map(|part| part.missing.clone().unwrap_or_else(|| vec![false; part.n_rows()])).collect()
        });
        // Parts have words of their own.
        let values = parts.into_iter().map(|part| part.spelled_out().values).collect();
        Ok(Column { values: Values::concat(values)?, n_classes, missing, words: None })
    }

    pub(crate) fn floats(&self) -> Option<Floats<'_>> {
        match &self.values {
            Values::F32(values) => Some(Floats::F32(values)),
            Values::F64(values) => Some(Floats::F64(values)),
            _ => None,
        }
    }

    pub(crate) fn labels(&self) -> Labels<'_> {
        each!(&self.values, values => Labels::from(&values[..]))
    }
}
