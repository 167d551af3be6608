//! Signed parts against those of the population.

use calipers::inference::{Part, Parts};
use calipers::population::Family;
use calipers::{Assess, Input, LsEce, Sample, Sketch};

use crate::data::{Failures, Random, logistic, runs, share, shown};

/// The parts of the residual form of a family whose logits have a density: too high, too low,
/// overconfident and underconfident.
fn of_population(family: &Family, sigma: f64) -> [f64; 4] {
    let step = 0.01;
    let at = |k: i32| f64::from(k) * step;
    let places = -1500..1500;
    let gaps: Vec<f64> = places
        .clone()
        .map(|k| (family.truth().probability(at(k)) - logistic(at(k))) * family.logits().density(at(k)) * step)
        .collect();
    let reach = (6.0 * sigma / step).ceil() as i32;
    let kernel: Vec<f64> = (-reach..=reach)
        .map(|k| (-0.5 * (at(k) / sigma).powi(2)).exp() / (sigma * std::f64::consts::TAU.sqrt()))
        .collect();
    let mut parts = [0.0; 4];
    for k in places {
        let residual: f64 = (-reach..=reach)
            .filter_map(|by| gaps.get((k - by + 1500) as usize).map(|gap| gap * kernel[(by + reach) as usize]))
            .sum();
        let outward = if k > 0 { residual } else { -residual };
        for (part, signed) in parts.iter_mut().zip([-residual, residual, -outward, outward]) {
            *part += signed.max(0.0) * step;
        }
    }
    parts
}

fn parts(family: &Family, n: usize, sigma: f64, seed: u64) -> (f64, Parts) {
    let sample = family.sample(n, seed);
    let predictions = sample.input().check().unwrap();
    let measure = LsEce::new().sigma(sigma);
    let found = Assess::new(&measure).n_resamples(20).random_state(seed).run(&predictions.binary().unwrap()).unwrap();
    (found.deciding().estimate.value, found.parts.unwrap())
}

#[test]
fn parts_say_in_which_direction_a_model_is_wrong_and_sum_to_the_value() {
    for (name, large, small) in [
        ("overconfident", "overconfident", "underconfident"),
        ("confident-network", "overconfident", "underconfident"),
        ("underconfident", "underconfident", "overconfident"),
        ("timid", "underconfident", "overconfident"),
        ("shifted", "too_low", "too_high"),
    ] {
        let (value, found) = parts(&Family::named(name).unwrap(), 5000, 0.2, 3);
        let part = |name: &str| found.named().into_iter().find(|(other, _)| *other == name).unwrap().1.unwrap();
        let (large, small) = (part(large), part(small));
        println!("{name}: {:.4} and {:.4} of {value:.4}", large.value, small.value);
        assert!(large.value > 5.0 * small.value && large.debiased > 10.0 * small.debiased, "{name}: {found:?}");
        assert!(large.interval.lower > small.interval.upper, "{name}: {found:?}");
        let confidence = found.confidence.unwrap();
        for sum in [found.too_high.value + found.too_low.value, confidence.over.value + confidence.under.value] {
            assert!((sum - value).abs() < 1e-4, "{name}: {sum} {value}");
        }
    }
}

/// What is too low of the outcomes is too high of their opposites.
#[test]
fn the_other_outcome_has_the_other_parts() {
    let sample = Family::named("overconfident").unwrap().sample(2000, 5);
    let measure = LsEce::new().sigma(0.3);
    let found = |logits: &[f64], outcomes: &[bool]| {
        let predictions = Input::logits(logits, outcomes).check().unwrap();
        Assess::new(&measure).n_resamples(20).run(&predictions.binary().unwrap()).unwrap().parts.unwrap()
    };
    let one = found(&sample.scores, &sample.outcomes);
    let turned: Vec<f64> = sample.scores.iter().map(|h| -h).collect();
    let other = found(&turned, &sample.outcomes.iter().map(|y| !y).collect::<Vec<bool>>());
    let near = |a: &Part, b: &Part| {
        let close = |a: f64, b: f64| (a - b).abs() < 2e-4;
        assert!(close(a.value, b.value) && close(a.debiased, b.debiased), "{a:?} {b:?}");
        // Blocks are cut from the left.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(near(a.interval.lower, b.interval.lower) && near(a.interval.upper, b.interval.upper), "{a:?} {b:?}");
    };
    near(&one.too_low, &other.too_high);
    near(&one.too_high, &other.too_low);
    let (one, other) = (one.confidence.unwrap(), other.confidence.unwrap());
    near(&one.over, &other.over);
    near(&one.under, &other.under);
}

#[test]
fn intervals_of_parts_cover_those_of_the_population() {
    let (sigma, mut failures) = (0.2, Failures::default());
    for name in ["overconfident", "underconfident", "shifted", "piecewise", "slow-sinusoidal", "breaks-when-sure"] {
        let family = Family::named(name).unwrap();
        let truths = of_population(&family, sigma);
        let whole = family.residual_ls_ece(&calipers::Gaussian, sigma).unwrap().value;
        assert!((truths[0] + truths[1] - whole).abs() < 1e-2 * whole, "{name}: {truths:?} {whole}");
        assert!((truths[2] + truths[3] - whole).abs() < 1e-2 * whole, "{name}: {truths:?} {whole}");
        let found = runs(300, |run| parts(&family, 2000, sigma, 11_000 + run).1);
        for (place, truth) in truths.into_iter().enumerate() {
            let part = found[0].named()[place].0;
            let covered = share(found.iter().map(|found| {
                let interval = found.named()[place].1.unwrap().interval;
                (interval.lower..=interval.upper).contains(&truth)
            }));
            println!("{name}, {part}: truth {truth:.4}, coverage {}", shown(covered));
            failures.expect_within(covered, 0.92..=1.0, &format!("{name}, {part}"));
        }
    }
}

/// One level whose gap is below its noise: a sample may show the other sign.
#[test]
fn intervals_of_parts_cover_where_the_sign_is_uncertain() {
    let mut failures = Failures::default();
    for rate in [0.5, 0.492, 0.484, 0.476, 0.524] {
        let found = runs(400, |run| {
            let mut random = Random::new(15_000 + run);
            let outcomes: Vec<bool> = (0..1000).map(|_| random.uniform() < rate).collect();
            let predictions = Input::probabilities(&[0.5; 1000], &outcomes).check().unwrap();
            let measure = LsEce::new();
            Assess::new(&measure).n_resamples(20).run(&predictions.binary().unwrap()).unwrap().parts.unwrap()
        });
        let truths = [("too high", 0.5 - rate), ("too low", rate - 0.5)];
        for (place, (name, truth)) in truths.into_iter().enumerate() {
            let covered = share(found.iter().map(|found| {
                let interval = [&found.too_high, &found.too_low][place].interval;
                (interval.lower..=interval.upper).contains(&truth.max(0.0))
            }));
            println!("constant 0.5 with rate {rate}, {name}: coverage {}", shown(covered));
            failures.expect_within(covered, 0.92..=1.0, &format!("rate {rate}, {name}"));
        }
    }
}

/// A confidence of 0.3 in a predicted class that is right half of the time is too low:
/// underconfident, although it is nearer to 0 than to 1.
#[test]
fn a_confidence_below_one_half_that_is_too_low_is_underconfident() {
    let outcomes: Vec<bool> = (0..600).map(|row| row % 2 == 0).collect();
    let probabilities = [0.3; 600];
    let input = Input::probabilities(&probabilities, &outcomes);
    let measure = LsEce::new();
    let assess = Assess::new(&measure).n_resamples(20);
    let of_rows = |input: Input<'_>| {
        let predictions = input.check().unwrap();
        let view = predictions.binary().unwrap();
        let mut sketch = Sketch::new();
        sketch.update(&view).unwrap();
        (assess.run(&view).unwrap().parts.unwrap(), sketch)
    };
    let (confidences, sketch) = of_rows(input.clone().confidences());
    let found = confidences.confidence.unwrap();
    assert!(found.under.debiased > 0.15 && found.over.debiased < 0.01, "{found:?}");
    // Of a binary outcome, 0.3 is too far from 1/2.
    let found = of_rows(input).0.confidence.unwrap();
    assert!(found.over.debiased > 0.15 && found.under.debiased < 0.01, "{found:?}");
    // A sketch does not know which of both it has, unless it is told.
    let unknown = assess.run(&sketch).unwrap().parts.unwrap();
    assert!(unknown.confidence.is_none() && unknown.too_low.debiased > 0.15, "{unknown:?}");
    let told = assess.run(Sample::from(&sketch).confidences(true)).unwrap().parts.unwrap();
    assert!(told.confidence.unwrap().under.debiased > 0.15, "{told:?}");
}
