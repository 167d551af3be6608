use calipers::{BinnedEce, NBins, Norm, Strategy as Bins};
use proptest::prelude::*;

use crate::data::{Row, config, measure, outcome, rows, total};

/// The number of edges below a probability: k/B, or the smallest probability that has a share k/B
/// of the weight up to it.
pub(crate) fn bin_of(rows: &[Row], p: f64, n_bins: usize, strategy: Bins) -> usize {
    let is_below = |k: usize| {
        if strategy == Bins::Uniform {
            return (k as f64 / n_bins as f64) < p;
        }
        assert_eq!(strategy, Bins::Quantile);
        // Whole numbers: whether a share was reached below p is not a matter of rounding.
        let below: f64 = rows.iter().filter(|row| row.0 < p).map(|row| row.2).sum();
        below * n_bins as f64 >= k as f64 * total(rows)
    };
    (1..n_bins).filter(|k| is_below(*k)).count()
}

pub(crate) fn naive(rows: &[Row], n_bins: usize, strategy: Bins, norm: Norm) -> f64 {
    let mut gaps: Vec<(f64, f64)> = Vec::new();
    let bins: Vec<usize> = rows.iter().map(|row| bin_of(rows, row.0, n_bins, strategy)).collect();
    for bin in 0..n_bins {
        let inside = || rows.iter().zip(&bins).filter(|(_, of_row)| **of_row == bin).map(|(row, _)| row);
        let weight: f64 = inside().map(|row| row.2).sum();
        if weight > 0.0 {
            let residual: f64 = inside().map(|row| row.2 * (outcome(row) - row.0)).sum();
            gaps.push((weight / total(rows), (residual / weight).abs()));
        }
    }
    match norm {
        Norm::L1 => gaps.iter().map(|(share, gap)| share * gap).sum(),
        Norm::L2 => gaps.iter().map(|(share, gap)| share * gap * gap).sum::<f64>().sqrt(),
        Norm::Max => gaps.iter().map(|(_, gap)| *gap).fold(0.0, f64::max),
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn it_is_its_definition_for_every_norm_and_strategy(rows in rows(200), n_bins in 1usize..40) {
        for strategy in [Bins::Uniform, Bins::Quantile] {
            for norm in [Norm::L1, Norm::L2, Norm::Max] {
                let found = measure(&BinnedEce::new().n_bins(n_bins).strategy(strategy).norm(norm), &rows);
                let naive = naive(&rows, n_bins, strategy, norm);
                let error = (found.value - naive).abs();
                prop_assert!(error <= found.numerical_bound + 1e-13, "{strategy:?} {norm:?}: {} {naive}", found.value);
            }
        }
    }

    #[test]
    fn bins_by_rule_are_as_many_as_it_says(rows in rows(200)) {
        let found = measure(&BinnedEce::new().n_bins(NBins::Auto), &rows);
        let n_bins = found.settings.number("n_bins").unwrap() as usize;
        prop_assert!((found.value - naive(&rows, n_bins, Bins::Uniform, Norm::L1)).abs() <= found.numerical_bound + 1e-13);
    }
}
