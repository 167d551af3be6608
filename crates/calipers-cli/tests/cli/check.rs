//! `calipers check`: a gate with three verdicts and their exit codes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Folder, Run, assert_fails, calipers};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Three groups of 2,000 rows: calibrated, calibrated, and with predictions that are too high by
/// 0.2.
fn groups(folder: &Folder) -> PathBuf {
    let row = |row: usize| {
        let p = 0.3 + 0.6 * (row as f64 * 0.618_033_988_749_895).fract();
        let truth = if row % 3 == 2 { p - 0.2 } else { p };
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{p:.3},{}\n", ["a", "b", "high"][row % 3])
    };
    folder.write("a.csv", "label,prob,g\n".to_owned() + &(0..6_000).map(row).collect::<String>())
}

fn check(path: &Path, args: &[&str]) -> Run {
    calipers(&[&["check", text(path), "--sigma", "0.5", "--n-resamples", "200"], args].concat())
}

#[test]
fn three_verdicts_have_their_exit_codes() {
    let folder = Folder::new();
    let path = groups(&folder);
    let passed = check(&path, &["--max", "ls-ece=0.15"]);
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), ""));
    assert!(passed.stdout.starts_with("passed: residual LS-ECE is at most 0.15\n"), "{}", passed.stdout);
    assert!(passed.stdout.contains("decided by residual LS-ECE, sigma 0.5000"), "{}", passed.stdout);

    let failed = check(&path, &["--max", "ls-ece=0.02"]);
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), ""));
    assert!(failed.stdout.starts_with("failed: residual LS-ECE is above 0.02\n"), "{}", failed.stdout);

    let value = {
        let all: Value = serde_json::from_str(&check(&path, &["--max", "ls-ece=0.02", "--json"]).stdout).unwrap();
        all["results"][0]["measures"]["ls_ece"]["value"].as_f64().unwrap()
    };
    let max = format!("ls-ece={value:.3}");
    let undecided = check(&path, &["--max", &max]);
    assert_eq!(undecided.code, Some(0));
    assert_eq!(
        undecided.stderr,
        "calipers: warning: 1 of 1 undecided: more rows would decide; --strict would make this a failure\n"
    );
    assert!(undecided.stdout.starts_with("undecided: "), "{}", undecided.stdout);
    let strict = check(&path, &["--max", &max, "--strict"]);
    assert_eq!((strict.code, strict.stdout), (Some(1), undecided.stdout));
    assert_eq!(
        strict.stderr,
        "calipers: warning: 1 of 1 undecided: more rows would decide; --strict makes this a failure\n"
    );
}

#[test]
fn a_single_verdict_is_that_of_the_interval_whatever_the_method() {
    let folder = Folder::new();
    let path = groups(&folder);
    for method in ["bias-aware", "influence", "normal", "percentile", "bca"] {
        for max in ["0.005", "0.02", "0.05", "0.06", "0.065", "0.07", "0.08", "0.1", "0.3"] {
            let run = check(&path, &["--max", &format!("ls-ece={max}"), "--method", method, "--json"]);
            let all: Value = serde_json::from_str(&run.stdout).unwrap();
            let figure = &all["results"][0]["measures"]["ls_ece"];
            let end = |end: &str| figure["residual"]["interval"][end].as_f64().unwrap();
            let max: f64 = max.parse().unwrap();
            let expected = match (end("upper") <= max, end("lower") > max) {
                (true, _) => ("passed", 0),
                (_, true) => ("failed", 1),
                _ => ("undecided", 0),
            };
            assert_eq!((all["verdict"].as_str().unwrap(), run.code.unwrap()), expected, "{method} {max} {figure}");
        }
    }
}

#[test]
fn smoothing_alone_does_not_fail_a_calibrated_model() {
    let folder = Folder::new();
    // Logits N(0, 0.2) by Box and Muller, outcomes drawn from their own probabilities.
    let row = |row: usize| {
        let [u, v, w] = [0.618_033_988_749_895, 0.414_213_562_373_095, 0.732_050_807_568_877]
            .map(|step| ((row as f64 + 0.5) * step).fract().max(1e-12));
        let logit = 0.2 * (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos();
        let p = 1.0 / (1.0 + (-logit).exp());
        format!("{},{p}\n", u8::from(w < p))
    };
    let path = folder.write("a.csv", "label,prob\n".to_owned() + &(0..2_000).map(row).collect::<String>());
    let run = calipers(&["check", text(&path), "--max", "ls-ece=0.05", "--sigma", "0.5", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    let figure = &all["results"][0]["measures"]["ls_ece"];
    let number = |pointer: &str| figure.pointer(pointer).unwrap().as_f64().unwrap();
    assert_eq!((&all["verdict"], &figure["check"]["decided_by"]), (&"passed".into(), &"residual_ls_ece".into()));
    // LS-ECE itself is beyond the maximum, by what noise on the logits makes of it.
    assert!(number("/value") > 0.05 && number("/smoothing") > 0.05, "{figure}");
    assert!(number("/residual/interval/upper") <= 0.05, "{figure}");
    let table = calipers(&["check", text(&path), "--max", "ls-ece=0.05", "--sigma", "0.5"]).stdout;
    assert!(table.starts_with("passed: ") && table.contains("decided by residual LS-ECE"), "{table}");
    let residual = calipers(&["check", text(&path), "--max", "residual-ls-ece=0.05", "--sigma", "0.5"]);
    assert!(residual.code == Some(0) && residual.stdout.starts_with("passed: residual_ls_ece is at most 0.05\n"));
}

#[test]
fn groups_and_measures_are_decided_together() {
    let folder = Folder::new();
    let path = groups(&folder);
    let args = ["--max", "ls-ece=0.1", "--max", "ece=0.12", "--by", "g"];
    let run = check(&path, &args);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.starts_with("failed: 2 failed, "), "{}", run.stdout);
    let lines: Vec<&str> = run.stdout.lines().skip(4).take(2).collect();
    assert!(lines[0].starts_with("failed") && lines[0].contains("high") && lines[0].contains("ls_ece"), "{run:?}");
    assert!(lines[1].starts_with("failed") && lines[1].contains("expected_calibration_error"), "{run:?}");
    let all: Value = serde_json::from_str(&check(&path, &[&args[..], &["--json"]].concat()).stdout).unwrap();
    let results = all["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    let mut p: Vec<(f64, f64)> = Vec::new();
    for result in results {
        for measure in ["ls_ece", "expected_calibration_error"] {
            let check = &result["measures"][measure]["check"];
            p.push((check["p_value"].as_f64().unwrap(), check["p_adjusted"].as_f64().unwrap()));
            let decided = check["p_adjusted"].as_f64().unwrap() <= 0.05 + 1e-12;
            let expected = match (decided, check["above"].as_bool().unwrap()) {
                (false, _) => "undecided",
                (true, true) => "failed",
                (true, false) => "passed",
            };
            assert_eq!(check["verdict"], expected);
        }
    }
    p.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut largest = 0.0_f64;
    for (place, (p, adjusted)) in p.iter().enumerate() {
        largest = largest.max((8 - place) as f64 * p).min(1.0);
        assert!((adjusted - largest).abs() < 1e-12);
    }
}

#[test]
fn what_would_decide_is_said() {
    let folder = Folder::new();
    let path = groups(&folder);
    // Four figures, of which the smallest p-value that 60 draws can give is 2 / 61: never 0.05 / 4.
    let check = |args: &[&str]| {
        let common = ["check", text(&path), "--sigma", "0.5", "--max", "ls-ece=0.3", "--method", "percentile"];
        calipers(&[&common[..], args].concat())
    };
    let few = check(&["--by", "g", "--n-resamples", "60"]);
    assert_eq!(few.code, Some(0));
    let warning = "4 of 4 undecided: --n-resamples 160 would decide; --strict would make this a failure";
    assert_eq!(few.stderr, format!("calipers: warning: {warning}\n"), "{}", few.stdout);
    let enough = check(&["--by", "g", "--n-resamples", "160"]);
    assert_eq!((enough.code, enough.stderr.as_str()), (Some(0), ""), "{}", enough.stdout);
    let one = check(&["--n-resamples", "20"]);
    assert!(
        one.stdout.starts_with("undecided: there are too few resamples to tell whether residual LS-ECE is above 0.3\n"),
        "{one:?}"
    );
}

#[test]
fn a_group_of_too_few_clusters_is_undecided() {
    let folder = Folder::new();
    let path = folder.write("answers.csv", crate::support::answers(600));
    let run = check(&path, &["--by", "g", "--cluster", "who", "--max", "ls-ece=0.4", "--json"]);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    let few = &all["results"][3]["measures"]["ls_ece"];
    assert_eq!((&few["check"]["verdict"], &few["check"]["p_value"]), (&"undecided".into(), &Value::Null));
    let warning =
        "calipers: warning: 1 of 5 undecided: more clusters would decide; --strict would make this a failure\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), warning));
}

#[test]
fn what_cannot_be_checked_is_refused_with_2() {
    let folder = Folder::new();
    let path = groups(&folder);
    let fails = |args: &[&str], refusal: &str| assert_fails(&[&["check", text(&path)], args].concat(), refusal);
    let number = "max must be NAME=X with a number, as ls-ece=0.03, got";
    let range = "max must be NAME=X with X in [0, 1], as ls-ece=0.03, got";
    fails(&["--max", "ls-ece"], "max must be NAME=X, as ls-ece=0.03, got \"ls-ece\"");
    fails(&["--max", "ls-ece=three"], &format!("{number} \"ls-ece=three\""));
    fails(&["--max", "ls-ece=3"], &format!("{range} \"ls-ece=3\""));
    fails(&["--max", "ls-ece=-0.1"], &format!("{range} \"ls-ece=-0.1\""));
    fails(&["--max", "ls-ece=nan"], &format!("{range} \"ls-ece=nan\""));
    fails(&["--max", "ece=0.1", "--max", "ECE=0.2"], "max must be given once for each measure, got \"ECE=0.2\"");
    let run = calipers(&["check", text(&path), "--max", "lsece=0.1"]);
    assert!(run.code == Some(2) && run.stderr.contains("got \"lsece\""), "{run:?}");
    let run = calipers(&["check", text(&path)]);
    assert!(run.code == Some(2) && run.stderr.contains("--max"), "{run:?}");
    fails(
        &["--max", "ls-ece=0.1", "--cluster", "g"],
        &format!(
            "{}: clusters must be at least 10 different ones, since all uncertainty is estimated from their differences, got 3",
            path.display()
        ),
    );
    let sketch = folder.path("a.calipers");
    assert_eq!(calipers(&["sketch", text(&path), "-o", text(&sketch)]).code, Some(0));
    assert_eq!(check(&sketch, &["--max", "ls-ece=0.02"]).code, Some(1));
    assert_eq!(check(&sketch, &["--max", "ece=0.02"]).code, Some(1));
    assert_eq!(check(&sketch, &["--max", "smooth-ece=0.02"]).code, Some(2));
    let mixed = check(&sketch, &["--max", "ls-ece=0.02", "--max", "smooth_ece=0.02"]);
    assert_eq!((mixed.code, mixed.stdout.as_str()), (Some(2), ""));
    assert!(mixed.stderr.contains("smooth_ece: measure must be"), "{mixed:?}");
}
