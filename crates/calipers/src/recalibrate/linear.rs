//! The objective of maps that are linear in their parameters: log-loss plus a ridge.

use super::method::Method;
use super::newton::{Local, Objective};
use super::rows::Atoms;
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// The largest number of parameters of a formula.
pub(crate) const MOST: usize = 3;

/// Rows that are added up as they are, before their sums are added with compensation.
const BLOCK: usize = 64;

/// Features of some logits, from which every fit of one family on them starts.
#[derive(Debug, Clone)]
pub(crate) struct Design {
    /// Features of each logit, filled up with 0.
    pub(crate) features: Vec<[f64; MOST]>,
    /// What is added to the linear predictor whatever the parameters.
    pub(crate) offsets: Option<Vec<f64>>,
    pub(crate) n_parameters: usize,
}

impl Design {
    pub(crate) fn new(method: Method, logits: impl Iterator<Item = f64> + Clone) -> Self {
        Design {
            features: logits.clone().map(|h| features(method, h)).collect(),
            offsets: (method == Method::Shift).then(|| logits.collect()),
            n_parameters: method.identity().len(),
        }
    }
}

/// The features of a logit.
pub(crate) fn features(method: Method, h: f64) -> [f64; MOST] {
    match method {
        Method::Shift => [1.0, 0.0, 0.0],
        Method::Temperature => [h, 0.0, 0.0],
        Method::Platt => [h, 1.0, 0.0],
        // log σ(h) = min(h, 0) - log(1 + e^-|h|), without cancellation on either side.
        Method::Beta => {
            let tail = (-h.abs()).exp().ln_1p();
            [h.min(0.0) - tail, h.max(0.0) + tail, 1.0]
        }
        _ => [0.0; MOST],
    }
}

/// The linear predictor: the recalibrated logit.
pub(crate) fn predictor(method: Method, h: f64, theta: &[f64]) -> f64 {
    let offset = if matches!(method, Method::Shift | Method::Identity) { h } else { 0.0 };
    theta.iter().zip(features(method, h)).fold(offset, |u, (theta, feature)| u + theta * feature)
}

/// log(1 + e^u).
#[inline(always)]
pub(crate) fn softplus(u: f64) -> f64 {
    u.max(0.0) + logarithm::ln(1.0 + exp_of_nonpositive(-u.abs()))
}

/// Mean log-loss of rows with a ridge toward the identity; only some parameters are free.
pub(crate) struct Penalised<'a> {
    pub(crate) design: &'a Design,
    pub(crate) atoms: &'a Atoms,
    /// Which parameters are free, ascending; the others are at `fixed`.
    pub(crate) free: &'a [usize],
    pub(crate) fixed: [f64; MOST],
    pub(crate) centre: &'a [f64],
    /// One for each free parameter.
    pub(crate) ridge: Vec<f64>,
}

/// Sums over rows: loss, gradient, sizes of its terms, Hessian.
#[derive(Clone, Copy)]
struct Terms<T> {
    loss: T,
    gradient: [T; MOST],
    sizes: [T; MOST],
    hessian: [[T; MOST]; MOST],
}

impl Terms<f64> {
    const ZERO: Self = Terms { loss: 0.0, gradient: [0.0; MOST], sizes: [0.0; MOST], hessian: [[0.0; MOST]; MOST] };
}

impl Terms<Sum> {
    fn add(&mut self, block: &Terms<f64>) {
        self.loss.add(block.loss);
        for i in 0..MOST {
            self.gradient[i].add(block.gradient[i]);
            self.sizes[i].add(block.sizes[i]);
            (0..=i).for_each(|j| self.hessian[i][j].add(block.hessian[i][j]));
        }
    }

    fn merge(&mut self, other: &Terms<Sum>) {
        self.loss.merge(other.loss);
        for i in 0..MOST {
            self.gradient[i].merge(other.gradient[i]);
            self.sizes[i].merge(other.sizes[i]);
            (0..=i).for_each(|j| self.hessian[i][j].merge(other.hessian[i][j]));
        }
    }

    fn zero() -> Self {
        let zero = Sum::default();
        Terms { loss: zero, gradient: [zero; MOST], sizes: [zero; MOST], hessian: [[zero; MOST]; MOST] }
    }
}

impl Penalised<'_> {
    /// All parameters, with those that are not free at their fixed values.
    pub(crate) fn whole(&self, theta: &[f64]) -> [f64; MOST] {
        let mut whole = self.fixed;
        self.free.iter().zip(theta).for_each(|(&place, theta)| whole[place] = *theta);
        whole
    }

    /// The gradient and the Hessian of the log-loss in all parameters, without the ridge.
    pub(crate) fn unpenalised(&self, theta: &[f64]) -> Local {
        let whole = self.whole(theta);
        let d = self.design.n_parameters;
        let terms = match d {
            1 => self.terms::<1>(whole),
            2 => self.terms::<2>(whole),
            _ => self.terms::<3>(whole),
        };
        let total = self.atoms.total();
        let mut hessian = Symmetric::zero(d);
        for i in 0..d {
            (0..=i).for_each(|j| hessian.add(i, j, terms.hessian[i][j].value() / total));
        }
        // A term is off by 8 units of rounding, and a block adds half its length; two for the rest.
        let unit = (BLOCK as f64 + 20.0) * 0.5 * f64::EPSILON;
        Local {
            value: terms.loss.value() / total,
            gradient: terms.gradient[..d].iter().map(|sum| sum.value() / total).collect(),
            gradient_error: terms.sizes[..d].iter().map(|sum| unit * sum.value() / total).collect(),
            hessian,
        }
    }

    fn terms<const D: usize>(&self, theta: [f64; MOST]) -> Terms<Sum> {
        let n = self.atoms.atoms.len();
        let chunks = parallel::map_chunks(n, parallel::chunk_of(n), |range| {
            let mut sums = Terms::<Sum>::zero();
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start + BLOCK);
                sums.add(&self.block::<D>(start..end, theta));
                start = end;
            }
            sums
        });
        let mut all = Terms::<Sum>::zero();
        chunks.iter().for_each(|chunk| all.merge(chunk));
        all
    }

    #[inline(always)]
    fn block<const D: usize>(&self, range: std::ops::Range<usize>, theta: [f64; MOST]) -> Terms<f64> {
        let mut terms = Terms::<f64>::ZERO;
        for place in range {
            let [negative, positive] = self.atoms.atoms[place].weights;
            let features = &self.design.features[place];
            let mut u = self.design.offsets.as_ref().map_or(0.0, |offsets| offsets[place]);
            for i in 0..D {
                u += theta[i] * features[i];
            }
            // e^-|u| gives p, 1 - p and their logarithms without cancellation.
            let small = exp_of_nonpositive(-u.abs());
            let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
            let (p, complement) = if u < 0.0 { (less, more) } else { (more, less) };
            let tail = logarithm::ln(1.0 + small);
            terms.loss += negative * (u.max(0.0) + tail) + positive * ((-u).max(0.0) + tail);
            let residual = negative * p - positive * complement;
            let size = negative * p + positive * complement;
            let curvature = (negative + positive) * (less * more);
            for i in 0..D {
                terms.gradient[i] += residual * features[i];
                // What rounding of u does to p is part of it.
                terms.sizes[i] += (size + curvature * u.abs()) * features[i].abs();
                for j in 0..=i {
                    terms.hessian[i][j] += curvature * features[i] * features[j];
                }
            }
        }
        terms
    }

    /// The gradient of J in all parameters: what the ones that are not free would like to do.
    pub(crate) fn whole_gradient(&self, local: &Local, whole: &[f64; MOST], ridge: f64) -> Vec<f64> {
        let pull = |place: usize| 2.0 * ridge * (whole[place] - self.centre[place]);
        local.gradient.iter().enumerate().map(|(place, gradient)| gradient + pull(place)).collect()
    }
}

impl Objective for Penalised<'_> {
    fn at(&self, theta: &[f64]) -> Local {
        let all = self.unpenalised(theta);
        let mut local = Local {
            value: all.value,
            gradient: self.free.iter().map(|&place| all.gradient[place]).collect(),
            gradient_error: self.free.iter().map(|&place| all.gradient_error[place]).collect(),
            hessian: all.hessian.part(self.free),
        };
        for (i, &place) in self.free.iter().enumerate() {
            let away = theta[i] - self.centre[place];
            local.value += self.ridge[i] * away * away;
            local.gradient[i] += 2.0 * self.ridge[i] * away;
            local.gradient_error[i] += 4.0 * f64::EPSILON * self.ridge[i] * (theta[i].abs() + self.centre[place].abs());
            local.hessian.add(i, i, 2.0 * self.ridge[i]);
        }
        local
    }

    fn reach(&self, hessian: &Cholesky) -> f64 {
        let features = &self.design.features;
        let chunks = parallel::map_chunks(features.len(), parallel::CHUNK, |range| {
            let form = |features: &[f64; MOST]| {
                let mut free = [0.0; MOST];
                self.free.iter().zip(&mut free).for_each(|(&place, free)| *free = features[place]);
                let free = &mut free[..self.free.len()];
                hessian.whiten(free);
                free.iter().map(|x| x * x).sum::<f64>()
            };
            features[range].iter().map(form).fold(0.0, f64::max)
        });
        chunks.into_iter().fold(0.0, f64::max).sqrt()
    }

    fn ridge(&self) -> &[f64] {
        &self.ridge
    }

    fn effective_n(&self) -> f64 {
        self.atoms.effective_n
    }
}
