//! The shared table of rows that are not quite right, `fixtures/inexact.json`, through the command:
//! every format and a sketch count them alike.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray};
use parquet::basic::Compression;
use serde_json::Value;

use crate::refusals::{array, flags};
use crate::support::{Folder, json, measure, succeed};

fn table() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../../fixtures/inexact.json")).unwrap()
}

fn numbers(row: &Value) -> Vec<f64> {
    row.as_array().map_or_else(|| vec![row.as_f64().unwrap()], |row| row.iter().map(|p| p.as_f64().unwrap()).collect())
}

/// The columns as Arrow has them: numbers, or lists of numbers.
fn columns(case: &Value) -> [(&'static str, ArrayRef); 2] {
    let rows = case["y_prob"].as_array().unwrap();
    let probabilities: ArrayRef = match rows[0].is_array() {
        false => Arc::new(Float64Array::from_iter_values(rows.iter().flat_map(numbers))),
        true => Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(
            rows.iter().map(|row| Some(numbers(row).into_iter().map(Some))),
        )),
    };
    let labels = case["y_true"].as_array().unwrap().iter().map(|label| label.as_i64().unwrap());
    [("label", Arc::new(Int64Array::from_iter_values(labels))), ("prob", probabilities)]
}

/// A column for each class, of which `prob` are the only one.
fn csv(case: &Value) -> String {
    let rows = || case["y_prob"].as_array().unwrap().iter().map(numbers);
    let n_classes = rows().next().unwrap().len();
    let header: Vec<String> = (0..n_classes).map(|class| format!("p_{class}")).collect();
    let names = if n_classes == 1 { "prob".to_owned() } else { header.join(",") };
    let line = |(label, row): (&Value, Vec<f64>)| {
        format!("{label},{}\n", row.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
    };
    format!("label,{names}\n") + &case["y_true"].as_array().unwrap().iter().zip(rows()).map(line).collect::<String>()
}

fn jsonl(case: &Value) -> String {
    let rows = case["y_true"].as_array().unwrap().iter().zip(case["y_prob"].as_array().unwrap());
    rows.map(|(label, prob)| format!("{{\"label\": {label}, \"prob\": {prob}}}\n")).collect()
}

fn assert_counted(path: &Path, flags: &[&str], case: &Value) {
    let input = &json(path, flags)["input"];
    for count in ["n_rounded", "n_inexact_sums", "left_out"] {
        assert_eq!(input[count], case[count], "{}: {}", case["name"], path.display());
    }
}

#[test]
fn every_format_counts_rows_that_are_not_quite_right() {
    for case in table() {
        let folder = Folder::new();
        let options = flags(case["options"].as_object().unwrap());
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let values = |name: &str| array(case[name].as_array().unwrap());
        let columns = columns(&case);
        let files = [
            folder.npz("a.npz", &[("label", values("y_true")), ("prob", values("y_prob"))]),
            folder.write("a.jsonl", jsonl(&case)),
            folder.parquet("a.parquet", &columns, Compression::SNAPPY),
            folder.arrow("a.arrow", &columns, None),
        ];
        for path in &files {
            assert_counted(path, &options, &case);
        }
        let classes = if case["y_prob"][0].is_array() { vec!["--prob", "p_*"] } else { Vec::new() };
        assert_counted(&folder.write("a.csv", csv(&case)), &[&options[..], &classes].concat(), &case);
        let sketch = folder.path("a.calipers");
        let args = ["sketch", files[0].to_str().unwrap(), "-o", sketch.to_str().unwrap()];
        succeed(&[&args[..], &options].concat());
        assert_counted(&sketch, &[], &case);
    }
}

#[test]
fn inexact_sums_are_noted_and_explained() {
    let folder = Folder::new();
    let path = folder.write("a.jsonl", "{\"label\": 0, \"prob\": [0.33, 0.33, 0.33]}\n");
    let table = measure(&path, &[]);
    assert!(table.contains("1 inexact sums"), "{table}");
    let line = "\ninexact sums: rows whose class probabilities sum to 1 only within --sum-tolerance, used as given.\n";
    assert!(table.contains(line), "{table}");
}
