//! Pairs of distributions that are independent of how the method was chosen.

use calipers::Error;
use calipers::population::{Family, Finite, Logits, Truth};
use calipers::simulate::{LsEceTable, Population};

use crate::random::normal;

/// Two distributions.
pub(crate) struct Case {
    pub(crate) predictions: &'static str,
    pub(crate) outcomes: &'static str,
    pub(crate) populations: [Box<dyn Population>; 2],
    pub(crate) is_weighted: bool,
    pub(crate) is_changed: bool,
    /// Whether both distributions are the same.
    pub(crate) is_same: bool,
    /// Of the outcomes after over those before, where it is the same for all predictions.
    pub(crate) log_odds: Option<f64>,
}

impl Case {
    /// The true values at the sigmas that are chosen automatically; `None` where they are equal.
    pub(crate) fn tables(&self) -> Result<Option<[LsEceTable; 2]>, Error> {
        if self.is_same {
            return Ok(None);
        }
        let table = |side: usize| LsEceTable::of_residual(&*self.populations[side], 0.03, 1.5);
        Ok(Some([table(0)?, table(1)?]))
    }
}

/// How predictions look.
struct Shape {
    name: &'static str,
    laws: [Law; 2],
    is_weighted: bool,
}

/// The distribution of predictions.
#[derive(Clone)]
enum Law {
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
pub(crate) fn all() -> Result<Vec<Case>, Error> {
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
        Shape { name: "five values, weights", laws: five(), is_weighted: true },
    ];
    let tilted = Truth::Affine { intercept: 0.35, slope: 0.55 };
    let waves = Truth::Sinusoidal { amplitude: 0.7, frequency: 1.6 };
    let raised = Truth::Affine { intercept: 0.5, slope: 1.0 };
    let mut cases = Vec::new();
    for Shape { name, laws: [before, after], is_weighted } in &shapes {
        let same = (before, before);
        for (outcomes, (law_before, law_after), [truth_before, truth_after]) in [
            ("calibrated", same, [&Truth::CALIBRATED; 2]),
            ("miscalibrated", same, [&tilted; 2]),
            ("miscalibrated, other scores", (before, after), [&tilted; 2]),
            ("waves, other scores", (before, after), [&waves; 2]),
            ("changed", same, [&Truth::CALIBRATED, &raised]),
        ] {
            let is_changed = truth_before != truth_after;
            cases.push(Case {
                predictions: name,
                outcomes,
                populations: [law_before.population(truth_before)?, law_after.population(truth_after)?],
                is_weighted: *is_weighted,
                is_changed,
                is_same: !is_changed && std::ptr::eq(law_before, law_after),
                log_odds: Some(if is_changed { 0.5 } else { 0.0 }),
            });
        }
    }
    Ok(cases)
}

/// Weights whose logarithms are normal with deviation 1: the effective number of rows is a third of
/// their number.
pub(crate) fn weights(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|row| normal(seed, row).exp()).collect()
}
