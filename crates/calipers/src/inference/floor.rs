//! The value that a perfectly calibrated model would get on the same data by chance alone.

use std::ops::Range;

use super::resampler::{Draws, Kind, RareDraws, Resampler, mean_and_deviation, quantile, reaches};
use super::tail;
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
/// other measures above 4,096 rows one for each cell ([`Cells`](super::Cells)), with normal numbers
/// where many outcomes are in it. For clusters see
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
/// 2007; Vaicenavicius et al., AISTATS 2019; Besag, Clifford, "Sequential Monte Carlo p-values",
/// Biometrika 1991.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NoiseFloor {
    /// Mean of the draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Their quantiles at 0.05, 0.5 and 0.95.
    pub quantiles: [f64; 3],
    /// (1 + draws that are at least the value) / (1 + draws). Draws that could not be measured
    /// count among both. Where no draw reaches the value it may be smaller, by a bound on the tail
    /// beyond the draws; with clusters it is the larger one of two tests.
    pub p_value: f64,
    /// The number of draws that were requested.
    pub n_resamples: u64,
    /// The number of draws for the p-value: more than requested, where that is one of many tests.
    pub n_draws: u64,
    /// Draws that could not be measured, at most one in ten.
    pub n_failed: u64,
    /// What the random numbers were made from.
    pub random_state: u64,
}

/// Draws that reach the value, after which no more are made.
const ENOUGH: u64 = 10;

/// The most draws for one p-value.
const MOST: u64 = 100_000;

/// Draws for a p-value by [`RareDraws`]: its standard error is about a fifth of it.
const RARE: u64 = 1000;

/// The part of a level that rare draws get; the bound on the tail gets the rest.
const OF_RARE: f64 = 100.0 / 101.0;

/// The level that these are made for, in units of the resolution: values beyond it are rarer.
const RARE_LEVEL: f64 = 0.2;

impl NoiseFloor {
    /// Draws `n_resamples` times.
    pub fn new(resampler: &dyn Resampler, n_resamples: u64, random_state: u64) -> Result<Self, Error> {
        Self::resolving(resampler, n_resamples, 1.0, random_state)
    }

    /// The same for one of many tests, whose p-value is compared with a small level such as
    /// `resolution` = 0.05 / m. If fewer than ten draws reach the value, 1,000 further draws of
    /// [`Resampler::rare_draws`] decide. Where a measure has none, calibrated draws go on until ten
    /// of them reach the value, up to 10 / `resolution` of them and at most 100,000.
    pub fn resolving(
        resampler: &dyn Resampler,
        n_resamples: u64,
        resolution: f64,
        random_state: u64,
    ) -> Result<Self, Error> {
        let draws = Draws::new(resampler, Kind::Calibrated, 0..n_resamples, random_state)?;
        Self::of_draws(resampler, &draws, resolution, random_state)
    }

    /// The same from the first draws.
    pub(super) fn of_draws(
        resampler: &dyn Resampler,
        draws: &Draws,
        resolution: f64,
        random_state: u64,
    ) -> Result<Self, Error> {
        let n_resamples = draws.by_number.len() as u64;
        let test = Test {
            value: resampler.calibrated_value(),
            squared_differences: resampler.squared_differences(),
            largest_difference: resampler.largest_difference(),
            more: &|numbers| Draws::new(resampler, Kind::Calibrated, numbers, random_state),
            rare: &|| resampler.rare_draws(RARE_LEVEL * resolution),
            random_state,
        };
        let (mut p_value, mut n_draws) = test.p_value(draws, resolution)?;
        if let Some(second) = resampler.second_test() {
            let first = Draws::of_second_test(&second, 0..n_resamples, random_state)?;
            let more = |numbers| Draws::of_second_test(&second, numbers, random_state);
            // Its statistic thins out in another way.
            let test = Test { value: second.value, largest_difference: None, more: &more, rare: &|| None, ..test };
            let (second, n_second) = test.p_value(&first, resolution)?;
            (p_value, n_draws) = (p_value.max(second), n_draws.max(n_second));
        }
        let sorted = draws.sorted();
        Ok(NoiseFloor {
            mean: draws.mean(),
            deviation: draws.deviation(),
            quantiles: [0.05, 0.5, 0.95].map(|level| quantile(&sorted, level)),
            p_value,
            n_resamples,
            n_draws,
            n_failed: draws.n_failed,
            random_state,
        })
    }
}

/// A value and where further draws come from.
struct Test<'a> {
    value: f64,
    squared_differences: Option<f64>,
    largest_difference: Option<f64>,
    more: &'a dyn Fn(Range<u64>) -> Result<Draws, Error>,
    rare: &'a dyn Fn() -> Option<RareDraws<'a>>,
    random_state: u64,
}

impl Test<'_> {
    /// The p-value by the first draws and as many more as it takes, and their number.
    ///
    /// # Why the level holds
    /// Let R be the first draws, N the most, and h = [`ENOUGH`].
    /// 1. Where h or more of the first reach the value, the p-value is theirs, and at least
    ///    (h + 1) / (R + 1). Else draws go on, until the h-th that reaches the value is number l:
    ///    then it is h / l (Besag and Clifford 1991), which is at most h / (R + 1). Or until there
    ///    are N: then it is (1 + draws that reach it) / (1 + N), at most h / (N + 1). So for each α
    ///    one number of draws decides whether the p-value is at most α: R, l - 1 with h / l <= α,
    ///    or N; and the rank of the value among so many draws and itself is uniform.
    /// 2. Where there are rare draws, they follow if fewer than h of the first reach the value. Let
    ///    r be their p-value, and b the bound on the tail, which counts only where no draw reaches
    ///    the value. With s = [`OF_RARE`] the p-value is the smaller one of r / s and b / (1 - s),
    ///    but at most h / (R + 1). For α below that, it is at most α only if r is at most s α or b
    ///    at most (1 - s) α, which has a probability of at most α. For α from there to
    ///    (h + 1) / (R + 1), only if fewer than h of R draws reach the value.
    /// 3. Where there are no rare draws and no draw reaches the value, the p-value may be the
    ///    bound, and where that is at most `resolution`, no more draws are made. For α below
    ///    1 / (1 + draws) the level is that of the bound.
    ///
    /// Rare draws estimate the p-value itself. Their estimate is far below the bound where one of
    /// their tilts resembles the errors. Where errors alternate faster than every tilt, the bound
    /// is the smaller one.
    fn p_value(&self, first: &Draws, resolution: f64) -> Result<(f64, u64), Error> {
        let mut n = first.by_number.len() as u64;
        let mut n_reaching = first.n_reaching(self.value);
        let most = ((ENOUGH as f64 / resolution).ceil() as u64).min(MOST).max(n);
        let mut values = first.sorted();
        loop {
            let by_draws = (n_reaching + 1) as f64 / (n + 1) as f64;
            let p_value = if n_reaching == 0 { by_draws.min(self.bound(&values)) } else { by_draws };
            if n == most || n_reaching >= ENOUGH {
                return Ok((p_value, n));
            }
            if n == first.by_number.len() as u64
                && let Some(rare) = (self.rare)()
            {
                let by_rare = rare.p_value(self.value, RARE, self.random_state) / OF_RARE;
                let by_bound = if n_reaching == 0 { self.bound(&values) / (1.0 - OF_RARE) } else { 1.0 };
                return Ok((by_rare.min(by_bound).min(ENOUGH as f64 / (n + 1) as f64), n + RARE));
            }
            if n_reaching == 0 && p_value < by_draws && p_value <= resolution {
                return Ok((p_value, n));
            }
            let next = most.min(2 * n);
            watch::expect_draws(next - n);
            let more = (self.more)(n..next)?;
            for (place, draw) in more.by_number.iter().enumerate() {
                n_reaching += u64::from(reaches(*draw, self.value));
                if n_reaching == ENOUGH {
                    let last = n + place as u64 + 1;
                    return Ok((ENOUGH as f64 / last as f64, last));
                }
            }
            n = next;
            values.extend(more.values);
            values.sort_unstable_by(f64::total_cmp);
        }
    }

    /// The smaller one of two bounds on the probability of a value beyond all draws, which are in
    /// ascending order: by the tail of the draws (`tail.rs`), and McDiarmid's.
    ///
    /// The mean under calibration, which McDiarmid's bound needs, is estimated from the draws, and
    /// three of its standard errors are added: that is not enough in 1 of 700 samples. With
    /// clusters it is that of the dependence which the rows show.
    fn bound(&self, sorted: &[f64]) -> f64 {
        let by_tail = self.largest_difference.and_then(|largest| tail::bound(sorted, self.value, largest));
        let by_squares = self.squared_differences.map(|squares| {
            let (mean, deviation) = mean_and_deviation(sorted);
            let above = self.value - mean - 3.0 * deviation / (sorted.len() as f64).sqrt();
            if above > 0.0 { (-2.0 * above * above / squares).exp() } else { 1.0 }
        });
        by_tail.unwrap_or(1.0).min(by_squares.unwrap_or(1.0)).max(f64::MIN_POSITIVE)
    }
}
