//! Recalibration maps that Python holds.

use std::collections::BTreeMap;

use calipers::recalibrate::{BinaryMap, Choose, Fit, FitRecord, Improvement, Label, Map, MapFile, Method};
use calipers::{BinaryView, Error, Form, Predictions, Rows, Sample, Scale};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{Clusters, of_rows};
use crate::options::Options;
use crate::pool::{self, Length};
use crate::results::{Answer, dict};

/// A map of a binary outcome or of classes, with what its file has.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Recalibration(MapFile);

/// What is known about a fit and not kept in files: notes, and counts of rows.
pub(crate) struct Remarks {
    notes: Vec<String>,
    n_clipped: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Remarks {
    pub(crate) fn of<M>(fit: &Fit<M>) -> Self {
        let notes = fit.notes.iter().map(ToString::to_string).collect();
        Remarks { notes, n_clipped: fit.n_clipped, left_out: fit.input.left_out.clone() }
    }

    pub(crate) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        Ok(dict!(py; notes: self.notes, n_clipped: self.n_clipped, left_out: self.left_out))
    }
}

impl Recalibration {
    pub(crate) fn of_fit<M: Clone + Into<Map>>(fit: &Fit<M>, options: &Options<'_>) -> Result<Self, Failure> {
        let names = options.class_names()?.unwrap_or_default();
        let labels = names.into_iter().map(Label::Text).collect();
        Ok(Recalibration(MapFile::new(fit.map.clone()).labels(labels).fit(fit)))
    }

    /// With what the map gains on new rows.
    pub(crate) fn with<M>(self, improvement: &Improvement<M>) -> Self {
        Recalibration(self.0.improvement(improvement))
    }

    pub(crate) fn map(&self) -> &Map {
        &self.0.map
    }
}

#[pymethods]
impl Recalibration {
    /// The map of some rows, and what is not kept in its file.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        columns: Columns<'py>,
        options: Options<'py>,
    ) -> Result<(Self, Bound<'py, PyDict>), Failure> {
        let (recalibrate, is_auto) = (options.recalibrate()?, options.is_auto()?);
        // Whether there is anything to fix is not asked here.
        let choose = Choose::new().recalibrate(recalibrate.clone()).n_resamples(0);
        let fit = of_predictions(
            py,
            &columns,
            &options,
            |sample| {
                Ok(Of::Binary(if is_auto { choose.run(sample)?.improvement.fit } else { recalibrate.fit(sample)? }))
            },
            |predictions| {
                if is_auto {
                    return Err(unnamed());
                }
                Ok(Of::Classes(recalibrate.fit_classes(predictions)?))
            },
        )?;
        let (held, remarks) = match &fit {
            Of::Binary(fit) => (Recalibration::of_fit(fit, &options)?, Remarks::of(fit)),
            Of::Classes(fit) => (Recalibration::of_fit(fit, &options)?, Remarks::of(fit)),
        };
        Ok((held, remarks.into_dict(py)?))
    }

    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Failure> {
        Ok(Recalibration(MapFile::from_json(text)?))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn fingerprint(&self) -> String {
        self.map().fingerprint()
    }

    fn formula(&self) -> String {
        self.map().formula()
    }

    /// How many classes it is for; 2 for a binary outcome.
    fn n_classes(&self) -> usize {
        self.map().n_classes()
    }

    /// The names of the classes, where they have any.
    fn labels(&self) -> Option<Vec<String>> {
        let labels = &self.0.labels;
        (!labels.is_empty()).then(|| labels.iter().map(ToString::to_string).collect())
    }

    /// What is known about the map and its fit, as Python's `Recalibrator` shows it.
    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let fit = self.0.fit.as_ref();
        let parameters = self.map().parameters();
        let errors = fit.map(|fit| fit.standard_errors.as_slice()).unwrap_or_default();
        let (values, standard_errors) = (PyDict::new(py), PyDict::new(py));
        for (place, (name, value)) in parameters.iter().enumerate() {
            values.set_item(name, value)?;
            standard_errors.set_item(name, errors.get(place).copied().flatten())?;
        }
        Ok(dict!(py;
            method: self.map().method().name(),
            mixture: self.map().mixture(),
            clip: self.map().clip(),
            parameters: values,
            standard_errors: standard_errors,
            bound: fit.map(|fit| fit.bound),
            log_loss_before: fit.map(|fit| fit.log_loss_before),
            log_loss_after: fit.map(|fit| fit.log_loss_after),
            ridge: fit.map(|fit| fit.ridge),
            n: fit.map(|fit| fit.n),
            effective_n: fit.map(|fit| fit.effective_n),
        ))
    }

    /// The numbers of a formula, as modules of torch take them; `None` for a table.
    fn numbers<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyDict>>, Failure> {
        let numbers = PyDict::new(py);
        let named = |name: &str| self.map().parameters().iter().find(|(own, _)| own == name).map(|(_, value)| *value);
        match self.map() {
            Map::Binary(map) => {
                if map.method.is_table() {
                    return Ok(None);
                }
                // h is log σ(h) - log σ(-h), so all formulas are of the form of beta calibration.
                let slope = named("slope").unwrap_or(1.0);
                numbers.set_item("a", named("a").unwrap_or(slope))?;
                numbers.set_item("b", named("b").unwrap_or(slope))?;
                let shift = named("c").or(named("intercept")).or(named("shift"));
                numbers.set_item("c", shift.unwrap_or(0.0))?;
            }
            Map::Classes(map) => {
                numbers.set_item("classes", map.n_classes)?;
                numbers.set_item("slope", map.slope)?;
            }
            _ => return Ok(None),
        }
        numbers.set_item("mixture", self.map().mixture())?;
        Ok(Some(numbers))
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
            match self.map() {
                Map::Binary(map) => Ok(both(map, &predictions.binary()?, n_columns)),
                Map::Classes(map) if map.n_classes == n_columns => {
                    let row = |row: usize| -> Vec<f64> {
                        (row * n_columns..(row + 1) * n_columns).map(|index| scores.get(index)).collect()
                    };
                    Ok((0..predictions.len()).flat_map(|index| map.apply(&row(index), form)).collect())
                }
                other => {
                    let rule = format!("those of the {} classes that the map is for", other.n_classes());
                    Err(Error::InvalidSetting { name: "columns", rule, value: n_columns.to_string() })
                }
            }
        })?;
        Ok(found.into_pyarray(py))
    }

    /// The map at probabilities, and its band where it has one.
    fn curve<'py>(&self, py: Python<'py>, at: PyReadonlyArray1<'py, f64>, level: f64) -> Answer<'py> {
        let Map::Binary(map) = self.map() else {
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
        let covariance = self.0.fit.as_ref().map(|fit: &FitRecord| fit.covariance.as_slice());
        let band = |p: &f64| map.band(covariance?, map.logit_of(*p), level);
        let (lower, upper): (Option<Vec<f64>>, Option<Vec<f64>>) = match at.iter().map(band).collect::<Option<Vec<_>>>()
        {
            None => (None, None),
            Some(bands) => {
                let (lower, upper) = bands.iter().map(|band| (band.lower, band.upper)).unzip();
                (Some(lower), Some(upper))
            }
        };
        Ok(dict!(py;
            values: at.iter().map(|p| map.apply_probability(*p)).collect::<Vec<f64>>(),
            probabilities: at,
            lower: lower,
            upper: upper,
            level: level,
        ))
    }
}

/// Something of a binary outcome, or of classes.
pub(crate) enum Of<B, C> {
    Binary(B),
    Classes(C),
}

/// What the core finds for rows of a binary outcome, or for rows of classes.
pub(crate) fn of_predictions<'py, B: Send, C: Send>(
    py: Python<'py>,
    columns: &Columns<'py>,
    options: &Options<'py>,
    binary: impl FnOnce(Sample<'_>) -> Result<Of<B, C>, Error> + Send,
    classes: impl FnOnce(&Predictions<'_>) -> Result<Of<B, C>, Error> + Send,
) -> Result<Of<B, C>, Failure> {
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

pub(crate) fn unnamed() -> Error {
    let rule = "named for more than two classes".to_owned();
    Error::InvalidSetting { name: "method", rule, value: "\"auto\"".to_owned() }
}

fn setting(name: &'static str, rule: &str, value: f64) -> Failure {
    Error::InvalidSetting { name, rule: rule.to_owned(), value: value.to_string() }.into()
}

/// Every family of maps, by name, with the names of its parameters and whether it is a table.
#[pyfunction]
pub(crate) fn recalibration_methods() -> Vec<(&'static str, Vec<&'static str>, bool)> {
    let listed = |method: &Method| (method.name(), method.parameter_names().to_vec(), method.is_table());
    Method::ALL.iter().map(listed).collect()
}
