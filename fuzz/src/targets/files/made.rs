//! The same rows in every format: one value.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use calipers::{Input, LsEce, Measure};
use calipers_cli::fuzzing::FileReader;
use parquet::arrow::ArrowWriter;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{MEMORY, SECONDS, file};
use crate::Target;
use crate::bytes::Bytes;

pub(super) const TARGET: Target = Target {
    name: "same_rows",
    about: "rows of a probability, an outcome and a weight, which the target writes in every format",
    max_len: 256,
    memory: MEMORY,
    seconds: SECONDS,
    run,
};

static READER: LazyLock<FileReader> = LazyLock::new(|| FileReader::new(&[]));

struct Rows {
    p: Vec<f64>,
    y: Vec<i64>,
    weights: Vec<f64>,
}

/// Every format has the value that the core has for the rows, to the bit.
fn run(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let mut rows = Rows { p: Vec::new(), y: Vec::new(), weights: Vec::new() };
    while !bytes.is_empty() {
        let kind = bytes.byte();
        rows.y.push(i64::from(kind & 1));
        rows.p.push(match kind & 2 {
            0 => f64::from(bytes.byte()) / 255.0,
            _ => bytes.double().abs() % 1.0,
        });
        rows.weights.push(f64::from(kind >> 2) / 8.0);
    }
    let Rows { p, y, weights } = &rows;
    let expected = || {
        let predictions = Input::probabilities(p, y).weights(weights).check()?;
        LsEce::new().sigma(0.25).estimate(&predictions.binary()?)
    };
    let expected = expected();
    for (ending, bytes) in rows.files() {
        let path = file(ending, &bytes);
        match (READER.measure(&path), &expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found[0].value.to_bits(), expected.value.to_bits(), "{ending} has another value");
            }
            (Err(_), Err(_)) => {}
            (found, expected) => panic!("{ending} gives {found:?}, and the rows {expected:?}"),
        }
    }
}

impl Rows {
    fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let batch = self.batch();
        vec![
            (".csv", self.text("p,y,sample_weight\n", |p, y, w| format!("{p},{y},{w}\n"))),
            (".tsv", self.text("p\ty\tsample_weight\n", |p, y, w| format!("{p:e}\t{y}\t{w}\n"))),
            (".jsonl", self.text("", |p, y, w| format!("{{\"p\": {p:e}, \"y\": {y}, \"sample_weight\": {w}}}\n"))),
            (".npz", self.archive()),
            (".arrow", arrow(&batch)),
            (".parquet", parquet(&batch)),
        ]
    }

    fn text(&self, header: &str, line: fn(f64, i64, f64) -> String) -> Vec<u8> {
        let mut text = header.to_owned();
        for ((p, y), w) in self.p.iter().zip(&self.y).zip(&self.weights) {
            let _ = text.write_str(&line(*p, *y, *w));
        }
        text.into_bytes()
    }

    fn batch(&self) -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            ("p", Arc::new(Float64Array::from(self.p.clone()))),
            ("y", Arc::new(Int64Array::from(self.y.clone()))),
            ("sample_weight", Arc::new(Float64Array::from(self.weights.clone()))),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    fn archive(&self) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let labels = self.y.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        for (name, kind, bytes) in [
            ("p.npy", "<f8", doubles(&self.p)),
            ("y.npy", "<i8", labels),
            ("sample_weight.npy", "<f8", doubles(&self.weights)),
        ] {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({},), }}\n", self.p.len());
            let started = writer.start_file(name, SimpleFileOptions::default());
            let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
            started.expect("memory");
            writer.write_all(&start).and_then(|()| writer.write_all(&bytes)).expect("memory");
        }
        writer.finish().expect("memory").into_inner()
    }
}

fn arrow(batch: &RecordBatch) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &batch.schema()).expect("memory");
    writer.write(batch).and_then(|()| writer.finish()).expect("memory");
    drop(writer);
    file
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).expect("memory");
    writer.write(batch).expect("memory");
    writer.close().expect("memory");
    file
}
