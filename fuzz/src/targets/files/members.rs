//! An .npz file with right checksums around arrays that are not.

use std::io::{Cursor, Write};
use std::sync::LazyLock;

use calipers_cli::fuzzing::FileReader;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{MEMORY, SECONDS, check};
use crate::Target;
use crate::bytes::Bytes;

pub(super) const TARGET: Target = Target {
    name: "npz_members",
    about: "arrays of an .npz file, each with a name, a method and a length; the target adds the archive",
    max_len: 2048,
    memory: MEMORY,
    seconds: SECONDS,
    run,
};

const NAMES: [&str; 8] = [
    "probs.npy",
    "labels.npy",
    "logits.npy",
    "sample_weight.npy",
    "y_prob.npy",
    "y_true.npy",
    "probs",
    "../labels.npy",
];

static READER: LazyLock<FileReader> = LazyLock::new(|| FileReader::new(&["--invalid", "count"]));

fn run(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    while !bytes.is_empty() {
        let name = bytes.choose(&NAMES);
        let method = bytes.choose(&[CompressionMethod::Stored, CompressionMethod::Deflated]);
        let length = u16::from_le_bytes(bytes.array());
        let array = bytes.take(usize::from(length));
        // A name that is there already is an error of the writer.
        if writer.start_file(name, SimpleFileOptions::default().compression_method(method)).is_ok() {
            writer.write_all(array).expect("memory");
        }
    }
    let archive = writer.finish().expect("memory").into_inner();
    check(&READER, ".npz", &archive);
}
