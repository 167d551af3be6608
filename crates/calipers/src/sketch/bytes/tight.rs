//! Cells and bins of version 4, all of them bits; the codes are those of `bits.rs`.
//!
//! ```text
//! list(numbers)  gamma(n + 1); if n > 0: fixed(k, 5) and the gaps with that k
//! for each table: list(cells); if there are any: list(those with several rows, by their place),
//!                 for each cell: gamma(rows - 1) if it has several, sums of the cell
//! bins of up to 256 rows: 1 and what cells leave open (`from_cells.rs`), or 0 and as those of more
//! bins of more rows: for each binning: list(occupied bins), for each: gamma(rows), sums of the bin
//! ```
//! k = floor(log2((L + 1) / n)) for the last number L, so that it takes no room of its own. Sums
//! are those of version 3, but for weighted cells of several rows, which have all bits of squared
//! weights.

use super::bits::{BitReader, BitWriter, length};
use super::compact::{read_bin, read_rows, write_bin};
use super::from_cells;
use super::stored::{Stored, check_sums};
use super::{check_bin, require};
use crate::Error;
use crate::measures::binned::BinTotals;
use crate::sketch::table::Column;
use crate::sketch::{N_TABLES, Sketch};

/// Up to so many rows, bins are coded as what cells leave open of them.
pub(super) const FEW_ROWS: u64 = 256;

pub(super) fn write<S: Stored>(sketch: &Sketch, columns: &[&Column<S>; N_TABLES]) -> Vec<u8> {
    let (layout, mut bits) = (sketch.layout(), BitWriter::default());
    for column in columns {
        bits.list(&column.cells);
        if column.cells.is_empty() {
            continue;
        }
        let several: Vec<u32> =
            (0..).zip(&column.sums).filter(|(_, sums)| sums.count() > 1).map(|(place, _)| place).collect();
        bits.list(&several);
        for sums in &column.sums {
            if sums.count() > 1 {
                bits.gamma(sums.count() - 1);
            }
            sums.write_tight(&mut bits, layout);
        }
    }
    if sketch.n <= FEW_ROWS {
        let open = from_cells::write(sketch, columns);
        bits.fixed(open.is_some().into(), 1);
        if let Some(open) = open {
            open.iter().for_each(|(value, width)| bits.fixed(*value, *width));
            return bits.finish();
        }
    }
    for totals in &sketch.bins {
        let occupied: Vec<u32> = (0..).zip(totals).filter(|(_, bin)| bin.count > 0).map(|(place, _)| place).collect();
        bits.list(&occupied);
        totals.iter().filter(|bin| bin.count > 0).for_each(|bin| write_bin::<S>(&mut bits, bin));
    }
    bits.finish()
}

/// Cells, and bins into the sketch.
pub(super) fn read<S: Stored>(bytes: &[u8], sketch: &mut Sketch) -> Result<[Column<S>; N_TABLES], Error> {
    let mut bits = BitReader::new(bytes);
    let last = sketch.last_cell(sketch.scale);
    let mut columns: [Column<S>; N_TABLES] = std::array::from_fn(|_| Column::default());
    for column in &mut columns {
        *column = read_table(&mut bits, last, sketch)?;
    }
    sketch.count_rows(&columns)?;
    let are_few = sketch.n <= FEW_ROWS;
    if are_few && bits.few(1)? == 1 {
        sketch.bins = from_cells::read(sketch, &columns.each_ref(), &mut bits)?;
    } else {
        read_bins::<S>(&mut bits, &mut sketch.bins)?;
        let follow = are_few && from_cells::write(sketch, &columns.each_ref()).is_some();
        require(!follow, "bins that follow from cells take room")?;
    }
    bits.finish()?;
    Ok(columns)
}

fn read_bins<S: Stored>(bits: &mut BitReader<'_>, bins: &mut [Vec<BinTotals>]) -> Result<(), Error> {
    for totals in bins {
        // proof: there are from 1 to 10000 bins
        for place in bits.list(totals.len() as u32 - 1)? {
            let bin = read_bin::<S>(bits)?;
            check_bin(&bin, place as usize, totals.len())?;
            totals[place as usize] = bin;
        }
    }
    Ok(())
}

fn read_table<S: Stored>(bits: &mut BitReader<'_>, last: u32, sketch: &Sketch) -> Result<Column<S>, Error> {
    let layout = sketch.layout();
    let cells = bits.list(last)?;
    if cells.is_empty() {
        return Ok(Column::default());
    }
    // proof: below 2^32, as cells are
    let several = bits.list(cells.len() as u32 - 1)?;
    let mut sums = Vec::with_capacity(cells.len());
    for place in several {
        S::read_rows(bits, &mut sums, place as usize, layout)?;
        let count = read_rows(bits)? + 1;
        let of_cell = S::read_tight(bits, count, layout)?;
        check_sums(&of_cell, layout)?;
        sums.push(of_cell);
    }
    S::read_rows(bits, &mut sums, cells.len(), layout)?;
    Ok(Column { cells, sums })
}

impl BitWriter {
    /// Ascending numbers.
    fn list(&mut self, numbers: &[u32]) {
        self.gamma(numbers.len() as u64 + 1);
        if let Some(last) = numbers.last() {
            let k = super::bits::gap_bits(numbers.len(), u64::from(*last) + 1);
            self.fixed(k.into(), 5);
            self.gaps_of(numbers, k);
        }
    }
}

impl BitReader<'_> {
    /// Ascending numbers up to `most`.
    fn list(&mut self, most: u32) -> Result<Vec<u32>, Error> {
        let n = self.gamma()? - 1;
        if n == 0 {
            return Ok(Vec::new());
        }
        require(n <= u64::from(most) + 1, "there are more bins or cells than there can be")?;
        // proof: 5 bits; and at most 2^32
        let (k, n) = (self.few(5)? as u32, n as usize);
        let numbers = self.gaps_of(n, most, k)?;
        let end = numbers.last().map_or(0, |last| u64::from(*last) + 1);
        require(k == super::bits::gap_bits(n, end), "gaps have another code than theirs")?;
        Ok(numbers)
    }
}

/// Bits of the squares of weights that add up to `weight`, of which there are any.
pub(super) fn square_bits(weight: u128) -> u32 {
    let bits = length(weight);
    // A sum of 2^71 has 72 bits, and its squares have at most 2^127.
    (bits + bits.min(57)).min(128)
}
