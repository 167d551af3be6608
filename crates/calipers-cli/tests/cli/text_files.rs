//! Text as people write it: delimiters, decimal commas, percentages, labels, and lines for errors.

use std::path::Path;

use serde_json::{Value, json as value};

use crate::support::{Array, Folder, LEAVE_OUT, assert_refused, calipers, json, measure, succeed};

const ROWS: [(u8, &str); 4] = [(1, "0.9"), (0, "0.25"), (1, "0.5"), (0, "0.125")];

fn text(delimiter: &str) -> String {
    let row = |(label, prob): (u8, &str)| format!("{label}{delimiter}a{delimiter}{prob}\n");
    format!("label{delimiter}note{delimiter}prob\n{}", ROWS.map(row).concat())
}

fn measures(path: &Path, args: &[&str]) -> Value {
    json(path, &[args, &["--sigma", "0.5"]].concat())["measures"].clone()
}

#[test]
fn the_delimiter_is_seen_or_given() {
    let folder = Folder::new();
    let expected = measures(&folder.write("comma.csv", text(",")), &[]);
    for (name, delimiter) in [(";", ";"), ("|", "|"), ("tab", "\t"), ("\\t", "\t")] {
        let path = folder.write("a.csv", text(delimiter));
        assert_eq!(measures(&path, &[]), expected, "{delimiter:?}");
        assert_eq!(measures(&path, &["--delimiter", name]), expected, "{delimiter:?}");
    }
    let path = folder.write("colon.csv", text(":"));
    assert_eq!(measures(&path, &["--delimiter", ":"]), expected);
    // Within quotes and within text nothing is a delimiter.
    let quoted = text(";").replace(";a;", ";\"x, y; z, w\";").replace("note", "\"note, with commas, and more\"");
    assert_eq!(measures(&folder.write("quoted.csv", quoted), &[]), expected);
    let absent = "no column is named like a probability (prob, proba, y_prob, score, p or logit): choose one with --prob; \
                  the columns are label;note;prob";
    assert_refused(&folder.write("b.csv", text(";")), &["--delimiter", ","], absent);
    assert_eq!(calipers(&["measure", "a.csv", "--delimiter", "ab"]).code, Some(2));
    let parquet = "--delimiter is for CSV, and this file is jsonl";
    let lines = folder.write("a.jsonl", "{\"label\": 1, \"prob\": 0.5}\n");
    assert_refused(&lines, &["--delimiter", ";"], parquet);
}

#[test]
fn a_decimal_comma_is_read_if_it_is_named_and_hinted_at_otherwise() {
    let folder = Folder::new();
    let expected = measures(&folder.write("point.csv", text(",")), &[]);
    let path = folder.write("a.csv", text(";").replace("0.", "0,"));
    assert_eq!(measures(&path, &["--decimal", ","]), expected);
    let hint =
        "probabilities must be numbers, got text \"0,9\" in line 2; pass --decimal , for numbers with a decimal comma";
    assert_refused(&path, &[], hint);
    let other = "probabilities must be numbers, got text \"0.9\" in line 2";
    assert_refused(&folder.write("b.csv", text(";")), &["--decimal", ","], other);
    assert_refused(&path, &["--decimal", ",", "--delimiter", ","], "--delimiter and --decimal must differ");
}

#[test]
fn percentages_are_scaled_if_asked_for_and_hinted_at_otherwise() {
    let folder = Folder::new();
    let expected = measures(&folder.write("a.csv", text(",")), &[]);
    let percent = text(",").replace("0.9", "90").replace("0.25", "25").replace("0.5", "50").replace("0.125", "12.5");
    let path = folder.write("percent.csv", &percent);
    let scaled = json(&path, &["--scale", "100", "--sigma", "0.5"]);
    assert_eq!((&scaled["measures"], &scaled["scale"]), (&expected, &value!(100.0)));
    let hint = "probability in line 2 must be in [0, 1], got 90; the largest value is 90: if these are percentages, \
                divide them by 100, or pass --scale 100";
    assert_refused(&path, &[], hint);
    let classes =
        folder.write("classes.jsonl", "{\"probs\": [25, 75], \"label\": 1}\n{\"probs\": [100, 0], \"label\": 0}\n");
    assert_eq!(json(&classes, &["--scale", "100"])["input"]["n_rounded"], 0);
    assert_eq!(calipers(&["measure", "a.csv", "--scale", "0"]).code, Some(2));
    let logits = folder.write("logits.csv", "logit,label\n1,1\n");
    assert_refused(&logits, &["--scale", "100"], "--scale is for probabilities, and logit are logits");
}

#[test]
fn a_percent_sign_makes_a_percentage() {
    let folder = Folder::new();
    let expected = measures(&folder.write("a.csv", text(",")), &[]);
    let signs =
        text(";").replace("0.9", "90 %").replace("0.25", "25%").replace("0.5", "50 %").replace("0.125", "12,5 %");
    let path = folder.write("signs.csv", &signs);
    assert_eq!(measures(&path, &["--decimal", ","]), expected);
    // The scale divides, and not the sign again.
    assert_eq!(measures(&path, &["--decimal", ",", "--scale", "100"]), expected);
    let half = folder.write("half.csv", "p,y\n0.5 %,0\n50 %,1\n");
    let plain = folder.write("plain.csv", "p,y\n0.005,0\n0.5,1\n");
    assert_eq!(measures(&half, &[]), measures(&plain, &[]));
    let comma = folder.write("comma.csv", "p;y\n12,5 %;0\n50 %;1\n");
    let hint = "probabilities must be numbers, got text \"12,5 %\" in line 2; pass --decimal , for numbers with a \
                decimal comma";
    assert_refused(&comma, &[], hint);
    let lines = folder.write("a.jsonl", "{\"p\": \"90%\", \"y\": 1}\n");
    let hint = "probabilities must be numbers, got text \"90%\" in line 1; remove the signs and pass --scale 100 for \
                percentages";
    assert_refused(&lines, &["--scale", "100"], hint);
}

#[test]
fn forgotten_logits_are_hinted_at_even_where_rows_are_counted() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "score,y\n2.5,1\n-1.25,0\n0.5,1\n-3,0\n");
    let hint = "probability in line 2 must be in [0, 1], got 2.5; the values are from -3 to 2.5, which looks like logits; \
                pass --from-logits";
    assert_refused(&path, &[], hint);
    assert_refused(&path, &["--invalid", "count"], hint);
    assert_eq!(json(&path, &["--from-logits"])["n"], 4);
    // One number that stands for a missing value is no logit.
    let sentinel = folder.write("b.csv", "p,y\n0.5,1\n-1,0\n0.25,1\n-1,0\n");
    assert_refused(&sentinel, &[], "probability in line 3 must be in [0, 1], got -1");
}

#[test]
fn true_and_false_are_outcomes_in_any_case() {
    let folder = Folder::new();
    let expected = measures(&folder.write("a.csv", text(",")), &[]);
    for (yes, no) in [("True", "False"), ("true", "false"), ("TRUE", "FALSE")] {
        let words = text(",").replace("\n1,", &format!("\n{yes},")).replace("\n0,", &format!("\n{no},"));
        let path = folder.write("words.csv", words);
        assert_eq!(measures(&path, &[]), expected, "{yes}");
        assert_eq!(measures(&path, &["--pos-label", yes]), expected, "{yes}");
        let lines = ROWS.map(
            |(label, prob)| value!({"label": if label == 1 { yes } else { no }, "prob": prob.parse::<f64>().unwrap()}),
        );
        let lines = folder.write("words.jsonl", lines.map(|line| format!("{line}\n")).concat());
        assert_eq!(measures(&lines, &[]), expected, "{yes}");
    }
}

#[test]
fn other_labels_are_listed_with_the_option_that_chooses_one() {
    let folder = Folder::new();
    let expected = measures(&folder.write("a.csv", text(",")), &[]);
    for (yes, no, first, second) in
        [("yes", "no", "\"yes\"", "\"no\""), ("Y", "N", "\"Y\"", "\"N\""), ("2", "1", "2", "1")]
    {
        let words = text(",").replace("\n1,", &format!("\n{yes};")).replace("\n0,", &format!("\n{no};"));
        let path = folder.write("words.csv", words.replace(';', ","));
        let hint = format!(
            "label in line 2 must be 0 or 1, got {first}; the labels are {first}, {second}; name the positive label with \
             --pos-label"
        );
        assert_refused(&path, &[], &hint);
        assert_eq!(measures(&path, &["--pos-label", yes]), expected, "{yes}");
    }
}

#[test]
fn errors_name_the_line_of_the_file() {
    let folder = Folder::new();
    let bad = |content: &str, text: &str| assert_refused(&folder.write("a.csv", content), &[], text);
    bad("label,prob\n1,0.5\n0,1.5\n", "probability in line 3 must be in [0, 1], got 1.5");
    bad("label,prob\r\n\r\n1,0.5\r\n0,1.5\r\n", "probability in line 4 must be in [0, 1], got 1.5");
    bad("label,note,prob\n1,\"a\nb\nc\",0.5\n0,\"d\ne\",1.5\n", "probability in line 5 must be in [0, 1], got 1.5");
    bad("\"la\nbel\",label,prob\nx,1,0.5\n\nx,0,\n", &format!("probability in line 5 is missing{LEAVE_OUT}"));
    bad("label,prob,note\n1,0.5,\"a\nb\"\n0,high,\n", "probabilities must be numbers, got text \"high\" in line 4");
    let lines = folder.write("a.jsonl", "{\"label\": 1, \"prob\": 0.5}\n\n{\"label\": 0, \"prob\": 1.5}\n");
    assert_refused(&lines, &[], "probability in line 3 must be in [0, 1], got 1.5");
    // Far into a file of many blocks.
    let row = |row: usize| format!("1,\"{row}\n\",0.5\n");
    let many = "label,note,prob\n".to_owned() + &(0..200_000).map(row).collect::<String>() + "1,,7\n";
    bad(&many, "probability in line 400002 must be in [0, 1], got 7");
    let arrays = [("probs", Array::Double(vec![2], vec![0.5, 1.5])), ("labels", Array::Integers(vec![2], vec![0, 1]))];
    let text = "probability in row 1 (counting from 0) must be in [0, 1], got 1.5";
    assert_refused(&folder.npz("a.npz", &arrays), &[], text);
}

#[test]
fn single_precision_above_1_is_read_as_1_and_counted() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "p,y\n1.0000012,1\n1.00001,1\n-1.2e-6,0\n0.5,1\n");
    assert_eq!(json(&path, &[])["input"]["n_rounded"], 3);
    let table = measure(&path, &[]);
    assert!(table.contains("3 rounded") && table.contains("\nrounded: probabilities outside [0, 1] by "), "{table}");
    let rows = [vec![1.0000012_f32, 0.0], vec![1.00001, 0.00001]].concat();
    let arrays = [("probs", Array::Single(vec![2, 2], rows)), ("labels", Array::Integers(vec![2], vec![0, 1]))];
    let npz = folder.npz("a.npz", &arrays);
    assert_eq!(json(&npz, &[])["input"]["n_rounded"], 2);
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", npz.to_str().unwrap(), "-o", sketch.to_str().unwrap()]);
    assert_eq!(json(&sketch, &[])["input"]["n_rounded"], 2);
    assert_refused(
        &folder.write("b.csv", "p,y\n1.0001,1\n"),
        &[],
        "probability in line 2 must be in [0, 1], got 1.0001",
    );
}
