//! p-values beyond the number of draws: small enough for many groups, and never too small.

use calipers::inference::{NoiseFloor, Resampler, holm};
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

/// A resampler without rare draws, as most measures have it.
struct WithoutRareDraws<'a>(&'a dyn Resampler);

impl Resampler for WithoutRareDraws<'_> {
    fn value(&self) -> f64 {
        self.0.value()
    }

    fn calibrated_value(&self) -> f64 {
        self.0.calibrated_value()
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        self.0.calibrated_draw(draw)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.0.bootstrap_draw(draw)
    }

    fn squared_differences(&self) -> Option<f64> {
        self.0.squared_differences()
    }

    fn largest_difference(&self) -> Option<f64> {
        self.0.largest_difference()
    }

    fn effective_rows(&self) -> f64 {
        self.0.effective_rows()
    }
}

/// The floor by 50 draws and more, and what the p-value is by the definition: draws one by one,
/// until ten reach the value or there are 4,000; with their number, and how many reached it.
fn floor_and_definition(slope: f64, seed: u64, resolution: f64) -> (NoiseFloor, f64, u64, u64) {
    let (p, y) = group(100, slope, 300 + seed);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let (view, measure) = (predictions.binary().unwrap(), LsEce::new().residual());
    let resampler = measure.resampler(&view, None).unwrap();
    let floor = NoiseFloor::resolving(&WithoutRareDraws(&*resampler), 50, resolution, seed).unwrap();
    let value = resampler.calibrated_value();
    let reaches = |number: u64| resampler.calibrated_draw(draw_seed(seed, number)) >= value * (1.0 - 1e-9);
    let n_first = (0..50).filter(|number| reaches(*number)).count() as u64;
    let (mut n_reaching, mut n) = (n_first, 50);
    while n_reaching < 10 && n < 4000 {
        n_reaching += u64::from(reaches(n));
        n += 1;
    }
    let p_value = match (n_first >= 10, n_reaching >= 10) {
        (true, _) => (n_first + 1) as f64 / 51.0,
        (false, true) => 10.0 / n as f64,
        (false, false) => (n_reaching + 1) as f64 / 4001.0,
    };
    (floor, p_value, n, n_reaching)
}

#[test]
fn more_draws_are_made_until_ten_reach_the_value() {
    // Overconfident: too little for 50 draws, and enough for 4,000.
    let mut n_found = 0;
    for seed in 0..10 {
        let (first, ..) = floor_and_definition(0.2, seed, 1.0);
        let (all, expected, ..) = floor_and_definition(0.2, seed, 2.5e-3);
        println!("{:.5} by 50 draws, {:.5} by {}", first.p_value, all.p_value, all.n_draws);
        n_found += u32::from(first.p_value > 2.5e-3 && all.p_value < 2.5e-3);
        assert_eq!((first.mean, first.n_resamples, first.n_draws), (all.mean, all.n_resamples, 50));
        assert!(all.p_value <= expected || all.n_draws < 4000, "{} {expected}", all.p_value);
    }
    assert!(n_found >= 4, "{n_found} of 10");
    for seed in 0..20 {
        let (found, expected, n, n_reaching) = floor_and_definition(1.0, 100 + seed, 2.5e-3);
        let same = found.p_value == expected && found.n_draws == n;
        assert!(same || n_reaching == 0, "{seed}: {found:?} {expected}");
    }
}

/// One class of many: outcomes with probabilities from 1e-5 to 0.1, true for a `slope` of 1.
fn class(n: usize, slope: f64, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut random = Random::new(seed);
    let mut row = || {
        let h = 9.0 * random.uniform() - 11.5;
        (logistic(h), random.uniform() < logistic(-6.0 + slope * (h + 6.0)))
    };
    (0..n).map(|_| row()).unzip()
}

/// The floor of a class among 200 classes.
fn floor_of_class(p: &[f64], y: &[bool], n_resamples: u64, seed: u64) -> NoiseFloor {
    let predictions = Input::probabilities(p, y).check().unwrap();
    let (view, measure) = (predictions.binary().unwrap(), LsEce::new().sigma(0.4).residual());
    NoiseFloor::resolving(&*measure.resampler(&view, None).unwrap(), n_resamples, 2.5e-4, seed).unwrap()
}

#[test]
fn rare_draws_give_the_p_value_of_many_plain_draws() {
    let mut n_compared = 0;
    for seed in 0..12 {
        // Outcomes hardly depend on the predictions, as in a class that a model cannot tell.
        let (p, y) = class(600, 0.4, 700 + seed);
        let found = floor_of_class(&p, &y, 50, seed);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let (view, measure) = (predictions.binary().unwrap(), LsEce::new().sigma(0.4).residual());
        let resampler = measure.resampler(&view, None).unwrap();
        let plain = WithoutRareDraws(&*resampler);
        let expected = NoiseFloor::new(&plain, 20_000, 90 + seed).unwrap().p_value;
        println!("p = {:.2e} by {} draws, {expected:.2e} by 20,000", found.p_value, found.n_draws);
        // Below, 20,000 draws are not enough to compare with.
        if found.n_draws > 50 && expected > 5e-4 {
            n_compared += 1;
            let ratio = found.p_value / expected;
            assert!((0.4..=2.5).contains(&ratio) || expected > 0.15, "{} for {expected}", found.p_value);
        }
    }
    assert!(n_compared >= 4, "{n_compared}");
}

#[test]
fn small_p_values_of_calibrated_classes_are_as_rare_as_they_say() {
    let p_values = runs(2000, |run| {
        let (p, y) = class(300, 1.0, 40_000 + run);
        floor_of_class(&p, &y, 50, run).p_value
    });
    let [rare, usual] = [0.001, 0.01].map(|level| share(p_values.iter().map(|p| *p <= level)));
    println!("p <= 0.001 in {}, p <= 0.01 in {}", shown(rare), shown(usual));
    assert!(rare.value <= 0.003, "{}", shown(rare));
    assert!(usual.value <= 0.017, "{}", shown(usual));
}

/// Errors that alternate faster than any tilt of the rare draws: the bound on the tail finds them.
#[test]
fn a_group_whose_errors_alternate_is_found_among_many() {
    for seed in 0..4 {
        let mut random = Random::new(60_000 + seed);
        let mut row = || {
            let p = 0.1 + 0.8 * random.uniform();
            let error = if ((p * 20.0) as u64).is_multiple_of(2) { 0.1 } else { -0.1 };
            (p, random.uniform() < p + error)
        };
        let (p, y): (Vec<f64>, Vec<bool>) = (0..8000).map(|_| row()).unzip();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let (view, measure) = (predictions.binary().unwrap(), LsEce::new().sigma(0.03).residual());
        let resampler = measure.resampler(&view, None).unwrap();
        let found = NoiseFloor::resolving(&*resampler, 1000, 0.05 / 60.0, seed).unwrap();
        println!("p = {:.1e}", found.p_value);
        assert!(found.p_value < 1e-6, "{}", found.p_value);
    }
}

/// The seed of a calibrated draw by its number, as the library makes it.
fn draw_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(2 * number)
}
