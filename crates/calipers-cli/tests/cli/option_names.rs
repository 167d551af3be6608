//! One name for one thing: an option is `--kebab-case` in the command and the same name in
//! `snake_case` as a setting of a measure, as a key of JSON and as a keyword of Python.

use std::collections::BTreeSet;
use std::path::Path;

use calipers::registry;
use serde_json::Value;

use crate::support::{Desk, succeed};

/// Verbs that read predictions or make random numbers, and so have options that Python has, too.
const VERBS: [&str; 9] = ["measure", "assess", "compare", "drift", "check", "sweep", "report", "sketch", "study"];

/// Options that only a command needs: files, what is printed and written, and which verb does what
/// (`--tests` is a function of its own in Python, and outcomes take the place of `--pred` there).
const ONLY_OF_THE_COMMAND: [&str; 29] = [
    "all",
    "color",
    "decimal",
    "delimiter",
    "floor",
    "format",
    "help",
    "json",
    "limit",
    "manifest",
    "max",
    "max_expansion",
    "max_groups",
    "max_missing",
    "min_rows",
    "option",
    "out",
    "output",
    "output_format",
    "pred",
    "quick",
    "scale",
    "split",
    "strict",
    "svg",
    "tests",
    "threads",
    "title",
    "together",
];

/// Columns, which arrays replace in Python's functions; Spark and JSON have these names.
const COLUMNS: [&str; 5] = ["prob", "label", "weight", "by", "cluster"];

/// Names that were used before, in one place or another.
const FORMER: [&str; 6] = ["logits", "positive", "resamples", "seed", "interval", "columns"];

/// The options of a verb, in snake case.
fn options(verb: &str) -> BTreeSet<String> {
    let help = succeed(&[verb, "--help"]);
    let names = help.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("-o, ").unwrap_or(line.trim_start());
        let name = line.strip_prefix("--")?.split([' ', ',']).next()?;
        Some(name.replace('-', "_"))
    });
    names.collect()
}

fn all_options() -> BTreeSet<String> {
    VERBS.iter().flat_map(|verb| options(verb)).collect()
}

#[test]
fn options_of_measures_are_those_of_the_registry() {
    let of_command = options("measure");
    for name in ["ls_ece", "expected_calibration_error"] {
        for option in registry::spec(name).unwrap().options {
            assert!(of_command.contains(option.name), "{name} has {}, and the command has not", option.name);
        }
    }
}

#[test]
fn keys_of_json_are_names_of_options() {
    let desk = Desk::new();
    let run = |args: &[&str]| -> Value { serde_json::from_str(&desk.calipers(args).stdout).unwrap() };
    let assessed = run(&["assess", "breast_cancer.csv", "--prob", "mlp", "--n-resamples", "50", "--json"]);
    let result = &assessed["results"][0];
    let of_command = options("assess");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    for key in ["prob", "label", "pred", "weight", "from_logits", "multiclass", "ties", "pos_label", "sum_tolerance"] {
        assert!(keys(result).contains(key) && of_command.contains(key), "{key}");
    }
    for key in ["invalid", "limit"] {
        assert!(keys(result).contains(key) && of_command.contains(key), "{key}");
    }
    let value = &result["measures"]["ls_ece"];
    for (object, key) in
        [(&value["floor"], "n_resamples"), (&value["floor"], "random_state"), (&value["interval"], "level")]
    {
        assert!(keys(object).contains(key) && of_command.contains(key), "{key}");
    }
    assert!(keys(&value["interval"]).contains("method") && of_command.contains("method"));
    assert!(keys(value).contains("debias") && of_command.contains("debias"));
    for name in ["sigma", "noise", "link", "tolerance", "clip"] {
        assert!(keys(&value["settings"]).contains(name) && of_command.contains(name), "{name}");
    }
}

#[test]
fn keywords_of_python_are_names_of_options() {
    let sources = python_sources();
    let only: BTreeSet<&str> = ONLY_OF_THE_COMMAND.into_iter().collect();
    let shared: Vec<String> = all_options().into_iter().filter(|name| !only.contains(name.as_str())).collect();
    assert!(shared.len() > 25, "{shared:?}");
    for name in &shared {
        assert!(is_keyword(&sources, name), "Python has no keyword {name}, which the command has as an option");
    }
    for column in COLUMNS {
        assert!(shared.iter().any(|name| name == column), "{column}");
    }
}

#[test]
fn former_names_are_gone() {
    let all = all_options();
    for name in FORMER {
        assert!(!all.contains(name), "{name}");
    }
    // Who types one is told the new name.
    for (args, hint) in [
        (&["measure", "a.csv", "--logits"][..], "'--from-logits'"),
        (&["measure", "a.csv", "--positive", "1"], "'--pos-label'"),
        (&["assess", "a.csv", "--resamples", "9"], "'--n-resamples'"),
        (&["assess", "a.csv", "--seed", "1"], "'--random-state'"),
        (&["assess", "a.csv", "--interval", "bca"], "'--method'"),
        (&["measure", "a.csv", "--columns"], "'calipers inspect FILE'"),
        (&["measures"], "'list'"),
    ] {
        let run = crate::support::calipers(args);
        assert!(run.code == Some(2) && run.stdout.is_empty() && run.stderr.contains(hint), "{run:?}");
    }
}

/// All modules of the package.
fn python_sources() -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => read(&path, all),
                Some("py" | "pyi") => *all += &std::fs::read_to_string(&path).unwrap(),
                _ => {}
            }
        }
    }
    let mut all = String::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/calipers"), &mut all);
    all
}

/// Whether a signature, or a typed dictionary of options, has it.
fn is_keyword(sources: &str, name: &str) -> bool {
    sources.match_indices(&format!("{name}:")).any(|(place, _)| {
        !sources[..place].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '.')
    })
}
