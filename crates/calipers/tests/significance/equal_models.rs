//! Two models with the same true ECE: neither is called better more often than the level says.

use calipers::{BinnedEce, Compare, Input, LsEce, Measure, Pair};

use crate::data::{Failures, Random, logistic, normal_distribution, normal_mean, root, runs, share, shown};

/// Of the scores z, whose outcomes have the probabilities logistic(z).
const SPREAD: f64 = 1.5;

/// What a model says of a score: increasing, so that its gap is that of each score.
type Model = Box<dyn Fn(f64) -> f64 + Sync + Send>;

fn slope(slope: f64) -> Model {
    Box::new(move |z| logistic(slope * z))
}

fn shift(shift: f64) -> Model {
    Box::new(move |z| logistic(z + shift))
}

/// Wrong above 1 only.
fn local(shift: f64) -> Model {
    Box::new(move |z| logistic(if z > 1.0 { z + shift } else { z }))
}

fn ece(model: &Model) -> f64 {
    normal_mean(|z| (model(SPREAD * z) - logistic(SPREAD * z)).abs())
}

/// The member of a series of models, from the first on ever worse, whose ECE is that.
fn with_ece(target: f64, least: f64, most: f64, series: fn(f64) -> Model) -> Model {
    let found = root(least, most, |x| ece(&series(x)) - target);
    let model = series(found);
    assert!((ece(&model) / target - 1.0).abs() < 1e-3, "{found}");
    model
}

fn compare(measure: &dyn Measure, models: [&Model; 2], n: usize, seed: u64) -> Pair {
    let mut random = Random::new(seed);
    let scores: Vec<f64> = (0..n).map(|_| SPREAD * random.normal()).collect();
    let outcomes: Vec<bool> = scores.iter().map(|z| random.uniform() < logistic(*z)).collect();
    let said = models.map(|model| scores.iter().map(|z| model(*z)).collect::<Vec<f64>>());
    pair(measure, [&said[0], &said[1]], &outcomes, seed)
}

fn pair(measure: &dyn Measure, said: [&[f64]; 2], outcomes: &[bool], seed: u64) -> Pair {
    let [a, b] = said.map(|said| Input::probabilities(said, outcomes).check().unwrap());
    let models = [("a", &a.binary().unwrap()), ("b", &b.binary().unwrap())];
    Compare::new(measure).n_resamples(20).random_state(seed).run(&models).unwrap().pairs[0]
}

fn size(measure: &dyn Measure, models: [&Model; 2], n: usize, n_runs: u64) -> calipers::simulate::MonteCarlo {
    share(runs(n_runs, |run| compare(measure, models, n, 20_000 + run).p_value <= 0.05))
}

/// A sigma above that of the rule is that of the rule for pairs: so sigmas from 0.2 on are one
/// here.
#[test]
fn pairs_are_compared_at_the_sigma_of_the_rule_where_a_larger_one_is_given() {
    let models = [&slope(1.4), &shift(0.3)];
    let auto = compare(&LsEce::new(), models, 2000, 1);
    for sigma in [0.2, 0.5, 1.0] {
        assert_eq!(compare(&LsEce::new().sigma(sigma), models, 2000, 1), auto);
    }
    assert_ne!(compare(&LsEce::new().sigma(0.05), models, 2000, 1), auto);
}

#[test]
fn models_of_equal_ece_and_different_shape_are_called_different_as_often_as_the_level_says() {
    let mut failures = Failures::default();
    let over = slope(1.5);
    let target = ece(&over);
    let under = with_ece(target, 0.99, 0.2, slope);
    let shifted = with_ece(target, 0.01, 2.0, shift);
    println!("ECE {target:.4}");
    let measures = [("auto and from 0.2 on", LsEce::new()), ("0.05", LsEce::new().sigma(0.05))];
    for (name, models) in [("over and under", [&over, &under]), ("slope and shift", [&over, &shifted])] {
        for (sigma, measure) in &measures {
            let found = size(measure, models, 2000, 300);
            println!("{name}, sigma {sigma}: size {}", shown(found));
            failures.expect_within(found, 0.02..=0.07, &format!("{name}, sigma {sigma}"));
        }
    }
}

/// Rows and runs: with many rows the difference in bias shows more.
#[cfg(not(feature = "slow-tests"))]
const LOCAL_RUNS: &[(usize, u64)] = &[(2_000, 150)];
#[cfg(feature = "slow-tests")]
const LOCAL_RUNS: &[(usize, u64)] = &[(2_000, 2_000), (10_000, 600), (50_000, 200)];

#[test]
fn a_local_gap_is_not_called_different_from_a_gap_everywhere_of_equal_ece() {
    let mut failures = Failures::default();
    let part = local(0.8);
    let target = ece(&part);
    let whole = with_ece(target, 0.001, 1.0, shift);
    let hot = with_ece(target, 1.001, 3.0, slope);
    println!("ECE {target:.4}");
    for (name, models) in [("local and shift", [&part, &whole]), ("local and slope", [&part, &hot])] {
        for (sigma, measure) in [("auto", LsEce::new()), ("0.05", LsEce::new().sigma(0.05))] {
            for (n, n_runs) in LOCAL_RUNS {
                let found = size(&measure, models, *n, *n_runs);
                println!("{name}, sigma {sigma}, n = {n}: size {}", shown(found));
                failures.expect_within(found, 0.0..=0.07, &format!("{name}, sigma {sigma}, n = {n}"));
            }
        }
    }
}

/// a ~ N(0, 0.3), b ~ N(0, 1.2), y = 1{a + b + e > 0}: one model knows both, the other only a.
#[test]
fn of_two_calibrated_models_of_different_sharpness_neither_is_better() {
    let mut failures = Failures::default();
    for measure in
        [&LsEce::new().sigma(0.4) as &dyn Measure, &LsEce::new(), &LsEce::new().sigma(1.0), &BinnedEce::new()]
    {
        let named = share(runs(100, |run| {
            let mut random = Random::new(30_000 + run);
            let mut row = || {
                let (a, b) = (0.3 * random.normal(), 1.2 * random.normal());
                (normal_distribution(a + b), (normal_distribution(a / 2.44f64.sqrt()), a + b + random.normal() > 0.0))
            };
            let (sharp, (blunt, outcomes)): (Vec<f64>, (Vec<f64>, Vec<bool>)) = (0..2000).map(|_| row()).unzip();
            pair(measure, [&sharp, &blunt], &outcomes, run).p_value <= 0.05
        }));
        println!("two calibrated models: {} named", shown(named));
        failures.expect(named.value <= 0.07, shown(named));
    }
}

#[test]
fn a_model_that_is_called_better_is_so() {
    let base = ece(&slope(1.5));
    // Each with the model that is worse by ECE as the second.
    let cases = [
        ("over and under", slope(1.5), with_ece(1.5 * base, 0.99, 0.2, slope)),
        ("under and over", with_ece(base, 0.99, 0.2, slope), with_ece(1.5 * base, 1.01, 4.0, slope)),
        ("slope and shift", slope(1.5), with_ece(1.5 * base, 0.01, 3.0, shift)),
        ("shift and slope", with_ece(base, 0.01, 3.0, shift), with_ece(1.5 * base, 1.01, 4.0, slope)),
        ("local and shift", with_ece(0.5 * base, 0.01, 6.0, local), with_ece(base, 0.01, 3.0, shift)),
    ];
    let (mut n_right, mut n_wrong) = (0, 0);
    for sigma in [None, Some(0.05)] {
        let measure = sigma.map_or(LsEce::new(), |sigma| LsEce::new().sigma(sigma));
        for (name, better, worse) in &cases {
            let found = runs(60, |run| compare(&measure, [better, worse], 2000, 50_000 + run));
            let count = |right: bool| {
                found.iter().filter(|pair| pair.p_value <= 0.05 && (pair.difference < 0.0) == right).count()
            };
            println!("{name}, sigma {sigma:?}: {} right and {} wrong of 60", count(true), count(false));
            n_right += count(true);
            n_wrong += count(false);
        }
    }
    let right = n_right as f64 / (n_right + n_wrong) as f64;
    println!("right in {n_right} of {}", n_right + n_wrong);
    assert!(n_right > 60 && right >= 0.975, "{right}");
}

/// Models with independent errors of the same law.
#[test]
fn exchangeable_models_are_called_different_as_often_as_the_level_says() {
    let mut failures = Failures::default();
    for (measure, name) in [(&BinnedEce::new() as &dyn Measure, "ECE"), (&LsEce::new(), "LS-ECE")] {
        for (n, noise) in [(300, 1.0), (1000, 0.5)] {
            let found = share(runs(150, |run| {
                let mut random = Random::new(60_000 + run);
                let mut row = || {
                    let z = SPREAD * random.normal();
                    (
                        logistic(z + noise * random.normal()),
                        (logistic(z + noise * random.normal()), random.uniform() < logistic(z)),
                    )
                };
                let (a, (b, outcomes)): (Vec<f64>, (Vec<f64>, Vec<bool>)) = (0..n).map(|_| row()).unzip();
                pair(measure, [&a, &b], &outcomes, run).p_value <= 0.05
            }));
            println!("{name}, exchangeable models, n = {n}: size {}", shown(found));
            failures.expect_within(found, 0.0..=0.07, &format!("{name}, n = {n}"));
        }
    }
}
