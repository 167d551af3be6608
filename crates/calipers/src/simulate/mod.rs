//! How good estimates, intervals and tests are where the truth is known: bias, error, coverage,
//! size and power.
//!
//! ```text
//! Population (Family, Finite, or your own) -> Simulation: n rows, runs, seed
//!   .estimators([...])   bias and root mean squared error against the true ECE and LS-ECE        -> EstimatorResult
//!   .debiased(...)       the same for the rules that take noise out of a measure, on shared draws -> EstimatorResult
//!   .coverage(Assess)    how often intervals hold the true LS-ECE, and the true ECE               -> CoverageResult
//!   .rejections([...])   how often tests reject: their size where calibrated, else their power    -> RejectionResult
//! ```
//! Each run has rows and resamples by its own number: results do not depend on threads, and with
//! one seed all methods and populations see the same random numbers. Every value has the standard
//! error that results from the number of runs.

mod coverage;
mod estimators;
mod floor_test;
mod population;
mod rejections;
mod summary;
mod table;

pub use coverage::CoverageResult;
pub use estimators::EstimatorResult;
pub use floor_test::FloorTest;
pub use population::{Population, Remembered};
pub use rejections::{RejectionResult, SeededTest};
pub use summary::{Accuracy, MonteCarlo};
pub use table::LsEceTable;

use rayon::prelude::*;

use crate::Error;
use crate::data::BinaryView;
use crate::setters::setters;
use crate::watch;

/// Rows of a sample: what a machine with tens of gigabytes holds.
const MOST_ROWS: usize = 1_000_000_000;

/// Many samples of a population, each measured.
///
/// # Definition
/// Run r of R draws n rows by a seed that is made of `seed` and r, and what resamples them gets
/// another one: so any two calls with the same seed have the same rows.
///
/// # Cost
/// As much as the methods themselves, on all cores.
///
/// # Example
/// LS-ECE and ECE of a calibrated model are above 0 with few rows:
/// ```
/// use calipers::population::Family;
/// use calipers::simulate::Simulation;
/// use calipers::{BinnedEce, LsEce};
///
/// let family = Family::named("calibrated")?;
/// let results = Simulation::new(&family, 200)
///     .runs(50)
///     .estimators(&[("LS-ECE", &LsEce::new().sigma(0.5)), ("ECE", &BinnedEce::new())])?;
/// assert!(results.iter().all(|result| result.of_ece.bias.value > 0.0));
/// // Of the true LS-ECE, which is not 0, the first is closer to an unbiased estimate.
/// let of_ls_ece = results[0].of_ls_ece.expect("known for LS-ECE");
/// assert!(of_ls_ece.bias.value < results[0].of_ece.bias.value);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Simulation<'a> {
    population: &'a dyn Population,
    n: usize,
    n_runs: u64,
    random_state: u64,
}

impl<'a> Simulation<'a> {
    /// Samples of `n` rows: 1,000 runs, seed 0.
    pub fn new(population: &'a dyn Population, n: usize) -> Self {
        Simulation { population, n, n_runs: 1000, random_state: 0 }
    }

    /// How many samples.
    pub fn runs(mut self, n_runs: u64) -> Self {
        self.n_runs = n_runs;
        self
    }

    setters! {
        /// What the random numbers are made from.
        random_state: u64;
    }

    fn check(&self) -> Result<(), Error> {
        Error::require(self.n > 0, "n", "positive", self.n)?;
        // A score, an outcome, and what a measure makes of them.
        let fits = Vec::<[f64; 4]>::new().try_reserve_exact(self.n).is_ok();
        Error::require(fits && self.n <= MOST_ROWS, "n", format!("at most {MOST_ROWS}, and fit into memory"), self.n)?;
        Error::require((2..=100_000_000).contains(&self.n_runs), "runs", "from 2 to 100000000", self.n_runs)
    }

    /// `work` on the rows of each run and a seed for resamples of them, in order.
    fn each<T: Send>(&self, work: impl Fn(&BinaryView<'_>, u64) -> Result<T, Error> + Sync) -> Result<Vec<T>, Error> {
        self.check()?;
        watch::expect_runs(self.n_runs);
        let run = |number: u64| {
            watch::run_begins();
            let sample = self.population.sample(self.n, seed_of_run(self.random_state, 2 * number));
            let predictions = sample.input().check()?;
            work(&predictions.binary()?, seed_of_run(self.random_state, 2 * number + 1))
        };
        // Not `parallel::map`, whose places for millions of large results take seconds to make.
        (0..self.n_runs).into_par_iter().panic_fuse().map(run).collect()
    }
}

/// A seed for each place of a stream, by SplitMix64's finaliser, so that neighbouring places get
/// unlike ones.
fn seed_of_run(random_state: u64, place: u64) -> u64 {
    let mut mixed =
        random_state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add((place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
