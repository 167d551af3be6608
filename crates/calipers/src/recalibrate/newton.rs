//! The convex solver: Newton's method with step halving, and a certificate of what it found.
//!
//! # The certificate
//! J is a weighted mean of losses f(φ_i' θ) plus a ridge, where φ_i are features of row i (for
//! several classes, the differences between features of two classes). At the point θ that is
//! returned let g be the gradient, H the Hessian, |v| = √(v' H v), δ = √(g' H⁻¹ g) and
//! ρ = max_i √(φ_i' H⁻¹ φ_i).
//!
//! 1. The logistic loss has |f'''| <= f'', since f''' = f'' (1 - 2σ). The loss of several classes
//!    has the same with the range of φ' v over classes in place of |φ' v|: a third central moment
//!    is at most the range times the variance.
//! 2. So along any v, the function F(s) = J(θ + s v) has |F'''(s)| <= τ F''(s) with
//!    τ = max_i |φ_i' v| <= ρ |v|, by Cauchy's inequality in the norm of H. The ridge adds nothing
//!    to F''' and something to F''.
//! 3. Hence F''(s) >= F''(0) e^(-τ s), and after two integrations
//!    J(θ + v) >= J(θ) + g' v + q(τ) |v|² with q(τ) = (e^-τ + τ - 1) / τ², which falls with τ.
//! 4. With g' v >= -δ |v|: on the sphere |v| = 1 / ρ, where q >= q(1) = 1/e, the bound is above
//!    J(θ) if ρ δ < 1/e. J is convex, so its minimum is inside that sphere.
//! 5. Inside, J(θ + v) >= J(θ) - δ |v| + |v|² / e. At the minimum this is at most J(θ): so the
//!    minimum is at a distance |v| <= e δ, and J(θ) is above it by at most e δ² / 4.
//!
//! Where ρ δ >= 1/e, a ridge with coefficients λ_j still proves J(θ) - min J <= Σ g_j² / (4 λ_j),
//! since J is then strongly convex. If that is small enough it is reported; if not, there is an
//! error. |v| √n is a distance in standard errors: H / n⁻¹ is the information of n rows. Rounding of
//! the gradient is part of δ: every entry of g is known to within a bound that is added up with it.

use crate::Error;
use crate::numerics::cholesky::{Cholesky, Symmetric};

/// Newton steps at most; convergence takes 4 to 10.
const MOST_STEPS: u32 = 200;

/// From here on steps are taken as they are: they converge quadratically, and J is flat to rounding.
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
    let delta = factor.inverse_form(&local.gradient).sqrt() + rounding(local, factor);
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

/// What rounding of the gradient can add to δ: |e|_H⁻¹ <= Σ |e_j| √(H⁻¹)_jj.
fn rounding(local: &Local, factor: &Cholesky) -> f64 {
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
