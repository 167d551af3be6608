//! The numbers behind a chart: what is shown on hovering, read by a screen reader and kept as JSON,
//! all the same.

use maud::{Markup, html};
use serde_json::Value;

use crate::number::rounded;

/// Columns with names, and rows of numbers with four digits at most.
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

    /// Rows as JSON; what is no number is null.
    pub(super) fn json(&self) -> Value {
        self.rows.iter().map(|row| row.iter().map(|value| number(*value)).collect::<Value>()).collect()
    }

    /// Folded away: for those who do not see the chart, and those who want to copy.
    pub(super) fn html(&self, caption: &str) -> Markup {
        html! {
            details class="numbers" {
                summary { "Numbers behind this chart" }
                div class="scroll" tabindex="0" role="region" aria-label={ "Table: " (caption) } {
                    table {
                        caption { (caption) }
                        thead { tr { @for column in &self.columns { th scope="col" { (column) } } } }
                        tbody {
                            @for row in &self.rows {
                                tr { @for value in row { td { (shown(*value)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A number as JSON has it; null for what is none.
pub(super) fn number(value: f64) -> Value {
    if value == value.trunc() && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// As the script shows what it finds in the JSON.
fn shown(value: f64) -> String {
    match number(value) {
        Value::Null => "–".to_owned(),
        value => value.to_string(),
    }
}
