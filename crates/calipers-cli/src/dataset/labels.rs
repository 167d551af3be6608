//! Columns of labels or weights, compared value by value whatever their types are.

use calipers::{Error, Invalid};

use super::formats::{Column, Values};

/// A class, for comparing columns of different types.
enum Class<'a> {
    Integer(i128),
    Number(f64),
    Text(&'a str),
}

fn class(values: &Values, row: usize) -> Class<'_> {
    macro_rules! class {
        ($($integers:ident)*) => {
            match values {
                $(Values::$integers(values) => Class::Integer(values[row].into()),)*
                Values::F32(values) => Class::Number(values[row].into()),
                Values::F64(values) => Class::Number(values[row]),
                Values::Text(values) => Class::Text(&values[row]),
            }
        };
    }
    class!(Bool I8 I16 I32 I64 U8 U16 U32 U64)
}

/// The outcome: whether the predicted class is the label, and NaN where either is.
pub(super) fn agreement(
    predicted: &Column,
    labels: &Column,
    first_row: u64,
    invalid: Invalid,
) -> Result<Column, Error> {
    let n = labels.values.len();
    if predicted.values.len() != n {
        return Err(Error::LengthMismatch { what: "predicted classes", got: predicted.values.len(), expected: n });
    }
    let is_text = |column: &Column| matches!(column.values, Values::Text(_));
    if is_text(predicted) != is_text(labels) {
        let what = "predicted classes and labels".to_owned();
        let got = format!("{} and {}", predicted.values.type_name(), labels.values.type_name());
        return Err(Error::WrongType { what, expected: "of one type", got });
    }
    if let (Invalid::Reject, Some(row)) = (invalid, (0..n).find(|&row| predicted.is_missing(row))) {
        return Err(Error::Missing { what: "predicted class", row: first_row + row as u64 });
    }
    let outcome = |row: usize| match (class(&predicted.values, row), class(&labels.values, row)) {
        (Class::Integer(a), Class::Integer(b)) => f64::from(a == b),
        (Class::Text(a), Class::Text(b)) => f64::from(a == b),
        (a, b) => {
            let (a, b) = (number(&a), number(&b));
            if a.is_nan() || b.is_nan() { f64::NAN } else { f64::from(a == b) }
        }
    };
    let missing: Vec<bool> = (0..n).map(|row| predicted.is_missing(row) || labels.is_missing(row)).collect();
    Ok(Column {
        values: (0..n).map(outcome).collect::<Vec<f64>>().into(),
        n_classes: 1,
        missing: missing.contains(&true).then_some(missing),
    })
}

/// Values of a row that are not the same.
pub(crate) struct Unlike {
    pub(crate) row: usize,
    pub(crate) first: String,
    pub(crate) other: String,
}

/// The first row in which two columns, of one length, differ.
pub(super) fn first_difference(a: &Column, b: &Column) -> Option<Unlike> {
    let text = |column: &Column, row: usize| match class(&column.values, row) {
        _ if column.is_missing(row) => "none".to_owned(),
        Class::Integer(class) => class.to_string(),
        Class::Number(class) => class.to_string(),
        Class::Text(class) => format!("{class:?}"),
    };
    let differ = |row: &usize| {
        if a.is_missing(*row) || b.is_missing(*row) {
            return a.is_missing(*row) != b.is_missing(*row);
        }
        match (class(&a.values, *row), class(&b.values, *row)) {
            (Class::Integer(a), Class::Integer(b)) => a != b,
            (Class::Text(a), Class::Text(b)) => a != b,
            (Class::Text(_), _) | (_, Class::Text(_)) => true,
            // Written so that NaN equals itself: what is no label is refused elsewhere.
            (a, b) => number(&a).total_cmp(&number(&b)).is_ne(),
        }
    };
    let row = (0..a.n_rows().min(b.n_rows())).find(differ)?;
    Some(Unlike { row, first: text(a, row), other: text(b, row) })
}

fn number(class: &Class<'_>) -> f64 {
    match class {
        Class::Integer(class) => *class as f64,
        Class::Number(class) => *class,
        Class::Text(_) => f64::NAN,
    }
}
