//! smECE, the calibration error of smoothed residuals, and its sibling that smooths the predictions.

use std::sync::Arc;

use super::probabilities::Probabilities;
use super::reflected::{Circle, Deposit, ReflectedKernel, Value};
use super::relplot;
use crate::estimate::{Estimate, Estimator, Settings};
use crate::link::{Link, Logistic};
use crate::noise::Gaussian;
use crate::predictions::BinaryView;
use crate::{Error, error};

/// What the noise of [`SmoothEce`] smooths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Smoothing {
    /// Residuals y - p: smECE.
    #[default]
    Residuals,
    /// Predictions: the calibration error of the predictor that reports p + σ ξ, reflected into [0, 1].
    Predictions,
}

/// How wide the kernel of [`SmoothEce`] is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum SmoothSigma {
    /// The σ at which smECE of σ is σ itself.
    #[default]
    FixedPoint,
    /// So wide.
    Value(f64),
}

impl From<f64> for SmoothSigma {
    fn from(sigma: f64) -> Self {
        SmoothSigma::Value(sigma)
    }
}

/// How smECE is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SmoothMethod {
    /// As it is defined, to within the tolerance.
    #[default]
    Exact,
    /// As relplot 1.0.3 does: residuals on a grid of about a thousand points, a kernel cut at ±1/2 and reflected once, a
    /// sum over a second grid in place of the integral, and a width that is known to 1/1024. Rows at 0 or 1, and
    /// less so those within 1/1000 of them, count half there, since the reflection leaves out the image of the last node: with many of
    /// them, as of a confident model, the figure is far from smECE.
    Relplot,
}

impl std::str::FromStr for Smoothing {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "residuals" => Ok(Smoothing::Residuals),
            "predictions" => Ok(Smoothing::Predictions),
            other => Err(Error::setting("smoothing", "\"residuals\" or \"predictions\"", format!("{other:?}"))),
        }
    }
}

impl std::str::FromStr for SmoothSigma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |_| Error::setting("sigma", SIGMA_RULE, format!("{text:?}"));
        match text {
            "auto" => Ok(SmoothSigma::FixedPoint),
            _ => text.parse().map(SmoothSigma::Value).map_err(refused),
        }
    }
}

impl std::str::FromStr for SmoothMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "exact" => Ok(SmoothMethod::Exact),
            "relplot" => Ok(SmoothMethod::Relplot),
            other => Err(Error::setting("method", "\"exact\" or \"relplot\"", format!("{other:?}"))),
        }
    }
}

const SIGMA_RULE: &str = "in [1e-5, 100], or \"auto\"";

/// Scales for which grids are made, one after another, until the fixed point is above: each takes a pass over the rows.
const SMALLEST_SIGMAS: [f64; 4] = [1.0 / 128.0, 1.0 / 1024.0, 1.0 / 8192.0, 1.0 / 65536.0];

/// Smooth ECE: the size of the residuals after smoothing them along the probabilities.
///
/// # Definition
/// ```text
/// smECE_σ = ∫_0^1 |Σ_i s_i (y_i - p_i) K̃_σ(t, p_i)| dt        smECE = the σ with smECE_σ = σ
/// K̃_σ(t, p) = Σ_k φ_σ(t - p + 2k) + φ_σ(t + p + 2k)           k over all integers
/// ```
/// with s_i the shares of the weight and φ_σ the normal density: the kernel is reflected at 0 and 1 without end, so that it
/// integrates to 1 for every p. smECE_σ does not grow with σ, so that there is one fixed point. With
/// [`Smoothing::Predictions`] it is the calibration error of the predictor T that reports p + σ ξ, reflected into [0, 1]:
/// ```text
/// E |E[Y | T] - T| = ∫_0^1 |Σ_i s_i (y_i - t) K̃_σ(t, p_i)| dt
/// ```
/// which LS-ECE is likened to in its paper. It differs from smECE_σ by at most σ √(2/π), the mean distance that noise moves a
/// probability by; unless given, its σ is that of smECE.
///
/// # Assumptions
/// None for the number itself: it is continuous in the predictions for any data.
///
/// # Cost
/// O(n) and one pass for a given σ, with a grid of some nodes for each σ; the fixed point takes one pass and about ten
/// transforms of that grid where smECE is above 1/128, and one more pass for each factor of 8 below.
///
/// # Accuracy
/// Numerical: `numerical_bound`, proven in `measures/reflected.rs` and at most the tolerance, 1e-9 unless set. Since smECE_σ - σ
/// falls at least as fast as σ grows, a σ with |smECE_σ - σ| <= d is within d of the fixed point. With [`SmoothMethod::Relplot`]
/// the bound is that of rounding in relplot's own sums; on six sets of `tests/peers.rs` five values
/// are within 0.0003 of the exact ones, and one, with a sixth of its rows at 0 or 1, is a tenth too small. Statistical: biased up at
/// small n even when calibrated.
///
/// # Reference
/// Błasiok, Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR 2024.
///
/// # Example
/// All residuals are 0.3, and smoothing moves them without loss, so that smECE_σ is 0.3 for every σ.
/// ```
/// use calipers::{Estimator, Input, SmoothEce};
///
/// let predictions = Input::probabilities(&[0.7, 0.7], &[1, 1]).check()?;
/// let estimate = SmoothEce::new().estimate(&predictions.binary()?)?;
/// assert!((estimate.value - 0.3).abs() <= estimate.numerical_bound);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SmoothEce {
    sigma: SmoothSigma,
    smoothing: Smoothing,
    method: SmoothMethod,
    tolerance: f64,
    link: Arc<dyn Link>,
}

impl Default for SmoothEce {
    fn default() -> Self {
        SmoothEce {
            sigma: SmoothSigma::FixedPoint,
            smoothing: Smoothing::Residuals,
            method: SmoothMethod::Exact,
            tolerance: 1e-9,
            link: Arc::new(Logistic),
        }
    }
}

impl SmoothEce {
    /// smECE at its fixed point, exact, to 1e-9.
    pub fn new() -> Self {
        Self::default()
    }

    /// The width of the kernel: a number, or [`SmoothSigma::FixedPoint`].
    pub fn sigma(mut self, sigma: impl Into<SmoothSigma>) -> Self {
        self.sigma = sigma.into();
        self
    }

    /// What is smoothed.
    pub fn smoothing(mut self, smoothing: Smoothing) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Exact, or as relplot computes it.
    pub fn method(mut self, method: SmoothMethod) -> Self {
        self.method = method;
        self
    }

    /// The largest numerical error that is accepted, absolute.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// The link that turns raw binary scores into probabilities.
    pub fn shared_link(mut self, link: Arc<dyn Link>) -> Self {
        self.link = link;
        self
    }

    fn check_settings(&self) -> Result<(), Error> {
        // Written so that NaN fails.
        if !(self.tolerance > 0.0 && self.tolerance < f64::INFINITY) {
            return Err(Error::setting("tolerance", "positive and finite", error::number(self.tolerance)));
        }
        if let SmoothSigma::Value(sigma) = self.sigma
            && !(1e-5..=100.0).contains(&sigma)
        {
            return Err(Error::setting("sigma", SIGMA_RULE, error::number(sigma)));
        }
        if self.method == SmoothMethod::Relplot && self.smoothing == Smoothing::Predictions {
            return Err(Error::setting("smoothing", "\"residuals\" with method \"relplot\"", "\"predictions\""));
        }
        Ok(())
    }

    fn measure(&self, rows: &Probabilities<'_>, is_weighted: bool) -> Result<(Value, f64), Error> {
        if self.method == SmoothMethod::Relplot {
            if is_weighted {
                let rule = "left out with weights, which relplot does not take";
                return Err(Error::setting("method", rule, "\"relplot\""));
            }
            return relplot::smooth_ece(rows, self.sigma);
        }
        match (self.sigma, self.smoothing) {
            (SmoothSigma::Value(sigma), Smoothing::Residuals) => Ok((self.at(rows, Deposit::Residuals, sigma)?, sigma)),
            (SmoothSigma::Value(sigma), Smoothing::Predictions) => {
                Ok((self.at(rows, Deposit::Outcomes, sigma)?, sigma))
            }
            (SmoothSigma::FixedPoint, Smoothing::Residuals) => {
                let found = self.fixed_point(rows)?;
                Ok((found, found.value))
            }
            (SmoothSigma::FixedPoint, Smoothing::Predictions) => {
                // Below, there is no grid; smECE is as good as 0.
                let sigma = self.fixed_point(rows)?.value.max(1e-5);
                Ok((self.at(rows, Deposit::Outcomes, sigma)?, sigma))
            }
        }
    }

    fn at(&self, rows: &Probabilities<'_>, deposit: Deposit, sigma: f64) -> Result<Value, Error> {
        let kernel = ReflectedKernel { noise: &Gaussian, sigma };
        let n_panels = kernel.panels(deposit, self.tolerance)?;
        let value = Circle::new(rows, &Gaussian, deposit, n_panels)?.integrate(kernel);
        self.within_tolerance(value)
    }

    fn within_tolerance(&self, value: Value) -> Result<Value, Error> {
        // NaN fails.
        if value.bound <= self.tolerance {
            return Ok(value);
        }
        let reason = "rounding, or the search for the fixed point, may cost more";
        Err(Error::ToleranceNotMet { tolerance: self.tolerance, attainable: 2.0 * value.bound, reason })
    }

    /// The σ with smECE_σ = σ, and how far it can be off.
    fn fixed_point(&self, rows: &Probabilities<'_>) -> Result<Value, Error> {
        let mut bracket = (0.0, 1.0);
        for smallest in SMALLEST_SIGMAS {
            let n_panels = ReflectedKernel { noise: &Gaussian, sigma: smallest }
                .panels(Deposit::Residuals, self.tolerance.min(0.1))?;
            let circle = Circle::new(rows, &Gaussian, Deposit::Residuals, n_panels)?;
            let at = |sigma: f64| circle.integrate(ReflectedKernel { noise: &Gaussian, sigma });
            let value = at(smallest);
            // smECE_σ falls: it is above the fixed point to the left of it, and below to the right.
            if value.value >= smallest {
                bracket = (smallest.max(circle.mean_residual.abs()), value.value.min(bracket.1));
                return self.within_tolerance(search(at, bracket, 0.25 * self.tolerance));
            }
            bracket = (value.value.max(circle.mean_residual.abs()), smallest);
            if bracket.1 - bracket.0 <= self.tolerance {
                break;
            }
        }
        // Between the last value and the smallest scale, and at most what is left without any smoothing.
        let groups = rows.groups()?;
        let total: f64 = groups.iter().map(|group| group.weight).sum();
        let unsmoothed =
            groups.iter().map(|group| (group.positive - group.weight * group.p).abs()).sum::<f64>() / total;
        let (low, high) = (bracket.0, bracket.1.min(unsmoothed * (1.0 + 1e-9)).max(bracket.0));
        let value = Value { value: 0.5 * (low + high), bound: 0.5 * (high - low) + 1e-15 };
        self.within_tolerance(value)
    }
}

/// The fixed point of a function that falls, between `low` and `high`, by secants that are kept inside what is known.
fn search(at: impl Fn(f64) -> Value, (mut low, mut high): (f64, f64), accuracy: f64) -> Value {
    let mut sigma = high;
    let mut previous: Option<(f64, f64)> = None;
    let mut best = Value { value: 0.5 * (low + high), bound: f64::INFINITY };
    for step in 0..100 {
        let value = at(sigma);
        let excess = value.value - sigma;
        let bound = excess.abs() + value.bound;
        if bound < best.bound {
            best = Value { value: sigma, bound };
        }
        if excess.abs() <= accuracy || high <= low {
            break;
        }
        if excess > 0.0 {
            (low, high) = (low.max(sigma), high.min(value.value));
        } else {
            (low, high) = (low.max(value.value), high.min(sigma));
        }
        let secant = previous.map(|(other, other_excess)| sigma - excess * (sigma - other) / (excess - other_excess));
        previous = Some((sigma, excess));
        sigma = match secant {
            // Every fifth step halves, so that the bracket shrinks whatever the function does.
            Some(secant) if secant > low && secant < high && step % 5 != 4 => secant,
            _ => 0.5 * (low + high),
        };
    }
    best
}

impl Estimator for SmoothEce {
    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        self.check_settings()?;
        let rows = Probabilities::new(view, &*self.link)?;
        let (found, sigma) = self.measure(&rows, view.is_weighted())?;
        let rule = if self.sigma == SmoothSigma::FixedPoint { "auto" } else { "given" };
        let smoothing = match self.smoothing {
            Smoothing::Residuals => "residuals",
            Smoothing::Predictions => "predictions",
        };
        Ok(Estimate {
            measure: "smooth_ece",
            value: found.value,
            numerical_bound: found.bound,
            standard_error: None,
            n: view.len() as u64,
            n_clipped: 0,
            input: view.report().clone(),
            per_class: Vec::new(),
            settings: Settings::default()
                .with("sigma", sigma)
                .with("sigma_rule", rule)
                .with("smoothing", smoothing)
                .with("method", if self.method == SmoothMethod::Exact { "exact" } else { "relplot" })
                .with("tolerance", self.tolerance)
                .with("link", self.link.name()),
        })
    }
}
