//! `calipers assess`: the sentence first, then figures with floors, intervals and p-values.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use calipers::{Assess, Input, LsEce};
use serde_json::Value;

use crate::support::{Folder, assert_fails, calipers, succeed};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/breast_cancer.csv")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn assess(args: &[&str]) -> String {
    succeed(&[&["assess", text(&example()), "--n-resamples", "200"], args].concat())
}

fn results(args: &[&str]) -> Vec<Value> {
    let all: Value = serde_json::from_str(&assess(&[args, &["--json"]].concat())).unwrap();
    all["results"].as_array().unwrap().clone()
}

/// Rows of groups, of which the last is overconfident, in clusters of four rows with one outcome.
fn rows(n: usize) -> String {
    let row = |row: usize| {
        let p = ((row as f64 * 0.618_033_988_749_895).fract() * 1000.0).round() / 1000.0;
        let truth = if row % 3 == 2 { 0.5 + 0.3 * (p - 0.5) } else { p };
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{p},{},c{}\n", ["a", "b", "worse"][row % 3], row / 4)
    };
    "label,prob,g,who\n".to_owned() + &(0..n).map(row).collect::<String>()
}

/// Rows of so many groups, of which two are off.
fn many_groups(n_groups: usize) -> String {
    let row = |row: usize| {
        let (group, row) = (row % n_groups, row / n_groups);
        let p = 0.1 + 0.8 * (row as f64 * 0.618_033_988_749_895).fract();
        let truth = [p + 0.25, p - 0.3].get(group).copied().unwrap_or(p);
        let outcome = u8::from((row as f64 * 0.754_877_666_246_693 + 0.37 * group as f64).fract() < truth);
        format!("{outcome},{p},g{group}\n")
    };
    "label,prob,g\n".to_owned() + &(0..n_groups * 300).map(row).collect::<String>()
}

#[test]
fn many_groups_begin_with_those_that_are_off() {
    let folder = Folder::new();
    let path = folder.write("many.csv", many_groups(12));
    let args = ["assess", text(&path), "--by", "g", "--sigma", "0.3", "--measure", "ls_ece", "--n-resamples", "400"];
    let output = succeed(&args);
    let lines: Vec<&str> = output.lines().take_while(|line| !line.is_empty()).collect();
    assert!(lines[0].starts_with("The worst of 12 groups by g is g"), "{output}");
    assert!(lines[1].starts_with("all: "), "{output}");
    let summary = lines[1..].iter().find(|line| line.contains("groups by g")).unwrap();
    assert!(
        summary.starts_with("2 of 12 groups by g are miscalibrated after adjusting for their number: "),
        "{summary}"
    );
    assert!(summary.contains("g0 (too low by 0.2") && summary.contains("g1 (too high by 0."), "{summary}");
    let sentences: Vec<&&str> = lines.iter().filter(|line| line.starts_with('g')).collect();
    assert_eq!(sentences.len(), 2, "{sentences:?}");
    // The table has every group, once.
    assert_eq!(output.lines().filter(|line| line.starts_with("g11 ")).count(), 1, "{output}");
    let few = folder.write("few.csv", many_groups(3));
    let output = succeed(&["assess", text(&few), "--by", "g", "--sigma", "0.3", "--measure", "ls_ece"]);
    assert!(!output.contains("after adjusting for their number:") && output.contains("\ng2: "), "{output}");
}

#[test]
fn the_sentence_comes_first_and_is_that_of_the_core() {
    let content = std::fs::read_to_string(example()).unwrap();
    let cells = content.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let (labels, probabilities): (Vec<u8>, Vec<f64>) =
        cells.map(|cells| (cells[0].parse::<u8>().unwrap(), cells[4].parse::<f64>().unwrap())).unzip();
    let predictions = Input::probabilities(&probabilities, &labels).check().unwrap();
    let measure = LsEce::new().sigma(0.5);
    let expected = Assess::new(&measure).n_resamples(200).run(&predictions.binary().unwrap()).unwrap();
    let table = assess(&["--prob", "mlp", "--sigma", "0.5"]);
    assert_eq!(table.lines().next(), Some(expected.sentence().as_str()));
    let parts = expected.parts.as_ref().unwrap();
    let direction = format!("Direction: too high {:.3} (", parts.too_high.debiased);
    assert!(table.lines().nth(1).unwrap().starts_with(&direction), "{table}");
    assert!(table.lines().nth(2).unwrap().contains("ECE"), "{table}");
    let figure = &results(&["--prob", "mlp", "--sigma", "0.5"])[0]["measures"]["ls_ece"];
    let close = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() <= 1e-15;
    assert!(close(&figure["value"], expected.estimate.value));
    let floor = expected.floor.as_ref().unwrap();
    assert!(
        close(&figure["floor"]["mean"], floor.mean) && close(&figure["floor"]["quantiles"]["0.95"], floor.quantiles[2])
    );
    assert!(close(&figure["p_value"], floor.p_value));
    assert!(close(&figure["interval"]["upper"], expected.interval.upper));
    assert_eq!(figure["interval"]["method"], "bias-aware");
    assert!(close(&figure["debiased"], expected.debiased) && close(&figure["standard_error"], expected.standard_error));
    assert!(close(&figure["bias"], expected.bias));
    assert_eq!([&figure["debias"], &figure["sentence"]], [&Value::from("local"), &expected.sentence().into()]);
    assert_eq!([&figure["n_clusters"], &figure["unavailable"]], [&Value::Null, &Value::Null]);
    assert!(close(&figure["smoothing"], expected.smoothing.unwrap()));
    for (name, part) in parts.named() {
        let part = part.unwrap();
        let shown = &figure["parts"][name];
        assert!(close(&shown["value"], part.value) && close(&shown["debiased"], part.debiased), "{shown}");
        assert!(close(&shown["interval"]["upper"], part.interval.upper), "{shown}");
    }
    // What decides has its own object, and a line in the table.
    let (residual, shown) = (expected.residual.as_deref().unwrap(), &figure["residual"]);
    assert!(close(&shown["value"], residual.estimate.value) && shown["p_value"] == figure["p_value"], "{shown}");
    assert!(close(&shown["interval"]["lower"], residual.interval.lower) && shown["residual"].is_null(), "{shown}");
    assert!(shown["debiased"] == figure["debiased"] && shown["sentence"] == residual.sentence(), "{shown}");
    let names: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let place = names.iter().position(|name| *name == "ls_ece").unwrap();
    assert_eq!(names[place..place + 3], ["ls_ece", "residual_ls_ece", "expected_calibration_error"]);
}

#[test]
fn the_residual_form_has_the_options_of_ls_ece() {
    let asked = ["--prob", "mlp", "--sigma", "0.7", "--noise", "logistic", "--measure"];
    let figure = |name: &str| results(&[&asked[..], &[name]].concat())[0]["measures"][name].clone();
    let (residual, ls_ece) = (figure("residual_ls_ece"), figure("ls_ece"));
    for key in ["sigma", "noise", "clip"] {
        assert_eq!(residual["settings"][key], ls_ece["settings"][key], "{key}");
    }
    for key in ["value", "interval", "floor", "p_value", "debiased", "parts"] {
        assert_eq!(residual[key], ls_ece["residual"][key], "{key}");
    }
    assert_eq!(
        residual["definition"],
        "total size of the residuals r after smoothing by logistic noise of scale sigma on the logits"
    );
    // Asked for by name it has one line, not two.
    let table = assess(&["--prob", "mlp", "--measure", "ls_ece", "--measure", "residual-ls-ece"]);
    assert_eq!(table.lines().filter(|line| line.starts_with("residual_ls_ece ")).count(), 1, "{table}");
    let two = assess(&["--prob", "mlp", "--prob", "naive_bayes", "--measure", "ls_ece"]);
    let headers = two.lines().filter(|line| line.starts_with("predictions")).collect::<Vec<_>>();
    assert!(headers.len() == 2 && headers[1].contains("residual_ls_ece"), "{two}");
}

#[test]
fn broken_groups_among_many_are_significant_after_adjustment() {
    let folder = Folder::new();
    let row = |row: usize| {
        let group = row % 60;
        let p = 0.02 + 0.96 * (row as f64 * 0.618_033_988_749_895).fract();
        // The first three groups say the opposite of what happens.
        let truth = if group < 3 { 1.0 - p } else { p };
        let outcome = u8::from((row as f64 * 0.414_213_562_373_095).fract() < truth);
        format!("{outcome},{p:.4},g{group:02}\n")
    };
    let path = folder.write("a.csv", "label,prob,g\n".to_owned() + &(0..12_000).map(row).collect::<String>());
    let args = ["assess", text(&path), "--by", "g", "--measure", "ls_ece"];
    let all: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    for result in &all["results"].as_array().unwrap()[1..] {
        let figure = &result["measures"]["ls_ece"];
        let broken = ["g00", "g01", "g02"].contains(&result["group"].as_str().unwrap());
        let number = |key: &str| figure[key].as_f64().unwrap();
        assert_eq!(number("p_adjusted") <= 0.05, broken, "{result}");
        if broken {
            assert!(number("value") > 0.4 && number("p_value") < 1.0 / 1001.0, "{figure}");
        }
    }
    let table = succeed(&args);
    assert!(table.contains("p (Holm): p adjusted for the number of groups.\n"), "{table}");
    assert!(!table.contains("--n-resamples"), "{table}");
    // A measure without a bound on the tail is drawn more often where none of the first draws
    // reaches the value.
    let coarse = succeed(&["assess", text(&path), "--by", "g", "--measure", "brier_score", "--n-resamples", "100"]);
    let coarse = coarse.split_whitespace().collect::<Vec<_>>().join(" ");
    for group in ["g00", "g01", "g02"] {
        let sentence = coarse.split(&format!(" {group}: Brier")).nth(1).unwrap();
        let verdict = sentence.find("so this model is miscalibrated (p < 0.001).").unwrap();
        assert!(verdict < 250, "{coarse}");
    }
}

#[test]
fn a_table_has_a_line_for_each_measure() {
    let table = assess(&["--prob", "naive_bayes", "--sigma", "0.5"]);
    let header = table.lines().find(|line| line.starts_with("measure")).unwrap();
    let words: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(
        words,
        ["measure", "n", "value", "interval", "floor", "p", "debiased", "num.", "±", "direction", "notes"]
    );
    let line = table.lines().find(|line| line.starts_with("ls_ece ")).unwrap();
    assert!(line.contains("[0.0") && line.contains(" ± ") && line.contains("  overconfident by 0.05"), "{table}");
    assert!(line.ends_with("sigma 0.5000, 497 clipped"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("expected_calibration_error ")), "{table}");
    assert!(table.contains("interval: 95 % interval for the value of the population at the same settings"), "{table}");
    assert!(table.contains("deviation of 200 resamples"), "{table}");
    let two = assess(&["--prob", "naive_bayes", "--prob", "mlp", "--sigma", "0.5", "--measure", "ls_ece"]);
    assert!(two.starts_with("naive_bayes: LS-ECE is 0.05") && two.contains("\nmlp: "), "{two}");
}

#[test]
fn an_index_has_its_own_name() {
    for (measure, title) in [("ici", "ICI"), ("e50", "E50"), ("e90", "E90"), ("emax", "Emax")] {
        let table =
            succeed(&["assess", text(&example()), "--prob", "mlp", "--measure", measure, "--n-resamples", "20"]);
        let sentence = table.lines().next().unwrap();
        assert!(sentence.contains(&format!("{title} is 0.")) && !sentence.contains("calibration_index"), "{sentence}");
    }
}

#[test]
fn options_reach_the_core() {
    let one =
        |args: &[&str]| results(&[&["--prob", "naive_bayes", "--measure", "ls_ece", "--sigma", "0.5"], args].concat());
    let figure = |args: &[&str]| one(args)[0]["measures"]["ls_ece"].clone();
    let plain = figure(&[]);
    assert_eq!(figure(&["--method", "percentile"])["interval"]["method"], "percentile");
    assert_eq!(figure(&["--level", "0.9"])["interval"]["level"], 0.9);
    assert_eq!(figure(&["--random-state", "7"])["floor"]["random_state"], 7);
    assert_ne!(figure(&["--random-state", "7"])["floor"]["mean"], plain["floor"]["mean"]);
    assert_eq!(figure(&["--debias", "bootstrap"])["debias"], "bootstrap");
    assert_eq!(figure(&["--threads", "1"]), plain);
    assert_eq!(plain["floor"]["n_resamples"], 200);
}

#[test]
fn tests_of_calibration_are_there_if_they_are_asked_for() {
    let asked = ["--prob", "naive_bayes", "--measure", "ls_ece", "--tests"];
    let tests = &results(&asked)[0]["tests"];
    let names: Vec<&str> = tests.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["spiegelhalter", "hosmer_lemeshow", "ecce_r", "ecce_mad", "adaptive_tcal", "cox"]);
    for name in names {
        let p = tests[name]["p_value"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&p) && tests[name]["statistic"].is_number(), "{name} {p}");
    }
    let table = assess(&asked);
    assert!(table.lines().any(|line| line.starts_with("hosmer_lemeshow ")), "{table}");
    assert_eq!(results(&["--prob", "naive_bayes", "--measure", "ls_ece"])[0].get("tests"), None);
}

#[test]
fn groups_have_their_own_sigma_and_p_values_for_their_number() {
    let folder = Folder::new();
    let path = folder.write("a.csv", rows(3_000));
    let all: Value =
        serde_json::from_str(&succeed(&["assess", text(&path), "--by", "g", "--n-resamples", "300", "--json"]))
            .unwrap();
    let all = all["results"].as_array().unwrap();
    let keys: Vec<Option<&str>> = all.iter().map(|result| result["group"].as_str()).collect();
    assert_eq!(keys, [None, Some("a"), Some("b"), Some("worse")]);
    for measure in ["ls_ece", "expected_calibration_error"] {
        let number = |place: usize, field: &str| all[place]["measures"][measure][field].as_f64();
        assert_eq!(number(0, "p_adjusted"), None);
        let p: Vec<f64> = (1..4).map(|place| number(place, "p_value").unwrap()).collect();
        let adjusted: Vec<f64> = (1..4).map(|place| number(place, "p_adjusted").unwrap()).collect();
        assert!((adjusted[2] - 3.0 * p[2]).abs() < 1e-12 && adjusted[2] < 0.05, "{p:?} {adjusted:?}");
        assert!(adjusted[0] >= p[0] && adjusted[1] >= p[1]);
    }
    let sigma = |result: &Value| result["measures"]["ls_ece"]["settings"]["sigma"].as_f64().unwrap();
    assert!(all[1..].iter().all(|result| sigma(result) > sigma(&all[0])));
    let worst = &all[0]["measures"]["ls_ece"]["worst_group"];
    assert!(worst["group"] == "worse" && worst["n_groups"] == 3, "{worst}");
    assert!((worst["p_value"].as_f64().unwrap() - 1.0 / 301.0).abs() < 1e-12, "{worst}");
    let args = ["assess", text(&path), "--by", "g", "--n-resamples", "300", "--measure", "ls_ece"];
    let table = succeed(&args);
    assert!(table.starts_with("The worst of 3 groups by g is worse: its residual LS-ECE is "), "{table}");
    assert!(table.contains("\nworse: LS-ECE is 0.1") && table.contains("p (Holm)"), "{table}");
    let given = succeed(&[&args[..], &["--sigma", "0.4", "--adjust", "bh"]].concat());
    assert_eq!(given.matches("sigma 0.4000").count(), 8, "{given}");
    assert!(given.contains("p (BH)") && !given.contains("Holm"), "{given}");
}

#[test]
fn three_of_a_hundred_groups_are_found_by_every_adjustment() {
    let folder = Folder::new();
    let mut next = 1_u64;
    let mut uniform = || {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (next >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut content = "label,prob,g\n".to_owned();
    for row in 0..20_000 {
        let (group, p) = (row % 100, 0.1 + 0.8 * uniform());
        let truth = if [7, 47, 87].contains(&group) { p - 0.3 * p } else { p };
        content += &format!("{},{p},g{group}\n", u8::from(uniform() < truth));
    }
    let path = folder.write("hundred.csv", content);
    let args = ["assess", text(&path), "--by", "g", "--measure", "residual_ls_ece", "--n-resamples", "100"];
    for adjust in ["holm", "bh", "by"] {
        let output = succeed(&[&args[..], &["--adjust", adjust]].concat());
        let table = output.lines().skip_while(|line| !line.starts_with("---"));
        let first: BTreeSet<&str> = table.skip(2).take(3).map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(first, BTreeSet::from(["g7", "g47", "g87"]), "{output}");
        assert!(output.contains("\n3 of 100 groups by g are miscalibrated"), "{output}");
    }
    assert_fails(&[&args[..], &["--adjust", "none"]].concat(), r#"adjust must be "holm", "bh" or "by", got "none""#);
}

#[test]
fn tests_of_groups_have_p_values_for_their_number() {
    let folder = Folder::new();
    let path = folder.write("a.csv", rows(1_500));
    let args = ["assess", text(&path), "--by", "g", "--tests", "--measure", "brier_score", "--n-resamples", "60"];
    let all: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    let all = all["results"].as_array().unwrap();
    for (name, of_all) in all[0]["tests"].as_object().unwrap() {
        assert_eq!(of_all.get("p_adjusted"), None);
        let numbers = |key: &str| all[1..].iter().map(|group| group["tests"][name][key].as_f64().unwrap()).collect();
        let (p, adjusted): (Vec<f64>, Vec<f64>) = (numbers("p_value"), numbers("p_adjusted"));
        let expected = calipers::inference::holm(&p);
        assert!(
            adjusted.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-12),
            "{name} {p:?} {adjusted:?}"
        );
    }
    let table = succeed(&args);
    let header = table.lines().find(|line| line.starts_with("g ") && line.contains(" tests")).unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>().join(" "), "g test statistic p p (Holm) tests");
}

#[test]
fn a_group_of_too_few_clusters_does_not_hide_the_others() {
    let folder = Folder::new();
    let path = folder.write("a.csv", crate::support::answers(600));
    let args = ["assess", text(&path), "--by", "g", "--cluster", "who", "--n-resamples", "60", "--sigma", "0.5"];
    let all: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    let figures: Vec<&Value> =
        all["results"].as_array().unwrap().iter().map(|result| &result["measures"]["ls_ece"]).collect();
    assert_eq!(figures.len(), 5);
    let few = figures[3];
    let reason =
        "clusters must be at least 10 different ones, since all uncertainty is estimated from their differences, got 5";
    assert!(
        few["value"].as_f64().unwrap() > 0.0 && few["unavailable"] == reason && few.get("interval").is_none(),
        "{few}"
    );
    assert!([0, 1, 2, 4].iter().all(|place| figures[*place]["interval"].is_object()));
    // Three groups have p-values, and are adjusted for three.
    assert!((figures[4]["p_adjusted"].as_f64().unwrap() - 3.0 * figures[4]["p_value"].as_f64().unwrap()).abs() < 1e-12);
    let table = succeed(&args);
    assert!(
        table.contains("\nfew: LS-ECE is 0.1543. There are too few clusters for an interval or a p-value.\n"),
        "{table}"
    );
    assert!(
        table.contains("\ninterval not available: ls_ece of few, expected_calibration_error of few: clusters must be"),
        "{table}"
    );
    let alone = ["assess", text(&path), "--cluster", "g"];
    let refusal = reason.replace("got 5", "got 4");
    assert_fails(&alone, &format!("{}: {refusal}", path.display()));
}

#[test]
fn clusters_are_read_from_a_column() {
    let folder = Folder::new();
    let path = folder.write("a.csv", rows(2_000));
    let figure = |args: &[&str]| -> Value {
        let args =
            [&["assess", text(&path), "--n-resamples", "200", "--json", "--measure", "brier_score"], args].concat();
        serde_json::from_str::<Value>(&succeed(&args)).unwrap()["results"][0]["measures"]["brier_score"].clone()
    };
    let clustered = figure(&["--cluster", "who"]);
    assert_eq!(clustered["n_clusters"], 500);
    assert_eq!(clustered["value"], figure(&[])["value"]);
    assert!(clustered["floor"].is_object() && clustered["unavailable"].is_null(), "{clustered}");
    let table =
        succeed(&["assess", text(&path), "--n-resamples", "200", "--cluster", "who", "--measure", "brier_score"]);
    assert!(table.contains("The rows are in 500 clusters.") && !table.contains("not available"), "{table}");
    let missing = folder.write("missing.csv", rows(50).replace(",c3\n", ",\n"));
    let args = ["assess", text(&missing), "--cluster", "who"];
    assert_fails(&args, &format!("{}: cluster in line 14 is missing", missing.display()));
    let args = ["assess", text(&path), "--cluster", "whom"];
    let columns = "the columns are label, prob, g, who";
    assert_fails(&args, &format!("{}: no column whom for --cluster; did you mean who? {columns}", path.display()));
}

#[test]
fn a_sketch_is_assessed_as_its_rows_and_says_what_it_does_not_know() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", rows(5_000));
    let sketch = folder.path("a.parquet");
    succeed(&["sketch", text(&csv), "--by", "g", "-o", text(&sketch)]);
    let of = |path: &Path, args: &[&str]| -> Value {
        let measures = ["ls_ece", "residual_ls_ece", "expected_calibration_error"];
        let measures: Vec<&str> = measures.iter().flat_map(|name| ["--measure", name]).collect();
        let args =
            [&["assess", text(path), "--n-resamples", "300", "--json", "--sigma", "0.5"], args, &measures].concat();
        serde_json::from_str::<Value>(&succeed(&args)).unwrap()["results"].clone()
    };
    let (sketched, rows) = (of(&sketch, &[]), of(&csv, &["--by", "g"]));
    assert_eq!(sketched.as_array().unwrap().len(), 4);
    for place in 0..4 {
        for measure in ["ls_ece", "residual_ls_ece", "expected_calibration_error"] {
            let [ours, theirs] = [&sketched, &rows].map(|all| all[place]["measures"][measure].clone());
            let close = |pointer: &str, within: f64| {
                let [a, b] = [&ours, &theirs].map(|figure| figure.pointer(pointer).unwrap().as_f64().unwrap());
                assert!((a - b).abs() <= within, "{place} {measure} {pointer} {a} {b}");
            };
            let deviation = theirs["floor"]["deviation"].as_f64().unwrap();
            close("/value", 2e-6);
            close("/floor/mean", 0.4 * deviation);
            // Five deviations of the mean of 300 draws, of two such means.
            let [upper, error] = [&theirs["interval"]["upper"], &theirs["standard_error"]].map(|x| x.as_f64().unwrap());
            close("/interval/upper", 0.1 * upper + 0.41 * error);
        }
    }
    let args =
        ["assess", text(&sketch), "--measure", "ls_ece", "--measure", "smooth_ece", "--json", "--n-resamples", "100"];
    let named: Value = serde_json::from_str(&succeed(&args)).unwrap();
    let smooth = &named["results"][0]["measures"]["smooth_ece"];
    assert!(smooth["error"].as_str().unwrap().contains("needs the rows"), "{smooth}");
    let args = ["assess", text(&sketch), "--cluster", "who"];
    assert_fails(&args, &format!("{}: --cluster needs the rows, which a sketch does not have", sketch.display()));
}

#[test]
fn classes_are_assessed_together() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits_mlp.npz");
    let args = ["assess", text(&path), "--multiclass", "classwise", "--measure", "expected_calibration_error"];
    let all: Value = serde_json::from_str(&succeed(&[&args[..], &["--n-resamples", "40", "--json"]].concat())).unwrap();
    let figure = &all["results"][0]["measures"]["expected_calibration_error"];
    assert_eq!(figure["per_class"].as_array().unwrap().len(), 10);
    assert!(figure["floor"]["mean"].as_f64().unwrap() > 0.0 && figure["interval"]["upper"].is_number(), "{figure}");
}

#[test]
fn what_cannot_be_assessed_is_refused() {
    let path = example();
    let fails = |args: &[&str], refusal: &str| {
        assert_fails(&[&["assess", text(&path), "--prob", "mlp"], args].concat(), refusal);
    };
    let in_file = |refusal: &str| format!("{}: {refusal}", path.display());
    fails(
        &["--method", "wald"],
        "method must be \"bias-aware\", \"influence\", \"normal\", \"percentile\" or \"bca\", got \"wald\"",
    );
    fails(&["--debias", "none"], "debias must be \"local\", \"mean\", \"floor\" or \"bootstrap\", got \"none\"");
    fails(&["--level", "1"], "level must be in [0.5, 1), got 1");
    fails(&["--n-resamples", "5"], "n_resamples must be from 20 to 10000000 at this level, got 5");
    fails(
        &["--measure", "calibration_slope"],
        &in_file("measure must be one for which a larger value is worse, got calibration_slope"),
    );
    // Before any file is read.
    assert_fails(&["assess", "no.csv", "--level", "2"], "level must be in [0.5, 1), got 2");
    assert_fails(&["compare", "no.csv", "--level", "2"], "level must be in [0.5, 1), got 2");
    assert_fails(&["check", "no.csv", "--max", "ece=0.1", "--level", "2"], "level must be in [0.5, 1), got 2");
    let run = calipers(&["assess", text(&path), "--prob", "mlp", "--measure", "brier"]);
    assert!(run.code == Some(2) && run.stderr.contains("did you mean \"brier_score\"?"), "{run:?}");
    let beside = results(&["--prob", "mlp", "--measure", "calibration_slope", "--measure", "ls_ece"]);
    assert!(beside[0]["measures"]["calibration_slope"]["error"].is_string());
}
