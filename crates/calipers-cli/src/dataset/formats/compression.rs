//! Text that gzip or zstd compressed, known by its first bytes: it is read as a stream, in constant
//! memory.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use super::{Expansion, extension};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub(crate) fn by_content(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// That of a file; `None` if it cannot be opened, of which its reader speaks.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let mut start = Vec::new();
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        let read = is_file.then(|| File::open(path).and_then(|file| file.take(4).read_to_end(&mut start)));
        read.filter(|read| read.is_ok()).and_then(|_| Self::by_content(&start))
    }

    /// Whether a name ends as that of a compressed file does.
    pub(crate) fn is_extension_of(path: &Path) -> bool {
        matches!(extension(path).as_str(), "gz" | "gzip" | "zst" | "zstd")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    pub(crate) fn decompressed<'a>(self, source: impl Read + Send + 'a) -> Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            // Files that were appended to each other are one.
            Compression::Gzip => Box::new(MultiGzDecoder::new(source)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(source)?),
        })
    }
}

/// The bytes of a file of text, decompressed.
pub(crate) struct Decompressed {
    reader: Box<dyn Read + Send>,
    n_read: Arc<AtomicU64>,
}

impl Decompressed {
    pub(crate) fn new(mut file: File, expansion: Expansion) -> Result<Self> {
        let mut start = Vec::new();
        (&mut file).take(4).read_to_end(&mut start)?;
        file.rewind()?;
        let n_read = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, n_read: Arc::clone(&n_read) };
        let reader: Box<dyn Read + Send> = match Compression::by_content(&start) {
            Some(compression) => {
                let text = compression.decompressed(BufReader::with_capacity(1 << 16, counted))?;
                Box::new(expansion.limited(text))
            }
            None => Box::new(counted),
        };
        Ok(Decompressed { reader, n_read })
    }

    /// The same without its first bytes.
    pub(crate) fn skip(mut self, n_bytes: u64) -> Result<Self> {
        std::io::copy(&mut (&mut self.reader).take(n_bytes), &mut std::io::sink())?;
        Ok(self)
    }

    /// How many bytes of the file itself have been read.
    pub(crate) fn n_read(&self) -> u64 {
        self.n_read.load(Ordering::Relaxed)
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.reader.read(buffer)
    }
}

struct Counted {
    file: File,
    n_read: Arc<AtomicU64>,
}

/// Interrupted reads are tried again here, since the csv crate makes an error of them.
impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let n_read = loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.n_read.fetch_add(n_read as u64, Ordering::Relaxed);
        Ok(n_read)
    }
}
