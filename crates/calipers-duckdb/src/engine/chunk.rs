//! The rows of a callback: columns as slices, with their NULLs.

use std::marker::PhantomData;
use std::{slice, str};

use super::api;
use super::api::Handle;
use super::types::Type;

/// Some rows of the arguments of a function, at most 2048 as a rule.
pub(crate) struct Chunk<'a> {
    n: usize,
    columns: Vec<Column<'a>>,
}

impl<'a> Chunk<'a> {
    /// # Safety
    /// `handle` is a chunk of flat vectors that stay as they are for `'a`.
    pub(super) unsafe fn read(handle: Handle) -> Result<Self, String> {
        // SAFETY: as the caller promises.
        unsafe {
            let n = (api().data_chunk_get_size)(handle) as usize;
            let columns = 0..(api().data_chunk_get_column_count)(handle);
            let column = |place| Column::read((api().data_chunk_get_vector)(handle, place), n);
            Ok(Chunk { n, columns: columns.map(column).collect::<Result<_, _>>()? })
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// The arguments, in order.
    pub(crate) fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }
}

/// The values of one argument.
pub(crate) struct Column<'a> {
    values: Values<'a>,
    /// A bit for each row that is not NULL; `None` where no row is.
    valid: Option<&'a [u64]>,
}

/// Values by type. Those of rows that are NULL have no meaning.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a> {
    /// 0 and 1. As bytes, since a NULL may have any.
    Boolean(&'a [u8]),
    BigInt(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    /// Of a `VARCHAR` or a `BLOB`.
    Bytes(&'a [Bytes<'a>]),
}

impl<'a> Column<'a> {
    /// # Safety
    /// `vector` is a flat vector of `n` rows that stays as it is for `'a`.
    unsafe fn read(vector: Handle, n: usize) -> Result<Self, String> {
        // SAFETY: as the caller promises; a flat vector has `n` values of its type one after the
        // other, and a bit for each in its mask of rows that are not NULL, if it has one.
        unsafe {
            let data = (api().vector_get_data)(vector);
            let values = match Type::of_vector(vector) {
                Some(Type::Boolean) => Values::Boolean(values(data, n)),
                Some(Type::BigInt) => Values::BigInt(values(data, n)),
                Some(Type::Float) => Values::Float(values(data, n)),
                Some(Type::Double) => Values::Double(values(data, n)),
                Some(Type::Varchar | Type::Blob) => Values::Bytes(values(data, n)),
                None => return Err("DuckDB has passed a column of a type that was not declared".to_owned()),
            };
            let mask = (api().vector_get_validity)(vector);
            let valid = (!mask.is_null()).then(|| values_of_mask(mask, n));
            Ok(Column { values, valid })
        }
    }

    pub(crate) fn values(&self) -> Values<'a> {
        self.values
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.valid.is_some_and(|valid| valid[row / 64] >> (row % 64) & 1 == 0)
    }

    /// A mark for each row that is NULL, if there is any.
    pub(crate) fn nulls(&self, n: usize) -> Option<Vec<bool>> {
        let valid = self.valid?;
        let is_full = |word: usize| {
            let rows = (n - word * 64).min(64);
            let all = u64::MAX >> (64 - rows);
            valid[word] & all == all
        };
        let has_any = !(0..valid.len()).all(is_full);
        has_any.then(|| (0..n).map(|row| self.is_null(row)).collect())
    }

    /// The value of a `BLOB` or a `VARCHAR`, unless it is NULL.
    pub(crate) fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        match self.values {
            Values::Bytes(values) if !self.is_null(row) => Some(values[row].as_slice()),
            _ => None,
        }
    }

    /// The value of a `VARCHAR`, unless it is NULL.
    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        // DuckDB's texts are UTF-8.
        self.bytes(row).and_then(|bytes| str::from_utf8(bytes).ok())
    }

    /// The value of a `DOUBLE`, unless it is NULL.
    pub(crate) fn double(&self, row: usize) -> Option<f64> {
        match self.values {
            Values::Double(values) if !self.is_null(row) => Some(values[row]),
            _ => None,
        }
    }

    /// The value of a `BIGINT`, unless it is NULL.
    pub(crate) fn integer(&self, row: usize) -> Option<i64> {
        match self.values {
            Values::BigInt(values) if !self.is_null(row) => Some(values[row]),
            _ => None,
        }
    }
}

/// # Safety
/// There are `n` values of that type at `data`, which live for `'a`.
unsafe fn values<'a, T>(data: *const std::ffi::c_void, n: usize) -> &'a [T] {
    // SAFETY: as the caller promises; an empty vector may have no data at all.
    if n == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast(), n) } }
}

/// # Safety
/// There is a bit for each of `n` rows at `mask`, which lives for `'a`.
unsafe fn values_of_mask<'a>(mask: *const u64, n: usize) -> &'a [u64] {
    // SAFETY: as the caller promises.
    unsafe { values(mask.cast(), n.div_ceil(64)) }
}

/// A text or bytes in a vector: up to 12 bytes stand in the value itself, others behind a pointer.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Bytes<'a> {
    length: u32,
    /// The bytes, or the first four of them and a pointer to all.
    rest: [u8; 12],
    lifetime: PhantomData<&'a [u8]>,
}

impl<'a> Bytes<'a> {
    /// Whether both are the same value, without looking behind pointers: `false` may be wrong.
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        self.length == other.length && self.rest == other.rest
    }

    fn as_slice(&self) -> &[u8] {
        match self.length as usize {
            length @ ..=12 => &self.rest[..length],
            length => {
                let [.., a, b, c, d, e, f, g, h] = self.rest;
                let data = usize::from_ne_bytes([a, b, c, d, e, f, g, h]) as *const u8;
                // SAFETY: DuckDB has a pointer to all bytes there, which live as the vector does.
                unsafe { slice::from_raw_parts(data, length) }
            }
        }
    }
}
