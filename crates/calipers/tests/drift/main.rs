//! Two samples that share no rows: the size and power of the test of outcomes at equal predictions,
//! coverage of the interval, sketches against rows, and inputs that are hard.

mod clusters;

use calipers::population::{Family, Logits, Truth};
use calipers::simulate::LsEceTable;
use calipers::{BinnedEce, Change, Drift, Input, LsEce, Measure, Sample, Sketch};
use rayon::prelude::*;

/// Draws of each kind: enough for a test at 5 %.
const DRAWS: u64 = 99;

/// Rows of one sample.
struct Rows {
    p: Vec<f64>,
    y: Vec<bool>,
}

/// Scores are rounded to steps of this size, where it is not 0.
fn rows(logits: &Logits, truth: &Truth, step: f64, n: usize, seed: u64) -> Rows {
    let scores = Family::new("sample", logits.clone(), Truth::CALIBRATED).unwrap().sample(n, seed).scores;
    let scores: Vec<f64> =
        scores.iter().map(|h| if step > 0.0 { (h / step).round() * step } else { h.clamp(-30.0, 30.0) }).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..50).for_each(|_| _ = uniform());
    let y = scores.iter().map(|h| uniform() < truth.probability(*h)).collect();
    Rows { p: scores.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect(), y }
}

fn change(measure: &dyn Measure, before: &Rows, after: &Rows, seed: u64) -> Change {
    let [before, after] = [before, after].map(|rows| Input::probabilities(&rows.p, &rows.y).check().unwrap());
    let drift = Drift::new(measure).n_resamples(DRAWS).random_state(seed);
    drift.run(&before.binary().unwrap(), &after.binary().unwrap()).unwrap()
}

fn sketch(rows: &Rows) -> Sketch {
    let mut sketch = Sketch::new();
    sketch.update(&Input::probabilities(&rows.p, &rows.y).check().unwrap().binary().unwrap()).unwrap();
    sketch
}

const fn normal(mean: f64, deviation: f64) -> Logits {
    Logits::Normal { mean, deviation }
}

/// A case of the test's size: the law of scores before and after, their step, and the common truth.
type Case = (&'static str, Logits, Logits, f64, Truth);

fn equal_curves() -> Vec<Case> {
    let overconfident = || Truth::Affine { intercept: 0.3, slope: 0.6 };
    let waves = || Truth::Sinusoidal { amplitude: 0.8, frequency: 2.0 };
    let jumps = || Truth::Piecewise { edges: vec![-1.0, 1.5], shifts: vec![0.6, -0.5, 0.3] };
    vec![
        ("calibrated", normal(0.0, 2.0), normal(0.0, 2.0), 0.0, Truth::CALIBRATED),
        ("calibrated, other scores", normal(0.0, 2.0), normal(1.0, 1.5), 0.0, Truth::CALIBRATED),
        ("overconfident", normal(-0.5, 1.5), normal(-0.5, 1.5), 0.0, overconfident()),
        ("overconfident, other scores", normal(-0.5, 1.5), normal(1.0, 1.0), 0.0, overconfident()),
        ("waves, other scores", normal(0.0, 2.0), normal(1.0, 1.5), 0.0, waves()),
        ("jumps, other scores", normal(0.0, 2.0), normal(1.0, 1.5), 0.0, jumps()),
        ("five levels, other scores", normal(0.0, 1.0), normal(0.8, 1.0), 1.0, overconfident()),
        ("rare", normal(-4.0, 1.0), normal(-3.5, 1.0), 0.0, Truth::CALIBRATED),
        ("very sure", normal(0.0, 6.0), normal(2.0, 6.0), 0.0, overconfident()),
        ("heavy tails", Logits::HeavyTails, Logits::HeavyTails, 0.0, Truth::CALIBRATED),
    ]
}

/// The share of tests at 5 % that find a change.
fn share_found(case: &Case, truth_after: &Truth, sizes: [usize; 2], n_runs: u64) -> f64 {
    let (_, before, after, step, truth) = case;
    let measure = BinnedEce::new();
    let found = (0..n_runs).into_par_iter().filter(|run| {
        let before = rows(before, truth, *step, sizes[0], 2 * run);
        let after = rows(after, truth_after, *step, sizes[1], 2 * run + 1);
        change(&measure, &before, &after, *run).is_significant()
    });
    found.count() as f64 / n_runs as f64
}

/// A test with a size of 5 % is outside of these limits about twice in a thousand times.
#[test]
fn the_test_of_the_curve_has_its_size_whatever_the_scores_do() {
    for case in equal_curves() {
        let share = share_found(&case, &case.4, [200, 300], 200);
        assert!((0.01..=0.105).contains(&share), "{}: {share}", case.0);
    }
}

#[test]
#[cfg_attr(not(feature = "slow-tests"), ignore = "minutes: the same with 2,000 runs and more rows")]
fn the_size_in_many_runs() {
    for case in equal_curves() {
        for sizes in [[200, 200], [1000, 4000], [10_000, 10_000]] {
            let share = share_found(&case, &case.4, sizes, 2000);
            println!("{} {sizes:?}: {share:.4}", case.0);
            assert!((0.03..=0.07).contains(&share), "{} {sizes:?}: {share}", case.0);
        }
    }
}

#[test]
fn a_change_is_found_the_oftener_the_larger_it_is() {
    let case = ("normal", normal(0.0, 2.0), normal(0.5, 2.0), 0.0, Truth::CALIBRATED);
    let shifted = |intercept: f64| Truth::Affine { intercept, slope: 1.0 };
    let shares = [0.1, 0.3, 0.6].map(|by| share_found(&case, &shifted(by), [1000, 1000], 50));
    assert!(shares[0] < shares[1] && shares[1] < shares[2] && shares[2] > 0.95, "{shares:?}");
    // A change that is as much up as down is not in the mean, and is found.
    let steeper = Truth::Affine { intercept: 0.0, slope: 0.6 };
    assert!(share_found(&case, &steeper, [1000, 1000], 50) > 0.9);
    let waves = Truth::Sinusoidal { amplitude: 1.0, frequency: 1.5 };
    assert!(share_found(&case, &waves, [2000, 2000], 50) > 0.8);
}

#[test]
fn the_odds_ratio_is_that_of_the_populations() {
    let n_runs = 200;
    let covered = (0..n_runs).into_par_iter().filter(|run| {
        let truth = Truth::Affine { intercept: 0.4, slope: 1.0 };
        let before = rows(&normal(0.0, 2.0), &Truth::CALIBRATED, 0.0, 500, 2 * run);
        let after = rows(&normal(1.0, 1.5), &truth, 0.0, 800, 2 * run + 1);
        let interval = change(&BinnedEce::new(), &before, &after, *run).curve.interval;
        (interval.lower..=interval.upper).contains(&0.4)
    });
    let share = covered.count() as f64 / n_runs as f64;
    assert!((0.915..=0.985).contains(&share), "{share}");
}

#[test]
fn the_interval_covers_the_difference_of_the_populations() {
    let overconfident = |slope: f64| Truth::Affine { intercept: 0.0, slope };
    for (slopes, least) in [([0.6, 0.6], 0.93), ([0.5, 0.8], 0.91), ([1.0, 1.0], 0.93)] {
        let families = slopes.map(|slope| Family::new("model", normal(0.0, 2.0), overconfident(slope)).unwrap());
        let tables = families.each_ref().map(|family| LsEceTable::of_residual(family, 0.05, 0.6).unwrap());
        let n_runs = 200;
        let covered = (0..n_runs).into_par_iter().filter(|run| {
            let [before, after] = [0, 1].map(|number| families[number].sample(1500, 2 * run + number as u64));
            let (before, after) = (before.input().check().unwrap(), after.input().check().unwrap());
            let measure = LsEce::new();
            let drift = Drift::new(&measure).n_resamples(DRAWS).random_state(*run);
            let found = drift.run(&before.binary().unwrap(), &after.binary().unwrap()).unwrap();
            let sigma = found.after.estimate.settings.number("sigma").unwrap();
            assert_eq!(found.before.estimate.settings.number("sigma"), Some(sigma));
            let truth = tables[1].at(sigma) - tables[0].at(sigma);
            (found.interval.lower..=found.interval.upper).contains(&truth)
        });
        let share = covered.count() as f64 / n_runs as f64;
        assert!(share >= least, "{slopes:?}: {share}");
    }
}

#[test]
fn sketches_say_what_their_rows_say() {
    let before = rows(&normal(0.0, 2.0), &Truth::CALIBRATED, 0.0, 5000, 1);
    let after = rows(&normal(0.5, 2.0), &Truth::Affine { intercept: 0.3, slope: 0.8 }, 0.0, 4000, 2);
    let measure = LsEce::new();
    let by_rows = change(&measure, &before, &after, 3);
    let (before, after) = (sketch(&before), sketch(&after));
    let by_sketches = Drift::new(&measure).n_resamples(DRAWS).random_state(3).run(&before, &after).unwrap();
    let near = |a: f64, b: f64, by: f64| assert!((a - b).abs() <= by, "{a} {b}");
    near(by_rows.difference, by_sketches.difference, 1e-4);
    near(by_rows.interval.lower, by_sketches.interval.lower, 1e-4);
    near(by_rows.curve.log_odds, by_sketches.curve.log_odds, 1e-4);
    near(by_rows.curve.p_value, by_sketches.curve.p_value, 0.02);
    let [rows, sketches] = [&by_rows, &by_sketches].map(|change| change.origin.unwrap());
    near(rows.outcomes, sketches.outcomes, 1e-4);
}

/// Values of known parts: other predictions with the same outcome rates, and the reverse.
#[test]
fn the_origin_of_a_change_is_where_it_comes_from() {
    let curve = Truth::Affine { intercept: 0.0, slope: 0.5 };
    let measure = LsEce::new().sigma(0.2);
    let low = rows(&normal(0.0, 1.0), &curve, 0.0, 40_000, 1);
    let high = rows(&normal(1.0, 1.0), &curve, 0.0, 40_000, 2);
    let of_predictions = change(&measure, &low, &high, 1);
    let origin = of_predictions.origin.unwrap();
    let whole = of_predictions.after.estimate.value - of_predictions.before.estimate.value;
    assert!((origin.predictions + origin.outcomes - whole).abs() < 1e-12);
    assert!(whole > 0.015 && origin.predictions > 0.85 * whole, "{origin:?} of {whole}");
    let repaired = rows(&normal(0.0, 1.0), &Truth::CALIBRATED, 0.0, 40_000, 3);
    let of_outcomes = change(&measure, &low, &repaired, 1);
    let (origin, whole) =
        (of_outcomes.origin.unwrap(), of_outcomes.after.estimate.value - of_outcomes.before.estimate.value);
    assert!(whole < -0.05 && origin.outcomes < 0.9 * whole, "{origin:?} of {whole}");
    // Predictions that do not overlap say nothing of each other.
    let elsewhere = rows(&normal(12.0, 0.5), &curve, 0.0, 2000, 4);
    assert_eq!(change(&measure, &low, &elsewhere, 1).origin, None);
}

#[test]
fn the_same_rows_have_not_changed_and_their_order_does_not_matter() {
    let before = rows(&normal(0.0, 2.0), &Truth::CALIBRATED, 0.0, 3000, 5);
    let same = change(&LsEce::new(), &before, &before, 0);
    assert!(same.difference.abs() < 1e-12 && same.p_value > 0.99 && same.curve.p_value > 0.99, "{same:?}");
    // The ridge alone moves it.
    assert!(same.curve.log_odds.abs() < 1e-4, "{:?}", same.curve);
    assert!(same.sentence().starts_with("There is no evidence that outcomes at equal predictions have changed"));
    let after = rows(&normal(0.0, 2.0), &Truth::Affine { intercept: 0.5, slope: 1.0 }, 0.0, 3000, 6);
    let reversed = Rows { p: after.p.iter().rev().copied().collect(), y: after.y.iter().rev().copied().collect() };
    let [one, other] = [&after, &reversed].map(|after| change(&LsEce::new(), &before, after, 0));
    assert_eq!(one.curve, other.curve);
    let [one_origin, other_origin] = [&one, &other].map(|change| change.origin.unwrap());
    assert!((one_origin.predictions - other_origin.predictions).abs() < 1e-14, "{one_origin:?} {other_origin:?}");
    assert!((one_origin.outcomes - other_origin.outcomes).abs() < 1e-14, "{one_origin:?} {other_origin:?}");
    assert!(one.sentence().starts_with("Outcomes at equal predictions have changed (p "), "{}", one.sentence());
}

#[test]
fn hard_inputs_have_an_answer_or_an_error() {
    let few = Rows { p: vec![0.2, 0.8, 0.4], y: vec![false, true, true] };
    let constant = Rows { p: vec![0.5; 40], y: (0..40).map(|row| row % 2 == 0).collect() };
    let one_outcome = Rows { p: (1..60).map(|row| f64::from(row) / 60.0).collect(), y: vec![false; 59] };
    let sure = Rows { p: vec![0.0, 1.0, 0.0, 1.0, 1.0], y: vec![false, true, false, true, true] };
    let all = [&few, &constant, &one_outcome, &sure];
    for before in all {
        for after in all {
            let found = change(&BinnedEce::new(), before, after, 0);
            assert!((0.0..=1.0).contains(&found.curve.p_value), "{found:?}");
            assert!(found.curve.log_odds.is_finite() && found.difference.is_finite(), "{found:?}");
        }
    }
    let rows = Input::probabilities(&constant.p, &constant.y).check().unwrap();
    let view = rows.binary().unwrap();
    let clusters: Vec<u32> = (0..40).map(|row| row / 2).collect();
    let clustered = Sample::from(&view).clusters(&clusters);
    let error = Drift::new(&LsEce::new()).run(clustered, &view).unwrap_err();
    assert!(error.to_string().starts_with("clusters must be those of both samples or of none"), "{error}");
    let sketch = sketch(&constant);
    let error = Drift::new(&LsEce::new()).run(clustered, Sample::from(&sketch).clusters(&clusters)).unwrap_err();
    assert!(error.to_string().starts_with("clusters must be left out for a sketch"), "{error}");
}
