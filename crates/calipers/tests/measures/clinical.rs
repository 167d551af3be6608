use calipers::{CalibrationIndex, IndexStatistic, Input, Loess, LsEce, Measure, ObservedExpected};
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

/// The curve of LOESS at each row: normal equations over all rows, solved by elimination.
fn naive_loess(p: &[f64], y: &[bool], span: f64, degree: usize) -> Vec<f64> {
    let nearest = (span * p.len() as f64 + 1e-5).floor() as usize;
    let at = |x: f64| {
        let mut distances: Vec<f64> = p.iter().map(|other| (other - x).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let h = distances[nearest - 1];
        let tricube = |u: f64| if u.abs() < 1.0 { (1.0 - u.abs().powi(3)).powi(3) } else { 0.0 };
        let mut system = vec![vec![0.0; degree + 2]; degree + 1];
        for (other, y) in p.iter().zip(y) {
            let u = (other - x) / h;
            for (row, line) in system.iter_mut().enumerate() {
                (0..=degree).for_each(|column| line[column] += tricube(u) * u.powi((row + column) as i32));
                line[degree + 1] += tricube(u) * u.powi(row as i32) * f64::from(*y);
            }
        }
        for pivot in (0..=degree).rev() {
            let line = system[pivot].clone();
            for row in (0..=degree).filter(|row| *row != pivot) {
                let factor = system[row][pivot] / line[pivot];
                system[row].iter_mut().zip(&line).for_each(|(value, other)| *value -= factor * other);
            }
        }
        system[0][degree + 1] / system[0][0]
    };
    p.iter().map(|x| at(*x)).collect()
}

#[test]
fn loess_is_local_least_squares() {
    for (n, rounding) in [(40, 0.0), (301, 0.0), (301, 50.0)] {
        let place = |k: usize, step: f64| (k as f64 * step).fract();
        let p = (1..=n).map(|k| place(k, 0.618_033_988_749_894_9));
        // With ties, of which all are one value of the curve.
        let p: Vec<f64> = p.map(|p| if rounding > 0.0 { (p * rounding).round() / rounding } else { p * p }).collect();
        let y: Vec<bool> = (1..=n).map(|k| place(k, 0.754_877_666_246_692_7) < 0.2 + 0.7 * p[k - 1]).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for (span, degree) in [(0.75, 2), (0.5, 1), (0.31, 2), (0.4, 0), (1.0, 1)] {
            let curve = naive_loess(&p, &y, span, degree);
            let mut gaps: Vec<f64> = curve.iter().zip(&p).map(|(rate, p)| (rate - p).abs()).collect();
            gaps.sort_by(f64::total_cmp);
            let index = CalibrationIndex::new().loess(Loess::new().span(span).degree(degree));
            let found = index.indices(&view).unwrap();
            let mean = gaps.iter().sum::<f64>() / n as f64;
            assert!((found.ici - mean).abs() < 1e-9 && found.ici_bound < 1e-9, "{span} {degree}: {found:?} {mean}");
            assert!((found.emax - gaps[n - 1]).abs() < 1e-9, "{span} {degree}: {found:?}");
            assert!((found.e50 - 0.5 * (gaps[(n - 1) / 2] + gaps[n / 2])).abs() < 1e-9);
            let estimate = index.statistic(IndexStatistic::Ici).estimate(&view).unwrap();
            assert_eq!(estimate.value, found.ici);
            assert_eq!(
                (estimate.settings.text("smoother"), estimate.settings.number("span")),
                (Some("loess"), Some(span))
            );
        }
    }
}

/// Five places of equal distance, of which a window of 3 rows holds one and its neighbours, which
/// are at its ends and have no weight: so the curve is the outcome of each row.
#[test]
fn a_window_without_neighbours_has_the_rate_at_the_place() {
    let (p, y) = ([0.1, 0.3, 0.5, 0.7, 0.9], [0, 1, 0, 1, 1]);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let index = CalibrationIndex::new().loess(Loess::new().span(0.6).degree(1));
    let found = index.indices(&predictions.binary().unwrap()).unwrap();
    // At the ends the window has the neighbour at half its reach, and a line meets both rows.
    assert!((found.ici - (0.1 + 0.7 + 0.5 + 0.3 + 0.1) / 5.0).abs() < 1e-12, "{found:?}");
    // Weights: two rows at 0.5 in place of one of weight 2.
    let twice = Input::probabilities(&[0.2, 0.5, 0.5, 0.8, 0.9], &[0, 1, 1, 1, 0]).check().unwrap();
    let weighted =
        Input::probabilities(&[0.2, 0.5, 0.8, 0.9], &[0, 1, 1, 0]).weights(&[1.0, 2.0, 1.0, 1.0]).check().unwrap();
    let index = CalibrationIndex::new().loess(Loess::new().span(0.8));
    let [a, b] = [&twice, &weighted].map(|rows| index.indices(&rows.binary().unwrap()).unwrap());
    assert!((a.ici - b.ici).abs() < 1e-12 && (a.e90 - b.e90).abs() < 1e-12, "{a:?} {b:?}");
}

#[test]
fn invalid_options_of_loess_are_errors() {
    let predictions = Input::probabilities(&[0.2, 0.8], &[0, 1]).check().unwrap();
    let text = |loess: Loess| {
        CalibrationIndex::new().loess(loess).indices(&predictions.binary().unwrap()).unwrap_err().to_string()
    };
    assert_eq!(text(Loess::new().span(0.0)), "span must be above 0 and at most 1, got 0");
    assert_eq!(text(Loess::new().span(f64::NAN)), "span must be above 0 and at most 1, got NaN");
    assert_eq!(text(Loess::new().degree(3)), "degree must be 0, 1 or 2, got 3");
    let unknown = CalibrationIndex::new().smoother_named("spline", Loess::new()).unwrap_err().to_string();
    assert_eq!(unknown, "smoother must be \"ls_ece\" or \"loess\", got \"spline\"");
    let many: Vec<f64> = (0..100_001).map(|k| f64::from(k) / 100_001.0).collect();
    let y = vec![true; many.len()];
    let predictions = Input::probabilities(&many, &y).check().unwrap();
    let found = CalibrationIndex::new().loess(Loess::new()).indices(&predictions.binary().unwrap()).unwrap_err();
    assert_eq!(
        found.to_string(),
        "rows must be at most 100000 distinct probabilities for the smoother \"loess\", which compares all of them, \
         got 100001"
    );
}
