//! Tables through Arrow: columns by name, keys as numbers, and results as a stream.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, DataType};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{Chunk, Column, chunk, columns, exported, owned};
use crate::borrowed::{Borrowed, Element};

/// A column of a table: its chunks, or the texts of keys, each once, with the number of each row's.
#[derive(IntoPyObject)]
pub(crate) struct TableColumn<'py> {
    chunks: Option<Vec<Chunk<'py>>>,
    codes: Option<Borrowed>,
    texts: Option<Vec<Option<String>>>,
}

/// Some columns of a table that has an Arrow export, which is read once; those of `keys` are
/// numbered if they are text.
#[pyfunction]
pub(crate) fn arrow_table<'py>(
    table: &Bound<'py, PyAny>,
    names: Vec<String>,
    keys: Vec<String>,
) -> PyResult<Vec<TableColumn<'py>>> {
    let py = table.py();
    let exported = exported(table)?;
    let DataType::Struct(fields) = exported.data_type.clone() else {
        return Err(PyTypeError::new_err(format!("a table must have columns, got Arrow's {}", exported.data_type)));
    };
    let all = columns(exported);
    let column = |name: &String| {
        let place = fields.iter().position(|field| field.name() == name).ok_or_else(|| {
            let known: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            PyKeyError::new_err(format!("the table has no column {name:?}; it has {}", known.join(", ")))
        })?;
        let chunks = &all[place];
        if keys.contains(name)
            && let Some((codes, texts)) = py.detach(|| coded(chunks))
        {
            let codes = owned::<u32>(codes, Element::number('u', 4));
            return Ok(TableColumn { chunks: None, codes: Some(codes), texts: Some(texts) });
        }
        let chunks = chunks.iter().map(|(array, outer)| chunk(py, array, outer.as_ref(), name));
        Ok(TableColumn { chunks: Some(chunks.collect::<PyResult<_>>()?), codes: None, texts: None })
    };
    names.iter().map(column).collect()
}

/// The texts of a column, each once, and for each row the number of its own; `None` unless all
/// chunks are text.
fn coded(chunks: &Column) -> Option<(Vec<u32>, Vec<Option<String>>)> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let (mut codes, mut texts, mut of_null) = (Vec::new(), Vec::new(), None);
    let mut number = |text: Option<&str>| {
        let next = texts.len() as u32;
        let known = text.map_or(of_null, |text| numbers.get(text).copied());
        known.unwrap_or_else(|| {
            texts.push(text.map(str::to_owned));
            match text {
                Some(text) => _ = numbers.insert(text.to_owned(), next),
                None => of_null = Some(next),
            }
            next
        })
    };
    for (array, outer) in chunks {
        let is_null = |row: usize| outer.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let values = match array.data_type() {
            DataType::Dictionary(..) => array.as_any_dictionary().values().clone(),
            _ => array.clone(),
        };
        let of_value = by_value(&values)?;
        // The number of each value, once it is known.
        let mut known: Vec<Option<u32>> = vec![None; values.len()];
        let keys = match array.data_type() {
            DataType::Dictionary(..) if !values.is_empty() => Some(array.as_any_dictionary().normalized_keys()),
            _ => None,
        };
        for row in 0..array.len() {
            codes.push(match &keys {
                _ if is_null(row) || array.is_null(row) => number(None),
                Some(keys) => *known[keys[row]].get_or_insert_with(|| number(of_value(keys[row]))),
                None => number(of_value(row)),
            });
        }
    }
    Some((codes, texts))
}

/// The text of a value by its place; `None` for values that are no text.
fn by_value<'a>(values: &'a ArrayRef) -> Option<Box<dyn Fn(usize) -> Option<&'a str> + 'a>> {
    macro_rules! texts {
        ($texts:expr) => {{
            let texts = $texts;
            let text: Box<dyn Fn(usize) -> Option<&'a str> + 'a> =
                Box::new(move |row| texts.is_valid(row).then(|| texts.value(row)));
            Some(text)
        }};
    }
    match values.data_type() {
        DataType::Utf8 => texts!(values.as_string::<i32>()),
        DataType::LargeUtf8 => texts!(values.as_string::<i64>()),
        DataType::Utf8View => texts!(values.as_string_view()),
        _ => None,
    }
}

/// A stream of one record batch with these columns: doubles, in which NaN is null, integers, or
/// texts.
#[pyfunction]
pub(crate) fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, ResultColumn<'py>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let mut arrays: Vec<(String, ArrayRef, bool)> = Vec::new();
    for (name, column) in &columns {
        arrays.push((name.clone(), column.array()?, true));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(value_error)?;
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

fn value_error(error: ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

/// A column of a result.
#[derive(FromPyObject)]
pub(crate) enum ResultColumn<'py> {
    Doubles(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
    Booleans(PyReadonlyArray1<'py, bool>),
    /// Before numbers, so that a column without any value is text.
    Texts(Vec<Option<String>>),
    WholeNumbers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
}

impl ResultColumn<'_> {
    fn array(&self) -> PyResult<ArrayRef> {
        Ok(match self {
            ResultColumn::Doubles(values) => {
                let values = values.as_slice()?.iter().map(|value| (!value.is_nan()).then_some(*value));
                Arc::new(values.collect::<Float64Array>())
            }
            ResultColumn::Integers(values) => {
                Arc::new(Int64Array::from_iter_values(values.as_slice()?.iter().copied()))
            }
            ResultColumn::Booleans(values) => Arc::new(BooleanArray::from(values.as_slice()?.to_vec())),
            ResultColumn::WholeNumbers(values) => Arc::new(Int64Array::from(values.clone())),
            ResultColumn::Numbers(values) => Arc::new(Float64Array::from(values.clone())),
            ResultColumn::Texts(values) => Arc::new(StringArray::from(values.clone())),
        })
    }
}
