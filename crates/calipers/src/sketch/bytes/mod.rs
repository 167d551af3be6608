//! A sketch as bytes: docs/sketch-format.md has the layout.
//!
//! ```text
//! magic | version | header in numbers of seven bits a byte | bins and cells | checksum
//! ```
//! Versions 1 and 2 have bins and cells as numbers of seven bits a byte (`plain.rs`), version 3 as
//! bits (`compact.rs`), and version 4 as bits with a short header (`short_header.rs`, `tight.rs`,
//! `from_cells.rs`). Written is version 4, read are all.
//!
//! Every sketch has one form in a version, and every form one sketch: numbers have the shortest
//! form, cells ascend, and nothing is left over. So sketches are the same if their bytes are. Bytes
//! from a stranger are read as they come, so that what is allocated is a multiple of what was
//! given: 36 bytes for each cell, which takes a bit at least. Sums that no rows can have are
//! rejected.

mod bits;
mod compact;
mod from_cells;
mod plain;
mod short_header;
mod stored;
mod tight;

#[cfg(test)]
mod forged;

use std::sync::Arc;

use super::content::Sums;
use super::options::LARGEST_BITS;
use super::table::{Column, Table};
use super::tables::Tables;
use super::{
    Cells, LARGEST_LOGIT, MOST_ROWS, MOST_UNITS, N_TABLES, Profile, SCALES, Shape, Sketch, SketchOptions, with_tables,
};
use crate::Error;
use crate::data::{InputReport, KINDS};
use crate::measures::binned::{BinTotals, PROBABILITY_BITS};
pub(super) use stored::{Stored, check_sums};

const MAGIC: &[u8; 8] = b"calipers";

/// Of sketches that take raw scores as they are up to ±708; of all others of the exact profile,
/// which have that limit; of all whose row sums are exact; and of all, with all bits of squared
/// weights.
const VERSIONS: [u8; 4] = [1, 2, 3, 4];

/// The first version that has profiles, and the one that is written.
const PROFILES: u8 = 3;
const CURRENT: u8 = 4;

/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

impl Sketch {
    /// The sketch as bytes, the same for the same rows however they came.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.written(CURRENT)
    }

    /// The sketch as bytes for readers that know the format up to some version, as those of
    /// calipers do that were made before the version.
    ///
    /// # Example
    /// ```
    /// use calipers::Sketch;
    ///
    /// let old = Sketch::new().to_bytes_for(1)?;
    /// assert_eq!(old[8], 1);
    /// assert_eq!(Sketch::from_bytes(&old)?, Sketch::new());
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn to_bytes_for(&self, version: u8) -> Result<Vec<u8>, Error> {
        let [first, .., last] = VERSIONS;
        Error::require((first..=last).contains(&version), "version", format!("from {first} to {last}"), version)?;
        let needed = self.oldest_version();
        let rule = format!("at least {needed} for the profile, the largest logit and the row sums of the sketch");
        Error::require(version >= needed, "version", rule, version)?;
        // Versions 1 and 2 share no sketches.
        Ok(self.written(if version < PROFILES { needed } else { version }))
    }

    /// The first version that can hold the sketch: only the current one counts inexact row sums.
    fn oldest_version(&self) -> u8 {
        let options = self.options();
        if self.report.n_inexact_sums > 0 {
            CURRENT
        } else if options.profile_value() != Profile::Exact {
            PROFILES
        } else {
            1 + u8::from(options.largest_logit_value() != LARGEST_LOGIT)
        }
    }

    fn written(&self, version: u8) -> Vec<u8> {
        let mut bytes = Writer(MAGIC.to_vec());
        bytes.byte(version);
        match version {
            CURRENT => bytes.short_header(self),
            _ => bytes.header(self, version),
        }
        let layout = self.layout();
        with_tables!(&self.cells, tables => {
            let settled = tables.settled(layout);
            match version {
                CURRENT => {
                    let columns = settled.tables().each_ref().map(Table::column);
                    bytes.0.extend(tight::write(self, &columns.each_ref().map(|column| &**column)));
                }
                PROFILES => compact::write(&mut bytes, &self.bins, settled.tables(), layout),
                _ => plain::write(&mut bytes, &self.bins, settled.tables(), layout),
            }
        });
        let checksum = crc32fast::hash(&bytes.0);
        bytes.0.extend(checksum.to_le_bytes());
        bytes.0
    }

    /// Counts the rows and units of cells.
    fn count_rows<S: Stored>(&mut self, columns: &[Column<S>; N_TABLES]) -> Result<(), Error> {
        let (mut n, mut units) = (0u64, 0u128);
        for sums in columns.iter().map(|column| column.sums.as_slice()) {
            n = sums.iter().fold(n, |n, sums| n.saturating_add(sums.count()));
            // proof that nothing overflows: at most 2^34 cells of at most 2^71 units
            units = match S::WEIGHTED {
                true => sums.iter().fold(units, |units, sums| units + sums.units()),
                false => n.into(),
            };
        }
        require(n <= MOST_ROWS && units <= MOST_UNITS, "more rows or weight than a sketch can hold")?;
        // That q is at most 1/2 leaves one place in the first cell.
        let is_first = |column: &&Column<S>| column.cells.first() == Some(&0);
        let of_first = columns.iter().filter(is_first).filter_map(|column| column.sums.first());
        let at_half = of_first.map(Stored::moments_in_units).all(|(_, first, second)| (first, second) == (0, 0));
        require(at_half, "the first cell has rows beyond 1/2")?;
        (self.n, self.units) = (n, units);
        Ok(())
    }

    /// The kind of scores in bytes.
    fn scale_code(&self) -> u8 {
        SCALES.iter().position(|scale| self.scale == Some(*scale)).map_or(0, |code| code as u8 + 1)
    }

    /// The sketch that [`to_bytes`](Self::to_bytes) wrote, in this or any earlier version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        require(bytes.starts_with(MAGIC), "they do not begin with \"calipers\"")?;
        let version = bytes.get(MAGIC.len()).copied().ok_or_else(ends_early)?;
        if !VERSIONS.contains(&version) {
            let [first, .., last] = VERSIONS;
            let newer = if version > last { "; a newer calipers wrote them" } else { "" };
            return Err(Error::invalid_sketch(format!("version must be from {first} to {last}, got {version}{newer}")));
        }
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(ends_early)?;
        let is_intact = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
        require(is_intact, "the checksum is wrong, so they were damaged or cut")?;
        let mut reader = Reader { bytes: content, at: MAGIC.len() + 1, version };
        let sketch = reader.sketch()?;
        let n_left = content.len() - reader.at;
        if n_left > 0 {
            return Err(Error::invalid_sketch(format!("{n_left} bytes are left over")));
        }
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

pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Of versions 1 to 3.
    fn header(&mut self, sketch: &Sketch, version: u8) {
        self.byte(u8::from(sketch.is_weighted()));
        self.byte(sketch.scale_code());
        self.options(sketch.options(), version);
        self.number(sketch.n_clipped.into());
        self.number(sketch.n_rounded_weights.into());
        self.double(sketch.score_error);
        self.report(&sketch.report);
    }

    fn options(&mut self, options: &SketchOptions, version: u8) {
        if version >= PROFILES {
            self.byte(options.profile_value() as u8);
        }
        self.byte(options.resolution_bits() as u8);
        self.byte(options.weight_unit_bits() as u8);
        self.double(options.clip_value());
        if version > 1 {
            self.double(options.largest_logit_value());
        }
        self.binnings(options);
    }

    fn binnings(&mut self, options: &SketchOptions) {
        self.number(options.declared_bins().len() as u128);
        options.declared_bins().iter().for_each(|n_bins| self.number(*n_bins as u128));
    }

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
}

/// Bytes of a number that a word of 64 bits holds in any case.
const SHORT: usize = 9;

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, Error> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(ends_early)?;
        self.at += 1;
        Ok(byte)
    }

    /// The bytes that were not read.
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip_rest(&mut self) {
        self.at = self.bytes.len();
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

    fn sketch(&mut self) -> Result<Sketch, Error> {
        let mut sketch = if self.version == CURRENT { self.short_header()? } else { self.header()? };
        match sketch.is_weighted() {
            true => sketch.cells = Cells::Weighted(self.bins_and_tables(&mut sketch)?),
            false => sketch.cells = Cells::Plain(self.bins_and_tables(&mut sketch)?),
        }
        check_agreement(&sketch)?;
        Ok(sketch)
    }

    /// An empty sketch with the header of versions 1 to 3.
    fn header(&mut self) -> Result<Sketch, Error> {
        let mark = self.byte()?;
        require(mark <= 1, format!("the mark of weights must be 0 or 1, got {mark}"))?;
        let code = self.byte()?;
        let scale = code.checked_sub(1).and_then(|place| SCALES.get(usize::from(place))).copied();
        require(code == 0 || scale.is_some(), format!("the kind of scores must be from 0 to 3, got {code}"))?;
        let mut sketch = Sketch::of_shape(Arc::new(Shape::new(self.options()?)));
        sketch.scale = scale;
        sketch.n_clipped = self.count("clipped rows", MOST_ROWS)?;
        sketch.n_rounded_weights = self.count("rounded weights", MOST_ROWS)?;
        sketch.score_error = self.score_error()?;
        sketch.report = self.report()?;
        if mark == 1 {
            sketch.cells = Cells::Weighted(Default::default());
        }
        Ok(sketch)
    }

    fn score_error(&mut self) -> Result<f64, Error> {
        let error = self.double()?;
        require((0.0..=1.0).contains(&error), format!("the error of scores must be in [0, 1], got {error}"))?;
        Ok(error)
    }

    /// Bins and cells, whose rows and units are counted.
    fn bins_and_tables<S: Stored>(&mut self, sketch: &mut Sketch) -> Result<Tables<S>, Error> {
        let (last, layout) = (sketch.last_cell(sketch.scale), sketch.layout());
        if self.version == CURRENT {
            let columns = tight::read(self.rest(), sketch)?;
            self.skip_rest();
            return Ok(Tables::of(columns));
        }
        let columns: [Column<S>; N_TABLES] = match self.version {
            PROFILES => compact::read(self, &mut sketch.bins, last, layout)?,
            _ => plain::read(self, &mut sketch.bins, last, layout)?,
        };
        sketch.count_rows(&columns)?;
        Ok(Tables::of(columns))
    }

    fn options(&mut self) -> Result<SketchOptions, Error> {
        let profile = match self.version {
            PROFILES => {
                let code = self.byte()?;
                let profile = Profile::ALL.get(usize::from(code)).copied();
                profile.ok_or_else(|| Error::invalid_sketch(format!("the profile must be 0 or 1, got {code}")))?
            }
            _ => Profile::Exact,
        };
        let (resolution, weight_bits) = (self.byte()?, self.byte()?);
        let clip = self.double()?;
        let largest_logit = if self.version > 1 { self.double()? } else { LARGEST_LOGIT };
        let is_own = self.version != 2 || largest_logit != LARGEST_LOGIT;
        require(is_own, "a largest logit of 708 is of version 1")?;
        let n_bins = self.binnings()?;
        let options = SketchOptions::new()
            .profile(profile)
            .resolution(resolution.into())
            .weight_bits(weight_bits.into())
            .clip(clip)
            .largest_logit(largest_logit)
            .n_bins(&n_bins);
        options.check().map_err(|error| Error::invalid_sketch(error.to_string()))?;
        Ok(options)
    }

    fn binnings(&mut self) -> Result<Vec<usize>, Error> {
        let n_sets = self.count("declared binnings", 16)?;
        let n_bins: Vec<usize> =
            (0..n_sets).map(|_| self.count("bins", 10_000).map(|n_bins| n_bins as usize)).collect::<Result<_, _>>()?;
        require(n_bins.is_sorted_by(|a, b| a < b), "declared binnings do not ascend")?;
        Ok(n_bins)
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
    let has_weights = sketch.is_weighted() || sketch.n_rounded_weights == 0;
    require(has_weights, "weights were rounded, but there are none")?;
    let has_room = sketch.is_weighted() || *n == 0 || sketch.options().weight_unit_bits() <= LARGEST_BITS;
    require(has_room, "a weight of 1 has more units than a weight can have")?;
    require(*n > 0 || sketch.score_error == 0.0, "there is an error of scores without scores")?;
    let positive: u128 = with_tables!(&sketch.cells, tables => positive_units(tables));
    for totals in &sketch.bins {
        // proof: a bin has at most 2^38 rows and 2^71 units, and there are at most 10000
        let rows: u64 = totals.iter().map(|bin| bin.count).sum();
        let sum = |of: fn(&BinTotals) -> u128| totals.iter().map(of).sum::<u128>();
        let agree = (rows, sum(|bin| bin.weight), sum(|bin| bin.positive)) == (*n, *units, positive);
        require(agree, "bins and cells hold different rows")?;
    }
    for pair in sketch.bins.windows(2) {
        require(agree_at_edges(&pair[0], &pair[1]), "binnings hold different rows")?;
    }
    Ok(())
}

/// Whether all rows below each edge that two binnings have are the same, as far as sums tell.
fn agree_at_edges(a: &[BinTotals], b: &[BinTotals]) -> bool {
    let n_common = gcd(a.len(), b.len());
    let below = |totals: &[BinTotals]| {
        let mut sum = BinTotals::default();
        totals.iter().for_each(|bin| sum.add(*bin));
        sum
    };
    let parts = a.chunks(a.len() / n_common).zip(b.chunks(b.len() / n_common));
    // proof that nothing overflows: all rows together have at most 2^71 units
    parts.into_iter().all(|(a, b)| below(a) == below(b))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Of settled tables.
fn positive_units<S: Sums>(tables: &Tables<S>) -> u128 {
    let tables: &[_; N_TABLES] = tables.tables();
    [&tables[1], &tables[3]].into_iter().map(|table| table.column().sums.iter().map(Sums::units).sum::<u128>()).sum()
}

/// Rejects the sums of a bin that no rows can have; those of a bin with rows.
fn check_bin(totals: &BinTotals, place: usize, n_bins: usize) -> Result<(), Error> {
    let BinTotals { count, weight, positive, probability } = *totals;
    let fits = count <= MOST_ROWS && weight <= MOST_UNITS.min(u128::from(count) << LARGEST_BITS);
    // Of p in the bin, cut to 56 bits as its edges are.
    let edge = |k: usize| (k as f64 / n_bins as f64 * 2f64.powi(PROBABILITY_BITS as i32)) as u128;
    // proof that nothing overflows: at most 2^71 units, and edges are at most 2^56
    let is_inside = || (weight * edge(place)..=weight * edge(place + 1)).contains(&probability);
    if !fits || positive > weight || !is_inside() {
        return Err(Error::invalid_sketch("a bin has sums that no rows can have"));
    }
    Ok(())
}
