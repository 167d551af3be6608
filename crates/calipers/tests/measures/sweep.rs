use calipers::{Norm, Strategy as Bins, SweepEce};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, outcome, rows, total, unweighted, value};

/// Bin of each row by the definition: equal mass by the weight below, equal width by the edges.
fn sweep_bins(rows: &[Row], n_bins: usize, strategy: Bins) -> Vec<usize> {
    let bin_of = |row: &Row| {
        if strategy == Bins::Uniform {
            return (1..n_bins).filter(|k| row.0 > *k as f64 / n_bins as f64).count();
        }
        assert_eq!(strategy, Bins::Quantile);
        let below: f64 = rows.iter().filter(|other| other.0 < row.0).map(|other| other.2).sum();
        ((below * n_bins as f64 / total(rows)) * (1.0 + 1e-12)) as usize
    };
    rows.iter().map(bin_of).collect()
}

pub(crate) fn naive_sweep(rows: &[Row], strategy: Bins, norm: Norm) -> (usize, f64) {
    let tables = |n_bins: usize| {
        let bins = sweep_bins(rows, n_bins, strategy);
        let mut table = vec![(0.0, 0.0, 0.0); n_bins];
        for (row, bin) in rows.iter().zip(bins) {
            let entry = &mut table[bin];
            *entry = (entry.0 + row.2, entry.1 + row.2 * outcome(row), entry.2 + row.2 * row.0);
        }
        table.retain(|entry| entry.0 > 0.0);
        table
    };
    let in_order = |n_bins: usize| {
        let rates: Vec<f64> = tables(n_bins).iter().map(|entry| entry.1 / entry.0).collect();
        rates.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12)
    };
    let most = (rows.len() - 1).max(1);
    let n_bins = (2..=most).find(|n_bins| !in_order(*n_bins)).map_or(most, |n_bins| n_bins - 1);
    let power = if norm == Norm::L1 { 1 } else { 2 };
    let error: f64 = tables(n_bins)
        .iter()
        .map(|entry| entry.0 / total(rows) * ((entry.1 - entry.2) / entry.0).abs().powi(power))
        .sum();
    (n_bins, if power == 2 { error.sqrt() } else { error })
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn sweep_ece_is_its_definition(rows in rows(200), weighted in any::<bool>()) {
        let rows = if weighted { rows } else { unweighted(&rows) };
        for strategy in [Bins::Quantile, Bins::Uniform] {
            for norm in [Norm::L1, Norm::L2] {
                let found = estimate(&SweepEce::new().strategy(strategy).norm(norm), &rows).unwrap();
                let (n_bins, error) = naive_sweep(&rows, strategy, norm);
                prop_assert_eq!(found.settings.number("n_bins"), Some(n_bins as f64));
                prop_assert!((found.value - error).abs() <= 1e-12, "{} {error}", found.value);
            }
        }
    }

    #[test]
    fn a_sweep_over_rates_in_order_stops_where_theirs_do(n_zeros in 1usize..30, n_mixed in 1usize..8, n_ones in 1usize..30) {
        // Zeros, a stretch that alternates, ones: few bins are looked at, and none may be missed.
        let n = n_zeros + n_mixed + n_ones;
        let rows: Vec<Row> = (0..n)
            .map(|k| {
                let y = if k < n_zeros { false } else if k < n_zeros + n_mixed { (k - n_zeros) % 2 == 0 } else { true };
                ((k as f64 + 0.5) / n as f64, y, 1.0)
            })
            .collect();
        let found = estimate(&SweepEce::new(), &rows).unwrap();
        prop_assert_eq!(found.settings.number("n_bins"), Some(naive_sweep(&rows, Bins::Quantile, Norm::L2).0 as f64));
    }
}

#[test]
fn no_error_is_left_where_every_probability_has_its_rate() {
    let rows: Vec<Row> = vec![(0.5, true, 1.0), (0.5, false, 1.0), (0.0, false, 1.0), (1.0, true, 1.0)];
    assert_eq!(value(&SweepEce::new(), &rows), 0.0);
}
