//! smECE, the calibration error of smoothed residuals, and its sibling that smooths the
//! predictions.

use super::ls_ece::check_tolerance;
use super::prelude::*;
use super::reflected::{Circle, Deposit, ReflectedKernel, Value};
use super::reflected_draws::ReflectedDraws;
use super::relplot;
use crate::inference::{Clusters, Resampler};
use crate::measure::resampler_by_rows;
use crate::noise::Gaussian;

/// What the noise of [`SmoothEce`] smooths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Smoothing {
    /// Residuals y - p: smECE.
    #[default]
    Residuals,
    /// Predictions: the calibration error of the predictor that reports p + σ ξ, reflected into [0,
    /// 1].
    Predictions,
}

/// How wide the kernel of [`SmoothEce`] is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum SmoothSigma {
    /// The σ at which smECE of σ is σ itself.
    #[default]
    FixedPoint,
    /// So wide.
    Value(f64),
}

or_auto! { SmoothSigma, "sigma", SIGMA_RULE; FixedPoint or Value(f64) }

/// How smECE is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SmoothMethod {
    /// As it is defined, to within the tolerance.
    #[default]
    Exact,
    /// As relplot 1.0.3 does: residuals on a grid of about a thousand points, a kernel cut at ±1/2
    /// and reflected once, a sum over a second grid in place of the integral, and a width that is
    /// known to 1/1024. Rows at 0 or 1, and less so those within 1/1000 of them, count half there,
    /// since the reflection leaves out the image of the last node: with many of them, as of a
    /// confident model, the value is far from smECE.
    Relplot,
}

names! { Smoothing, "smoothing";
    Residuals = "residuals",
    Predictions = "predictions",
}

names! { SmoothMethod, "method";
    Exact = "exact",
    Relplot = "relplot",
}

const SIGMA_RULE: &str = "in [1e-5, 100], or \"auto\"";

/// The first scale for which a grid is made. Each next one is an eighth of it, until the fixed
/// point is above or the tolerance met.
const LARGEST_STEP: f64 = 1.0 / 128.0;

/// The last scale for which all rows are spread over a grid of [0, 1].
const SMALLEST_STEP: f64 = 1.0 / 65536.0;

/// The last scale at all: half of it is far below every tolerance that can be met.
const SMALLEST_SIGMA: f64 = f64::EPSILON / 16.0;

/// Rows that are put in order as soon as the fixed point is found to be small.
const MOST_IN_ORDER: usize = 1 << 20;

/// What rounding costs at least, in sums whose terms add up to 1.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

measure! {
    /// Smooth ECE: the size of the residuals after smoothing them along the probabilities.
    ///
    /// # Definition
    /// ```text
    /// smECE_σ = ∫_0^1 |Σ_i s_i (y_i - p_i) K̃_σ(t, p_i)| dt        smECE = the σ with smECE_σ = σ
    /// K̃_σ(t, p) = Σ_k φ_σ(t - p + 2k) + φ_σ(t + p + 2k)           k over all integers
    /// ```
    /// with s_i the shares of the weight and φ_σ the normal density: the kernel is reflected at 0
    /// and 1 infinitely often, so that it integrates to 1 for every p. smECE_σ does not grow with
    /// σ, so that there is one fixed point. With [`Smoothing::Predictions`] it is the calibration
    /// error of the predictor T that reports p + σ ξ, reflected into [0, 1]:
    /// ```text
    /// E |E[Y | T] - T| = ∫_0^1 |Σ_i s_i (y_i - t) K̃_σ(t, p_i)| dt
    /// ```
    /// which LS-ECE is likened to in its paper. It differs from smECE_σ by at most σ √(2/π), the
    /// mean distance that noise moves a probability by; unless given, its σ is that of smECE.
    ///
    /// # Assumptions
    /// None for the number itself: it is continuous in the predictions for any data.
    ///
    /// # Cost
    /// O(n) and one pass for a given σ, with a grid of some nodes for each σ; the fixed point takes
    /// one pass and about ten transforms of that grid where smECE is above 1/128. Below, up to 2^20
    /// rows are sorted, and each factor of 8 takes a grid of at most some thousand nodes for each
    /// row; more rows take one more pass for each factor.
    ///
    /// # Accuracy
    /// Numerical: `numerical_bound`, proven in `measures/reflected.rs` and at most the tolerance,
    /// 1e-9 unless set. Since smECE_σ - σ falls at least as fast as σ grows, a σ with |smECE_σ - σ|
    /// <= d is within d of the fixed point. With [`SmoothMethod::Relplot`] the bound is that of
    /// rounding in relplot's own sums; on six sets of `tests/peers.rs` five values are within
    /// 0.0003 of the exact ones, and one, with a sixth of its rows at 0 or 1, is a tenth too small.
    /// Statistical: biased up at small n even when calibrated.
    ///
    /// # Reference
    /// Błasiok, Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR
    /// 2024.
    ///
    /// # Example
    /// All residuals are 0.3, and smoothing moves them without loss, so that smECE_σ is 0.3 for
    /// every σ.
    /// ```
    /// use calipers::{Measure, Input, SmoothEce};
    ///
    /// let predictions = Input::probabilities(&[0.7, 0.7], &[1, 1]).check()?;
    /// let estimate = SmoothEce::new().estimate(&predictions.binary()?)?;
    /// assert!((estimate.value - 0.3).abs() <= estimate.numerical_bound);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct SmoothEce {
        /// smECE at its fixed point, exact, to 1e-9.
        new;

        /// The width of the kernel: a number, or [`SmoothSigma::FixedPoint`].
        sigma: into SmoothSigma = SmoothSigma::FixedPoint;

        /// What is smoothed.
        smoothing: Smoothing = Smoothing::Residuals;

        /// Exact, or as relplot computes it.
        method: SmoothMethod = SmoothMethod::Exact;

        /// The largest numerical error that is accepted, absolute.
        tolerance: f64 = 1e-9;

        link: Link;
    }
}

impl SmoothEce {
    /// The name by which it is requested.
    pub const NAME: &'static str = ENTRY.spec.name;

    fn check_settings(&self) -> Result<(), Error> {
        check_tolerance(self.tolerance)?;
        if let SmoothSigma::Value(sigma) = self.sigma {
            check_range("sigma", sigma, 1e-5..=100.0, SIGMA_RULE)?;
        }
        let valid = self.method != SmoothMethod::Relplot || self.smoothing != Smoothing::Predictions;
        Error::require(valid, "smoothing", "\"residuals\" with method \"relplot\"", "\"predictions\"")
    }

    fn measure(&self, rows: &Probabilities<'_>, is_weighted: bool) -> Result<(Value, f64), Error> {
        if self.method == SmoothMethod::Relplot {
            let rule = "left out with weights, which relplot does not take";
            Error::require(!is_weighted, "method", rule, "\"relplot\"")?;
            return relplot::smooth_ece(rows, self.sigma);
        }
        let deposit = match self.smoothing {
            Smoothing::Residuals => Deposit::Residuals,
            Smoothing::Predictions => Deposit::Outcomes,
        };
        let sigma = match (self.sigma, self.smoothing) {
            (SmoothSigma::Value(sigma), _) => sigma,
            (SmoothSigma::FixedPoint, Smoothing::Residuals) => {
                let found = self.fixed_point(rows)?;
                return Ok((found, found.value));
            }
            // Below 1e-5 there is no grid; smECE is as good as 0.
            (SmoothSigma::FixedPoint, Smoothing::Predictions) => self.fixed_point(rows)?.value.max(1e-5),
        };
        Ok((self.at(rows, deposit, sigma)?, sigma))
    }

    fn at(&self, rows: &Probabilities<'_>, deposit: Deposit, sigma: f64) -> Result<Value, Error> {
        let kernel = ReflectedKernel { noise: &Gaussian, sigma };
        let n_panels = kernel.panels(deposit, self.tolerance)?;
        let value = Circle::new(rows, &Gaussian, deposit, n_panels).integrate(kernel);
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
        // A finer grid gains nothing: rounding alone costs as much.
        let grid_tolerance = self.tolerance.clamp(ROUNDING, 0.1);
        let mut bracket: (f64, f64) = (0.0, 1.0);
        let mut squeezed: Option<Groups> = None;
        let mut smallest = LARGEST_STEP;
        loop {
            let (circle, length) = match &squeezed {
                None => {
                    let kernel = ReflectedKernel { noise: &Gaussian, sigma: smallest };
                    let Ok(n_panels) = kernel.panels(Deposit::Residuals, grid_tolerance) else { break };
                    (Circle::new(rows, &Gaussian, Deposit::Residuals, n_panels), 1.0)
                }
                Some(groups) => {
                    let (masses, length) = groups.squeezed(bracket.1);
                    let kernel = ReflectedKernel { noise: &Gaussian, sigma: smallest / length };
                    let Ok(n_panels) = kernel.panels(Deposit::Residuals, grid_tolerance) else { break };
                    let error = rows.error() / length + 4.0 * f64::EPSILON;
                    (Circle::of_masses(&masses, &Gaussian, n_panels, error), length)
                }
            };
            let at = |sigma: f64| circle.integrate(ReflectedKernel { noise: &Gaussian, sigma: sigma / length });
            let value = at(smallest);
            let mean = circle.mean_residual.abs();
            // smECE_σ falls: it is above the fixed point to the left of it, and below to the right.
            if value.value >= smallest {
                let (low, high) = (smallest.max(mean), value.value.min(bracket.1));
                return self.within_tolerance(search(at, (low, high), high, 0.25 * self.tolerance));
            }
            let error = rows.error() + ROUNDING;
            let above = (value.value + value.bound - smallest).max(0.0);
            bracket.0 = bracket.0.max(value.value - value.bound).max(mean - error);
            bracket.1 = bracket.1.min(smallest + above).max(bracket.0);
            // Few rows are in order at once; of many, the next grids take a pass each, and no
            // memory.
            if squeezed.is_none() && (rows.len() <= MOST_IN_ORDER || smallest <= SMALLEST_STEP) {
                squeezed = Some(Groups::new(rows));
            }
            if let Some(groups) = &squeezed {
                // Nor is the fixed point above what is left without any smoothing.
                bracket.1 = bracket.1.min(groups.unsmoothed + error).max(bracket.0);
            }
            if 0.5 * (bracket.1 - bracket.0) + ROUNDING <= self.tolerance || smallest <= SMALLEST_SIGMA {
                break;
            }
            let next = (0.125 * smallest).min(0.5 * bracket.1).max(bracket.0);
            // At the lower end already, and what remains is within the bounds of its value.
            if next >= smallest {
                break;
            }
            smallest = next;
        }
        let (low, high) = bracket;
        self.within_tolerance(Value { value: 0.5 * (low + high), bound: 0.5 * (high - low) + ROUNDING })
    }
}

/// Pooled residuals in the order of their probabilities.
struct Groups {
    /// Probabilities and Σ s (y - p).
    residuals: Vec<(f64, f64)>,
    /// Σ |Σ s (y - p)| over probabilities: smECE_σ for σ → 0.
    unsmoothed: f64,
}

impl Groups {
    fn new(rows: &Probabilities<'_>) -> Self {
        let groups = rows.groups();
        let total = groups.iter().map(Group::weight).collect::<Sum>().value();
        let residuals: Vec<(f64, f64)> = groups.iter().map(|group| (group.p, group.residual() / total)).collect();
        let unsmoothed = residuals.iter().map(|(_, residual)| residual.abs()).collect::<Sum>().value();
        Groups { residuals, unsmoothed }
    }

    /// Places and residuals on a line from 0 to 1 without long empty stretches, and the length that
    /// 1 stands for.
    ///
    /// Beyond its reach a kernel has 10^-30 of itself. Where two neighbours are two reaches apart,
    /// so have all to the left and all to the right: |G| is |G_left| + |G_right| but for that, and
    /// its integral does not depend on how long the way between them is. Nor does it depend on the
    /// way to an end that is further than a reach. So longer ways are cut to that length for the
    /// largest σ that is needed, and the grid is as fine as σ needs on what remains: some
    /// thousand nodes for each row, however small σ is. An integral does not change with the unit
    /// of length.
    fn squeezed(&self, largest_sigma: f64) -> (Vec<(f64, f64)>, f64) {
        let reach = ReflectedKernel { noise: &Gaussian, sigma: largest_sigma }.reach();
        let mut place = Sum::default();
        let mut before: Option<f64> = None;
        let mut masses: Vec<(f64, f64)> = Vec::with_capacity(self.residuals.len());
        for &(p, residual) in &self.residuals {
            place.add(match before {
                None => p.min(reach),
                Some(before) => (p - before).min(2.0 * reach),
            });
            before = Some(p);
            masses.push((place.value(), residual));
        }
        place.add((1.0 - before.unwrap_or(1.0)).min(reach));
        let length = place.value();
        masses.iter_mut().for_each(|mass| mass.0 = (mass.0 / length).min(1.0));
        (masses, length)
    }
}

/// The fixed point of a function that falls, between `low` and `high`, by secants from `start` on
/// that are kept inside what is known.
pub(super) fn search(at: impl Fn(f64) -> Value, (mut low, mut high): (f64, f64), start: f64, accuracy: f64) -> Value {
    let mut sigma = start;
    let mut previous: Option<(f64, f64)> = None;
    let mut best = Value { value: 0.5 * (low + high), bound: f64::INFINITY };
    for step in 0..100 {
        let value = at(sigma);
        let excess = value.value - sigma;
        let bound = excess.abs() + value.bound;
        if bound < best.bound {
            best = Value { value: sigma, bound };
        }
        // What is less than the bound of a value is not worth another.
        if excess.abs() <= accuracy.max(0.1 * value.bound) || high <= low {
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

pub(crate) const ENTRY: Entry = Entry {
    spec: &Spec::error("smooth_ece", "residuals smoothed by a reflected Gaussian whose width is the value itself")
        .title("smECE")
        .family(Family::Kernel)
        .reference("Błasiok, Nakkiran, ICLR 2024")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[
            OptionSpec::number_or_auto("sigma", "Width of the kernel; \"auto\" is the fixed point."),
            OptionSpec::choice("smoothing", &["residuals", "predictions"], "What is smoothed."),
            OptionSpec::optional_choice("compat", &["relplot"], "Reproduces the values of another package."),
            OptionSpec::number("tolerance", 1e-9, "Largest numerical error that is accepted, absolute."),
            LINK,
        ]),
    make: |options| {
        let method = options.read::<SmoothMethod>("compat")?.unwrap_or_default();
        SmoothEce::new().method(method).configured(options)
    },
};

impl Measure for SmoothEce {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        self.check_settings()?;
        let rows = Probabilities::new(view, &*self.link)?;
        let (found, sigma) = self.measure(&rows, view.is_weighted())?;
        let rule = if self.sigma == SmoothSigma::FixedPoint { "auto" } else { "given" };
        Ok(Estimate::new(self.spec(), found.value, found.bound)
            .of(view)
            .with("sigma", sigma)
            .with("sigma_rule", rule)
            .with("smoothing", self.smoothing.name())
            .with("method", self.method.name())
            .with("tolerance", self.tolerance)
            .with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        // relplot takes no weights.
        Ok((self.method == SmoothMethod::Exact).then(|| Cells::new(2048)))
    }

    /// On a grid for smoothed residuals, of any number of rows.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let of_residuals = self.method == SmoothMethod::Exact && self.smoothing == Smoothing::Residuals;
        let found = match self.sigma {
            _ if clusters.is_some() || !of_residuals => None,
            SmoothSigma::FixedPoint => ReflectedDraws::at_fixed_point(self, view)?,
            SmoothSigma::Value(sigma) => ReflectedDraws::of_residuals(self, view, sigma)?,
        };
        match found {
            Some(draws) => Ok(Box::new(draws)),
            None => resampler_by_rows(self, view, clusters),
        }
    }
}
