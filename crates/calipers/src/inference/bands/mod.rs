//! Bands about the curves of reliability diagrams: how far chance alone takes them.
//!
//! ```text
//! Corp::consistency_band     where the isotonic fit of calibrated predictions would lie
//! Corp::confidence_band      where the true rates may lie, if they rise with the probability
//! LsEce::consistency_band    where the smoothed curve of calibrated predictions would lie
//! BandOptions::of_bins       where the outcome rates of bins would lie, were predictions calibrated
//! CumulativeCalibrationError::consistency_band    where cumulative differences would lie
//! ```
//! Those of consistency are there for sketches too, as `consistency_band_from_sketch`. All are
//! pointwise: at each place the band holds the curve with its level, and over a whole curve it is
//! normal that some places are outside.

mod bins;
mod corp;

use crate::Error;
use crate::inference::check_level;
use crate::names::names;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::setters::setters;
use crate::watch;

/// What a band is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BandKind {
    /// The curve of a calibrated model: a curve outside of it is evidence against calibration
    /// there.
    Consistency,
    /// The fitted curve: the true rates may be anywhere inside.
    Confidence,
}

names! { BandKind, "band"; Consistency = "consistency", Confidence = "confidence" }

/// Lower and upper end at each place of a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What it is about.
    pub kind: BandKind,
    /// Lower ends, in the order of the curve; NaN where the curve is.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
    /// How often each place is inside, at least.
    pub level: f64,
    /// Draws, where outcomes were drawn.
    pub n_resamples: u64,
    /// What the random numbers were made from.
    pub random_state: u64,
}

/// How a band is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandOptions {
    level: f64,
    n_resamples: u64,
    random_state: u64,
}

impl Default for BandOptions {
    fn default() -> Self {
        BandOptions { level: 0.95, n_resamples: 999, random_state: 0 }
    }
}

impl BandOptions {
    /// Level 0.95, 999 draws with seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// How often each place is to be inside, from 0.5 to below 1.
        level: f64;

        /// Draws.
        n_resamples: u64;

        /// The seed of the draws: the same numbers on every machine and any number of threads.
        random_state: u64;
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        check_level(self.level)?;
        // With fewer no draw could be left out at either end. All draws of a curve are kept until
        // their order is known, hence the most.
        let least = (2.0 / (1.0 - self.level) - 1.0 - 1e-9).ceil();
        let valid = self.n_resamples as f64 >= least && self.n_resamples <= 10_000;
        Error::require(valid, "n_resamples", format!("from {least} to 10000 at this level"), self.n_resamples)
    }

    /// The probability of either side.
    pub(crate) fn tail(&self) -> f64 {
        0.5 * (1.0 - self.level)
    }

    /// Draws curves of `n_places` values each, and takes at each place the k-th smallest and the
    /// k-th largest, k = ⌊(draws + 1) tail⌋.
    ///
    /// One more curve that is like the draws is below the first with a probability of at most k /
    /// (draws + 1), since it is as likely to have any rank among them: so the level holds for any
    /// number of rows and of draws.
    pub(crate) fn ends(&self, n_places: usize, curve: impl Fn(&mut Uniforms) -> Vec<f64> + Sync) -> Vec<(f64, f64)> {
        self.ends_of_batches(n_places, |[uniforms]| curve(uniforms).into_iter().map(|value| [value]).collect())
    }

    /// The same from curves that are made together, each from numbers of its own: at every place
    /// there is a value of each. What the last batch has too many is left out.
    pub(crate) fn ends_of_batches<const BATCH: usize>(
        &self,
        n_places: usize,
        curves: impl Fn(&mut [Uniforms; BATCH]) -> Vec<[f64; BATCH]> + Sync,
    ) -> Vec<(f64, f64)> {
        watch::expect_draws(self.n_resamples);
        let n_draws = self.n_resamples as usize;
        let batches: Vec<Vec<[f64; BATCH]>> = parallel::map(n_draws.div_ceil(BATCH), |batch| {
            let numbers = std::array::from_fn::<_, BATCH, _>(|draw| (batch * BATCH + draw) as u64);
            numbers.iter().take_while(|number| **number < self.n_resamples).for_each(|_| watch::draw_begins());
            curves(&mut numbers.map(|number| Uniforms::new(seed_of_draw(self.random_state, number))))
        });
        let rank = (((n_draws + 1) as f64 * self.tail() + 1e-9) as usize).max(1);
        parallel::map(n_places, |place| {
            let mut values: Vec<f64> = batches.iter().flat_map(|batch| batch[place]).take(n_draws).collect();
            let lower = *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1;
            (lower, *values.select_nth_unstable_by(n_draws - rank, f64::total_cmp).1)
        })
    }

    pub(crate) fn band(&self, kind: BandKind, ends: impl Iterator<Item = (f64, f64)>) -> Band {
        let (lower, upper) = ends.unzip();
        Band { kind, lower, upper, level: self.level, n_resamples: self.n_resamples, random_state: self.random_state }
    }
}
