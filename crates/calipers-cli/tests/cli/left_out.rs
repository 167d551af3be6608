//! Rows that are left out are reported by every verb, and a gate does not pass without them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Folder, Run, calipers, succeed};

const LEFT_OUT: &str = "1,425 of 1,500 rows were left out: 1,425 probabilities are missing.";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// 1,500 calibrated rows, of which all but every twentieth have no probability.
fn mostly_missing(folder: &Folder) -> PathBuf {
    let row = |row: usize| {
        let p = (row as f64 * 0.618_033_988_749_895).fract();
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < p);
        let shown = if row.is_multiple_of(20) { format!("{p:.3}") } else { String::new() };
        format!("{outcome},{shown},{shown}\n")
    };
    folder.write("holes.csv", "label,a,b\n".to_owned() + &(0..1_500).map(row).collect::<String>())
}

/// Groups of 400 rows: `whole`, `half` without every second probability, and `gone` without any.
fn groups(folder: &Folder) -> PathBuf {
    let row = |row: usize| {
        let p = (row as f64 * 0.618_033_988_749_895).fract();
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < p);
        let group = ["whole", "half", "gone"][row % 3];
        let is_missing = group == "gone" || group == "half" && row.is_multiple_of(2);
        let shown = if is_missing { String::new() } else { format!("{p:.3}") };
        format!("{outcome},{shown},{group}\n")
    };
    folder.write("groups.csv", "label,prob,g\n".to_owned() + &(0..1_200).map(row).collect::<String>())
}

#[test]
fn every_verb_reports_how_many_rows_were_left_out_and_why() {
    let folder = Folder::new();
    let path = mostly_missing(&folder);
    let (page, sketch, merged) = (folder.path("p.html"), folder.path("a.calipers"), folder.path("b.calipers"));
    let few = ["--sigma", "0.5", "--n-resamples", "50"];
    let verbs: [&[&str]; 6] = [
        &["measure", "--prob", "a"],
        &["assess", "--prob", "a", few[0], few[1], few[2], few[3]],
        &["compare", "--prob", "a", "--prob", "b", few[0], few[1], few[2], few[3]],
        &["sweep", "--prob", "a"],
        &["report", "--prob", "a", "--prob", "b", "-o", text(&page), few[2], few[3]],
        &["sketch", "--prob", "a", "-o", text(&sketch)],
    ];
    for verb in verbs {
        let printed = succeed(&[verb, &[text(&path), "--invalid", "count"]].concat());
        assert_eq!(printed.matches(LEFT_OUT).count(), 1, "{verb:?}\n{printed}");
    }
    let printed = succeed(&["merge", text(&sketch), "-o", text(&merged)]);
    assert!(printed.ends_with(&format!("{LEFT_OUT}\n")), "{printed}");
    let printed = succeed(&["measure", text(&merged)]);
    assert!(printed.starts_with(LEFT_OUT), "{printed}");
    let json: Value = serde_json::from_str(&succeed(&["merge", text(&sketch), "-o", text(&merged), "--json"])).unwrap();
    assert_eq!((&json["input"]["n_rows"], &json["input"]["n_left_out"]), (&1500.into(), &1425.into()));
    let args =
        ["report", text(&path), "--prob", "a", "--invalid", "count", "-o", text(&page), "--json", few[2], few[3]];
    let json: Value = serde_json::from_str(&succeed(&args)).unwrap();
    assert_eq!(json["models"][0]["input"]["left_out"], serde_json::json!({"missing probability": 1425}));
}

#[test]
fn a_gate_without_most_of_its_rows_is_not_passed() {
    let folder = Folder::new();
    let path = mostly_missing(&folder);
    let check = |args: &[&str]| {
        let common =
            ["check", text(&path), "--prob", "a", "--invalid", "count", "--sigma", "0.5", "--max", "ls-ece=0.5"];
        calipers(&[&common[..], &["--n-resamples", "100"], args].concat())
    };
    let Run { code, stdout, stderr } = check(&[]);
    assert_eq!(code, Some(2), "{stdout}");
    let first = "not measured: only 75 of 1,500 rows could be measured, too few for a verdict on residual LS-ECE";
    assert!(stdout.starts_with(&format!("{first}\n{LEFT_OUT}\n")), "{stdout}");
    let reason = format!("{LEFT_OUT} That is 95 %, and --max-missing allows 1 %");
    assert_eq!(stderr, format!("calipers: warning: not measured: {reason}\n"));

    let Run { code, stdout, .. } = check(&["--json"]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    let found = &json["results"][0]["measures"]["ls_ece"]["check"];
    assert_eq!((code, &json["verdict"], &found["verdict"]), (Some(2), &"not_measured".into(), &"not_measured".into()));
    assert_eq!(found["reason"], format!("{reason}."));
    assert_eq!((&json["max_missing"], &json["min_rows"]), (&0.01.into(), &1.into()));

    // What is allowed has a verdict, which still says what was left out.
    for share in ["0.95", "95%"] {
        let Run { code, stdout, stderr } = check(&["--max-missing", share]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        assert!(stdout.starts_with(&format!("passed: residual LS-ECE is at most 0.5\n{LEFT_OUT}\n")), "{stdout}");
    }
    assert_eq!(check(&["--max-missing", "0.949"]).code, Some(2));
    let Run { code, stderr, .. } = check(&["--max-missing", "1", "--min-rows", "76"]);
    let reason = "There are 75 valid rows, and --min-rows is 76";
    assert_eq!((code, stderr), (Some(2), format!("calipers: warning: not measured: {reason}\n")));
    assert_eq!(check(&["--max-missing", "1", "--min-rows", "75"]).code, Some(0));
    let Run { code, stderr, .. } = check(&["--max-missing", "1.5"]);
    let rule = "max_missing must be a share in [0, 1], as 0.01 or 1%, got \"1.5\"";
    assert_eq!((code, stderr), (Some(2), format!("calipers: {rule}\n")));
}

#[test]
fn a_value_that_failed_fails_the_gate_whatever_was_not_measured() {
    let folder = Folder::new();
    let path = groups(&folder);
    let check = |max: &str, args: &[&str]| {
        let common =
            ["check", text(&path), "--invalid", "count", "--by", "g", "--sigma", "0.5", "--n-resamples", "200"];
        calipers(&[&common[..], &["--max", max], args].concat())
    };
    // `all` and `half` miss more than allowed, `gone` has no row at all.
    let Run { code, stdout, .. } = check("ls-ece=0.5", &[]);
    assert_eq!(code, Some(2), "{stdout}");
    assert!(
        stdout.starts_with("not measured: 3 not measured, 1 passed\n600 of 1,200 rows were left out: "),
        "{stdout}"
    );
    assert!(stdout.contains("\ng gone has no valid row.\n"), "{stdout}");
    let half = stdout.lines().find(|line| line.contains("  half  ")).unwrap();
    assert!(half.starts_with("not measured") && half.contains("  200       200  "), "{half}");
    // A group without a row is not measured, whatever is allowed.
    let Run { code, stdout, stderr } = check("ls-ece=0.5", &["--max-missing", "100%"]);
    assert_eq!(
        (code, stderr.as_str()),
        (Some(2), "calipers: warning: not measured: g gone has no valid row\n"),
        "{stdout}"
    );
    // A group that is known to be far off fails the gate, although another one has no row.
    let row = |row: usize| match row % 2 {
        0 => format!("{},0.9,bad\n", u8::from(row.is_multiple_of(20))),
        _ => "1,,gone\n".to_owned(),
    };
    let far_off = folder.write("bad.csv", "label,prob,g\n".to_owned() + &(0..800).map(row).collect::<String>());
    let limits = ["--max", "ls-ece=0.1", "--sigma", "0.5", "--n-resamples", "200"];
    let Run { code, stdout, .. } =
        calipers(&[&["check", text(&far_off), "--invalid", "count", "--by", "g"][..], &limits].concat());
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("1 failed") && stdout.contains("not measured"), "{stdout}");
    let json: Value = serde_json::from_str(&check("ls-ece=0.5", &["--json"]).stdout).unwrap();
    assert_eq!(json["results"][0]["empty_groups"], serde_json::json!(["gone"]));
    let n_left_out: Vec<&Value> =
        json["results"].as_array().unwrap().iter().map(|result| &result["input"]["n_left_out"]).collect();
    assert_eq!(n_left_out, [&Value::from(600), &200.into(), &0.into()]);
}

#[test]
fn groups_count_their_own_rows_in_memory_and_in_sketches() {
    let folder = Folder::new();
    let path = groups(&folder);
    let sketch = folder.path("groups.parquet");
    let printed = succeed(&["sketch", text(&path), "--by", "g", "--invalid", "count", "-o", text(&sketch)]);
    assert!(
        printed
            .ends_with("600 of 1,200 rows were left out: 600 probabilities are missing.\ng gone has no valid row.\n")
    );
    let of_rows = succeed(&["measure", text(&path), "--by", "g", "--invalid", "count", "--sigma", "0.5"]);
    let of_sketch = succeed(&["measure", text(&sketch), "--sigma", "0.5"]);
    for table in [&of_rows, &of_sketch] {
        let expected = "600 of 1,200 rows were left out: 600 probabilities are missing.\ng gone has no valid row.\n";
        assert!(table.starts_with(expected), "{table}");
        let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let cells: Vec<&str> = line("half ").split_whitespace().take(3).collect();
        assert_eq!(cells, ["half", "200", "200"], "{table}");
        assert!(!table.contains("\ngone "), "{table}");
    }
}
