//! What `calipers drift` says of two files, of two parts of one, of groups and of sketches.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::support::{Folder, assert_fails, calipers, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `n` rows with columns prob, label, week, country and who; outcomes of week 2 in DE are more
/// frequent.
fn rows(n: u64, week: u64, seed: u64) -> String {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..10).for_each(|_| _ = uniform());
    let mut text = String::new();
    for row in 0..n {
        let p: f64 = 0.02 + 0.96 * uniform();
        let country = ["DE", "FR", "US"][(row % 3) as usize];
        let odds = p / (1.0 - p) * if week == 2 && country == "DE" { 2.5 } else { 1.0 };
        let label = u8::from(uniform() < odds / (1.0 + odds));
        writeln!(text, "{p},{label},{week},{country},{}", row / 4).unwrap();
    }
    text
}

const HEAD: &str = "prob,label,week,country,who\n";

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[&["drift", "--json", "--n-resamples", "100"], args].concat())).unwrap()
}

#[test]
fn files_parts_of_a_file_and_sketches_say_the_same() {
    let folder = Folder::new();
    let (one, two) = (rows(1500, 1, 1), rows(1500, 2, 2));
    let before = folder.write("before.csv", format!("{HEAD}{one}"));
    let after = folder.write("after.csv", format!("{HEAD}{two}"));
    let log = folder.write("log.csv", format!("{HEAD}{one}{two}"));
    let of_files = json(&[text(&before), text(&after)]);
    let found = &of_files["results"][0]["measures"]["ls_ece"];
    assert_eq!(found["significant"], true);
    assert!(found["curve"]["odds_ratio"].as_f64().unwrap() > 1.1);
    assert_eq!((&of_files["results"][0]["before"]["n"], &found["n_shared_clusters"]), (&1500.into(), &Value::Null));
    for values in [&["--before", "1", "--after", "2"][..], &["--before", "1"], &["--after", "2"], &[]] {
        let of_parts = json(&[&[text(&log), "--split", "week"], values].concat());
        assert_eq!(&of_parts["results"][0]["measures"], &of_files["results"][0]["measures"], "{values:?}");
    }
    let sketch = folder.path("before.calipers");
    succeed(&["sketch", text(&before), "-o", text(&sketch)]);
    let of_sketch = json(&[text(&sketch), text(&after)]);
    let near = |a: &Value, b: &Value| assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-3, "{a} {b}");
    near(&of_sketch["results"][0]["measures"]["ls_ece"]["difference"], &found["difference"]);
    let by_week = folder.path("weeks.parquet");
    succeed(&["sketch", text(&log), "--by", "week", "-o", text(&by_week)]);
    let of_sketches = json(&[text(&by_week), "--split", "week"]);
    near(&of_sketches["results"][0]["measures"]["ls_ece"]["curve"]["log_odds"], &found["curve"]["log_odds"]);
    let table = succeed(&["drift", text(&before), text(&after), "--n-resamples", "100"]);
    assert!(table.starts_with("Outcomes at equal predictions have changed (p"), "{table}");
    assert!(table.contains("- from outcomes") && table.contains("\nbefore ") && table.contains("\nafter "), "{table}");
}

#[test]
fn groups_are_compared_and_those_of_one_sample_are_named() {
    let folder = Folder::new();
    let before = folder.write("before.csv", format!("{HEAD}{}0.5,1,1,AT,9999\n", rows(3000, 1, 3)));
    let after = folder.write("after.csv", format!("{HEAD}{}0.5,1,2,CH,9999\n", rows(3000, 2, 4)));
    let found = json(&[text(&before), text(&after), "--by", "country"]);
    let results = found["results"].as_array().unwrap();
    let groups: Vec<&str> = results.iter().filter_map(|result| result["group"].as_str()).collect();
    assert_eq!(groups, ["DE", "FR", "US"]);
    assert_eq!(results[0]["groups_only_before"], serde_json::json!(["AT"]));
    assert_eq!(results[0]["groups_only_after"], serde_json::json!(["CH"]));
    let p = |place: usize| results[place]["measures"]["ls_ece"]["p_adjusted"].as_f64().unwrap();
    assert!(p(1) <= 0.05 && p(1) <= p(2) && p(1) <= p(3), "{} {} {}", p(1), p(2), p(3));
    // That of the group's own rows before.
    let sigma = |place: usize, side: &str| results[place]["measures"]["ls_ece"][side]["settings"]["sigma"].clone();
    assert_eq!(sigma(3, "before"), sigma(3, "after"));
    assert_ne!(sigma(0, "after"), sigma(3, "after"));
    let table = succeed(&["drift", text(&before), text(&after), "--by", "country", "--n-resamples", "100"]);
    assert!(table.contains("groups by country") && table.contains("DE (odds times "), "{table}");
    assert!(table.contains("Only before, and so not compared: country AT."), "{table}");
    assert!(table.contains("Only after, and so not compared: country CH."), "{table}");
}

#[test]
fn clusters_of_both_files_are_one() {
    let folder = Folder::new();
    let before = folder.write("before.csv", format!("{HEAD}{}", rows(600, 1, 5)));
    let after = folder.write("after.csv", format!("{HEAD}{}", rows(400, 2, 6)));
    let found = json(&[text(&before), text(&after), "--cluster", "who"]);
    let change = &found["results"][0]["measures"]["ls_ece"];
    assert_eq!((&change["n_shared_clusters"], &change["before"]["n_clusters"]), (&100.into(), &150.into()));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let folder = Folder::new();
    let file = folder.write("log.csv", format!("{HEAD}{}{}", rows(60, 1, 7), rows(60, 2, 8)));
    let other = folder.write("other.csv", format!("{HEAD}{}", rows(60, 1, 9)));
    let (log, other) = (text(&file), text(&other));
    let two = "drift compares two files, BEFORE and AFTER, or the parts of one file by --split COL; got ";
    assert_fails(&["drift", log], &format!("{two}1 file (a folder counts as one file)"));
    assert_fails(&["drift", log, log, other], &format!("{two}3 files (a folder counts as one file)"));
    assert_fails(&["drift", log, other, "--split", "week"], "--split takes the two samples from one file, got 2 files");
    assert_fails(
        &["drift", log, "--split", "country"],
        &format!("{log}: --before and --after name two values of column country; its values are DE, FR, US"),
    );
    let found = calipers(&["drift", log, "--split", "weak"]);
    assert!(found.stderr.starts_with(&format!("calipers: {log}: no column weak for --split")), "{}", found.stderr);
    assert_fails(
        &["drift", log, "--split", "week", "--before", "3"],
        &format!("{log}: column week has no value 3; its values are 1, 2"),
    );
    assert_fails(
        &["drift", log, "--split", "week", "--before", "1", "--after", "1"],
        &format!("{log}: --before and --after must differ, got 1 twice"),
    );
    assert_fails(
        &["drift", log, "--split", "week", "--by", "country"],
        "--split does not go with --by; pass a file for each sample, or compare the groups one by one",
    );
    assert_fails(
        &["drift", log, other, "--multiclass", "classwise"],
        "drift needs one outcome in each row; choose --multiclass top_class, or a class, as --multiclass 3",
    );
}

#[test]
fn a_bad_row_is_named_with_its_file() {
    let folder = Folder::new();
    let good = folder.write("good.csv", format!("{HEAD}{}", rows(60, 1, 7)));
    let bad = folder.write("bad.csv", format!("{HEAD}{}NaN,1,1,DE,99\n", rows(60, 1, 8)));
    for files in [[&good, &bad], [&bad, &good]] {
        let found = calipers(&["drift", text(files[0]), text(files[1])]);
        let expected = format!("calipers: {}: probability in line 62 must be in [0, 1], got NaN", bad.display());
        assert!(found.code == Some(2) && found.stderr.starts_with(&expected), "{}", found.stderr);
    }
}
