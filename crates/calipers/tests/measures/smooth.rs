use calipers::{Input, SmoothCalibrationError};
use proptest::prelude::*;

use crate::data::{Row, config, measure, residuals, rows};
use crate::simplex;

/// The program as it is written, with v = w + 1 in [0, 2] as variables and all pairs of points.
fn by_simplex(rows: &[Row]) -> f64 {
    let points = residuals(rows);
    let n = points.len();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for i in 0..n {
        let mut row = vec![0.0; n];
        row[i] = 1.0;
        a.push(row);
        b.push(2.0);
        for j in 0..n {
            if i != j {
                let mut row = vec![0.0; n];
                (row[i], row[j]) = (1.0, -1.0);
                a.push(row);
                b.push((points[i].0 - points[j].0).abs());
            }
        }
    }
    let c: Vec<f64> = points.iter().map(|point| point.1).collect();
    simplex::maximise(&a, &b, &c) - c.iter().sum::<f64>()
}

/// By trying all values on a lattice: exact where probabilities are multiples of 1/m, since then an
/// optimal w is too.
pub(crate) fn on_lattice(rows: &[Row], m: i32) -> f64 {
    let points = residuals(rows);
    let mut best = vec![0.0; 2 * m as usize + 1];
    for (i, point) in points.iter().enumerate() {
        let reach = if i == 0 { 2 * m } else { ((point.0 - points[i - 1].0) * f64::from(m)).round() as i32 };
        let before = best.clone();
        for k in 0..=2 * m {
            let near = (k - reach).max(0)..=(k + reach).min(2 * m);
            let most = before[*near.start() as usize..=*near.end() as usize].iter().copied().fold(f64::MIN, f64::max);
            best[k as usize] = most + point.1 * f64::from(k - m) / f64::from(m);
        }
    }
    best.into_iter().fold(f64::MIN, f64::max)
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn it_is_the_optimum_of_the_linear_program(rows in rows(14)) {
        let estimate = measure(&SmoothCalibrationError::new(), &rows);
        let optimum = by_simplex(&rows);
        prop_assert!((estimate.value - optimum).abs() <= 1e-11, "{} against {optimum}", estimate.value);
        prop_assert!(estimate.numerical_bound < 1e-13, "{:e}", estimate.numerical_bound);
    }

    #[test]
    fn it_is_the_optimum_on_a_lattice(rows in prop::collection::vec((0.0..1.0, any::<bool>(), 1u8..4), 1..=200),
        m in prop_oneof![Just(20), Just(256), Just(400)],
    ) {
        let of_lattice = |p: f64| (p * f64::from(m)).round() / f64::from(m);
        let rows: Vec<Row> = rows.into_iter().map(|(p, y, w)| (of_lattice(p), y, f64::from(w))).collect();
        let estimate = measure(&SmoothCalibrationError::new(), &rows);
        prop_assert!((estimate.value - on_lattice(&rows, m)).abs() <= 1e-13);
        prop_assert!(estimate.numerical_bound < 1e-13, "{:e}", estimate.numerical_bound);
    }

    #[test]
    fn both_bounds_meet_and_the_witness_is_feasible(rows in rows(200)) {
        let estimate = measure(&SmoothCalibrationError::new(), &rows);
        prop_assert!(estimate.numerical_bound < 1e-13, "{:e}", estimate.numerical_bound);
        let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
        let witness = SmoothCalibrationError::new().witness(&predictions.binary().unwrap()).unwrap();
        let attained: f64 = residuals(&rows).iter().zip(&witness.values).map(|(point, w)| point.1 * w).sum();
        prop_assert!((attained - estimate.value).abs() <= 1e-13);
        prop_assert!(witness.values.iter().all(|w| w.abs() <= 1.0));
        for (x, w) in witness.probabilities.windows(2).zip(witness.values.windows(2)) {
            prop_assert!((w[1] - w[0]).abs() <= x[1] - x[0] + 1e-14);
        }
    }
}

#[test]
fn one_probability_has_its_mean_residual() {
    let estimate = measure(&SmoothCalibrationError::new(), &[(0.3, true, 3.0), (0.3, false, 1.0)]);
    assert!((estimate.value - 0.45).abs() < 1e-15);
}

#[test]
fn far_residuals_of_two_signs_are_limited_by_their_distance() {
    // w(0) = w(1) - 1, so the best is max over w of 0.5 w - 0.5 (w - 1).
    let estimate = measure(&SmoothCalibrationError::new(), &[(0.0, true, 1.0), (1.0, false, 1.0)]);
    assert!((estimate.value - 0.5).abs() < 1e-15);
}
