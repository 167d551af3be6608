//! Formats of bytes as they are.

use std::sync::LazyLock;

use calipers_cli::fuzzing::FileReader;

use super::{MEMORY, SECONDS, check, file};
use crate::Target;

pub(super) const NPY: Target = Target {
    name: "npy",
    about: "an .npy file, read as probabilities with labels from a file that is valid",
    max_len: 512,
    memory: MEMORY,
    seconds: SECONDS,
    run: npy,
};

pub(super) const NPZ: Target = Target {
    name: "npz",
    about: "an .npz file as it is",
    max_len: 4096,
    memory: MEMORY,
    seconds: SECONDS,
    run: |bytes| check(&ANY, ".npz", bytes),
};

pub(super) const ARROW: Target = Target {
    name: "arrow",
    about: "an Arrow IPC file or stream as it is",
    max_len: 4096,
    memory: MEMORY,
    seconds: SECONDS,
    run: |bytes| check(&ANY, ".arrow", bytes),
};

pub(super) const PARQUET: Target = Target {
    name: "parquet",
    about: "a Parquet file as it is",
    max_len: 4096,
    memory: MEMORY,
    seconds: SECONDS,
    run: |bytes| check(&ANY, ".parquet", bytes),
};

/// Rows that are not valid are counted, so that more of a damaged file is read.
static ANY: LazyLock<FileReader> = LazyLock::new(|| FileReader::new(&["--invalid", "count"]));

/// Four labels.
static LABELS: LazyLock<FileReader> = LazyLock::new(|| {
    let mut header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }".to_vec();
    header.resize(64 - 10 - 1, b' ');
    header.push(b'\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header);
    bytes.extend([0, 1, 1, 0]);
    let path = file("-labels.npy", &bytes);
    FileReader::new(&["--label", path.to_str().expect("a path of text")])
});

fn npy(bytes: &[u8]) {
    check(&LABELS, ".npy", bytes);
}
