//! Arrow arrays as cells of text.

use std::ops::Range;

use anyhow::{Result, bail};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;

use crate::dataset::formats::arrow::{self, Bounds};
use crate::dataset::formats::{Role, Values};

/// One column of some rows.
pub(super) struct Cells {
    values: Values,
    nulls: Option<NullBuffer>,
    /// Where the list of each row begins and ends among the values, if rows have lists.
    lists: Option<(Bounds, Option<NullBuffer>)>,
}

impl Cells {
    /// All columns; an error if one has a type that has no text.
    pub(super) fn all(rows: &RecordBatch) -> Result<Vec<Self>> {
        let schema = rows.schema();
        let columns = schema.fields().iter().zip(rows.columns());
        columns.map(|(field, array)| Cells::new(field.name(), array)).collect()
    }

    pub(super) fn new(name: &str, array: &dyn Array) -> Result<Self> {
        let nulls = array.logical_nulls();
        let (items, lists) = match arrow::items(array) {
            Some((items, bounds)) => (items, Some((bounds, items.logical_nulls()))),
            None => (array, None),
        };
        match arrow::plain_values(items, Role::Kept { as_text: false }) {
            Some(values) => Ok(Cells { values, nulls, lists }),
            None => bail!(
                "column {name} has type {}, which this format cannot hold; write .parquet or .arrow",
                arrow::type_name(array.data_type())
            ),
        }
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    pub(super) fn are_lists(&self) -> bool {
        self.lists.is_some()
    }

    /// Values of each row, if all rows have as many.
    pub(super) fn n_values(&self) -> Option<usize> {
        let Some((bounds, _)) = &self.lists else { return Some(1) };
        let mut lengths = bounds.iter().map(|(start, end)| end - start);
        let first = lengths.next().unwrap_or(1);
        lengths.all(|length| length == first).then_some(first)
    }

    /// Where the values of a row are.
    pub(super) fn places(&self, row: usize) -> Range<usize> {
        self.lists.as_ref().map_or(row..row + 1, |(bounds, _)| bounds[row].0..bounds[row].1)
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    pub(super) fn has_nulls(&self) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.null_count() > 0)
    }

    /// The value of a row as text; nothing if it is null.
    pub(super) fn text(&self, row: usize) -> String {
        if self.is_null(row) { String::new() } else { self.values.display(row) }
    }

    pub(super) fn is_fraction(&self) -> bool {
        matches!(self.values, Values::F32(_) | Values::F64(_))
    }

    /// The value of a row as JSON.
    pub(super) fn json(&self, row: usize) -> String {
        match &self.lists {
            _ if self.is_null(row) => "null".to_owned(),
            None => self.json_value(row),
            Some((bounds, nulls)) => {
                let (start, end) = bounds[row];
                let is_null = |item: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(item));
                let item = |item: usize| if is_null(item) { "null".to_owned() } else { self.json_value(item) };
                format!("[{}]", (start..end).map(item).collect::<Vec<String>>().join(", "))
            }
        }
    }

    fn json_value(&self, place: usize) -> String {
        match &self.values {
            Values::Text(values) => serde_json::Value::from(&*values[place]).to_string(),
            // JSON has no NaN: what is not finite is null.
            Values::F64(values) => serde_json::Value::from(values[place]).to_string(),
            Values::F32(values) if !values[place].is_finite() => "null".to_owned(),
            values => values.display(place),
        }
    }
}
