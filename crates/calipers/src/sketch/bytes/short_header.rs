//! The header of version 4: fields that have their usual values take a bit together.
//!
//! ```text
//! byte:    weighted | scores, 2 bits | monitoring | other options | any counts | other error of scores | 0
//! options: resolution, weight bits, clip, largest logit, number of binnings, each of them
//! rows read
//! counts:  which of them are not 0, a bit each, and these
//! error of scores
//! ```
//! Options, counts and the error are there if their bit is set, and then differ from what is usual:
//! so every header has one form.

use super::{MOST_ROWS, Reader, Writer, require};
use crate::Error;
use crate::data::{InputReport, KINDS, Scale};
use crate::sketch::{Cells, Profile, SCALES, Sketch, SketchOptions};

/// Rows clipped, weights rounded, probabilities rounded, ties; then rows left out; then rows with
/// inexact sums.
const N_OWN: usize = 4;
const N_COUNTS: usize = N_OWN + KINDS.len() + 1;

const MONITORING: u8 = 1 << 3;
const OTHER_OPTIONS: u8 = 1 << 4;
const ANY_COUNTS: u8 = 1 << 5;
const OTHER_ERROR: u8 = 1 << 6;

/// The error of scores of that kind, unless they were computed from several.
fn usual_error(scale: Option<Scale>) -> f64 {
    if scale == Some(Scale::Link) { 8.0 * f64::EPSILON } else { 0.0 }
}

fn counts(sketch: &Sketch) -> [u64; N_COUNTS] {
    let report = &sketch.report;
    let own = [sketch.n_clipped, sketch.n_rounded_weights, report.n_rounded, report.n_ties];
    let left_out = KINDS.map(|kind| report.left_out.get(kind).copied().unwrap_or(0));
    let all = own.into_iter().chain(left_out).chain([report.n_inexact_sums]);
    let mut counts = [0; N_COUNTS];
    counts.iter_mut().zip(all).for_each(|(count, value)| *count = value);
    counts
}

fn usual_options(profile: Profile) -> SketchOptions {
    SketchOptions::new().profile(profile)
}

impl Writer {
    pub(super) fn short_header(&mut self, sketch: &Sketch) {
        let (options, counts) = (sketch.options(), counts(sketch));
        let profile = options.profile_value();
        let has_own_options = *options != usual_options(profile);
        let has_counts = counts.iter().any(|count| *count > 0);
        let has_own_error = sketch.score_error.to_bits() != usual_error(sketch.scale).to_bits();
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        self.byte(
            u8::from(sketch.is_weighted())
                | sketch.scale_code() << 1
                | bit(profile == Profile::Monitoring, MONITORING)
                | bit(has_own_options, OTHER_OPTIONS)
                | bit(has_counts, ANY_COUNTS)
                | bit(has_own_error, OTHER_ERROR),
        );
        if has_own_options {
            self.byte(options.resolution_bits() as u8);
            self.byte(options.weight_unit_bits() as u8);
            self.double(options.clip_value());
            self.double(options.largest_logit_value());
            self.binnings(options);
        }
        self.number(sketch.report.n_rows.into());
        if has_counts {
            let present = (0..).zip(counts).filter(|(_, count)| *count > 0);
            self.number(present.clone().map(|(place, _)| 1u128 << place).sum());
            present.for_each(|(_, count)| self.number(count.into()));
        }
        if has_own_error {
            self.double(sketch.score_error);
        }
    }
}

impl Reader<'_> {
    /// An empty sketch with this header.
    pub(super) fn short_header(&mut self) -> Result<Sketch, Error> {
        let head = self.byte()?;
        require(head >> 7 == 0, "the last bit of the first byte of the header is set")?;
        let profile = if head & MONITORING == 0 { Profile::Exact } else { Profile::Monitoring };
        let usual = usual_options(profile);
        let mut options = usual.clone();
        if head & OTHER_OPTIONS != 0 {
            let (resolution, weight_bits) = (self.byte()?, self.byte()?);
            options = options
                .resolution(resolution.into())
                .weight_bits(weight_bits.into())
                .clip(self.double()?)
                .largest_logit(self.double()?)
                .n_bins(&self.binnings()?);
            options.check().map_err(|error| Error::invalid_sketch(error.to_string()))?;
            require(options != usual, "usual options take room")?;
        }
        let mut sketch = Sketch::with(&options)?;
        if head & 1 == 1 {
            sketch.cells = Cells::Weighted(Default::default());
        }
        // proof: from 0 to 3, and 0 is none
        sketch.scale = usize::from(head >> 1 & 3).checked_sub(1).map(|code| SCALES[code]);
        let n_rows = self.count("rows", MOST_ROWS)?;
        sketch.report = InputReport { n_rows, ..InputReport::default() };
        if head & ANY_COUNTS != 0 {
            self.short_counts(&mut sketch)?;
        }
        let usual = usual_error(sketch.scale);
        sketch.score_error = if head & OTHER_ERROR == 0 { usual } else { self.score_error()? };
        let is_usual = sketch.score_error.to_bits() == usual.to_bits();
        require(is_usual == (head & OTHER_ERROR == 0), "the usual error of scores takes room")?;
        Ok(sketch)
    }

    fn short_counts(&mut self, sketch: &mut Sketch) -> Result<(), Error> {
        let n_rows = sketch.report.n_rows;
        let present = self.count("the set of counts", (1 << N_COUNTS) - 1)?;
        require(present > 0, "counts that are 0 take room")?;
        let mut counts = [0; N_COUNTS];
        for (place, count) in counts.iter_mut().enumerate().filter(|(place, _)| present >> place & 1 == 1) {
            // A row has at most 2^25 classes, each of whose probabilities can be rounded.
            *count = self.count("rows", if place == 2 { n_rows << 25 } else { n_rows })?;
            require(*count > 0, "counts that are 0 take room")?;
        }
        let [clipped, weights, rounded, ties, left_out @ .., inexact_sums] = counts;
        (sketch.n_clipped, sketch.n_rounded_weights) = (clipped, weights);
        (sketch.report.n_rounded, sketch.report.n_ties, sketch.report.n_inexact_sums) = (rounded, ties, inexact_sums);
        let present = KINDS.into_iter().zip(left_out).filter(|(_, count)| *count > 0);
        sketch.report.left_out.extend(present);
        // proof: each is at most 2^38
        let n_left_out: u64 = left_out.iter().sum();
        require(n_left_out <= n_rows, format!("{n_left_out} rows were left out of {n_rows}"))
    }
}
