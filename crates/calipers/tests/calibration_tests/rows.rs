//! All tests, and rows to run them on.

use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, NullDistribution, Spiegelhalter, TestResult,
};
use calipers::{CumulativeStatistic, Error, Input};

use crate::data::Row;

pub(crate) use NullDistribution::{Asymptotic, Resampled};

/// Every test with its defaults, and so many draws where there are any.
pub(crate) fn all(n_resamples: usize, seed: u64) -> Vec<Box<dyn CalibrationTest>> {
    let cumulative = || CumulativeTest::new().n_resamples(n_resamples).random_state(seed);
    vec![
        Box::new(Spiegelhalter::new().n_resamples(n_resamples).random_state(seed)),
        Box::new(HosmerLemeshow::new().n_resamples(n_resamples).random_state(seed)),
        Box::new(cumulative()),
        Box::new(cumulative().statistic(CumulativeStatistic::MaximumAbsolute)),
        Box::new(AdaptiveTCal::new().n_resamples(n_resamples).random_state(seed)),
        Box::new(CoxTest::new()),
    ]
}

/// Tests by the limits for many rows, however few there are.
#[cfg(feature = "slow-tests")]
pub(crate) fn limits() -> Vec<Box<dyn CalibrationTest>> {
    vec![
        Box::new(Spiegelhalter::new().null_distribution(Asymptotic)),
        Box::new(HosmerLemeshow::new().null_distribution(Asymptotic)),
        Box::new(HosmerLemeshow::new().fitted(true)),
        Box::new(CumulativeTest::new().null_distribution(Asymptotic)),
        Box::new(maximum().null_distribution(Asymptotic)),
    ]
}

pub(crate) fn maximum() -> CumulativeTest {
    CumulativeTest::new().statistic(CumulativeStatistic::MaximumAbsolute)
}

pub(crate) fn attempt(test: &dyn CalibrationTest, rows: &[Row]) -> Result<TestResult, Error> {
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let mut input = Input::probabilities(&p, &y);
    if weights.iter().any(|weight| *weight != 1.0) {
        input = input.weights(&weights);
    }
    test.test(&input.check().unwrap().binary().unwrap())
}

pub(crate) fn run(test: &dyn CalibrationTest, rows: &[Row]) -> TestResult {
    attempt(test, rows).unwrap()
}
