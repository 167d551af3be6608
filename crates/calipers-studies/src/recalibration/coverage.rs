//! How often 95 % intervals of the gain hold the gain of the fitted map, and how often calibrated
//! rows are found to have something to fix.

use calipers::population::{Family, Logits, Truth};
use calipers::recalibrate::{CrossFit, Method, Recalibrate, Verdict};
use calipers::{Error, Input};

use super::population::{Drawn, Known};
use crate::replicates::{replicates, seed_of};

/// What is simulated: every method on every population, with so many rows, so often.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The methods.
    pub methods: Vec<Method>,
    /// Numbers of rows.
    pub rows: Vec<usize>,
    /// Samples of each population.
    pub n_runs: u64,
    /// Laws of logits, by their names; all if empty.
    pub laws: Vec<String>,
    /// Truths, by their names; all if empty.
    pub truths: Vec<String>,
    /// The seed.
    pub random_state: u64,
}

/// Shares over runs for one method, population and number of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The method.
    pub method: Method,
    /// The law of the logits.
    pub law: &'static str,
    /// The truth.
    pub truth: &'static str,
    /// Rows.
    pub n: usize,
    /// Runs that have a fit.
    pub n_runs: u64,
    /// Intervals that hold the gain.
    pub covered: f64,
    /// Intervals that are below the gain.
    pub below: f64,
    /// Intervals that are above the gain.
    pub above: f64,
    /// Verdicts that the map helps.
    pub helps: f64,
    /// Those of maps that do not.
    pub wrongly_helps: f64,
    /// Verdicts that the map hurts.
    pub hurts: f64,
    /// Those of maps that do not.
    pub wrongly_hurts: f64,
    /// Mean width, in units of 1 / n.
    pub width: f64,
    /// Mean gain of the fitted map, in units of 1 / n.
    pub gain: f64,
}

impl Plan {
    fn laws(&self) -> impl Iterator<Item = &'static str> {
        LAWS.into_iter().filter(|law| self.laws.is_empty() || self.laws.iter().any(|own| own == law))
    }

    fn truths(&self) -> impl Iterator<Item = (&'static str, Truth)> {
        truths().into_iter().filter(|(name, _)| self.truths.is_empty() || self.truths.iter().any(|own| own == name))
    }
}

/// The laws of logits. The one constant of the rule for tables was chosen on the first.
const LAWS: [&str; 6] = ["normal", "skewed", "ties", "rare events", "very sure", "clusters"];

/// The truths, from calibrated to strongly miscalibrated.
fn truths() -> [(&'static str, Truth); 5] {
    let affine = |intercept, slope| Truth::Affine { intercept, slope };
    [
        ("calibrated", Truth::CALIBRATED),
        ("slope 0.85", affine(0.0, 0.85)),
        ("shift 0.3", affine(0.3, 1.0)),
        ("slope 0.6", affine(0.0, 0.6)),
        ("sine", Truth::Sinusoidal { amplitude: 0.5, frequency: 2.0 }),
    ]
}

fn population(law: &str, name: &'static str, truth: Truth) -> Result<Known, Error> {
    let steps = |edges: &[f64], masses: &[f64]| Logits::Steps { edges: edges.to_vec(), masses: masses.to_vec() };
    let logits = match law {
        "normal" => Logits::Normal { mean: 0.0, deviation: 1.5 },
        "skewed" => steps(&[-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 3.0, 5.0], &[0.08, 0.24, 0.26, 0.12, 0.1, 0.14, 0.06]),
        "ties" => {
            // The logits of 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9 and 0.95.
            let atoms = [
                (-2.197_225, 0.1),
                (-0.847_298, 0.1),
                (0.0, 0.1),
                (0.405_465, 0.1),
                (0.847_298, 0.15),
                (1.386_294, 0.2),
                (2.197_225, 0.15),
                (2.944_439, 0.09),
            ];
            let atoms = atoms.map(|(logit, mass)| calipers::population::Atom { logit, mass }).to_vec();
            Logits::WithAtoms { mean: 0.0, deviation: 1.5, atoms }
        }
        "rare events" => Logits::Normal { mean: -4.4, deviation: 1.0 },
        "very sure" => steps(&[-14.0, -8.0, -4.0, 4.0, 8.0, 14.0], &[0.2, 0.25, 0.15, 0.2, 0.2]),
        _ => return Known::clustered(name, 0.5, 1.5, truth),
    };
    Ok(Known::new(Family::new(name, logits, truth)?))
}

/// Every law with every truth.
pub(super) fn populations() -> Result<Vec<Known>, Error> {
    let all = LAWS.into_iter().flat_map(|law| truths().map(|(name, truth)| (law, name, truth)));
    all.map(|(law, name, truth)| population(law, name, truth)).collect()
}

/// Coverage of the interval, cell by cell; each cell is handed on as soon as it is known.
pub fn coverage(plan: &Plan, mut each: impl FnMut(Cell)) -> Result<(), Error> {
    for &n in &plan.rows {
        for law in plan.laws() {
            for (name, truth) in plan.truths() {
                let known = population(law, name, truth)?;
                for &method in &plan.methods {
                    each(cell(plan, &known, law, method, n)?);
                }
            }
        }
    }
    Ok(())
}

/// One run: the true gain, the ends of the interval and the verdict.
pub(super) struct Run {
    pub(super) gain: f64,
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) verdict: Verdict,
}

fn cell(plan: &Plan, known: &Known, law: &'static str, method: Method, n: usize) -> Result<Cell, Error> {
    let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(0);
    let runs = replicates(plan.n_runs, |run| {
        let drawn = known.draw(n, seed_of(plan.random_state, 31, run));
        // Scores that fall by chance have no temperature, and one outcome has no map.
        let Ok(found) = improvement(&cross_fit, &drawn) else { return Ok(None) };
        let (gain, interval) = (known.gain(&found.fit.map), found.interval);
        Ok(Some(Run { gain, lower: interval.lower, upper: interval.upper, verdict: found.verdict }))
    })?;
    let runs: Vec<Run> = runs.into_iter().flatten().collect();
    Ok(Cell::of(&runs, method, law, known.family.name(), n))
}

impl Cell {
    /// The shares of some runs.
    pub(super) fn of(runs: &[Run], method: Method, law: &'static str, truth: &'static str, n: usize) -> Self {
        let n_runs = runs.len().max(1) as f64;
        let share = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is(run)).count() as f64 / n_runs;
        let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / n_runs;
        Cell {
            method,
            law,
            truth,
            n,
            n_runs: runs.len() as u64,
            covered: share(&|run| run.lower <= run.gain && run.gain <= run.upper),
            below: share(&|run| run.upper < run.gain),
            above: share(&|run| run.gain < run.lower),
            helps: share(&|run| run.verdict == Verdict::Helps),
            wrongly_helps: share(&|run| run.verdict == Verdict::Helps && run.gain <= 0.0),
            hurts: share(&|run| run.verdict == Verdict::Hurts),
            wrongly_hurts: share(&|run| run.verdict == Verdict::Hurts && run.gain >= 0.0),
            width: n as f64 * mean(&|run| run.upper - run.lower),
            gain: n as f64 * mean(&|run| run.gain),
        }
    }
}

pub(super) fn improvement(cross_fit: &CrossFit, drawn: &Drawn) -> Result<calipers::recalibrate::Improvement, Error> {
    let predictions = Input::logits(&drawn.logits, &drawn.outcomes).check()?;
    let view = predictions.binary()?;
    cross_fit.run(drawn.sample(&view))
}

/// The share of calibrated samples that are found to have something to fix at 5 %.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeCell {
    /// The method.
    pub method: Method,
    /// The law of the logits.
    pub law: &'static str,
    /// Rows.
    pub n: usize,
    /// Runs.
    pub n_runs: u64,
    /// Share of rejections.
    pub rejected: f64,
}

/// The size of the test at 5 %, cell by cell.
pub fn sizes(plan: &Plan, n_resamples: u64, mut each: impl FnMut(SizeCell)) -> Result<(), Error> {
    for &n in &plan.rows {
        for law in plan.laws() {
            let known = population(law, "calibrated", Truth::CALIBRATED)?;
            for &method in &plan.methods {
                let cross_fit = CrossFit::new(Recalibrate::new(method)).n_folds(2).n_resamples(n_resamples);
                let rejected = replicates(plan.n_runs, |run| {
                    let drawn = known.draw(n, seed_of(plan.random_state, 32, run));
                    // Draws of their own: with those of one seed, all runs would have nearly the
                    // same threshold, and the share would be the size of that one alone.
                    let cross_fit = cross_fit.clone().random_state(seed_of(plan.random_state, 36, run));
                    let found = improvement(&cross_fit, &drawn);
                    Ok(found.ok().and_then(|found| found.floor).map(|floor| floor.p_value <= 0.05 + 1e-12))
                })?;
                let rejected: Vec<bool> = rejected.into_iter().flatten().collect();
                let n_rejected = rejected.iter().filter(|rejected| **rejected).count();
                let n_runs = rejected.len() as u64;
                each(SizeCell { method, law, n, n_runs, rejected: n_rejected as f64 / n_runs as f64 });
            }
        }
    }
    Ok(())
}
