//! Looking at a file, and reading only its first rows.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, StringArray};
use parquet::basic::Compression;
use serde_json::{Value, json as value};

use crate::support::{Array, Folder, assert_refused, calipers, json, measure, succeed};

fn looked(args: &[&str]) -> Vec<Value> {
    let all: Value = serde_json::from_str(&succeed(&[&["inspect", "--json"], args].concat())).unwrap();
    all["files"].as_array().unwrap().clone()
}

#[test]
fn names_types_values_and_rows_of_every_format_are_shown() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", "label,prob,who,note\n1,0.5,a,\n0,1,b,\n1,0.25,c,x\n");
    let seen = &looked(&[csv.to_str().unwrap()])[0];
    assert_eq!((&seen["format"], &seen["n"]), (&value!("csv"), &value!(3)));
    let columns = value!([
        {"name": "label", "type": "integers", "likely": "label", "values": ["1", "0", "1"]},
        {"name": "prob", "type": "numbers", "likely": "probability", "values": ["0.5", "1", "0.25"]},
        {"name": "who", "type": "text", "likely": null, "values": ["a", "b", "c"]},
        {"name": "note", "type": "text", "likely": null, "values": [null, null, "x"]},
    ]);
    assert_eq!(seen["columns"], columns);
    let lists = vec![Some(vec![Some(0.5), Some(0.5)]), None];
    let arrow: [(&str, ArrayRef); 3] = [
        ("label", Arc::new(Int64Array::from(vec![1, 0]))),
        ("probs", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists))),
        ("who", Arc::new(StringArray::from(vec!["a", "b"]))),
    ];
    let parquet = folder.parquet("a.parquet", &arrow, Compression::SNAPPY);
    let seen = &looked(&[parquet.to_str().unwrap()])[0];
    assert_eq!((&seen["n"], &seen["columns"][0]["type"]), (&value!(2), &value!("Int64")));
    assert_eq!(seen["columns"][1]["values"], value!(["[0.5, 0.5]", null]));
    let npz = folder.npz("a.npz", &[("probs", Array::Single(vec![2, 2], vec![0.5, 0.5, 1.0, 0.0]))]);
    let seen = &looked(&[npz.to_str().unwrap()])[0];
    let expected =
        value!({"name": "probs", "type": "<f4 (2, 2)", "likely": "probability", "values": ["[0.5, 0.5]", "[1, 0]"]});
    assert_eq!(seen["columns"][0], expected);
    let jsonl =
        folder.write("a.jsonl", "{\"label\": true, \"probs\": [0.5, 0.5]}\n{\"label\": false, \"probs\": null}\n");
    let seen = &looked(&[jsonl.to_str().unwrap()])[0];
    let types: Vec<&Value> = seen["columns"].as_array().unwrap().iter().map(|column| &column["type"]).collect();
    assert_eq!((&seen["n"], types), (&value!(2), vec![&value!("true and false"), &value!("lists of numbers")]));
    let table = succeed(&["inspect", csv.to_str().unwrap()]);
    assert!(
        table.contains("a.csv: csv, 3 rows, 4 columns\n")
            && table.contains("\nprob    numbers   probability  0.5, 1, 0.25\n"),
        "{table}"
    );
}

#[test]
fn how_text_is_written_and_what_columns_are_is_shown() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "Score;y;who\n57,5;True;a\n12,0;False;b\n");
    let seen = &looked(&[path.to_str().unwrap()])[0];
    assert_eq!([&seen["delimiter"], &seen["decimal"]], [";", "."]);
    let columns = seen["columns"].as_array().unwrap();
    let types: Vec<&Value> = columns.iter().map(|column| &column["type"]).collect();
    assert_eq!(types, ["numbers with a decimal comma", "true and false", "text"]);
    let likely: Vec<&Value> = columns.iter().map(|column| &column["likely"]).collect();
    assert_eq!(likely, [&value!("probability"), &value!("label"), &Value::Null]);
    let table = succeed(&["inspect", path.to_str().unwrap(), "--decimal", ","]);
    assert!(table.contains("a.csv: csv with ; between cells and a decimal comma, 2 rows, 3 columns\n"), "{table}");
    let zstd = folder.write("a.jsonl.zst", zstd::encode_all(&b"{\"p_0\": 0.5, \"p_1\": 0.5}\n"[..], 1).unwrap());
    let seen = &looked(&[zstd.to_str().unwrap()])[0];
    assert_eq!([&seen["format"], &seen["compression"]], ["jsonl", "zstd"]);
    assert_eq!([&seen["columns"][0]["likely"], &seen["columns"][1]["likely"]], ["class", "class"]);
}

#[test]
fn a_hostile_name_is_shown_and_does_nothing() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,\"pr\u{1b}[31mob\"\n1,0.5\n");
    let table = succeed(&["inspect", path.to_str().unwrap()]);
    assert!(!table.contains('\u{1b}') && table.contains("pr\\u{1b}[31mob"), "{table}");
}

#[test]
fn a_limit_is_as_a_file_of_so_many_rows() {
    let folder = Folder::new();
    let n = 300;
    let row = |row: usize| format!("{},{}\n", row % 3 % 2, (row * 37 % 100) as f64 / 100.0);
    let rows = |n: usize| "label,prob\n".to_owned() + &(0..n).map(row).collect::<String>();
    // What comes after the limit is not looked at.
    let long = folder.write("long.csv", rows(n) + "maybe,high\n");
    let probs: Vec<f64> = (0..n).map(|row| (row * 37 % 100) as f64 / 100.0).chain([7.0]).collect();
    let labels: Vec<i64> = (0..n).map(|row| (row % 3 % 2) as i64).chain([9]).collect();
    let lines: String = (0..n)
        .map(|row| format!("{{\"label\": {}, \"prob\": {}}}\n", row % 3 % 2, (row * 37 % 100) as f64 / 100.0))
        .chain(["{\"label\": \"maybe\"}\n".to_owned()])
        .collect();
    let columns: [(&str, ArrayRef); 2] =
        [("label", Arc::new(Int64Array::from(labels.clone()))), ("prob", Arc::new(Float64Array::from(probs.clone())))];
    let arrays = [
        ("labels", Array::Integers(vec![labels.len() as u64], labels)),
        ("probs", Array::Double(vec![probs.len() as u64], probs)),
    ];
    let files = [
        long,
        folder.write("quoted.csv", rows(n).replace("label", "\"label\"") + "\"maybe\",high\n"),
        folder.write("a.jsonl", lines),
        folder.row_groups("a.parquet", &columns, 70),
        folder.arrow("a.arrow", &columns, None),
        folder.arrow_stream("stream.arrow", &columns),
        folder.npz("a.npz", &arrays),
    ];
    for limit in [1, 2, 69, 70, 71, n] {
        let expected = json(&folder.write("short.csv", rows(limit)), &["--sigma", "0.5"]);
        for file in &files {
            let limited = json(file, &["--sigma", "0.5", "--limit", &limit.to_string()]);
            assert_eq!(limited["limit"], limit);
            for key in ["n", "ls_ece", "ece", "input"] {
                assert_eq!(limited[key], expected[key], "{} {limit}", file.display());
            }
        }
    }
    assert_refused(&files[0], &[], "probabilities must be numbers, got text \"high\" in line 302");
    assert!(measure(&files[0], &["--limit", "7"]).contains("\nOnly the first 7 rows of each file were read.\n"));
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", files[0].to_str().unwrap(), "--limit", "100", "-o", sketch.to_str().unwrap()]);
    assert_eq!(json(&sketch, &[])["n"], 100);
    assert_refused(&sketch, &["--limit", "7"], "--limit needs the rows, which a sketch does not have");
    assert_eq!(calipers(&["measure", files[0].to_str().unwrap(), "--limit", "0"]).code, Some(2));
}

#[test]
fn colours_are_for_terminals_or_by_request() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob\n1,0.5\n0,0.25\n1,0.75\n");
    let plain = measure(&path, &[]);
    assert!(!plain.contains('\u{1b}'));
    let painted = measure(&path, &["--color", "always"]);
    assert!(painted.contains("\u{1b}[1mmeasure"), "{painted}");
    assert_eq!(console::strip_ansi_codes(&painted), plain);
    assert_eq!(measure(&path, &["--color", "never"]), plain);
    assert!(!measure(&path, &["--color", "always", "--json"]).contains('\u{1b}'));
}
