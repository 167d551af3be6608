//! Blocks of whole records, cut where no record is: what lets several threads parse one file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::{Result, anyhow, bail};
use csv_core::ReadRecordResult;
use memchr::{memchr, memchr_iter, memrchr};

/// Bytes of a block, unless a record is longer.
const BLOCK: usize = 1 << 20;
/// Beyond, a quote is likelier to be open than a record to be that long.
const LONGEST_RECORD: usize = 1 << 26;

/// Some whole records.
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// Number of the first record in the file, from 0.
    pub(super) first_row: u64,
    /// Number of the first line in the file, from 1.
    pub(super) first_line: u64,
    pub(super) n_rows: u64,
    /// Lines are records: no quotes, and no line that ends otherwise than in LF or CRLF.
    pub(super) is_plain: bool,
}

pub(super) struct Blocks {
    file: File,
    delimiter: u8,
    /// What was read beyond the last block.
    rest: Vec<u8>,
    next_row: u64,
    next_line: u64,
}

/// Where the whole records of some bytes end, and how many there are.
#[derive(Debug, PartialEq)]
struct Cut {
    end: usize,
    n_rows: u64,
    is_plain: bool,
}

impl Blocks {
    pub(super) fn new(mut file: File, delimiter: u8, (byte, line): (u64, u64)) -> Result<Self> {
        file.seek(SeekFrom::Start(byte)).map_err(cannot_read)?;
        Ok(Blocks { file, delimiter, rest: Vec::new(), next_row: 0, next_line: line })
    }

    /// The number of the first row of the next block.
    pub(super) fn next_row(&self) -> u64 {
        self.next_row
    }

    pub(super) fn next(&mut self) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut size = BLOCK;
        loop {
            let wanted = size - bytes.len().min(size);
            let n_read = (&mut self.file).take(wanted as u64).read_to_end(&mut bytes).map_err(cannot_read)?;
            let at_end = n_read < wanted;
            let Cut { end, n_rows, is_plain } = cut(&bytes, self.delimiter, at_end);
            if end == 0 && !at_end {
                if size >= LONGEST_RECORD {
                    bail!(
                        "line {} begins a row of more than {} MiB: is a quote left open?",
                        self.next_line,
                        size >> 20
                    );
                }
                size *= 2;
                continue;
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            self.rest = bytes.split_off(end);
            let block = Block { first_row: self.next_row, first_line: self.next_line, n_rows, is_plain, bytes };
            self.next_row += n_rows;
            self.next_line += memchr_iter(b'\n', &block.bytes).count() as u64;
            return Ok(Some(block));
        }
    }
}

fn cannot_read(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot read as CSV: {error}")
}

fn cut(bytes: &[u8], delimiter: u8, at_end: bool) -> Cut {
    let ends_otherwise = |place: usize| match bytes.get(place + 1) {
        Some(next) => *next != b'\n',
        None => at_end,
    };
    if memchr(b'"', bytes).is_some() || memchr_iter(b'\r', bytes).any(ends_otherwise) {
        return cut_quoted(bytes, delimiter, at_end);
    }
    let end = if at_end { bytes.len() } else { memrchr(b'\n', bytes).map_or(0, |place| place + 1) };
    let (mut n_rows, mut start) = (0, 0);
    for place in memchr_iter(b'\n', &bytes[..end]) {
        n_rows += u64::from(!matches!(&bytes[start..place], b"" | b"\r"));
        start = place + 1;
    }
    n_rows += u64::from(start < end);
    Cut { end, n_rows, is_plain: true }
}

/// By the parser itself, which alone knows what a quote means where it stands.
fn cut_quoted(bytes: &[u8], delimiter: u8, at_end: bool) -> Cut {
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
                let found = cut(&text[..length], b',', at_end);
                assert!(!at_end || found.end == length, "{text:?} {length}");
                let (first, second) = (records(&text[..found.end]), records(&text[found.end..]));
                assert_eq!(first.len() as u64, found.n_rows, "{text:?} {length}");
                assert_eq!([first, second].concat(), all, "{text:?} {length}");
            }
        }
    }
}
