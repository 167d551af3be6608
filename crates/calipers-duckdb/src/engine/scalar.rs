//! Scalar functions: a callback of DuckDB around a function of one row.

use super::api::Handle;
use super::chunk::{Chunk, Column};
use super::result::{Output, Target};
use super::{api, c_text, guarded};

/// A function of the values of a row.
pub(crate) trait Scalar: 'static {
    /// The name of the function.
    const NAME: &'static str;

    /// What it returns.
    type Value: Output;

    /// The value for a row; `None` is NULL. No argument of the row is NULL.
    fn evaluate(arguments: &[Column<'_>], row: usize) -> Result<Self::Value, String>;
}

/// The callback of a scalar function.
pub(super) extern "C" fn evaluate<S: Scalar>(info: Handle, chunk: Handle, result: Handle) {
    let written = guarded(|| {
        // SAFETY: DuckDB passes a chunk of flat vectors, and a vector of the declared type with
        // room for as many results, for the time of this call.
        let (chunk, target) = unsafe { (Chunk::read(chunk)?, Target::new(result)) };
        let arguments = chunk.columns();
        for row in 0..chunk.len() {
            if arguments.iter().any(|argument| argument.is_null(row)) {
                S::Value::write_null(target, row);
            } else {
                S::evaluate(arguments, row)?.write(target, row);
            }
        }
        Ok(())
    });
    if let Err(text) = written {
        let text = c_text(&format!("{}: {text}", S::NAME));
        // SAFETY: `info` is that of the running callback, and DuckDB copies the text.
        unsafe { (api().scalar_function_set_error)(info, text.as_ptr()) };
    }
}
