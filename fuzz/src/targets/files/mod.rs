//! The files that the command reads.

mod made;
mod members;
mod plain;
mod sketch_files;
mod text;

use std::path::PathBuf;

use calipers_cli::fuzzing::FileReader;

use super::answers::check_estimate;
use crate::{Limit, Target};

pub(super) const TARGETS: [&Target; 9] = [
    &text::CSV,
    &text::JSON_LINES,
    &plain::NPY,
    &plain::NPZ,
    &plain::ARROW,
    &plain::PARQUET,
    &members::TARGET,
    &sketch_files::TARGET,
    &made::TARGET,
];

/// SECURITY.md allows 64 MiB beside 64 times the size of a compressed file. What is read is held
/// more than once, and each thread has buffers.
const MEMORY: Limit = Limit::new(256e6, 4096.0);
const SECONDS: Limit = Limit::new(5.0, 1e-3);

/// A file of these bytes, in memory where the system has such a folder. It has the same path in
/// each call, and is written anew.
fn file(ending: &str, bytes: &[u8]) -> PathBuf {
    let path = path(ending);
    std::fs::write(&path, bytes).expect("a folder for temporary files");
    path
}

fn path(ending: &str) -> PathBuf {
    std::env::temp_dir().join(format!("calipers-fuzz-{}{ending}", std::process::id()))
}

/// 1. The file is measured and listed, or rejected with one line without control characters.
/// 2. Values are in the range of their measure, and bounds are not negative.
/// 3. What is read twice is the same.
fn check(reader: &FileReader, ending: &str, bytes: &[u8]) {
    let path = file(ending, bytes);
    match reader.measure(&path) {
        Ok(estimates) => {
            estimates.iter().for_each(check_estimate);
            let again = reader.measure(&path).expect("a file that was read before");
            let values = |estimates: &[calipers::Estimate]| -> Vec<u64> {
                estimates.iter().map(|estimate| estimate.value.to_bits()).collect()
            };
            assert_eq!(values(&again), values(&estimates), "read again, values are others");
        }
        Err(line) => check_line(&line),
    }
    if let Err(line) = reader.inspect(&path) {
        check_line(&line);
    }
}

#[track_caller]
fn check_line(line: &str) {
    assert!(!line.is_empty() && !line.contains(char::is_control), "an error of other than one line: {line:?}");
}
