//! How often 95 % intervals of the gain hold it for maps of classes.

use calipers::recalibrate::{ClassMap, CrossFit, Method, Recalibrate};
use calipers::{Error, Form, Input, Link, Probit};

use super::coverage::{Cell, Plan, Run};
use crate::replicates::{replicates, seed_of, uniform};

/// Rows at which a population is looked at.
const N_PLACES: usize = 4000;

/// The laws of logits: independent ones, and those of a model that is sure of one class.
const LAWS: [&str; 2] = ["plain", "sure of one"];

/// The truths: the slope, and the size of biases that alternate between classes.
const TRUTHS: [(&str, f64, f64); 4] =
    [("calibrated", 1.0, 0.0), ("slope 0.85", 0.85, 0.0), ("slope 0.6", 0.6, 0.0), ("biases 0.4", 1.0, 0.4)];

/// Logits of k classes, whose labels are drawn by the softmax of a slope times the logits plus
/// biases.
struct ClassPopulation {
    k: usize,
    is_sure: bool,
    slope: f64,
    bias: f64,
    /// Rows of the population, with the probabilities before any map and the true ones.
    places: Vec<[Vec<f64>; 3]>,
}

impl ClassPopulation {
    fn new(k: usize, law: &str, slope: f64, bias: f64) -> Self {
        let mut population = ClassPopulation { k, is_sure: law == LAWS[1], slope, bias, places: Vec::new() };
        let place = |index: usize| {
            let logits = population.logits(seed_of(1, 34, 1), index);
            [softmax(&logits), population.truth(&logits), logits]
        };
        population.places = (0..N_PLACES).map(place).collect();
        population
    }

    fn logits(&self, seed: u64, row: usize) -> Vec<f64> {
        let number = |place: usize| uniform(seed, (row * (self.k + 2) + place) as u64);
        let top = (number(self.k) * self.k as f64) as usize;
        let logit = |class: usize| {
            let u = number(class);
            let normal = Probit.inverse(u, 1.0 - u);
            match self.is_sure {
                true => normal + if class == top { 5.0 } else { 0.0 },
                false => 1.5 * normal,
            }
        };
        (0..self.k).map(logit).collect()
    }

    fn truth(&self, logits: &[f64]) -> Vec<f64> {
        let sign = |class: usize| if class.is_multiple_of(2) { 1.0 } else { -1.0 };
        let moved = |(class, logit): (usize, &f64)| self.slope * logit + self.bias * sign(class);
        softmax(&logits.iter().enumerate().map(moved).collect::<Vec<f64>>())
    }

    /// Logits of n rows, row after row, and their labels.
    fn draw(&self, n: usize, seed: u64) -> (Vec<f64>, Vec<i64>) {
        let (mut all, mut labels) = (Vec::with_capacity(n * self.k), Vec::with_capacity(n));
        for row in 0..n {
            let logits = self.logits(seed, row);
            let mut left = uniform(seed, (row * (self.k + 2) + self.k + 1) as u64);
            let is_here = |p: &f64| {
                left -= p;
                left < 0.0
            };
            labels.push(self.truth(&logits).iter().position(is_here).unwrap_or(self.k - 1) as i64);
            all.extend(logits);
        }
        (all, labels)
    }

    /// By how much a map lowers the expected log-loss.
    fn gain(&self, map: &ClassMap) -> f64 {
        let of = |[before, truth, logits]: &[Vec<f64>; 3]| {
            let after = map.apply(logits, Form::Logits);
            let part = |class: usize| truth[class] * (after[class].ln() - before[class].ln());
            (0..self.k).map(part).sum::<f64>()
        };
        self.places.iter().map(of).sum::<f64>() / self.places.len() as f64
    }
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let terms: Vec<f64> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f64 = terms.iter().sum();
    terms.into_iter().map(|term| term / sum).collect()
}

/// The names of laws with a number of classes.
fn named(k: usize, law: usize) -> &'static str {
    match (k, law) {
        (3, 0) => "3 plain",
        (3, _) => "3 sure",
        (6, 0) => "6 plain",
        (6, _) => "6 sure",
        (10, 0) => "10 plain",
        (10, _) => "10 sure",
        (_, 0) => "plain",
        _ => "sure",
    }
}

/// Coverage of the interval for numbers of classes, cell by cell; the laws and truths of the plan
/// are those of this file.
pub fn coverage(plan: &Plan, numbers: &[usize], mut each: impl FnMut(Cell)) -> Result<(), Error> {
    for &n in &plan.rows {
        for &k in numbers {
            for (law, name) in LAWS.iter().enumerate() {
                for (truth, slope, bias) in TRUTHS {
                    let population = ClassPopulation::new(k, name, slope, bias);
                    for &method in &plan.methods {
                        let runs = runs(plan, &population, method, n)?;
                        each(Cell::of(&runs, method, named(k, law), truth, n));
                    }
                }
            }
        }
    }
    Ok(())
}

fn runs(plan: &Plan, population: &ClassPopulation, method: Method, n: usize) -> Result<Vec<Run>, Error> {
    let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(0);
    let found = replicates(plan.n_runs, |run| {
        let (logits, labels) = population.draw(n, seed_of(plan.random_state, 35, run));
        let predictions = Input::logits(&logits, &labels).classes(population.k).check()?;
        let Ok(found) = cross_fit.run_classes(&predictions) else { return Ok(None) };
        let gain = population.gain(&found.fit.map);
        Ok(Some(Run { gain, lower: found.interval.lower, upper: found.interval.upper, verdict: found.verdict }))
    })?;
    Ok(found.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_probabilities_of_the_population() {
        let population = ClassPopulation::new(3, LAWS[0], 0.6, 0.4);
        let (logits, labels) = population.draw(20_000, 7);
        let mut away = [0.0; 3];
        for (row, label) in logits.chunks(3).zip(&labels) {
            let truth = population.truth(row);
            (0..3).for_each(|class| away[class] += f64::from(u8::from(*label == class as i64)) - truth[class]);
        }
        // Five standard errors.
        assert!(away.iter().all(|away| away.abs() < 5.0 * 70.0), "{away:?}");
        assert!(population.gain(&ClassMap::identity(3)).abs() < 1e-12);
    }
}
