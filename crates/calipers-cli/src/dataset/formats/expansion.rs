//! How large a file may become when it is decompressed: a small one could else ask for any amount
//! of memory and time.

use std::fmt;
use std::io::{self, Read};

use anyhow::{Result, anyhow};

/// The size up to which nothing is asked.
const FREE: u64 = 64 << 20;

/// Multiples of its size that a file may take beyond, unless the user chooses another number.
pub(crate) const DEFAULT: u64 = 64;

/// The most bytes of a file after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expansion {
    most: u64,
}

impl Expansion {
    /// Of a file of so many bytes.
    pub(crate) fn new(n_bytes: u64, max_expansion: u64) -> Self {
        Expansion { most: n_bytes.saturating_mul(max_expansion).saturating_add(FREE) }
    }

    /// Rejects more bytes.
    pub(crate) fn check(self, n_bytes: u64) -> Result<()> {
        if n_bytes <= self.most { Ok(()) } else { Err(anyhow!("{self}")) }
    }

    /// The same bytes, with an error where they go on too long.
    pub(crate) fn limited<R: Read>(self, source: R) -> Limited<R> {
        Limited { source, left: self.most, expansion: self }
    }
}

impl fmt::Display for Expansion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most.div_ceil(1 << 20);
        write!(f, "takes more than {most} MiB decompressed; pass a larger --max-expansion if you trust the file")
    }
}

/// What [`Expansion::limited`] returns.
pub(crate) struct Limited<R> {
    source: R,
    left: u64,
    expansion: Expansion,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.source.read(buffer)?;
        match self.left.checked_sub(n_read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(self.expansion.to_string())),
        }
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bytes_than_a_file_may_have_are_an_error() {
        let expansion = Expansion::new(1000, 64);
        assert!(expansion.check(FREE + 64_000).is_ok() && expansion.check(FREE + 64_001).is_err());
        assert_eq!(Expansion::new(u64::MAX, 2).most, u64::MAX);
        let few = Expansion { most: 10 };
        let read = |n: usize| few.limited(&vec![1; n][..]).read_to_end(&mut Vec::new());
        assert_eq!(read(10).unwrap(), 10);
        assert!(read(11).is_err());
    }
}
