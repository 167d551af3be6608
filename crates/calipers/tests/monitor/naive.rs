//! The e-value from its definition: a product over rows for each direction and each start window.

use calipers::Monitor;

use crate::data::{Rows, logistic, logit};

/// P(y) where outcome 1 has these log-odds.
fn likelihood(y: bool, log_odds: f64) -> f64 {
    if y { logistic(log_odds) } else { logistic(-log_odds) }
}

/// Mean and deviation of the log-odds of a window, weighted by p (1 - p).
fn units(rows: &Rows) -> (f64, f64) {
    let weights: Vec<f64> = rows.p.iter().map(|p| p * (1.0 - p)).collect();
    let total: f64 = weights.iter().sum();
    let mean = rows.p.iter().zip(&weights).map(|(p, w)| w * logit(*p)).sum::<f64>() / total;
    let square = rows.p.iter().zip(&weights).map(|(p, w)| w * (logit(*p) - mean).powi(2)).sum::<f64>() / total;
    (mean, square.sqrt())
}

fn e_value(windows: &[Rows], margin: f64) -> f64 {
    let (mean, deviation) = units(&windows[0]);
    let weight_from = |start: usize| (start as f64 + 1.0).powf(-0.25);
    let mut sum = weight_from(windows.len());
    for start in 0..windows.len() {
        for radius in (0..8).map(|k| 2f64.powi(k - 6)) {
            for turn in 0..12 {
                let angle = std::f64::consts::PI * f64::from(turn) / 6.0;
                let share = if turn % 6 == 0 { 0.25 } else { 0.05 };
                let mut product = share / 8.0 * (weight_from(start) - weight_from(start + 1));
                for (number, rows) in windows.iter().enumerate().skip(start) {
                    for (p, y) in rows.p.iter().zip(&rows.y) {
                        let z = ((logit(*p) - mean) / deviation).clamp(-3.0, 3.0);
                        let z = if number == 0 { 0.0 } else { z };
                        let d = radius * (angle.cos() + angle.sin() * z);
                        let base = logit(*p) + if d > 0.0 { margin } else { -margin };
                        product *= likelihood(*y, base + d) / likelihood(*y, base);
                    }
                }
                sum += product;
            }
        }
    }
    sum
}

fn windows() -> Vec<Rows> {
    let truth = |h: f64| 0.4 + 0.8 * h;
    [40, 7, 120, 33].iter().zip(1..).map(|(n, seed)| Rows::new(*n, -0.5, 3.0, truth, seed)).collect()
}

#[test]
fn the_e_value_is_that_of_its_definition() {
    for margin in [0.0, 0.3] {
        let windows = windows();
        let mut monitor = Monitor::new().margin(margin);
        for done in 1..=windows.len() {
            windows[done - 1].add_to(&mut monitor, "w");
            let expected = e_value(&windows[..done], margin);
            assert!((monitor.e_value() / expected - 1.0).abs() < 1e-9, "{} {expected}", monitor.e_value());
        }
    }
}

#[test]
fn a_sketch_of_a_window_is_as_good_as_its_rows_and_never_better() {
    for margin in [0.0, 0.2] {
        let (mut by_rows, mut by_sketch) = (Monitor::new().margin(margin), Monitor::new().margin(margin));
        for seed in 0..20 {
            let rows = Rows::new(500, 0.0, 3.0, |h| 0.35 + h, seed);
            rows.add_to(&mut by_rows, "w");
            by_sketch.update("w", &rows.sketch()).unwrap();
        }
        let (rows, sketch) = (by_rows.log_e_value(), by_sketch.log_e_value());
        assert!(rows > 8.0 && sketch < rows && sketch > 0.98 * rows - 0.1, "{rows} {sketch}");
    }
}

#[test]
fn neither_the_order_of_rows_nor_the_split_of_a_sketch_changes_a_bit() {
    let mut rows = Rows::new(300, 0.0, 3.0, |h| 0.5 + h, 7);
    let (mut one, mut other) = (Monitor::new(), Monitor::new());
    rows.add_to(&mut one, "w");
    let (mut left, right) = (
        Rows { p: rows.p[..100].to_vec(), y: rows.y[..100].to_vec() }.sketch(),
        Rows { p: rows.p[100..].to_vec(), y: rows.y[100..].to_vec() }.sketch(),
    );
    left.merge(&right).unwrap();
    let (mut merged, mut whole) = (Monitor::new(), Monitor::new());
    merged.update("w", &left).unwrap();
    whole.update("w", &rows.sketch()).unwrap();
    assert_eq!(merged, whole);
    rows.p.reverse();
    rows.y.reverse();
    rows.add_to(&mut other, "w");
    assert_eq!(one, other);
}
