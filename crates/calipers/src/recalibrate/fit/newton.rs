//! The convex solver: Newton's method with step halving, and a certificate of what it found. The
//! documentation of [`recalibrate`](crate::recalibrate) has the proof, and names are as there.

use crate::Error;
use crate::numerics::cholesky::{Cholesky, Symmetric};

/// Newton steps at most; convergence takes 4 to 10.
const MOST_STEPS: u32 = 200;

/// From here on steps are taken as they are: they converge quadratically, and J is flat to
/// rounding.
const NEAR: f64 = 1e-7;

/// A gap in nats that strong convexity must prove where step 4 of the proof does not apply.
const SMALL_GAP: f64 = 1e-12;

/// How far a fit is from the optimum of its objective at most: numerical, not statistical. See the
/// proof in [`recalibrate`](crate::recalibrate).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FitBound {
    /// Distance of the parameters from the optimum, in their own standard errors.
    pub standard_errors: f64,
    /// By how much the objective is above its minimum, in nats per unit of weight.
    pub nats: f64,
}

impl FitBound {
    /// Steps 4 and 5 of the proof, where they apply.
    pub(crate) fn near(delta: f64, reach: f64, root_n: f64) -> Option<Self> {
        let e = std::f64::consts::E;
        let bound = FitBound { standard_errors: e * delta * root_n, nats: 0.25 * e * delta * delta };
        (reach * delta * e < 1.0).then_some(bound)
    }
}

/// J and its derivatives at a point.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
    /// Bounds on the rounding errors of the gradient.
    pub(crate) gradient_error: Vec<f64>,
    pub(crate) hessian: Symmetric,
}

/// What [`minimise`] works on.
pub(crate) trait Objective {
    fn at(&self, theta: &[f64]) -> Local;

    /// ρ of the proof.
    fn reach(&self, hessian: &Cholesky) -> f64;

    /// Coefficients λ of the ridge Σ λ_j (θ_j - c_j)².
    fn ridge(&self) -> &[f64];

    fn effective_n(&self) -> f64;
}

/// The minimum of an objective.
#[derive(Debug, Clone)]
pub(crate) struct Minimum {
    pub(crate) theta: Vec<f64>,
    pub(crate) factor: Cholesky,
    pub(crate) bound: FitBound,
}

/// No point was found that can be proven to be near the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotFound;

impl NotFound {
    /// For the user.
    pub(crate) fn error(self) -> Error {
        let reason = "Newton's method does not converge: the outcomes are all but separated by the scores, so there is \
                      no finite fit; use a ridge above 0";
        Error::ToleranceNotMet { tolerance: SMALL_GAP, attainable: f64::INFINITY, reason }
    }
}

/// The minimum of J, from `start` on.
pub(crate) fn minimise(objective: &dyn Objective, start: &[f64]) -> Result<Minimum, NotFound> {
    let mut theta = start.to_vec();
    let mut local = objective.at(&theta);
    for _ in 0..MOST_STEPS {
        if !local.value.is_finite() {
            return Err(NotFound);
        }
        let factor = Cholesky::new(&local.hessian).ok_or(NotFound)?;
        let step = factor.solve(&local.gradient);
        let decrement = dot(&step, &local.gradient);
        if !decrement.is_finite() {
            return Err(NotFound);
        }
        // In the sense of the sums of n rows, of which the smallest change matters, too.
        if decrement.sqrt() <= NEAR {
            return finish(objective, theta, local, factor);
        }
        // Halved until J falls by a share of what its slope promises (Armijo), up to rounding.
        let slack = 1e-14 * (1.0 + local.value.abs());
        let mut factor = 1.0;
        loop {
            let next: Vec<f64> = theta.iter().zip(&step).map(|(theta, step)| theta - factor * step).collect();
            let there = objective.at(&next);
            if there.value <= local.value - 1e-4 * factor * decrement + slack {
                (theta, local) = (next, there);
                break;
            }
            factor *= 0.5;
            if factor < 1e-12 {
                return Err(NotFound);
            }
        }
    }
    Err(NotFound)
}

/// Full steps while they lower δ, then the certificate.
fn finish(
    objective: &dyn Objective,
    mut theta: Vec<f64>,
    mut local: Local,
    mut factor: Cholesky,
) -> Result<Minimum, NotFound> {
    for _ in 0..3 {
        // What is left is rounding.
        if local.gradient.iter().zip(&local.gradient_error).all(|(gradient, error)| gradient.abs() <= *error) {
            break;
        }
        let step = factor.solve(&local.gradient);
        let next: Vec<f64> = theta.iter().zip(&step).map(|(theta, step)| theta - step).collect();
        let there = objective.at(&next);
        let Some(next_factor) = Cholesky::new(&there.hessian) else { break };
        if next_factor.inverse_form(&there.gradient) >= 0.25 * factor.inverse_form(&local.gradient) {
            break;
        }
        (theta, local, factor) = (next, there, next_factor);
    }
    let bound = certify(objective, &local, &factor)?;
    Ok(Minimum { theta, factor, bound })
}

/// The proof of the module, with the numbers of a point.
pub(crate) fn certify(objective: &dyn Objective, local: &Local, factor: &Cholesky) -> Result<FitBound, NotFound> {
    let delta = decrement(local, factor);
    let root_n = objective.effective_n().sqrt();
    if let Some(bound) = FitBound::near(delta, objective.reach(factor), root_n) {
        return Ok(bound);
    }
    let gradient = local.gradient.iter().zip(&local.gradient_error).map(|(g, error)| g.abs() + error);
    let gap: f64 = gradient.zip(objective.ridge()).map(|(g, ridge)| g * g / (4.0 * ridge)).sum();
    // Strong convexity bounds the distance, too: λ |v|² <= gap in every coordinate.
    let distance = local.hessian.n as f64 * gap.sqrt() * largest_scale(&local.hessian, objective.ridge());
    if gap <= SMALL_GAP { Ok(FitBound { standard_errors: distance * root_n, nats: gap }) } else { Err(NotFound) }
}

/// δ of the proof, with what rounding can add to it.
pub(crate) fn decrement(local: &Local, factor: &Cholesky) -> f64 {
    factor.inverse_form(&local.gradient).sqrt() + rounding(local, factor)
}

/// What rounding of the gradient can add to δ: |e|_H⁻¹ <= Σ |e_j| √(H⁻¹)_jj.
pub(crate) fn rounding(local: &Local, factor: &Cholesky) -> f64 {
    let entry = |(j, error): (usize, &f64)| {
        let mut unit = vec![0.0; local.gradient.len()];
        unit[j] = *error;
        factor.inverse_form(&unit).sqrt()
    };
    local.gradient_error.iter().enumerate().map(entry).sum()
}

/// max_j √(H_jj / λ_j).
fn largest_scale(hessian: &Symmetric, ridge: &[f64]) -> f64 {
    ridge.iter().enumerate().map(|(j, ridge)| (hessian.get(j, j) / ridge).sqrt()).fold(0.0, f64::max)
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
