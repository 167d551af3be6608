//! What goes back: dictionaries, rows and arrays that python/calipers turns into its own types.

use calipers::{Bin, Estimate, LsCurve, Multiclass, Setting};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::options::Options;

/// An estimate with the options that made it.
pub(crate) struct Measured<'py> {
    pub(crate) estimate: Estimate,
    pub(crate) multiclass: Multiclass,
    pub(crate) weighted: bool,
    pub(crate) options: Options<'py>,
}

impl<'py> IntoPyObject<'py> for Measured<'py> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let measured = self.parts(py, &self.estimate, self.multiclass)?;
        if self.estimate.per_class.is_empty() {
            return Ok(measured);
        }
        let classes = (0..)
            .zip(&self.estimate.per_class)
            .map(|(class, estimate)| self.parts(py, estimate, Multiclass::Class(class)));
        measured.set_item("per_class", classes.collect::<PyResult<Vec<_>>>()?)?;
        Ok(measured)
    }
}

impl<'py> Measured<'py> {
    fn parts(&self, py: Python<'py>, estimate: &Estimate, multiclass: Multiclass) -> PyResult<Bound<'py, PyDict>> {
        parts(py, estimate, self.settings(py, estimate, multiclass)?)
    }

    /// The options of the measure, then those of the input.
    fn settings(&self, py: Python<'py>, estimate: &Estimate, multiclass: Multiclass) -> PyResult<Bound<'py, PyDict>> {
        let settings = settings(py, estimate)?;
        match multiclass {
            Multiclass::Auto => settings.set_item("multiclass", py.None())?,
            Multiclass::TopClass => settings.set_item("multiclass", "top_class")?,
            Multiclass::Classwise => settings.set_item("multiclass", "classwise")?,
            Multiclass::Class(class) => settings.set_item("multiclass", class)?,
        }
        for name in ["ties", "from_logits", "pos_label", "sum_tolerance", "invalid"] {
            settings.set_item(name, self.options.get(name)?)?;
        }
        settings.set_item("weighted", self.weighted)?;
        Ok(settings)
    }
}

/// An estimate of a sketch with what that knows of its rows: of the options that they were read with, only the form.
pub(crate) struct FromSketch {
    pub(crate) estimate: Estimate,
    pub(crate) from_logits: bool,
    pub(crate) weighted: bool,
    pub(crate) resolution: u32,
}

impl<'py> IntoPyObject<'py> for FromSketch {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = settings(py, &self.estimate)?;
        settings.set_item("from_logits", self.from_logits)?;
        settings.set_item("weighted", self.weighted)?;
        settings.set_item("resolution", self.resolution)?;
        parts(py, &self.estimate, settings)
    }
}

/// What Python's `Estimate` is made from, without classes.
fn parts<'py>(py: Python<'py>, estimate: &Estimate, settings: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("measure", estimate.measure)?;
    parts.set_item("value", estimate.value)?;
    parts.set_item("numerical_bound", estimate.numerical_bound)?;
    parts.set_item("standard_error", estimate.standard_error)?;
    parts.set_item("n", estimate.n)?;
    parts.set_item("n_clipped", estimate.n_clipped)?;
    parts.set_item("n_ties", estimate.input.n_ties)?;
    parts.set_item("n_rounded", estimate.input.n_rounded)?;
    parts.set_item("left_out", &estimate.input.left_out)?;
    parts.set_item("settings", settings)?;
    parts.set_item("per_class", py.None())?;
    Ok(parts)
}

/// The options of the measure as the core has them.
fn settings<'py>(py: Python<'py>, estimate: &Estimate) -> PyResult<Bound<'py, PyDict>> {
    let settings = PyDict::new(py);
    for (name, value) in estimate.settings.iter() {
        match value {
            Setting::Number(number) => settings.set_item(name, number)?,
            Setting::Count(count) => settings.set_item(name, count)?,
            Setting::Text(text) if text == "none" => settings.set_item(name, py.None())?,
            Setting::Text(text) => settings.set_item(name, text)?,
        }
    }
    Ok(settings)
}

/// A bin, in the order of Python's `Bin`.
#[derive(IntoPyObject)]
pub(crate) struct BinRow(f64, f64, u64, f64, f64, f64);

impl From<Bin> for BinRow {
    fn from(bin: Bin) -> Self {
        BinRow(bin.lower, bin.upper, bin.n, bin.weight, bin.mean_probability, bin.outcome_rate)
    }
}

/// The curve, its arrays handed over without a copy.
#[derive(IntoPyObject)]
pub(crate) struct Curve<'py> {
    probabilities: Bound<'py, PyArray1<f64>>,
    outcome_rates: Bound<'py, PyArray1<f64>>,
    densities: Bound<'py, PyArray1<f64>>,
    outcome_rate_bounds: Bound<'py, PyArray1<f64>>,
    density_bounds: Bound<'py, PyArray1<f64>>,
    sigma: f64,
}

impl<'py> Curve<'py> {
    pub(crate) fn new(py: Python<'py>, curve: LsCurve) -> Self {
        Curve {
            probabilities: curve.probabilities.into_pyarray(py),
            outcome_rates: curve.outcome_rates.into_pyarray(py),
            densities: curve.densities.into_pyarray(py),
            outcome_rate_bounds: curve.outcome_rate_bounds.into_pyarray(py),
            density_bounds: curve.density_bounds.into_pyarray(py),
            sigma: curve.sigma,
        }
    }
}
