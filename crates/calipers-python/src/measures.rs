//! The measures that can be requested by name.

use calipers::measure::{FromSketch, OptionDefault, OptionSpec};
use calipers::registry;
use pyo3::prelude::*;

/// A measure as Python's `Measure` has it.
#[derive(IntoPyObject)]
pub(crate) struct Listed {
    name: &'static str,
    title: &'static str,
    definition: &'static str,
    reference: &'static str,
    larger_is_worse: bool,
    /// What a sketch answers: "nothing", "approximation", "value" or "assessment".
    from_sketch: &'static str,
    options: Vec<(&'static str, Default)>,
}

/// The value of an option that is left out.
#[derive(IntoPyObject)]
pub(crate) enum Default {
    Nothing(Option<u8>),
    Number(f64),
    Count(u64),
    Text(&'static str),
}

/// Every measure that can be requested by name.
#[pyfunction]
pub(crate) fn measures() -> Vec<Listed> {
    let default = |option: &OptionSpec| match option.default {
        OptionDefault::Auto => Default::Text("auto"),
        OptionDefault::Number(value) => Default::Number(value),
        OptionDefault::Count(value) => Default::Count(value),
        OptionDefault::Text(value) => Default::Text(value),
        _ => Default::Nothing(None),
    };
    let specs = registry::all().iter().map(|entry| entry.spec);
    let listed = specs.map(|spec| Listed {
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
        options: spec.options.iter().map(|option| (option.name, default(option))).collect(),
    });
    listed.collect()
}
