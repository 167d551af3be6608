//! Hypothesis tests of calibration.
//!
//! The hypothesis of all is that each outcome is 1 with the probability that was predicted for it,
//! independently of other rows. A small p-value is evidence against it. A
//! large p-value means only that this test found no evidence in these rows.
//!
//! ```text
//! Spiegelhalter     the Brier score against what the predictions say it should be
//! HosmerLemeshow    outcomes against predictions in groups of equal mass
//! CumulativeTest    ECCE-R and ECCE-MAD: how far the sum of residuals strays
//! AdaptiveTCal      squared calibration error in 2, 4, 8, ... bins, the most surprising of them
//! CoxTest           intercept 0 and slope 1 of a regression on logits
//! ```
//!
//! The weight of a row is its importance, not a number of repetitions: variances contain the
//! squares of the weights. So the scale of the weights has no effect, and one row of weight 2 is
//! less evidence than two rows.

mod adaptive_tcal;
mod cox;
mod cumulative;
mod hosmer_lemeshow;
mod resampling;
mod spiegelhalter;
mod trials;

pub use adaptive_tcal::AdaptiveTCal;
pub use cox::{CoefficientInterval, CoxInference, CoxTest};
pub use cumulative::CumulativeTest;
pub use hosmer_lemeshow::{HosmerLemeshow, Quantiles};
pub use resampling::NullDistribution;
pub use spiegelhalter::Spiegelhalter;
pub(in crate::inference) use trials::{TrialSet, Trials};

use crate::Error;
use crate::data::BinaryView;
use crate::measure::Settings;

/// Anything that turns predictions into a p-value.
pub trait CalibrationTest: Send + Sync {
    /// Tests the rows of `view`.
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error>;
}

/// A p-value with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult {
    /// Name of the test.
    pub test: &'static str,
    /// The test statistic; each test documents its definition.
    pub statistic: f64,
    /// Probability of a statistic at least as extreme if predictions are calibrated.
    pub p_value: f64,
    /// Of the chi-square distribution, for tests that have one.
    pub degrees_of_freedom: Option<f64>,
    /// Rows tested.
    pub n: u64,
    /// All options in the order of the test's signature, and how the p-value was computed.
    pub settings: Settings,
}
