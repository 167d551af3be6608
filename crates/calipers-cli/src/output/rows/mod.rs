//! Rows -> a file of any format, part after part, so that memory does not grow with the file.

mod arrow;
mod cells;
mod numpy;
mod sink;
mod text;

use std::fs::File;
use std::io::Seek;
use std::path::Path;

use anyhow::{Result, bail};
use arrow_array::RecordBatch;

use crate::dataset::formats::{Dialect, Format};
use crate::output::cannot_write;

/// A file of rows while it is written.
pub(crate) trait RowWriter {
    /// Further rows, all with the same columns; `new` are the places of those that the command
    /// made.
    fn write(&mut self, rows: &RecordBatch, new: &[usize]) -> Result<()>;

    fn finish(self: Box<Self>) -> Result<()>;
}

/// The format of an output, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFormat {
    format: Format,
    /// Of delimited text.
    dialect: Dialect,
    compression: Option<sink::Compressed>,
}

impl RowFormat {
    /// Delimited text is written as the input is, where that is delimited text too.
    pub(crate) fn of(path: &Path, like: Option<Dialect>) -> Result<Self> {
        let compression = sink::Compressed::by_extension(path);
        let format = Format::by_extension(path).filter(|format| *format != Format::Sketch);
        let Some(format) = format else {
            bail!(
                "{}: the format is unknown; name the file .csv, .tsv, .jsonl, .ndjson (these also with .gz or .zst), \
                 .parquet, .arrow, .feather, .ipc, .npy or .npz",
                path.display()
            );
        };
        let dialect = match format {
            Format::Tsv => Dialect {
                delimiter: b'\t',
                decimal_comma: like.is_some_and(|like| like.decimal_comma),
                is_scaled: false,
            },
            _ => like.unwrap_or(Dialect { delimiter: b',', decimal_comma: false, is_scaled: false }),
        };
        Ok(RowFormat { format, dialect, compression })
    }

    /// Whether cells of text are written as they were.
    pub(crate) fn is_delimited(&self) -> bool {
        matches!(self.format, Format::Csv | Format::Tsv)
    }

    /// Begins to write at the beginning of the file.
    pub(crate) fn start(&self, mut file: &File) -> Result<Box<dyn RowWriter>> {
        file.set_len(0).and_then(|()| file.rewind()).map_err(cannot_write)?;
        let file = file.try_clone().map_err(cannot_write)?;
        Ok(match self.format {
            Format::Csv | Format::Tsv => {
                Box::new(text::Delimited::new(sink::Sink::new(file, self.compression)?, self.dialect))
            }
            Format::Jsonl => Box::new(text::JsonLines::new(sink::Sink::new(file, self.compression)?)),
            Format::Parquet => Box::new(arrow::Parquet::new(file)),
            Format::Arrow => Box::new(arrow::Ipc::new(file)),
            Format::Npy => Box::new(numpy::Npy::new(file)),
            Format::Npz => Box::new(numpy::Npz::new(file)),
            Format::Sketch => bail!("a sketch has no rows"),
        })
    }
}
