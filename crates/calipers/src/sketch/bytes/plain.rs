//! Bins and cells of versions 1 and 2: numbers of seven bits a byte.

use std::iter::repeat;

use super::stored::{Stored, check_sums};
use super::{MOST_ROWS, MOST_UNITS, Reader, Writer, check_bin};
use crate::Error;
use crate::measures::binned::BinTotals;
use crate::sketch::N_TABLES;
use crate::sketch::layout::Layout;
use crate::sketch::table::{Column, Table};

pub(super) fn write<S: Stored>(
    bytes: &mut Writer,
    bins: &[Vec<BinTotals>],
    tables: &[Table<S>; N_TABLES],
    layout: Layout,
) {
    for totals in bins.iter().flatten() {
        // Of a bin without rows only that it has none.
        bytes.number(totals.count.into());
        if totals.count > 0 {
            if S::WEIGHTED {
                bytes.number(totals.weight);
            }
            bytes.number(totals.positive);
            bytes.number(totals.probability);
        }
    }
    for table in tables {
        bytes.number(table.len() as u128);
        let mut next = 0;
        for (cell, sums) in table.iter() {
            bytes.number(u128::from(cell - next));
            next = cell + 1;
            sums.write(bytes, layout);
        }
    }
}

pub(super) fn read<S: Stored>(
    bytes: &mut Reader<'_>,
    bins: &mut [Vec<BinTotals>],
    last: u32,
    layout: Layout,
) -> Result<[Column<S>; N_TABLES], Error> {
    let all = bins.iter_mut().flat_map(|totals| (0..).zip(repeat(totals.len())).zip(totals));
    for ((place, n_bins), totals) in all {
        totals.count = bytes.count("rows of a bin", MOST_ROWS)?;
        if totals.count > 0 {
            totals.weight = match S::WEIGHTED {
                true => bytes.at_most("the weight of a bin", MOST_UNITS)?,
                false => totals.count.into(),
            };
            (totals.positive, totals.probability) = (bytes.number()?, bytes.number()?);
            check_bin(totals, place, n_bins)?;
        }
    }
    let mut columns: [Column<S>; N_TABLES] = std::array::from_fn(|_| Column::default());
    for column in &mut columns {
        let mut next = 0u32;
        for _ in 0..bytes.number()? {
            let gap = bytes.at_most("the number of a cell", u128::from(last) - u128::from(next.min(last)))?;
            // proof: at most `last`, and so is the sum
            let cell = next + gap as u32;
            if cell > last {
                return Err(Error::invalid_sketch(format!("the number of a cell must be at most {last}, got {cell}")));
            }
            let sums = S::read(bytes, layout)?;
            check_sums(&sums, layout)?;
            column.push(cell, sums);
            next = cell + 1;
        }
    }
    Ok(columns)
}
