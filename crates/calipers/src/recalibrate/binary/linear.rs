//! The objective of maps that are linear in their parameters: log-loss plus a ridge.

use super::rows::Atoms;
use super::spline::{MOST_KNOTS, SplineBasis};
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::fit::newton::{Local, Objective};
use crate::recalibrate::method::Method;

/// The largest number of parameters of a formula.
pub(crate) const MOST: usize = MOST_KNOTS;

/// Rows that are added up as they are, before their sums are added with compensation.
const BLOCK: usize = 64;

/// What the parameters of a formula are multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Basis {
    /// Of a family whose features depend on nothing but the logit.
    Plain(Method),
    /// Of splines with these knots.
    Spline(SplineBasis),
}

impl Basis {
    pub(crate) fn n_parameters(&self) -> usize {
        match self {
            Basis::Plain(method) => method.identity().len(),
            Basis::Spline(spline) => spline.n_parameters(),
        }
    }

    /// The features of a logit, filled up with 0.
    pub(crate) fn features(&self, h: f64) -> [f64; MOST] {
        let mut all = [0.0; MOST];
        match self {
            Basis::Plain(method) => all[..3].copy_from_slice(&features(*method, h)),
            Basis::Spline(spline) => spline.features(h, &mut all),
        }
        all
    }

    /// The linear predictor: the recalibrated logit.
    pub(crate) fn predictor(&self, h: f64, theta: &[f64]) -> f64 {
        match self {
            Basis::Plain(method) => predictor(*method, h, theta),
            Basis::Spline(_) => theta.iter().zip(self.features(h)).map(|(theta, feature)| theta * feature).sum(),
        }
    }
}

/// Features of some logits, from which every fit of one family on them starts.
#[derive(Debug, Clone)]
pub(crate) struct Design {
    pub(crate) basis: Basis,
    /// Features of each logit, filled up with 0 to the stride.
    features: Vec<f64>,
    stride: usize,
    /// What is added to the linear predictor whatever the parameters.
    offsets: Option<Vec<f64>>,
    pub(crate) n_parameters: usize,
}

impl Design {
    /// Of a method on these rows; a method that is no formula has no features.
    pub(crate) fn new(method: Method, atoms: &Atoms) -> Self {
        let basis = match method {
            Method::Spline => Basis::Spline(SplineBasis::new(atoms)),
            _ => Basis::Plain(method),
        };
        Self::of_basis(basis, atoms)
    }

    pub(crate) fn of_basis(basis: Basis, atoms: &Atoms) -> Self {
        let n_parameters = basis.n_parameters();
        // The numbers of parameters that the sums below are compiled for.
        let stride = [1, 2, 3, 4, 8].into_iter().find(|stride| n_parameters <= *stride).unwrap_or(MOST);
        let n = if n_parameters == 0 { 0 } else { atoms.atoms.len() };
        let chunks = parallel::map_chunks(n, parallel::CHUNK, |range| {
            let mut features = Vec::with_capacity(stride * range.len());
            let logits = atoms.atoms[range].iter().map(|atom| atom.h);
            match &basis {
                Basis::Plain(method) => {
                    logits.for_each(|h| features.extend_from_slice(&self::features(*method, h)[..stride]));
                }
                Basis::Spline(_) => {
                    logits.for_each(|h| features.extend_from_slice(&basis.features(h)[..stride]));
                }
            }
            features
        });
        let features: Vec<f64> = chunks.concat();
        let logits = atoms.atoms.iter().map(|atom| atom.h);
        let offsets = (basis == Basis::Plain(Method::Shift)).then(|| logits.collect());
        Design { basis, features, stride, offsets, n_parameters }
    }

    /// The linear predictor of one of the logits.
    pub(crate) fn predictor(&self, place: usize, theta: &[f64]) -> f64 {
        let offset = self.offsets.as_ref().map_or(0.0, |offsets| offsets[place]);
        theta.iter().zip(self.row(place)).fold(offset, |u, (theta, feature)| u + theta * feature)
    }

    /// The features of one of the logits.
    pub(crate) fn row(&self, place: usize) -> &[f64] {
        &self.features[place * self.stride..][..self.n_parameters]
    }
}

/// The features of a logit in a family of at most three parameters.
#[inline(always)]
pub(crate) fn features(method: Method, h: f64) -> [f64; 3] {
    match method {
        Method::Shift => [1.0, 0.0, 0.0],
        Method::Temperature => [h, 0.0, 0.0],
        Method::Platt => [h, 1.0, 0.0],
        // log σ(h) = min(h, 0) - log(1 + e^-|h|), without cancellation on either side.
        Method::Beta => {
            let tail = softplus_of_nonpositive(-h.abs());
            [h.min(0.0) - tail, h.max(0.0) + tail, 1.0]
        }
        _ => [0.0; 3],
    }
}

/// The linear predictor of such a family: the recalibrated logit.
pub(crate) fn predictor(method: Method, h: f64, theta: &[f64]) -> f64 {
    let offset = if matches!(method, Method::Shift | Method::Identity) { h } else { 0.0 };
    theta.iter().zip(features(method, h)).fold(offset, |u, (theta, feature)| u + theta * feature)
}

/// log(1 + e^x) for x <= 0 with a relative error of a few units and of those of e^x, however small
/// it is: what the sum loses is added to the logarithm to first order.
#[inline(always)]
pub(crate) fn softplus_of_nonpositive(x: f64) -> f64 {
    let small = exp_of_nonpositive(x);
    let sum = 1.0 + small;
    logarithm::ln(sum) + (small - (sum - 1.0)) / sum
}

/// log(1 + e^u).
#[inline(always)]
pub(crate) fn softplus(u: f64) -> f64 {
    u.max(0.0) + logarithm::ln(1.0 + exp_of_nonpositive(-u.abs()))
}

/// The logistic loss of the rows of a block: what goes in and what comes out.
struct Logistic {
    u: [f64; BLOCK],
    negative: [f64; BLOCK],
    positive: [f64; BLOCK],
    loss: [f64; BLOCK],
    residual: [f64; BLOCK],
    size: [f64; BLOCK],
    curvature: [f64; BLOCK],
}

impl Logistic {
    const ZERO: Self = Logistic {
        u: [0.0; BLOCK],
        negative: [0.0; BLOCK],
        positive: [0.0; BLOCK],
        loss: [0.0; BLOCK],
        residual: [0.0; BLOCK],
        size: [0.0; BLOCK],
        curvature: [0.0; BLOCK],
    };
}

dispatched! {
    /// Losses, their first derivatives with the sizes of what these are made of, and their second.
    fn logistic / logistic_portable(rows: &mut Logistic) {
        for row in 0..BLOCK {
            let (u, negative, positive) = (rows.u[row], rows.negative[row], rows.positive[row]);
            // e^-|u| gives p, 1 - p and their logarithms without cancellation.
            let size = u.abs();
            let small = exp_of_nonpositive(-size);
            let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
            let (p, complement) = if u < 0.0 { (less, more) } else { (more, less) };
            let tail = logarithm::ln(1.0 + small);
            let (above, below) = if u < 0.0 { (0.0, size) } else { (size, 0.0) };
            rows.loss[row] = negative * (above + tail) + positive * (below + tail);
            let curvature = (negative + positive) * (less * more);
            rows.residual[row] = negative * p - positive * complement;
            // What rounding of u does to p is part of it.
            rows.size[row] = (negative * p + positive * complement) + curvature * size;
            rows.curvature[row] = curvature;
        }
    }
}

/// Mean log-loss of rows whose logits become others.
pub(crate) fn logistic_loss(atoms: &Atoms, predictor: impl Fn(f64) -> f64 + Sync) -> f64 {
    let [sum] = parallel::sums(atoms.atoms.len(), |range, sums| {
        for block in atoms.atoms[range].chunks(BLOCK) {
            let mut rows = Logistic::ZERO;
            for (row, atom) in block.iter().enumerate() {
                rows.u[row] = predictor(atom.h);
                [rows.negative[row], rows.positive[row]] = atom.weights;
            }
            logistic(&mut rows);
            // Four sums, which do not wait for each other.
            let (fours, _) = rows.loss.as_chunks::<4>();
            let mut lanes = [0.0; 4];
            fours.iter().for_each(|four| (0..4).for_each(|lane| lanes[lane] += four[lane]));
            sums[0].add((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        }
    });
    sum / atoms.total()
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
struct Terms<T, const D: usize> {
    loss: T,
    gradient: [T; D],
    sizes: [T; D],
    hessian: [[T; D]; D],
}

impl<T: Copy, const D: usize> Terms<T, D> {
    fn of(zero: T) -> Self {
        Terms { loss: zero, gradient: [zero; D], sizes: [zero; D], hessian: [[zero; D]; D] }
    }
}

impl<const D: usize> Terms<Sum, D> {
    fn add(&mut self, block: &Terms<f64, D>) {
        self.loss.add(block.loss);
        for i in 0..D {
            self.gradient[i].add(block.gradient[i]);
            self.sizes[i].add(block.sizes[i]);
            (0..=i).for_each(|j| self.hessian[i][j].add(block.hessian[i][j]));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.loss.merge(other.loss);
        for i in 0..D {
            self.gradient[i].merge(other.gradient[i]);
            self.sizes[i].merge(other.sizes[i]);
            (0..=i).for_each(|j| self.hessian[i][j].merge(other.hessian[i][j]));
        }
    }

    /// Means over rows of this weight, in the first `d` parameters.
    fn means(&self, total: f64, d: usize) -> Local {
        let mut hessian = Symmetric::zero(d);
        for i in 0..d {
            (0..=i).for_each(|j| hessian.add(i, j, self.hessian[i][j].value() / total));
        }
        // A term is off by 8 units of rounding, one for each further parameter in u, and a block
        // adds half its length; two for the rest.
        let unit = (BLOCK as f64 + 20.0 + 2.0 * (D as f64 - 3.0).max(0.0)) * 0.5 * f64::EPSILON;
        Local {
            value: self.loss.value() / total,
            gradient: self.gradient[..d].iter().map(|sum| sum.value() / total).collect(),
            gradient_error: self.sizes[..d].iter().map(|sum| unit * sum.value() / total).collect(),
            hessian,
        }
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
        match self.design.stride {
            1 => self.sums::<1>(whole),
            2 => self.sums::<2>(whole),
            3 => self.sums::<3>(whole),
            4 => self.sums::<4>(whole),
            8 => self.sums::<8>(whole),
            _ => self.sums::<MOST>(whole),
        }
    }

    fn sums<const D: usize>(&self, theta: [f64; MOST]) -> Local {
        let n = self.atoms.atoms.len();
        let chunks = parallel::map_chunks(n, parallel::chunk_of(n), |range| {
            let mut sums = Terms::<Sum, D>::of(Sum::default());
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start + BLOCK);
                sums.add(&self.block::<D>(start..end, theta));
                start = end;
            }
            sums
        });
        let mut all = Terms::<Sum, D>::of(Sum::default());
        chunks.iter().for_each(|chunk| all.merge(chunk));
        all.means(self.atoms.total(), self.design.n_parameters)
    }

    #[inline(always)]
    fn block<const D: usize>(&self, range: std::ops::Range<usize>, theta: [f64; MOST]) -> Terms<f64, D> {
        let mut terms = Terms::<f64, D>::of(0.0);
        let atoms = &self.atoms.atoms[range.clone()];
        // proof: the stride is D, so that there are as many features
        let features = self.design.features[range.start * D..range.end * D].as_chunks::<D>().0;
        let mut rows = Logistic::ZERO;
        for (row, (atom, features)) in atoms.iter().zip(features).enumerate() {
            let mut u = self.design.offsets.as_ref().map_or(0.0, |offsets| offsets[range.start + row]);
            for i in 0..D {
                u += theta[i] * features[i];
            }
            rows.u[row] = u;
            [rows.negative[row], rows.positive[row]] = atom.weights;
        }
        logistic(&mut rows);
        for (row, features) in features.iter().enumerate() {
            terms.loss += rows.loss[row];
            let (residual, curvature) = (rows.residual[row], rows.curvature[row]);
            for i in 0..D {
                terms.gradient[i] += residual * features[i];
                terms.sizes[i] += rows.size[row] * features[i].abs();
                for j in 0..=i {
                    terms.hessian[i][j] += curvature * features[i] * features[j];
                }
            }
        }
        terms
    }

    /// The gradient of J in all parameters, which have one ridge: what the ones that are not free
    /// would like to do.
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
        let chunks = parallel::map_chunks(self.atoms.atoms.len(), parallel::CHUNK, |range| {
            let form = |row: usize| {
                let features = self.design.row(row);
                let mut free = [0.0; MOST];
                self.free.iter().zip(&mut free).for_each(|(&place, free)| *free = features[place]);
                let free = &mut free[..self.free.len()];
                hessian.whiten(free);
                free.iter().map(|x| x * x).sum::<f64>()
            };
            range.map(form).fold(0.0, f64::max)
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
