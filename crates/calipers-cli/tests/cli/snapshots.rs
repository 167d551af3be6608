//! Every verb's table and JSON, as files beside this one: a change of what people and programs see
//! is seen in review.
//!
//! `INSTA_UPDATE=always cargo test -p calipers-cli snapshots` writes them anew.

use serde_json::{Number, Value};

use crate::support::{Desk, Run};

/// Name and arguments; those that read what another wrote come after it.
const CASES: &[(&str, &str)] = &[
    ("measure", "measure breast_cancer.csv --prob naive_bayes --prob mlp --sigma 0.5"),
    ("measure-groups", "measure breast_cancer.csv --prob mlp --by size_group"),
    ("measure-classes", "measure digits_mlp.npz --limit 500"),
    (
        "measure-classwise",
        "measure digits_mlp.npz --limit 400 --multiclass classwise --measure expected_calibration_error",
    ),
    ("measure-missing", "measure bad.csv --invalid count --measure brier_score"),
    ("measure-named", "measure breast_cancer.csv --prob mlp --measure smooth_ece --measure brier_score --floor never"),
    ("assess", "assess breast_cancer.csv --prob naive_bayes --sigma 0.5 --n-resamples 100 --tests"),
    (
        "assess-clusters",
        "assess answers.csv --by g --cluster who --measure ls_ece --sigma 0.5 --n-resamples 100 --tests",
    ),
    ("assess-index", "assess breast_cancer.csv --prob mlp --measure ici --n-resamples 40"),
    ("compare", "compare breast_cancer.csv --prob naive_bayes --prob mlp --sigma 0.5 --n-resamples 100"),
    (
        "drift",
        "drift breast_cancer.csv --prob naive_bayes --split size_group --before small --after large --n-resamples 100",
    ),
    ("drift-groups", "drift answers.csv answers.csv --by g --sigma 0.5 --n-resamples 100"),
    ("check", "check breast_cancer.csv --prob naive_bayes --sigma 0.5 --n-resamples 100 --max ls-ece=0.03"),
    ("check-groups", "check answers.csv --by g --cluster who --sigma 0.5 --n-resamples 100 --max ls-ece=0.1"),
    ("check-missing", "check bad.csv --invalid count --n-resamples 100 --max ece=0.9"),
    ("sweep", "sweep breast_cancer.csv --prob naive_bayes --bins 10,20,50,100"),
    ("report", "report breast_cancer.csv --prob naive_bayes --prob mlp --n-resamples 50 -o page.html"),
    ("list", "list"),
    ("sketch", "sketch breast_cancer.csv --prob mlp --by size_group -o groups.parquet"),
    ("merge", "merge groups.parquet -o all.parquet"),
    ("measure-sketch", "measure all.parquet --sigma 0.5"),
    ("monitor", "monitor groups.parquet --window size_group --sigma 0.5 --n-resamples 50"),
    ("recalibrate-fit", "recalibrate fit breast_cancer.csv --prob naive_bayes --n-resamples 50 -o map.json"),
    (
        "recalibrate-compare",
        "recalibrate compare breast_cancer.csv --prob naive_bayes --method temperature --method beta --n-resamples 50",
    ),
    ("recalibrate-check", "recalibrate check breast_cancer.csv --prob naive_bayes --map map.json --n-resamples 50"),
    ("study", "study two-point --out pages --quick"),
    ("study-list", "study"),
    ("inspect", "inspect breast_cancer.csv digits_mlp.npz all.parquet"),
];

/// Formats of `check` that CI services read, of a failed gate and of one without a verdict.
const CI_FORMATS: [&str; 3] = ["github", "junit", "markdown"];

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn formats_for_ci_are_as_they_were() {
    let desk = Desk::new();
    let _settings = settings().bind_to_scope();
    for name in ["check-groups", "check-missing"] {
        let (_, line) = CASES.iter().find(|(case, _)| *case == name).unwrap();
        for format in CI_FORMATS {
            let line = format!("{line} --output-format {format}");
            let run = desk.calipers(&line.split(' ').collect::<Vec<&str>>());
            insta::assert_snapshot!(format!("{name}.{format}"), shown(&line, &run));
        }
    }
}

#[test]
fn tables_and_json_are_as_they_were() {
    let desk = Desk::new();
    let _settings = settings().bind_to_scope();
    for (name, line) in CASES {
        let args: Vec<&str> = line.split(' ').collect();
        let table = desk.calipers(&args);
        let json = desk.calipers(&[&args[..], &["--json"]].concat());
        let json = Run { stdout: rounded(&json.stdout), ..json };
        for (file, line, run) in
            [((*name).to_owned(), (*line).to_owned(), table), (format!("{name}.json"), format!("{line} --json"), json)]
        {
            let text = without_fingerprint(&shown(&line, &run));
            insta::assert_snapshot!(file, if *name == "report" { without_size(&text) } else { text });
        }
    }
}

/// What a terminal would show, and the exit code where it is not 0.
fn shown(line: &str, run: &Run) -> String {
    let code = run.code.filter(|code| *code != 0).map_or(String::new(), |code| format!("exit code {code}\n"));
    format!("$ calipers {line}\n{}{}{code}", run.stdout, run.stderr)
}

/// Without the fingerprint of a map, in which the last digit of every parameter counts: as below.
fn without_fingerprint(text: &str) -> String {
    match text.split_once("\"fingerprint\": \"") {
        Some((before, after)) => format!("{before}\"fingerprint\": \"N{}", &after[16..]),
        None => text.to_owned(),
    }
}

/// Without the size of a page, which has numbers at full length: as above.
fn without_size(text: &str) -> String {
    let size = |line: &str| line.contains(" bytes") || line.contains("\"n_bytes\"");
    let digits = |line: &str| match line.rfind(|c: char| c.is_ascii_digit()) {
        Some(end) => {
            let start = line[..end].rfind(|c: char| !c.is_ascii_digit() && c != ',').map_or(0, |place| place + 1);
            format!("{}N{}", &line[..start], &line[end + 1..])
        }
        None => line.to_owned(),
    };
    text.lines().map(|line| if size(line) { digits(line) } else { line.to_owned() } + "\n").collect()
}

/// JSON with six digits of each number: the last ones are those of a machine's own exponentials.
fn rounded(text: &str) -> String {
    fn round(value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => {
                let rounded = format!("{:.5e}", number.as_f64().unwrap()).parse().unwrap();
                // What is all but rounding is no figure.
                *number = Number::from_f64(if f64::abs(rounded) < 1e-12 { 0.0 } else { rounded }).unwrap();
            }
            Value::Array(all) => all.iter_mut().for_each(round),
            // The default of an option is a setting, however small.
            Value::Object(all) => {
                all.iter_mut().filter(|(key, _)| *key != "default").for_each(|(_, value)| round(value))
            }
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    round(&mut value);
    format!("{value:#}\n")
}
