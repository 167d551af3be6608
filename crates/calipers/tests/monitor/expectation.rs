//! The expectation of the e-value, over all outcomes of a few rows: never above 1 where the null
//! hypothesis holds, and 1 where it is a single point.

use calipers::{Input, Monitor, Sketch, SketchOptions};

use crate::data::{logistic, logit};

/// Predictions of two windows, very sure ones and ties among them.
const FIRST: [f64; 4] = [0.2, 0.2, 0.7, 0.999];
const SECOND: [f64; 4] = [0.001, 0.4, 0.4, 0.93];

/// The mean of the e-value after two windows, where outcomes have log-odds `truth(h)`.
fn mean(monitor: &Monitor, options: Option<&SketchOptions>, truth: impl Fn(f64) -> f64) -> f64 {
    let mut mean = 0.0;
    for outcomes in 0..1u32 << 8 {
        let y: Vec<bool> = (0..8).map(|bit| outcomes >> bit & 1 == 1).collect();
        let mut probability = 1.0;
        for (p, y) in FIRST.iter().chain(&SECOND).zip(&y) {
            let rate = logistic(truth(logit(*p)));
            probability *= if *y { rate } else { 1.0 - rate };
        }
        let mut monitor = monitor.clone();
        for (p, y) in [(&FIRST, &y[..4]), (&SECOND, &y[4..])] {
            let rows = Input::probabilities(&p[..], y).check().unwrap();
            match options {
                None => monitor.update("w", &rows.binary().unwrap()).map(drop).unwrap(),
                Some(options) => {
                    let mut sketch = Sketch::with(options).unwrap();
                    sketch.update(&rows.binary().unwrap()).unwrap();
                    monitor.update("w", &sketch).map(drop).unwrap();
                }
            }
        }
        mean += probability * monitor.e_value();
    }
    mean
}

#[test]
fn of_calibrated_rows_it_is_1() {
    let found = mean(&Monitor::new(), None, |h| h);
    assert!((found - 1.0).abs() < 1e-10, "{found}");
}

#[test]
fn of_calibrated_sketches_it_is_at_most_1_however_coarse() {
    for (resolution, least) in [(6, 0.95), (12, 0.9999), (20, 0.999_999)] {
        let found = mean(&Monitor::new(), Some(&SketchOptions::new().resolution(resolution)), |h| h);
        assert!(found <= 1.0 && found > least, "{resolution}: {found}");
    }
}

#[test]
fn predictions_that_were_clipped_are_not_held_against_a_model() {
    let options = SketchOptions::new().clip(0.05);
    // 0.001 and 0.999 are in the sketch as 0.05 and 0.95, and outcomes are as rare as predicted.
    let found = mean(&Monitor::new(), Some(&options), |h| h);
    assert!(found <= 1.0 && found > 0.9, "{found}");
}

#[test]
fn within_the_margin_it_is_at_most_1_and_beyond_above() {
    let margin = 0.4;
    let monitor = Monitor::new().margin(margin);
    let within: [fn(f64) -> f64; 5] =
        [|h| h, |h| h + 0.4, |h| h - 0.4, |h| h + 0.4 * (7.0 * h).sin(), |h| h - 0.4 * (h - 0.1).signum()];
    for truth in within {
        let found = mean(&monitor, None, truth);
        assert!(found <= 1.0 + 1e-12, "{found}");
    }
    assert!(mean(&monitor, None, |h| h + 2.0) > 1.0);
    assert!(mean(&Monitor::new(), None, |h| h + 1.0) > 1.0);
}
