//! Tables of classes, and the direction of miscalibration.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Array, Folder, succeed};

/// 3,000 rows of three classes: class 0 is predicted too often, class 1 too rarely, and class 2 as
/// often as it occurs.
fn file(folder: &Folder) -> PathBuf {
    let (mut p, mut labels) = (Vec::new(), Vec::new());
    for row in 0..3_000 {
        let [u, v] = [0.618_033_988_749_895, 0.414_213_562_373_095].map(|step| (f64::from(row) * step).fract());
        let (first, third) = (0.3 + 0.3 * u, 0.2);
        p.extend([first, 1.0 - first - third, third]);
        // The first class happens less often by 0.15, and the second more often.
        labels.push(if v < first - 0.15 {
            0
        } else if v < 1.0 - third {
            1
        } else {
            2
        });
    }
    folder
        .npz("k.npz", &[("probs", Array::Double(vec![3_000, 3], p)), ("labels", Array::Integers(vec![3_000], labels))])
}

fn run(folder: &Folder, verb: &str, args: &[&str]) -> String {
    let path = file(folder);
    succeed(&[&[verb, path.to_str().unwrap(), "--multiclass", "classwise", "--measure", "ls_ece"], args].concat())
}

#[test]
fn each_class_has_a_line_with_its_direction() {
    let folder = Folder::new();
    for (verb, args) in [("measure", &["--sigma", "0.2"][..]), ("assess", &["--sigma", "0.2", "--n-resamples", "100"])]
    {
        let printed = run(&folder, verb, args);
        let mut lines = printed.lines().skip_while(|line| !line.starts_with("class  "));
        let header: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(
            header,
            ["class", "n", "mean", "p", "rate", "ls_ece", "floor", "p", "(Holm)", "direction"],
            "{printed}"
        );
        let rows: Vec<&str> = lines.skip(1).take(3).collect();
        let cells = |row: usize| rows[row].split_whitespace().collect::<Vec<&str>>();
        for (class, direction) in [(0, "too high by 0.15"), (1, "too low by 0.15")] {
            assert!(rows[class].contains(direction) && cells(class)[0] == class.to_string(), "{printed}");
        }
        assert!(!rows[2].contains("too "), "{printed}");
        assert_eq!(cells(2)[2], "0.2000", "{printed}");
        assert!(printed.contains("class: each class against the rest;"), "{printed}");
    }
}

#[test]
fn json_has_all_classes_with_adjusted_p_values() {
    let folder = Folder::new();
    let printed = run(&folder, "assess", &["--sigma", "0.2", "--n-resamples", "100", "--json"]);
    let all: Value = serde_json::from_str(&printed).unwrap();
    let result = &all["results"][0];
    let classes = result["by_class"].as_array().unwrap();
    assert_eq!(classes.iter().map(|class| class["class"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(classes.iter().map(|class| class["n_labels"].as_u64().unwrap()).sum::<u64>(), 3_000);
    let values: Vec<&Value> = classes.iter().map(|class| &class["measures"]["ls_ece"]).collect();
    let number = |value: &Value| value.as_f64().unwrap();
    // The values are those behind the mean.
    let per_class = result["measures"]["ls_ece"]["per_class"].as_array().unwrap();
    for (value, of_mean) in values.iter().zip(per_class) {
        assert_eq!(value["value"], of_mean["value"]);
    }
    let mut p: Vec<(f64, f64)> =
        values.iter().map(|value| (number(&value["p_value"]), number(&value["p_adjusted"]))).collect();
    p.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut largest = 0.0_f64;
    for (place, (p, adjusted)) in p.iter().enumerate() {
        largest = largest.max((3 - place) as f64 * p).min(1.0);
        assert!((adjusted - largest).abs() < 1e-12);
    }
    assert!(values[0]["direction"].as_str().unwrap().starts_with("too high by 0.1"), "{}", values[0]["direction"]);
    assert_eq!(values[2]["direction"], Value::Null);
}

#[test]
fn many_classes_are_cut_to_those_with_the_most_evidence() {
    let folder = Folder::new();
    let k = 25;
    let (mut p, mut labels) = (Vec::new(), Vec::new());
    for row in 0..1_000 {
        // Class 7 is predicted with 0.5 and never happens.
        p.extend((0..k).map(|class| if class == 7 { 0.5 } else { 0.5 / (k as f64 - 1.0) }));
        labels.push(if row % k == 7 { 8 } else { i64::from(row % k) });
    }
    let shape = vec![1_000, k as u64];
    let path =
        folder.npz("k.npz", &[("probs", Array::Double(shape, p)), ("labels", Array::Integers(vec![1_000], labels))]);
    let measure = "expected_calibration_error";
    let printed = succeed(&["measure", path.to_str().unwrap(), "--multiclass", "classwise", "--measure", measure]);
    let rows = printed.lines().skip_while(|line| !line.starts_with("class ")).take_while(|line| !line.is_empty());
    let rows: Vec<&str> = rows.skip_while(|line| !line.starts_with("---")).skip(1).collect();
    assert_eq!(rows.len(), 20, "{printed}");
    assert!(rows[0].starts_with("7 "), "{printed}");
    assert!(printed.contains("Only the 20 classes with the most evidence are listed; --json has all."), "{printed}");
}

#[test]
fn tables_of_models_have_a_direction() {
    let folder = Folder::new();
    let row = |row: usize| {
        let [u, v] = [0.618_033_988_749_895, 0.414_213_562_373_095].map(|step| (row as f64 * step).fract());
        let truth = 0.2 + 0.6 * u;
        format!("{},{},{truth}\n", u8::from(v < truth), (truth + 0.15).min(1.0))
    };
    let path = folder.write("a.csv", "label,high,good\n".to_owned() + &(0..2_000).map(row).collect::<String>());
    let models = [path.to_str().unwrap(), "--prob", "high", "--prob", "good", "--sigma", "0.3"];
    for verb in ["measure", "assess", "compare"] {
        let resamples: &[&str] = if verb == "measure" { &[] } else { &["--n-resamples", "100"] };
        let printed = succeed(&[&[verb], &models[..], resamples].concat());
        assert!(printed.contains("too high by 0.14"), "{verb}\n{printed}");
        assert!(!printed.contains("good: too ") && !printed.contains("good: sigma 0.3000, too"), "{verb}\n{printed}");
    }
}
