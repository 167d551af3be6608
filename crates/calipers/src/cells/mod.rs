//! Many rows in a fixed number of cells: how LS-ECE of millions of rows costs one pass over them.
//!
//! ```text
//! plain columns -> pass -> Cells -> atoms (points for the integral, with their price)
//! ```

mod atoms;
mod cell;
mod pass;
mod summary;

pub(crate) use atoms::Atoms;
pub(crate) use cell::{Content, DEPTH, Resolution};
pub(crate) use pass::{Frame, Narrow};
pub(crate) use summary::{Moments, Summary};

use crate::data::PlainRows;

/// Which half of (0, 1), and which outcome: four tables of cells.
const N_TABLES: usize = 4;

/// Counts and moments of rows, by cell, half and outcome.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    resolution: Resolution,
    /// Cells of one table: down to the smallest q that clipping leaves.
    n_cells: usize,
    /// Table after table; table 2 · upper + outcome.
    contents: Vec<Content>,
    /// Probabilities that were moved off 0 or 1.
    pub(crate) n_clipped: u64,
}

impl Cells {
    /// One pass over the rows, clipped to [clip, 1 - clip], into cells of about 2^-resolution
    /// logits. `None` if unchecked rows are invalid.
    pub(crate) fn new(rows: PlainRows<'_>, resolution: u32, clip: f64) -> Option<Self> {
        pass::run(rows, Resolution(resolution), clip)
    }

    /// Occupied cells, for measures to read.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = Summary> {
        let occupied = self.contents.iter().enumerate().filter(|(_, content)| content.count > 0);
        occupied.map(|(index, content)| {
            let (table, cell) = (index / self.n_cells, index % self.n_cells);
            let weight = content.count as f64;
            let (first, second) = (content.first as f64 / weight, content.second as f64 / weight);
            let moments = Moments { weight, row_weight: 1.0, first, second };
            Summary::new(self.resolution, self.resolution.offset_bits(), cell, table >= 2, table % 2 == 1, moments)
        })
    }
}
