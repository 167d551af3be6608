//! Maps as files: the same bits after a round trip, and an error for everything that is no map.

use std::path::{Path, PathBuf};

use calipers::recalibrate::{
    Between, BinaryMap, ClassFormula, ClassMap, CrossFit, Dialect, FitRecord, GroupedFit, Groups, Label, Map, MapFile,
    Method, Recalibrate, SqlInput,
};
use calipers::{Form, Input};

use crate::fixtures;

fn logits() -> Vec<f64> {
    let spread = (-200..=200).map(|i| f64::from(i) * 0.037);
    spread.chain([-1e300, -745.0, -700.0, -1e-300, 0.0, 5e-324, 700.0, 745.0, 1e300]).collect()
}

fn binary_maps() -> Vec<BinaryMap> {
    let fixture = fixtures::binary();
    let (plain, weighted) = (fixture.plain(), fixture.weighted());
    let mut maps = Vec::new();
    for predictions in [&plain, &weighted] {
        for method in Method::ALL {
            let view = predictions.binary().unwrap();
            maps.extend(Recalibrate::new(method).fit(&view).map(|fit| fit.map));
            maps.extend(Recalibrate::new(method).mixture(1e-3).clip(1e-7).fit(&view).map(|fit| fit.map));
        }
    }
    assert!(maps.len() >= 28);
    maps
}

fn class_maps() -> Vec<ClassMap> {
    let (scores, labels) = fixtures::classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let fits = Method::ALL.map(|method| Recalibrate::new(method).fit_classes(&predictions));
    fits.into_iter().flatten().map(|fit| fit.map).collect()
}

#[test]
fn a_round_trip_gives_the_same_bits() {
    for map in binary_maps() {
        let text = map.to_json();
        let read = BinaryMap::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read, map);
        for h in logits() {
            assert_eq!(read.apply(h).to_bits(), map.apply(h).to_bits(), "{:?} at {h}", map.method);
        }
        assert_eq!(read.to_json(), text);
        assert_eq!(Map::Binary(read).fingerprint(), Map::Binary(map).fingerprint());
    }
    let (scores, _) = fixtures::classes();
    for map in class_maps() {
        let text = map.to_json();
        let read = ClassMap::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read, map);
        for row in scores.chunks(3) {
            let bits =
                |map: &ClassMap| map.apply(row, calipers::Form::Logits).iter().map(|p| p.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read), bits(&map));
        }
        assert_eq!(read.to_json(), text);
    }
}

#[test]
fn fingerprints_differ_where_maps_do() {
    let mut seen = std::collections::BTreeMap::new();
    for map in binary_maps().into_iter().map(Map::Binary).chain(class_maps().into_iter().map(Map::Classes)) {
        if let Some(other) = seen.insert(map.fingerprint(), map.clone()) {
            assert_eq!(other, map);
        }
    }
    assert!(seen.len() > 10);
    // Written down, so that a fingerprint of today is that of tomorrow.
    assert_eq!(Map::Binary(BinaryMap::identity()).fingerprint(), FINGERPRINT);
}

const FINGERPRINT: &str = "ae59b8484b5b4828";

#[test]
fn a_file_keeps_labels_fit_and_gain() {
    let fixture = fixtures::binary();
    let predictions = fixture.plain();
    let improvement =
        CrossFit::new(Recalibrate::new(Method::Beta)).n_resamples(19).run(&predictions.binary().unwrap()).unwrap();
    let labels = vec![Label::Text("well".to_owned()), Label::Number(7)];
    let file = MapFile::new(improvement.fit.map.clone()).labels(labels).fit(&improvement.fit).improvement(&improvement);
    let read = MapFile::from_json(&file.to_json()).unwrap();
    assert_eq!(read, file);
    let fit = read.fit.unwrap();
    assert_eq!(fit.n, 400);
    assert_eq!(fit.log_loss_after, improvement.fit.log_loss_after);
    assert_eq!(read.improvement.unwrap().verdict, improvement.verdict);
}

/// JSON has no other number for what is not known, and NaN does not equal itself.
#[test]
fn a_file_whose_numbers_are_null_equals_itself() {
    for key in ["effective_n", "log_loss_before", "nats", "standard_errors"] {
        let text = beta();
        let start = text.rfind(&format!("\"{key}\": ")).unwrap() + key.len() + 4;
        let end = start + text[start..].find([',', '}']).unwrap();
        let text = format!("{}null{}", &text[..start], &text[end..]);
        let read = MapFile::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read, MapFile::from_json(&text).unwrap(), "{key}");
        assert_eq!(read.to_json(), text, "{key}");
        assert_ne!(read, MapFile::from_json(&beta()).unwrap(), "{key}");
    }
}

/// A file of a beta map, which the cases below damage.
fn beta() -> String {
    let fixture = fixtures::binary();
    let fit = Recalibrate::new(Method::Beta).fit(&fixture.plain().binary().unwrap()).unwrap();
    MapFile::new(fit.map.clone()).fit(&fit).to_json()
}

fn isotonic() -> String {
    let logits = [-1.0, 0.0, 1.0, 2.0];
    let predictions = Input::logits(&logits, &[0u8, 1, 0, 1]).check().unwrap();
    Recalibrate::new(Method::Isotonic).fit(&predictions.binary().unwrap()).unwrap().map.to_json()
}

/// The error of a text in which one part was exchanged.
fn error_of(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in {text}");
    let error = MapFile::from_json(&text.replacen(from, to, 1)).unwrap_err();
    assert_eq!(error.code(), "invalid_map");
    let text = error.to_string();
    text.strip_prefix("text must be a calipers map: ").unwrap().to_owned()
}

/// The line of a key, and the same line with another value.
fn with(text: &str, key: &str, value: &str) -> String {
    let start = text.find(&format!("\"{key}\": ")).unwrap();
    let line = text[start..].lines().next().unwrap();
    let comma = if line.ends_with(',') { "," } else { "" };
    error_of(text, line, &format!("\"{key}\": {value}{comma}"))
}

#[test]
fn what_is_no_map_is_an_error_with_its_place() {
    let text = beta();
    let cases = [
        (
            with(&text, "what", "\"sketch\""),
            "\"what\" must be \"calibrator\"; give a file that `calipers recalibrate fit` wrote",
        ),
        (with(&text, "format", "3"), "\"format\" is 3 and this version reads 1 and 2; update calipers"),
        (with(&text, "format", "\"1\""), "\"format\" must be a count, got \"1\""),
        (with(&text, "method", "\"guess\""), "\"method\" must be \"identity\", \"shift\""),
        (with(&text, "method", "\"platt\""), "\"parameters.slope\" is missing"),
        (with(&text, "classes", "3"), "\"classes\" must be 2 where \"input\" is \"logit\", got 3"),
        (with(&text, "input", "\"probability\""), "\"input\" must be \"logit\" or \"scores\", got \"probability\""),
        (with(&text, "mixture", "1"), "\"mixture\" must be in [0, 1), got 1"),
        (with(&text, "mixture", "null"), "\"mixture\" must be in [0, 1), got null"),
        (with(&text, "clip", "0.5"), "\"clip\" must be above 0 and below 1/2, got 0.5"),
        (with(&text, "clip", "\"1e-12\""), "\"clip\" must be above 0 and below 1/2, got \"1e-12\""),
        (
            with(&text, "formula", "\"sigma(h)\""),
            "\"formula\" must be \"sigma(a * log_sigma(h) - b * log_sigma(-h) + c)\", got \"sigma(h)\"",
        ),
        (
            with(&text, "parameters", "{\"a\": -0.5, \"b\": 1.0, \"c\": 0.0}"),
            "\"parameters.a\" must be finite and not negative, so that the map does not fall, got -0.5",
        ),
        (with(&text, "parameters", "{\"a\": 1.0, \"b\": 1.0}"), "\"parameters.c\" is missing"),
        (
            with(&text, "parameters", "{\"a\": 1.0, \"b\": 1.0, \"c\": null}"),
            "\"parameters.c\" must be a number, got null",
        ),
        (
            with(&text, "parameters", "{\"a\": 1.0, \"b\": 1.0, \"c\": 0.0, \"d\": 0.0}"),
            "\"parameters.d\" is not a key of this format; remove it, or update calipers if a newer version wrote the map",
        ),
        (with(&text, "parameters", "{\"a\": 1.0, \"b\": 1.0, \"c\": 0.0}"), "\"check.output[0]\" is "),
        (with(&text, "parameters", "{\"a\": 1.0, \"b\": NaN, \"c\": 0.0}"), "it is no JSON: "),
        (with(&text, "parameters", "{\"a\": 1.0, \"b\": 1e999, \"c\": 0.0}"), "it is no JSON: number out of range"),
        (
            with(&text, "check", "{\"input\": [0.0], \"output\": []}"),
            "\"check\" must have as many outputs as inputs, got 0 and 1",
        ),
        (
            with(&text, "check", "{\"input\": [[0.0]], \"output\": [[0.5]]}"),
            "\"check.input[0]\" must be a number, got [0.0]",
        ),
        (
            with(&text, "fingerprint", "\"0123456789abcdef\""),
            "\"fingerprint\" is \"0123456789abcdef\" and that of the map is ",
        ),
        (error_of(&text, "\"mixture\"", "\"notes\": 1, \"mixture\""), "\"notes\" is not a key of this format"),
        // An error is one line, whatever the keys are.
        (error_of(&text, "\"mixture\"", "\"a\\nb\": 1, \"mixture\""), "\"a\\nb\" is not a key of this format"),
        (error_of(&text, "\"n\": 400", "\"n\": 400, \"m\": 1"), "\"fit.m\" is not a key of this format"),
        (error_of(&text, "\"n\": 400", "\"n\": -400"), "\"fit.n\" must be a count, got -400"),
        (
            error_of(&text, "\"check\"", "\"labels\": [0], \"check\""),
            "\"labels\" must name each of the 2 classes, got 1 names",
        ),
        (
            error_of(&text, "\"check\"", "\"labels\": [0, 1.5], \"check\""),
            "\"labels[1]\" must be text or a whole number, got 1.5",
        ),
    ];
    for (got, expected) in cases {
        assert!(got.starts_with(expected), "{got}\nis not\n{expected}");
    }
    for (got, expected) in
        [("", "it is no JSON: EOF"), ("[]", "it must be an object, got []"), ("PAR1", "it is no JSON: ")]
    {
        let error = Map::from_json(got).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn tables_that_are_no_map_are_errors() {
    let text = isotonic();
    let table = |at: &str, value: &str| {
        with(&text, "table", &format!("{{\"between\": \"line\", \"at\": {at}, \"value\": {value}}}"))
    };
    let cases = [
        (table("[]", "[]"), "\"table.at\" must have 1 numbers at least, got 0"),
        (table("[0.0, 1.0]", "[0.5]"), "\"table.value\" must have 2 entries, got 1"),
        (table("[0.0, 0.0]", "[0.5, 0.5]"), "\"table.at[1]\" must be above 0, got 0"),
        (table("[1.0, 0.0]", "[0.5, 0.5]"), "\"table.at[1]\" must be above 1, got 0"),
        (table("[0.0, 1.0]", "[0.5, 0.25]"), "\"table.value[1]\" must be at least 0.5, got 0.25"),
        (table("[0.0, 1.0]", "[0.5, 1.5]"), "\"table.value[1]\" must be in [0, 1], got 1.5"),
        (table("[0.0, null]", "[0.5, 1]"), "\"table.at[1]\" must be a number, got null"),
        (table("0", "[0.5, 1]"), "\"table.at\" must be a list of numbers, got 0"),
        (with(&text, "table", "1"), "\"table\" must be an object, got 1"),
        (with(&text, "method", "\"identity\""), "\"formula\" must be \"sigma(h)\", got \"table(h)\""),
    ];
    for (got, expected) in cases {
        assert_eq!(got, expected);
    }
}

#[test]
fn a_map_of_the_other_kind_is_an_error() {
    let classes = ClassMap::identity(3).to_json();
    let error = BinaryMap::from_json(&classes).unwrap_err().to_string();
    assert_eq!(error, "text must be a calipers map: it must be of a binary outcome here, got a map of 3 classes");
    let error = ClassMap::from_json(&BinaryMap::identity().to_json()).unwrap_err().to_string();
    assert_eq!(error, "text must be a calipers map: it must be of rows of classes here, got a map of a binary outcome");
    let error = error_of(&classes, "\"classes\": 3", "\"classes\": 4");
    assert!(error.starts_with("\"check.input[0]\" must be a list of 4 numbers, got ["), "{error}");
    let error = error_of(&classes, "\"method\": \"identity\"", "\"method\": \"platt\"");
    assert_eq!(error, "\"parameters.maps\" is missing");
    let error = error_of(&BinaryMap::identity().to_json(), "\"method\": \"identity\"", "\"method\": \"vector\"");
    assert_eq!(error, "\"method\" must be of a binary outcome here, got \"vector\"");
}

/// Maps of three groups, one of which has few rows; the second has outcomes of its own.
fn grouped() -> Vec<(String, GroupedFit)> {
    let fixture = fixtures::binary();
    let group = |row: usize| ["a", "b's", "c"][if row < 20 { 2 } else { row % 2 }];
    let groups: Vec<&str> = (0..400).map(group).collect();
    let mut labels = fixture.labels.clone();
    (0..400).filter(|row| groups[*row] == "b's").for_each(|row| labels[row] = u8::from(row % 7 < 5));
    let predictions = Input::logits(&fixture.logits, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    [Method::Shift, Method::Temperature, Method::Platt, Method::Beta]
        .map(|method| {
            let found = Recalibrate::new(method).fit_groups(&view, &Groups::new(&groups)).unwrap();
            (format!("groups_{}", method.name()), found)
        })
        .into()
}

#[test]
fn maps_by_group_are_read_to_the_same_bits() {
    for (name, found) in grouped() {
        let map = found.fit.map.clone();
        assert!(map.spread.iter().any(|spread| *spread > 0.0), "{name}");
        for file in [MapFile::new(map.clone()), MapFile::new(map.clone().by("shop")).fit(FitRecord::from(&found))] {
            let text = file.to_json();
            assert!(text.contains("\"format\": 2,"));
            let read = MapFile::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(read, file);
            assert_eq!(read.to_json(), text);
            for (group, h) in [("a", -3.0), ("b's", 0.25), ("c", 700.0), ("d", 1e-300)] {
                let own = read.map.apply_row_of(group, &[h], Form::Logits).unwrap()[0];
                assert_eq!(own.to_bits(), map.of(group).apply(h).to_bits());
            }
        }
    }
    let (_, found) = &grouped()[2];
    let file = MapFile::new(found.fit.map.clone().by("shop"));
    let own = file.map.fingerprint();
    assert_eq!(own, Map::Groups(found.fit.map.clone()).fingerprint(), "the column does not change the maps");
    assert_ne!(own, Map::Binary(found.fit.map.pooled.clone()).fingerprint());
    let sql = match &file.map {
        Map::Groups(maps) => maps.to_sql("h", SqlInput::Logit, Dialect::Ansi).unwrap(),
        _ => unreachable!(),
    };
    assert!(sql.starts_with("(CASE COALESCE(CAST(\"shop\" AS VARCHAR), '')\n  WHEN 'a' THEN "), "{sql}");
    assert!(sql.contains("WHEN 'b''s' THEN "), "{sql}");
    assert!(found.fit.map.to_sql("h", SqlInput::Logit, Dialect::Spark).is_err());
}

#[test]
fn damaged_maps_by_group_are_rejected_with_the_reason() {
    let (_, found) = &grouped()[0];
    let text = MapFile::new(found.fit.map.clone().by("shop")).to_json();
    let cases = [
        ("\"format\": 2", "\"format\": 1", "\"check.by_group\" is not a key of this format"),
        ("\"format\": 2", "\"format\": 3", "\"format\" is 3 and this version reads 1 and 2; update calipers"),
        ("\"name\": \"a\"", "\"name\": \"z\"", "\"groups[1].name\" must be after the name before it, got \"b's\""),
        ("\"name\": \"a\"", "\"name\": 1", "\"groups[0].name\" must be text, got 1"),
        ("{\"shift\"", "{\"slope\"", "\"parameters.shift\" is missing"),
        ("\"spread\": {", "\"spread\": {\"x\": 1, ", "\"spread.x\" is not a key of this format"),
        ("\"by_group\": [[", "\"by_group\": [[1, ", "\"check.by_group[0]\" must be a list of 7 numbers"),
        ("\"by\": \"shop\"", "\"by\": 3", "\"by\" must be text, got 3"),
    ];
    for (from, to, expected) in cases {
        let error = error_of(&text, from, to);
        assert!(error.starts_with(expected), "{from} -> {to}: {error}");
    }
    let key = "\"by_group\": [[";
    let start = text.find(key).unwrap() + key.len();
    let moved = format!("{}0.5{}", &text[..start], &text[start + text[start..].find(',').unwrap()..]);
    let error = MapFile::from_json(&moved).unwrap_err().to_string();
    assert!(error.contains("\"check.by_group[0]\" is not what this version gives"), "{error}");
    let one = MapFile::new(found.fit.map.pooled.clone()).to_json().replacen("\"format\": 1", "\"format\": 2", 1);
    let error = MapFile::from_json(&one).unwrap_err().to_string();
    assert!(error.ends_with("\"spread\" is missing"), "{error}");
    assert!(
        BinaryMap::from_json(&text).unwrap_err().to_string().ends_with("it must be one map here, got maps by group")
    );
}

/// Files in `fixtures/maps`, which other languages read, too.
fn golden() -> Vec<(String, MapFile)> {
    let fixture = fixtures::binary();
    let predictions = fixture.plain();
    let view = predictions.binary().unwrap();
    let mut all = Vec::new();
    for method in Method::ALL {
        if let Ok(fit) = Recalibrate::new(method).fit(&view) {
            all.push((method.name().to_owned(), MapFile::new(fit.map.clone()).fit(&fit)));
        }
    }
    let steps = Recalibrate::new(Method::Isotonic).between(Between::Step).mixture(0.01).fit(&view).unwrap();
    all.push(("isotonic_steps".to_owned(), MapFile::new(steps.map.clone()).fit(&steps)));
    for (name, found) in grouped() {
        let file = MapFile::new(found.fit.map.clone().by("shop")).fit(FitRecord::from(&found));
        all.push((name, file));
    }
    let (scores, labels) = fixtures::classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    for method in Method::ALL {
        let fit = Recalibrate::new(method).fit_classes(&predictions);
        // The file has the name of its method, so the formula must be that of the method.
        let is_own = |map: &ClassMap| {
            method != Method::EnsembleTemperature || matches!(map.formula, ClassFormula::Ensemble { .. })
        };
        if let Some(fit) = fit.ok().filter(|fit| is_own(&fit.map)) {
            let names = ["cat", "dog", "fox"].map(|name| Label::Text(name.to_owned()));
            let file = MapFile::new(fit.map.clone()).fit(&fit).labels(names.to_vec());
            all.push((format!("classes_{}", method.name()), file));
        }
    }
    assert!(all.len() >= 14, "{}", all.len());
    all
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/maps")
}

/// A file without the version of calipers, and without the check values, whose last digits are
/// those of a machine's own exponentials.
fn versionless(text: &str) -> String {
    let is_same = |line: &&str| !["  \"calipers\": ", "  \"check\": "].iter().any(|start| line.starts_with(start));
    text.lines().filter(is_same).map(|line| format!("{line}\n")).collect()
}

#[test]
fn files_of_an_earlier_version_are_read_to_the_same_map() {
    let update = std::env::var_os("CALIPERS_UPDATE").is_some();
    let mut expressions = serde_json::Map::new();
    for (name, file) in golden() {
        let path = folder().join(format!("{name}.json"));
        if update {
            std::fs::write(&path, file.to_json()).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let read = MapFile::from_json(&text).unwrap();
        assert_eq!(versionless(&read.to_json()), versionless(&text), "{name}");
        if let Map::Binary(map) = &read.map {
            let sql = SqlInput::ALL.map(|input| (input.name().to_owned(), map.to_sql("x", input, Dialect::Ansi)));
            let sql = sql.into_iter().filter_map(|(input, sql)| Some((input, sql.ok()?.into())));
            expressions.insert(name, serde_json::Value::Object(sql.collect()));
        }
    }
    let path = folder().join("expressions.sql.json");
    let expressions = serde_json::Value::Object(expressions);
    if update {
        std::fs::write(&path, format!("{expressions:#}\n")).unwrap();
    }
    // python/tests/test_map_format.py runs them.
    let read: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(read, expressions);
}

#[test]
fn expressions_quote_names_and_are_of_binary_outcomes() {
    let map = BinaryMap::identity();
    let ansi = map.to_sql("a \"b\"", SqlInput::Logit, Dialect::Ansi).unwrap();
    assert!(ansi.contains("\"a \"\"b\"\"\""), "{ansi}");
    let spark = map.to_sql("a`b", SqlInput::Logit, Dialect::Spark).unwrap();
    assert!(spark.contains("`a``b`"), "{spark}");
    let mut of_classes = BinaryMap::identity();
    of_classes.method = Method::Vector;
    let error = of_classes.to_sql("p", SqlInput::Logit, Dialect::Ansi).unwrap_err().to_string();
    let expected = "method must be a map of a binary outcome, since SQL has no expression for others, got \"vector\"";
    assert_eq!(error, expected);
}
