//! Recalibration maps that Python holds, and whether they help.

use calipers::recalibrate::{BinaryMap, ClassMap, CrossFit, Fit, Improvement, Method};
use calipers::{BinaryView, Error, Form, Predictions, Rows, Sample, Scale};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{Clusters, of_rows};
use crate::options::{Options, Resampling};
use crate::pool::{self, Length};
use crate::results::{Answer, dict};

/// A fitted map: of a binary outcome, or of several classes.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Recalibration(Held);

enum Held {
    Binary(Fit<BinaryMap>),
    Classes(Fit<ClassMap>),
}

/// What all fits have, whatever their map.
macro_rules! of_fit {
    ($held:expr, $fit:ident => $value:expr) => {
        match $held {
            Held::Binary($fit) => $value,
            Held::Classes($fit) => $value,
        }
    };
}

#[pymethods]
impl Recalibration {
    #[staticmethod]
    fn fit<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Result<Self, Failure> {
        let recalibrate = options.recalibrate()?;
        let held = of_predictions(
            py,
            &columns,
            &options,
            |sample| Ok(Held::Binary(recalibrate.fit(sample)?)),
            |predictions| Ok(Held::Classes(recalibrate.fit_classes(predictions)?)),
        )?;
        Ok(Recalibration(held))
    }

    /// What is known about the map and its fit, as Python's `Recalibrator` shows it.
    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        Ok(of_fit!(&self.0, fit => facts(py, fit)?))
    }

    /// How many classes it is for; 2 for a binary outcome.
    fn n_classes(&self) -> usize {
        match &self.0 {
            Held::Binary(_) => 2,
            Held::Classes(fit) => fit.map.n_classes,
        }
    }

    /// Recalibrated probabilities, row after row, as many for each row as it has scores.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        columns: Columns<'py>,
        options: Options<'py>,
    ) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
        let input = columns.input(&options)?;
        let scores = columns.scores()?;
        let form = if options.read("from_logits")? { Form::Logits } else { Form::Probabilities };
        let n_columns = columns.n_classes();
        let length = Length::of(&options, input.n_scores())?;
        let found = pool::run(py, length, || {
            let predictions = input.check()?;
            match &self.0 {
                Held::Binary(fit) => Ok(both(&fit.map, &predictions.binary()?, n_columns)),
                Held::Classes(fit) if fit.map.n_classes == n_columns => {
                    let row = |row: usize| -> Vec<f64> {
                        (row * n_columns..(row + 1) * n_columns).map(|index| scores.get(index)).collect()
                    };
                    Ok((0..predictions.len()).flat_map(|index| fit.map.apply(&row(index), form)).collect())
                }
                Held::Classes(fit) => {
                    let rule = format!("those of the {} classes that the map is for", fit.map.n_classes);
                    Err(Error::InvalidSetting { name: "columns", rule, value: n_columns.to_string() })
                }
            }
        })?;
        Ok(found.into_pyarray(py))
    }

    /// The map at probabilities, and its band where it has one.
    fn curve<'py>(&self, py: Python<'py>, at: PyReadonlyArray1<'py, f64>, level: f64) -> Answer<'py> {
        let Held::Binary(fit) = &self.0 else {
            return Err(Error::InvalidSetting {
                name: "curve",
                rule: "of a map of a binary outcome".to_owned(),
                value: format!("one of {} classes", self.n_classes()),
            }
            .into());
        };
        if !(level > 0.0 && level < 1.0) {
            return Err(setting("level", "above 0 and below 1", level));
        }
        let at = at.as_array().to_vec();
        if let Some(outside) = at.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(setting("at", "in [0, 1]", *outside));
        }
        let logits = at.iter().map(|p| fit.map.logit_of(*p));
        let bands: Option<Vec<_>> = logits.map(|logit| fit.band(logit, level)).collect();
        let (lower, upper): (Option<Vec<f64>>, Option<Vec<f64>>) = match &bands {
            None => (None, None),
            Some(bands) => (
                Some(bands.iter().map(|band| band.lower).collect()),
                Some(bands.iter().map(|band| band.upper).collect()),
            ),
        };
        Ok(dict!(py;
            values: at.iter().map(|p| fit.map.apply_probability(*p)).collect::<Vec<f64>>(),
            probabilities: at,
            lower: lower,
            upper: upper,
            level: level,
        ))
    }
}

/// What the core finds for rows of a binary outcome, or for rows of classes.
fn of_predictions<'py, T: Send>(
    py: Python<'py>,
    columns: &Columns<'py>,
    options: &Options<'py>,
    binary: impl FnOnce(Sample<'_>) -> Result<T, Error> + Send,
    classes: impl FnOnce(&Predictions<'_>) -> Result<T, Error> + Send,
) -> Result<T, Failure> {
    let clusters = Clusters::new(options)?;
    let clusters = clusters.numbers()?;
    let input = columns.input(options)?;
    pool::run(py, Length::of(options, input.n_scores())?, || {
        let predictions = input.check()?;
        let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
        if predictions.n_classes() > 2 {
            return match clusters {
                None => classes(&predictions),
                Some(_) => Err(Error::InvalidSetting {
                    name: "cluster",
                    rule: "left out for more than two classes".to_owned(),
                    value: format!("{} classes", predictions.n_classes()),
                }),
            };
        }
        let view = predictions.binary()?;
        let sample = Sample::from(&view);
        binary(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)))
    })
}

fn setting(name: &'static str, rule: &str, value: f64) -> Failure {
    Error::InvalidSetting { name, rule: rule.to_owned(), value: value.to_string() }.into()
}

/// Every family of maps, by name, with the names of its parameters.
#[pyfunction]
pub(crate) fn recalibration_methods() -> Vec<(&'static str, Vec<&'static str>, bool)> {
    let listed = |method: &Method| (method.name(), method.parameter_names().to_vec(), method.is_table());
    Method::ALL.iter().map(listed).collect()
}

/// The probability of outcome 1 of each row or, for rows of two columns, those of both outcomes.
fn both(map: &BinaryMap, view: &BinaryView<'_>, n_columns: usize) -> Vec<f64> {
    if n_columns == 1 {
        return map.apply_view(view);
    }
    let mut rows = Rows::default();
    view.read(0..view.len(), &mut rows);
    let of_row = |score: &f64| {
        let logit = if view.scale() == Scale::Probability { map.logit_of(*score) } else { *score };
        let (positive, negative) = map.both(logit);
        [negative, positive]
    };
    rows.scores.iter().flat_map(of_row).collect()
}

fn facts<'py, M>(py: Python<'py>, fit: &Fit<M>) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, standard_errors) = (PyDict::new(py), PyDict::new(py));
    for parameter in &fit.parameters {
        parameters.set_item(parameter.name, parameter.value)?;
        standard_errors.set_item(parameter.name, parameter.standard_error)?;
    }
    Ok(dict!(py;
        method: fit.method.name(),
        parameters: parameters,
        standard_errors: standard_errors,
        bound: fit.bound,
        log_loss_before: fit.log_loss_before,
        log_loss_after: fit.log_loss_after,
        ridge: fit.ridge,
        effective_parameters: fit.effective_parameters,
        notes: fit.notes.iter().map(ToString::to_string).collect::<Vec<String>>(),
        n: fit.n,
        effective_n: fit.effective_n,
        n_clipped: fit.n_clipped,
        left_out: fit.input.left_out.clone(),
    ))
}

/// The gain of recalibration on new rows, and the verdict.
#[pyfunction]
pub(crate) fn improvement<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let Resampling { level, n_resamples, random_state } = Resampling::read(&options)?;
    let cross_fit = CrossFit::new(options.recalibrate()?).level(level);
    let mut cross_fit = cross_fit.n_resamples(n_resamples).random_state(random_state);
    if let Some(n_folds) = options.given("n_folds")? {
        cross_fit = cross_fit.n_folds(n_folds);
    }
    let found = of_predictions(
        py,
        &columns,
        &options,
        |sample| Ok(Found::Binary(cross_fit.run(sample)?)),
        |predictions| Ok(Found::Classes(cross_fit.run_classes(predictions)?)),
    )?;
    match found {
        Found::Binary(found) => improved(py, found, Held::Binary),
        Found::Classes(found) => improved(py, found, Held::Classes),
    }
}

enum Found {
    Binary(Improvement<BinaryMap>),
    Classes(Improvement<ClassMap>),
}

fn improved<M>(py: Python<'_>, found: Improvement<M>, held: impl FnOnce(Fit<M>) -> Held) -> Answer<'_> {
    Ok(dict!(py;
        sentence: found.sentence(),
        verdict: found.verdict.name(),
        method: found.fit.method.name(),
        gain: found.gain,
        interval: found.interval,
        floor: found.floor,
        log_loss_before: found.log_loss_before,
        log_loss_after: found.log_loss_after,
        n_scores: found.n_scores.map(|[before, after]| vec![before as usize, after as usize]),
        top_class_changed: found.top_class_changed,
        n: found.fit.n,
        n_folds: found.n_folds,
        n_clusters: found.n_clusters,
        left_out: found.fit.input.left_out.clone(),
        recalibration: Bound::new(py, Recalibration(held(found.fit)))?.into_any(),
    ))
}
