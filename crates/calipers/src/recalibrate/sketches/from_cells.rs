//! Fits from the cells of a sketch, and how far they are from the fits of its rows at most. The
//! documentation of [`recalibrate`](crate::recalibrate) has the proof.

use crate::Error;
use crate::cells::Summary;
use crate::data::Scale;
use crate::link::{Link, Logistic};
use crate::numerics::cholesky::Cholesky;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::formula::Formula;
use crate::recalibrate::binary::linear::{Basis, Design, MOST, Penalised};
use crate::recalibrate::binary::rows::{Atom, Atoms};
use crate::recalibrate::fit::Note;
use crate::recalibrate::fit::newton::{self, FitBound, Objective};
use crate::recalibrate::fit::reported::About;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Fitted, Recalibrate, mean_loss};
use crate::recalibrate::{BinaryMap, Fit};
use crate::sketch::Sketch;

impl Recalibrate {
    /// The fit of the cells of a sketch.
    pub(crate) fn fit_sketch(&self, sketch: &Sketch) -> Result<Fit<BinaryMap>, Error> {
        Ok(self.fit_cells(sketch)?.0)
    }

    /// The same, with what an interval for its gain needs.
    pub(crate) fn fit_cells(&self, sketch: &Sketch) -> Result<(Fit<BinaryMap>, Fitted, Atoms), Error> {
        sketch.check_rows()?;
        // The rows have been clipped when they came in.
        let clip = if sketch.scale() == Some(Scale::Probability) { sketch.options().clip_value() } else { self.clip };
        let options = self.clone().clip(clip);
        let cells = Cells::new(sketch, self.counts);
        let atoms = if self.method.is_table() { cells.rounded() } else { cells.points() };
        let design = Design::new(self.method, &atoms);
        let mut fitted = options.fit_atoms(&design, &atoms)?;
        fitted.notes.retain(|note| !matches!(note, Note::BinsWithin { .. }));
        let scatter = fitted.formula.as_ref().map(|formula| formula.scatter(&design, &atoms));
        let mut distance = None;
        if let Some(formula) = fitted.formula.as_mut() {
            let away = cells.distance(formula, &atoms)?;
            formula.bound = away.bound(atoms.effective_n);
            distance = Some(away.of_parameters(&fitted.map, formula));
        }
        let note = Note::FromCells { n_cells: cells.n_cells, width: cells.width(), distance };
        let notes = if self.method == Method::Identity { Vec::new() } else { vec![note] };
        let about = About { notes, n_clipped: sketch.n_clipped(), input: sketch.report().clone() };
        let fit = options.reported(&atoms, &mut fitted, scatter, about);
        Ok((fit, fitted, atoms))
    }
}

/// The rows of a sketch that a map is tested on.
pub(crate) struct HeldOutCells {
    cells: Cells,
    pub(crate) atoms: Atoms,
}

impl HeldOutCells {
    /// Where a map is a table, the rows of a cell are at their mean, as they are in its fit.
    pub(crate) fn new(sketch: &Sketch, counts: bool, method: Method) -> Self {
        let cells = Cells::new(sketch, counts);
        let atoms = if method.is_table() { cells.rounded() } else { cells.points() };
        HeldOutCells { cells, atoms }
    }

    /// How far the sum of weights times changes of log-loss by a map is from that of the rows at
    /// most: the price of cells for the loss after and the loss before. `None` for a table, which
    /// may jump inside of a cell, and for a mixture.
    pub(crate) fn error(&self, map: &BinaryMap) -> Option<f64> {
        if map.method.is_table() || map.mixture > 0.0 {
            return None;
        }
        let u = match &map.spline {
            Some(spline) => spline.largest_derivatives(),
            None => of_predictor(map.method, &map.parameters),
        };
        let after = composed(LOSS, u);
        let jet: Jet = std::array::from_fn(|order| after[order] + LOSS[order]);
        let sum: f64 = self.cells.all.iter().map(|cell| cell.weight * price(cell, jet)).sum();
        // Shares of the weight are off, too, by what the units of a sketch have rounded.
        let [loss, before] = [map, &BinaryMap::identity()].map(|map| mean_loss(map, &self.atoms));
        Some((sum + 2.0 * self.cells.weight_error * self.atoms.total() * (loss + before)) * (1.0 + 1e-9))
    }
}

/// The rows of one cell and one outcome. Lengths are in logits.
struct Cell {
    /// Which cell; both outcomes share it.
    place: usize,
    summary: Summary,
    /// The logit of the mean.
    h: f64,
    /// Of all rows, in weights of 1.
    weight: f64,
    square: f64,
    /// No row is farther from the mean.
    reach: f64,
    deviation: f64,
    /// By how much a row can be off: what offsets and rounding leave open.
    error: f64,
}

/// Occupied cells in ascending order.
struct Cells {
    all: Vec<Cell>,
    n_cells: usize,
    /// Rows.
    n: u64,
    /// The most that the share of the weight of some rows is off by.
    weight_error: f64,
    /// The most that the effective number of rows is off by, as a share of it.
    n_error: f64,
}

impl Cells {
    fn new(sketch: &Sketch, counts: bool) -> Self {
        let unit = sketch.unit();
        let score_error = sketch.score_error();
        let in_order = sketch.cells_in_order();
        let cell = |place: usize, summary: Summary| {
            let (p, complement) = summary.probability(summary.mean);
            let reach = summary.reach();
            let ends = [summary.mean - reach, summary.mean + reach].map(|q| summary.probability(q));
            let slope = summary.scale * Logistic.steepness(ends[0], ends[1]).0 * (1.0 + 1e-9);
            let h = Logistic.inverse(p, complement);
            let weight = summary.weight / unit;
            Cell {
                place,
                h,
                weight,
                square: if counts { weight } else { weight * summary.row_weight },
                reach: reach * slope,
                deviation: summary.deviation * slope,
                error: 0.5 * summary.step * slope + score_error + 8.0 * f64::EPSILON * (1.0 + h.abs()),
                summary,
            }
        };
        let n_cells = in_order.len();
        let of_place = |(place, cells): (usize, Vec<Summary>)| cells.into_iter().map(move |summary| (place, summary));
        let all: Vec<Cell> =
            in_order.into_iter().enumerate().flat_map(of_place).map(|(place, summary)| cell(place, summary)).collect();
        let weight_error = sketch.weight_error();
        let n = sketch.n();
        let n_error = if sketch.is_weighted() && !counts {
            // Squares are cut to units, and weights to half a unit.
            let squares: f64 = all.iter().map(|cell| cell.square).sum();
            let (n, total) = (n as f64, sketch.total_weight());
            1.01 * ((n + total + n / unit) / unit / squares + 2.0 * weight_error)
        } else {
            1.01 * weight_error
        };
        Cells { all, n_cells, n, weight_error, n_error }
    }

    /// The widest cell, in logits.
    fn width(&self) -> f64 {
        let width = |cell: &Cell| {
            let Summary { lower, width, .. } = cell.summary;
            let ends = [lower, lower + width].map(|q| cell.summary.probability(q));
            let [one, other] = ends.map(|(p, complement)| Logistic.inverse(p, complement));
            (one - other).abs()
        };
        self.all.iter().map(width).fold(0.0, f64::max)
    }

    /// Two points at mean ± deviation in place of the rows of each cell and outcome: their first
    /// three moments are those of the rows.
    fn points(&self) -> Atoms {
        let mut atoms: Vec<Atom> = Vec::with_capacity(2 * self.all.len());
        for cell in &self.all {
            let Summary { mean, deviation, outcome, .. } = cell.summary;
            let of = |q: f64, share: f64| {
                let (p, complement) = cell.summary.probability(q);
                let mut atom = Atom { h: Logistic.inverse(p, complement), weights: [0.0; 2], squares: [0.0; 2] };
                atom.weights[usize::from(outcome)] = share * cell.weight;
                atom.squares[usize::from(outcome)] = share * cell.square;
                atom
            };
            if deviation > 0.0 {
                atoms.extend([of(mean - deviation, 0.5), of(mean + deviation, 0.5)]);
            } else {
                atoms.push(of(mean, 1.0));
            }
        }
        atoms.sort_by(|a, b| a.h.total_cmp(&b.h));
        self.pooled(atoms.chunk_by(|a, b| a.h == b.h))
    }

    /// The rows of each cell at their mean.
    fn rounded(&self) -> Atoms {
        let atoms = self.all.chunk_by(|a, b| a.place == b.place).map(|cells| {
            let total: f64 = cells.iter().map(|cell| cell.weight).sum();
            let mean = cells.iter().map(|cell| cell.weight * cell.summary.mean).sum::<f64>() / total;
            let (p, complement) = cells[0].summary.probability(mean);
            let mut atom = Atom { h: Logistic.inverse(p, complement), weights: [0.0; 2], squares: [0.0; 2] };
            for cell in cells {
                atom.weights[usize::from(cell.summary.outcome)] = cell.weight;
                atom.squares[usize::from(cell.summary.outcome)] = cell.square;
            }
            atom
        });
        let atoms: Vec<Atom> = atoms.collect();
        self.pooled(atoms.chunk_by(|a, b| a.h == b.h))
    }

    fn pooled<'a>(&self, groups: impl Iterator<Item = &'a [Atom]>) -> Atoms {
        let pooled = |group: &[Atom]| {
            let mut sum = Atom { h: group[0].h, weights: [0.0; 2], squares: [0.0; 2] };
            for atom in group {
                for outcome in 0..2 {
                    sum.weights[outcome] += atom.weights[outcome];
                    sum.squares[outcome] += atom.squares[outcome];
                }
            }
            sum
        };
        Atoms::new(groups.map(pooled).collect(), self.n)
    }

    /// How far the parameters that minimise the objective of the rows can be from those of a
    /// formula, which was fitted to [`points`](Self::points).
    fn distance(&self, formula: &Formula, atoms: &Atoms) -> Result<Distance, Error> {
        let design = Design::of_basis(formula.basis.clone(), atoms);
        let objective = Penalised {
            design: &design,
            atoms,
            free: &formula.free,
            fixed: [0.0; MOST],
            centre: &formula.centre,
            ridge: formula.penalties.clone(),
        };
        let theta: Vec<f64> = formula.free.iter().map(|&place| formula.theta[place]).collect();
        let local = objective.at(&theta);
        let scales = scales(formula);
        let bounds = Derivatives::new(formula, &scales);
        let prices = parallel::map_chunks(self.all.len(), 1 << 11, |range| {
            let mut sums = Prices::default();
            self.all[range].iter().for_each(|cell| sums.add(cell, &bounds));
            sums
        });
        let total: f64 = self.all.iter().map(|cell| cell.weight).sum();
        let mut all = Prices::default();
        prices.iter().for_each(|part| all.merge(part));
        // The factor covers the rounding of sums over cells.
        let (mut gradient, mut hessian) = (all.gradient / total * (1.0 + 1e-9), all.hessian / total * (1.0 + 1e-9));
        gradient += 2.0 * self.weight_error * all.size;
        hessian += 0.5 * self.weight_error * all.size * all.size;
        for (i, &place) in formula.free.iter().enumerate() {
            let penalty = 2.0 * formula.penalties[i] * self.n_error;
            gradient += penalty * (formula.theta[place] - formula.centre[place]).abs() * scales[place];
            hessian += penalty * scales[place] * scales[place];
        }
        let delta = newton::decrement(&local, &formula.factor) + gradient;
        let reach = objective.reach(&formula.factor) + all.stretch;
        let left = 1.0 - hessian;
        let e = std::f64::consts::E;
        if !(left > 0.0 && e * reach * delta < left) {
            let reason = "the cells of the sketch are too wide for a bound on the parameters; use a finer resolution";
            return Err(Error::ToleranceNotMet { tolerance: 1.0, attainable: f64::INFINITY, reason });
        }
        Ok(Distance { away: e * delta / left, nats: 0.25 * e * delta * delta / left })
    }
}

/// √(H⁻¹)_jj of each parameter; 0 where one is held.
fn scales(formula: &Formula) -> [f64; MOST] {
    let mut scales = [0.0; MOST];
    for (i, &place) in formula.free.iter().enumerate() {
        let mut unit = vec![0.0; formula.free.len()];
        unit[i] = 1.0;
        scales[place] = formula.factor.inverse_form(&unit).sqrt();
    }
    scales
}

/// How far the optimum of the rows is away at most.
struct Distance {
    /// In the norm of the Hessian.
    away: f64,
    nats: f64,
}

impl Distance {
    fn bound(&self, effective_n: f64) -> FitBound {
        FitBound { standard_errors: self.away * effective_n.sqrt(), nats: self.nats }
    }

    /// The largest distance of a parameter, as the map has it.
    fn of_parameters(&self, map: &BinaryMap, formula: &Formula) -> f64 {
        let form = |features: &[f64]| {
            let free: Vec<f64> = formula.free.iter().map(|&place| features[place]).collect();
            self.away * inverse_root(&formula.factor, &free)
        };
        match &map.spline {
            Some(spline) => spline.knots.iter().map(|knot| form(&formula.basis.features(*knot))).fold(0.0, f64::max),
            None => scales(formula).iter().map(|scale| self.away * scale).fold(0.0, f64::max),
        }
    }
}

fn inverse_root(factor: &Cholesky, v: &[f64]) -> f64 {
    factor.inverse_form(v).sqrt()
}

/// Bounds on a function and its first three derivatives.
type Jet = [f64; 4];

/// The product of two functions, by Leibniz.
fn product(f: Jet, g: Jet) -> Jet {
    [
        f[0] * g[0],
        f[1] * g[0] + f[0] * g[1],
        f[2] * g[0] + 2.0 * f[1] * g[1] + f[0] * g[2],
        f[3] * g[0] + 3.0 * f[2] * g[1] + 3.0 * f[1] * g[2] + f[0] * g[3],
    ]
}

/// A function of u, whose bounds are given, of a u with these derivatives.
fn composed(f: Jet, u: Jet) -> Jet {
    [f[0], f[1] * u[1], f[2] * u[1] * u[1] + f[1] * u[2], f[3] * u[1].powi(3) + 3.0 * f[2] * u[1] * u[2] + f[1] * u[3]]
}

/// Derivatives of the log-loss by the logit at most; its own size is not needed.
const LOSS: Jet = [0.0, 1.0, 0.25, 0.096_225_05];

/// σ - y and σ', and their derivatives, at most: as `link/logistic.rs` has them.
const RESIDUAL: Jet = [1.0, 0.25, 0.096_225_05, 0.125];
const CURVATURE: Jet = [0.25, 0.096_225_05, 0.125, 0.127_683_93];

/// What is the same for all cells: bounds on derivatives of features and of u.
struct Derivatives<'a> {
    formula: &'a Formula,
    scales: &'a [f64; MOST],
    residual: Jet,
    curvature: Jet,
    /// Σ_j √(H⁻¹)_jj |φ_j|, whose bound on the function itself is left to the cell.
    features: Jet,
}

impl<'a> Derivatives<'a> {
    fn new(formula: &'a Formula, scales: &'a [f64; MOST]) -> Self {
        let of_features = of_features(&formula.basis);
        let mut features = [0.0; 4];
        for (scale, jet) in scales.iter().zip(&of_features) {
            (1..4).for_each(|order| features[order] += scale * jet[order]);
        }
        let u = match &formula.basis {
            Basis::Spline(basis) => basis.spline(&formula.theta, 0.0).largest_derivatives(),
            Basis::Plain(method) => of_predictor(*method, &formula.theta),
        };
        let (residual, curvature) = (composed(RESIDUAL, u), composed(CURVATURE, u));
        Derivatives { formula, scales, residual, curvature, features }
    }
}

/// Bounds on the derivatives of the recalibrated logit of a family of few parameters.
fn of_predictor(method: Method, theta: &[f64]) -> Jet {
    let offset = if matches!(method, Method::Shift | Method::Identity) { 1.0 } else { 0.0 };
    let mut u = [0.0, offset, 0.0, 0.0];
    for (theta, jet) in theta.iter().zip(&of_features(&Basis::Plain(method))) {
        (1..4).for_each(|order| u[order] += theta.abs() * jet[order]);
    }
    u
}

/// Bounds on the derivatives of each feature, wherever.
fn of_features(basis: &Basis) -> Vec<Jet> {
    let (one, h) = ([0.0; 4], [0.0, 1.0, 0.0, 0.0]);
    match basis {
        Basis::Spline(spline) => spline.largest_derivatives(),
        Basis::Plain(Method::Shift) => vec![one],
        Basis::Plain(Method::Temperature) => vec![h],
        Basis::Plain(Method::Platt) => vec![h, one],
        // The derivative of log σ(h) is σ(-h), and that of -log σ(-h) is σ(h).
        Basis::Plain(Method::Beta) => {
            let bent = [0.0, 1.0, 0.25, 0.096_225_05];
            vec![bent, bent, one]
        }
        Basis::Plain(_) => Vec::new(),
    }
}

/// Sums of what cells cost, by their weight, and maxima.
#[derive(Default, Clone, Copy)]
struct Prices {
    /// In Σ_j √(H⁻¹)_jj |g_j|.
    gradient: f64,
    /// In Σ_jk √(H⁻¹)_jj √(H⁻¹)_kk |H_jk|.
    hessian: f64,
    /// The largest Σ_j √(H⁻¹)_jj |φ_j| of a row.
    size: f64,
    /// By how much √(φ' H⁻¹ φ) of a row can be larger than that of its points.
    stretch: f64,
}

impl Prices {
    fn add(&mut self, cell: &Cell, bounds: &Derivatives<'_>) {
        let at = bounds.formula.basis.features(cell.h);
        let spread = 2.0 * cell.reach + cell.error;
        let mut features = bounds.features;
        let size: f64 = at.iter().zip(bounds.scales).map(|(feature, scale)| scale * feature.abs()).sum();
        features[0] = size + spread * features[1];
        let once = product(bounds.residual, features);
        let twice = product(product(bounds.curvature, features), features);
        self.gradient += cell.weight * price(cell, once);
        self.hessian += cell.weight * price(cell, twice);
        self.size = self.size.max(features[0]);
        self.stretch = self.stretch.max(spread * features[1]);
    }

    fn merge(&mut self, other: &Prices) {
        self.gradient = [self.gradient, other.gradient].into_iter().collect::<Sum>().value();
        self.hessian = [self.hessian, other.hessian].into_iter().collect::<Sum>().value();
        self.size = self.size.max(other.size);
        self.stretch = self.stretch.max(other.stretch);
    }
}

/// How far the mean of a function over the rows of a cell is from that over its points.
fn price(cell: &Cell, jet: Jet) -> f64 {
    // By the chain rule for h as a function of q, where |h''| <= h'² and |h'''| <= 4 h'³.
    let third = jet[3] + 3.0 * jet[2] + 4.0 * jet[1];
    let variance = cell.deviation * cell.deviation;
    variance * (cell.reach + cell.deviation) / 6.0 * third + jet[1] * cell.error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::{Normals, Uniforms};
    use crate::recalibrate::binary::smoothing::SplineFit;
    use crate::{Input, SketchOptions};

    /// Knots come from the cells, so that only here the rows can be fitted with the same.
    #[test]
    fn splines_are_within_their_bound_of_the_fit_to_the_rows_with_the_same_knots() {
        let (mut normals, mut uniforms) = (Normals::new(3), Uniforms::new(4));
        let logits: Vec<f64> = (0..4000).map(|_| 1.7 * normals.next()).collect();
        let truth = |h: f64| 1.0 / (1.0 + (-0.4 * h - 0.9 * (h - 0.4f64).max(0.0)).exp());
        let labels: Vec<bool> = logits.iter().map(|h| uniforms.next() < truth(*h)).collect();
        let predictions = Input::logits(&logits, &labels).check().unwrap();
        let view = predictions.binary().unwrap();
        for resolution in [6, 8, 10, 12] {
            let mut sketch = Sketch::with(&SketchOptions::new().resolution(resolution)).unwrap();
            sketch.update(&view).unwrap();
            let options = Recalibrate::new(Method::Spline);
            let found = options.fit(&sketch).unwrap();
            let cells = Cells::new(&sketch, false).points();
            let basis = Design::new(Method::Spline, &cells).basis;
            let atoms = options.ordered(&view).unwrap().pooled(|_| true);
            let spline = found.map.spline.clone().unwrap();
            let design = Design::of_basis(basis, &atoms);
            let exact = SplineFit::new(&design, &atoms, 2.0, Some(spline.smoothing)).unwrap();
            assert_eq!(exact.spline.knots, spline.knots);
            let Some(Note::FromCells { distance: Some(distance), .. }) = found.notes.first() else { panic!() };
            for (exact, found) in exact.spline.value.iter().zip(&spline.value) {
                assert!((exact - found).abs() <= distance + 1e-11, "{resolution}: {exact} {found} {distance}");
            }
            let most = [(6, 0.5), (8, 1e-2), (10, 1e-3), (12, 1e-5)].iter().find(|(at, _)| *at == resolution);
            assert!(most.is_some_and(|(_, most)| distance < most), "{resolution}: {distance}");
        }
    }
}
