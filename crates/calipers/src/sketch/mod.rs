//! A summary of any number of rows in a bounded number of integers, which merge exactly.
//!
//! ```text
//! BinaryView -> update -> Sketch -> merge -> Sketch -> estimate -> Estimate
//!                           to_bytes | from_bytes
//! ```
//! Rows go into the cells of `cells/` and into the bins that were declared. All sums are integers:
//! whatever the split into batches, threads and files, and whatever the order of merging, the bytes
//! are the same.

mod bytes;
mod content;
mod dense;
mod filling;
mod groups;
mod options;
mod rows;
mod table;

use std::sync::Arc;

pub use dense::Dense;
pub use filling::Filling;
pub(crate) use groups::CellRows;
pub use options::SketchOptions;

use crate::cells::{Content, DEPTH, Resolution, Summary};
use crate::data::{InputReport, Scale, Tally};
use crate::measure::{Estimate, Measure};
use crate::measures::binned::{BinTotals, EqualWidth};
use crate::{Error, error};
use content::{Sums, Weighted};
use table::Table;

/// Which half of (0, 1), and which outcome: table 2 · upper + outcome.
const N_TABLES: usize = 4;

/// The kinds of scores, in the order in which bytes and words have them.
const SCALES: [Scale; 3] = [Scale::Probability, Scale::LogOdds, Scale::Link];

/// So many rows can be read, those left out included, before a sum of offsets could overflow:
/// offsets have at most 26 bits.
const MOST_ROWS: u64 = 1 << 38;

/// So many units of weight can be added before a sum of probabilities, of 56 bits each, could
/// overflow.
const MOST_UNITS: u128 = 1 << 71;

/// Beyond, q = exp(-|logit|) would leave the normal numbers, and so does no good: such logits are
/// taken as this one, or as a smaller one that the options have.
pub(crate) const LARGEST_LOGIT: f64 = 708.0;

/// A mergeable summary of predictions, from which measures are answered with a bound on their
/// error.
///
/// # Definition
/// A row is kept as a cell, found from the bits of q = min(p, 1 - p) (for raw scores q = e^-|h| /
/// (1 + e^-|h|)), and an offset inside; each cell has, for each outcome, the number of rows and the
/// sums of offsets and squared offsets. Beside the cells stand exact sums for each declared
/// binning. Weights are fixed-point integers.
///
/// # Assumptions
/// All batches have scores of one kind. What is known only of the whole (that there is a row at
/// all, that the positive label occurs) is checked by [`Tally::finish`](crate::Tally::finish), or
/// when a measure is asked.
///
/// # Cost
/// `update`: one pass. Memory: some hundred bytes and 50 for each occupied cell; at resolution 12
/// at most 11 MB for probabilities, weighted 26 MB, however many rows there are.
///
/// # Accuracy
/// Every answer has its `numerical_bound`: for LS-ECE third order in the width of a cell over sigma
/// for Gaussian and logistic noise, second for Laplace and Epanechnikov, first for uniform noise;
/// declared binnings are exact. Where a bound would exceed the tolerance, the answer is
/// [`Error::ToleranceNotMet`] with the tolerance that can be met.
///
/// # Reference
/// Cells like the buckets of an HDR histogram. That LS-ECE has a sketch at all is its continuity
/// (theorem of the paper "How Flawed Is ECE?"); ECE, being discontinuous, is exact only for the
/// bins that were declared.
///
/// # Example
/// ```
/// use calipers::{Measure, Input, LsEce, Sketch};
///
/// let monday = Input::probabilities(&[0.9, 0.2, 0.6], &[1, 0, 1]).check()?;
/// let tuesday = Input::probabilities(&[0.3, 0.8], &[0, 0]).check()?;
/// let (mut week, mut rest) = (Sketch::new(), Sketch::new());
/// week.update(&monday.binary()?)?;
/// rest.update(&tuesday.binary()?)?;
/// week.merge(&rest)?;
/// assert_eq!(week.n(), 5);
///
/// let same = Sketch::from_bytes(&week.to_bytes())?;
/// let estimate = same.estimate(&LsEce::new().sigma(0.1))?;
/// let all = Input::probabilities(&[0.9, 0.2, 0.6, 0.3, 0.8], &[1, 0, 1, 0, 0]).check()?;
/// let exact = LsEce::new().sigma(0.1).estimate(&all.binary()?)?;
/// assert!((estimate.value - exact.value).abs() <= estimate.numerical_bound + exact.numerical_bound);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    shape: Arc<Shape>,
    /// What scores are; `None` while there has been no row.
    scale: Option<Scale>,
    cells: Cells,
    n: u64,
    /// Sum of weights in units, or the number of rows.
    units: u128,
    /// For each declared binning.
    bins: Vec<Vec<BinTotals>>,
    /// Probabilities that were moved off 0 or 1, and raw scores beyond the largest logit.
    n_clipped: u64,
    /// Rows whose weight is no multiple of the unit, and so is off by up to half of it.
    n_rounded_weights: u64,
    /// The part of the scores' rounding error that does not grow with them, at most.
    score_error: f64,
    report: InputReport,
}

/// What is the same for all sketches of a kind, and is shared by those of many groups.
#[derive(Debug, Clone, PartialEq)]
struct Shape {
    options: SketchOptions,
    binnings: Vec<EqualWidth>,
}

/// Tables by half and outcome.
#[derive(Debug, Clone, PartialEq)]
enum Cells {
    Plain([Table<Content>; N_TABLES]),
    Weighted([Table<Weighted>; N_TABLES]),
}

/// Runs one expression with `$tables` bound to the tables of a sketch, weighted or not.
macro_rules! with_tables {
    ($cells:expr, $tables:ident => $expression:expr) => {
        match $cells {
            Cells::Plain($tables) => $expression,
            Cells::Weighted($tables) => $expression,
        }
    };
}

use with_tables;

impl Default for Sketch {
    fn default() -> Self {
        Sketch::of_shape(Arc::new(Shape::new(SketchOptions::default())))
    }
}

impl Shape {
    fn new(options: SketchOptions) -> Self {
        let binnings = options.declared_bins().iter().map(|n_bins| EqualWidth::new(*n_bins)).collect();
        Shape { options, binnings }
    }
}

impl Sketch {
    /// An empty sketch with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty sketch.
    pub fn with(options: &SketchOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Sketch::of_shape(Arc::new(Shape::new(options.clone()))))
    }

    /// An empty sketch of the same options, which both share: the way to have one for each of many
    /// groups.
    pub fn empty_like(&self) -> Self {
        Sketch::of_shape(Arc::clone(&self.shape))
    }

    fn of_shape(shape: Arc<Shape>) -> Self {
        let bins = shape.binnings.iter().map(|binning| vec![BinTotals::default(); binning.len()]).collect();
        Sketch {
            shape,
            scale: None,
            cells: Cells::Plain(Default::default()),
            n: 0,
            units: 0,
            bins,
            n_clipped: 0,
            n_rounded_weights: 0,
            score_error: 0.0,
            report: InputReport::default(),
        }
    }

    /// The options that it was made with, or the coarser resolution that a merge has left.
    pub fn options(&self) -> &SketchOptions {
        &self.shape.options
    }

    /// Rows that were added.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// What scores are; `None` while there has been no row.
    pub fn scale(&self) -> Option<Scale> {
        self.scale
    }

    /// Whether any batch had weights.
    pub fn is_weighted(&self) -> bool {
        matches!(self.cells, Cells::Weighted(_))
    }

    /// Sum of the weights, as they were rounded; the number of rows where there are none.
    pub fn total_weight(&self) -> f64 {
        self.total_units() as f64 / self.unit()
    }

    /// (Σw)² / Σw²: how many rows of equal weight would say as much.
    pub fn effective_n(&self) -> f64 {
        match &self.cells {
            Cells::Plain(_) => self.n as f64,
            Cells::Weighted(tables) => {
                let squares: u128 = tables.iter().flat_map(Table::iter).map(|(_, sums)| sums.square).sum();
                let total = self.units as f64;
                if squares == 0 { 0.0 } else { total * total / self.unit() / squares as f64 }
            }
        }
    }

    /// Probabilities that were moved off 0 or 1 by clipping, and raw scores beyond the largest
    /// logit (±708 unless set), which were taken as that.
    pub fn n_clipped(&self) -> u64 {
        self.n_clipped
    }

    /// Cells that hold a row: what the size of a sketch grows with.
    pub fn n_cells(&self) -> usize {
        with_tables!(&self.cells, tables => tables.iter().map(Table::len).sum())
    }

    /// Bytes of memory, an upper estimate: itself, its bins and its cells; several times those of
    /// [`to_bytes`](Self::to_bytes) where rows are spread.
    pub fn memory(&self) -> usize {
        let bins: usize = self.bins.iter().map(|totals| size_of_val(totals.as_slice())).sum();
        let cells: usize = with_tables!(&self.cells, tables => tables.iter().map(Table::heap_bytes).sum());
        size_of::<Self>() + bins + cells
    }

    /// What was read, rounded, tied and left out, over all batches.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// Whether there is a row of outcome 1.
    pub fn has_positive(&self) -> bool {
        with_tables!(&self.cells, tables => tables[1].len() + tables[3].len() > 0)
    }

    /// The tally of the stream that the rows came from, without the positive label, which a sketch
    /// does not keep.
    pub fn tally(&self) -> Tally {
        Tally::of_sketch(&self.report, self.is_weighted(), self.units > 0, self.has_positive())
    }

    /// The value of a measure, with a bound on its distance from the value for the rows.
    pub fn estimate(&self, measure: &dyn Measure) -> Result<Estimate, Error> {
        self.check_rows()?;
        measure.estimate_sketch(self)
    }

    /// An error where there is no row, or no weight.
    pub(crate) fn check_rows(&self) -> Result<(), Error> {
        let least = error::number(0.5 / self.unit());
        let rule = format!("at least {least} in a sketch; multiply all weights, or set more weight_bits");
        let are_rounded_off = self.units == 0 && self.n_rounded_weights > 0;
        Error::require(!are_rounded_off, "weights", rule, "smaller ones only")?;
        self.tally().finish()
    }

    /// Adds the rows of another sketch. Clip, binnings and units must be the same; of two
    /// resolutions the coarser is taken, which costs no accuracy beyond its own. Nothing changes
    /// where an error is returned.
    pub fn merge(&mut self, other: &Sketch) -> Result<(), Error> {
        self.options().check_mergeable(other.options())?;
        self.check_scale(other.scale)?;
        let weighted = self.is_weighted() || other.is_weighted();
        let shift_of = |sketch: &Sketch| match weighted && !sketch.is_weighted() {
            true => sketch.options().weight_unit_bits(),
            false => 0,
        };
        let (shift, more_units) = (shift_of(other), other.units << shift_of(other));
        self.check_room(other.report.n_rows, more_units, self.units << shift_of(self))?;
        if other.resolution().0 < self.resolution().0 {
            self.coarsen(other.resolution().0)?;
        }
        if other.is_weighted() {
            self.make_weighted();
        }
        let (from, to, weight_bits) = (other.resolution(), self.resolution(), self.options().weight_unit_bits());
        match (&mut self.cells, &other.cells) {
            (Cells::Plain(ours), Cells::Plain(theirs)) => add_tables(ours, theirs, from, to, |sums| sums),
            (Cells::Weighted(ours), Cells::Weighted(theirs)) => add_tables(ours, theirs, from, to, |sums| sums),
            (Cells::Weighted(ours), Cells::Plain(theirs)) => {
                add_tables(ours, theirs, from, to, |sums| Weighted::from_plain(sums, weight_bits));
            }
            // proof: made weighted above
            (Cells::Plain(_), Cells::Weighted(_)) => {}
        }
        self.n += other.n;
        self.units += more_units;
        for (ours, theirs) in self.bins.iter_mut().flatten().zip(other.bins.iter().flatten()) {
            ours.add(theirs.weighted(shift));
        }
        self.scale = self.scale.or(other.scale);
        self.n_clipped += other.n_clipped;
        self.n_rounded_weights += other.n_rounded_weights;
        self.score_error = self.score_error.max(other.score_error);
        self.report.absorb(&other.report);
        Ok(())
    }

    /// Checks that scores are of one kind.
    fn check_scale(&self, other: Option<Scale>) -> Result<(), Error> {
        match (self.scale, other) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(unlike_scores(name(ours), name(theirs))),
            _ => Ok(()),
        }
    }

    /// Makes cells wider, down to `resolution`: the result is the sketch that the same rows give at
    /// that resolution.
    pub fn coarsen(&mut self, resolution: u32) -> Result<(), Error> {
        let options = self.options().clone().resolution(resolution);
        options.check()?;
        let (from, to) = (self.resolution(), Resolution(resolution));
        Error::require(to.0 <= from.0, "resolution", format!("at most {}, that of the sketch", from.0), to.0)?;
        if to.0 < from.0 {
            self.cells = match &self.cells {
                Cells::Plain(tables) => Cells::Plain(coarser(tables, from, to)),
                Cells::Weighted(tables) => Cells::Weighted(coarser(tables, from, to)),
            };
            self.shape = Arc::new(Shape { options, binnings: self.shape.binnings.clone() });
        }
        Ok(())
    }

    /// The occupied cells, for measures to read; weights are in units.
    pub(crate) fn summaries(&self) -> Box<dyn Iterator<Item = Summary> + '_> {
        let (resolution, weight_bits) = (self.resolution(), self.options().weight_unit_bits());
        with_tables!(&self.cells, tables => Box::new(summaries(tables, resolution, weight_bits)))
    }

    /// The sums of the declared binning of so many bins, if there is one.
    pub(crate) fn declared(&self, n_bins: usize) -> Option<(&EqualWidth, &[BinTotals])> {
        let place = self.options().declared_bins().iter().position(|declared| *declared == n_bins)?;
        Some((&self.shape.binnings[place], &self.bins[place]))
    }

    pub(crate) fn resolution(&self) -> Resolution {
        Resolution(self.options().resolution_bits())
    }

    /// The last cell that a score of that kind can have.
    fn last_cell(&self, scale: Option<Scale>) -> u32 {
        let options = self.options();
        let smallest = match scale {
            Some(Scale::Probability) => options.clip_value().min(1.0 - (1.0 - options.clip_value())),
            _ => {
                let small = libm::exp(-options.largest_logit_value());
                small / (1.0 + small)
            }
        };
        self.resolution().place(smallest).cell as u32
    }

    /// Units of a weight of 1.
    pub(crate) fn unit(&self) -> f64 {
        if self.is_weighted() { 2f64.powi(self.options().weight_unit_bits() as i32) } else { 1.0 }
    }

    /// Sum of weights in units, or the number of rows.
    pub(crate) fn total_units(&self) -> u128 {
        self.units
    }

    /// At most how large a share of the weight rounding has added or taken.
    pub(crate) fn weight_error(&self) -> f64 {
        0.5 * self.n_rounded_weights as f64 / self.total_units() as f64
    }

    /// Whether some of a cell's rows may have been beyond it before they were clipped.
    pub(crate) fn is_clipped(&self, cell: &Summary) -> bool {
        let clip = self.options().clip_value();
        let last = clip.max(1.0 - (1.0 - clip));
        self.n_clipped > 0 && self.scale == Some(Scale::Probability) && cell.lower * cell.scale <= last
    }

    pub(crate) fn score_error(&self) -> f64 {
        self.score_error
    }

    fn make_weighted(&mut self) {
        let weight_bits = self.options().weight_unit_bits();
        if let Cells::Plain(tables) = &self.cells {
            let weighted = |sums| Weighted::from_plain(sums, weight_bits);
            let mut all: [Table<Weighted>; N_TABLES] = Default::default();
            add_tables(&mut all, tables, self.resolution(), self.resolution(), weighted);
            self.cells = Cells::Weighted(all);
            self.units <<= weight_bits;
            self.bins.iter_mut().flatten().for_each(|totals| *totals = totals.weighted(weight_bits));
        }
    }

    /// An error where a sum could overflow.
    fn check_room(&self, more_rows: u64, more_units: u128, units: u128) -> Result<(), Error> {
        let n = self.report.n_rows;
        let fits = n.checked_add(more_rows).is_some_and(|n| n <= MOST_ROWS);
        let rule = format!("at most {MOST_ROWS} in a sketch");
        Error::require(fits, "rows", rule, format!("{n} and {more_rows} more"))?;
        let fits = units.checked_add(more_units).is_some_and(|units| units <= MOST_UNITS);
        let unit = 2f64.powi(self.options().weight_unit_bits() as i32);
        let rule = format!("at most {} in sum with these weight_bits", error::number(MOST_UNITS as f64 / unit));
        Error::require(fits, "weights", rule, error::number((units as f64 + more_units as f64) / unit))
    }
}

fn unlike_scores(ours: &str, theirs: &str) -> Error {
    Error::UnlikeSketches { what: "kind of scores", ours: ours.to_owned(), theirs: theirs.to_owned() }
}

/// What scores are, in words.
pub(crate) fn name(scale: Scale) -> &'static str {
    match scale {
        Scale::Probability => "probabilities",
        Scale::LogOdds => "log-odds",
        Scale::Link => "raw scores",
    }
}

/// Bits of offsets in a sketch: whatever the resolution, cell and offset tell the same places
/// apart.
fn offset_bits(resolution: Resolution) -> u32 {
    DEPTH - resolution.0
}

/// The wider cell that a cell is part of, and by how much its offsets are larger there.
fn wider(cell: u32, from: Resolution, to: Resolution) -> (u32, u64) {
    let halvings = from.0 - to.0;
    // Cells are counted downwards from that of 1/2, and offsets upwards.
    let wide = cell.div_ceil(1 << halvings);
    let above = u64::from((wide << halvings) - cell);
    (wide, above << offset_bits(from))
}

fn add_tables<S: Sums, T: Sums>(
    ours: &mut [Table<T>; N_TABLES],
    theirs: &[Table<S>; N_TABLES],
    from: Resolution,
    to: Resolution,
    convert: impl Fn(S) -> T,
) {
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        for (cell, sums) in theirs.iter() {
            let (cell, shift) = wider(cell, from, to);
            ours.add(cell, convert(sums).shifted(shift));
        }
    }
}

fn coarser<S: Sums>(tables: &[Table<S>; N_TABLES], from: Resolution, to: Resolution) -> [Table<S>; N_TABLES] {
    let mut wide: [Table<S>; N_TABLES] = std::array::from_fn(|_| Table::default());
    add_tables(&mut wide, tables, from, to, |sums| sums);
    wide
}

fn summaries<S: Sums>(
    tables: &[Table<S>; N_TABLES],
    resolution: Resolution,
    weight_bits: u32,
) -> impl Iterator<Item = Summary> {
    tables.iter().enumerate().flat_map(move |(table, cells)| {
        cells.iter().map(move |(cell, sums)| {
            let (upper, outcome) = (table >= 2, table % 2 == 1);
            Summary::new(resolution, offset_bits(resolution), cell as usize, upper, outcome, sums.moments(weight_bits))
        })
    })
}
