use calipers::TCal;
use proptest::prelude::*;

use crate::data::{Row, config, fixture, measure, rows};

pub(crate) fn naive(rows: &[Row], n_bins: usize) -> f64 {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    // The last edge that is not above p.
    let edges: Vec<f64> = (0..n_bins).map(|k| k as f64 / n_bins as f64).collect();
    let bin = |p: f64| edges.iter().rposition(|edge| *edge <= p).unwrap();
    let mut sum = 0.0;
    for b in 0..n_bins {
        let inside: Vec<_> = rows.iter().filter(|row| bin(row.0) == b).collect();
        let weight: f64 = inside.iter().map(|row| row.2).sum();
        for (i, a) in inside.iter().enumerate() {
            for (j, b) in inside.iter().enumerate() {
                if i != j {
                    sum += a.2 * (f64::from(a.1) - a.0) * b.2 * (f64::from(b.1) - b.0) / weight / total;
                }
            }
        }
    }
    sum
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn it_is_the_sum_over_pairs_of_different_rows(rows in rows(200), n_bins in 1usize..40) {
        let estimate = measure(&TCal::new(n_bins), &rows);
        prop_assert!((estimate.value - naive(&rows, n_bins)).abs() <= estimate.numerical_bound + 1e-13);
    }
}

/// The table's values give a probability of 1 a bin of its own, which adds nothing: one row less in
/// all the others.
#[test]
fn it_agrees_with_what_others_computed() {
    let without: Vec<_> = fixture().into_iter().filter(|row| row.0 < 1.0).collect();
    for (n_bins, expected) in [(2, 0.009_886_959), (4, 0.007_761_995), (8, 0.008_501_878), (16, 0.001_760_308)] {
        let value = measure(&TCal::new(n_bins), &without).value * 199.0 / 200.0;
        assert!((value - expected).abs() <= 1e-9, "{value} against {expected}");
    }
}

#[test]
fn it_may_be_negative() {
    assert!(measure(&TCal::new(1), &[(0.5, true, 1.0), (0.5, false, 1.0)]).value < 0.0);
}
