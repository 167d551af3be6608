//! Influence values against the measure with one row's weight changed.

use calipers::{Input, LsEce, Measure, noise};

use crate::data::{Data, Shape};

#[test]
fn influence_is_the_derivative_of_the_measure_by_a_rows_share() {
    for (shape, name, sigma) in [
        (Shape::Plain, "gaussian", 0.3),
        (Shape::Plain, "gaussian", 0.1),
        (Shape::Ties, "gaussian", 0.2),
        (Shape::Weighted, "gaussian", 0.5),
        (Shape::Plain, "laplace", 0.3),
        (Shape::Weighted, "epanechnikov", 0.6),
        (Shape::Plain, "uniform", 0.5),
    ] {
        let data = Data::new("overconfident", shape, 150, 11);
        let weights = data.weights.clone().unwrap_or(vec![1.0; 150]);
        // Kinked noises need a grid that grows with the root of the tolerance: a wider step takes
        // its place.
        let (tolerance, step) = if ["laplace", "epanechnikov"].contains(&name) { (1e-7, 0.02) } else { (1e-9, 0.002) };
        let measure = LsEce::new().sigma(sigma).noise(noise::by_name(name).unwrap()).tolerance(tolerance);
        let of = |weights: &[f64]| {
            let predictions =
                Input::probabilities(&data.probabilities, &data.outcomes).weights(weights).check().unwrap();
            measure.estimate(&predictions.binary().unwrap()).unwrap().value
        };
        let influence = data.with(|view| measure.influence(view).unwrap());
        let total: f64 = weights.iter().sum();
        let mut worst: f64 = 0.0;
        for row in (0..150).step_by(7).filter(|row| weights[*row] > 0.0) {
            let changed = |by: f64| {
                let mut changed = weights.clone();
                changed[row] += by;
                of(&changed)
            };
            let slope = (changed(step) - changed(-step)) / (2.0 * step) * total;
            worst = worst.max((slope - influence[row]).abs());
        }
        println!("{shape:?} {name} {sigma}: off by {worst:.1e}");
        let allowed = if name == "uniform" { 1e-2 } else { 2e-3 };
        assert!(worst < allowed, "{shape:?} {name} {sigma}: {worst}");
    }
}

#[test]
fn the_standard_error_is_that_of_the_rows_influence() {
    for (shape, n, sigma) in [(Shape::Plain, 3000, 0.05), (Shape::Weighted, 1000, 0.3), (Shape::Ties, 500, 0.2)] {
        let data = Data::new("shifted", shape, n, 2);
        let measure = LsEce::new().sigma(sigma);
        data.with(|view| {
            let influence = measure.influence(view).unwrap();
            let weights = data.weights.clone().unwrap_or(vec![1.0; n]);
            let total: f64 = weights.iter().sum();
            let mean: f64 = influence.iter().zip(&weights).map(|(value, weight)| value * weight / total).sum();
            let squares: f64 =
                influence.iter().zip(&weights).map(|(value, weight)| (value * weight / total).powi(2)).sum();
            let deviation = measure.resampler(view, None).unwrap().influence_deviation().unwrap();
            assert!(mean.abs() < 1e-9, "{shape:?}: {mean}");
            assert!((deviation / squares.sqrt() - 1.0).abs() < 2e-3, "{shape:?}: {deviation} {}", squares.sqrt());
        });
    }
}

#[test]
fn rows_without_weight_have_no_influence() {
    let predictions = Input::probabilities(&[0.2, 0.7, 0.9], &[1, 0, 1]).weights(&[1.0, 0.0, 2.0]).check().unwrap();
    let influence = LsEce::new().sigma(0.1).influence(&predictions.binary().unwrap()).unwrap();
    assert_eq!(influence[1], 0.0);
    assert!(influence[0] != 0.0 && influence[2] != 0.0);
}
