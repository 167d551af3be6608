//! Arrow arrays as numpy takes them: numbers in place, text as Python's strings, nulls as marks.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, new_empty_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::arrow_capsules::{Chunks, from_array, from_stream};
use crate::borrowed::{Borrowed, Element};
use crate::failure::input_error;

/// One chunk of a column. Python's `_Chunk` has the same fields.
#[derive(IntoPyObject)]
pub(crate) struct Chunk<'py> {
    values: Values<'py>,
    /// One byte for each row: 1 for a null, or for a list with a null in it.
    nulls: Option<Borrowed>,
    /// Which of the values each row has: those of a dictionary, or the elements of lists that are
    /// not side by side.
    keys: Option<Borrowed>,
}

#[derive(IntoPyObject)]
enum Values<'py> {
    Numbers(Borrowed),
    Texts(Bound<'py, PyList>),
}

/// The columns of what has an Arrow export, each in chunks: those of a table, or the one of an
/// array.
#[pyfunction]
pub(crate) fn arrow<'py>(values: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<Vec<Chunk<'py>>>> {
    let py = values.py();
    columns(exported(values)?)
        .iter()
        .map(|chunks| chunks.iter().map(|(array, outer)| chunk(py, array, outer.as_ref(), what)).collect())
        .collect()
}

pub(crate) fn exported(values: &Bound<'_, PyAny>) -> PyResult<Chunks> {
    if values.hasattr("__arrow_c_array__")? {
        let (schema, array) =
            values.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
        return from_array(&schema, &array);
    }
    let stream = values.call_method0("__arrow_c_stream__")?;
    from_stream(stream.cast::<PyCapsule>()?)
}

/// Chunks of one column, each with the nulls of the rows around it.
pub(crate) type Column = Vec<(ArrayRef, Option<NullBuffer>)>;

/// At least one chunk for each column, so that its type is known.
pub(crate) fn columns(exported: Chunks) -> Vec<Column> {
    let Chunks { data_type, mut arrays } = exported;
    if arrays.is_empty() {
        arrays.push(new_empty_array(&data_type));
    }
    match &data_type {
        DataType::Struct(fields) => {
            let rows = || arrays.iter().map(|rows| rows.as_struct());
            let column = |index| rows().map(|rows| (rows.column(index).clone(), rows.nulls().cloned())).collect();
            (0..fields.len()).map(column).collect()
        }
        _ => vec![arrays.into_iter().map(|array| (array, None)).collect()],
    }
}

pub(crate) fn chunk<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    outer: Option<&NullBuffer>,
    what: &str,
) -> PyResult<Chunk<'py>> {
    let mut keys = None;
    if array.data_type() == &DataType::Null {
        check_room(array.len(), what)?;
    }
    let mut inner = array.logical_nulls();
    let values = match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match dictionary.values().is_empty() {
                // Every row is null, and there is no value to stand in for one.
                true => Values::Numbers(owned(vec![0.0_f64; array.len()], Element::number('f', 8))),
                false => {
                    let places = dictionary.normalized_keys().into_iter().map(|key| key as i64).collect();
                    keys = Some(owned::<i64>(places, Element::number('i', 8)));
                    plain(py, dictionary.values())?
                }
            }
        }
        DataType::FixedSizeList(_, width) => {
            let rows = array.as_fixed_size_list();
            let width = usize::try_from(*width).unwrap_or(0);
            inner = by_row(inner, rows.values(), array.len(), |row| row * width..(row + 1) * width);
            Values::Numbers(reshaped(numbers(rows.values())?, array.len(), width))
        }
        DataType::List(_) => Values::Numbers(list(array.as_list::<i32>(), what, &mut inner, &mut keys)?),
        DataType::LargeList(_) => Values::Numbers(list(array.as_list::<i64>(), what, &mut inner, &mut keys)?),
        _ => plain(py, array)?,
    };
    Ok(Chunk { values, nulls: marks(NullBuffer::union(inner.as_ref(), outer)), keys })
}

/// The most rows of a column of nulls: 640 MiB of doubles and marks.
const MOST_NULLS: usize = 1 << 26;

/// An error for more rows of nulls than anyone has. Arrow needs no memory for them, so a column of
/// nulls may have any length, and asking for the memory does not tell: the system promises more
/// than it has.
fn check_room(n_rows: usize, what: &str) -> PyResult<()> {
    if n_rows <= MOST_NULLS {
        return Ok(());
    }
    Err(PyMemoryError::new_err(format!("{what} have {n_rows} nulls, and at most {MOST_NULLS} are read")))
}

/// One value for each row, text or not.
fn plain<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Values<'py>> {
    match array.data_type() {
        DataType::Utf8 => texts(py, array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(py, array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(py, array.as_string_view().iter()),
        _ => Ok(Values::Numbers(numbers(array)?)),
    }
}

/// Numbers, true and false, and points in time; in place where numpy has the type.
fn numbers(array: &ArrayRef) -> PyResult<Borrowed> {
    let time = |unit| Element { kind: 'M', bytes: 8, unit, bfloat16: false };
    let number = |kind| Element::number(kind, array.data_type().primitive_width().unwrap_or_default());
    Ok(match array.data_type() {
        floats if floats.is_floating() => in_place(array, number('f')),
        integers if integers.is_signed_integer() => in_place(array, number('i')),
        integers if integers.is_unsigned_integer() => in_place(array, number('u')),
        DataType::Timestamp(TimeUnit::Second, _) => in_place(array, time("[s]")),
        DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => in_place(array, time("[ms]")),
        DataType::Timestamp(TimeUnit::Microsecond, _) => in_place(array, time("[us]")),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => in_place(array, time("[ns]")),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().values().iter().map(|&day| i64::from(day)).collect();
            owned::<i64>(days, time("[D]"))
        }
        DataType::Boolean => {
            let bits = array.as_boolean().values().iter().map(u8::from).collect();
            owned::<u8>(bits, Element::number('b', 1))
        }
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array)?,
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array)?,
        DataType::Null => owned(vec![0.0_f64; array.len()], Element::number('f', 8)),
        other => return Err(PyTypeError::new_err(format!("Arrow's {other}"))),
    })
}

/// An array of numbers, whose data are one buffer without an offset.
fn in_place(array: &ArrayRef, element: Element) -> Borrowed {
    Borrowed::buffer(array.to_data().buffers()[0].clone(), vec![array.len()], element)
}

pub(crate) fn owned<T: ArrowNativeType>(values: Vec<T>, element: Element) -> Borrowed {
    let shape = vec![values.len()];
    Borrowed::buffer(Buffer::from_vec(values), shape, element)
}

/// Decimal fractions as the doubles nearest to them, which their text gives.
fn decimals<T: DecimalType>(array: &ArrayRef) -> PyResult<Borrowed> {
    let decimals = array.as_primitive::<T>();
    let (precision, scale) = (decimals.precision(), decimals.scale());
    let doubles = decimals.values().iter().map(|&value| T::format_decimal(value, precision, scale).parse::<f64>());
    let doubles: Result<Vec<f64>, _> = doubles.collect();
    Ok(owned(doubles.map_err(|error| PyTypeError::new_err(error.to_string()))?, Element::number('f', 8)))
}

fn texts<'py, 'a>(py: Python<'py>, rows: impl Iterator<Item = Option<&'a str>>) -> PyResult<Values<'py>> {
    let rows: Vec<Option<Bound<'py, PyString>>> = rows.map(|row| row.map(|text| PyString::new(py, text))).collect();
    Ok(Values::Texts(PyList::new(py, rows)?))
}

/// Lists of one length: their elements in place, or by `keys` where a null has none. Lists with a
/// null among their elements are `nulls`, too.
fn list<O: OffsetSizeTrait>(
    rows: &GenericListArray<O>,
    what: &str,
    nulls: &mut Option<NullBuffer>,
    keys: &mut Option<Borrowed>,
) -> PyResult<Borrowed> {
    *nulls = by_row(nulls.take(), rows.values(), rows.len(), |row| elements(rows, row));
    let filled = || (0..rows.len()).filter(|&row| rows.is_valid(row));
    let Some(width) = filled().next().map(|row| elements(rows, row).len()) else {
        return Ok(owned(vec![0.0_f64; rows.len()], Element::number('f', 8)));
    };
    if filled().any(|row| elements(rows, row).len() != width) {
        return Err(input_error("shape", what, "rows of different lengths".to_owned()));
    }
    if (0..rows.len()).all(|row| elements(rows, row).len() == width) {
        let values = rows.values().slice(elements(rows, 0).start, rows.len() * width);
        return Ok(reshaped(numbers(&values)?, rows.len(), width));
    }
    check_missing_lists(rows.len() - filled().count(), rows.len(), width, what)?;
    let places = (0..rows.len()).flat_map(|row| {
        let start = if rows.is_valid(row) { elements(rows, row).start } else { 0 };
        start as i64..(start + width) as i64
    });
    let places = owned::<i64>(places.collect(), Element::number('i', 8));
    *keys = Some(reshaped(places, rows.len(), width));
    numbers(rows.values())
}

/// An error where missing lists, which get a place for each element, would take far more memory
/// than the lists that are there: 16 times as much, and 512 MiB.
#[pyfunction]
pub(crate) fn check_missing_lists(n_missing: usize, n_rows: usize, width: usize, what: &str) -> PyResult<()> {
    let most = (n_rows.saturating_sub(n_missing).saturating_mul(width)).saturating_mul(16).saturating_add(1 << 26);
    if n_missing.saturating_mul(width) <= most {
        return Ok(());
    }
    let missing = format!("{n_missing} of {n_rows} lists of {width} values missing");
    Err(input_error("shape", what, format!("{missing}, which is too many to keep; remove these rows")))
}

/// Where the elements of a row are.
fn elements<O: OffsetSizeTrait>(rows: &GenericListArray<O>, row: usize) -> Range<usize> {
    rows.value_offsets()[row].as_usize()..rows.value_offsets()[row + 1].as_usize()
}

fn reshaped(values: Borrowed, n_rows: usize, width: usize) -> Borrowed {
    Borrowed { shape: vec![n_rows, width], ..values }
}

/// The rows that are null or have a null among their elements.
fn by_row(
    rows: Option<NullBuffer>,
    elements: &ArrayRef,
    n_rows: usize,
    range: impl Fn(usize) -> Range<usize>,
) -> Option<NullBuffer> {
    let Some(nulls) = elements.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return rows;
    };
    let whole = (0..n_rows).map(|row| range(row).all(|element| nulls.is_valid(element)));
    NullBuffer::union(rows.as_ref(), Some(&whole.collect()))
}

fn marks(nulls: Option<NullBuffer>) -> Option<Borrowed> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
    Some(owned::<u8>(nulls.iter().map(|valid| u8::from(!valid)).collect(), Element::number('b', 1)))
}
