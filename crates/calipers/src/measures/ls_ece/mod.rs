//! LS-ECE, the logit-smoothed calibration error of "How Flawed Is ECE? An Analysis via Logit
//! Smoothing".
//!
//! ```text
//! BinaryView -> Points (of rows, or by many.rs of cells) -> Sigma
//!                               -> closed_form (noise that is constant on an interval)
//!                               -> plan, grid, smooth (every other noise)
//!                               -> regression: curve, sampled
//!                               -> resampling: noise floor, bootstrap, influence values
//! ```

mod at_rows;
mod band;
mod closed_form;
mod curve;
mod from_sketch;
mod grid;
mod integrand;
mod many;
mod nodes;
mod plan;
mod points;
mod regression;
mod resampling;
mod sampled;
mod saturated;
mod sigma;
mod smooth;
mod specs;

use std::ops::Bound;

pub(crate) use at_rows::AtRows;
pub use curve::LsCurve;
pub(crate) use resampling::OfGaps;
pub use sampled::LsEceSampled;
pub use sigma::Sigma;
pub(crate) use specs::{CLIP, LS_ECE, NOISE, RESIDUAL, SIGMA};

use super::prelude::*;
use crate::data::{InputReport, PlainRows};
use crate::inference::{Clusters, Resampler, RowBracket, RowResampler};
use crate::noise::Noise;
use crate::numerics::convolution::Taps;
use crate::numerics::parallel;
use crate::sketch::Sketch;
pub(crate) use integrand::Integrand;
use plan::Plan;
pub(crate) use points::Points;
use saturated::Clamped;

/// The clip that is used unless set.
pub(crate) const DEFAULT_CLIP: f64 = 1e-6;

measure! {
    /// The logit-smoothed calibration error: ECE after adding noise to the logits, as an integral.
    ///
    /// # Definition
    /// ```text
    /// LS-ECE = E |E[Y | T] - T|,   T = ρ(h + ξ)
    ///        = ∫ |G(u)| du,        G(u) = Σ_i s_i (y_i - ρ(u)) p_ξ(u - h_i)
    /// ```
    /// for the empirical measure of the rows: h_i logits, y_i outcomes, s_i shares of the weight, ρ
    /// the link and p_ξ the density of the noise at scale sigma. Equation (secedef) of the paper,
    /// after t = ρ(u).
    ///
    /// [`residual`](Self::residual) turns it into the residual form, a measure of its own with the
    /// same options.
    ///
    /// # Assumptions
    /// None for the number itself: it is continuous in the predictions for any data. As an estimate
    /// of ECE it needs sigma -> 0 and n sigma -> infinity ([`Sigma::Auto`]) and logits with a
    /// density.
    ///
    /// # Cost
    /// O(n) for smooth noise, O(n log n) for uniform noise. Memory: for many rows of plain
    /// probabilities some megabytes of cells; otherwise 9 to 17 bytes for each row, 60 with uniform
    /// noise; and a grid of some nodes for each sigma.
    ///
    /// # Accuracy
    /// Numerical: `numerical_bound`, proven and never above the tolerance; a tolerance that cannot
    /// be met is an error. Statistical: biased up at small n sigma, even when calibrated; too large
    /// a sigma adds miscalibration of its own.
    ///
    /// # Reference
    /// Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit
    /// Smoothing", 2024.
    ///
    /// # Example
    /// One point at logit 0 whose outcome is 1: the gap is |1 - T|, which has mean 1/2 for any
    /// symmetric noise.
    /// ```
    /// use calipers::{Measure, Input, LsEce};
    ///
    /// let predictions = Input::probabilities(&[0.5], &[1]).check()?;
    /// let estimate = LsEce::new().sigma(1.0).estimate(&predictions.binary()?)?;
    /// assert!((estimate.value - 0.5).abs() <= estimate.numerical_bound);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct LsEce {
        /// Gaussian noise, logistic link, sigma chosen automatically, tolerance 1e-6, clip 1e-6.
        new;

        sigma: own Sigma = Sigma::Auto;

        /// Whether sigma was chosen automatically for several models together.
        common_sigma: fixed bool = false;

        noise: Noise;

        link: Link;

        /// The largest numerical error that is accepted, absolute.
        tolerance: f64 = 1e-6;

        /// Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit.
        clip: f64 = DEFAULT_CLIP;

        /// LS-ECE or its residual form.
        integrand: fixed Integrand = Integrand::Paper;
    }
}

impl LsEce {
    /// The name by which it is requested.
    pub const NAME: &'static str = LS_ECE.spec.name;

    /// The scale of the noise: a number, or [`Sigma::Auto`].
    pub fn sigma(mut self, sigma: impl Into<Sigma>) -> Self {
        self.sigma = sigma.into();
        self.common_sigma = false;
        self
    }

    /// The residual form of LS-ECE (`residual_ls_ece`): residuals are smoothed, and predictions
    /// stay as they are.
    ///
    /// # Definition
    /// ```text
    /// V = ∫ |R(u)| du,   R(u) = Σ_i s_i (y_i - p_i) p_ξ(u - h_i),   p_i = ρ(h_i)
    /// ```
    /// with rows, noise, link, clip and sigma as for LS-ECE. LS-ECE is the paper's measure; this
    /// form is that of this library.
    ///
    /// # Properties
    /// V is never above ECE, for any noise. With Gaussian noise it does not grow with sigma, tends
    /// to ECE as sigma tends to 0, and is 0 if and only if the predictions are calibrated. It is
    /// continuous in the predictions, as LS-ECE is, and differs from LS-ECE by at most sigma E|ξ|
    /// times the largest slope of the link. The part of V where predictions are too low is (V + ȳ -
    /// p̄) / 2. docs/theory.md has the proofs.
    ///
    /// # Cost
    /// That of LS-ECE by cells and from sketches. Rows that are taken one by one need 8 bytes more
    /// each and up to twice the time, since the link is evaluated at each of them.
    ///
    /// # Accuracy
    /// Numerical: `numerical_bound`, proven as for LS-ECE. Statistical: biased up at small n sigma,
    /// even when calibrated. Unlike LS-ECE, it is 0 for calibrated predictions at any sigma.
    ///
    /// # Example
    /// Two rows at one logit, of which one has outcome 1: predicted as 1/2, they are calibrated at
    /// any sigma. LS-ECE is not 0 there.
    /// ```
    /// use calipers::{Measure, Input, LsEce};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.5], &[1, 0]).check()?;
    /// let residual = LsEce::new().sigma(1.0).residual().estimate(&predictions.binary()?)?;
    /// assert!(residual.value <= residual.numerical_bound);
    /// assert_eq!(residual.measure(), "residual_ls_ece");
    /// let paper = LsEce::new().sigma(1.0).estimate(&predictions.binary()?)?;
    /// assert!(paper.value > 0.1);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn residual(mut self) -> Self {
        self.integrand = Integrand::Residual;
        self
    }

    fn check_settings(&self) -> Result<(), Error> {
        check_clip(self.clip)?;
        check_tolerance(self.tolerance)
    }

    /// The measure at several sigmas, with the same bits as at each of them,
    /// but reading the rows once.
    pub(crate) fn estimate_at(&self, view: &BinaryView<'_>, sigmas: &[f64]) -> Result<Vec<Estimate>, Error> {
        self.check_settings()?;
        let at: Vec<LsEce> = sigmas.iter().map(|sigma| self.clone().sigma(*sigma)).collect();
        let by_cells = |ls_ece: &LsEce| view.plain().map_or(Ok(None), |rows| ls_ece.measure_cells(rows));
        let by_cells: Vec<Option<Measured>> = at.iter().map(by_cells).collect::<Result<_, _>>()?;
        let points = match by_cells.iter().all(Option::is_some) {
            true => None,
            false => Some(Points::new(view, &*self.link, self.clip)?),
        };
        let estimate = |number: usize| {
            let ls_ece = &at[number];
            let measured = match (by_cells[number].clone(), &points) {
                (Some(measured), _) => measured,
                (None, Some(points)) => ls_ece.measure_points(points)?,
                (None, None) => ls_ece.measure_rows(view)?,
            };
            Ok(ls_ece.estimate_of(measured, ls_ece.sigma_rule()).of(view))
        };
        parallel::map(at.len(), estimate).into_iter().collect()
    }

    /// The measure row by row: for any scores, weights, noise and sigma.
    fn measure_rows(&self, view: &BinaryView<'_>) -> Result<Measured, Error> {
        self.measure_points(&Points::new(view, &*self.link, self.clip)?)
    }

    /// The rows as points, and sigma for them.
    fn points(&self, view: &BinaryView<'_>) -> Result<(Points, f64), Error> {
        self.check_settings()?;
        let points = Points::new(view, &*self.link, self.clip)?;
        let sigma = self.sigma.resolve(&points, &*self.link)?;
        Ok((points, sigma))
    }

    fn kernel(&self, sigma: f64) -> Kernel<'_> {
        Kernel { noise: &*self.noise, link: &*self.link, sigma }
    }

    fn measure_points(&self, points: &Points) -> Result<Measured, Error> {
        let sigma = self.sigma.resolve(points, &*self.link)?;
        let integral = self.kernel(sigma).integrate(points, self.integrand, self.tolerance)?;
        Ok(Measured { integral, sigma, n_clipped: points.n_clipped })
    }
}

impl Measure for LsEce {
    described! { self => specs::of(self.integrand) }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        self.check_settings()?;
        let measured = match view.plain().map_or(Ok(None), |rows| self.measure_cells(rows))? {
            Some(measured) => measured,
            None => self.measure_rows(view)?,
        };
        Ok(self.estimate_of(measured, self.sigma_rule()).of(view))
    }

    fn estimate_unchecked(&self, rows: PlainRows<'_>) -> Option<Estimate> {
        self.check_settings().ok()?;
        let measured = self.measure_cells(rows).ok()??;
        let n = rows.len() as u64;
        let report = InputReport { n_rows: n, ..InputReport::default() };
        Some(self.estimate_of(measured, self.sigma_rule()).of_rows(n, &report))
    }

    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        self.check_settings()?;
        let (measured, rule) = self.measure_sketch(sketch)?;
        Ok(self.estimate_of(measured, rule).of_sketch(sketch))
    }

    /// On a grid, with the sigma of these rows; one by one where sigma is too small
    /// for the span of the logits, or the noise has too heavy a tail.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let on_grid = match clusters {
            None => self.grid_resampler(view)?,
            Some(clusters) => self.grid_cluster_resampler(view, clusters)?,
        };
        match on_grid {
            Some(resampler) => Ok(resampler),
            None => Ok(Box::new(RowResampler::new(self, view, clusters)?)),
        }
    }

    fn sketch_resampler<'a>(&'a self, sketch: &'a Sketch) -> Result<Box<dyn Resampler + 'a>, Error> {
        self.grid_sketch_resampler(sketch)
    }

    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        self.row_bracket_of(view, clusters)
    }

    fn decided_by(&self) -> Option<Box<dyn Measure>> {
        (self.integrand == Integrand::Paper).then(|| Box::new(self.clone().residual()) as Box<dyn Measure>)
    }

    fn compared_by(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        self.check_settings()?;
        let by_rule = Sigma::Auto.common(views, &*self.link, self.clip)?;
        let sigma = match (self.sigma, by_rule) {
            (Sigma::Value(given), Some(by_rule)) => given.min(by_rule),
            (Sigma::Value(given), None) => given,
            (Sigma::Auto, by_rule) => by_rule.unwrap_or(1.0),
        };
        let common_sigma = self.sigma != Sigma::Value(sigma);
        Ok(Some(Box::new(LsEce { common_sigma, ..self.clone().sigma(sigma).residual() })))
    }

    fn resolve(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        Ok(self.at_common_sigma(views)?.map(|measure| Box::new(measure) as Box<dyn Measure>))
    }

    fn resolved_as(&self, estimate: &Estimate) -> Option<Box<dyn Measure>> {
        let sigma = estimate.settings.number("sigma")?;
        Some(Box::new(self.clone().sigma(sigma)))
    }
}

impl LsEce {
    /// With the sigma of several models together, where it is to be chosen automatically.
    fn at_common_sigma(&self, views: &[&BinaryView<'_>]) -> Result<Option<LsEce>, Error> {
        self.check_settings()?;
        let common = self.sigma.common(views, &*self.link, self.clip)?;
        Ok(common.map(|sigma| LsEce { common_sigma: true, ..self.clone().sigma(sigma) }))
    }

    fn sigma_rule(&self) -> &'static str {
        self.sigma.rule_name(self.common_sigma)
    }

    fn estimate_of(&self, measured: Measured, sigma_rule: &str) -> Estimate {
        // The true value is at most 1: to move a value above it there makes no error larger.
        let value = if measured.integral.value > 1.0 { 1.0 } else { measured.integral.value };
        Estimate::new(self.spec(), value, measured.integral.bound)
            .clipped(measured.n_clipped)
            .with("sigma", measured.sigma)
            .with("sigma_rule", sigma_rule)
            .with("noise", self.noise.name())
            .with("link", self.link.name())
            .with("tolerance", self.tolerance)
            .with("clip", self.clip)
    }
}

/// The integral, with the sigma and the number of clipped rows that belong to it.
#[derive(Clone)]
struct Measured {
    integral: Integral,
    sigma: f64,
    n_clipped: u64,
}

pub(crate) fn check_clip(clip: f64) -> Result<(), Error> {
    // Below 1e-15, 1 - clip would round to 1 or close to it.
    check_range("clip", clip, 1e-15..0.5, "in [1e-15, 0.5)")
}

pub(crate) fn check_tolerance(tolerance: f64) -> Result<(), Error> {
    check_range("tolerance", tolerance, (Bound::Excluded(0.0), Bound::Excluded(f64::INFINITY)), "positive and finite")
}

/// The value of an integral and a bound on its error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Integral {
    pub(crate) value: f64,
    pub(crate) bound: f64,
}

/// Noise at a scale, and the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel<'a> {
    pub(crate) noise: &'a dyn Noise,
    pub(crate) link: &'a dyn Link,
    pub(crate) sigma: f64,
}

impl Kernel<'_> {
    /// LS-ECE of the points, or its residual form, to within `tolerance`.
    pub(crate) fn integrate(&self, points: &Points, integrand: Integrand, tolerance: f64) -> Result<Integral, Error> {
        match self.clamped(points, integrand)? {
            None => self.integrate_clamped(points, integrand, tolerance),
            Some(Clamped { points, cost }) => {
                let mut integral = self.integrate_clamped(&points, integrand, tolerance - cost)?;
                integral.bound += cost;
                Ok(integral)
            }
        }
    }

    fn integrate_clamped(&self, points: &Points, integrand: Integrand, tolerance: f64) -> Result<Integral, Error> {
        match self.noise.plateau() {
            Some(half_width) => closed_form::integrate(points, self, integrand, half_width, tolerance),
            None => smooth::integrate(points, self, integrand, tolerance),
        }
    }

    /// Density of sigma times the noise.
    #[inline]
    fn density(&self, x: f64) -> f64 {
        self.noise.density(x / self.sigma) / self.sigma
    }

    fn taps(&self, plan: &Plan) -> Taps {
        Taps::new(plan.reach, |offset| self.density(offset * plan.spacing)).folded()
    }
}
