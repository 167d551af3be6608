//! The value that a perfectly calibrated model would get on the same data by chance alone.

use super::resampler::{Draws, Kind, Resampler, quantile};
use crate::Error;
use crate::watch;

/// The noise floor: the value that a perfectly calibrated model would get on the same data by
/// chance alone, as a distribution, with the p-value of the measured value in it.
///
/// # Definition
/// Consistency resampling (Bröcker and Smith 2007): predictions and weights stay, every outcome is
/// 1 with its predicted probability. Where the predictions are the truth, the value
/// is one more such draw: so the p-value is at most α in at most a share α of all samples, for any
/// n, and whatever the predictions are: draws and value are computed alike, and draws that are
/// equal to the value count as reaching it. That is exact where rows are drawn
/// ([`RowResampler`](super::RowResampler)); the grid of LS-ECE draws one number for each panel, and
/// normal ones where many outcomes are in it. For clusters see
/// [`CorrelatedOutcomes`](super::CorrelatedOutcomes).
///
/// The p-value of LS-ECE is that of its residual form: see
/// [`Measure::decided_by`](crate::Measure::decided_by).
///
/// # Assumptions
/// Independent rows, or clusters that the resampler knows of: with others, outcomes vary more than
/// that, and the p-value is too small.
///
/// # Reference
/// Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting
/// 2007; Vaicenavicius et al., AISTATS 2019.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NoiseFloor {
    /// Mean of the draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Their quantiles at 0.05, 0.5 and 0.95.
    pub quantiles: [f64; 3],
    /// (1 + draws that are at least the value) / (1 + draws). Draws that could not be measured
    /// count among both. Where no draw reaches the value it may be smaller, by McDiarmid's bound on
    /// the tail; with clusters it is the larger one of two tests.
    pub p_value: f64,
    /// The number of draws that were requested.
    pub n_resamples: u64,
    /// Draws that could not be measured, at most one in ten.
    pub n_failed: u64,
    /// What the random numbers were made from.
    pub random_state: u64,
}

impl NoiseFloor {
    /// Draws `n_resamples` times.
    pub fn new(resampler: &dyn Resampler, n_resamples: u64, random_state: u64) -> Result<Self, Error> {
        Self::refined(resampler, n_resamples, n_resamples, random_state)
    }

    /// The same, with up to `most` draws for the p-value where none of the first `n_resamples`
    /// reaches the value: of many groups only such p-values can be significant once they are
    /// adjusted.
    pub fn refined(resampler: &dyn Resampler, n_resamples: u64, most: u64, random_state: u64) -> Result<Self, Error> {
        let (value, squares) = (resampler.calibrated_value(), resampler.squared_differences());
        let draws = Draws::new(resampler, Kind::Calibrated, 0..n_resamples, random_state)?;
        let more = || Draws::new(resampler, Kind::Calibrated, n_resamples..most, random_state);
        let mut p_value = refined(&draws, more, value, squares, most)?;
        if let Some(second) = resampler.second_test() {
            let first = Draws::of_second_test(&second, 0..n_resamples, random_state)?;
            let more = || Draws::of_second_test(&second, n_resamples..most, random_state);
            p_value = p_value.max(refined(&first, more, second.value, squares, most)?);
        }
        let sorted = draws.sorted();
        Ok(NoiseFloor {
            mean: draws.mean(),
            deviation: draws.deviation(),
            quantiles: [0.05, 0.5, 0.95].map(|level| quantile(&sorted, level)),
            p_value,
            n_resamples,
            n_failed: draws.n_failed,
            random_state,
        })
    }
}

/// The p-value by some draws, or by all of up to `most` where none of the first reaches the value.
///
/// # Why the level holds
/// Let R be the first draws and N all. For α >= 1 / (R + 1) the p-value is at most α only where
/// that of the first draws is. For smaller α it is so only where that of all N is.
fn refined(
    draws: &Draws,
    more: impl FnOnce() -> Result<Draws, Error>,
    value: f64,
    squared_differences: Option<f64>,
    most: u64,
) -> Result<f64, Error> {
    let p_value = p_value(draws, value, squared_differences);
    if draws.n_reaching(value) > 0 || p_value * (most + 1) as f64 <= 1.0 + 1e-9 {
        return Ok(p_value);
    }
    watch::expect_draws(most - draws.by_number.len() as u64);
    Ok((more()?.n_reaching(value) + 1) as f64 / (most + 1) as f64)
}

/// By the draws; beyond all of them, by the bound on the tail where that is less.
///
/// # Why the level holds
/// 1. Let N be the number of draws. For α >= 1 / (N + 1) the p-value is at most α only where that
///    of the draws is: the bound is used only where no draw reaches the value, and there the
///    p-value of the draws is 1 / (N + 1) already.
/// 2. For smaller α the p-value is at most α only where the bound is. With the true mean under
///    calibration that has a probability of at most α.
/// 3. The mean is not known but estimated from the draws, and three of its standard errors are
///    added to it. So for tiny α the level holds up to the chance that this is not enough, about 1
///    in 700.
/// 4. With clusters the mean is that of the dependence which the rows show, so the bound is
///    approximate.
fn p_value(draws: &Draws, value: f64, squared_differences: Option<f64>) -> f64 {
    let by_draws = draws.p_value(value);
    let n = draws.by_number.len() as f64;
    let Some(squares) = squared_differences.filter(|_| by_draws <= 1.0 / (n + 1.0)) else { return by_draws };
    let above = value - draws.mean() - 3.0 * draws.deviation() / n.sqrt();
    if above > 0.0 { by_draws.min((-2.0 * above * above / squares).exp()).max(f64::MIN_POSITIVE) } else { by_draws }
}
