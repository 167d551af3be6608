//! The Arrow PyCapsule interface: capsules -> arrays, whose memory stays where it is.
//!
//! This file may be `unsafe`, since the interface is C structs behind pointers. The whole of the
//! argument:
//! - A capsule named `arrow_schema`, `arrow_array` or `arrow_array_stream` has a pointer to the
//!   struct of that name, and keeps it until the capsule goes. Arrays and streams are moved out of
//!   theirs, which leaves a released struct behind, so that the capsule frees nothing twice; a
//!   struct that was released before is an error (`arrow_checks.rs`).
//! - Callbacks are called as the interface asks, one at a time, and given memory that lives for the
//!   call.
//! - What buffers hold agrees with the schema: so says the interface. What can be checked is, by
//!   `validate_full`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_checks::{check_array, data_type, no_panic};

/// Arrays of one type, as they were exported.
pub(crate) struct Chunks {
    pub(crate) data_type: DataType,
    pub(crate) arrays: Vec<ArrayRef>,
}

/// What `__arrow_c_array__` gives.
pub(crate) fn from_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the name says what the pointer points to, and the capsule keeps it.
    let data_type = data_type(unsafe { schema.as_ref() }).map_err(type_error)?;
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: as above; the struct is moved out and left released.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    let arrays = vec![import(array, &data_type).map_err(type_error)?];
    Ok(Chunks { data_type, arrays })
}

/// What `__arrow_c_stream__` gives, read to its end. Other threads may run meanwhile: some streams
/// wait for them.
pub(crate) fn from_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let pointer = stream.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name says what the pointer points to, and the capsule keeps it; the struct is
    // moved out and left released.
    let taken = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    stream.py().detach(move || read(taken)).map_err(type_error)
}

fn read(mut stream: FFI_ArrowArrayStream) -> Result<Chunks, ArrowError> {
    let (Some(get_schema), Some(get_next), Some(_)) = (stream.get_schema, stream.get_next, stream.release) else {
        return Err(ArrowError::CDataInterface("a stream that was read before".to_owned()));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a callback of a stream that is not released, with a struct of ours to fill.
    let code = unsafe { get_schema(&mut stream, &mut schema) };
    if code != 0 {
        return Err(last_error(&mut stream, code));
    }
    let data_type = data_type(&schema)?;
    let mut arrays = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&mut stream, &mut array) };
        if code != 0 {
            return Err(last_error(&mut stream, code));
        }
        if array.is_released() {
            return Ok(Chunks { data_type, arrays });
        }
        arrays.push(import(array, &data_type)?);
    }
}

fn last_error(stream: &mut FFI_ArrowArrayStream, code: c_int) -> ArrowError {
    let text = stream.get_last_error.and_then(|get_last_error| {
        // SAFETY: a callback of a stream that is not released; its text lives until the next call.
        let text = unsafe { get_last_error(stream) };
        // SAFETY: not null, and the interface ends it with a zero.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    ArrowError::CDataInterface(text.unwrap_or_else(|| format!("error {code} of the stream")))
}

fn import(array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    check_array(&array, data_type)?;
    no_panic("the array", || {
        // SAFETY: not released, and exported with this type, which it fits.
        let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }?;
        data.validate_full()?;
        Ok(make_array(data))
    })
}

fn type_error(error: ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}
