//! Verdicts are right at any sigma: 50,000 rows with scores z ~ N(0, 1), and models that are wrong
//! in four ways.

use calipers::{Assess, Compare, Input, LsEce};

use crate::data::{Failures, Random, logistic, runs};

const N: usize = 50_000;
const SIGMAS: [f64; 5] = [0.05, 0.1, 0.3, 0.5, 1.0];

/// The score above which 2 % of all rows are.
const TOP: f64 = 2.053_749;

/// Scores, and outcomes with the probabilities of `truth` at them.
struct Scored {
    scores: Vec<f64>,
    outcomes: Vec<bool>,
}

impl Scored {
    fn new(truth: impl Fn(f64) -> f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let scores: Vec<f64> = (0..N).map(|_| random.normal()).collect();
        let outcomes = scores.iter().map(|z| random.uniform() < truth(*z)).collect();
        Scored { scores, outcomes }
    }

    fn model(&self, says: impl Fn(f64) -> f64) -> Vec<f64> {
        self.scores.iter().map(|z| says(*z)).collect()
    }

    /// Whether the model is called miscalibrated, with the sentence.
    fn verdict(&self, probabilities: &[f64], sigma: f64) -> (bool, String) {
        let predictions = Input::probabilities(probabilities, &self.outcomes).check().unwrap();
        let measure = LsEce::new().sigma(sigma);
        let found = Assess::new(&measure).n_resamples(60).run(&predictions.binary().unwrap()).unwrap();
        (found.significant.unwrap(), found.sentence())
    }
}

/// A model with what is right for its scores.
struct Wrong {
    name: &'static str,
    says: fn(f64) -> f64,
    truth: fn(f64) -> f64,
}

fn right_but_for_the_top(z: f64) -> f64 {
    if z > TOP { 0.5 } else { logistic(z) }
}

const WRONG: [Wrong; 4] = [
    Wrong { name: "underconfident", says: |z| logistic(0.8 * z), truth: logistic },
    Wrong { name: "overconfident", says: |z| logistic(1.25 * z), truth: logistic },
    Wrong { name: "shifted", says: |z| logistic(z + 0.3), truth: logistic },
    Wrong { name: "wrong in the top 2 %", says: logistic, truth: right_but_for_the_top },
];

#[test]
fn a_miscalibrated_model_is_called_so_at_every_sigma() {
    let mut failures = Failures::default();
    for Wrong { name, says, truth } in WRONG {
        for sigma in SIGMAS {
            let found = runs(3, |seed| {
                let scored = Scored::new(truth, 100 + seed);
                scored.verdict(&scored.model(says), sigma)
            });
            for (seen, sentence) in found {
                failures.expect(seen, format!("{name} at sigma {sigma}: {sentence}"));
            }
        }
    }
}

#[test]
fn a_calibrated_model_is_not_called_miscalibrated_at_any_sigma() {
    let mut failures = Failures::default();
    for sigma in SIGMAS {
        let n_seen = runs(20, |seed| {
            let scored = Scored::new(logistic, 300 + seed);
            scored.verdict(&scored.model(logistic), sigma).0
        });
        let n_seen = n_seen.into_iter().filter(|seen| *seen).count();
        println!("sigma {sigma}: {n_seen} of 20 calibrated samples rejected");
        // With a chance of 1 in 20 each, more than 4 of 20 are rejected once in 400 times.
        failures.expect(n_seen <= 4, format!("sigma {sigma}: {n_seen}"));
    }
}

#[test]
fn the_calibrated_model_is_the_better_one_at_every_sigma() {
    let mut failures = Failures::default();
    for Wrong { name, says, truth } in WRONG {
        for sigma in SIGMAS {
            let found = runs(3, |seed| {
                let scored = Scored::new(truth, 500 + seed);
                let (right, wrong) = (scored.model(truth), scored.model(says));
                let [right, wrong] =
                    [&right, &wrong].map(|model| Input::probabilities(model, &scored.outcomes).check().unwrap());
                let measure = LsEce::new().sigma(sigma);
                let models = [("A", &right.binary().unwrap()), ("B", &wrong.binary().unwrap())];
                Compare::new(&measure).n_resamples(20).run(&models).unwrap().sentence()
            });
            for sentence in found {
                let right = sentence.starts_with("A is better calibrated than B");
                failures.expect(right, format!("{name} at sigma {sigma}: {sentence}"));
            }
        }
    }
}

/// What LS-ECE itself shows at a large sigma is mostly the noise, and the sentence says so.
#[test]
fn the_sentence_says_where_sigma_is_large() {
    let scored = Scored::new(logistic, 1);
    let model = scored.model(|z| logistic(0.8 * z));
    let (_, at_half) = scored.verdict(&model, 0.5);
    assert!(at_half.contains("Sigma 0.50 is large for these predictions: smoothing alone gives 0.0"), "{at_half}");
    let (_, small) = scored.verdict(&model, 0.05);
    assert!(!small.contains("is large for these predictions"), "{small}");
}
