//! Binned calibration error less what chance adds to it.

use super::edges::Bins;
use super::specs::{COMPAT, N_BINS, NORM_L2, STRATEGY_QUANTILE};
use super::{Compat, NBins, Norm, Strategy, settings};
use crate::measures::prelude::*;

measure! {
    /// Debiased binned calibration error: the gaps of the bins without the part that chance alone
    /// would make.
    ///
    /// # Definition
    /// With share W_b / W, gap g_b = ȳ_b - p̄_b and n_b = (Σw)² / Σw² rows that the bin is worth:
    /// ```text
    /// L2:  √max(0, Σ_b share_b (g_b² - v_b)),      v_b = ȳ_b (1 - ȳ_b) / (n_b - 1); bins with n_b < 2 count 0
    /// L1:  2 Σ_b share_b |g_b| - Σ_b share_b E|N(g_b, s_b²)|,      s_b² = ȳ_b (1 - ȳ_b) / n_b
    /// ```
    /// v_b is an unbiased estimate of the variance of ȳ_b, so that the sum under the root is an
    /// unbiased estimate of its value for infinitely many rows in the same bins. L1 takes away the
    /// rise that a second draw of the outcome rates would make; others take the mean of a thousand
    /// such draws, here it is its expectation in closed form,
    /// `E|N(g, s²)| = s √(2/π) exp(-g²/2s²) + g erf(g / s√2)`. L1 can be below 0.
    ///
    /// # Assumptions
    /// Independent rows. Bins that do not depend on the outcomes. Gaps that cancel inside a bin are
    /// not seen. Weights count by the rows that they are worth, so that a weight of 2 is not two
    /// rows.
    ///
    /// # Cost
    /// That of [`BinnedEce`](crate::BinnedEce): O(n), and a sort for equal-mass bins.
    ///
    /// # Accuracy
    /// Numerical: compensated sums; a few units of rounding under the root, which the root of a
    /// number next to 0 makes larger. Statistical: L2 squared is unbiased for its bins where it is
    /// not cut at 0; L1 is less biased than binned ECE.
    ///
    /// # Reference
    /// Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019; the idea also in
    /// Bröcker, "Estimating reliability and resolution of probability forecasts through
    /// decomposition of the empirical score", Climate Dynamics 39, 2012.
    ///
    /// # Example
    /// One bin with outcomes 1, 1, 0, 0 and probability 0.9: the gap is 0.4, and chance accounts
    /// for 0.25 / 3 of its square.
    /// ```
    /// use calipers::{DebiasedEce, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.9; 4], &[1, 1, 0, 0]).check()?;
    /// let error = DebiasedEce::new().n_bins(1).estimate(&predictions.binary()?)?;
    /// assert!((error.value - (0.16f64 - 0.25 / 3.0).sqrt()).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct DebiasedEce {
        /// 15 bins of equal mass, root of the mean squared gap.
        new;

        /// How many bins: a number, or [`NBins::Auto`].
        n_bins: into NBins = NBins::Fixed(15);

        /// Equal width or equal mass.
        strategy: Strategy = Strategy::Quantile;

        /// [`Norm::L1`] or [`Norm::L2`].
        norm: Norm = Norm::L2;

        /// The bins of another tool.
        compat: into Option<Compat> = None;

        link: Link;
    }
}

/// E|N(mean, variance)|.
fn folded_normal(mean: f64, variance: f64) -> f64 {
    if variance == 0.0 {
        return mean.abs();
    }
    let deviation = variance.sqrt();
    let z = mean / deviation;
    let density = (2.0 / std::f64::consts::PI).sqrt() * (-0.5 * z * z).exp();
    deviation * density + mean * libm::erf(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// How far the root of a number can be off that is off by `error` itself.
fn error_of_root(root: f64, error: f64) -> f64 {
    error.sqrt().min(error / root.max(f64::MIN_POSITIVE)) + f64::EPSILON
}

entry! { DEBIASED = DebiasedEce::new();
    Spec::error("debiased_ece", "root of the mean squared gap less its noise, over 15 bins of equal mass")
        .title("debiased ECE")
        .family(Family::Binned)
        .reference("Kumar, Liang, Ma, NeurIPS 2019")
        .range(0.0, 1.0)
        .unbiased()
        .cost(Cost::Quick)
        .options(&[N_BINS, STRATEGY_QUANTILE, NORM_L2, COMPAT, LINK])
}

impl Measure for DebiasedEce {
    described! { DEBIASED.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let rows = Probabilities::new(view, &*self.link)?;
        let bins = Bins::new(self.n_bins, self.strategy, self.compat, view, &rows)?;
        let place = |p: f64| bins.place(p);
        let sums = rows.sums_by_bin(
            bins.len(),
            place,
            |[weights, squares, outcomes, residuals]: &mut [Sum; 4], p, outcome, weight| {
                weights.add(weight);
                squares.add(weight * rows.row_weight(weight));
                residuals.add(-weight * p);
                if outcome {
                    outcomes.add(weight);
                    residuals.add(weight);
                }
            },
        );
        let occupied: Vec<[f64; 4]> = sums.iter().map(|bin| bin.map(Sum::value)).filter(|bin| bin[0] > 0.0).collect();
        let total = occupied.iter().map(|bin| bin[0]).collect::<Sum>().value();
        // Share of the whole, gap, variance of an outcome, and the rows that the bin is worth.
        let summaries = occupied.iter().map(|&[weight, squares, outcomes, residual]| {
            let rate = outcomes / weight;
            let n = weight * weight / squares;
            (weight / total, residual / weight, (rate * (1.0 - rate)).max(0.0), n)
        });
        let rounding = 64.0 * f64::EPSILON + 4.0 * rows.error();
        let (value, numerical_bound) = match self.norm {
            Norm::L2 => {
                // A weight of rows that are worth less than two does not determine their variance;
                // 1e-9 for rounding.
                let squared = summaries
                    .filter(|bin| bin.3 >= 2.0 - 1e-9)
                    .map(|(share, gap, variance, n)| share * (gap * gap - variance / (n - 1.0)));
                let value = squared.collect::<Sum>().value().max(0.0).sqrt();
                (value, error_of_root(value, rounding))
            }
            Norm::L1 => {
                let terms = summaries
                    .map(|(share, gap, variance, n)| share * (2.0 * gap.abs() - folded_normal(gap, variance / n)));
                (terms.collect::<Sum>().value(), rounding)
            }
            Norm::Max => return Err(Norm::no_maximum("where chance is taken away")),
        };
        let (n_bins, edges) = (bins.n_asked, bins.description);
        let settings = settings(n_bins, self.strategy, self.norm, self.compat, &*self.link, edges);
        Ok(Estimate { settings, ..Estimate::new(self.spec(), value, numerical_bound).of(view) })
    }

    fn cells<'a>(&'a self, view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        if self.compat.is_some() {
            return Ok(None);
        }
        let bins = Bins::new(self.n_bins, self.strategy, None, view, &Probabilities::new(view, &*self.link)?)?;
        let resolved = self.clone().n_bins(bins.n_asked);
        Ok(Some(bins.cells().measured_by(resolved).counting_rows()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::Uniforms;

    #[test]
    fn the_closed_form_is_the_mean_of_draws() {
        let mut uniforms = Uniforms::new(1);
        let mut normal = || {
            let radius = (-2.0 * uniforms.next().ln()).sqrt();
            radius * (std::f64::consts::TAU * uniforms.next()).cos()
        };
        for (mean, deviation) in [(0.0, 0.1), (0.03, 0.1), (-0.2, 0.1), (0.3, 0.01)] {
            let n = 200_000;
            let draws: f64 = (0..n).map(|_| (mean + deviation * normal()).abs()).sum::<f64>() / f64::from(n);
            let closed = folded_normal(mean, deviation * deviation);
            assert!((closed - draws).abs() < 5.0 * deviation / f64::from(n).sqrt(), "{mean}: {closed} {draws}");
        }
        assert_eq!(folded_normal(-0.25, 0.0), 0.25);
    }
}
