//! How far Brownian motion on [0, 1] strays: tails of its range and of its largest absolute value.
//!
//! Each has two series: one of images, whose terms fall as e^(-(k x)² / 2), and one of eigenvalues,
//! whose terms fall as e^(-(k π / x)² / 2). From 1 on, the first keeps all digits of a small tail;
//! below, the second keeps all digits of a tail near 1.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(max |W| > x).
///
/// ```text
/// 2 Σ_{k >= 0} (-1)^k erfc((2k + 1) x / √2)  =  1 - (2/π) Σ_{k >= 0} (-1)^k / (k + ½) · exp(-(k + ½)² π² / (2 x²))
/// ```
pub(crate) fn maximum_tail(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x <= 0.0 { 1.0 } else { x };
    }
    if x >= 1.0 {
        return images(|k| sign(k) * 2.0 * libm::erfc(f64::from(2 * k + 1) * x * FRAC_1_SQRT_2));
    }
    let term = |k: u32| {
        let frequency = (f64::from(k) + 0.5) * PI;
        sign(k) * 2.0 / frequency * (-0.5 * (frequency / x).powi(2)).exp()
    };
    1.0 - images(term)
}

/// P(max W - min W > x).
///
/// ```text
/// 4 Σ_{k >= 1} (-1)^(k-1) k erfc(k x / √2)  =  1 - Σ_{k >= 0} (8/x² + 2 / ((k + ½)² π²)) exp(-2 (k + ½)² π² / x²)
/// ```
pub(crate) fn range_tail(x: f64) -> f64 {
    if !(x > 0.0) {
        return if x <= 0.0 { 1.0 } else { x };
    }
    if x >= 2.0 {
        let term = |n: f64| 4.0 * n * libm::erfc(n * x * FRAC_1_SQRT_2);
        return images(|k| sign(k) * term(f64::from(k + 1)));
    }
    let term = |k: u32| {
        let frequency = (f64::from(k) + 0.5) * PI;
        let decay = (-2.0 * (frequency / x).powi(2)).exp();
        // Nothing is left for x so small that its square is 0.
        if decay == 0.0 { 0.0 } else { (8.0 / (x * x) + 2.0 / (frequency * frequency)) * decay }
    };
    1.0 - images(term)
}

/// (-1)^k.
fn sign(k: u32) -> f64 {
    if k.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Terms until they change nothing; after a few they fall faster than any power.
fn images(term: impl Fn(u32) -> f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..100 {
        let term = term(k);
        sum += term;
        if term.abs() <= 1e-18 * f64::abs(sum) {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both tails by the series that the function does not use at x, with many terms.
    fn by_images(x: f64) -> (f64, f64) {
        let sign = |k: i32| if k % 2 == 0 { 1.0 } else { -1.0 };
        let maximum: f64 =
            (0..2000).map(|k| 2.0 * sign(k) * libm::erfc(f64::from(2 * k + 1) * x * FRAC_1_SQRT_2)).sum();
        let range: f64 =
            (1..2000).map(|k| -4.0 * sign(k) * f64::from(k) * libm::erfc(f64::from(k) * x * FRAC_1_SQRT_2)).sum();
        (maximum, range)
    }

    fn by_eigenvalues(x: f64) -> (f64, f64) {
        let frequency = |k: i32| (f64::from(k) + 0.5) * PI;
        let sign = |k: i32| if k % 2 == 0 { 1.0 } else { -1.0 };
        let maximum: f64 =
            (0..2000).map(|k| sign(k) * 2.0 / frequency(k) * (-0.5 * (frequency(k) / x).powi(2)).exp()).sum();
        let range: f64 = (0..2000)
            .map(|k| (8.0 / (x * x) + 2.0 / frequency(k).powi(2)) * (-2.0 * (frequency(k) / x).powi(2)).exp())
            .sum();
        (1.0 - maximum, 1.0 - range)
    }

    #[test]
    fn both_series_say_the_same() {
        for step in 20..=60 {
            let x = 0.05 * f64::from(step);
            for (series, tolerance) in [(by_images(x), 1e-12), (by_eigenvalues(x), 1e-13)] {
                assert!((maximum_tail(x) - series.0).abs() < tolerance, "{x}: {} {}", maximum_tail(x), series.0);
                assert!((range_tail(x) - series.1).abs() < tolerance, "{x}: {} {}", range_tail(x), series.1);
            }
        }
    }

    /// The normalised statistics of the golden fixture, with the p-values of the authors' code.
    #[test]
    fn tails_are_those_of_others() {
        assert!((range_tail(2.367012283) - 0.071711742).abs() < 1e-9);
        assert!((maximum_tail(1.84620037) - 0.129726174).abs() < 1e-9);
    }

    #[test]
    fn tails_fall_from_one_and_keep_their_digits_far_out() {
        assert_eq!((maximum_tail(0.0), range_tail(0.0)), (1.0, 1.0));
        assert_eq!((maximum_tail(1e-200), range_tail(1e-200)), (1.0, 1.0));
        assert_eq!((maximum_tail(f64::INFINITY), range_tail(f64::INFINITY)), (0.0, 0.0));
        let xs: Vec<f64> = (1..800).map(|k| 0.01 * f64::from(k)).collect();
        assert!(
            xs.windows(2).all(|x| maximum_tail(x[0]) >= maximum_tail(x[1]) && range_tail(x[0]) >= range_tail(x[1]))
        );
        // Only the first image is left.
        assert!((maximum_tail(20.0) / (2.0 * libm::erfc(20.0 * FRAC_1_SQRT_2)) - 1.0).abs() < 1e-14);
        assert!((range_tail(20.0) / (4.0 * libm::erfc(20.0 * FRAC_1_SQRT_2)) - 1.0).abs() < 1e-14);
    }
}
