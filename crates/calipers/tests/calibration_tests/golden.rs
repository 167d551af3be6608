use calipers::Input;
use calipers::inference::calibration_tests::{CalibrationTest, CoxTest, CumulativeTest, HosmerLemeshow, Spiegelhalter};

use crate::data::fixture;
use crate::rows::{Asymptotic, maximum, run};

#[track_caller]
fn assert_close(value: f64, expected: f64, digits: f64) {
    assert!((value - expected).abs() <= digits, "{value} against {expected}");
}

/// pycaleva and calzone.
#[test]
fn spiegelhalter() {
    let result = run(&Spiegelhalter::new(), &fixture());
    assert_close(result.statistic, 4.216733345, 1e-9);
    assert_close(result.p_value, 2.4787e-5, 1e-9);
    assert_eq!(result.settings.text("null_distribution"), Some("asymptotic"));
}

/// ecevecce.
#[test]
fn cumulative_tests() {
    let range = run(&CumulativeTest::new().null_distribution(Asymptotic), &fixture());
    assert_close(range.statistic, 2.367012283, 1e-9);
    assert_close(range.p_value, 0.071711742, 1e-9);
    let largest = run(&maximum().null_distribution(Asymptotic), &fixture());
    assert_close(largest.statistic, 1.84620037, 1e-8);
    assert_close(largest.p_value, 0.129726174, 1e-9);
}

/// numpy by the formula, `scipy.stats.chi2.sf`.
#[test]
fn hosmer_lemeshow() {
    for (n_groups, statistic, p_value, fitted) in [
        (10, 22.483014791173495, 0.012824402527740227, 0.004095446007660236),
        (5, 19.17582888692074, 0.0017824273512563869, 0.00025143969377452205),
    ] {
        let test = HosmerLemeshow::new().n_groups(n_groups).null_distribution(Asymptotic);
        let result = run(&test, &fixture());
        assert_close(result.statistic, statistic, 1e-11);
        assert_close(result.p_value, p_value, 1e-12);
        assert_eq!(result.degrees_of_freedom, Some(n_groups as f64));
        let result = run(&test.fitted(true), &fixture());
        assert_close(result.p_value, fitted, 1e-12);
        assert_eq!(result.degrees_of_freedom, Some(n_groups as f64 - 2.0));
    }
}

/// numpy by Newton's method, `scipy.stats.chi2.sf`, z of 1.959964.
#[test]
fn cox() {
    let rows = fixture();
    let (p, y): (Vec<f64>, Vec<bool>) = rows.iter().map(|row| (row.0, row.1)).unzip();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let inference = CoxTest::new().inference(&predictions.binary().unwrap()).unwrap();
    assert_close(inference.intercept.value, -0.057550571488734346, 1e-10);
    assert_close(inference.slope.value, 0.5833954099075711, 1e-10);
    assert_close(inference.intercept.standard_error, 0.1559020180526166, 1e-10);
    assert_close(inference.slope.standard_error, 0.11137279372464005, 1e-10);
    assert_close(inference.covariance, -0.00045482847547444096, 1e-12);
    assert_close(inference.slope.lower, 0.5833954099075711 - 1.959963984540054 * 0.11137279372464005, 1e-9);
    assert_close(inference.slope.upper, 0.5833954099075711 + 1.959963984540054 * 0.11137279372464005, 1e-9);
    assert_close(inference.test.statistic, 11.608791445217577, 1e-9);
    assert_close(inference.test.p_value, 0.003014275661498782, 1e-12);
    assert_eq!(inference.test, CoxTest::new().test(&predictions.binary().unwrap()).unwrap());
    assert_eq!(inference.n_clipped, 2);
}
