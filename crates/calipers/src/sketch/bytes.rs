//! A sketch as bytes: docs/sketch-format.md has the layout.
//!
//! Every sketch has one form, and every form one sketch: numbers have the shortest form, cells
//! ascend, and nothing is left over. So sketches are the same if their bytes are. Bytes from a
//! stranger are read as they come, so that what is allocated is a small multiple of what was given;
//! sums that no rows can have are refused.

use std::sync::Arc;

use super::content::{Sums, Weighted};
use super::table::Table;
use super::{Cells, LARGEST_LOGIT, MOST_ROWS, MOST_UNITS, N_TABLES, Shape, Sketch, SketchOptions, offset_bits};
use crate::Error;
use crate::cells::{Content, Resolution};
use crate::data::{InputReport, KINDS, Scale};
use crate::measures::binned::{BinTotals, PROBABILITY_BITS};

const MAGIC: &[u8; 8] = b"calipers";
/// Of sketches that take raw scores as they are up to ±708, and of all others, which have that
/// limit.
const VERSIONS: [u8; 2] = [1, 2];

/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

impl Sketch {
    /// The sketch as bytes, the same for the same rows however they came.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Writer(MAGIC.to_vec());
        let own_limit = self.options().largest_logit_value() != LARGEST_LOGIT;
        bytes.byte(VERSIONS[usize::from(own_limit)]);
        bytes.byte(u8::from(self.is_weighted()));
        bytes.byte(scale_code(self.scale));
        let options = self.options();
        bytes.byte(options.resolution_bits() as u8);
        bytes.byte(options.weight_unit_bits() as u8);
        bytes.double(options.clip_value());
        if own_limit {
            bytes.double(options.largest_logit_value());
        }
        bytes.number(options.declared_bins().len() as u128);
        options.declared_bins().iter().for_each(|n_bins| bytes.number(*n_bins as u128));
        bytes.number(self.n_clipped.into());
        bytes.number(self.n_rounded_weights.into());
        bytes.double(self.score_error);
        bytes.report(&self.report);
        for totals in &self.bins {
            bytes.bins(totals, self.is_weighted());
        }
        match &self.cells {
            Cells::Plain(tables) => tables.iter().for_each(|table| bytes.table(table)),
            Cells::Weighted(tables) => tables.iter().for_each(|table| bytes.table(table)),
        }
        let checksum = crc32fast::hash(&bytes.0);
        bytes.0.extend(checksum.to_le_bytes());
        bytes.0
    }

    /// The sketch that [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(MAGIC) {
            return Err(invalid("they do not begin with \"calipers\""));
        }
        let version = bytes.get(MAGIC.len()).copied().ok_or_else(|| invalid("they end early"))?;
        let Some(known) = VERSIONS.iter().position(|known| *known == version) else {
            return Err(invalid(format!("version must be {} or {}, got {version}", VERSIONS[0], VERSIONS[1])));
        };
        let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM>() else {
            return Err(invalid("they end early"));
        };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(invalid("the checksum is wrong, so they were damaged or cut"));
        }
        let mut reader = Reader { bytes: content, at: MAGIC.len() + 1, own_limit: known == 1 };
        let sketch = reader.sketch()?;
        if reader.at != content.len() {
            return Err(invalid(format!("{} bytes are left over", content.len() - reader.at)));
        }
        Ok(sketch)
    }
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidSketch { reason: reason.into() }
}

fn scale_code(scale: Option<Scale>) -> u8 {
    match scale {
        None => 0,
        Some(Scale::Probability) => 1,
        Some(Scale::LogOdds) => 2,
        Some(Scale::Link) => 3,
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn double(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    fn number(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn report(&mut self, report: &InputReport) {
        self.number(report.n_rows.into());
        self.number(report.n_rounded.into());
        self.number(report.n_ties.into());
        for kind in KINDS {
            self.number(report.left_out.get(kind).copied().unwrap_or(0).into());
        }
    }

    /// Of a bin without rows only that it has none.
    fn bins(&mut self, totals: &[BinTotals], weighted: bool) {
        for totals in totals {
            self.number(totals.count.into());
            if totals.count > 0 {
                if weighted {
                    self.number(totals.weight);
                }
                self.number(totals.positive);
                self.number(totals.probability);
            }
        }
    }

    fn table<S: Stored>(&mut self, table: &Table<S>) {
        self.number(table.len() as u128);
        let mut next = 0;
        for (cell, sums) in table.iter() {
            self.number(u128::from(cell - next));
            next = cell + 1;
            sums.write(self);
        }
    }
}

/// Sums that can be written and read.
trait Stored: Sums {
    fn write(&self, bytes: &mut Writer);

    /// Refuses sums that no rows with offsets of so many bits can have.
    fn read(bytes: &mut Reader<'_>, offset_bits: u32) -> Result<Self, Error>;
}

impl Stored for Content {
    fn write(&self, bytes: &mut Writer) {
        bytes.number(self.count.into());
        bytes.number(self.first.into());
        bytes.number(self.second);
    }

    fn read(bytes: &mut Reader<'_>, offset_bits: u32) -> Result<Self, Error> {
        let count = bytes.count("rows of a cell", MOST_ROWS)?;
        let (first, second) = bytes.moments(u128::from(count), offset_bits)?;
        if count == 0 {
            return Err(invalid("a cell has no rows"));
        }
        // proof: at most 2^38 rows with offsets below 2^26
        Ok(Content { count, first: first as u64, second })
    }
}

impl Stored for Weighted {
    fn write(&self, bytes: &mut Writer) {
        bytes.number(self.count.into());
        bytes.number(self.weight);
        bytes.number(self.square);
        bytes.number(self.first);
        bytes.number(self.second);
    }

    fn read(bytes: &mut Reader<'_>, offset_bits: u32) -> Result<Self, Error> {
        let count = bytes.count("rows of a cell", MOST_ROWS)?;
        let weight = bytes.at_most("the weight of a cell", MOST_UNITS)?;
        // A weight has at most 2^56 units.
        let square = bytes.at_most("squared weights of a cell", weight << 56)?;
        let (first, second) = bytes.moments(weight, offset_bits)?;
        if count == 0 {
            return Err(invalid("a cell has no rows"));
        }
        Ok(Weighted { count, weight, square, first, second })
    }
}

/// Bytes of a number that a word of 64 bits holds in any case.
const SHORT: usize = 9;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the largest logit follows the clip.
    own_limit: bool,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Error> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| invalid("they end early"))?;
        self.at += 1;
        Ok(byte)
    }

    fn double(&mut self) -> Result<f64, Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk::<8>().ok_or_else(|| invalid("they end early"))?;
        self.at += 8;
        Ok(f64::from_le_bytes(*bytes))
    }

    fn number(&mut self) -> Result<u128, Error> {
        // Most fit into a word, which is several times faster.
        let mut value = 0u64;
        let start = self.bytes.get(self.at..).unwrap_or_default();
        for (place, byte) in start.iter().take(SHORT).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if *byte & 0x80 == 0 {
                if *byte == 0 && place > 0 {
                    break;
                }
                self.at += place + 1;
                return Ok(value.into());
            }
        }
        // Long ones, and what is refused.
        self.long_number()
    }

    fn long_number(&mut self) -> Result<u128, Error> {
        let mut value = 0u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(invalid(format!("the number before byte {} is longer than it need be", self.at)));
                }
                return Ok(value);
            }
        }
        Err(invalid(format!("the number before byte {} has more than 128 bits", self.at)))
    }

    fn at_most(&mut self, what: &str, most: u128) -> Result<u128, Error> {
        let value = self.number()?;
        if value > most {
            return Err(invalid(format!("{what} must be at most {most}, got {value}")));
        }
        Ok(value)
    }

    fn count(&mut self, what: &str, most: u64) -> Result<u64, Error> {
        // proof: at most a u64
        self.at_most(what, most.into()).map(|value| value as u64)
    }

    /// Sums of weighted offsets and of their squares: no larger than offsets allow, and with a
    /// variance that is not negative, as far as doubles can tell.
    fn moments(&mut self, weight: u128, offset_bits: u32) -> Result<(u128, u128), Error> {
        let largest = (1u128 << offset_bits) - 1;
        let first = self.at_most("offsets of a cell", weight * largest)?;
        let second = self.at_most("squared offsets of a cell", first * largest)?;
        let (mean, mean_square) = (first as f64 / weight as f64, second as f64 / weight as f64);
        if weight > 0 && mean_square < mean * mean * (1.0 - 1e-12) {
            return Err(invalid("offsets of a cell have a negative variance"));
        }
        Ok((first, second))
    }

    fn sketch(&mut self) -> Result<Sketch, Error> {
        let weighted = match self.byte()? {
            0 => false,
            1 => true,
            other => return Err(invalid(format!("the mark of weights must be 0 or 1, got {other}"))),
        };
        let scale = match self.byte()? {
            0 => None,
            1 => Some(Scale::Probability),
            2 => Some(Scale::LogOdds),
            3 => Some(Scale::Link),
            other => return Err(invalid(format!("the kind of scores must be from 0 to 3, got {other}"))),
        };
        let mut sketch = Sketch::of_shape(Arc::new(Shape::new(self.options()?)));
        sketch.scale = scale;
        sketch.n_clipped = self.count("clipped rows", MOST_ROWS)?;
        sketch.n_rounded_weights = self.count("rounded weights", MOST_ROWS)?;
        sketch.score_error = self.double()?;
        // Written so that NaN fails.
        if !(0.0..=1.0).contains(&sketch.score_error) {
            return Err(invalid(format!("the error of scores must be in [0, 1], got {}", sketch.score_error)));
        }
        sketch.report = self.report()?;
        for totals in &mut sketch.bins {
            self.bins(totals, weighted)?;
        }
        let most = sketch.last_cell(sketch.scale);
        let (n, units) = if weighted {
            let (tables, n, units) = self.tables::<Weighted>(sketch.resolution(), most)?;
            sketch.cells = Cells::Weighted(tables);
            (n, units)
        } else {
            let (tables, n, units) = self.tables::<Content>(sketch.resolution(), most)?;
            sketch.cells = Cells::Plain(tables);
            (n, units)
        };
        (sketch.n, sketch.units) = (n, units);
        check_agreement(&sketch)?;
        Ok(sketch)
    }

    fn options(&mut self) -> Result<SketchOptions, Error> {
        let (resolution, weight_bits) = (self.byte()?, self.byte()?);
        let clip = self.double()?;
        let largest_logit = if self.own_limit { self.double()? } else { LARGEST_LOGIT };
        if self.own_limit && largest_logit == LARGEST_LOGIT {
            return Err(invalid(format!("a largest logit of {LARGEST_LOGIT} is of version {}", VERSIONS[0])));
        }
        let n_sets = self.count("declared binnings", 16)?;
        let n_bins: Vec<usize> =
            (0..n_sets).map(|_| self.count("bins", 10_000).map(|n_bins| n_bins as usize)).collect::<Result<_, _>>()?;
        if !n_bins.is_sorted_by(|a, b| a < b) {
            return Err(invalid("declared binnings do not ascend"));
        }
        let options = SketchOptions::new()
            .resolution(resolution.into())
            .weight_bits(weight_bits.into())
            .clip(clip)
            .largest_logit(largest_logit)
            .n_bins(&n_bins);
        options.check().map_err(|refusal| invalid(refusal.to_string()))?;
        Ok(options)
    }

    fn report(&mut self) -> Result<InputReport, Error> {
        let n_rows = self.count("rows", MOST_ROWS)?;
        let mut report = InputReport {
            n_rows,
            // No row has more classes than that; so merging cannot overflow either.
            n_rounded: self.count("rounded probabilities", n_rows << 25)?,
            n_ties: self.count("ties", n_rows)?,
            ..InputReport::default()
        };
        let mut n_left_out = 0u64;
        for kind in KINDS {
            let count = self.count("rows left out", n_rows)?;
            if count > 0 {
                report.left_out.insert(kind, count);
            }
            n_left_out += count;
        }
        if n_left_out > report.n_rows {
            return Err(invalid(format!("{n_left_out} rows were left out of {}", report.n_rows)));
        }
        Ok(report)
    }

    fn bins(&mut self, totals: &mut [BinTotals], weighted: bool) -> Result<(), Error> {
        for totals in totals {
            totals.count = self.count("rows of a bin", MOST_ROWS)?;
            if totals.count > 0 {
                totals.weight = match weighted {
                    true => self.at_most("the weight of a bin", MOST_UNITS)?,
                    false => totals.count.into(),
                };
                totals.positive = self.at_most("the weight of outcome 1 in a bin", totals.weight)?;
                totals.probability = self.at_most("probabilities of a bin", totals.weight << PROBABILITY_BITS)?;
            }
        }
        Ok(())
    }

    #[allow(clippy::type_complexity)]
    fn tables<S: Stored>(
        &mut self,
        resolution: Resolution,
        most: u32,
    ) -> Result<([Table<S>; N_TABLES], u64, u128), Error> {
        let mut tables: [Table<S>; N_TABLES] = std::array::from_fn(|_| Table::default());
        let (mut n, mut units) = (0u64, 0u128);
        for table in &mut tables {
            let mut next = 0u32;
            let mut cells = Vec::new();
            for _ in 0..self.number()? {
                let gap = self.at_most("the number of a cell", u128::from(most) - u128::from(next.min(most)))?;
                // proof: at most `most`, and so is the sum
                let cell = next + gap as u32;
                if cell > most {
                    return Err(invalid(format!("the number of a cell must be at most {most}, got {cell}")));
                }
                let sums = S::read(self, offset_bits(resolution))?;
                n += sums.count();
                units += sums.units();
                if n > MOST_ROWS || units > MOST_UNITS {
                    return Err(invalid("more rows or weight than a sketch can hold"));
                }
                cells.push((cell, sums));
                next = cell + 1;
            }
            *table = Table::from_sorted(cells);
        }
        Ok((tables, n, units))
    }
}

/// Bins and cells are sums over the same rows.
pub(super) fn check_agreement(sketch: &Sketch) -> Result<(), Error> {
    if sketch.scale.is_none() != (sketch.n == 0) {
        return Err(invalid("there are rows without a kind of scores, or a kind without rows"));
    }
    if sketch.n != sketch.report.n_rows - sketch.report.n_left_out() {
        return Err(invalid(format!("cells have {} rows, but {} were read", sketch.n, sketch.report.n_rows)));
    }
    if sketch.n_clipped > sketch.n || sketch.n_rounded_weights > sketch.n {
        return Err(invalid("more rows were clipped or rounded than there are"));
    }
    let positive: u128 = match &sketch.cells {
        Cells::Plain(tables) => positive_units(tables),
        Cells::Weighted(tables) => positive_units(tables),
    };
    for totals in &sketch.bins {
        let (mut n, mut weight, mut outcome) = (0u64, 0u128, 0u128);
        for totals in totals {
            // proof: a bin has at most 2^38 rows and 2^71 units, and there are at most 10000
            n += totals.count;
            weight += totals.weight;
            outcome += totals.positive;
        }
        if (n, weight, outcome) != (sketch.n, sketch.units, positive) {
            return Err(invalid("bins and cells hold different rows"));
        }
    }
    Ok(())
}

fn positive_units<S: Sums>(tables: &[Table<S>; N_TABLES]) -> u128 {
    [&tables[1], &tables[3]].into_iter().flat_map(Table::iter).map(|(_, sums)| sums.units()).sum()
}
