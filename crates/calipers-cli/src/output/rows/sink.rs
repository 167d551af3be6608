//! Bytes of text, compressed if the name of the file asks for it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use flate2::write::GzEncoder;

use crate::output::cannot_write;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Compressed {
    Gzip,
    Zstd,
}

impl Compressed {
    pub(super) fn by_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "gz" | "gzip" => Some(Compressed::Gzip),
            "zst" | "zstd" => Some(Compressed::Zstd),
            _ => None,
        }
    }
}

pub(super) enum Sink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Sink {
    pub(super) fn new(file: File, compressed: Option<Compressed>) -> Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(match compressed {
            None => Sink::Plain(file),
            Some(Compressed::Gzip) => Sink::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some(Compressed::Zstd) => Sink::Zstd(zstd::stream::write::Encoder::new(file, 0).map_err(cannot_write)?),
        })
    }

    pub(super) fn finish(self) -> Result<()> {
        let finished = match self {
            Sink::Plain(file) => Ok(file),
            Sink::Gzip(encoder) => encoder.finish(),
            Sink::Zstd(encoder) => encoder.finish(),
        };
        finished.and_then(|mut file| file.flush()).map_err(cannot_write)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Plain(file) => file.flush(),
            Sink::Gzip(encoder) => encoder.flush(),
            Sink::Zstd(encoder) => encoder.flush(),
        }
    }
}
