//! Where a probability is kept: found from its own bits.
//!
//! With q = min(p, 1 - p), which a double holds exactly, the exponent of q and the top mantissa bits are the
//! cell, like a bucket of an HDR histogram: cells are between 1/2 and 4/3 of 2^-resolution logits wide
//! everywhere. The bits below are the offset inside the cell, cut after [`OFFSET_BITS`]. Counts and sums of
//! offsets and of their squares are integers, so that adding them in any order gives the same bits.

/// Bits of the offset that are kept.
pub(super) const OFFSET_BITS: u32 = 20;

/// Offsets of a cell.
pub(super) const N_OFFSETS: f64 = (1u64 << OFFSET_BITS) as f64;

/// Mantissa bits of a double.
const MANTISSA: u32 = 52;

/// How fine cells are: mantissa bits of q that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolution(pub(super) u32);

/// A cell, counted from q = 1/2 downwards, and the offset inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cell: usize,
    pub(super) offset: u64,
}

impl Resolution {
    /// The place of q = min(p, 1 - p), a normal number in (0, 1/2].
    #[inline(always)]
    pub(super) fn place(self, q: f64) -> Place {
        let bits = q.to_bits();
        // The bits of 1/2 are the largest that q can have.
        let cell = (0.5f64.to_bits() >> (MANTISSA - self.0)) - (bits >> (MANTISSA - self.0));
        let offset = (bits >> (MANTISSA - self.0 - OFFSET_BITS)) & ((1 << OFFSET_BITS) - 1);
        Place { cell: cell as usize, offset }
    }

    /// Smallest q of a cell, and the step between offsets.
    pub(super) fn limits(self, cell: usize) -> (f64, f64) {
        let bits = ((0.5f64.to_bits() >> (MANTISSA - self.0)) - cell as u64) << (MANTISSA - self.0);
        let lower = f64::from_bits(bits);
        let next = f64::from_bits(bits + (1 << (MANTISSA - self.0)));
        (lower, (next - lower) / N_OFFSETS)
    }
}

/// What a cell holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) count: u64,
    /// Sum of offsets.
    pub(super) first: u64,
    /// Sum of squared offsets.
    pub(super) second: u128,
}

impl Content {
    #[inline]
    pub(super) fn add(&mut self, other: Content) {
        self.count += other.count;
        self.first += other.first;
        self.second += other.second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_offsets_give_q_back_to_half_a_step() {
        let resolution = Resolution(10);
        for q in [0.5, 0.499_999, 0.25, 0.249_999, 0.1, 1e-3, 1e-6, 3e-200] {
            let place = resolution.place(q);
            let (lower, step) = resolution.limits(place.cell);
            let restored = lower + step * (place.offset as f64 + 0.5);
            assert!((restored - q).abs() <= 0.500_001 * step, "{q}: {restored}");
        }
    }

    #[test]
    fn cells_are_as_wide_as_promised() {
        let resolution = Resolution(10);
        for cell in [1, 2, 500, 1024, 1025, 5000, 20_000] {
            let (lower, step) = resolution.limits(cell);
            let upper = lower + step * N_OFFSETS;
            let width = ((upper / lower) * (1.0 - lower) / (1.0 - upper)).ln() * 1024.0;
            assert!((0.49..1.34).contains(&width), "cell {cell}: {width}");
        }
    }
}
