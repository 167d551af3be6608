//! Arrays of true and false, whose bytes are looked at before they are taken for that.
//!
//! This file may be `unsafe`, since a byte of a numpy array of type bool may be any: a view of
//! other bytes, or memory of another library. A Rust `bool` must be 0 or 1. The whole of the
//! argument: the elements are read as bytes, for which every value is valid, and taken for `bool`
//! only if all are 0 or 1. The array is borrowed for reading; a thread that writes to it meanwhile
//! breaks the rules of numpy's own interface.
#![allow(unsafe_code)]

use std::slice;

use numpy::{PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The elements in row order.
pub(crate) fn truths<'a>(array: &'a PyReadonlyArrayDyn<'_, bool>) -> PyResult<&'a [bool]> {
    if !array.is_c_contiguous() {
        return Err(PyTypeError::new_err("calipers._core takes arrays in C order only"));
    }
    let (start, length) = (array.data(), array.len());
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: the array has so many elements of one byte side by side, and outlives the result.
    let bytes = unsafe { slice::from_raw_parts(start.cast::<u8>(), length) };
    if bytes.iter().any(|byte| *byte > 1) {
        let text = "an array of true and false has bytes that are neither 0 nor 1; pass array.view(\"u1\") != 0";
        return Err(PyTypeError::new_err(text));
    }
    // SAFETY: as above, and every byte is 0 or 1.
    Ok(unsafe { slice::from_raw_parts(start, length) })
}
