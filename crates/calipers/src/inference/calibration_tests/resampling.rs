//! Outcomes drawn from the predictions: the distribution of any statistic if they are calibrated.

use std::sync::Arc;

use super::trials::TrialSet;
use crate::Error;
use crate::link::{Link, Logistic};
use crate::measure::Settings;
use crate::names::names;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::watch;

/// Where a p-value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NullDistribution {
    /// The limit for many rows where the test documents it as good; otherwise outcomes are drawn.
    #[default]
    Auto,
    /// The limit for many rows.
    Asymptotic,
    /// Outcomes are drawn from the predictions. The p-value is (resamples at least as extreme + 1)
    /// / (resamples + 1). It has the right size for any number of rows.
    Resampled,
}

names! { NullDistribution, "null_distribution"; Auto = "auto", Asymptotic = "asymptotic", Resampled = "resampled" }

/// What the tests with a null distribution have in common: the link, where the p-value comes from,
/// and the resamples. Each resample has a seed of its own, so the number of threads changes
/// nothing.
#[derive(Debug, Clone)]
pub(super) struct Null {
    pub(super) link: Arc<dyn Link>,
    pub(super) distribution: NullDistribution,
    pub(super) n_resamples: usize,
    pub(super) random_state: u64,
}

impl Default for Null {
    /// 999 resamples, so that 0.05 and 0.01 are p-values that occur.
    fn default() -> Self {
        Null { link: Arc::new(Logistic), distribution: NullDistribution::Auto, n_resamples: 999, random_state: 0 }
    }
}

/// Builder methods of a test with a field `null: Null`; with `null_distribution` also that one.
macro_rules! null_setters {
    () => {
        /// The link that turns raw binary scores into probabilities.
        pub fn link(mut self, link: impl $crate::IntoLink) -> Self {
            self.null.link = link.shared();
            self
        }

        /// The number of resamples, where outcomes are drawn.
        pub fn n_resamples(mut self, n_resamples: usize) -> Self {
            self.null.n_resamples = n_resamples;
            self
        }

        /// The seed of the resamples: the same numbers on every machine and any number of threads.
        pub fn random_state(mut self, random_state: u64) -> Self {
            self.null.random_state = random_state;
            self
        }
    };
    (null_distribution) => {
        /// Where the p-value comes from.
        pub fn null_distribution(
            mut self,
            distribution: $crate::inference::calibration_tests::NullDistribution,
        ) -> Self {
            self.null.distribution = distribution;
            self
        }

        null_setters! {}
    };
}

pub(super) use null_setters;

impl Null {
    pub(super) fn check(&self) -> Result<(), Error> {
        let valid = (1..=10_000_000).contains(&self.n_resamples);
        Error::require(valid, "n_resamples", "from 1 to 10000000", self.n_resamples)
    }

    /// Whether outcomes are drawn, given whether the limit for many rows is good.
    pub(super) fn is_resampled(&self, limit_is_good: bool) -> bool {
        match self.distribution {
            NullDistribution::Auto => !limit_is_good,
            NullDistribution::Asymptotic => false,
            NullDistribution::Resampled => true,
        }
    }

    /// A value of each resample, in order.
    pub(super) fn of_draws<T: Send>(&self, set: &TrialSet, of: impl Fn(&[u64]) -> T + Sync) -> Vec<T> {
        watch::expect_draws(self.n_resamples as u64);
        parallel::map(self.n_resamples, |draw| {
            watch::draw_begins();
            of(&set.draw(&mut Uniforms::new(seed_of_draw(self.random_state, draw as u64))))
        })
    }

    /// The share of resamples, with the data among them, whose statistic is at least as large as
    /// that of the data.
    ///
    /// Data and resamples are measured on the same cells. Equal statistics that were rounded
    /// differently count as equal.
    pub(super) fn p_value(&self, set: &TrialSet, statistic: impl Fn(&TrialSet, &[u64]) -> f64 + Sync) -> f64 {
        let cells = set.to_draw_from();
        let least = statistic(&cells, &cells.observed()) * (1.0 - 1e-12);
        let statistics = self.of_draws(&cells, |counts| statistic(&cells, counts));
        let n_extreme = statistics.iter().filter(|statistic| **statistic >= least).count();
        (n_extreme + 1) as f64 / (self.n_resamples + 1) as f64
    }

    /// The test's own settings, the link, and how the p-value was found.
    pub(super) fn settings(&self, settings: Settings, is_resampled: bool) -> Settings {
        let settings = settings.with("link", self.link.name());
        if !is_resampled {
            return settings.with("null_distribution", "asymptotic");
        }
        self.resampling(settings.with("null_distribution", "resampled"))
    }

    /// The settings with those of the resamples.
    pub(super) fn resampling(&self, settings: Settings) -> Settings {
        settings.with("n_resamples", self.n_resamples as u64).with("random_state", self.random_state)
    }
}
