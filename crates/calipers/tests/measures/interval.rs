use calipers::SurrogateIntervalCalibrationError;
use proptest::prelude::*;

use crate::data::{Row, config, measure, residuals, rows};

/// The definition with its bins: between two neighbouring shifts at which a row changes its bin, in the middle.
pub(crate) fn naive(rows: &[Row]) -> f64 {
    let points = residuals(rows);
    let at_shift = |width: f64, shift: f64| {
        let n_bins = (1.0 / width) as i64 + 2;
        let bin = |j: i64| {
            let lower = shift + (j - 1) as f64 * width;
            let inside = points.iter().filter(|point| lower <= point.0 && point.0 < lower + width);
            inside.map(|point| point.1).sum::<f64>().abs()
        };
        (0..=n_bins).map(bin).sum::<f64>()
    };
    let mean = |width: f64| {
        let mut shifts: Vec<f64> = points.iter().map(|point| point.0.rem_euclid(width)).chain([0.0, width]).collect();
        shifts.sort_by(f64::total_cmp);
        let parts = shifts.windows(2).map(|pair| (pair[1] - pair[0]) * at_shift(width, 0.5 * (pair[0] + pair[1])));
        parts.sum::<f64>() / width
    };
    (0..8).map(|k| mean(2f64.powi(-k)) + 2f64.powi(-k)).fold(f64::MAX, f64::min)
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn it_is_the_mean_over_all_shifts(rows in rows(200)) {
        let estimate = measure(&SurrogateIntervalCalibrationError::new(), &rows);
        let naive = naive(&rows);
        if estimate.settings.number("width").unwrap() >= 2f64.powi(-7) {
            prop_assert!((estimate.value - naive).abs() <= estimate.numerical_bound + 1e-12, "{} {naive}", estimate.value);
        } else {
            prop_assert!(estimate.value < naive);
        }
        prop_assert!(estimate.numerical_bound < 1e-13);
    }
}

#[test]
fn calibrated_rows_have_none() {
    let rows = [(0.0, false, 1.0), (0.5, true, 1.0), (0.5, false, 1.0), (1.0, true, 1.0)];
    let estimate = measure(&SurrogateIntervalCalibrationError::new(), &rows);
    assert!(estimate.value <= estimate.numerical_bound && estimate.numerical_bound < 1e-14);
}
