//! Isotonic regression of many rows without weights: one number of 64 bits for each row is sorted,
//! and blocks are counted in integers.
//!
//! The number has the logit's bits without their sign, and the outcome: rows of negative logits are
//! apart from the others, so that the sign is known from the place. Comparisons of outcome rates
//! are those of products of integers. So all is exact, and the order of rows does not matter.

use rayon::prelude::*;

use crate::data::{BinaryView, Rows};
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::order_free::{BLOCK, GridSum};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::logits::{self, Clipped};
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::table::{Between, Table};

/// Rows of a cell, on average, in which rows are sorted.
const OF_CELL: usize = 32;

/// More rows than this of one cell are sorted on all cores.
const MANY_OF_CELL: usize = 1 << 16;

/// Logits are below this in size.
const FARTHEST: f64 = 1e200;

/// Rows of a part as they are read.
struct Part {
    rows: Rows,
    clipped: Clipped,
    low: f64,
    high: f64,
}

/// All rows, sorted by logit and outcome.
pub(super) struct Labelled {
    words: Vec<u64>,
    /// How many logits are negative: the first ones.
    n_negative: usize,
    pub(super) clipped: Clipped,
    /// Mean log-loss of the logits as they are.
    pub(super) loss: f64,
}

/// Neighbours with one outcome rate.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The first row.
    first: u32,
    n: u32,
    /// Rows of outcome 1.
    positive: u32,
}

impl Run {
    /// Whether the outcome rate is not below that of another.
    fn is_not_below(&self, other: &Run) -> bool {
        // proof: both factors are below 2^32
        let product = |a: u32, of: &Run| u64::from(a) * u64::from(of.n - of.positive);
        product(self.positive, other) >= product(other.positive, self)
    }

    fn rate(&self) -> f64 {
        f64::from(self.positive) / f64::from(self.n)
    }
}

/// The fit of isotonic regression.
pub(super) struct Steps {
    runs: Vec<Run>,
    pub(super) n_scores: usize,
    pub(super) table: Table,
}

impl Steps {
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Mean log-loss of a map whose table is this one.
    pub(super) fn loss(&self, map: &BinaryMap) -> f64 {
        let mut n = 0.0;
        let of_run = |run: &Run| {
            let rate = run.rate();
            let [negative, positive] = [1.0 - rate, rate].map(|p| -map.mixed(p).ln());
            n += f64::from(run.n);
            let part = |n: u32, loss: f64| if n > 0 { f64::from(n) * loss } else { 0.0 };
            part(run.n - run.positive, negative) + part(run.positive, positive)
        };
        let sum = self.runs.iter().map(of_run).collect::<Sum>().value();
        sum / n
    }
}

impl Labelled {
    /// `None` where logits are so large that their sum might not be finite.
    pub(super) fn new(view: &BinaryView<'_>, clip: f64) -> Option<Self> {
        let parts = parallel::map_chunks(view.len(), parallel::CHUNK, |range| {
            let mut rows = Rows::default();
            let clipped = logits::read(view, range, clip, &mut rows);
            rows.weights = Vec::new();
            let low = rows.scores.iter().fold(f64::INFINITY, |low, h| if *h < low { *h } else { low });
            let high = rows.scores.iter().fold(f64::NEG_INFINITY, |high, h| if *h > high { *h } else { high });
            Part { rows, clipped, low, high }
        });
        let mut clipped = Clipped::default();
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for part in &parts {
            clipped.merge(part.clipped);
            (low, high) = (low.min(part.low), high.max(part.high));
        }
        let farthest = low.abs().max(high);
        if !(farthest < FARTHEST) {
            return None;
        }
        let loss = mean_loss(&parts, farthest, view.len());
        let (words, n_negative) = sorted(&parts, low, high, view.len());
        Some(Labelled { words, n_negative, clipped, loss })
    }

    /// Rows of both outcomes.
    pub(super) fn counts(&self) -> [u64; 2] {
        let positive: u64 = self.words.iter().map(|word| word & 1).sum();
        [self.words.len() as u64 - positive, positive]
    }

    fn h(&self, at: usize) -> f64 {
        let bits = self.words[at] >> 1;
        // Negative logits have their bits inverted.
        f64::from_bits(if at < self.n_negative { !bits } else { bits })
    }

    /// The rising steps nearest to the outcomes.
    pub(super) fn steps(&self, between: Between) -> Steps {
        let mut runs: Vec<Run> = Vec::new();
        let mut n_scores = 0;
        for (start, half) in [(0, &self.words[..self.n_negative]), (self.n_negative, &self.words[self.n_negative..])] {
            let mut at = 0;
            while at < half.len() {
                let (first, score) = (at, half[at] >> 1);
                let mut positive = 0;
                while at < half.len() && half[at] >> 1 == score {
                    positive += (half[at] & 1) as u32;
                    at += 1;
                }
                n_scores += 1;
                let mut run = Run { first: (start + first) as u32, n: (at - first) as u32, positive };
                while let Some(last) = runs.last().filter(|last| last.is_not_below(&run)) {
                    run = Run { first: last.first, n: last.n + run.n, positive: last.positive + run.positive };
                    runs.pop();
                }
                runs.push(run);
            }
        }
        let (mut at, mut value) = (Vec::new(), Vec::new());
        for run in &runs {
            let ends = [run.first as usize, (run.first + run.n - 1) as usize].map(|at| self.h(at));
            at.push(ends[0]);
            value.push(run.rate());
            if ends[1] > ends[0] {
                at.push(ends[1]);
                value.push(run.rate());
            }
        }
        Steps { runs, n_scores, table: Table { at, value, between } }
    }
}

/// The words of all rows in order, and how many are of negative logits. Rows are distributed to
/// cells of equal width in logits, each of which is then sorted in the cache.
fn sorted(parts: &[Part], low: f64, high: f64, n: usize) -> (Vec<u64>, usize) {
    let n_cells = (n / OF_CELL).max(2);
    // Infinite where all logits are 0: then all rows are of one cell.
    let scale = (n_cells - 2) as f64 / (0.5 * high - 0.5 * low) * 0.5;
    let n_below = (((-low) * scale) as usize + 1).min(n_cells - 1);
    // It does not fall with the logit, and has an end of a cell at 0.
    let cell = |h: f64| {
        let away = (h.abs() * scale) as usize;
        if h < 0.0 { n_below - 1 - away.min(n_below - 1) } else { (n_below + away).min(n_cells - 1) }
    };
    let mut next = vec![0u32; n_cells + 1];
    for part in parts {
        part.rows.scores.iter().for_each(|h| next[cell(*h) + 1] += 1);
    }
    (0..n_cells).for_each(|cell| next[cell + 1] += next[cell]);
    let ends: Vec<u32> = next[1..].to_vec();
    let n_negative = next[n_below] as usize;
    let mut words = vec![0u64; n];
    for part in parts {
        for (h, outcome) in part.rows.scores.iter().zip(&part.rows.outcomes) {
            // Adding 0 turns -0 into 0.
            let bits = (h + 0.0).to_bits();
            let word = (if *h < 0.0 { !bits } else { bits }) << 1 | u64::from(*outcome);
            let place = &mut next[cell(*h)];
            words[*place as usize] = word;
            *place += 1;
        }
    }
    let mut rest = &mut words[..];
    let mut start = 0;
    let mut groups = Vec::new();
    for ends in ends.chunks(64) {
        let end = ends[ends.len() - 1] as usize;
        let (group, after) = rest.split_at_mut(end - start);
        groups.push((group, start, ends));
        (rest, start) = (after, end);
    }
    groups.into_par_iter().for_each(|(group, start, ends)| {
        let mut first = 0;
        for end in ends {
            let end = *end as usize - start;
            let cell = &mut group[first..end];
            if cell.len() < MANY_OF_CELL {
                cell.sort_unstable()
            } else {
                cell.par_sort_unstable()
            }
            first = end;
        }
    });
    (words, n_negative)
}

fn mean_loss(parts: &[Part], farthest: f64, n: usize) -> f64 {
    let exponent = (farthest + 1.0).log2().ceil() as i32;
    let sums = parallel::map(parts.len(), |part| {
        let mut sum = GridSum::default();
        let Rows { scores, outcomes, .. } = &parts[part].rows;
        for (scores, outcomes) in scores.chunks(BLOCK).zip(outcomes.chunks(BLOCK)) {
            add_losses(scores, outcomes, exponent, &mut sum);
        }
        sum
    });
    let mut sum = GridSum::default();
    sums.into_iter().for_each(|part| sum.merge(part));
    sum.value(exponent) / n as f64
}

dispatched! {
    /// Adds the losses of a block of logits: log(1 + e^-h) for outcome 1, log(1 + e^h) for 0.
    fn add_losses / add_losses_portable(scores: &[f64], outcomes: &[bool], exponent: i32, sum: &mut GridSum) {
        let mut losses = [0.0; BLOCK];
        for ((h, outcome), loss) in scores.iter().zip(outcomes).zip(&mut losses) {
            let toward = if *outcome { -h } else { *h };
            let tail = logarithm::ln(1.0 + exp_of_nonpositive(-h.abs()));
            *loss = (if toward > 0.0 { toward } else { 0.0 }) + tail;
        }
        sum.add(exponent, |row| losses[row]);
    }
}
