use calipers::{BrierScore, Corp, Input, LogLoss, Measure, ProperScore};
use proptest::prelude::*;

use crate::data::{Row, assert_golden, config, fixture, measure, pooled, rows};

/// The isotonic regression by its min-max formula.
pub(crate) fn naive_rates(rows: &[Row]) -> Vec<f64> {
    let groups = pooled(rows);
    let n = groups.len();
    // The rate of groups from one to another, all pairs of them.
    let rates_from = |from: usize| {
        let (mut zero, mut one) = (0.0, 0.0);
        let mut rate = |group: &(f64, f64, f64)| {
            (zero, one) = (zero + group.1, one + group.2);
            one / (zero + one)
        };
        groups[from..].iter().map(&mut rate).collect::<Vec<f64>>()
    };
    let rates: Vec<Vec<f64>> = (0..n).map(rates_from).collect();
    let least = |from: usize, k: usize| rates[from][k - from..].iter().copied().fold(f64::MAX, f64::min);
    (0..n).map(|k| (0..=k).map(|from| least(from, k)).fold(f64::MIN, f64::max)).collect()
}

pub(crate) fn naive_score(rows: &[Row], rates: &[f64], score: ProperScore) -> f64 {
    let of = |y: bool, p: f64| match score {
        ProperScore::Brier => (f64::from(y) - p).powi(2),
        ProperScore::Log => -(if y { p } else { 1.0 - p }).ln(),
    };
    let groups = pooled(rows);
    let both = groups.iter().zip(rates).flat_map(|(group, p)| [(group.1, of(false, *p)), (group.2, of(true, *p))]);
    both.filter(|(share, _)| *share > 0.0).map(|(share, score)| share * score).sum()
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn parts_are_scores_of_the_isotonic_fit(rows in rows(200)) {
        let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
        let view = predictions.binary().unwrap();
        let rates = naive_rates(&rows);
        let curve = Corp::new().curve(&view).unwrap();
        for (found, rate) in curve.outcome_rates.iter().zip(&rates) {
            prop_assert!((found - rate).abs() < 1e-12);
        }
        let groups = pooled(&rows);
        let own: Vec<f64> = groups.iter().map(|group| group.0).collect();
        let overall = groups.iter().map(|group| group.2).sum::<f64>();
        for score in [ProperScore::Brier, ProperScore::Log] {
            let parts = Corp::new().score(score).decompose(&view).unwrap();
            let fitted = naive_score(&rows, &rates, score);
            let uncertainty = naive_score(&rows, &vec![overall; own.len()], score);
            let plain = naive_score(&rows, &own, score);
            prop_assert!((parts.uncertainty - uncertainty).abs() <= parts.numerical_bound + 1e-12);
            prop_assert!((parts.discrimination - (uncertainty - fitted)).abs() <= parts.numerical_bound + 1e-12);
            if plain.is_finite() {
                prop_assert!((parts.score - plain).abs() <= parts.numerical_bound + 1e-12);
                prop_assert!((parts.miscalibration - (plain - fitted)).abs() <= parts.numerical_bound + 1e-12);
                let sum = parts.miscalibration - parts.discrimination + parts.uncertainty;
                prop_assert!((parts.score - sum).abs() <= 4.0 * parts.numerical_bound);
            } else {
                prop_assert_eq!((parts.score, parts.miscalibration), (f64::INFINITY, f64::INFINITY));
            }
        }
    }
}

#[test]
fn it_agrees_with_what_others_computed() {
    assert_golden(&Corp::new(), 0.023_258_874);
    let rows = fixture();
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let parts = Corp::new().decompose(&view).unwrap();
    assert!((parts.discrimination - 0.051_818_374).abs() < 1e-9);
    assert!((parts.uncertainty - 0.2499).abs() < 1e-12);
    assert!((parts.score - BrierScore::new().estimate(&view).unwrap().value).abs() < 1e-15);
}

#[test]
fn a_perfect_fit_has_no_miscalibration_and_zero_times_its_logarithm_is_zero() {
    let rows = [(0.0, false, 1.0), (0.5, true, 1.0), (0.5, false, 1.0), (1.0, true, 1.0)];
    for score in [ProperScore::Brier, ProperScore::Log] {
        assert_eq!(measure(&Corp::new().score(score), &rows).value, 0.0);
    }
}

#[test]
fn the_log_score_is_infinite_only_where_an_outcome_had_probability_zero() {
    let log = Corp::new().score(ProperScore::Log);
    assert_eq!(measure(&log, &[(0.0, true, 1.0), (0.5, false, 1.0)]).value, f64::INFINITY);
    let fine = measure(&log, &[(0.0, false, 1.0), (0.4, true, 1.0), (0.5, false, 1.0), (1.0, true, 1.0)]);
    let loss = measure(&LogLoss::new(), &[(0.4, true, 1.0), (0.5, false, 1.0)]).value;
    assert!((fine.value - 0.5 * (loss - 2f64.ln())).abs() < 1e-15);
}
