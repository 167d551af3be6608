//! A sketch that one thread fills with many batches: plain rows wait in small tables, which pay for themselves over all batches.

use super::bins::BinTotals;
use super::rows::FINEST_OFFSETS;
use super::{Cells, N_TABLES, Sketch, wider};
use crate::Error;
use crate::cells::{Content, PlainRows, Resolution};
use crate::predictions::{BinaryView, Floats, Labels};

/// A count has so many bits of its word, and the sum of offsets the others.
const COUNT_BITS: u32 = 22;

/// Rows after which the small tables are emptied at the latest: then a count is below 2^22, a sum of offsets below 2^42 and one of
/// squares below 2^62, offsets having at most 20 bits.
const MOST_WAITING: usize = (1 << COUNT_BITS) - 1;

/// Rows that are converted at once.
const CHUNK: usize = 1 << 12;

/// A [`Sketch`] in the making, for streams: [`update`](Sketch::update) of many small batches, each a fraction of its cost.
///
/// # Definition
/// `finish` gives the sketch that [`Sketch::update`] with the same batches gives.
///
/// # Cost
/// One pass, on the calling thread. Memory: that of the sketch, and 16 bytes for each cell that there can be once plain
/// probabilities come: at resolution 12 5 MB.
///
/// # Example
/// ```
/// use calipers::{Filling, Input, Sketch};
///
/// let (mut filling, mut sketch) = (Filling::new(Sketch::new()), Sketch::new());
/// for batch in [[0.1, 0.9], [0.4, 0.6]] {
///     let batch = Input::probabilities(&batch, &[0, 1]).check()?;
///     filling.update(&batch.binary()?)?;
///     sketch.update(&batch.binary()?)?;
/// }
/// assert_eq!(filling.finish(), sketch);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filling {
    /// All rows, but for the cells of those that wait.
    sketch: Sketch,
    /// [count | sum of offsets, sum of squares], table after table; empty while no plain rows have come.
    waiting: Vec<[u64; 2]>,
    n_waiting: usize,
    probabilities: Vec<f64>,
    outcomes: Vec<u8>,
}

impl Filling {
    /// Goes on filling a sketch.
    pub fn new(sketch: Sketch) -> Self {
        Filling { sketch, waiting: Vec::new(), n_waiting: 0, probabilities: Vec::new(), outcomes: Vec::new() }
    }

    /// Adds the rows of a batch. Nothing changes where an error is returned.
    pub fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        self.sketch.prepare(view, view.len(), None)?;
        match view.plain() {
            Some(rows) if !self.sketch.is_weighted() => self.add_plain(rows),
            _ => self.sketch.add_range(view, 0..view.len()),
        }
        self.sketch.report.absorb(view.report());
        Ok(())
    }

    /// The sketch of all rows.
    pub fn finish(mut self) -> Sketch {
        self.empty();
        self.sketch
    }

    fn resolution(&self) -> Resolution {
        Resolution(self.sketch.resolution().0.max(FINEST_OFFSETS.0))
    }

    /// Cells of one table: down to the smallest q that clipping leaves.
    fn n_cells(&self) -> usize {
        let clip = self.sketch.options().clip_value();
        self.resolution().place(clip.min(1.0 - (1.0 - clip))).cell + 1
    }

    fn add_plain(&mut self, rows: PlainRows<'_>) {
        let n = rows.labels.len();
        if self.waiting.is_empty() {
            self.waiting = vec![[0; 2]; N_TABLES * self.n_cells()];
        }
        let (mut probabilities, mut outcomes) =
            (std::mem::take(&mut self.probabilities), std::mem::take(&mut self.outcomes));
        for start in (0..n).step_by(CHUNK) {
            let range = start..n.min(start + CHUNK);
            bits(rows.labels, range.clone(), &mut outcomes);
            let p = match rows.probabilities {
                Floats::F64(values) => &values[range],
                Floats::F32(values) => {
                    probabilities.clear();
                    probabilities.extend(values[range].iter().map(|p| f64::from(*p)));
                    &probabilities
                }
            };
            if self.n_waiting + p.len() > MOST_WAITING {
                self.empty();
            }
            self.n_waiting += p.len();
            self.add_to_cells(p, &outcomes);
            self.add_to_bins(p, &outcomes);
        }
        (self.probabilities, self.outcomes) = (probabilities, outcomes);
        self.sketch.n += n as u64;
        self.sketch.units += n as u128;
    }

    fn add_to_cells(&mut self, p: &[f64], outcomes: &[u8]) {
        let (resolution, clip, n_cells) = (self.resolution(), self.sketch.options().clip_value(), self.n_cells());
        let mut n_clipped = 0;
        for (&p, &outcome) in p.iter().zip(outcomes) {
            let clipped = p.max(clip).min(1.0 - clip);
            n_clipped += u64::from(clipped != p);
            let place = resolution.place(clipped.min(1.0 - clipped));
            let table = 2 * usize::from(clipped > 0.5) + usize::from(outcome);
            let [count_and_sum, squares] = &mut self.waiting[table * n_cells + place.cell];
            *count_and_sum += 1 | place.offset << COUNT_BITS;
            *squares += place.offset * place.offset;
        }
        self.sketch.n_clipped += n_clipped;
    }

    fn add_to_bins(&mut self, p: &[f64], outcomes: &[u8]) {
        for (totals, binning) in self.sketch.bins.iter_mut().zip(&self.sketch.shape.binnings) {
            for (&p, &outcome) in p.iter().zip(outcomes) {
                let p = p.clamp(0.0, 1.0);
                let totals: &mut BinTotals = &mut totals[binning.place(p)];
                totals.add_row(p, outcome == 1, 1);
            }
        }
    }

    /// Moves what waits into the sketch.
    fn empty(&mut self) {
        let (from, to, n_cells) = (self.resolution(), self.sketch.resolution(), self.n_cells());
        let weight_bits = self.sketch.options().weight_unit_bits();
        for (index, sums) in self.waiting.iter_mut().enumerate().filter(|(_, sums)| sums[0] != 0) {
            let [count_and_sum, squares] = std::mem::take(sums);
            let content = Content {
                count: count_and_sum & ((1 << COUNT_BITS) - 1),
                first: count_and_sum >> COUNT_BITS,
                second: squares.into(),
            };
            let (table, cell) = (index / n_cells, index % n_cells);
            let (cell, shift) = wider(cell as u32, from, to);
            let content = super::content::Sums::shifted(content, shift);
            match &mut self.sketch.cells {
                Cells::Plain(tables) => tables[table].add(cell, content),
                Cells::Weighted(tables) => {
                    tables[table].add(cell, super::content::Weighted::from_plain(content, weight_bits));
                }
            }
        }
        self.n_waiting = 0;
    }
}

/// Labels that the door let through, as bits.
fn bits(labels: Labels<'_>, range: std::ops::Range<usize>, bits: &mut Vec<u8>) {
    bits.clear();
    macro_rules! bits {
        ($labels:expr) => {
            bits.extend($labels[range].iter().map(|label| *label as u8 & 1))
        };
    }
    match labels {
        Labels::Bool(labels) => bits!(labels),
        Labels::I8(labels) => bits!(labels),
        Labels::I16(labels) => bits!(labels),
        Labels::I32(labels) => bits!(labels),
        Labels::I64(labels) => bits!(labels),
        Labels::U8(labels) => bits!(labels),
        Labels::U16(labels) => bits!(labels),
        Labels::U32(labels) => bits!(labels),
        Labels::U64(labels) => bits!(labels),
        Labels::F32(labels) => bits!(labels),
        Labels::F64(labels) => bits!(labels),
        // proof: text needs a positive label, and rows with one are not plain
        Labels::Text(_) => {}
    }
}
