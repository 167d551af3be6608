//! Running the command, and writing the files that it reads.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use npyz::WriterBuilder;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What a run left behind.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn calipers(args: &[&str]) -> Run {
    run(Command::new(env!("CARGO_BIN_EXE_calipers")).args(args))
}

fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What the command adds to errors of values that are missing or no numbers.
pub(crate) const LEAVE_OUT: &str = "; correct it, or pass --invalid count to leave such rows out";

/// `calipers measure`, which must succeed; its standard output.
pub(crate) fn measure(path: &Path, args: &[&str]) -> String {
    let run = calipers(&[&["measure", path.to_str().unwrap()], args].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{} {args:?}", path.display());
    run.stdout
}

/// The first result of `calipers measure --json`.
pub(crate) fn json(path: &Path, args: &[&str]) -> Value {
    let mut all: Value = serde_json::from_str(&measure(path, &[args, &["--json"]].concat())).unwrap();
    with_short_names(all["results"][0].take())
}

/// The command, which must succeed; its standard output.
pub(crate) fn succeed(args: &[&str]) -> String {
    let run = calipers(args);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
    run.stdout
}

/// The command must fail: exit code 2, nothing on standard output and this one line.
pub(crate) fn assert_fails(args: &[&str], text: &str) {
    let run = calipers(args);
    assert_eq!(run, Run { code: Some(2), stdout: String::new(), stderr: format!("calipers: {text}\n") }, "{args:?}");
}

/// All results of `calipers measure --json`.
pub(crate) fn results(args: &[&str]) -> Vec<Value> {
    let all: Value = serde_json::from_str(&succeed(&[&["measure", "--json"], args].concat())).unwrap();
    all["results"].as_array().unwrap().iter().cloned().map(with_short_names).collect()
}

/// The two measures that are the default, also without `measures` before their names.
fn with_short_names(mut result: Value) -> Value {
    for (short, name) in [("ls_ece", "ls_ece"), ("ece", "expected_calibration_error")] {
        if let Some(found) = result["measures"].get(name).cloned() {
            result[short] = found;
        }
    }
    result
}

/// `calipers measure` must refuse: exit code 2, nothing on standard output and this one line after
/// the file's name.
pub(crate) fn assert_refused(path: &Path, args: &[&str], text: &str) {
    let run = calipers(&[&["measure", path.to_str().unwrap()], args].concat());
    let stderr = format!("calipers: {}: {text}\n", path.display());
    assert_eq!(run, Run { code: Some(2), stdout: String::new(), stderr }, "{} {args:?}", path.display());
}

/// A folder with the bundled examples and files made for tests, in which the command runs: so names
/// of files are the same on every machine.
pub(crate) struct Desk(Folder);

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for name in ["breast_cancer.csv", "digits_mlp.npz"] {
            std::fs::copy(examples.join(name), folder.path(name)).unwrap();
        }
        folder.write("answers.csv", answers(600));
        folder.write("bad.csv", "label,prob\n1,0.9\n,0.5\n0,1.5\n1,1.0000001\n0,0.2\n");
        folder.write("sure.csv", "label,prob\n0,1\n1,0.5\n1,0.9\n");
        Desk(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    pub(crate) fn calipers(&self, args: &[&str]) -> Run {
        self.calipers_with(&[], args)
    }

    /// With these variables of the environment.
    pub(crate) fn calipers_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_calipers"));
        command.args(args).current_dir(self.path("")).env_remove("CLICOLOR_FORCE").env_remove("GITHUB_STEP_SUMMARY");
        run(command.envs(variables.iter().copied()))
    }
}

/// Answers of people, four each with one outcome, in groups: of `few` there are too few people to
/// say anything of chance.
pub(crate) fn answers(n: usize) -> String {
    let row = |row: usize| {
        let (who, p) = (row / 4, ((row as f64 * 0.618_033_988_749_895).fract() * 1000.0).round() / 1000.0);
        let group = if who < 5 { "few" } else { ["a", "b", "worse"][who % 3] };
        let truth = if group == "worse" { 0.5 + 0.3 * (p - 0.5) } else { p };
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{p},{group},c{who}\n")
    };
    "label,prob,g,who\n".to_owned() + &(0..n).map(row).collect::<String>()
}

/// Files of one test, gone after it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn parquet(&self, name: &str, columns: &[(&str, ArrayRef)], compression: Compression) -> PathBuf {
        self.parquet_with(name, columns, WriterProperties::builder().set_compression(compression).build())
    }

    /// A Parquet file in row groups of so many rows.
    pub(crate) fn row_groups(&self, name: &str, columns: &[(&str, ArrayRef)], rows: usize) -> PathBuf {
        self.parquet_with(name, columns, WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build())
    }

    fn parquet_with(&self, name: &str, columns: &[(&str, ArrayRef)], properties: WriterProperties) -> PathBuf {
        let path = self.path(name);
        let batch = batch(columns);
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An Arrow IPC file, in batches of few rows.
    pub(crate) fn arrow(
        &self,
        name: &str,
        columns: &[(&str, ArrayRef)],
        compression: Option<CompressionType>,
    ) -> PathBuf {
        let path = self.path(name);
        let batch = batch(columns);
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let file = File::create(&path).unwrap();
        let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
        slices(&batch, FEW).for_each(|slice| writer.write(&slice).unwrap());
        writer.finish().unwrap();
        path
    }

    pub(crate) fn arrow_stream(&self, name: &str, columns: &[(&str, ArrayRef)]) -> PathBuf {
        self.arrow_batches(name, columns, FEW)
    }

    /// An Arrow IPC stream, in batches of so many rows.
    pub(crate) fn arrow_batches(&self, name: &str, columns: &[(&str, ArrayRef)], rows: usize) -> PathBuf {
        let path = self.path(name);
        let batch = batch(columns);
        let mut writer = StreamWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
        slices(&batch, rows).for_each(|slice| writer.write(&slice).unwrap());
        writer.finish().unwrap();
        path
    }

    pub(crate) fn npz(&self, name: &str, arrays: &[(&str, Array)]) -> PathBuf {
        let path = self.path(name);
        let mut writer = ZipWriter::new(BufWriter::new(File::create(&path).unwrap()));
        for (name, array) in arrays {
            array.write(&mut writer, name);
        }
        writer.finish().unwrap();
        path
    }
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, column)| (*name, Arc::clone(column), true)))
        .unwrap()
}

fn slices(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> + '_ {
    (0..batch.num_rows()).step_by(rows).map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}

/// Rows of a batch, so that readers have to put batches together.
const FEW: usize = 7;

/// An array of an .npz file, with its shape.
pub(crate) enum Array {
    Integers(Vec<u64>, Vec<i64>),
    Single(Vec<u64>, Vec<f32>),
    Double(Vec<u64>, Vec<f64>),
    /// Doubles as numpy type `dtype`, by columns if `fortran`; the values stay in the order of
    /// rows.
    As {
        dtype: &'static str,
        fortran: bool,
        shape: Vec<u64>,
        values: Vec<f64>,
    },
}

impl Array {
    fn write(&self, npz: &mut ZipWriter<BufWriter<File>>, name: &str) {
        macro_rules! write {
            ($shape:expr, $order:expr, $dtype:expr, $values:expr) => {{
                npz.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
                let builder = npyz::WriteOptions::new().order($order).shape($shape).writer(&mut *npz);
                let mut writer = builder.dtype(npyz::DType::Plain($dtype.parse().unwrap())).begin_nd().unwrap();
                writer.extend($values).unwrap();
                writer.finish().unwrap();
            }};
        }
        match self {
            Array::Integers(shape, values) => write!(shape, npyz::Order::C, "<i8", values),
            Array::Single(shape, values) => write!(shape, npyz::Order::C, "<f4", values),
            Array::Double(shape, values) => write!(shape, npyz::Order::C, "<f8", values),
            Array::As { dtype, fortran, shape, values } => {
                let order = if *fortran { npyz::Order::Fortran } else { npyz::Order::C };
                let values = if *fortran { transposed(shape, values) } else { values.clone() };
                let kind = &dtype[1..];
                match kind {
                    "f8" => write!(shape, order, dtype, values),
                    "f4" => write!(shape, order, dtype, values.iter().map(|value| *value as f32)),
                    "f2" => write!(shape, order, dtype, values.iter().map(|value| half::f16::from_f64(*value))),
                    "i1" => write!(shape, order, dtype, values.iter().map(|value| *value as i8)),
                    "i2" => write!(shape, order, dtype, values.iter().map(|value| *value as i16)),
                    "i4" => write!(shape, order, dtype, values.iter().map(|value| *value as i32)),
                    "i8" => write!(shape, order, dtype, values.iter().map(|value| *value as i64)),
                    "u1" => write!(shape, order, dtype, values.iter().map(|value| *value as u8)),
                    "u2" => write!(shape, order, dtype, values.iter().map(|value| *value as u16)),
                    "u4" => write!(shape, order, dtype, values.iter().map(|value| *value as u32)),
                    "u8" => write!(shape, order, dtype, values.iter().map(|value| *value as u64)),
                    "b1" => write!(shape, order, dtype, values.iter().map(|value| *value != 0.0)),
                    _ => panic!("no writer for {dtype}"),
                }
            }
        }
    }
}

fn transposed(shape: &[u64], values: &[f64]) -> Vec<f64> {
    let (n, k) = (shape[0] as usize, shape[1] as usize);
    (0..n * k).map(|place| values[place % n * k + place / n]).collect()
}
