//! The automatic sigma is continuous in the predictions, and not made tiny by scores that lie close
//! together.

use calipers::{Input, LsEce, Measure};
use proptest::prelude::*;

use crate::data::{Random, logistic};

fn automatic(input: Input<'_>) -> f64 {
    let predictions = input.check().unwrap();
    let measure = LsEce::new().tolerance(1e-3);
    measure.estimate(&predictions.binary().unwrap()).unwrap().settings.number("sigma").unwrap()
}

fn of_probabilities(p: &[f64], y: &[bool]) -> f64 {
    automatic(Input::probabilities(p, y))
}

/// 60 % of all logits within 1e-6 of 0, the others N(0, 1.5), with outcomes drawn from them.
fn clustered_scores(n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut random = Random::new(seed);
    let mut row = || {
        let logit = if random.uniform() < 0.6 { 1e-6 * (2.0 * random.uniform() - 1.0) } else { 1.5 * random.normal() };
        (logit, random.uniform() < logistic(logit))
    };
    (0..n).map(|_| row()).unzip()
}

#[test]
fn scores_that_lie_close_together_do_not_make_sigma_tiny() {
    for seed in 0..5 {
        let (logits, y) = clustered_scores(5000, seed);
        let p: Vec<f64> = logits.iter().map(|h| logistic(*h)).collect();
        let sigma = of_probabilities(&p, &y);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        let found = calipers::Assess::new(&LsEce::new()).n_resamples(99).run(&view).unwrap();
        println!("sigma {sigma:.4}, LS-ECE {:.4}, debiased {:.4}", found.estimate.value, found.debiased);
        assert!(sigma > 0.01, "{sigma}");
        // The truth is 0.
        assert!(found.estimate.value < 0.05 && found.debiased < 0.02, "{}", found.sentence());
        let rounded: Vec<f64> = p.iter().map(|p| (p * 1000.0).round() / 1000.0).collect();
        let moved = of_probabilities(&rounded, &y) / sigma;
        assert!((moved - 1.0).abs() < 0.05, "rounding to three decimals moves sigma by {moved}");
        // All of the cluster as one score.
        let tied: Vec<f64> = logits.iter().map(|h| if h.abs() < 2e-6 { 0.5 } else { logistic(*h) }).collect();
        assert!((of_probabilities(&tied, &y) / sigma - 1.0).abs() < 1e-5);
    }
}

#[test]
fn small_moves_of_all_scores_move_sigma_as_little() {
    for seed in 0..5 {
        let (logits, y) = clustered_scores(3000, 50 + seed);
        let mut random = Random::new(seed);
        let moved: Vec<f64> = logits.iter().map(|h| h + 1e-7 * (2.0 * random.uniform() - 1.0)).collect();
        let [at, near] = [&logits, &moved].map(|logits| automatic(Input::logits(logits, &y)));
        assert!((near / at - 1.0).abs() < 1e-5, "{at} {near}");
        let p: Vec<f64> = logits.iter().map(|h| logistic(*h)).collect();
        let single: Vec<f32> = p.iter().map(|p| *p as f32).collect();
        let [doubles, singles] = [of_probabilities(&p, &y), automatic(Input::probabilities(&single, &y))];
        assert!((singles / doubles - 1.0).abs() < 1e-5, "{doubles} {singles}");
    }
}

/// One row that turns from unlike to like the others changes sigma by what it counts.
#[test]
fn sigma_has_no_jump_where_scores_become_equal() {
    let y: Vec<bool> = (0..100).map(|row| row % 2 == 0).collect();
    let at = |distance: f64| {
        let logits: Vec<f64> = (0..100).map(|row| if row % 2 == 0 { 0.0 } else { distance }).collect();
        automatic(Input::logits(&logits, &y))
    };
    let equal = at(0.0);
    assert!(equal > 0.0);
    for distance in [1e-12, 1e-9, 1e-6, 1e-4] {
        assert!((at(distance) / equal - 1.0).abs() < 1e-5, "{distance}: {} {equal}", at(distance));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn sigma_depends_on_neither_the_order_of_rows_nor_the_unit_of_weights(
        rows in prop::collection::vec((0.0..=1.0f64, any::<bool>(), 0.1..5.0f64), 1..200),
        turn in 0usize..200,
    ) {
        let of = |rows: &[(f64, bool, f64)], unit: f64| {
            let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
            let w: Vec<f64> = rows.iter().map(|row| unit * row.2).collect();
            (of_probabilities(&p, &y), automatic(Input::probabilities(&p, &y).weights(&w)))
        };
        let found = of(&rows, 1.0);
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        turned.reverse();
        let other = of(&turned, 2.0);
        prop_assert!((other.0 / found.0 - 1.0).abs() < 1e-12 && (other.1 / found.1 - 1.0).abs() < 1e-12);
    }
}
