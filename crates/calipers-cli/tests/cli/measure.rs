//! What `calipers measure` says: figures, counts and guesses.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::json as value;

use crate::support::{Array, Folder, LEAVE_OUT, Run, assert_refused, calipers, json, measure};

/// Two bins: (0.2 with outcomes 0, 1) has a gap of 0.3, (0.9 with outcome 1) one of 0.1.
const THREE_ROWS: &str = "label,prob\n0,0.2\n1,0.2\n1,0.9\n";

#[test]
fn figures_that_can_be_checked_by_hand() {
    let folder = Folder::new();
    let three = json(&folder.write("three.csv", THREE_ROWS), &["--n-bins", "2"]);
    assert!((three["ece"]["value"].as_f64().unwrap() - 0.7 / 3.0).abs() < 1e-15);
    // One point at logit 0 whose outcome is 1: the gap is |1 - T|, whose mean is 1/2 for symmetric
    // noise.
    let one = json(&folder.write("one.csv", "label,prob\n1,0.5\n"), &["--sigma", "1"]);
    let bound = one["ls_ece"]["numerical_bound"].as_f64().unwrap();
    assert!((one["ls_ece"]["value"].as_f64().unwrap() - 0.5).abs() <= bound);
    assert!(bound <= 1e-6);
    assert_eq!(one["ece"]["value"], 0.5);
}

#[test]
fn the_table_is_plain_and_says_what_it_shows() {
    let folder = Folder::new();
    let path = folder.write("three.csv", "label,prob\n1,0.5\n1,0.5\n1,1\n");
    let table = measure(&path, &["--sigma", "1", "--tolerance", "1e-3", "--noise", "uniform"]);
    let (rows, words) = table.split_once("\n\n").unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "measure three floor p num. ± notes");
    assert!(rows[1].concat().chars().all(|c| c == '-'));
    assert_eq!(rows[2], ["n", "3"]);
    // Two of three outcomes are drawn with 1/2, and the third is certain: in half of the resamples
    // they are equal, as here, and in the others ECE is 0 and LS-ECE 0.041. The mean of 200 is
    // within 5 of its deviations.
    for (row, name, other) in [(&rows[3], "ls_ece", 0.041), (&rows[4], "expected_calibration_error", 0.0)] {
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        let (mean, deviation) = (0.5 * (1.0 / 3.0 + other), 0.5 * (1.0 / 3.0 - other));
        assert_eq!([row[0], row[1], row[3]], [name, "0.3333", "±"]);
        assert!((number(2) - mean).abs() < 0.005 + 5.0 * deviation / 200_f64.sqrt(), "{row:?}");
        assert!((number(4) - deviation).abs() < 0.03 && (number(5) - 0.5).abs() < 0.18, "{row:?}");
        assert!((0.0..=1e-3).contains(&number(6)), "{row:?}");
    }
    assert_eq!([rows[3][7..].join(" "), rows[4][7..].join(" ")], ["sigma 1.000, 1 clipped", "15 bins"]);
    let expected = "\
ls_ece: the mean gap between predicted probability and observed frequency, smoothed; 0 is perfect.
floor: the value that a perfectly calibrated model would get on the same data by chance alone, as mean ± standard
  deviation of 200 resamples. p: how often such a model would get at least the value.
p of ls_ece is that of its residual form, residual_ls_ece.
num. ±: a bound on the numerical error; chance is not part of it.
clipped: rows with a probability closer than 1e-6 to 0 or 1, moved to that distance, since 0 and 1 have no finite
  logit.
probability from column prob, outcome from column label
";
    assert_eq!(words, expected);
}

#[test]
fn notes_of_ece_show_what_makes_it_differ() {
    let folder = Folder::new();
    let path = folder.write("three.csv", THREE_ROWS);
    let cases: [(&[&str], &str); 5] = [
        (&["--n-bins", "2"], "2 bins"),
        (&["--norm", "l2"], "15 bins, norm l2"),
        (&["--norm", "max", "--strategy", "quantile"], "15 bins of equal mass, norm max"),
        (&["--compat", "netcal"], "15 bins, as netcal"),
        (&["--n-bins", "auto"], "1 bin"),
    ];
    for (args, notes) in cases {
        let table = measure(&path, args);
        let line = table.lines().find(|line| line.starts_with("expected_calibration_error")).unwrap();
        assert!(line.ends_with(&format!("  {notes}")), "{table}");
    }
}

#[test]
fn guesses_are_said_and_names_that_were_given_are_not() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "Y_True,PROBABILITY,other,Sample_Weight\n1,0.9,0.8,1\n0,0.2,0.3,2\n");
    let guessed =
        ["probability from column PROBABILITY", "outcome from column Y_True", "weight from column Sample_Weight"];
    assert_eq!(json(&path, &[])["guessed"], value!(guessed));
    assert!(measure(&path, &[]).ends_with(&(guessed.join(", ") + "\n")));
    let result = json(&path, &["--prob", "other", "--label", "Y_True"]);
    assert_eq!(result["guessed"], value!(["weight from column Sample_Weight"]));
    assert_eq!([&result["prob"], &result["label"], &result["weight"]], ["other", "Y_True", "Sample_Weight"]);
}

#[test]
fn columns_without_an_unmistakable_name_are_not_guessed() {
    let folder = Folder::new();
    let cases = [
        (
            "a,b\n1,0.5\n",
            "no column is named like a probability (prob, proba, y_prob, score, p or logit): \
             choose one with --prob; the columns are a, b",
        ),
        (
            "prob,b\n0.5,1\n",
            "no column is named like a label (label, y_true, target, outcome or y): choose one with --label; the \
             columns are prob, b",
        ),
        ("prob,logit,label\n0.5,0,1\n", "more than one column may be the probability: prob, logit; choose with --prob"),
        ("prob,label,Target\n0.5,0,1\n", "more than one column may be the label: label, Target; choose with --label"),
        ("prob,prob,label\n0.5,0,1\n", "more than one column may be the probability: prob, prob; choose with --prob"),
        ("0.5,1\n0.5,1\n", "the first line must name the columns, got 0.5, 1"),
    ];
    for (content, text) in cases {
        assert_refused(&folder.write("a.csv", content), &[], text);
    }
}

#[test]
fn a_misspelt_name_gets_the_nearest() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob_a,prob_b\n1,0.5,0.6\n");
    let columns = "the columns are label, prob_a, prob_b";
    assert_refused(
        &path,
        &["--prob", "porb_b"],
        &format!("no column porb_b for --prob; did you mean prob_b? {columns}"),
    );
    assert_refused(
        &path,
        &["--prob", "prob_a", "--label", "lable"],
        &format!("no column lable for --label; did you mean label? {columns}"),
    );
    assert_refused(&path, &["--prob", "zebra"], &format!("no column zebra for --prob; {columns}"));
    assert_refused(&path, &["--prob", "prob_a", "--weight", "w"], &format!("no column w for --weight; {columns}"));
}

#[test]
fn several_models_give_a_row_each() {
    let folder = Folder::new();
    let path = folder.write("models.csv", "label,a,b\n1,0.9,0.5\n0,0.1,0.5\n");
    let table = measure(&path, &["--prob", "a", "--prob", "b"]);
    // A column each, or a row each if there are more models than measures.
    let words: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(words, ["measure", "a", "floor", "p", "b", "floor", "p", "num.", "±"]);
    let table = measure(&path, &["--prob", "a", "--prob", "b", "--measure", "ls_ece"]);
    let names: Vec<&str> = table.lines().skip(2).take(2).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    let probability = "probability in line 3 must be in [0, 1], got -1";
    let bad = folder.write("bad.csv", "label,a,b\n1,0.9,0.5\n0,0.1,-1\n");
    assert_refused(&bad, &["--prob", "a", "--prob", "b"], &format!("column b: {probability}"));
    assert_refused(&bad, &["--prob", "b"], probability);
    let text = folder.write("text.csv", "label,a,b\n1,0.9,0.5\n0,0.1,low\n");
    let number = "column b: probabilities must be numbers, got text \"low\" in line 3";
    assert_refused(&text, &["--prob", "a", "--prob", "b"], number);
    let other = folder.write("other.csv", "label,a,b\n1,0.9,0.5\n0,0.1,0.5\n");
    let both = measure(&path, &[other.to_str().unwrap(), "--prob", "a", "--prob", "b"]);
    let rows = both.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    let names: Vec<&str> = rows.take(4).map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(names, ["models a", "models b", "other a", "other b"]);
}

#[test]
fn rows_left_out_are_counted_by_kind() {
    let folder = Folder::new();
    let path = folder.write("bad.csv", "label,prob\n1,0.9\n,0.5\n0,1.5\n2,0.5\n0,high\nmaybe,0.1\n0,\n0,0.2\n");
    let result = json(&path, &["--invalid", "count"]);
    let left_out = value!({"invalid label": 2, "invalid probability": 2, "missing label": 1, "missing probability": 1});
    assert_eq!(
        (&result["n"], &result["input"]["n_rows"], &result["input"]["left_out"]),
        (&value!(2), &value!(8), &left_out)
    );
    let sentence = "6 of 8 rows were left out: 2 labels are invalid, 2 probabilities are invalid, 1 label is missing, 1 probability \
                    is missing.\n";
    let table = measure(&path, &["--invalid", "count"]);
    assert!(table.starts_with(sentence), "{table}");
    assert_refused(&path, &[], "probabilities must be numbers, got text \"high\" in line 6");
}

#[test]
fn a_label_that_is_no_number_is_the_one_that_is_named() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob\n1,0.9\n0,0.5\nmaybe,0.5\n");
    let text = "label in line 4 must be 0 or 1, got \"maybe\"; the labels are 1, 0, maybe; name the positive label with \
                --pos-label";
    assert_refused(&path, &[], text);
}

#[test]
fn a_positive_label_may_be_text_or_a_number() {
    let folder = Folder::new();
    let expected = json(&folder.write("three.csv", THREE_ROWS), &[])["ls_ece"]["value"].clone();
    let cases =
        [("yes", "no", "yes"), ("1", "-1", "1.0"), ("-1", "1", "-1"), ("TRUE", "FALSE", "TRUE"), ("1", "other", "1")];
    for (positive, negative, option) in cases {
        let text = format!("label,prob\n{negative},0.2\n{positive},0.2\n{positive},0.9\n");
        let result = json(&folder.write("labels.csv", text), &["--pos-label", option]);
        assert_eq!(result["ls_ece"]["value"], expected, "{positive} {negative} {option}");
        assert_eq!(result["pos_label"], option);
    }
}

#[test]
fn raw_logits_are_known_by_their_name_or_by_the_option() {
    let folder = Folder::new();
    let named = json(&folder.write("named.csv", "label,logit\n1,2.5\n0,-1\n"), &[]);
    assert_eq!(named["from_logits"], true);
    assert_eq!(named["guessed"][0], "raw logit from column logit");
    let said = json(&folder.write("said.csv", "label,prob\n1,2.5\n0,-1\n"), &["--from-logits"]);
    assert_eq!(said["ls_ece"], named["ls_ece"]);
    assert_eq!(said["guessed"][0], "raw logit from column prob");
    let chosen = json(&folder.write("chosen.csv", "label,logits,prob\n1,2.5,0.9\n0,-1,0.2\n"), &["--from-logits"]);
    assert_eq!(chosen["ls_ece"], named["ls_ece"]);
}

fn classes(folder: &Folder) -> std::path::PathBuf {
    let probs = vec![0.5, 0.25, 0.25, 0.4, 0.4, 0.2, 0.1, 0.2, 0.7, 0.25, 0.5, 0.25];
    folder.npz(
        "classes.npz",
        &[("probs", Array::Double(vec![4, 3], probs)), ("labels", Array::Integers(vec![4], vec![0, 1, 2, 0]))],
    )
}

#[test]
fn the_top_class_counts_its_ties() {
    let folder = Folder::new();
    let path = classes(&folder);
    let first = json(&path, &[]);
    assert_eq!(
        (&first["multiclass"], &first["n_classes"], &first["input"]["n_ties"]),
        (&value!("top_class"), &value!(3), &value!(1))
    );
    assert!(measure(&path, &[]).contains("1 tied"));
    // Top classes: 0.5 right, 0.4 tied, 0.7 right, 0.5 wrong. The tie is right only if any of its
    // classes will do.
    let ece = |result: &serde_json::Value| result["ece"]["value"].as_f64().unwrap();
    assert!((ece(&first) - (0.0 + 0.4 + 0.3) / 4.0).abs() < 1e-15);
    assert!((ece(&json(&path, &["--ties", "any"])) - (0.0 + 0.6 + 0.3) / 4.0).abs() < 1e-15);
}

#[test]
fn classwise_is_the_mean_over_the_classes() {
    let folder = Folder::new();
    let path = classes(&folder);
    let all = json(&path, &["--multiclass", "classwise"]);
    for measure in ["ls_ece", "ece"] {
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let per_class: Vec<f64> =
            (0..3).map(|class| number(&json(&path, &["--multiclass", &class.to_string()])[measure]["value"])).collect();
        let listed: Vec<f64> =
            all[measure]["per_class"].as_array().unwrap().iter().map(|class| number(&class["value"])).collect();
        assert_eq!(listed, per_class);
        assert!((number(&all[measure]["value"]) - per_class.iter().sum::<f64>() / 3.0).abs() < 1e-15);
    }
    assert_eq!(all["multiclass"], "classwise");
    assert_refused(
        &folder.write("plain.csv", THREE_ROWS),
        &["--multiclass", "classwise"],
        "multiclass must be left out for a plain column of scores, got \"classwise\"",
    );
}

#[test]
fn two_classes_are_measured_on_class_1() {
    let folder = Folder::new();
    let plain = json(&folder.write("three.csv", THREE_ROWS), &[]);
    let probs = Array::Double(vec![3, 2], vec![0.8, 0.2, 0.8, 0.2, 0.1, 0.9]);
    let path = folder.npz("two.npz", &[("probs", probs), ("labels", Array::Integers(vec![3], vec![0, 1, 1]))]);
    let two = json(&path, &[]);
    assert_eq!((&two["multiclass"], &two["ls_ece"]), (&value!(1), &plain["ls_ece"]));
    assert_eq!(json(&path, &["--multiclass", "top_class"])["multiclass"], "top_class");
}

#[test]
fn a_confidence_and_a_predicted_class_are_the_top_class() {
    let folder = Folder::new();
    let arrays = [
        ("conf", Array::Single(vec![3], vec![0.25, 0.25, 0.75])),
        ("pred", Array::Integers(vec![3], vec![7, 3, 5])),
        ("labels", Array::As { dtype: "<i2", fortran: false, shape: vec![3], values: vec![2.0, 3.0, 5.0] }),
    ];
    let path = folder.npz("top.npz", &arrays);
    let result = json(&path, &[]);
    let plain = json(&folder.write("plain.csv", "label,prob\n0,0.25\n1,0.25\n1,0.75\n"), &[]);
    assert_eq!(
        [&result["ls_ece"]["value"], &result["ece"]["value"]],
        [&plain["ls_ece"]["value"], &plain["ece"]["value"]]
    );
    assert_eq!([&result["multiclass"], &result["pred"]], ["top_class", "pred"]);
    assert_eq!(
        result["guessed"],
        value!(["probability from array conf", "outcome from whether array pred equals array labels"])
    );
    let text = folder.write("text.csv", "truth,answer,conf\ncat,dog,0.25\ncat,cat,0.25\ndog,dog,0.75\n");
    let named = json(&text, &["--label", "truth", "--pred", "answer"]);
    assert_eq!(named["ls_ece"]["value"], plain["ls_ece"]["value"]);
    let top_class = "multiclass must be \"top_class\" with a predicted class, got";
    assert_refused(&path, &["--multiclass", "classwise"], &format!("{top_class} \"classwise\""));
    assert_refused(&path, &["--multiclass", "2"], &format!("{top_class} 2"));
    assert_refused(&path, &["--pos-label", "2"], "pos_label must be left out with a predicted class, got \"2\"");
}

#[test]
fn threads_change_no_digit() {
    let folder = Folder::new();
    let row = |i: u32| format!("{},{}\n", i % 3 % 2, f64::from(i * 37 % 1000) / 1000.0);
    let path = folder.write("many.csv", "label,prob\n".to_owned() + &(0..40_000).map(row).collect::<String>());
    assert_eq!(json(&path, &["--threads", "1"]), json(&path, &["--threads", "3"]));
}

#[test]
fn nothing_is_printed_if_any_file_is_refused() {
    let folder = Folder::new();
    let good = folder.write("good.csv", THREE_ROWS);
    let bad = folder.write("bad.csv", "label,prob\n0,nan\n");
    let run = calipers(&["measure", good.to_str().unwrap(), bad.to_str().unwrap()]);
    let stderr = format!("calipers: {}: probability in line 2 must be in [0, 1], got NaN{LEAVE_OUT}\n", bad.display());
    assert_eq!(run, Run { code: Some(2), stdout: String::new(), stderr });
}

#[test]
fn wrong_usage_exits_with_2_and_help_with_0() {
    let cases: [(&[&str], i32); 6] = [
        (&[], 2),
        (&["measure"], 2),
        (&["weigh"], 2),
        (&["measure", "a.csv", "--threads", "0"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ];
    for (args, code) in cases {
        let run = calipers(args);
        assert_eq!(run.code, Some(code), "{args:?}");
        assert_eq!(run.stdout.is_empty(), code == 2, "{args:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    let path = folder.write("three.csv", THREE_ROWS);
    let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
        .args(["measure", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_column_called_weight_may_be_a_patients_and_is_not_guessed() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob,weight\n1,0.5,70\n0,0.25,-1\n");
    let result = json(&path, &[]);
    assert!(result["weight"].is_null());
}

#[test]
fn a_column_for_two_things_and_too_many_threads_are_refused() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,prob\n1,0.5\n0,0.25\n");
    assert_refused(&path, &["--prob", "label", "--label", "label"], "column label is named for two things");
    let run = calipers(&["measure", path.to_str().unwrap(), "--threads", "9999"]);
    assert_eq!(run.stderr, "calipers: threads must be from 1 to 1024, got 9999\n");
}

#[test]
fn rows_with_different_sigmas_are_said_to_be_so() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "label,a,b\n1,0.5,0.9\n0,0.25,0.1\n0,0.3,0.2\n");
    let note = "Sigma differs between the predictions";
    assert!(measure(&path, &["--prob", "a", "--prob", "b"]).contains(note));
    assert!(!measure(&path, &["--prob", "a", "--prob", "b", "--sigma", "1"]).contains(note));
}

#[test]
fn a_floor_is_beside_every_figure_that_has_one_and_a_reason_beside_the_others() {
    let folder = Folder::new();
    let path = folder.write("three.csv", "label,prob,g\n1,0.5,a\n1,0.5,a\n1,0.9,b\n");
    let result = json(&path, &["--sigma", "1"]);
    for measure in ["ls_ece", "ece"] {
        let figure = &result[measure];
        assert_eq!([&figure["floor"]["n_resamples"], &figure["floor"]["random_state"]], [200, 0]);
        assert!(figure["p_value"].as_f64().is_some_and(|p| 0.0 < p && p <= 1.0), "{figure}");
        assert!(figure["floor"]["quantiles"]["0.5"].is_number());
    }
    let never = json(&path, &["--sigma", "1", "--floor", "never"]);
    assert_eq!((&never["ls_ece"]["floor"], &never["ls_ece"]["value"]), (&value!(null), &result["ls_ece"]["value"]));
    assert!(!measure(&path, &["--sigma", "1", "--floor", "never"]).contains("floor"));
    let slowest = "lower_distance_to_calibration";
    let named = ["--measure", slowest, "--measure", "observed_expected", "--measure", "smooth_ece"];
    let slow = json(&path, &named);
    let figures = &slow["measures"];
    assert_eq!(figures[slowest]["unavailable"], "it takes long; --floor always computes it");
    assert!(figures["smooth_ece"]["p_value"].is_number());
    // A ratio has a floor, but no tail that would be worse.
    assert!(
        figures["observed_expected"]["floor"]["mean"].is_number() && figures["observed_expected"]["p_value"].is_null()
    );
    let table = measure(&path, &named);
    let note = format!("floor not available: {slowest}: it takes long; --floor always computes it\n");
    assert!(table.contains(&note), "{table}");
    assert!(json(&path, &[&named[..], &["--floor", "always"]].concat())["measures"][slowest]["floor"].is_object());
    let groups = crate::support::results(&[path.to_str().unwrap(), "--by", "g", "--sigma", "1"]);
    assert!(groups.iter().all(|group| group["ls_ece"]["floor"].is_object() && group["ece"]["floor"].is_object()));
    let run = calipers(&["measure", path.to_str().unwrap(), "--floor", "maybe"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("invalid value 'maybe'") && run.stderr.contains("auto, always, never"), "{run:?}");
}

#[test]
fn many_groups_and_many_rows_say_why_they_have_no_floor() {
    let folder = Folder::new();
    let row = |row: usize| format!("{},{},{}\n", row % 2, (row % 97) as f64 / 96.0, row % 101);
    let path = folder.write("a.csv", "label,prob,g\n".to_owned() + &(0..100_001).map(row).collect::<String>());
    let many = json(&path, &["--sigma", "1"]);
    assert!(many["ece"]["floor"].is_object() && many["ls_ece"]["floor"].is_object());
    // Each row of its resamples is drawn.
    let ratio = json(&path, &["--measure", "observed_expected"]);
    let reason = &ratio["measures"]["observed_expected"]["unavailable"];
    assert_eq!(*reason, "there are more than 100,000 rows; --floor always computes it");
    let groups = crate::support::results(&[path.to_str().unwrap(), "--by", "g", "--sigma", "1"]);
    assert_eq!(groups.len(), 102);
    assert_eq!(
        groups[1]["ls_ece"]["unavailable"],
        "there are more than 100 groups or classes; --floor always computes it"
    );
    assert!(
        measure(&path, &["--by", "g"])
            .contains("floor not available: ls_ece of 0 and 201 more: there are more than 100 groups")
    );
}
