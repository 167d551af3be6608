//! One pass over rows into cells: the part whose speed is that of reading the data.
//!
//! Each worker adds to a small table of two words for each cell, which stays in its cache, and empties it into wide
//! sums before a word can overflow. Sums of integers do not depend on who adds what when.

use std::ops::Range;

use rayon::prelude::*;

use super::cell::{Content, OFFSET_BITS, Resolution};
use super::{Cells, N_TABLES};
use crate::predictions::{Floats, Labels};

/// Rows after which the small table is emptied: then a count is below 2^24, a sum of offsets below 2^40 and one of
/// squares below 2^60.
const ROWS: usize = 1 << 20;

const COUNT_BITS: u32 = 24;
const _: () = assert!(ROWS < 1 << COUNT_BITS && ROWS.ilog2() + OFFSET_BITS + COUNT_BITS <= 64);

/// Rows for which a worker's own tables pay.
const ENOUGH: usize = 1 << 16;

/// Checked probabilities of outcome 1, and labels that are 0 or 1, as they are in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainRows<'a> {
    pub(crate) probabilities: Floats<'a>,
    pub(crate) labels: Labels<'a>,
}

pub(super) fn run(rows: PlainRows<'_>, resolution: Resolution, clip: f64) -> Cells {
    let n = rows.labels.len();
    let n_workers = rayon::current_num_threads().min(n.div_ceil(ENOUGH)).max(1);
    let share = n.div_ceil(n_workers);
    let cells: Vec<Cells> = (0..n_workers)
        .into_par_iter()
        .map(|worker| {
            let mut tables = Tables::new(resolution, clip);
            tables.add_rows(rows, (worker * share).min(n)..n.min((worker + 1) * share));
            tables.finish()
        })
        .collect();
    let empty = Tables::new(resolution, clip).finish();
    cells.into_iter().reduce(merge).unwrap_or(empty)
}

fn merge(mut cells: Cells, other: Cells) -> Cells {
    cells.contents.iter_mut().zip(other.contents).for_each(|(content, other)| content.add(other));
    cells.n_clipped += other.n_clipped;
    cells
}

/// The cells as one worker fills them.
struct Tables {
    clip: f64,
    /// [count | sum of offsets, sum of squares]
    narrow: Vec<[u64; 2]>,
    wide: Cells,
}

/// A label that the door let through, as a bit.
trait Outcome: Copy {
    fn bit(self) -> usize;
}

macro_rules! outcome {
    ($($type:ty),*) => {$(
        impl Outcome for $type {
            #[inline(always)]
            fn bit(self) -> usize {
                self as usize & 1
            }
        }
    )*};
}
outcome!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Tables {
    fn new(resolution: Resolution, clip: f64) -> Self {
        // 1 - (1 - clip) is clip with a rounding: the smaller of the two has the last cell.
        let smallest = clip.min(1.0 - (1.0 - clip));
        let n_cells = resolution.place(smallest).cell + 1;
        let contents = vec![Content::default(); n_cells * N_TABLES];
        Tables {
            clip,
            narrow: vec![[0; 2]; n_cells * N_TABLES],
            wide: Cells { resolution, n_cells, contents, n_clipped: 0 },
        }
    }

    fn add_rows(&mut self, rows: PlainRows<'_>, range: Range<usize>) {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + ROWS);
            match rows.probabilities {
                Floats::F32(values) => self.add_probabilities(&values[start..end], rows.labels, start..end),
                Floats::F64(values) => self.add_probabilities(&values[start..end], rows.labels, start..end),
            }
            self.widen();
            start = end;
        }
    }

    fn add_probabilities<P: Copy + Into<f64>>(&mut self, p: &[P], labels: Labels<'_>, range: Range<usize>) {
        match labels {
            Labels::Bool(labels) => self.add_typed(p, &labels[range]),
            Labels::I8(labels) => self.add_typed(p, &labels[range]),
            Labels::I16(labels) => self.add_typed(p, &labels[range]),
            Labels::I32(labels) => self.add_typed(p, &labels[range]),
            Labels::I64(labels) => self.add_typed(p, &labels[range]),
            Labels::U8(labels) => self.add_typed(p, &labels[range]),
            Labels::U16(labels) => self.add_typed(p, &labels[range]),
            Labels::U32(labels) => self.add_typed(p, &labels[range]),
            Labels::U64(labels) => self.add_typed(p, &labels[range]),
            Labels::F32(labels) => self.add_typed(p, &labels[range]),
            Labels::F64(labels) => self.add_typed(p, &labels[range]),
            // proof: text needs a positive label, and rows with one are not plain
            Labels::Text(_) => {}
        }
    }

    /// The inner loop: the places of some rows at once, without a branch, and then their sums.
    fn add_typed<P: Copy + Into<f64>, L: Outcome>(&mut self, p: &[P], labels: &[L]) {
        const LANES: usize = 8;
        let (p_lanes, p_rest) = p.as_chunks::<LANES>();
        let (label_lanes, label_rest) = labels.as_chunks::<LANES>();
        for (p, labels) in p_lanes.iter().zip(label_lanes) {
            let places: [(usize, u64); LANES] =
                std::array::from_fn(|lane| self.place(p[lane].into(), labels[lane].bit()));
            for (index, offset) in places {
                self.add(index, offset);
            }
        }
        for (p, label) in p_rest.iter().zip(label_rest) {
            let (index, offset) = self.place((*p).into(), label.bit());
            self.add(index, offset);
        }
    }

    #[inline(always)]
    fn place(&mut self, p: f64, outcome: usize) -> (usize, u64) {
        let clipped = p.max(self.clip).min(1.0 - self.clip);
        self.wide.n_clipped += u64::from(clipped != p);
        let upper = usize::from(clipped > 0.5);
        let at = self.wide.resolution.place(clipped.min(1.0 - clipped));
        (at.cell + self.wide.n_cells * (2 * upper + outcome), at.offset)
    }

    #[inline(always)]
    fn add(&mut self, index: usize, offset: u64) {
        let [count_and_sum, squares] = &mut self.narrow[index];
        *count_and_sum += 1 | offset << COUNT_BITS;
        *squares += offset * offset;
    }

    /// Moves the narrow sums to the wide ones.
    fn widen(&mut self) {
        for (content, narrow) in self.wide.contents.iter_mut().zip(&mut self.narrow) {
            let [count_and_sum, squares] = std::mem::take(narrow);
            content.add(Content {
                count: count_and_sum & ((1 << COUNT_BITS) - 1),
                first: count_and_sum >> COUNT_BITS,
                second: squares.into(),
            });
        }
    }

    fn finish(self) -> Cells {
        self.wide
    }
}
