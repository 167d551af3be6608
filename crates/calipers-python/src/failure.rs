//! One way out for everything that goes wrong.

use calipers::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    calipers,
    CalipersError,
    PyValueError,
    "Invalid input, or a tolerance that cannot be met: the text gives the rule, the value and the row.\n\n\
     `code` names the kind of error, such as \"invalid_probability\"; it stays when the text changes."
);

/// An error of the core, of one model or run of several where it is named, or an exception of
/// Python.
#[derive(Debug)]
pub(crate) enum Failure {
    OfCore(Error),
    /// The same, for rows none of which can be left out.
    OfNewRows(Error),
    OfModel(String, Error),
    /// In the rows of one run of several; the exception has its number as `run`.
    OfRun(usize, Error),
    Raised(PyErr),
}

impl Failure {
    /// An error in the rows of one model.
    pub(crate) fn of_model(name: &str, error: Error) -> Self {
        Failure::OfModel(name.to_owned(), error)
    }

    /// An error of rows each of which must have an answer.
    pub(crate) fn of_new_rows(self) -> Self {
        match self {
            Failure::OfCore(error) => Failure::OfNewRows(error),
            other => other,
        }
    }

    /// A `TypeError` for an option of a type that it cannot have.
    pub(crate) fn option_type(name: &str, expected: &str, got: &Bound<'_, PyAny>) -> Self {
        match got.get_type().name() {
            Ok(type_name) => PyTypeError::new_err(format!("{name} must be {expected}, got {type_name}")).into(),
            Err(error) => error.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::OfCore(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Raised(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Raised(error) => error,
            Failure::OfCore(error) => raised(text(&error), error.code()),
            Failure::OfNewRows(error) => {
                let text = text(&error);
                raised(text.strip_suffix(LEAVE_OUT).unwrap_or(&text).to_owned(), error.code())
            }
            Failure::OfModel(name, error) => raised(format!("model {name:?}: {}", text(&error)), error.code()),
            Failure::OfRun(run, error) => {
                let raised = raised(text(&error), error.code());
                Python::attach(|py| raised.value(py).setattr("run", run)).map_or_else(|other| other, |()| raised)
            }
        }
    }
}

/// What to do about a value that is missing or no number.
const LEAVE_OUT: &str = "; correct it, or pass invalid=\"count\" to leave such rows out";

/// The text of the core, and which keyword helps.
fn text(error: &Error) -> String {
    let hint = match error {
        Error::InvalidProbability { value, .. } if value.is_finite() => {
            "; pass from_logits=True if these are raw scores".to_owned()
        }
        Error::LooksLikeLogits { .. } => "; pass from_logits=True".to_owned(),
        // A missing cluster cannot be counted.
        Error::Missing { what: "cluster", .. } => String::new(),
        Error::Missing { .. } => LEAVE_OUT.to_owned(),
        Error::InvalidProbability { value, .. }
        | Error::InvalidLogit { value, .. }
        | Error::InvalidWeight { value, .. }
            if !value.is_finite() =>
        {
            LEAVE_OUT.to_owned()
        }
        Error::RowSum { .. } => "; pass from_logits=True for raw scores, or a larger sum_tolerance".to_owned(),
        Error::InvalidOutcome { .. } => "; pass the positive label as pos_label".to_owned(),
        Error::LabelsFromOne { last, .. } => format!(", or pass classes=range(1, {})", last + 2),
        Error::InvalidLabel { .. } => "; pass other labels as classes, in the order of the columns".to_owned(),
        _ => String::new(),
    };
    format!("{error}{hint}")
}

fn raised(text: String, code: &'static str) -> PyErr {
    Python::attach(|py| {
        let raised = CalipersError::new_err(text);
        match raised.value(py).setattr("code", code) {
            Ok(()) => raised,
            Err(other) => other,
        }
    })
}

/// The exception for an argument that cannot become columns; Python finds it, the core has the
/// text.
#[pyfunction]
pub(crate) fn input_error(code: &str, what: &str, got: String) -> PyErr {
    let (what, types, shapes) = match what {
        "probabilities" => ("probabilities", "numbers", "(n,) or (n, k)"),
        "logits" => ("logits", "numbers", "(n,) or (n, k)"),
        "labels" => ("labels", "numbers, true and false, or text", "(n,), or (n, k) if one-hot"),
        "weights" => ("weights", "numbers", "(n,)"),
        "clusters" => ("clusters", "numbers, text or other values with a hash", "(n,)"),
        _ => ("at", "numbers", "(m,)"),
    };
    Failure::from(match code {
        "shape" => Error::Shape { what, expected: shapes, got },
        "swapped" => Error::Swapped,
        _ => Error::WrongType { what: what.to_owned(), expected: types, got },
    })
    .into()
}

/// The exception for a row that has no cluster.
#[pyfunction]
pub(crate) fn no_cluster(row: u64) -> PyErr {
    Failure::from(Error::Missing { what: "cluster", row }).into()
}
