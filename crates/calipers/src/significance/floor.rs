//! What a calibrated model would show.

use super::resampler::{Draws, Kind, Resampler, quantile};
use crate::Error;

/// The distribution of a measure when outcomes are drawn from the predictions themselves, and where the value is in it.
///
/// # Definition
/// Consistency resampling (Bröcker and Smith 2007): predictions and weights stay, every outcome is 1 with the probability that its prediction says.
/// Where the predictions are the truth, the value is one more such draw: so the p-value is at most α in at most a share α of all samples, for any n, and
/// whatever the predictions are. That is exact where rows are drawn ([`RowResampler`](super::RowResampler)); the grid of LS-ECE draws one number for each panel, normal ones where many rows
/// are in it, and the signs of whole clusters where there are some.
///
/// # Assumptions
/// Independent rows, or clusters that the resampler knows of: with others, outcomes vary more than that, and the p-value is too small.
///
/// # Reference
/// Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting 2007; Vaicenavicius et al., AISTATS 2019.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseFloor {
    /// Mean of the draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Their quantiles at 0.05, 0.5 and 0.95.
    pub quantiles: [f64; 3],
    /// (1 + draws that are at least the value) / (1 + draws). Draws that could not be measured count among both.
    pub p_value: f64,
    /// Draws that were asked for.
    pub n_resamples: u64,
    /// Draws that could not be measured, at most one in ten.
    pub n_failed: u64,
    /// What the random numbers were made from.
    pub seed: u64,
}

/// Draws that differ from the value by less are ties: a resample may be the rows themselves, summed in another way.
const TIE: f64 = 1e-9;

impl NoiseFloor {
    /// Draws `n_resamples` times.
    pub fn new(resampler: &dyn Resampler, n_resamples: u64, seed: u64) -> Result<Self, Error> {
        let draws = Draws::new(resampler, Kind::Calibrated, n_resamples, seed)?;
        let value = resampler.value();
        let threshold = value - TIE * value.abs();
        let n_above = draws.values.iter().filter(|draw| **draw >= threshold).count() as u64;
        let mut sorted = draws.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(NoiseFloor {
            mean: draws.mean(),
            deviation: draws.deviation(),
            quantiles: [0.05, 0.5, 0.95].map(|level| quantile(&sorted, level)),
            p_value: (n_above + draws.n_failed + 1) as f64 / (n_resamples + 1) as f64,
            n_resamples,
            n_failed: draws.n_failed,
            seed,
        })
    }
}
