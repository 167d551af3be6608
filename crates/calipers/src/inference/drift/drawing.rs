//! A p-value by draws of a statistic.

use crate::Error;
use crate::inference::resampler::Draws;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::watch;

/// How many draws there are, and from which seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawing {
    pub(super) n_resamples: u64,
    /// Up to so many where none of the first reaches the value.
    pub(super) most_resamples: u64,
    pub(super) random_state: u64,
}

impl Drawing {
    /// (1 + draws that are at least the value) / (1 + draws). It holds its level with further
    /// draws, too: see [`NoiseFloor::refined`](crate::inference::NoiseFloor::refined).
    pub(super) fn p_value(&self, value: f64, draw: impl Fn(Uniforms) -> f64 + Sync) -> Result<f64, Error> {
        let draws = |from: u64, to: u64| {
            Draws::of(parallel::map((to - from) as usize, |index| {
                watch::draw_begins();
                draw(Uniforms::new(seed_of_draw(self.random_state, from + index as u64)))
            }))
        };
        let first = draws(0, self.n_resamples)?;
        if first.n_reaching(value) > 0 || self.most_resamples <= self.n_resamples {
            return Ok(first.p_value(value));
        }
        let further = draws(self.n_resamples, self.most_resamples)?;
        Ok((further.n_reaching(value) + 1) as f64 / (self.most_resamples + 1) as f64)
    }
}
