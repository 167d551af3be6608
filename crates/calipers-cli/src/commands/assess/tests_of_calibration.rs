//! The tests of calibration of `calipers assess --tests`.

use std::sync::Arc;

use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter, TestResult,
};
use calipers::{CumulativeCalibrationError, CumulativeStatistic, Error, Link, Measure, Sample};

/// All tests, at the link of the measures.
#[derive(Clone)]
pub(crate) struct Tests {
    pub(crate) link: Arc<dyn Link>,
}

/// A test with its p-value, or why there is none.
#[derive(Debug)]
pub(crate) struct Tested {
    pub(crate) name: &'static str,
    /// What it looks at, in a few words.
    pub(crate) about: &'static str,
    pub(crate) outcome: Result<TestResult, Error>,
    /// The p-value of a group, adjusted for all groups.
    pub(crate) p_adjusted: Option<f64>,
}

impl Tested {
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.outcome.as_ref().ok().map(|result| result.p_value)
    }
}

impl Tests {
    pub(crate) fn run(&self, sample: Sample<'_>, n_resamples: u64, random_state: u64) -> Vec<Tested> {
        let link = || Arc::clone(&self.link);
        let n = usize::try_from(n_resamples).unwrap_or(usize::MAX);
        let cumulative = |statistic| {
            CumulativeTest::new().statistic(statistic).link(link()).n_resamples(n).random_state(random_state)
        };
        let named = |statistic| CumulativeCalibrationError::new().statistic(statistic).spec().name;
        let all: [(&str, &str, Box<dyn CalibrationTest>); 6] = [
            (
                "spiegelhalter",
                "Brier score",
                Box::new(Spiegelhalter::new().link(link()).n_resamples(n).random_state(random_state)),
            ),
            (
                "hosmer_lemeshow",
                "10 groups of equal mass",
                Box::new(HosmerLemeshow::new().link(link()).n_resamples(n).random_state(random_state)),
            ),
            (
                named(CumulativeStatistic::Range),
                "range of cumulative residuals",
                Box::new(cumulative(CumulativeStatistic::Range)),
            ),
            (
                named(CumulativeStatistic::MaximumAbsolute),
                "largest cumulative residual",
                Box::new(cumulative(CumulativeStatistic::MaximumAbsolute)),
            ),
            (
                "adaptive_tcal",
                "2, 4, 8, ... bins",
                Box::new(AdaptiveTCal::new().link(link()).n_resamples(n).random_state(random_state)),
            ),
            ("cox", "intercept 0 and slope 1", Box::new(CoxTest::new())),
        ];
        let refused = |got: &str| {
            let rule = "independent rows in memory for tests of calibration".to_owned();
            Err(Error::InvalidSetting { name: "rows", rule, value: got.to_owned() })
        };
        let tested = |(name, about, test): (&'static str, &'static str, Box<dyn CalibrationTest>)| {
            let outcome = match sample.view() {
                Some(view) if !sample.has_clusters() => test.test(view),
                Some(_) => refused("clusters of rows"),
                None if sample.is_sketch() => refused("a sketch"),
                None => refused("several classes"),
            };
            Tested { name, about, outcome, p_adjusted: None }
        };
        all.into_iter().map(tested).collect()
    }
}
