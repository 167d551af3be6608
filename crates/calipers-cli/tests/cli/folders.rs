//! A folder is one file of all rows in it.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array};
use parquet::basic::Compression;
use serde_json::Value;

use crate::support::{Folder, LEAVE_OUT, assert_fails, assert_refused, json, results, succeed};

fn rows(range: std::ops::Range<usize>) -> String {
    range.map(|row| format!("{},{}\n", row % 3 % 2, (row * 37 % 100) as f64 / 100.0)).collect()
}

fn figures(result: &Value) -> [Value; 3] {
    ["n", "measures", "input"].map(|key| result[key].clone())
}

/// A folder of three files, one of them in a folder of its own, and the same rows as one file.
fn parts(folder: &Folder) -> (std::path::PathBuf, Value) {
    let all = folder.write("all.csv", format!("label,prob\n{}", rows(0..300)));
    std::fs::create_dir_all(folder.path("parts/day=2")).unwrap();
    folder.write("parts/a.csv", format!("label,prob\n{}", rows(0..100)));
    let more: String = rows(100..150).lines().map(|line| format!("x,{line}\n")).collect();
    folder.write("parts/b.csv", format!("more,label,prob\n{more}"));
    folder.write("parts/day=2/c.csv", format!("label;prob\n{}", rows(150..300).replace(',', ";")));
    folder.write("parts/_SUCCESS", "");
    folder.write("parts/.a.csv.crc", "crc");
    (folder.path("parts"), json(&all, &["--sigma", "0.5"]))
}

#[test]
fn a_folder_is_one_file_of_all_rows() {
    let folder = Folder::new();
    let (parts, expected) = parts(&folder);
    for threads in ["1", "3"] {
        let found = json(&parts, &["--sigma", "0.5", "--threads", threads]);
        assert_eq!(figures(&found), figures(&expected));
        assert_eq!(found["file"], parts.to_str().unwrap());
    }
    // Where rows are needed, and where a sketch is made.
    let uniform = ["--noise", "uniform", "--sigma", "0.5"];
    assert_eq!(figures(&json(&parts, &uniform)), figures(&json(&folder.path("all.csv"), &uniform)));
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", parts.to_str().unwrap(), "-o", sketch.to_str().unwrap()]);
    assert_eq!(json(&sketch, &[])["n"], 300);
    // Next to other files it is one of them.
    let all = folder.path("all.csv");
    let both = results(&[parts.to_str().unwrap(), all.to_str().unwrap(), "--sigma", "0.5"]);
    assert_eq!(figures(&both[0])[0], figures(&both[1])[0]);
}

#[test]
fn formats_and_types_of_files_may_differ() {
    let folder = Folder::new();
    let (parts, expected) = parts(&folder);
    std::fs::remove_file(folder.path("parts/b.csv")).unwrap();
    let label = |row: usize| row % 3 % 2;
    let prob =
        Arc::new(Float64Array::from_iter_values((100..150).map(|row| (row * 37 % 100) as f64 / 100.0))) as ArrayRef;
    let types: [ArrayRef; 2] = [
        Arc::new(Int32Array::from_iter_values((100..150).map(|row| label(row) as i32))),
        Arc::new(Int64Array::from_iter_values((100..150).map(|row| label(row) as i64))),
    ];
    for labels in types {
        folder.parquet("parts/b.parquet", &[("prob", prob.clone()), ("label", labels)], Compression::SNAPPY);
        assert_eq!(figures(&json(&parts, &["--sigma", "0.5"])), figures(&expected));
    }
}

#[test]
fn an_error_names_the_file_of_the_folder() {
    let folder = Folder::new();
    let (parts, _) = parts(&folder);
    let refused = |name: &str, content: &str, text: &str| {
        let before = std::fs::read(folder.path(name)).ok();
        let path = folder.write(name, content);
        for threads in ["1", "3"] {
            assert_refused(&parts, &["--threads", threads], text);
        }
        match before {
            Some(before) => std::fs::write(path, before).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    };
    refused("parts/b.csv", "label,prob\n1,0.5\n0,1.5\n", "probability in line 3 of b.csv must be in [0, 1], got 1.5");
    refused(
        "parts/day=2/c.csv",
        "label,prob\n1,0.5\n,0.5\n",
        &format!("label in line 3 of day=2/c.csv is missing{LEAVE_OUT}"),
    );
    refused("parts/b.csv", "label,p\n1,0.5\n", "b.csv: has no column prob, which a.csv has");
    refused("parts/b.csv", "label,prob\n1,high\n", "b.csv: probabilities must be numbers, got text \"high\" in line 2");
    refused("parts/b.csv", "", "b.csv: the file is empty");
    let unknown = "notes.txt: the format is unknown; name the file .csv, .tsv, .jsonl, .ndjson (these also with .gz or .zst), \
                   .parquet, .arrow, .feather, .ipc, .npy or .npz, or pass --format";
    refused("parts/notes.txt", "hello", unknown);
    let lists = folder.path("lists");
    std::fs::create_dir(&lists).unwrap();
    folder.write("lists/a.jsonl", "{\"probs\": [0.5, 0.5], \"label\": 1}\n");
    folder.write("lists/b.jsonl", "{\"probs\": [0.5, 0.25, 0.25], \"label\": 1}\n");
    let text = "b.jsonl: has 3 classes, and another file of the folder 2";
    assert_refused(&lists, &["--threads", "1"], text);
}

#[test]
fn a_folder_of_sketches_is_one_sketch() {
    let folder = Folder::new();
    let (parts, expected) = parts(&folder);
    std::fs::create_dir(folder.path("sketches")).unwrap();
    for name in ["a.csv", "b.csv", "day=2/c.csv"] {
        let out = folder.path(&format!("sketches/{}.calipers", name.replace('/', "-")));
        succeed(&["sketch", parts.join(name).to_str().unwrap(), "-o", out.to_str().unwrap()]);
    }
    let sketches = folder.path("sketches");
    assert_eq!(json(&sketches, &["--sigma", "0.5"])["n"], expected["n"]);
    let merged = folder.path("all.calipers");
    succeed(&["merge", sketches.to_str().unwrap(), "-o", merged.to_str().unwrap()]);
    assert_eq!(json(&merged, &[])["n"], 300);
    let inside = sketches.join("all.calipers");
    let text = format!("{}: must not be an input too, got {}", inside.display(), sketches.display());
    assert_fails(&["merge", sketches.to_str().unwrap(), "-o", inside.to_str().unwrap()], &text);
}
