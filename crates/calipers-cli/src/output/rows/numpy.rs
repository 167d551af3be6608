//! NumPy: one array of what is new in an .npy file, all columns in an .npz archive.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use anyhow::{Result, anyhow, bail};
use arrow_array::RecordBatch;
use zip::write::SimpleFileOptions;

use super::RowWriter;
use super::cells::Cells;
use crate::dataset::formats::Values;
use crate::output::cannot_write;

/// Bytes of a header, which is written again when the number of rows is known.
const HEADER: usize = 128;

/// One array of rows.
struct Array {
    file: BufWriter<File>,
    descr: Option<&'static str>,
    /// Values of a row.
    k: usize,
    is_list: bool,
    n_rows: u64,
}

impl Array {
    fn new(file: File) -> Result<Self> {
        let mut file = BufWriter::new(file);
        file.write_all(&[b' '; HEADER]).map_err(cannot_write)?;
        Ok(Array { file, descr: None, k: 1, is_list: false, n_rows: 0 })
    }

    /// Columns side by side: those of classes are one array of two dimensions.
    fn write(&mut self, names: &[&str], columns: &[&Cells], n_rows: usize) -> Result<()> {
        let name = names.join(", ");
        let Some(k) = columns.iter().map(|column| column.n_values()).sum::<Option<usize>>() else {
            bail!("column {name} has lists of several lengths, which an array cannot hold; write .parquet or .jsonl");
        };
        let descr = columns.first().and_then(|column| descr(column.values()));
        let Some(descr) = descr else {
            bail!("column {name} is text, which these arrays cannot hold; write .parquet, .arrow, .csv or .jsonl");
        };
        if columns.iter().any(|column| column.has_nulls() && !column.is_fraction()) {
            bail!("column {name} has missing values, which an array of whole numbers cannot hold; write .parquet");
        }
        if self.descr.is_some_and(|before| before != descr || self.k != k) {
            bail!("column {name} must have one type in all rows");
        }
        (self.descr, self.k, self.is_list) =
            (Some(descr), k, columns.len() > 1 || columns.iter().any(|column| column.are_lists()));
        for row in 0..n_rows {
            for column in columns {
                for place in column.places(row) {
                    self.element(column, row, place)?;
                }
            }
        }
        self.n_rows += n_rows as u64;
        Ok(())
    }

    fn element(&mut self, column: &Cells, row: usize, place: usize) -> Result<()> {
        macro_rules! bytes {
            ($($variant:ident)*) => {
                match column.values() {
                    Values::Bool(values) => self.file.write_all(&[u8::from(values[place])]),
                    Values::F32(_) if column.is_null(row) => self.file.write_all(&f32::NAN.to_le_bytes()),
                    Values::F64(_) if column.is_null(row) => self.file.write_all(&f64::NAN.to_le_bytes()),
                    $(Values::$variant(values) => self.file.write_all(&values[place].to_le_bytes()),)*
                    Values::Text(_) => Ok(()),
                }
            };
        }
        bytes!(I8 I16 I32 I64 U8 U16 U32 U64 F32 F64).map_err(cannot_write)
    }

    /// The file from its beginning.
    fn finish(self) -> Result<File> {
        let mut file = self.file.into_inner().map_err(|error| cannot_write(error.into_error()))?;
        let shape = if self.is_list { format!("({}, {})", self.n_rows, self.k) } else { format!("({},)", self.n_rows) };
        let descr = self.descr.unwrap_or("<f8");
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(((HEADER - 10) as u16).to_le_bytes());
        bytes.extend(format!("{header:<width$}\n", width = HEADER - 11).bytes());
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes));
        written.and_then(|()| file.seek(SeekFrom::Start(0))).map_err(cannot_write)?;
        Ok(file)
    }
}

/// The type of elements as numpy writes it; `None` for text.
fn descr(values: &Values) -> Option<&'static str> {
    Some(match values {
        Values::Bool(_) => "|b1",
        Values::I8(_) => "|i1",
        Values::I16(_) => "<i2",
        Values::I32(_) => "<i4",
        Values::I64(_) => "<i8",
        Values::U8(_) => "|u1",
        Values::U16(_) => "<u2",
        Values::U32(_) => "<u4",
        Values::U64(_) => "<u8",
        Values::F32(_) => "<f4",
        Values::F64(_) => "<f8",
        Values::Text(_) => return None,
    })
}

/// The new columns alone, since the file is one array.
pub(super) struct Npy {
    file: Option<File>,
    array: Option<Array>,
}

impl Npy {
    pub(super) fn new(file: File) -> Self {
        Npy { file: Some(file), array: None }
    }
}

impl RowWriter for Npy {
    fn write(&mut self, rows: &RecordBatch, new: &[usize]) -> Result<()> {
        if let Some(file) = self.file.take() {
            self.array = Some(Array::new(file)?);
        }
        let schema = rows.schema();
        let names: Vec<&str> = new.iter().map(|place| schema.field(*place).name().as_str()).collect();
        let columns = new.iter().map(|place| Cells::new(schema.field(*place).name(), rows.column(*place)));
        let columns = columns.collect::<Result<Vec<Cells>>>()?;
        let columns: Vec<&Cells> = columns.iter().collect();
        self.array.as_mut().map_or(Ok(()), |array| array.write(&names, &columns, rows.num_rows()))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.array.map_or(Ok(()), |array| array.finish().map(drop))
    }
}

/// All columns. Each is written to a temporary file first, since an archive has one after another.
pub(super) struct Npz {
    file: File,
    arrays: Vec<(String, Array)>,
}

impl Npz {
    pub(super) fn new(file: File) -> Self {
        Npz { file, arrays: Vec::new() }
    }
}

impl RowWriter for Npz {
    fn write(&mut self, rows: &RecordBatch, _new: &[usize]) -> Result<()> {
        if self.arrays.is_empty() {
            for field in rows.schema().fields() {
                let file = tempfile::tempfile().map_err(cannot_write)?;
                self.arrays.push((field.name().clone(), Array::new(file)?));
            }
        }
        let columns = Cells::all(rows)?;
        for ((name, array), column) in self.arrays.iter_mut().zip(&columns) {
            array.write(&[name], &[column], rows.num_rows())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let failed = |error: zip::result::ZipError| anyhow!("cannot write as .npz: {error}");
        let mut archive = zip::ZipWriter::new(BufWriter::new(self.file));
        for (name, array) in self.arrays {
            let options = SimpleFileOptions::default().large_file(array.n_rows > 1 << 24);
            let options = options.compression_method(zip::CompressionMethod::Stored);
            archive.start_file(format!("{name}.npy"), options).map_err(failed)?;
            std::io::copy(&mut array.finish()?, &mut archive).map_err(cannot_write)?;
        }
        let mut file = archive.finish().map_err(failed)?;
        file.flush().map_err(cannot_write)
    }
}
