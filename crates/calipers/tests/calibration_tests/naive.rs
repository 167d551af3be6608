//! Statistics against slow versions with sums over all rows, with ties and weights.

use calipers::inference::calibration_tests::{
    CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Quantiles, Spiegelhalter,
};
use calipers::{CoxCalibration, Input};
use proptest::prelude::*;

use crate::data::{Row, config, outcome, rows, total, unweighted};
use crate::rows::{Asymptotic, attempt, maximum, run};

fn variance(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.2 * row.2 * row.0 * (1.0 - row.0)).sum()
}

fn naive_z(rows: &[Row]) -> f64 {
    let numerator: f64 = rows.iter().map(|row| row.2 * (outcome(row) - row.0) * (1.0 - 2.0 * row.0)).sum();
    let variance: f64 = rows.iter().map(|row| (row.2 * (1.0 - 2.0 * row.0)).powi(2) * row.0 * (1.0 - row.0)).sum();
    numerator / variance.sqrt()
}

/// Each row's group by the weight of all rows below; H and the groups that have variance.
fn naive_h(rows: &[Row], n_groups: usize) -> (f64, usize) {
    let group = |p: f64| {
        let below: f64 = rows.iter().filter(|row| row.0 < p).map(|row| row.2).sum();
        (below / total(rows) * n_groups as f64) as usize
    };
    let (mut h, mut n_uncertain) = (0.0, 0);
    for g in 0..n_groups {
        let members: Vec<&Row> = rows.iter().filter(|row| group(row.0) == g).collect();
        let weight: f64 = members.iter().map(|row| row.2).sum();
        if weight == 0.0 {
            continue;
        }
        let mean = members.iter().map(|row| row.2 * row.0).sum::<f64>() / weight;
        let variance = mean * (1.0 - mean) * members.iter().map(|row| row.2 * row.2).sum::<f64>();
        let residual: f64 = members.iter().map(|row| row.2 * (outcome(row) - row.0)).sum();
        n_uncertain += usize::from(variance > 0.0);
        h += if residual == 0.0 { 0.0 } else { residual * residual / variance };
    }
    (h, n_uncertain)
}

fn naive_extremes(rows: &[Row]) -> (f64, f64) {
    let up_to = |p: f64| rows.iter().filter(|row| row.0 <= p).map(|row| row.2 * (outcome(row) - row.0)).sum::<f64>();
    let sums: Vec<f64> = rows.iter().map(|row| up_to(row.0)).chain([0.0]).collect();
    (sums.iter().copied().fold(f64::MIN, f64::max), sums.iter().copied().fold(f64::MAX, f64::min))
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

/// Rows of which no sum is rounding alone: those have a variance.
fn uncertain(rows: &[Row]) -> bool {
    variance(rows) > 1e-6 && rows.iter().any(|row| row.0 > 1e-3 && row.0 < 0.499)
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn spiegelhalter_is_its_formula(rows in rows(200)) {
        prop_assume!(uncertain(&rows));
        for rows in [unweighted(&rows), rows] {
            let result = run(&Spiegelhalter::new().null_distribution(Asymptotic), &rows);
            prop_assert!(close(result.statistic, naive_z(&rows)), "{} {}", result.statistic, naive_z(&rows));
        }
    }

    #[test]
    fn hosmer_lemeshow_is_its_formula(rows in rows(200), n_groups in 2usize..20) {
        for rows in [unweighted(&rows), rows] {
            let result = run(&HosmerLemeshow::new().n_groups(n_groups).null_distribution(Asymptotic), &rows);
            let (h, n_uncertain) = naive_h(&rows, n_groups);
            prop_assert!(close(result.statistic, h), "{} {h}", result.statistic);
            prop_assert_eq!(result.degrees_of_freedom, Some(n_uncertain as f64));
        }
    }

    #[test]
    fn cumulative_tests_are_their_formulas(rows in rows(200)) {
        prop_assume!(uncertain(&rows));
        for rows in [unweighted(&rows), rows] {
            let (highest, lowest) = naive_extremes(&rows);
            let deviation = variance(&rows).sqrt();
            let range = run(&CumulativeTest::new().null_distribution(Asymptotic), &rows);
            let largest = run(&maximum().null_distribution(Asymptotic), &rows);
            prop_assert!(close(range.statistic, (highest - lowest) / deviation));
            prop_assert!(close(largest.statistic, highest.max(-lowest) / deviation));
        }
    }

    #[test]
    fn cox_compares_likelihoods_or_with_weights_scores(rows in rows(200)) {
        let logit = |p: f64| { let p = p.clamp(1e-6, 1.0 - 1e-6); p.ln() - (-p).ln_1p() };
        let rho = |h: f64| 1.0 / (1.0 + (-h).exp());
        let plain = unweighted(&rows);
        let Ok(result) = attempt(&CoxTest::new(), &plain) else { return Ok(()) };
        let (p, y): (Vec<f64>, Vec<bool>) = plain.iter().map(|row| (row.0, row.1)).unzip();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let fit = CoxCalibration::new().fit(&predictions.binary().unwrap()).unwrap();
        let likelihood = |a: f64, b: f64| plain.iter().map(|row| {
            let eta = a + b * logit(row.0);
            if row.1 { rho(eta).ln() } else { rho(-eta).ln() }
        }).sum::<f64>();
        let ratio = 2.0 * (likelihood(fit.intercept, fit.slope) - likelihood(0.0, 1.0));
        prop_assert!((result.statistic - ratio).abs() < 1e-7, "{} {ratio}", result.statistic);
        for (da, db) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)] {
            prop_assert!(likelihood(fit.intercept + da, fit.slope + db) < likelihood(fit.intercept, fit.slope));
        }
        if rows.iter().all(|row| row.2 == rows[0].2) {
            return Ok(());
        }
        let Ok(result) = attempt(&CoxTest::new(), &rows) else { return Ok(()) };
        let sum = |of: &dyn Fn(&Row, f64, f64) -> f64| rows.iter().map(|row| {
            let h = logit(row.0);
            of(row, h, rho(h))
        }).sum::<f64>();
        let (u, v) = (sum(&|row, _, p| row.2 * (outcome(row) - p)), sum(&|row, h, p| row.2 * (outcome(row) - p) * h));
        let square = |row: &Row, p: f64| row.2 * row.2 * p * (1.0 - p);
        let (a, b) = (sum(&|row, _, p| square(row, p)), sum(&|row, h, p| square(row, p) * h));
        let c = sum(&|row, h, p| square(row, p) * h * h);
        let score = (c * u * u - 2.0 * b * u * v + a * v * v) / (a * c - b * b);
        prop_assert!((result.statistic - score).abs() <= 1e-6 * (1.0 + score), "{} {score}", result.statistic);
        prop_assert_eq!(result.settings.text("statistic"), Some("score"));
    }
}

/// R's `quantile` (type 7) and `cut` with `include.lowest`, and H over the groups.
fn naive_hoslem(p: &[f64], y: &[bool], n_groups: usize) -> (f64, usize) {
    let mut sorted = p.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |group: usize| {
        let place = (p.len() - 1) as f64 * group as f64 / n_groups as f64;
        let (below, h) = (place.floor() as usize, place - place.floor());
        if h < 1e-9 { sorted[below] } else { (1.0 - h) * sorted[below] + h * sorted[(below + 1).min(p.len() - 1)] }
    };
    let mut edges: Vec<f64> = (0..=n_groups).map(quantile).collect();
    edges.dedup();
    let (mut h, mut n_occupied) = (0.0, 0);
    for (place, ends) in edges.windows(2).enumerate() {
        let inside = |p: f64| (p > ends[0] || (place == 0 && p == ends[0])) && p <= ends[1];
        let rows: Vec<(f64, bool)> = p.iter().copied().zip(y.iter().copied()).filter(|(p, _)| inside(*p)).collect();
        let n = rows.len() as f64;
        if n == 0.0 {
            continue;
        }
        n_occupied += 1;
        let expected: f64 = rows.iter().map(|row| row.0).sum();
        let observed = rows.iter().filter(|row| row.1).count() as f64;
        h += (observed - expected).powi(2) / expected + (observed - expected).powi(2) / (n - expected);
    }
    (h, n_occupied)
}

#[test]
fn interpolated_quantiles_make_the_groups_of_r() {
    for (n, rounding) in [(47, 0.0), (500, 0.0), (500, 40.0)] {
        let place = |k: usize, step: f64| 0.02 + 0.96 * (k as f64 * step).fract();
        let p = (1..=n).map(|k| place(k, 0.618_033_988_749_894_9));
        let p: Vec<f64> =
            p.map(|p| if rounding > 0.0 { (p * rounding).ceil() / (rounding + 1.0) } else { p }).collect();
        let y: Vec<bool> = (1..=n).map(|k| place(k, 0.754_877_666_246_692_7) < p[k - 1]).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        for n_groups in [2, 7, 10, 15] {
            let test = HosmerLemeshow::new().n_groups(n_groups).quantiles(Quantiles::Interpolated);
            let found = test.null_distribution(Asymptotic).test(&predictions.binary().unwrap()).unwrap();
            let (h, n_occupied) = naive_hoslem(&p, &y, n_groups);
            assert!(close(found.statistic, h), "{n} rows, {n_groups} groups: {} {h}", found.statistic);
            assert_eq!(found.degrees_of_freedom, Some(n_occupied as f64));
        }
    }
}

/// Six rows in four groups: quantiles 0.225, 0.35 and 0.475 of 0.1, 0.2, …, 0.6, so groups of 2, 1,
/// 1 and 2 rows. By mass they begin at rows 0, 2, 3 and 5: 2, 1, 2 and 1 rows.
#[test]
fn interpolated_quantiles_by_hand() {
    let (p, y) = ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 0, 1, 1]);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let h = |quantiles: Quantiles| {
        let test = HosmerLemeshow::new().n_groups(4).quantiles(quantiles).null_distribution(Asymptotic);
        test.test(&view).unwrap().statistic
    };
    let group =
        |n: f64, expected: f64, observed: f64| (observed - expected).powi(2) * (1.0 / expected + 1.0 / (n - expected));
    let interpolated = group(2.0, 0.3, 1.0) + group(1.0, 0.3, 0.0) + group(1.0, 0.4, 0.0) + group(2.0, 1.1, 2.0);
    assert!((h(Quantiles::Interpolated) - interpolated).abs() < 1e-12);
    let mass = group(2.0, 0.3, 1.0) + group(1.0, 0.3, 0.0) + group(2.0, 0.9, 1.0) + group(1.0, 0.6, 1.0);
    assert!((h(Quantiles::Mass) - mass).abs() < 1e-12);
    let weighted = Input::probabilities(&p, &y).weights(&[1.0, 2.0, 1.0, 1.0, 1.0, 1.0]).check().unwrap();
    let test = HosmerLemeshow::new().quantiles(Quantiles::Interpolated);
    assert_eq!(
        test.test(&weighted.binary().unwrap()).unwrap_err().to_string(),
        "quantiles must be \"mass\" for rows of different weights, between which quantiles are not interpolated, got \
         \"interpolated\""
    );
}
