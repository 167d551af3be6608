//! Files -> columns. Each format is a [`Table`]: names first, then only the columns that are
//! wanted, part by part.

pub(crate) mod arrow;
mod column;
mod compression;
mod csv;
pub(crate) mod expansion;
mod folder;
mod format;
mod ipc;
mod ipc_sizes;
mod json_lines;
mod npy;
mod numpy;
pub(crate) mod parquet;
mod parquet_footer;
mod parquet_pages;
mod parts;
mod place;
pub(crate) mod sketch_rows;
mod text;
mod thrift;
mod window;

pub(crate) use column::{Column, Role, Values};
pub(crate) use compression::Compression;
pub(crate) use csv::dialect::{Dialect, with_point};
pub(crate) use expansion::Expansion;
pub(crate) use folder::FolderTable;
pub(crate) use format::{Format, N_FIRST_BYTES};
pub(crate) use numpy::NpyFiles;
pub(crate) use parts::{
    Collected, Extent, Failure, PART_ROWS, Part, Parts, ReadAgain, Stream, collect, for_each, in_order,
};
pub(crate) use place::{AtPlace, Numbering, Place, located};

use std::cell::Cell;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use calipers::Invalid;

/// A file of named columns.
pub(crate) trait Table: Send + Sync {
    /// What a column is called in such a file.
    fn noun(&self) -> &'static str {
        "column"
    }

    /// The names of all columns, in the order of the file.
    fn names(&self) -> &[String];

    /// The type of a column, if the format has it.
    fn type_name(&self, _place: usize) -> Option<String> {
        None
    }

    /// What a column can be read for that is only looked at: what tells groups apart, or numbers
    /// where rows are lists; `None` for a type that is not read.
    fn listed_role(&self, _place: usize) -> Option<Role> {
        Some(Role::Groups)
    }

    /// The first rows of some columns, by their place among the names: as many as the limit.
    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>>;

    /// The wanted columns beside all columns as Arrow has them, in the order of the file, for a
    /// format whose columns may have types that [`Column`] does not.
    fn whole_rows<'a>(&'a self, _wanted: &[(usize, Role)], _limit: u64) -> Result<Option<arrow::WholeRows<'a>>> {
        Ok(None)
    }

    /// Where a row is, as people find it.
    fn place(&self, row: u64) -> String {
        Place::Row(row).to_string()
    }

    /// How its cells and numbers are written, for delimited text.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// How the file is compressed as a whole.
    fn compression(&self) -> Option<Compression> {
        None
    }

    /// An error of a column, which is named if there are several models.
    fn in_column(&self, error: anyhow::Error, wanted: &[(usize, Role)], place: usize) -> anyhow::Error {
        let n_models = wanted.iter().filter(|(_, role)| role.may_have_classes()).count();
        if n_models > 1 { error.context(format!("{} {}", self.noun(), self.names()[place])) } else { error }
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// For a cell that is no number, which is a bad row and not a wrong type of the column.
    pub(crate) invalid: Invalid,
    /// What stands between the cells of a row, if not what the file shows.
    pub(crate) delimiter: Option<u8>,
    /// What stands in numbers, if not a point.
    pub(crate) decimal: Option<u8>,
    /// Whether probabilities are divided later, so that a percent sign does not divide them too.
    pub(crate) is_scaled: bool,
    /// How much larger a file may be decompressed.
    pub(crate) max_expansion: u64,
}

impl Reading {
    /// How large that file may become.
    fn expansion(&self, path: &Path) -> Expansion {
        Expansion::new(path.metadata().map_or(0, |metadata| metadata.len()), self.max_expansion)
    }
}

/// Columns are compared by their names and listed in errors, which takes too long for more.
const MOST_COLUMNS: usize = 100_000;

/// Opens a file of columns.
pub(crate) fn open(path: &Path, format: Format, reading: &Reading) -> Result<Box<dyn Table>> {
    if let Some(compression) = Compression::of_file(path)
        && !format.is_text()
    {
        bail!(
            "is compressed with {}: only text (.csv, .tsv, .jsonl) is read so, decompress the file first",
            compression.name()
        );
    }
    let given = [("--delimiter", reading.delimiter), ("--decimal", reading.decimal)];
    if let Some((option, _)) = given.iter().find(|(_, given)| given.is_some())
        && !matches!(format, Format::Csv | Format::Tsv)
    {
        bail!("{option} is for CSV, and this file is {}", format.name());
    }
    if reading.delimiter.is_some() && reading.delimiter == reading.decimal {
        bail!("--delimiter and --decimal must differ");
    }
    if format.is_text()
        && let Some(binary) = Format::of_binary(path)?
    {
        bail!("is no text: it begins like a file of format {0}; pass --format {0}", binary.name());
    }
    let table = open_as(path, format, reading).map_err(|error| match Format::of_text(path) {
        Some(text) if !format.is_text() => {
            anyhow!("{error:#}; the file begins like text: if it is, pass --format {}", text.name())
        }
        _ => error,
    })?;
    if table.names().len() > MOST_COLUMNS {
        bail!("has {} columns, of which a file may have {MOST_COLUMNS}", table.names().len());
    }
    Ok(table)
}

fn open_as(path: &Path, format: Format, reading: &Reading) -> Result<Box<dyn Table>> {
    Ok(match format {
        Format::Csv => Box::new(csv::open(path, None, reading)?),
        Format::Tsv => Box::new(csv::open(path, Some(b'\t'), reading)?),
        Format::Jsonl => Box::new(json_lines::open(path, reading)?),
        Format::Parquet => Box::new(parquet::ParquetTable::open(path, reading.expansion(path))?),
        Format::Arrow => Box::new(ipc::IpcTable::open(path, reading.expansion(path))?),
        Format::Npy => Box::new(numpy::NpyFiles::new(vec![path.to_owned()])),
        Format::Npz => Box::new(numpy::NpzTable::open(path, reading.expansion(path))?),
        Format::Sketch => bail!("is a sketch, which has no columns"),
    })
}

/// The extension in lower case, without its dot.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Opens a file that has something in it.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    let cannot_open = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => anyhow!("no such file"),
        ErrorKind::PermissionDenied => anyhow!("permission denied"),
        _ => anyhow!("cannot open: {error}"),
    };
    // To open a pipe is to wait for whoever writes to it, and it can be read once.
    let kind = std::fs::metadata(path).map_err(cannot_open)?;
    if !kind.is_file() && !kind.is_dir() {
        bail!("is a pipe or a device: pass it as a FILE of predictions, which are copied first, or as a regular file");
    }
    let (file, metadata) =
        File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata))).map_err(cannot_open)?;
    if metadata.is_dir() {
        bail!("is a directory, not a file");
    }
    if metadata.is_file() && metadata.len() == 0 {
        bail!("the file is empty");
    }
    Ok(file)
}

thread_local! {
    /// Whether a panic on this thread is a damaged file, of which [`guarded`] speaks.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics quiet that [`guarded`] turns into an error; all others are bugs and are shown.
pub(crate) fn keep_damage_quiet() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !READING.get() {
            hook(panic);
        }
    }));
}

/// Reads with a library that panics on some damaged files, as parquet and arrow-ipc do: they cannot
/// be read either.
pub(crate) fn guarded<T>(format: &'static str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = READING.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    READING.set(outer);
    result.unwrap_or_else(|_| Err(anyhow!("cannot read as {format}: the file is damaged")))
}

/// For errors of the libraries that know a format: what was tried, and their reason.
fn cannot_read(format: &'static str) -> impl Fn(Box<dyn std::error::Error>) -> anyhow::Error {
    move |error| anyhow!("cannot read as {format}: {error}")
}
