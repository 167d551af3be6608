//! How much of a figure can be trusted: assessments and comparisons, and how they go back.

use calipers::inference::{Part, Parts};
use calipers::{Assess, Assessment, BinaryView, Compare, Comparison, Debias, Error, Interval, IntervalMethod};
use calipers::{Measure, Multiclass, NoiseFloor, Predictions, Sample};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::Options;
use crate::pool::{self, Length};
use crate::results::{Measured, WithEstimate};

/// What is drawn, and what an interval holds.
#[derive(Clone, Copy)]
pub(crate) struct Resampling {
    level: f64,
    n_resamples: u64,
    random_state: u64,
}

impl Resampling {
    fn new(options: &Options<'_>) -> Result<Self, Failure> {
        Ok(Resampling {
            level: options.number("level")?,
            n_resamples: options.count("n_resamples")?,
            random_state: options.count("random_state")?,
        })
    }
}

/// How a figure is assessed: what the options say, besides those of the measure and the rows.
#[derive(Clone, Copy)]
pub(crate) struct Choices {
    pub(crate) resampling: Resampling,
    method: Option<IntervalMethod>,
    debias: Debias,
}

impl Choices {
    pub(crate) fn new(options: &Options<'_>) -> Result<Self, Failure> {
        let method = options.optional_text("method", "text or None")?;
        let method = method.map(|name| name.parse()).transpose()?;
        Ok(Choices { resampling: Resampling::new(options)?, method, debias: options.named("debias")? })
    }

    pub(crate) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        let Resampling { level, n_resamples, random_state } = self.resampling;
        let assess =
            Assess::new(measure).level(level).n_resamples(n_resamples).random_state(random_state).debias(self.debias);
        match self.method {
            None => assess,
            Some(method) => assess.method(method),
        }
    }
}

/// Checks and assesses the rows without the GIL; class by class where that is asked.
pub(crate) fn assess<'py>(
    py: Python<'py>,
    measure: &str,
    columns: &Columns<'py>,
    options: Options<'py>,
) -> Result<Assessed<Measured<'py>>, Failure> {
    let (choices, estimator) = (Choices::new(&options)?, options.measure(measure)?);
    let clusters = Clusters::new(&options)?;
    let clusters = clusters.numbers()?;
    let input = columns.input(&options)?;
    let (multiclass, ties) = (options.multiclass()?, options.named("ties")?);
    let length = Length::of(&options, input.n_scores())?;
    let assessment = pool::run(py, length, || {
        let predictions = input.check()?;
        let assess = choices.assess(&*estimator);
        let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
        let view;
        let sample = match multiclass {
            Multiclass::Classwise => Sample::classes(&predictions, ties),
            _ => {
                view = predictions.view(multiclass, ties)?;
                Sample::from(&view)
            }
        };
        assess.run(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)))
    })?;
    let multiclass = Some(multiclass.resolved(columns.n_classes()));
    let estimate = assessment.estimate.clone();
    let measured = Measured { estimate, multiclass, weighted: columns.is_weighted(), options };
    Ok(Assessed { measured, assessment, resampling: choices.resampling })
}

/// Compares the models by the one view of their rows, without the GIL.
pub(crate) fn compare<'py>(
    py: Python<'py>,
    measure: &str,
    models: &[(String, Columns<'py>)],
    options: Options<'py>,
) -> Result<Compared<'py>, Failure> {
    let (resampling, estimator) = (Resampling::new(&options)?, options.measure(measure)?);
    let Resampling { level, n_resamples, random_state } = resampling;
    let compare = Compare::new(&*estimator).level(level).n_resamples(n_resamples).random_state(random_state);
    if models.is_empty() {
        // Without a model there are no rows whose options could be read; the core says how many
        // models there must be.
        compare.run(&[])?;
    }
    let clusters = Clusters::new(&options)?;
    let clusters = clusters.numbers()?;
    let (multiclass, ties) = (options.multiclass()?, options.named("ties")?);
    let mut inputs = Vec::new();
    for (name, columns) in models {
        inputs.push((name.as_str(), columns.input(&options)?));
    }
    let comparison = pool::run(py, Length::of(&options, 0)?, || {
        let mut checked = Vec::new();
        for (name, input) in inputs {
            checked.push((name, input.check().map_err(|error| Failure::of_model(name, error))?));
        }
        check_left_out(&checked)?;
        let mut views = Vec::new();
        for (name, predictions) in &checked {
            views.push((*name, predictions.view(multiclass, ties).map_err(|error| Failure::of_model(name, error))?));
        }
        let views: Vec<(&str, &BinaryView<'_>)> = views.iter().map(|(name, view)| (*name, view)).collect();
        Ok::<_, Failure>(match (clusters, checked.first()) {
            (Some(clusters), Some((_, first))) => {
                compare.clusters(&of_rows("clusters", first, clusters)?).run(&views)?
            }
            _ => compare.run(&views)?,
        })
    })?;
    let measured = |columns: &Columns<'py>, assessment: &Assessment| Measured {
        estimate: assessment.estimate.clone(),
        multiclass: Some(multiclass.resolved(columns.n_classes())),
        weighted: columns.is_weighted(),
        options: options.clone(),
    };
    let assessed = models.iter().zip(&comparison.models).map(|((_, columns), (_, assessment))| Assessed {
        measured: measured(columns, assessment),
        assessment: assessment.clone(),
        resampling,
    });
    Ok(Compared { models: assessed.collect(), comparison })
}

/// Refuses models of which not the same rows were left out.
pub(crate) fn check_left_out(models: &[(&str, Predictions<'_>)]) -> Result<(), Error> {
    let Some(((first_name, first), others)) = models.split_first() else { return Ok(()) };
    for (name, predictions) in others {
        // Rows of different numbers are refused by the core.
        let n = first.len().min(predictions.len());
        let differs =
            (0..n).map(|index| (first.row(index), predictions.row(index))).find(|(ours, theirs)| ours != theirs);
        if let Some((ours, theirs)) = differs {
            let value = format!("row {ours} of {first_name:?} beside row {theirs} of {name:?}");
            let rule = "the same for all models".to_owned();
            return Err(Error::InvalidSetting { name: "rows", rule, value });
        }
    }
    Ok(())
}

/// The numbers that Python has given to clusters, held so that the core can borrow them.
pub(crate) struct Clusters<'py>(Option<PyReadonlyArray1<'py, u32>>);

impl<'py> Clusters<'py> {
    pub(crate) fn new(options: &Options<'py>) -> Result<Self, Failure> {
        Ok(Clusters(options.get("cluster")?.extract()?))
    }

    pub(crate) fn numbers(&self) -> Result<Option<&[u32]>, Failure> {
        Ok(self.0.as_ref().map(|numbers| numbers.as_slice()).transpose().map_err(PyErr::from)?)
    }
}

/// The clusters or groups of the rows that are measured, where some were left out.
pub(crate) fn of_rows(what: &'static str, predictions: &Predictions<'_>, numbers: &[u32]) -> Result<Vec<u32>, Error> {
    let n_rows = predictions.report().n_rows as usize;
    if numbers.len() != n_rows {
        return Err(Error::LengthMismatch { what, got: numbers.len(), expected: n_rows });
    }
    Ok((0..predictions.len()).map(|index| numbers[predictions.row(index)]).collect())
}

/// An assessment beside the estimate that Python makes of it.
pub(crate) struct Assessed<T> {
    pub(crate) measured: T,
    pub(crate) assessment: Assessment,
    pub(crate) resampling: Resampling,
}

impl<'py, T> IntoPyObject<'py> for Assessed<T>
where
    T: WithEstimate + IntoPyObject<'py, Target = PyDict, Output = Bound<'py, PyDict>, Error = PyErr>,
{
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Assessed { measured, assessment, resampling } = self;
        let residual = assessment.residual.as_deref().map(|deciding| Assessed {
            measured: measured.with_estimate(deciding.estimate.clone()),
            assessment: deciding.clone(),
            resampling,
        });
        let parts = PyDict::new(py);
        parts.set_item("sentence", assessment.sentence())?;
        parts.set_item("estimate", measured)?;
        parts.set_item("floor", assessment.floor.as_ref().map(Floor::from))?;
        parts.set_item("unavailable", assessment.unavailable)?;
        parts.set_item("interval", Ends::from(assessment.interval))?;
        parts.set_item("debiased", assessment.debiased)?;
        parts.set_item("debias", assessment.debias.name())?;
        parts.set_item("standard_error", assessment.standard_error)?;
        parts.set_item("bias", assessment.bias)?;
        parts.set_item("significant", assessment.significant)?;
        parts.set_item("residual", residual)?;
        parts.set_item("parts", assessment.parts.as_ref().map(SignedParts::from))?;
        parts.set_item("smoothing", assessment.smoothing)?;
        parts.set_item("n_clusters", assessment.n_clusters)?;
        parts.set_item("n_resamples", resampling.n_resamples)?;
        parts.set_item("random_state", resampling.random_state)?;
        Ok(parts)
    }
}

/// The noise floor, as Python's `NoiseFloor` has it.
#[derive(IntoPyObject)]
struct Floor {
    mean: f64,
    deviation: f64,
    quantiles: (f64, f64, f64),
    p_value: f64,
    n_resamples: u64,
    n_failed: u64,
}

impl From<&NoiseFloor> for Floor {
    fn from(floor: &NoiseFloor) -> Self {
        Floor {
            mean: floor.mean,
            deviation: floor.deviation,
            quantiles: floor.quantiles.into(),
            p_value: floor.p_value,
            n_resamples: floor.n_resamples,
            n_failed: floor.n_failed,
        }
    }
}

/// An interval, as Python's `Interval` has it.
#[derive(IntoPyObject)]
struct Ends {
    lower: f64,
    upper: f64,
    level: f64,
    method: &'static str,
    is_upper_limit: bool,
}

impl From<Interval> for Ends {
    fn from(interval: Interval) -> Self {
        Ends {
            lower: interval.lower,
            upper: interval.upper,
            level: interval.level,
            method: interval.method.name(),
            is_upper_limit: interval.is_upper_limit,
        }
    }
}

/// A signed part, as Python's `Part` has it.
#[derive(IntoPyObject)]
struct SignedPart {
    value: f64,
    debiased: f64,
    interval: Ends,
}

impl From<&Part> for SignedPart {
    fn from(part: &Part) -> Self {
        SignedPart { value: part.value, debiased: part.debiased, interval: part.interval.into() }
    }
}

/// The signed parts, as Python's `Parts` has them.
#[derive(IntoPyObject)]
struct SignedParts {
    too_high: SignedPart,
    too_low: SignedPart,
    overconfident: Option<SignedPart>,
    underconfident: Option<SignedPart>,
}

impl From<&Parts> for SignedParts {
    fn from(parts: &Parts) -> Self {
        SignedParts {
            too_high: (&parts.too_high).into(),
            too_low: (&parts.too_low).into(),
            overconfident: parts.confidence.as_ref().map(|found| (&found.over).into()),
            underconfident: parts.confidence.as_ref().map(|found| (&found.under).into()),
        }
    }
}

/// The measure that decides a comparison, as Python's `ComparedBy` has it.
#[derive(IntoPyObject)]
struct ComparedBy {
    measure: &'static str,
    sigma: Option<f64>,
}

/// A comparison beside the assessments that Python makes of its models.
pub(crate) struct Compared<'py> {
    models: Vec<Assessed<Measured<'py>>>,
    comparison: Comparison,
}

impl<'py> IntoPyObject<'py> for Compared<'py> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Compared { models, comparison } = self;
        let pairs = comparison.pairs.iter().map(|pair| Difference {
            first: pair.first,
            second: pair.second,
            difference: pair.difference,
            interval: pair.interval.into(),
            standard_error: pair.standard_error,
            p_value: pair.p_value,
            p_adjusted: pair.p_adjusted,
            sentence: comparison.pair_sentence(pair),
        });
        let parts = PyDict::new(py);
        parts.set_item("sentence", comparison.sentence())?;
        parts.set_item("models", models)?;
        // One measure at one sigma for all models.
        let compared_by = comparison
            .compared
            .first()
            .map(|estimate| ComparedBy { measure: estimate.measure(), sigma: estimate.settings.number("sigma") });
        parts.set_item("compared_by", compared_by)?;
        parts.set_item("pairs", pairs.collect::<Vec<_>>())?;
        parts.set_item("level", comparison.level)?;
        Ok(parts)
    }
}

/// Two models by their places, as Python's `Pair` has them by name.
#[derive(IntoPyObject)]
struct Difference {
    first: usize,
    second: usize,
    difference: f64,
    interval: Ends,
    standard_error: f64,
    p_value: f64,
    p_adjusted: f64,
    sentence: String,
}
