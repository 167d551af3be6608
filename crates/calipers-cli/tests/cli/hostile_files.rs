//! Small files that ask for much, files with very many columns, and pipes: an answer or an error,
//! in little memory and time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StructArray,
    TimestampMicrosecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field};
use parquet::basic::{Compression, ZstdLevel};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{Folder, assert_refused, calipers, json, succeed};

/// Rows of zeros: 80 MB of doubles.
const N: usize = 10_000_000;

const TOO_LARGE: &str = " MiB decompressed; pass a larger --max-expansion if you trust the file";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn zeros() -> [(&'static str, ArrayRef); 2] {
    [("label", Arc::new(Int64Array::from(vec![0; N]))), ("prob", Arc::new(Float64Array::from(vec![0.0; N])))]
}

/// The command refuses the file for its size, and says how to read it.
fn assert_too_large(path: &Path, args: &[&str]) {
    assert!(path.metadata().unwrap().len() < 1 << 20);
    let run = calipers(&[&["measure", text(path)], args].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains(": takes more than ") || run.stderr.contains(": cannot read: takes more"), "{run:?}");
    assert!(run.stderr.trim_end().ends_with(TOO_LARGE), "{run:?}");
}

#[test]
fn a_small_parquet_file_of_very_many_rows_is_read_only_on_request() {
    let folder = Folder::new();
    for (name, compression) in
        [("a.parquet", Compression::SNAPPY), ("b.parquet", Compression::ZSTD(ZstdLevel::default()))]
    {
        let path = folder.parquet(name, &zeros(), compression);
        assert_too_large(&path, &[]);
        assert_eq!(json(&path, &["--max-expansion", "1000000000", "--limit", "10"])["n"], 10);
    }
}

#[test]
fn a_small_arrow_file_of_very_many_rows_is_read_only_on_request() {
    let folder = Folder::new();
    let path = folder.path("a.arrow");
    let batch = RecordBatch::try_from_iter(zeros()).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let mut writer = FileWriter::try_new_with_options(File::create(&path).unwrap(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_too_large(&path, &[]);
    assert_eq!(json(&path, &["--max-expansion", "1000000000", "--limit", "10"])["n"], 10);
}

#[test]
fn a_small_npz_file_of_very_many_rows_is_read_up_to_the_limit() {
    let folder = Folder::new();
    let path = folder.path("a.npz");
    let mut archive = ZipWriter::new(BufWriter::new(File::create(&path).unwrap()));
    for (name, descr) in [("label", "<i8"), ("prob", "<f8")] {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({N},), }}\n");
        archive.write_all(b"\x93NUMPY\x01\0").unwrap();
        archive.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(header.as_bytes()).unwrap();
        archive.write_all(&vec![0; 8 * N]).unwrap();
    }
    archive.finish().unwrap();
    assert_too_large(&path, &[]);
    assert_eq!(json(&path, &["--limit", "5"])["n"], 5);
}

fn zstd(folder: &Folder, name: &str, part: &str, n: usize) -> PathBuf {
    let path = folder.path(name);
    let mut writer = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    (0..n).for_each(|_| writer.write_all(part.as_bytes()).unwrap());
    writer.finish().unwrap();
    path
}

#[test]
fn compressed_text_ends_where_it_takes_too_much() {
    let folder = Folder::new();
    let rows = "1,0.5\n".repeat(10_000);
    let path = zstd(&folder, "a.csv.zst", &format!("label,prob\n{rows}"), 1);
    // A file of ordinary size is read.
    assert_eq!(json(&path, &[])["n"], 10_000);
    // The first line is repeated in the middle, where nobody comes to.
    let path = zstd(&folder, "b.csv.zst", &format!("label,prob\n{}", rows.repeat(1500)), 2);
    assert_too_large(&path, &[]);
    let path = zstd(&folder, "c.csv.zst", &"a".repeat(1 << 20), 40);
    assert_refused(&path, &[], "the first line, which names the columns, has more than 16 MiB");
}

#[test]
fn a_file_that_is_too_long_for_a_sketch_is_not_read() {
    let folder = Folder::new();
    let path = folder.write("a.calipers", "calipers");
    File::options().write(true).open(&path).unwrap().set_len(1 << 29).unwrap();
    assert_refused(&path, &[], "is too long for a sketch, which has less than 256 MiB");
}

/// Columns whose types are not read, each before two that are.
#[test]
fn columns_are_listed_whatever_the_first_one_is() {
    let folder = Folder::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 0, 1]));
    let field = Arc::new(Field::new("x", DataType::Int64, true));
    let first: [(&str, ArrayRef); 5] = [
        ("timestamp", Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3]))),
        ("date", Arc::new(Date32Array::from(vec![1, 2, 3]))),
        ("decimal", Arc::new(Decimal128Array::from(vec![1, 2, 3]))),
        ("struct", Arc::new(StructArray::from(vec![(field, Arc::clone(&numbers))]))),
        ("binary", Arc::new(BinaryArray::from_vec(vec![b"a", b"b", b"c"]))),
    ];
    for (name, column) in first {
        let prob: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.25, 0.75]));
        let columns = [(name, column), ("label", Arc::clone(&numbers)), ("prob", prob)];
        for path in [
            folder.parquet(&format!("{name}.parquet"), &columns, Compression::SNAPPY),
            folder.arrow(&format!("{name}.arrow"), &columns, None),
        ] {
            let shown = succeed(&["inspect", text(&path)]);
            assert!(shown.contains("3 rows") && shown.contains("0.25"), "{shown}");
        }
    }
    let path = folder.write("a.jsonl", "{\"a\": {}, \"b\": [1, 2], \"label\": 1, \"prob\": 0.25}\n".repeat(3));
    let shown = succeed(&["inspect", text(&path)]);
    assert!(shown.contains("3 rows") && shown.contains("[1, 2]") && shown.contains("0.25"), "{shown}");
}

/// The time of a column must not grow with their number: 50,000 took far longer than this.
#[test]
fn very_many_columns_take_little_time() {
    let folder = Folder::new();
    let n = 50_000;
    let (names, cells) = ((0..n).map(|k| format!("c{k}")), vec!["1"; n].join(","));
    let names: Vec<String> = names.collect();
    let csv = folder.write("a.csv", format!("{},label,prob\n{cells},1,0.5\n{cells},0,0.25\n", names.join(",")));
    let keys: Vec<String> = names.iter().map(|name| format!("\"{name}\":1")).collect();
    let row = |label: u8| format!("{{{},\"label\":{label},\"prob\":0.5}}\n", keys.join(","));
    let jsonl = folder.write("a.jsonl", row(1) + &row(0));
    let start = Instant::now();
    for path in [&csv, &jsonl] {
        assert!(succeed(&["inspect", text(path)]).contains("prob"));
        assert_eq!(json(path, &[])["n"], 2);
    }
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}

#[test]
fn many_small_files_together_take_about_as_long_as_one_by_one() {
    let folder = Folder::new();
    for file in 0..2000 {
        let rows: String = (0..5).map(|row| format!("{},0.{}\n", row % 2, 10 + (file + row) % 80)).collect();
        folder.write(&format!("{file}.csv"), format!("label,prob\n{rows}"));
    }
    let pattern = folder.path("*.csv");
    let time = |args: &[&str]| {
        let start = Instant::now();
        succeed(&[&["measure", text(&pattern), "--json"], args].concat());
        start.elapsed()
    };
    let (separately, together) = (time(&[]), time(&["--together"]));
    assert!(together < 5 * separately + Duration::from_secs(1), "{together:?} and {separately:?}");
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_once() {
    let folder = Folder::new();
    let (path, content) = (folder.path("pipe.csv"), "label,prob\n1,0.5\n0,0.25\n1,0.75\n");
    let file = folder.write("file.csv", content);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, content).unwrap()
    });
    let of_pipe = json(&path, &[]);
    writer.join().unwrap();
    assert_eq!(of_pipe["ls_ece"], json(&file, &[])["ls_ece"]);
    // Where it would have to be read again, it is an error and not a wait.
    let run = calipers(&["measure", text(&file), "--manifest", text(&path)]);
    assert_eq!(run.code, Some(2));
    let npy = folder.path("pipe.npy");
    assert!(Command::new("mkfifo").arg(&npy).status().unwrap().success());
    let data = folder.write("data.npy", "");
    let run = calipers(&["measure", text(&data), "--label", text(&npy)]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn standard_input_is_read_up_to_the_limit() {
    for (header, row) in [("label,prob\n", "1,0.5\n0,0.25\n"), ("", "{\"label\": 1, \"prob\": 0.5}\n")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_calipers"));
        let command = command.args(["measure", "-", "--limit", "100", "--json"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(header.as_bytes()).unwrap();
        // Without end, until nobody reads any more.
        let rows = row.repeat(1000);
        let n_written = (0..100_000).take_while(|_| input.write_all(rows.as_bytes()).is_ok()).count();
        assert!(n_written < 100_000);
        let output = child.wait_with_output().unwrap();
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(all["results"][0]["n"], 100);
    }
}

#[test]
fn directions_of_text_do_not_reach_the_terminal() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob,\u{202e}evil\u{2066}\n1,0.5,a\u{200f}\n0,0.25,b\n");
    let shown = succeed(&["inspect", text(&path)]);
    assert!(shown.contains("\\u{202e}evil\\u{2066}") && shown.contains("a\\u{200f}"), "{shown}");
    assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{200f}']));
}

#[test]
fn errors_of_options_have_one_line() {
    let cases: [(&[&str], &str); 6] = [
        (&["measure", "a.csv", "--nonsense"], "unexpected argument '--nonsense' found"),
        (&["measure", "a.csv", "--seed", "1"], "unexpected argument '--seed' found; a similar argument exists: "),
        (&["measure"], "the following required arguments were not provided: <FILE>..."),
        (&["measure", "a.csv", "--format", "x"], "invalid value 'x' for '--format <FORMAT>' [possible values: csv, "),
        (&["measure", "a.csv", "--limit", "x"], "invalid value 'x' for '--limit <N>': "),
        (&["mesure", "a.csv"], "unrecognized subcommand 'mesure'; some similar subcommands exist: "),
    ];
    for (args, text) in cases {
        let run = calipers(args);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.lines().count()), (Some(2), "", 1), "{args:?} {run:?}");
        assert!(run.stderr.starts_with(&format!("calipers: {text}")), "{args:?} {run:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_has_left_is_removed_by_the_next() {
    let folder = Folder::new();
    let input = folder.write("a.csv", "label,prob\n1,0.5\n0,0.25\n");
    let left = folder.write(".calipers-abc.unfinished", "half");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(&left).unwrap().set_modified(long_ago).unwrap();
    succeed(&["sketch", text(&input), "-o", text(&folder.path("a.calipers"))]);
    assert_eq!(folder.names(), ["a.calipers", "a.csv"]);
}

#[cfg(unix)]
#[test]
fn charts_stay_as_they_were_if_the_page_cannot_be_written() {
    let folder = Folder::new();
    let rows: String = (0..200).map(|row| format!("{},0.{}\n", row % 2, 10 + row % 80)).collect();
    let input = folder.write("a.csv", format!("label,prob\n{rows}"));
    let (page, charts) = (folder.path("a.html"), folder.path("charts"));
    let report = |limit: &str| {
        // Files may have so many blocks; a longer one is an error, not a signal.
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\"");
        let args = ["report", text(&input), "-o", text(&page), "--svg", text(&charts), "--n-resamples", "100"];
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_calipers")]).args(args).output().unwrap()
    };
    let refused = report("60");
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(folder.names(), ["a.csv"]);
    assert!(report("unlimited").status.success());
    assert_eq!(folder.names(), ["a.csv", "a.html", "charts"]);
    // No chart alone is as long as what the first run was allowed to write.
    let lengths = std::fs::read_dir(&charts).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(lengths.max().unwrap() < 60 * 1024 && page.metadata().unwrap().len() > 60 * 1024);
}
