//! What must hold of every measure here, whatever the data.

use calipers::{
    Corp, CumulativeCalibrationError, CumulativeStatistic, Input, KernelCalibrationError, Logistic, LowerDistance,
    Measure, ProperScore, SmoothCalibrationError, SplineCalibrationError, SurrogateIntervalCalibrationError, TCal,
    link::Link,
};
use proptest::prelude::*;

use crate::data::{Row, config, measure, rows};

fn measures() -> Vec<Box<dyn Measure>> {
    vec![
        Box::new(KernelCalibrationError::new()),
        Box::new(KernelCalibrationError::mmce()),
        Box::new(CumulativeCalibrationError::new()),
        Box::new(CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute)),
        Box::new(Corp::new()),
        Box::new(Corp::new().score(ProperScore::Log)),
        Box::new(SmoothCalibrationError::new()),
        Box::new(SurrogateIntervalCalibrationError::new()),
        Box::new(LowerDistance::new().n_nodes(128)),
        Box::new(SplineCalibrationError::new()),
    ]
}

fn same(a: f64, b: f64, bound: f64) -> bool {
    a == b || (a - b).abs() <= bound
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_weight_is_a_repeated_row(rows in rows(60)) {
        let repeated: Vec<Row> =
            rows.iter().flat_map(|row| std::iter::repeat_n((row.0, row.1, 1.0), row.2 as usize)).collect();
        for estimator in measures() {
            let (weighted, plain) = (measure(&*estimator, &rows), measure(&*estimator, &repeated));
            let bound = weighted.numerical_bound + plain.numerical_bound;
            prop_assert!(same(weighted.value, plain.value, bound), "{}", weighted.measure());
        }
    }

    #[test]
    fn the_scale_of_weights_does_not_matter(rows in rows(60), exponent in -150i32..150) {
        let scaled: Vec<Row> = rows.iter().map(|row| (row.0, row.1, row.2 * 10f64.powi(exponent))).collect();
        for estimator in measures().into_iter().chain([Box::new(TCal::new(7)) as Box<dyn Measure>]) {
            let (a, b) = (measure(&*estimator, &rows), measure(&*estimator, &scaled));
            prop_assert!(same(a.value, b.value, a.numerical_bound + b.numerical_bound), "{}", a.measure());
        }
    }

    #[test]
    fn row_order_changes_no_bit(rows in rows(60)) {
        let mut other: Vec<Row> = rows.iter().rev().copied().collect();
        let middle = other.len() / 3;
        other.rotate_left(middle);
        for estimator in measures() {
            prop_assert_eq!(measure(&*estimator, &rows).value.to_bits(), measure(&*estimator, &other).value.to_bits());
        }
    }

    /// p -> 1 - p and y -> 1 - y: bins that are closed on one side make the exception.
    #[test]
    fn the_mirror_has_the_same_value(rows in rows(60)) {
        let exact: Vec<Row> = rows.iter().map(|row| ((row.0 * 1024.0).round() / 1024.0, row.1, row.2)).collect();
        let mirror: Vec<Row> = exact.iter().map(|row| (1.0 - row.0, !row.1, row.2)).collect();
        for estimator in measures() {
            let (a, b) = (measure(&*estimator, &exact), measure(&*estimator, &mirror));
            let infinite = a.value == f64::INFINITY;
            // C_n is the mean residual, and not 0: from the other end the curve is another one, but
            // for its range.
            let of_other_curve = a.measure() == "ecce_mad";
            let bound = a.numerical_bound + b.numerical_bound + 1e-12;
            prop_assert!(infinite || of_other_curve || same(a.value, b.value, bound), "{} {} {}", a.measure(), a.value, b.value);
        }
    }

    #[test]
    fn raw_scores_are_measured_by_their_probability(scores in prop::collection::vec((-30.0..30.0, any::<bool>()), 1..60)) {
        let (logits, y): (Vec<f64>, Vec<bool>) = scores.into_iter().unzip();
        let p: Vec<f64> = logits.iter().map(|logit| Logistic.response(*logit)).collect();
        let raw = Input::logits(&logits, &y).check().unwrap();
        let probabilities = Input::probabilities(&p, &y).check().unwrap();
        for estimator in measures().into_iter().chain([Box::new(TCal::new(7)) as Box<dyn Measure>]) {
            let a = estimator.estimate(&raw.binary().unwrap()).unwrap();
            let b = estimator.estimate(&probabilities.binary().unwrap()).unwrap();
            prop_assert_eq!(a.value.to_bits(), b.value.to_bits());
        }
    }
}

#[test]
fn silly_options_are_refused() {
    let predictions = Input::probabilities(&[0.2, 0.7], &[0, 1]).check().unwrap();
    let view = predictions.binary().unwrap();
    for length_scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(KernelCalibrationError::new().length_scale(length_scale).estimate(&view).is_err());
    }
    assert!(TCal::new(0).estimate(&view).is_err());
    assert!(LowerDistance::new().n_nodes(3).estimate(&view).is_err());
}
