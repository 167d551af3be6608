//! The bound on hard cases made for it: ties, near ties, far clusters, heavy tails, few points, wild weights.

mod oracle;

use std::sync::Mutex;

use calipers::{Error, Estimator, Input, LsEce, link, noise};
use oracle::Point;
use proptest::prelude::*;

/// What the oracle itself may be off by: rounding, and lobes of |G| narrower than sigma / 40.
const ORACLE_ERROR: f64 = 2e-10;

/// Logits of the kinds that break careless grids, at a given sigma.
fn logits(sigma: f64) -> impl Strategy<Value = Vec<f64>> {
    let spread = prop::collection::vec(-14.0..14.0, 1..40);
    let tied = (prop::collection::vec(-6.0..6.0, 1..4), 2usize..12).prop_map(|(values, copies)| values.repeat(copies));
    let near = (-8.0..8.0, prop::collection::vec(0.0..1.0, 2..20))
        .prop_map(move |(centre, steps)| steps.into_iter().map(|step| centre + step * sigma / 1000.0).collect());
    let far =
        prop::collection::vec(prop_oneof![Just(-700.0), Just(700.0), Just(699.999), -701.0..-699.0, -3.0..3.0], 1..16);
    let heavy = prop::collection::vec((-1.0..1.0f64, 0.05..0.95f64), 1..30).prop_map(|draws| {
        draws.into_iter().map(|(sign, u)| (sign.signum() * (1.0 / u - 1.0).powf(2.0)).clamp(-700.0, 700.0)).collect()
    });
    let few = prop::collection::vec(-3.0..3.0, 1..4);
    prop_oneof![spread, tied, near, far, heavy, few]
}

fn outcomes(n: usize) -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![
        3 => prop::collection::vec(any::<bool>(), n),
        1 => Just(vec![true; n]),
        1 => Just(vec![false; n]),
    ]
}

/// None, or spread over 12 decades.
fn weights(n: usize) -> impl Strategy<Value = Option<Vec<f64>>> {
    prop_oneof![
        Just(None),
        prop::collection::vec((-6.0..6.0f64).prop_map(|exponent| 10f64.powf(exponent)), n).prop_map(Some),
    ]
}

fn sigmas() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1e-3), Just(10.0), (-3.0..1.0f64).prop_map(|exponent| 10f64.powf(exponent))]
}

type Case = (f64, Vec<f64>, Vec<bool>, Option<Vec<f64>>);

fn cases() -> impl Strategy<Value = Case> {
    sigmas().prop_flat_map(|sigma| {
        logits(sigma).prop_flat_map(move |h| {
            let n = h.len();
            (Just(sigma), Just(h), outcomes(n), weights(n))
        })
    })
}

/// Checks a case and returns bound / error.
fn check(case: &Case, noise_name: &str, link_name: &str, tolerance: f64) -> f64 {
    let (sigma, h, y, w) = case;
    let mut input = Input::logits(h, y);
    if let Some(w) = w {
        input = input.weights(w);
    }
    let predictions = input.check().unwrap();
    let measure = LsEce::new()
        .sigma(*sigma)
        .tolerance(tolerance)
        .shared_noise(noise::by_name(noise_name).unwrap())
        .shared_link(link::by_name(link_name).unwrap());
    let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
    let point = |i: usize| Point { h: h[i], y: y[i], w: w.as_ref().map_or(1.0, |w| w[i]) };
    let points: Vec<Point> = (0..h.len()).map(point).collect();
    let truth = oracle::ls_ece(&points, oracle::noise(noise_name), oracle::link(link_name), *sigma);
    let error = (estimate.value - truth).abs();
    assert!(estimate.numerical_bound <= tolerance);
    assert!(
        error <= estimate.numerical_bound + ORACLE_ERROR,
        "{noise_name}, {link_name}, sigma {sigma}: {} against {truth}, error {error:e}, bound {:e}",
        estimate.value,
        estimate.numerical_bound
    );
    estimate.numerical_bound / error.max(1e-16)
}

fn run(noise: &str, link: &str, tolerance: f64, n_cases: u32) {
    let ratios = Mutex::new(Vec::new());
    let config = ProptestConfig { cases: n_cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&cases(), |case| {
            ratios.lock().unwrap().push(check(&case, noise, link, tolerance));
            Ok(())
        })
        .unwrap();
    let mut ratios = ratios.into_inner().unwrap();
    ratios.sort_by(f64::total_cmp);
    println!(
        "{noise}, {link}, tolerance {tolerance:e}: bound / true error: min {:.1}, median {:.0}",
        ratios[0],
        ratios[ratios.len() / 2]
    );
}

#[test]
fn gaussian_noise_keeps_its_bound() {
    run("gaussian", "logistic", 1e-6, 600);
    run("gaussian", "logistic", 1e-3, 200);
    run("gaussian", "logistic", 1e-9, 200);
}

#[test]
fn uniform_noise_keeps_its_bound() {
    run("uniform", "logistic", 1e-6, 400);
}

#[test]
fn logistic_noise_keeps_its_bound() {
    run("logistic", "logistic", 1e-6, 200);
}

#[test]
fn laplace_noise_keeps_its_bound() {
    run("laplace", "logistic", 1e-5, 60);
    run("laplace", "logistic", 1e-6, 20);
}

#[test]
fn epanechnikov_noise_keeps_its_bound() {
    run("epanechnikov", "logistic", 1e-5, 60);
    run("epanechnikov", "logistic", 1e-6, 20);
}

#[test]
fn other_links_keep_their_bounds() {
    for link in ["probit", "cloglog"] {
        for noise in ["gaussian", "uniform", "logistic"] {
            run(noise, link, 1e-6, 100);
        }
    }
}

#[test]
fn a_tolerance_below_rounding_is_refused_and_not_met_in_silence() {
    let predictions = Input::probabilities(&[0.3, 0.8], &[0, 1]).check().unwrap();
    for noise_name in noise::NAMES {
        let measure = LsEce::new().sigma(0.1).tolerance(1e-17).shared_noise(noise::by_name(noise_name).unwrap());
        let refusal = measure.estimate(&predictions.binary().unwrap()).unwrap_err();
        assert!(matches!(refusal, Error::ToleranceNotMet { bound, .. } if bound > 1e-17), "{noise_name}: {refusal}");
    }
}
