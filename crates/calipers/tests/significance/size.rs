//! The floor test on calibrated data rejects as often as it says.

use calipers::inference::NoiseFloor;
use calipers::population::{Family, Logits, Truth};
use calipers::simulate::Population;
use calipers::{BinnedEce, LsEce, Measure, Sigma};

use crate::data::{Data, Failures, Shape, runs, share, shown};

/// The share of runs whose p-value is at most 0.05, and the mean p-value.
fn rejections(measure: &dyn Measure, family: &str, shape: Shape, n: usize, n_runs: u64) -> (f64, f64) {
    let p_values = runs(n_runs, |run| {
        let data = Data::new(family, shape, n, 7000 + run);
        data.with(|view| NoiseFloor::new(&*measure.resampler(view, None).unwrap(), 199, run).unwrap().p_value)
    });
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
        for (form, measure) in
            [("LS-ECE", LsEce::new().sigma(sigma)), ("residual form", LsEce::new().sigma(sigma).residual())]
        {
            let (size, mean) = rejections(&measure, family, shape, n, 400);
            println!("{form}, {family} {shape:?} n = {n}, sigma {sigma}: size {size:.4}, mean p-value {mean:.3}");
            assert!((0.03..=0.07).contains(&size), "{form} {family} {shape:?} {sigma}: {size}");
            // Uniform p-values have the mean 1/2 with a deviation of 0.29 / 20 over 400 runs.
            assert!((mean - 0.5).abs() < 0.05, "{form} {family} {shape:?} {sigma}: mean p-value {mean}");
        }
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
    for measure in [LsEce::new(), LsEce::new().residual()] {
        let (power, _) = rejections(&measure, "overconfident", Shape::Plain, 1000, 50);
        assert!(power > 0.9, "{power}");
    }
}

/// The test that decides, at every sigma, on continuous, tied, quantised and rare predictions.
fn has_its_size(cases: &[(&str, &dyn Population, usize)], sigmas: &[Sigma], n_runs: u64) {
    let mut failures = Failures::default();
    for (name, population, n) in cases {
        for sigma in sigmas {
            let measure = LsEce::new().sigma(*sigma).residual();
            let size = share(runs(n_runs, |run| {
                let sample = population.sample(*n, 130_000 + run);
                let predictions = sample.input().check().unwrap();
                let view = predictions.binary().unwrap();
                NoiseFloor::new(&*measure.resampler(&view, None).unwrap(), 99, run).unwrap().p_value <= 0.05
            }));
            println!("{name}, n = {n}, sigma {sigma:?}: size {}", shown(size));
            let what = format!("{name}, n = {n}, sigma {sigma:?}: {}", shown(size));
            failures.expect((0.03..=0.07).contains(&size.value), what);
        }
    }
}

const SIGMAS: [Sigma; 5] = [Sigma::Auto, Sigma::Value(0.05), Sigma::Value(0.2), Sigma::Value(0.5), Sigma::Value(1.0)];

fn rare_events() -> Family {
    // A base rate of 0.5 %.
    Family::new("rare", Logits::Normal { mean: -5.8, deviation: 1.0 }, Truth::CALIBRATED).unwrap()
}

#[test]
fn the_deciding_test_has_its_size_at_every_sigma() {
    let family = Family::named("calibrated").unwrap();
    let (tied, quantised, rare) = (family.rounded(20).unwrap(), family.rounded(256).unwrap(), rare_events());
    has_its_size(&[("continuous", &family, 300)], &SIGMAS, 800);
    has_its_size(&[("continuous", &family, 1000), ("tied", &tied, 300)], &[SIGMAS[0], SIGMAS[3]], 600);
    has_its_size(&[("quantised", &quantised, 1000), ("rare events", &rare, 2000)], &[SIGMAS[0], SIGMAS[2]], 600);
}

#[cfg(feature = "slow-tests")]
#[test]
fn the_deciding_test_has_its_size_with_more_rows() {
    let family = Family::named("calibrated").unwrap();
    let (tied, quantised, rare) = (family.rounded(20).unwrap(), family.rounded(256).unwrap(), rare_events());
    let mut cases: Vec<(&str, &dyn Population, usize)> = Vec::new();
    for n in [300, 1_000, 10_000] {
        cases.extend([("continuous", &family as &dyn Population, n), ("tied", &tied, n), ("quantised", &quantised, n)]);
    }
    cases.push(("rare events", &rare, 2000));
    has_its_size(&cases, &SIGMAS, 3000);
}
