//! JSON lines are read as the same rows in any other format are, and refused in the same words.

use std::path::PathBuf;

use serde_json::{Value, json as value};

use crate::support::{Array, Folder, LEAVE_OUT, assert_refused, json, measure, results, succeed};

/// Rows of a file, an object each.
fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn figures(result: &Value) -> [Value; 4] {
    ["n", "ls_ece", "ece", "input"].map(|key| result[key].clone())
}

fn prob(row: usize) -> f64 {
    (row as f64 * 0.618_033_988_749_895).fract()
}

fn label(row: usize) -> u8 {
    u8::from((row as f64 * 0.414_213_562_373_095).fract() < prob(row))
}

fn pair(folder: &Folder, n: usize) -> (PathBuf, PathBuf) {
    let rows: Vec<Value> =
        (0..n).map(|row| value!({"id": row, "label": label(row), "text": "a \"b\", {c}", "prob": prob(row)})).collect();
    let csv: String = (0..n).map(|row| format!("{},{}\n", label(row), prob(row))).collect();
    (folder.write("a.jsonl", lines(&rows)), folder.write("a.csv", "label,prob\n".to_owned() + &csv))
}

#[test]
fn figures_are_those_of_the_same_rows_as_csv() {
    let folder = Folder::new();
    let (jsonl, csv) = pair(&folder, 2_000);
    let expected = figures(&json(&csv, &[]));
    assert_eq!(figures(&json(&jsonl, &[])), expected);
    let text = std::fs::read_to_string(&jsonl).unwrap();
    let variants = [
        ("crlf.ndjson", text.replace('\n', "\r\n")),
        ("blank.jsonl", text.replace('\n', "\n\n")),
        ("bom.jsonl", format!("\u{feff}{text}")),
        ("spaces.jsonl", text.replace(':', " : ").replace('{', " { ")),
        ("whole.jsonl", text.trim_end().to_owned()),
        ("escaped.jsonl", text.replace("\"prob\"", "\"pr\\u006fb\"")),
    ];
    for (name, text) in variants {
        assert_eq!(figures(&json(&folder.write(name, text), &[])), expected, "{name}");
    }
}

#[test]
fn many_rows_on_many_threads_are_those_of_csv() {
    let folder = Folder::new();
    let (jsonl, csv) = pair(&folder, (1 << 20) + 5_000);
    let many = json(&jsonl, &["--sigma", "0.1"]);
    assert_eq!(many["method"], "sketch");
    assert_eq!(figures(&many), figures(&json(&csv, &["--sigma", "0.1"])));
    assert_eq!(figures(&json(&jsonl, &["--sigma", "0.1", "--threads", "3"])), figures(&many));
}

#[test]
fn labels_are_what_json_says_that_they_are() {
    let folder = Folder::new();
    let of = |name: &str, yes: Value, no: Value, args: &[&str]| {
        let rows: Vec<Value> =
            (0..50).map(|row| value!({"label": if label(row) == 1 { &yes } else { &no }, "prob": prob(row)})).collect();
        figures(&json(&folder.write(name, lines(&rows)), args))
    };
    let expected = of("integers.jsonl", value!(1), value!(0), &[]);
    assert_eq!(of("numbers.jsonl", value!(1.0), value!(0.0), &[]), expected);
    assert_eq!(of("truths.jsonl", value!(true), value!(false), &[]), expected);
    assert_eq!(of("texts.jsonl", value!("yes"), value!("no"), &["--pos-label", "yes"]), expected);
    assert_eq!(of("escaped.jsonl", value!("y\"es"), value!("no"), &["--pos-label", "y\"es"]), expected);
    assert_eq!(of("positive.jsonl", value!(true), value!(false), &["--pos-label", "true"]), expected);
}

#[test]
fn lists_are_the_probabilities_of_classes() {
    let folder = Folder::new();
    let probs = [[0.5, 0.25, 0.25], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.25, 0.5, 0.25]];
    let labels = [0, 1, 2, 0];
    let rows: Vec<Value> =
        probs.iter().zip(labels).map(|(probs, label)| value!({"probs": probs, "label": label})).collect();
    let flat = probs.concat();
    let arrays = [("probs", Array::Double(vec![4, 3], flat)), ("labels", Array::Integers(vec![4], vec![0, 1, 2, 0]))];
    let expected = figures(&json(&folder.npz("a.npz", &arrays), &[]));
    assert_eq!(figures(&json(&folder.write("a.jsonl", lines(&rows)), &[])), expected);

    let with = |rows: &[Value]| folder.write("bad.jsonl", lines(rows));
    let shape = "probabilities must have shape (n,) or (n, k), got";
    let short = value!({"probs": [0.5, 0.5], "label": 1});
    let path = with(&[rows[0].clone(), short]);
    assert_refused(&path, &[], &format!("{shape} 2 values in line 2 of column probs and 3 before it"));
    let path = with(&[rows[0].clone(), value!({"probs": 0.5, "label": 1})]);
    assert_refused(&path, &[], &format!("{shape} 1 values in line 2 of column probs and 3 before it"));
    let path = with(&[value!({"probs": [], "label": 1})]);
    assert_refused(&path, &[], &format!("{shape} no values in line 1 of column probs"));
    let null = [value!({"probs": null, "label": 1}), rows[1].clone(), value!({"probs": [0.5, null, 0.5], "label": 0})];
    assert_refused(&with(&null), &[], &format!("probability in line 1 is missing{LEAVE_OUT}"));
    let counted = json(&with(&null), &["--invalid", "count"]);
    assert_eq!((&counted["n"], &counted["input"]["left_out"]), (&value!(1), &value!({"missing probability": 2})));
}

#[test]
fn what_is_missing_or_wrong_is_refused_with_its_row() {
    let folder = Folder::new();
    let good = value!({"prob": 0.5, "label": 1});
    let cases = [
        (value!({"prob": null, "label": 1}), "probability in line 2 is missing"),
        (value!({"label": 1}), "probability in line 2 is missing"),
        (value!({"prob": 0.5, "label": null}), "label in line 2 is missing"),
        (value!({"prob": 1.5, "label": 1}), "probability in line 2 must be in [0, 1], got 1.5"),
        (value!({"prob": "0.5", "label": 1}), "probabilities must be numbers, got text \"0.5\" in line 2"),
        (
            value!({"prob": {"a": 1}, "label": 1}),
            "probabilities must be numbers, got an object in line 2 of column prob",
        ),
    ];
    for (bad, text) in cases {
        let hint = if text.ends_with("is missing") { LEAVE_OUT } else { "" };
        assert_refused(&folder.write("bad.jsonl", lines(&[good.clone(), bad])), &[], &format!("{text}{hint}"));
    }
    let lists = folder.write("lists.jsonl", "{\"prob\": 0.5, \"label\": [1]}\n");
    assert_refused(&lists, &[], "labels must have shape (n,), got a list in line 1 of column label");
    let cut = folder.write("cut.jsonl", "{\"prob\": 0.5, \"label\": 1}\n\n{\"prob\": 0.5, \"lab");
    assert_refused(&cut, &[], "cannot read as JSON lines: line 3, column 18: EOF while parsing a string");
    let list = folder.write("list.jsonl", "[1, 2]\n");
    let object = "an object, as {\"prob\": 0.5, \"label\": 1}";
    let refusal = format!("cannot read as JSON lines: line 1, column 0: invalid type: sequence, expected {object}");
    assert_refused(&list, &[], &refusal);
    for (word, column) in [("NaN", 10), ("Infinity", 10), ("-Infinity", 11)] {
        let no_number = folder.write("word.jsonl", format!("{{\"prob\": {word}, \"label\": 1}}\n"));
        let refusal = format!(
            "cannot read as JSON lines: line 1, column {column}: JSON has no {word}; null stands for a missing value"
        );
        assert_refused(&no_number, &[], &refusal);
    }
    let counted = folder.write("counted.jsonl", "{\"prob\": 0.5, \"label\": 1}\n{\"prob\": \"high\", \"label\": 1}\n");
    assert_eq!(json(&counted, &["--invalid", "count"])["n"], 1);
    let columns = "the columns are prob, label";
    let path = folder.write("good.jsonl", lines(&[good]));
    assert_refused(
        &path,
        &["--label", "lable"],
        &format!("no column lable for --label; did you mean label? {columns}"),
    );
}

#[test]
fn groups_and_sketches_work_as_from_any_file() {
    let folder = Folder::new();
    let rows: Vec<Value> = (0..400)
        .map(|row| value!({"prob": prob(row), "label": label(row), "g": if row % 2 == 0 { value!("x") } else { value!(7) }}))
        .collect();
    let path = folder.write("a.jsonl", lines(&rows));
    let path = path.to_str().unwrap();
    let keys: Vec<Value> = results(&[path, "--by", "g"]).iter().map(|result| result["group"].clone()).collect();
    assert_eq!(keys, [value!(null), value!("7"), value!("x")]);
    let out = folder.path("a.parquet");
    succeed(&["sketch", path, "--by", "g", "-o", out.to_str().unwrap()]);
    assert!(measure(&out, &[]).contains("\n7  "));
}
