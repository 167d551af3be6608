//! Bins of few rows as what the cells leave open: which bin rows next to an edge are in, and the
//! digits of probabilities that cells do not keep.
//!
//! # Definition
//! Cells tell of each row between which integers P = floor(p 2^56) is ([`Part::of`]). For an edge
//! e, with E = floor(e 2^56), a row is below it (p <= e) only if P <= E, and above only if P >= E.
//! So a row whose limits are below E, or above, is in the bin that they say, and one whose limits
//! have an E between them is in one of two: it is *open* at that edge. Then, from the first bin on,
//! ```text
//! open rows below the upper edge: how many; if neither none nor all: their weight of outcome 1 and their weight
//! Σ W P of the bin: less its least value, in 2^z, as many bits as its most takes
//! ```
//! where P of all rows of the bin are multiples of 2^z, as doubles are; for a single row P stands
//! for W P. The least and the most value are those of the rows that the bin has by now. An edge
//! that an earlier binning has as well, and the last one, have the same sums of all rows below
//! them, so that nothing is coded.
//!
//! # Where this does not hold
//! Rows have such sums. Bytes from elsewhere may not, and neither may rows that are open at two
//! edges, where bins are narrower than cells. Then there is no such form, and bins are written as
//! those of many rows.

use std::collections::HashMap;

use super::bits::{BitReader, length};
use super::stored::{Stored, common_offset};
use super::{check_bin, require};
use crate::Error;
use crate::data::Scale;
use crate::measures::binned::{BinTotals, PROBABILITY_BITS};
use crate::sketch::table::Column;
use crate::sketch::{N_TABLES, Sketch};

/// 2^56, as P is for a probability of 1.
const ONE: u64 = 1 << PROBABILITY_BITS;

/// P of probabilities above 1/2 that were computed from scores is so near to that of 1 - q.
const ROUNDING: u64 = 16;

/// A row or several with the same limits, or open rows of an edge with the widest of theirs.
#[derive(Clone, Copy, Default)]
struct Part {
    count: u64,
    weight: u128,
    positive: u128,
    /// Of P, both included.
    least: u64,
    most: u64,
    /// P are multiples of 2 to this power.
    zeros: u32,
}

/// Rows with different limits.
#[derive(Clone, Copy, Default)]
struct Sum {
    totals: BinTotals,
    /// Of Σ W P.
    least: u128,
    most: u128,
    zeros: Option<u32>,
}

impl Part {
    /// The rows of a cell: limits are those of the cell, or of the place that all of them have.
    fn of<S: Stored>(sketch: &Sketch, table: usize, cell: u32, sums: &S) -> Part {
        let layout = sketch.layout();
        let (weight, ..) = sums.moments_in_units();
        let common = common_offset(sums);
        let offset_bits = if common.is_some() { layout.offset_bits } else { 0 };
        let offset = if offset_bits == 0 { 0 } else { common.unwrap_or(0) };
        let dropped = 52 - layout.resolution.0 - offset_bits;
        let top = (0.5f64.to_bits() >> (52 - layout.resolution.0)) - u64::from(cell);
        // proof: an offset of a row that was checked
        let place = top << offset_bits | offset as u64;
        let lowest = f64::from_bits(place << dropped);
        let highest = f64::from_bits(((place + 1) << dropped) - 1).min(0.5);
        // proof: at most 2^55
        let fixed = |q: f64| (q * ONE as f64) as u64;
        let (upper, positive) = (table >= 2, if table % 2 == 1 { weight } else { 0 });
        let is_probability = sketch.scale == Some(Scale::Probability);
        let clip = sketch.options().clip_value();
        let is_clipped = is_probability && sketch.n_clipped > 0 && lowest <= clip.max(1.0 - (1.0 - clip));
        let exponent = (lowest.to_bits() >> 52) as u32;
        let (least, most, zeros) = match (upper, is_clipped) {
            // A double from 2^e on is a multiple of 2^(e - 52); 1019 is the exponent of 2^-4.
            (false, false) => (fixed(lowest), fixed(highest), exponent.saturating_sub(1019)),
            (false, true) => (0, fixed(highest), 0),
            (true, true) => (ONE - 1 - fixed(highest), ONE, 3),
            (true, false) => {
                let more = if is_probability { 0 } else { ROUNDING };
                (ONE - 1 - fixed(highest) - more, (ONE - fixed(lowest) + more).min(ONE), 3)
            }
        };
        let least = least >> zeros << zeros;
        Part { count: sums.count(), weight, positive, least, most: most.max(least), zeros }
    }

    /// All of them as open rows of one edge.
    fn joined(self, other: Part) -> Part {
        if self.count == 0 {
            return other;
        }
        Part {
            count: self.count + other.count,
            weight: self.weight + other.weight,
            positive: self.positive + other.positive,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            zeros: self.zeros.min(other.zeros),
        }
    }
}

impl Sum {
    /// Adds rows with the limits of `part`.
    fn add(&mut self, part: &Part, rows: BinTotals) {
        if rows.count == 0 {
            return;
        }
        self.totals.add(rows);
        self.least += rows.weight * u128::from(part.least);
        self.most += rows.weight * u128::from(part.most);
        self.zeros = Some(self.zeros.map_or(part.zeros, |zeros| zeros.min(part.zeros)));
    }
}

/// The rows of a part, of which Σ W P is not known.
fn all_of(part: &Part) -> BinTotals {
    BinTotals { count: part.count, weight: part.weight, positive: part.positive, probability: 0 }
}

fn less(whole: BinTotals, part: BinTotals) -> Option<BinTotals> {
    Some(BinTotals {
        count: whole.count.checked_sub(part.count)?,
        weight: whole.weight.checked_sub(part.weight)?,
        positive: whole.positive.checked_sub(part.positive)?,
        probability: whole.probability.checked_sub(part.probability)?,
    })
}

/// Rows by bin, and open rows by the bin below their edge.
struct Placed {
    sure: Vec<Sum>,
    open: Vec<Part>,
}

impl Placed {
    /// `None` if a row is open at two edges.
    fn new(parts: &[Part], n_bins: usize) -> Option<Self> {
        let mut placed = Placed { sure: vec![Sum::default(); n_bins], open: vec![Part::default(); n_bins] };
        for part in parts {
            // Edges below the limits, and those that are not above them.
            let first = n_edges(n_bins, |edge| edge < part.least, part.least);
            let last = n_edges(n_bins, |edge| edge <= part.most, part.most);
            match last - first {
                0 => placed.sure[first].add(part, all_of(part)),
                1 => placed.open[first] = placed.open[first].joined(*part),
                _ => return None,
            }
        }
        Some(placed)
    }
}

/// How many of the inner edges E are so; they are those up to about `near`.
fn n_edges(n_bins: usize, is_so: impl Fn(u64) -> bool, near: u64) -> usize {
    let edge = |k: usize| (k as f64 / n_bins as f64 * ONE as f64) as u64;
    // proof: at most n_bins
    let guess = ((u128::from(near) * n_bins as u128) >> PROBABILITY_BITS) as usize;
    let start = guess.saturating_sub(1).min(n_bins - 1);
    start + (start + 1..n_bins).take_while(|k| is_so(edge(*k))).count()
}

/// Where numbers come from: bins that are known, or bits.
enum Source<'a, 'b> {
    Bins(&'a [Vec<BinTotals>], Vec<(u128, u32)>),
    Bits(&'a mut BitReader<'b>),
}

/// Numbers and their widths in bits; `None` if there is no such form.
pub(super) fn write<S: Stored>(sketch: &Sketch, columns: &[&Column<S>; N_TABLES]) -> Option<Vec<(u128, u32)>> {
    let mut source = Source::Bins(&sketch.bins, Vec::new());
    match (walk(sketch, columns, &mut source), source) {
        (Ok(_), Source::Bins(_, numbers)) => Some(numbers),
        _ => None,
    }
}

/// The bins of a sketch with these cells.
pub(super) fn read<S: Stored>(
    sketch: &Sketch,
    columns: &[&Column<S>; N_TABLES],
    bits: &mut BitReader<'_>,
) -> Result<Vec<Vec<BinTotals>>, Error> {
    walk(sketch, columns, &mut Source::Bits(bits))
}

/// The sums of all rows below an edge.
#[derive(Clone, Copy, Default)]
struct Below {
    /// Of those that were open at the edge.
    open: BinTotals,
    probability: u128,
}

fn walk<S: Stored>(
    sketch: &Sketch,
    columns: &[&Column<S>; N_TABLES],
    source: &mut Source<'_, '_>,
) -> Result<Vec<Vec<BinTotals>>, Error> {
    let of_table = |(table, column): (usize, &&Column<S>)| {
        column.iter().map(|(cell, sums)| Part::of(sketch, table, cell, &sums)).collect::<Vec<_>>()
    };
    let parts: Vec<Part> = columns.iter().enumerate().flat_map(of_table).collect();
    let impossible = || Error::invalid_sketch("bins and cells hold different rows");
    let mut known: HashMap<u64, Below> = HashMap::new();
    let mut all = Vec::with_capacity(sketch.bins.len());
    for (binning, n_bins) in sketch.bins.iter().map(Vec::len).enumerate() {
        let placed = Placed::new(&parts, n_bins).ok_or_else(impossible)?;
        let (mut bins, mut below, mut from_below) = (Vec::with_capacity(n_bins), 0u128, BinTotals::default());
        let mut open_below = Part::default();
        for place in 0..n_bins {
            let upper = (place as f64 + 1.0) / n_bins as f64;
            let (open, before) = (placed.open[place], known.get(&upper.to_bits()).copied());
            let mut sum = placed.sure[place];
            sum.add(&open_below, from_below);
            let rows = match before {
                Some(before) => before.open,
                None => source.open_rows::<S>(&open, &sum, binning, place)?,
            };
            sum.add(&open, rows);
            let probability = match before {
                Some(before) => before.probability.checked_sub(below).ok_or_else(impossible)?,
                None => source.probability(&sum, binning, place)?,
            };
            let bin = BinTotals { probability, ..sum.totals };
            match source {
                Source::Bins(bins, _) => require(bins[binning][place] == bin, "bins are none of the cells")?,
                Source::Bits(_) if bin.count > 0 => check_bin(&bin, place, n_bins)?,
                Source::Bits(_) => require(probability == 0, "a bin without rows has sums")?,
            }
            bins.push(bin);
            // proof: all rows have at most 2^71 units, or an error comes below
            below = below.checked_add(probability).ok_or_else(impossible)?;
            known.insert(upper.to_bits(), Below { open: rows, probability: below });
            (open_below, from_below) = (open, less(all_of(&open), rows).ok_or_else(impossible)?);
        }
        all.push(bins);
    }
    Ok(all)
}

impl Source<'_, '_> {
    /// A number of at most `most`, which `of_bins` is.
    fn number(&mut self, most: u128, of_bins: impl Fn(&[Vec<BinTotals>]) -> Option<u128>) -> Result<u128, Error> {
        let width = length(most);
        let value = match self {
            Source::Bins(bins, numbers) => {
                let value = of_bins(bins).filter(|value| *value <= most);
                numbers.extend(value.map(|value| (value, width)));
                value
            }
            Source::Bits(bits) => Some(bits.fixed(width)?).filter(|value| *value <= most),
        };
        value.ok_or_else(|| Error::invalid_sketch("bins have sums that the rows of cells cannot have"))
    }

    /// Those of the open rows of an edge that are below it, where `sum` has the other rows of the
    /// bin below.
    fn open_rows<S: Stored>(
        &mut self,
        open: &Part,
        sum: &Sum,
        binning: usize,
        place: usize,
    ) -> Result<BinTotals, Error> {
        let other = sum.totals;
        let rest = |bins: &[Vec<BinTotals>]| {
            less(BinTotals { probability: 0, ..bins[binning][place] }, BinTotals { probability: 0, ..other })
        };
        let count = self.number(open.count.into(), |bins| rest(bins).map(|rest| rest.count.into()))? as u64;
        if count == 0 || count == open.count {
            return Ok(if count == 0 { BinTotals::default() } else { all_of(open) });
        }
        let positive = self.number(open.positive, |bins| rest(bins).map(|rest| rest.positive))?;
        let weight = match S::WEIGHTED {
            true => self.number(open.weight, |bins| rest(bins).map(|rest| rest.weight))?,
            false => count.into(),
        };
        // Of the weight of outcome 0 there is as much below as there is at all, or less.
        let negative = weight.checked_sub(positive).filter(|negative| *negative <= open.weight - open.positive);
        require(negative.is_some(), "bins have sums that the rows of cells cannot have")?;
        Ok(BinTotals { count, weight, positive, probability: 0 })
    }

    /// Σ W P of the rows of a bin.
    fn probability(&mut self, sum: &Sum, binning: usize, place: usize) -> Result<u128, Error> {
        let Some(zeros) = sum.zeros.filter(|_| sum.totals.weight > 0) else { return Ok(0) };
        // Of a single row P, which W follows.
        let unit = if sum.totals.count == 1 { sum.totals.weight } else { 1 };
        let step = unit << zeros;
        let value = self.number((sum.most - sum.least) / step, |bins| {
            let more = bins[binning][place].probability.checked_sub(sum.least)?;
            (more % step == 0).then_some(more / step)
        })?;
        Ok(sum.least + value * step)
    }
}
