//! Parquet files whose rows are sketches: keys and bytes, as Spark and Python have them, too.
//! docs/sketch-format.md has the layout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema, TimeUnit};
use calipers::Sketch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use super::parquet::ParquetTable;
use super::{Expansion, Role, arrow, expansion, extension, guarded, open_file, parquet_footer};
use crate::dataset::groups::By;
use crate::dataset::sketches::{Groups, Sketches};

/// The column of bytes; every other column is a key.
const SKETCH: &str = "sketch";
/// The extension that such files are given.
pub(crate) const EXTENSION: &str = "parquet";
const FORMAT: &str = "Parquet";

/// Bytes of sketches that are decoded at once. A word of a dictionary is copied for each row.
const AT_ONCE: u64 = 64 << 20;

/// Whether a file is Parquet and has sketches in its rows, or a folder has such files.
pub(crate) fn is_one(path: &Path) -> bool {
    match path.is_dir() {
        true => files(path).is_ok_and(|files| files.first().is_some_and(|file| is_file_of_rows(file))),
        false => is_file_of_rows(path),
    }
}

/// The Parquet files of a folder, as Spark writes it: in the order of their names, without those
/// that are marks or unfinished.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_mark = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['_', '.']));
        if !is_mark && extension(&path) == EXTENSION {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_file_of_rows(path: &Path) -> bool {
    let metadata = || {
        guarded(FORMAT, || {
            let mut file = open_file(path)?;
            parquet_footer::check(&mut file)?;
            Ok(ArrowReaderMetadata::load(&file, Default::default())?)
        })
    };
    path.is_file() && metadata().is_ok_and(|metadata| place(metadata.schema()).is_some())
}

/// Where the sketches are.
fn place(schema: &Schema) -> Option<usize> {
    let place = schema.index_of(SKETCH).ok()?;
    let kind = schema.field(place).data_type();
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView).then_some(place)
}

/// The sketches of a file, or of all files of a folder; rows of the same keys are merged.
pub(crate) fn read(path: &Path) -> Result<Sketches> {
    let mut rows = Rows::default();
    if path.is_dir() {
        for file in files(path)? {
            let name = file.file_name().unwrap_or_default().display();
            guarded(FORMAT, || rows.add(&file)).with_context(|| format!("{name}"))?;
        }
    } else {
        guarded(FORMAT, || rows.add(path))?;
    }
    rows.sketches()
}

/// Sketches by their keys; null is a key that no text is.
pub(crate) type Keyed = BTreeMap<Vec<Option<String>>, Sketch>;

/// The sketches of a file by their keys, and the names of the keys.
pub(crate) fn read_keyed(path: &Path) -> Result<(Vec<String>, Keyed)> {
    let mut rows = Rows::default();
    guarded(FORMAT, || rows.add(path))?;
    Ok((rows.by.unwrap_or_default(), rows.groups))
}

/// What files of sketches have told so far.
#[derive(Default)]
struct Rows {
    by: Option<Vec<String>>,
    all: Option<Sketch>,
    groups: Keyed,
}

impl Rows {
    fn add(&mut self, path: &Path) -> Result<()> {
        let expansion = Expansion::new(open_file(path)?.metadata()?.len(), expansion::DEFAULT);
        let longest = ParquetTable::open(path, expansion)?.check_all_sizes()?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(open_file(path)?)?;
        let builder = builder.with_batch_size((AT_ONCE / longest.max(1)).clamp(1, 1024) as usize);
        let schema = builder.schema().clone();
        let place = place(&schema).with_context(|| format!("no binary column {SKETCH:?}"))?;
        let keys: Vec<usize> = (0..schema.fields().len()).filter(|key| *key != place).collect();
        let names: Vec<String> = keys.iter().map(|key| schema.field(*key).name().clone()).collect();
        if let Some(by) = self.by.replace(names.clone())
            && by != names
        {
            let shown = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("files of one folder must have the same keys, got {} and {}", shown(&by), shown(&names));
        }
        let (mut first_row, mut n_bytes) = (0, 0);
        for batch in builder.build()? {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let at = || format!("row {}", first_row + row);
                let bytes = bytes(batch.column(place), row).with_context(at)?;
                let sketch = Sketch::from_bytes(bytes).with_context(at)?;
                n_bytes += (bytes.len() + sketch.memory()) as u64;
                expansion.check(n_bytes)?;
                match &mut self.all {
                    None => self.all = Some(sketch.clone()),
                    Some(all) => all.merge(&sketch).with_context(at)?,
                }
                let key = keys.iter().map(|key| text(batch.column(*key), row));
                let key: Vec<Option<String>> = key.collect::<Result<_>>().with_context(at)?;
                match self.groups.get_mut(&key) {
                    None => drop(self.groups.insert(key, sketch)),
                    Some(group) => group.merge(&sketch).with_context(at)?,
                }
            }
            first_row += batch.num_rows();
        }
        Ok(())
    }

    fn sketches(self) -> Result<Sketches> {
        let all = self.all.context("no sketches in it")?;
        let Some(by) = By::new(self.by.unwrap_or_default()) else { return Ok(Sketches::one(all)) };
        let mut sketches = BTreeMap::new();
        for (key, sketch) in self.groups {
            // Null is the empty text, as in files of groups.
            let key = By::key(key.into_iter().map(Option::unwrap_or_default).collect());
            if sketches.insert(key, sketch).is_some() {
                bail!("keys must not be null in one row and the empty text in another, which are shown alike");
            }
        }
        Ok(Sketches::of_groups(by, sketches).with_all(all))
    }
}

fn bytes(column: &dyn Array, row: usize) -> Result<&[u8]> {
    if column.is_null(row) {
        bail!("sketches must not be missing");
    }
    Ok(match column.data_type() {
        DataType::LargeBinary => column.as_binary::<i64>().value(row),
        DataType::BinaryView => column.as_binary_view().value(row),
        _ => column.as_binary::<i32>().value(row),
    })
}

/// A key as people read it, if there is one.
fn text(column: &dyn Array, row: usize) -> Result<Option<String>> {
    if column.is_null(row) {
        return Ok(None);
    }
    let kind = column.data_type();
    Ok(Some(match kind {
        DataType::Date32 => shown(column.as_primitive::<Date32Type>().value_as_date(row))?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => time::<TimestampMillisecondType>(column, row)?,
        DataType::Timestamp(TimeUnit::Microsecond, _) => time::<TimestampMicrosecondType>(column, row)?,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => time::<TimestampNanosecondType>(column, row)?,
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            let value = dictionary.normalized_keys()[row];
            return text(dictionary.values(), value);
        }
        _ => match arrow::plain_values(&*column.slice(row, 1), Role::Groups).filter(|_| !kind.is_floating()) {
            Some(value) => value.display(0),
            None => bail!("keys must be whole numbers, text, dates, times or true and false, got {kind}"),
        },
    }))
}

fn time<T: ArrowTimestampType>(column: &dyn Array, row: usize) -> Result<String> {
    shown(column.as_primitive::<T>().value_as_datetime(row))
}

fn shown(value: Option<impl std::fmt::Display>) -> Result<String> {
    value.map(|value| value.to_string()).ok_or_else(|| anyhow!("keys must be dates of a calendar"))
}

/// A row for each group, or one for all rows.
pub(crate) fn to_bytes(sketches: &Sketches) -> Result<Vec<u8>> {
    let bytes = |sketches: Vec<&Sketch>| -> ArrayRef {
        let bytes: Vec<Vec<u8>> = sketches.into_par_iter().map(Sketch::to_bytes).collect();
        Arc::new(BinaryArray::from_iter_values(bytes))
    };
    let batch = match &sketches.groups {
        None => RecordBatch::try_from_iter([(SKETCH, bytes(vec![sketches.all()?]))])?,
        Some(Groups { by, sketches }) => {
            if by.names().iter().any(|name| name == SKETCH) {
                bail!("the column of groups must not be called {SKETCH:?}, as that of the sketches is");
            }
            let values: Vec<Vec<String>> = sketches.keys().map(|key| by.values(key)).collect();
            let column = |place: usize| -> ArrayRef {
                Arc::new(StringArray::from_iter_values(values.iter().map(|values| &values[place])))
            };
            let keys = by.names().iter().enumerate().map(|(place, name)| (name.as_str(), column(place)));
            RecordBatch::try_from_iter(keys.chain([(SKETCH, bytes(sketches.values().collect()))]))?
        }
    };
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(file)
}
