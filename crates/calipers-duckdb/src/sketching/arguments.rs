//! The arguments of a chunk: scores, labels, weights and options, as the core reads them.

use std::sync::Arc;

use calipers::{Floats, Form, Input, Labels};

use crate::engine::{Chunk, Column, Values};
use crate::options::Kind;

/// The rows of a chunk, borrowed from DuckDB.
pub(super) struct Arguments<'a> {
    pub(super) kind: Arc<Kind>,
    pub(super) scores: Floats<'a>,
    pub(super) labels: Labels<'a>,
    pub(super) weights: Option<&'a [f64]>,
    /// Marks of NULLs in the three columns, where there are any.
    missing: [Option<Vec<bool>>; 3],
}

impl<'a> Arguments<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, String> {
        let [scores, labels, more @ ..] = chunk.columns() else { return Err(undeclared()) };
        let (weights, options) = match more {
            [] => (None, None),
            [weights, options] => (Some(weights), Some(options)),
            [one] if matches!(one.values(), Values::Bytes(_)) => (None, Some(one)),
            [one] => (Some(one), None),
            _ => return Err(undeclared()),
        };
        let n = chunk.len();
        let nulls = |column: Option<&Column<'a>>| column.and_then(|column| column.nulls(n));
        Ok(Arguments {
            kind: Kind::of(options.map_or(Ok(""), |options| same_text(options, n))?)?,
            scores: match scores.values() {
                Values::Float(values) => values.into(),
                Values::Double(values) => values.into(),
                _ => return Err(undeclared()),
            },
            labels: match labels.values() {
                Values::Boolean(values) => values.into(),
                Values::BigInt(values) => values.into(),
                Values::Double(values) => values.into(),
                _ => return Err(undeclared()),
            },
            weights: match weights.map(Column::values) {
                None => None,
                Some(Values::Double(values)) => Some(values),
                Some(_) => return Err(undeclared()),
            },
            missing: [nulls(Some(scores)), nulls(Some(labels)), nulls(weights)],
        })
    }

    /// All rows, not yet checked.
    pub(super) fn input(&self) -> Input<'_> {
        let input = input(self.kind.form, self.scores, self.labels, self.weights);
        let [scores, labels, weights] = self.missing.each_ref().map(Option::as_deref);
        input.missing(scores, labels, weights).invalid(self.kind.invalid)
    }
}

/// Rows as the core takes them.
pub(super) fn input<'a>(form: Form, scores: Floats<'a>, labels: Labels<'a>, weights: Option<&'a [f64]>) -> Input<'a> {
    let input = match form {
        Form::Probabilities => Input::probabilities(scores, labels),
        Form::Logits => Input::logits(scores, labels),
    };
    match weights {
        None => input,
        Some(weights) => input.weights(weights),
    }
}

/// The text that all rows have as options; NULL is none.
fn same_text<'a>(options: &Column<'a>, n: usize) -> Result<&'a str, String> {
    let Values::Bytes(values) = options.values() else { return Err(undeclared()) };
    let text = |row: usize| options.text(row).unwrap_or_default();
    let first = if n == 0 { "" } else { text(0) };
    for row in 1..n {
        // A constant is the same value in each row, whose text need not be compared.
        if !values[row].is_identical(&values[0]) || options.is_null(row) != options.is_null(0) {
            check_same(first, text(row))?;
        }
    }
    Ok(first)
}

/// An error where rows have different options.
pub(super) fn check_same(ours: &str, theirs: &str) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("options must be the same for all rows, got {ours:?} and {theirs:?}"))
}

fn undeclared() -> String {
    "DuckDB has passed columns of types that were not declared".to_owned()
}
