//! The risk of every method and of the choice between them, on families of known truth.

use calipers::recalibrate::{Choose, Method, Recalibrate};
use calipers::{Error, Input};

use super::population::Known;
use crate::replicates::{replicates, seed_of};

/// One candidate on one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The method.
    pub method: Method,
    /// By how much its loss out of fold is above that of the best.
    pub difference: f64,
    /// The standard error of that difference.
    pub standard_error: f64,
    /// By how much the expected log-loss of its map is above that of the truth.
    pub excess: f64,
}

/// One sample: all candidates, and the choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Candidates with a fit, from the simplest on.
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

fn trial(known: &Known, choose: &Choose, drawn: &super::population::Drawn) -> Result<Trial, Error> {
    let predictions = Input::logits(&drawn.logits, &drawn.outcomes).check()?;
    let view = predictions.binary()?;
    let choice = choose.run(&view)?;
    let mut entries = Vec::new();
    for candidate in &choice.table {
        let (Some(method), Some(difference), Some(standard_error)) =
            (candidate.method, candidate.difference, candidate.standard_error)
        else {
            continue;
        };
        let map = Recalibrate::new(method).fit(&view)?.map;
        entries.push(Entry { method, difference, standard_error, excess: known.excess(&map) });
    }
    let interval = choice.improvement.interval;
    Ok(Trial {
        entries,
        chosen: choice.chosen,
        gain: known.gain(&choice.fit().map),
        interval: (interval.lower, interval.upper),
        nested_gain: choice.nested_gain,
    })
}

/// Trials of every known family, handed on one by one with the name and list of the family.
pub fn all_trials(
    choose: &Choose,
    rows: &[usize],
    n_runs: u64,
    random_state: u64,
    mut each: impl FnMut(&'static str, usize, usize, &[Trial]),
) -> Result<(), Error> {
    use calipers::population::Family;
    let lists = [Family::all(), Family::kept_aside(), Family::unseen(), Family::fresh()];
    for &n in rows {
        for (list, families) in lists.iter().enumerate() {
            // Quick, with few runs: the first families of each list.
            for family in families.iter().take(if n_runs < 10 { 3 } else { families.len() }) {
                let known = Known::new(family.clone());
                each(family.name(), list, n, &trials(&known, choose, n, n_runs, random_state)?);
            }
        }
    }
    Ok(())
}
