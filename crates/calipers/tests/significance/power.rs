//! The floor test has power on both sides: under- and overconfidence of equal true ECE are seen
//! about as often.

use calipers::inference::NoiseFloor;
use calipers::{Input, LsEce, Measure};

use crate::data::{Failures, Random, logistic, normal_mean, root, runs, share, shown};

const SPREAD: f64 = 1.5;

/// The slopes of the truth and of what the model says, over scores z.
#[derive(Clone, Copy)]
struct Slopes {
    truth: f64,
    said: f64,
}

impl Slopes {
    fn ece(self) -> f64 {
        normal_mean(|z| (logistic(self.said * SPREAD * z) - logistic(self.truth * SPREAD * z)).abs())
    }

    fn power(self, measure: &LsEce, n: usize) -> calipers::simulate::MonteCarlo {
        share(runs(500, |run| {
            let mut random = Random::new(40_000 + run);
            let mut row = || {
                let z = SPREAD * random.normal();
                (logistic(self.said * z), random.uniform() < logistic(self.truth * z))
            };
            let (p, y): (Vec<f64>, Vec<bool>) = (0..n).map(|_| row()).unzip();
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            let view = predictions.binary().unwrap();
            NoiseFloor::new(&*measure.resampler(&view, None).unwrap(), 99, run).unwrap().p_value <= 0.05
        }))
    }
}

fn seen_alike(name: &str, over: Slopes, under: Slopes, n: usize, least: f64) {
    let mut failures = Failures::default();
    assert!((over.ece() / under.ece() - 1.0).abs() < 1e-6);
    for (sigma, measure) in [("auto", LsEce::new().residual()), ("0.5", LsEce::new().sigma(0.5).residual())] {
        let [of_over, of_under] = [over, under].map(|slopes| slopes.power(&measure, n));
        let ratio = of_under.value / of_over.value;
        println!(
            "{name}, ECE {:.4}, n = {n}, sigma {sigma}: power {} against over-, {} against underconfidence, ratio {ratio:.2}",
            over.ece(),
            shown(of_over),
            shown(of_under)
        );
        failures
            .expect(of_over.value > 0.3 && (least..=1.25).contains(&ratio), format!("{name}, sigma {sigma}: {ratio}"));
    }
}

/// The same predictions, and outcomes that vary less or more with them.
#[test]
fn underconfidence_of_the_same_predictions_is_seen_as_often_as_overconfidence() {
    let over = Slopes { truth: 0.75, said: 1.0 };
    let truth = root(1.0, 3.0, |truth| Slopes { truth, said: 1.0 }.ece() - over.ece());
    seen_alike("same predictions", over, Slopes { truth, said: 1.0 }, 1000, 0.8);
}

/// The same outcomes, and predictions that vary more or less than they should. Sure predictions
/// have less noise: against them the same ECE is seen more often.
#[test]
fn underconfidence_on_the_same_outcomes_is_seen_as_often_as_overconfidence() {
    let over = Slopes { truth: 1.0, said: 1.35 };
    let said = root(1.0, 0.2, |said| Slopes { truth: 1.0, said }.ece() - over.ece());
    seen_alike("same outcomes", over, Slopes { truth: 1.0, said }, 1000, 0.65);
}
