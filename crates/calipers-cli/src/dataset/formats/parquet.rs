//! Parquet: only the chunks of the wanted columns are read, and row groups by several threads at
//! once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type;

use super::{
    Expansion, Extent, Failure, PART_ROWS, Part, Parts, Role, Stream, Table, arrow, arrow::Projection, cannot_read,
    guarded, open_file, parquet_footer, parquet_pages,
};

const FORMAT: &str = "Parquet";

pub(crate) struct ParquetTable {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    names: Vec<String>,
    expansion: Expansion,
}

impl ParquetTable {
    pub(crate) fn open(path: &Path, expansion: Expansion) -> Result<Self> {
        let mut file = open_file(path)?;
        parquet_footer::check(&mut file)?;
        let metadata = guarded(FORMAT, || ArrowReaderMetadata::load(&file, Default::default()).map_err(failed))?;
        Ok(ParquetTable { path: path.to_owned(), names: arrow::names(metadata.schema()), metadata, expansion })
    }

    fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    fn row_groups(&self) -> Vec<usize> {
        (0..self.metadata.metadata().num_row_groups()).collect()
    }

    fn projection(&self, wanted: &[(usize, Role)]) -> Result<Projection> {
        Projection::new(self.schema(), wanted, |place| {
            let mut batches = guarded(FORMAT, || self.batches(&self.metadata, self.row_groups(), &[place]))?;
            Ok(Box::new(std::iter::from_fn(move || {
                guarded(FORMAT, || batches.next().transpose().map_err(failed)).transpose()
            })))
        })
    }

    /// Rejects columns that would take far more memory than the file has bytes, decompressed or
    /// decoded: a page of one value is a few bytes for any number of rows.
    ///
    /// Returns the bytes of the longest chunk of a column.
    fn check_sizes(&self, places: &[usize], limit: u64) -> Result<u64> {
        let (mut n_bytes, mut first_row, mut longest) = (0_u64, 0_u64, 0);
        let pages = parquet_pages::Pages::of_file(&self.path)?;
        for group in self.metadata.metadata().row_groups() {
            if first_row >= limit {
                break;
            }
            first_row = first_row.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
            for (leaf, column) in group.columns().iter().enumerate() {
                if !places.contains(&self.metadata.parquet_schema().get_column_root_idx(leaf)) {
                    continue;
                }
                let size = |stated: i64| u64::try_from(stated).unwrap_or(0);
                let width = width(column.column_type());
                let decoded = size(column.num_values()).saturating_mul(width);
                let of_pages = pages.decompressed(column.byte_range(), width)?;
                let decompressed = size(column.uncompressed_size()).max(of_pages);
                let n_bytes_here = decoded.max(decompressed);
                longest = longest.max(n_bytes_here);
                n_bytes = n_bytes.saturating_add(n_bytes_here);
                self.expansion.check(n_bytes)?;
            }
        }
        Ok(longest)
    }

    /// The same for all rows of all columns.
    pub(super) fn check_all_sizes(&self) -> Result<u64> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        self.check_sizes(&places, u64::MAX)
    }

    /// The batches of some row groups; each reader has a file of its own, since it moves in it.
    fn batches(
        &self,
        metadata: &ArrowReaderMetadata,
        row_groups: Vec<usize>,
        places: &[usize],
    ) -> Result<ParquetRecordBatchReader> {
        let file = open_file(&self.path)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
        let builder = builder.with_projection(mask).with_row_groups(row_groups).with_batch_size(PART_ROWS);
        builder.build().map_err(failed)
    }

    /// How the file is read if texts stay numbers of words, as the file has them, so that no text
    /// is made for a row: a few bytes can be a long word of very many rows.
    fn with_words(&self, wanted: &[(usize, Role)]) -> Result<ArrowReaderMetadata> {
        let is_wanted = |place: usize| wanted.iter().any(|(wanted, _)| *wanted == place) && self.has_words(place);
        let field = |(place, field): (usize, &FieldRef)| match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_wanted(place) => {
                let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Arc::new(Field::clone(field).with_data_type(words))
            }
            _ => Arc::clone(field),
        };
        let schema = self.schema();
        let fields: Vec<FieldRef> = schema.fields().iter().enumerate().map(field).collect();
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        ArrowReaderMetadata::try_new(Arc::clone(self.metadata.metadata()), options).map_err(failed)
    }

    /// Whether all of a column is stored with words.
    fn has_words(&self, place: usize) -> bool {
        let columns = self.metadata.parquet_schema();
        let Some(leaf) = (0..columns.num_columns()).find(|leaf| columns.get_column_root_idx(*leaf) == place) else {
            return false;
        };
        let row_groups = self.metadata.metadata().row_groups();
        row_groups.iter().all(|group| group.column(leaf).dictionary_page_offset().is_some())
    }
}

/// Bytes of a decoded value at least.
fn width(kind: Type) -> u64 {
    match kind {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT96 => 12,
        _ => 8,
    }
}

fn failed(error: impl std::error::Error + 'static) -> anyhow::Error {
    cannot_read(FORMAT)(Box::new(error))
}

impl Table for ParquetTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn type_name(&self, place: usize) -> Option<String> {
        Some(arrow::type_name(self.schema().field(place).data_type()))
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        arrow::listed_role(self.schema().field(place))
    }

    fn whole_rows<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Option<arrow::WholeRows<'a>>> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        guarded(FORMAT, || self.check_sizes(&places, limit))?;
        let projection = self.projection(wanted)?;
        let mut batches = guarded(FORMAT, || self.batches(&self.metadata, self.row_groups(), &places))?;
        let next = move || guarded(FORMAT, || batches.next().transpose().map_err(failed));
        Ok(Some(arrow::whole_rows(next, projection, limit)))
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let row_groups = self.metadata.metadata().row_groups().iter();
        let first_rows = arrow::first_rows(row_groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)));
        let places: Vec<usize> = wanted.iter().map(|(place, _)| *place).collect();
        guarded(FORMAT, || self.check_sizes(&places, limit))?;
        let projection = self.projection(wanted)?;
        let metadata = guarded(FORMAT, || self.with_words(wanted))?;
        Ok(Box::new(RowGroups { table: self, metadata, projection, first_rows, limit, next: AtomicUsize::new(0) }))
    }
}

struct RowGroups<'a> {
    table: &'a ParquetTable,
    metadata: ArrowReaderMetadata,
    projection: Projection,
    /// Of each row group, and at last the number of all rows.
    first_rows: Vec<u64>,
    /// Rows beyond are not read.
    limit: u64,
    /// The first row group that no thread has taken.
    next: AtomicUsize,
}

impl Stream for RowGroups<'_> {
    fn extent(&self) -> Extent {
        Extent::Rows(self.first_rows.last().copied().unwrap_or(0).min(self.limit))
    }

    fn parts(&self) -> Parts<'_> {
        let (mut batches, mut first_row) = (None, 0);
        Box::new(std::iter::from_fn(move || {
            let part = guarded(FORMAT, || self.next_part(&mut batches, &mut first_row));
            part.map_err(|error| Failure { first_row, error }).transpose()
        }))
    }
}

impl RowGroups<'_> {
    /// The next batch of the thread's row group, or of the next one that no thread has taken.
    fn next_part(&self, own: &mut Option<ParquetRecordBatchReader>, next_row: &mut u64) -> Result<Option<Part>> {
        loop {
            let batches = match own {
                Some(batches) => batches,
                None => {
                    let group = self.next.fetch_add(1, Ordering::Relaxed);
                    if group + 1 >= self.first_rows.len() || self.first_rows[group] >= self.limit {
                        return Ok(None);
                    }
                    *next_row = self.first_rows[group];
                    own.insert(self.table.batches(&self.metadata, vec![group], self.projection.places())?)
                }
            };
            match batches.next().transpose().map_err(failed)? {
                Some(batch) if *next_row < self.limit => {
                    let first_row = *next_row;
                    *next_row += batch.num_rows() as u64;
                    return self.projection.part(&arrow::within(batch, first_row, self.limit), first_row).map(Some);
                }
                _ => *own = None,
            }
        }
    }
}
