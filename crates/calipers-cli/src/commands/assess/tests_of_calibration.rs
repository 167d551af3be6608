//! The tests of calibration of `calipers assess --tests`.

use std::sync::Arc;

use calipers::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Quantiles, Spiegelhalter, TestResult,
};
use calipers::{CumulativeCalibrationError, CumulativeStatistic, Error, Link, Measure, Sample};

/// All tests, at the link of the measures.
#[derive(Clone)]
pub(crate) struct Tests {
    pub(crate) link: Arc<dyn Link>,
    /// Where the groups of Hosmer and Lemeshow end.
    pub(crate) quantiles: Quantiles,
}

/// A test with its p-value, or why there is none.
#[derive(Debug)]
pub(crate) struct Tested {
    pub(crate) name: &'static str,
    /// What it tests, in a few words.
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

/// A test with the settings of the command.
macro_rules! boxed {
    ($test:expr, $tests:expr, $n:expr, $random_state:expr) => {
        Box::new($test.link(Arc::clone(&$tests.link)).n_resamples($n).random_state($random_state))
    };
}

impl Tests {
    pub(crate) fn run(&self, sample: Sample<'_>, n_resamples: u64, random_state: u64) -> Vec<Tested> {
        let n = usize::try_from(n_resamples).unwrap_or(usize::MAX);
        let named = |statistic| CumulativeCalibrationError::new().statistic(statistic).spec().name;
        let (range, largest) = (CumulativeStatistic::Range, CumulativeStatistic::MaximumAbsolute);
        let cumulative = |statistic| CumulativeTest::new().statistic(statistic);
        let hosmer_lemeshow = HosmerLemeshow::new().quantiles(self.quantiles);
        let all: [(&str, &str, Box<dyn CalibrationTest>); 6] = [
            ("spiegelhalter", "Brier score", boxed!(Spiegelhalter::new(), self, n, random_state)),
            ("hosmer_lemeshow", "10 groups of equal mass", boxed!(hosmer_lemeshow, self, n, random_state)),
            (named(range), "range of cumulative residuals", boxed!(cumulative(range), self, n, random_state)),
            (named(largest), "largest cumulative residual", boxed!(cumulative(largest), self, n, random_state)),
            ("adaptive_tcal", "2, 4, 8, ... bins", boxed!(AdaptiveTCal::new(), self, n, random_state)),
            ("cox", "intercept 0 and slope 1", Box::new(CoxTest::new())),
        ];
        let rejected = |got: &str| {
            let rule = "independent rows in memory for tests of calibration".to_owned();
            Err(Error::InvalidSetting { name: "rows", rule, value: got.to_owned() })
        };
        let tested = |(name, about, test): (&'static str, &'static str, Box<dyn CalibrationTest>)| {
            let outcome = match sample.view() {
                Some(view) if !sample.has_clusters() => test.test(view),
                Some(_) => rejected("clusters of rows"),
                None if sample.is_sketch() => rejected("a sketch"),
                None => rejected("several classes"),
            };
            Tested { name, about, outcome, p_adjusted: None }
        };
        all.into_iter().map(tested).collect()
    }
}
