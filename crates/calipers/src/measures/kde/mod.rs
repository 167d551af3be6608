//! Calibration error by kernel density estimates.

mod beta;
mod beta_sums;
mod dirichlet;
mod triweight;

pub(crate) use beta::BETA_KDE;
pub use beta::BetaKdeEce;
pub use dirichlet::CanonicalKdeEce;

use super::ls_ece::check_tolerance;
use super::reflected::{Circle, Deposit, ReflectedKernel};
use super::reflected_draws::ReflectedDraws;
use crate::inference::{Clusters, Resampler};
use crate::measure::resampler_by_rows;
use crate::measures::prelude::*;
use crate::noise::{Gaussian, Noise};
use triweight::Triweight;

/// How wide the kernel of a density estimate is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Bandwidth {
    /// Chosen automatically, by the rule of the measure.
    #[default]
    Auto,
    /// So wide.
    Value(f64),
}

or_auto! { Bandwidth, "bandwidth", "a number, or \"auto\""; Auto or Value(f64) }

/// The kernel of [`KdeEce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KdeKernel {
    /// 35/32 (1 - u²)³, whose bandwidth is its standard deviation: it reaches three of them.
    #[default]
    Triweight,
    /// The normal density.
    Gaussian,
}

impl KdeKernel {
    fn noise(self) -> &'static dyn Noise {
        match self {
            KdeKernel::Triweight => &Triweight,
            KdeKernel::Gaussian => &Gaussian,
        }
    }
}

/// Rejects rows of which fewer than two have weight.
fn check_others(n_with_weight: usize, n_rows: usize) -> Result<(), Error> {
    match n_with_weight {
        0 if n_rows == 0 => Err(Error::NoRows),
        0 => Err(Error::ZeroWeights { n_rows: n_rows as u64 }),
        n => Error::require(n >= 2, "rows", "at least 2 with weight: each is compared with the others", n),
    }
}

names! { KdeKernel, "kernel";
    Triweight = "triweight",
    Gaussian = "gaussian",
}

measure! {
    /// KDE-ECE: the calibration error of a density estimate of probabilities and outcomes.
    ///
    /// # Definition
    /// ```text
    /// ∫_0^1 |ŷ(t) - t| f(t) dt = ∫_0^1 |Σ_i s_i (y_i - t) K̃_h(t, p_i)| dt
    /// f(t) = Σ_i s_i K̃_h(t, p_i),     ŷ(t) = Σ_i s_i y_i K̃_h(t, p_i) / f(t)
    /// ```
    /// with K̃ the kernel of standard deviation h, reflected at 0 and 1, so that f integrates to 1
    /// and ŷ is in [0, 1]. Unless given, `h = s (2n)^(-1/5)` with s the standard deviation of the
    /// probabilities of outcome 1, as in the authors' code; of all probabilities where that is 0,
    /// and 1 where that is 0, too. n is the effective number of rows, (Σw)² / Σw².
    ///
    /// With the Gaussian kernel this is [`SmoothEce`](crate::SmoothEce) with smoothed predictions.
    ///
    /// # Assumptions
    /// Independent rows whose probabilities have a density.
    ///
    /// # Cost
    /// O(n) and one pass, with a grid of some hundred nodes for each h (some tens with the Gaussian
    /// kernel), and a pass for the rule.
    ///
    /// # Accuracy
    /// Numerical: `numerical_bound`, proven in `measures/reflected.rs` and at most the tolerance,
    /// 1e-9 unless set. The authors' code sums over a grid of 16,384 points of [-0.6, 1.6]; how far
    /// that is off was not measured. Statistical: biased up at small n h.
    ///
    /// # Reference
    /// Zhang, Kailkhura, Han, "Mix-n-Match: Ensemble and Compositional Methods for Uncertainty
    /// Calibration", ICML 2020; before it, Bröcker, "Some remarks on the reliability of categorical
    /// probability forecasts", Monthly Weather Review 136, 2008.
    ///
    /// # Example
    /// One row at 1/2 with outcome 1: the gap is 1 - t, whose mean under any density around 1/2 is
    /// 1/2.
    /// ```
    /// use calipers::{Measure, Input, KdeEce};
    ///
    /// let predictions = Input::probabilities(&[0.5], &[1]).check()?;
    /// let estimate = KdeEce::new().bandwidth(0.1).estimate(&predictions.binary()?)?;
    /// assert!((estimate.value - 0.5).abs() <= estimate.numerical_bound);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct KdeEce {
        /// The triweight kernel, with an automatic bandwidth, to 1e-9.
        new;

        /// The kernel.
        kernel: KdeKernel = KdeKernel::Triweight;

        /// The standard deviation of the kernel: a number, or [`Bandwidth::Auto`].
        bandwidth: into Bandwidth = Bandwidth::Auto;

        /// The largest numerical error that is accepted, absolute.
        tolerance: f64 = 1e-9;

        link: Link;
    }
}

/// s (2n)^(-1/5).
fn rule(rows: &Probabilities<'_>) -> f64 {
    let rows = rows.all();
    let weighted = || rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights);
    let deviation = |only_positives: bool| {
        let of = |value: &dyn Fn(f64) -> f64| {
            let chosen = weighted().filter(|((_, outcome), _)| **outcome || !only_positives);
            chosen.map(|((p, _), weight)| weight * value(*p)).collect::<Sum>().value()
        };
        let total = of(&|_| 1.0);
        let mean = of(&|p| p) / total;
        (of(&|p| (p - mean) * (p - mean)) / total).sqrt()
    };
    let total = rows.weights.iter().copied().collect::<Sum>().value();
    let squares = rows.weights.iter().map(|weight| weight * weight).collect::<Sum>().value();
    let n = total * total / squares;
    // NaN where no row has outcome 1.
    let spread = [deviation(true), deviation(false)].into_iter().find(|spread| *spread > 1e-9).unwrap_or(1.0);
    spread * (2.0 * n).powf(-0.2)
}

entry! { KDE = KdeEce::new();
    Spec::error("kde_ece", "mean |E[y|p] - p| by kernel densities of p")
        .title("KDE-ECE")
        .family(Family::Kernel)
        .reference("Zhang, Kailkhura, Han, ICML 2020")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[
            OptionSpec::choice("kernel", &["triweight", "gaussian"], "The kernel."),
            OptionSpec::number_or_auto("bandwidth", "Standard deviation of the kernel."),
            OptionSpec::number("tolerance", 1e-9, "Largest numerical error that is accepted, absolute."),
            LINK,
        ])
}

impl Measure for KdeEce {
    described! { KDE.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_tolerance(self.tolerance)?;
        let rows = Probabilities::new(view, &*self.link)?;
        let (bandwidth, bandwidth_rule) = match self.bandwidth {
            Bandwidth::Auto => (rule(&rows), "auto"),
            Bandwidth::Value(bandwidth) => (bandwidth, "given"),
        };
        check_range("bandwidth", bandwidth, 1e-5..=100.0, "in [1e-5, 100], or \"auto\"")?;
        let noise = self.kernel.noise();
        let kernel = ReflectedKernel { noise, sigma: bandwidth };
        let n_panels = kernel.panels(Deposit::Outcomes, self.tolerance)?;
        let found = Circle::new(&rows, noise, Deposit::Outcomes, n_panels).integrate(kernel);
        if !(found.bound <= self.tolerance) {
            let (tolerance, attainable) = (self.tolerance, 2.0 * found.bound);
            return Err(Error::ToleranceNotMet { tolerance, attainable, reason: "rounding may cost more" });
        }
        Ok(Estimate::new(self.spec(), found.value, found.bound)
            .of(view)
            .with("bandwidth", bandwidth)
            .with("bandwidth_rule", bandwidth_rule)
            .with("kernel", noise.name())
            .with("tolerance", self.tolerance)
            .with("link", self.link.name()))
    }

    /// On a grid, with the bandwidth of these rows.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let bandwidth = match self.bandwidth {
            Bandwidth::Auto => rule(&Probabilities::new(view, &*self.link)?),
            Bandwidth::Value(bandwidth) => bandwidth,
        };
        let draws = match clusters {
            None => ReflectedDraws::of_outcomes(self, view, self.kernel.noise(), bandwidth)?,
            Some(_) => None,
        };
        match draws {
            Some(draws) => Ok(Box::new(draws)),
            None => resampler_by_rows(self, view, clusters),
        }
    }
}
