//! Binned calibration error less what chance adds to it.

use std::sync::Arc;

use super::edges::Bins;
use super::specs::{COMPAT, N_BINS};
use super::{Compat, NBins, Norm, Strategy};
use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::link::{Link, Logistic};
use crate::measure::registry::Entry;
use crate::measure::{Cost, Estimate, Family, LINK, Measure, OptionSpec, Spec};
use crate::measures::Probabilities;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::setters::setters;

/// Debiased binned calibration error: the gaps of the bins without the part that chance alone would
/// make.
///
/// # Definition
/// With share W_b / W, gap g_b = ȳ_b - p̄_b and n_b = (Σw)² / Σw² rows that the bin is worth:
/// ```text
/// L2:  √max(0, Σ_b share_b (g_b² - v_b)),      v_b = ȳ_b (1 - ȳ_b) / (n_b - 1); bins with n_b < 2 count 0
/// L1:  2 Σ_b share_b |g_b| - Σ_b share_b E|N(g_b, s_b²)|,      s_b² = ȳ_b (1 - ȳ_b) / n_b
/// ```
/// v_b is an unbiased estimate of the variance of ȳ_b, so that the sum under the root is an
/// unbiased estimate of its value for infinitely many rows in the same bins. L1 takes away the rise
/// that a second draw of the outcome rates would make; others take the mean of a thousand such
/// draws, here it is its expectation in closed form,
/// `E|N(g, s²)| = s √(2/π) exp(-g²/2s²) + g erf(g / s√2)`. L1 can be below 0.
///
/// # Assumptions
/// Independent rows. Bins that do not depend on the outcomes. Gaps that cancel inside a bin are not
/// seen. Weights count by the rows that they are worth, so that a weight of 2 is not two rows.
///
/// # Cost
/// That of [`BinnedEce`](crate::BinnedEce): O(n), and a sort for equal-mass bins.
///
/// # Accuracy
/// Numerical: compensated sums; a few units of rounding under the root, which the root of a number
/// next to 0 makes larger. Statistical: L2 squared is unbiased for its bins where it is not cut at
/// 0; L1 is less biased than binned ECE.
///
/// # Reference
/// Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019; the idea also in Bröcker,
/// "Estimating reliability and resolution of probability forecasts through decomposition of the
/// empirical score", Climate Dynamics 39, 2012.
///
/// # Example
/// One bin with outcomes 1, 1, 0, 0 and probability 0.9: the gap is 0.4, and chance accounts for
/// 0.25 / 3 of its square.
/// ```
/// use calipers::{DebiasedEce, Measure, Input};
///
/// let predictions = Input::probabilities(&[0.9; 4], &[1, 1, 0, 0]).check()?;
/// let error = DebiasedEce::new().n_bins(1).estimate(&predictions.binary()?)?;
/// assert!((error.value - (0.16f64 - 0.25 / 3.0).sqrt()).abs() < 1e-15);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DebiasedEce {
    n_bins: NBins,
    strategy: Strategy,
    norm: Norm,
    compat: Option<Compat>,
    link: Arc<dyn Link>,
}

impl Default for DebiasedEce {
    fn default() -> Self {
        DebiasedEce {
            n_bins: NBins::Fixed(15),
            strategy: Strategy::Quantile,
            norm: Norm::L2,
            compat: None,
            link: Arc::new(Logistic),
        }
    }
}

impl DebiasedEce {
    /// 15 bins of equal mass, root of the mean squared gap.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// How many bins: a number, or [`NBins::Auto`].
        n_bins: into NBins;

        /// Equal width or equal mass.
        strategy: Strategy;

        /// [`Norm::L1`] or [`Norm::L2`].
        norm: Norm;

        /// The bins of another tool.
        compat: into Option<Compat>;

        /// The link that turns raw binary scores into probabilities.
        link: shared Link;
    }
}

/// The sums of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    weight: Sum,
    squares: Sum,
    outcome: Sum,
    residual: Sum,
}

impl Moments {
    fn add(&mut self, p: f64, outcome: bool, weight: f64) {
        self.weight.add(weight);
        self.squares.add(weight * weight);
        self.residual.add(-weight * p);
        if outcome {
            self.outcome.add(weight);
            self.residual.add(weight);
        }
    }

    fn merge(&mut self, other: Moments) {
        self.weight.merge(other.weight);
        self.squares.merge(other.squares);
        self.outcome.merge(other.outcome);
        self.residual.merge(other.residual);
    }

    /// Share of the whole, gap, variance of an outcome, and the rows that the bin is worth.
    fn summary(&self, total: f64) -> (f64, f64, f64, f64) {
        let weight = self.weight.value();
        let rate = self.outcome.value() / weight;
        let n = weight * weight / self.squares.value();
        (weight / total, self.residual.value() / weight, (rate * (1.0 - rate)).max(0.0), n)
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

pub(crate) const DEBIASED: Entry = Entry {
    spec: &Spec::error("debiased_ece", "root of the mean squared gap less its noise, over 15 bins of equal mass")
        .title("debiased ECE")
        .family(Family::Binned)
        .reference("Kumar, Liang, Ma, NeurIPS 2019")
        .range(0.0, 1.0)
        .unbiased()
        .cost(Cost::Quick)
        .options(&[
            N_BINS,
            OptionSpec::choice("strategy", &["quantile", "uniform"], "Bins of equal mass or of equal width."),
            OptionSpec::choice("norm", &["l2", "l1"], "How gaps are put together."),
            COMPAT,
            LINK,
        ]),
    make: |options| {
        let measure = DebiasedEce::new()
            .n_bins(options.parse::<NBins>("n_bins")?)
            .strategy(options.parse("strategy")?)
            .norm(options.parse("norm")?)
            .compat(options.parse_optional::<Compat>("compat")?)
            .link(options.link()?);
        Ok(Box::new(measure))
    },
};

impl Measure for DebiasedEce {
    fn spec(&self) -> &'static Spec {
        DEBIASED.spec
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let rows = Probabilities::new(view, &*self.link)?;
        let read = |range| {
            let mut buffer = Rows::default();
            rows.read(range, &mut buffer);
            buffer
        };
        let bins = Bins::new(self.n_bins, self.strategy, self.compat, view, &read)?;
        let chunk = parallel::CHUNK.max(64 * bins.len());
        let parts = parallel::map_chunks(rows.len(), chunk, |range| {
            let buffer = read(range);
            let mut moments = vec![Moments::default(); bins.len()];
            for ((&p, &outcome), &weight) in buffer.scores.iter().zip(&buffer.outcomes).zip(&buffer.weights) {
                let (bin, p) = bins.place(p);
                moments[bin].add(p, outcome, weight);
            }
            moments
        });
        let mut moments = vec![Moments::default(); bins.len()];
        for part in parts {
            moments.iter_mut().zip(part).for_each(|(total, part)| total.merge(part));
        }
        moments.retain(|bin| bin.weight.value() > 0.0);
        let total = moments.iter().map(|bin| bin.weight.value()).collect::<Sum>().value();
        if !(total > 0.0) {
            return Err(Error::ZeroWeights { n_rows: rows.len() as u64 });
        }

        let summaries = moments.iter().map(|bin| bin.summary(total));
        let rounding = 64.0 * f64::EPSILON + 4.0 * rows.error();
        let (value, numerical_bound) = match self.norm {
            Norm::L2 => {
                // A weight of rows that are worth less than two says nothing of their variance;
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
            Norm::Max => return Err(Error::setting("norm", "\"l1\" or \"l2\" where chance is taken away", "\"max\"")),
        };
        Ok(Estimate::new(self.spec(), value, numerical_bound)
            .of(view)
            .with("n_bins", bins.n_asked())
            .with("strategy", self.strategy.name())
            .with("norm", self.norm.name())
            .with("compat", self.compat.map_or("none", Compat::name))
            .with("link", self.link.name())
            .with("edges", bins.describe()))
    }

    fn link(&self) -> &dyn Link {
        &*self.link
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
