//! The true ECE, LS-ECE and residual LS-ECE of a family, by integration.

use super::family::Family;
use crate::link::{Link, Logistic};
use crate::noise::Noise;
use crate::numerics::parallel;
use crate::numerics::quadrature::{Quadrature, absolute, kronrod};
use crate::{Error, error};

/// What the integrals are asked to be good to. Rounding of the inner integrals is near 1e-15.
const TOLERANCE: f64 = 1e-12;

/// More would take minutes: a family whose logits range over hundreds, or noise that is far too
/// narrow.
const MOST_PANELS: f64 = 1e6;

/// Mass of the noise that is left out on both sides.
const NEGLIGIBLE: f64 = 1e-17;

/// A value of a known distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Exact {
    /// The value.
    pub value: f64,
    /// What two rules of integration differ by, and what was cut off: an estimate of the numerical
    /// error from above. Tests hold it against independent computations.
    pub error: f64,
}

/// Densities of the smoothed logit h + ξ at one point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SmoothedMass {
    /// With outcome 1: the density of (h + ξ, Y = 1).
    pub positive: f64,
    /// With either outcome.
    pub total: f64,
}

impl Family {
    /// The true ECE of the predictor rho(h).
    ///
    /// # Definition
    /// ```text
    /// ECE = ∫ |η(h) - ρ(h)| p(h) dh + Σ_atoms m |η(h) - ρ(h)|,      η(h) = P(Y = 1 | h)
    /// ```
    /// The predictor is strictly increasing in h, so E[Y | rho(h)] is η(h).
    pub fn ece(&self) -> Exact {
        if self.is_calibrated() {
            return Exact { value: 0.0, error: 0.0 };
        }
        let gap = |h: f64| self.truth().gap(h, h) * self.logits().density(h);
        let breaks = self.breaks(0.0, &[0.0]);
        let smooth: Quadrature = breaks
            .windows(2)
            .flat_map(|ends| panels(ends[0], ends[1], self.scale()))
            .map(|(a, b)| absolute(&gap, a, b, TOLERANCE * 1e-2))
            .sum();
        let atoms: f64 =
            self.logits().atoms().iter().map(|atom| atom.mass * self.truth().gap(atom.logit, atom.logit).abs()).sum();
        Exact { value: smooth.value + atoms, error: smooth.error + 1e-15 }
    }

    /// The true LS-ECE of the logits h, for noise ξ of scale sigma and the logistic link.
    ///
    /// # Definition
    /// ```text
    /// LS-ECE = ∫ |G(u)| du,    G(u) = ∫ (η(h) - ρ(u)) p(h) p_ξ(u - h) dh + Σ_atoms m (η(h) - ρ(u)) p_ξ(u - h)
    /// ```
    /// # Cost
    /// Some hundred thousand to some ten million evaluations of the density, more for small sigma;
    /// all cores.
    pub fn ls_ece(&self, noise: &dyn Noise, sigma: f64) -> Result<Exact, Error> {
        let smoothing = Smoothing::new(self, noise, sigma)?;
        self.integrate_abs(&smoothing, |u| smoothing.integrate(u, |h| self.truth().gap(h, u)))
    }

    /// The true residual form of LS-ECE, for noise ξ of scale sigma and the logistic link.
    ///
    /// # Definition
    /// ```text
    /// V = ∫ |R(u)| du,    R(u) = ∫ (η(h) - ρ(h)) p(h) p_ξ(u - h) dh + Σ_atoms m (η(h) - ρ(h)) p_ξ(u - h)
    /// ```
    /// # Cost
    /// That of [`ls_ece`](Self::ls_ece).
    pub fn residual_ls_ece(&self, noise: &dyn Noise, sigma: f64) -> Result<Exact, Error> {
        let smoothing = Smoothing::new(self, noise, sigma)?;
        if self.is_calibrated() {
            return Ok(Exact { value: 0.0, error: 0.0 });
        }
        self.integrate_abs(&smoothing, |u| smoothing.integrate(u, |h| self.truth().gap(h, h)))
    }

    /// The integral of |f| over all u that the noise gets to.
    fn integrate_abs(&self, smoothing: &Smoothing<'_>, f: impl Fn(f64) -> f64 + Sync) -> Result<Exact, Error> {
        let breaks = self.breaks(smoothing.reach, &smoothing.kinks());
        let length = breaks[breaks.len() - 1] - breaks[0];
        let least = format!("at least {:.1e} for this family", length / (4.0 * MOST_PANELS));
        let valid = length / (4.0 * smoothing.panel) <= MOST_PANELS;
        Error::require(valid, "sigma", least, error::number(smoothing.sigma))?;
        let panels: Vec<(f64, f64)> =
            breaks.windows(2).flat_map(|ends| panels(ends[0], ends[1], 4.0 * smoothing.panel)).collect();
        let tolerance = TOLERANCE / panels.len() as f64;
        let parts = parallel::map(panels.len(), |index| absolute(&f, panels[index].0, panels[index].1, tolerance));
        let total: Quadrature = parts.into_iter().sum();
        Ok(Exact { value: total.value, error: total.error + 1e-14 })
    }

    /// Densities of h + ξ at some points: what kernel estimates estimate.
    pub fn smoothed(&self, noise: &dyn Noise, sigma: f64, at: &[f64]) -> Result<Vec<SmoothedMass>, Error> {
        let smoothing = Smoothing::new(self, noise, sigma)?;
        if let Some(&point) = at.iter().find(|point| !point.is_finite()) {
            return Err(Error::setting("at", "finite", error::number(point)));
        }
        Ok(parallel::map(at.len(), |index| smoothing.mass(at[index])))
    }

    /// Where the integrand over u may not be smooth: breaks of density and truth, moved by each of
    /// `kinks`; and the ends.
    fn breaks(&self, reach: f64, kinks: &[f64]) -> Vec<f64> {
        let (from, to) = self.window();
        let own = self.logits().breaks().iter().chain(self.truth().breaks());
        let atoms = self.logits().atoms().iter().map(|atom| &atom.logit);
        let mut breaks: Vec<f64> =
            own.chain(atoms).chain([&from, &to]).flat_map(|at| kinks.iter().map(move |kink| at + kink)).collect();
        breaks.extend([from - reach, to + reach]);
        breaks.retain(|&at| (from - reach..=to + reach).contains(&at));
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        breaks
    }

    /// Logits outside have no density, or a truth that is 0 or 1 as predicted.
    fn window(&self) -> (f64, f64) {
        let (from, to) = self.logits().support();
        let atoms = self.logits().atoms().iter().map(|atom| atom.logit);
        let (from, to) = atoms.fold((from, to), |ends, atom| (ends.0.min(atom), ends.1.max(atom)));
        let saturated = self.truth().saturated();
        (from.max(-saturated), to.min(saturated))
    }

    fn scale(&self) -> f64 {
        self.logits().scale().min(self.truth().scale())
    }
}

/// A family with noise of some scale.
struct Smoothing<'a> {
    family: &'a Family,
    noise: &'a dyn Noise,
    sigma: f64,
    /// The noise is negligible beyond.
    reach: f64,
    /// Over this length everything is smooth but for breaks.
    panel: f64,
}

impl<'a> Smoothing<'a> {
    fn new(family: &'a Family, noise: &'a dyn Noise, sigma: f64) -> Result<Self, Error> {
        Error::require((1e-6..=1e3).contains(&sigma), "sigma", "in [1e-6, 1e3]", error::number(sigma))?;
        let reach = (1..=4096).map(|k| f64::from(k) / 32.0).find(|&x| noise.tail(x) <= NEGLIGIBLE);
        let reach = reach.ok_or_else(|| Error::setting("noise", "one with light tails", noise.name()))?;
        let panel = sigma.min(family.scale()).min(1.0);
        Ok(Smoothing { family, noise, sigma, reach: reach * sigma, panel })
    }

    /// Where the density of the noise, or a slope of it, jumps.
    fn kinks(&self) -> Vec<f64> {
        let edge = [-self.reach, 0.0, self.reach];
        self.noise.kinks().iter().map(|kink| kink * self.sigma).chain(edge).collect()
    }

    fn mass(&self, u: f64) -> SmoothedMass {
        let truth = self.family.truth();
        SmoothedMass {
            positive: self.integrate(u, |h| Logistic.response(truth.logit(h))),
            total: self.integrate(u, |_| 1.0),
        }
    }

    /// E[f(h) p_ξ(u - h)].
    fn integrate(&self, u: f64, f: impl Fn(f64) -> f64) -> f64 {
        let density = |h: f64| self.noise.density((u - h) / self.sigma) / self.sigma;
        let logits = self.family.logits();
        let (from, to) = logits.support();
        let (from, to) = (from.max(u - self.reach), to.min(u + self.reach));
        // No density within reach: nothing lies between the ends, whichever comes first.
        let to = to.max(from);
        let mut cuts = vec![from, to];
        let kinks = self.noise.kinks().iter().map(|kink| u - kink * self.sigma);
        let own = logits.breaks().iter().chain(self.family.truth().breaks()).copied();
        cuts.extend(kinks.chain(own).filter(|cut| from < *cut && *cut < to));
        cuts.sort_by(f64::total_cmp);
        let smooth: f64 = cuts
            .windows(2)
            .flat_map(|ends| panels(ends[0], ends[1], self.panel))
            .map(|(a, b)| kronrod(a, b, |h| f(h) * logits.density(h) * density(h)))
            .sum();
        let atoms: f64 = logits.atoms().iter().map(|atom| atom.mass * f(atom.logit) * density(atom.logit)).sum();
        smooth + atoms
    }
}

/// [a, b] in equal panels no longer than `longest`.
fn panels(a: f64, b: f64, longest: f64) -> impl Iterator<Item = (f64, f64)> {
    let n = if b > a { ((b - a) / longest).ceil().max(1.0) } else { 0.0 };
    let at = move |k: f64| if k == n { b } else { a + (b - a) * (k / n) };
    (0..n as u64).map(move |k| (at(k as f64), at(k as f64 + 1.0)))
}
