//! Rows of a binary outcome in an order of their own, with equal logits pooled.
//!
//! Rows are sorted by logit, outcome and weight, and only then added up. So neither their order nor
//! the number of threads changes a bit of any result, and a row of weight 3 in place of three equal
//! rows changes none of the sums.

use rayon::prelude::*;

use super::logits::{self, Clipped};
use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// One row with weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// The bits of the logit, in the order of logits.
    key: u64,
    /// The bits of the weight, whose sign is free, and the outcome.
    weight_and_outcome: u64,
    /// Where it was among the rows of the view.
    pub(crate) index: u32,
}

impl Row {
    pub(crate) fn h(self) -> f64 {
        let sign = 1 << 63;
        f64::from_bits(if self.key & sign != 0 { self.key ^ sign } else { !self.key })
    }

    pub(crate) fn outcome(self) -> bool {
        self.weight_and_outcome & 1 == 1
    }

    pub(crate) fn weight(self) -> f64 {
        f64::from_bits(self.weight_and_outcome >> 1)
    }

    /// What tells rows apart, but for their place.
    pub(crate) fn content(self) -> (u64, u64) {
        (self.key, self.weight_and_outcome)
    }

    fn new(h: f64, outcome: bool, weight: f64, index: u32) -> Self {
        // Adding 0 turns -0 into 0. Negative numbers have their bits inverted, others their sign.
        let bits = (h + 0.0).to_bits();
        let key = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Row { key, weight_and_outcome: weight.to_bits() << 1 | u64::from(outcome), index }
    }
}

/// Rows of one logit: a label that may be a fraction, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Atom {
    pub(crate) h: f64,
    /// Weights of outcome 0 and of outcome 1.
    pub(crate) weights: [f64; 2],
    /// Sums of their squares; the weights themselves where these count rows.
    pub(crate) squares: [f64; 2],
}

/// All rows of a view that have weight, in order.
#[derive(Debug, Clone)]
pub(crate) struct Ordered {
    pub(crate) rows: Vec<Row>,
    /// Whether a weight is a number of equal rows.
    pub(crate) counts: bool,
    pub(crate) clipped: Clipped,
}

impl Ordered {
    pub(crate) fn new(view: &BinaryView<'_>, clip: f64, counts: bool) -> Result<Self, Error> {
        if view.is_empty() {
            return Err(Error::NoRows);
        }
        let most = u32::MAX as usize;
        Error::require(view.len() <= most, "rows", format!("at most {most}"), view.len())?;
        let scale = if counts { 1.0 } else { logits::weight_scale(view) };
        let chunks = parallel::map_chunks(view.len(), parallel::CHUNK, |range| {
            let mut rows = Rows::default();
            let clipped = logits::read(view, range.clone(), clip, &mut rows);
            let of_chunk = range.zip(&rows.scores).zip(rows.outcomes.iter().zip(&rows.weights));
            let with_weight = of_chunk.filter(|(_, (_, weight))| **weight > 0.0);
            let ordered: Vec<Row> = with_weight
                .map(|((index, h), (outcome, weight))| Row::new(*h, *outcome, weight * scale, index as u32))
                .collect();
            (ordered, clipped)
        });
        let mut clipped = Clipped::default();
        chunks.iter().for_each(|(_, of_chunk)| clipped.merge(*of_chunk));
        let mut rows: Vec<Row> = Vec::with_capacity(view.len());
        chunks.iter().for_each(|(of_chunk, _)| rows.extend_from_slice(of_chunk));
        drop(chunks);
        if rows.is_empty() {
            return Err(Error::ZeroWeights { n_rows: view.len() as u64 });
        }
        if counts && let Some(row) = rows.iter().find(|row| row.weight().fract() != 0.0) {
            return Err(Error::setting("weights", "whole numbers where they count rows", row.weight()));
        }
        Ok(Ordered { rows: sorted(rows), counts, clipped })
    }

    /// The rows whose place in the order is chosen, pooled.
    pub(crate) fn pooled(&self, chosen: impl Fn(usize) -> bool) -> Atoms {
        self.pooled_as(|place, row| chosen(place).then(|| row.outcome()))
    }

    /// Rows with other outcomes in place of theirs, pooled; those that get none are left out.
    pub(crate) fn pooled_as(&self, mut outcome: impl FnMut(usize, Row) -> Option<bool>) -> Atoms {
        let mut atoms: Vec<Atom> = Vec::with_capacity(self.rows.len());
        let mut n = 0;
        let mut place = 0;
        for rows in self.rows.chunk_by(|a, b| a.key == b.key) {
            if let [row] = rows {
                if let Some(outcome) = outcome(place, *row) {
                    let (mut weights, mut squares) = ([0.0; 2], [0.0; 2]);
                    weights[usize::from(outcome)] = row.weight();
                    squares[usize::from(outcome)] = self.square(row.weight());
                    atoms.push(Atom { h: row.h(), weights, squares });
                    n += 1;
                }
                place += 1;
                continue;
            }
            // Sums of weights and of their squares, by outcome.
            let mut sums = [[Sum::default(); 2]; 2];
            let before = n;
            for row in rows {
                if let Some(outcome) = outcome(place, *row) {
                    let weight = row.weight();
                    sums[0][usize::from(outcome)].add(weight);
                    sums[1][usize::from(outcome)].add(self.square(weight));
                    n += 1;
                }
                place += 1;
            }
            if n > before {
                let [weights, squares] = sums.map(|pair| pair.map(Sum::value));
                atoms.push(Atom { h: rows[0].h(), weights, squares });
            }
        }
        Atoms::new(atoms, n)
    }

    fn square(&self, weight: f64) -> f64 {
        if self.counts { weight } else { weight * weight }
    }

    /// Whether all rows weigh the same, and that is 1.
    pub(crate) fn is_unweighted(&self) -> bool {
        self.rows.iter().all(|row| row.weight() == 1.0)
    }
}

/// Pooled rows in ascending order of their logits, each with some weight.
#[derive(Debug, Clone)]
pub(crate) struct Atoms {
    pub(crate) atoms: Vec<Atom>,
    /// Weights of both outcomes.
    pub(crate) totals: [f64; 2],
    /// (Σw)² / Σw², Kish's effective number of rows; Σw where weights count rows.
    pub(crate) effective_n: f64,
    /// Rows.
    pub(crate) n: u64,
}

impl Atoms {
    pub(crate) fn new(atoms: Vec<Atom>, n: u64) -> Self {
        let sums: [f64; 4] = parallel::sums(atoms.len(), |range, sums| {
            for atom in &atoms[range] {
                for outcome in 0..2 {
                    sums[outcome].add(atom.weights[outcome]);
                    sums[2 + outcome].add(atom.squares[outcome]);
                }
            }
        });
        let (totals, squares) = ([sums[0], sums[1]], sums[2] + sums[3]);
        let total: f64 = totals.iter().sum();
        Atoms { atoms, totals, effective_n: total * total / squares, n }
    }

    /// Cells of neighbours in place of atoms that are many, each at the mean logit of its rows.
    pub(crate) fn in_cells(&self) -> Option<Atoms> {
        const MANY: usize = 1 << 14;
        /// Cells for each unit of logit.
        const CELLS: f64 = 64.0;
        if self.atoms.len() <= MANY {
            return None;
        }
        let cell = |atom: &Atom| (atom.h * CELLS).round();
        let merged = |group: &[Atom]| {
            let mut sum = Atom { h: 0.0, weights: [0.0; 2], squares: [0.0; 2] };
            let mut distance = 0.0;
            for atom in group {
                for outcome in 0..2 {
                    sum.weights[outcome] += atom.weights[outcome];
                    sum.squares[outcome] += atom.squares[outcome];
                }
                distance += (atom.weights[0] + atom.weights[1]) * (atom.h - group[0].h);
            }
            sum.h = group[0].h + distance / (sum.weights[0] + sum.weights[1]);
            sum
        };
        // A cell that is in two chunks stays two.
        let chunks = parallel::map_chunks(self.atoms.len(), parallel::CHUNK, |range| {
            self.atoms[range].chunk_by(|a, b| cell(a) == cell(b)).map(merged).collect::<Vec<Atom>>()
        });
        let cells = chunks.concat();
        (cells.len() <= self.atoms.len() / 4).then(|| Atoms::new(cells, self.n))
    }

    pub(crate) fn total(&self) -> f64 {
        self.totals[0] + self.totals[1]
    }

    /// Smallest and largest logit of an outcome; `None` where it does not occur.
    pub(crate) fn range(&self, outcome: usize) -> Option<(f64, f64)> {
        let has = |atom: &&Atom| atom.weights[outcome] > 0.0;
        Some((self.atoms.iter().find(has)?.h, self.atoms.iter().rev().find(has)?.h))
    }

    /// The share of the weight whose logits meet a condition.
    pub(crate) fn share(&self, of: impl Fn(f64) -> bool) -> f64 {
        let weights = self.atoms.iter().filter(|atom| of(atom.h)).map(|atom| atom.weights[0] + atom.weights[1]);
        weights.collect::<Sum>().value() / self.total()
    }

    /// Checks that both outcomes occur.
    pub(crate) fn check_outcomes(&self) -> Result<(), Error> {
        match self.totals.map(|total| total > 0.0) {
            [true, true] => Ok(()),
            [has_negative, _] => {
                let got = format!("{} rows of outcome {}", self.n, u8::from(!has_negative));
                Err(Error::setting("rows", "of both outcomes", got))
            }
        }
    }
}

/// Rows in order. Many are first distributed to cells of equal width in logits, each of which is
/// then sorted in the cache.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    const FEWEST: usize = 1 << 16;
    let ends = rows.iter().fold((u64::MAX, 0), |(low, high), row| (row.key.min(low), row.key.max(high)));
    if rows.len() < FEWEST {
        rows.par_sort_unstable();
        return rows;
    }
    let n_cells = rows.len() / 128;
    let at = |key: u64| Row { key, weight_and_outcome: 0, index: 0 }.h();
    let low = at(ends.0);
    let scale = n_cells as f64 / (at(ends.1) - low);
    // It does not fall with the logit. Where the range overflows or is 0, all are in one cell.
    let cell = |row: &Row| (((row.h() - low) * scale) as usize).min(n_cells - 1);
    let cells: Vec<u32> = parallel::map_chunks(rows.len(), parallel::CHUNK, |range| {
        rows[range].iter().map(|row| cell(row) as u32).collect::<Vec<u32>>()
    })
    .concat();
    let mut next = vec![0; n_cells + 1];
    cells.iter().for_each(|cell| next[*cell as usize + 1] += 1);
    (0..n_cells).for_each(|cell| next[cell + 1] += next[cell]);
    let lengths: Vec<usize> = next.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let mut distributed = vec![rows[0]; rows.len()];
    for (row, cell) in rows.iter().zip(&cells) {
        let place = &mut next[*cell as usize];
        distributed[*place] = *row;
        *place += 1;
    }
    let mut rest = &mut distributed[..];
    let mut parts = Vec::with_capacity(n_cells);
    for length in lengths {
        let (part, after) = rest.split_at_mut(length);
        parts.push(part);
        rest = after;
    }
    parts
        .into_par_iter()
        .with_min_len(64)
        .for_each(|part| if part.len() < FEWEST { part.sort_unstable() } else { part.par_sort_unstable() });
    distributed
}
