//! The sizes that the headers of Parquet pages state. The footer of a file states sizes too, and
//! may lie; a page is decompressed to the size in its own header, or is an error.
//!
//! A header is a struct whose first fields are the kind of the page and its sizes with and without
//! compression. The header of a page of data has the number of its values, too.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, anyhow};

use super::open_file;
use super::thrift::{Compact, I32, STRUCT};

/// Longer files are believed: what their footer states is large enough to hide nothing.
const SMALL: u64 = 16 << 20;

/// The pages of a small file.
pub(super) struct Pages(Option<Vec<u8>>);

impl Pages {
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let mut file: File = open_file(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        if length > SMALL {
            return Ok(Pages(None));
        }
        file.rewind()?;
        let mut bytes = Vec::new();
        file.take(SMALL).read_to_end(&mut bytes)?;
        Ok(Pages(Some(bytes)))
    }

    /// Bytes of all pages of a column chunk that stands there, decompressed, or decoded with that
    /// width of a value if it is more; 0 for a long file.
    pub(super) fn decompressed(&self, (start, length): (u64, u64), width: u64) -> Result<u64> {
        let Some(bytes) = &self.0 else { return Ok(0) };
        let damaged = || anyhow!("cannot read as Parquet: the file is damaged");
        let range = || Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?);
        let mut rest = range().and_then(|range| bytes.get(range)).ok_or_else(damaged)?;
        let mut n_bytes = 0_u64;
        while !rest.is_empty() {
            let mut header = Compact(rest);
            let Page { decompressed, compressed, n_values } = page(&mut header).ok_or_else(damaged)?;
            n_bytes = n_bytes.saturating_add(decompressed.max(n_values.saturating_mul(width)));
            let body = usize::try_from(compressed).map_err(|_| damaged())?;
            rest = header.0.get(body..).ok_or_else(damaged)?;
        }
        Ok(n_bytes)
    }
}

/// What the header of a page states.
struct Page {
    decompressed: u64,
    compressed: u64,
    /// Of a page of data.
    n_values: u64,
}

/// Reads a header; the bytes are then at the body of the page.
fn page(header: &mut Compact<'_>) -> Option<Page> {
    let (mut decompressed, mut compressed, mut n_values) = (None, None, 0);
    header.fields(|header, id, kind| match (id, kind) {
        (2, I32) => {
            decompressed = Some(u64::try_from(header.number()?).ok()?);
            Some(())
        }
        (3, I32) => {
            compressed = Some(u64::try_from(header.number()?).ok()?);
            Some(())
        }
        // The headers of pages of data in both versions.
        (5 | 8, STRUCT) => header.fields(|header, id, kind| match (id, kind) {
            (1, I32) => {
                n_values = u64::try_from(header.number()?).ok()?;
                Some(())
            }
            _ => header.skip(kind),
        }),
        _ => header.skip(kind),
    })?;
    Some(Page { decompressed: decompressed?, compressed: compressed?, n_values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_all_pages() {
        // Kind 0, sizes 300 and 2, a struct with a number, the end; then the body.
        let page = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x04, 0x2c, 0x15, 0x06, 0x00, 0x00, 9, 9];
        let two = Pages(Some([&page[..], &page[..]].concat()));
        assert_eq!(two.decompressed((0, 28), 0).unwrap(), 600);
        assert_eq!(two.decompressed((14, 14), 0).unwrap(), 300);
        // Three values of 200 bytes each.
        assert_eq!(two.decompressed((14, 14), 200).unwrap(), 600);
        for length in (1..28).filter(|length| *length != 14) {
            assert!(two.decompressed((0, length), 0).is_err(), "{length}");
        }
        assert!(two.decompressed((u64::MAX, 2), 0).is_err());
        assert_eq!(Pages(None).decompressed((0, 28), 0).unwrap(), 0);
    }
}
