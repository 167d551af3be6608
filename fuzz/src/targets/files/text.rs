//! Delimited text and JSON lines.

use std::sync::LazyLock;

use calipers_cli::fuzzing::FileReader;

use super::{MEMORY, SECONDS, check};
use crate::Target;

pub(super) const CSV: Target = Target {
    name: "csv",
    about: "a byte that chooses options and the ending, then CSV",
    max_len: 1024,
    memory: MEMORY,
    seconds: SECONDS,
    run: csv,
};

pub(super) const JSON_LINES: Target = Target {
    name: "json_lines",
    about: "a byte that chooses options, then JSON lines",
    max_len: 1024,
    memory: MEMORY,
    seconds: SECONDS,
    run: json_lines,
};

static READERS: LazyLock<[FileReader; 4]> = LazyLock::new(|| {
    [
        FileReader::new(&[]),
        FileReader::new(&["--invalid", "count"]),
        FileReader::new(&["--limit", "2", "--by", "group"]),
        FileReader::new(&["--multiclass", "classwise", "--invalid", "count"]),
    ]
});

static DIALECTS: LazyLock<[FileReader; 2]> = LazyLock::new(|| {
    [FileReader::new(&["--delimiter", ";", "--decimal", ","]), FileReader::new(&["--delimiter", "|", "--scale", "100"])]
});

fn csv(bytes: &[u8]) {
    let Some((mode, text)) = bytes.split_first() else { return };
    match mode % 8 {
        mode @ 0..4 => check(&READERS[usize::from(mode)], ".csv", text),
        mode @ 4..6 => check(&DIALECTS[usize::from(mode - 4)], ".csv", text),
        6 => check(&READERS[0], ".tsv", text),
        // Text that says that it is compressed.
        _ => check(&READERS[0], ".csv.gz", text),
    }
}

fn json_lines(bytes: &[u8]) {
    let Some((mode, text)) = bytes.split_first() else { return };
    check(&READERS[usize::from(mode % 4)], ".jsonl", text);
}
