//! Reads that fail, are interrupted or give little, and files that become shorter while they are
//! read: for every format, the same answer as without, or an error of one line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use parquet::basic::Compression;

use crate::hostile::injected::{self, Fault, moments};
use crate::support::{Array, Folder, succeed};

const N: usize = 3000;

fn p(row: usize) -> f64 {
    ((row * 37 % 1000) as f64 + 0.5) / 1000.0
}

fn label(row: usize) -> i64 {
    (row % 3 % 2) as i64
}

/// A file of each format, with the arguments that measure it.
fn inputs(folder: &Folder) -> Vec<(PathBuf, Vec<String>)> {
    let csv = "label,prob\n".to_owned() + &(0..N).map(|row| format!("{},{}\n", label(row), p(row))).collect::<String>();
    let lines: String = (0..N).map(|row| format!("{{\"label\":{},\"prob\":{}}}\n", label(row), p(row))).collect();
    let columns: [(&str, ArrayRef); 2] = [
        ("label", Arc::new(Int64Array::from_iter_values((0..N).map(label)))),
        ("prob", Arc::new(Float64Array::from_iter_values((0..N).map(p)))),
    ];
    let plain = folder.write("a.csv", &csv);
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", plain.to_str().unwrap(), "-o", sketch.to_str().unwrap()]);
    let groups = folder.path("groups.parquet");
    succeed(&["sketch", plain.to_str().unwrap(), "--by", "label", "-o", groups.to_str().unwrap()]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, csv.as_bytes()).unwrap();
    let arrays = [
        ("label", Array::Integers(vec![N as u64], (0..N).map(label).collect())),
        ("prob", Array::Double(vec![N as u64], (0..N).map(p).collect())),
    ];
    let npy = |name: &str, descr: &str, values: Vec<u8>| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({N},), }}\n");
        let start = [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        folder.write(name, [start, values].concat())
    };
    let labels = npy("labels.npy", "<i8", (0..N).flat_map(|row| label(row).to_le_bytes()).collect());
    let probs = npy("probs.npy", "<f8", (0..N).flat_map(|row| p(row).to_le_bytes()).collect());
    let files = [
        plain,
        folder.write("a.csv.gz", gzip.finish().unwrap()),
        folder.write("a.csv.zst", zstd::encode_all(csv.as_bytes(), 1).unwrap()),
        folder.write("a.jsonl", lines),
        folder.parquet("a.parquet", &columns, Compression::SNAPPY),
        folder.row_groups("b.parquet", &columns, 500),
        folder.arrow("a.arrow", &columns, None),
        folder.arrow_batches("a.ipc", &columns, 400),
        folder.npz("a.npz", &arrays),
        sketch,
        groups,
    ];
    let measure = |path: &Path, more: &[&str]| {
        let args = ["measure", path.to_str().unwrap(), "--json", "--floor", "never", "--sigma", "0.2"];
        args.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    let mut all: Vec<(PathBuf, Vec<String>)> =
        files.into_iter().map(|path| (path.clone(), measure(&path, &[]))).collect();
    let of_npy = measure(&probs, &["--label", labels.to_str().unwrap()]);
    all.push((probs, of_npy));
    all
}

/// Each fault at up to `most` reads of each file.
fn fail(most: usize) {
    let folder = Folder::new();
    for (path, args) in inputs(&folder) {
        let expected = injected::run(&args, &path, Fault { kind: "eio", number: 0 });
        assert_eq!(expected.code, Some(0), "{args:?} {expected:?}");
        let whole = std::fs::read(&path).unwrap();
        let name = path.to_str().unwrap();
        for number in moments(injected::n_calls(&args, &path, "eio"), most) {
            for kind in ["eio", "eintr", "short", "shrink"] {
                let ended = injected::run(&args, &path, Fault { kind, number });
                let context = format!("{name}, {kind} at read {number}: {ended:?}");
                match kind {
                    // Nothing is lost.
                    "eintr" | "short" => {
                        assert_eq!((ended.code, &ended.stdout), (Some(0), &expected.stdout), "{context}")
                    }
                    // Or the read was one whose error does not matter, and the value is the same.
                    "eio" => {
                        assert!(ended.is_answer_or_error(), "{context}");
                        assert!(ended.code == Some(2) || ended.stdout == expected.stdout, "{context}");
                        assert!(ended.code == Some(0) || ended.stderr.contains(name), "{context}");
                    }
                    // Values of what was there, or an error; never a signal.
                    _ => {
                        assert!(ended.is_answer_or_error(), "{context}");
                        std::fs::write(&path, &whole).unwrap();
                    }
                }
            }
        }
    }
}

/// Every read of text: the header, the columns and the rows have readers of their own.
#[test]
fn interrupted_reads_of_text_lose_nothing() {
    let folder = Folder::new();
    for (path, args) in inputs(&folder).into_iter().take(4) {
        let expected = injected::run(&args, &path, Fault { kind: "eintr", number: 0 });
        for number in 1..=injected::n_calls(&args, &path, "eintr") {
            let ended = injected::run(&args, &path, Fault { kind: "eintr", number });
            assert_eq!((ended.code, &ended.stdout), (Some(0), &expected.stdout), "{path:?}, read {number}: {ended:?}");
        }
    }
}

#[test]
fn a_failed_read_is_an_error_and_never_another_value() {
    fail(3);
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn any_failed_read_is_an_error_and_never_another_value() {
    fail(usize::MAX);
}
