//! The DLPack interface: a tensor's capsule -> where its elements are.
//!
//! This file may be `unsafe`, since the protocol is a C struct behind a pointer. The whole of the
//! argument:
//! - A capsule named `dltensor` or `dltensor_versioned` has a pointer to the struct of that name,
//!   and owns it until a consumer renames the capsule. It is renamed here once the tensor has been
//!   checked: from then on [`Held`] owns the struct, and calls its deleter once.
//! - `shape`, and `strides` where it is not null, have `ndim` elements each: so says the protocol.
//! - The elements themselves are not looked at here: numpy gets address, shape and strides. The
//!   producer has to see to it that the memory is as large as they say; null, and sizes that no
//!   memory has, are errors.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::slice;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::borrowed::{Borrowed, Element, Owner};

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// Gives a struct back to whoever made it.
type Deleter = Option<unsafe extern "C" fn(*mut c_void)>;

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Deleter,
}

/// `DLManagedTensorVersioned`: a change of the layout after the version has a major number of its
/// own.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: Deleter,
    flags: u64,
    tensor: Tensor,
}

/// The major version whose layout this is.
const MAJOR: u32 = 1;
/// The devices whose memory a processor reads: its own, and what CUDA and ROCm have pinned of it.
const HOSTS: [i32; 3] = [1, 3, 11];
/// No library has more dimensions, numpy at most 64.
const MOST_DIMENSIONS: i32 = 64;
/// More than any machine addresses.
const MOST_BYTES: usize = 1 << 48;

/// The tensor of a capsule, in place.
#[pyfunction]
pub(crate) fn dlpack(capsule: Bound<'_, PyCapsule>) -> PyResult<Borrowed> {
    let (address, shape, strides, element, held, used) = {
        let (tensor, held, used) = tensor(&capsule)?;
        let element = element(tensor)?;
        let (shape, strides) = layout(tensor, element.bytes)?;
        let address = address(tensor, &shape, strides.as_deref(), element.bytes)?;
        (address, shape, strides, element, held, used)
    };
    // SAFETY: a capsule, with the GIL held, and a name that is never freed.
    if unsafe { pyo3::ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    let owner = Owner::Tensor { _held: Held(held) };
    Ok(Borrowed { _owner: owner, address, shape, strides, element })
}

/// A struct of a capsule that is used, and its deleter.
#[derive(Debug)]
pub(crate) struct Held((*mut c_void, Deleter));

// SAFETY: the struct is only given back, once, and by the protocol any thread may do that.
unsafe impl Send for Held {}
// SAFETY: as above; nothing can be done by a shared reference.
unsafe impl Sync for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        if let (managed, Some(deleter)) = self.0 {
            // SAFETY: the capsule was renamed, so that nobody else gives the struct back.
            unsafe { deleter(managed) };
        }
    }
}

/// The tensor of a capsule, what is to be given back, and the name of a capsule that is used.
type Taken<'a> = (&'a Tensor, (*mut c_void, Deleter), &'static CStr);

fn tensor<'a>(capsule: &'a Bound<'_, PyCapsule>) -> PyResult<Taken<'a>> {
    let (tensor, held, used) = if capsule.is_valid_checked(Some(c"dltensor_versioned")) {
        let pointer = capsule.pointer_checked(Some(c"dltensor_versioned"))?;
        // SAFETY: the name says what the pointer points to, and the capsule keeps it.
        let major = unsafe { *pointer.cast::<u32>().as_ref() };
        if major != MAJOR {
            return Err(PyTypeError::new_err(format!("a DLPack tensor of version {major}, not {MAJOR}")));
        }
        // SAFETY: as above, and the layout is that of this major version.
        let versioned = unsafe { pointer.cast::<Versioned>().as_ref() };
        (&versioned.tensor, (pointer.as_ptr(), versioned.deleter), c"used_dltensor_versioned")
    } else {
        // A capsule of any other name, a used one among them, is an exception of Python.
        let pointer = capsule.pointer_checked(Some(c"dltensor"))?;
        // SAFETY: the name says what the pointer points to, and the capsule keeps it.
        let managed = unsafe { pointer.cast::<Managed>().as_ref() };
        (&managed.tensor, (pointer.as_ptr(), managed.deleter), c"used_dltensor")
    };
    if !HOSTS.contains(&tensor.device_type) {
        let (kind, id) = (tensor.device_type, tensor.device_id);
        return Err(PyTypeError::new_err(format!("a DLPack tensor on device ({kind}, {id})")));
    }
    Ok((tensor, held, used))
}

fn element(tensor: &Tensor) -> PyResult<Element> {
    let bytes = usize::from(tensor.bits / 8);
    match (tensor.code, tensor.bits, tensor.lanes) {
        (0, 8 | 16 | 32 | 64, 1) => Ok(Element::number('i', bytes)),
        (1, 8 | 16 | 32 | 64, 1) => Ok(Element::number('u', bytes)),
        (2, 16 | 32 | 64, 1) => Ok(Element::number('f', bytes)),
        (4, 16, 1) => Ok(Element { bfloat16: true, ..Element::number('u', bytes) }),
        (5, 64 | 128, 1) => Ok(Element::number('c', bytes)),
        (6, 8, 1) => Ok(Element::number('b', bytes)),
        (code, bits, lanes) => {
            Err(PyTypeError::new_err(format!("a DLPack type with code {code}, {bits} bits and {lanes} lanes")))
        }
    }
}

/// Where the first element is. numpy would take null for memory that it has to make.
fn address(tensor: &Tensor, shape: &[usize], strides: Option<&[isize]>, bytes: usize) -> PyResult<usize> {
    let fits = |size: &usize| *size <= MOST_BYTES;
    let size = shape.iter().try_fold(bytes, |size, n| size.checked_mul(*n).filter(fits));
    // From the first element to the farthest.
    let extent = shape.iter().zip(strides.unwrap_or_default()).try_fold(0usize, |extent, (n, stride)| {
        n.saturating_sub(1).checked_mul(stride.unsigned_abs())?.checked_add(extent).filter(fits)
    });
    let offset = usize::try_from(tensor.byte_offset).ok().filter(fits);
    let address = offset.and_then(|offset| (tensor.data as usize).checked_add(offset));
    match (size, extent, address) {
        (Some(1..), ..) if tensor.data.is_null() => Err(PyTypeError::new_err("a DLPack tensor without its elements")),
        (Some(_), Some(_), Some(address)) => Ok(address),
        _ => Err(PyTypeError::new_err("a DLPack tensor of an impossible size")),
    }
}

/// Shape, and strides in bytes.
fn layout(tensor: &Tensor, bytes: usize) -> PyResult<(Vec<usize>, Option<Vec<isize>>)> {
    let odd = || PyTypeError::new_err("a DLPack tensor of an impossible shape");
    if !(0..=MOST_DIMENSIONS).contains(&tensor.ndim) || (tensor.ndim > 0 && tensor.shape.is_null()) {
        return Err(odd());
    }
    let n_dimensions = tensor.ndim as usize;
    let numbers = |pointer: *const i64| match n_dimensions {
        0 => &[][..],
        // SAFETY: not null, and the protocol gives it one number for each dimension.
        _ => unsafe { slice::from_raw_parts(pointer, n_dimensions) },
    };
    let shape: Option<Vec<usize>> = numbers(tensor.shape).iter().map(|&size| usize::try_from(size).ok()).collect();
    let shape = shape.ok_or_else(odd)?;
    if tensor.strides.is_null() {
        return Ok((shape, None));
    }
    let strides = numbers(tensor.strides).iter();
    let strides: Option<Vec<isize>> =
        strides.map(|&stride| isize::try_from(stride).ok()?.checked_mul(bytes as isize)).collect();
    Ok((shape, Some(strides.ok_or_else(odd)?)))
}
