//! The functions of DuckDB that are used here, out of the table that it passes to an extension.
//!
//! The table is version 1.2.0 of DuckDB's C extension API, which every DuckDB from 1.2 on has. Its
//! places are fixed for good, so each function is declared by its place and its signature.

use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// The version of the table, as DuckDB and the end of the extension's file have it.
pub(super) const VERSION: &std::ffi::CStr = c"v1.2.0";

/// Something that DuckDB owns, behind a pointer.
pub(super) type Handle = *mut c_void;

/// 0 is success.
pub(super) type Status = u32;

/// An aggregate's callbacks: `states` are pointers to as many bytes as `SizeOfState` has returned.
pub(super) type SizeOfState = extern "C" fn(info: Handle) -> u64;
pub(super) type InitState = extern "C" fn(info: Handle, state: Handle);
pub(super) type Update = extern "C" fn(info: Handle, chunk: Handle, states: *const Handle);
pub(super) type Combine = extern "C" fn(info: Handle, from: *const Handle, into: *const Handle, n: u64);
pub(super) type Finish = extern "C" fn(info: Handle, states: *const Handle, result: Handle, n: u64, offset: u64);
pub(super) type Destroy = extern "C" fn(states: *const Handle, n: u64);

/// A scalar function's callback.
pub(super) type Evaluate = extern "C" fn(info: Handle, chunk: Handle, result: Handle);

macro_rules! api {
    ($($place:literal $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of DuckDB by their names, without the prefix `duckdb_`.
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// Copies the functions, since the table is only lent. `None` if one is missing.
            ///
            /// # Safety
            /// `table` is DuckDB's table of this [`VERSION`].
            pub(super) unsafe fn read(table: *const Option<NonNull<c_void>>) -> Option<Self> {
                // SAFETY: the table has these places, and at each a function of this signature.
                unsafe {
                    Some(Api {
                        $($name: std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            (*table.add($place))?
                        ),)*
                    })
                }
            }
        }
    };
}

api! {
    3 connect(Handle, *mut Handle) -> Status;
    6 disconnect(*mut Handle);
    156 create_logical_type(u32) -> Handle;
    163 create_struct_type(*mut Handle, *const *const c_char, u64) -> Handle;
    166 get_type_id(Handle) -> u32;
    184 destroy_logical_type(*mut Handle);
    189 data_chunk_get_column_count(Handle) -> u64;
    190 data_chunk_get_vector(Handle, u64) -> Handle;
    191 data_chunk_get_size(Handle) -> u64;
    193 vector_get_column_type(Handle) -> Handle;
    194 vector_get_data(Handle) -> *mut c_void;
    195 vector_get_validity(Handle) -> *mut u64;
    196 vector_ensure_validity_writable(Handle);
    198 vector_assign_string_element_len(Handle, u64, *const c_char, u64);
    203 struct_vector_get_child(Handle, u64) -> Handle;
    209 create_scalar_function() -> Handle;
    210 destroy_scalar_function(*mut Handle);
    211 scalar_function_set_name(Handle, *const c_char);
    213 scalar_function_set_special_handling(Handle);
    215 scalar_function_add_parameter(Handle, Handle);
    216 scalar_function_set_return_type(Handle, Handle);
    218 scalar_function_set_function(Handle, Evaluate);
    221 scalar_function_set_error(Handle, *const c_char);
    222 create_scalar_function_set(*const c_char) -> Handle;
    223 destroy_scalar_function_set(*mut Handle);
    224 add_scalar_function_to_set(Handle, Handle) -> Status;
    225 register_scalar_function_set(Handle, Handle) -> Status;
    226 create_aggregate_function() -> Handle;
    227 destroy_aggregate_function(*mut Handle);
    228 aggregate_function_set_name(Handle, *const c_char);
    229 aggregate_function_add_parameter(Handle, Handle);
    230 aggregate_function_set_return_type(Handle, Handle);
    231 aggregate_function_set_functions(Handle, SizeOfState, InitState, Update, Combine, Finish);
    232 aggregate_function_set_destructor(Handle, Destroy);
    234 aggregate_function_set_special_handling(Handle);
    237 aggregate_function_set_error(Handle, *const c_char);
    238 create_aggregate_function_set(*const c_char) -> Handle;
    239 destroy_aggregate_function_set(*mut Handle);
    240 add_aggregate_function_to_set(Handle, Handle) -> Status;
    241 register_aggregate_function_set(Handle, Handle) -> Status;
}
