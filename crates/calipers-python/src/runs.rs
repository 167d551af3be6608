//! Values of many groups in one call for a table, in which the rows of each group stand together.
//!
//! A call for each group would cost more than its rows, where groups have few.

use std::ops::Range;

use calipers::{Assessment, Error, Input, Invalid, Measure};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::Choices;
use crate::options::{Options, Question};
use crate::pool::{self, Length};
use crate::results::{Answer, dict};

/// The value of a measure for each run of rows: those from its start up to the next one's.
#[pyfunction]
pub(crate) fn estimate_runs<'py>(
    py: Python<'py>,
    measure: &str,
    starts: PyReadonlyArray1<'py, i64>,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
    let (measure, question) = (options.measure(measure)?, Question::read(&options)?);
    let value =
        |rows: Input<'_>| rows.estimate(question.multiclass, question.ties, &*measure).map(|estimate| estimate.value);
    Ok(each_run(py, &starts, &columns, &options, value)?.into_pyarray(py))
}

/// The assessment of each run of rows: arrays of its numbers, with NaN for what is not available.
#[pyfunction]
pub(crate) fn assess_runs<'py>(
    py: Python<'py>,
    measure: &str,
    starts: PyReadonlyArray1<'py, i64>,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    let (choices, measure, question) = (Choices::read(&options)?, options.measure(measure)?, Question::read(&options)?);
    let measure: &dyn Measure = &*measure;
    let assessment = |rows: Input<'_>| {
        let predictions = rows.check()?;
        choices.assess(measure).run(predictions.asked(question.multiclass, question.ties)?.sample())
    };
    let found = each_run(py, &starts, &columns, &options, assessment)?;
    let numbers = |of: fn(&Assessment) -> Option<f64>| -> Vec<f64> {
        found.iter().map(|assessment| of(assessment).unwrap_or(f64::NAN)).collect()
    };
    Ok(dict!(py;
        value: numbers(|found| Some(found.estimate.value)),
        numerical_bound: numbers(|found| Some(found.estimate.numerical_bound)),
        floor: numbers(|found| found.floor.as_ref().map(|floor| floor.mean)),
        floor_std: numbers(|found| found.floor.as_ref().map(|floor| floor.deviation)),
        lower: numbers(|found| Some(found.interval.lower)),
        upper: numbers(|found| Some(found.interval.upper)),
        p_value: numbers(|found| found.floor.as_ref().map(|floor| floor.p_value)),
        sentence: found.iter().map(Assessment::sentence).collect::<Vec<String>>(),
    ))
}

/// What `work` finds for each run, on all threads.
fn each_run<'py, T: Send>(
    py: Python<'py>,
    starts: &PyReadonlyArray1<'py, i64>,
    columns: &Columns<'py>,
    options: &Options<'py>,
    work: impl Fn(Input<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Failure> {
    let input = columns.input(options)?;
    let counts = options.read::<Invalid>("invalid")? == Invalid::Count;
    let starts = starts.as_slice().map_err(PyErr::from)?;
    let Some(runs) = runs(starts) else { return Err(PyValueError::new_err("starts of runs, in order").into()) };
    pool::run(py, Length::of(options, input.n_scores())?, || {
        // What is wrong with all rows, as percentages are, a run may be too short to tell.
        if counts {
            input.clone().check_batch(&mut Default::default())?;
        }
        let found: Vec<Result<T, Error>> = runs.into_par_iter().map(|run| work(input.rows(run)?)).collect();
        let numbered = found.into_iter().enumerate();
        numbered.map(|(run, found)| found.map_err(|error| Failure::OfRun(run, error))).collect()
    })
}

/// The rows of each run; `None` unless each starts where the last one ends.
fn runs(starts: &[i64]) -> Option<Vec<Range<usize>>> {
    let place = |start: i64| usize::try_from(start).ok();
    let run = |ends: &[i64]| Some(place(ends[0])?..place(ends[1])?).filter(|run| run.start <= run.end);
    starts.windows(2).map(run).collect()
}
