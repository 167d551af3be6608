//! Measures by name: `--measure`, `--all` and `calipers list`.

use std::path::{Path, PathBuf};

use calipers::{Input, Settings, registry};
use serde_json::Value;

use crate::support::{Folder, assert_fails, assert_refused, calipers, json, measure, results, succeed};

/// Two points whose outcomes are as far apart as can be: no regression has a finite slope.
const SEPARATED: &str = "label,prob\n0,0.2\n0,0.3\n1,0.7\n1,0.9\n";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/breast_cancer.csv")
}

/// Labels and one column of the example.
fn columns(prob: usize) -> (Vec<u8>, Vec<f64>) {
    let text = std::fs::read_to_string(example()).unwrap();
    let cells = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    cells.map(|cells| (cells[0].parse::<u8>().unwrap(), cells[prob].parse::<f64>().unwrap())).unzip()
}

fn names(measures: &Value) -> Vec<&str> {
    measures.as_object().unwrap().keys().map(String::as_str).collect()
}

fn all_names() -> Vec<&'static str> {
    registry::all().iter().map(|entry| entry.spec.name).collect()
}

#[test]
fn all_measures_are_those_of_the_core() {
    let (labels, probabilities) = columns(4);
    let predictions = Input::probabilities(&probabilities, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let result = json(&example(), &["--prob", "mlp", "--all"]);
    assert_eq!(names(&result["measures"]), all_names());
    for listed in registry::all().iter().map(|entry| entry.spec) {
        let figure = &result["measures"][listed.name];
        let expected = registry::make(listed.name, &Settings::default()).unwrap().estimate(&view).unwrap();
        for (field, expected) in [("value", expected.value), ("numerical_bound", expected.numerical_bound)] {
            // serde_json reads the last digit of a number within one unit.
            let distance = (figure[field].as_f64().unwrap() - expected).abs();
            assert!(distance <= f64::EPSILON * expected.abs(), "{} {field}: {distance}", listed.name);
        }
        assert_eq!(figure["definition"], listed.definition, "{}", listed.name);
        assert_eq!(figure["settings"].as_object().unwrap().len(), expected.settings.iter().count(), "{}", listed.name);
    }
    assert_eq!([&result["n"], &result["method"]], [&Value::from(569), &Value::from("rows")]);
}

#[test]
fn options_without_a_flag_are_given_by_name() {
    let (labels, probabilities) = columns(4);
    let predictions = Input::probabilities(&probabilities, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let value =
        |name: &str, settings: Settings| registry::make(name, &settings).unwrap().estimate(&view).unwrap().value;
    let loess = Settings::default().with("smoother", "loess").with("span", 0.5).with("degree", 1u64);
    let args = ["--prob", "mlp", "--measure", "ici", "--measure", "adaptive_calibration_error"];
    let named = ["--option", "smoother=loess", "--option", "span=0.5", "--option", "degree=1", "--option", "n_bins=7"];
    let found = json(&example(), &[&args[..], &named].concat());
    let close = |found: &Value, expected: f64| (found.as_f64().unwrap() - expected).abs() <= f64::EPSILON * expected;
    assert!(close(&found["measures"]["ici"]["value"], value("ici", loess)));
    let bins = value("adaptive_calibration_error", Settings::default().with("n_bins", 7u64));
    assert!(close(&found["measures"]["adaptive_calibration_error"]["value"], bins));
    assert_eq!(found["measures"]["ici"]["settings"]["smoother"], "loess");
    let refused = |args: &[&str], text: &str| {
        let run = calipers(&[&["measure", example().to_str().unwrap(), "--prob", "mlp"], args].concat());
        assert!(run.code == Some(2) && run.stderr.contains(text), "{}", run.stderr);
    };
    let unknown = "option must be one that a selected measure has: smoother, span, degree";
    refused(&["--measure", "ici", "--option", "smother=loess"], unknown);
    refused(&["--option", "n_bins=10"], "pass --n-bins");
    refused(&["--measure", "ici", "--option", "span=wide"], "span must be a number, got \"wide\"");
    refused(&["--measure", "ici", "--option", "smoother"], "must be NAME=VALUE, as smoother=loess");
}

#[test]
fn tests_of_calibration_take_the_groups_of_r() {
    let path = example();
    let statistic = |args: &[&str]| {
        let verb = ["assess", path.to_str().unwrap(), "--prob", "mlp", "--tests", "--json"];
        let found: Value = serde_json::from_str(&succeed(&[&verb, args].concat())).unwrap();
        found["results"][0]["tests"]["hosmer_lemeshow"]["statistic"].as_f64().unwrap()
    };
    assert_ne!(statistic(&[]), statistic(&["--option", "quantiles=interpolated"]));
    assert_eq!(statistic(&[]), statistic(&["--option", "quantiles=mass"]));
    let text = "quantiles must be \"mass\" or \"interpolated\", got \"odd\"";
    assert_fails(&["assess", path.to_str().unwrap(), "--prob", "mlp", "--tests", "--option", "quantiles=odd"], text);
}

#[test]
fn ls_ece_and_ece_keep_their_options() {
    let options = ["--prob", "mlp", "--sigma", "0.5", "--n-bins", "10", "--norm", "l2", "--noise", "logistic"];
    let (plain, named) = (json(&example(), &options), json(&example(), &[&options[..], &["--all"]].concat()));
    for (plain, name) in [(&plain["ls_ece"], "ls_ece"), (&plain["ece"], "expected_calibration_error")] {
        assert_eq!(*plain, named["measures"][name]);
        assert_ne!(plain["definition"], registry::spec(name).unwrap().definition);
    }
    assert_eq!(
        named["measures"]["expected_calibration_error"]["definition"],
        "root of the mean squared gap over 10 bins of equal width"
    );
    assert_eq!(named["measures"]["adaptive_calibration_error"]["settings"]["n_bins"], 15);
}

#[test]
fn named_measures_come_in_the_order_of_their_names_and_once() {
    let asked = ["--measure", "smooth_ece", "--measure", "brier_score", "--measure", "smooth_ece"];
    let result = json(&example(), &[&["--prob", "mlp"], &asked[..]].concat());
    assert_eq!(names(&result["measures"]), ["smooth_ece", "brier_score"]);
}

#[test]
fn a_table_has_a_line_for_each_measure_and_a_column_for_each_model() {
    let models = ["--prob", "mlp", "--prob", "naive_bayes", "--prob", "random_forest", "--prob", "logistic_regression"];
    for n_models in 1..=4 {
        let with_floors = measure(&example(), &[&models[..2 * n_models], &["--all"]].concat());
        assert!(with_floors.lines().all(|line| line.chars().count() <= 116), "{with_floors}");
        let brier: Vec<&str> = with_floors.lines().filter(|line| line.starts_with("brier_score")).collect();
        // Value, floor in three words and p of each; the bound of all comes last.
        assert_eq!(brier.iter().map(|line| line.split_whitespace().count() - 1).sum::<usize>(), 5 * n_models + 1);
        assert!(
            with_floors.contains("resamples. p: how often") && with_floors.contains("floor not available: "),
            "{with_floors}"
        );
        let table = measure(&example(), &[&models[..2 * n_models], &["--all", "--floor", "never"]].concat());
        let (lines, words) = table.split_once("\n\n").unwrap();
        assert!(lines.lines().all(|line| line.chars().count() <= 100), "{table}");
        let first: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(first.ends_with(&[&["n"], &all_names()[..]].concat()), "{table}");
        let brier = lines.lines().find(|line| line.starts_with("brier_score")).unwrap();
        assert_eq!(brier.split_whitespace().count(), 2 + n_models);
        assert!(words.contains("\nnum. ±: a bound on the numerical error"), "{words}");
    }
    let one = measure(&example(), &["--prob", "mlp", "--measure", "sweep_ece", "--measure", "ls_ece"]);
    assert!(one.contains("12 bins") && one.contains("sigma 0.3179, 140 clipped"), "{one}");
    let turned = measure(&example(), &[&models[..], &["--measure", "brier_score"]].concat());
    let first: Vec<&str> = turned.lines().map(|line| line.split_whitespace().next().unwrap_or_default()).collect();
    assert_eq!(first[..6], ["predictions", first[1], "mlp", "naive_bayes", "random_forest", "logistic_regression"]);
}

#[test]
fn more_models_than_fit_are_shown_in_further_tables() {
    let folder = Folder::new();
    let probs: Vec<String> = (0..9).map(|model| format!("probability_{model}")).collect();
    let row = |label: usize| format!("{label},{}\n", [["0.3", "0.6"][label]; 9].join(","));
    let path = folder.write("a.csv", format!("label,{}\n{}{}{}", probs.join(","), row(0), row(1), row(0)));
    let options: Vec<&str> = probs.iter().flat_map(|prob| ["--prob", prob.as_str()]).collect();
    let table = measure(&path, &[&options[..], &["--all", "--floor", "never"]].concat());
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("brier_score")).count(), 3);
}

#[test]
fn a_measure_that_cannot_be_computed_does_not_hide_the_others() {
    let folder = Folder::new();
    let path = folder.write("a.csv", SEPARATED);
    let text = "rows must be of both outcomes with overlapping ranges of logits, since the regression has no finite \
                solution else, got outcome 0 up to logit -0.8472978603872036 and outcome 1 from 0.8472978603872034";
    let result = json(&path, &["--all"]);
    assert_eq!(names(&result["measures"]), all_names());
    let refused = &result["measures"]["calibration_slope"];
    assert_eq!([&refused["value"], &refused["error"]], [&Value::Null, &Value::from(text)]);
    assert!(refused["definition"].as_str().unwrap().contains("slope"));
    assert_eq!(result["measures"]["brier_score"].get("error"), None);

    let table = measure(&path, &["--all"]);
    let line = table.lines().find(|line| line.starts_with("calibration_slope")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["calibration_slope", "error"]);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("calibration_slope, calibration_intercept: {text}")), "{table}");

    assert_refused(&path, &["--measure", "calibration_slope"], text);
    let with_another = json(&path, &["--measure", "calibration_slope", "--measure", "brier_score"]);
    assert_eq!(with_another["measures"]["calibration_slope"]["error"], text);
}

#[test]
fn an_unknown_name_is_an_error_with_the_closest_name() {
    let text = "measure must be a name from the list of measures (calipers list, cal.measures()), got \"brier\"; did you mean \"brier_score\"?";
    assert_fails(&["measure", "nowhere.csv", "--measure", "brier"], text);
    let run = calipers(&["measure", "nowhere.csv", "--measure", "ici", "--all"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn a_sketch_answers_what_it_can_and_says_that_the_rest_needs_rows() {
    let folder = Folder::new();
    let sketch = folder.path("a.parquet");
    let (example, sketch) = (example(), sketch.to_str().unwrap());
    let example = example.to_str().unwrap();
    succeed(&["sketch", example, "--prob", "mlp", "--by", "size_group", "-o", sketch]);
    let needs_rows = "measure must be one that a sketch can answer, got one that needs the rows";
    let of_sketch = results(&[sketch, "--all"]);
    let of_rows = &results(&[example, "--prob", "mlp", "--all"])[0];
    assert_eq!(of_sketch.len(), 4);
    assert_eq!(of_sketch[0]["measures"]["smooth_ece"]["error"], needs_rows);
    for name in ["ls_ece", "expected_calibration_error", "maximum_calibration_error", "ecce_r", "brier_score"] {
        let (sketched, exact) = (&of_sketch[0]["measures"][name], &of_rows["measures"][name]);
        let number = |figure: &Value, field: &str| figure[field].as_f64().unwrap();
        let bound = number(sketched, "numerical_bound") + number(exact, "numerical_bound");
        assert!((number(sketched, "value") - number(exact, "value")).abs() <= bound, "{name}");
    }
    let sigma = |result: &Value| result["measures"]["ls_ece"]["settings"]["sigma"].as_f64().unwrap();
    // Groups have fewer rows, and so a larger sigma.
    assert!(of_sketch[1..].iter().all(|group| sigma(group) > sigma(&of_sketch[0])));
    // The groups of a file are measured on their rows, so that all measures can be.
    let grouped = results(&[example, "--prob", "mlp", "--by", "size_group", "--all", "--floor", "never"]);
    let brier = |result: &Value| result["measures"]["brier_score"]["value"].as_f64().unwrap();
    assert!((brier(&grouped[3]) - brier(&of_sketch[3])).abs() <= 1e-9);
    assert!(grouped[3]["measures"]["smooth_ece"]["value"].is_number() && grouped[3]["method"] == "rows");

    let table = succeed(&["measure", sketch, "--all"]);
    assert!(!table.lines().any(|line| line.starts_with("smooth_ece")), "{table}");
    assert!(table.split_whitespace().collect::<Vec<_>>().join(" ").contains(needs_rows), "{table}");
    assert_fails(&["measure", sketch, "--measure", "smooth_ece"], &format!("{sketch}: {needs_rows}"));
}

#[test]
fn large_files_are_kept_only_where_rows_are_needed() {
    let folder = Folder::new();
    let n = (1 << 20) + 2;
    let row = |row: usize| format!("{},0.{}\n", row % 2, 1 + row % 8);
    let path = folder.write("large.csv", "label,prob\n".to_owned() + &(0..n).map(row).collect::<String>());
    let sketched = json(&path, &["--measure", "brier_score", "--measure", "ecce_mad"]);
    assert_eq!([&sketched["method"], &sketched["n"]], [&Value::from("sketch"), &Value::from(n)]);
    let kept = json(&path, &["--measure", "brier_score", "--measure", "log_loss"]);
    assert_eq!([&kept["method"], &kept["n"]], [&Value::from("rows"), &Value::from(n)]);
    let value = |result: &Value| result["measures"]["brier_score"]["value"].as_f64().unwrap();
    assert!((value(&sketched) - value(&kept)).abs() <= 1e-9);
}

#[test]
fn classes_are_measured_one_by_one_and_averaged() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits_mlp.npz");
    let options = ["--measure", "brier_score", "--multiclass", "classwise"];
    let brier = &json(&path, &options)["measures"]["brier_score"];
    let per_class = brier["per_class"].as_array().unwrap();
    let mean = per_class.iter().map(|class| class["value"].as_f64().unwrap()).sum::<f64>() / 10.0;
    assert_eq!(per_class.len(), 10);
    assert!((brier["value"].as_f64().unwrap() - mean).abs() < 1e-15);
    assert!(measure(&path, &options).contains("means over the classes"));
}

#[test]
fn scores_of_several_classes_are_over_all_of_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits_mlp.npz");
    let alone = json(&path, &["--measure", "log_loss"]);
    assert_eq!([&alone["multiclass"], &alone["n_classes"]], [&Value::from("all_classes"), &Value::from(10)]);
    let mixed = json(&path, &["--measure", "log_loss", "--measure", "ls_ece"]);
    assert_eq!(mixed["multiclass"], "top_class");
    assert_eq!(mixed["measures"]["log_loss"], alone["measures"]["log_loss"]);
    assert_eq!(alone["measures"]["log_loss"]["settings"]["multiclass"], "all_classes");
    let table = measure(&path, &["--measure", "log_loss", "--measure", "ls_ece"]);
    assert!(table.contains("over all 10 classes") && table.contains("log_loss: over all classes together"), "{table}");
    // Each class against the rest, summed: the mean over classes times their number.
    let value = |options: &[&str]| {
        let options = [&["--measure", "brier_score"], options].concat();
        json(&path, &options)["measures"]["brier_score"]["value"].as_f64().unwrap()
    };
    assert!((value(&[]) - 10.0 * value(&["--multiclass", "classwise"])).abs() < 1e-14);
    assert!(value(&["--multiclass", "top_class"]) < value(&[]));
    let text = path.to_str().unwrap();
    assert_fails(
        &["measure", text, "--measure", "ece", "--multiclass", "all_classes"],
        &format!(
            "{text}: multiclass must be \"top_class\", \"classwise\" or a class for expected_calibration_error, since \
             only brier_score and log_loss take all classes together, got \"all_classes\""
        ),
    );
    assert_fails(
        &["measure", text, "--together", "--measure", "brier_score"],
        "--together makes a sketch of all files, which has one outcome a row, but a score over all classes needs the \
         rows; pass --multiclass top_class to measure the top class",
    );
}

#[test]
fn many_rows_of_classes_are_kept_for_a_score_over_all_of_them() {
    let folder = Folder::new();
    let n = (1 << 20) + 2;
    let row = |row: usize| format!("{{\"label\":{},\"probs\":[0.2,0.3,0.5]}}\n", row % 3);
    let path = folder.write("large.jsonl", (0..n).map(row).collect::<String>());
    let found = json(&path, &["--measure", "brier_score"]);
    assert_eq!([&found["method"], &found["multiclass"]], [&Value::from("rows"), &Value::from("all_classes")]);
    // 0.38 + 1 - 2 p for each label in turn.
    let expected = 0.38 + 1.0 - 2.0 / 3.0;
    assert!((found["measures"]["brier_score"]["value"].as_f64().unwrap() - expected).abs() < 1e-5);
}

#[test]
fn all_names_are_listed_with_their_definitions() {
    let list = succeed(&["list"]);
    for listed in registry::all().iter().map(|entry| entry.spec) {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(listed.name)).unwrap();
        let options: Vec<&str> =
            listed.options.iter().map(|option| option.name).filter(|name| *name != "link").collect();
        let definition = line.strip_suffix(&options.join(", ")).unwrap_or_else(|| panic!("{line}")).trim_end();
        assert!(definition.ends_with(&format!("  {}", listed.definition)), "{line}");
    }
    let json: Value = serde_json::from_str(&succeed(&["list", "--json"])).unwrap();
    let measures = json["measures"].as_array().unwrap();
    assert_eq!(measures.len(), registry::all().len());
    for (measure, listed) in measures.iter().zip(registry::all().iter().map(|entry| entry.spec)) {
        assert_eq!([&measure["name"], &measure["definition"]], [listed.name, listed.definition]);
    }
    assert_eq!(json["calipers"], env!("CARGO_PKG_VERSION"));
    let help = succeed(&["list", "--help"]);
    for said in ["List all measures with their definitions", "--json", "Print JSON"] {
        assert!(help.contains(said), "{said}: {help}");
    }
    let help = succeed(&["measure", "--help"]);
    for said in ["--measure <NAME>", "--all", "calipers list", "calipers measure predictions.csv --all"] {
        assert!(help.contains(said), "{said}: {help}");
    }
}
