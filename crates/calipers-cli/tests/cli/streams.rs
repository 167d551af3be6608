//! Files of many rows, which are read part by part and never whole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float64Array, Int64Array};

use crate::support::{Folder, assert_fails, assert_refused, json, results, succeed};

/// More than are kept in memory.
const MANY: usize = (1 << 20) + 12_345;

fn probs(n: usize) -> Vec<f64> {
    (0..n).map(|row| ((row as f64 * 0.618_033_988_749_895).fract() * 1024.0).floor() / 1024.0).collect()
}

fn labels(n: usize) -> Vec<i64> {
    let noise = |row: usize| (row as f64 * 0.414_213_562_373_095).fract();
    probs(n).iter().enumerate().map(|(row, p)| i64::from(noise(row) < p * p)).collect()
}

fn columns(n: usize) -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("prob", Arc::new(Float64Array::from(probs(n))) as ArrayRef),
        ("label", Arc::new(Int64Array::from(labels(n))) as ArrayRef),
    ]
}

fn csv(n: usize) -> String {
    let rows = probs(n).into_iter().zip(labels(n)).map(|(prob, label)| format!("{prob},{label}\n"));
    "prob,label\n".to_owned() + &rows.collect::<String>()
}

/// An .npy file of little-endian elements.
fn npy(folder: &Folder, name: &str, descr: &str, n: usize, data: &[u8]) -> PathBuf {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n},), }}");
    header += &" ".repeat(118 - header.len());
    let length = (header.len() as u16).to_le_bytes();
    folder.write(name, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat())
}

/// Files that several tests read and none changes.
static SHARED: LazyLock<(Folder, PathBuf)> = LazyLock::new(|| {
    let folder = Folder::new();
    let path = folder.row_groups("many.parquet", &columns(MANY), 300_000);
    (folder, path)
});

fn many() -> &'static Path {
    &SHARED.1
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn many_rows_have_the_same_figures_in_every_format_and_those_of_the_rows_within_the_bounds() {
    let folder = Folder::new();
    let expected = json(many(), &["--sigma", "0.1"]);
    assert_eq!((&expected["method"], &expected["n"]), (&"sketch".into(), &MANY.into()));

    let bytes: Vec<u8> = probs(MANY).iter().flat_map(|p| p.to_le_bytes()).collect();
    let prob = npy(&folder, "prob.npy", "<f8", MANY, &bytes);
    let bits: Vec<u8> = labels(MANY).iter().map(|label| *label as u8).collect();
    let label = npy(&folder, "label.npy", "|b1", MANY, &bits);
    let csv = folder.write("many.csv", csv(MANY));
    let files: [(&Path, &[&str]); 3] = [
        (&csv, &[]),
        (&folder.arrow_batches("many.arrow", &columns(MANY), 50_000), &[]),
        (&prob, &["--label", text(&label)]),
    ];
    for (file, args) in files {
        let result = json(file, &[&["--sigma", "0.1"], args].concat());
        for key in ["method", "n", "ls_ece", "ece", "input"] {
            assert_eq!(result[key], expected[key], "{} {key}", file.display());
        }
    }
    // Bins of equal mass need the rows.
    let exact = json(many(), &["--sigma", "0.1", "--strategy", "quantile"]);
    assert_eq!(exact["method"], "rows");
    let bound = number(&exact["ls_ece"]["numerical_bound"]) + number(&expected["ls_ece"]["numerical_bound"]);
    assert!((number(&exact["ls_ece"]["value"]) - number(&expected["ls_ece"]["value"])).abs() <= bound);
    let tool = json(many(), &["--compat", "netcal"]);
    assert!((number(&tool["ece"]["value"]) - number(&expected["ece"]["value"])).abs() < 1e-9);
}

#[test]
fn what_a_sketch_cannot_answer_is_answered_from_the_rows() {
    let cases: [&[&str]; 4] =
        [&["--noise", "uniform"], &["--link", "probit"], &["--n-bins", "auto"], &["--sigma", "0.0001"]];
    for args in cases {
        assert_eq!(json(many(), args)["method"], "rows", "{args:?}");
    }
    assert_eq!(json(many(), &["--noise", "logistic", "--n-bins", "100", "--norm", "max"])["method"], "sketch");
}

#[test]
fn of_several_faults_the_first_row_is_named_whoever_reads_it() {
    let folder = Folder::new();
    let (mut prob, label) = (probs(MANY), labels(MANY));
    for row in [1_000_000, 700_000, 300_001] {
        prob[row] = -1.0;
    }
    let rows = prob.iter().zip(&label).map(|(prob, label)| format!("{prob},{label}\n"));
    let csv = folder.write("bad.csv", "prob,label\n".to_owned() + &rows.collect::<String>());
    let columns =
        [("prob", Arc::new(Float64Array::from(prob)) as ArrayRef), ("label", Arc::new(Int64Array::from(label)))];
    let files =
        [folder.row_groups("bad.parquet", &columns, 100_000), folder.arrow_batches("bad.arrow", &columns, 50_000), csv];
    for file in files {
        for threads in ["1", "4"] {
            let place = if file.extension().unwrap() == "csv" { "line 300003" } else { "row 300001 (counting from 0)" };
            let refusal = format!("probability in {place} must be in [0, 1], got -1");
            assert_refused(&file, &["--threads", threads], &refusal);
        }
        let result = json(&file, &["--invalid", "count"]);
        assert_eq!(result["input"]["left_out"], serde_json::json!({"invalid probability": 3}));
        assert_eq!(result["n"], MANY - 3);
    }
}

#[test]
fn what_is_said_of_the_whole_is_said_of_a_stream() {
    let folder = Folder::new();
    let missing = "positive label \"yes\" must occur in at least one row, got only 0, 1";
    assert_refused(many(), &["--pos-label", "yes"], missing);
    let zeros = vec![0.0; MANY];
    let columns = [columns(MANY), vec![("sample_weight", Arc::new(Float64Array::from(zeros)) as ArrayRef)]].concat();
    let path = folder.row_groups("weights.parquet", &columns, 500_000);
    assert_refused(&path, &[], &format!("weights must not all be zero, got {MANY} rows of weight 0"));
}

/// Labels of a CSV file are numbers if all are: one cell at the end, blocks after the first,
/// decides.
#[test]
fn the_type_of_labels_does_not_depend_on_blocks() {
    let folder = Folder::new();
    // Two blocks, and few enough rows for one way of measuring them.
    let n = 110_000;
    let rows = |last: &str| {
        let rows = probs(n).into_iter().zip(labels(n)).map(|(prob, label)| format!("{prob},{label}\n"));
        format!("prob,label\n{}0.5,{last}\n", rows.collect::<String>())
    };
    let plain = json(&folder.write("plain.csv", rows("0")), &[]);
    let fraction = json(&folder.write("fraction.csv", rows("0.0")), &[]);
    assert_eq!(fraction["ls_ece"], plain["ls_ece"]);
    // As numbers 1.0 is the label 1, as text it is not.
    assert_eq!(json(&folder.write("numbers.csv", rows("0.0")), &["--pos-label", "1.0"])["ls_ece"], plain["ls_ece"]);
    let text = folder.write("text.csv", rows("none"));
    assert_eq!(json(&text, &["--pos-label", "1"])["ls_ece"], plain["ls_ece"]);
    let absent = "positive label \"1.0\" must occur in at least one row, got only \"0\", \"1\", \"none\"";
    assert_refused(&text, &["--pos-label", "1.0"], absent);
    let labels = "the labels are 0, 1, none; name the positive label with --pos-label";
    let refusal = format!("label in line {} must be 0 or 1, got \"none\"; {labels}", n + 2);
    assert_refused(&text, &[], &refusal);
    assert_eq!(json(&text, &["--invalid", "count"])["input"]["left_out"], serde_json::json!({"invalid label": 1}));
    let ragged = rows("0").replace("0.5,0\n", "0.5,0,7\n");
    let line = ragged.lines().position(|line| line.matches(',').count() == 2).unwrap() + 1;
    assert_refused(&folder.write("ragged.csv", ragged), &[], &format!("line {line} has 3 cells, the first line has 2"));
}

#[test]
fn quotes_across_blocks_are_read_as_in_one() {
    let folder = Folder::new();
    let n = 100_000;
    let rows = |filler: &str| {
        let rows = probs(n).into_iter().zip(labels(n)).map(|(prob, label)| format!("{filler},{prob},{label}\n"));
        "filler,prob,label\n".to_owned() + &rows.collect::<String>()
    };
    let expected = json(&folder.write("plain.csv", rows("x")), &[]);
    let quoted = json(&folder.write("quoted.csv", rows("\"a, \"\"b\"\"\r\nc\"")), &[]);
    assert_eq!(quoted["ls_ece"], expected["ls_ece"]);
    assert_eq!(json(&folder.write("inches.csv", rows("5\" pipe")), &[])["ls_ece"], expected["ls_ece"]);
    assert_eq!(json(&folder.write("cr.csv", rows("x").replace('\n', "\r")), &[])["ls_ece"], expected["ls_ece"]);
}

#[test]
fn patterns_name_files_and_no_file_is_refused() {
    let folder = Folder::new();
    for name in ["b.csv", "a.csv", "c.tsv"] {
        folder.write(name, "label,prob\n1,0.5\n0,0.25\n");
    }
    let pattern = folder.path("*.csv");
    let files: Vec<String> =
        results(&[text(&pattern)]).iter().map(|result| result["file"].as_str().unwrap().to_owned()).collect();
    assert_eq!(files, [folder.path("a.csv"), folder.path("b.csv")].map(|path| text(&path).to_owned()));
    let absent = folder.path("*.parquet");
    assert_fails(&["measure", text(&absent)], &format!("{}: no file has such a name", absent.display()));
    let odd = folder.write("odd[1].csv", "label,prob\n1,0.5\n");
    assert_eq!(json(&odd, &[])["n"], 1);
    // A folder is one table, so its files need the same columns.
    let folder_path = folder.path("");
    let other_columns = format!("{}: c.tsv: has no column prob, which a.csv has", folder_path.display());
    assert_fails(&["measure", text(&folder_path)], &other_columns);
}

#[test]
fn files_together_are_measured_as_their_rows() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.csv", "label,prob\n1,0.5\n0,0.25\n"), folder.write("b.csv", "label,prob\n0,0.75\n"));
    let all = folder.write("all.csv", "label,prob\n1,0.5\n0,0.25\n0,0.75\n");
    let together = &results(&[text(&a), text(&b), "--together", "--sigma", "0.5"])[0];
    let alone = json(&all, &["--sigma", "0.5"]);
    assert_eq!((&together["n"], &together["method"]), (&3.into(), &"sketch".into()));
    assert_eq!(together["file"], serde_json::json!([text(&a), text(&b)]));
    assert!((number(&together["ls_ece"]["value"]) - number(&alone["ls_ece"]["value"])).abs() <= 2e-6);
    assert!((number(&together["ece"]["value"]) - number(&alone["ece"]["value"])).abs() <= 1e-12);
    let table = succeed(&["measure", text(&a), text(&b), "--together"]);
    assert!(table.contains("a and 1") && table.lines().any(|line| line.split_whitespace().eq(["n", "3"])), "{table}");
    let needs = "--together makes a sketch of all files, which needs --noise gaussian or logistic, --link logistic, a \
                 number of --n-bins of equal width without --compat, and no --multiclass classwise";
    assert_fails(&["measure", text(&a), text(&b), "--together", "--noise", "uniform"], needs);
    // Groups of few rows are measured in memory, whatever a sketch knows.
    assert_eq!(results(&[text(&a), "--by", "prob", "--compat", "netcal"]).len(), 3);
}

/// On a terminal there is a line that says how far it is; everywhere else standard error is empty,
/// as all tests see.
#[test]
fn progress_is_for_terminals() {
    let run = std::process::Command::new("script")
        .args(["-qec", &format!("{} measure {}", env!("CARGO_BIN_EXE_calipers"), many().display()), "/dev/null"])
        .output();
    let Ok(output) = run else {
        eprintln!("no script(1) to make a terminal: skipped");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("many.parquet") && shown.contains("rows/s") && shown.contains(" left"), "{shown}");
}
