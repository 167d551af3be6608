//! Parquet and Arrow IPC, whose columns are those of the input with their types.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result, anyhow};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::RowWriter;

/// The schema is that of the first rows.
pub(super) struct Parquet {
    /// Until there are rows.
    file: Option<File>,
    writer: Option<ArrowWriter<File>>,
}

/// Rows of a group: what is in memory while it is written.
const GROUP_ROWS: usize = 1 << 18;

impl Parquet {
    pub(super) fn new(file: File) -> Self {
        Parquet { file: Some(file), writer: None }
    }
}

impl RowWriter for Parquet {
    fn write(&mut self, rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        if let Some(file) = self.file.take() {
            let builder = WriterProperties::builder().set_compression(Compression::SNAPPY);
            let properties = builder.set_max_row_group_row_count(Some(GROUP_ROWS)).build();
            self.writer = Some(ArrowWriter::try_new(file, rows.schema(), Some(properties)).map_err(failed("Parquet"))?);
        }
        // proof: it was made with the first rows
        self.writer.as_mut().context("no writer")?.write(rows).map_err(failed("Parquet"))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.map_or(Ok(()), |writer| writer.close().map(drop).map_err(failed("Parquet")))
    }
}

pub(super) struct Ipc {
    /// Until there are rows.
    file: Option<File>,
    writer: Option<FileWriter<BufWriter<File>>>,
}

impl Ipc {
    pub(super) fn new(file: File) -> Self {
        Ipc { file: Some(file), writer: None }
    }
}

impl RowWriter for Ipc {
    fn write(&mut self, rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        if let Some(file) = self.file.take() {
            self.writer = Some(FileWriter::try_new_buffered(file, &rows.schema()).map_err(failed("Arrow IPC"))?);
        }
        // proof: it was made with the first rows
        self.writer.as_mut().context("no writer")?.write(rows).map_err(failed("Arrow IPC"))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.map_or(Ok(()), |writer| writer.into_inner().map(drop).map_err(failed("Arrow IPC")))
    }
}

fn failed<E: std::error::Error>(format: &'static str) -> impl Fn(E) -> anyhow::Error {
    move |error| anyhow!("cannot write as {format}: {error}")
}
