//! Monitors that compare with a reference period.

use calipers::Monitor;
use rayon::prelude::*;

use crate::data::Rows;

fn miscalibrated(h: f64) -> f64 {
    0.5 + 0.7 * h
}

fn curved(h: f64) -> f64 {
    0.3 + h - 0.6 * h.sin()
}

fn stream(truth: fn(f64) -> f64, change: f64, n_reference: usize, seed: u64) -> Monitor {
    let reference = Rows::new(n_reference, 0.0, 3.0, truth, seed + 1_000_000);
    let mut monitor = Monitor::new().reference(&reference.check().binary().unwrap()).unwrap();
    for window in 0..80 {
        let after = if window < 30 { 0.0 } else { change };
        Rows::new(200, 0.0, 3.0, |h| truth(h) + after, seed * 1009 + window).add_to(&mut monitor, &window.to_string());
    }
    monitor
}

#[test]
fn a_model_that_stays_as_it_was_raises_no_alarm_and_one_that_changes_does() {
    for truth in [miscalibrated as fn(f64) -> f64, curved] {
        let alarms = |change: f64| {
            (0..60).into_par_iter().filter(|seed| stream(truth, change, 4000, *seed).alarm().is_some()).count()
        };
        let (same, other) = (alarms(0.0), alarms(0.8));
        assert!(same <= 5 && other >= 57, "{same} {other}");
    }
    // The same windows without a reference: the model was never calibrated.
    let mut monitor = Monitor::new();
    for window in 0..30 {
        Rows::new(200, 0.0, 3.0, miscalibrated, window).add_to(&mut monitor, "w");
    }
    assert!(monitor.alarm().is_some());
}

#[test]
fn a_larger_reference_is_less_uncertain() {
    let uncertainty = |n: usize| {
        let rows = Rows::new(n, 0.0, 3.0, miscalibrated, 1);
        Monitor::new().reference(&rows.sketch()).unwrap().reference_uncertainty().unwrap()
    };
    let (small, large) = (uncertainty(1000), uncertainty(100_000));
    assert!(large < 0.1 && small > 2.0 * large && small < 0.6, "{small} {large}");
}

#[test]
fn few_different_scores_are_enough() {
    for scores in [1, 2, 3, 40] {
        let rows = |n: usize, shift: f64, seed: u64| {
            let mut rows = Rows::new(n, 0.0, 2.0, |_| 0.0, seed);
            let mut uniform = crate::data::sequence(seed + 77);
            for row in 0..n {
                let h = (row % scores) as f64 * 0.5 - 1.0;
                (rows.p[row], rows.y[row]) =
                    (crate::data::logistic(h), uniform() < crate::data::logistic(h + 0.4 + shift));
            }
            rows
        };
        let mut monitor = Monitor::new().reference(&rows(5000, 0.0, 1).check().binary().unwrap()).unwrap();
        (0..20).for_each(|window| rows(500, 0.0, 10 + window).add_to(&mut monitor, "w"));
        assert!(monitor.alarm().is_none(), "{scores}");
        (0..20).for_each(|window| rows(500, 0.9, 50 + window).add_to(&mut monitor, "w"));
        assert!(monitor.alarm().is_some(), "{scores}");
    }
}
