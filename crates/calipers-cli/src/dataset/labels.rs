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
    let outcome = |row: usize| {
        let (a, b) = (class(&predicted.values, row), class(&labels.values, row));
        let is_nan = |class: &Class<'_>| matches!(class, Class::Number(number) if number.is_nan());
        if is_nan(&a) || is_nan(&b) { f64::NAN } else { f64::from(are_same(&a, &b)) }
    };
    let missing: Vec<bool> = (0..n).map(|row| predicted.is_missing(row) || labels.is_missing(row)).collect();
    Ok(Column {
        missing: missing.contains(&true).then_some(missing),
        ..Column::plain((0..n).map(outcome).collect::<Vec<f64>>().into())
    })
}

/// The first row in which two columns, of one length, differ, and how: `0 and 1`.
pub(super) fn first_difference(a: &Column, b: &Column) -> Option<(usize, String)> {
    let text = |column: &Column, row: usize| match class(&column.values, row) {
        _ if column.is_missing(row) => "none".to_owned(),
        Class::Integer(class) => class.to_string(),
        Class::Number(class) => class.to_string(),
        Class::Text(class) => format!("{class:?}"),
    };
    let differ = |row: &usize| match (a.is_missing(*row), b.is_missing(*row)) {
        (false, false) => !are_same(&class(&a.values, *row), &class(&b.values, *row)),
        (ours, theirs) => ours != theirs,
    };
    let row = (0..a.n_rows().min(b.n_rows())).find(differ)?;
    Some((row, format!("{} and {}", text(a, row), text(b, row))))
}

fn are_same(a: &Class<'_>, b: &Class<'_>) -> bool {
    match (a, b) {
        (Class::Integer(a), Class::Integer(b)) => a == b,
        (Class::Text(a), Class::Text(b)) => a == b,
        (Class::Text(_), _) | (_, Class::Text(_)) => false,
        // NaN equals itself here, and -0 equals 0; an invalid label is rejected elsewhere.
        (a, b) => number(a) == number(b) || number(a).is_nan() && number(b).is_nan(),
    }
}

fn number(class: &Class<'_>) -> f64 {
    match class {
        Class::Integer(class) => *class as f64,
        Class::Number(class) => *class,
        Class::Text(_) => f64::NAN,
    }
}
