//! What must hold of measures that smooth, or that sort rows into bins of their own, whatever the
//! data.

use calipers::{
    BetaKdeEce, CalibrationIndex, Compat, CoxCalibration, CoxCoefficient, DebiasedEce, IndexStatistic, Input, KdeEce,
    Measure, Norm, ObservedExpected, SmoothEce, SmoothMethod, Smoothing, Strategy as Bins, SweepEce,
};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, repeated, rows, value};

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn a_weight_is_a_repeated_row(rows in rows(60)) {
        let measures: Vec<Box<dyn Measure>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(SmoothEce::new().sigma(0.07)),
            Box::new(SmoothEce::new().sigma(0.07).smoothing(Smoothing::Predictions)),
            Box::new(KdeEce::new().bandwidth(0.1)),
            Box::new(SweepEce::new().max_bins(7)),
            Box::new(ObservedExpected::new()),
            Box::new(CalibrationIndex::new().sigma(0.4)),
            Box::new(CalibrationIndex::new().sigma(0.4).statistic(IndexStatistic::E90)),
            Box::new(CoxCalibration::new()),
            Box::new(CoxCalibration::new().coefficient(CoxCoefficient::InTheLarge)),
        ];
        prop_assume!(rows.len() > 8);
        for (index, measure) in measures.iter().enumerate() {
            match (estimate(&**measure, &rows), estimate(&**measure, &repeated(&rows))) {
                (Ok(weighted), Ok(plain)) => {
                    let allowed = 1e-12 + 2.0 * weighted.numerical_bound.max(plain.numerical_bound);
                    prop_assert!((weighted.value - plain.value).abs() <= allowed, "measure {index}: {} {}", weighted.value, plain.value);
                }
                (Err(a), Err(b)) => prop_assert_eq!(a.code(), b.code()),
                other => prop_assert!(false, "measure {index}: {other:?}"),
            }
        }
    }

    #[test]
    fn order_does_not_matter(rows in rows(60), shift in 1usize..59) {
        prop_assume!(rows.len() > 2);
        let mut turned = rows.clone();
        turned.rotate_left(shift % rows.len());
        turned.swap(0, 1);
        let measures: Vec<Box<dyn Measure>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(KdeEce::new()),
            Box::new(BetaKdeEce::new()),
            Box::new(DebiasedEce::new().n_bins(5)),
            Box::new(SweepEce::new()),
            Box::new(CalibrationIndex::new()),
        ];
        for measure in &measures {
            prop_assert!((value(&**measure, &rows) - value(&**measure, &turned)).abs() <= 1e-9);
        }
    }

    #[test]
    fn the_other_class_has_the_same_error(rows in rows(60)) {
        let other: Vec<Row> = rows.iter().map(|row| (1.0 - row.0, !row.1, row.2)).collect();
        let measures: Vec<Box<dyn Measure>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(SmoothEce::new().smoothing(Smoothing::Predictions).sigma(0.1)),
            Box::new(KdeEce::new().bandwidth(0.05)),
        ];
        for measure in &measures {
            prop_assert!((value(&**measure, &rows) - value(&**measure, &other)).abs() <= 4e-9);
        }
    }
}

#[test]
fn raw_scores_are_probabilities_through_the_link() {
    let logits = [2.0, -1.0, 0.5, 0.5, -3.0, 1.5];
    let y = [1, 1, 1, 0, 0, 0];
    let p: Vec<f64> = logits.iter().map(|h: &f64| 1.0 / (1.0 + (-h).exp())).collect();
    let raw = Input::logits(&logits, &y).check().unwrap();
    let plain = Input::probabilities(&p, &y).check().unwrap();
    let measures: Vec<Box<dyn Measure>> = vec![
        Box::new(SmoothEce::new()),
        Box::new(SmoothEce::new().method(SmoothMethod::Relplot)),
        Box::new(KdeEce::new()),
        Box::new(BetaKdeEce::new().bandwidth(0.1)),
        Box::new(DebiasedEce::new().n_bins(2)),
        Box::new(SweepEce::new()),
        Box::new(ObservedExpected::new()),
        Box::new(CalibrationIndex::new()),
        Box::new(CoxCalibration::new()),
    ];
    for measure in &measures {
        let (a, b) =
            (measure.estimate(&raw.binary().unwrap()).unwrap(), measure.estimate(&plain.binary().unwrap()).unwrap());
        assert!(
            (a.value - b.value).abs() <= 1e-9 + a.numerical_bound + b.numerical_bound,
            "{}: {} {}",
            a.measure(),
            a.value,
            b.value
        );
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let rows: Vec<Row> = vec![(0.2, false, 1.0), (0.6, true, 1.0), (0.4, true, 1.0)];
    let weighted: Vec<Row> = vec![(0.2, false, 2.0), (0.6, true, 1.0)];
    let refusals: Vec<Box<dyn Measure>> = vec![
        Box::new(SmoothEce::new().sigma(f64::NAN)),
        Box::new(SmoothEce::new().sigma(1e-9)),
        Box::new(SmoothEce::new().tolerance(0.0)),
        Box::new(SmoothEce::new().method(SmoothMethod::Relplot).smoothing(Smoothing::Predictions)),
        Box::new(KdeEce::new().bandwidth(f64::NAN)),
        Box::new(KdeEce::new().tolerance(f64::NAN)),
        Box::new(BetaKdeEce::new().bandwidth(0.0)),
        Box::new(BetaKdeEce::new().norm(Norm::Max)),
        Box::new(DebiasedEce::new().norm(Norm::Max)),
        Box::new(SweepEce::new().norm(Norm::Max)),
        Box::new(SweepEce::new().max_bins(0)),
        Box::new(DebiasedEce::new().n_bins(0)),
    ];
    for measure in &refusals {
        assert_eq!(estimate(&**measure, &rows).unwrap_err().code(), "invalid_setting");
    }
    let relplot = SmoothEce::new().method(SmoothMethod::Relplot);
    assert_eq!(estimate(&relplot, &weighted).unwrap_err().code(), "invalid_setting");
    assert_eq!(estimate(&BetaKdeEce::new(), &rows[..1]).unwrap_err().code(), "invalid_setting");
    assert_eq!(estimate(&ObservedExpected::new(), &[(0.0, true, 1.0)]).unwrap_err().code(), "invalid_setting");
    let too_fine = estimate(&SmoothEce::new().sigma(1e-5).tolerance(1e-15), &rows).unwrap_err();
    assert_eq!(too_fine.code(), "tolerance_not_met");
    let compat = DebiasedEce::new().compat(Compat::Relplot).strategy(Bins::Quantile);
    assert_eq!(estimate(&compat, &rows).unwrap_err().code(), "invalid_setting");
}
