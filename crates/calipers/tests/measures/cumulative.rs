use calipers::{CumulativeCalibrationError, CumulativeStatistic, Input, Sketch};
use proptest::prelude::*;

use crate::data::{Row, assert_golden, config, measure, rows};

fn maximum() -> CumulativeCalibrationError {
    CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute)
}

/// The highest and the lowest of all sums.
pub(crate) fn naive_extremes(rows: &[Row]) -> (f64, f64) {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let up_to = |p: f64| {
        let below = rows.iter().filter(|row| row.0 <= p);
        below.map(|row| row.2 * (f64::from(row.1) - row.0)).sum::<f64>() / total
    };
    let sums: Vec<f64> = rows.iter().map(|row| up_to(row.0)).chain([0.0]).collect();
    (sums.iter().copied().fold(f64::MIN, f64::max), sums.iter().copied().fold(f64::MAX, f64::min))
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn it_is_the_extreme_of_all_sums(rows in rows(200)) {
        let (highest, lowest) = naive_extremes(&rows);
        let (range, largest) = (measure(&CumulativeCalibrationError::new(), &rows), measure(&maximum(), &rows));
        prop_assert!((range.value - (highest - lowest)).abs() <= range.numerical_bound + 1e-14);
        prop_assert!((largest.value - highest.max(-lowest)).abs() <= largest.numerical_bound + 1e-14);
        prop_assert!(largest.value <= range.value && range.value <= 2.0 * largest.value);
    }

    #[test]
    fn a_sketch_knows_it_within_its_bound(rows in rows(200), resolution in 6u32..12) {
        let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
        let mut sketch = Sketch::new();
        sketch.update(&predictions.binary().unwrap()).unwrap();
        sketch.coarsen(resolution).unwrap();
        for statistic in [CumulativeStatistic::Range, CumulativeStatistic::MaximumAbsolute] {
            let estimator = CumulativeCalibrationError::new().statistic(statistic);
            let (exact, sketched) = (measure(&estimator, &rows), sketch.estimate(&estimator).unwrap());
            let error = (exact.value - sketched.value).abs();
            prop_assert!(error <= exact.numerical_bound + sketched.numerical_bound, "{error:e}");
        }
    }
}

#[test]
fn it_agrees_with_what_others_computed() {
    assert_golden(&CumulativeCalibrationError::new(), 0.0684);
    assert_golden(&maximum(), 0.05335);
}

#[test]
fn the_curve_begins_at_nothing_and_ends_with_all() {
    let predictions = Input::probabilities(&[0.5, 0.25, 0.5], &[1, 1, 0]).check().unwrap();
    let curve = CumulativeCalibrationError::new().curve(&predictions.binary().unwrap()).unwrap();
    assert_eq!(curve.probabilities, [0.25, 0.25, 0.5]);
    assert_eq!(curve.differences, [0.0, 0.25, 0.25]);
    assert_eq!(curve.shares, [0.0, 1.0 / 3.0, 1.0]);
}

#[test]
fn the_sum_before_the_first_row_counts() {
    // All sums are positive: without C_0 = 0 the range would be 0.2.
    let rows = [(0.4, true, 1.0), (0.6, true, 1.0)];
    assert!((measure(&CumulativeCalibrationError::new(), &rows).value - 0.5).abs() < 1e-15);
}
