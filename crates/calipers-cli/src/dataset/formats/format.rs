//! The formats that can be read: given by the user, or known by a file's name or first bytes.

use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::extension;
use crate::dataset::sketches::Sketches;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Tsv,
    Jsonl,
    Parquet,
    Arrow,
    Npy,
    Npz,
    Sketch,
}

/// The extension that files of sketches are given.
const SKETCH_EXTENSION: &str = "calipers";

/// So many bytes tell a format.
pub(crate) const N_FIRST_BYTES: usize = 1 << 12;

impl Format {
    pub(crate) fn by_extension(path: &Path) -> Option<Self> {
        Some(match extension(path).as_str() {
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "jsonl" | "ndjson" => Format::Jsonl,
            "parquet" => Format::Parquet,
            "arrow" | "feather" | "ipc" => Format::Arrow,
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            SKETCH_EXTENSION => Format::Sketch,
            _ => return None,
        })
    }

    /// By the first bytes of standard input, which has no name. Text that is no JSON is
    /// read as CSV, whose reader reports what is wrong.
    pub(crate) fn by_content(start: &[u8]) -> Result<Self> {
        // An Arrow stream begins with a marker of four bytes, which no text has.
        const STREAM: &[u8] = &[0xff; 4];
        let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start).trim_ascii_start();
        Ok(match start {
            _ if Sketches::begin(start) => Format::Sketch,
            _ if start.starts_with(b"PAR1") => Format::Parquet,
            _ if start.starts_with(b"ARROW1") || start.starts_with(STREAM) => Format::Arrow,
            _ if start.starts_with(b"PK") => Format::Npz,
            _ if start.starts_with(b"\x93NUMPY") => Format::Npy,
            _ if text.starts_with(b"{") => Format::Jsonl,
            _ if text.starts_with(b"[") => bail!("JSON must be one object on each line, got one list"),
            _ if start.contains(&0) => bail!("the first bytes are of no format that can be read"),
            _ => {
                let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
                if header.contains(&b'\t') && !header.contains(&b',') { Format::Tsv } else { Format::Csv }
            }
        })
    }

    pub(crate) fn name(self) -> String {
        // proof: no format is hidden from the command line
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        let cases: [(&[u8], Format); 10] = [
            (b"PAR1\x15\x04", Format::Parquet),
            (b"ARROW1\0\0", Format::Arrow),
            (b"\xff\xff\xff\xff\x10\0", Format::Arrow),
            (b"PK\x03\x04", Format::Npz),
            (b"\x93NUMPY\x01\0", Format::Npy),
            (b"calipers\x01", Format::Sketch),
            (b"\n {\"prob\": 0.5}", Format::Jsonl),
            (b"prob,label\n0.5,\"a\tb\"\n", Format::Csv),
            (b"prob\tlabel\n0,5\t1\n", Format::Tsv),
            (b"\xef\xbb\xbf{\"prob\": 0.5}", Format::Jsonl),
        ];
        for (start, format) in cases {
            assert_eq!(Format::by_content(start).unwrap(), format, "{start:?}");
        }
        assert!(Format::by_content(b"[{\"prob\": 0.5}]").is_err());
        assert!(Format::by_content(b"\x7fELF\0\0").is_err());
    }
}
