//! Small batches as most loops have them, read without the conversions that any array may need.
//!
//! A batch is quick if its columns are numpy arrays of numbers in one dimension, or lists of Python
//! numbers, and nothing else is asked. All other input takes the long way, by
//! python/calipers/_predictions.py, which gives the same rows.

use calipers::{Floats, Input, Labels};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList};

/// More rows are worth other threads, and too many to keep the GIL for.
const MOST_ROWS: usize = 1 << 12;

/// Numbers in double or single precision.
enum QuickFloats<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
    List(Vec<f64>),
}

/// Labels of the types that loops have.
enum QuickLabels<'py> {
    I64(PyReadonlyArray1<'py, i64>),
    I32(PyReadonlyArray1<'py, i32>),
    U8(PyReadonlyArray1<'py, u8>),
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    List(Vec<i64>),
}

/// The columns of a quick batch.
pub(crate) struct Quick<'py> {
    labels: QuickLabels<'py>,
    scores: QuickFloats<'py>,
    weights: Option<QuickFloats<'py>>,
    from_logits: bool,
}

impl<'py> Quick<'py> {
    /// `None` for a batch that is not quick.
    pub(crate) fn read(
        labels: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        options: &Bound<'py, PyDict>,
    ) -> Option<Self> {
        let (mut from_logits, mut weights) = (false, None);
        for (name, value) in options {
            match name.extract::<&str>() {
                Ok("from_logits") if value.is_exact_instance_of::<PyBool>() => from_logits = value.is_truthy().ok()?,
                Ok("sample_weight") if value.is_none() => {}
                Ok("sample_weight") => weights = Some(QuickFloats::read(&value)?),
                _ => return None,
            }
        }
        Some(Quick { labels: QuickLabels::read(labels)?, scores: QuickFloats::read(scores)?, weights, from_logits })
    }

    /// What the core checks; `None` if there are too many rows, or none.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        let (labels, scores) = (self.labels.labels()?, self.scores.floats()?);
        let input = if self.from_logits { Input::logits(scores, labels) } else { Input::probabilities(scores, labels) };
        match &self.weights {
            Some(weights) => Some(input.weights(weights.floats()?)),
            None => Some(input),
        }
    }
}

/// A numpy array itself: subclasses may have marks of missing values.
fn is_array(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyUntypedArray>()
}

fn array<'py, T: Element>(object: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    object.cast::<PyArray1<T>>().ok()?.try_readonly().ok()
}

/// The elements, if they are contiguous, aligned and not too many.
fn elements<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> Option<&'a [T]> {
    few(array.as_slice().ok()?)
}

fn few<T>(elements: &[T]) -> Option<&[T]> {
    (1..=MOST_ROWS).contains(&elements.len()).then_some(elements)
}

impl<'py> QuickFloats<'py> {
    fn read(object: &Bound<'py, PyAny>) -> Option<Self> {
        if is_array(object) {
            return array(object).map(QuickFloats::F64).or_else(|| array(object).map(QuickFloats::F32));
        }
        let list = object.cast_exact::<PyList>().ok().filter(|list| list.len() <= MOST_ROWS)?;
        let number = |item: Bound<'py, PyAny>| item.cast_exact::<PyFloat>().ok().map(|number| number.value());
        list.iter().map(number).collect::<Option<_>>().map(QuickFloats::List)
    }

    fn floats(&self) -> Option<Floats<'_>> {
        Some(match self {
            QuickFloats::F32(array) => Floats::F32(elements(array)?),
            QuickFloats::F64(array) => Floats::F64(elements(array)?),
            QuickFloats::List(numbers) => Floats::F64(few(numbers)?),
        })
    }
}

impl<'py> QuickLabels<'py> {
    fn read(object: &Bound<'py, PyAny>) -> Option<Self> {
        if is_array(object) {
            return array(object)
                .map(QuickLabels::I64)
                .or_else(|| array(object).map(QuickLabels::F64))
                .or_else(|| array(object).map(QuickLabels::U8))
                .or_else(|| array(object).map(QuickLabels::I32))
                .or_else(|| array(object).map(QuickLabels::F32));
        }
        let list = object.cast_exact::<PyList>().ok().filter(|list| list.len() <= MOST_ROWS)?;
        let number = |item: Bound<'py, PyAny>| item.cast_exact::<PyInt>().ok()?.extract().ok();
        list.iter().map(number).collect::<Option<_>>().map(QuickLabels::List)
    }

    fn labels(&self) -> Option<Labels<'_>> {
        Some(match self {
            QuickLabels::I64(array) => Labels::I64(elements(array)?),
            QuickLabels::I32(array) => Labels::I32(elements(array)?),
            QuickLabels::U8(array) => Labels::U8(elements(array)?),
            QuickLabels::F64(array) => Labels::F64(elements(array)?),
            QuickLabels::F32(array) => Labels::F32(elements(array)?),
            QuickLabels::List(numbers) => Labels::I64(few(numbers)?),
        })
    }
}
