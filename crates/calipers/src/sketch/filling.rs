//! A sketch that one thread fills with many batches: plain rows wait in small tables, which pay for themselves over all batches.

use super::bins::{BinTotals, PROBABILITY_BITS, fixed_point};
use super::content::{Sums, Weighted};
use super::rows::FINEST_OFFSETS;
use super::{Cells, N_TABLES, Sketch, wider};
use crate::Error;
use crate::binned::EqualWidth;
use crate::cells::{Content, Resolution};
use crate::numerics::dispatch::dispatched;
use crate::predictions::{BinaryView, Outcome, PlainPass, PlainRows, Probability};

/// A count has so many bits of its word, and the sum of offsets the others.
const COUNT_BITS: u32 = 22;

/// Rows after which all that waits is moved on at the latest: then a count is below 2^22, a sum of offsets below 2^42 and one of
/// squares below 2^62, offsets having at most 20 bits.
const MOST_WAITING: usize = (1 << COUNT_BITS) - 1;

/// Bits of an offset in a waiting row, below its cell.
const OFFSET_BITS: u32 = 20;

/// Cells of a span, whose sums stay in the cache while the rows of a bucket are added to them.
const SPAN: usize = 1 << 12;

/// Rows of a bucket: enough that each line of its span is fetched for several of them.
const BUCKET: usize = 1 << 12;

/// Rows that are converted at once, and from which on buckets pay.
const CHUNK: usize = 1 << 12;

/// Copies of the sums of bins, so that rows of one bin need not wait for each other.
const LANES: usize = 4;

/// The low and the high half of a probability, in units of 2^-56.
const HALF: u32 = PROBABILITY_BITS / 2;

/// A [`Sketch`] in the making, for streams: [`update`](Sketch::update) of many small batches, each a fraction of its cost.
///
/// # Definition
/// `finish` gives the sketch that [`Sketch::update`] with the same batches gives.
///
/// # Cost
/// One pass, on the calling thread. Memory: that of the sketch, and once plain probabilities come 24 bytes for each cell that there
/// can be: at resolution 12 8 MB.
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
    /// All rows, but for the cells and bins of those that wait.
    sketch: Sketch,
    /// `None` while no plain rows have come.
    waiting: Option<Box<Waiting>>,
}

/// Plain rows on their way into a sketch: first in buckets by their cells, so that cells that are far apart are not fetched for one
/// row each, then in sums of one word.
#[derive(Debug, Clone)]
struct Waiting {
    resolution: Resolution,
    clip: f64,
    /// Cells of one table: down to the smallest q that clipping leaves.
    n_cells: usize,
    n_rows: usize,
    n_clipped: u64,
    /// cell | offset, [`BUCKET`] places for each bucket.
    rows: Vec<u64>,
    /// How many of its places a bucket has taken.
    lengths: Vec<usize>,
    /// [count | sum of offsets, sum of squares], table after table.
    cells: Vec<[u64; 2]>,
    /// For each binning, for each bin: rows | positive ones, sums of the low and of the high halves of probabilities.
    bins: Vec<Vec<[[u64; 3]; LANES]>>,
}

impl Filling {
    /// Goes on filling a sketch.
    pub fn new(sketch: Sketch) -> Self {
        Filling { sketch, waiting: None }
    }

    /// Adds the rows of a batch. Nothing changes where an error is returned.
    pub fn update(&mut self, view: &BinaryView<'_>) -> Result<(), Error> {
        let n = view.len();
        self.sketch.prepare(view, n, None)?;
        match view.plain() {
            Some(rows) if !self.sketch.is_weighted() && (n >= CHUNK || self.waiting.is_some()) => {
                let waiting = self.waiting.get_or_insert_with(|| Box::new(Waiting::new(&self.sketch)));
                waiting.add(rows, &mut self.sketch);
                self.sketch.n += n as u64;
                self.sketch.units += n as u128;
            }
            _ => self.sketch.add_range(view, 0..n),
        }
        self.sketch.report.absorb(view.report());
        Ok(())
    }

    /// The sketch of all rows.
    pub fn finish(mut self) -> Sketch {
        if let Some(mut waiting) = self.waiting {
            waiting.empty_into(&mut self.sketch);
        }
        self.sketch
    }
}

impl Waiting {
    fn new(sketch: &Sketch) -> Self {
        let resolution = Resolution(sketch.resolution().0.max(FINEST_OFFSETS.0));
        let clip = sketch.options().clip_value();
        // 1 - (1 - clip) is clip with a rounding: the smaller of the two has the last cell.
        let n_cells = resolution.place(clip.min(1.0 - (1.0 - clip))).cell + 1;
        let n_buckets = (N_TABLES * n_cells).div_ceil(SPAN);
        Waiting {
            resolution,
            clip,
            n_cells,
            n_rows: 0,
            n_clipped: 0,
            rows: vec![0; n_buckets * BUCKET],
            lengths: vec![0; n_buckets],
            cells: vec![[0; 2]; n_buckets * SPAN],
            bins: sketch.shape.binnings.iter().map(|binning| vec![Default::default(); binning.len()]).collect(),
        }
    }

    fn add(&mut self, rows: PlainRows<'_>, sketch: &mut Sketch) {
        for start in (0..rows.len()).step_by(CHUNK) {
            let range = start..rows.len().min(start + CHUNK);
            if self.n_rows + range.len() > MOST_WAITING {
                self.empty_into(sketch);
            }
            self.n_rows += range.len();
            rows.visit(range, AddTo { waiting: self, binnings: &sketch.shape.binnings });
        }
    }

    fn add_to_buckets<P: Probability, L: Outcome>(&mut self, p: &[P], labels: &[L]) {
        let frame = Frame { resolution: self.resolution, clip: self.clip, n_cells: self.n_cells as u64 };
        let mut placed = [0; CHUNK];
        self.n_clipped += place_rows(p, labels, frame, &mut placed);
        for &row in &placed[..p.len()] {
            let bucket = (row >> OFFSET_BITS) as usize / SPAN;
            let length = self.lengths[bucket];
            self.rows[bucket * BUCKET + length] = row;
            self.lengths[bucket] = length + 1;
            if length + 1 == BUCKET {
                self.empty_bucket(bucket);
            }
        }
    }

    /// Adds the rows of a bucket to its cells.
    fn empty_bucket(&mut self, bucket: usize) {
        let length = std::mem::take(&mut self.lengths[bucket]);
        let span = &mut self.cells[bucket * SPAN..(bucket + 1) * SPAN];
        for row in &self.rows[bucket * BUCKET..][..length] {
            let offset = row & ((1 << OFFSET_BITS) - 1);
            let [count_and_sum, squares] = &mut span[(row >> OFFSET_BITS) as usize % SPAN];
            *count_and_sum += 1 | offset << COUNT_BITS;
            *squares += offset * offset;
        }
    }

    /// Moves all that waits into the sketch.
    fn empty_into(&mut self, sketch: &mut Sketch) {
        (0..self.lengths.len()).for_each(|bucket| self.empty_bucket(bucket));
        let (to, weight_bits) = (sketch.resolution(), sketch.options().weight_unit_bits());
        for (index, sums) in self.cells.iter_mut().enumerate().filter(|(_, sums)| sums[0] != 0) {
            let [count_and_sum, squares] = std::mem::take(sums);
            let content = Content {
                count: count_and_sum & ((1 << COUNT_BITS) - 1),
                first: count_and_sum >> COUNT_BITS,
                second: squares.into(),
            };
            let (table, cell) = (index / self.n_cells, index % self.n_cells);
            let (cell, shift) = wider(cell as u32, self.resolution, to);
            let content = content.shifted(shift);
            match &mut sketch.cells {
                Cells::Plain(tables) => tables[table].add(cell, content),
                Cells::Weighted(tables) => tables[table].add(cell, Weighted::from_plain(content, weight_bits)),
            }
        }
        let shift = if sketch.is_weighted() { weight_bits } else { 0 };
        for (totals, sums) in sketch.bins.iter_mut().flatten().zip(self.bins.iter_mut().flatten()) {
            for [counts, lower, upper] in std::mem::take(sums) {
                let (count, positive) = (counts & u64::from(u32::MAX), counts >> 32);
                let probability = u128::from(lower) + (u128::from(upper) << HALF);
                let more = BinTotals { count, weight: count.into(), positive: positive.into(), probability };
                totals.add(more.weighted(shift));
            }
        }
        sketch.n_clipped += std::mem::take(&mut self.n_clipped);
        self.n_rows = 0;
    }
}

/// What places rows.
#[derive(Debug, Clone, Copy)]
struct Frame {
    resolution: Resolution,
    clip: f64,
    n_cells: u64,
}

dispatched! {
    /// The cells and offsets of a chunk of rows, without a branch; returns how many were clipped.
    fn place_rows / place_rows_portable<P: Probability, L: Outcome>(
        p: &[P],
        labels: &[L],
        frame: Frame,
        placed: &mut [u64; CHUNK],
    ) -> u64 {
        let Frame { resolution, clip, n_cells } = frame;
        let mut n_clipped = 0;
        for ((placed, &p), &label) in placed.iter_mut().zip(p).zip(labels) {
            let p: f64 = p.into();
            // Comparisons rather than `clamp`, which the compiler does not turn into two instructions.
            let raised = if p > clip { p } else { clip };
            let clipped = if raised < 1.0 - clip { raised } else { 1.0 - clip };
            n_clipped += u64::from(clipped != p);
            let complement = 1.0 - clipped;
            let place = resolution.place(if clipped < complement { clipped } else { complement });
            // Table 2 · upper + outcome; a product of words is slow in wide registers.
            let upper = u64::from(clipped > 0.5).wrapping_neg() & (2 * n_cells);
            let outcome = label.bit().wrapping_neg() & n_cells;
            *placed = (place.cell as u64 + upper + outcome) << OFFSET_BITS | place.offset;
        }
        n_clipped
    }
}

/// The pass over one chunk.
struct AddTo<'a> {
    waiting: &'a mut Waiting,
    binnings: &'a [EqualWidth],
}

impl PlainPass for AddTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        self.waiting.add_to_buckets(probabilities, labels);
        for (sums, binning) in self.waiting.bins.iter_mut().zip(self.binnings) {
            add_to_bins(sums, binning, probabilities, labels);
        }
    }
}

fn add_to_bins<P: Probability, L: Outcome>(
    sums: &mut [[[u64; 3]; LANES]],
    binning: &EqualWidth,
    p: &[P],
    labels: &[L],
) {
    for (row, (&p, &label)) in p.iter().zip(labels).enumerate() {
        let p: f64 = p.into();
        let p = p.clamp(0.0, 1.0);
        let fixed = fixed_point(p);
        let [counts, lower, upper] = &mut sums[binning.place(p)][row % LANES];
        *counts += 1 | label.bit() << 32;
        *lower += fixed & ((1 << HALF) - 1);
        *upper += fixed >> HALF;
    }
}
