//! Where rows go: the cell and the offset of a score, and how cells are united to wider ones.

use super::content::Sums;
use super::options::Profile;
use crate::cells::{DEPTH, Resolution};

/// Bits of cell and offset together: 32 of the mantissa and 10 of the exponent.
const PLACE_BITS: u32 = DEPTH + 10;

/// How wide cells are, and what is kept of the places inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) resolution: Resolution,
    /// Bits of an offset.
    pub(super) offset_bits: u32,
    /// A weight of 1 is 2^weight_bits units.
    pub(super) weight_bits: u32,
}

impl Layout {
    pub(super) fn new(profile: Profile, resolution: u32, weight_bits: u32) -> Self {
        let offset_bits = match profile {
            // Whatever the resolution, cell and offset tell the same places apart.
            Profile::Exact => DEPTH - resolution,
            Profile::Monitoring => 0,
        };
        Layout { resolution: Resolution(resolution), offset_bits, weight_bits }
    }

    /// A table and the place of q = min(p, 1 - p) in it, as a number whose order is that of tables,
    /// cells and offsets.
    #[inline(always)]
    pub(super) fn key(self, table: usize, q: f64) -> u64 {
        let place = self.resolution.place_among(q, self.offset_bits);
        (table as u64) << PLACE_BITS | (place.cell as u64) << self.offset_bits | place.offset
    }

    /// Table, cell and offset of a key.
    #[inline(always)]
    pub(super) fn split(self, key: u64) -> (usize, u32, u64) {
        let place = key & ((1 << PLACE_BITS) - 1);
        // The remainder tells the compiler that a table of that number is there.
        let table = (key >> PLACE_BITS) as usize % super::N_TABLES;
        (table, (place >> self.offset_bits) as u32, place & ((1 << self.offset_bits) - 1))
    }
}

/// From one layout to one with cells as wide or wider, or without offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widening {
    pub(super) from: Layout,
    pub(super) to: Layout,
}

impl Widening {
    /// The wider cell that a cell is part of, and the sums of its rows there.
    #[inline(always)]
    pub(super) fn apply<S: Sums>(self, cell: u32, sums: S) -> (u32, S) {
        if self.from == self.to {
            return (cell, sums);
        }
        let halvings = self.from.resolution.0 - self.to.resolution.0;
        // Cells are counted downwards from that of 1/2, and offsets upwards.
        let wide = cell.div_ceil(1 << halvings);
        if self.to.offset_bits == 0 {
            return (wide, sums.without_offsets());
        }
        let above = u64::from((wide << halvings) - cell);
        (wide, sums.shifted(above << self.from.offset_bits))
    }
}
