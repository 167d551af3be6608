//! Spline calibration error: the slope of a smooth curve through the cumulative differences.

use super::prelude::*;
use crate::numerics::cubic_spline::{Fit, Moments, RunOut, nearest};

/// The gap between outcome rate and probability along the probabilities, and the recalibrated
/// probabilities.
///
/// One entry for each distinct probability, ascending.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SplineCurve {
    /// The distinct probabilities.
    pub probabilities: Vec<f64>,
    /// Share of the weight up to here: where the stretch of each probability ends.
    pub percentiles: Vec<f64>,
    /// Mean slope of the spline over that stretch.
    pub gaps: Vec<f64>,
    /// Probability plus gap, in [0, 1].
    pub recalibrated: Vec<f64>,
}

impl SplineCurve {
    /// The recalibrated probability of any p: in a line between neighbours, constant beyond the
    /// first and the last.
    pub fn recalibrate(&self, p: f64) -> f64 {
        let (x, y) = (&self.probabilities, &self.recalibrated);
        let above = x.partition_point(|x| *x < p);
        if above == 0 || above == x.len() || x[above] == p {
            return y[above.min(x.len() - 1)];
        }
        let (left, right) = (above - 1, above);
        // The nearer of both counts more.
        let share = (p - x[left]) / (x[right] - x[left]);
        y[left] + (y[right] - y[left]) * share
    }
}

measure! {
    /// Spline calibration error: mean size of the gap that a cubic spline through the cumulative
    /// differences shows.
    ///
    /// # Definition
    /// ```text
    /// S_k = Σ_{i: p_i <= p_(k)} s_i,   C(S_k) = Σ_{i: p_i <= p_(k)} s_i (y_i - p_i),   C(0) = 0,   C linear between
    /// γ     = the cubic spline with the least ∫_0^1 (γ(s) - C(s))² ds, K equally spaced knots in s from 0 to 1
    /// gap_k = (γ(S_k) - γ(S_(k-1))) / (S_k - S_(k-1))            the mean of γ' over the rows of p_(k)
    /// value = Σ_k (S_k - S_(k-1)) |gap_k|
    /// ```
    /// s_i shares of the weight, p_(k) the k-th distinct probability, S_0 = 0. The slope of C is
    /// the mean of y - p, so that of γ is the calibration gap, and p + gap the recalibrated
    /// probability: [`curve`](Self::curve). Knots are in percentiles, so every stretch between
    /// knots has as many rows. At the ends the run-out is natural unless set.
    ///
    /// The paper sums (γ - C)² over the rows in place of the integral. The integral is what that
    /// sum becomes as every row is repeated more and more often: it gives a weight the meaning of
    /// repetition, ties a place, and one answer where there are fewer distinct probabilities than
    /// knots. Both differ by O(1 / n). The paper reports the KS error beside its spline
    /// ([`CumulativeCalibrationError`](crate::CumulativeCalibrationError)); the mean of |gap| is
    /// its recalibration map as one value.
    ///
    /// # Assumptions
    /// Independent rows. Gaps that change sign within less than about 1 / K of the rows are
    /// blurred.
    ///
    /// # Cost
    /// O(n log n) time for a sort, one pass for the fit and one for the gaps; O(K³) for the knots,
    /// at most 100.
    ///
    /// # Accuracy
    /// Numerical: the normal equations do not depend on the data and have a condition below 10^3;
    /// the bound, proven in `numerics/cubic_spline.rs`, is some 10^-13, for the order that the
    /// computed probabilities have. Statistical: biased up at small n even when calibrated, the
    /// more the more knots.
    ///
    /// # Reference
    /// Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of Neural Networks
    /// using Splines", ICLR 2021.
    ///
    /// # Example
    /// Outcomes are more frequent than predicted by 0.25 everywhere: C is a line, and its own
    /// spline.
    /// ```
    /// use calipers::{Measure, Input, SplineCalibrationError};
    ///
    /// let predictions = Input::probabilities(&[0.25, 0.25, 0.75, 0.75], &[0, 1, 1, 1]).check()?;
    /// let view = predictions.binary()?;
    /// let error = SplineCalibrationError::new().estimate(&view)?;
    /// assert!((error.value - 0.25).abs() <= error.numerical_bound);
    /// let curve = SplineCalibrationError::new().curve(&view)?;
    /// assert!((curve.recalibrate(0.5) - 0.75).abs() < 1e-12);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct SplineCalibrationError {
        /// Six knots and natural ends, as in the paper.
        new;

        /// Knots, those at 0 and 1 included: 4 to 100.
        n_knots: usize = 6;

        /// What the spline does at its ends.
        run_out: RunOut = RunOut::Natural;

        link: Link;
    }
}

impl SplineCalibrationError {
    /// The gap at every distinct probability, and the recalibration map.
    pub fn curve(&self, view: &BinaryView<'_>) -> Result<SplineCurve, Error> {
        let pooled = self.pooled(view)?;
        let stretches = stretches(&pooled);
        let fit = self.fit(&pooled, &stretches);
        let probabilities: Vec<f64> = pooled.groups.iter().map(|group| group.p).collect();
        let gaps: Vec<f64> = stretches.iter().map(|(from, to)| fit.spline.mean_slope(*from, *to)).collect();
        let recalibrated = probabilities.iter().zip(&gaps).map(|(p, gap)| (p + gap).clamp(0.0, 1.0)).collect();
        Ok(SplineCurve {
            probabilities,
            percentiles: stretches.iter().map(|(_, to)| *to).collect(),
            gaps,
            recalibrated,
        })
    }

    fn pooled(&self, view: &BinaryView<'_>) -> Result<Pooled, Error> {
        check_range("n_knots", self.n_knots as f64, 4.0..=100.0, "from 4 to 100")?;
        Pooled::new(view, &*self.link)
    }

    fn fit(&self, pooled: &Pooled, stretches: &[(f64, f64)]) -> Fit {
        let mut moments = Moments::new(self.n_knots);
        let (mut difference, mut largest) = (Sum::default(), 0.0f64);
        for (group, stretch) in pooled.groups.iter().zip(stretches) {
            let before = difference.value();
            difference.add(group.residual());
            largest = largest.max(difference.value().abs());
            moments.add_line(*stretch, (before, difference.value()));
        }
        // C is off by what the residuals are, and by its slope, which is at most 1, times what the
        // percentiles are.
        let error = pooled.residual_error() + PERCENTILE_ERROR;
        nearest(&moments, self.run_out, largest, error)
    }
}

/// By how much a percentile can be off: shares by four units of rounding, and their compensated
/// sum.
const PERCENTILE_ERROR: f64 = 8.0 * f64::EPSILON;

/// Where the rows of each group begin and end, in shares of the weight.
fn stretches(pooled: &Pooled) -> Vec<(f64, f64)> {
    let mut ends: Vec<f64> = running_sums(pooled.groups.iter().map(Group::weight)).map(|end| end.min(1.0)).collect();
    if let Some(last) = ends.last_mut() {
        *last = 1.0;
    }
    let starts = std::iter::once(0.0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied()).collect()
}

entry! { ENTRY = SplineCalibrationError::new();
    Spec::error(
        "spline_calibration_error",
        "mean |slope| of a cubic spline with 6 knots through the cumulated residuals (Gupta)",
    )
    .title("spline calibration error")
    .family(Family::Cumulative)
    .reference("Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, ICLR 2021")
    .range(0.0, 1.0)
    .cost(Cost::Quick)
    .options(&[
        OptionSpec::count("n_knots", 6, "Knots of the spline."),
        OptionSpec::choice("run_out", RunOut::NAMES, "How the spline ends."),
        LINK,
    ])
}

impl Measure for SplineCalibrationError {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let pooled = self.pooled(view)?;
        let stretches = stretches(&pooled);
        let fit = self.fit(&pooled, &stretches);
        let gaps = pooled.groups.iter().zip(&stretches);
        let sum: Sum = gaps.map(|(group, (a, b))| group.weight() * fit.spline.mean_slope(*a, *b).abs()).collect();
        let value = sum.value();
        // Σ |∫ γ'| over stretches moves by no more than ∫ |γ' - exact γ'|. A mean of γ' over a
        // stretch whose ends are off moves by that times γ''.
        let bound = fit.variation_error + PERCENTILE_ERROR * (fit.spline.largest_second_derivative() + value);
        Ok(Estimate::new(self.spec(), value, bound)
            .of(view)
            .with("n_knots", self.n_knots as u64)
            .with("run_out", self.run_out.name())
            .with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(2048)))
    }
}
