//! The measure of rows drawn with replacement.

use super::Bracket;
use super::resampler::{Draws, Kind, Resampler};
use crate::Error;

/// Bootstrap draws of a measure, sorted, and what else an interval is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    /// The measure of the rows, as the draws have it.
    pub value: f64,
    /// Mean of the draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The draws in ascending order; none where the interval is made from the bracket alone.
    pub draws: Vec<f64>,
    /// The measure's standard error from influence values, where it has them.
    pub influence_deviation: Option<f64>,
    /// Where the population's value is, for measures that know how their bias depends on the place.
    pub bracket: Option<Bracket>,
    /// The acceleration of BCa: from influence values, or a sixth of the draws' skewness.
    pub acceleration: f64,
    /// What values the measure can have.
    pub range: (f64, f64),
    /// How many rows there are, under weights the effective number.
    pub effective_rows: f64,
    /// Whether the measure is right on average, so that its bias is 0.
    pub is_unbiased: bool,
    /// The most that its bias can be: the mean of its noise floor, where there is one. Resamples of
    /// rows have ties, which some measures take for more.
    pub most_bias: f64,
}

impl Bootstrap {
    /// Draws `n_resamples` times.
    pub fn new(resampler: &dyn Resampler, n_resamples: u64, random_state: u64) -> Result<Self, Error> {
        let draws = Draws::new(resampler, Kind::Bootstrap, 0..n_resamples, random_state)?;
        let (mean, deviation) = (draws.mean(), draws.deviation());
        let skewness = || {
            let third = draws.values.iter().map(|draw| (draw - mean).powi(3)).sum::<f64>() / draws.values.len() as f64;
            if deviation > 0.0 { third / deviation.powi(3) } else { 0.0 }
        };
        let acceleration = resampler.acceleration().unwrap_or_else(|| skewness() / 6.0);
        Ok(Bootstrap { draws: draws.sorted(), acceleration, ..Self::without_draws(resampler, mean, deviation) })
    }

    /// For a measure whose bracket is all that is needed: the bias is that of the bracket.
    pub(super) fn of_bracket(resampler: &dyn Resampler, bracket: Bracket) -> Self {
        let deviation = resampler.influence_deviation().unwrap_or(bracket.upper_deviation);
        Self::without_draws(resampler, 2.0 * resampler.value() - bracket.corrected.max(0.0), deviation)
    }

    fn without_draws(resampler: &dyn Resampler, mean: f64, deviation: f64) -> Self {
        Bootstrap {
            value: resampler.value(),
            mean,
            deviation,
            draws: Vec::new(),
            influence_deviation: resampler.influence_deviation(),
            bracket: resampler.bracket(),
            acceleration: 0.0,
            range: resampler.range(),
            effective_rows: resampler.effective_rows(),
            is_unbiased: false,
            most_bias: f64::INFINITY,
        }
    }

    /// The value without its noise, taken off place by place, where there is a bracket.
    pub(super) fn debiased_by_place(&self, value: f64) -> Option<f64> {
        // The bracket has the numerical error of the resampler, the value has its own.
        self.bracket.map(|bracket| (bracket.debiased + value - self.value).max(0.0))
    }

    /// How far the measure is biased, as resamples of the rows are against the rows, or as its
    /// bracket has it; 0 for one that is right on average.
    pub fn bias(&self) -> f64 {
        if self.is_unbiased { 0.0 } else { (self.mean - self.value).min(self.most_bias) }
    }
}
