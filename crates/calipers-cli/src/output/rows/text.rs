//! Delimited text and JSON lines.

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use arrow_array::RecordBatch;

use super::RowWriter;
use super::cells::Cells;
use super::sink::Sink;
use crate::dataset::formats::Dialect;
use crate::output::cannot_write;

pub(super) struct Delimited {
    writer: csv::Writer<Sink>,
    dialect: Dialect,
    has_header: bool,
}

impl Delimited {
    pub(super) fn new(sink: Sink, dialect: Dialect) -> Self {
        let writer = csv::WriterBuilder::new().delimiter(dialect.delimiter).from_writer(sink);
        Delimited { writer, dialect, has_header: false }
    }
}

impl RowWriter for Delimited {
    fn write(&mut self, rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        let schema = rows.schema();
        if !self.has_header {
            self.writer.write_record(schema.fields().iter().map(|field| field.name())).map_err(failed)?;
            self.has_header = true;
        }
        let columns = Cells::all(rows)?;
        if let Some((field, _)) = schema.fields().iter().zip(&columns).find(|(_, column)| column.are_lists()) {
            bail!("column {} has lists, which CSV cannot hold; write .jsonl, .parquet or .npz", field.name());
        }
        for row in 0..rows.num_rows() {
            let cell = |column: &Cells| match self.dialect.decimal_comma && column.is_fraction() {
                true => column.text(row).replacen('.', ",", 1),
                false => column.text(row),
            };
            self.writer.write_record(columns.iter().map(cell)).map_err(failed)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let sink = self.writer.into_inner().map_err(|error| anyhow!("cannot write: {}", error.error()))?;
        sink.finish()
    }
}

fn failed(error: csv::Error) -> anyhow::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => cannot_write(error),
        kind => anyhow!("cannot write as CSV: {kind:?}"),
    }
}

pub(super) struct JsonLines(Sink);

impl JsonLines {
    pub(super) fn new(sink: Sink) -> Self {
        JsonLines(sink)
    }
}

impl RowWriter for JsonLines {
    fn write(&mut self, rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        let schema = rows.schema();
        let keys: Vec<String> =
            schema.fields().iter().map(|field| serde_json::Value::from(field.name().as_str()).to_string()).collect();
        let columns = Cells::all(rows)?;
        for row in 0..rows.num_rows() {
            let pairs: Vec<String> =
                keys.iter().zip(&columns).map(|(key, column)| format!("{key}: {}", column.json(row))).collect();
            writeln!(self.0, "{{{}}}", pairs.join(", ")).map_err(cannot_write)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}
