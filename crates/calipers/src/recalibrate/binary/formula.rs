//! Fits of maps that are formulas. That of splines starts in `smoothing.rs`.

use std::cell::RefCell;

use super::linear::{Basis, Design, MOST, Penalised, softplus};
use super::rows::{Atom, Atoms};
use crate::Error;
use crate::error::number;
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::fit::newton::{self, FitBound, NotFound, Objective};
use crate::recalibrate::fit::slope::{self, AtSlope};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Spread;
use crate::recalibrate::verdict::line::{self, Line, Place};

/// A fitted formula.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    pub(crate) basis: Basis,
    pub(crate) theta: Vec<f64>,
    /// The parameters of the identity.
    pub(crate) centre: Vec<f64>,
    /// Parameters that are not held at 0 by a constraint.
    pub(crate) free: Vec<usize>,
    pub(crate) bound: FitBound,
    /// Factor of the Hessian of J in the free parameters, with the ridge.
    pub(crate) factor: Cholesky,
    /// The Hessian of the log-loss alone, in the free parameters.
    pub(crate) information: Symmetric,
    /// Coefficients of the squares of the free parameters in J.
    pub(crate) penalties: Vec<f64>,
}

/// Fits one family again and again on the same logits: with other outcomes, or on some of the rows.
pub(crate) struct Fitter {
    pub(crate) method: Method,
    /// Coefficient of the ridge, which is divided by the effective number of rows.
    pub(crate) ridge: f64,
}

impl Fitter {
    /// The fit, for atoms that both outcomes have passed ([`Atoms::check_outcomes`]).
    pub(crate) fn fit(&self, design: &Design, atoms: &Atoms) -> Result<Formula, Error> {
        self.check(atoms)?;
        let slopes = self.method.n_slopes();
        // Which slopes are held at 0: none, one or all. Exactly one of these meets the conditions
        // of Karush, Kuhn and Tucker, since J is convex.
        let all: Vec<Vec<usize>> = match slopes {
            2 => vec![vec![], vec![0], vec![1], vec![0, 1]],
            1 if self.method != Method::Temperature => vec![vec![], vec![0]],
            _ => vec![vec![]],
        };
        for held in all {
            if let Ok(Some(formula)) = self.with_held(design, atoms, &held) {
                return Ok(formula);
            }
        }
        Err(NotFound.error())
    }

    /// The fit with some slopes held at 0; `None` where it is not the constrained optimum.
    fn with_held(&self, design: &Design, atoms: &Atoms, held: &[usize]) -> Result<Option<Formula>, NotFound> {
        let d = design.n_parameters;
        let free: Vec<usize> = (0..d).filter(|place| !held.contains(place)).collect();
        let ridge = self.ridge / atoms.effective_n;
        let objective = Penalised {
            design,
            atoms,
            free: &free,
            fixed: [0.0; MOST],
            centre: self.method.identity(),
            ridge: vec![ridge; free.len()],
        };
        let guess = first_guess(self.method, atoms);
        let guess: Vec<f64> = free.iter().map(|&place| guess[place]).collect();
        // Near the fit of cells, which takes no time, that of the rows takes few passes.
        let of_cells = atoms.in_cells().and_then(|cells| {
            let of_cells = Penalised {
                design: &Design::of_basis(design.basis.clone(), &cells),
                atoms: &cells,
                free: &free,
                fixed: objective.fixed,
                centre: objective.centre,
                ridge: objective.ridge.clone(),
            };
            self.minimise(&of_cells, &guess).ok()
        });
        let start = of_cells.map_or(guess, |found| found.0);
        let (theta, bound, factor) = self.minimise(&objective, &start)?;
        let whole = objective.whole(&theta);
        let n_slopes = self.method.n_slopes();
        if whole[..n_slopes].iter().any(|slope| *slope < 0.0) {
            return Ok(None);
        }
        let unpenalised = objective.unpenalised(&theta);
        if !held.is_empty() {
            let gradient = objective.whole_gradient(&unpenalised, &whole, ridge);
            // Letting a slope go must not lower J.
            if held.iter().any(|&place| gradient[place] < -unpenalised.gradient_error[place]) {
                return Ok(None);
            }
        }
        let information = unpenalised.hessian.part(&free);
        let theta = whole[..d].to_vec();
        let (basis, centre) = (design.basis.clone(), objective.centre.to_vec());
        let penalties = objective.ridge.clone();
        Ok(Some(Formula { basis, theta, centre, free, bound, factor, information, penalties }))
    }

    fn minimise(&self, objective: &Penalised<'_>, start: &[f64]) -> Result<Found, NotFound> {
        if self.method == Method::Temperature {
            return temperature(objective, start[0]);
        }
        let found = newton::minimise(objective, start)?;
        Ok((found.theta, found.bound, found.factor))
    }

    /// What has no solution is an error that names the rule and the values.
    pub(crate) fn check(&self, atoms: &Atoms) -> Result<(), Error> {
        let rows = |rule: &str, got: String| Err(Error::setting("rows", rule, got));
        if self.method == Method::Temperature {
            let toward = mean_toward(&atoms.atoms, atoms.total()) + 4.0 * self.ridge / atoms.effective_n;
            if !(toward > 0.0) {
                let rule = "of scores that rise with the outcome, since the best inverse temperature is 0 else";
                return rows(rule, format!("a mean logit of {} toward the outcome", number(toward)));
            }
        }
        if self.ridge > 0.0 || self.method == Method::Shift {
            return Ok(());
        }
        let wrong = |atom: &Atom| (atom.h > 0.0 && atom.weights[0] > 0.0) || (atom.h < 0.0 && atom.weights[1] > 0.0);
        if self.method == Method::Temperature {
            let rule = "with a score on the wrong side of 0 where ridge is 0, since there is no finite slope else";
            let none = || format!("{} rows, and none is", atoms.n);
            return if atoms.atoms.iter().any(wrong) { Ok(()) } else { rows(rule, none()) };
        }
        let n_parameters = self.method.identity().len();
        if atoms.atoms.len() < n_parameters {
            let rule = format!("of at least {n_parameters} different scores where ridge is 0");
            return Err(Error::setting("rows", rule, atoms.atoms.len()));
        }
        // proof: both outcomes occur
        let [Some(negatives), Some(positives)] = [atoms.range(0), atoms.range(1)] else { return Ok(()) };
        if negatives.1 <= positives.0 {
            let rule = "of outcomes whose scores overlap where ridge is 0, since there is no finite slope else";
            let [low, high] = [negatives.1, positives.0].map(number);
            return rows(rule, format!("outcome 0 up to logit {low} and outcome 1 from {high}"));
        }
        Ok(())
    }
}

/// The identity; or where logits are so large that most probabilities are 0 and 1 in doubles, and
/// J is flat, a map that brings them back.
pub(crate) fn first_guess(method: Method, atoms: &Atoms) -> Vec<f64> {
    let [squares] = parallel::sums(atoms.atoms.len(), |range, sums| {
        let square = |atom: &Atom| (atom.weights[0] + atom.weights[1]) * atom.h * atom.h;
        atoms.atoms[range].iter().for_each(|atom| sums[0].add(square(atom)));
    });
    let size = (squares / atoms.total()).sqrt();
    let slope = if size > 4.0 { 4.0 / size } else { 1.0 };
    let mut guess = method.identity().to_vec();
    guess[..method.n_slopes()].iter_mut().for_each(|parameter| *parameter *= slope);
    guess
}

/// Mean of h for outcome 1 and -h for outcome 0.
fn mean_toward(atoms: &[Atom], total: f64) -> f64 {
    atoms.iter().map(|atom| (atom.weights[1] - atom.weights[0]) * atom.h).collect::<Sum>().value() / total
}

type Found = (Vec<f64>, FitBound, Cholesky);

/// The slope of temperature scaling, of which the logarithm is sought.
fn temperature(objective: &Penalised<'_>, start: f64) -> Result<Found, NotFound> {
    let last = RefCell::new(None);
    let at = |slope: f64| {
        let local = objective.at(&[slope]);
        let here =
            AtSlope { first: local.gradient[0], error: local.gradient_error[0], second: local.hessian.get(0, 0) };
        last.replace(Some((slope, local)));
        here
    };
    let (slope, _) = slope::minimise(&at, start)?;
    let local = match last.into_inner() {
        Some((at, local)) if at == slope => local,
        _ => objective.at(&[slope]),
    };
    let factor = Cholesky::new(&local.hessian).ok_or(NotFound)?;
    let bound = newton::certify(objective, &local, &factor)?;
    Ok((vec![slope], bound, factor))
}

impl Formula {
    /// Σ_i (ω_i g_i)(ω_i g_i)' over rows in the free parameters: what the gradient varies by, for
    /// independent rows.
    pub(crate) fn scatter(&self, design: &Design, atoms: &Atoms) -> Symmetric {
        let d = self.free.len();
        let is_own = self.basis == design.basis;
        let chunks = parallel::map_chunks(atoms.atoms.len(), parallel::CHUNK, |range| {
            let mut sums = vec![Sum::default(); d * (d + 1) / 2];
            for place in range {
                let atom = &atoms.atoms[place];
                let u = if is_own {
                    design.predictor(place, &self.theta)
                } else {
                    self.basis.predictor(atom.h, &self.theta)
                };
                let (p, complement) = both(u);
                let square = atom.squares[0] * p * p + atom.squares[1] * complement * complement;
                let other;
                let features = if is_own {
                    design.row(place)
                } else {
                    other = self.basis.features(atom.h);
                    &other[..]
                };
                let mut entry = 0;
                for (i, &a) in self.free.iter().enumerate() {
                    for &b in &self.free[..=i] {
                        sums[entry].add(square * features[a] * features[b]);
                        entry += 1;
                    }
                }
            }
            sums
        });
        let mut all = vec![Sum::default(); d * (d + 1) / 2];
        chunks.iter().for_each(|chunk| all.iter_mut().zip(chunk).for_each(|(all, part)| all.merge(*part)));
        let square = atoms.total() * atoms.total();
        Symmetric { n: d, lower: all.iter().map(|sum| sum.value() / square).collect() }
    }

    /// trace((H + 2Λ)⁻¹ H): how many parameters the ridge leaves.
    pub(crate) fn effective_parameters(&self) -> f64 {
        self.factor.trace_of_ratio(&self.information)
    }
}

/// How a ridge bends the fit, in the norm of the information H: see the rule of `gain.rs`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bend {
    /// |x| / |v|: by how much the ridge shortens the way from the identity.
    pub(crate) stretch: f64,
    /// The cosine between x and v.
    pub(crate) cosine: f64,
}

impl Bend {
    pub(crate) const NONE: Bend = Bend { stretch: 1.0, cosine: 1.0 };
}

/// The way v from the identity to a fit, and the way x to where no ridge would have led, in the
/// free parameters, with their products in the norm of the information H.
struct Way {
    v: Vec<f64>,
    x: Vec<f64>,
    vv: f64,
    vx: f64,
    xx: f64,
}

impl Formula {
    /// H x = (H + 2λ) v.
    fn way(&self) -> Option<Way> {
        let v: Vec<f64> = self.free.iter().map(|&place| self.theta[place] - self.centre[place]).collect();
        let along = |i: usize| (0..v.len()).map(|j| self.information.get(i, j) * v[j]).sum::<f64>();
        let h_v: Vec<f64> = (0..v.len()).map(along).collect();
        let pulled = |((h_v, v), penalty): ((&f64, &f64), &f64)| h_v + 2.0 * penalty * v;
        let h_x: Vec<f64> = h_v.iter().zip(&v).zip(&self.penalties).map(pulled).collect();
        let information = Cholesky::new(&self.information)?;
        let x = information.solve(&h_x);
        let [vv, vx, xx] = [newton::dot(&v, &h_v), newton::dot(&v, &h_x), newton::dot(&x, &h_x)];
        (vv > 0.0 && xx.is_finite()).then_some(Way { v, x, vv, vx, xx })
    }

    /// How far the ridge shortens the way, and by which angle it turns it.
    pub(crate) fn bend(&self) -> Bend {
        let Some(way) = self.way() else { return Bend::NONE };
        let cosine = (way.vx / (way.vv * way.xx).sqrt()).clamp(0.0, 1.0);
        Bend { stretch: (way.xx / way.vv).sqrt().max(1.0), cosine }
    }

    /// The likelihood on the line from the identity through the fit; `None` where many rows decide
    /// the fit, or where a slope is held at 0, so that the identity is not among the maps.
    pub(crate) fn line(&self, spread: &Spread, atoms: &Atoms) -> Option<Line> {
        if spread.concentration * line::MANY < 1.0 || self.free.len() < self.theta.len() {
            return None;
        }
        let Way { v, x, xx, .. } = self.way()?;
        let root = xx.sqrt();
        // Of one standard error.
        let step: Vec<f64> = x.iter().map(|x| x / root * spread.unit.sqrt()).collect();
        let at = |s: f64| {
            let theta: Vec<f64> = self.centre.iter().zip(&step).map(|(centre, step)| centre + s * step).collect();
            let [loss, along, curvature] = parallel::sums(atoms.atoms.len(), |range, sums| {
                for atom in &atoms.atoms[range] {
                    let features = &self.basis.features(atom.h)[..theta.len()];
                    let u = self.basis.predictor(atom.h, &theta);
                    let (p, complement) = both(u);
                    let [negative, positive] = atom.weights;
                    let residual = negative * p - positive * complement;
                    let across = newton::dot(features, &step);
                    sums[0].add(negative * softplus(u) + positive * softplus(-u));
                    sums[1].add(residual * newton::dot(features, &v));
                    sums[2].add((negative + positive) * p * complement * across * across);
                }
            })
            .map(|sum| sum / atoms.total());
            Some(Place { loss, along, curvature })
        };
        Line::new(root / spread.unit.sqrt(), spread.unit, at)
    }

    /// What the interval of the gain needs: see the rule of `gain.rs`.
    pub(crate) fn spread(&self, scatter: &Symmetric, atoms: &Atoms) -> Spread {
        let v: Vec<f64> = self.free.iter().map(|&place| self.theta[place] - self.centre[place]).collect();
        let along = |i: usize| (0..v.len()).map(|j| self.information.get(i, j) * v[j]).sum::<f64>();
        let h_v: Vec<f64> = (0..v.len()).map(along).collect();
        // Where hardly any outcome is unexpected, the scatter of those that are shows too little.
        let unit = self.unit(scatter).max(1.0 / atoms.effective_n);
        Spread {
            unit,
            dimension: self.free.len() as f64,
            bend: self.bend(),
            square: newton::dot(&v, &h_v).max(0.0),
            concentration: self.concentration(atoms) * (unit * atoms.effective_n),
        }
    }

    /// Σ ℓ² / d² over rows, with the leverages ℓ = ω σ'(u) φ' H⁻¹ φ, which sum to d: 1 / n where
    /// all rows have the same, and 1 / m where m rows have all of it.
    fn concentration(&self, atoms: &Atoms) -> f64 {
        let d = self.free.len() as f64;
        let Some(information) = Cholesky::new(&self.information) else { return 1.0 / atoms.effective_n };
        let total = atoms.total();
        let square = |atom: &Atom| {
            let features = self.basis.features(atom.h);
            let mut own = [0.0; MOST];
            self.free.iter().zip(&mut own).for_each(|(&place, own)| *own = features[place]);
            let own = &mut own[..self.free.len()];
            information.whiten(own);
            let form: f64 = own.iter().map(|x| x * x).sum();
            let (p, complement) = both(self.basis.predictor(atom.h, &self.theta));
            let leverage = p * complement * form;
            (atom.squares[0] + atom.squares[1]) / (total * total) * leverage * leverage
        };
        let [sum] = parallel::sums(atoms.atoms.len(), |range, sums| {
            atoms.atoms[range].iter().for_each(|atom| sums[0].add(square(atom)));
        });
        sum / (d * d)
    }

    /// trace(H⁻¹ J) over the number of free parameters, for a scatter J: 1 / n for independent rows
    /// of a family that contains the truth.
    pub(crate) fn unit(&self, scatter: &Symmetric) -> f64 {
        match Cholesky::new(&self.information) {
            Some(information) => information.trace_of_ratio(scatter) / self.free.len() as f64,
            None => self.factor.trace_of_ratio(scatter) / self.effective_parameters(),
        }
    }
}

/// σ(u) and 1 - σ(u).
pub(crate) fn both(u: f64) -> (f64, f64) {
    use crate::link::{Link, Logistic};
    Logistic.both(u)
}
