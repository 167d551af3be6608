//! Bins and cells of version 3: how many there are as numbers of seven bits a byte, and the rest as
//! bits.
//!
//! ```text
//! for each binning: n occupied bins, and the last of them if n > 0
//! for each table:   n cells; if n > 0: the last of them, and m, how many of them have several rows;
//!                   if m > 0: which of the n is the last of the m
//! bits, for each binning: gaps(bins), for each: gamma(rows), sums of the bin
//!       for each table:   gaps(cells), gaps(those with several rows, by their place among the cells),
//!                         for each cell: gamma(rows - 1) if it has several rows, sums of the cell
//! ```
//! The codes are those of `bits.rs`. With c rows, of which the length is ℓ bits, and offsets of b
//! bits, the sums are
//! ```text
//! bin               fixed(rows of outcome 1, ℓ), fixed(Σ p 2^56, 56 + ℓ)
//! bin, weighted     sized(weight), sized(weight of outcome 1), sized(Σ w p 2^56)
//! cell, c = 1       fixed(offset, b)
//! cell, c > 1       fixed(Σ o, b + ℓ), fixed(Σ o², 2 b + ℓ)       if b > 0
//! weighted, c = 1   sized(w), and fixed(offset, b) if w > 0
//! weighted, c > 1   sized(Σ w), sized(Σ w² >> U), and sized(Σ w o), sized(Σ w o²) if b > 0
//! ```

use super::bits::{BitReader, BitWriter, length};
use super::stored::{Stored, check_sums};
use super::{MOST_ROWS, Reader, Writer, check_bin};
use crate::Error;
use crate::measures::binned::{BinTotals, PROBABILITY_BITS};
use crate::sketch::N_TABLES;
use crate::sketch::layout::Layout;
use crate::sketch::table::{Column, Table};

/// How many ascending numbers there are, and the last of them.
#[derive(Clone, Copy, Default)]
struct Extent {
    n: usize,
    last: u32,
}

impl Extent {
    fn of(numbers: &[u32]) -> Self {
        Extent { n: numbers.len(), last: numbers.last().copied().unwrap_or(0) }
    }

    fn write(self, bytes: &mut Writer) {
        bytes.number(self.n as u128);
        if self.n > 0 {
            bytes.number(self.last.into());
        }
    }

    /// Of numbers up to `most`.
    fn read(bytes: &mut Reader<'_>, most: u32) -> Result<Self, Error> {
        // proof that both fit: they are at most 2^32
        let n = bytes.count("occupied bins or cells", u64::from(most) + 1)? as usize;
        if n == 0 {
            return Ok(Extent::default());
        }
        let last = bytes.count("the last bin or cell", most.into())? as u32;
        if n > last as usize + 1 {
            return Err(Error::invalid_sketch(format!("there must be at most {last} bins or cells before the last")));
        }
        Ok(Extent { n, last })
    }
}

pub(super) fn write<S: Stored>(
    bytes: &mut Writer,
    bins: &[Vec<BinTotals>],
    tables: &[Table<S>; N_TABLES],
    layout: Layout,
) {
    let mut bits = BitWriter::default();
    for totals in bins {
        let occupied: Vec<u32> = (0..).zip(totals).filter(|(_, bin)| bin.count > 0).map(|(place, _)| place).collect();
        Extent::of(&occupied).write(bytes);
        bits.gaps(&occupied);
        for bin in totals.iter().filter(|bin| bin.count > 0) {
            write_bin::<S>(&mut bits, bin);
        }
    }
    for table in tables {
        let column = table.column();
        let several: Vec<u32> =
            (0..).zip(&column.sums).filter(|(_, sums)| sums.count() > 1).map(|(place, _)| place).collect();
        Extent::of(&column.cells).write(bytes);
        if !column.cells.is_empty() {
            Extent::of(&several).write(bytes);
        }
        bits.gaps(&column.cells);
        bits.gaps(&several);
        for sums in &column.sums {
            if sums.count() > 1 {
                bits.gamma(sums.count() - 1);
            }
            sums.write_bits(&mut bits, layout);
        }
    }
    bytes.0.extend(bits.finish());
}

/// A bin with rows.
pub(super) fn write_bin<S: Stored>(bits: &mut BitWriter, bin: &BinTotals) {
    bits.gamma(bin.count);
    if S::WEIGHTED {
        bits.sized(bin.weight);
        bits.sized(bin.positive);
        bits.sized(bin.probability);
    } else {
        let width = length(bin.count.into());
        bits.fixed(bin.positive, width);
        bits.fixed(bin.probability, PROBABILITY_BITS + width);
    }
}

pub(super) fn read<S: Stored>(
    bytes: &mut Reader<'_>,
    bins: &mut [Vec<BinTotals>],
    last: u32,
    layout: Layout,
) -> Result<[Column<S>; N_TABLES], Error> {
    let mut of_bins = Vec::with_capacity(bins.len());
    for totals in bins.iter() {
        // proof: there are from 1 to 10000 bins
        of_bins.push(Extent::read(bytes, totals.len() as u32 - 1)?);
    }
    let mut of_tables = [(Extent::default(), Extent::default()); N_TABLES];
    for (cells, several) in &mut of_tables {
        *cells = Extent::read(bytes, last)?;
        if cells.n > 0 {
            // proof: below 2^32, as cells are
            *several = Extent::read(bytes, cells.n as u32 - 1)?;
        }
    }
    let mut bits = BitReader::new(bytes.rest());
    for (totals, extent) in bins.iter_mut().zip(of_bins) {
        for place in bits.gaps(extent.n, extent.last)? {
            let bin = read_bin::<S>(&mut bits)?;
            check_bin(&bin, place as usize, totals.len())?;
            totals[place as usize] = bin;
        }
    }
    let mut columns: [Column<S>; N_TABLES] = std::array::from_fn(|_| Column::default());
    for (column, (extent, several)) in columns.iter_mut().zip(of_tables) {
        *column = read_table(&mut bits, extent, several, layout)?;
    }
    bits.finish()?;
    bytes.skip_rest();
    Ok(columns)
}

/// A bin with rows, which is not checked.
pub(super) fn read_bin<S: Stored>(bits: &mut BitReader<'_>) -> Result<BinTotals, Error> {
    let count = read_rows(bits)?;
    Ok(if S::WEIGHTED {
        BinTotals { count, weight: bits.sized()?, positive: bits.sized()?, probability: bits.sized()? }
    } else {
        let width = length(count.into());
        let (positive, probability) = (bits.fixed(width)?, bits.fixed(PROBABILITY_BITS + width)?);
        BinTotals { count, weight: count.into(), positive, probability }
    })
}

fn read_table<S: Stored>(
    bits: &mut BitReader<'_>,
    cells: Extent,
    several: Extent,
    layout: Layout,
) -> Result<Column<S>, Error> {
    let cells = bits.gaps(cells.n, cells.last)?;
    let several = bits.gaps(several.n, several.last)?;
    let mut sums = Vec::with_capacity(cells.len());
    for place in several {
        S::read_rows(bits, &mut sums, place as usize, layout)?;
        let count = read_rows(bits)? + 1;
        let of_cell = S::read_bits(bits, count, layout)?;
        check_sums(&of_cell, layout)?;
        sums.push(of_cell);
    }
    S::read_rows(bits, &mut sums, cells.len(), layout)?;
    Ok(Column { cells, sums })
}

pub(super) fn read_rows(bits: &mut BitReader<'_>) -> Result<u64, Error> {
    match bits.gamma()? {
        rows if rows <= MOST_ROWS => Ok(rows),
        rows => Err(Error::invalid_sketch(format!("rows must be at most {MOST_ROWS}, got {rows}"))),
    }
}
