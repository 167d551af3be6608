//! Tests by cumulative differences: Kuiper's and that of Kolmogorov and Smirnov.

use super::resampling::{Null, null_setters};
use super::trials::{TrialSet, Trials};
use super::{CalibrationTest, TestResult};
use crate::Error;
use crate::data::BinaryView;
use crate::measure::Settings;
use crate::measures::CumulativeStatistic;
use crate::measures::cumulative::{MAXIMUM_ABSOLUTE, RANGE};
use crate::numerics::brownian;
use crate::numerics::sum::Sum;
use crate::setters::setters;

/// Steps of equal variance from which on the sum strays as far as Brownian motion does: with so
/// many, 5 % are about 4.7 % for the range.
const MANY_STEPS: f64 = 2000.0;

/// σ², as a multiple of the largest squared weight, from which on no single outcome matters: 400
/// rows of probability 1/2, or 100 of the rarer outcomes of predictions near 0 or 1.
const MANY_SURPRISES: f64 = 100.0;

/// Tests by ECCE-R and ECCE-MAD: whether the sum of residuals, in order of probability, strays
/// farther than chance lets it.
///
/// # Definition
/// ```text
/// C_k = Σ_{i: p_i <= p_(k)} w_i (y_i - p_i),   C_0 = 0,    σ² = Σ w_i² p_i (1 - p_i)
/// ecce_r    (max C - min C) / σ      against the range of Brownian motion on [0, 1] (Kuiper)
/// ecce_mad  max |C| / σ              against its largest absolute value (Kolmogorov and Smirnov)
/// ```
/// p_(k) are the distinct probabilities: ties are one step, so that the order of rows does not
/// matter. C_0 belongs to both. Where σ is 0 the statistic is 0 with a p-value of 1, or infinite
/// with a p-value of 0 if an outcome has occurred that was predicted to be impossible.
///
/// # Assumptions
/// Independent rows. No bins and no bandwidth. It sees best what has one sign over long stretches
/// of probability.
///
/// # Cost
/// O(n log n) time for a sort. With drawn outcomes, for each draw as many binomial numbers as there
/// are distinct probabilities, at most about 8,000.
///
/// # Accuracy
/// Numerical: compensated sums, and both series of each distribution, so that p-values keep their
/// digits down to 1e-300. Statistical: a sum of few steps strays less far than Brownian motion, so
/// its p-value is too large. Scores on a grid of 0.05 have a size of about 3 % (range) and 3.5 %
/// (maximum) at 5 %, whatever n. So outcomes are drawn instead where there are fewer than 2,000
/// steps of equal variance (σ⁴ / Σ of squared variances of the steps), or σ² is below 100 squares
/// of the largest weight; [`null_distribution`](Self::null_distribution) overrides that. Drawn
/// p-values are at least 1 / (n_resamples + 1).
///
/// # Reference
/// Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
/// predictions", JMLR 23, 2022; the range: Feller, "The asymptotic distribution of the range of
/// sums of independent random variables", Annals of Mathematical Statistics 22, 1951.
///
/// # Example
/// C = 0, -0.3, 0.3, -0.3, σ² = 0.21 + 0.24 + 0.24.
/// ```
/// use calipers::Input;
/// use calipers::inference::calibration_tests::{CalibrationTest, CumulativeTest, NullDistribution};
///
/// let predictions = Input::probabilities(&[0.3, 0.4, 0.6], &[0, 1, 0]).check()?;
/// let view = predictions.binary()?;
/// let kuiper = CumulativeTest::new().null_distribution(NullDistribution::Asymptotic).test(&view)?;
/// assert!((kuiper.statistic - 0.6 / 0.69f64.sqrt()).abs() < 1e-14);
/// // Three rows are few: by default their outcomes are drawn.
/// assert_eq!(CumulativeTest::new().test(&view)?.settings.text("null_distribution"), Some("resampled"));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CumulativeTest {
    statistic: CumulativeStatistic,
    null: Null,
}

impl CumulativeTest {
    /// The range, ECCE-R, with the distribution of Brownian motion where it is good, otherwise with
    /// 999 resamples and seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The statistic of the cumulative sums.
        statistic: CumulativeStatistic;
    }

    null_setters! { null_distribution }

    /// The extreme of all sums, with steps from place to place.
    fn extreme(&self, set: &TrialSet, counts: &[u64]) -> f64 {
        let (mut highest, mut lowest, mut sum) = (0.0f64, 0.0f64, Sum::default());
        for (index, (trials, count)) in set.0.iter().zip(counts).enumerate() {
            sum.add(trials.residual(*count));
            if set.0.get(index + 1).is_none_or(|next| next.place != trials.place) {
                highest = highest.max(sum.value());
                lowest = lowest.min(sum.value());
            }
        }
        match self.statistic {
            CumulativeStatistic::Range => highest - lowest,
            CumulativeStatistic::MaximumAbsolute => highest.max(-lowest),
        }
    }
}

/// σ², and how many steps of equal variance would be as uneven.
fn variance_and_steps(set: &TrialSet) -> (f64, f64) {
    let steps = set.0.chunk_by(|a, b| a.place == b.place);
    let steps: Vec<f64> = steps.map(|step| step.iter().map(Trials::variance).sum()).collect();
    let variance = steps.iter().copied().collect::<Sum>().value();
    let squares: f64 = steps.iter().map(|step| step * step).sum();
    (variance, if squares > 0.0 { variance * variance / squares } else { 0.0 })
}

impl CalibrationTest for CumulativeTest {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        self.null.check()?;
        let set = TrialSet::read(view, &*self.null.link)?;
        let extreme = self.extreme(&set, &set.observed());
        let (variance, n_steps) = variance_and_steps(&set);
        let statistic = if extreme == 0.0 { 0.0 } else { extreme / variance.sqrt() };
        let limit_is_good = n_steps >= MANY_STEPS && variance >= MANY_SURPRISES;
        // Without variance there is nothing to draw.
        let is_resampled = variance > 0.0 && self.null.is_resampled(limit_is_good);
        let p_value = match (is_resampled, self.statistic) {
            (true, _) => self.null.p_value(&set, |set, counts| self.extreme(set, counts)),
            (false, CumulativeStatistic::Range) => brownian::range_tail(statistic),
            (false, CumulativeStatistic::MaximumAbsolute) => brownian::maximum_tail(statistic),
        };
        let test = match self.statistic {
            CumulativeStatistic::Range => RANGE.spec.name,
            CumulativeStatistic::MaximumAbsolute => MAXIMUM_ABSOLUTE.spec.name,
        };
        let settings = self.null.settings(Settings::default(), is_resampled);
        Ok(TestResult { test, statistic, p_value, degrees_of_freedom: None, n: view.len() as u64, settings })
    }
}
