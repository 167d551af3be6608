//! Parquet: only the chunks of the wanted columns are read.

use std::path::{Path, PathBuf};

use anyhow::Result;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{Column, Role, Table, arrow, cannot_read, guarded, open_file};

const FORMAT: &str = "Parquet";
/// Rows of a batch.
const ROWS: usize = 1 << 16;

pub(crate) struct ParquetTable {
    path: PathBuf,
    schema: SchemaRef,
    names: Vec<String>,
}

impl ParquetTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open_file(path)?;
        let schema =
            guarded(FORMAT, || Ok(ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?.schema().clone()))?;
        Ok(ParquetTable { path: path.to_owned(), names: arrow::names(&schema), schema })
    }
}

fn failed(error: impl std::error::Error + 'static) -> anyhow::Error {
    cannot_read(FORMAT)(Box::new(error))
}

impl Table for ParquetTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self, wanted: &[(usize, Role)]) -> Result<Vec<Column>> {
        let projection = arrow::Projection::new(&self.schema, wanted)?;
        let file = open_file(&self.path)?;
        guarded(FORMAT, || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), projection.places().iter().copied());
            let batches = builder.with_projection(mask).with_batch_size(ROWS).build().map_err(failed)?;
            projection.read(batches.map(|batch| batch.map_err(failed)))
        })
    }
}
