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
    fn less(self, other: Self, layout: Layout) -> Option<Self>;

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

    fn less(self, other: Self, _: Layout) -> Option<Self> {
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
///
/// # Squared weights
/// Versions 1 to 3 of the format have Σ (W² >> U), in which the squares of weights below 2^(U/2)
/// units are nothing, and later ones have Σ W² as well. With R = Σ (W² mod 2^U), which is below
/// n 2^U for n rows,
/// ```text
/// Σ W² = 2^U Σ (W² >> U) + R,      Σ (W² >> U) = (Σ W² >> U) - carries,      0 <= carries = R >> U < n
/// ```
/// Since n is far below 2^64, Σ W² and the lowest 64 bits of Σ (W² >> U) tell the carries, and with
/// them all bits. Both are sums modulo a power of two, so that any order of adding gives the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weighted {
    pub(super) count: u64,
    /// The lowest 64 bits of Σ (W² >> U).
    cut: u64,
    pub(super) weight: u128,
    /// Sum of squared weights; where they were read from an older version, what that kept of them.
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
            cut: ((weight * weight) >> weight_bits) as u64,
            weight,
            square: weight * weight,
            first: weight * offset,
            second: weight * offset * offset,
        }
    }

    /// Rows whose squared weights were cut, as versions 1 to 3 have them; `cut << weight_bits` has
    /// at most 127 bits.
    pub(super) fn with_cut_squares(count: u64, weight: u128, cut: u128, sums: (u128, u128), weight_bits: u32) -> Self {
        let (first, second) = sums;
        Weighted { count, cut: cut as u64, weight, square: cut << weight_bits, first, second }
    }

    /// Rows with all of their squared weights, and the carries of [the definition](Weighted).
    pub(super) fn with_squares(
        count: u64,
        weight: u128,
        square: u128,
        carries: u64,
        sums: (u128, u128),
        weight_bits: u32,
    ) -> Self {
        let (first, second) = sums;
        let cut = ((square >> weight_bits) as u64).wrapping_sub(carries);
        Weighted { count, cut, weight, square, first, second }
    }

    /// Σ W², and where older versions have cut it, no less than it can be: (Σ W)² / n.
    pub(super) fn squares(&self) -> f64 {
        let (weight, count) = (self.weight as f64, self.count as f64);
        (self.square as f64).max(weight * (weight / count))
    }

    /// By how much Σ W² >> U is above Σ (W² >> U).
    pub(super) fn carries(&self, weight_bits: u32) -> u64 {
        ((self.square >> weight_bits) as u64).wrapping_sub(self.cut)
    }

    /// Σ (W² >> U).
    pub(super) fn cut_squares(&self, weight_bits: u32) -> u128 {
        // proof: what bytes and subtractions give is checked to have no more carries than that
        (self.square >> weight_bits).saturating_sub(self.carries(weight_bits).into())
    }

    /// Rows that had no weights have weight 1.
    pub(super) fn from_plain(content: Content, weight_bits: u32) -> Self {
        let weight = u128::from(content.count) << weight_bits;
        Weighted {
            count: content.count,
            cut: weight as u64,
            weight,
            // proof: a weight of 1 has at most 2^56 units, and all have at most 2^71
            square: weight << weight_bits,
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

    /// The cut squares are exact whatever version the rows come from. All squares are so unless
    /// one of both was read from a version that has cut them; then they are kept where they can be.
    fn less(self, other: Self, layout: Layout) -> Option<Self> {
        let bits = layout.weight_bits;
        let (count, weight) = (self.count.checked_sub(other.count)?, self.weight.checked_sub(other.weight)?);
        let cut = self.cut_squares(bits).checked_sub(other.cut_squares(bits))?;
        let least = cut << bits;
        // proof: `cut` is no larger than before; and the rest has at most 102 bits
        let most = least + u128::from(count) * ((1 << bits) - 1);
        let square = match count {
            1 => weight.checked_mul(weight)?,
            _ => self.square.saturating_sub(other.square).clamp(least, most),
        };
        Some(Weighted {
            count,
            cut: cut as u64,
            weight,
            square,
            first: self.first.checked_sub(other.first)?,
            second: self.second.checked_sub(other.second)?,
        })
    }

    fn without_offsets(self) -> Self {
        Weighted { first: 0, second: 0, ..self }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.cut = self.cut.wrapping_add(other.cut);
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
        let unit = 2f64.powi(weight_bits as i32);
        // Not below the mean weight, which it is where rows have the same weight; and NaN is not.
        let of_squares = if self.count == 1 { 0.0 } else { self.square as f64 / weight / unit };
        moments(self.weight, of_squares.max(weight / count / unit), self.first, self.second)
    }
}

fn moments(weight: u128, row_weight: f64, first: u128, second: u128) -> Moments {
    let mean = |sum: u128| if weight == 0 { 0.0 } else { sum as f64 / weight as f64 };
    Moments { weight: weight as f64, row_weight, first: mean(first), second: mean(second) }
}
