//! Rows counted in cells of equal width in logits, from which a fit starts.
//!
//! Weights, offsets from the middle of the cell and squares of these are added as integers, so that
//! the order of rows and the number of threads change nothing. Two points for each cell and
//! outcome, whose weight, mean and variance are those of the rows, stand for them: the fit to these
//! is so near to that of the rows that one step leads from there.

use crate::data::{BinaryView, Rows};
use crate::numerics::parallel;
use crate::recalibrate::binary::logits::{self, Clipped};
use crate::recalibrate::binary::rows::{Atom, Atoms};

/// Cells for each unit of logit.
const CELLS: f64 = 64.0;

/// Logits beyond ± this have no cell. Those of clipped probabilities are within ±28.
pub(super) const FARTHEST: f64 = 40.0;

/// Cells on each side of 0, whose own cell is the middle one.
const SIDE: usize = (FARTHEST * CELLS) as usize;

const N_CELLS: usize = 2 * SIDE + 1;

/// Rows that are read at once.
pub(super) const READ: usize = 1 << 12;

/// Units of weights, of offsets and of offsets whose squares are added.
const WEIGHT: f64 = (1 << 24) as f64;
const OFFSET: f64 = (1 << 30) as f64;
const SQUARED: f64 = (1 << 16) as f64;

/// Doubles from here on are integers: adding it rounds to one.
const ROUNDER: f64 = 1.5 * (1u64 << 52) as f64;

/// Where a row is, and what it adds there for each unit of weight.
struct Placed {
    place: usize,
    offset: i64,
    square: i64,
}

impl Placed {
    /// Of a logit within [`FARTHEST`].
    #[inline(always)]
    fn new(h: f64, outcome: bool) -> Self {
        let place = h * CELLS;
        let cell = (place + ROUNDER) - ROUNDER;
        let offset = place - cell;
        let square = (offset * SQUARED) as i64;
        // proof: |cell| <= SIDE
        let place = 2 * (cell as i32 + SIDE as i32) as usize + usize::from(outcome);
        Placed { place, offset: (offset * OFFSET) as i64, square: square * square }
    }
}

/// Rows that all weigh the same, in units of their weight. 64 bits hold these sums: offsets are
/// below 2^30, squares at most 2^30, and rows fewer than 2^32.
#[derive(Default)]
struct Plain {
    /// For each cell and outcome: rows, offsets and their squares; empty until there is a row.
    sums: Vec<[i64; 3]>,
    n: u64,
    is_beyond: bool,
}

impl Plain {
    fn add(&mut self, rows: &Rows) {
        self.sums.resize(2 * N_CELLS, [0; 3]);
        self.n += rows.scores.len() as u64;
        for (h, outcome) in rows.scores.iter().zip(&rows.outcomes) {
            if !(h.abs() <= FARTHEST) {
                self.is_beyond = true;
                continue;
            }
            let Placed { place, offset, square } = Placed::new(*h, *outcome);
            let sums = &mut self.sums[place];
            sums[0] += 1;
            sums[1] += offset;
            sums[2] += square;
        }
    }
}

/// Rows in cells.
pub(super) struct Cells {
    /// For each cell and outcome: weight, offsets and their squares.
    sums: Vec<[i128; 3]>,
    /// Squares of weights.
    squares: i128,
    /// Rows with weight.
    pub(super) n: u64,
    pub(super) clipped: Clipped,
    /// Whether a row with weight has no cell.
    pub(super) is_beyond: bool,
}

impl Cells {
    /// All rows with weight. Weights are multiplied by `scale`, after which they are below 2.
    pub(super) fn new(view: &BinaryView<'_>, clip: f64, scale: f64) -> Self {
        // Few parts, since each has all cells.
        let part = view.len().div_ceil(8).max(1 << 16);
        let parts = parallel::map_chunks(view.len(), part, |range| {
            let (mut cells, mut plain) = (Cells::empty(), Plain::default());
            let mut rows = Rows::default();
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start + READ);
                cells.clipped.merge(logits::read(view, start..end, clip, &mut rows));
                if view.is_weighted() {
                    cells.add(&rows, scale);
                } else {
                    plain.add(&rows);
                }
                start = end;
            }
            cells.add_plain(&plain, (scale * WEIGHT) as i64);
            cells
        });
        let mut all = Cells::empty();
        parts.into_iter().for_each(|part| all.merge(&part));
        all
    }

    fn empty() -> Self {
        let sums = vec![[0; 3]; 2 * N_CELLS];
        Cells { sums, squares: 0, n: 0, clipped: Clipped::default(), is_beyond: false }
    }

    fn add(&mut self, rows: &Rows, scale: f64) {
        for ((h, outcome), weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
            if !(*weight > 0.0) {
                continue;
            }
            self.n += 1;
            if !(h.abs() <= FARTHEST) {
                self.is_beyond = true;
                continue;
            }
            let Placed { place, offset, square } = Placed::new(*h, *outcome);
            let weight = (weight * scale * WEIGHT) as i64;
            let sums = &mut self.sums[place];
            sums[0] += i128::from(weight);
            sums[1] += i128::from(weight * offset);
            sums[2] += i128::from(weight * square);
            self.squares += i128::from(weight * weight);
        }
    }

    /// Adds rows of one weight: the same integers as [`add`](Self::add) has of them.
    fn add_plain(&mut self, plain: &Plain, weight: i64) {
        self.n += plain.n;
        self.is_beyond |= plain.is_beyond;
        for (sums, plain) in self.sums.iter_mut().zip(&plain.sums).filter(|(_, plain)| plain[0] > 0) {
            sums.iter_mut().zip(plain).for_each(|(sum, plain)| *sum += i128::from(weight) * i128::from(*plain));
            self.squares += i128::from(weight * weight) * i128::from(plain[0]);
        }
    }

    fn merge(&mut self, other: &Cells) {
        for (sums, others) in self.sums.iter_mut().zip(&other.sums).filter(|(_, others)| others[0] > 0) {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        self.squares += other.squares;
        self.n += other.n;
        self.clipped.merge(other.clipped);
        self.is_beyond |= other.is_beyond;
    }

    /// The points that stand for the rows, in ascending order.
    pub(super) fn points(&self) -> Atoms {
        // The same mean square for all, so that the effective number of rows is that of the rows.
        let total: i128 = self.sums.iter().map(|sums| sums[0]).sum();
        let mean_square = self.squares as f64 / WEIGHT / total as f64;
        let mut atoms = Vec::new();
        for (place, sums) in self.sums.iter().enumerate().filter(|(_, sums)| sums[0] > 0) {
            let weight = sums[0] as f64;
            let mean = sums[1] as f64 / weight / OFFSET;
            let variance = sums[2] as f64 / weight / (SQUARED * SQUARED) - mean * mean;
            let deviation = variance.max(0.0).sqrt();
            for offset in [mean - deviation, mean + deviation] {
                let h = ((place / 2) as f64 - SIDE as f64 + offset) / CELLS;
                let mut atom = Atom { h, weights: [0.0; 2], squares: [0.0; 2] };
                atom.weights[place % 2] = 0.5 * weight / WEIGHT;
                atom.squares[place % 2] = 0.5 * weight / WEIGHT * mean_square;
                atoms.push(atom);
            }
        }
        atoms.sort_by(|a, b| a.h.total_cmp(&b.h));
        Atoms::new(atoms, self.n)
    }

    /// Rows without weights of both outcomes.
    pub(super) fn counts(&self) -> [u64; 2] {
        let of = |outcome: usize| self.sums.iter().skip(outcome).step_by(2).map(|sums| sums[0]).sum::<i128>();
        // proof: each row weighs 2^24 here, and there are fewer than 2^32
        [of(0), of(1)].map(|weight| (weight >> 24) as u64)
    }

    /// Cells that have rows.
    pub(super) fn n_occupied(&self) -> usize {
        self.sums.chunks_exact(2).filter(|both| both[0][0] > 0 || both[1][0] > 0).count()
    }

    /// Logits between which all rows with weight in a cell are.
    pub(super) fn ends(&self) -> Option<[f64; 2]> {
        let is_occupied = |sums: &[i128; 3]| sums[0] > 0;
        let (first, last) = (self.sums.iter().position(is_occupied)?, self.sums.iter().rposition(is_occupied)?);
        let middle = |place: usize| (place / 2) as f64 - SIDE as f64;
        Some([(middle(first) - 0.5) / CELLS, (middle(last) + 0.5) / CELLS])
    }
}
