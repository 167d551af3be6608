//! The sums of a cell in both forms, and which of them some rows can have.

use super::bits::{BitReader, BitWriter, length};
use super::{MOST_ROWS, MOST_UNITS, Reader, Writer};
use crate::Error;
use crate::cells::Content;
use crate::sketch::content::{Sums, Weighted};
use crate::sketch::layout::Layout;

/// Sums that can be written and read. What is read is not empty, and is [checked](check_sums).
pub(in crate::sketch) trait Stored: Sums {
    const WEIGHTED: bool;

    fn write(&self, bytes: &mut Writer);

    fn read(bytes: &mut Reader<'_>, layout: Layout) -> Result<Self, Error>;

    /// Writes all but the number of rows.
    fn write_bits(&self, bits: &mut BitWriter, layout: Layout);

    fn read_bits(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error>;

    /// Weight, and sums of weighted offsets and of their squares.
    fn moments_in_units(&self) -> (u128, u128, u128);

    /// Whether the other sums are those of a row of that weight.
    fn is_row(&self, layout: Layout) -> bool;
}

/// An error where no rows have such sums.
///
/// Sums are no larger than offsets and weights allow, their variance is not negative, as far as
/// doubles can tell, and those of a single row are those of a row.
#[inline]
pub(in crate::sketch) fn check_sums<S: Stored>(sums: &S, layout: Layout) -> Result<(), Error> {
    let (weight, first, second) = sums.moments_in_units();
    let count = sums.count();
    let reason = if count == 0 {
        "a cell has no rows"
    } else if count > MOST_ROWS || weight > MOST_UNITS {
        "more rows or weight than a sketch can hold"
    } else if count == 1 {
        if sums.is_row(layout) {
            return Ok(());
        }
        "a cell of one row has sums that no row has"
    } else {
        let largest = (1u128 << layout.offset_bits) - 1;
        let (mean, mean_square) = (first as f64 / weight as f64, second as f64 / weight as f64);
        if first > weight * largest || second > first * largest {
            "offsets of a cell are larger than offsets can be"
        } else if weight > 0 && mean_square < mean * mean * (1.0 - 1e-12) {
            "offsets of a cell have a negative variance"
        } else {
            return Ok(());
        }
    };
    Err(Error::invalid_sketch(reason))
}

impl Stored for Content {
    const WEIGHTED: bool = false;

    fn write(&self, bytes: &mut Writer) {
        bytes.number(self.count.into());
        bytes.number(self.first.into());
        bytes.number(self.second);
    }

    fn read(bytes: &mut Reader<'_>, _: Layout) -> Result<Self, Error> {
        let count = bytes.count("rows of a cell", MOST_ROWS)?;
        let first = bytes.count("offsets of a cell", u64::MAX)?;
        Ok(Content { count, first, second: bytes.number()? })
    }

    #[inline]
    fn write_bits(&self, bits: &mut BitWriter, layout: Layout) {
        if layout.offset_bits > 0 {
            let more = if self.count == 1 { 0 } else { length(self.count.into()) };
            bits.fixed(self.first.into(), layout.offset_bits + more);
            if self.count > 1 {
                bits.fixed(self.second, 2 * layout.offset_bits + more);
            }
        }
    }

    #[inline(always)]
    fn read_bits(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error> {
        if layout.offset_bits == 0 {
            return Ok(Content { count, ..Content::default() });
        }
        if count == 1 {
            let offset = bits.few(layout.offset_bits)?;
            return Ok(Content { count, first: offset, second: u128::from(offset) * u128::from(offset) });
        }
        let more = length(count.into());
        // proof: 26 bits and 38
        let first = bits.fixed(layout.offset_bits + more)? as u64;
        Ok(Content { count, first, second: bits.fixed(2 * layout.offset_bits + more)? })
    }

    #[inline]
    fn moments_in_units(&self) -> (u128, u128, u128) {
        (self.count.into(), self.first.into(), self.second)
    }

    #[inline]
    fn is_row(&self, layout: Layout) -> bool {
        let offset = u128::from(self.first);
        offset >> layout.offset_bits == 0 && self.second == offset * offset
    }
}

impl Stored for Weighted {
    const WEIGHTED: bool = true;

    fn write(&self, bytes: &mut Writer) {
        bytes.number(self.count.into());
        bytes.number(self.weight);
        bytes.number(self.square);
        bytes.number(self.first);
        bytes.number(self.second);
    }

    fn read(bytes: &mut Reader<'_>, _: Layout) -> Result<Self, Error> {
        let count = bytes.count("rows of a cell", MOST_ROWS)?;
        let weight = bytes.at_most("the weight of a cell", MOST_UNITS)?;
        // A weight has at most 2^56 units.
        let square = bytes.at_most("squared weights of a cell", weight << 56)?;
        Ok(Weighted { count, weight, square, first: bytes.number()?, second: bytes.number()? })
    }

    fn write_bits(&self, bits: &mut BitWriter, layout: Layout) {
        bits.sized(self.weight);
        if self.count > 1 {
            bits.sized(self.square);
            if layout.offset_bits > 0 {
                bits.sized(self.first);
                bits.sized(self.second);
            }
        } else if let Some(offset) = self.first.checked_div(self.weight) {
            bits.fixed(offset, layout.offset_bits);
        }
    }

    fn read_bits(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error> {
        let weight = bits.sized()?;
        if weight > MOST_UNITS {
            return Err(Error::invalid_sketch(format!(
                "the weight of a cell must be at most {MOST_UNITS}, got {weight}"
            )));
        }
        if count == 1 {
            let Ok(units) = u64::try_from(weight) else {
                return Err(Error::invalid_sketch(format!("the weight of a row must have 64 bits, got {weight}")));
            };
            let offset = if units > 0 { bits.few(layout.offset_bits)? } else { 0 };
            return Ok(Weighted::row(units, offset, layout.weight_bits));
        }
        let square = bits.sized()?;
        if square > weight << 56 {
            return Err(Error::invalid_sketch("squared weights of a cell are larger than weights can be"));
        }
        let (first, second) = if layout.offset_bits > 0 { (bits.sized()?, bits.sized()?) } else { (0, 0) };
        Ok(Weighted { count, weight, square, first, second })
    }

    fn moments_in_units(&self) -> (u128, u128, u128) {
        (self.weight, self.first, self.second)
    }

    fn is_row(&self, layout: Layout) -> bool {
        let offset = self.first.checked_div(self.weight).unwrap_or(0);
        let fits = self.weight <= 1 << 56 && offset >> layout.offset_bits == 0;
        // proof: both are below 2^56 and 2^26
        fits && *self == Weighted::row(self.weight as u64, offset as u64, layout.weight_bits)
    }
}
