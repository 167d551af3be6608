//! The boundary to DuckDB, and the one place with `unsafe`.
//!
//! DuckDB calls an extension through C functions with pointers. Here these become [`Chunk`]s of
//! [`Column`]s, states that are values of an [`Aggregate`], and results of a [`Scalar`], so that
//! the functions themselves are safe code. What all of it relies on:
//! 1. Pointers of a callback are valid while it runs. Lifetimes of columns end with the callback.
//! 2. DuckDB has initialised a state before it is used, uses it in one thread at a time unless it
//!    only reads it, may move its bytes, and destroys it once. So a state is a pointer to the heap.
//! 3. No panic leaves a callback: each becomes an error of the query.
#![allow(unsafe_code)]

mod aggregate;
mod api;
mod chunk;
mod functions;
mod result;
mod scalar;
mod types;

use std::any::Any;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

pub(crate) use aggregate::{Aggregate, Runs};
use api::{Api, Handle};
pub(crate) use chunk::{Chunk, Column, Values};
pub(crate) use functions::{AggregateSet, ScalarSet};
pub(crate) use result::{Output, Target};
pub(crate) use scalar::Scalar;
pub(crate) use types::{LogicalType, Type};

static API: OnceLock<Api> = OnceLock::new();

fn api() -> &'static Api {
    // proof: `load` sets it before there is a connection, and so before any function is registered
    API.get().expect("DuckDB calls functions after it has loaded them")
}

/// What DuckDB passes to an extension that it loads.
#[repr(C)]
struct Access {
    set_error: unsafe extern "C" fn(info: Handle, text: *const c_char),
    get_database: unsafe extern "C" fn(info: Handle) -> *mut Handle,
    get_api:
        unsafe extern "C" fn(info: Handle, version: *const c_char) -> *const Option<ptr::NonNull<std::ffi::c_void>>,
}

/// The function that DuckDB calls when it loads `calipers.duckdb_extension`.
#[unsafe(no_mangle)]
extern "C" fn calipers_init_c_api(info: Handle, access: *const Access) -> bool {
    // SAFETY: DuckDB passes a table of three functions that outlives this call.
    let access = unsafe { &*access };
    match guarded(|| load(info, access)) {
        Ok(()) => true,
        Err(text) => {
            // SAFETY: as above; DuckDB copies the text.
            unsafe { (access.set_error)(info, c_text(&text).as_ptr()) };
            false
        }
    }
}

fn load(info: Handle, access: &Access) -> Result<(), String> {
    // SAFETY: `get_api` returns the table of the version that is requested, or null.
    let found = unsafe {
        let table = (access.get_api)(info, api::VERSION.as_ptr());
        if table.is_null() { None } else { Api::read(table) }
    };
    let found = found.ok_or("calipers needs DuckDB 1.2 or later")?;
    API.get_or_init(|| found);
    // SAFETY: `get_database` returns a pointer to the database that loads the extension, or null.
    let database = unsafe { (access.get_database)(info).as_ref() };
    crate::register(&Connection::open(*database.ok_or("DuckDB has passed no database")?)?)
}

/// A connection to the database that has loaded the extension.
pub(crate) struct Connection(Handle);

impl Connection {
    fn open(database: Handle) -> Result<Self, String> {
        let mut connection = ptr::null_mut();
        // SAFETY: the database is open, and `connection` is a place for the result.
        match unsafe { (api().connect)(database, &mut connection) } {
            0 => Ok(Connection(connection)),
            _ => Err("DuckDB has refused a connection".to_owned()),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the connection is open, and used by nobody else.
        unsafe { (api().disconnect)(&mut self.0) };
    }
}

/// What `work` returns, and a panic of it as an error: none may unwind into DuckDB.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(format!("a bug in calipers: {}", message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// A text for C, which ends at the first zero.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}
