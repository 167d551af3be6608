//! Results: values that are written into a vector of DuckDB.

use super::api;
use super::api::Handle;
use super::types::LogicalType;

/// A value that a function returns.
pub(crate) trait Output {
    /// Its type in SQL.
    fn logical_type() -> LogicalType;

    /// Writes it.
    fn write(&self, target: Target, row: usize);

    /// Writes NULL.
    fn write_null(target: Target, row: usize) {
        target.null(row);
    }
}

/// A vector of results.
#[derive(Clone, Copy)]
pub(crate) struct Target(Handle);

impl Target {
    /// # Safety
    /// `vector` is a vector of results of a running callback, with room for each row that is
    /// written, and of the type of what is written.
    pub(super) unsafe fn new(vector: Handle) -> Self {
        Target(vector)
    }

    pub(crate) fn null(self, row: usize) {
        // SAFETY: after the first call there is a mask with a bit for each row of the vector.
        unsafe {
            (api().vector_ensure_validity_writable)(self.0);
            let mask = (api().vector_get_validity)(self.0);
            *mask.add(row / 64) &= !(1 << (row % 64));
        }
    }

    pub(crate) fn double(self, row: usize, value: f64) {
        self.plain(row, value);
    }

    pub(crate) fn integer(self, row: usize, value: i64) {
        self.plain(row, value);
    }

    pub(crate) fn boolean(self, row: usize, value: bool) {
        self.plain(row, value);
    }

    /// Writes a `BLOB` or a `VARCHAR`.
    pub(crate) fn bytes(self, row: usize, bytes: &[u8]) {
        // SAFETY: DuckDB copies as many bytes as there are.
        unsafe {
            (api().vector_assign_string_element_len)(self.0, row as u64, bytes.as_ptr().cast(), bytes.len() as u64);
        }
    }

    /// The vector of a field of a `STRUCT`.
    pub(crate) fn field(self, place: usize) -> Target {
        // SAFETY: the type of the result has this field.
        Target(unsafe { (api().struct_vector_get_child)(self.0, place as u64) })
    }

    fn plain<T>(self, row: usize, value: T) {
        // SAFETY: the vector has values of this type, and room for this row.
        unsafe { (api().vector_get_data)(self.0).cast::<T>().add(row).write(value) };
    }
}
