//! Models that are sure and right: draws without a surprise are equal to the value, and count as
//! reaching it.

use calipers::{Assess, BinnedEce, Input, LsEce, Measure, Sketch};

use crate::data::{Failures, Random, logistic, runs, share, shown};

#[test]
fn five_hundred_certain_and_right_rows_are_not_miscalibrated() {
    let measures: [&dyn Measure; 4] =
        [&LsEce::new(), &LsEce::new().sigma(0.5), &LsEce::new().sigma(0.3).residual(), &BinnedEce::new()];
    for (p, y) in [(1.0, 1), (0.0, 0), (1.0 - 1e-7, 1), (1e-9, 0)] {
        let (p_rows, y_rows) = ([p; 500], [y; 500]);
        let predictions = Input::probabilities(&p_rows, &y_rows).check().unwrap();
        let view = predictions.binary().unwrap();
        for measure in measures {
            let found = Assess::new(measure).n_resamples(999).run(&view).unwrap();
            assert_eq!(found.significant, Some(false), "{p}: {}", found.sentence());
            assert_eq!(found.floor.as_ref().unwrap().p_value, 1.0, "{p}: {}", found.sentence());
            assert!(found.interval.is_upper_limit && found.interval.upper < 0.02, "{p}: {:?}", found.interval);
        }
    }
}

/// Logits ±(from + Exp(3)), both signs or one, with outcomes drawn from them.
fn sure_rows(n: usize, from: f64, both_sides: bool, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut random = Random::new(seed);
    let mut row = || {
        let size = from - 3.0 * random.uniform().ln();
        let logit = if both_sides && random.uniform() < 0.5 { -size } else { size };
        (logit, random.uniform() < logistic(logit))
    };
    (0..n).map(|_| row()).unzip()
}

#[test]
fn the_test_keeps_its_size_where_surprises_are_rare() {
    let mut failures = Failures::default();
    for (n, from, both_sides) in [(100, 8.0, false), (1000, 9.0, true)] {
        let measures: [(&str, &dyn Measure); 4] = [
            ("LS-ECE, auto", &LsEce::new()),
            ("LS-ECE, 0.5", &LsEce::new().sigma(0.5)),
            ("residual form, 0.05", &LsEce::new().sigma(0.05).residual()),
            ("ECE", &BinnedEce::new()),
        ];
        for (name, measure) in measures {
            let rejected = share(runs(400, |run| {
                let (logits, outcomes) = sure_rows(n, from, both_sides, 600 + run);
                let predictions = Input::logits(&logits, &outcomes).check().unwrap();
                let found =
                    Assess::new(measure).n_resamples(99).random_state(run).run(&predictions.binary().unwrap()).unwrap();
                found.significant == Some(true)
            }));
            println!("{name}, n = {n}, logits from {from}: size {}", shown(rejected));
            failures.expect(rejected.value <= 0.07, format!("{name}, n = {n}: {}", shown(rejected)));
        }
    }
}

/// Bins of a sketch are drawn as sums: those of the rows are computed alike.
#[test]
fn the_test_of_a_sketch_keeps_its_size_where_surprises_are_rare() {
    let mut failures = Failures::default();
    for (n, from) in [(100, 9.0), (300, 9.0), (1000, 9.0)] {
        for (name, measure) in [("ECE", &BinnedEce::new() as &dyn Measure), ("LS-ECE", &LsEce::new())] {
            let rejected = share(runs(100, |run| {
                let (logits, outcomes) = sure_rows(n, from, false, 8000 + run);
                let probabilities: Vec<f64> = logits.iter().map(|h| logistic(*h)).collect();
                let predictions = Input::probabilities(&probabilities, &outcomes).check().unwrap();
                let mut sketch = Sketch::new();
                sketch.update(&predictions.binary().unwrap()).unwrap();
                Assess::new(measure).n_resamples(99).random_state(run).run(&sketch).unwrap().significant == Some(true)
            }));
            println!("{name} of a sketch, n = {n}: size {}", shown(rejected));
            failures.expect(rejected.value <= 0.07, format!("{name} of a sketch, n = {n}: {}", shown(rejected)));
        }
    }
}

#[test]
fn weighted_rows_that_are_certain_and_right_are_not_miscalibrated() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let logits: Vec<f64> = (0..500).map(|_| 17.0 + 18.0 * random.uniform()).collect();
        let weights: Vec<f64> = (0..500).map(|_| 0.1 + 0.9 * random.uniform()).collect();
        let predictions = Input::logits(&logits, &[1u8; 500]).weights(&weights).check().unwrap();
        let found = Assess::new(&LsEce::new()).n_resamples(99).run(&predictions.binary().unwrap()).unwrap();
        assert_eq!(found.floor.as_ref().unwrap().p_value, 1.0, "{}", found.sentence());
    }
}

/// Two tied rows of unequal weight are 1.55 rows of noise, and a binomial number has a whole number
/// of tries.
#[test]
fn the_test_of_weighted_pairs_keeps_its_size() {
    for sigma in [0.05, 0.3] {
        let measure = LsEce::new().sigma(sigma);
        let rejected = share(runs(300, |run| {
            let mut random = Random::new(40_000 + run);
            let logits: Vec<f64> = (0..500).flat_map(|_| [random.normal(); 2]).collect();
            let outcomes: Vec<bool> = logits.iter().map(|h| random.uniform() < logistic(*h)).collect();
            let weights: Vec<f64> = (0..1000).map(|row| if row % 2 == 0 { 1.0 } else { 0.3 }).collect();
            let predictions = Input::logits(&logits, &outcomes).weights(&weights).check().unwrap();
            let found =
                Assess::new(&measure).n_resamples(99).random_state(run).run(&predictions.binary().unwrap()).unwrap();
            found.significant == Some(true)
        }));
        println!("pairs of weights 1 and 0.3, sigma {sigma}: size {}", shown(rejected));
        assert!(rejected.value <= 0.08, "{}", shown(rejected));
    }
}
