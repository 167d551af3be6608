//! Arrow arrays -> columns: what Parquet and Arrow IPC have in common.

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use calipers::Error;

use super::{Column, Role, Values};

pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// The wanted columns, of which record batches are made one.
pub(crate) struct Projection {
    /// Their places in the schema, ascending and each once.
    places: Vec<usize>,
    /// For each wanted column its place among `places`.
    columns: Vec<(usize, Builder)>,
}

impl Projection {
    /// Refuses what cannot be read by its type, before anything is read.
    pub(crate) fn new(schema: &Schema, wanted: &[(usize, Role)]) -> Result<Self, Error> {
        let mut places: Vec<usize> = wanted.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        places.dedup();
        let column = |&(place, role): &(usize, Role)| {
            Ok((places.partition_point(|earlier| *earlier < place), Builder::new(schema.field(place), role)?))
        };
        let columns = wanted.iter().map(column).collect::<Result<_, Error>>()?;
        Ok(Projection { places, columns })
    }

    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Puts batches together, each of which has the columns at [`places`](Self::places).
    pub(crate) fn read(mut self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<Vec<Column>> {
        for batch in batches {
            let batch = batch?;
            for (place, builder) in &mut self.columns {
                builder.push(batch.column(*place))?;
            }
        }
        Ok(self.columns.into_iter().map(|(_, builder)| builder.finish()).collect())
    }
}

/// One column so far.
struct Builder {
    name: String,
    role: Role,
    values: Values,
    /// For a column of lists their length, once a row has shown it; 1 for a plain column.
    n_classes: Option<usize>,
    n_rows: usize,
    missing: Option<Vec<bool>>,
}

impl Builder {
    fn new(field: &Field, role: Role) -> Result<Self, Error> {
        let refused = || role.wrong_type(format!("{} in column {}", type_name(field.data_type()), field.name()));
        let (items, n_classes) = match field.data_type() {
            DataType::List(items) | DataType::LargeList(items) if role.may_have_classes() => (items.data_type(), None),
            DataType::FixedSizeList(items, k) if role.may_have_classes() => {
                (items.data_type(), usize::try_from(*k).ok())
            }
            plain => (plain, Some(1)),
        };
        let values = plain_values(&*arrow_array::new_empty_array(items), role).ok_or_else(refused)?;
        Ok(Builder { name: field.name().clone(), role, values, n_classes, n_rows: 0, missing: None })
    }

    fn push(&mut self, array: &dyn Array) -> Result<(), Error> {
        if let Some(lists) = array.as_list_opt::<i32>() {
            self.push_lists(array, lists.values(), &bounds(lists.value_offsets()))
        } else if let Some(lists) = array.as_list_opt::<i64>() {
            self.push_lists(array, lists.values(), &bounds(lists.value_offsets()))
        } else if let Some(lists) = array.as_fixed_size_list_opt() {
            let k = usize::try_from(lists.value_length()).unwrap_or(0);
            let bounds: Vec<_> = (0..lists.len()).map(|row| (row * k, (row + 1) * k)).collect();
            self.push_lists(array, lists.values(), &bounds)
        } else {
            self.push_values(array)?;
            let nulls = array.logical_nulls();
            self.mark(array.len(), |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)));
            Ok(())
        }
    }

    fn push_values(&mut self, array: &dyn Array) -> Result<(), Error> {
        let refused = || self.role.wrong_type(format!("{} in column {}", type_name(array.data_type()), self.name));
        let values = plain_values(array, self.role).ok_or_else(refused)?;
        self.values.append(values)
    }

    /// Adds rows that are lists: `bounds` has where each begins and ends among `items`.
    fn push_lists(&mut self, lists: &dyn Array, items: &dyn Array, bounds: &[(usize, usize)]) -> Result<(), Error> {
        let nulls = lists.logical_nulls();
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        for (row, (start, end)) in bounds.iter().enumerate() {
            if !is_null(row) {
                self.check_length(self.n_rows + row, end - start)?;
            }
        }
        match bounds.first().zip(bounds.last()) {
            // Lists without gaps are one run of values.
            Some(((start, _), (_, end))) if nulls.is_none() => self.push_values(&*items.slice(*start, end - start))?,
            _ => {
                for (row, (start, end)) in bounds.iter().enumerate() {
                    if is_null(row) {
                        self.values.extend_blank(self.n_classes.unwrap_or(0));
                    } else {
                        self.push_values(&*items.slice(*start, end - start))?;
                    }
                }
            }
        }
        let item_nulls = items.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let has_null_item = |row: usize| {
            let (start, end) = bounds[row];
            item_nulls.as_ref().is_some_and(|nulls| (start..end).any(|item| nulls.is_null(item)))
        };
        self.mark(bounds.len(), |row| is_null(row) || has_null_item(row));
        Ok(())
    }

    /// All lists have the length of the first; rows before it, which were null, get their blanks now.
    fn check_length(&mut self, row: usize, length: usize) -> Result<(), Error> {
        match self.n_classes {
            Some(k) if k == length && k > 0 => Ok(()),
            None if length > 0 => {
                self.values.extend_blank(self.n_rows * length);
                self.n_classes = Some(length);
                Ok(())
            }
            Some(k) if length > 0 => Err(self
                .role
                .wrong_shape(format!("{length} values in row {row} of column {} and {k} before it", self.name))),
            _ => Err(self.role.wrong_shape(format!("no values in row {row} of column {}", self.name))),
        }
    }

    fn mark(&mut self, n_rows: usize, is_missing: impl Fn(usize) -> bool) {
        let marks: Vec<bool> = (0..n_rows).map(is_missing).collect();
        if self.missing.is_none() && marks.contains(&true) {
            self.missing = Some(vec![false; self.n_rows]);
        }
        if let Some(missing) = &mut self.missing {
            missing.extend(marks);
        }
        self.n_rows += n_rows;
    }

    fn finish(mut self) -> Column {
        if self.n_classes.is_none() {
            self.values.extend_blank(self.n_rows);
        }
        Column { values: self.values, n_classes: self.n_classes.unwrap_or(1), missing: self.missing }
    }
}

fn bounds<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<(usize, usize)> {
    offsets.windows(2).map(|pair| (pair[0].as_usize(), pair[1].as_usize())).collect()
}

/// The values of an array of a plain type, nulls as whatever stands in their place; `None` for a type that
/// the role cannot have.
fn plain_values(array: &dyn Array, role: Role) -> Option<Values> {
    let values = match array.data_type() {
        DataType::Boolean => Values::Bool(array.as_boolean().values().iter().collect()),
        DataType::Int8 => primitive::<Int8Type>(array),
        DataType::Int16 => primitive::<Int16Type>(array),
        DataType::Int32 => primitive::<Int32Type>(array),
        DataType::Int64 => primitive::<Int64Type>(array),
        DataType::UInt8 => primitive::<UInt8Type>(array),
        DataType::UInt16 => primitive::<UInt16Type>(array),
        DataType::UInt32 => primitive::<UInt32Type>(array),
        DataType::UInt64 => primitive::<UInt64Type>(array),
        DataType::Float16 => {
            Values::F32(array.as_primitive::<Float16Type>().values().iter().map(|value| value.to_f32()).collect())
        }
        DataType::Float32 => primitive::<Float32Type>(array),
        DataType::Float64 => primitive::<Float64Type>(array),
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        DataType::Dictionary(_, _) => dictionary(array, role)?,
        _ => return None,
    };
    if role.is_numeric() { values.into_floats() } else { Some(values) }
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Values
where
    Values: From<Vec<T::Native>>,
{
    array.as_primitive::<T>().values().to_vec().into()
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Values {
    Values::Text(texts.map(|text| text.unwrap_or_default().to_owned()).collect())
}

fn dictionary(array: &dyn Array, role: Role) -> Option<Values> {
    let dictionary = array.as_any_dictionary_opt()?;
    let mut words = plain_values(dictionary.values(), role)?;
    if words.len() == 0 {
        // All rows are null.
        words.extend_blank(array.len());
        return Some(words);
    }
    Some(words.gather(dictionary.normalized_keys().into_iter()))
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Dictionary(_, words) => type_name(words),
        other => other.to_string(),
    }
}
