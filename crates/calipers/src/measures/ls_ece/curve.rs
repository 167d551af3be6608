//! The smoothed curve: what every reliability diagram of LS-ECE draws.

use super::nodes::{MANY, Nodes};
use super::plan::Smoothness;
use super::points::Points;
use super::regression::{Masses, Regression};
use super::{Kernel, LsEce};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::link::Link;
use crate::numerics::parallel;

/// E[Y | T = t] and the density of T = ρ(h + ξ), point by point: equations (tndensity2) and
/// (tndensity).
///
/// LS-ECE is the mean of |outcome_rate - t| under this density.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LsCurve {
    /// The smoothed probabilities t, in (0, 1).
    pub probabilities: Vec<f64>,
    /// E[Y | T = t]; NaN where the density is 0 or within its bound, so that there is nothing to
    /// average.
    pub outcome_rates: Vec<f64>,
    /// Density of T at t.
    pub densities: Vec<f64>,
    /// Bounds on the numerical error of the outcome rates.
    pub outcome_rate_bounds: Vec<f64>,
    /// Bounds on the numerical error of the densities.
    pub density_bounds: Vec<f64>,
    /// The scale of the noise.
    pub sigma: f64,
    /// Rows measured.
    pub n: u64,
    /// Probabilities that were moved off 0 or 1 so that their logit is finite.
    pub n_clipped: u64,
}

impl LsCurve {
    /// About how many rows lie within one sigma of each place: n · 2 sigma times the density on the
    /// scale of the logits. A place with few rows says little about the model.
    pub fn rows_within_sigma(&self, link: &dyn Link) -> Vec<f64> {
        let rows = |(t, density): (&f64, &f64)| {
            let on_logits = density * link.derivative(link.inverse(*t, 1.0 - t));
            self.n as f64 * 2.0 * self.sigma * on_logits
        };
        self.probabilities.iter().zip(&self.densities).map(rows).collect()
    }
}

/// The part of the tolerance that spreading points over nodes may cost, relative to the mass at a
/// place.
const PART_OF_NODES: f64 = 0.1;

impl LsEce {
    /// The curve at the probabilities `at`, each inside (0, 1).
    ///
    /// # Cost
    /// Above 4,096 rows and with Gaussian noise: one pass over the rows, then some hundred sums for
    /// each place, which is off by at most a fifth of the tolerance. Otherwise, and at places where
    /// hardly any row is near: a sort, then the rows within reach of the noise for each place.
    ///
    /// # Example
    /// ```
    /// use calipers::{Input, LsEce};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.5], &[1, 0]).check()?;
    /// let curve = LsEce::new().sigma(0.3).curve(&predictions.binary()?, &[0.4, 0.5, 0.6])?;
    /// assert!((curve.outcome_rates[1] - 0.5).abs() < 1e-12);
    /// assert!(curve.densities[1] > curve.densities[0]);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn curve<'s>(&self, sample: impl Into<Sample<'s>>, at: &[f64]) -> Result<LsCurve, Error> {
        let view = match sample.into().binary("a curve")? {
            Binary::Rows(view) => view,
            Binary::Sketch(sketch) => return self.curve_of_sketch(sketch, at),
        };
        check_places(at)?;
        let (points, sigma) = self.points(view)?;
        Ok(self.curve_of(&points, self.kernel(sigma), at, Spread::NONE))
    }

    /// The curve of points, each of which may stand for rows that are spread.
    pub(super) fn curve_of(&self, points: &Points, kernel: Kernel<'_>, at: &[f64], spread: Spread) -> LsCurve {
        let sigma = kernel.sigma;
        let smoothness = Smoothness::new(kernel.noise, kernel.link, sigma);
        let logits: Vec<f64> = at.iter().map(|t| self.link.inverse(*t, 1.0 - t)).collect();
        let from_nodes = from_nodes(points, &kernel, &logits, self.tolerance);
        let regression = from_nodes.iter().any(Option::is_none).then(|| Regression::new(points, kernel));
        let evaluate = |index: usize| {
            let u = logits[index];
            let from_points = || regression.as_ref().map(|points| (points.at(u), points.neglected));
            let (masses, lost) = from_nodes[index].or_else(from_points).unwrap_or_default();
            let shift = points.largest_logit_error + kernel.link.inverse_error(u) + 2.0 * f64::EPSILON * u.abs();
            // An error in the logits, or in u, moves a term by at most as much times sup|K'|, which
            // is at most N_2 / 2, since K' goes from 0 to 0. Noise that jumps has no such bound,
            // and no nodes: there the rows near a jump count in full.
            let by_shift = match (kernel.noise.plateau(), &regression) {
                (Some(half_width), Some(regression)) => {
                    let distance = half_width * kernel.sigma;
                    let slack = shift + spread.farthest + f64::EPSILON * distance;
                    regression.share_at(u, distance, slack) / (2.0 * distance)
                }
                _ => 0.5 * smoothness.second_variation() * shift,
            };
            let rounding = masses.total * 2f64.powi(-44);
            let bound = lost + by_shift + spread.pointwise + spread.moved(&kernel, u) + rounding;
            let slope = self.link.derivative(u);
            // The slope is off by as much as the second derivative lets it for an error in u, and
            // by its own rounding.
            let second = self.link.derivative_bound(2).unwrap_or(f64::INFINITY);
            let slope_error = (second * self.link.inverse_error(u) / slope).min(1.0) + 2f64.powi(-44);
            let density_bound = (bound + masses.total * slope_error) / slope * (1.0 + 1e-12);
            Place { rate: rate(&masses, bound), density: masses.total / slope, density_bound }
        };
        let places: Vec<Place> = parallel::map(at.len(), evaluate);
        LsCurve {
            probabilities: at.to_vec(),
            outcome_rates: places.iter().map(|place| place.rate.0).collect(),
            densities: places.iter().map(|place| place.density).collect(),
            outcome_rate_bounds: places.iter().map(|place| place.rate.1).collect(),
            density_bounds: places.iter().map(|place| place.density_bound).collect(),
            sigma,
            n: points.len() as u64,
            n_clipped: points.n_clipped,
        }
    }
}

/// How far rows may be from the points that stand for them; nowhere, where a point is a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    /// What that moves the mass at a place by, at most.
    pub(super) pointwise: f64,
    /// The distance itself, for noise that jumps.
    pub(super) farthest: f64,
    /// Any share of the rows may have been anywhere beyond ± this, where their points are; infinite
    /// if none was.
    pub(super) moved_beyond: f64,
}

impl Spread {
    pub(super) const NONE: Spread = Spread { pointwise: 0.0, farthest: 0.0, moved_beyond: f64::INFINITY };

    /// The most that rows which were moved can add to the mass at u or take from it: the kernel
    /// that far out, where the density falls and so is at most the probability of the unit before.
    fn moved(&self, kernel: &Kernel<'_>, u: f64) -> f64 {
        if self.moved_beyond == f64::INFINITY {
            return 0.0;
        }
        let units = (self.moved_beyond - u.abs()) / kernel.sigma;
        let peak = 0.5 * kernel.noise.variation(1).unwrap_or(f64::INFINITY);
        (if units > 1.0 && kernel.noise.tail(units - 1.0) < 0.01 { kernel.noise.tail(units - 1.0) } else { peak })
            / kernel.sigma
    }
}

pub(super) fn check_places(at: &[f64]) -> Result<(), Error> {
    // Written so that NaN fails.
    match at.iter().find(|t| !(**t > 0.0 && **t < 1.0)) {
        Some(t) => Err(Error::setting("at", "inside (0, 1)", crate::error::number(*t))),
        None => Ok(()),
    }
}

/// The curve at one place.
struct Place {
    /// Outcome rate and its bound.
    rate: (f64, f64),
    density: f64,
    density_bound: f64,
}

/// The outcome rate and its bound, from masses that are off by at most `bound`.
fn rate(masses: &Masses, bound: f64) -> (f64, f64) {
    if masses.total > bound {
        (masses.positives / masses.total, (2.0 * bound / (masses.total - bound)).min(1.0))
    } else {
        (f64::NAN, 1.0)
    }
}

/// Masses at these places, with what they can be off by, from nodes that many points are spread
/// over; `None` where that is too much for the tolerance, so that the points are to be looked at.
fn from_nodes(points: &Points, kernel: &Kernel<'_>, logits: &[f64], tolerance: f64) -> Vec<Option<(Masses, f64)>> {
    let nodes = if points.len() > MANY { Nodes::new(points, kernel) } else { None };
    let Some(nodes) = nodes else { return vec![None; logits.len()] };
    let lost = nodes.lost(kernel);
    parallel::map_each(logits, |u| {
        let masses = nodes.at(kernel, *u);
        (lost < PART_OF_NODES * tolerance * masses.total).then_some((masses, lost))
    })
}
