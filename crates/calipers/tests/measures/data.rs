//! Rows for all tests: random ones with ties, ends and weights, and the golden fixture.

use calipers::{Error, Estimate, Input, Measure};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A probability, an outcome, a weight.
pub(crate) type Row = (f64, bool, f64);

pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_115),
        ..ProptestConfig::default()
    }
}

/// Up to so many rows: probabilities with ties and ends, outcomes that more or less follow them,
/// whole weights.
pub(crate) fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let p = prop_oneof![
        0.0..1.0,
        Just(0.0),
        Just(1.0),
        0.499..0.501,
        (0u8..=20).prop_map(|k| f64::from(k) / 20.0),
        (-30.0..0.0f64).prop_map(f64::exp),
    ];
    let row = (p, 0.0..1.0, any::<bool>(), 1u8..4)
        .prop_map(|(p, draw, follows, weight)| (p, if follows { draw < p } else { draw < 0.5 }, f64::from(weight)));
    prop::collection::vec(row, 1..=most)
}

pub(crate) fn estimate(measure: &dyn Measure, rows: &[Row]) -> Result<Estimate, Error> {
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let mut input = Input::probabilities(&p, &y);
    if weights.iter().any(|weight| *weight != 1.0) {
        input = input.weights(&weights);
    }
    measure.estimate(&input.check().unwrap().binary().unwrap())
}

pub(crate) fn measure(measure: &dyn Measure, rows: &[Row]) -> Estimate {
    estimate(measure, rows).unwrap()
}

pub(crate) fn value(estimator: &dyn Measure, rows: &[Row]) -> f64 {
    measure(estimator, rows).value
}

pub(crate) fn unweighted(rows: &[Row]) -> Vec<Row> {
    rows.iter().map(|row| (row.0, row.1, 1.0)).collect()
}

pub(crate) fn repeated(rows: &[Row]) -> Vec<Row> {
    rows.iter().flat_map(|row| std::iter::repeat_n((row.0, row.1, 1.0), row.2 as usize)).collect()
}

pub(crate) fn total(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.2).sum()
}

pub(crate) fn outcome(row: &Row) -> f64 {
    f64::from(row.1)
}

/// Distinct probabilities, ascending, with their shares of the weight with outcome 0 and 1.
pub(crate) fn pooled(rows: &[Row]) -> Vec<(f64, f64, f64)> {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let mut all: Vec<f64> = rows.iter().map(|row| row.0).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let share =
        |p: f64, y: bool| rows.iter().filter(|row| row.0 == p && row.1 == y).map(|row| row.2).sum::<f64>() / total;
    all.into_iter().map(|p| (p, share(p, false), share(p, true))).collect()
}

/// Distinct probabilities with Σ s (y - p).
pub(crate) fn residuals(rows: &[Row]) -> Vec<(f64, f64)> {
    pooled(rows).into_iter().map(|(p, zero, one)| (p, one * (1.0 - p) - zero * p)).collect()
}

/// 200 rows with ties and ends, of which others have computed many measures.
pub(crate) fn fixture() -> Vec<Row> {
    let fraction = |k: u32, step: f64| (f64::from(k) * step).rem_euclid(1.0);
    let mut rows: Vec<Row> = (1..=200)
        .map(|k| {
            let p = (fraction(k, 0.618_033_988_749_894_9) * 100.0).round() / 100.0;
            (p, fraction(k, 0.754_877_666_246_692_7) < p + 0.2 * (std::f64::consts::TAU * p).sin(), 1.0)
        })
        .collect();
    let first = |rows: &[Row], value: f64| rows.iter().position(|row| row.0 == value).unwrap();
    let largest = rows.iter().map(|row| row.0).fold(0.0, f64::max);
    let smallest = rows.iter().map(|row| row.0).fold(1.0, f64::min);
    let (top, bottom) = (first(&rows, largest), first(&rows, smallest));
    rows[top].0 = 1.0;
    rows[bottom].0 = 0.0;
    rows
}

#[track_caller]
pub(crate) fn assert_golden(estimator: &dyn Measure, expected: f64) {
    let value = measure(estimator, &fixture()).value;
    assert!((value - expected).abs() <= 1e-9, "{value} against {expected}");
}
