//! Fits to many rows by shorter ways than those of sorted rows (`rows.rs`), with the same bits for
//! any order of rows.
//!
//! For isotonic regression of rows without weights see `steps.rs`. Formulas take two passes, and no
//! sort. Rows are counted in cells first (`cells.rs`), and the fit to the cells is the start. One
//! pass over the rows (`pass.rs`) then gives the gradient g and the Hessian H of J there, and one
//! Newton step v = -H⁻¹ g the parameters. Sums over rows are of integers or of multiples of a power
//! of two, so that neither the order of rows nor the number of threads changes a bit.
//!
//! # The certificate after the step
//! Names are those of [`recalibrate`](crate::recalibrate), with τ = ρ |v|.
//!
//! 1. By step 2 of its proof the Hessian changes by a factor between e^-τs and e^τs on the way s v.
//! 2. The gradient at the end is ∫ (H(s v) - H) v ds over s from 0 to 1, since g + H v = 0. By 1.
//!    its size in the norm of H⁻¹ is at most |v| ∫ (e^τs - 1) ds = |v| (e^τ - 1 - τ) / τ, which is
//!    at most τ |v| for τ <= 1.
//! 3. Rounding adds what it adds to g, and what it moves the parameters by. In the norm of the
//!    Hessian at the end δ and ρ are larger by a factor of at most e^(τ/2), by 1. again.
//!
//! Where τ |v| is not below rounding the pass is repeated from there. What this does not suit is
//! left to the fit of sorted rows: few rows or scores, large logits, slopes that are held at 0,
//! what has no solution.

mod cells;
mod pass;
mod steps;

use cells::Cells;
use pass::{Beta, Family, Means, Pass, Platt, Shift, Temperature};
use steps::Labelled;

use super::formula::{Fitter, Formula};
use super::linear::{Basis, Design};
use super::logits;
use super::map::BinaryMap;
use crate::data::BinaryView;
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::recalibrate::fit::newton::{self, FitBound, Local};
use crate::recalibrate::fit::reported::Summary;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Fitted, Recalibrate};

/// Fewer rows are sorted.
const MANY: usize = 1 << 16;

/// Rows in fewer cells are sorted, too: they have few scores.
const FEWEST_CELLS: usize = 64;

/// Passes at most; one is enough unless weights are very unequal.
const MOST_PASSES: usize = 4;

/// Standard errors are known to half of this share of themselves at least.
const SCATTER_ERROR: f64 = 1e-8;

/// A step may turn the Hessian by so much, and with it the standard errors.
const SMALL_TURN: f64 = 1e-7;

/// A fit with what is to be reported.
pub(crate) struct Unsorted {
    pub(crate) fitted: Fitted,
    /// Of the gradients of a formula.
    pub(crate) scatter: Option<Symmetric>,
    pub(crate) summary: Summary,
    pub(crate) clipped: logits::Clipped,
}

impl Recalibrate {
    /// The fit of a formula to many rows; `None` where it is left to sorted rows.
    pub(crate) fn fit_unsorted(&self, view: &BinaryView<'_>) -> Option<Unsorted> {
        // Weights that count rows give the bits of repeated rows, which these sums do not.
        if view.len() < MANY || view.len() > u32::MAX as usize || self.counts {
            return None;
        }
        match self.method {
            Method::Shift => self.fit_family::<Shift>(view),
            Method::Temperature => self.fit_family::<Temperature>(view),
            Method::Platt => self.fit_family::<Platt>(view),
            Method::Beta => self.fit_family::<Beta>(view),
            Method::Isotonic => self.fit_steps(view),
            _ => None,
        }
    }

    fn fit_steps(&self, view: &BinaryView<'_>) -> Option<Unsorted> {
        if view.is_weighted() {
            return None;
        }
        let rows = Labelled::new(view, self.clip)?;
        let counts = rows.counts();
        if counts.contains(&0) {
            return None;
        }
        let n = view.len() as f64;
        let mixture = self.mixture.unwrap_or(1.0 / (n + 1.0));
        let steps = rows.steps(self.between);
        let mut map = BinaryMap { method: self.method, mixture, clip: self.clip, ..BinaryMap::identity() };
        let summary = Summary {
            n: view.len() as u64,
            effective_n: n,
            totals: counts.map(|count| count as f64),
            n_scores: steps.n_scores,
            log_loss_before: rows.loss,
            log_loss_after: steps.loss(&map),
        };
        let effective_parameters = steps.len() as f64;
        map.table = Some(steps.table);
        let fitted = Fitted { map, formula: None, effective_parameters, spread: None, notes: Vec::new() };
        Some(Unsorted { fitted, scatter: None, summary, clipped: rows.clipped })
    }

    fn fit_family<F: Family>(&self, view: &BinaryView<'_>) -> Option<Unsorted> {
        if self.mixture.is_some_and(|mixture| mixture > 0.0) {
            return None;
        }
        let scale = logits::weight_scale(view);
        let cells = Cells::new(view, self.clip, scale);
        if cells.is_beyond || cells.n_occupied() < FEWEST_CELLS {
            return None;
        }
        let points = cells.points();
        points.check_outcomes().ok()?;
        let fitter = Fitter { method: self.method, ridge: self.ridge_in_use() };
        let start = fitter.fit(&Design::new(self.method, &points), &points).ok()?;
        let counts = (!view.is_weighted()).then(|| cells.counts());
        let pass = Pass { view, clip: self.clip, scale, counts, ends: cells.ends()? };
        let end = End::from::<F>(&pass, &start, fitter.ridge)?;
        let falls = end.theta[..self.method.n_slopes()].iter().any(|slope| *slope < 0.0);
        if falls || !(end.means.scatter_error <= SCATTER_ERROR) {
            return None;
        }
        let Means { scatter, hessian, before, effective_n, totals, .. } = end.means;
        let map =
            BinaryMap { method: self.method, parameters: end.theta.clone(), clip: self.clip, ..BinaryMap::identity() };
        let formula = Formula {
            basis: Basis::Plain(self.method),
            theta: end.theta,
            centre: self.method.identity().to_vec(),
            free: start.free,
            bound: end.bound,
            factor: end.factor,
            information: hessian,
            penalties: vec![fitter.ridge / effective_n; F::N],
        };
        let effective_parameters = formula.effective_parameters();
        Some(Unsorted {
            fitted: Fitted { map, formula: Some(formula), effective_parameters, spread: None, notes: Vec::new() },
            scatter: Some(scatter),
            summary: Summary {
                n: cells.n,
                effective_n,
                totals,
                n_scores: cells.n_occupied(),
                log_loss_before: before,
                log_loss_after: end.loss,
            },
            clipped: cells.clipped,
        })
    }
}

/// Where the steps end.
struct End {
    theta: Vec<f64>,
    bound: FitBound,
    /// Mean log-loss, without the ridge.
    loss: f64,
    /// The Hessian of J before the last step, and what else is known from there.
    factor: Cholesky,
    means: Means,
}

impl End {
    /// From the fit to the cells.
    fn from<F: Family>(pass: &Pass<'_>, start: &Formula, ridge: f64) -> Option<Self> {
        if start.free.len() < F::N {
            return None;
        }
        let centre = &start.centre;
        let mut theta = start.theta.clone();
        for _ in 0..MOST_PASSES {
            let means = pass.at::<F>(&theta);
            let penalty = ridge / means.effective_n;
            let local = penalised(&means, &theta, centre, penalty);
            let factor = Cholesky::new(&local.hessian)?;
            let step = factor.solve(&local.gradient);
            let length = newton::dot(&step, &local.gradient).sqrt();
            let reach = reach::<F>(&factor, pass.ends);
            let turn = reach * length;
            if !(turn <= 1.0) {
                return None;
            }
            let next: Vec<f64> = theta.iter().zip(&step).map(|(theta, step)| theta - step).collect();
            let moved = next.iter().enumerate().map(|(j, theta)| {
                let unit = 0.5 * f64::EPSILON * theta.abs();
                unit * local.hessian.get(j, j).sqrt()
            });
            let rounding = newton::rounding(&local, &factor) + moved.sum::<f64>();
            if turn * length <= rounding && turn <= SMALL_TURN {
                let stretch = (0.5 * turn).exp();
                let delta = stretch * (turn * length + rounding);
                let bound = FitBound::near(delta, stretch * reach, means.effective_n.sqrt())?;
                // To second order in the step, which is all.
                let along = |i: usize| (0..F::N).map(|j| means.hessian.get(i, j) * step[j]).sum::<f64>();
                let change = (0..F::N).map(|i| step[i] * (0.5 * along(i) - means.gradient[i])).sum::<f64>();
                return Some(End { theta: next, bound, loss: means.loss + change, factor, means });
            }
            theta = next;
        }
        None
    }
}

/// J from the mean log-loss.
fn penalised(means: &Means, theta: &[f64], centre: &[f64], penalty: f64) -> Local {
    let mut local = Local {
        value: means.loss,
        gradient: means.gradient.clone(),
        gradient_error: means.gradient_error.clone(),
        hessian: means.hessian.clone(),
    };
    for (j, (theta, centre)) in theta.iter().zip(centre).enumerate() {
        let away = theta - centre;
        local.value += penalty * away * away;
        local.gradient[j] += 2.0 * penalty * away;
        local.gradient_error[j] += 4.0 * f64::EPSILON * penalty * (theta.abs() + centre.abs());
        local.hessian.add(j, j, 2.0 * penalty);
    }
    local
}

/// ρ or more: Σ |φ_j| √(H⁻¹)_jj with the largest of each feature, which is at one of the ends,
/// since features rise or fall with the logit.
fn reach<F: Family>(factor: &Cholesky, ends: [f64; 2]) -> f64 {
    let at = ends.map(|h| Basis::Plain(F::METHOD).features(h));
    let own = factor.inverse_diagonal();
    own.iter().enumerate().map(|(j, own)| at[0][j].abs().max(at[1][j].abs()) * own.sqrt()).sum()
}
