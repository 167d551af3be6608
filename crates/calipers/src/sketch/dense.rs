//! A sketch as integers at fixed places, which are added place by place where sketches are merged:
//! what systems that can do no more than add tensors can hold.
//!
//! ```text
//! head | for each declared binning, for each bin: 4 words | for each table, for each cell there can be: 4 words
//! ```
//! The head has the rows of each kind of scores, rows read, rows clipped, probabilities rounded,
//! rows with inexact sums, ties, and rows left out by kind. A bin has rows, rows with outcome 1 and
//! the sum of p, a cell has rows, the sum of offsets and that of squares; the last of each takes
//! two words, its low [`LOW`] bits and the rest.
//!
//! # Limits
//! Words are added modulo 2^64. In what is read, all rows together are at most [`MOST_ROWS`], so
//! that no word but the low ones can have passed 2^64: offsets have 26 bits, and the rest of a sum
//! of p (56 bits) or of squares (52 bits) has at most 62. Low words are below 2^32 in each sketch,
//! so that 2^31 of them can be added.

use super::bytes::{check_agreement, require};
use super::merge::unlike_scores;
use super::table::Column;
use super::tables::Tables;
use super::{Cells, MOST_ROWS, N_TABLES, SCALES, Sketch, name};
use crate::cells::Content;
use crate::data::{InputReport, KINDS, Scale};
use crate::measures::binned::BinTotals;
use crate::{Error, error};

/// Bits of a long sum that are in the first of its words.
const LOW: u32 = 32;

/// Words of a bin and of a cell.
const WIDTH: usize = 4;

/// Rows read, clipped, rounded, with inexact sums, and ties.
const COUNTS: usize = 5;

/// Rows of each kind of scores, the counts, and rows left out.
const HEAD: usize = SCALES.len() + COUNTS + KINDS.len();

/// The words of a sketch that are not zero, and where they stand among [`Sketch::dense_len`] words.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Dense {
    /// Ascending.
    pub places: Vec<i64>,
    /// What stands there, as unsigned integers would.
    pub words: Vec<i64>,
    /// Of two sketches the larger one is that of their sum. Not negative.
    pub score_error: f64,
}

impl Dense {
    fn put(&mut self, place: usize, words: impl IntoIterator<Item = u64>) {
        for (place, word) in (place as i64..).zip(words) {
            if word != 0 {
                self.places.push(place);
                self.words.push(word as i64);
            }
        }
    }
}

impl Sketch {
    /// How many words there are for a sketch like this of probabilities, or of raw scores.
    pub fn dense_len(&self, of_probabilities: bool) -> usize {
        let (bins, cells) = (self.bins.iter().map(Vec::len).sum::<usize>(), self.cells_of_table(of_probabilities));
        HEAD + WIDTH * (bins + N_TABLES * cells)
    }

    /// The words of the sketch. An error where rows have weights, or scores of the other kind.
    pub fn to_dense(&self, of_probabilities: bool) -> Result<Dense, Error> {
        let Cells::Plain(tables) = &self.cells else {
            return Err(Error::setting("weights", "absent from a sketch that becomes words of fixed places", "some"));
        };
        if let Some(scale) = self.scale {
            check_kind(scale, of_probabilities)?;
        }
        let mut dense = Dense { score_error: self.score_error, ..Dense::default() };
        dense.put(0, SCALES.map(|scale| if self.scale == Some(scale) { self.n } else { 0 }));
        let InputReport { n_rows, n_rounded, n_inexact_sums, n_ties, left_out } = &self.report;
        let counts: [u64; COUNTS] = [*n_rows, self.n_clipped, *n_rounded, *n_inexact_sums, *n_ties];
        dense.put(SCALES.len(), counts);
        dense.put(SCALES.len() + COUNTS, KINDS.map(|kind| left_out.get(kind).copied().unwrap_or(0)));
        let mut at = HEAD;
        for totals in self.bins.iter().flatten() {
            let (low, high) = split(totals.probability);
            // proof: without weights, rows
            dense.put(at, [totals.count, totals.positive as u64, low, high]);
            at += WIDTH;
        }
        let n_cells = self.cells_of_table(of_probabilities);
        for table in tables.settled(self.layout()).tables() {
            for (cell, sums) in table.iter() {
                let (low, high) = split(sums.second);
                dense.put(at + WIDTH * cell as usize, [sums.count, sums.first, low, high]);
            }
            at += WIDTH * n_cells;
        }
        Ok(dense)
    }

    /// The sketch, of options like this one's, whose words are these: the sums of those of others,
    /// with the largest of their errors of scores.
    pub fn of_dense(&self, words: &[i64], score_error: f64, of_probabilities: bool) -> Result<Sketch, Error> {
        let expected = self.dense_len(of_probabilities);
        require(words.len() == expected, format!("there must be {expected} words, got {}", words.len()))?;
        // NaN is in no range.
        let (is_share, got) = ((0.0..=1.0).contains(&score_error), error::number(score_error));
        require(is_share, format!("the error of scores must be in [0, 1], got {got}"))?;
        let words: Vec<u64> = words.iter().map(|word| *word as u64).collect();
        let (head, rest) = words.split_at(HEAD);
        let (bins, cells) = rest.split_at(rest.len() - WIDTH * N_TABLES * self.cells_of_table(of_probabilities));
        let mut sketch = self.empty_like();
        sketch.score_error = score_error;
        sketch.read_head(head, of_probabilities)?;
        for (totals, words) in sketch.bins.iter_mut().flatten().zip(bins.chunks_exact(WIDTH)) {
            let (count, positive) = (rows(words[0])?, rows(words[1])?);
            let probability = joined(words[2], words[3]);
            *totals = BinTotals { count, weight: count.into(), positive: positive.into(), probability };
        }
        let mut columns: [Column<Content>; N_TABLES] = Default::default();
        let of_table = cells.len() / N_TABLES;
        for (column, words) in columns.iter_mut().zip(cells.chunks_exact(of_table)) {
            for (cell, words) in words.chunks_exact(WIDTH).enumerate() {
                let content = Content { count: rows(words[0])?, first: words[1], second: joined(words[2], words[3]) };
                if content.count > 0 {
                    sketch.n += content.count;
                    column.push(cell as u32, content);
                } else {
                    require(content == Content::default(), "a cell without rows has sums")?;
                }
            }
        }
        sketch.cells = Cells::Plain(Tables::of(columns));
        let of_kinds: u128 = head[..SCALES.len()].iter().map(|n| u128::from(*n)).sum();
        require(of_kinds == sketch.n.into(), "kinds of scores and cells hold different rows")?;
        sketch.units = sketch.n.into();
        check_agreement(&sketch)?;
        // This checks what bytes are checked for, such as sums that no offsets can have.
        Sketch::from_bytes(&sketch.to_bytes())
    }

    fn read_head(&mut self, head: &[u64], of_probabilities: bool) -> Result<(), Error> {
        for (scale, _) in SCALES.into_iter().zip(head).filter(|(_, n)| **n > 0) {
            check_kind(scale, of_probabilities)?;
            self.check_scale(Some(scale))?;
            self.scale = Some(scale);
        }
        let (counts, left_out) = head[SCALES.len()..].split_at(COUNTS);
        Error::require(counts[0] <= MOST_ROWS, "rows", format!("at most {MOST_ROWS} in a sketch"), counts[0])?;
        self.n_clipped = rows(counts[1])?;
        self.report = InputReport {
            n_rows: counts[0],
            n_rounded: counts[2],
            n_inexact_sums: rows(counts[3])?,
            n_ties: counts[4],
            ..InputReport::default()
        };
        for (kind, count) in KINDS.into_iter().zip(left_out) {
            if *count > 0 {
                self.report.left_out.insert(kind, rows(*count)?);
            }
        }
        require(self.report.n_left_out() <= self.report.n_rows, "more rows were left out than read")
    }

    fn cells_of_table(&self, of_probabilities: bool) -> usize {
        let scale = if of_probabilities { Scale::Probability } else { Scale::LogOdds };
        self.last_cell(Some(scale)) as usize + 1
    }
}

fn split(sum: u128) -> (u64, u64) {
    // proof: the rest has at most 62 bits
    ((sum & ((1 << LOW) - 1)) as u64, (sum >> LOW) as u64)
}

fn joined(low: u64, high: u64) -> u128 {
    (u128::from(high) << LOW) + u128::from(low)
}

/// A number of rows, or an error where a sum would overflow.
fn rows(word: u64) -> Result<u64, Error> {
    if word <= MOST_ROWS {
        return Ok(word);
    }
    Err(Error::invalid_sketch(format!("rows must be at most {MOST_ROWS}, got {word}")))
}

fn check_kind(scale: Scale, of_probabilities: bool) -> Result<(), Error> {
    if (scale == Scale::Probability) == of_probabilities {
        return Ok(());
    }
    let ours = if of_probabilities { name(Scale::Probability) } else { "raw scores or log-odds" };
    Err(unlike_scores(ours, name(scale)))
}
