//! Maps as files: the same bits after a round trip, and an error for everything that is no map.

use calipers::Input;
use calipers::recalibrate::{BinaryMap, ClassMap, CrossFit, Label, Map, MapFile, Method, Recalibrate};

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
        (with(&text, "format", "2"), "\"format\" is 2 and this version reads 1; update calipers"),
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
        (table("[]", "[]"), "\"table.at\" and \"table.value\" must be as many, and at least 1, got 0 and 0"),
        (table("[0.0, 1.0]", "[0.5]"), "\"table.at\" and \"table.value\" must be as many, and at least 1, got 2 and 1"),
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
    assert_eq!(error, "\"method\" must be \"identity\" or \"temperature\" for rows of classes, got \"platt\"");
}
