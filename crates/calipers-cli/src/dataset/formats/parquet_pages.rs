//! The sizes that the headers of Parquet pages state. The footer of a file states sizes too, and
//! may lie; a page is decompressed to the size in its own header, or is an error.
//!
//! A header is a struct in Thrift's compact protocol, whose first fields are the kind of the page
//! and its sizes with and without compression.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, anyhow};

use super::open_file;

/// Longer files are believed: what their footer states is large enough to hide nothing.
const SMALL: u64 = 16 << 20;

/// Structs in a header are nested less than this.
const MOST_LEVELS: u32 = 8;

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

    /// Bytes of all pages of a column chunk that stands there, decompressed; 0 for a long file.
    pub(super) fn decompressed(&self, (start, length): (u64, u64)) -> Result<u64> {
        let Some(bytes) = &self.0 else { return Ok(0) };
        let damaged = || anyhow!("cannot read as Parquet: the file is damaged");
        let range = || Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?);
        let mut rest = range().and_then(|range| bytes.get(range)).ok_or_else(damaged)?;
        let mut n_bytes = 0_u64;
        while !rest.is_empty() {
            let mut header = Compact(rest);
            let (decompressed, compressed) = header.page().ok_or_else(damaged)?;
            n_bytes = n_bytes.saturating_add(decompressed);
            let body = usize::try_from(compressed).map_err(|_| damaged())?;
            rest = header.0.get(body..).ok_or_else(damaged)?;
        }
        Ok(n_bytes)
    }
}

/// Bytes of Thrift's compact protocol; `None` where they are none.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    /// Both sizes of a page, at whose body the bytes then are.
    fn page(&mut self) -> Option<(u64, u64)> {
        let (mut decompressed, mut compressed, mut id) = (None, None, 0_i64);
        loop {
            let field = self.byte()?;
            let (delta, kind) = (field >> 4, field & 15);
            if field == 0 {
                return Some((decompressed?, compressed?));
            }
            id = if delta == 0 { self.number()? } else { id + i64::from(delta) };
            match (id, kind) {
                (2, 5) => decompressed = Some(u64::try_from(self.number()?).ok()?),
                (3, 5) => compressed = Some(u64::try_from(self.number()?).ok()?),
                _ => self.skip(kind, 0)?,
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let zigzag = self.unsigned()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn skip_bytes(&mut self, n: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn skip(&mut self, kind: u8, level: u32) -> Option<()> {
        match kind {
            // True and false, in the field itself.
            1 | 2 => Some(()),
            3 => self.skip_bytes(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.unsigned()?;
                self.skip_bytes(length)
            }
            12 if level < MOST_LEVELS => loop {
                let field = self.byte()?;
                if field == 0 {
                    return Some(());
                }
                if field >> 4 == 0 {
                    self.number()?;
                }
                self.skip(field & 15, level + 1)?;
            },
            // Headers of pages have neither lists nor maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_all_pages() {
        // Kind 0, sizes 300 and 2, a struct with a number, the end; then the body.
        let page = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x04, 0x2c, 0x15, 0x06, 0x00, 0x00, 9, 9];
        let two = Pages(Some([&page[..], &page[..]].concat()));
        assert_eq!(two.decompressed((0, 28)).unwrap(), 600);
        assert_eq!(two.decompressed((14, 14)).unwrap(), 300);
        for length in (1..28).filter(|length| *length != 14) {
            assert!(two.decompressed((0, length)).is_err(), "{length}");
        }
        assert!(two.decompressed((u64::MAX, 2)).is_err());
        assert_eq!(Pages(None).decompressed((0, 28)).unwrap(), 0);
    }
}
