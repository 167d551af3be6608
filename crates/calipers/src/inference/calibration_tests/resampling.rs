//! Outcomes drawn from the predictions: the distribution of any statistic if they are calibrated.

use rayon::prelude::*;

use super::trials::TrialSet;
use crate::Error;
use crate::measure::Settings;
use crate::names::names;
use crate::numerics::random::Uniforms;
use crate::watch;

/// Where a p-value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NullDistribution {
    /// The limit for many rows where it is good, as the test says; else outcomes are drawn.
    #[default]
    Auto,
    /// The limit for many rows.
    Asymptotic,
    /// Outcomes are drawn from the predictions; the p-value is (draws at least as extreme + 1) /
    /// (draws + 1). It has the right size for any number of rows.
    Resampled,
}

names! { NullDistribution, "null_distribution";
    Auto = "auto",
    Asymptotic = "asymptotic",
    Resampled = "resampled",
}

/// Draws, each with a seed of its own: so the number of threads changes nothing.
#[derive(Debug, Clone)]
pub(super) struct Resampling {
    pub(super) n_resamples: usize,
    pub(super) random_state: u64,
}

/// 999, so that 0.05 and 0.01 are p-values that occur.
pub(super) const N_RESAMPLES: usize = 999;

impl Default for Resampling {
    fn default() -> Self {
        Resampling { n_resamples: N_RESAMPLES, random_state: 0 }
    }
}

impl Resampling {
    pub(super) fn check(&self) -> Result<(), Error> {
        if (1..=10_000_000).contains(&self.n_resamples) {
            return Ok(());
        }
        Err(Error::setting("n_resamples", "from 1 to 10000000", self.n_resamples))
    }

    /// Something of each draw, in order.
    pub(super) fn of_draws<T: Send>(&self, set: &TrialSet, of: impl Fn(&[u64]) -> T + Sync) -> Vec<T> {
        watch::expect_draws(self.n_resamples as u64);
        let draw = |counts: &mut Vec<u64>, draw: u64| {
            watch::draw_begins();
            // Multiplied, so that neighbouring seeds share no draw.
            let mut uniforms = Uniforms::new(self.random_state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(draw));
            set.draw(&mut uniforms, counts);
            of(counts)
        };
        (0..self.n_resamples as u64).into_par_iter().panic_fuse().map_init(Vec::new, draw).collect()
    }

    /// The share of draws, with the rows themselves among them, whose statistic is at least as
    /// large as theirs.
    ///
    /// Rows are measured on the same cells as draws. Equal statistics that were rounded differently
    /// count as equal.
    pub(super) fn p_value(&self, set: &TrialSet, statistic: impl Fn(&TrialSet, &[u64]) -> f64 + Sync) -> f64 {
        let cells = set.to_draw_from();
        let least = statistic(&cells, &cells.observed()) * (1.0 - 1e-12);
        let statistics = self.of_draws(&cells, |counts| statistic(&cells, counts));
        let n_extreme = statistics.iter().filter(|statistic| **statistic >= least).count();
        (n_extreme + 1) as f64 / (self.n_resamples + 1) as f64
    }
}

/// How a test comes to its p-value: the choice, and the draws if there are any.
#[derive(Debug, Clone, Default)]
pub(super) struct Null {
    pub(super) distribution: NullDistribution,
    pub(super) resampling: Resampling,
}

impl Null {
    /// Whether outcomes are to be drawn, where the limit is good or not.
    pub(super) fn is_resampled(&self, limit_is_good: bool) -> bool {
        match self.distribution {
            NullDistribution::Auto => !limit_is_good,
            NullDistribution::Asymptotic => false,
            NullDistribution::Resampled => true,
        }
    }

    /// What was done.
    pub(super) fn settings(&self, settings: Settings, is_resampled: bool) -> Settings {
        if !is_resampled {
            return settings.with("null_distribution", "asymptotic");
        }
        self.resampling.settings(settings.with("null_distribution", "resampled"))
    }
}

impl Resampling {
    pub(super) fn settings(&self, settings: Settings) -> Settings {
        settings.with("n_resamples", self.n_resamples as u64).with("random_state", self.random_state)
    }
}
