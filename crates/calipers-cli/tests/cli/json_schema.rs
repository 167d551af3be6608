//! docs/json.md has every key that is printed, with its type, and no other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{Desk, Run};

/// Keys of an object with their types, as the page has them.
type Object = BTreeMap<String, Type>;

/// What may stand for a key.
#[derive(Debug, Clone)]
enum Type {
    Text,
    Number,
    Count,
    Truth,
    Null,
    /// Of which the measure decides.
    Setting,
    ListOf(Box<Type>),
    ByName(Box<Type>),
    Object(String),
    Any(Vec<Type>),
}

/// The page, by its headings.
struct Schema {
    objects: BTreeMap<String, Object>,
    /// Keys that were printed, with the heading under which they stand.
    seen: RefCell<BTreeSet<(String, String)>>,
}

impl Schema {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut objects: BTreeMap<String, Object> = BTreeMap::new();
        let mut included: Vec<(String, String)> = Vec::new();
        let mut heading = String::new();
        for line in page.lines() {
            if let Some(text) = line.strip_prefix("## ").or(line.strip_prefix("### ")) {
                heading = text.to_owned();
                continue;
            }
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells[..] {
                [_, "key" | "---", ..] => {}
                [_, "…", type_name, ..] => included.push((heading.clone(), linked(type_name).to_owned())),
                [_, key, type_name, ..] => {
                    let key = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')).unwrap();
                    objects.entry(heading.clone()).or_default().insert(key.to_owned(), Type::read(type_name));
                }
                _ => {}
            }
        }
        let schema = Schema { objects, seen: RefCell::default() };
        assert!(included.iter().all(|(_, other)| schema.objects.contains_key(other)));
        // Keys of an included object are looked for where they stand.
        let Schema { mut objects, seen } = schema;
        for (heading, other) in included {
            objects.entry(heading).or_default().insert("…".to_owned(), Type::Object(other));
        }
        Schema { objects, seen }
    }

    /// The type of a key, and the heading under which it stands.
    fn find(&self, heading: &str, key: &str) -> Option<(String, Type)> {
        let object = self.objects.get(heading).unwrap_or_else(|| panic!("no heading {heading}"));
        if let Some(found) = object.get(key) {
            return Some((heading.to_owned(), found.clone()));
        }
        match object.get("…") {
            Some(Type::Object(other)) => self.find(other, key),
            _ => None,
        }
    }

    fn check(&self, heading: &str, value: &Value, place: &str) {
        for (key, value) in value.as_object().unwrap_or_else(|| panic!("{place} is no object")) {
            let place = format!("{place}.{key}");
            let (found, expected) =
                self.find(heading, key).unwrap_or_else(|| panic!("{place} is not in docs/json.md under {heading}"));
            assert!(self.fits(&expected, value, &place), "{place} must be {expected:?}, got {value}");
            self.seen.borrow_mut().insert((found, key.clone()));
        }
    }

    fn fits(&self, expected: &Type, value: &Value, place: &str) -> bool {
        match expected {
            Type::Text => value.is_string(),
            Type::Number => value.is_number(),
            Type::Count => value.is_u64(),
            Type::Truth => value.is_boolean(),
            Type::Null => value.is_null(),
            Type::Setting => !value.is_array() && !value.is_object(),
            Type::ListOf(of) => value.as_array().is_some_and(|all| all.iter().all(|one| self.fits(of, one, place))),
            Type::ByName(of) => value.as_object().is_some_and(|all| all.values().all(|one| self.fits(of, one, place))),
            Type::Object(heading) => {
                if value.is_object() {
                    self.check(heading, value, place);
                }
                value.is_object()
            }
            Type::Any(types) => types.iter().any(|one| self.fits(one, value, place)),
        }
    }
}

/// `[figure](#figure)` is about the heading `figure`.
fn linked(text: &str) -> &str {
    text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(text, |(name, _)| name)
}

impl Type {
    fn read(text: &str) -> Self {
        if let Some(rest) = text.strip_suffix(" by name") {
            return Type::ByName(Box::new(Type::read(rest)));
        }
        let plain = |text: &str| match text {
            "text" => Type::Text,
            "number" => Type::Number,
            "count" => Type::Count,
            "true or false" => Type::Truth,
            "null" => Type::Null,
            "setting" => Type::Setting,
            link => Type::Object(linked(link).to_owned()),
        };
        let one = |text: &str| match text.strip_prefix("list of ") {
            Some(rest) => Type::ListOf(Box::new(plain(rest))),
            None => plain(text),
        };
        let whole = text.replace("true or false", "truth");
        let types: Vec<&str> =
            whole.split(" or ").map(|part| if part == "truth" { "true or false" } else { part }).collect();
        // A list of values some of which may be null.
        match types[..] {
            [list, "null"] if list.starts_with("list of text") || list.starts_with("list of number") => {
                let items = Type::Any(vec![plain(list.strip_prefix("list of ").unwrap()), Type::Null]);
                Type::Any(vec![Type::ListOf(Box::new(items)), Type::Null])
            }
            _ => Type::Any(types.into_iter().map(one).collect()),
        }
    }
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_printed() {
    let schema = Schema::read();
    let desk = Desk::new();
    let run = |heading: &str, args: &[&str]| {
        let Run { code, stdout, stderr } = desk.calipers(&[args, &["--json"]].concat());
        // A gate that is not measured ends with 2, and prints what it has.
        assert!(code == Some(0) || code == Some(1) || args[0] == "check", "{args:?} {stderr}");
        schema.check(heading, &serde_json::from_str(&stdout).unwrap(), heading);
    };
    let quick = ["--n-resamples", "50"];
    run("measure", &["measure", "breast_cancer.csv", "--prob", "mlp"]);
    run("measure", &["measure", "bad.csv", "--invalid", "count", "--limit", "40", "--pos-label", "1"]);
    run("measure", &["measure", "breast_cancer.csv", "--prob", "mlp", "--by", "size_group"]);
    run("measure", &["measure", "digits_mlp.npz", "--multiclass", "classwise", "--measure", "brier_score"]);
    run("measure", &["measure", "sure.csv", "--all"]);
    run(
        "assess",
        &[&["assess", "breast_cancer.csv", "--prob", "mlp", "--by", "size_group", "--tests"], &quick[..]].concat(),
    );
    run("assess", &[&["assess", "answers.csv", "--by", "g", "--cluster", "who", "--tests"], &quick[..]].concat());
    let refused = ["--measure", "ls_ece", "--measure", "calibration_slope"];
    run("assess", &[&["assess", "answers.csv"], &refused[..], &quick[..]].concat());
    run(
        "check",
        &[&["check", "answers.csv", "--max", "ls-ece=0.1", "--by", "g", "--cluster", "who"], &quick[..]].concat(),
    );
    run("check", &[&["check", "bad.csv", "--invalid", "count", "--max", "ece=0.9"], &quick[..]].concat());
    run("compare", &[&["compare", "breast_cancer.csv", "--prob", "mlp", "--prob", "naive_bayes"], &quick[..]].concat());
    run("drift", &[&["drift", "answers.csv", "answers.csv", "--by", "g", "--cluster", "who"], &quick[..]].concat());
    run("sweep", &["sweep", "breast_cancer.csv", "--prob", "mlp", "--compat", "relplot"]);
    run("sweep", &["sweep", "breast_cancer.csv", "--prob", "naive_bayes"]);
    run("report", &[&["report", "breast_cancer.csv", "--prob", "mlp", "-o", "page.html"], &quick[..]].concat());
    run("list", &["list"]);
    run("sketch", &["sketch", "breast_cancer.csv", "--prob", "mlp", "--by", "size_group", "-o", "groups.parquet"]);
    run("sketch", &["merge", "groups.parquet", "-o", "all.parquet"]);
    run("measure", &["measure", "groups.parquet"]);
    run("monitor", &[&["monitor", "groups.parquet", "--window", "size_group", "--sigma", "0.5"], &quick[..]].concat());
    // A model so overconfident that there is an alarm.
    let overconfident = ["--prob", "naive_bayes", "--by", "size_group", "-o", "overconfident.parquet"];
    run("sketch", &[&["sketch", "breast_cancer.csv"], &overconfident[..]].concat());
    run("monitor", &["monitor", "overconfident.parquet", "--window", "size_group", "--n-resamples", "0"]);
    run("measure", &["measure", "breast_cancer.csv", "breast_cancer.csv", "--prob", "mlp", "--together"]);
    let of_answers = ["answers.csv", "--prob", "prob"];
    let map = ["--map", "map.json"];
    let recalibrate = |step: &str, more: &[&str]| {
        run(&format!("recalibrate {step}"), &[&["recalibrate", step], &of_answers[..], more].concat());
    };
    recalibrate("fit", &[&["-o", "map.json"], &quick[..]].concat());
    recalibrate("apply", &[&["-o", "out.csv"], &map[..]].concat());
    recalibrate("fit", &[&["-o", "by_group.json", "--by", "g", "--method", "shift"], &quick[..]].concat());
    recalibrate("compare", &["--method", "platt", "--method", "vector", "--n-resamples", "50"]);
    recalibrate("compare", &[&map[..], &quick].concat());
    recalibrate("check", &[&map[..], &quick].concat());
    run("study", &["study"]);
    run("study", &["study", "two-point", "--out", "pages", "--quick"]);
    run("inspect", &["inspect", "answers.csv", "digits_mlp.npz", "groups.parquet"]);
    let printed = schema.seen.borrow();
    for (heading, object) in &schema.objects {
        // No rows of this test have an infinite figure; src/json.rs tests that one is said in
        // words.
        for key in object.keys().filter(|key| *key != "…" && *key != "value_text") {
            assert!(
                printed.contains(&(heading.clone(), key.clone())),
                "{key} under {heading} of docs/json.md was never printed"
            );
        }
    }
}
