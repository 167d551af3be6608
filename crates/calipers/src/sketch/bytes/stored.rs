//! The sums of a cell in both forms, and which of them some rows can have.

use super::bits::{BitReader, BitWriter, length};
use super::tight::square_bits;
use super::{MOST_ROWS, MOST_UNITS, Reader, Writer};
use crate::Error;
use crate::cells::Content;
use crate::sketch::content::{Sums, Weighted};
use crate::sketch::layout::Layout;
use crate::sketch::options::LARGEST_BITS;

/// Sums that can be written and read. What is read is not empty, and is [checked](check_sums).
pub(in crate::sketch) trait Stored: Sums {
    const WEIGHTED: bool;

    fn write(&self, bytes: &mut Writer, layout: Layout);

    fn read(bytes: &mut Reader<'_>, layout: Layout) -> Result<Self, Error>;

    /// Writes all but the number of rows.
    fn write_bits(&self, bits: &mut BitWriter, layout: Layout);

    fn read_bits(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error>;

    /// As version 4 has them: with all bits of squared weights.
    fn write_tight(&self, bits: &mut BitWriter, layout: Layout) {
        self.write_bits(bits, layout);
    }

    fn read_tight(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error> {
        Self::read_bits(bits, count, layout)
    }

    /// Reads cells of one row each, until there are `end` of them.
    fn read_rows(bits: &mut BitReader<'_>, sums: &mut Vec<Self>, end: usize, layout: Layout) -> Result<(), Error> {
        while sums.len() < end {
            sums.push(Self::read_bits(bits, 1, layout)?);
        }
        Ok(())
    }

    /// Weight, and sums of weighted offsets and of their squares.
    fn moments_in_units(&self) -> (u128, u128, u128);

    /// Whether some weights have that sum and those squares.
    fn has_valid_squares(&self, layout: Layout) -> bool;

    /// Whether the other sums are those of a row of that weight.
    fn is_row(&self, layout: Layout) -> bool;
}

/// An error where no rows have such sums.
///
/// Every sum is one that some n rows of weights W in [0, 2^56] and offsets o in [0, 2^b) can have:
/// ```text
/// n >= 1,      Σ W <= 2^56 n,      (Σ W)² / n <= Σ W² <= Σ W min(Σ W, 2^56)
/// 0 <= Σ (W² mod 2^U) <= (2^U - 1) n
/// Σ Wo <= (2^b - 1) Σ W,      Σ Wo <= Σ Wo² <= (2^b - 1) Σ Wo,      (Σ Wo)² <= Σ W Σ Wo²
/// ```
/// and Σ Wo² - Σ Wo is even. What has products beyond 128 bits is compared in doubles, up to their
/// rounding. Squares from versions 1 to 3 lack less than 2^U for each row. The sums of a single row
/// are those of a row.
#[inline]
pub(in crate::sketch) fn check_sums<S: Stored>(sums: &S, layout: Layout) -> Result<(), Error> {
    let (weight, first, second) = sums.moments_in_units();
    let count = sums.count();
    let reason = if count == 0 {
        "a cell has no rows"
    } else if count > MOST_ROWS || weight > MOST_UNITS {
        "more rows or weight than a sketch can hold"
    } else if !sums.has_valid_squares(layout) {
        "squared weights of a cell are none that weights can have"
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
        } else if second < first || (second - first) % 2 == 1 {
            // An offset o is an integer, so that o² - o is even and not negative.
            "offsets of a cell are no integers"
        } else if weight > 0 && mean_square < mean * mean * (1.0 - 1e-12) {
            "offsets of a cell have a negative variance"
        } else {
            return Ok(());
        }
    };
    Err(Error::invalid_sketch(reason))
}

/// The offset that all rows with a weight have, if they have one and are known to.
///
/// Σ W Σ Wo² = (Σ Wo)² holds only then, and so do both equations, of which the second then follows.
pub(super) fn common_offset<S: Stored>(sums: &S) -> Option<u128> {
    let (weight, first, second) = sums.moments_in_units();
    let offset = first.checked_div(weight)?;
    (offset * weight == first && offset.checked_mul(first) == Some(second)).then_some(offset)
}

/// The largest Σ W² of that Σ W.
fn most_squares(weight: u128) -> u128 {
    // proof: at most 2^71 and 2^56
    weight * weight.min(1 << LARGEST_BITS)
}

fn too_heavy(weight: u128) -> Error {
    Error::invalid_sketch(format!("the weight of a cell must be at most {MOST_UNITS}, got {weight}"))
}

fn units_of_row(weight: u128) -> Result<u64, Error> {
    match u64::try_from(weight) {
        Ok(units) if units <= 1 << LARGEST_BITS => Ok(units),
        _ => Err(Error::invalid_sketch(format!("the weight of a row must be at most 2^56 units, got {weight}"))),
    }
}

/// The row that has these sums; its square follows from its weight.
fn one_row(weight: u128, cut: u128, sums: (u128, u128), layout: Layout) -> Result<Weighted, Error> {
    let units = units_of_row(weight)?;
    let offset = sums.0.checked_div(weight).unwrap_or(0);
    let row = match u64::try_from(offset) {
        Ok(offset) if offset >> layout.offset_bits == 0 => Some(Weighted::row(units, offset, layout.weight_bits)),
        _ => None,
    };
    row.filter(|row| (row.cut_squares(layout.weight_bits), (row.first, row.second)) == (cut, sums))
        .ok_or_else(|| Error::invalid_sketch("a cell of one row has sums that no row has"))
}

impl Stored for Content {
    const WEIGHTED: bool = false;

    fn write(&self, bytes: &mut Writer, _: Layout) {
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

    fn read_rows(bits: &mut BitReader<'_>, sums: &mut Vec<Self>, end: usize, layout: Layout) -> Result<(), Error> {
        let n = end.saturating_sub(sums.len());
        let row = |offset: u64| Content { count: 1, first: offset, second: u128::from(offset * offset) };
        // proof: an offset has at most 26 bits
        sums.extend(bits.many(n, layout.offset_bits)?.map(row));
        Ok(())
    }

    #[inline]
    fn moments_in_units(&self) -> (u128, u128, u128) {
        (self.count.into(), self.first.into(), self.second)
    }

    #[inline]
    fn has_valid_squares(&self, _: Layout) -> bool {
        true
    }

    #[inline]
    fn is_row(&self, layout: Layout) -> bool {
        let offset = u128::from(self.first);
        offset >> layout.offset_bits == 0 && self.second == offset * offset
    }
}

impl Stored for Weighted {
    const WEIGHTED: bool = true;

    fn write(&self, bytes: &mut Writer, layout: Layout) {
        bytes.number(self.count.into());
        bytes.number(self.weight);
        bytes.number(self.cut_squares(layout.weight_bits));
        bytes.number(self.first);
        bytes.number(self.second);
    }

    fn read(bytes: &mut Reader<'_>, layout: Layout) -> Result<Self, Error> {
        let count = bytes.count("rows of a cell", MOST_ROWS)?;
        let weight = bytes.at_most("the weight of a cell", MOST_UNITS)?;
        let most = most_squares(weight) >> layout.weight_bits;
        let cut = bytes.at_most("squared weights of a cell", most)?;
        let sums = (bytes.number()?, bytes.number()?);
        if count == 1 {
            return one_row(weight, cut, sums, layout);
        }
        Ok(Weighted::with_cut_squares(count, weight, cut, sums, layout.weight_bits))
    }

    fn write_bits(&self, bits: &mut BitWriter, layout: Layout) {
        bits.sized(self.weight);
        if self.count > 1 {
            bits.sized(self.cut_squares(layout.weight_bits));
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
            return Err(too_heavy(weight));
        }
        if count == 1 {
            let units = units_of_row(weight)?;
            let offset = if units > 0 { bits.few(layout.offset_bits)? } else { 0 };
            return Ok(Weighted::row(units, offset, layout.weight_bits));
        }
        let cut = bits.sized()?;
        if cut > most_squares(weight) >> layout.weight_bits {
            return Err(Error::invalid_sketch("squared weights of a cell are larger than weights can be"));
        }
        let sums = if layout.offset_bits > 0 { (bits.sized()?, bits.sized()?) } else { (0, 0) };
        Ok(Weighted::with_cut_squares(count, weight, cut, sums, layout.weight_bits))
    }

    fn write_tight(&self, bits: &mut BitWriter, layout: Layout) {
        if self.count == 1 {
            return self.write_bits(bits, layout);
        }
        bits.sized(self.weight);
        if self.weight > 0 {
            let width = length(self.weight);
            bits.fixed(self.square, square_bits(self.weight));
            bits.fixed(self.carries(layout.weight_bits).into(), length(u128::from(self.count - 1)));
            if layout.offset_bits > 0 {
                let common = common_offset(self);
                bits.fixed(common.is_some().into(), 1);
                match common {
                    Some(offset) => bits.fixed(offset, layout.offset_bits),
                    None => {
                        bits.fixed(self.first, width + layout.offset_bits);
                        bits.fixed(self.second, width + 2 * layout.offset_bits);
                    }
                }
            }
        }
    }

    fn read_tight(bits: &mut BitReader<'_>, count: u64, layout: Layout) -> Result<Self, Error> {
        if count == 1 {
            return Self::read_bits(bits, count, layout);
        }
        let weight = bits.sized()?;
        if weight > MOST_UNITS {
            return Err(too_heavy(weight));
        }
        if weight == 0 {
            return Ok(Weighted::with_squares(count, 0, 0, 0, (0, 0), layout.weight_bits));
        }
        let (width, b) = (length(weight), layout.offset_bits);
        let square = bits.fixed(square_bits(weight))?;
        // proof: the number of rows has at most 38 bits
        let carries = bits.fixed(length(u128::from(count - 1)))? as u64;
        let has_common = b > 0 && bits.few(1)? == 1;
        let sums = match has_common {
            true => {
                let offset = u128::from(bits.few(b)?);
                (weight * offset, weight * offset * offset)
            }
            false if b > 0 => (bits.fixed(width + b)?, bits.fixed(width + 2 * b)?),
            false => (0, 0),
        };
        let sums = Weighted::with_squares(count, weight, square, carries, sums, layout.weight_bits);
        if b > 0 && !has_common && common_offset(&sums).is_some() {
            return Err(Error::invalid_sketch("the offset of all rows of a cell takes more room than it need"));
        }
        Ok(sums)
    }

    fn moments_in_units(&self) -> (u128, u128, u128) {
        (self.weight, self.first, self.second)
    }

    fn has_valid_squares(&self, layout: Layout) -> bool {
        let bits = layout.weight_bits;
        let (weight, count) = (self.weight as f64, self.count as f64);
        let lacking = count * 2f64.powi(bits as i32);
        self.weight <= u128::from(self.count) << LARGEST_BITS
            && self.square <= most_squares(self.weight)
            && (self.square as f64 + lacking) * (1.0 + 1e-12) >= weight * (weight / count)
            && u128::from(self.carries(bits)) <= self.square >> bits
            // What the shift took of each square is less than 2^U.
            && self.square - (self.cut_squares(bits) << bits) <= u128::from(self.count) * ((1 << bits) - 1)
    }

    fn is_row(&self, layout: Layout) -> bool {
        let offset = self.first.checked_div(self.weight).unwrap_or(0);
        let fits = self.weight <= 1 << LARGEST_BITS && offset >> layout.offset_bits == 0;
        // proof: both are below 2^56 and 2^26
        fits && *self == Weighted::row(self.weight as u64, offset as u64, layout.weight_bits)
    }
}
