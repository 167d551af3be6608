//! Statistics against slow versions with sums over all rows, with ties and weights.

use calipers::inference::calibration_tests::{CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter};
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
