//! Resamples of the mean loss of one outcome, cell by cell: a cost that does not grow with the
//! number of rows.
//!
//! Rows are put in order of their probability and cut into cells of as many rows each. Of a cell,
//! a draw takes the sum of its losses:
//! - outcomes drawn from the predictions: Σ w l_0 + Σ w (l_1 - l_0) y with y independent. Its mean
//!   and variance are sums over the rows, and its shape is that of a binomial number of outcomes 1;
//! - rows drawn with replacement: a Poisson number of rows of each outcome, with the mean and the
//!   variance that their losses have.
//!
//! So the mean and the variance of the mean loss are those of rows drawn one by one, whatever the
//! cells are.

use super::RowResampler;
use super::resampler::Resampler;
use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::measure::Measure;
use crate::numerics::counts::{Count, Share};
use crate::numerics::parallel;
use crate::numerics::random::Normals;
use crate::numerics::sum::Sum;

/// Cells.
const N_CELLS: usize = 512;

/// Draws of a mean loss.
pub(crate) struct LossDraws<'a> {
    rows: RowResampler<'a>,
    cells: Vec<Cell>,
    total: f64,
    value: f64,
}

/// A row with its losses by outcome.
#[derive(Clone, Copy)]
struct Row {
    p: f64,
    weight: f64,
    losses: [f64; 2],
    outcome: bool,
}

/// Neighbours in the order of their probabilities.
struct Cell {
    /// Of the sum of losses under calibration: its mean, and what a unit of the share of outcomes 1
    /// adds.
    mean: f64,
    unit: f64,
    share: Share,
    p: f64,
    drawn: [OfOutcome; 2],
}

/// The rows of a cell with one outcome.
struct OfOutcome {
    count: Count,
    /// What one of the drawn rows weighs.
    unit: f64,
    mean: f64,
    deviation: f64,
}

impl OfOutcome {
    fn new(rows: &[Row], outcome: bool) -> Self {
        let chosen = || rows.iter().filter(|row| row.outcome == outcome);
        let sum = |of: &dyn Fn(&Row) -> f64| chosen().map(of).sum::<f64>();
        let (weight, squares) = (sum(&|row| row.weight), sum(&|row| row.weight * row.weight));
        if !(weight > 0.0) {
            return OfOutcome { count: Count::poisson(0.0), unit: 0.0, mean: 0.0, deviation: 0.0 };
        }
        let loss = |row: &Row| row.losses[usize::from(outcome)];
        let mean = sum(&|row| row.weight * loss(row)) / weight;
        let variance = sum(&|row| row.weight * row.weight * (loss(row) - mean).powi(2)) / squares;
        let effective = weight * weight / squares;
        OfOutcome { count: Count::poisson(effective), unit: weight / effective, mean, deviation: variance.sqrt() }
    }

    /// Weight, and sum of losses.
    fn draw(&self, random: &mut Normals) -> (f64, f64) {
        let count = self.count.draw(random);
        if count == 0.0 {
            return (0.0, 0.0);
        }
        let noise = if self.deviation > 0.0 { count.sqrt() * self.deviation * random.next() } else { 0.0 };
        (self.unit * count, self.unit * (count * self.mean + noise))
    }
}

impl Cell {
    fn new(rows: &[Row]) -> Self {
        let sum = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>();
        let (weight, squares) = (sum(&|row| row.weight), sum(&|row| row.weight * row.weight));
        let (p, effective) = (sum(&|row| row.weight * row.p) / weight, weight * weight / squares);
        let change = |row: &Row| row.losses[1] - row.losses[0];
        let spread = |row: &Row| row.p * (1.0 - row.p);
        let variance = sum(&|row| (row.weight * change(row)).powi(2) * spread(row));
        let of_share = p * (1.0 - p) / effective;
        let sign = sum(&|row| row.weight * change(row) * spread(row)).signum();
        Cell {
            mean: sum(&|row| row.weight * (row.losses[0] + change(row) * row.p)),
            unit: if of_share > 0.0 { sign * (variance / of_share).sqrt() } else { 0.0 },
            share: Share::new(effective, p, 1.0 - p),
            p,
            drawn: [false, true].map(|outcome| OfOutcome::new(rows, outcome)),
        }
    }
}

impl<'a> LossDraws<'a> {
    /// `None` where a loss is infinite. `loss` is that of a score by its outcome.
    pub(crate) fn new<E: Measure>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        loss: impl Fn(f64, bool) -> f64 + Sync,
    ) -> Result<Option<Self>, Error> {
        let resampler = RowResampler::new(measure, view, None)?;
        let of_chunk = |range: std::ops::Range<usize>| {
            let (mut scores, mut probabilities) = (Rows::default(), Rows::default());
            view.read(range.clone(), &mut scores);
            view.read_probabilities(range, measure.link(), &mut probabilities);
            let row = |index: usize| Row {
                p: probabilities.scores[index],
                weight: scores.weights[index],
                losses: [false, true].map(|outcome| loss(scores.scores[index], outcome)),
                outcome: scores.outcomes[index],
            };
            (0..scores.scores.len()).map(row).filter(|row| row.weight > 0.0).collect::<Vec<Row>>()
        };
        let mut rows = parallel::map_chunks(view.len(), parallel::CHUNK, of_chunk).concat();
        if rows.iter().any(|row| !row.losses.iter().all(|loss| loss.is_finite())) {
            return Ok(None);
        }
        let key = |row: &Row| (row.p.to_bits(), row.outcome, row.weight.to_bits());
        rayon::prelude::ParallelSliceMut::par_sort_unstable_by_key(rows.as_mut_slice(), key);
        let cells: Vec<Cell> = rows.chunks(rows.len().div_ceil(N_CELLS).max(1)).map(Cell::new).collect();
        let total = rows.iter().map(|row| row.weight).collect::<Sum>().value();
        let value = resampler.value();
        Ok(Some(LossDraws { rows: resampler, cells, total, value }))
    }
}

impl Resampler for LossDraws<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let sum = |cell: &Cell| cell.mean + cell.unit * (cell.share.draw(&mut random) - cell.p);
        self.cells.iter().map(sum).sum::<f64>() / self.total
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let mut random = Normals::new(draw);
        let (mut total, mut sum) = (0.0, 0.0);
        for of_outcome in self.cells.iter().flat_map(|cell| &cell.drawn) {
            let (weight, losses) = of_outcome.draw(&mut random);
            (total, sum) = (total + weight, sum + losses);
        }
        sum / total
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range()
    }
}
