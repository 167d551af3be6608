//! Resamples on the grid against resamples of rows, each measured by the exact integral.

use calipers::inference::{Resampler, RowResampler};
use calipers::{LsEce, Measure, Sigma, noise};
use rayon::prelude::*;

use crate::data::{Data, Shape, summary};

struct Case {
    family: &'static str,
    shape: Shape,
    n: usize,
    noise: &'static str,
    sigma: f64,
}

const fn case(family: &'static str, shape: Shape, n: usize, noise: &'static str, sigma: f64) -> Case {
    Case { family, shape, n, noise, sigma }
}

const CASES: [Case; 18] = [
    case("calibrated", Shape::Plain, 300, "gaussian", 0.05),
    case("calibrated", Shape::Plain, 300, "gaussian", 0.3),
    case("calibrated", Shape::Plain, 300, "gaussian", 2.0),
    case("overconfident", Shape::Plain, 3000, "gaussian", 0.05),
    case("overconfident", Shape::Plain, 3000, "gaussian", 0.5),
    case("network", Shape::Plain, 3000, "gaussian", 0.1),
    case("calibrated", Shape::Ties, 300, "gaussian", 0.1),
    case("shifted", Shape::Ties, 3000, "gaussian", 0.3),
    case("calibrated", Shape::Quantised, 3000, "gaussian", 0.05),
    case("network", Shape::Quantised, 300, "gaussian", 0.2),
    case("calibrated", Shape::Weighted, 300, "gaussian", 0.2),
    case("overconfident", Shape::Weighted, 3000, "gaussian", 0.1),
    case("calibrated", Shape::Plain, 300, "uniform", 0.5),
    case("overconfident", Shape::Weighted, 3000, "uniform", 0.2),
    case("calibrated", Shape::Ties, 300, "uniform", 0.4),
    case("calibrated", Shape::Plain, 300, "laplace", 0.2),
    case("shifted", Shape::Quantised, 3000, "logistic", 0.1),
    case("calibrated", Shape::Weighted, 300, "epanechnikov", 0.5),
];

impl Case {
    fn measure(&self) -> LsEce {
        LsEce::new().sigma(self.sigma).noise(noise::by_name(self.noise).unwrap())
    }

    fn name(&self) -> String {
        format!("{} {:?}, n = {}, {} {}", self.family, self.shape, self.n, self.noise, self.sigma)
    }

    /// How far the grid may be off, in shares of the value; see `ls_ece/resampling/spacing.rs`.
    fn accuracy(&self) -> f64 {
        match self.noise {
            "uniform" => 5e-3,
            "laplace" | "epanechnikov" => 1e-3,
            _ => 1e-4,
        }
    }
}

#[test]
fn without_resampling_the_grid_has_the_value_of_the_measure() {
    for (seed, case) in CASES.iter().enumerate() {
        let measure = case.measure();
        Data::new(case.family, case.shape, case.n, seed as u64).with(|view| {
            let exact = measure.estimate(view).unwrap();
            let grid = measure.resampler(view, None).unwrap().value();
            let off = (grid - exact.value).abs() - exact.numerical_bound;
            println!("{}: off by {:.1e} of {:.4}", case.name(), grid - exact.value, exact.value);
            assert!(off <= case.accuracy() * exact.value, "{}: {grid} for {}", case.name(), exact.value);
        });
    }
}

fn draws(n: u64, draw: impl Fn(u64) -> f64 + Sync + Send) -> (f64, f64, [f64; 3]) {
    summary((0..n).into_par_iter().map(draw).collect())
}

#[test]
fn draws_on_the_grid_are_distributed_as_draws_of_rows() {
    let (n_rows, n_grid) = (800.0, 4000.0);
    let per_draw = f64::sqrt(1.0 / n_rows + 1.0 / n_grid);
    let (mut squares, mut n_compared) = (0.0, 0.0);
    for (seed, case) in CASES.iter().enumerate() {
        let data = Data::new(case.family, case.shape, case.n, seed as u64);
        // Rows are measured more exactly than any of the errors of sampling.
        let (measure, rough) = (case.measure(), case.measure().tolerance(1e-5));
        data.with(|view| {
            let (grid, rows) = (measure.resampler(view, None).unwrap(), RowResampler::new(&rough, view, None).unwrap());
            let floors = (
                draws(n_grid as u64, |draw| grid.calibrated_draw(draw)),
                draws(n_rows as u64, |draw| rows.calibrated_draw(draw + 1_000_000)),
            );
            let bootstraps = (
                draws(n_grid as u64, |draw| grid.bootstrap_draw(draw)),
                draws(n_rows as u64, |draw| rows.bootstrap_draw(draw + 1_000_000)),
            );
            for (kind, (of_grid, of_rows)) in [("floor", floors), ("bootstrap", bootstraps)] {
                let name = format!("{kind}, {}", case.name());
                let spread = of_rows.1;
                let z = (of_grid.0 - of_rows.0) / (spread * per_draw);
                let ratio = of_grid.1 / spread;
                println!("{name}: mean {:.5}, z = {z:.2}, deviation {spread:.5}, ratio {ratio:.3}", of_rows.0);
                let room = case.accuracy() * of_rows.0;
                assert!((of_grid.0 - of_rows.0).abs() <= 4.0 * spread * per_draw + room, "{name}: z = {z}");
                assert!(
                    (ratio - 1.0).abs() < 4.0 * per_draw / 2f64.sqrt() * 1.2,
                    "{name}: deviations have ratio {ratio}"
                );
                // The standard errors of quantiles of a normal sample, in units of its deviation.
                for (place, error) in [2.11, 1.25, 2.11].into_iter().enumerate() {
                    let off = (of_grid.2[place] - of_rows.2[place]).abs();
                    assert!(off <= 4.5 * error * spread * per_draw + room, "{name}: quantile {place} off by {off}");
                }
                squares += z * z;
                n_compared += 1.0;
            }
        });
    }
    // All means together: a small bias everywhere would show here.
    let mean_square: f64 = squares / n_compared;
    println!("mean of z²: {mean_square:.2}");
    assert!(mean_square < 1.7, "{mean_square}");
}

/// More rows than the plain path takes one by one: by cells, and as raw scores row by row.
#[test]
fn many_rows_by_cells_are_resampled_like_the_rows_themselves() {
    let n = 600_000;
    let data = Data::new("overconfident", Shape::Plain, n, 3);
    let logits: Vec<f64> = data.probabilities.iter().map(|p| (p / (1.0 - p)).ln().clamp(-13.8, 13.8)).collect();
    for sigma in [Sigma::Value(0.05), Sigma::Auto] {
        let measure = LsEce::new().sigma(sigma);
        let by_rows = calipers::Input::logits(&logits, &data.outcomes).check().unwrap();
        let by_rows_view = by_rows.binary().unwrap();
        let by_rows = measure.resampler(&by_rows_view, None).unwrap();
        data.with(|view| {
            let by_cells = measure.resampler(view, None).unwrap();
            assert!((by_cells.value() - by_rows.value()).abs() < 2e-6);
            let deviations = [&by_cells, &by_rows].map(|resampler| resampler.influence_deviation().unwrap());
            assert!((deviations[0] / deviations[1] - 1.0).abs() < 1e-3, "{deviations:?}");
            let compare = |of_cells: (f64, f64, [f64; 3]), of_rows: (f64, f64, [f64; 3])| {
                let close = (of_cells.0 - of_rows.0).abs() < 0.4 * of_rows.1;
                assert!(close && (of_cells.1 / of_rows.1 - 1.0).abs() < 0.3, "{sigma:?}: {of_cells:?} {of_rows:?}");
            };
            compare(
                draws(200, |draw| by_cells.calibrated_draw(draw)),
                draws(200, |draw| by_rows.calibrated_draw(draw + 1000)),
            );
            compare(
                draws(200, |draw| by_cells.bootstrap_draw(draw)),
                draws(200, |draw| by_rows.bootstrap_draw(draw + 1000)),
            );
        });
    }
}

/// Islands far apart, and logits so far out that they are brought near.
#[test]
fn empty_stretches_between_rows_change_nothing() {
    let logits = [-1e9, -30.0, -29.99, -4.0, 0.0, 0.001, 0.002, 2.5, 40.0, 1e7];
    let outcomes = [false, false, true, true, true, false, true, true, true, false];
    let predictions = calipers::Input::logits(&logits, &outcomes).check().unwrap();
    let view = predictions.binary().unwrap();
    for (noise, sigma) in [("gaussian", 0.001), ("gaussian", 0.5), ("uniform", 0.002), ("laplace", 0.3)] {
        let measure = LsEce::new().sigma(sigma).noise(noise::by_name(noise).unwrap());
        let exact = measure.estimate(&view).unwrap().value;
        let grid = measure.resampler(&view, None).unwrap();
        assert!((grid.value() - exact).abs() < 3e-3 * exact, "{noise} {sigma}: {} {exact}", grid.value());
        assert!((0..50).all(|draw| (0.0..=1.01).contains(&grid.calibrated_draw(draw))));
    }
}

/// Where a grid would be too large, rows serve; where the measure itself refuses, so does its
/// resampler.
#[test]
fn any_sigma_that_can_be_measured_has_a_resampler() {
    let data = Data::new("overconfident", Shape::Plain, 300, 1);
    data.with(|view| {
        let mut n_measured = 0;
        for sigma in [1e-9, 1e-6, 1e-4, 10.0, 1e3, 1e6] {
            let measure = LsEce::new().sigma(sigma).tolerance(1e-4);
            let Ok(exact) = measure.estimate(view) else { continue };
            let resampler = measure.resampler(view, None).unwrap();
            assert!((resampler.value() - exact.value).abs() <= 2e-3 * exact.value + 1e-4, "{sigma}");
            assert!(resampler.calibrated_draw(1).is_finite() && resampler.bootstrap_draw(1).is_finite(), "{sigma}");
            n_measured += 1;
        }
        assert!(n_measured >= 4, "{n_measured}");
    });
}
