use calipers::{CalibrationIndex, IndexStatistic, Input, LsEce, ObservedExpected};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, outcome, rows, value};

/// ICI, E50, E90 and Emax by the smoothed curve at each row, with quantiles of rows that stand as
/// often as their weight says.
pub(crate) fn naive_indices(rows: &[Row], sigma: f64) -> [f64; 4] {
    let clip = |p: f64| p.clamp(1e-6, 1.0 - 1e-6);
    let logit = |row: &Row| clip(row.0).ln() - (-clip(row.0)).ln_1p();
    let gap = |at: &Row| {
        let kernel = |row: &Row| row.2 * (-0.5 * ((logit(row) - logit(at)) / sigma).powi(2)).exp();
        let rate =
            rows.iter().map(|row| kernel(row) * outcome(row)).sum::<f64>() / rows.iter().map(kernel).sum::<f64>();
        (rate - clip(at.0)).abs()
    };
    let mut gaps: Vec<f64> = rows.iter().flat_map(|row| std::iter::repeat_n(gap(row), row.2 as usize)).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len();
    // With tenths of whole numbers, so that it is no matter of rounding whether a level is met.
    let quantile = |tenths: usize| match n * tenths % 10 {
        0 => 0.5 * (gaps[n * tenths / 10 - 1] + gaps[n * tenths / 10]),
        _ => gaps[n * tenths / 10],
    };
    [gaps.iter().sum::<f64>() / n as f64, quantile(5), quantile(9), gaps[n - 1]]
}

pub(crate) fn naive_observed_expected(rows: &[Row]) -> f64 {
    let expected: f64 = rows.iter().map(|row| row.2 * row.0).sum();
    rows.iter().map(|row| row.2 * outcome(row)).sum::<f64>() / expected
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn indices_are_their_definition(rows in rows(200), sigma in prop_oneof![Just(0.05), Just(0.3), Just(2.0)]) {
        let naive = naive_indices(&rows, sigma);
        let statistics = [IndexStatistic::Ici, IndexStatistic::E50, IndexStatistic::E90, IndexStatistic::Emax];
        for (statistic, naive) in statistics.into_iter().zip(naive) {
            let found = estimate(&CalibrationIndex::new().sigma(sigma).statistic(statistic), &rows).unwrap();
            prop_assert!((found.value - naive).abs() <= found.numerical_bound + 1e-12, "{statistic:?}: {} {naive}", found.value);
        }
    }

    #[test]
    fn observed_over_expected_is_the_ratio(rows in rows(200)) {
        prop_assume!(rows.iter().any(|row| row.0 > 0.0));
        let found = estimate(&ObservedExpected::new(), &rows).unwrap();
        let naive = naive_observed_expected(&rows);
        prop_assert!((found.value - naive).abs() <= found.numerical_bound + 1e-13 * naive, "{} {naive}", found.value);
    }
}

#[test]
fn indices_are_gaps_of_the_curve() {
    let p: Vec<f64> = (1..300).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract()).collect();
    let y: Vec<bool> = (1..300).map(|k| (f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let curve = LsEce::new().sigma(0.3).curve(&view, &p).unwrap();
    let mut gaps: Vec<f64> = curve.outcome_rates.iter().zip(&p).map(|(rate, p)| (rate - p).abs()).collect();
    let found = CalibrationIndex::new().sigma(0.3).indices(&view).unwrap();
    gaps.sort_by(f64::total_cmp);
    assert!((found.ici - gaps.iter().sum::<f64>() / 299.0).abs() < 1e-10);
    assert!((found.e50 - gaps[149]).abs() < 1e-10);
    assert!((found.e90 - gaps[269]).abs() < 1e-10);
    assert!((found.emax - gaps[298]).abs() < 1e-10);
}

#[test]
fn indices_by_a_grid_are_those_one_by_one() {
    // Above 4096 rows there is a grid; a noise that is not smooth enough for it does not matter
    // here, sigma does.
    let n = 5000;
    let p: Vec<f64> = (1..=n).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract()).collect();
    let y: Vec<bool> = (1..=n).map(|k| (f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for sigma in [0.05, 0.5, 2.0] {
        let found = CalibrationIndex::new().sigma(sigma).indices(&view).unwrap();
        let curve = LsEce::new().sigma(sigma).curve(&view, &p).unwrap();
        let gaps = || curve.outcome_rates.iter().zip(&p).map(|(rate, p)| (rate - p).abs());
        let ici = gaps().sum::<f64>() / f64::from(n);
        assert!((found.ici - ici).abs() <= found.ici_bound + 1e-10, "{} {ici}", found.ici);
        assert!((found.emax - gaps().fold(0.0, f64::max)).abs() <= found.largest_bound + 1e-9);
        assert!(found.ici_bound < 1e-8, "{}", found.ici_bound);
    }
}

/// Its own gap is 0 / 0.
#[test]
fn a_row_without_weight_far_from_all_others_changes_no_index() {
    let rows = [(0.001, true, 1.0), (0.002, false, 2.0), (0.999, true, 0.0)];
    for statistic in [IndexStatistic::Ici, IndexStatistic::E50, IndexStatistic::E90, IndexStatistic::Emax] {
        let measure = CalibrationIndex::new().sigma(0.1).statistic(statistic);
        let (with, without) = (value(&measure, &rows), value(&measure, &rows[..2]));
        assert!((with - without).abs() < 1e-12, "{statistic:?}: {with} {without}");
    }
}
