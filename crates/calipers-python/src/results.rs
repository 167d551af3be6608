//! What goes back: dictionaries, rows and arrays that python/calipers turns into its own types.

use std::collections::BTreeMap;

use calipers::inference::bands::Band;
use calipers::{Bin, CalibrationIndices, CorpDecomposition, CoxFit, CumulativeCurve, Estimate, InputReport};
use calipers::{IsotonicCurve, LsCurve, Multiclass, Scale, Setting, Settings, Sketch, SplineCurve, Strategy};
use calipers::{SweepResult, TiedJump, Verdict};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::options::Options;

/// An estimate with the options that made it.
pub(crate) struct Measured<'py> {
    pub(crate) estimate: Estimate,
    /// The one question that was asked; `None` for a measure of all classes, which says so itself.
    pub(crate) multiclass: Option<Multiclass>,
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
            .map(|(class, estimate)| self.parts(py, estimate, self.multiclass.map(|_| Multiclass::Class(class))));
        measured.set_item("per_class", classes.collect::<PyResult<Vec<_>>>()?)?;
        Ok(measured)
    }
}

/// What goes back with an estimate and says how its rows were read.
pub(crate) trait WithEstimate {
    /// The same of another measure of the same rows.
    fn with_estimate(&self, estimate: Estimate) -> Self;
}

impl WithEstimate for Measured<'_> {
    fn with_estimate(&self, estimate: Estimate) -> Self {
        Measured { estimate, multiclass: self.multiclass, weighted: self.weighted, options: self.options.clone() }
    }
}

impl WithEstimate for FromSketch {
    fn with_estimate(&self, estimate: Estimate) -> Self {
        FromSketch { estimate, ..*self }
    }
}

impl<'py> Measured<'py> {
    fn parts(
        &self,
        py: Python<'py>,
        estimate: &Estimate,
        multiclass: Option<Multiclass>,
    ) -> PyResult<Bound<'py, PyDict>> {
        parts(py, estimate, self.settings(py, estimate, multiclass)?)
    }

    /// The options of the measure, then those of the input.
    fn settings(
        &self,
        py: Python<'py>,
        estimate: &Estimate,
        multiclass: Option<Multiclass>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let settings = settings(py, &estimate.settings)?;
        add_input(py, &settings, &self.options, multiclass, self.weighted)?;
        Ok(settings)
    }
}

/// Adds how rows were read to the options of what was asked of them.
pub(crate) fn add_input<'py>(
    py: Python<'py>,
    settings: &Bound<'py, PyDict>,
    options: &Options<'py>,
    multiclass: Option<Multiclass>,
    weighted: bool,
) -> PyResult<()> {
    match multiclass {
        None => {}
        Some(Multiclass::Auto) => settings.set_item("multiclass", py.None())?,
        Some(Multiclass::TopClass) => settings.set_item("multiclass", "top_class")?,
        Some(Multiclass::Classwise) => settings.set_item("multiclass", "classwise")?,
        Some(Multiclass::Class(class)) => settings.set_item("multiclass", class)?,
    }
    if multiclass.is_some() {
        settings.set_item("ties", options.get("ties")?)?;
    }
    for name in ["from_logits", "pos_label", "sum_tolerance", "invalid"] {
        settings.set_item(name, options.get(name)?)?;
    }
    settings.set_item("weighted", weighted)
}

/// An estimate of a sketch with what that knows of its rows: of the options that they were read
/// with, only the form.
pub(crate) struct FromSketch {
    estimate: Estimate,
    from_logits: bool,
    weighted: bool,
    resolution: u32,
}

impl FromSketch {
    pub(crate) fn new(estimate: Estimate, sketch: &Sketch) -> Self {
        FromSketch {
            estimate,
            from_logits: sketch.scale() != Some(Scale::Probability),
            weighted: sketch.is_weighted(),
            resolution: sketch.options().resolution_bits(),
        }
    }
}

impl<'py> IntoPyObject<'py> for FromSketch {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = settings(py, &self.estimate.settings)?;
        settings.set_item("from_logits", self.from_logits)?;
        settings.set_item("weighted", self.weighted)?;
        settings.set_item("resolution", self.resolution)?;
        parts(py, &self.estimate, settings)
    }
}

/// What Python's `Estimate` is made from, without classes.
fn parts<'py>(py: Python<'py>, estimate: &Estimate, settings: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("measure", estimate.measure())?;
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
pub(crate) fn settings<'py>(py: Python<'py>, all: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let settings = PyDict::new(py);
    for (name, value) in all.iter() {
        match value {
            Setting::Number(number) => settings.set_item(name, number)?,
            Setting::Count(count) => settings.set_item(name, count)?,
            Setting::Text(text) if text == "none" => settings.set_item(name, py.None())?,
            Setting::Text(text) if text == "true" || text == "false" => settings.set_item(name, text == "true")?,
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

/// A band, as Python's `Band` has it.
#[derive(IntoPyObject)]
pub(crate) struct BandParts<'py> {
    kind: &'static str,
    lower: Bound<'py, PyArray1<f64>>,
    upper: Bound<'py, PyArray1<f64>>,
    level: f64,
    n_resamples: u64,
    random_state: u64,
}

impl<'py> BandParts<'py> {
    fn new(py: Python<'py>, band: Band) -> Self {
        BandParts {
            kind: band.kind.name(),
            lower: band.lower.into_pyarray(py),
            upper: band.upper.into_pyarray(py),
            level: band.level,
            n_resamples: band.n_resamples,
            random_state: band.random_state,
        }
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
    band: Option<BandParts<'py>>,
}

impl<'py> Curve<'py> {
    pub(crate) fn new(py: Python<'py>, curve: LsCurve, band: Option<Band>) -> Self {
        Curve {
            probabilities: curve.probabilities.into_pyarray(py),
            outcome_rates: curve.outcome_rates.into_pyarray(py),
            densities: curve.densities.into_pyarray(py),
            outcome_rate_bounds: curve.outcome_rate_bounds.into_pyarray(py),
            density_bounds: curve.density_bounds.into_pyarray(py),
            sigma: curve.sigma,
            band: band.map(|band| BandParts::new(py, band)),
        }
    }
}

/// A sweep, as Python's `SweepResult` has it, and its chart.
#[derive(IntoPyObject)]
pub(crate) struct Swept<'py> {
    bins: Bound<'py, PyArray1<i64>>,
    ece_uniform: Bound<'py, PyArray1<f64>>,
    ece_quantile: Option<Bound<'py, PyArray1<f64>>>,
    ls_ece: Bound<'py, PyArray1<f64>>,
    ls_ece_bounds: Bound<'py, PyArray1<f64>>,
    smooth_ece: Measured<'py>,
    verdict: &'static str,
    brittle_with: Vec<&'static str>,
    sentence: String,
    range_uniform: Option<(f64, f64)>,
    range_quantile: Option<(f64, f64)>,
    range_ls_ece: Option<(f64, f64)>,
    sampling_noise_uniform: f64,
    sampling_noise_quantile: Option<f64>,
    jump: f64,
    tied_ece: f64,
    n_tied: u64,
    n: u64,
    n_clipped: u64,
    settings: Bound<'py, PyDict>,
    svg: String,
}

impl<'py> Swept<'py> {
    pub(crate) fn new(
        py: Python<'py>,
        result: &SweepResult,
        smooth_ece: Measured<'py>,
        ties: &TiedJump,
    ) -> PyResult<Self> {
        let points = || result.points.iter();
        let array = |values: Vec<f64>| values.into_pyarray(py);
        let quantile: Option<Vec<f64>> =
            points().map(|point| point.ece_quantile.as_ref().map(|ece| ece.value)).collect();
        let range = |range: Option<calipers::Extent>| range.map(|range| (range.least, range.greatest));
        Ok(Swept {
            bins: points().map(|point| point.n_bins as i64).collect::<Vec<_>>().into_pyarray(py),
            ece_uniform: array(points().map(|point| point.ece_uniform.value).collect()),
            ece_quantile: quantile.map(array),
            ls_ece: array(points().map(|point| point.ls_ece.value).collect()),
            ls_ece_bounds: array(points().map(|point| point.ls_ece.numerical_bound).collect()),
            smooth_ece,
            verdict: result.verdict.name(),
            brittle_with: match &result.verdict {
                Verdict::Brittle { strategies } => strategies.iter().copied().map(Strategy::name).collect(),
                Verdict::Stable | Verdict::Undecided => Vec::new(),
            },
            sentence: result.sentence(),
            range_uniform: range(result.range_uniform),
            range_quantile: range(result.range_quantile),
            range_ls_ece: range(result.range_ls_ece),
            sampling_noise_uniform: result.sampling_noise.uniform,
            sampling_noise_quantile: result.sampling_noise.quantile,
            jump: ties.jump,
            tied_ece: ties.tied_ece,
            n_tied: ties.n_tied,
            n: result.n,
            n_clipped: points().next().map_or(0, |point| point.ls_ece.n_clipped),
            settings: settings(py, &result.settings)?,
            svg: calipers_report::sweep_chart(&[("", result)]).to_svg(),
        })
    }
}

/// The sweep of a sketch, as Python's `SketchSweep` has it.
#[derive(IntoPyObject)]
pub(crate) struct SweptSketch<'py> {
    bins: Bound<'py, PyArray1<i64>>,
    ece_uniform: Bound<'py, PyArray1<f64>>,
    ece_uniform_bounds: Bound<'py, PyArray1<f64>>,
    ece_quantile: Bound<'py, PyArray1<f64>>,
    ece_quantile_bounds: Bound<'py, PyArray1<f64>>,
    ls_ece: Bound<'py, PyArray1<f64>>,
    ls_ece_bounds: Bound<'py, PyArray1<f64>>,
    verdict: &'static str,
    brittle_with: Vec<&'static str>,
    sentence: String,
    range_uniform: Option<(f64, f64)>,
    range_quantile: Option<(f64, f64)>,
    range_ls_ece: Option<(f64, f64)>,
    sampling_noise_uniform: f64,
    sampling_noise_quantile: f64,
    n: u64,
    settings: Bound<'py, PyDict>,
}

impl<'py> SweptSketch<'py> {
    pub(crate) fn new(py: Python<'py>, result: &SweepResult) -> PyResult<Self> {
        let points = || result.points.iter();
        let array = |values: Vec<f64>| values.into_pyarray(py);
        let quantile = |of: fn(&Estimate) -> f64| {
            array(points().filter_map(|point| point.ece_quantile.as_ref()).map(of).collect())
        };
        let range = |range: Option<calipers::Extent>| range.map(|range| (range.least, range.greatest));
        Ok(SweptSketch {
            bins: points().map(|point| point.n_bins as i64).collect::<Vec<_>>().into_pyarray(py),
            ece_uniform: array(points().map(|point| point.ece_uniform.value).collect()),
            ece_uniform_bounds: array(points().map(|point| point.ece_uniform.numerical_bound).collect()),
            ece_quantile: quantile(|estimate| estimate.value),
            ece_quantile_bounds: quantile(|estimate| estimate.numerical_bound),
            ls_ece: array(points().map(|point| point.ls_ece.value).collect()),
            ls_ece_bounds: array(points().map(|point| point.ls_ece.numerical_bound).collect()),
            verdict: result.verdict.name(),
            brittle_with: match &result.verdict {
                Verdict::Brittle { strategies } => strategies.iter().copied().map(Strategy::name).collect(),
                Verdict::Stable | Verdict::Undecided => Vec::new(),
            },
            sentence: result.sentence(),
            range_uniform: range(result.range_uniform),
            range_quantile: range(result.range_quantile),
            range_ls_ece: range(result.range_ls_ece),
            sampling_noise_uniform: result.sampling_noise.uniform,
            sampling_noise_quantile: result.sampling_noise.quantile.unwrap_or(0.0),
            n: result.n,
            settings: settings(py, &result.settings)?,
        })
    }
}

/// The cumulative curve, its arrays handed over without a copy.
#[derive(IntoPyObject)]
pub(crate) struct Cumulative<'py> {
    shares: Bound<'py, PyArray1<f64>>,
    differences: Bound<'py, PyArray1<f64>>,
    probabilities: Bound<'py, PyArray1<f64>>,
}

impl<'py> Cumulative<'py> {
    pub(crate) fn new(py: Python<'py>, curve: CumulativeCurve) -> Self {
        Cumulative {
            shares: curve.shares.into_pyarray(py),
            differences: curve.differences.into_pyarray(py),
            probabilities: curve.probabilities.into_pyarray(py),
        }
    }
}

/// The isotonic fit.
#[derive(IntoPyObject)]
pub(crate) struct Isotonic<'py> {
    probabilities: Bound<'py, PyArray1<f64>>,
    shares: Bound<'py, PyArray1<f64>>,
    outcome_rates: Bound<'py, PyArray1<f64>>,
    band: Option<BandParts<'py>>,
}

impl<'py> Isotonic<'py> {
    pub(crate) fn new(py: Python<'py>, curve: IsotonicCurve, band: Option<Band>) -> Self {
        Isotonic {
            probabilities: curve.probabilities.into_pyarray(py),
            shares: curve.shares.into_pyarray(py),
            outcome_rates: curve.outcome_rates.into_pyarray(py),
            band: band.map(|band| BandParts::new(py, band)),
        }
    }
}

/// The spline's gaps and its recalibration map, their arrays handed over without a copy.
#[derive(IntoPyObject)]
pub(crate) struct Spline<'py> {
    probabilities: Bound<'py, PyArray1<f64>>,
    percentiles: Bound<'py, PyArray1<f64>>,
    gaps: Bound<'py, PyArray1<f64>>,
    recalibrated: Bound<'py, PyArray1<f64>>,
}

impl<'py> Spline<'py> {
    pub(crate) fn new(py: Python<'py>, curve: SplineCurve) -> Self {
        Spline {
            probabilities: curve.probabilities.into_pyarray(py),
            percentiles: curve.percentiles.into_pyarray(py),
            gaps: curve.gaps.into_pyarray(py),
            recalibrated: curve.recalibrated.into_pyarray(py),
        }
    }
}

/// A score and its parts, with the rows that were read.
#[derive(IntoPyObject)]
pub(crate) struct Corp {
    score: f64,
    miscalibration: f64,
    discrimination: f64,
    uncertainty: f64,
    numerical_bound: f64,
    n: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Corp {
    pub(crate) fn new(parts: CorpDecomposition, n: u64, input: InputReport) -> Self {
        Corp {
            score: parts.score,
            miscalibration: parts.miscalibration,
            discrimination: parts.discrimination,
            uncertainty: parts.uncertainty,
            numerical_bound: parts.numerical_bound,
            n,
            left_out: input.left_out,
        }
    }
}

/// The gaps of a smoothed curve, as Python's `CalibrationIndices` has them.
#[derive(IntoPyObject)]
pub(crate) struct Indices {
    ici: f64,
    e50: f64,
    e90: f64,
    emax: f64,
    ici_bound: f64,
    largest_bound: f64,
    sigma: f64,
    n: u64,
    n_clipped: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl From<CalibrationIndices> for Indices {
    fn from(indices: CalibrationIndices) -> Self {
        Indices {
            ici: indices.ici,
            e50: indices.e50,
            e90: indices.e90,
            emax: indices.emax,
            ici_bound: indices.ici_bound,
            largest_bound: indices.largest_bound,
            sigma: indices.sigma,
            n: indices.n,
            n_clipped: indices.n_clipped,
            left_out: indices.input.left_out,
        }
    }
}

/// Both regressions, as Python's `CoxCalibration` has them.
#[derive(IntoPyObject)]
pub(crate) struct Cox {
    intercept: f64,
    slope: f64,
    in_the_large: f64,
    intercept_standard_error: f64,
    slope_standard_error: f64,
    in_the_large_standard_error: f64,
    covariance: f64,
    intercept_bound: f64,
    slope_bound: f64,
    in_the_large_bound: f64,
    n: u64,
    n_clipped: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl From<CoxFit> for Cox {
    fn from(fit: CoxFit) -> Self {
        let [intercept_bound, slope_bound, in_the_large_bound] = fit.numerical_bounds;
        Cox {
            intercept: fit.intercept,
            slope: fit.slope,
            in_the_large: fit.in_the_large,
            intercept_standard_error: fit.intercept_standard_error,
            slope_standard_error: fit.slope_standard_error,
            in_the_large_standard_error: fit.in_the_large_standard_error,
            covariance: fit.covariance,
            intercept_bound,
            slope_bound,
            in_the_large_bound,
            n: fit.n,
            n_clipped: fit.n_clipped,
            left_out: fit.input.left_out,
        }
    }
}
