//! Shares, means and medians of models, with intervals that take sets of shared rows as one.

use super::rules::{LEAST_SETS, N_INTERVAL_DRAWS};
use crate::replicates::{Stream, seed_of};
use crate::table::fixed;

/// A statistic of models with a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Statistic {
    pub(super) value: f64,
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// The mean over sets, each counted once.
    pub(super) by_set: f64,
    pub(super) n_models: usize,
    pub(super) n_sets: usize,
}

/// The share of models for which something is true, from the name of the set of each.
pub(super) fn share<'a>(models: impl IntoIterator<Item = (&'a str, bool)>) -> Option<Statistic> {
    let sets = by_set(models.into_iter().map(|(set, is)| (set, f64::from(u8::from(is)))));
    let mut found = statistic(&sets, mean)?;
    let (n_sets, alpha) = (found.n_sets as f64, 0.025f64);
    // All models are alike, and so are all draws. Clopper and Pearson have a closed form there.
    if found.value == 0.0 {
        found.upper = 1.0 - alpha.powf(1.0 / n_sets);
    } else if found.value == 1.0 {
        found.lower = alpha.powf(1.0 / n_sets);
    }
    Some(found)
}

/// The median of a value.
pub(super) fn median<'a>(models: impl IntoIterator<Item = (&'a str, f64)>) -> Option<Statistic> {
    statistic(&by_set(models), |values| {
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        if values.len() % 2 == 1 { values[half] } else { 0.5 * (values[half - 1] + values[half]) }
    })
}

/// The mean of a value.
pub(super) fn average<'a>(models: impl IntoIterator<Item = (&'a str, f64)>) -> Option<Statistic> {
    statistic(&by_set(models), mean)
}

fn mean(values: &mut [f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn by_set<'a>(models: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<Vec<f64>> {
    let mut sets = std::collections::BTreeMap::<&str, Vec<f64>>::new();
    for (set, value) in models {
        sets.entry(set).or_default().push(value);
    }
    sets.into_values().collect()
}

/// `None` without models.
fn statistic(sets: &[Vec<f64>], of: fn(&mut [f64]) -> f64) -> Option<Statistic> {
    let mut all: Vec<f64> = sets.iter().flatten().copied().collect();
    let (n_models, n_sets) = (all.len(), sets.len());
    if all.is_empty() {
        return None;
    }
    let mut draws: Vec<f64> = (0..N_INTERVAL_DRAWS as u64)
        .map(|draw| {
            let mut stream = Stream::new(seed_of(0, 32, draw));
            all.clear();
            (0..n_sets).for_each(|_| all.extend(&sets[stream.place(n_sets)]));
            of(&mut all)
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    let quantile = |at: f64| draws[((at * draws.len() as f64) as usize).min(draws.len() - 1)];
    let mut all: Vec<f64> = sets.iter().flatten().copied().collect();
    Some(Statistic {
        value: of(&mut all),
        lower: quantile(0.025),
        upper: quantile(0.975),
        by_set: sets.iter().map(|set| mean(&mut set.clone())).sum::<f64>() / n_sets as f64,
        n_models,
        n_sets,
    })
}

impl Statistic {
    /// `12 % (8 to 17 %)`, without the interval if there are few sets.
    pub(super) fn percent(&self) -> String {
        let number = |share: f64| {
            let digits = if share > 0.0 && share < 0.0995 { 1 } else { 0 };
            fixed(100.0 * share, digits)
        };
        match self.n_sets < LEAST_SETS {
            true => format!("{} %", number(self.value)),
            false => format!("{} % ({} to {} %)", number(self.value), number(self.lower), number(self.upper)),
        }
    }

    /// `0.0123 (0.0100 to 0.0150)`, without the interval if there are few sets.
    pub(super) fn decimal(&self) -> String {
        match self.n_sets < LEAST_SETS {
            true => fixed(self.value, 4),
            false => format!("{} ({} to {})", fixed(self.value, 4), fixed(self.lower, 4), fixed(self.upper, 4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_one_set_has_no_interval_and_none_has_that_of_the_sets() {
        let one = share((0..10).map(|model| ("set", model < 3))).unwrap();
        assert_eq!((one.value, one.lower, one.upper, one.n_sets), (0.3, 0.3, 0.3, 1));
        let names: Vec<String> = (0..20).map(|set| set.to_string()).collect();
        let none = share(names.iter().map(|set| (set.as_str(), false))).unwrap();
        assert_eq!((none.value, none.lower), (0.0, 0.0));
        assert!((none.upper - 0.168).abs() < 1e-3);
        assert!(share([]).is_none());
    }

    #[test]
    fn sets_count_the_same_however_many_models_they_have() {
        let found = share([("a", true), ("a", true), ("a", true), ("b", false)]).unwrap();
        assert_eq!((found.value, found.by_set), (0.75, 0.5));
        assert_eq!(median([("a", 1.0), ("b", 3.0), ("c", 2.0)]).unwrap().value, 2.0);
        assert_eq!(median([("a", 1.0), ("b", 3.0)]).unwrap().value, 2.0);
    }
}
