//! How a report is made, and what it is made from.

use std::sync::Arc;

use calipers::{BinnedEce, Error, Link, Logistic, LsEce, SketchOptions, Sweep};

/// How figures are made.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) ls_ece: LsEce,
    pub(crate) ece: BinnedEce,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) clip: f64,
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
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
        }
    }
}

impl Options {
    /// LS-ECE with sigma by rule, ECE with 15 bins, level 0.95, 1000 resamples, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// LS-ECE, with the clip and the link that it was given.
    pub fn ls_ece(mut self, ls_ece: LsEce, clip: f64, link: Arc<dyn Link>) -> Self {
        (self.ls_ece, self.clip, self.link) = (ls_ece, clip, link);
        self
    }

    /// Binned ECE.
    pub fn ece(mut self, ece: BinnedEce) -> Self {
        self.ece = ece;
        self
    }

    /// The level of intervals and bands; tests are at 1 - level.
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// Draws of each kind.
    pub fn n_resamples(mut self, n_resamples: u64) -> Self {
        self.n_resamples = n_resamples;
        self
    }

    /// What the random numbers are made from.
    pub fn random_state(mut self, random_state: u64) -> Self {
        self.random_state = random_state;
        self
    }

    /// Sketches that a report can be made from as well as from the rows: fine cells, and the bins
    /// of ECE and of the sweep.
    pub fn sketch(&self, n_bins: usize) -> SketchOptions {
        let bins: Vec<usize> = [n_bins, 15, 20].into_iter().chain(super::sweep::BINS).collect();
        SketchOptions::new().resolution(14).clip(self.clip).n_bins(&bins)
    }

    /// Refuses what no rows could be looked at with.
    pub fn check(&self) -> Result<(), Error> {
        self.sweep().check()
    }

    pub(super) fn bins(&self, n_bins: usize) -> BinnedEce {
        BinnedEce::new().n_bins(n_bins).link(self.link.clone())
    }

    pub(super) fn sweep(&self) -> Sweep {
        Sweep::new().clip(self.clip).link(self.link.clone()).random_state(self.random_state)
    }

    /// Bands take no more draws than that: their ends are known to a digit by then.
    pub(super) fn band(&self) -> calipers::inference::bands::BandOptions {
        let least = (2.0 / (1.0 - self.level) - 1.0).ceil() as u64;
        let n_resamples = self.n_resamples.clamp(least, least.max(999));
        calipers::inference::bands::BandOptions::new()
            .level(self.level)
            .n_resamples(n_resamples)
            .random_state(self.random_state)
    }
}

/// Where the predictions of a model came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// Files, or what else they came from.
    pub files: Vec<String>,
    /// What each column was taken for: `("probability", "score")`.
    pub columns: Vec<(String, String)>,
    /// What was guessed and how it was read, in sentences.
    pub notes: Vec<String>,
}
