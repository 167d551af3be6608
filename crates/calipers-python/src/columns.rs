//! Arrays that python/calipers/_inputs.py has made contiguous, borrowed in place.

use calipers::{Floats, Input, Labels};
use numpy::{Element, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::options::Options;
use crate::truths::truths;

/// The arrays of one call. Python's `Columns` has the same fields.
#[derive(FromPyObject)]
pub(crate) struct Columns<'py> {
    labels: LabelColumn<'py>,
    /// What labels must be, and how they were written, where they stand for others by number.
    label_rule: Option<String>,
    label_texts: Option<Vec<String>>,
    scores: FloatColumn<'py>,
    weights: Option<FloatColumn<'py>>,
    missing_labels: Option<PyReadonlyArrayDyn<'py, bool>>,
    missing_scores: Option<PyReadonlyArrayDyn<'py, bool>>,
    missing_weights: Option<PyReadonlyArrayDyn<'py, bool>>,
}

impl Columns<'_> {
    /// The core's view of the arrays: nothing is copied and nothing looked at.
    pub(crate) fn input(&self, options: &Options<'_>) -> Result<Input<'_>, Failure> {
        let (scores, labels) = (self.scores.floats()?, self.labels.labels()?);
        let mut input = match options.read("from_logits")? {
            false => Input::probabilities(scores, labels),
            true => Input::logits(scores, labels),
        };
        if let (Some(rule), Some(texts)) = (&self.label_rule, &self.label_texts) {
            input = input.coded(rule, texts);
        }
        if let Some(weights) = &self.weights {
            input = input.weights(weights.floats()?);
        }
        let positive = options.get("pos_label")?;
        let wrong_type = |_| Failure::option_type("pos_label", "text, a number or None", &positive);
        if let Some(positive) = positive.extract::<Option<String>>().map_err(wrong_type)? {
            input = input.positive(positive);
        }
        Ok(input
            .classes(self.scores.n_classes())
            .sum_tolerance(options.read("sum_tolerance")?)
            .invalid(options.read("invalid")?)
            .missing(marks(&self.missing_scores)?, marks(&self.missing_labels)?, marks(&self.missing_weights)?))
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.scores.n_classes()
    }

    pub(crate) fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }
}

/// Scores or weights: (n,) or (n, k), float32 or float64.
pub(crate) enum FloatColumn<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
}

impl FloatColumn<'_> {
    pub(crate) fn floats(&self) -> PyResult<Floats<'_>> {
        Ok(match self {
            FloatColumn::F32(array) => Floats::F32(slice(array)?),
            FloatColumn::F64(array) => Floats::F64(slice(array)?),
        })
    }

    fn n_classes(&self) -> usize {
        let shape = match self {
            FloatColumn::F32(array) => array.shape(),
            FloatColumn::F64(array) => array.shape(),
        };
        shape.get(1).copied().unwrap_or(1)
    }
}

impl<'py> FromPyObject<'_, 'py> for FloatColumn<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyArrayDyn<f32>>().is_ok() {
            Ok(FloatColumn::F32(object.extract()?))
        } else {
            Ok(FloatColumn::F64(object.extract()?))
        }
    }
}

macro_rules! label_column {
    ($($variant:ident($type:ty)),*) => {
        /// One label for each row: an array of any number type, or strings.
        pub(crate) enum LabelColumn<'py> {
            Text(Vec<String>),
            Bool(PyReadonlyArrayDyn<'py, bool>),
            $($variant(PyReadonlyArrayDyn<'py, $type>),)*
        }

        impl LabelColumn<'_> {
            fn labels(&self) -> PyResult<Labels<'_>> {
                Ok(match self {
                    LabelColumn::Text(texts) => Labels::Text(texts),
                    LabelColumn::Bool(array) => Labels::Bool(truths(array)?),
                    $(LabelColumn::$variant(array) => Labels::$variant(slice(array)?),)*
                })
            }
        }

        impl<'py> FromPyObject<'_, 'py> for LabelColumn<'py> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                $(if object.cast::<PyArrayDyn<$type>>().is_ok() {
                    return Ok(LabelColumn::$variant(object.extract()?));
                })*
                if object.cast::<PyArrayDyn<bool>>().is_ok() {
                    return Ok(LabelColumn::Bool(object.extract()?));
                }
                Ok(LabelColumn::Text(object.extract()?))
            }
        }
    };
}
label_column! {
    I64(i64), F64(f64), F32(f32), I32(i32), U8(u8), I8(i8), I16(i16), U16(u16), U32(u32), U64(u64)
}

fn marks<'a>(mask: &'a Option<PyReadonlyArrayDyn<'_, bool>>) -> PyResult<Option<&'a [bool]>> {
    mask.as_ref().map(truths).transpose()
}

/// The elements in row order. An array in Fortran's order is contiguous too, and would be read
/// transposed.
fn slice<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    if !array.is_c_contiguous() {
        return Err(PyTypeError::new_err("calipers._core takes arrays in C order only"));
    }
    Ok(array.as_slice()?)
}
