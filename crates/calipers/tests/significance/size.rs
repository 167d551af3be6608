//! The floor test on calibrated data rejects as often as it says.

use calipers::significance::NoiseFloor;
use calipers::{BinnedEce, Estimator, LsEce};

use crate::data::{Data, Shape};

/// The share of runs whose p-value is at most 0.05, and the mean p-value.
fn rejections(measure: &dyn Estimator, family: &str, shape: Shape, n: usize, n_runs: u64) -> (f64, f64) {
    let p_values: Vec<f64> = (0..n_runs)
        .map(|run| {
            let data = Data::new(family, shape, n, 7000 + run);
            data.with(|view| NoiseFloor::new(&*measure.resampler(view).unwrap(), 199, run).unwrap().p_value)
        })
        .collect();
    let rejected = p_values.iter().filter(|p| **p <= 0.05).count() as f64;
    (rejected / n_runs as f64, p_values.iter().sum::<f64>() / n_runs as f64)
}

#[test]
fn the_floor_test_of_ls_ece_has_its_size() {
    for (family, shape, n, sigma) in [
        ("calibrated", Shape::Plain, 500, 0.05),
        ("calibrated", Shape::Plain, 500, 0.5),
        ("calibrated-heavy-tails", Shape::Plain, 1000, 0.2),
        ("calibrated", Shape::Ties, 500, 0.2),
        ("calibrated", Shape::Quantised, 500, 0.1),
        ("calibrated-jumps", Shape::Weighted, 500, 0.2),
    ] {
        let (size, mean) = rejections(&LsEce::new().sigma(sigma), family, shape, n, 400);
        println!("{family} {shape:?} n = {n}, sigma {sigma}: size {size:.4}, mean p-value {mean:.3}");
        assert!((0.03..=0.07).contains(&size), "{family} {shape:?} {sigma}: {size}");
        // Uniform p-values have the mean 1/2 with a deviation of 0.29 / 20 over 400 runs.
        assert!((mean - 0.5).abs() < 0.05, "{family} {shape:?} {sigma}: mean p-value {mean}");
    }
}

#[test]
fn the_floor_test_of_any_measure_has_its_size() {
    let (size, mean) = rejections(&BinnedEce::new(), "calibrated", Shape::Plain, 500, 400);
    println!("binned: size {size:.4}, mean p-value {mean:.3}");
    assert!((0.03..=0.07).contains(&size) && (mean - 0.5).abs() < 0.05, "{size} {mean}");
}

#[test]
fn the_floor_test_sees_miscalibration() {
    let (power, _) = rejections(&LsEce::new(), "overconfident", Shape::Plain, 1000, 50);
    assert!(power > 0.9, "{power}");
}
