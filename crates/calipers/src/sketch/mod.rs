//! A summary of any number of rows in a bounded number of integers, which merge exactly.
//!
//! ```text
//! BinaryView -> update -> Sketch -> merge | subtract -> Sketch -> estimate -> Estimate
//!                           to_bytes | from_bytes
//! ```
//! Rows go into the cells of `cells/` and into the bins that were declared. All sums are integers:
//! whatever the split into batches, threads and files, and whatever the order of merging, the bytes
//! are the same.
//!
//! # How rows come in
//! There are two ways, which give the same sums:
//! 1. Batches of 2^15 rows and more go through dense tables, one for each thread (`filling.rs`).
//! 2. Rows of smaller batches, and of groups, wait as keys of 8 bytes, until there are enough to
//!    sort them and to go through the cells once (`tables.rs`). Readers see them settled.
//!
//! # Profiles
//! A [`Profile`] is what is kept of the place of a row inside its cell. `Exact` keeps the sums of
//! offsets and of their squares. `Monitoring` keeps nothing, and a row is taken to be in the middle
//! of its cell. Both are functions of the sums of any finer layout (`layout.rs`), and so every
//! sketch can be made coarser, to the very sketch that its rows would have given:
//! 1. Cells of M bits are unions of cells of M + 1 bits. The count of a union is the sum of counts.
//! 2. A union's offset is the part's plus a constant c of that part: Σ(o + c) = Σo + nc, and
//!    Σ(o + c)² = Σo² + 2cΣo + nc².
//! 3. Without offsets nothing but 1 is needed.
//!
//! # Bound of the monitoring profile
//! A row is off by at most half of its cell. Cells are at most 4/3 · 2^-M logits wide, and moving a
//! point by d moves the integral by at most d N_1 (`cells/atoms.rs`, with steps as wide as cells).
//! For Gaussian noise N_1 = √(2/π) / σ < 0.798 / σ, so that LS-ECE is off by at most 2/3 · 2^-12 ·
//! 0.798 / σ < 1.3e-4 / σ at M = 12; with the factor |y - ρ| of `cells/atoms.rs` by about half of
//! that or less. The noise floor of n rows falls with √(nσ): the quotient is largest for many rows
//! and small sigma. `tests/sketch/profiles.rs` measures it: at 10^4 rows at most a tenth with the
//! automatic sigma, and at most 3 % at sigma 0.3. Every estimate has its own bound.
//!
//! # Size
//! `bytes/` codes n occupied cells out of the first s, whatever their places are, in at most
//! ```text
//! n (k + 1) + (s - n) / 2^k bits,      k = floor(log2(s / n))
//! ```
//! for gaps add up to s - n, and a gap g takes k + 1 bits and floor(g / 2^k) more. Each further row
//! of a cell takes less than a cell of its own would. With resolution 12 and clip 1e-6 each of the
//! four tables has 77,627 cells, so that 10^4 rows take at most 7 bits each: at most 8.8 KB, and
//! with bins and header less than 10 KB. Bins of up to 256 rows are what cells leave open
//! (`bytes/from_cells.rs`). From 16 rows on a sketch is no larger than its rows as doubles and
//! bytes (`tests/sketch/sizes.rs`).
//!
//! # The unit of weights
//! Weights are integers of a unit 2^-U that is an option. It cannot be chosen from the weights with
//! the same bytes for every split of the rows:
//! 1. Let the unit be u for rows A and v > u for rows A and B. Merging has the sums of A rounded to
//!    u, and of all rows those rounded to v are wanted.
//! 2. Two rows of weight 0.4 v have the sum 0.8 v, and two of 0.5 v, 0.3 v as well, if u divides
//!    0.1 v. Rounded to v they are 0 and 1. So what is wanted is no function of what there is.
//! 3. Keeping the unit u for A and refining that of B needs digits that B has rounded off.
//!
//! So the unit stays as it is. Sums of squares are exact (`content.rs`), so that weights of 2^-33
//! and more count for the effective number of rows; each is off by up to half a unit, which is part
//! of every bound. Where that is too much, the error says so and what to do.

mod by_cell;
mod bytes;
mod content;
mod dense;
mod filling;
mod groups;
mod layout;
mod merge;
mod options;
mod rows;
mod subtract;
mod table;
mod tables;

use std::sync::Arc;

pub use dense::Dense;
pub use filling::Filling;
pub(crate) use groups::CellRows;
pub use options::{Profile, SketchOptions};

use crate::cells::{Content, Summary};
use crate::data::{InputReport, Scale, Tally};
use crate::measure::{Estimate, Measure};
use crate::measures::binned::{BinTotals, EqualWidth};
use crate::{Error, error};
use content::{Sums, Weighted};
use layout::Layout;
use table::Table;
use tables::Tables;

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
/// `update`: one pass, for batches of any size. Memory: some hundred bytes, 36 for each occupied
/// cell, and 8 for each of the last rows, of which there are no more than cells; at resolution 12
/// at most 14 MB for probabilities, weighted 31 MB, however many rows there are.
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
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone)]
enum Cells {
    Plain(Tables<Content>),
    Weighted(Tables<Weighted>),
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

impl PartialEq for Sketch {
    /// Whether both are of the same rows, as far as sketches can tell.
    fn eq(&self, other: &Self) -> bool {
        let facts =
            |sketch: &Sketch| (sketch.scale, sketch.n, sketch.units, sketch.n_clipped, sketch.n_rounded_weights);
        let layout = self.layout();
        self.shape == other.shape
            && facts(self) == facts(other)
            && (self.score_error == other.score_error && self.report == other.report && self.bins == other.bins)
            && match (&self.cells, &other.cells) {
                (Cells::Plain(ours), Cells::Plain(theirs)) => {
                    ours.settled(layout).tables() == theirs.settled(layout).tables()
                }
                (Cells::Weighted(ours), Cells::Weighted(theirs)) => {
                    ours.settled(layout).tables() == theirs.settled(layout).tables()
                }
                _ => false,
            }
    }
}

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
                let tables = tables.settled(self.layout());
                let cells = || tables.tables().iter().flat_map(Table::iter).map(|(_, sums)| sums);
                let squares: u128 = cells().map(|sums| sums.square).sum();
                // Older versions have cut the squares of small weights.
                let squares = (squares as f64).max(cells().map(|sums| sums.squares()).sum());
                let total = self.units as f64;
                if squares == 0.0 { 0.0 } else { total * total / squares }
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
        let layout = self.layout();
        with_tables!(&self.cells, tables => tables.settled(layout).tables().iter().map(Table::len).sum())
    }

    /// Bytes of memory, an upper estimate: itself, its bins and its cells; several times those of
    /// [`to_bytes`](Self::to_bytes) where rows are spread.
    pub fn memory(&self) -> usize {
        let bins: usize = self.bins.iter().map(|totals| size_of_val(totals.as_slice())).sum();
        let cells: usize = with_tables!(&self.cells, tables => tables.heap_bytes());
        size_of::<Self>() + bins + cells
    }

    /// What was read, rounded, tied and left out, over all batches.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// Whether there is a row of outcome 1.
    pub fn has_positive(&self) -> bool {
        with_tables!(&self.cells, tables => tables.has_positive(self.layout()))
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

    /// The occupied cells, for measures to read; weights are in units.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = Summary> + use<> {
        let layout = self.layout();
        let summaries = with_tables!(&self.cells, tables => summaries(tables.settled(layout).tables(), layout));
        summaries.into_iter()
    }

    /// The sums of the declared binning of so many bins, if there is one.
    pub(crate) fn declared(&self, n_bins: usize) -> Option<(&EqualWidth, &[BinTotals])> {
        let place = self.options().declared_bins().iter().position(|declared| *declared == n_bins)?;
        Some((&self.shape.binnings[place], &self.bins[place]))
    }

    fn layout(&self) -> Layout {
        self.options().layout()
    }

    /// Whether answers have the bound of their profile, whatever the tolerance is.
    pub(crate) fn has_own_bound(&self) -> bool {
        self.options().profile_value() == Profile::Monitoring
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
        self.layout().resolution.place(smallest).cell as u32
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
}

/// What scores are, in words.
pub(crate) fn name(scale: Scale) -> &'static str {
    match scale {
        Scale::Probability => "probabilities",
        Scale::LogOdds => "log-odds",
        Scale::Link => "raw scores",
    }
}

fn summaries<S: Sums>(tables: &[Table<S>; N_TABLES], layout: Layout) -> Vec<Summary> {
    let Layout { resolution, offset_bits, weight_bits } = layout;
    let of_table = |(table, cells): (usize, &Table<S>)| {
        let (upper, outcome) = (table >= 2, table % 2 == 1);
        let summary = |(cell, sums): (u32, S)| {
            Summary::new(resolution, offset_bits, cell as usize, upper, outcome, sums.moments(weight_bits))
        };
        cells.iter().map(summary).collect::<Vec<_>>()
    };
    tables.iter().enumerate().flat_map(of_table).collect()
}
