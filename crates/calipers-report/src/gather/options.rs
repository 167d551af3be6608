//! The options of a report, and the origin of its predictions.

use std::sync::Arc;

use calipers::inference::bands::BandOptions;
use calipers::{Adjust, BinnedEce, Error, Link, Logistic, LsEce, SketchOptions, Sweep};

use crate::setters::setters;

/// The options of a report.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) ls_ece: LsEce,
    pub(crate) ece: BinnedEce,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) clip: f64,
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
    pub(crate) adjust: Adjust,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ls_ece: LsEce::new(),
            ece: BinnedEce::new(),
            link: Arc::new(Logistic),
            clip: 1e-6,
            level: 0.95,
            n_resamples: 1000,
            random_state: 0,
            adjust: Adjust::default(),
        }
    }
}

impl Options {
    /// LS-ECE with an automatic sigma, ECE with 15 bins, level 0.95, 1000 resamples, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// LS-ECE, with the clip and the link that it was made with.
    pub fn ls_ece(self, ls_ece: LsEce, clip: f64, link: Arc<dyn Link>) -> Self {
        Options { ls_ece, clip, link, ..self }
    }

    setters! {
        /// Binned ECE.
        ece(ece: BinnedEce) |options| options.ece = ece;

        /// The level of intervals and bands. Tests have the level 1 - `level`.
        level(level: f64) |options| options.level = level;

        /// The number of resamples of each kind.
        n_resamples(n_resamples: u64) |options| options.n_resamples = n_resamples;

        /// The seed of all random numbers.
        random_state(random_state: u64) |options| options.random_state = random_state;

        /// How p-values of groups and classes are adjusted for their number. The default is Holm.
        adjust(adjust: Adjust) |options| options.adjust = adjust;
    }

    /// Options of a sketch that serves a report as well as the data do: fine cells, and the bins of
    /// ECE and of the sweep.
    pub fn sketch(&self, n_bins: usize) -> SketchOptions {
        let bins: Vec<usize> = [n_bins, 15, 20].into_iter().chain(super::sweep::BINS).collect();
        SketchOptions::new().resolution(14).clip(self.clip).n_bins(&bins)
    }

    /// Checks the options that do not depend on the data.
    pub fn check(&self) -> Result<(), Error> {
        self.sweep().check()
    }

    pub(super) fn bins(&self, n_bins: usize) -> BinnedEce {
        BinnedEce::new().n_bins(n_bins).link(self.link.clone())
    }

    pub(super) fn sweep(&self) -> Sweep {
        Sweep::new().clip(self.clip).link(self.link.clone()).random_state(self.random_state)
    }

    /// Bands use at most 999 resamples, unless the level needs more: by then their ends are known
    /// to a digit.
    pub(super) fn band(&self) -> BandOptions {
        let least = (2.0 / (1.0 - self.level) - 1.0).ceil() as u64;
        let n_resamples = self.n_resamples.clamp(least, least.max(999));
        BandOptions::new().level(self.level).n_resamples(n_resamples).random_state(self.random_state)
    }
}

/// Where the predictions of a model came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// Files or other sources.
    pub files: Vec<String>,
    /// The use of each column: `("probability", "score")`.
    pub columns: Vec<(String, String)>,
    /// How the input was interpreted, in sentences.
    pub notes: Vec<String>,
}
