//! The paper's sampling estimator against the integral that it samples.

use calipers::{Input, LsEce, LsEceSampled, Measure, link, noise};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[test]
fn samples_are_within_four_standard_errors_on_200_random_cases() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases = (
        prop::collection::vec((-4.0..4.0, any::<bool>(), 0.1..3.0), 2..80),
        0.02..1.0,
        prop::sample::select(&noise::NAMES[..]),
        prop::sample::select(&link::NAMES[..]),
        any::<u64>(),
    );
    let mut z_squared = 0.0;
    for number in 0..200 {
        let (rows, sigma, noise_name, link_name, seed) = cases.new_tree(&mut runner).unwrap().current();
        let h: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let w: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::logits(&h, &y).weights(&w).check().unwrap();
        let view = predictions.binary().unwrap();
        let (noise, link) = (noise::by_name(noise_name).unwrap(), link::by_name(link_name).unwrap());
        let sampled = LsEceSampled::new(sigma)
            .noise(noise.clone())
            .link(link.clone())
            .n_samples(4000)
            .random_state(seed)
            .estimate(&view)
            .unwrap();
        let exact = LsEce::new().sigma(sigma).tolerance(1e-5).noise(noise).link(link).estimate(&view).unwrap();
        let standard_error = sampled.standard_error.unwrap();
        let z = (sampled.value - exact.value) / standard_error;
        assert!(z.abs() <= 4.0, "case {number}, {noise_name}, {link_name}, sigma {sigma}: z = {z}");
        z_squared += z * z;
    }
    // Standard errors that were too large would pass the line above: the z themselves must have
    // variance 1.
    assert!((z_squared / 200.0 - 1.0).abs() < 0.4, "mean z² is {}", z_squared / 200.0);
}

#[test]
fn the_uniform_kernel_is_the_density_of_the_noise_that_is_drawn() {
    // One point at 0 with outcome 1 and one at 0.6 with outcome 0. Noise of full width 1 makes them
    // overlap on (0.1, 0.5); a kernel twice as wide would make each see the other everywhere.
    let predictions = Input::logits(&[0.0, 0.6], &[1, 0]).check().unwrap();
    let view = predictions.binary().unwrap();
    let sampled = LsEceSampled::new(1.0).noise(calipers::Uniform).n_samples(200_000).estimate(&view).unwrap();
    let exact = LsEce::new().sigma(1.0).noise(calipers::Uniform).estimate(&view).unwrap();
    assert!((sampled.value - exact.value).abs() < 4.0 * sampled.standard_error.unwrap());
}

#[test]
fn a_seed_gives_the_same_bits_on_any_number_of_threads() {
    let predictions = Input::logits(&[0.0, 0.6, -1.0], &[1, 0, 0]).check().unwrap();
    let with_threads = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| LsEceSampled::new(0.3).random_state(5).estimate(&predictions.binary().unwrap()).unwrap())
    };
    assert_eq!(with_threads(1), with_threads(4));
    assert_ne!(
        with_threads(1).value,
        LsEceSampled::new(0.3).random_state(6).estimate(&predictions.binary().unwrap()).unwrap().value
    );
}
