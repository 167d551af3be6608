//! `calipers recalibrate`: maps are fitted, shown, applied to files of every format, and checked.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Array, Desk, Folder, Run, answers, assert_fails, calipers, succeed};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// 400 rows of an overconfident model, with columns that have to stay as they are.
fn rows() -> String {
    let row = |row: usize| {
        let u = (row as f64 * 0.618_033_988_749_895).fract();
        let logit = 8.0 * (u - 0.5);
        let truth = 1.0 / (1.0 + (-0.5 * logit).exp());
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{:.17},00{row},\"a, {row}\",{}\n", 1.0 / (1.0 + (-logit).exp()), row.is_multiple_of(2))
    };
    "label,prob,id,name,flag\n".to_owned() + &(0..400).map(row).collect::<String>()
}

fn fitted(folder: &Folder, method: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    let (csv, map) = (folder.write("rows.csv", rows()), folder.path("map.json"));
    succeed(&["recalibrate", "fit", text(&csv), "--method", method, "--n-resamples", "99", "-o", text(&map)]);
    (csv, map)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The Brier score of a column, with all digits.
fn brier(path: &Path, prob: &str) -> f64 {
    let args = ["measure", text(path), "--prob", prob, "--measure", "brier_score", "--floor", "never", "--json"];
    let all: Value = serde_json::from_str(&succeed(&args)).unwrap();
    all["results"][0]["measures"]["brier_score"]["value"].as_f64().unwrap()
}

#[test]
fn a_fitted_map_reports_its_verdict_and_its_parameters() {
    let folder = Folder::new();
    let (csv, map) = (folder.write("rows.csv", rows()), folder.path("map.json"));
    let printed = succeed(&["recalibrate", "fit", text(&csv), "--method", "beta", "-o", text(&map)]);
    assert!(printed.starts_with("Beta calibration helps: "), "{printed}");
    assert!(printed.contains("parameter") && printed.contains("standard error"), "{printed}");
    assert!(printed.ends_with(&format!("{}: beta, 400 rows\n", map.display())), "{printed}");
    let file = json(&map);
    assert_eq!((file["what"].as_str(), file["method"].as_str()), (Some("calibrator"), Some("beta")));
    assert_eq!(file["improvement"]["verdict"], "helps");
    assert_eq!(file["fit"]["n"], 400);
    let shown = succeed(&["recalibrate", "show", text(&map)]);
    assert!(shown.starts_with("beta: sigma(a * log_sigma(h) - b * log_sigma(-h) + c)\n"), "{shown}");
    assert!(shown.contains(file["fingerprint"].as_str().unwrap()), "{shown}");
    assert_eq!(succeed(&["recalibrate", "show", text(&map), "--json"]), std::fs::read_to_string(&map).unwrap());
    let sql = succeed(&["recalibrate", "show", text(&map), "--sql", "--column", "my score"]);
    assert!(sql.contains("\"my score\"") && sql.contains("exp("), "{sql}");
}

/// Rows of a model that is right as it is.
fn calibrated_rows() -> String {
    let row = |row: usize| {
        let p = ((row as f64 * 0.618_033_988_749_895).fract() * 0.98) + 0.01;
        format!("{},{p}\n", u8::from((row as f64 * 0.414_213_562_373_095).fract() < p))
    };
    "label,prob\n".to_owned() + &(0..2000).map(row).collect::<String>()
}

#[test]
fn auto_chooses_a_method_or_leaves_probabilities_as_they_are() {
    let folder = Folder::new();
    let fit = |content: String, more: &[&str]| {
        let (csv, map) = (folder.write("rows.csv", content), folder.path("map.json"));
        let args = ["recalibrate", "fit", text(&csv), "--n-resamples", "99", "-o", text(&map)];
        (succeed(&[&args[..], more].concat()), json(&map), csv, map)
    };
    let (printed, map, ..) = fit(rows(), &[]);
    assert!(printed.contains(" is chosen among identity, platt, spline and centred_isotonic: "), "{printed}");
    assert_ne!(map["method"], "identity");
    let (result, ..) = fit(rows(), &["--json"]);
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["result"]["candidates"].as_array().unwrap().len(), 4);
    assert_eq!(result["result"]["method"], map["method"]);
    let (printed, map, csv, path) = fit(calibrated_rows(), &[]);
    assert!(printed.starts_with("Leave the predictions as they are: of identity, "), "{printed}");
    assert!(printed.contains("The map that was written leaves all probabilities as they are.\n"), "{printed}");
    assert_eq!((&map["method"], &map["improvement"]["gain"]), (&"identity".into(), &0.0.into()));
    // Later steps find a map, which changes nothing but the last digit.
    let output = folder.path("out.csv");
    succeed(&["recalibrate", "apply", text(&csv), "--map", text(&path), "-o", text(&output)]);
    for line in std::fs::read_to_string(&output).unwrap().lines().skip(1) {
        let [before, after] = [1, 2].map(|place| line.split(',').nth(place).unwrap().parse::<f64>().unwrap());
        assert!((before - after).abs() < 1e-15, "{line}");
    }
}

#[test]
fn every_method_fits_and_clusters_weights_and_options_are_read() {
    let folder = Folder::new();
    let csv = folder.write("answers.csv", answers(600));
    let map = folder.path("map.json");
    let fit = |more: &[&str]| {
        let args = ["recalibrate", "fit", text(&csv), "--n-resamples", "20", "-o", text(&map)];
        succeed(&[&args[..], more].concat());
        json(&map)
    };
    for method in ["identity", "shift", "temperature", "platt", "beta", "isotonic", "centred_isotonic"] {
        assert_eq!(fit(&["--method", method])["method"], method);
    }
    let by_rows = fit(&["--method", "platt"]);
    let by_people = fit(&["--method", "platt", "--cluster", "who"]);
    assert_eq!(by_rows["parameters"], by_people["parameters"]);
    assert_ne!(by_rows["fit"]["standard_errors"], by_people["fit"]["standard_errors"]);
    assert_eq!(fit(&["--method", "platt", "--ridge", "0"])["fit"]["ridge"], 0.0);
    assert_eq!(fit(&["--method", "platt", "--mixture", "0.25"])["mixture"], 0.25);
    assert_eq!(fit(&["--method", "isotonic", "--between", "step"])["table"]["between"], "step");
}

#[test]
fn all_formats_get_the_same_probabilities_and_keep_their_columns() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "beta");
    let before = brier(&csv, "prob");
    let apply = |input: &Path, name: &str, more: &[&str]| {
        let output = folder.path(name);
        let args = ["recalibrate", "apply", text(input), "--prob", "prob", "--map", text(&map), "-o", text(&output)];
        assert_eq!(succeed(&[&args[..], more].concat()), format!("{}: 400 rows, beta\n", output.display()));
        output
    };
    let names = ["a.csv", "b.jsonl", "c.parquet", "d.arrow", "e.feather", "f.tsv", "g.csv.gz", "h.ndjson.zst"];
    let outputs = names.map(|name| apply(&csv, name, &[]));
    let after = brier(&outputs[0], "prob_recalibrated");
    assert!(after < before);
    for output in &outputs {
        assert_eq!(brier(output, "prob_recalibrated"), after, "{}", output.display());
        assert_eq!(brier(output, "prob"), before, "{}", output.display());
    }
    // From each format to all others, in place of the column.
    for (place, input) in outputs.iter().enumerate() {
        for name in ["a.csv", "b.jsonl", "c.parquet", "d.arrow"] {
            let output = apply(input, &format!("{place}-{name}"), &["--replace"]);
            assert_eq!(brier(&output, "prob"), after, "{} to {name}", input.display());
        }
    }
}

#[test]
fn cells_of_text_stay_as_they_are_written() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "beta");
    let output = folder.path("out.csv");
    succeed(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&output)]);
    let (before, after) = (rows(), std::fs::read_to_string(&output).unwrap());
    assert_eq!(after.lines().count(), 401);
    for (before, after) in before.lines().zip(after.lines()) {
        assert!(after.starts_with(&format!("{before},")), "{after} is not {before} and a cell more");
    }
    // Types are found for other formats, but zeros in front are kept.
    let lines = folder.path("out.jsonl");
    succeed(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&lines)]);
    let first: Value = serde_json::from_str(std::fs::read_to_string(&lines).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["flag"], &first["name"]), (&"000".into(), &true.into(), &"a, 0".into()));
    assert!(first["label"].is_u64() && first["prob_recalibrated"].is_f64());
}

#[test]
fn values_are_those_of_the_formula() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "beta");
    let output = folder.path("out.csv");
    succeed(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&output)]);
    let parameters = &json(&map)["parameters"];
    let [a, b, c] = ["a", "b", "c"].map(|name| parameters[name].as_f64().unwrap());
    for line in std::fs::read_to_string(&output).unwrap().lines().skip(1) {
        let p: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        let found: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
        let u = a * p.ln() - b * (1.0 - p).ln() + c;
        assert!((found - 1.0 / (1.0 + (-u).exp())).abs() < 1e-12, "{line}");
    }
}

#[test]
fn classes_are_recalibrated_together() {
    let desk = Desk::new();
    let run = |args: &[&str]| {
        let Run { code, stdout, stderr } = desk.calipers(args);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{args:?}");
        stdout
    };
    let printed = run(&["recalibrate", "fit", "digits_mlp.npz", "--n-resamples", "20", "-o", "map.json"]);
    assert!(printed.contains("emperature scaling"), "{printed}");
    assert_eq!(json(&desk.path("map.json"))["classes"], 10);
    for output in ["out.npz", "out.jsonl", "out.parquet", "out.npy"] {
        run(&["recalibrate", "apply", "digits_mlp.npz", "--map", "map.json", "-o", output]);
    }
    let brier = |file: &str| {
        let named = ["--prob", "logits_recalibrated", "--measure", "brier_score", "--floor", "never", "--json"];
        let all: Value = serde_json::from_str(&run(&[&["measure", file][..], &named].concat())).unwrap();
        all["results"][0]["measures"]["brier_score"]["value"].as_f64().unwrap()
    };
    let name = json(&desk.path("map.json"));
    assert_eq!(name["input"], "scores");
    let values = ["out.npz", "out.jsonl", "out.parquet"].map(brier);
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    let Run { code, stderr, .. } =
        desk.calipers(&["recalibrate", "apply", "digits_mlp.npz", "--map", "map.json", "-o", "out.csv"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("has lists, which CSV cannot hold; write .jsonl, .parquet or .npz"), "{stderr}");
}

#[test]
fn a_column_for_each_class_gets_a_column_for_each_class() {
    let folder = Folder::new();
    let row = |row: usize| {
        let u = |k: usize| ((row * 7 + k * 13) % 31) as f64 / 31.0 + 0.05;
        let p: Vec<f64> = (0..3).map(|k| u(k) / (u(0) + u(1) + u(2))).collect();
        let top = (0..3).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
        let label = if row.is_multiple_of(4) { row / 4 % 3 } else { top };
        format!("{},{},{},{}\n", ["cat", "dog", "fox"][label], p[0], p[1], p[2])
    };
    let csv = folder.write("rows.csv", "label,p_cat,p_dog,p_fox\n".to_owned() + &(0..300).map(row).collect::<String>());
    let (map, output) = (folder.path("map.json"), folder.path("out.csv"));
    let named = ["--prob", "p_*"];
    succeed(
        &[&["recalibrate", "fit", text(&csv), "--n-resamples", "20", "--ridge", "5", "-o", text(&map)][..], &named]
            .concat(),
    );
    assert_eq!(json(&map)["labels"], serde_json::json!(["cat", "dog", "fox"]));
    succeed(&[&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&output)][..], &named].concat());
    let written = std::fs::read_to_string(&output).unwrap();
    let header = written.lines().next().unwrap();
    assert_eq!(header, "label,p_cat,p_dog,p_fox,p_cat_recalibrated,p_dog_recalibrated,p_fox_recalibrated");
    for line in written.lines().skip(1) {
        let sum: f64 = line.split(',').skip(4).map(|cell| cell.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{line}");
    }
    let binary = folder.write("binary.csv", rows());
    assert_fails(
        &["recalibrate", "apply", text(&binary), "--map", text(&map), "-o", text(&output)],
        &format!(
            "{}: the map is of 3 classes, and the rows have one probability: name the columns of all classes with --prob, \
             or fit another map",
            binary.display()
        ),
    );
}

#[test]
fn rows_without_a_valid_probability_are_rejected_or_stay_without_a_value() {
    let folder = Folder::new();
    let (_, map) = fitted(&folder, "platt");
    let csv = folder.write("new.csv", "prob,id\n0.5,a\n,b\n1.5,c\n0.25,d\n");
    let output = folder.path("out.csv");
    let apply = ["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&output)];
    let advice = "correct it, or pass --invalid count to leave the value of such rows empty";
    assert_fails(&apply, &format!("{}: probability in line 3 is missing; {advice}", csv.display()));
    assert!(!output.exists());
    let printed = succeed(&[&apply[..], &["--invalid", "count"]].concat());
    assert_eq!(printed, format!("{}: 4 rows, 2 of them without a valid probability, platt\n", output.display()));
    let written = std::fs::read_to_string(&output).unwrap();
    let cells: Vec<&str> = written.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    assert!(cells[0].parse::<f64>().is_ok() && cells[1].is_empty() && cells[2].is_empty(), "{written}");
}

#[test]
fn npy_has_the_recalibrated_probabilities_alone() {
    let folder = Folder::new();
    let (_, map) = fitted(&folder, "platt");
    let npz = folder.npz(
        "in.npz",
        &[("prob", Array::Single(vec![3], vec![0.25, 0.5, 0.75])), ("label", Array::Integers(vec![3], vec![0, 1, 1]))],
    );
    let (out, again) = (folder.path("out.npz"), folder.path("out.npy"));
    succeed(&["recalibrate", "apply", text(&npz), "--map", text(&map), "-o", text(&out)]);
    let shown = succeed(&["inspect", text(&out)]);
    assert!(shown.contains("prob_recalibrated") && shown.contains("<f8 (3,)"), "{shown}");
    succeed(&["recalibrate", "apply", text(&npz), "--map", text(&map), "-o", text(&again)]);
    let bytes = std::fs::read(&again).unwrap();
    assert_eq!(bytes.len(), 128 + 3 * 8);
    let last = folder.path("last.npy");
    succeed(&["recalibrate", "apply", text(&again), "--map", text(&map), "-o", text(&last)]);
    assert_eq!(std::fs::read(&last).unwrap().len(), 128 + 3 * 8);
}

#[test]
fn what_cannot_be_applied_is_an_error_and_leaves_no_file() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "platt");
    let output = folder.path("out.csv");
    let apply = |input: &Path, map: &Path, output: &Path, error: &str| {
        assert_fails(&["recalibrate", "apply", text(input), "--map", text(map), "-o", text(output)], error);
    };
    let absent = folder.path("absent.json");
    apply(
        &csv,
        &absent,
        &output,
        &format!("{}: no such file; calipers recalibrate fit writes a map", absent.display()),
    );
    let reason = "text must be a calipers map: it is no JSON: expected value at line 1 column 1";
    apply(&csv, &csv, &output, &format!("{}: {reason}", csv.display()));
    apply(&csv, &map, &csv, &format!("{0}: must not be an input too, got {0}", csv.display()));
    let nowhere = folder.path("no/out.csv");
    apply(&csv, &map, &nowhere, &format!("{}: cannot write: no such folder", nowhere.display()));
    let unknown = folder.path("out.xlsx");
    let run = calipers(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&unknown)]);
    assert!(run.code == Some(2) && run.stderr.contains("the format is unknown; name the file .csv"), "{run:?}");
    let sketch = folder.path("rows.calipers");
    succeed(&["sketch", text(&csv), "-o", text(&sketch)]);
    let reason = "recalibrate apply does not accept a sketch: a map is applied to rows";
    apply(&sketch, &map, &output, &format!("{}: {reason}", sketch.display()));
    assert_fails(
        &["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&output), "--label", "label"],
        "recalibrate apply does not accept --label: it reads probabilities alone",
    );
    let twice = folder.write("twice.csv", "prob,prob_recalibrated\n0.5,0.5\n");
    let reason = "column prob_recalibrated is there already; rename it or pass --replace";
    assert_fails(
        &["recalibrate", "apply", text(&twice), "--prob", "prob", "--map", text(&map), "-o", text(&output)],
        &format!("{}: {reason}", twice.display()),
    );
    assert_fails(
        &["recalibrate", "fit", text(&csv), "-o", text(&folder.path("map.txt"))],
        &format!("{}: a map is JSON; name the file .json", folder.path("map.txt").display()),
    );
    assert_eq!(folder.names(), ["map.json", "rows.calipers", "rows.csv", "twice.csv"]);
}

#[test]
fn a_map_that_was_changed_by_hand_is_an_error() {
    let folder = Folder::new();
    let (_, map) = fitted(&folder, "platt");
    let changed = std::fs::read_to_string(&map).unwrap().replacen("\"intercept\": ", "\"intercept\": 1", 1);
    let map = folder.write("changed.json", changed);
    let run = calipers(&["recalibrate", "show", text(&map)]);
    let start = format!("calipers: {}: text must be a calipers map: \"check.output[", map.display());
    assert!(run.code == Some(2) && run.stderr.starts_with(&start), "{run:?}");
}

#[test]
fn a_kill_in_the_middle_of_apply_leaves_the_old_file() {
    let folder = Folder::new();
    let (_, map) = fitted(&folder, "beta");
    let long: String = (0..1_000_000).map(|row| format!("{}\n", f64::from(row % 999) / 999.0)).collect();
    let long = folder.write("long.csv", "prob\n".to_owned() + &long);
    let out = folder.write("out.csv", "old");
    let mut n_ended = 0;
    for milliseconds in [5, 40, 120] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_calipers"))
            .args(["recalibrate", "apply", text(&long), "--map", text(&map), "-o", text(&out)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let ended = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(ended.success());
        if child.wait().unwrap().success() {
            break;
        }
        n_ended += 1;
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "old");
        assert_eq!(folder.names(), ["long.csv", "map.json", "out.csv", "rows.csv"]);
    }
    assert!(n_ended > 0);
}

#[test]
fn methods_are_compared_and_a_map_is_measured_on_new_rows() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "platt");
    let compare = ["recalibrate", "compare", text(&csv), "--n-resamples", "50"];
    let printed = succeed(&[&compare[..], &["--method", "temperature", "--method", "isotonic"]].concat());
    assert!(printed.starts_with("The smallest log-loss out of fold is that of temperature. "), "{printed}");
    assert!(
        printed.contains("\ntemperature ") && printed.contains("\nisotonic ") && printed.contains("helps"),
        "{printed}"
    );
    let all: Value = serde_json::from_str(&succeed(&[&compare[..], &["--json"]].concat())).unwrap();
    let methods: Vec<&str> =
        all["methods"].as_array().unwrap().iter().map(|method| method["method"].as_str().unwrap()).collect();
    assert!(methods.starts_with(&["identity", "shift", "temperature", "platt", "beta"]), "{methods:?}");
    let chosen = all["methods"].as_array().unwrap().last().unwrap();
    assert_eq!(chosen["candidates"].as_array().unwrap().len(), 4);
    assert_eq!(all["sentence"], format!("auto: {}", chosen["sentence"].as_str().unwrap()));
    let left = &all["methods"][3]["left"];
    let [before, after] = ["before", "after"].map(|when| left[when]["value"].as_f64().unwrap());
    assert!(after < before && left["before"]["significant"] == true, "{left}");
    let printed = succeed(&["recalibrate", "compare", text(&csv), "--map", text(&map)]);
    assert!(printed.starts_with("The map helps on these rows: log-loss is "), "{printed}");
    assert!(printed.contains(" LS-ECE is "), "{printed}");
}

#[test]
fn a_gate_passes_fails_or_is_undecided() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "platt");
    let check = |csv: &Path, more: &[&str]| {
        calipers(&[&["recalibrate", "check", text(csv), "--map", text(&map)], more].concat())
    };
    let run = check(&csv, &[]);
    assert!(run.code == Some(0) && run.stdout.starts_with("passed: The map helps on these rows"), "{run:?}");
    // Rows for which the model was right as it was.
    let calibrated = folder.write("calibrated.csv", calibrated_rows());
    let run = check(&calibrated, &[]);
    assert!(run.code == Some(1) && run.stdout.starts_with("failed: The map hurts on these rows"), "{run:?}");
    assert!(run.stdout.contains("Fit the map again"), "{run:?}");
    let few = folder.write(
        "few.csv",
        "label,prob\n".to_owned()
            + &(0..30).map(|i| format!("{},{}\n", (i * 7) % 3 % 2, 0.2 + 0.02 * f64::from(i))).collect::<String>(),
    );
    let run = check(&few, &[]);
    if run.code == Some(0) && run.stdout.starts_with("undecided") {
        assert!(run.stderr.starts_with("calipers: warning: the check is undecided"), "{run:?}");
        assert_eq!(check(&few, &["--strict"]).code, Some(1));
    }
    let run = check(&few, &["--min-rows", "100"]);
    assert!(run.code == Some(2) && run.stdout.starts_with("not measured: 30 valid rows"), "{run:?}");
    let all: Value = serde_json::from_str(&check(&csv, &["--json"]).stdout).unwrap();
    assert_eq!((all["verdict"].as_str(), all["strict"].as_bool()), (Some("passed"), Some(false)));
}

#[test]
fn a_sketch_gives_a_map_without_a_verdict() {
    let folder = Folder::new();
    let (csv, map) = fitted(&folder, "beta");
    let (sketch, other) = (folder.path("rows.calipers"), folder.path("other.json"));
    succeed(&["sketch", text(&csv), "-o", text(&sketch)]);
    let printed = succeed(&["recalibrate", "fit", text(&sketch), "-o", text(&other)]);
    assert!(printed.contains("cannot be told from a sketch"), "{printed}");
    assert!(printed.contains("\nauto is beta for a sketch: "), "{printed}");
    let (of_rows, of_sketch) = (json(&map), json(&other));
    for name in ["a", "b", "c"] {
        let [ours, theirs] = [&of_rows, &of_sketch].map(|file| file["parameters"][name].as_f64().unwrap());
        assert!((ours - theirs).abs() < 1e-3, "{name}: {ours} {theirs}");
    }
    assert!(of_sketch.get("improvement").is_none());
}

/// Rows of two regions that are off in opposite directions, and of a third with four rows.
fn rows_of_regions() -> String {
    let row = |row: usize| {
        let region = if row < 4 { "7" } else { ["north", "south"][row % 2] };
        let logit = 6.0 * ((row as f64 * 0.618_033_988_749_895).fract() - 0.5);
        let shift = if region == "north" { 1.0 } else { -1.0 };
        let truth = 1.0 / (1.0 + (-(logit + shift)).exp());
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{:.17},{region},{}\n", 1.0 / (1.0 + (-logit).exp()), row % 50)
    };
    "label,prob,region,who\n".to_owned() + &(0..800).map(row).collect::<String>()
}

#[test]
fn each_group_has_a_map_and_apply_reads_its_column() {
    let folder = Folder::new();
    let (csv, map) = (folder.write("rows.csv", rows_of_regions()), folder.path("map.json"));
    let fit = ["recalibrate", "fit", text(&csv), "--by", "region", "-o", text(&map)];
    let printed = succeed(&[&fit[..], &["--method", "platt"]].concat());
    assert!(printed.starts_with("Platt scaling by group, partially pooled, helps: "), "{printed}");
    for word in ["north", "south", "any other", "spread", "own share", "one map a group", "partially pooled"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    assert!(printed.ends_with(&format!("{}: platt by region, 800 rows\n", map.display())), "{printed}");
    let file = json(&map);
    assert_eq!((file["format"].as_u64(), file["by"].as_str()), (Some(2), Some("region")));
    assert_eq!(file["groups"].as_array().unwrap().len(), 3);
    let shown = succeed(&["recalibrate", "show", text(&map)]);
    assert!(shown.contains("a map for each of 3 groups of region; any other gets the pooled one above"), "{shown}");
    let sql = succeed(&["recalibrate", "show", text(&map), "--sql"]);
    assert!(sql.starts_with("(CASE COALESCE(CAST(\"region\" AS VARCHAR), '')"), "{sql}");
    // The same probabilities in every format, whatever the type of the column.
    let intercept = |group: usize| file["groups"][group]["parameters"]["intercept"].as_f64().unwrap();
    let slope = |group: usize| file["groups"][group]["parameters"]["slope"].as_f64().unwrap();
    let places = ["7", "north", "south"];
    let csv_out = folder.path("out.csv");
    succeed(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&csv_out)]);
    for line in std::fs::read_to_string(&csv_out).unwrap().lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let group = places.iter().position(|name| *name == cells[2]).unwrap();
        let p: f64 = cells[1].parse().unwrap();
        let u = slope(group) * (p / (1.0 - p)).ln() + intercept(group);
        assert!((cells[4].parse::<f64>().unwrap() - 1.0 / (1.0 + (-u).exp())).abs() < 1e-12, "{line}");
    }
    let values: Vec<f64> = ["out.parquet", "out.jsonl", "out.arrow"]
        .map(|name| {
            let (first, second) = (folder.path(name), folder.path(&format!("again_{name}")));
            succeed(&["recalibrate", "apply", text(&csv), "--map", text(&map), "-o", text(&first)]);
            // From that format once more, in place of the values of the first time.
            let again = ["--prob", "prob", "--map", text(&map), "--replace", "-o", text(&second)];
            succeed(&[&["recalibrate", "apply", text(&first)][..], &again].concat());
            assert_eq!(brier(&first, "prob_recalibrated"), brier(&second, "prob"), "{name}");
            brier(&second, "prob")
        })
        .into();
    assert!(values.iter().all(|value| *value == brier(&csv_out, "prob_recalibrated")), "{values:?}");
}

#[test]
fn maps_by_group_are_measured_on_new_rows() {
    let folder = Folder::new();
    let (csv, map) = (folder.write("rows.csv", rows_of_regions()), folder.path("map.json"));
    let args = ["recalibrate", "fit", text(&csv), "--by", "region", "--cluster", "who", "--json", "-o", text(&map)];
    let found: Value = serde_json::from_str(&succeed(&args)).unwrap();
    assert_eq!(found["result"]["method"], "beta");
    assert_eq!(found["result"]["groups"].as_array().unwrap().len(), 3);
    let ways: Vec<&str> =
        found["result"]["pooling"].as_array().unwrap().iter().map(|way| way["pooling"].as_str().unwrap()).collect();
    assert_eq!(ways, ["unchanged", "one map", "partially pooled", "one map a group"]);
    let on = |verb: &str, more: &[&str]| {
        calipers(&[&["recalibrate", verb, text(&csv), "--map", text(&map), "--n-resamples", "20"][..], more].concat())
    };
    let compared = on("compare", &[]);
    assert!(compared.stdout.starts_with("The map helps on these rows"), "{compared:?}");
    let checked = on("check", &["--cluster", "who"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    // Rows of groups that are not known get the pooled map.
    let new = folder.write("new.csv", "prob,region\n0.5,east\n0.5,\n");
    let output = folder.path("out.csv");
    succeed(&["recalibrate", "apply", text(&new), "--map", text(&map), "-o", text(&output)]);
    let written = std::fs::read_to_string(&output).unwrap();
    let values: Vec<&str> = written.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(values[0], values[1]);
    let other = folder.write("other.csv", "prob,area\n0.5,north\n");
    let run = calipers(&["recalibrate", "apply", text(&other), "--map", text(&map), "-o", text(&output)]);
    assert!(run.code == Some(2) && run.stderr.contains("region"), "{run:?}");
    succeed(&["recalibrate", "apply", text(&other), "--by", "area", "--map", text(&map), "-o", text(&output)]);
    let (_, one) = fitted(&folder, "platt");
    assert_fails(
        &["recalibrate", "compare", text(&csv), "--by", "region", "--map", text(&one)],
        "recalibrate compare does not accept --by: the map is the same for all groups",
    );
}

#[test]
fn several_sketches_are_folds() {
    let folder = Folder::new();
    let map = folder.path("map.json");
    let lines: Vec<String> = rows().lines().skip(1).map(str::to_owned).collect();
    let sketches: Vec<std::path::PathBuf> = (0..4)
        .map(|fold| {
            let own: Vec<&str> = lines.iter().skip(fold).step_by(4).map(String::as_str).collect();
            let csv = folder.write("fold.csv", format!("label,prob,id,name,flag\n{}\n", own.join("\n")));
            let sketch = folder.path(&format!("fold{fold}.calipers"));
            succeed(&["sketch", text(&csv), "-o", text(&sketch)]);
            sketch
        })
        .collect();
    let files: Vec<&str> = sketches.iter().map(|path| text(path)).collect();
    let args = [&["recalibrate", "fit"][..], &files, &["--method", "platt", "-o", text(&map)]].concat();
    let printed = succeed(&args);
    assert!(printed.starts_with("Platt scaling helps: "), "{printed}");
    assert!(printed.contains("the gain is known to within"), "{printed}");
    let file = json(&map);
    assert_eq!(
        (file["improvement"]["n_folds"].as_u64(), file["improvement"]["verdict"].as_str()),
        (Some(4), Some("helps"))
    );
    let found: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    assert!(found["prob"].is_null() && found["result"]["floor"].is_null());
}

#[test]
fn rows_of_one_outcome_are_an_error_about_the_outcome() {
    let folder = Folder::new();
    let csv = folder.write("rows.csv", "label,prob\n1,0.5\n1,0.6\n1,0.7\n");
    assert_fails(
        &["recalibrate", "fit", text(&csv), "-o", text(&folder.path("map.json"))],
        &format!("{}: rows must be of both outcomes, got 3 rows of outcome 1", csv.display()),
    );
}

#[test]
fn clusters_of_rows_of_classes_are_held_out_whole() {
    let folder = Folder::new();
    let row = |row: usize| {
        let u = |k: usize| ((row / 2 * 7 + k * 13) % 31) as f64 / 31.0 + 0.05;
        let p: Vec<f64> = (0..3).map(|k| u(k) / (u(0) + u(1) + u(2))).collect();
        let top = (0..3).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
        let label = if (row / 2).is_multiple_of(4) { row / 8 % 3 } else { top };
        format!("{label},{},{},{},{}\n", p[0], p[1], p[2], row / 2)
    };
    let csv = folder.write("rows.csv", "label,p_0,p_1,p_2,who\n".to_owned() + &(0..300).map(row).collect::<String>());
    let map = folder.path("map.json");
    let args =
        ["recalibrate", "fit", text(&csv), "--prob", "p_*", "--method", "temperature", "-o", text(&map), "--json"];
    let width = |more: &[&str]| {
        let found: Value = serde_json::from_str(&succeed(&[&args[..], more].concat())).unwrap();
        let end = |name: &str| found["result"]["interval"][name].as_f64().unwrap();
        end("upper") - end("lower")
    };
    assert!(width(&["--cluster", "who"]) > 1.2 * width(&[]));
    let args = ["recalibrate", "compare", text(&csv), "--prob", "p_*", "--map", text(&map), "--cluster", "who"];
    succeed(&args);
}
