//! Registers functions: a name, with a function for each list of parameters.

use std::ffi::CString;

use super::aggregate::{Aggregate, Callbacks};
use super::api::Handle;
use super::result::Output;
use super::scalar::{self, Scalar};
use super::types::{LogicalType, Type};
use super::{Connection, api, c_text};

/// The functions of one name, all aggregates.
pub(crate) struct AggregateSet {
    name: CString,
    handle: Handle,
}

impl AggregateSet {
    pub(crate) fn new(name: &str) -> Self {
        let name = c_text(name);
        // SAFETY: DuckDB copies the name.
        let handle = unsafe { (api().create_aggregate_function_set)(name.as_ptr()) };
        AggregateSet { name, handle }
    }

    /// Adds the function for these parameters, which returns a `BLOB`.
    pub(crate) fn with<A: Aggregate>(self, parameters: &[Type]) -> Result<Self, String> {
        let api = api();
        // SAFETY: the function is made, described and added here, which copies it, and destroyed.
        let status = unsafe {
            let mut function = (api.create_aggregate_function)();
            (api.aggregate_function_set_name)(function, self.name.as_ptr());
            for parameter in parameters {
                (api.aggregate_function_add_parameter)(function, LogicalType::from(*parameter).handle());
            }
            (api.aggregate_function_set_return_type)(function, LogicalType::from(Type::Blob).handle());
            (api.aggregate_function_set_functions)(
                function,
                Callbacks::<A>::size,
                Callbacks::<A>::init,
                Callbacks::<A>::update,
                Callbacks::<A>::combine,
                Callbacks::<A>::finish,
            );
            (api.aggregate_function_set_destructor)(function, Callbacks::<A>::destroy);
            // Rows with NULL are passed on as well.
            (api.aggregate_function_set_special_handling)(function);
            let status = (api.add_aggregate_function_to_set)(self.handle, function);
            (api.destroy_aggregate_function)(&mut function);
            status
        };
        if status == 0 { Ok(self) } else { Err(refused(&self.name)) }
    }

    pub(crate) fn register(self, connection: &Connection) -> Result<(), String> {
        // SAFETY: connection and set are valid; DuckDB copies the set.
        let status = unsafe { (api().register_aggregate_function_set)(connection.0, self.handle) };
        if status == 0 { Ok(()) } else { Err(refused(&self.name)) }
    }
}

impl Drop for AggregateSet {
    fn drop(&mut self) {
        // SAFETY: made by DuckDB, and destroyed once.
        unsafe { (api().destroy_aggregate_function_set)(&mut self.handle) };
    }
}

/// The functions of one name, all scalar.
pub(crate) struct ScalarSet {
    name: CString,
    handle: Handle,
}

impl ScalarSet {
    pub(crate) fn new(name: &str) -> Self {
        let name = c_text(name);
        // SAFETY: DuckDB copies the name.
        let handle = unsafe { (api().create_scalar_function_set)(name.as_ptr()) };
        ScalarSet { name, handle }
    }

    /// Adds the function for these parameters.
    pub(crate) fn with<S: Scalar>(self, parameters: &[Type]) -> Result<Self, String> {
        let api = api();
        // SAFETY: the function is made, described and added here, which copies it, and destroyed.
        let status = unsafe {
            let mut function = (api.create_scalar_function)();
            (api.scalar_function_set_name)(function, self.name.as_ptr());
            for parameter in parameters {
                (api.scalar_function_add_parameter)(function, LogicalType::from(*parameter).handle());
            }
            (api.scalar_function_set_return_type)(function, S::Value::logical_type().handle());
            (api.scalar_function_set_function)(function, scalar::evaluate::<S>);
            // NULL is written here.
            (api.scalar_function_set_special_handling)(function);
            let status = (api.add_scalar_function_to_set)(self.handle, function);
            (api.destroy_scalar_function)(&mut function);
            status
        };
        if status == 0 { Ok(self) } else { Err(refused(&self.name)) }
    }

    pub(crate) fn register(self, connection: &Connection) -> Result<(), String> {
        // SAFETY: connection and set are valid; DuckDB copies the set.
        let status = unsafe { (api().register_scalar_function_set)(connection.0, self.handle) };
        if status == 0 { Ok(()) } else { Err(refused(&self.name)) }
    }
}

impl Drop for ScalarSet {
    fn drop(&mut self) {
        // SAFETY: made by DuckDB, and destroyed once.
        unsafe { (api().destroy_scalar_function_set)(&mut self.handle) };
    }
}

fn refused(name: &CString) -> String {
    format!("DuckDB has refused the function {}", name.to_string_lossy())
}
