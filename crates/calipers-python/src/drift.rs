//! What has changed between two samples that share no rows.

use calipers::{Drift, Input, Measure, Sample};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{assessed, of_rows};
use crate::options::{Options, Question, Resampling};
use crate::pool::{self, Length};
use crate::results::{Answer, dict, input_settings};
use crate::sketch::Sketch;

/// A sample as Python has it: a sketch, or rows with the options of how they are read.
#[derive(FromPyObject)]
pub(crate) enum Side<'py> {
    Sketch(PyRef<'py, Sketch>),
    Rows(Columns<'py>, Options<'py>),
}

/// The same, for the core.
pub(crate) enum Given<'a> {
    Sketch(calipers::Sketch),
    Rows(Input<'a>, Question),
}

impl<'py> Side<'py> {
    pub(crate) fn given(&self, py: Python<'py>) -> Result<Given<'_>, Failure> {
        Ok(match self {
            Side::Sketch(sketch) => Given::Sketch(sketch.finished(py)?),
            Side::Rows(columns, options) => Given::Rows(columns.input(options)?, Question::read(options)?),
        })
    }

    fn settings(&self, py: Python<'py>, measure: &dyn Measure) -> Answer<'py> {
        match self {
            Side::Sketch(sketch) => sketch.input_settings(py),
            Side::Rows(columns, options) => {
                let asked = Question::read(options)?.multiclass;
                let multiclass = measure.spec().multiclass(asked, columns.n_classes());
                input_settings(py, options, columns, Some(multiclass))
            }
        }
    }
}

impl Given<'_> {
    /// `clusters` has a number for each row that was read.
    fn with<T>(
        self,
        measure: &dyn Measure,
        clusters: Option<&[u32]>,
        run: impl FnOnce(Sample<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            // The core has the error for clusters of a sketch.
            Given::Sketch(sketch) => run(with_clusters(Sample::from(&sketch), clusters)),
            Given::Rows(input, Question { multiclass, ties }) => {
                let predictions = input.check()?;
                let multiclass = measure.spec().multiclass(multiclass, predictions.n_classes());
                let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
                let asked = predictions.asked(multiclass, ties)?;
                run(with_clusters(asked.sample(), clusters.as_deref()))
            }
        }
    }
}

fn with_clusters<'a>(sample: Sample<'a>, clusters: Option<&'a [u32]>) -> Sample<'a> {
    clusters.map_or(sample, |clusters| sample.clusters(clusters))
}

/// The numbers that Python has given to the clusters of both samples.
fn clusters_of(options: &Options<'_>) -> Result<[Option<Vec<u32>>; 2], Failure> {
    let both: Option<(PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, u32>)> = options.get("cluster")?.extract()?;
    Ok(match both {
        Some((before, after)) => [before, after].map(|numbers| Some(numbers.as_array().to_vec())),
        None => [None, None],
    })
}

/// Two samples by the measure of that name, and outcomes at equal predictions.
#[pyfunction]
pub(crate) fn drift<'py>(
    py: Python<'py>,
    measure: &str,
    before: Side<'py>,
    after: Side<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    let (resampling, measure) = (Resampling::read(&options)?, options.measure(measure)?);
    let Resampling { level, n_resamples, random_state } = resampling;
    let drift = Drift::new(&*measure).level(level).n_resamples(n_resamples).random_state(random_state);
    let clusters = clusters_of(&options)?;
    let given = [before.given(py)?, after.given(py)?];
    let change = pool::run(py, Length::of(&options, 0)?, || {
        let [before, after] = given;
        let [of_before, of_after] = clusters.each_ref().map(Option::as_deref);
        before
            .with(&*measure, of_before, |before| after.with(&*measure, of_after, |after| Ok(drift.run(before, after)?)))
    })?;
    let side = |side: &Side<'py>, assessment| -> Result<Bound<'py, PyDict>, Failure> {
        Ok(assessed(py, assessment, resampling, &side.settings(py, &*measure)?)?)
    };
    let curve = dict!(py;
        p_value: change.curve.p_value,
        log_odds: change.curve.log_odds,
        standard_error: change.curve.standard_error,
        interval: change.curve.interval,
    );
    let origin = match change.origin {
        Some(origin) => Some(dict!(py; predictions: origin.predictions, outcomes: origin.outcomes)),
        None => None,
    };
    Ok(dict!(py;
        sentence: change.sentence(),
        significant: change.is_significant(),
        curve: curve,
        difference: change.difference,
        interval: change.interval,
        standard_error: change.standard_error,
        p_value: change.p_value,
        origin: origin,
        n_shared_clusters: change.n_shared_clusters,
        before: side(&before, &change.before)?,
        after: side(&after, &change.after)?,
    ))
}
