//! Recalibration maps that Python holds.

use std::collections::BTreeMap;

use calipers::recalibrate::{
    Band, BinaryMap, Choose, ClassFormula, ClassSample, Fit, FitRecord, GroupFit, GroupMaps, Improvement, Label, Map,
    MapFile, Method, SqlInput,
};
use calipers::{BinaryView, Error, Sample};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::groups::{self, NumberedGroups};
use crate::inference::{Clusters, of_rows};
use crate::options::Options;
use crate::pool::{self, Length};
use crate::results::{Answer, IntoPython, dict};

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
    pub(crate) fn of_fit<M: Clone + Into<Map>>(fit: &Fit<M>, names: Option<Vec<String>>) -> Self {
        let labels = names.unwrap_or_default().into_iter().map(Label::Text).collect();
        Recalibration(MapFile::new(fit.map.clone()).labels(labels).fit(fit))
    }

    /// Maps by group.
    pub(crate) fn of_groups(fit: &Fit<GroupMaps>, groups: &[GroupFit]) -> Self {
        Recalibration(MapFile::new(fit.map.clone()).fit(FitRecord::from(fit).groups(groups)))
    }

    /// With what the map gains on new rows.
    pub(crate) fn with<M>(self, improvement: &Improvement<M>) -> Self {
        Recalibration(self.0.improvement(improvement))
    }

    pub(crate) fn map(&self) -> &Map {
        &self.0.map
    }

    /// The parameters in the order in which fits have them.
    fn parameters(&self) -> Vec<Parameters> {
        let fitted = |name: &str, values: &[f64]| Parameters::new(name, values, true);
        let map = match self.map() {
            Map::Classes(map) => map,
            other => return other.parameters().iter().map(|(name, value)| fitted(name, &[*value])).collect(),
        };
        let first = Parameters::new("slope", &[map.slope], false);
        match &map.formula {
            ClassFormula::Slope if map.method == Method::Identity => Vec::new(),
            ClassFormula::Slope => vec![fitted("slope", &[map.slope])],
            ClassFormula::Vector { scale, bias, .. } => {
                let is_shared = map.method == Method::BiasCorrectedTemperature;
                let scale = if is_shared { scale.get(..1).unwrap_or_default() } else { scale };
                vec![first, fitted("scale", scale), fitted("bias", bias)]
            }
            ClassFormula::Matrix { matrix, bias, .. } => vec![first, fitted("matrix", matrix), fitted("bias", bias)],
            ClassFormula::Ensemble { weights } => vec![fitted("slope", &[map.slope]), fitted("weights", weights)],
            _ => Vec::new(),
        }
    }

    /// Several parameters as an array: a row for each class of a matrix.
    fn shaped<'py>(&self, py: Python<'py>, name: &str, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        match (name, &values[..]) {
            ("slope" | "scale", [one]) => (*one).into_python(py),
            ("matrix", _) => {
                let k = self.n_classes();
                Ok(values.into_pyarray(py).reshape([k, k])?.into_any())
            }
            _ => values.into_python(py),
        }
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
        if let Some(groups) = NumberedGroups::read(&options)? {
            let recalibrate = if is_auto { recalibrate.method(Method::Beta) } else { recalibrate };
            let found = groups.ask(py, &columns, &options, |sample, groups| recalibrate.fit_groups(sample, groups))?;
            let remarks = Remarks::of(&found.fit).into_dict(py)?;
            return Ok((Recalibration::of_groups(&found.fit, &found.groups), remarks));
        }
        // Whether there is anything to fix is not asked here.
        let choose = Choose::new().recalibrate(recalibrate.clone()).n_resamples(0);
        let fit = of_predictions(
            py,
            &columns,
            &options,
            options.is_of_classes()?,
            |sample| {
                Ok(Of::Binary(if is_auto { choose.run(sample)?.improvement.fit } else { recalibrate.fit(sample)? }))
            },
            |rows| {
                Ok(Of::Classes(match is_auto {
                    true => choose.run_classes(rows)?.improvement.fit,
                    false => recalibrate.fit_classes(rows)?,
                }))
            },
        )?;
        let names = options.class_names()?;
        let (held, remarks) = match &fit {
            Of::Binary(fit) => (Recalibration::of_fit(fit, names), Remarks::of(fit)),
            Of::Classes(fit) => (Recalibration::of_fit(fit, names), Remarks::of(fit)),
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

    /// What is known of each group, where each has a map of its own.
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
        groups::listed(py, &self.0)
    }

    /// How much each parameter differs among groups.
    fn spread<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Map::Groups(maps) = self.map() else { return Ok(None) };
        let spread = PyDict::new(py);
        for (name, value) in maps.method().parameter_names().iter().zip(&maps.spread) {
            spread.set_item(name, value)?;
        }
        Ok(Some(spread))
    }

    /// The map of one group alone.
    fn of_group(&self, group: &str) -> Result<Self, Failure> {
        match self.map() {
            Map::Groups(maps) => Ok(Recalibration(MapFile::new(maps.of(group).clone()))),
            _ => Err(Error::InvalidSetting {
                name: "recalibrator",
                rule: "fitted by group".to_owned(),
                value: "one map for all".to_owned(),
            }
            .into()),
        }
    }

    /// The names of the classes, where they have any.
    fn labels(&self) -> Option<Vec<String>> {
        let labels = &self.0.labels;
        (!labels.is_empty()).then(|| labels.iter().map(ToString::to_string).collect())
    }

    /// What is known about the map and its fit, as Python's `Recalibrator` shows it.
    fn facts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let fit = self.0.fit.as_ref();
        let (parameters, standard_errors) = (PyDict::new(py), PyDict::new(py));
        let mut errors = fit.map(|fit| fit.standard_errors.as_slice()).unwrap_or_default().iter().copied();
        for Parameters { name, values, is_fitted } in self.parameters() {
            let own: Vec<Option<f64>> = match is_fitted {
                true => (0..values.len()).map(|_| errors.next().flatten()).collect(),
                false => vec![None; values.len()],
            };
            standard_errors.set_item(
                &name,
                match &own[..] {
                    [one] => (*one).into_python(py)?,
                    _ => self.shaped(py, &name, own.iter().map(|error| error.unwrap_or(f64::NAN)).collect())?,
                },
            )?;
            parameters.set_item(
                &name,
                match &values[..] {
                    [one] => (*one).into_python(py)?,
                    _ => self.shaped(py, &name, values)?,
                },
            )?;
        }
        Ok(dict!(py;
            method: self.map().method().name(),
            mixture: self.map().mixture(),
            clip: self.map().clip(),
            parameters: parameters,
            standard_errors: standard_errors,
            bound: fit.map(|fit| fit.bound),
            log_loss_before: fit.map(|fit| fit.log_loss_before),
            log_loss_after: fit.map(|fit| fit.log_loss_after),
            ridge: fit.map(|fit| fit.ridge),
            n: fit.map(|fit| fit.n),
            effective_n: fit.map(|fit| fit.effective_n),
        ))
    }

    /// The numbers of a formula, as modules of torch take them; `None` for other maps.
    fn numbers<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyDict>>, Failure> {
        let numbers = PyDict::new(py);
        match self.map() {
            Map::Binary(map) => {
                let named = |name: &str| map.method.parameter_names().iter().position(|own| *own == name);
                let value = |name: &str| named(name).and_then(|place| map.parameters.get(place)).copied();
                if map.method.is_table() || map.method == Method::Spline {
                    return Ok(None);
                }
                // h is log σ(h) - log σ(-h), so all formulas are of the form of beta calibration.
                let slope = value("slope").unwrap_or(1.0);
                numbers.set_item("a", value("a").unwrap_or(slope))?;
                numbers.set_item("b", value("b").unwrap_or(slope))?;
                let shift = value("c").or(value("intercept")).or(value("shift"));
                numbers.set_item("c", shift.unwrap_or(0.0))?;
            }
            Map::Classes(map) => {
                match &map.formula {
                    ClassFormula::Vector { mixture_before, .. } | ClassFormula::Matrix { mixture_before, .. } => {
                        numbers.set_item("mixture_before", mixture_before)?;
                    }
                    ClassFormula::Slope | ClassFormula::Ensemble { .. } => {}
                    _ => return Ok(None),
                }
                numbers.set_item("classes", map.n_classes)?;
                for Parameters { name, values, .. } in self.parameters() {
                    numbers.set_item(&name, self.shaped(py, &name, values)?)?;
                }
            }
            _ => return Ok(None),
        }
        numbers.set_item("mixture", self.map().mixture())?;
        Ok(Some(numbers))
    }

    /// Venn-Abers prediction: the values and the ends of the intervals of rows.
    fn intervals<'py>(&self, py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
        let input = columns.input(&options)?;
        let length = Length::of(&options, input.n_scores())?;
        let found = pool::run(py, length, || {
            let predictions = input.check()?;
            let found: Option<Vec<Band>> = match self.map() {
                Map::Binary(map) => map.logits(&predictions.binary()?).into_iter().map(|h| map.interval(h)).collect(),
                _ => None,
            };
            found.ok_or_else(|| Error::InvalidSetting {
                name: "method",
                rule: format!("{:?}, which alone has intervals", Method::VennAbers.name()),
                value: format!("{:?}", self.map().method().name()),
            })
        })?;
        Ok(dict!(py;
            values: found.iter().map(|band| band.value).collect::<Vec<f64>>(),
            lower: found.iter().map(|band| band.lower).collect::<Vec<f64>>(),
            upper: found.iter().map(|band| band.upper).collect::<Vec<f64>>(),
        ))
    }

    /// The map as an SQL expression.
    fn to_sql(&self, column: &str, options: Options<'_>) -> Result<String, Failure> {
        let input = if options.read("from_logits")? { SqlInput::Logit } else { SqlInput::Probability };
        match self.map() {
            Map::Binary(map) => Ok(map.to_sql(column, input, options.read("dialect")?)?),
            Map::Groups(maps) => {
                let by: Option<String> = options.given("by")?;
                let maps = by.map_or(maps.clone(), |by| maps.clone().by(by));
                Ok(maps.to_sql(column, input, options.read("dialect")?)?)
            }
            other => Err(Error::InvalidSetting {
                name: "map",
                rule: "of a binary outcome for SQL".to_owned(),
                value: format!("one of {} classes", other.n_classes()),
            }
            .into()),
        }
    }

    /// Recalibrated probabilities, row after row, as many for each row as it has scores.
    #[pyo3(signature = (columns, options, groups = None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        columns: Columns<'py>,
        options: Options<'py>,
        groups: Option<NumberedGroups<'py>>,
    ) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
        let input = columns.input(&options)?;
        let n_columns = columns.n_classes();
        let groups = groups.map(|groups| groups.all()).transpose()?;
        let length = Length::of(&options, input.n_scores())?;
        let found = pool::run(py, length, || {
            let predictions = input.check()?;
            match self.map() {
                Map::Binary(map) => Ok(both(map, &predictions.binary()?, n_columns)),
                Map::Groups(maps) => groups::applied(maps, &predictions.binary()?, groups.as_ref(), n_columns),
                Map::Classes(map) if map.n_classes == n_columns => Ok(map.apply_all(&predictions)),
                other => {
                    let rule = format!("those of the {} classes that the map is for", other.n_classes());
                    Err(Error::InvalidSetting { name: "columns", rule, value: n_columns.to_string() })
                }
            }
        })
        .map_err(Failure::of_new_rows)?;
        Ok(found.into_pyarray(py))
    }

    /// The map at probabilities, and its band where it has one.
    fn curve<'py>(&self, py: Python<'py>, at: PyReadonlyArray1<'py, f64>, level: f64) -> Answer<'py> {
        let Map::Binary(map) = self.map() else {
            let value = match self.map() {
                Map::Groups(_) => "maps by group; of_group has the one of a group".to_owned(),
                other => format!("one of {} classes", other.n_classes()),
            };
            return Err(Error::InvalidSetting {
                name: "curve",
                rule: "of a map of a binary outcome".to_owned(),
                value,
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

/// Parameters of one name.
struct Parameters {
    name: String,
    values: Vec<f64>,
    /// Whether the fit has standard errors of them; not for the slope of a first step.
    is_fitted: bool,
}

impl Parameters {
    fn new(name: &str, values: &[f64], is_fitted: bool) -> Self {
        Parameters { name: name.to_owned(), values: values.to_vec(), is_fitted }
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
    is_of_classes: bool,
    binary: impl FnOnce(Sample<'_>) -> Result<Of<B, C>, Error> + Send,
    classes: impl FnOnce(ClassSample<'_>) -> Result<Of<B, C>, Error> + Send,
) -> Result<Of<B, C>, Failure> {
    let clusters = Clusters::new(options)?;
    let clusters = clusters.numbers()?;
    let input = columns.input(options)?;
    // Two columns are a binary outcome, unless the map is for classes only.
    let least = if is_of_classes { 2 } else { 3 };
    pool::run(py, Length::of(options, input.n_scores())?, || {
        let predictions = input.check()?;
        let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
        if predictions.n_classes() >= least {
            let rows = ClassSample::new(&predictions);
            return classes(clusters.as_ref().map_or(rows, |clusters| rows.clusters(clusters)));
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
    let of_row = |logit: f64| {
        let (positive, negative) = map.both(logit);
        [negative, positive]
    };
    map.logits(view).into_iter().flat_map(of_row).collect()
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
