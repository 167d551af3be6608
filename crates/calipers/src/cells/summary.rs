//! One occupied cell, as measures read it.

use super::cell::Resolution;

/// The points of one cell with one outcome: where they are and how they spread.
///
/// Lengths are in units of `scale`, the power of two below q, so that nothing underflows however
/// small q is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary {
    /// Whether q is 1 - p.
    pub(crate) upper: bool,
    pub(crate) outcome: bool,
    /// Of all points of the cell.
    pub(crate) weight: f64,
    /// Σ w² / Σ w of the rows, in weights of 1; 1 where rows have no weights.
    pub(crate) row_weight: f64,
    pub(crate) scale: f64,
    /// Of q, from 1 to 2 scales.
    pub(crate) mean: f64,
    /// Standard deviation of q.
    pub(crate) deviation: f64,
    /// Smallest q of the cell.
    pub(crate) lower: f64,
    /// Length of the cell.
    pub(crate) width: f64,
    /// Distance of two offsets: twice the most by which a point can be off.
    pub(crate) step: f64,
}

/// The weight of a cell, and the weighted means of offsets and of their squares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) weight: f64,
    /// Σ w² / Σ w, in weights of 1.
    pub(crate) row_weight: f64,
    pub(crate) first: f64,
    pub(crate) second: f64,
}

impl Summary {
    /// `offset_bits` is how many bits offsets have.
    pub(crate) fn new(
        resolution: Resolution,
        offset_bits: u32,
        cell: usize,
        upper: bool,
        outcome: bool,
        moments: Moments,
    ) -> Self {
        const EXPONENT: u64 = 0x7ff << 52;
        let lower = resolution.lower(cell);
        let scale = f64::from_bits(lower.to_bits() & EXPONENT);
        let width = 2f64.powi(-(resolution.0 as i32));
        let step = width * 2f64.powi(-(offset_bits as i32));
        let lower = lower / scale;
        let variance = (moments.second - moments.first * moments.first).max(0.0);
        Summary {
            upper,
            outcome,
            weight: moments.weight,
            row_weight: moments.row_weight,
            scale,
            // A point is taken to be in the middle of what its offset leaves open.
            mean: lower + step * (moments.first + 0.5),
            deviation: variance.sqrt() * step,
            lower,
            width,
            step,
        }
    }

    /// Whether more is known of its points than the cell.
    pub(crate) fn has_offsets(&self) -> bool {
        self.step < self.width
    }

    /// Largest distance of the mean from an end of the cell.
    pub(crate) fn reach(&self) -> f64 {
        (self.mean - self.lower).max(self.lower + self.width - self.mean)
    }

    /// p at some q, and 1 - p, both without cancellation.
    pub(crate) fn probability(&self, scaled: f64) -> (f64, f64) {
        let q = scaled * self.scale;
        if self.upper { (1.0 - q, q) } else { (q, 1.0 - q) }
    }
}
