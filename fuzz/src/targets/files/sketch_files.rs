//! Files of sketches: one sketch as bytes, and Parquet with a sketch in each row, by group or fold.

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use calipers_cli::fuzzing::FileReader;
use parquet::arrow::ArrowWriter;

use super::super::with_checksum;
use super::{MEMORY, SECONDS, check, check_line, file, path};
use crate::Target;
use crate::bytes::Bytes;

pub(super) const TARGET: Target = Target {
    name: "sketch_files",
    about: "sketches without checksums, with keys and lengths, which the target writes as rows of Parquet",
    max_len: 2048,
    memory: MEMORY,
    seconds: SECONDS,
    run,
};

static READER: LazyLock<FileReader> = LazyLock::new(|| FileReader::new(&[]));

/// Sketches of a file are rejected with one line, or the file that is written of them has the same
/// ones.
fn run(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let mode = bytes.byte();
    if mode.is_multiple_of(4) {
        let content = with_checksum(bytes.rest());
        check_copies(".calipers", &content);
        return check(&READER, ".calipers", &content);
    }
    let (mut keys, mut sketches) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let key = bytes.byte();
        keys.push((key < 250).then(|| char::from(key % 128).to_string()));
        let length = u16::from_le_bytes(bytes.array());
        sketches.push((key % 32 != 31).then(|| with_checksum(bytes.take(usize::from(length)))));
    }
    let file = parquet(mode, &keys, &sketches);
    check_copies(".parquet", &file);
    check(&READER, ".parquet", &file);
}

fn parquet(mode: u8, keys: &[Option<String>], sketches: &[Option<Vec<u8>>]) -> Vec<u8> {
    let sketches: ArrayRef = Arc::new(BinaryArray::from_iter(sketches));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(keys));
    let numbers = || (0..sketches.len()).map(|row| row as i64 % 3 - 1);
    let columns: Vec<(&str, ArrayRef)> = match mode % 4 {
        1 => vec![("group", texts), ("sketch", sketches)],
        2 => vec![("fold", Arc::new(Int64Array::from_iter_values(numbers())) as ArrayRef), ("sketch", sketches)],
        _ => vec![("sketch", sketches)],
    };
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).expect("memory");
    writer.write(&batch).and_then(|()| writer.close()).expect("memory");
    file
}

fn check_copies(ending: &str, bytes: &[u8]) {
    let (from, to, third) = (file(ending, bytes), path("-copy.parquet"), path("-third.parquet"));
    match READER.copy_sketches(&from, &to) {
        Ok(sketches) => {
            let again = READER.copy_sketches(&to, &third).expect("a file that was written");
            assert_eq!(again, sketches, "written again, sketches are others");
        }
        Err(line) => check_line(&line),
    }
}
