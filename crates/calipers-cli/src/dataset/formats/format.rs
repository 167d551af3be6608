//! The formats that can be read: given by the user, or known by a file's name or first bytes.

use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::{Compression, extension};
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
        if Compression::is_extension_of(path) {
            let inner = Self::by_extension(Path::new(path.file_stem()?));
            return inner.filter(|format| format.is_text());
        }
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

    /// Whether files of the format may be compressed as a whole.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Tsv | Format::Jsonl)
    }

    /// By the first bytes of standard input, which has no name. Text that is no JSON is
    /// read as CSV, whose reader reports what is wrong.
    pub(crate) fn by_content(start: &[u8]) -> Result<Self> {
        if let Some(compression) = Compression::by_content(start) {
            let mut text = Vec::new();
            // The end is cut off, so an error there tells nothing.
            let _ = compression.decompressed(start).and_then(|mut source| source.read_to_end(&mut text));
            let format = Self::by_content(&text)?;
            if !format.is_text() {
                bail!("is compressed with {}: only text (.csv, .tsv, .jsonl) is read so", compression.name());
            }
            return Ok(format);
        }
        let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start).trim_ascii_start();
        Ok(match Self::by_signature(start)? {
            Some(format) => format,
            None if text.starts_with(b"{") => Format::Jsonl,
            None if text.starts_with(b"[") => bail!("JSON must be one object on each line, got one list"),
            None if start.contains(&0) => bail!("the first bytes are of no format that can be read"),
            None => Format::Csv,
        })
    }

    /// The format whose files begin so, whatever follows; an error for one that cannot be read.
    fn by_signature(start: &[u8]) -> Result<Option<Self>> {
        // An Arrow stream begins with a marker of four bytes, which no text has.
        const STREAM: &[u8] = &[0xff; 4];
        Ok(Some(match start {
            _ if Sketches::begin(start) => Format::Sketch,
            [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
            _ if start.starts_with(b"ARROW1") || start.starts_with(STREAM) => Format::Arrow,
            [b'P', b'K', 3, 4, ..] => zipped(start)?,
            // An archive without members.
            [b'P', b'K', 5, 6, ..] => Format::Npz,
            _ if start.starts_with(b"\x93NUMPY") => Format::Npy,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => bail!("is text in UTF-16: save it as UTF-8"),
            _ => return Ok(None),
        }))
    }

    /// The format of a file whose first bytes are no text, if they tell it; an error for one that
    /// cannot be read.
    pub(super) fn of_binary(path: &Path) -> Result<Option<Self>> {
        // Text may begin with the same letters.
        let start = first_bytes(path).filter(|start| start.iter().any(|byte| *byte < b'\t'));
        start.map_or(Ok(None), |start| Self::by_signature(&start))
    }

    /// The format of a file whose first bytes are text.
    pub(super) fn of_text(path: &Path) -> Option<Self> {
        let start = first_bytes(path)?;
        let is_text = start.is_ascii() && !start.iter().any(|byte| *byte < b'\t');
        Self::by_content(&start).ok().filter(|format| is_text && format.is_text())
    }

    pub(crate) fn name(self) -> String {
        // proof: no format is hidden from the command line
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// What a zip archive is, by the name of the first file in it.
fn zipped(start: &[u8]) -> Result<Format> {
    // The length of the name is at 26, and the name at 30.
    let length = start.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    let name = String::from_utf8_lossy(start.get(30..).unwrap_or_default().get(..length).unwrap_or_default());
    if name == "[Content_Types].xml" || name.starts_with("xl/") {
        bail!("is a workbook of Excel: save it as CSV");
    }
    if !name.is_empty() && !name.ends_with(".npy") {
        bail!("is a zip archive that begins with {}: unpack it first", crate::printable(&name));
    }
    Ok(Format::Npz)
}

/// Those that tell a format; `None` for a file that cannot be read, of which its reader speaks.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    super::open_file(path).ok()?.take(N_FIRST_BYTES as u64).read_to_end(&mut start).ok()?;
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_text_is_known_by_its_name_and_by_what_is_in_it() {
        let named = ["a.csv.gz", "a.TSV.GZ", "a.jsonl.zst", "a.parquet.gz", "a.gz"];
        let found = named.map(|name| Format::by_extension(Path::new(name)));
        assert_eq!(found, [Some(Format::Csv), Some(Format::Tsv), Some(Format::Jsonl), None, None]);
        let zstd = zstd::encode_all(&b"{\"prob\": 0.5}\n"[..], 1).unwrap();
        assert_eq!(Format::by_content(&zstd).unwrap(), Format::Jsonl);
        assert!(Format::by_content(&zstd::encode_all(&b"PAR1"[..], 1).unwrap()).is_err());
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        let cases: [(&[u8], Format); 12] = [
            (b"PAR1\x15\x04", Format::Parquet),
            (b"ARROW1\0\0", Format::Arrow),
            (b"\xff\xff\xff\xff\x10\0", Format::Arrow),
            (b"PK\x03\x04", Format::Npz),
            (b"PK,prob,label\n7,0.5,1\n", Format::Csv),
            (b"\x93NUMPY\x01\0", Format::Npy),
            (b"calipers\x01", Format::Sketch),
            (b"calipers,label\n0.5,1\n", Format::Csv),
            (b"\n {\"prob\": 0.5}", Format::Jsonl),
            (b"prob,label\n0.5,\"a\tb\"\n", Format::Csv),
            (b"prob\tlabel\n0,5\t1\n", Format::Csv),
            (b"\xef\xbb\xbf{\"prob\": 0.5}", Format::Jsonl),
        ];
        for (start, format) in cases {
            assert_eq!(Format::by_content(start).unwrap(), format, "{start:?}");
        }
        assert!(Format::by_content(b"[{\"prob\": 0.5}]").is_err());
        assert!(Format::by_content(b"\x7fELF\0\0").is_err());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let zip = |name: &str| {
            let mut start = b"PK\x03\x04".to_vec();
            start.resize(26, 0);
            start.extend((name.len() as u16).to_le_bytes());
            start.extend([0, 0]);
            start.extend(name.bytes());
            start
        };
        let text = |start: &[u8]| Format::by_content(start).unwrap_err().to_string();
        assert_eq!(Format::by_content(&zip("arr_0.npy")).unwrap(), Format::Npz);
        assert_eq!(text(&zip("[Content_Types].xml")), "is a workbook of Excel: save it as CSV");
        assert_eq!(text(&zip("a.csv")), "is a zip archive that begins with a.csv: unpack it first");
        assert_eq!(text(b"\xff\xfep\0r\0o\0b\0"), "is text in UTF-16: save it as UTF-8");
    }
}
