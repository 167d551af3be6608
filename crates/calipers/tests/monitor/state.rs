//! A monitor that is stored and read goes on with the same bits, and damaged text is an error.

use calipers::{Assess, LsEce, Monitor, Sketch};

use crate::data::Rows;

#[test]
fn a_monitor_that_is_stored_after_every_window_is_the_same() {
    let reference = Rows::new(3000, 0.0, 3.0, |h| 0.2 + h, 99);
    for monitor in [
        Monitor::new(),
        Monitor::new().alpha(0.01).margin(0.1),
        Monitor::new().reference(&reference.check().binary().unwrap()).unwrap(),
    ] {
        let (mut whole, mut stored) = (monitor.clone(), monitor.to_json());
        for window in 0..12 {
            let rows = Rows::new(150, 0.0, 3.0, |h| h + 0.1 * window as f64, window);
            let (name, mut read) = (format!("\"hour\" {window}"), Monitor::from_json(&stored).unwrap());
            assert_eq!(read, whole);
            rows.add_to(&mut whole, &name);
            rows.add_to(&mut read, &name);
            stored = read.to_json();
        }
        assert_eq!(Monitor::from_json(&stored).unwrap().sentence(), whole.sentence());
        assert_eq!(stored, whole.to_json());
    }
}

#[test]
fn windows_without_rows_and_values_of_measures_are_kept() {
    let mut monitor = Monitor::new();
    let measure = LsEce::new().sigma(0.5);
    let assess = Assess::new(&measure).n_resamples(100);
    let rows = Rows::new(400, 0.0, 3.0, |h| h, 1);
    monitor.update_with("a", &rows.check().binary().unwrap(), &assess).unwrap();
    let before = monitor.log_e_value();
    monitor.update_with("b", &Sketch::new(), &assess).unwrap();
    assert!(monitor.looks()[1].n == 0 && monitor.looks()[1].value.is_none());
    assert!((monitor.log_e_value() - before).abs() < 1e-9);
    let value = monitor.looks()[0].value.clone().unwrap();
    assert!(value.lower <= value.upper && value.floor > 0.0 && value.value > 0.0);
    let read = Monitor::from_json(&monitor.to_json()).unwrap();
    assert_eq!(read.to_json(), monitor.to_json());
    assert_eq!(read.looks()[0].value, Some(value));
}

#[test]
fn damaged_text_is_an_error_that_names_the_place() {
    let mut monitor = Monitor::new();
    Rows::new(50, 0.0, 3.0, |h| h, 1).add_to(&mut monitor, "a");
    let text = monitor.to_json();
    for (from, to, expected) in [
        ("\"monitor\"", "\"map\"", "\"what\" must be \"monitor\", got \"map\""),
        ("\"format\":1", "\"format\":2", "\"format\" is 2 and this version reads 1; update calipers"),
        ("\"alpha\":0.05", "\"alpha\":7", "alpha must be in [1e-12, 0.5], got 7"),
        ("\"margin\"", "\"other\"", "\"margin\" is missing"),
        ("\"log_sums\":[", "\"log_sums\":[0.0,", "\"log_sums\" must have 96 numbers, got 97"),
        ("\"n\":50", "\"n\":-50", "\"n\" must be a count"),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text, "{from}");
        let error = Monitor::from_json(&damaged).unwrap_err();
        assert_eq!(error.to_string(), format!("text must be the state of a calipers monitor: {expected}"));
    }
    for cut in 0..text.len() {
        assert_eq!(Monitor::from_json(&text[..cut]).unwrap_err().code(), "invalid_monitor");
    }
}
