//! `calipers compare`: models on the same rows.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Array, Folder, assert_fails, succeed};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/breast_cancer.csv")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn compare(args: &[&str]) -> String {
    succeed(&[&["compare", "--n-resamples", "200"], args].concat())
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&compare(&[args, &["--json"]].concat())).unwrap()
}

#[test]
fn sentence_models_and_pairs() {
    let path = example();
    let models = ["--prob", "naive_bayes", "--prob", "mlp", "--prob", "random_forest"];
    let args = [&[text(&path), "--sigma", "0.5"], &models[..]].concat();
    let table = compare(&args);
    let first = table.lines().next().unwrap();
    assert!(
        first.starts_with("mlp is better calibrated than naive_bayes: its residual LS-ECE is smaller by"),
        "{table}"
    );
    assert!(first.contains("after adjusting for 3 pairs"), "{table}");
    let names: Vec<&str> = table.lines().filter_map(|line| line.split("  ").next()).collect();
    for line in ["naive_bayes", "mlp", "random_forest", "naive_bayes - mlp", "mlp - random_forest"] {
        assert!(names.contains(&line), "{line}: {table}");
    }
    let all = json(&args);
    assert_eq!(all["models"].as_array().unwrap().len(), 3);
    assert_eq!([&all["models"][1]["name"], &all["models"][1]["prob"]], ["mlp", "mlp"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let value = |place: usize| number(&all["models"][place]["measures"]["ls_ece"]["value"]);
    let pairs = all["comparisons"]["ls_ece"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    let pair = &pairs[0];
    assert_eq!([&pair["first"], &pair["second"]], ["naive_bayes", "mlp"]);
    // Without the bias of each, which is small against what they differ by.
    assert!((number(&pair["difference"]) - (value(0) - value(1))).abs() < 0.005);
    let ends = [&pair["interval"]["lower"], &pair["interval"]["upper"]].map(number);
    assert!(ends[0] < number(&pair["difference"]) && number(&pair["difference"]) < ends[1]);
    assert_eq!(pair["interval"]["method"], "bias-aware");
    let by = &all["comparisons"]["ls_ece"]["compared_by"];
    assert!(by["measure"] == "residual_ls_ece" && number(&by["sigma"]) <= 0.5, "{by}");
    assert!(number(&pair["interval"]["lower"]) > 0.0 && number(&pair["p_adjusted"]) < 0.05);
    assert!(number(&pair["p_adjusted"]) >= number(&pair["p_value"]));
    assert_eq!(all["comparisons"]["ls_ece"]["sentence"].as_str().unwrap().lines().next(), Some(first));
}

#[test]
fn files_of_the_same_rows_are_paired() {
    let folder = Folder::new();
    let labels: Vec<i64> = (0..300).map(|row| i64::from(row % 5 < 2)).collect();
    let npz = |name: &str, shift: f64| {
        let probs = (0..300).map(|row| if row % 5 < 2 { 0.6 + shift } else { 0.2 + shift / 2.0 }).collect();
        let arrays =
            [("probs", Array::Double(vec![300], probs)), ("labels", Array::Integers(vec![300], labels.clone()))];
        folder.npz(name, &arrays)
    };
    let (a, b) = (npz("a.npz", 0.0), npz("b.npz", 0.05));
    let all = json(&[text(&a), text(&b), "--measure", "brier_score", "--measure", "expected_calibration_error"]);
    assert_eq!([&all["models"][0]["name"], &all["models"][1]["name"]], ["a", "b"]);
    let keys: Vec<&String> = all["comparisons"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["brier_score", "expected_calibration_error"]);
    // Files of one name are told apart by their folders.
    std::fs::create_dir(folder.path("other")).unwrap();
    let other = folder.path("other/a.npz");
    std::fs::copy(&b, &other).unwrap();
    let all = json(&[text(&a), text(&other), "--measure", "brier_score"]);
    assert_eq!(all["models"][1]["name"], text(&other));
}

#[test]
fn clusters_are_those_of_the_first_file() {
    let folder = Folder::new();
    let rows = |shift: f64| -> String {
        let row = |row: usize| {
            let p = (row as f64 * 0.618_033_988_749_895).fract() * (1.0 - shift);
            format!("{},{p},c{}\n", u8::from((row as f64 * 0.414_213_562_373_095).fract() < p), row / 5)
        };
        "label,prob,who\n".to_owned() + &(0..500).map(row).collect::<String>()
    };
    let content = rows(0.0);
    let a = folder.write("a.csv", &content);
    // The same labels, and no column of clusters.
    let b = content.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{}\n", cells[0], 0.5 * cells[1].parse::<f64>().unwrap() + 0.25)
    });
    let b = folder.write("b.csv", "label,prob\n".to_owned() + &b.collect::<String>());
    let all = json(&[text(&a), text(&b), "--cluster", "who", "--measure", "brier_score"]);
    assert_eq!(all["models"][0]["measures"]["brier_score"]["n_clusters"], 100);
    assert_eq!(all["models"][1]["measures"]["brier_score"]["n_clusters"], 100);
    let args = ["compare", text(&b), text(&a), "--cluster", "who"];
    assert_fails(&args, &format!("{}: no column who for --cluster; the columns are label, prob", b.display()));
}

#[test]
fn rows_that_cannot_be_paired_are_refused_with_the_first_that_differs() {
    let folder = Folder::new();
    let a = folder.write("a.csv", "label,prob,sample_weight\n1,0.5,1\n0,0.25,1\n1,0.75,2\n");
    let shorter = folder.write("shorter.csv", "label,prob,sample_weight\n1,0.5,1\n0,0.25,1\n");
    let other = folder.write("other.csv", "label,prob,sample_weight\n1,0.5,1\n1,0.25,1\n1,0.75,2\n");
    let heavy = folder.write("heavy.csv", "label,prob,sample_weight\n1,0.5,1\n0,0.25,3\n1,0.75,2\n");
    let bad = folder.write("bad.csv", "label,prob,sample_weight\n1,0.5,1\n0,7,1\n1,0.75,2\n");
    let first = a.display();
    let cases = [
        (&shorter, format!("must have the rows of {first}, the first: they have 3 and 2 rows")),
        (&other, format!("must have the rows of {first}, the first: they have the labels 0 and 1 in line 3")),
        (&heavy, format!("must have the rows of {first}, the first: they have the weights 1 and 3 in line 3")),
    ];
    for (path, refusal) in cases {
        assert_fails(&["compare", text(&a), text(path)], &format!("{}: {refusal}", path.display()));
    }
    let refusal = format!("must keep the rows of a of {first}, the first: line 3 is kept there and left out here");
    let args = ["compare", text(&a), text(&bad), "--invalid", "count"];
    assert_fails(&args, &format!("{}: {refusal}", bad.display()));
    let one = "a comparison needs two models or more: several --prob, or several files";
    assert_fails(&["compare", text(&a)], one);
    assert_fails(&["compare", text(&a), "--by", "prob"], "compare does not accept --by; pass a file for each group");
    let sketch = folder.path("a.calipers");
    succeed(&["sketch", text(&a), "-o", text(&sketch)]);
    let lost = "compare does not accept a sketch: pairs of models need the rows";
    assert_fails(&["compare", text(&sketch), text(&a)], &format!("{}: {lost}", sketch.display()));
    assert_fails(&["compare", text(&a), text(&a)], "models must be of different names, got \"a\" twice");
}
