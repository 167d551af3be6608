//! Tests of calibration by their names, made from the options of a call.

use std::collections::BTreeMap;

use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoefficientInterval, CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter,
    TestResult,
};
use calipers::{CumulativeCalibrationError, CumulativeStatistic, InputReport, Measure};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::options::Options;
use crate::results::{add_input, settings};
use crate::views::one_view;

impl Options<'_> {
    /// The test that python/calipers asks for.
    fn calibration_test(&self, name: &str) -> Result<Box<dyn CalibrationTest>, Failure> {
        let (n_resamples, random_state, link) = (self.size("n_resamples")?, self.count("random_state")?, self.link()?);
        let cumulative = |statistic: CumulativeStatistic| -> Result<Box<dyn CalibrationTest>, Failure> {
            Ok(Box::new(
                CumulativeTest::new()
                    .statistic(statistic)
                    .link(self.link()?)
                    .null_distribution(self.named("null_distribution")?)
                    .n_resamples(n_resamples)
                    .random_state(random_state),
            ))
        };
        Ok(match name {
            "spiegelhalter" => Box::new(
                Spiegelhalter::new()
                    .link(link)
                    .null_distribution(self.named("null_distribution")?)
                    .n_resamples(n_resamples)
                    .random_state(random_state),
            ),
            "hosmer_lemeshow" => Box::new(
                HosmerLemeshow::new()
                    .n_groups(self.size("n_groups")?)
                    .fitted(self.flag("fitted")?)
                    .link(link)
                    .null_distribution(self.named("null_distribution")?)
                    .n_resamples(n_resamples)
                    .random_state(random_state),
            ),
            "tcal_adaptive" => Box::new(
                AdaptiveTCal::new()
                    .most_bins(self.size("most_bins")?)
                    .link(link)
                    .n_resamples(n_resamples)
                    .random_state(random_state),
            ),
            // Named as the measure whose value is tested.
            _ => {
                let all = [CumulativeStatistic::Range, CumulativeStatistic::MaximumAbsolute];
                let measure = |statistic| CumulativeCalibrationError::new().statistic(statistic);
                match all.into_iter().find(|statistic| measure(*statistic).spec().name == name) {
                    Some(statistic) => cumulative(statistic)?,
                    None => return Err(PyKeyError::new_err(name.to_owned()).into()),
                }
            }
        })
    }
}

/// A test's result as Python's `CalibrationTest` has it.
#[derive(IntoPyObject)]
pub(crate) struct Tested<'py> {
    test: &'static str,
    statistic: f64,
    p_value: f64,
    degrees_of_freedom: Option<f64>,
    n: u64,
    left_out: BTreeMap<&'static str, u64>,
    settings: Bound<'py, PyDict>,
}

impl<'py> Tested<'py> {
    fn new(
        py: Python<'py>,
        result: &TestResult,
        input: InputReport,
        columns: &Columns<'py>,
        options: &Options<'py>,
    ) -> Result<Self, Failure> {
        let settings = settings(py, &result.settings)?;
        let multiclass = options.multiclass()?.resolved(columns.n_classes());
        add_input(py, &settings, options, Some(multiclass), columns.is_weighted())?;
        Ok(Tested {
            test: result.test,
            statistic: result.statistic,
            p_value: result.p_value,
            degrees_of_freedom: result.degrees_of_freedom,
            n: result.n,
            left_out: input.left_out,
            settings,
        })
    }
}

/// Value, standard error, lower and upper end, in the order of Python's `CoefficientInterval`.
#[derive(IntoPyObject)]
pub(crate) struct Coefficient(f64, f64, f64, f64);

impl From<CoefficientInterval> for Coefficient {
    fn from(interval: CoefficientInterval) -> Self {
        Coefficient(interval.value, interval.standard_error, interval.lower, interval.upper)
    }
}

/// What Cox's regression knows, as Python's `CoxTest` has it.
#[derive(IntoPyObject)]
pub(crate) struct CoxTested<'py> {
    test: Tested<'py>,
    intercept: Coefficient,
    slope: Coefficient,
    in_the_large: Coefficient,
    covariance: f64,
    level: f64,
    n_clipped: u64,
}

#[pyfunction]
pub(crate) fn calibration_test<'py>(
    py: Python<'py>,
    test: &str,
    columns: Columns<'py>,
    options: Bound<'py, PyDict>,
) -> Result<Tested<'py>, Failure> {
    let options = Options::new(options);
    let test = options.calibration_test(test)?;
    let (result, input) = one_view(py, &columns, &options, |view| Ok((test.test(view)?, view.report().clone())))?;
    Tested::new(py, &result, input, &columns, &options)
}

#[pyfunction]
pub(crate) fn cox_test<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    options: Bound<'py, PyDict>,
) -> Result<CoxTested<'py>, Failure> {
    let options = Options::new(options);
    let test = CoxTest::new().clip(options.number("clip")?).level(options.number("level")?);
    let (inference, input) =
        one_view(py, &columns, &options, |view| Ok((test.inference(view)?, view.report().clone())))?;
    Ok(CoxTested {
        test: Tested::new(py, &inference.test, input, &columns, &options)?,
        intercept: inference.intercept.into(),
        slope: inference.slope.into(),
        in_the_large: inference.in_the_large.into(),
        covariance: inference.covariance,
        level: inference.level,
        n_clipped: inference.n_clipped,
    })
}
