//! Blocks of whole records, cut where no record is: what lets several threads parse one file of
//! text.

use std::io::Read;

use anyhow::{Result, anyhow, bail};
use csv_core::ReadRecordResult;
use memchr::{memchr, memchr_iter, memrchr};

use crate::dataset::formats::compression::Decompressed;

/// Bytes of a block, unless a record is longer.
const BLOCK: usize = 1 << 20;
/// Beyond, a quote is likelier to be open than a record to be that long.
const LONGEST_RECORD: usize = 1 << 26;

/// What a record is.
#[derive(Debug, Clone, Copy)]
pub(in crate::dataset::formats) enum Records {
    /// Cells with this byte between them, perhaps in quotes that hold line ends.
    Delimited(u8),
    /// A line each.
    Lines,
}

/// Some whole records.
pub(in crate::dataset::formats) struct Block {
    pub(in crate::dataset::formats) bytes: Vec<u8>,
    /// Number of the first record in the file, from 0.
    pub(in crate::dataset::formats) first_row: u64,
    /// Number of the first line in the file, from 1.
    pub(in crate::dataset::formats) first_line: u64,
    pub(in crate::dataset::formats) n_rows: u64,
    /// Bytes of the file that were read for it.
    pub(in crate::dataset::formats) n_read: u64,
    /// Lines are records: no quotes, and no line that ends otherwise than in LF or CRLF.
    pub(in crate::dataset::formats) is_plain: bool,
}

impl Block {
    /// The lines that are not empty, with their numbers in the file.
    pub(in crate::dataset::formats) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        let ends = memchr_iter(b'\n', &self.bytes).chain([self.bytes.len()]);
        let lines = ends.enumerate().map(move |(line, end)| {
            let text = &self.bytes[start.min(end)..end];
            start = end + 1;
            (self.first_line + line as u64, text.strip_suffix(b"\r").unwrap_or(text))
        });
        lines.filter(|(_, text)| !text.is_empty())
    }
}

pub(in crate::dataset::formats) struct Blocks {
    /// Closed as soon as there is no more to read: a folder may have more files than can be open.
    source: Option<Decompressed>,
    records: Records,
    /// Records beyond are not read.
    limit: u64,
    /// What was read beyond the last block.
    rest: Vec<u8>,
    next_row: u64,
    next_line: u64,
    /// Bytes of the file that earlier blocks are of.
    n_read: u64,
}

/// Where the whole records of some bytes end, and how many there are.
#[derive(Debug, PartialEq)]
struct Cut {
    end: usize,
    n_rows: u64,
    is_plain: bool,
}

impl Blocks {
    /// The records from that byte and line on, as many as the limit.
    pub(in crate::dataset::formats) fn new(
        source: Decompressed,
        records: Records,
        (byte, line): (u64, u64),
        limit: u64,
    ) -> Result<Self> {
        let source = source.skip(byte).map_err(cannot_read)?;
        Ok(Blocks { source: Some(source), records, limit, rest: Vec::new(), next_row: 0, next_line: line, n_read: 0 })
    }

    /// The number of the first row of the next block.
    pub(in crate::dataset::formats) fn next_row(&self) -> u64 {
        self.next_row
    }

    pub(in crate::dataset::formats) fn next(&mut self) -> Result<Option<Block>> {
        let most_rows = self.limit.saturating_sub(self.next_row);
        if most_rows == 0 {
            self.source = None;
        }
        let Some(source) = &mut self.source else { return Ok(None) };
        let mut bytes = std::mem::take(&mut self.rest);
        let mut size = BLOCK;
        loop {
            let wanted = size - bytes.len().min(size);
            let n_read = (&mut *source).take(wanted as u64).read_to_end(&mut bytes).map_err(cannot_read)?;
            let at_end = n_read < wanted;
            let Cut { end, n_rows, is_plain } = cut(&bytes, self.records, at_end, most_rows);
            if end == 0 && !at_end {
                if size >= LONGEST_RECORD {
                    let hint = match self.records {
                        Records::Delimited(_) => ": is a quote left open?",
                        Records::Lines => "",
                    };
                    bail!("line {} begins a row of more than {} MiB{hint}", self.next_line, size >> 20);
                }
                size *= 2;
                continue;
            }
            if bytes.is_empty() {
                self.source = None;
                return Ok(None);
            }
            self.rest = bytes.split_off(end);
            let n_read = source.n_read() - self.n_read;
            self.n_read += n_read;
            let (first_row, first_line) = (self.next_row, self.next_line);
            let block = Block { first_row, first_line, n_rows, n_read, is_plain, bytes };
            self.next_row += n_rows;
            self.next_line += memchr_iter(b'\n', &block.bytes).count() as u64;
            return Ok(Some(block));
        }
    }
}

pub(super) fn cannot_read(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot read: {error}")
}

/// At most so many rows, of which there is one at least.
fn cut(bytes: &[u8], records: Records, at_end: bool, most_rows: u64) -> Cut {
    let ends_otherwise = |place: usize| match bytes.get(place + 1) {
        Some(next) => *next != b'\n',
        None => at_end,
    };
    if let Records::Delimited(delimiter) = records
        && (memchr(b'"', bytes).is_some() || memchr_iter(b'\r', bytes).any(ends_otherwise))
    {
        return cut_quoted(bytes, delimiter, at_end, most_rows);
    }
    let end = if at_end { bytes.len() } else { memrchr(b'\n', bytes).map_or(0, |place| place + 1) };
    let (mut n_rows, mut start) = (0, 0);
    for place in memchr_iter(b'\n', &bytes[..end]) {
        n_rows += u64::from(!matches!(&bytes[start..place], b"" | b"\r"));
        start = place + 1;
        if n_rows == most_rows {
            return Cut { end: start, n_rows, is_plain: true };
        }
    }
    n_rows += u64::from(start < end);
    Cut { end, n_rows, is_plain: true }
}

/// By the parser itself, which alone knows what a quote means where it stands.
fn cut_quoted(bytes: &[u8], delimiter: u8, at_end: bool, most_rows: u64) -> Cut {
    let mut parser = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    // What the cells hold is of no interest.
    let (mut output, mut ends) = ([0; 1 << 12], [0; 1 << 8]);
    let mut cut = Cut { end: 0, n_rows: 0, is_plain: false };
    let mut place = 0;
    loop {
        let rest = &bytes[place..];
        if rest.is_empty() && !at_end {
            return cut;
        }
        let (result, n_in, _, _) = parser.read_record(rest, &mut output, &mut ends);
        place += n_in;
        match result {
            ReadRecordResult::Record => {
                cut.n_rows += 1;
                cut.end = place;
                if cut.n_rows == most_rows {
                    return cut;
                }
            }
            ReadRecordResult::End => return Cut { end: bytes.len(), ..cut },
            ReadRecordResult::InputEmpty | ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a text, whether it is cut in one or in many blocks.
    fn records(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        reader.byte_records().map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn a_cut_is_never_inside_a_record() {
        let texts: [&[u8]; 7] = [
            b"a,b\nc,d\n\n\r\ne,f",
            b"a,b\r\nc,d\r\n",
            b"\"a\nb\",c\n\"d\"\"\n\",e\n",
            b"a\rb\r\nc\n",
            b"5\" pipe,1\n6\" pipe,2\n",
            b"\"open,1\n2,3\n",
            b"",
        ];
        for text in texts {
            let all = records(text);
            for length in 0..=text.len() {
                let at_end = length == text.len();
                let found = cut(&text[..length], Records::Delimited(b','), at_end, u64::MAX);
                assert!(!at_end || found.end == length, "{text:?} {length}");
                let (first, second) = (records(&text[..found.end]), records(&text[found.end..]));
                assert_eq!(first.len() as u64, found.n_rows, "{text:?} {length}");
                assert_eq!([first, second].concat(), all, "{text:?} {length}");
            }
        }
    }

    #[test]
    fn a_cut_has_no_more_rows_than_are_wanted() {
        for text in [&b"a,b\nc,d\n\r\ne,f"[..], b"\"a\nb\",c\n\"d\"\"\n\",e\nf,g"] {
            let all = records(text);
            for most_rows in 1..=4 {
                let found = cut(text, Records::Delimited(b','), true, most_rows);
                let expected = &all[..all.len().min(most_rows as usize)];
                assert_eq!((records(&text[..found.end]), found.n_rows), (expected.to_vec(), expected.len() as u64));
            }
        }
    }
}
