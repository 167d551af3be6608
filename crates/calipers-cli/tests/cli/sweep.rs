//! What `calipers sweep` says, draws and refuses.

use serde_json::Value;

use crate::support::{Folder, assert_fails, calipers, json, succeed};

/// Rows whose outcomes turn from 1 to 0 within each fortieth of [0, 1]: 40 bins see nothing of it,
/// 80 bins all.
fn striped(n: usize) -> String {
    let row = |k: usize| {
        let p = (k as f64 + 0.5) / n as f64;
        format!("{},{p},{}\n", u8::from((p * 40.0).fract() < 0.5), p / 2.0)
    };
    "label,prob,half\n".to_owned() + &(0..n).map(row).collect::<String>()
}

fn swept(args: &[&str]) -> Vec<Value> {
    let all: Value = serde_json::from_str(&succeed(&[&["sweep", "--json"], args].concat())).unwrap();
    all["results"].as_array().unwrap().clone()
}

#[test]
fn the_verdict_comes_first_and_then_the_figures() {
    let folder = Folder::new();
    let path = folder.write("striped.csv", striped(20_000));
    let text = succeed(&["sweep", path.to_str().unwrap()]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("striped: brittle: ECE with equal-width bins moves by 0."), "{text}");
    assert_eq!(lines[1], "");
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(words, ["bins", "ECE", "equal-width", "ECE", "equal-mass", "LS-ECE", "num.", "±", "sigma"]);
    let bins: Vec<&str> = lines[4..15].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(bins, ["1", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]);
    assert!(lines[15].starts_with("20,000 rows. smECE 0."), "{text}");
    assert_eq!(lines[16], "No two rows have the same probability.");
    assert!(text.contains("\nBrittle: from 10 to 100 bins ECE moves more than LS-ECE"), "{text}");
    assert!(text.ends_with("probability from column prob, outcome from column label\n"), "{text}");
}

#[test]
fn figures_are_those_of_measure() {
    let folder = Folder::new();
    let path = folder.write("striped.csv", striped(3_000));
    let name = path.to_str().unwrap();
    for compat in [&[][..], &["--compat", "netcal"]] {
        let result = &swept(&[&[name, "--bins", "30,10"], compat].concat())[0];
        assert_eq!(result["bins"], serde_json::json!([10, 30]));
        for (index, (n_bins, sigma)) in [("10", "0.1"), ("30", "0.03333333333333333")].into_iter().enumerate() {
            let uniform = json(&path, &[&["--n-bins", n_bins, "--sigma", sigma], compat].concat());
            assert_eq!(result["ece_uniform"][index], uniform["ece"]["value"]);
            assert_eq!(result["ls_ece"][index], uniform["ls_ece"]["value"]);
            assert_eq!(result["ls_ece_bounds"][index], uniform["ls_ece"]["numerical_bound"]);
            let quantile = json(&path, &[&["--n-bins", n_bins, "--strategy", "quantile"], compat].concat());
            let (found, expected) = (&result["ece_quantile"][index], &quantile["ece"]["value"]);
            assert!((found.as_f64().unwrap() - expected.as_f64().unwrap()).abs() < 1e-15);
        }
        assert_eq!(result["settings"]["compat"].as_str(), compat.get(1).copied());
    }
    let without = &swept(&[name, "--compat", "relplot"])[0];
    assert!(without["ece_quantile"].as_array().unwrap().iter().all(Value::is_null));
    assert_eq!(without["ranges"]["ece_quantile"], Value::Null);
}

#[test]
fn models_of_one_file_and_of_several_are_in_one_chart() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.csv", striped(500)), folder.write("b.csv", striped(700)));
    let (a, b, svg) = (a.to_str().unwrap(), b.to_str().unwrap(), folder.path("chart.svg"));
    let args = ["sweep", a, b, "--prob", "prob", "--prob", "half", "--label", "label", "--svg", svg.to_str().unwrap()];
    let text = succeed(&args);
    let names = ["a prob", "a half", "b prob", "b half"];
    for (line, name) in text.lines().zip(names) {
        assert!(line.starts_with(&format!("{name}: ")), "{text}");
    }
    let chart = std::fs::read_to_string(&svg).unwrap();
    assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
    for name in names {
        assert!(chart.contains(&format!(">{name}</text>")), "{chart}");
    }
    assert_eq!(folder.names(), ["a.csv", "b.csv", "chart.svg"]);
    // Again, over the one that is there.
    succeed(&args);
    assert_eq!(std::fs::read_to_string(&svg).unwrap(), chart);
}

#[test]
fn ties_and_what_splitting_them_would_do_are_told() {
    let folder = Folder::new();
    let path = folder.write("tied.csv", "label,prob\n1,0.5\n0,0.5\n1,0.75\n");
    let name = path.to_str().unwrap();
    let text = succeed(&["sweep", name]);
    let line = "2 rows share their probability with another: ECE of the rows is 0.08333 with ties kept, and 0.3333 more if they were split.";
    assert!(text.lines().any(|found| found == line), "{text}");
    let result = &swept(&[name])[0];
    assert_eq!((&result["n_tied"], result["jump"].as_f64().unwrap()), (&Value::from(2), 1.0 / 3.0));
}

#[test]
fn few_bins_are_undecided_and_say_why() {
    let folder = Folder::new();
    let path = folder.write("rows.csv", striped(100));
    let text = succeed(&["sweep", path.to_str().unwrap(), "--bins", "15"]);
    let line = "rows: undecided: at least two numbers of bins from 10 to 100 are needed, got 1";
    assert_eq!(text.lines().next(), Some(line));
}

#[test]
fn help_names_what_is_taken_and_how_chance_is_drawn() {
    let help = succeed(&["sweep", "--help"]);
    assert!(!help.contains("--by <COL>"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Up to 20,000 rows the outcome of each row is drawn"), "{help}");
    assert!(words.contains("compare, sweep and study do not accept classwise"), "{help}");
    assert!(words.contains("reject the file, naming the line of a text file"), "{help}");
    assert!(words.contains("[default: reject]") && words.contains("[default: first]"), "{help}");
}

#[test]
fn a_model_that_was_named_is_called_by_its_name() {
    let folder = Folder::new();
    let path = folder.write("rows.csv", striped(2_000));
    let svg = folder.path("chart.svg");
    let args = ["sweep", path.to_str().unwrap(), "--prob", "half", "--svg", svg.to_str().unwrap()];
    let text = succeed(&args);
    assert!(text.starts_with("half: "), "{text}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains(">half</text>"));
}

#[test]
fn the_verdict_that_was_given_is_explained() {
    let folder = Folder::new();
    let brittle = folder.write("brittle.csv", striped(20_000));
    let stable = folder.write("stable.csv", "label,prob\n1,0.5\n0,0.5\n");
    let (brittle, stable) = (brittle.to_str().unwrap(), stable.to_str().unwrap());
    let explained = |args: &[&str]| {
        let text = succeed(&[&["sweep"], args].concat());
        ["\nBrittle: from 10 ", "\nStable: from 10 "].map(|line| text.contains(line))
    };
    assert_eq!(explained(&[brittle]), [true, false]);
    assert_eq!(explained(&[stable]), [false, true]);
    assert_eq!(explained(&[stable, brittle]), [true, false]);
    assert_eq!(explained(&[stable, "--bins", "10"]), [false, false]);
}

#[test]
fn refusals_leave_nothing_behind() {
    let folder = Folder::new();
    let path = folder.write("rows.csv", striped(100));
    let bad = folder.write("bad.csv", "label,prob\n1,0.5\n0,1.5\n");
    let (name, bad, svg) = (path.to_str().unwrap(), bad.to_str().unwrap(), folder.path("chart.svg"));
    let svg = svg.to_str().unwrap();
    let rule = "bins must be 1 to 1000 numbers of bins, each from 1 to 1000000, got";
    let cases: [(&[&str], String); 9] = [
        (&["--bins", "10,0"], format!("{rule} 0")),
        (&["--bins", "10,,20"], String::new()),
        (&["--bins", "-1"], String::new()),
        (&["--noise", "cauchy"], String::new()),
        (&["--clip", "0.7"], "clip must be in [1e-15, 0.5), got 0.7".to_owned()),
        (&["--tolerance", "-1"], "tolerance must be positive and finite, got -1".to_owned()),
        (&["--by", "half"], "sweep does not accept --by; pass a file for each group".to_owned()),
        (
            &["--multiclass", "classwise"],
            "sweep does not accept --multiclass classwise; choose a class, as --multiclass 3".to_owned(),
        ),
        (&[bad], format!("{bad}: probability in line 3 must be in [0, 1], got 1.5")),
    ];
    for (args, text) in cases {
        let args = [&["sweep", name, "--svg", svg], args].concat();
        match text.is_empty() {
            true => assert_eq!(calipers(&args).code, Some(2)),
            false => assert_fails(&args, &text),
        }
        assert_eq!(folder.names(), ["bad.csv", "rows.csv"]);
    }
    // Options are refused before any file is looked for.
    for args in [["--bins", "0"], ["--tolerance", "-1"], ["--clip", "0.7"]] {
        let run = calipers(&[&["sweep", "absent.csv"], &args[..]].concat());
        assert!(run.code == Some(2) && !run.stderr.contains("absent.csv"), "{run:?}");
    }
    let nowhere = folder.path("no/chart.svg");
    let nowhere = nowhere.to_str().unwrap();
    assert_fails(&["sweep", name, "--svg", nowhere], &format!("{nowhere}: cannot write: no such folder"));
    let run = calipers(&["sweep", name, "--svg", name]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), striped(100));
    let sketch = folder.path("rows.calipers");
    succeed(&["sketch", name, "--output", sketch.to_str().unwrap()]);
    let text = "sweep does not accept a sketch: bins of any number need the rows";
    assert_fails(&["sweep", sketch.to_str().unwrap()], &format!("{}: {text}", sketch.display()));
}
