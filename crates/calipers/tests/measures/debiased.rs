use calipers::{DebiasedEce, Norm, Strategy as Bins};
use proptest::prelude::*;

use crate::binned::bin_of;
use crate::data::{Row, config, outcome, rows, total, value};
use crate::quadrature::gaussian;

pub(crate) fn naive_debiased(rows: &[Row], n_bins: usize, strategy: Bins, norm: Norm) -> f64 {
    let bins: Vec<usize> = rows.iter().map(|row| bin_of(rows, row.0, n_bins, strategy)).collect();
    let mut sum = 0.0;
    for bin in 0..n_bins {
        let inside: Vec<&Row> =
            rows.iter().zip(&bins).filter(|(_, of_row)| **of_row == bin).map(|(row, _)| row).collect();
        let weight: f64 = inside.iter().map(|row| row.2).sum();
        if inside.is_empty() {
            continue;
        }
        let n = weight * weight / inside.iter().map(|row| row.2 * row.2).sum::<f64>();
        let rate = inside.iter().map(|row| row.2 * outcome(row)).sum::<f64>() / weight;
        let mean = inside.iter().map(|row| row.2 * row.0).sum::<f64>() / weight;
        let (gap, variance) = (rate - mean, rate * (1.0 - rate));
        let share = weight / total(rows);
        sum += match norm {
            Norm::L2 if n < 2.0 - 1e-9 => 0.0,
            Norm::L2 => share * (gap * gap - variance / (n - 1.0)),
            _ => {
                // The mean of draws by a sum over the density.
                let s = (variance / n).sqrt();
                let draw = |k: i32| (gap + s * f64::from(k) * 1e-3).abs() * gaussian(f64::from(k) * 1e-3) * 1e-3;
                let folded = if s == 0.0 { gap.abs() } else { (-9000..=9000).map(draw).sum() };
                share * (2.0 * gap.abs() - folded)
            }
        };
    }
    if norm == Norm::L2 { sum.max(0.0).sqrt() } else { sum }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn debiased_ece_is_its_definition(rows in rows(200), n_bins in 1usize..20) {
        for strategy in [Bins::Uniform, Bins::Quantile] {
            let found = value(&DebiasedEce::new().n_bins(n_bins).strategy(strategy).norm(Norm::L1), &rows);
            let naive = naive_debiased(&rows, n_bins, strategy, Norm::L1);
            prop_assert!((found - naive).abs() <= 1e-6, "{strategy:?}: {found} {naive}");
            // Next to 0 the root is of rounding.
            let found = value(&DebiasedEce::new().n_bins(n_bins).strategy(strategy), &rows);
            let naive = naive_debiased(&rows, n_bins, strategy, Norm::L2);
            prop_assert!((found.powi(2) - naive.powi(2)).abs() <= 1e-14, "{strategy:?}: {found} {naive}");
        }
    }
}
