//! Rejection rates of tests.

use super::{FloorTest, MonteCarlo, Simulation};
use crate::inference::NoiseFloor;
use crate::inference::calibration_tests::{
    AdaptiveTCal, CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter,
};
use crate::measure::Measure;
use crate::measures::CumulativeStatistic;
use crate::measures::cumulative::{MAXIMUM_ABSOLUTE, RANGE};
use crate::measures::ls_ece::LsEce;
use crate::setters::setters;
use crate::{Error, error};

/// A test that draws with a seed of its own in each run.
///
/// With one seed for all runs, the error of a p-value from 999 draws would be much the same in all
/// of them: a size of 5 % would come out as anything between 4 and 6.
#[derive(Clone, Copy)]
pub struct SeededTest {
    /// Its name.
    pub name: &'static str,
    make: fn(u64, usize) -> Box<dyn CalibrationTest>,
    n_resamples: usize,
}

impl SeededTest {
    /// A test of your own, from the seed and the number of its draws.
    pub fn new(name: &'static str, make: fn(u64, usize) -> Box<dyn CalibrationTest>) -> Self {
        SeededTest { name, make, n_resamples: 999 }
    }

    setters! {
        /// Draws, of tests that draw; 999 unless set.
        n_resamples: usize;
    }

    /// All tests of this library.
    pub fn all() -> [SeededTest; 7] {
        macro_rules! seeded {
            ($name:expr, $test:expr) => {
                SeededTest::new($name, |seed, n| Box::new($test.random_state(seed).n_resamples(n as _)))
            };
        }
        [
            seeded!("ls_ece_floor", FloorTest::new(LsEce::new())),
            seeded!("spiegelhalter", Spiegelhalter::new()),
            seeded!("hosmer_lemeshow", HosmerLemeshow::new()),
            seeded!(RANGE.spec.name, CumulativeTest::new()),
            seeded!(MAXIMUM_ABSOLUTE.spec.name, CumulativeTest::new().statistic(CumulativeStatistic::MaximumAbsolute)),
            seeded!("adaptive_tcal", AdaptiveTCal::new()),
            SeededTest::new("cox", |_, _| Box::new(CoxTest::new())),
        ]
    }

    /// The test with that seed.
    pub fn seeded(&self, random_state: u64) -> Box<dyn CalibrationTest> {
        (self.make)(random_state, self.n_resamples)
    }
}

/// How often a test rejects.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RejectionResult {
    /// Its name.
    pub name: &'static str,
    /// The level that p-values were held against.
    pub alpha: f64,
    /// Runs.
    pub n_runs: u64,
    /// Runs whose rows could not be tested: they count as not rejected.
    pub n_failed: u64,
    /// Share of runs with a p-value of at most alpha: the size where the population is calibrated,
    /// else the power.
    pub rejected: MonteCarlo,
}

impl Simulation<'_> {
    /// How often the value of a measure is beyond its noise floor at level `alpha`, by so many
    /// draws.
    pub fn floor_rejections(&self, measure: &dyn Measure, n_resamples: u64, alpha: f64) -> Result<MonteCarlo, Error> {
        let p_values = self.each(|view, random_state| {
            Ok(NoiseFloor::new(&*measure.resampler(view, None)?, n_resamples, random_state)?.p_value)
        })?;
        Ok(MonteCarlo::share(p_values.iter().map(|p_value| *p_value <= alpha + 1e-12)))
    }

    /// How often tests reject at level `alpha`, all on the same rows.
    pub fn rejections(&self, tests: &[SeededTest], alpha: f64) -> Result<Vec<RejectionResult>, Error> {
        Error::require(0.0 < alpha && alpha < 1.0, "alpha", "in (0, 1)", error::number(alpha))?;
        let runs = self.each(|view, random_state| {
            let p_value = |test: &SeededTest| test.seeded(random_state).test(view).map(|result| result.p_value);
            Ok(tests.iter().map(p_value).collect::<Vec<_>>())
        })?;
        let result = |(column, test): (usize, &SeededTest)| {
            let p_values = runs.iter().map(|run| &run[column]);
            let n_failed = p_values.clone().filter(|p_value| p_value.is_err()).count() as u64;
            if n_failed == self.n_runs {
                return Err(p_values.filter_map(|run| run.as_ref().err()).next().cloned().unwrap_or(Error::NoRows));
            }
            // A drawn p-value is a ratio of integers: rounding shall not take it past alpha.
            let rejects = |p_value: &Result<f64, Error>| matches!(p_value, Ok(p_value) if *p_value <= alpha + 1e-12);
            Ok(RejectionResult {
                name: test.name,
                alpha,
                n_runs: self.n_runs,
                n_failed,
                rejected: MonteCarlo::share(p_values.map(rejects)),
            })
        };
        tests.iter().enumerate().map(result).collect()
    }
}
