//! What goes back: dictionaries, tuples and arrays that python/calipers turns into its own types.

use std::collections::BTreeMap;

use calipers::inference::bands::{Band, BandKind};
use calipers::inference::calibration_tests::{CoefficientInterval, TestResult};
use calipers::inference::{Part, Parts};
use calipers::recalibrate::{FitBound, GainFloor, GainInterval};
use calipers::simulate::{Accuracy, CoverageResult, EstimatorResult, MonteCarlo, RejectionResult};
use calipers::{Bin, CalibrationIndices, CorpDecomposition, CoxFit, CumulativeCurve, Debias, Estimate, Extent};
use calipers::{Interval, IntervalMethod, IsotonicCurve, LsCurve, Multiclass, NoiseFloor, Pair, Setting, Settings};
use calipers::{SplineCurve, Strategy, SweepResult, Verdict};
use numpy::IntoPyArray;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::Options;

/// What a function of Python returns: a dictionary, or another object.
pub(crate) type Answer<'py, T = PyDict> = Result<Bound<'py, T>, Failure>;

/// What the core gives, as Python has it.
pub(crate) trait IntoPython<'py> {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// A dictionary for Python: `dict!(py; n: found.n, p_value: 0.5)`.
macro_rules! dict {
    ($py:expr; $($name:ident: $value:expr),+ $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $({
            let name = pyo3::intern!($py, stringify!($name));
            dict.set_item(name, $crate::results::IntoPython::into_python($value, $py)?)?;
        })+
        dict
    }};
}
pub(crate) use dict;

/// Types that pyo3 converts.
macro_rules! plain {
    ($($type:ty),+) => {$(
        impl<'py> IntoPython<'py> for $type {
            fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.into_bound_py_any(py)
            }
        }
    )+};
}
plain!(f64, u64, usize, bool, String, &'static str, Vec<&'static str>, Vec<String>, Vec<usize>, Vec<Option<String>>);
plain!(BTreeMap<&'static str, u64>);
plain!(Bound<'py, PyDict>, Bound<'py, PyAny>, Vec<Bound<'py, PyDict>>);

impl<'py, T: IntoPython<'py>> IntoPython<'py> for Option<T> {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.map_or_else(|| Ok(py.None().into_bound(py)), |value| value.into_python(py))
    }
}

impl<'py, T: IntoPython<'py>> IntoPython<'py> for Box<T> {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (*self).into_python(py)
    }
}

/// An array, handed over without a copy.
impl<'py> IntoPython<'py> for Vec<f64> {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.into_pyarray(py).into_any())
    }
}

impl<'py> IntoPython<'py> for [f64; 3] {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        <(f64, f64, f64)>::from(self).into_bound_py_any(py)
    }
}

impl<'py> IntoPython<'py> for Vec<Bin> {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.into_iter().map(|bin| bin.into_python(py)).collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
    }
}

/// Choices, by their names as options.
macro_rules! by_name {
    ($($type:ty),+) => {$(
        impl<'py> IntoPython<'py> for $type {
            fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.name().into_python(py)
            }
        }
    )+};
}
by_name!(BandKind, Debias, IntervalMethod);

/// Results that are named tuples in Python, with these fields.
macro_rules! as_tuples {
    ($($type:ident { $($field:ident),+ })+) => {$(
        impl<'py> IntoPython<'py> for $type {
            fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                ($(self.$field),+).into_bound_py_any(py)
            }
        }
    )+};
}
as_tuples! {
    Bin { lower, upper, n, weight, mean_probability, outcome_rate }
    CoefficientInterval { value, standard_error, lower, upper }
    Extent { least, greatest }
    MonteCarlo { value, standard_error }
}

/// The value of a field where there is one, else the field of the same name.
macro_rules! field {
    ($this:ident $field:ident) => {
        $this.$field
    };
    ($this:ident $field:ident $value:expr) => {
        $value
    };
}

/// Results that are dictionaries, with the fields of the class of Python that is made of them.
macro_rules! as_dicts {
    ($($type:ident($this:ident) { $($field:ident $(= $value:expr)?),+ $(,)? })+) => {$(
        impl<'py> IntoPython<'py> for $type {
            fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                let $this = self;
                Ok(dict!(py; $($field: field!($this $field $($value)?)),+).into_any())
            }
        }
    )+};
}
as_dicts! {
    Accuracy(accuracy) { truth, bias, rmse }
    Band(band) { kind, lower, upper, level, n_resamples, random_state }
    CalibrationIndices(indices) {
        ici, e50, e90, emax, ici_bound, largest_bound, smoother, sigma, n, n_clipped,
        left_out = indices.input.left_out,
    }
    CorpDecomposition(parts) { score, miscalibration, discrimination, uncertainty, numerical_bound }
    CoverageResult(result) {
        n_runs, n_failed, sigma, of_ls_ece, covers_ls_ece, covers_ece, above_ece, below_ece, width, oracle_width,
        upper_limits, floor, debiased, residual,
    }
    CoxFit(fit) {
        intercept, slope, in_the_large, intercept_standard_error, slope_standard_error, in_the_large_standard_error,
        covariance, intercept_bound = fit.numerical_bounds[0], slope_bound = fit.numerical_bounds[1],
        in_the_large_bound = fit.numerical_bounds[2], n, n_clipped, left_out = fit.input.left_out,
    }
    CumulativeCurve(curve) { shares, differences, probabilities }
    FitBound(bound) { standard_errors, nats }
    GainFloor(floor) { value, mean, deviation, p_value, n_resamples, n_failed }
    GainInterval(interval) { lower, upper, level }
    EstimatorResult(result) { name, n_runs, n_failed, mean, of_ece, of_ls_ece }
    Interval(interval) { lower, upper, level, method, is_upper_limit }
    IsotonicCurve(curve) { probabilities, shares, outcome_rates }
    LsCurve(curve) { probabilities, outcome_rates, densities, outcome_rate_bounds, density_bounds, sigma }
    NoiseFloor(floor) { mean, deviation, quantiles, p_value, n_resamples, n_failed }
    Pair(pair) { first, second, difference, interval, standard_error, p_value, p_adjusted }
    Part(part) { value, debiased, interval }
    Parts(parts) {
        too_high, too_low, overconfident = parts.confidence.map(|found| found.over),
        underconfident = parts.confidence.map(|found| found.under),
    }
    RejectionResult(result) { name, alpha, n_runs, n_failed, rejected }
    SplineCurve(curve) { probabilities, percentiles, gaps, recalibrated }
    TestResult(result) { test, statistic, p_value, degrees_of_freedom, n }
}

/// A curve and its band.
impl<'py, T: IntoPython<'py>> IntoPython<'py> for (T, Option<Band>) {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let curve = self.0.into_python(py)?;
        curve.set_item("band", self.1.into_python(py)?)?;
        Ok(curve)
    }
}

/// The options of a result as the core has them.
impl<'py> IntoPython<'py> for Setting {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Setting::Number(number) => number.into_python(py),
            Setting::Count(count) => count.into_python(py),
            Setting::Text(text) if text == "none" => Ok(py.None().into_bound(py)),
            Setting::Text(text) if text == "true" || text == "false" => (text == "true").into_python(py),
            Setting::Text(text) => text.into_python(py),
        }
    }
}

impl<'py> IntoPython<'py> for &Settings {
    fn into_python(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let settings = PyDict::new(py);
        for (name, value) in self.iter() {
            settings.set_item(name, value.clone().into_python(py)?)?;
        }
        Ok(settings.into_any())
    }
}

/// How rows were read, as the settings of a result have it. There is no binary question for a
/// measure of all classes.
pub(crate) fn input_settings<'py>(
    py: Python<'py>,
    options: &Options<'py>,
    columns: &Columns<'py>,
    multiclass: Option<Multiclass>,
) -> Answer<'py> {
    let input = PyDict::new(py);
    if let Some(multiclass) = multiclass {
        match multiclass.resolved(columns.n_classes()) {
            Multiclass::Auto => input.set_item("multiclass", py.None())?,
            Multiclass::Class(class) => input.set_item("multiclass", class)?,
            named => input.set_item("multiclass", named.to_string())?,
        }
        input.set_item("ties", options.get("ties")?)?;
    }
    if let (Some(Multiclass::Class(class)), Some(names)) =
        (multiclass.map(|asked| asked.resolved(columns.n_classes())), options.class_names()?)
    {
        input.set_item("class_name", names.get(class))?;
    }
    for name in ["from_logits", "pos_label", "classes", "sum_tolerance", "invalid"] {
        input.set_item(name, options.get(name)?)?;
    }
    input.set_item("weighted", columns.is_weighted())?;
    Ok(input)
}

/// The same for one class of several. It has its own name in place of those of all classes, of
/// which there may be thousands.
pub(crate) fn class_settings<'py>(input: &Bound<'py, PyDict>, class: usize) -> PyResult<Bound<'py, PyDict>> {
    let input = input.copy()?;
    if input.contains("multiclass")? {
        input.set_item("multiclass", class)?;
    }
    if let Some(names) = input.get_item("classes")?.filter(|names| !names.is_none()) {
        input.set_item("class_name", names.get_item(class)?)?;
        input.del_item("classes")?;
    }
    Ok(input)
}

/// An estimate, as Python's `Estimate` has it: its settings are those of the measure, then those of
/// the input.
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    estimate: &Estimate,
    input: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let of_class = |(place, found): (usize, &Estimate)| {
        // Those by top label have no estimate of a class that is never predicted.
        let class = found.settings.number("class").map_or(place, |class| class as usize);
        self::estimate(py, found, &class_settings(input, class)?)
    };
    let per_class: Vec<_> = estimate.per_class.iter().enumerate().map(of_class).collect::<PyResult<_>>()?;
    Ok(dict!(py;
        measure: estimate.measure(),
        value: estimate.value,
        numerical_bound: estimate.numerical_bound,
        standard_error: estimate.standard_error,
        n: estimate.n,
        n_clipped: estimate.n_clipped,
        n_ties: estimate.input.n_ties,
        n_rounded: estimate.input.n_rounded,
        n_inexact_sums: estimate.input.n_inexact_sums,
        left_out: estimate.input.left_out.clone(),
        settings: with_input(py, &estimate.settings, input)?,
        per_class: (!per_class.is_empty()).then_some(per_class),
    ))
}

/// Rows that were left out, by kind: mostly none.
pub(crate) fn left_out<'py>(py: Python<'py>, estimate: &Estimate) -> PyResult<Bound<'py, PyAny>> {
    if estimate.input.left_out.is_empty() {
        return Ok(PyDict::new(py).into_any());
    }
    estimate.input.left_out.clone().into_python(py)
}

/// The options of a result, then those of its input.
pub(crate) fn with_input<'py>(
    py: Python<'py>,
    settings: &Settings,
    input: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = settings.into_python(py)?;
    settings.cast::<PyDict>()?.update(input.as_mapping())?;
    Ok(settings)
}

/// What the sweeps of rows and of sketches have in common, and the errors that cells leave open.
pub(crate) fn sweep<'py>(py: Python<'py>, result: &SweepResult, bounds: bool) -> PyResult<Bound<'py, PyDict>> {
    let points = || result.points.iter();
    let quantile = |of: fn(&Estimate) -> f64| -> Option<Vec<f64>> {
        points().map(|point| point.ece_quantile.as_ref().map(of)).collect()
    };
    let found = dict!(py;
        bins: points().map(|point| point.n_bins as i64).collect::<Vec<_>>().into_pyarray(py).into_any(),
        ece_uniform: points().map(|point| point.ece_uniform.value).collect::<Vec<_>>(),
        ece_quantile: quantile(|estimate| estimate.value),
        ls_ece: points().map(|point| point.ls_ece.value).collect::<Vec<_>>(),
        ls_ece_bounds: points().map(|point| point.ls_ece.numerical_bound).collect::<Vec<_>>(),
        verdict: result.verdict.name(),
        brittle_with: match &result.verdict {
            Verdict::Brittle { strategies } => strategies.iter().copied().map(Strategy::name).collect(),
            Verdict::Stable | Verdict::Undecided => Vec::new(),
        },
        sentence: result.sentence(),
        range_uniform: result.range_uniform,
        range_quantile: result.range_quantile,
        range_ls_ece: result.range_ls_ece,
        sampling_noise_uniform: result.sampling_noise.uniform,
        sampling_noise_quantile: result.sampling_noise.quantile,
        n: result.n,
        settings: &result.settings,
    );
    if bounds {
        let uniform: Vec<f64> = points().map(|point| point.ece_uniform.numerical_bound).collect();
        found.set_item("ece_uniform_bounds", uniform.into_python(py)?)?;
        found.set_item("ece_quantile_bounds", quantile(|estimate| estimate.numerical_bound).into_python(py)?)?;
    }
    Ok(found)
}
