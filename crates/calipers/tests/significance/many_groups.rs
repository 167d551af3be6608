//! p-values beyond the number of draws: small enough for many groups, and never too small.

use calipers::inference::{NoiseFloor, holm};
use calipers::{Input, LsEce, Measure};

use crate::data::{Random, logistic, runs, share, shown};

/// Scores between -3 and 3, whose outcomes are those of the scores times `slope`.
fn group(n: usize, slope: f64, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut random = Random::new(seed);
    let mut row = || {
        let h = 6.0 * random.uniform() - 3.0;
        (logistic(h), random.uniform() < logistic(slope * h))
    };
    (0..n).map(|_| row()).unzip()
}

fn p_value(measure: &LsEce, p: &[f64], y: &[bool], n_resamples: u64, seed: u64) -> f64 {
    let predictions = Input::probabilities(p, y).check().unwrap();
    NoiseFloor::new(&*measure.resampler(&predictions.binary().unwrap(), None).unwrap(), n_resamples, seed)
        .unwrap()
        .p_value
}

#[test]
fn a_broken_group_of_a_hundred_rows_has_a_p_value_far_below_one_in_its_draws() {
    let measure = LsEce::new().residual();
    for seed in 0..5 {
        // Outcomes go against the predictions.
        let (p, y) = group(100, -1.0, 20 + seed);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let value = measure.estimate(&predictions.binary().unwrap()).unwrap().value;
        let found = p_value(&measure, &p, &y, 1000, seed);
        println!("residual form {value:.3}: p = {found:.1e}");
        assert!(value > 0.3 && found < 1e-6, "{value}: {found}");
    }
}

#[test]
fn broken_groups_are_found_among_a_thousand() {
    let measure = LsEce::new().residual();
    let p_values = runs(1000, |number| {
        let (p, y) = group(100, if number % 100 == 0 { -1.0 } else { 1.0 }, 900 + number);
        p_value(&measure, &p, &y, 200, number)
    });
    let adjusted = holm(&p_values);
    let found: Vec<usize> = (0..1000).filter(|number| adjusted[*number] <= 0.05).collect();
    assert_eq!(found, (0..1000).step_by(100).collect::<Vec<usize>>());
}

#[test]
fn small_p_values_of_calibrated_rows_are_as_rare_as_they_say() {
    for (n, sigma) in [(20, 0.5), (50, 0.2), (100, 1.0)] {
        let measure = LsEce::new().sigma(sigma).residual();
        let p_values = runs(3000, |run| {
            let (p, y) = group(n, 1.0, 5000 + run);
            p_value(&measure, &p, &y, 199, run)
        });
        let [rare, usual] = [0.001, 0.05].map(|level| share(p_values.iter().map(|p| *p <= level)));
        println!("n = {n}, sigma {sigma}: p <= 0.001 in {}, p <= 0.05 in {}", shown(rare), shown(usual));
        assert!(rare.value <= 0.002, "n = {n}: {}", shown(rare));
        assert!((0.03..=0.07).contains(&usual.value), "n = {n}: {}", shown(usual));
    }
}

#[test]
fn more_draws_are_made_where_none_of_the_first_reaches_the_value() {
    let measure = LsEce::new().residual();
    let floor = |slope: f64, seed: u64, most: u64| {
        let (p, y) = group(100, slope, seed);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        let resampler = measure.resampler(&view, None).unwrap();
        NoiseFloor::refined(&*resampler, 50, most, seed).unwrap()
    };
    // Overconfident: too little for the bound on the tail, and enough for 4,000 draws.
    let mut n_found = 0;
    for seed in 0..10 {
        let (first, all) = (floor(0.2, 300 + seed, 50), floor(0.2, 300 + seed, 4000));
        println!("{:.5} by 50 draws, {:.5} by 4,000", first.p_value, all.p_value);
        n_found += u32::from(first.p_value > 1e-3 && all.p_value < 1e-3);
        assert_eq!((first.mean, first.n_resamples), (all.mean, all.n_resamples));
    }
    assert!(n_found >= 4, "{n_found} of 10");
    // Where a draw reaches the value, no more are made.
    for seed in 0..20 {
        let [first, all] = [50, 4000].map(|most| floor(1.0, 400 + seed, most).p_value);
        assert!(first == all || first <= 1.0 / 51.0, "{first} {all}");
    }
}
