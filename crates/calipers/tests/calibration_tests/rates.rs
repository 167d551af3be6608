//! How often tests reject: about one time in twenty what is calibrated, most of the time what is
//! not.

use calipers::Input;
use calipers::inference::calibration_tests::{CalibrationTest, TestResult};
use calipers::population::Family;

use crate::rows::all;

/// What is done to probabilities before outcomes are drawn from them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scores {
    Continuous,
    /// Multiples of 0.05.
    Tied,
    /// Multiples of 1/256.
    Quantised,
}

const SCORES: [Scores; 3] = [Scores::Continuous, Scores::Tied, Scores::Quantised];

/// Uniform numbers of its own (splitmix64): not those by which the library draws.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 * 2f64.powi(-53)
    }
}

/// Probabilities of the family's law, and outcomes that are drawn from them.
fn calibrated(family: &Family, scores: Scores, n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let round = |p: f64, steps: f64| (p * steps).round() / steps;
    let probability = |h: &f64| {
        let p = 1.0 / (1.0 + (-h).exp());
        match scores {
            Scores::Continuous => p,
            Scores::Tied => round(p, 20.0),
            Scores::Quantised => round(p, 256.0),
        }
    };
    let p: Vec<f64> = family.sample(n, seed).scores.iter().map(probability).collect();
    let mut stream = Stream(seed.wrapping_mul(1_000_003));
    let y = p.iter().map(|p| stream.next() < *p).collect();
    (p, y)
}

fn results(p: &[f64], y: &[bool], tests: Vec<Box<dyn CalibrationTest>>) -> Vec<TestResult> {
    let predictions = Input::probabilities(p, y).check().unwrap();
    let view = predictions.binary().unwrap();
    tests.iter().map(|test| test.test(&view).unwrap()).collect()
}

/// Shares of runs with a p-value of at most 0.05, for each test.
fn rates(n_runs: u64, run: impl Fn(u64) -> Vec<TestResult>) -> Vec<(&'static str, f64)> {
    let mut rates = Vec::new();
    for seed in 1..=n_runs {
        let results = run(seed);
        rates.resize(results.len(), ("", 0.0));
        for (rate, result) in rates.iter_mut().zip(results) {
            rate.0 = result.test;
            rate.1 += f64::from(u8::from(result.p_value <= 0.05)) / n_runs as f64;
        }
    }
    rates
}

#[test]
fn what_is_calibrated_is_rejected_one_time_in_twenty() {
    let family = Family::named("calibrated").unwrap();
    for scores in SCORES {
        let rates = rates(500, |seed| {
            let (p, y) = calibrated(&family, scores, 500, seed);
            results(&p, &y, all(199, seed))
        });
        assert!(rates.iter().all(|(_, rate)| (0.02..=0.08).contains(rate)), "{scores:?}: {rates:?}");
    }
}

#[test]
fn weights_do_not_change_how_often_what_is_calibrated_is_rejected() {
    let family = Family::named("calibrated").unwrap();
    let rates = rates(500, |seed| {
        let (p, y) = calibrated(&family, Scores::Continuous, 500, seed);
        let mut stream = Stream(seed.wrapping_mul(7919));
        // Between 1/10 and 10: as much is known as by 213 rows of equal weight.
        let weights: Vec<f64> = p.iter().map(|_| 10f64.powf(2.0 * stream.next() - 1.0)).collect();
        let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
        let view = predictions.binary().unwrap();
        all(199, seed).iter().map(|test| test.test(&view).unwrap()).collect()
    });
    assert!(rates.iter().all(|(_, rate)| (0.02..=0.08).contains(rate)), "{rates:?}");
}

#[test]
fn overconfidence_is_found() {
    let family = Family::named("overconfident").unwrap();
    let rates = rates(100, |seed| {
        let sample = family.sample(500, seed);
        let p: Vec<f64> = sample.scores.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect();
        results(&p, &sample.outcomes, all(199, seed))
    });
    assert!(rates.iter().all(|(_, rate)| *rate > 0.5), "{rates:?}");
}

/// Sizes over 2,000 runs as a table:
/// `cargo test --features slow-tests --test calibration_tests table -- --nocapture`. Behind the bar
/// are those of the limits for many rows, which have no bounds to keep: they are why outcomes are
/// drawn.
#[cfg(feature = "slow-tests")]
#[test]
fn a_table_of_sizes_over_two_thousand_runs() {
    use crate::rows::limits;

    let mut missed = Vec::new();
    for name in ["calibrated", "calibrated-jumps", "calibrated-heavy-tails"] {
        let family = Family::named(name).unwrap();
        for n in [500, 5000] {
            for scores in SCORES {
                let rates = rates(2000, |seed| {
                    let (p, y) = calibrated(&family, scores, n, seed);
                    results(&p, &y, all(199, seed).into_iter().chain(limits()).collect())
                });
                let (ours, limits) = rates.split_at(6);
                let text = |rates: &[(&str, f64)]| {
                    rates.iter().map(|(test, rate)| format!("{test} {rate:.4}")).collect::<Vec<_>>().join(" ")
                };
                println!("{name} {scores:?} {n} {} | {}", text(ours), text(limits));
                let missing = ours.iter().filter(|(_, rate)| !(0.03..=0.07).contains(rate));
                missed.extend(missing.map(|(test, rate)| (name, scores, n, *test, *rate)));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
