//! Interval calibration error, by its surrogate over all shifts.

use crate::measures::prelude::*;
use crate::numerics::parallel;

/// The narrowest bins: below, one more halving changes nothing that a double can show.
const FINEST: i32 = 52;

/// Widths that are tried at a time.
const BATCH: usize = 4;

measure! {
    /// Surrogate interval calibration error: binned calibration error, averaged over all shifts of
    /// the bins, with a price on their width.
    ///
    /// # Definition
    /// ```text
    /// RintCE(e) = mean over r in [0, e) of Σ_j | Σ_{i: p_i in [r + j e, r + (j+1) e)} s_i (y_i - p_i) |
    /// SintCE    = inf over k = 0, 1, 2, ... of RintCE(2^-k) + 2^-k
    /// ```
    /// with s_i shares of the weight. The interval calibration error itself is a minimum over all
    /// partitions into intervals of the binned error plus mean width; SintCE is never below it, and
    /// no more than a polynomial above. The mean over r is not sampled: joined end to end, the bins
    /// of all shifts are one window that slides over the line,
    /// ```text
    /// RintCE(e) = (1/e) ∫ | Σ_{i: x <= p_i < x + e} s_i (y_i - p_i) | dx
    /// ```
    /// which is constant between the p_i and p_i - e. The result's setting `width` is the best e.
    ///
    /// # Assumptions
    /// Independent rows. Never below the lower distance to calibration, at most the ECE of the
    /// pooled rows.
    ///
    /// # Cost
    /// O(n log n) time for a sort, then one pass for each k. RintCE never falls as bins are halved,
    /// so the search ends at the first k whose RintCE is no better than what was found: about
    /// log2(1 / SintCE) passes.
    ///
    /// # Accuracy
    /// Numerical: window sums are differences of a running sum in two words, ends of windows have
    /// no error that is not far below e; the bound is some units of rounding, and 2^-52 where the
    /// infimum is approached by ever narrower bins. Probabilities that were computed from raw
    /// scores with an error e add at most about 2 √(2 e), where narrow bins are best. Statistical:
    /// biased up.
    ///
    /// # Reference
    /// Blasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.
    ///
    /// # Example
    /// Residuals 0.28 and -0.28 (with their shares) at a distance of 1/8: bins of width e cut
    /// between them for a share 1/(8 e) of the shifts, so that RintCE = 0.07 / e; and 1/4 is the
    /// best width.
    /// ```
    /// use calipers::{Measure, Input, SurrogateIntervalCalibrationError};
    ///
    /// let predictions = Input::probabilities(&[0.4, 0.525], &[1, 0]).weights(&[0.525, 0.6]).check()?;
    /// let error = SurrogateIntervalCalibrationError::new().estimate(&predictions.binary()?)?;
    /// let residual = 0.6 * 0.525 / 1.125;
    /// assert!((error.value - (2.0 * residual * 0.125 / 0.25 + 0.25)).abs() < 1e-15);
    /// assert_eq!(error.settings.number("width"), Some(0.25));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct SurrogateIntervalCalibrationError {
        /// With the logistic link for raw scores.
        new;

        link: Link;
    }
}

entry! { SURROGATE_INTERVAL = SurrogateIntervalCalibrationError::new();
    Spec::error(
        "surrogate_interval_calibration_error",
        "least width plus mean gap over shifted intervals of that width",
    )
    .title("surrogate interval calibration error")
    .family(Family::Distance)
    .reference("Blasiok, Gopalan, Hu, Nakkiran, STOC 2023")
    .range(0.0, 1.0)
    .cost(Cost::Quick)
    .options(&[LINK])
}

impl Measure for SurrogateIntervalCalibrationError {
    described! { SURROGATE_INTERVAL.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let (value, width, exact) = search(&Sums::new(&pooled.groups), pooled.score_error());
        // Residuals are off by their own error, which moves every RintCE by no more.
        let bound = exact.distance(value) + 2.0 * pooled.residual_error() + 8.0 * f64::EPSILON * value;
        let estimate = Estimate::new(self.spec(), value, bound).of(view);
        Ok(estimate.with("width", width).with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(2048)))
    }
}

/// The least RintCE(w) + w, its w, and the bounds that follow for the exact probabilities.
fn search(sums: &Sums, score_error: f64) -> (f64, f64, Exact) {
    let (mut value, mut best_width) = (f64::INFINITY, 1.0);
    let mut exact = Exact { highest: f64::INFINITY, least_gap: 0.0, lowest: f64::INFINITY };
    // Some at a time on all cores; those beyond the end of the search change nothing.
    'search: for batch in (0..=FINEST).step_by(BATCH) {
        let widths: Vec<f64> = (batch..=FINEST).take(BATCH).map(|k| 2f64.powi(-k)).collect();
        let gaps = parallel::map_each(&widths, |width| sums.mean_gap(*width));
        for (width, gap) in widths.into_iter().zip(gaps) {
            exact.narrow(width, gap, score_error);
            if gap >= value {
                break 'search;
            }
            if gap + width < value {
                (value, best_width) = (gap + width, width);
            }
        }
    }
    (value, best_width, exact)
}

/// Where SintCE of the exact probabilities can be, from RintCE of those that were computed from
/// scores with an error e.
///
/// An end of a window that is off by e changes its sum for shifts of measure 2 e at most; over all
/// rows that moves RintCE(w) by no more than 2 e / w. That alone is no bound at widths of the size
/// of e. But exact RintCE never falls as w is halved, so what it must be at a wide w it must be at
/// all narrower ones, too:
/// ```text
/// exact SintCE <= R(w) + w + 2 e / w                         for every w that was tried
/// exact RintCE(w) >= max over wider w' of R(w') - 2 e / w'   also at all w that were not tried
/// ```
/// Both sides are within about 2 √(2 e) of the value at worst, which is reached where rows of one
/// exact probability were computed apart.
#[derive(Debug)]
struct Exact {
    /// SintCE is at most this.
    highest: f64,
    /// RintCE is at least this at the last width that was tried, and at all narrower ones.
    least_gap: f64,
    /// RintCE(w) + w is at least this, over all widths that were tried.
    lowest: f64,
}

impl Exact {
    /// Takes in the next narrower width.
    fn narrow(&mut self, width: f64, gap: f64, score_error: f64) {
        let moved = 2.0 * score_error / width;
        self.highest = self.highest.min(gap + width + moved);
        self.least_gap = self.least_gap.max(gap - moved);
        self.lowest = self.lowest.min(self.least_gap + width);
    }

    /// How far a value can be from the exact one. Widths that were not tried have a price above 0.
    fn distance(&self, value: f64) -> f64 {
        (self.highest - value).max(value - self.lowest.min(self.least_gap)).max(0.0)
    }
}

/// Probabilities, and the sum of residuals before each in two words.
struct Sums {
    probabilities: Vec<f64>,
    before: Vec<Sum>,
}

impl Sums {
    fn new(groups: &[Group]) -> Self {
        let mut sum = Sum::default();
        let mut before = vec![sum];
        for group in groups {
            sum.add(group.residual());
            before.push(sum);
        }
        Sums { probabilities: groups.iter().map(|group| group.p).collect(), before }
    }

    /// RintCE of one width: the window [x, x + width) from before the first probability to behind
    /// the last.
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
            let inside = self.before[end].minus(self.before[first]);
            integral.add(inside.abs() * (next - x));
            first += usize::from(leaves <= next);
            end += usize::from(enters <= next);
            x = next;
        }
        integral.value() / width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::Uniforms;

    fn sums(points: &[(f64, bool)]) -> Sums {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let share = 1.0 / points.len() as f64;
        let group = |rows: &[(f64, bool)]| {
            let of = |outcome: bool| share * rows.iter().filter(|row| row.1 == outcome).count() as f64;
            Group { p: rows[0].0, negative: of(false), positive: of(true), n: rows.len() as u64 }
        };
        Sums::new(&points.chunk_by(|a, b| a.0 == b.0).map(group).collect::<Vec<Group>>())
    }

    /// Ties and near ties that the error influences apart, which is where windows see it most.
    #[test]
    fn the_exact_value_is_within_reach_of_that_with_errors() {
        let mut random = Uniforms::new(7);
        for case in 0..400 {
            let error = 10f64.powi(-(case % 12) - 3);
            let n = 2 + case as usize % 9;
            let exact: Vec<(f64, bool)> = (0..n)
                .map(|_| {
                    let p = 0.1 + 0.8 * random.next();
                    let p = if random.next() < 0.7 { (p * 3.0).round() / 3.0 } else { p };
                    (p, random.next() < 0.5)
                })
                .collect();
            let computed: Vec<(f64, bool)> =
                exact.iter().map(|(p, y)| (p + error * (2.0 * random.next() - 1.0), *y)).collect();
            let (truth, ..) = search(&sums(&exact), 0.0);
            let (value, _, reach) = search(&sums(&computed), error);
            // Residuals are off by the error as well.
            let bound = reach.distance(value) + error + 1e-12;
            assert!((value - truth).abs() <= bound, "{value} {truth}, error {error:e}, bound {bound:e}");
            assert!(reach.distance(value) <= 4.0 * (2.0 * error).sqrt(), "{:e} at {error:e}", reach.distance(value));
        }
    }
}
