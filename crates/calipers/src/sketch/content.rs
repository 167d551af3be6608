//! What the cells of a sketch hold: integers, so that adding in any order gives the same bits.

use std::fmt::Debug;

use super::layout::Layout;
use crate::cells::{Content, Moments};

/// Sums over the rows of a cell that can be added and moved to a wider cell, exactly.
pub(super) trait Sums: Copy + Default + PartialEq + Debug {
    /// A row on its way to its cell: its key, and its weight if there are any.
    type Row: Copy + Ord + Debug + Send + Sync;

    fn key(row: Self::Row) -> u64;

    /// The sums of one row with that offset.
    fn of_row(row: Self::Row, offset: u64, layout: Layout) -> Self;

    fn add(&mut self, other: Self);

    /// Takes rows away; `None` if they are not all there.
    fn less(self, other: Self) -> Option<Self>;

    /// The same rows in a cell in which every offset is larger by `shift`.
    fn shifted(self, shift: u64) -> Self;

    /// The same rows where offsets are not kept.
    fn without_offsets(self) -> Self;

    /// Whether no row is there.
    fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Rows, whatever their weight.
    fn count(&self) -> u64;

    /// Their weight in units; their number where they have none.
    fn units(&self) -> u128;

    /// The sums as a measure reads them; weights in units, of which a weight of 1 has
    /// 2^weight_bits.
    fn moments(&self, weight_bits: u32) -> Moments;
}

impl Sums for Content {
    type Row = u64;

    #[inline(always)]
    fn key(row: u64) -> u64 {
        row
    }

    #[inline(always)]
    fn of_row(_: u64, offset: u64, _: Layout) -> Self {
        Content { count: 1, first: offset, second: u128::from(offset) * u128::from(offset) }
    }

    #[inline(always)]
    fn add(&mut self, other: Self) {
        Content::add(self, other);
    }

    fn less(self, other: Self) -> Option<Self> {
        Some(Content {
            count: self.count.checked_sub(other.count)?,
            first: self.first.checked_sub(other.first)?,
            second: self.second.checked_sub(other.second)?,
        })
    }

    fn without_offsets(self) -> Self {
        Content { count: self.count, ..Content::default() }
    }

    fn shifted(self, shift: u64) -> Self {
        let (count, first, by) = (u128::from(self.count), u128::from(self.first), u128::from(shift));
        Content {
            count: self.count,
            first: self.first + shift * self.count,
            second: self.second + 2 * by * first + by * by * count,
        }
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn units(&self) -> u128 {
        self.count.into()
    }

    fn moments(&self, _: u32) -> Moments {
        moments(u128::from(self.count), 1.0, u128::from(self.first), self.second)
    }
}

/// The sums of a cell whose rows have weights, in units of the sketch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weighted {
    pub(super) count: u64,
    pub(super) weight: u128,
    /// Sum of squared weights, each cut to the units of weights.
    pub(super) square: u128,
    /// Sum of weight times offset.
    pub(super) first: u128,
    /// Sum of weight times squared offset.
    pub(super) second: u128,
}

impl Weighted {
    /// One row.
    pub(super) fn row(units: u64, offset: u64, weight_bits: u32) -> Self {
        let (weight, offset) = (u128::from(units), u128::from(offset));
        Weighted {
            count: 1,
            weight,
            square: (weight * weight) >> weight_bits,
            first: weight * offset,
            second: weight * offset * offset,
        }
    }

    /// Rows that had no weights have weight 1.
    pub(super) fn from_plain(content: Content, weight_bits: u32) -> Self {
        let weight = u128::from(content.count) << weight_bits;
        Weighted {
            count: content.count,
            weight,
            square: weight,
            first: u128::from(content.first) << weight_bits,
            second: content.second << weight_bits,
        }
    }
}

impl Sums for Weighted {
    /// A key, and units of weight.
    type Row = (u64, u64);

    #[inline(always)]
    fn key(row: (u64, u64)) -> u64 {
        row.0
    }

    #[inline(always)]
    fn of_row(row: (u64, u64), offset: u64, layout: Layout) -> Self {
        Weighted::row(row.1, offset, layout.weight_bits)
    }

    fn less(self, other: Self) -> Option<Self> {
        Some(Weighted {
            count: self.count.checked_sub(other.count)?,
            weight: self.weight.checked_sub(other.weight)?,
            square: self.square.checked_sub(other.square)?,
            first: self.first.checked_sub(other.first)?,
            second: self.second.checked_sub(other.second)?,
        })
    }

    fn without_offsets(self) -> Self {
        Weighted { first: 0, second: 0, ..self }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.weight += other.weight;
        self.square += other.square;
        self.first += other.first;
        self.second += other.second;
    }

    fn shifted(self, shift: u64) -> Self {
        let by = u128::from(shift);
        Weighted {
            first: self.first + by * self.weight,
            second: self.second + 2 * by * self.first + by * by * self.weight,
            ..self
        }
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn units(&self) -> u128 {
        self.weight
    }

    fn moments(&self, weight_bits: u32) -> Moments {
        let (weight, count) = (self.weight as f64, self.count as f64);
        // Squares of small weights were cut to nothing, but Σ w² is never below (Σ w)² / n.
        let row_weight = (self.square as f64 / weight).max(weight / count / 2f64.powi(weight_bits as i32));
        moments(self.weight, row_weight, self.first, self.second)
    }
}

fn moments(weight: u128, row_weight: f64, first: u128, second: u128) -> Moments {
    let mean = |sum: u128| if weight == 0 { 0.0 } else { sum as f64 / weight as f64 };
    Moments { weight: weight as f64, row_weight, first: mean(first), second: mean(second) }
}
