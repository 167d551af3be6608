use calipers::{Bandwidth, BetaKdeEce, KdeEce, Norm};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, outcome, rows, total};
use crate::quadrature::{integral_of_abs, reflected, triweight};

pub(crate) fn naive_kde_ece(rows: &[Row], kernel: fn(f64) -> f64, sigma: f64) -> f64 {
    let total = total(rows);
    let g = |t: f64| {
        rows.iter().map(|row| row.2 / total * (outcome(row) - t) * reflected(kernel, t, row.0, sigma)).sum::<f64>()
    };
    integral_of_abs(&g, 600)
}

/// With the power 1, or 2 and the root of the whole.
pub(crate) fn naive_beta(rows: &[Row], h: f64, power: i32) -> f64 {
    let clip = |p: f64| p.clamp(1e-6, 1.0 - 1e-6);
    let log_kernel = |z: f64, x: f64| {
        let log_beta = libm::lgamma(x / h + 1.0) + libm::lgamma((1.0 - x) / h + 1.0) - libm::lgamma(1.0 / h + 2.0);
        (x * z.ln() + (1.0 - x) * (-z).ln_1p()) / h - log_beta
    };
    let mut sum = 0.0;
    for (j, row) in rows.iter().enumerate() {
        let others: Vec<(f64, &Row)> = rows
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != j)
            .map(|(_, other)| (log_kernel(clip(row.0), clip(other.0)), other))
            .collect();
        let largest = others.iter().map(|other| other.0).fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = others.iter().map(|(k, other)| other.2 * (k - largest).exp()).sum();
        let ones: f64 = others.iter().map(|(k, other)| other.2 * outcome(other) * (k - largest).exp()).sum();
        sum += row.2 * (ones / all - clip(row.0)).abs().powi(power);
    }
    (sum / total(rows)).powf(1.0 / f64::from(power))
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn kde_ece_is_its_definition(rows in rows(200), h in prop_oneof![Just(0.02), Just(0.1), Just(0.4)]) {
        let found = estimate(&KdeEce::new().bandwidth(h), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        prop_assert!((found.value - naive_kde_ece(&rows, triweight, h)).abs() <= found.numerical_bound + 2e-9);
    }

    #[test]
    fn beta_kde_ece_is_its_definition(rows in rows(200), h in prop_oneof![Just(1e-5), Just(1e-3), Just(0.05), Just(0.6)]) {
        prop_assume!(rows.len() > 1);
        for (norm, power) in [(Norm::L1, 1), (Norm::L2, 2)] {
            let found = estimate(&BetaKdeEce::new().bandwidth(h).norm(norm), &rows).unwrap();
            let naive = naive_beta(&rows, h, power);
            prop_assert!((found.value - naive).abs() <= found.numerical_bound, "{norm:?}: {} {naive}", found.value);
        }
    }
}

#[test]
fn the_likelihood_rule_takes_the_likeliest_bandwidth() {
    let rows: Vec<Row> = (1..400)
        .map(|k| {
            let p = 0.5 + 0.45 * (f64::from(k) * 0.618_033_988_749_894_9 * 7.0).sin();
            (p, k % 3 == 0, 1.0)
        })
        .collect();
    let found = estimate(&BetaKdeEce::new(), &rows).unwrap();
    let likelihood = |h: f64| -> f64 {
        let log_kernel = |z: f64, x: f64| {
            let log_beta = libm::lgamma(x / h + 1.0) + libm::lgamma((1.0 - x) / h + 1.0) - libm::lgamma(1.0 / h + 2.0);
            (x * z.ln() + (1.0 - x) * (1.0 - z).ln()) / h - log_beta
        };
        let of = |j: usize| {
            let others = (0..rows.len()).filter(|i| *i != j).map(|i| log_kernel(rows[j].0, rows[i].0).exp());
            others.sum::<f64>().ln()
        };
        (0..rows.len()).map(of).sum()
    };
    let grid = (0..15).map(|k| 10f64.powf(-5.0 + 4.0 * f64::from(k) / 14.0)).chain((1..=5).map(|k| 0.2 * f64::from(k)));
    let best = grid.max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b))).unwrap();
    let taken = found.settings.number("bandwidth").unwrap();
    assert!((taken / best - 1.0).abs() < 1e-12, "{taken} against {best}");
    let given = estimate(&BetaKdeEce::new().bandwidth(Bandwidth::Value(best)), &rows).unwrap();
    assert!((given.value - found.value).abs() < 1e-12);
}
