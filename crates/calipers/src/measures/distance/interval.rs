//! Interval calibration error, by its surrogate over all shifts.

use std::sync::Arc;

use rayon::prelude::*;

use crate::Error;
use crate::estimate::{Estimate, Estimator, Settings};
use crate::link::{Link, Logistic};
use crate::measures::pooled::Pooled;
use crate::numerics::sum::Sum;
use crate::predictions::BinaryView;

/// The narrowest bins: below, one more halving changes nothing that a double can show.
const FINEST: i32 = 52;

/// Widths that are tried at a time.
const BATCH: usize = 4;

/// Surrogate interval calibration error: binned calibration error, averaged over all shifts of the bins, with a price on their width.
///
/// # Definition
/// ```text
/// RintCE(e) = mean over r in [0, e) of Σ_j | Σ_{i: p_i in [r + j e, r + (j+1) e)} s_i (y_i - p_i) |
/// SintCE    = inf over k = 0, 1, 2, ... of RintCE(2^-k) + 2^-k
/// ```
/// with s_i shares of the weight. The interval calibration error itself is a minimum over all partitions into intervals of the binned error plus
/// mean width; SintCE is never below it, and no more than a polynomial above. The mean over r is not sampled: joined end to end, the bins of all
/// shifts are one window that slides over the line,
/// ```text
/// RintCE(e) = (1/e) ∫ | Σ_{i: x <= p_i < x + e} s_i (y_i - p_i) | dx
/// ```
/// which is constant between the p_i and p_i - e. The result's setting `width` is the best e.
///
/// # Assumptions
/// Independent rows. Never below the lower distance to calibration, at most the ECE of the pooled rows.
///
/// # Cost
/// O(n log n) time for a sort, then one pass for each k. RintCE never falls as bins are halved, so the search ends at the first k whose
/// RintCE is no better than what was found: about log2(1 / SintCE) passes.
///
/// # Accuracy
/// Numerical: window sums are differences of a running sum in two words, ends of windows have no error that is not far below e; the bound is some
/// units of rounding, and 2^-52 where the infimum is approached by ever narrower bins. Statistical: biased up.
///
/// # Reference
/// Blasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.
///
/// # Example
/// Residuals 0.28 and -0.28 (with their shares) at a distance of 1/8: bins of width e cut between them for a share 1/(8 e) of the shifts, so
/// that RintCE = 0.07 / e; and 1/4 is the best width.
/// ```
/// use calipers::{Estimator, Input, SurrogateIntervalCalibrationError};
///
/// let predictions = Input::probabilities(&[0.4, 0.525], &[1, 0]).weights(&[0.525, 0.6]).check()?;
/// let error = SurrogateIntervalCalibrationError::new().estimate(&predictions.binary()?)?;
/// let residual = 0.6 * 0.525 / 1.125;
/// assert!((error.value - (2.0 * residual * 0.125 / 0.25 + 0.25)).abs() < 1e-15);
/// assert_eq!(error.settings.number("width"), Some(0.25));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SurrogateIntervalCalibrationError {
    link: Arc<dyn Link>,
}

impl Default for SurrogateIntervalCalibrationError {
    fn default() -> Self {
        SurrogateIntervalCalibrationError { link: Arc::new(Logistic) }
    }
}

impl SurrogateIntervalCalibrationError {
    /// With the logistic link for raw scores.
    pub fn new() -> Self {
        Self::default()
    }

    /// The link that turns raw binary scores into probabilities.
    pub fn shared_link(mut self, link: Arc<dyn Link>) -> Self {
        self.link = link;
        self
    }
}

impl Estimator for SurrogateIntervalCalibrationError {
    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let sums = Sums::new(&pooled);
        let (mut value, mut best_width, mut unfinished) = (f64::INFINITY, 1.0, 0.0);
        // Some at a time on all cores; those that would not have been asked for change nothing.
        'search: for batch in (0..=FINEST).step_by(BATCH) {
            let widths: Vec<f64> = (batch..=FINEST).take(BATCH).map(|k| 2f64.powi(-k)).collect();
            let gaps: Vec<f64> = widths.par_iter().map(|width| sums.mean_gap(*width)).collect();
            for (width, gap) in widths.into_iter().zip(gaps) {
                if gap >= value {
                    unfinished = 0.0;
                    break 'search;
                }
                if gap + width < value {
                    (value, best_width) = (gap + width, width);
                }
                unfinished = width;
            }
        }
        // A probability that is off by e moves the ends of windows: by 2 e over their width, for all residuals together.
        let moved = 2.0 * pooled.score_error() / best_width;
        let bound = 2.0 * pooled.residual_error() + 8.0 * f64::EPSILON * value + unfinished + moved;
        let settings = Settings::default().with("width", best_width).with("link", self.link.name());
        Ok(pooled.estimate(view, "surrogate_interval_calibration_error", (value, bound), settings))
    }
}

/// Probabilities, and the sum of residuals before each in two words.
struct Sums {
    probabilities: Vec<f64>,
    before: Vec<(f64, f64)>,
}

impl Sums {
    fn new(pooled: &Pooled) -> Self {
        let mut before = Vec::with_capacity(pooled.groups.len() + 1);
        let (mut head, mut tail) = (0.0f64, 0.0f64);
        before.push((head, tail));
        for group in &pooled.groups {
            let residual = group.residual();
            let sum = head + residual;
            let part = sum - head;
            tail += (head - (sum - part)) + (residual - part);
            head = sum;
            before.push((head, tail));
        }
        Sums { probabilities: pooled.groups.iter().map(|group| group.p).collect(), before }
    }

    /// RintCE of one width: the window [x, x + width) from before the first probability to behind the last.
    fn mean_gap(&self, width: f64) -> f64 {
        let p = &self.probabilities;
        let n = p.len();
        let mut integral = Sum::default();
        // The window holds first..end; it begins at x.
        let (mut first, mut end, mut x) = (0, 0, p[0] - width);
        while first < n {
            // As x passes p - width, that p comes in; as it passes p, it goes out.
            let leaves = p[first];
            let enters = if end < n { p[end] - width } else { f64::INFINITY };
            let next = leaves.min(enters);
            let (from, to) = (self.before[first], self.before[end]);
            let inside = (to.0 - from.0) + (to.1 - from.1);
            integral.add(inside.abs() * (next - x));
            first += usize::from(leaves <= next);
            end += usize::from(enters <= next);
            x = next;
        }
        integral.value() / width
    }
}
