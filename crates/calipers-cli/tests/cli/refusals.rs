//! The shared table of refusals, `fixtures/refusals.json`, through the command.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::support::{Array, Folder, LEAVE_OUT, Run, calipers};

fn table() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/refusals.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_refusal_has_its_exact_text() {
    let cases: Vec<Value> =
        table().into_iter().filter(|case| case["surfaces"].as_array().unwrap().contains(&"cli".into())).collect();
    assert!(cases.len() > 40);
    for case in cases {
        let folder = Folder::new();
        let (path, mut flags) = (write(&folder, &case), flags(case["options"].as_object().unwrap()));
        let verb = if case["measure"] == "assess" { "assess" } else { "measure" };
        flags.splice(0..0, [verb.to_owned(), path.to_str().unwrap().to_owned()]);
        let run = calipers(&flags.iter().map(String::as_str).collect::<Vec<_>>());

        let hint = match case["code"].as_str() {
            Some("row_sum") => "; a quantised model needs a wider --sum-tolerance, raw scores need --from-logits",
            Some("invalid_outcome") => "; name the positive label with --pos-label",
            Some("percentages") => ", or pass --scale 100",
            Some("looks_like_logits") => "; pass --from-logits",
            Some("missing") if case["text"].as_str().unwrap().starts_with("cluster") => "",
            Some("missing" | "invalid_probability" | "invalid_logit" | "invalid_weight") if has_no_number(&case) => {
                LEAVE_OUT
            }
            _ => "",
        };
        let text = at_place(case["text"].as_str().unwrap(), &path) + hint;
        let with_file = format!("calipers: {}: {text}\n", path.display());
        // A wrong option is refused before any file is read.
        let is_option = case["code"] == "invalid_setting";
        let stderr = if is_option && run.stderr != with_file { format!("calipers: {text}\n") } else { with_file };
        assert_eq!(run, Run { code: Some(2), stdout: String::new(), stderr }, "{}", case["name"]);
    }
}

/// Whether the error is about a value that is missing, NaN or infinite.
fn has_no_number(case: &Value) -> bool {
    let text = case["text"].as_str().unwrap();
    ["is missing", "got NaN", "got inf", "got -inf"].iter().any(|end| text.ends_with(end))
}

/// The text with the row as the command names it: the line of a text file, or what it counts from.
fn at_place(text: &str, path: &Path) -> String {
    let Some((before, after)) = text.split_once("in row ") else { return text.to_owned() };
    let digits = after.chars().take_while(char::is_ascii_digit).count();
    let (row, after) = after.split_at(digits);
    let place = match path.extension().unwrap().to_str().unwrap() {
        "csv" => format!("line {}", row.parse::<u64>().unwrap() + 2),
        _ => format!("row {row} (counting from 0)"),
    };
    format!("{before}in {place}{after}")
}

pub(crate) fn flags(options: &Map<String, Value>) -> Vec<String> {
    let flag = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match name.as_str() {
            "from_logits" if value == "true" => "--from-logits".to_owned(),
            "cluster" => "--cluster=cluster".to_owned(),
            name => format!("--{}={value}", name.replace('_', "-")),
        }
    };
    options.iter().map(flag).collect()
}

/// A CSV file for columns of one length, else an .npz file.
fn write(folder: &Folder, case: &Value) -> PathBuf {
    let columns = [
        ("label", &case["y_true"]),
        ("prob", &case["y_prob"]),
        ("sample_weight", &case["sample_weight"]),
        ("cluster", &case["options"]["cluster"]),
    ];
    let columns: Vec<(&str, &Vec<Value>)> =
        columns.into_iter().filter_map(|(name, values)| values.as_array().map(|values| (name, values))).collect();
    let n = columns[0].1.len();
    if columns.iter().all(|(_, values)| values.len() == n && !values.iter().any(Value::is_array)) {
        return folder.write("predictions.csv", csv(&columns, n));
    }
    let arrays: Vec<(&str, Array)> = columns.iter().map(|(name, values)| (*name, array(values))).collect();
    folder.npz("predictions.npz", &arrays)
}

fn csv(columns: &[(&str, &Vec<Value>)], n: usize) -> String {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let header = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let row = |row: usize| columns.iter().map(|(_, values)| cell(&values[row])).collect();
    let lines: Vec<Vec<String>> = std::iter::once(header).chain((0..n).map(row)).collect();
    lines.iter().map(|line| line.join(",") + "\n").collect()
}

pub(crate) fn array(values: &[Value]) -> Array {
    let (mut shape, mut flat) = (vec![values.len() as u64], values.to_vec());
    while let Some(Value::Array(first)) = flat.first() {
        shape.push(first.len() as u64);
        flat = flat.iter().flat_map(|row| row.as_array().unwrap().clone()).collect();
    }
    if flat.iter().all(Value::is_i64) {
        return Array::Integers(shape, flat.iter().map(|value| value.as_i64().unwrap()).collect());
    }
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
    Array::Double(shape, flat.iter().map(number).collect())
}
