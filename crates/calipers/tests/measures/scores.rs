use calipers::{BrierScore, LogLoss};
use proptest::prelude::*;

use crate::data::{Row, config, measure, outcome, rows, total};

pub(crate) fn naive_brier(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.2 * (outcome(row) - row.0).powi(2)).sum::<f64>() / total(rows)
}

pub(crate) fn naive_log_loss(rows: &[Row], clip: f64) -> f64 {
    let of = |row: &Row| {
        let p = row.0.max(clip).min(1.0 - clip);
        -row.2 * if row.1 { p.ln() } else { (-p).ln_1p() }
    };
    rows.iter().map(of).sum::<f64>() / total(rows)
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn they_are_means_over_rows(rows in rows(200), clip in prop_oneof![Just(1e-15), Just(1e-6), Just(0.01)]) {
        let brier = measure(&BrierScore::new(), &rows);
        prop_assert!((brier.value - naive_brier(&rows)).abs() <= brier.numerical_bound + 1e-14);
        let log_loss = measure(&LogLoss::new().clip(clip), &rows);
        prop_assert!((log_loss.value - naive_log_loss(&rows, clip)).abs() <= log_loss.numerical_bound + 1e-12);
    }
}
