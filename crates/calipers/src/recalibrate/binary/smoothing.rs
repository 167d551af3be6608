//! The fit of a spline: how smooth it is, and that it never falls.
//!
//! The penalty on curvature is chosen by the log-loss of five folds: the smoothest candidate whose
//! loss is within one standard error of the least, where the standard error is that of the paired
//! difference. Folds are made from the ranks of the scores and not from a seed, and rows of one
//! score are dealt out one by one. Where there are many different scores, neighbours within 1/256
//! of the range of the knots are taken as one for the choice; the fit is of all rows.

use super::formula::{Fitter, Formula, first_guess};
use super::linear::{Basis, Design, Penalised, softplus};
use super::rows::{Atom, Atoms};
use super::spline::{Spline, SplineBasis};
use crate::Error;
use crate::numerics::sum::Sum;
use crate::recalibrate::fit::Note;
use crate::recalibrate::fit::newton::{self, NotFound, Objective};
use crate::recalibrate::method::Method;
use crate::recalibrate::verdict::folds::mixed;

/// Candidates, from smooth to bent: in units of 1 / n_eff.
const CANDIDATES: [f64; 6] = [1e4, 1e3, 1e2, 1e1, 1.0, 0.1];

const FOLDS: usize = 5;

/// With more different scores than this, neighbours are pooled for the choice.
const MANY: usize = 1 << 10;

/// Pools in the range of the knots.
const POOLS: f64 = 256.0;

/// A spline that falls even with this smoothing gives way to a straight line.
const SMOOTHEST: f64 = 1e9;

/// The fit of a spline.
pub(crate) struct SplineFit {
    pub(crate) formula: Formula,
    pub(crate) spline: Spline,
    pub(crate) notes: Vec<Note>,
}

impl SplineFit {
    /// With this smoothing, or the one that folds choose.
    pub(crate) fn new(design: &Design, atoms: &Atoms, ridge: f64, smoothing: Option<f64>) -> Result<Self, Error> {
        let line = Fitter { method: Method::Platt, ridge };
        line.check(atoms)?;
        // proof: the design of a spline has its basis
        let Basis::Spline(basis) = &design.basis else { return Err(NotFound.error()) };
        if basis.is_straight() {
            return Self::straight(&line, atoms, Vec::new());
        }
        let chosen = smoothing.unwrap_or_else(|| choose(basis, atoms, ridge));
        let start = first_guess(Method::Spline, atoms);
        let mut smoothing = chosen;
        while smoothing <= SMOOTHEST {
            let penalties = penalties(design.n_parameters, ridge / atoms.effective_n, smoothing / atoms.effective_n);
            let formula = fit(design, atoms, penalties, &start).map_err(NotFound::error)?;
            let spline = basis.spline(&formula.theta, smoothing);
            if spline.least_slope() >= 0.0 {
                let raised = (smoothing > chosen).then_some(Note::Smoothed { chosen, smoothing });
                return Ok(SplineFit { formula, spline, notes: raised.into_iter().collect() });
            }
            smoothing = (10.0 * smoothing).max(CANDIDATES[CANDIDATES.len() - 1]);
        }
        Self::straight(&line, atoms, vec![Note::Straightened])
    }

    /// The straight line, which is held flat where it would fall.
    fn straight(line: &Fitter, atoms: &Atoms, notes: Vec<Note>) -> Result<Self, Error> {
        let basis = SplineBasis::straight(atoms);
        let formula = line.fit(&Design::of_basis(Basis::Spline(basis.clone()), atoms), atoms)?;
        let spline = basis.spline(&formula.theta, 0.0);
        Ok(SplineFit { formula, spline, notes })
    }
}

/// The ridge on slope and intercept, and the penalty on curvature.
fn penalties(n_parameters: usize, ridge: f64, smoothing: f64) -> Vec<f64> {
    (0..n_parameters).map(|place| if place < 2 { ridge } else { smoothing }).collect()
}

/// The minimum of the penalised log-loss.
fn fit(design: &Design, atoms: &Atoms, penalties: Vec<f64>, start: &[f64]) -> Result<Formula, NotFound> {
    let d = design.n_parameters;
    let free: Vec<usize> = (0..d).collect();
    let centre = &Method::Spline.identity()[..d];
    let objective = Penalised { design, atoms, free: &free, fixed: Default::default(), centre, ridge: penalties };
    let found = newton::minimise(&objective, &start[..d])?;
    let information = objective.unpenalised(&found.theta).hessian;
    Ok(Formula {
        basis: design.basis.clone(),
        theta: found.theta,
        centre: centre.to_vec(),
        bound: found.bound,
        factor: found.factor,
        information,
        penalties: objective.ridge().to_vec(),
        free,
    })
}

/// Rows of about one score, dealt out to folds.
#[derive(Clone, Default)]
struct Pool {
    h: f64,
    /// Weights of both outcomes by fold.
    weights: [[f64; 2]; FOLDS],
    squares: [[f64; 2]; FOLDS],
}

impl Pool {
    /// Of an atom; `rank` is its place among all.
    fn new(atom: &Atom, rank: usize) -> Self {
        let mut pool = Pool { h: atom.h, ..Pool::default() };
        for outcome in 0..2 {
            let (weight, square) = (atom.weights[outcome], atom.squares[outcome]);
            if !(weight > 0.0) {
                continue;
            }
            // Rows that weigh the same; for unequal weights Kish's number of them.
            let n = (weight * weight / square).round().max(1.0);
            let (each, rest) = ((n / FOLDS as f64).floor(), n % FOLDS as f64);
            let first = (mixed((2 * rank + outcome) as u64) % FOLDS as u64) as usize;
            for turn in 0..FOLDS {
                let share = (each + if (turn as f64) < rest { 1.0 } else { 0.0 }) / n;
                let fold = (first + turn) % FOLDS;
                pool.weights[fold][outcome] = share * weight;
                pool.squares[fold][outcome] = share * square;
            }
        }
        pool
    }

    fn weight(&self) -> f64 {
        self.weights.iter().flatten().sum()
    }

    /// Adds the rows of another; the score becomes the mean of both.
    fn merge(&mut self, other: &Pool) {
        let (weight, more) = (self.weight(), other.weight());
        self.h += (other.h - self.h) * (more / (weight + more));
        for fold in 0..FOLDS {
            for outcome in 0..2 {
                self.weights[fold][outcome] += other.weights[fold][outcome];
                self.squares[fold][outcome] += other.squares[fold][outcome];
            }
        }
    }

    /// The rows of all folds but one.
    fn without(&self, left_out: usize) -> Atom {
        let sum = |of: &[[f64; 2]; FOLDS], outcome: usize| {
            (0..FOLDS).filter(|fold| *fold != left_out).map(|fold| of[fold][outcome]).sum::<f64>()
        };
        Atom {
            h: self.h,
            weights: [0, 1].map(|outcome| sum(&self.weights, outcome)),
            squares: [0, 1].map(|outcome| sum(&self.squares, outcome)),
        }
    }
}

/// All atoms, or neighbours together where they are many.
fn pools(basis: &SplineBasis, atoms: &Atoms) -> Vec<Pool> {
    let (first, last) = (basis.knots[0], basis.knots[basis.knots.len() - 1]);
    let cell = |h: f64| ((h - first) / (last - first) * POOLS).round();
    let are_many = atoms.atoms.len() > MANY;
    let mut pools: Vec<Pool> = Vec::new();
    let mut last_cell = f64::NAN;
    for (rank, atom) in atoms.atoms.iter().enumerate() {
        let pool = Pool::new(atom, rank);
        match pools.last_mut() {
            Some(last) if are_many && cell(atom.h) == last_cell => last.merge(&pool),
            _ => {
                last_cell = cell(atom.h);
                pools.push(pool);
            }
        }
    }
    pools
}

/// The smoothing that folds choose; the smoothest where none of them has a fit.
fn choose(basis: &SplineBasis, atoms: &Atoms, ridge: f64) -> f64 {
    let pools = pools(basis, atoms);
    let everything = Atoms::new(pools.iter().map(|pool| pool.without(FOLDS)).collect(), atoms.n);
    let design = Design::of_basis(Basis::Spline(basis.clone()), &everything);
    // Folds may be separable, where a fit needs a ridge.
    let ridge = if ridge > 0.0 { ridge } else { Method::Spline.default_ridge() };
    // Losses of held-out rows for each candidate, in one order of folds, pools and outcomes.
    let mut losses: Vec<Vec<f64>> = vec![Vec::with_capacity(2 * FOLDS * pools.len()); CANDIDATES.len()];
    let mut rows: Vec<(f64, f64)> = Vec::with_capacity(2 * FOLDS * pools.len());
    for fold in 0..FOLDS {
        let training = Atoms::new(pools.iter().map(|pool| pool.without(fold)).collect(), atoms.n);
        if !(training.total() > 0.0) {
            continue;
        }
        for pool in &pools {
            (0..2).for_each(|outcome| rows.push((pool.weights[fold][outcome], pool.squares[fold][outcome])));
        }
        let mut start = first_guess(Method::Spline, &training)[..design.n_parameters].to_vec();
        for (candidate, losses) in CANDIDATES.iter().zip(&mut losses) {
            let n = training.effective_n;
            let found = fit(&design, &training, penalties(design.n_parameters, ridge / n, candidate / n), &start);
            for place in 0..pools.len() {
                let u = found.as_ref().map(|formula| newton::dot(design.row(place), &formula.theta));
                losses.extend(u.map_or([f64::INFINITY; 2], |u| [softplus(u), softplus(-u)]));
            }
            // The next one is not far.
            if let Ok(formula) = found {
                start = formula.theta;
            }
        }
    }
    let total = rows.iter().map(|(weight, _)| *weight).collect::<Sum>().value();
    let mean = |of: &dyn Fn(usize) -> f64| {
        let part = |(place, (weight, _)): (usize, &(f64, f64))| if *weight > 0.0 { weight * of(place) } else { 0.0 };
        rows.iter().enumerate().map(part).collect::<Sum>().value() / total
    };
    let means: Vec<f64> = losses.iter().map(|losses| mean(&|place| losses[place])).collect();
    let best = (0..CANDIDATES.len()).min_by(|a, b| means[*a].total_cmp(&means[*b])).unwrap_or(0);
    let is_as_good = |candidate: &usize| {
        let difference = |place: usize| losses[*candidate][place] - losses[best][place];
        let worse = mean(&difference);
        let square = |(place, (_, square)): (usize, &(f64, f64))| {
            if *square > 0.0 { square * (difference(place) - worse).powi(2) } else { 0.0 }
        };
        let variance = rows.iter().enumerate().map(square).collect::<Sum>().value() / (total * total);
        worse <= variance.sqrt()
    };
    CANDIDATES[(0..CANDIDATES.len()).find(is_as_good).unwrap_or(0)]
}
