use calipers::KernelCalibrationError;
use proptest::prelude::*;

use crate::data::{Row, assert_golden, config, measure, residuals, rows};

/// Two words, so that the reference has some thirty digits.
#[derive(Clone, Copy)]
struct Long(f64, f64);

impl Long {
    fn plus(self, other: Long) -> Long {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let tail = (self.0 - (sum - part)) + (other.0 - part) + self.1 + other.1;
        let head = sum + tail;
        Long(head, tail - (head - sum))
    }

    fn times(self, other: Long) -> Long {
        let product = self.0 * other.0;
        let tail = self.0.mul_add(other.0, -product) + self.0 * other.1 + self.1 * other.0;
        let head = product + tail;
        Long(head, tail - (head - product))
    }

    /// exp(-d), by its series on d / 2^20 and squaring.
    fn exp_minus(d: Long) -> Long {
        let scale = 2f64.powi(-20);
        let x = Long(-d.0 * scale, -d.1 * scale);
        let mut sum = Long(1.0, 0.0);
        let mut term = Long(1.0, 0.0);
        for k in 1..12 {
            let inverse = 1.0 / f64::from(k);
            let rest = (-inverse).mul_add(f64::from(k), 1.0) * inverse;
            term = term.times(x).times(Long(inverse, rest));
            sum = sum.plus(term);
        }
        (0..20).fold(sum, |power, _| power.times(power))
    }
}

/// All pairs, in two words.
pub(crate) fn naive(rows: &[Row], length_scale: f64) -> f64 {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let residual = |row: &Row| {
        // y - p in two words: 1 - p need not be a double.
        let y = f64::from(row.1);
        let head = y - row.0;
        let part = head - y;
        let tail = (y - (head - part)) + (-row.0 - part);
        Long(head, tail).times(Long(row.2, 0.0))
    };
    let mut sum = Long(0.0, 0.0);
    for a in rows {
        for b in rows {
            let (from, to) = (a.0.min(b.0), a.0.max(b.0));
            let head = to - from;
            let part = head - to;
            let d = Long(head, (to - (head - part)) + (-from - part));
            let inverse = 1.0 / length_scale;
            let rest = (-inverse).mul_add(length_scale, 1.0) * inverse;
            let kernel = Long::exp_minus(d.times(Long(inverse, rest)));
            sum = sum.plus(residual(a).times(residual(b)).times(kernel));
        }
    }
    (sum.0 / total / total).max(0.0).sqrt()
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn it_is_the_sum_over_all_pairs(rows in rows(200), scale in prop_oneof![Just(1.0), Just(0.4), 1e-3..10.0]) {
        let estimate = measure(&KernelCalibrationError::new().length_scale(scale), &rows);
        // The reference's own root is off by some units of rounding, and where the form is 0, by
        // 10^-16.
        let error = (estimate.value - naive(&rows, scale)).abs();
        prop_assert!(error <= estimate.numerical_bound + 1e-15, "{error:e} above {:e}", estimate.numerical_bound);
        prop_assert!(estimate.numerical_bound < 2e-13);
    }

    /// Residuals that cancel almost entirely: the root of a naive sum in doubles would be off by
    /// 1e-8.
    #[test]
    fn what_cancels_has_all_its_digits(n in 1usize..40, distance in 1e-12..1e-6) {
        let rows: Vec<Row> = (0..2 * n).map(|k| (0.5 + distance * k as f64, k % 2 == 0, 1.0)).collect();
        let estimate = measure(&KernelCalibrationError::new(), &rows);
        prop_assert!((estimate.value - naive(&rows, 1.0)).abs() <= estimate.numerical_bound + 1e-15);
        prop_assert!(estimate.numerical_bound < 1e-14);
    }
}

#[test]
fn it_agrees_with_what_others_computed() {
    assert_golden(&KernelCalibrationError::new(), 0.043_062_679);
    assert_golden(&KernelCalibrationError::mmce(), 0.054_448_391);
}

#[test]
fn one_probability_has_its_mean_residual() {
    let rows = [(0.3, true, 1.0), (0.3, false, 1.0), (0.3, true, 1.0), (0.3, true, 1.0)];
    let estimate = measure(&KernelCalibrationError::new().length_scale(0.1), &rows);
    assert!((estimate.value - 0.45).abs() < 1e-15);
    assert_eq!(residuals(&rows).len(), 1);
}
