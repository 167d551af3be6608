//! The minimum of [`Scaling`]: Newton's method with a factor of the Hessian that is kept as long as
//! it serves, corrected by the steps that were taken with it (`memory.rs`), and for very many
//! parameters with conjugate gradients in place of the factor. The certificate is that of
//! [`recalibrate`](crate::recalibrate), and names are as there.
//!
//! # A Hessian of a place nearby
//! The last steps use the Hessian of an earlier place. Let w be the way from there in its norm and
//! τ = ρ |w|. By step 2 of the proof the Hessian changes by a factor between e^-τ and e^τ on the
//! way, so δ and ρ of the last place are at most e^(τ/2) times those in the norm of the earlier
//! one. If τ is above 1/10 the Hessian is computed anew.
//!
//! # The distance without a factor
//! With conjugate gradients the gap is Σ g_j² / (4 λ_j) by strong convexity. Let v be the way to
//! the minimum. Then Σ λ_j v_j² is at most the gap, and v' H v <= (Σ |v_j| √H_jj)² <= gap Σ H_jj /
//! λ_j by Cauchy's inequality, twice: the distance follows from the diagonal of H.

use super::memory::Memory;
use super::{At, Scaling, Shape};
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::recalibrate::fit::newton::{FitBound, NotFound, dot};

/// Up to so many parameters there is a Hessian; with more, only products with it.
pub(crate) const MOST_DENSE: usize = 600;

/// Steps at most; convergence takes 5 to 15.
const MOST_STEPS: u32 = 200;

/// From here on steps are taken as they are, in nats^(1/2).
const NEAR: f64 = 1e-7;

/// The gap in nats that strong convexity must prove.
const SMALL_GAP: f64 = 1e-12;

/// With more parameters than this a Hessian takes as long as several steps.
const MANY: usize = 100;

/// Last steps at most; each of them halves the distance at least.
const MOST_LAST: u32 = 30;

/// By how much a Hessian that standard errors come from may have turned since.
const SMALL_TURN: f64 = 1e-4;

/// A fitted map, with what its errors are computed from.
pub(crate) struct Minimum {
    /// All coordinates.
    pub(crate) all: Vec<f64>,
    pub(crate) bound: FitBound,
    pub(crate) at: At,
    pub(crate) dense: Option<Dense>,
}

/// The Hessian at a minimum.
pub(crate) struct Dense {
    /// That of J, factored, and that of the loss, in the free coordinates.
    pub(crate) factor: Cholesky,
    pub(crate) information: Symmetric,
    /// The diagonal of the inverse of J's.
    pub(crate) inverse_diagonal: Vec<f64>,
    /// That of the loss in all coordinates, where it is of the very place.
    pub(crate) whole: Option<Vec<f64>>,
}

/// J at some place.
struct Place {
    theta: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    at: At,
}

impl Scaling {
    /// The minimum of J from some coordinates on.
    /// `with_errors`: with the Hessian of the very place, from which its standard errors are.
    pub(crate) fn minimise(&self, start: &[f64], with_errors: bool) -> Result<Minimum, NotFound> {
        let start: Vec<f64> = self.free.iter().map(|at| start[*at]).collect();
        let can_iterate = self.ridge.iter().all(|ridge| *ridge > 0.0);
        if self.free.len() > MOST_DENSE && can_iterate {
            self.by_products(start)
        } else {
            self.by_factor(start, with_errors)
        }
    }

    /// J and its gradient; `spare` is memory that is not needed any more.
    fn place(&self, theta: Vec<f64>, spare: &mut Vec<f64>) -> Place {
        let at = self.at(&self.expand(&theta), std::mem::take(spare));
        let mut gradient = self.gather(&at.gradient);
        let mut value = at.loss;
        let centre = self.centre();
        for (j, ridge) in self.ridge.iter().enumerate() {
            let away = theta[j] - centre[j];
            value += ridge * away * away;
            gradient[j] += 2.0 * ridge * away;
        }
        for (coordinates, coefficient) in self.gauges_in_use() {
            let sum: f64 = coordinates.iter().map(|j| theta[*j]).sum();
            value += coefficient * sum * sum;
            coordinates.iter().for_each(|j| gradient[*j] += 2.0 * coefficient * sum);
        }
        Place { theta, value, gradient, at }
    }

    /// What the ridge pulls to: the map that leaves g as it is.
    pub(crate) fn centre(&self) -> Vec<f64> {
        let all = self.of_slope(1.0);
        self.free.iter().map(|at| all[*at]).collect()
    }

    fn gauges_in_use(&self) -> Vec<(Vec<usize>, f64)> {
        if self.has_gauges { self.gauges() } else { Vec::new() }
    }

    /// The Hessian of J from that of the loss.
    pub(crate) fn penalised(&self, information: &Symmetric) -> Symmetric {
        let mut hessian = information.clone();
        self.ridge.iter().enumerate().for_each(|(j, ridge)| hessian.add(j, j, 2.0 * ridge));
        if self.has_gauges { self.gauged(&hessian) } else { hessian }
    }

    /// A Hessian with the curvature of gauges.
    pub(crate) fn gauged(&self, hessian: &Symmetric) -> Symmetric {
        let mut hessian = hessian.clone();
        for (coordinates, coefficient) in self.gauges() {
            for (at, i) in coordinates.iter().enumerate() {
                coordinates[..=at].iter().for_each(|j| hessian.add(*i, *j, 2.0 * coefficient));
            }
        }
        hessian
    }

    fn by_factor(&self, start: Vec<f64>, with_errors: bool) -> Result<Minimum, NotFound> {
        let mut spare = Vec::new();
        let mut here = self.place(start, &mut spare);
        // The first steps need no more than about the Hessian.
        let of_some = Factored::of_rows(self, &here, self.n_sample());
        let mut newton = of_some.or_else(|_| Factored::new(self, &here))?;
        let mut memory = Memory::default();
        for _ in 0..MOST_STEPS {
            let step = memory.direction(&newton.factor, &here.gradient);
            let decrement = dot(&step, &here.gradient);
            if !(decrement.is_finite() && here.value.is_finite()) {
                return Err(NotFound);
            }
            if decrement.sqrt() <= NEAR {
                return self.finish(here, newton, with_errors, spare);
            }
            let Some(next) = self.line_search(&here, &step, decrement, &mut spare) else {
                // With a factor from elsewhere the direction may be a bad one.
                if newton.is_of(&here) {
                    return Err(NotFound);
                }
                (newton, memory) = (Factored::new(self, &here)?, Memory::default());
                continue;
            };
            memory.add([&here.theta, &next.theta], [&here.gradient, &next.gradient]);
            let before = newton.factor.inverse_form(&here.gradient);
            spare = std::mem::replace(&mut here, next).at.p;
            // The factor serves as long as a step with it leaves a fifth of the distance at most,
            // or a third where another one takes as long as many steps.
            let most = if self.free.len() > MANY { 0.11 } else { 0.04 };
            if newton.factor.inverse_form(&here.gradient) > most * before {
                (newton, memory) = (Factored::new(self, &here)?, Memory::default());
            }
        }
        Err(NotFound)
    }

    /// Steps are halved until J falls by a share of what its slope promises (Armijo), up to
    /// rounding.
    fn line_search(&self, here: &Place, step: &[f64], decrement: f64, spare: &mut Vec<f64>) -> Option<Place> {
        let slack = 1e-14 * (1.0 + here.value.abs());
        let mut share = 1.0;
        while share >= 1e-12 {
            let theta = here.theta.iter().zip(step).map(|(theta, step)| theta - share * step).collect();
            let next = self.place(theta, spare);
            if next.value <= here.value - 1e-4 * share * decrement + slack {
                return Some(next);
            }
            *spare = next.at.p;
            share *= 0.5;
        }
        None
    }

    /// Full steps while they help, then the certificate.
    fn finish(
        &self,
        mut here: Place,
        mut newton: Factored,
        with_errors: bool,
        mut spare: Vec<f64>,
    ) -> Result<Minimum, NotFound> {
        if !newton.is_whole {
            newton = Factored::new(self, &here)?;
        }
        for _ in 0..MOST_LAST {
            let step = newton.factor.solve(&here.gradient);
            let theta = here.theta.iter().zip(&step).map(|(theta, step)| theta - step).collect();
            let next = self.place(theta, &mut spare);
            if newton.factor.inverse_form(&next.gradient) >= 0.25 * newton.factor.inverse_form(&here.gradient) {
                break;
            }
            spare = std::mem::replace(&mut here, next).at.p;
        }
        // Standard errors are those of the Hessian, so that it has to be of the place.
        let most = if with_errors { SMALL_TURN } else { 0.1 };
        let mut inverse_diagonal = newton.factor.inverse_diagonal();
        let mut reach = self.reach(&inverse_diagonal);
        let mut turn = reach * newton.distance(&here);
        if !(turn <= most) {
            newton = Factored::new(self, &here)?;
            inverse_diagonal = newton.factor.inverse_diagonal();
            (reach, turn) = (self.reach(&inverse_diagonal), 0.0);
        }
        let stretch = (0.5 * turn).exp();
        let all = self.expand(&here.theta);
        let error = self.rounding(&all, &here);
        let rounding: f64 = error.iter().zip(&inverse_diagonal).map(|(error, own)| error * own.sqrt()).sum();
        let delta = newton.factor.inverse_form(&here.gradient).sqrt() + rounding;
        let near = FitBound::near(stretch * delta, stretch * reach, self.effective_n.sqrt());
        let gap: f64 = self.gap(&here, &error);
        let bound = match near {
            Some(bound) => bound,
            None if gap <= SMALL_GAP => self.distant(gap, &self.gathered_diagonal(&here)),
            None => return Err(NotFound),
        };
        let Factored { factor, information, whole, .. } = newton;
        let whole = whole.filter(|_| turn <= SMALL_TURN);
        let dense = Some(Dense { factor, information, inverse_diagonal, whole });
        Ok(Minimum { all, bound, at: here.at, dense })
    }

    /// Whether the scatter of the gradients comes from the Hessian.
    pub(crate) fn shares_hessian(&self) -> bool {
        self.shape == Shape::Diagonal && self.is_unweighted()
    }

    /// Σ (|g_j| + rounding)² / (4 λ_j): infinite without a ridge.
    fn gap(&self, here: &Place, error: &[f64]) -> f64 {
        let parts = here.gradient.iter().zip(error).zip(&self.ridge);
        parts.map(|((g, error), ridge)| (g.abs() + error).powi(2) / (4.0 * ridge)).sum()
    }

    /// The certificate by strong convexity.
    fn distant(&self, gap: f64, diagonal: &[f64]) -> FitBound {
        let ratio: f64 = diagonal.iter().zip(&self.ridge).map(|(own, ridge)| own / ridge).sum();
        FitBound { standard_errors: (gap * ratio * self.effective_n).sqrt(), nats: gap }
    }

    /// Bounds on the rounding errors of the gradient of J.
    fn rounding(&self, all: &[f64], here: &Place) -> Vec<f64> {
        let mut error = self.gather_sizes(&self.gradient_error(all, &here.at));
        let centre = self.centre();
        for (j, error) in error.iter_mut().enumerate() {
            *error += 4.0 * f64::EPSILON * self.ridge[j] * (here.theta[j].abs() + centre[j].abs());
        }
        for (coordinates, coefficient) in self.gauges_in_use() {
            let size: f64 = coordinates.iter().map(|j| here.theta[*j].abs()).sum();
            let of_sum = coordinates.len() as f64 * f64::EPSILON * coefficient * size;
            coordinates.iter().for_each(|j| error[*j] += of_sum);
        }
        error
    }

    /// The diagonal of the Hessian of J in the free coordinates, or more.
    fn gathered_diagonal(&self, here: &Place) -> Vec<f64> {
        let own = self.gather_sizes(&self.hessian_diagonal(&here.at));
        // By Cauchy's inequality over the coordinates that are tied to one, with factors up to 2.
        let factor = if self.has_ties() { 2.0 * self.n_coordinates() as f64 } else { 1.0 };
        own.iter().zip(&self.ridge).map(|(own, ridge)| factor * own + 2.0 * ridge).collect()
    }

    /// ρ: differences of two classes' features are at most twice the largest, and those of a class
    /// that is tied to others at most three times the others'.
    fn reach(&self, inverse_diagonal: &[f64]) -> f64 {
        let mut traces = vec![0.0; self.k];
        let n_scales = self.n_scales();
        for (at, own) in self.free.iter().zip(inverse_diagonal) {
            match (self.shape, *at) {
                (_, at) if at >= n_scales => traces[at - n_scales] += own,
                (Shape::Shared, _) => traces.iter_mut().for_each(|trace| *trace += own),
                (Shape::Diagonal, at) => traces[at] += own,
                (Shape::Full, at) => traces[at / self.k] += own,
            }
        }
        let tied = if self.has_ties() { 3.0 } else { 1.0 };
        2.0 * tied * self.largest_features() * traces.into_iter().fold(0.0, f64::max).sqrt()
    }

    /// Newton's method where steps come from conjugate gradients.
    fn by_products(&self, start: Vec<f64>) -> Result<Minimum, NotFound> {
        let mut spare = Vec::new();
        let mut here = self.place(start, &mut spare);
        let size = |gradient: &[f64]| gradient.iter().zip(&self.ridge).map(|(g, ridge)| g * g / ridge).sum::<f64>();
        for _ in 0..MOST_STEPS {
            if !here.value.is_finite() {
                return Err(NotFound);
            }
            let before = size(&here.gradient);
            let step = self.conjugate_step(&here);
            let decrement = dot(&step, &here.gradient);
            let is_near = before <= 1e-16;
            let next = if is_near {
                let theta = here.theta.iter().zip(&step).map(|(theta, step)| theta - step).collect();
                Some(self.place(theta, &mut spare))
            } else {
                self.line_search(&here, &step, decrement, &mut spare)
            };
            // Where a step does not lower the gradient any more, what is left is rounding.
            let next = next.filter(|next| !is_near || size(&next.gradient) < 0.25 * before);
            let Some(next) = next else { return self.finish_distant(here) };
            spare = std::mem::replace(&mut here, next).at.p;
        }
        Err(NotFound)
    }

    fn finish_distant(&self, here: Place) -> Result<Minimum, NotFound> {
        let all = self.expand(&here.theta);
        let gap = self.gap(&here, &self.rounding(&all, &here));
        if !(gap <= SMALL_GAP) {
            return Err(NotFound);
        }
        let bound = self.distant(gap, &self.gathered_diagonal(&here));
        Ok(Minimum { all, bound, at: here.at, dense: None })
    }

    /// About H⁻¹ g, by conjugate gradients with the diagonal as preconditioner: the nearer the
    /// minimum, the better.
    fn conjugate_step(&self, here: &Place) -> Vec<f64> {
        let own = self.gather_sizes(&self.hessian_diagonal(&here.at));
        let diagonal: Vec<f64> = own.iter().zip(&self.ridge).map(|(own, ridge)| own + 2.0 * ridge).collect();
        let solve = |r: &[f64]| r.iter().zip(&diagonal).map(|(r, own)| r / own).collect::<Vec<f64>>();
        let mut x = vec![0.0; here.gradient.len()];
        let mut residual = here.gradient.clone();
        let mut z = solve(&residual);
        let mut direction = z.clone();
        let first = dot(&residual, &z);
        let mut rz = first;
        let tolerance = (first.sqrt()).clamp(1e-6, 0.1);
        for _ in 0..500 {
            if !(rz > tolerance * tolerance * first) {
                break;
            }
            let mut along = self.gather(&self.hessian_times(&here.at, &self.expand(&direction)));
            let pull = self.ridge.iter().zip(&direction).map(|(ridge, d)| 2.0 * ridge * d);
            along.iter_mut().zip(pull).for_each(|(along, pull)| *along += pull);
            let length = rz / dot(&direction, &along);
            x.iter_mut().zip(&direction).for_each(|(x, d)| *x += length * d);
            residual.iter_mut().zip(&along).for_each(|(r, along)| *r -= length * along);
            z = solve(&residual);
            let next = dot(&residual, &z);
            direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + next / rz * *d);
            rz = next;
        }
        x
    }
}

/// The Hessian of J at some place, factored.
struct Factored {
    theta: Vec<f64>,
    information: Symmetric,
    hessian: Symmetric,
    factor: Cholesky,
    /// That of the loss in all coordinates, if it is needed later.
    whole: Option<Vec<f64>>,
    /// Whether it is of all rows.
    is_whole: bool,
}

impl Factored {
    fn new(scaling: &Scaling, here: &Place) -> Result<Self, NotFound> {
        Self::of_rows(scaling, here, scaling.n_rows())
    }

    /// Of the first rows.
    fn of_rows(scaling: &Scaling, here: &Place, n_rows: usize) -> Result<Self, NotFound> {
        let whole = scaling.hessian(&here.at, n_rows);
        let information = scaling.gather_matrix(&whole);
        let hessian = scaling.penalised(&information);
        let factor = Cholesky::new(&hessian).ok_or(NotFound)?;
        let is_whole = n_rows == scaling.n_rows();
        let whole = (is_whole && scaling.shares_hessian()).then_some(whole);
        Ok(Factored { theta: here.theta.clone(), information, hessian, factor, whole, is_whole })
    }

    fn is_of(&self, here: &Place) -> bool {
        self.is_whole && self.theta == here.theta
    }

    /// The way from the place of the factor, in its norm.
    fn distance(&self, here: &Place) -> f64 {
        let way: Vec<f64> = here.theta.iter().zip(&self.theta).map(|(a, b)| a - b).collect();
        let line = |i: usize| (0..way.len()).map(|j| self.hessian.get(i, j) * way[j]).sum::<f64>();
        (0..way.len()).map(|i| way[i] * line(i)).sum::<f64>().max(0.0).sqrt()
    }
}
