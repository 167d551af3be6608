//! Canonical calibration error: all class probabilities together, by Dirichlet kernels.

use super::check_others;
use crate::data::Predictions;
use crate::measures::binned::Norm;
use crate::measures::ls_ece::check_clip;
use crate::measures::prelude::*;
use crate::numerics::parallel;
use crate::setters::setters;

/// Canonical calibration error by Dirichlet kernels: each row against the class rates that all
/// other rows predict at its vector of probabilities.
///
/// # Definition
/// ```text
/// Σ_j s_j Σ_c |ŷ_jc - p_jc|^q,       ŷ_jc = Σ_{i≠j} w_i 1[y_i = c] K(p_j; p_i) / Σ_{i≠j} w_i K(p_j; p_i)
/// K(z; x) = density at z of the Dirichlet distribution with parameters x/h + 1
/// ```
/// with q = 1, or q = 2 and the root of the whole. Probabilities below clip are raised to it in K,
/// both z and x, so that K is finite; ŷ is compared with p as it was given. For two classes and q =
/// 1 it is twice [`BetaKdeEce`](crate::BetaKdeEce), up to the clip.
///
/// # Assumptions
/// Independent rows whose vectors have a density: with many classes, n must be very large.
///
/// # Cost
/// Every row against every other: [`cost`](Self::cost) gives the number of products, and more than
/// [`limit`](Self::limit) are an error.
///
/// # Accuracy
/// Numerical: plain sums over rows on the scale of the largest kernel, exponents rounded by some
/// units over h. Statistical: leaving out one's own row takes away most of the bias of small n h.
///
/// # Reference
/// Popordanoska, Sayer, Blaschko, "A Consistent and Differentiable Lp Canonical Calibration Error
/// Estimator", NeurIPS 2022.
///
/// # Example
/// ```
/// use calipers::{CanonicalKdeEce, Input};
///
/// let scores = [0.7, 0.2, 0.1, 0.1, 0.8, 0.1];
/// let predictions = Input::probabilities(&scores, &[0, 1]).classes(3).check()?;
/// // Each row is compared with the class of the other: |(0, 1, 0) - (0.7, 0.2, 0.1)| = 1.6 and 1.8.
/// let estimate = CanonicalKdeEce::new(0.1).estimate(&predictions)?;
/// assert!((estimate.value - 1.7).abs() < 1e-12);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CanonicalKdeEce {
    bandwidth: f64,
    norm: Norm,
    clip: f64,
    limit: u128,
}

const SPEC: Spec =
    Spec::error("canonical_kde_ece", "mean distance of class rates and class probabilities by Dirichlet kernels")
        .title("canonical KDE-ECE")
        .family(Family::Kernel)
        .reference("Popordanoska, Sayer, Blaschko, NeurIPS 2022")
        .range(0.0, 2.0);

impl CanonicalKdeEce {
    /// With this bandwidth, mean distance, clip 1e-6 and a limit of 2 · 10^10 products.
    pub fn new(bandwidth: f64) -> Self {
        CanonicalKdeEce { bandwidth, norm: Norm::L1, clip: 1e-6, limit: 20_000_000_000 }
    }

    setters! {
        /// [`Norm::L1`] or [`Norm::L2`].
        norm: Norm;

        /// Probabilities are at least this in the kernels.
        clip: f64;

        /// Products that may be taken.
        limit: u128;
    }

    /// Products that so many rows of so many classes take: n² (k + 8), with an exponential for 8.
    pub fn cost(n: usize, n_classes: usize) -> u128 {
        (n as u128) * (n as u128) * (n_classes as u128 + 8)
    }

    /// Measures rows of classes.
    pub fn estimate(&self, predictions: &Predictions<'_>) -> Result<Estimate, Error> {
        check_clip(self.clip)?;
        let (n, k) = (predictions.len(), predictions.n_classes());
        Error::require(k >= 2, "multiclass", "left out for a plain column of scores", "\"canonical\"")?;
        if self.norm == Norm::Max {
            return Err(Norm::no_maximum("for a mean over rows"));
        }
        check_range("bandwidth", self.bandwidth, 1e-7..=100.0, "in [1e-7, 100]")?;
        let cost = Self::cost(n, k);
        let rule = format!("at least {cost} for {n} rows of {k} classes, each of which is compared with all others");
        Error::require(cost <= self.limit, "limit", rule, self.limit)?;
        let rows = predictions.all_classes()?;
        let weighty: Vec<usize> = (0..n).filter(|&row| rows.weights[row] > 0.0).collect();
        check_others(weighty.len(), n)?;

        let h = self.bandwidth;
        let vector = |row: usize| &rows.probabilities[row * k..(row + 1) * k];
        let log_norm = |row: usize| {
            let clipped = || vector(row).iter().map(|p| p.max(self.clip));
            let total: f64 = clipped().map(|p| p / h + 1.0).sum();
            libm::lgamma(total) - clipped().map(|p| libm::lgamma(p / h + 1.0)).sum::<f64>()
        };
        let log_norms = parallel::map(n, log_norm);
        let exponents: Vec<f64> = rows.probabilities.iter().map(|p| p.max(self.clip) / h).collect();
        let of_row = |&row: &usize| {
            let logs: Vec<f64> = vector(row).iter().map(|p| p.max(self.clip).ln()).collect();
            let log_kernel = |other: usize| {
                let parameters = &exponents[other * k..(other + 1) * k];
                log_norms[other] + parameters.iter().zip(&logs).map(|(a, b)| a * b).sum::<f64>()
            };
            let kernels: Vec<f64> =
                weighty.iter().map(|&other| if other == row { f64::NEG_INFINITY } else { log_kernel(other) }).collect();
            let largest = kernels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut rates = vec![0.0; k];
            for (&other, kernel) in weighty.iter().zip(&kernels) {
                rates[rows.labels[other]] += rows.weights[other] * (kernel - largest).exp();
            }
            let total: f64 = rates.iter().sum();
            let gaps = rates.iter().zip(vector(row)).map(|(rate, p)| rate / total - p);
            rows.weights[row] * gaps.map(|gap| self.norm.size(gap)).sum::<f64>()
        };
        let parts = parallel::map_each(&weighty, of_row);
        let total = weighty.iter().map(|&row| rows.weights[row]).collect::<Sum>().value();
        let mean = parts.into_iter().collect::<Sum>().value() / total;
        let rounding = 16.0 * f64::EPSILON * (n + k) as f64
            + 64.0 * f64::EPSILON * k as f64 * (1.0 + (1.0 / h) * (2.0 - self.clip.ln() + (1.0 / h).ln().abs()));
        let value = self.norm.mean(mean);
        // Rates are off by twice the relative error of the sums, and the distance by at most twice
        // the largest rate.
        Ok(Estimate::new(&SPEC, value, 4.0 * rounding)
            .of_rows(n as u64, predictions.report())
            .with("bandwidth", h)
            .with("norm", self.norm.name())
            .with("clip", self.clip))
    }
}
