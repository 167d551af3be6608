//! Rows of sketches in Parquet: files and folders of them, and keys of other programs.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray, UInt32Array};
use parquet::basic::Compression;

use crate::support::{Folder, assert_fails, assert_refused, results, succeed};

const ROWS: &str = "label,prob,g\n1,0.9,a\n0,0.2,a\n1,0.6,b\n";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The bytes of a sketch of some rows.
fn sketch(folder: &Folder) -> Vec<u8> {
    let (rows, out) = (folder.write("rows.csv", ROWS), folder.path("rows.calipers"));
    succeed(&["sketch", text(&rows), "-o", text(&out)]);
    std::fs::read(out).unwrap()
}

#[test]
fn a_folder_is_all_of_its_files() {
    let folder = Folder::new();
    let rows = folder.write("rows.csv", ROWS);
    let parts = folder.path("parts");
    std::fs::create_dir(&parts).unwrap();
    let empty: Vec<(&str, ArrayRef)> = vec![
        ("g", Arc::new(StringArray::from(Vec::<&str>::new()))),
        ("sketch", Arc::new(BinaryArray::from_iter_values(Vec::<&[u8]>::new()))),
    ];
    // As Spark writes it: a mark, an empty first file, and files of the same groups.
    std::fs::write(parts.join("_SUCCESS"), "").unwrap();
    let first = folder.parquet("empty.parquet", &empty, Compression::SNAPPY);
    std::fs::rename(first, parts.join("part-0.parquet")).unwrap();
    for name in ["part-1.parquet", "part-2.parquet"] {
        succeed(&["sketch", text(&rows), "--by", "g", "-o", text(&parts.join(name))]);
    }
    let found = results(&[text(&parts), "--sigma", "0.5"]);
    let counts: Vec<_> = found.iter().map(|row| row["n"].as_u64().unwrap()).collect();
    assert_eq!(counts, [6, 4, 2]);

    assert!(succeed(&["inspect", text(&parts)]).contains('6'));
    let inside = parts.join("all.parquet");
    let refusal = format!("{}: must not be an input too, got {}", inside.display(), parts.display());
    assert_fails(&["merge", text(&parts), "-o", text(&inside)], &refusal);

    let other = folder.path("other.parquet");
    succeed(&["sketch", text(&rows), "-o", text(&other)]);
    std::fs::rename(other, parts.join("part-3.parquet")).unwrap();
    assert_refused(&parts, &[], "part-3.parquet: files of one folder must have the same keys, got g and none");
}

#[test]
fn keys_are_those_of_any_program() {
    let folder = Folder::new();
    let bytes = sketch(&folder);
    let sketches: ArrayRef = Arc::new(BinaryArray::from_iter_values([&bytes, &bytes]));
    let file = |keys: ArrayRef| {
        folder.parquet("keys.parquet", &[("k", keys), ("sketch", sketches.clone())], Compression::SNAPPY)
    };
    let numbers = file(Arc::new(UInt32Array::from(vec![7, 4_000_000_000])));
    let found = results(&[text(&numbers)]);
    assert!(found.iter().any(|row| row["group"] == "4000000000"), "{found:?}");
    let alike = file(Arc::new(StringArray::from(vec![None, Some("")])));
    let refusal = "keys must not be null in one row and the empty text in another, which are shown alike";
    assert_refused(&alike, &[], refusal);
}
