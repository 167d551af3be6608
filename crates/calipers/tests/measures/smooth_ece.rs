use calipers::{BinnedEce, KdeEce, KdeKernel, SmoothEce, Smoothing};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, outcome, rows, total, value};
use crate::kde::naive_kde_ece;
use crate::quadrature::{gaussian, integral_of_abs, reflected};

pub(crate) fn naive_smooth_ece(rows: &[Row], sigma: f64) -> f64 {
    let total = total(rows);
    let g = |t: f64| {
        rows.iter()
            .map(|row| row.2 / total * (outcome(row) - row.0) * reflected(gaussian, t, row.0, sigma))
            .sum::<f64>()
    };
    integral_of_abs(&g, 600)
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn smooth_ece_is_its_definition(rows in rows(200), sigma in prop_oneof![Just(0.02), Just(0.1), Just(0.6), Just(3.0)]) {
        let found = estimate(&SmoothEce::new().sigma(sigma), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        prop_assert!((found.value - naive_smooth_ece(&rows, sigma)).abs() <= found.numerical_bound + 1e-10);
        let noised = estimate(&SmoothEce::new().sigma(sigma).smoothing(Smoothing::Predictions), &rows).unwrap();
        prop_assert!((noised.value - naive_kde_ece(&rows, gaussian, sigma)).abs() <= noised.numerical_bound + 1e-10);
        // Noise moves a probability by sigma √(2/π) on average.
        prop_assert!((noised.value - found.value).abs() <= sigma * (2.0 / std::f64::consts::PI).sqrt() + 1e-9);
        let same = value(&KdeEce::new().kernel(KdeKernel::Gaussian).bandwidth(sigma), &rows);
        prop_assert!((noised.value - same).abs() <= 2e-9);
    }

    #[test]
    fn the_fixed_point_is_one(rows in rows(200)) {
        let found = estimate(&SmoothEce::new(), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        if found.value > 1e-4 {
            let there = naive_smooth_ece(&rows, found.value);
            // smECE_σ falls, so that the distance from the fixed point is at most that from the diagonal, and vice versa not.
            let left = naive_smooth_ece(&rows, found.value - 1e-6);
            prop_assert!((there - found.value).abs() <= 1e-7 && left >= there - 1e-9, "{} {there}", found.value);
        } else {
            let unsmoothed = value(&BinnedEce::new().n_bins(1_000_000), &rows);
            prop_assert!(found.value <= unsmoothed + 1e-9);
        }
    }
}

/// Calibrated by construction: rates are the probabilities themselves, so that nothing is left without smoothing.
#[test]
fn no_error_is_left_where_every_probability_has_its_rate() {
    let rows: Vec<Row> = vec![(0.5, true, 1.0), (0.5, false, 1.0), (0.0, false, 1.0), (1.0, true, 1.0)];
    assert!(value(&SmoothEce::new(), &rows).abs() <= 1e-9);
    assert!(value(&SmoothEce::new().sigma(0.1), &rows).abs() <= 1e-9);
}
