//! Resamples of any measure by the counts of cells, whose cost does not grow with the number of
//! rows.
//!
//! Rows are put in order of their probability and cut into cells. A resample draws how many rows of
//! each outcome a cell has, and the measure is that of two weighted rows for each cell, both at its
//! mean probability:
//! - outcomes drawn from the predictions: a binomial number of outcomes 1;
//! - rows drawn with replacement: a Poisson number of each outcome, with the number of its rows as
//!   mean. The total is divided out by the measure.
//!
//! Under weights the numbers are those of the effective rows, (Σw)² / Σw², and the weight is spread
//! evenly over them.
//!
//! # What cells cost
//! A cell is one probability, however many rows have it, or it holds a share of at most 1/K of the
//! weight, is at most 1/K wide, and neither p nor 1 - p changes in it by more than a quarter.
//! 1. Its residual Σ w (y - p) keeps the mean 0 under calibration, since its mean probability is
//!    that of its rows.
//! 2. The variance of that residual is too large by Σ w² (p - p̄)², against Σ w² p̄ (1 - p̄).
//!    With all p in [a, a + 1/K], the mean of (p - p̄)² is at most (p̄ - a)(a + 1/K - p̄), which is
//!    at most p̄ / K and at most (1 - p̄) / K. So the variance is too large by at most 2 / K of
//!    itself, for K = 512 by 0.4 %, and its root by half of that.
//! 3. A row is moved by less than 1/K along the axis of p, to the mean of its cell.
//!
//! Means of counts above 20 are normal numbers (`numerics/counts.rs`).
//! `tests/floors` compares with rows drawn one by one.

use super::resampler::Resampler;
use super::rows::Estimator;
use super::{Bracket, RowResampler};
use crate::Error;
use crate::data::BinaryView;
use crate::measure::Measure;
use crate::measures::{Probabilities, split_key};
use crate::numerics::counts::{Count, Share};
use crate::numerics::random::Normals;

/// Rows up to which resamples draw each of them.
pub(crate) const FEW_ROWS: usize = 4096;

/// The factor by which p and 1 - p change at most inside of a cell.
const LARGEST_RATIO: f64 = 1.25;

/// How a measure counts rows of nearly the same probability together when they are resampled
/// ([`Measure::cells`]).
pub struct Cells<'a> {
    most: usize,
    place: Option<Box<dyn Fn(f64) -> usize + 'a>>,
    measure: Option<Box<dyn Measure>>,
    value: Option<CellValue<'a>>,
    counts_rows: bool,
}

/// A measure of cells in the order of their probabilities.
pub(crate) type CellValue<'a> = Box<dyn Fn(&[CellWeights]) -> f64 + Send + Sync + 'a>;

/// The probability of a cell with the weights of its rows by outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellWeights {
    pub(crate) p: f64,
    pub(crate) weights: [f64; 2],
}

impl<'a> Cells<'a> {
    /// Cells that hold a share of at most 1 / `most` of the weight and are at most 1 / `most` wide,
    /// but for rows of one probability, which are always together.
    pub fn new(most: usize) -> Self {
        Cells { most, place: None, measure: None, value: None, counts_rows: false }
    }

    /// No cell holds rows of two places, such as two bins.
    pub fn within(self, place: impl Fn(f64) -> usize + 'a) -> Self {
        Cells { place: Some(Box::new(place)), ..self }
    }

    /// Resamples are measured by this measure, such as one whose settings are those that were
    /// chosen from the rows.
    pub fn measured_by(self, measure: impl Measure + 'static) -> Self {
        Cells { measure: Some(Box::new(measure)), ..self }
    }

    /// Resamples are measured by a function of their cells, which takes less time than the measure
    /// of rows: these would be sorted again.
    pub(crate) fn valued_by(self, value: impl Fn(&[CellWeights]) -> f64 + Send + Sync + 'a) -> Self {
        Cells { value: Some(Box::new(value)), ..self }
    }

    /// The measure depends on how many rows there are, and not only on their shares of the weight.
    /// Then weighted rows are resampled one by one, and a weight of other resamples is a number of
    /// rows ([`BinaryView::is_counted`]).
    pub fn counting_rows(self) -> Self {
        Cells { counts_rows: true, ..self }
    }

    /// Whether the rows of a view can be counted in cells.
    pub(crate) fn suit(&self, view: &BinaryView<'_>) -> bool {
        !(self.counts_rows && view.is_weighted())
    }
}

/// A measure of resampled cells.
pub(crate) struct CellResampler<'a> {
    rows: RowResampler<'a>,
    /// Without rows; those of a draw take their place.
    empty: BinaryView<'a>,
    estimate: Estimator<'a>,
    of_cells: Option<CellValue<'a>>,
    table: CellTable,
    value: f64,
}

/// Rows of nearly the same probability.
struct Cell {
    p: f64,
    /// Of the rows, by outcome.
    weights: [f64; 2],
    /// What one of the drawn rows weighs, by outcome.
    units: [f64; 2],
    /// The weight of the rows whose outcomes are drawn as one share.
    together: f64,
    calibrated: Share,
    /// The weights of the others.
    singles: Box<[f64]>,
    drawn: [Count; 2],
}

/// Weighted rows up to which the outcome of each is drawn by itself: no number of equal rows shows
/// how far a heavy one moves the value.
const FEW_WEIGHTED: usize = 1 << 13;

/// Of more rows, those with more than this share of the squared weight of their cell.
const HEAVY: f64 = 0.02;

/// What a cell of several probabilities holds at most.
struct Limits {
    weight: f64,
    width: f64,
}

/// The sums of a cell that is being filled.
#[derive(Default)]
struct Sums {
    first: f64,
    last: f64,
    weights: [f64; 2],
    squares: [f64; 2],
    /// Σ w (p - first).
    moment: f64,
    /// The weight of each row, if weights are unequal.
    rows: Vec<f64>,
}

impl Sums {
    fn start(p: f64) -> Self {
        Sums { first: p, last: p, ..Sums::default() }
    }

    fn add(&mut self, p: f64, outcome: bool, weight: f64) {
        self.last = p;
        self.weights[usize::from(outcome)] += weight;
        self.squares[usize::from(outcome)] += weight * weight;
        self.moment += weight * (p - self.first);
    }

    fn weight(&self) -> f64 {
        self.weights[0] + self.weights[1]
    }

    /// Whether rows of a larger probability may still come in.
    fn takes(&self, p: f64, weight: f64, limits: &Limits) -> bool {
        let (above, below) = (p <= LARGEST_RATIO * self.first, 1.0 - self.first <= LARGEST_RATIO * (1.0 - p));
        self.weight() + weight <= limits.weight && p - self.first <= limits.width && above && below
    }

    /// `heavy`: the share of the squared weight above which a row is drawn by itself.
    fn cell(mut self, heavy: f64) -> Cell {
        let weight = self.weight();
        let least = heavy * (self.squares[0] + self.squares[1]);
        let (singles, others): (Vec<f64>, Vec<f64>) =
            std::mem::take(&mut self.rows).into_iter().partition(|weight| weight * weight > least);
        let (together, squares) = match &singles[..] {
            [] => (weight, self.squares[0] + self.squares[1]),
            _ => (others.iter().sum(), others.iter().map(|weight| weight * weight).sum()),
        };
        let p = if self.last == self.first { self.first } else { self.first + self.moment / weight };
        let effective = [0, 1].map(|outcome| match self.squares[outcome] {
            0.0 => 0.0,
            squares => self.weights[outcome] * self.weights[outcome] / squares,
        });
        Cell {
            p,
            weights: self.weights,
            units: [0, 1].map(|y| if effective[y] > 0.0 { self.weights[y] / effective[y] } else { 0.0 }),
            together,
            calibrated: match together {
                0.0 => Share::new(1.0, 0.0, 1.0),
                _ => Share::new(together * together / squares, p, 1.0 - p),
            },
            singles: singles.into(),
            drawn: effective.map(Count::poisson),
        }
    }
}

/// Cells in the order of their probabilities, and draws of their rows.
pub(crate) struct CellTable {
    cells: Vec<Cell>,
}

impl CellTable {
    /// Of few rows, every distinct probability is a cell.
    pub(crate) fn new(rows: &Probabilities<'_>, rule: &Cells<'_>) -> Self {
        let sorted = rows.keyed(|key, weight| (key, weight.to_bits()));
        let total: f64 = sorted.iter().map(|row| f64::from_bits(row.1)).sum();
        let is_equal = sorted.iter().all(|row| row.1 == sorted[0].1);
        let heavy = if sorted.len() > FEW_WEIGHTED { HEAVY } else { 0.0 };
        let place = |p: f64| rule.place.as_ref().map_or(0, |place| place(p));
        let limits = if sorted.len() > FEW_ROWS {
            // A rounding error more is no reason for a cell.
            Limits { weight: total / rule.most as f64 * (1.0 + 1e-9), width: 1.0 / rule.most as f64 }
        } else {
            Limits { weight: 0.0, width: 0.0 }
        };
        let mut cells: Vec<Cell> = Vec::new();
        let mut open: Option<(Sums, usize)> = None;
        for tied in sorted.chunk_by(|a, b| a.0 >> 1 == b.0 >> 1) {
            let p = split_key(tied[0].0).0;
            let (bin, weight) = (place(p), tied.iter().map(|row| f64::from_bits(row.1)).sum::<f64>());
            let mut sums = match open.take() {
                Some((sums, before)) if before == bin && sums.takes(p, weight, &limits) => sums,
                Some((sums, _)) => {
                    cells.push(sums.cell(heavy));
                    Sums::start(p)
                }
                None => Sums::start(p),
            };
            tied.iter().for_each(|row| sums.add(p, split_key(row.0).1, f64::from_bits(row.1)));
            if !is_equal {
                sums.rows.extend(tied.iter().map(|row| f64::from_bits(row.1)));
            }
            open = Some((sums, bin));
        }
        cells.extend(open.map(|(sums, _)| sums.cell(heavy)));
        CellTable { cells }
    }

    /// The cells as `draw` hands them on.
    fn cells(&self, draw: impl FnOnce(&Self, &mut Vec<CellWeights>)) -> Vec<CellWeights> {
        let mut cells = Vec::with_capacity(self.cells.len());
        draw(self, &mut cells);
        cells
    }

    /// The probabilities of the cells.
    pub(crate) fn probabilities(&self) -> impl Iterator<Item = f64> + '_ {
        self.cells.iter().map(|cell| cell.p)
    }

    /// Hands on the weights of each cell by outcome, as the rows have them.
    pub(crate) fn seen(&self, mut each: impl FnMut(f64, [f64; 2])) {
        self.cells.iter().for_each(|cell| each(cell.p, cell.weights));
    }

    /// The same with outcomes drawn from the predictions.
    pub(crate) fn calibrated(&self, draw: u64, mut each: impl FnMut(f64, [f64; 2])) {
        let mut random = Normals::new(draw);
        for cell in &self.cells {
            let mut positive = cell.together * cell.calibrated.draw(&mut random).min(1.0);
            for weight in &cell.singles {
                positive += if random.uniform() < cell.p { *weight } else { 0.0 };
            }
            each(cell.p, [(cell.weights[0] + cell.weights[1] - positive).max(0.0), positive]);
        }
    }

    /// The same of rows drawn with replacement.
    pub(crate) fn bootstrap(&self, draw: u64, mut each: impl FnMut(f64, [f64; 2])) {
        let mut random = Normals::new(draw);
        for cell in &self.cells {
            let negative = cell.units[0] * cell.drawn[0].draw(&mut random);
            each(cell.p, [negative, cell.units[1] * cell.drawn[1].draw(&mut random)]);
        }
    }
}

fn collect_in(cells: &mut Vec<CellWeights>) -> impl FnMut(f64, [f64; 2]) {
    |p, weights| cells.push(CellWeights { p, weights })
}

impl<'a> CellResampler<'a> {
    /// Measures the rows, and their cells.
    pub(crate) fn new<E: Measure + ?Sized>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        rule: Cells<'a>,
    ) -> Result<Self, Error> {
        let rows = RowResampler::new(measure, view, None)?;
        let table = CellTable::new(&Probabilities::new(view, measure.link())?, &rule);
        let empty = view.with_rows(Vec::new(), Vec::new(), None);
        let estimate: Estimator<'a> = match rule.measure {
            Some(resolved) => Box::new(move |view: &BinaryView<'_>| resolved.estimate(view)),
            None => Box::new(move |view: &BinaryView<'_>| measure.estimate(view)),
        };
        let mut resampler = CellResampler { rows, empty, estimate, of_cells: rule.value, table, value: 0.0 };
        resampler.value = match &resampler.of_cells {
            Some(value) => value(&resampler.table.cells(|table, cells| table.seen(collect_in(cells)))),
            None => resampler.measure(|each| resampler.table.seen(each))?,
        };
        Ok(resampler)
    }

    /// The measure of the cells that `draw` hands on.
    fn measure(&self, draw: impl FnOnce(&mut dyn FnMut(f64, [f64; 2]))) -> Result<f64, Error> {
        let most = 2 * self.table.cells.len();
        let (mut scores, mut outcomes) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut weights = Vec::with_capacity(most);
        draw(&mut |p, of_outcomes| {
            for (outcome, weight) in [false, true].into_iter().zip(of_outcomes).filter(|(_, weight)| *weight > 0.0) {
                scores.push(p);
                outcomes.push(outcome);
                weights.push(weight);
            }
        });
        let view = self.empty.with_cells(scores, outcomes, &weights, !self.rows.is_weighted());
        (self.estimate)(&view).map(|estimate| estimate.value)
    }
}

impl Resampler for CellResampler<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        match &self.of_cells {
            Some(value) => value(&self.table.cells(|table, cells| table.calibrated(draw, collect_in(cells)))),
            None => self.measure(|each| self.table.calibrated(draw, each)).unwrap_or(f64::NAN),
        }
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        match &self.of_cells {
            Some(value) => value(&self.table.cells(|table, cells| table.bootstrap(draw, collect_in(cells)))),
            None => self.measure(|each| self.table.bootstrap(draw, each)).unwrap_or(f64::NAN),
        }
    }

    /// That of the rows, moved to where their cells have the measure.
    fn bracket(&self) -> Option<Bracket> {
        let shift = self.value - self.rows.value();
        self.rows.bracket().map(|bracket| Bracket {
            lower: bracket.lower + shift,
            upper: bracket.upper + shift,
            corrected: bracket.corrected + shift,
            debiased: bracket.debiased + shift,
            ..bracket
        })
    }

    fn squared_differences(&self) -> Option<f64> {
        self.rows.squared_differences()
    }

    fn largest_difference(&self) -> Option<f64> {
        self.rows.largest_difference()
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range()
    }
}
