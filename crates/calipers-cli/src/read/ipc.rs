//! Arrow IPC, as a file (Feather version 2 is the same) or as a stream.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::{Column, Role, Table, arrow, cannot_read, guarded, ipc_sizes, open_file};

pub(super) const FORMAT: &str = "Arrow IPC";
const FILE_MAGIC: &[u8] = b"ARROW1";
const FEATHER_1_MAGIC: &[u8] = b"FEA1";

pub(crate) struct IpcTable {
    path: PathBuf,
    schema: SchemaRef,
    names: Vec<String>,
}

/// Record batches, with the schema of the whole file.
struct Batches {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
}

impl IpcTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let schema = guarded(FORMAT, || Ok(batches(path, None)?.schema))?;
        Ok(IpcTable { path: path.to_owned(), names: arrow::names(&schema), schema })
    }
}

fn batches(path: &Path, projection: Option<Vec<usize>>) -> Result<Batches> {
    let mut file = open_file(path)?;
    let magic = magic(&mut file)?;
    if magic.starts_with(FEATHER_1_MAGIC) {
        bail!("is Feather version 1: write it again as version 2, which is Arrow IPC");
    }
    if magic.starts_with(FILE_MAGIC) {
        ipc_sizes::check_file(&mut file)?;
        rewind(&mut file)?;
        let reader = FileReader::try_new(BufReader::new(file), projection).map_err(failed)?;
        return Ok(Batches { schema: reader.schema(), batches: Box::new(reader) });
    }
    ipc_sizes::check_stream(&mut file)?;
    rewind(&mut file)?;
    let reader = StreamReader::try_new(BufReader::new(file), projection).map_err(failed)?;
    Ok(Batches { schema: reader.schema(), batches: Box::new(reader) })
}

fn magic(file: &mut File) -> Result<Vec<u8>> {
    let mut magic = Vec::new();
    file.take(8).read_to_end(&mut magic).map_err(failed)?;
    rewind(file)?;
    Ok(magic)
}

fn rewind(file: &mut File) -> Result<()> {
    file.rewind().map_err(failed)
}

fn failed(error: impl std::error::Error + 'static) -> anyhow::Error {
    cannot_read(FORMAT)(Box::new(error))
}

impl Table for IpcTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn read(&mut self, wanted: &[(usize, Role)]) -> Result<Vec<Column>> {
        let projection = arrow::Projection::new(&self.schema, wanted)?;
        guarded(FORMAT, || {
            let batches = batches(&self.path, Some(projection.places().to_vec()))?.batches;
            projection.read(batches.map(|batch| batch.map_err(failed)))
        })
    }
}
