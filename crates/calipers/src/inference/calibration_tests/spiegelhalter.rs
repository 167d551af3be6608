//! Spiegelhalter's z-test.

use std::f64::consts::FRAC_1_SQRT_2;

use super::resampling::{Null, null_setters};
use super::trials::TrialSet;
use super::{CalibrationTest, TestResult};
use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::measure::Settings;
use crate::measures::Probabilities;
use crate::numerics::parallel;

/// How far z may be from normal for the normal distribution to be taken: bounds its squared
/// skewness, and its excess kurtosis. As of ten rare events, or of 130 probabilities that are
/// spread evenly; then 5 % are off by less than 1 %.
const NEARLY_NORMAL: f64 = 0.1;

/// Spiegelhalter's test: whether the Brier score is the one that the predictions imply.
///
/// # Definition
/// ```text
/// z = Σ w_i (y_i - p_i)(1 - 2 p_i) / √( Σ w_i² (1 - 2 p_i)² p_i (1 - p_i) )        p-value P(|Z| >= |z|), Z normal
/// ```
/// Above 0: the Brier score is worse than predicted, as that of overconfident predictions is; below
/// 0: better. Two-sided, since both are miscalibrated. Where the denominator is 0, all predictions
/// are 0, 1/2 or 1, and the test detects nothing but outcomes that were predicted to be impossible:
/// with one of those z is infinite and the p-value 0, without z is 0 and the p-value 1.
///
/// # Assumptions
/// Independent rows. One direction only: errors that leave the Brier score as predicted are not
/// seen, such as all that happens at p = 1/2.
///
/// # Cost
/// O(n) time, one pass. With drawn outcomes a sort, and for each draw as many binomial numbers as
/// there are distinct probabilities, at most about 8,000.
///
/// # Accuracy
/// Numerical: compensated sums; z is off by some units of rounding. Statistical: the normal
/// distribution where Σ (w (1 - 2p))⁴ p (1 - p) is at most a tenth of the denominator's fourth
/// power, which bounds skewness and kurtosis; else outcomes are drawn, unless
/// [`null_distribution`](Self::null_distribution) is set. Drawn p-values are at least 1 /
/// (n_resamples + 1).
///
/// # Reference
/// Spiegelhalter, "Probabilistic prediction in patient management and clinical trials", Statistics
/// in Medicine 5, 1986.
///
/// # Example
/// 0.9 twice, right once: z = (0.1 - 0.9)(-0.8) / √(2 · 0.64 · 0.09).
/// ```
/// use calipers::Input;
/// use calipers::inference::calibration_tests::{CalibrationTest, NullDistribution, Spiegelhalter};
///
/// let predictions = Input::probabilities(&[0.9, 0.9], &[1, 0]).check()?;
/// let test = Spiegelhalter::new().null_distribution(NullDistribution::Asymptotic);
/// let result = test.test(&predictions.binary()?)?;
/// assert!((result.statistic - 0.64 / (2.0f64 * 0.64 * 0.09).sqrt()).abs() < 1e-14);
/// assert!((result.p_value - 0.059346).abs() < 1e-6);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Spiegelhalter {
    null: Null,
}

impl Spiegelhalter {
    /// The normal distribution where it is good, otherwise 999 resamples with seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    null_setters! { null_distribution }
}

/// Numerator, variance, Σ w, and Σ (w (1 - 2p))⁴ p (1 - p).
fn sums(probabilities: &Probabilities<'_>) -> [f64; 4] {
    parallel::sums(probabilities.len(), |range, sums| {
        let mut rows = Rows::default();
        probabilities.read(range, &mut rows);
        for ((p, outcome), weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
            let slope = weight * (1.0 - 2.0 * p);
            let (residual, variance) = (f64::from(*outcome) - p, slope * slope * p * (1.0 - p));
            let terms = [residual * slope, variance, *weight, slope.powi(4) * p * (1.0 - p)];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| sum.add(term));
        }
    })
}

impl CalibrationTest for Spiegelhalter {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        self.null.check()?;
        let n = view.len() as u64;
        let [numerator, variance, weight, fourth] = sums(&Probabilities::new(view, &*self.null.link)?);
        if !(weight > 0.0) {
            return Err(Error::ZeroWeights { n_rows: n });
        }
        let statistic = if numerator == 0.0 { 0.0 } else { numerator / variance.sqrt() };
        // Without variance there is nothing to draw.
        let is_resampled = variance > 0.0 && self.null.is_resampled(fourth <= NEARLY_NORMAL * variance * variance);
        let p_value = if is_resampled {
            let set = TrialSet::read(view, &*self.null.link)?;
            self.null.p_value(&set, |set, counts| {
                let terms =
                    set.0.iter().zip(counts).map(|(trials, count)| (1.0 - 2.0 * trials.p) * trials.residual(*count));
                terms.sum::<f64>().abs()
            })
        } else {
            libm::erfc(statistic.abs() * FRAC_1_SQRT_2)
        };
        let settings = self.null.settings(Settings::default(), is_resampled);
        Ok(TestResult { test: "spiegelhalter", statistic, p_value, degrees_of_freedom: None, n, settings })
    }
}
