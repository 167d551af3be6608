use calipers::{Error, Input, Measure, RunOut, SplineCalibrationError};
use proptest::prelude::*;

use crate::data::{Row, config, fixture, measure, residuals, rows};

const RUN_OUTS: [RunOut; 3] = [RunOut::Natural, RunOut::Parabolic, RunOut::Cubic];

/// Coefficients of 1, s, s², s³ and (s - t)³₊ for every inner knot t, one set for each dimension of
/// the space: the run-out is two linear conditions on them.
fn basis(n_knots: usize, run_out: RunOut) -> Vec<Vec<f64>> {
    let knot = |j: usize| j as f64 / (n_knots - 1) as f64;
    let n = n_knots + 2;
    let unit = |i: usize| (0..n).map(|k| f64::from(u8::from(k == i))).collect::<Vec<f64>>();
    let last = n - 1;
    // A condition on the last panel, solved for the last coefficient.
    let with = |mut coefficients: Vec<f64>, condition: &dyn Fn(&[f64]) -> f64| {
        let (at_zero, at_one) = (condition(&coefficients), condition(&unit(last)));
        coefficients[last] -= at_zero / at_one;
        coefficients
    };
    match run_out {
        RunOut::Natural => {
            let second = |c: &[f64]| {
                let jumps: f64 = (1..n_knots - 1).map(|j| c[3 + j] * (1.0 - knot(j))).sum();
                2.0 * c[2] + 6.0 * (c[3] + jumps)
            };
            (0..last).filter(|i| *i != 2).map(|i| with(unit(i), &second)).collect()
        }
        RunOut::Parabolic => {
            let third = |c: &[f64]| c[3..].iter().sum::<f64>();
            (0..last).filter(|i| *i != 3).map(|i| with(unit(i), &third)).collect()
        }
        // No jump of the third derivative at the first inner knot, nor at the last. With four knots
        // these are all.
        RunOut::Cubic => (0..last).filter(|i| *i != 4).map(unit).collect(),
    }
}

fn evaluate(coefficients: &[f64], s: f64) -> f64 {
    let n_knots = coefficients.len() - 2;
    let powers = coefficients[0] + s * (coefficients[1] + s * (coefficients[2] + s * coefficients[3]));
    let jump = |j: usize| (s - j as f64 / (n_knots - 1) as f64).max(0.0).powi(3);
    powers + (1..n_knots - 1).map(|j| coefficients[3 + j] * jump(j)).sum::<f64>()
}

/// Least squares by Householder reflections.
fn least_squares(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let (m, n) = (a.len(), a[0].len());
    for k in 0..n {
        let norm = (k..m).map(|i| a[i][k] * a[i][k]).sum::<f64>().sqrt();
        let head = if a[k][k] > 0.0 { -norm } else { norm };
        let mut v: Vec<f64> = (k..m).map(|i| a[i][k]).collect();
        v[0] -= head;
        let length: f64 = v.iter().map(|x| x * x).sum();
        (k..n).for_each(|column| {
            let along = (k..m).map(|i| v[i - k] * a[i][column]).sum::<f64>() * 2.0 / length;
            (k..m).for_each(|i| a[i][column] -= along * v[i - k]);
        });
        let along = (k..m).map(|i| v[i - k] * b[i]).sum::<f64>() * 2.0 / length;
        (k..m).for_each(|i| b[i] -= along * v[i - k]);
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        x[k] = (b[k] - (k + 1..n).map(|j| a[k][j] * x[j]).sum::<f64>()) / a[k][k];
    }
    x
}

/// The spline through points (s, C) with weights.
fn fitted(points: &[(f64, f64, f64)], n_knots: usize, run_out: RunOut) -> impl Fn(f64) -> f64 {
    let basis = basis(n_knots, run_out);
    let row = |point: &(f64, f64, f64)| basis.iter().map(|c| evaluate(c, point.0) * point.2.sqrt()).collect();
    let x = least_squares(points.iter().map(row).collect(), points.iter().map(|p| p.1 * p.2.sqrt()).collect());
    move |s| basis.iter().zip(&x).map(|(c, x)| x * evaluate(c, s)).sum()
}

/// The corners (S, C) of the cumulative curve.
fn corners(rows: &[Row]) -> Vec<(f64, f64)> {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let mut corners = vec![(0.0, 0.0)];
    let mut difference = 0.0;
    for (p, residual) in residuals(rows) {
        difference += residual;
        let below: f64 = rows.iter().filter(|row| row.0 <= p).map(|row| row.2).sum();
        corners.push((below / total, difference));
    }
    corners
}

/// The definition: C at four Gauss points between any two of its corners and the knots.
pub(crate) fn naive(rows: &[Row], n_knots: usize, run_out: RunOut) -> f64 {
    let nodes =
        [(0.861_136_311_594_052_6, 0.347_854_845_137_453_9), (0.339_981_043_584_856_3, 0.652_145_154_862_546_1)];
    let corners = corners(rows);
    let mut points = Vec::new();
    for pair in corners.windows(2) {
        let ((a, left), (b, right)) = (pair[0], pair[1]);
        let knots = (0..n_knots).map(|j| j as f64 / (n_knots - 1) as f64).filter(|knot| a < *knot && *knot < b);
        let mut ends: Vec<f64> = [a].into_iter().chain(knots).chain([b]).collect();
        ends.dedup();
        for piece in ends.windows(2) {
            let (middle, half) = (0.5 * (piece[0] + piece[1]), 0.5 * (piece[1] - piece[0]));
            for (x, weight) in nodes.into_iter().flat_map(|(x, weight)| [(-x, weight), (x, weight)]) {
                let s = middle + half * x;
                points.push((s, left + (right - left) * (s - a) / (b - a), weight * half));
            }
        }
    }
    let spline = fitted(&points, n_knots, run_out);
    corners.windows(2).map(|pair| (spline(pair[1].0) - spline(pair[0].0)).abs()).sum()
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn it_is_its_definition(rows in rows(200), n_knots in 4usize..10, run_out in 0usize..3) {
        let run_out = RUN_OUTS[run_out];
        let found = measure(&SplineCalibrationError::new().n_knots(n_knots).run_out(run_out), &rows);
        let naive = naive(&rows, n_knots, run_out);
        prop_assert!((found.value - naive).abs() <= found.numerical_bound + 1e-11, "{} {naive}", found.value);
        prop_assert!(found.numerical_bound < 1e-11, "{:e}", found.numerical_bound);
    }

    /// The paper's least squares: one point for each row, at s = k / n.
    #[test]
    fn a_sum_over_rows_is_near(seed in 0u32..1000) {
        let n = 400;
        let fraction = |k: u32, step: f64| (f64::from(k + seed) * step).fract();
        let rows: Vec<Row> = (0..n)
            .map(|k| {
                let p = fraction(k, 0.618_033_988_749_894_9);
                (p, fraction(k, 0.754_877_666_246_692_7) < p + 0.2 * (std::f64::consts::TAU * p).sin(), 1.0)
            })
            .collect();
        let points: Vec<(f64, f64, f64)> = corners(&rows)[1..].iter().map(|(s, c)| (*s, *c, 1.0)).collect();
        let spline = fitted(&points, 6, RunOut::Natural);
        let paper: f64 = (0..n).map(|k| (spline(f64::from(k + 1) / f64::from(n)) - spline(f64::from(k) / f64::from(n))).abs()).sum();
        let found = measure(&SplineCalibrationError::new(), &rows);
        prop_assert!((found.value - paper).abs() < 3.0 / f64::from(n), "{} {paper}", found.value);
    }
}

#[test]
fn a_cubic_through_a_tent_has_the_slope_of_its_parabola() {
    // C rises to 1/2 and falls to 0. With t = 2 s - 1 the nearest cubic to (1 - |t|) / 2 is 1/4 -
    // (5/16) (3t² - 1) / 2, by Legendre's polynomials: from t = -1 to 0 it rises by 15/32, over
    // half of the rows.
    let rows = [(0.0, true, 1.0), (1.0, false, 1.0)];
    let found = measure(&SplineCalibrationError::new().n_knots(4).run_out(RunOut::Cubic), &rows);
    assert!((found.value - 15.0 / 16.0).abs() <= found.numerical_bound);
}

#[test]
fn one_probability_has_one_gap() {
    for run_out in RUN_OUTS {
        let rows = [(0.3, true, 2.0), (0.3, false, 3.0)];
        let found = measure(&SplineCalibrationError::new().run_out(run_out), &rows);
        assert!((found.value - 0.1).abs() <= found.numerical_bound, "{}", found.value);
    }
}

#[test]
fn the_curve_has_the_gaps_and_the_map_goes_through_them() {
    let rows = fixture();
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let curve = SplineCalibrationError::new().curve(&view).unwrap();
    let n = curve.probabilities.len();
    let share = |k: usize| curve.percentiles[k] - if k == 0 { 0.0 } else { curve.percentiles[k - 1] };
    let mean: f64 = (0..n).map(|k| share(k) * curve.gaps[k].abs()).sum();
    assert!((mean - SplineCalibrationError::new().estimate(&view).unwrap().value).abs() < 1e-14);
    for k in 0..n {
        let here = (curve.probabilities[k] + curve.gaps[k]).clamp(0.0, 1.0);
        assert_eq!(curve.recalibrate(curve.probabilities[k]), here);
        if k + 1 < n {
            // Near a point, its own value counts more: a map with the weights the wrong way round
            // fails here.
            let (left, right) = (curve.probabilities[k], curve.probabilities[k + 1]);
            let near = curve.recalibrate(left + 0.1 * (right - left));
            assert!((near - (0.9 * curve.recalibrated[k] + 0.1 * curve.recalibrated[k + 1])).abs() < 1e-13);
        }
    }
    assert_eq!(curve.recalibrate(-1.0), curve.recalibrated[0]);
    assert_eq!(curve.recalibrate(2.0), curve.recalibrated[n - 1]);
}

#[test]
fn knots_out_of_range_are_refused() {
    let predictions = Input::probabilities(&[0.2, 0.7], &[0, 1]).check().unwrap();
    for n_knots in [0, 3, 101] {
        let refused = SplineCalibrationError::new().n_knots(n_knots).estimate(&predictions.binary().unwrap());
        let expected = format!("n_knots must be from 4 to 100, got {n_knots}");
        assert_eq!(refused.map_err(|error: Error| error.to_string()), Err(expected));
    }
}
