//! The numbers of a chart. The page shows the same numbers on hover, to a screen reader and as
//! JSON.

use maud::{Markup, html};
use serde_json::Value;

use crate::number::rounded;

/// Named columns, and rows of numbers with at most four digits.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<f64>>,
}

impl Table {
    pub(super) fn new(columns: &[&str], rows: impl Iterator<Item = Vec<f64>>) -> Self {
        let rounded_row = |row: Vec<f64>| row.into_iter().map(rounded).collect();
        Table {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.map(rounded_row).collect(),
        }
    }

    /// A table of columns that all have the same length.
    pub(super) fn of_columns(columns: &[(&str, &[f64])]) -> Self {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let n_rows = columns.first().map_or(0, |(_, values)| values.len());
        Table::new(&names, (0..n_rows).map(|row| columns.iter().map(|(_, values)| values[row]).collect()))
    }

    /// The rows as JSON, with null for NaN.
    pub(super) fn json(&self) -> Value {
        self.rows.iter().map(|row| row.iter().map(|value| number(*value)).collect::<Value>()).collect()
    }

    /// A collapsed table, for people who cannot see the chart or who want to copy its numbers.
    pub(super) fn html(&self, caption: &str) -> Markup {
        let table = html! {
            table {
                caption { (caption) }
                thead { tr { @for column in &self.columns { th scope="col" { (column) } } } }
                tbody { @for row in &self.rows { tr { @for value in row { td { (shown(*value)) } } } } }
            }
        };
        html! {
            details class="numbers" {
                summary { "Numbers of this chart" }
                (super::scrolled(&format!("Table: {caption}"), &table))
            }
        }
    }
}

/// A number in JSON, or null for NaN.
fn number(value: f64) -> Value {
    if value == value.trunc() && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// A number as the script of the page shows it.
fn shown(value: f64) -> String {
    match number(value) {
        Value::Null => "–".to_owned(),
        value => value.to_string(),
    }
}
