//! Pairs of distributions that are independent of how the method was chosen.

use calipers::population::{Family, Finite, Logits, Truth};
use calipers::simulate::{LsEceTable, Population};
use calipers::{Drift, Error, Input, LsEce, Sample};

use super::{DRAWS, Run};
use crate::replicates::{seed_of, uniform};

/// Two distributions.
pub(super) struct Case {
    pub(super) predictions: &'static str,
    pub(super) outcomes: &'static str,
    populations: [Box<dyn Population>; 2],
    is_weighted: bool,
    /// Whether outcomes at equal predictions differ.
    pub(super) is_changed: bool,
    /// Whether both distributions are the same.
    pub(super) is_same: bool,
    /// Of the odds of outcomes after over those before, where it is the same for all predictions.
    log_odds: Option<f64>,
}

impl Case {
    /// Two distributions of logits with their truths.
    pub(super) fn new(
        predictions: &'static str,
        outcomes: &'static str,
        laws: [&Law; 2],
        truths: [&Truth; 2],
        log_odds: Option<f64>,
    ) -> Result<Self, Error> {
        let is_changed = truths[0] != truths[1];
        Ok(Case {
            predictions,
            outcomes,
            populations: [laws[0].population(truths[0])?, laws[1].population(truths[1])?],
            is_weighted: false,
            is_changed,
            is_same: !is_changed && std::ptr::eq(laws[0], laws[1]),
            log_odds,
        })
    }

    /// The true values at the sigmas that are chosen automatically; `None` where they are equal.
    pub(super) fn tables(&self) -> Result<Option<[LsEceTable; 2]>, Error> {
        if self.is_same {
            return Ok(None);
        }
        let table = |side: usize| LsEceTable::of_residual(&*self.populations[side], 0.03, 1.5);
        Ok(Some([table(0)?, table(1)?]))
    }

    /// One pair of samples. Without tables of the true values it is as if they were equal.
    pub(super) fn run(&self, tables: Option<&[LsEceTable; 2]>, sizes: [usize; 2], seed: u64) -> Result<Run, Error> {
        let seed_of = |place: u64| seed_of(seed, 1, place);
        let [before, after] = [0, 1].map(|side| self.populations[side].sample(sizes[side], seed_of(side as u64)));
        let weights = [0, 1].map(|side| weights(sizes[side], seed_of(2 + side as u64)));
        let weights = weights.each_ref().map(|weights| self.is_weighted.then_some(&weights[..]));
        let before = weighted(before.input(), weights[0]).check()?;
        let after = weighted(after.input(), weights[1]).check()?;
        let measure = LsEce::new();
        let drift = Drift::new(&measure).n_resamples(DRAWS).random_state(seed);
        let found = drift.run(Sample::from(&before.binary()?), Sample::from(&after.binary()?))?;
        let sigma = found.before.estimate.settings.number("sigma").unwrap_or(f64::NAN);
        let difference = tables.map_or(0.0, |[before, after]| after.at(sigma) - before.at(sigma));
        Ok(Run::new(&found, Some(difference), self.log_odds))
    }
}

fn weighted<'a>(input: Input<'a>, weights: Option<&'a [f64]>) -> Input<'a> {
    match weights {
        Some(weights) => input.weights(weights),
        None => input,
    }
}

/// How predictions look.
struct Shape {
    name: &'static str,
    laws: [Law; 2],
    is_weighted: bool,
}

/// The distribution of predictions.
#[derive(Debug, Clone)]
pub(super) enum Law {
    Logits(Logits),
    /// Shares of the logits -2, -1, 0, 1 and 2.
    FiveValues([f64; 5]),
}

impl Law {
    fn population(&self, truth: &Truth) -> Result<Box<dyn Population>, Error> {
        Ok(match self {
            Law::Logits(logits) => Box::new(Family::new("drift", logits.clone(), truth.clone())?),
            Law::FiveValues(masses) => {
                let logits = [-2.0, -1.0, 0.0, 1.0, 2.0];
                let outcomes = logits.map(|h| truth.probability(h));
                Box::new(Finite::new(masses, &outcomes, &logits.map(|h: f64| 1.0 / (1.0 + (-h).exp())))?)
            }
        })
    }
}

/// Every shape of predictions with every kind of outcomes.
pub(super) fn all() -> Result<Vec<Case>, Error> {
    let normal = |mean: f64, deviation: f64| Law::Logits(Logits::Normal { mean, deviation });
    let steps =
        |edges: &[f64], masses: &[f64]| Law::Logits(Logits::Steps { edges: edges.to_vec(), masses: masses.to_vec() });
    let plain = || [normal(-0.3, 1.7), steps(&[-3.0, 0.0, 1.0, 4.0], &[0.3, 0.5, 0.2])];
    let five = || [Law::FiveValues([0.3, 0.25, 0.2, 0.15, 0.1]), Law::FiveValues([0.1, 0.2, 0.15, 0.25, 0.3])];
    let shapes = [
        Shape { name: "plain", laws: plain(), is_weighted: false },
        Shape { name: "1 % events", laws: [normal(-5.2, 1.1), normal(-4.7, 1.3)], is_weighted: false },
        Shape { name: "very sure", laws: [normal(0.5, 7.0), normal(-2.0, 5.0)], is_weighted: false },
        Shape { name: "five values", laws: five(), is_weighted: false },
        Shape { name: "weights", laws: plain(), is_weighted: true },
    ];
    let tilted = Truth::Affine { intercept: 0.35, slope: 0.55 };
    let raised = Truth::Affine { intercept: 0.5, slope: 1.0 };
    let mut cases = Vec::new();
    for Shape { name, laws: [before, after], is_weighted } in &shapes {
        let same = [before, before];
        for (outcomes, laws, truths, log_odds) in [
            ("both calibrated", same, [&Truth::CALIBRATED; 2], 0.0),
            ("both equally miscalibrated", same, [&tilted; 2], 0.0),
            ("only the predictions differ", [before, after], [&tilted; 2], 0.0),
            ("changed", same, [&Truth::CALIBRATED, &raised], 0.5),
        ] {
            let case = Case::new(name, outcomes, laws, truths, Some(log_odds))?;
            cases.push(Case { is_weighted: *is_weighted, ..case });
        }
    }
    Ok(cases)
}

/// Weights whose logarithms are normal with deviation 1: the effective number of rows is a third of
/// their number.
fn weights(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|row| normal(seed, row).exp()).collect()
}

/// A standard normal number for each place of a stream.
pub(super) fn normal(stream: u64, place: u64) -> f64 {
    let radius = (-2.0 * uniform(stream, 2 * place).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(stream, 2 * place + 1)).cos()
}
