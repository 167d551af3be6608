//! Arrow IPC, as a file (Feather version 2 is the same) or as a stream: one record batch at a time.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::{
    Expansion, Extent, Failure, Parts, Role, Stream, Table, arrow, arrow::Projection, cannot_read, guarded, ipc_sizes,
    open_file,
};

pub(super) const FORMAT: &str = "Arrow IPC";
const FILE_MAGIC: &[u8] = b"ARROW1";
const FEATHER_1_MAGIC: &[u8] = b"FEA1";

pub(crate) struct IpcTable {
    path: PathBuf,
    is_stream: bool,
    schema: SchemaRef,
    names: Vec<String>,
    /// The first row of each batch, and at last the number of all rows.
    first_rows: Vec<u64>,
    expansion: Expansion,
}

/// A reader of a file can go to any batch, so that each thread has one of its own.
type OfFile = FileReader<BufReader<File>>;

impl IpcTable {
    pub(crate) fn open(path: &Path, expansion: Expansion) -> Result<Self> {
        let mut file = open_file(path)?;
        let mut magic = Vec::new();
        (&mut file).take(8).read_to_end(&mut magic).map_err(failed)?;
        if magic.starts_with(FEATHER_1_MAGIC) {
            bail!("is Feather version 1: write it again as version 2, which is Arrow IPC");
        }
        let is_stream = !magic.starts_with(FILE_MAGIC);
        file.rewind().map_err(failed)?;
        let n_rows = match is_stream {
            true => ipc_sizes::check_stream(&mut file, expansion)?,
            false => ipc_sizes::check_file(&mut file, expansion)?,
        };
        let first_rows = arrow::first_rows(n_rows);
        let schema = match is_stream {
            true => open(path, |file| Ok(StreamReader::try_new(file, None)?.schema()))?,
            false => open(path, |file| Ok(FileReader::try_new(file, None)?.schema()))?,
        };
        Ok(IpcTable { path: path.to_owned(), is_stream, names: arrow::names(&schema), schema, first_rows, expansion })
    }

    fn file_reader(&self, places: &[usize]) -> Result<OfFile> {
        open(&self.path, |file| FileReader::try_new(file, Some(places.to_vec())))
    }

    /// All batches in order.
    fn reader(&self, places: &[usize]) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>> {
        Ok(match self.is_stream {
            true => Box::new(self.stream_reader(places)?),
            false => Box::new(self.file_reader(places)?),
        })
    }

    fn projection(&self, wanted: &[(usize, Role)]) -> Result<Projection> {
        Projection::new(&self.schema, wanted, |place| {
            let mut reader = self.reader(&[place])?;
            Ok(Box::new(std::iter::from_fn(move || next(&mut *reader).transpose())))
        })
    }

    fn stream_reader(&self, places: &[usize]) -> Result<StreamReader<BufReader<File>>> {
        open(&self.path, |file| StreamReader::try_new(file, Some(places.to_vec())))
    }
}

/// Rejects texts that take far more than the file: very many rows may view the same bytes.
fn check_views(batch: &RecordBatch, expansion: Expansion) -> Result<()> {
    for column in batch.columns() {
        let values = column.as_any_dictionary_opt().map_or(&**column, |dictionary| &**dictionary.values());
        if let Some(views) = values.as_string_view_opt() {
            expansion.check(views.views().iter().map(|view| u64::from(*view as u32)).sum())?;
        }
    }
    Ok(())
}

fn open<T>(path: &Path, read: impl FnOnce(BufReader<File>) -> Result<T, ArrowError>) -> Result<T> {
    guarded(FORMAT, || read(BufReader::new(open_file(path)?)).map_err(failed))
}

fn next(batches: &mut dyn Iterator<Item = Result<RecordBatch, ArrowError>>) -> Result<Option<RecordBatch>> {
    guarded(FORMAT, || batches.next().transpose().map_err(failed))
}

fn failed(error: impl std::error::Error + 'static) -> anyhow::Error {
    cannot_read(FORMAT)(Box::new(error))
}

impl Table for IpcTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn type_name(&self, place: usize) -> Option<String> {
        Some(arrow::type_name(self.schema.field(place).data_type()))
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        arrow::listed_role(self.schema.field(place))
    }

    fn whole_rows<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Option<arrow::WholeRows<'a>>> {
        let projection = self.projection(wanted)?;
        let mut reader = self.reader(&(0..self.names.len()).collect::<Vec<_>>())?;
        let next = move || {
            let batch = next(&mut *reader)?;
            batch.iter().try_for_each(|batch| check_views(batch, self.expansion))?;
            Ok(batch)
        };
        Ok(Some(arrow::whole_rows(next, projection, limit)))
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let projection = self.projection(wanted)?;
        let batches = match self.is_stream {
            true => Batches::InTurn(Box::new(Mutex::new((0, self.stream_reader(projection.places())?)))),
            false => Batches::AnyOrder(AtomicUsize::new(0)),
        };
        Ok(Box::new(IpcStream { table: self, projection, limit, batches }))
    }
}

struct IpcStream<'a> {
    table: &'a IpcTable,
    projection: Projection,
    /// Rows beyond are not read.
    limit: u64,
    batches: Batches,
}

/// The batches that no thread has taken.
enum Batches {
    /// The first of a file, of which each thread has a reader.
    AnyOrder(AtomicUsize),
    /// Those of a stream, with the first row of the next one.
    InTurn(Box<Mutex<(u64, StreamReader<BufReader<File>>)>>),
}

impl Stream for IpcStream<'_> {
    fn extent(&self) -> Extent {
        Extent::Rows(self.table.first_rows.last().copied().unwrap_or(0).min(self.limit))
    }

    fn parts(&self) -> Parts<'_> {
        let mut reader = None;
        Box::new(std::iter::from_fn(move || {
            let (first_row, batch) = match &self.batches {
                Batches::AnyOrder(next) => self.batch_of_file(next, &mut reader)?,
                Batches::InTurn(reader) => self.batch_of_stream(reader)?,
            };
            let part = batch.and_then(|batch| {
                let batch = batch.map(|batch| arrow::within(batch, first_row, self.limit));
                batch.iter().try_for_each(|batch| check_views(batch, self.table.expansion))?;
                guarded(FORMAT, || batch.map(|batch| self.projection.part(&batch, first_row)).transpose())
            });
            part.map_err(|error| Failure { first_row, error }).transpose()
        }))
    }
}

/// A batch with its first row; `None` beyond the limit.
type Taken = Option<(u64, Result<Option<RecordBatch>>)>;

impl IpcStream<'_> {
    fn batch_of_file(&self, next_place: &AtomicUsize, own_reader: &mut Option<OfFile>) -> Taken {
        let place = next_place.fetch_add(1, Ordering::Relaxed);
        let first_rows = &self.table.first_rows[..self.table.first_rows.len() - 1];
        let first_row = *first_rows.get(place).filter(|first_row| **first_row < self.limit)?;
        let batch = guarded(FORMAT, || {
            let reader = match own_reader {
                Some(reader) => reader,
                None => own_reader.insert(self.table.file_reader(self.projection.places())?),
            };
            reader.set_index(place).map_err(failed)?;
            next(reader)
        });
        Some((first_row, batch))
    }

    fn batch_of_stream(&self, reader: &Mutex<(u64, StreamReader<BufReader<File>>)>) -> Taken {
        let mut guard = reader.lock().unwrap_or_else(PoisonError::into_inner);
        let (next_row, reader) = &mut *guard;
        if *next_row >= self.limit {
            return None;
        }
        let (first_row, batch) = (*next_row, next(reader));
        *next_row += batch.as_ref().ok().and_then(Option::as_ref).map_or(0, |batch| batch.num_rows() as u64);
        Some((first_row, batch))
    }
}
