//! `calipers sketch --n-folds`, and the verdicts that folds of sketches allow without the rows.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Folder, assert_fails, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Rows of an overconfident model, four of each person.
fn rows(range: std::ops::Range<usize>) -> String {
    let row = |row: usize| {
        let logit = 8.0 * ((row as f64 * 0.618_033_988_749_895).fract() - 0.5);
        let truth = 1.0 / (1.0 + (-0.5 * logit).exp());
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{:.17},person {}\n", 1.0 / (1.0 + (-logit).exp()), row / 4)
    };
    "label,prob,who\n".to_owned() + &range.map(row).collect::<String>()
}

fn sketched(folder: &Folder, name: &str, args: &[&str]) -> PathBuf {
    let path = folder.path(name);
    succeed(&[&["sketch"], args, &["-o", text(&path)]].concat());
    path
}

fn read(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[args, &["--json"]].concat())).unwrap()
}

#[test]
fn folds_share_the_rows_out_and_are_the_same_for_any_threads_and_split_of_clusters() {
    let folder = Folder::new();
    let [first, second] = [0..900, 900..2_000].map(|range| folder.write(&format!("{}.csv", range.start), rows(range)));
    let all = folder.write("all.csv", rows(0..2_000));
    let folds = sketched(&folder, "folds.parquet", &[text(&all), "--n-folds", "5"]);
    let one = sketched(&folder, "one.parquet", &[text(&all), "--n-folds", "5", "--threads", "1"]);
    assert_eq!(std::fs::read(&folds).unwrap(), std::fs::read(&one).unwrap());
    let measured = read(&["measure", text(&folds), "--measure", "brier_score", "--floor", "never"]);
    let groups = &measured["results"].as_array().unwrap()[1..];
    let counts: Vec<u64> = groups.iter().map(|group| group["n"].as_u64().unwrap()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (5, 2_000));
    assert!(counts.iter().all(|n| (320..480).contains(n)), "{counts:?}");
    // A cluster is in one fold whatever file it is in, so that files can be merged.
    let by_person = ["--n-folds", "5", "--cluster", "who"];
    let whole = sketched(&folder, "whole.parquet", &[&[text(&all)], &by_person[..]].concat());
    let parts = sketched(&folder, "parts.parquet", &[&[text(&second), text(&first)], &by_person[..]].concat());
    let [a, b] = [(&first, "a.parquet"), (&second, "b.parquet")]
        .map(|(csv, name)| sketched(&folder, name, &[&[text(csv)], &by_person[..]].concat()));
    let merged = folder.path("merged.parquet");
    succeed(&["merge", text(&b), text(&a), "-o", text(&merged)]);
    for other in [&parts, &merged] {
        assert_eq!(std::fs::read(other).unwrap(), std::fs::read(&whole).unwrap());
    }
    assert_ne!(std::fs::read(&whole).unwrap(), std::fs::read(&folds).unwrap());
}

#[test]
fn methods_are_compared_on_folds_of_sketches_as_on_rows() {
    let folder = Folder::new();
    let csv = folder.write("rows.csv", rows(0..2_000));
    let folds = sketched(&folder, "folds.parquet", &[text(&csv), "--n-folds", "5"]);
    let found = read(&["recalibrate", "compare", text(&folds)]);
    assert_eq!(found["file"], text(&folds));
    assert!(found["prob"].is_null() && found["sentence"].as_str().unwrap().contains("out of fold is that of "));
    let methods = found["methods"].as_array().unwrap();
    let of = |name: &str| methods.iter().find(|method| method["method"] == name).unwrap();
    let of_rows = read(&["recalibrate", "compare", text(&csv), "--method", "platt", "--n-resamples", "39"]);
    let of_rows = &of_rows["methods"][0];
    let number = |method: &Value, key: &str| method[key].as_f64().unwrap();
    assert!((number(of("platt"), "gain") - number(of_rows, "gain")).abs() < 2e-3);
    assert_eq!((&of("platt")["verdict"], &of_rows["verdict"]), (&"helps".into(), &"helps".into()));
    assert_eq!(of("beta")["n_folds"], 5);
    assert!(of("isotonic")["floor"].is_null() && of("isotonic")["left"].is_null());
    assert_eq!(of("identity")["gain"].as_f64(), Some(0.0));
    let printed = succeed(&["recalibrate", "compare", text(&folds), "--method", "platt", "--method", "beta"]);
    assert!(printed.contains("each sketch mapped by a fit to the others"), "{printed}");
    // The same folds make the map, too, and several files of folds are merged.
    let map = folder.path("map.json");
    let fitted = read(&["recalibrate", "fit", text(&folds), "--method", "platt", "-o", text(&map)]);
    assert_eq!(fitted["result"]["gain"], of("platt")["gain"]);
    let twice = read(&["recalibrate", "compare", text(&folds), text(&folds), "--method", "platt"]);
    assert_eq!((&twice["methods"][0]["n"], &twice["methods"][0]["n_folds"]), (&4_000.into(), &5.into()));
}

#[test]
fn what_is_no_fold_is_rejected_with_what_to_do() {
    let folder = Folder::new();
    let csv = folder.write("rows.csv", rows(0..200));
    let (folds, one) = (folder.path("folds.parquet"), folder.path("one.calipers"));
    let sketch = ["sketch", text(&csv), "--n-folds", "5", "-o"];
    assert_fails(
        &[&sketch[..], &[text(&one)]].concat(),
        &format!("{}: sketches of groups are rows of Parquet: name the file .parquet", one.display()),
    );
    assert!(!one.exists());
    let missing = folder.write("missing.csv", rows(0..8).replace(",person 1\n", ",\n"));
    assert_fails(
        &["sketch", text(&missing), "--n-folds", "2", "--cluster", "who", "-o", text(&folds)],
        &format!("{}: cluster in line 6 is missing", missing.display()),
    );
    assert!(!folds.exists());
    succeed(&["sketch", text(&csv), "-o", text(&one)]);
    assert_fails(
        &["recalibrate", "compare", text(&one)],
        &format!("{}: one sketch has no folds to hold out; make some with calipers sketch --n-folds 5", one.display()),
    );
    assert_fails(
        &["recalibrate", "compare", text(&one), "--cluster", "who"],
        "--cluster needs the rows, which a sketch does not have",
    );
    succeed(&[&sketch[..], &[text(&folds)]].concat());
    assert_fails(
        &["recalibrate", "compare", text(&folds), text(&one)],
        "files must all have folds, or be folds themselves, got 1 with folds of 2",
    );
    let auto = ["recalibrate", "compare", text(&folds), "--method", "auto"];
    let reason = "no method has a fit: auto: auto needs the rows, which a sketch does not have";
    assert_fails(&auto, &format!("{}: {reason}", folds.display()));
}
