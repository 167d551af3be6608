//! Types of columns.

use std::ffi::{CString, c_char};

use super::api::Handle;
use super::{api, c_text};

/// The types that the functions here read and return, with DuckDB's numbers for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean = 1,
    BigInt = 5,
    Float = 10,
    Double = 11,
    Varchar = 17,
    Blob = 18,
}

impl Type {
    const ALL: [Type; 6] = [Type::Boolean, Type::BigInt, Type::Float, Type::Double, Type::Varchar, Type::Blob];

    /// The type of a vector; `None` for one that no function here has.
    pub(super) fn of_vector(vector: Handle) -> Option<Self> {
        // SAFETY: the vector is one of a running callback; the type is ours to destroy.
        let number = unsafe {
            let mut logical = (api().vector_get_column_type)(vector);
            let number = (api().get_type_id)(logical);
            (api().destroy_logical_type)(&mut logical);
            number
        };
        Type::ALL.into_iter().find(|known| *known as u32 == number)
    }
}

/// A type of DuckDB, which is destroyed with this value.
pub(crate) struct LogicalType(Handle);

impl LogicalType {
    pub(super) fn handle(&self) -> Handle {
        self.0
    }

    /// A `STRUCT` with these fields.
    pub(crate) fn of_fields(fields: &[(&str, Type)]) -> Self {
        let names: Vec<CString> = fields.iter().map(|(name, _)| c_text(name)).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let types: Vec<LogicalType> = fields.iter().map(|(_, of_field)| (*of_field).into()).collect();
        let mut types_of_fields: Vec<Handle> = types.iter().map(|of_field| of_field.0).collect();
        // SAFETY: both lists have as many entries as there are fields, and DuckDB copies them.
        LogicalType(unsafe {
            (api().create_struct_type)(types_of_fields.as_mut_ptr(), names.as_ptr(), fields.len() as u64)
        })
    }
}

impl From<Type> for LogicalType {
    fn from(plain: Type) -> Self {
        // SAFETY: the number is one of a type without parameters.
        LogicalType(unsafe { (api().create_logical_type)(plain as u32) })
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: made by DuckDB, and destroyed once.
        unsafe { (api().destroy_logical_type)(&mut self.0) };
    }
}
