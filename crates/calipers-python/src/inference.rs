//! Assessments and comparisons: what can be concluded from a value.

use calipers::inference::{ClassAssessment, Direction};
use calipers::{Adjust, Asked, Assess, Assessment, Compare, Error, Measure, Multiclass, Predictions, Sample, Ties};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::{Corrections, Options, Question, Resampling};
use crate::pool::{self, Length};
use crate::results::{self, Answer, IntoPython, class_settings, dict, input_settings};

/// How a value is assessed: what the options have, besides those of the measure and the rows.
#[derive(Clone, Copy)]
pub(crate) struct Choices {
    pub(crate) resampling: Resampling,
    corrections: Corrections,
    n_tests: u64,
}

impl Choices {
    pub(crate) fn read(options: &Options<'_>) -> Result<Self, Failure> {
        // Only a question to one of many groups has it.
        let n_tests = if options.has("n_tests")? { options.read("n_tests")? } else { 1 };
        Ok(Choices { resampling: Resampling::read(options)?, corrections: Corrections::read(options)?, n_tests })
    }

    pub(crate) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        let Resampling { level, n_resamples, random_state } = self.resampling;
        let Corrections { method, debias } = self.corrections;
        let assess = Assess::new(measure).level(level).n_resamples(n_resamples).random_state(random_state);
        let assess = assess.debias(debias).n_tests(self.n_tests);
        method.map_or(assess, |method| assess.method(method))
    }
}

/// The assessment of the measure of that name; class by class, or of all classes together, where
/// that is requested or what the measure does by default.
#[pyfunction]
pub(crate) fn assess<'py>(py: Python<'py>, measure: &str, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let (choices, measure) = (Choices::read(&options)?, options.measure(measure)?);
    let adjust: Adjust = options.read("adjust")?;
    let clusters = Clusters::new(&options)?;
    let clusters = clusters.numbers()?;
    let input = columns.input(&options)?;
    let Question { multiclass, ties } = Question::read(&options)?;
    let multiclass = measure.spec().multiclass(multiclass, columns.n_classes());
    let length = Length::of(&options, input.n_scores())?;
    let (assessment, per_class) = pool::run(py, length, || {
        let predictions = input.check()?;
        let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
        let asked = predictions.asked(multiclass, ties)?;
        let sample = asked.sample();
        let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
        let assess = choices.assess(&*measure);
        let assessment = assess.run(sample)?;
        let per_class = match sample.is_classwise() {
            true => Some(assess.run_each_class(&predictions, clusters.as_deref(), adjust)?),
            false => None,
        };
        Ok::<_, Error>((assessment, per_class))
    })?;
    let input = input_settings(py, &options, &columns, Some(multiclass))?;
    let found = assessed(py, &assessment, choices.resampling, &input)?;
    if let Some(per_class) = per_class {
        let names = options.class_names()?;
        let of_class = |class: &ClassAssessment| {
            let name = names.as_ref().and_then(|names| names.get(class.class).cloned());
            let input = class_settings(&input, class.class)?;
            Ok(dict!(py;
                name: name.unwrap_or_else(|| class.class.to_string()),
                class_index: class.class,
                n: class.n,
                mean_probability: class.mean_probability,
                outcome_rate: class.outcome_rate,
                p_adjusted: class.p_adjusted,
                direction: class.direction().map(Direction::in_words),
                assessment: assessed(py, &class.assessment, choices.resampling, &input)?,
            ))
        };
        found.set_item("adjust", adjust.name())?;
        found.set_item("per_class", per_class.iter().map(of_class).collect::<PyResult<Vec<_>>>()?)?;
    }
    Ok(found)
}

/// The comparison of models by the one view of their rows, or by all their classes together.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    measure: &str,
    models: Vec<(String, Columns<'py>)>,
    options: Options<'py>,
) -> Answer<'py> {
    let (resampling, measure) = (Resampling::read(&options)?, options.measure(measure)?);
    let Resampling { level, n_resamples, random_state } = resampling;
    let compare = Compare::new(&*measure).level(level).n_resamples(n_resamples).random_state(random_state);
    if models.is_empty() {
        // Without a model there are no options of rows; the core has the error for too few models.
        let none: [(&str, Sample<'_>); 0] = [];
        compare.run(&none)?;
    }
    let clusters = Clusters::new(&options)?;
    let clusters = clusters.numbers()?;
    let Question { multiclass, ties } = Question::read(&options)?;
    let mut inputs = Vec::new();
    for (name, columns) in &models {
        inputs.push((name.as_str(), columns.input(&options)?));
    }
    let comparison = pool::run(py, Length::of(&options, 0)?, || {
        let mut checked = Vec::new();
        for (name, input) in inputs {
            checked.push((name, input.check().map_err(|error| Failure::of_model(name, error))?));
        }
        check_left_out(&checked)?;
        let mut asked = Vec::new();
        for (name, predictions) in &checked {
            let multiclass = measure.spec().multiclass(multiclass, predictions.n_classes());
            asked.push((
                *name,
                to_compare(predictions, multiclass, ties).map_err(|error| Failure::of_model(name, error))?,
            ));
        }
        let samples: Vec<(&str, Sample<'_>)> = asked.iter().map(|(name, asked)| (*name, asked.sample())).collect();
        Ok::<_, Failure>(match (clusters, checked.first()) {
            (Some(clusters), Some((_, first))) => {
                compare.clusters(&of_rows("clusters", first, clusters)?).run(&samples)?
            }
            _ => compare.run(&samples)?,
        })
    })?;
    let mut assessments = Vec::new();
    for ((_, columns), (_, assessment)) in models.iter().zip(&comparison.models) {
        let multiclass = measure.spec().multiclass(multiclass, columns.n_classes());
        let input = input_settings(py, &options, columns, Some(multiclass))?;
        assessments.push(assessed(py, assessment, resampling, &input)?);
    }
    let pair = |pair: &calipers::Pair| {
        let found = (*pair).into_python(py)?;
        found.set_item("sentence", comparison.pair_sentence(pair))?;
        Ok(found.cast_into::<PyDict>()?)
    };
    // One measure at one sigma for all models.
    let compared_by = match comparison.compared.first() {
        None => None,
        Some(by) => Some(dict!(py; measure: by.measure(), sigma: by.settings.number("sigma"))),
    };
    Ok(dict!(py;
        sentence: comparison.sentence(),
        models: assessments,
        compared_by: compared_by,
        pairs: comparison.pairs.iter().map(pair).collect::<PyResult<Vec<_>>>()?,
        level: comparison.level,
    ))
}

/// What is compared: means over classes are not.
fn to_compare<'a>(predictions: &'a Predictions<'a>, multiclass: Multiclass, ties: Ties) -> Result<Asked<'a>, Error> {
    match multiclass {
        Multiclass::Classwise => Err(predictions.view(multiclass, ties).err().unwrap_or(Error::NoRows)),
        _ => predictions.asked(multiclass, ties),
    }
}

/// Models are not comparable where different rows were left out.
pub(crate) fn check_left_out(models: &[(&str, Predictions<'_>)]) -> Result<(), Error> {
    let Some(((first_name, first), others)) = models.split_first() else { return Ok(()) };
    for (name, predictions) in others {
        // The core has an error for different numbers of rows.
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

/// An assessment, as Python's `Assessment` has it.
pub(crate) fn assessed<'py>(
    py: Python<'py>,
    assessment: &Assessment,
    resampling: Resampling,
    input: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let residual = assessment.residual.as_deref().map(|deciding| assessed(py, deciding, resampling, input));
    Ok(dict!(py;
        sentence: assessment.sentence(),
        estimate: results::estimate(py, &assessment.estimate, input)?,
        floor: assessment.floor.clone(),
        unavailable: assessment.unavailable,
        interval: assessment.interval,
        debiased: assessment.debiased,
        debias: assessment.debias,
        standard_error: assessment.standard_error,
        bias: assessment.bias,
        significant: assessment.significant,
        residual: residual.transpose()?,
        parts: assessment.parts,
        smoothing: assessment.smoothing,
        n_clusters: assessment.n_clusters,
        per_class: None::<bool>,
        n_resamples: resampling.n_resamples,
        random_state: resampling.random_state,
    ))
}
