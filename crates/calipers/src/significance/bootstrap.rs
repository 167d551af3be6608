//! The measure of rows drawn with replacement.

use super::resampler::{Draws, Kind, Resampler};
use crate::Error;

/// Bootstrap draws of a measure, sorted.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    /// The measure of the rows, as the draws have it.
    pub value: f64,
    /// Mean of the draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The draws in ascending order.
    pub draws: Vec<f64>,
    /// The measure's standard error from influence values, where it has them.
    pub influence_deviation: Option<f64>,
    /// The standard error of the value with its bias taken off, `2 v - mean(v*)`, where there are influence values.
    pub corrected_deviation: Option<f64>,
    /// The acceleration of BCa: from influence values, or a sixth of the draws' skewness.
    pub acceleration: f64,
    /// What values the measure can have.
    pub range: (f64, f64),
    /// How many rows there are, under weights the effective number.
    pub effective_rows: f64,
    /// Whether the measure is right on average, so that its bias is 0.
    pub is_unbiased: bool,
}

impl Bootstrap {
    /// Draws `n_resamples` times.
    pub fn new(resampler: &dyn Resampler, n_resamples: u64, seed: u64) -> Result<Self, Error> {
        Ok(Self::of_draws(resampler, &Draws::new(resampler, Kind::Bootstrap, n_resamples, seed)?))
    }

    pub(super) fn of_draws(resampler: &dyn Resampler, draws: &Draws) -> Self {
        let (mean, deviation) = (draws.mean(), draws.deviation());
        let skewness = || {
            let third = draws.values.iter().map(|draw| (draw - mean).powi(3)).sum::<f64>() / draws.values.len() as f64;
            if deviation > 0.0 { third / deviation.powi(3) } else { 0.0 }
        };
        let acceleration = resampler.acceleration().unwrap_or_else(|| skewness() / 6.0);
        let mut sorted = draws.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Bootstrap {
            value: resampler.value(),
            mean,
            deviation,
            draws: sorted,
            influence_deviation: resampler.influence_deviation(),
            corrected_deviation: resampler.corrected_deviation(),
            acceleration,
            range: resampler.range(),
            effective_rows: resampler.effective_rows(),
            is_unbiased: false,
        }
    }

    /// How far the measure is biased, as resamples of the rows are against the rows; 0 for one that is right on average.
    pub fn bias(&self) -> f64 {
        if self.is_unbiased { 0.0 } else { self.mean - self.value }
    }
}
