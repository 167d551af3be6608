//! Lists that are missing get a place for each class, but never more memory than a file deserves.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray};
use parquet::basic::Compression;

use crate::support::{Folder, assert_refused, json};

const CLASSES: usize = 100_000;
const ROWS: usize = 60_001;

/// One list that is there, and then missing ones.
fn columns(n_classes: usize, n_rows: usize) -> [(&'static str, ArrayRef); 2] {
    let mut row = vec![Some(0.0); n_classes];
    row[0] = Some(1.0);
    let rows = std::iter::once(Some(row)).chain(std::iter::repeat_n(None, n_rows - 1));
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(rows);
    [("label", Arc::new(Int64Array::from(vec![0; n_rows]))), ("prob", Arc::new(lists))]
}

fn jsonl(n_classes: usize, n_rows: usize) -> String {
    let zeros = vec!["0"; n_classes - 1].join(",");
    format!("{{\"label\":0,\"prob\":[1,{zeros}]}}\n") + &"{\"label\":0,\"prob\":null}\n".repeat(n_rows - 1)
}

#[test]
fn too_many_missing_lists_are_refused_without_their_memory() {
    let folder = Folder::new();
    let columns = columns(CLASSES, ROWS);
    let text = format!(
        "probabilities must have shape (n,) or (n, k), got {} of {ROWS} lists of {CLASSES} values missing, which is too \
         many to keep; remove these rows",
        ROWS - 1
    );
    for path in
        [folder.parquet("a.parquet", &columns, Compression::SNAPPY), folder.arrow_batches("a.ipc", &columns, ROWS)]
    {
        assert_refused(&path, &["--invalid", "count"], &text);
        assert_refused(&path, &[], &text);
    }
    // Text is read in blocks, and small batches one by one: the first that goes too far is an
    // error.
    let few = [folder.write("a.jsonl", jsonl(CLASSES, ROWS)), folder.arrow_batches("b.ipc", &columns, 100)];
    for path in few {
        let run = crate::support::calipers(&["measure", path.to_str().unwrap(), "--invalid", "count"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(" values missing, which is too many to keep; remove these rows"), "{run:?}");
    }
}

#[test]
fn missing_lists_of_ordinary_files_are_counted() {
    let folder = Folder::new();
    let columns = columns(1000, 5000);
    for path in [folder.row_groups("a.parquet", &columns, 700), folder.write("a.jsonl", jsonl(1000, 5000))] {
        let result = json(&path, &["--invalid", "count"]);
        assert_eq!(result["input"]["left_out"], serde_json::json!({"missing probability": 4999}));
    }
}
