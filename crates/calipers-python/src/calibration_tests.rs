//! Tests of calibration by their names, made from the options of a call.

use std::sync::Arc;

use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter, TestResult,
};
use calipers::{CumulativeCalibrationError, CumulativeStatistic, InputReport, Link, Measure};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::Options;
use crate::results::{Answer, IntoPython, dict, input_settings, with_input};
use crate::views::one_view;

/// The test with the options of how its p-value is found.
macro_rules! resampled {
    ($options:expr, $test:expr) => {
        $test
            .link($options.read::<Arc<dyn Link>>("link")?)
            .n_resamples($options.read("n_resamples")?)
            .random_state($options.read("random_state")?)
    };
}

/// The test that python/calipers asks for.
fn test_named(name: &str, options: &Options<'_>) -> Result<Box<dyn CalibrationTest>, Failure> {
    Ok(match name {
        "spiegelhalter" => {
            let test = Spiegelhalter::new().null_distribution(options.read("null_distribution")?);
            Box::new(resampled!(options, test))
        }
        "hosmer_lemeshow" => {
            let test = HosmerLemeshow::new().n_groups(options.read("n_groups")?).fitted(options.read("fitted")?);
            let test = test.quantiles(options.read("quantiles")?);
            let test = test.null_distribution(options.read("null_distribution")?);
            Box::new(resampled!(options, test))
        }
        "tcal_adaptive" => {
            let test = AdaptiveTCal::new().most_bins(options.read("most_bins")?);
            Box::new(resampled!(options, test))
        }
        // Named as the measure whose value is tested.
        _ => {
            let all = [CumulativeStatistic::Range, CumulativeStatistic::MaximumAbsolute];
            let measure = |statistic| CumulativeCalibrationError::new().statistic(statistic);
            let Some(statistic) = all.into_iter().find(|statistic| measure(*statistic).spec().name == name) else {
                return Err(PyKeyError::new_err(name.to_owned()).into());
            };
            let test = CumulativeTest::new().statistic(statistic);
            let test = test.null_distribution(options.read("null_distribution")?);
            Box::new(resampled!(options, test))
        }
    })
}

/// A test's result, as Python's `CalibrationTest` has it.
fn tested<'py>(
    py: Python<'py>,
    result: TestResult,
    report: InputReport,
    columns: &Columns<'py>,
    options: &Options<'py>,
) -> Answer<'py, PyAny> {
    let input = input_settings(py, options, columns, Some(options.read("multiclass")?))?;
    let settings = with_input(py, &result.settings, &input)?;
    let found = result.into_python(py)?;
    found.set_item("left_out", report.left_out)?;
    found.set_item("settings", settings)?;
    Ok(found)
}

#[pyfunction]
pub(crate) fn calibration_test<'py>(
    py: Python<'py>,
    test: &str,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py, PyAny> {
    let test = test_named(test, &options)?;
    let (result, report) = one_view(py, &columns, &options, |view| Ok((test.test(view)?, view.report().clone())))?;
    tested(py, result, report, &columns, &options)
}

#[pyfunction]
pub(crate) fn cox_test<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let test = CoxTest::new().clip(options.read("clip")?).level(options.read("level")?);
    let (found, report) = one_view(py, &columns, &options, |view| Ok((test.inference(view)?, view.report().clone())))?;
    Ok(dict!(py;
        test: tested(py, found.test, report, &columns, &options)?,
        intercept: found.intercept,
        slope: found.slope,
        in_the_large: found.in_the_large,
        covariance: found.covariance,
        level: found.level,
        n_clipped: found.n_clipped,
    ))
}
