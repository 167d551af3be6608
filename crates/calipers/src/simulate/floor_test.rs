//! The noise floor of a measure as a test.

use crate::Error;
use crate::data::BinaryView;
use crate::inference::NoiseFloor;
use crate::inference::calibration_tests::{CalibrationTest, TestResult};
use crate::measure::{Measure, Settings};
use crate::setters::setters;

/// The p-value of [`NoiseFloor`] as a test of calibration; the statistic is the measure itself, or
/// the one that decides for it: for LS-ECE the residual form.
pub struct FloorTest<E> {
    measure: E,
    n_resamples: u64,
    random_state: u64,
}

impl<E: Measure> FloorTest<E> {
    /// 999 resamples, seed 0.
    pub fn new(measure: E) -> Self {
        FloorTest { measure, n_resamples: 999, random_state: 0 }
    }

    setters! {
        /// Draws of outcomes.
        n_resamples: u64;

        /// What the random numbers are made from.
        random_state: u64;
    }
}

impl<E: Measure> CalibrationTest for FloorTest<E> {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        let deciding = self.measure.decided_by();
        let measure = deciding.as_deref().unwrap_or(&self.measure);
        let resampler = measure.resampler(view, None)?;
        let floor = NoiseFloor::new(&*resampler, self.n_resamples, self.random_state)?;
        Ok(TestResult {
            test: "noise_floor",
            statistic: resampler.value(),
            p_value: floor.p_value,
            degrees_of_freedom: None,
            n: view.len() as u64,
            settings: Settings::default().with("n_resamples", self.n_resamples).with("random_state", self.random_state),
        })
    }
}
