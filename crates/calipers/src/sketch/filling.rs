//! A sketch that one thread fills with many batches: plain rows wait in small tables, which pay for
//! themselves over all batches.

use std::ops::Range;

use super::content::Weighted;
use super::layout::{Layout, Widening};
use super::options::Profile;
use super::table::Column;
use super::{Cells, N_TABLES, Sketch};
use crate::Error;
use crate::cells::{Content, Frame, Narrow, Resolution};
use crate::data::{BinaryView, PlainRows};
use crate::measures::binned;

/// Rows that go into cells and bins at once, few enough to stay in a cache.
const CHUNK: usize = 1 << 14;

/// The coarsest cells in which rows wait: offsets in coarser ones are so long that their sums would
/// have to be emptied all the time. Where the sketch is coarser, they are widened when they are
/// moved there.
const COARSEST: Resolution = Resolution(10);

/// A [`Sketch`] in the making, for streams: [`update`](Sketch::update) of many small batches, each
/// a fraction of its cost.
///
/// # Definition
/// `finish` gives the sketch that [`Sketch::update`] with the same batches gives.
///
/// # Cost
/// One pass, on the calling thread. Memory: that of the sketch, and 16 bytes for each cell that
/// there can be once plain probabilities come: at resolution 12 5 MB.
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
    /// `None` while no plain rows have come.
    waiting: Option<Narrow>,
}

impl Filling {
    /// Goes on filling a sketch.
    pub fn new(sketch: Sketch) -> Self {
        Filling { sketch, waiting: None }
    }

    /// Adds the rows of a batch. Nothing changes where an error is returned.
    pub fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        self.sketch.prepare(view)?;
        self.add(view, 0..view.len());
        self.sketch.report.absorb(view.report());
        Ok(())
    }

    /// The sketch of all rows.
    pub fn finish(mut self) -> Sketch {
        if let Some(mut waiting) = self.waiting.take() {
            self.sketch.take_from(&mut waiting);
        }
        self.sketch
    }

    /// Adds rows for whose kind the sketch is prepared.
    pub(super) fn add(&mut self, view: &BinaryView<'_>, range: Range<usize>) {
        match view.plain() {
            Some(rows) => self.add_plain(rows, range),
            None => self.sketch.add_range(view, range),
        }
    }

    fn add_plain(&mut self, rows: PlainRows<'_>, range: Range<usize>) {
        let waiting = self.waiting.get_or_insert_with(|| self.sketch.narrow());
        for start in range.clone().step_by(CHUNK) {
            let chunk = start..range.end.min(start + CHUNK);
            if !waiting.has_room(chunk.len()) {
                self.sketch.take_from(waiting);
            }
            // The input was validated before.
            waiting.add(rows, chunk.clone());
            self.sketch.add_to_bins(rows, chunk);
        }
        self.sketch.n += range.len() as u64;
        self.sketch.units += (range.len() as u128) << self.sketch.weight_shift();
    }
}

impl Sketch {
    /// A table in which plain rows of this sketch wait.
    fn narrow(&self) -> Narrow {
        let Layout { resolution, offset_bits, .. } = self.layout_of_waiting();
        Narrow::new(Frame::new(resolution, offset_bits, self.options().clip_value()))
    }

    fn layout_of_waiting(&self) -> Layout {
        let options = self.options();
        Layout::new(
            options.profile_value(),
            match options.profile_value() {
                Profile::Exact => options.resolution_bits().max(COARSEST.0),
                Profile::Monitoring => options.resolution_bits(),
            },
            options.weight_unit_bits(),
        )
    }

    /// By how many bits a row without a weight is less than a weight of 1.
    pub(super) fn weight_shift(&self) -> u32 {
        if self.is_weighted() { self.options().weight_unit_bits() } else { 0 }
    }

    /// Adds the cells of rows that have waited.
    fn take_from(&mut self, waiting: &mut Narrow) {
        let (widening, weight_bits) =
            (Widening { from: self.layout_of_waiting(), to: self.layout() }, self.options().weight_unit_bits());
        let mut columns: [Column<Content>; N_TABLES] = Default::default();
        self.n_clipped += waiting.empty(|table, cell, content| {
            let (cell, content) = widening.apply(cell as u32, content);
            columns[table].push(cell, content);
        });
        match &mut self.cells {
            Cells::Plain(tables) => tables.add_columns(columns),
            Cells::Weighted(tables) => tables.add_columns(columns.map(|Column { cells, sums }| {
                let weighted = |sums| Weighted::from_plain(sums, weight_bits);
                Column { cells, sums: sums.into_iter().map(weighted).collect() }
            })),
        }
    }

    pub(super) fn add_to_bins(&mut self, rows: PlainRows<'_>, range: Range<usize>) {
        let shift = self.weight_shift();
        for (totals, binning) in self.bins.iter_mut().zip(&self.shape.binnings) {
            binned::add_plain(totals, binning, rows, range.clone(), shift);
        }
    }
}
