//! Few rows have few outcomes: all of them, with their probabilities, give p-values without chance.

use calipers::inference::calibration_tests::{AdaptiveTCal, CumulativeTest, HosmerLemeshow, Spiegelhalter};
use calipers::{Measure, TCal};

use crate::data::{Row, value};
use crate::rows::{Asymptotic, Resampled, maximum, run};

const N_DRAWS: usize = 40_000;

/// Ten rows with ties, 0, 1/2 and 1; with or without weights.
fn few(weighted: bool) -> Vec<Row> {
    let p = [0.1, 0.1, 0.3, 0.45, 0.5, 0.62, 0.62, 0.62, 0.9, 1.0];
    let y = [false, true, true, false, true, true, true, false, true, true];
    let weight = |k: usize| if weighted { 1.0 + (k % 3) as f64 } else { 1.0 };
    (0..10).map(|k| (p[k], y[k], weight(k))).collect()
}

/// All outcomes that are possible, each with its probability.
fn all_outcomes(rows: &[Row]) -> Vec<(Vec<Row>, f64)> {
    let outcome = |code: u32, k: usize| code >> k & 1 == 1;
    (0..1u32 << rows.len())
        .map(|code| {
            let drawn: Vec<Row> = rows.iter().enumerate().map(|(k, row)| (row.0, outcome(code, k), row.2)).collect();
            let probability = drawn.iter().map(|row| if row.1 { row.0 } else { 1.0 - row.0 }).product();
            (drawn, probability)
        })
        .filter(|(_, probability)| *probability > 0.0)
        .collect()
}

/// P(statistic >= that of the rows).
fn exact(rows: &[Row], statistic: impl Fn(&[Row]) -> f64) -> f64 {
    let least = statistic(rows) - 1e-9;
    all_outcomes(rows).iter().filter(|(drawn, _)| statistic(drawn) >= least).map(|(_, probability)| probability).sum()
}

#[track_caller]
fn assert_drawn(drawn: f64, exact: f64) {
    let error = (exact * (1.0 - exact) / N_DRAWS as f64).sqrt();
    assert!((drawn - exact).abs() < 4.0 * error + 1.0 / N_DRAWS as f64, "{drawn} against {exact} +- {error}");
}

#[test]
fn drawn_p_values_are_those_of_all_outcomes() {
    for rows in [few(false), few(true)] {
        let (test, drawn) = (Spiegelhalter::new(), Spiegelhalter::new().null_distribution(Resampled));
        let z = |rows: &[Row]| run(&test.clone().null_distribution(Asymptotic), rows).statistic.abs();
        assert_drawn(run(&drawn.n_resamples(N_DRAWS), &rows).p_value, exact(&rows, z));

        let (test, drawn) = (HosmerLemeshow::new().n_groups(4), HosmerLemeshow::new().n_groups(4));
        let h = |rows: &[Row]| run(&test.clone().null_distribution(Asymptotic), rows).statistic;
        assert_drawn(run(&drawn.null_distribution(Resampled).n_resamples(N_DRAWS), &rows).p_value, exact(&rows, h));

        for test in [CumulativeTest::new(), maximum()] {
            let extreme = |rows: &[Row]| run(&test.clone().null_distribution(Asymptotic), rows).statistic;
            let drawn = test.clone().null_distribution(Resampled).n_resamples(N_DRAWS);
            assert_drawn(run(&drawn, &rows).p_value, exact(&rows, extreme));
        }
    }
}

/// Twice the ten rows, with finer probabilities: 20 rows have scales 2 only, so that there are 32
/// rows here, most of them certain.
#[test]
fn the_adaptive_test_is_the_smallest_of_exact_p_values() {
    let certain = (0..22).map(|k| (f64::from(k % 2), k % 2 == 1, 1.0));
    let rows: Vec<Row> = few(true).into_iter().chain(certain).collect();
    let scales = [2, 4];
    let drawn = run(&AdaptiveTCal::new().n_resamples(N_DRAWS), &rows);
    assert_eq!(drawn.settings.number("n_bins_finest"), Some(4.0));

    let outcomes: Vec<(Vec<Row>, f64)> = all_outcomes(&few(true))
        .into_iter()
        .map(|(few, probability)| (few.into_iter().chain(rows[10..].iter().copied()).collect(), probability))
        .collect();
    let t = |rows: &[Row], n_bins: usize| value(&TCal::new(n_bins) as &dyn Measure, rows);
    let all: Vec<([f64; 2], f64)> = outcomes.iter().map(|(rows, p)| (scales.map(|m| t(rows, m)), *p)).collect();
    // p-values of all outcomes at each scale, sorted within each outcome: the smallest decides,
    // then the next.
    let p_values = |statistics: [f64; 2]| {
        let mut p_values = [0, 1].map(|scale| {
            all.iter().filter(|(other, _)| other[scale] >= statistics[scale] - 1e-12).map(|(_, p)| p).sum::<f64>()
        });
        p_values.sort_by(f64::total_cmp);
        p_values
    };
    let [smallest, next] = p_values(scales.map(|m| t(&rows, m)));
    assert_drawn(drawn.statistic, smallest);
    let as_extreme =
        |other: [f64; 2]| other[0] < smallest - 1e-12 || (other[0] < smallest + 1e-12 && other[1] <= next + 1e-12);
    let exact: f64 = all.iter().filter(|(statistics, _)| as_extreme(p_values(*statistics))).map(|(_, p)| p).sum();
    // Ranks of draws are p-values with an error of their own, so that near ties are decided by
    // chance.
    assert!((drawn.p_value - exact).abs() < 0.03, "{} against {exact}", drawn.p_value);
}
