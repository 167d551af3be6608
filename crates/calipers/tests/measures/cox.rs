use calipers::{CoxCalibration, Input};
use proptest::prelude::*;

use crate::data::{Row, config, outcome, rows};

fn logit(row: &Row) -> f64 {
    let p = row.0.clamp(1e-6, 1.0 - 1e-6);
    p.ln() - (-p).ln_1p()
}

/// Slope of the log-likelihood along the intercept (power 0) or the slope (power 1).
fn score(rows: &[Row], intercept: f64, slope: f64, power: i32) -> f64 {
    let rate = |row: &Row| 1.0 / (1.0 + (-intercept - slope * logit(row)).exp());
    rows.iter().map(|row| row.2 * logit(row).powi(power) * (outcome(row) - rate(row))).sum()
}

/// Where a falling function is 0.
fn root(f: impl Fn(f64) -> f64, reach: f64) -> f64 {
    let (mut low, mut high) = (-reach, reach);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        *(if f(middle) > 0.0 { &mut low } else { &mut high }) = middle;
    }
    0.5 * (low + high)
}

/// The likeliest intercept at a slope: at 1, calibration in the large.
pub(crate) fn naive_intercept(rows: &[Row], slope: f64) -> f64 {
    root(|intercept| score(rows, intercept, slope, 0), 50.0 + 20.0 * slope.abs())
}

/// The likeliest slope, with the likeliest intercept at each.
pub(crate) fn naive_slope(rows: &[Row]) -> f64 {
    root(|slope| score(rows, naive_intercept(rows, slope), slope, 1), 100.0)
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn cox_solves_its_equations(rows in rows(200)) {
        let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let w: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::probabilities(&p, &y).weights(&w).check().unwrap();
        let fit = match CoxCalibration::new().fit(&predictions.binary().unwrap()) {
            Ok(fit) => fit,
            Err(error) => {
                prop_assert!(["invalid_setting", "tolerance_not_met"].contains(&error.code()), "{error}");
                return Ok(());
            }
        };
        let at_fit = |power: i32| score(&rows, fit.intercept, fit.slope, power).abs();
        prop_assert!(at_fit(0) < 1e-7 && at_fit(1) < 1e-6);
        prop_assert!(score(&rows, fit.in_the_large, 1.0, 0).abs() < 1e-8);
        prop_assert!(fit.slope_standard_error > 0.0 && fit.intercept_standard_error > 0.0);
    }
}

#[test]
fn separated_outcomes_are_refused_by_cox() {
    let refusal = |p: &[f64], y: &[i32]| {
        let predictions = Input::probabilities(p, y).check().unwrap();
        CoxCalibration::new().fit(&predictions.binary().unwrap()).unwrap_err().to_string()
    };
    assert!(refusal(&[0.1, 0.2, 0.8], &[0, 0, 1]).contains("outcome 0 up to logit"));
    assert!(refusal(&[0.1, 0.2, 0.8], &[1, 1, 0]).contains("outcome 1 up to logit"));
    assert!(refusal(&[0.1, 0.2, 0.2, 0.8], &[0, 0, 1, 1]).contains("no finite solution"));
    assert!(refusal(&[0.3, 0.3], &[0, 1]).contains("only logit"));
    assert!(refusal(&[0.3, 0.6], &[1, 1]).contains("only outcome 1"));
}

/// Newton on its own closed case: two probabilities, so that the rates are fitted exactly; the
/// information is that of two binomials.
#[test]
fn standard_errors_are_those_of_two_binomials() {
    let p = [0.75, 0.75, 0.75, 0.25, 0.25, 0.25];
    let predictions = Input::probabilities(&p, &[1, 1, 0, 1, 0, 0]).check().unwrap();
    let fit = CoxCalibration::new().fit(&predictions.binary().unwrap()).unwrap();
    // Both have information 3 · 2/9 for their logits, at ±ln 3.
    let variance = 1.0 / (2.0 / 3.0);
    assert!((fit.intercept_standard_error - (variance / 2.0f64).sqrt()).abs() < 1e-10);
    assert!((fit.slope_standard_error - (variance / 2.0f64).sqrt() / 3f64.ln()).abs() < 1e-10);
    assert!(fit.covariance.abs() < 1e-12);
}
