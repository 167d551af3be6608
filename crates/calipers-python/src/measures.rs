//! The registry of the core, for Python's list of measures and its check of options.

use calipers::measure::FromSketch;
use calipers::registry::{self, Entry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::results::{IntoPython, dict};

/// The name of the list for what people write, which is returned as it is if no measure is meant.
#[pyfunction]
pub(crate) fn listed_name(written: &str) -> &str {
    registry::spec(written).map_or(written, |spec| spec.name)
}

/// Every measure, in the order of a table, with the fields of Python's `Measure`.
#[pyfunction]
pub(crate) fn measures(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let listed = |Entry { spec, .. }: &Entry| {
        let options = PyDict::new(py);
        for option in spec.options {
            options.set_item(option.name, option.default.setting().into_python(py)?)?;
        }
        Ok(dict!(py;
            name: spec.name,
            title: spec.title,
            definition: spec.definition,
            reference: spec.reference,
            larger_is_worse: spec.larger_is_worse(),
            from_sketch: match spec.from_sketch {
                FromSketch::Assessment => "assessment",
                FromSketch::Value => "value",
                FromSketch::Approximation => "approximation",
                _ => "nothing",
            },
            options: options,
        ))
    };
    registry::all().iter().map(listed).collect()
}
