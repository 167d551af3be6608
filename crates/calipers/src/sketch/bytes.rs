//! A sketch as bytes: docs/sketch-format.md has the layout.
//!
//! Every sketch has one form, and every form one sketch: numbers have the shortest form, cells
//! ascend, and nothing is left over. So sketches are the same if their bytes are. Bytes from a
//! stranger are read as they come, so that what is allocated is a small multiple of what was given;
//! sums that no rows can have are rejected.

use std::sync::Arc;

use super::content::{Sums, Weighted};
use super::table::Table;
use super::{
    Cells, LARGEST_LOGIT, MOST_ROWS, MOST_UNITS, N_TABLES, SCALES, Shape, Sketch, SketchOptions, offset_bits,
    with_tables,
};
use crate::Error;
use crate::cells::Content;
use crate::data::{InputReport, KINDS};
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
        bytes.byte(SCALES.iter().position(|scale| self.scale == Some(*scale)).map_or(0, |code| code as u8 + 1));
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
        with_tables!(&self.cells, tables => tables.iter().for_each(|table| bytes.table(table)));
        let checksum = crc32fast::hash(&bytes.0);
        bytes.0.extend(checksum.to_le_bytes());
        bytes.0
    }

    /// The sketch that [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        require(bytes.starts_with(MAGIC), "they do not begin with \"calipers\"")?;
        let version = bytes.get(MAGIC.len()).copied().ok_or_else(ends_early)?;
        let [first, last] = VERSIONS;
        require(VERSIONS.contains(&version), format!("version must be {first} or {last}, got {version}"))?;
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(ends_early)?;
        let is_intact = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
        require(is_intact, "the checksum is wrong, so they were damaged or cut")?;
        let mut reader = Reader { bytes: content, at: MAGIC.len() + 1, own_limit: version == last };
        let sketch = reader.sketch()?;
        let n_left = content.len() - reader.at;
        require(n_left == 0, format!("{n_left} bytes are left over"))?;
        Ok(sketch)
    }
}

fn ends_early() -> Error {
    Error::invalid_sketch("they end early")
}

/// An error unless `valid`.
pub(super) fn require(valid: bool, reason: impl Into<String>) -> Result<(), Error> {
    if valid { Ok(()) } else { Err(Error::invalid_sketch(reason)) }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn double(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Seven bits a byte, the lowest first; the top bit marks that more follow.
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

    /// Rejects sums that no rows with offsets of so many bits can have.
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
        let byte = self.bytes.get(self.at).copied().ok_or_else(ends_early)?;
        self.at += 1;
        Ok(byte)
    }

    fn double(&mut self) -> Result<f64, Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk::<8>().ok_or_else(ends_early)?;
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
        // Long and invalid numbers.
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
                let is_shortest = byte != 0 || shift == 0;
                require(is_shortest, format!("the number before byte {} is longer than it need be", self.at))?;
                return Ok(value);
            }
        }
        Err(Error::invalid_sketch(format!("the number before byte {} has more than 128 bits", self.at)))
    }

    fn at_most(&mut self, what: &str, most: u128) -> Result<u128, Error> {
        // Not `require`, whose text would be made for every number.
        match self.number()? {
            value if value > most => Err(Error::invalid_sketch(format!("{what} must be at most {most}, got {value}"))),
            value => Ok(value),
        }
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
        let is_negative = weight > 0 && mean_square < mean * mean * (1.0 - 1e-12);
        require(!is_negative, "offsets of a cell have a negative variance")?;
        Ok((first, second))
    }

    fn sketch(&mut self) -> Result<Sketch, Error> {
        let mark = self.byte()?;
        require(mark <= 1, format!("the mark of weights must be 0 or 1, got {mark}"))?;
        let weighted = mark == 1;
        let code = self.byte()?;
        let scale = code.checked_sub(1).and_then(|place| SCALES.get(usize::from(place))).copied();
        require(code == 0 || scale.is_some(), format!("the kind of scores must be from 0 to 3, got {code}"))?;
        let mut sketch = Sketch::of_shape(Arc::new(Shape::new(self.options()?)));
        sketch.scale = scale;
        sketch.n_clipped = self.count("clipped rows", MOST_ROWS)?;
        sketch.n_rounded_weights = self.count("rounded weights", MOST_ROWS)?;
        sketch.score_error = self.double()?;
        let error = sketch.score_error;
        require((0.0..=1.0).contains(&error), format!("the error of scores must be in [0, 1], got {error}"))?;
        sketch.report = self.report()?;
        for totals in &mut sketch.bins {
            self.bins(totals, weighted)?;
        }
        sketch.cells = match weighted {
            true => Cells::Weighted(self.tables(&mut sketch)?),
            false => Cells::Plain(self.tables(&mut sketch)?),
        };
        check_agreement(&sketch)?;
        Ok(sketch)
    }

    fn options(&mut self) -> Result<SketchOptions, Error> {
        let (resolution, weight_bits) = (self.byte()?, self.byte()?);
        let clip = self.double()?;
        let largest_logit = if self.own_limit { self.double()? } else { LARGEST_LOGIT };
        let is_own = !self.own_limit || largest_logit != LARGEST_LOGIT;
        require(is_own, format!("a largest logit of {LARGEST_LOGIT} is of version {}", VERSIONS[0]))?;
        let n_sets = self.count("declared binnings", 16)?;
        let n_bins: Vec<usize> =
            (0..n_sets).map(|_| self.count("bins", 10_000).map(|n_bins| n_bins as usize)).collect::<Result<_, _>>()?;
        require(n_bins.is_sorted_by(|a, b| a < b), "declared binnings do not ascend")?;
        let options = SketchOptions::new()
            .resolution(resolution.into())
            .weight_bits(weight_bits.into())
            .clip(clip)
            .largest_logit(largest_logit)
            .n_bins(&n_bins);
        options.check().map_err(|error| Error::invalid_sketch(error.to_string()))?;
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
        require(n_left_out <= n_rows, format!("{n_left_out} rows were left out of {n_rows}"))?;
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

    /// The tables of a sketch, whose rows and units are counted on the way.
    fn tables<S: Stored>(&mut self, sketch: &mut Sketch) -> Result<[Table<S>; N_TABLES], Error> {
        let (most, offset_bits) = (sketch.last_cell(sketch.scale), offset_bits(sketch.resolution()));
        let mut tables: [Table<S>; N_TABLES] = std::array::from_fn(|_| Table::default());
        for table in &mut tables {
            let mut next = 0u32;
            let mut cells = Vec::new();
            for _ in 0..self.number()? {
                let gap = self.at_most("the number of a cell", u128::from(most) - u128::from(next.min(most)))?;
                // proof: at most `most`, and so is the sum
                let cell = next + gap as u32;
                if cell > most {
                    return Err(Error::invalid_sketch(format!(
                        "the number of a cell must be at most {most}, got {cell}"
                    )));
                }
                let sums = S::read(self, offset_bits)?;
                require(!sums.is_empty(), "a cell has no rows")?;
                sketch.n += sums.count();
                sketch.units += sums.units();
                let fits = sketch.n <= MOST_ROWS && sketch.units <= MOST_UNITS;
                require(fits, "more rows or weight than a sketch can hold")?;
                cells.push((cell, sums));
                next = cell + 1;
            }
            *table = Table::from_sorted(cells);
        }
        Ok(tables)
    }
}

/// Bins and cells are sums over the same rows.
pub(super) fn check_agreement(sketch: &Sketch) -> Result<(), Error> {
    let Sketch { n, units, report, .. } = sketch;
    let has_kind = sketch.scale.is_some();
    require(has_kind == (*n > 0), "there are rows without a kind of scores, or a kind without rows")?;
    let all_read = *n == report.n_rows - report.n_left_out();
    require(all_read, format!("cells have {n} rows, but {} were read", report.n_rows))?;
    let counts_fit = sketch.n_clipped <= *n && sketch.n_rounded_weights <= *n;
    require(counts_fit, "more rows were clipped or rounded than there are")?;
    let positive: u128 = with_tables!(&sketch.cells, tables => positive_units(tables));
    for totals in &sketch.bins {
        // proof: a bin has at most 2^38 rows and 2^71 units, and there are at most 10000
        let rows: u64 = totals.iter().map(|bin| bin.count).sum();
        let sum = |of: fn(&BinTotals) -> u128| totals.iter().map(of).sum::<u128>();
        let agree = (rows, sum(|bin| bin.weight), sum(|bin| bin.positive)) == (*n, *units, positive);
        require(agree, "bins and cells hold different rows")?;
    }
    Ok(())
}

fn positive_units<S: Sums>(tables: &[Table<S>; N_TABLES]) -> u128 {
    [&tables[1], &tables[3]].into_iter().flat_map(Table::iter).map(|(_, sums)| sums.units()).sum()
}
