//! The risk of every method and of the choice between them, on populations of known truth.

use calipers::population::Family;
use calipers::recalibrate::{Choose, Method, Recalibrate};
use calipers::{Error, Input};

use super::METHODS;
use super::coverage::populations;
use super::population::{Drawn, Known};
use crate::replicates::{replicates, seed_of};

/// One method on one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The method.
    pub method: Method,
    /// By how much the expected log-loss of its map is above that of the truth.
    pub excess: f64,
}

/// One sample: all methods, and the choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Methods with a fit, from the simplest on.
    pub entries: Vec<Entry>,
    /// What was chosen.
    pub chosen: Method,
    /// The gain of its map on new rows.
    pub gain: f64,
    /// The ends of its interval.
    pub interval: (f64, f64),
    /// The gain of the procedure out of fold.
    pub nested_gain: f64,
}

impl Trial {
    /// The excess risk of a method; that of the identity where it has no fit.
    pub fn excess(&self, method: Method) -> f64 {
        let of = |method: Method| self.entries.iter().find(|entry| entry.method == method);
        of(method).or_else(|| of(Method::Identity)).map_or(0.0, |entry| entry.excess)
    }
}

/// The methods whose risk is measured: bins and the like are far from the best.
pub(super) fn methods() -> impl Iterator<Item = Method> {
    [Method::Identity].into_iter().chain(METHODS.into_iter().take(6))
}

/// Trials of one population and number of rows.
pub(super) fn trials(
    known: &Known,
    choose: &Choose,
    n: usize,
    n_runs: u64,
    random_state: u64,
) -> Result<Vec<Trial>, Error> {
    let found = replicates(n_runs, |run| {
        let drawn = known.draw(n, seed_of(random_state, 33, run));
        // One outcome has no map.
        Ok(trial(known, choose, &drawn).ok())
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn trial(known: &Known, choose: &Choose, drawn: &Drawn) -> Result<Trial, Error> {
    let predictions = Input::logits(&drawn.logits, &drawn.outcomes).check()?;
    let view = predictions.binary()?;
    let choice = choose.run(drawn.sample(&view))?;
    let entry = |method: Method| {
        // Scores that fall by chance have no temperature.
        let map = Recalibrate::new(method).fit(&view).ok()?.map;
        Some(Entry { method, excess: known.excess(&map) })
    };
    let interval = choice.improvement.interval;
    Ok(Trial {
        entries: methods().filter_map(entry).collect(),
        chosen: choice.chosen,
        gain: known.gain(&choice.fit().map),
        interval: (interval.lower, interval.upper),
        nested_gain: choice.nested_gain,
    })
}

/// Trials of every known population, handed on one by one with the name and list of the population:
/// the four lists of families, then the populations of the section on coverage.
pub fn all_trials(
    choose: &Choose,
    rows: &[usize],
    n_runs: u64,
    random_state: u64,
    mut each: impl FnMut(&'static str, usize, usize, &[Trial]),
) -> Result<(), Error> {
    let families = [Family::all(), Family::kept_aside(), Family::unseen(), Family::fresh()];
    let known = |list: Vec<Family>| list.into_iter().map(Known::new).collect();
    let mut lists: Vec<Vec<Known>> = families.into_iter().map(known).collect();
    lists.push(populations()?);
    for &n in rows {
        for (list, populations) in lists.iter().enumerate() {
            // Quick, with few runs: the first of each list.
            for known in populations.iter().take(if n_runs < 3 { 3 } else { populations.len() }) {
                each(known.family.name(), list, n, &trials(known, choose, n, n_runs, random_state)?);
            }
        }
    }
    Ok(())
}
