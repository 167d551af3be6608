//! Structs of the Arrow C data interface, checked before arrow-rs reads them.
//!
//! arrow-rs believes what a producer wrote: it reads a struct that was released, follows null
//! pointers, recurses as deep as types are nested, and reserves as much memory as metadata state.
//! Here all of that is an error. What nobody can check is whether a pointer that is not null points
//! to what the interface says.
//!
//! This file may be `unsafe`, since structs and texts are behind pointers. The whole of the
//! argument: a struct that is not released has the fields that the interface gives it, and
//! `children` has `n_children` elements; both are looked at only after the fields were found to be
//! possible.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_schema::{ArrowError, DataType};

/// Types that are nested deeper are no predictions, and would take the stack.
const MOST_LEVELS: usize = 64;

/// More types in one schema are a cycle, or a slip.
const MOST_TYPES: usize = 1 << 20;

/// Rows that no memory holds: what is computed from them stays far below the end of integers.
const MOST_ROWS: i64 = 1 << 48;

/// The type that a schema states.
pub(crate) fn data_type(schema: &FFI_ArrowSchema) -> Result<DataType, ArrowError> {
    let mut copies = Copies::default();
    let root = copies.copy(schema, 0)?;
    // SAFETY: a copy of ours, which `copies` keeps; its texts are those of the schema, which lives.
    let copy = unsafe { &*root };
    no_panic("the schema", || DataType::try_from(copy))
}

/// Copies of the parts of a schema, which are never released and have no metadata.
#[derive(Default)]
struct Copies {
    #[allow(clippy::vec_box, reason = "others point to them, so that they must not move")]
    schemas: Vec<Box<FFI_ArrowSchema>>,
    children: Vec<Box<[*mut FFI_ArrowSchema]>>,
}

impl Copies {
    fn copy(&mut self, schema: &FFI_ArrowSchema, level: usize) -> Result<*mut FFI_ArrowSchema, ArrowError> {
        require(schema.release.is_some(), "an Arrow schema that was released")?;
        require(level < MOST_LEVELS, "an Arrow type that is nested more than 64 levels deep")?;
        require(self.schemas.len() < MOST_TYPES, "an Arrow schema of more than 1,048,576 types")?;
        let format = text(schema.format)?.ok_or_else(|| fault("an Arrow schema without a format"))?;
        text(schema.name)?;
        let n_children = n_children(format, schema.n_children)?;
        let mut children = Vec::new();
        for child in pointers(schema.children, n_children, "an Arrow schema without its children")? {
            children.push(self.copy(child, level + 1)?);
        }
        // SAFETY: null, or a schema of the interface.
        let dictionary = match unsafe { schema.dictionary.as_ref() } {
            Some(dictionary) => self.copy(dictionary, level + 1)?,
            None => ptr::null_mut(),
        };
        let mut children = children.into_boxed_slice();
        let mut copy = Box::new(FFI_ArrowSchema {
            format: schema.format,
            name: schema.name,
            flags: schema.flags,
            n_children: schema.n_children,
            children: children.as_mut_ptr(),
            dictionary,
            ..FFI_ArrowSchema::empty()
        });
        let place: *mut FFI_ArrowSchema = &mut *copy;
        self.schemas.push(copy);
        self.children.push(children);
        Ok(place)
    }
}

/// The number of children, which the format must have; arrow-rs reads no others.
fn n_children(format: &str, stated: i64) -> Result<usize, ArrowError> {
    let stated = usize::try_from(stated).map_err(|_| fault("an Arrow schema with a negative number of children"))?;
    let needed = match format {
        "+l" | "+L" | "+vl" | "+vL" | "+m" => Some(1),
        "+r" => Some(2),
        "+s" => None,
        union if union.starts_with("+u") => None,
        list if list.starts_with("+w:") => Some(1),
        _ => Some(0),
    };
    let width = format.strip_prefix("+w:").or_else(|| format.strip_prefix("w:"));
    require(!width.is_some_and(|width| width.starts_with('-')), "an Arrow type of a negative width")?;
    let is_right = needed.is_none_or(|needed| needed == stated) && stated < MOST_TYPES;
    is_right.then_some(stated).ok_or_else(|| fault(format!("an Arrow schema {format:?} with {stated} children")))
}

/// What a type has in an array: buffers at least, whether the second must be there where there are
/// rows, and the types of the children.
fn parts(data_type: &DataType) -> (i64, bool, Vec<&DataType>) {
    match data_type {
        DataType::Null => (0, false, Vec::new()),
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => (3, true, Vec::new()),
        DataType::Utf8View | DataType::BinaryView => (3, true, Vec::new()),
        DataType::List(items) | DataType::LargeList(items) | DataType::Map(items, _) => {
            (2, true, vec![items.data_type()])
        }
        DataType::ListView(items) | DataType::LargeListView(items) => (3, true, vec![items.data_type()]),
        DataType::FixedSizeList(items, _) => (1, false, vec![items.data_type()]),
        DataType::Struct(fields) => (1, false, fields.iter().map(|field| field.data_type()).collect()),
        DataType::Union(fields, _) => (1, false, fields.iter().map(|(_, field)| field.data_type()).collect()),
        DataType::RunEndEncoded(ends, values) => (0, false, vec![ends.data_type(), values.data_type()]),
        _ => (2, true, Vec::new()),
    }
}

/// Checks an array, and all arrays in it, against its type.
pub(crate) fn check_array(array: &FFI_ArrowArray, data_type: &DataType) -> Result<(), ArrowError> {
    require(!array.is_released(), "an Arrow array that was released")?;
    let is_size = |size: i64| (0..MOST_ROWS).contains(&size);
    require(is_size(array.length) && is_size(array.offset), "an Arrow array of an impossible length")?;
    let (n_buffers, has_values, children) = parts(data_type);
    let too_few = || fault(format!("an Arrow array of {data_type} with {} buffers", array.n_buffers));
    require((n_buffers..1 << 20).contains(&array.n_buffers), &too_few().to_string())?;
    require(array.n_buffers == 0 || !array.buffers.is_null(), "an Arrow array without its buffers")?;
    if has_values && array.length > 0 {
        // SAFETY: there are at least two, as was checked.
        require(!unsafe { *array.buffers.add(1) }.is_null(), "an Arrow array without its values")?;
    }
    let n_children = usize::try_from(array.n_children).unwrap_or(usize::MAX);
    require(n_children == children.len(), "an Arrow array with other children than its schema")?;
    let found = pointers(array.children, n_children, "an Arrow array without its children")?;
    found.into_iter().zip(children).try_for_each(|(child, data_type)| check_array(child, data_type))?;
    // SAFETY: null, or an array of the interface.
    match (data_type, unsafe { array.dictionary.as_ref() }) {
        (DataType::Dictionary(_, words), Some(dictionary)) => check_array(dictionary, words),
        (DataType::Dictionary(..), None) => Err(fault("an Arrow array without its dictionary")),
        (_, Some(_)) => Err(fault("an Arrow array with a dictionary, which its schema does not have")),
        (_, None) => Ok(()),
    }
}

/// Runs what arrow-rs does, which asserts what it finds impossible.
pub(crate) fn no_panic<T>(what: &str, work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(fault(format!("{what} is not valid Arrow"))))
}

/// What some pointers point to, none of which is null.
fn pointers<'a, T>(start: *mut *mut T, n: usize, missing: &str) -> Result<Vec<&'a T>, ArrowError> {
    require(n == 0 || !start.is_null(), missing)?;
    // SAFETY: not null, and the interface gives it as many elements as were stated.
    let all = (0..n).map(|place| unsafe { (*start.add(place)).as_ref() });
    all.map(|pointer| pointer.ok_or_else(|| fault(missing))).collect()
}

/// The text behind a pointer, if it is not null.
fn text<'a>(pointer: *const c_char) -> Result<Option<&'a str>, ArrowError> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the interface ends it with a zero.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| fault("an Arrow schema whose format or name is not UTF-8"))
}

fn require(is_right: bool, text: &str) -> Result<(), ArrowError> {
    if is_right { Ok(()) } else { Err(fault(text)) }
}

fn fault(text: impl Into<String>) -> ArrowError {
    ArrowError::CDataInterface(text.into())
}
