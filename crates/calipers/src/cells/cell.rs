//! The cell of a probability, which is found from its bits.
//!
//! With q = min(p, 1 - p), which a double holds exactly, the exponent of q and the top mantissa
//! bits are the cell, like a bucket of an HDR histogram: cells are between 1/2 and 4/3 of
//! 2^-resolution logits wide everywhere. The bits below are the offset inside the cell, cut after
//! [`OFFSET_BITS`]. Counts and sums of offsets and of their squares are integers, so that adding
//! them in any order gives the same bits.

/// Bits of the offset that are kept in memory, at most.
const OFFSET_BITS: u32 = 20;

/// Bits of the mantissa that cell and offset tell apart, at most. Sketches of any resolution have
/// them all, and so can be made coarser without a rounding.
pub(crate) const DEPTH: u32 = 32;

/// Mantissa bits of a double.
const MANTISSA: u32 = 52;

/// How fine cells are: mantissa bits of q that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolution(pub(crate) u32);

/// A cell, counted from q = 1/2 downwards, and the offset inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cell: usize,
    pub(crate) offset: u64,
}

impl Resolution {
    /// Bits of an offset.
    #[inline(always)]
    pub(crate) fn offset_bits(self) -> u32 {
        OFFSET_BITS.min(DEPTH - self.0)
    }

    /// The place of q = min(p, 1 - p), a normal number in (0, 1/2].
    #[inline(always)]
    pub(crate) fn place(self, q: f64) -> Place {
        self.place_among(q, self.offset_bits())
    }

    /// The same, for offsets of so many bits.
    #[inline(always)]
    pub(crate) fn place_among(self, q: f64, offset_bits: u32) -> Place {
        let bits = q.to_bits();
        // The bits of 1/2 are the largest that q can have.
        let cell = (0.5f64.to_bits() >> (MANTISSA - self.0)) - (bits >> (MANTISSA - self.0));
        let offset = (bits >> (MANTISSA - self.0 - offset_bits)) & ((1 << offset_bits) - 1);
        Place { cell: cell as usize, offset }
    }

    /// Smallest q of a cell.
    pub(crate) fn lower(self, cell: usize) -> f64 {
        f64::from_bits(((0.5f64.to_bits() >> (MANTISSA - self.0)) - cell as u64) << (MANTISSA - self.0))
    }
}

/// What a cell holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) count: u64,
    /// Sum of offsets.
    pub(crate) first: u64,
    /// Sum of squared offsets.
    pub(crate) second: u128,
}

impl Content {
    #[inline]
    pub(crate) fn add(&mut self, other: Content) {
        self.count += other.count;
        self.first += other.first;
        self.second += other.second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(resolution: Resolution, cell: usize) -> (f64, f64) {
        let lower = resolution.lower(cell);
        (lower, f64::from_bits(lower.to_bits() + (1 << (MANTISSA - resolution.0))))
    }

    #[test]
    fn cells_and_offsets_give_q_back_to_half_a_step() {
        for resolution in [10, 12, 14].map(Resolution) {
            for q in [0.5, 0.499_999, 0.25, 0.249_999, 0.1, 1e-3, 1e-6, 3e-200] {
                let place = resolution.place(q);
                let (lower, upper) = ends(resolution, place.cell);
                let step = (upper - lower) / f64::from(1 << resolution.offset_bits());
                let restored = lower + step * (place.offset as f64 + 0.5);
                assert!((restored - q).abs() <= 0.500_001 * step, "{q}: {restored}");
            }
        }
    }

    #[test]
    fn cells_are_as_wide_as_promised() {
        let resolution = Resolution(10);
        for cell in [1, 2, 500, 1024, 1025, 5000, 20_000] {
            let (lower, upper) = ends(resolution, cell);
            let width = ((upper / lower) * (1.0 - lower) / (1.0 - upper)).ln() * 1024.0;
            assert!((0.49..1.34).contains(&width), "cell {cell}: {width}");
        }
    }
}
