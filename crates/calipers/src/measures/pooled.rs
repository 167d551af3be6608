//! Rows in order of their probability, equal probabilities pooled: what every measure in one dimension starts from.

use rayon::prelude::*;

use crate::Error;
use crate::estimate::{Estimate, Settings};
use crate::link::{Link, Logistic};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::predictions::{BinaryView, Rows, Scale};

/// All rows of one probability, as shares of the whole weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Group {
    pub(super) p: f64,
    /// Share of the weight with outcome 0.
    pub(super) negative: f64,
    /// Share of the weight with outcome 1.
    pub(super) positive: f64,
}

impl Group {
    pub(super) fn weight(&self) -> f64 {
        self.negative + self.positive
    }

    /// Σ s (y - p) over the group, with an error of at most 4 ε Σ s |y - p|, ε = 2^-53, beyond that of the shares.
    pub(super) fn residual(&self) -> f64 {
        self.positive * (1.0 - self.p) - self.negative * self.p
    }

    /// Σ s |y - p| over the group.
    pub(super) fn absolute(&self) -> f64 {
        self.positive * (1.0 - self.p) + self.negative * self.p
    }
}

/// Groups in ascending order of p, each with some weight. Shares have a relative error of at most 4 units of rounding.
#[derive(Debug, Clone)]
pub(super) struct Pooled {
    pub(super) groups: Vec<Group>,
    /// Rows of the view.
    n: u64,
    /// By how much computed scores can have moved a probability.
    score_error: f64,
}

impl Pooled {
    /// Sorts and pools. What is equal is equal in bits, and weights are added in order of their size: so the order of
    /// rows and the number of threads change nothing.
    pub(super) fn new(view: &BinaryView<'_>, link: &dyn Link) -> Result<Self, Error> {
        let n = view.len();
        if n == 0 {
            return Err(Error::NoRows);
        }
        let groups = match view.is_weighted() {
            true => weighted(view, link)?,
            false => counted(view, link),
        };
        Ok(Pooled { groups, n: n as u64, score_error: view.score_error(1.0) })
    }

    /// By how much any sum Σ s (y - p) w(p) with |w| <= 1 can be off before a measure has done anything: shares and
    /// residuals by a few units of rounding, computed scores by their own error at a slope of at most 1 / 4.
    pub(super) fn residual_error(&self) -> f64 {
        8.0 * f64::EPSILON * self.groups.iter().map(Group::absolute).sum::<f64>() + self.score_error
    }

    /// Bound on the rounding error of a probability that was computed from a score.
    pub(super) fn score_error(&self) -> f64 {
        self.score_error
    }

    /// An estimate of these rows.
    pub(super) fn estimate(
        &self,
        view: &BinaryView<'_>,
        measure: &'static str,
        (value, numerical_bound): (f64, f64),
        settings: Settings,
    ) -> Estimate {
        Estimate {
            measure,
            value,
            numerical_bound,
            standard_error: None,
            n: self.n,
            n_clipped: 0,
            input: view.report().clone(),
            settings,
            per_class: Vec::new(),
        }
    }
}

/// The bits of p and the outcome in one integer, in the order of p: p is in [0, 1], so two bits are free.
fn key(p: f64, outcome: bool) -> u64 {
    // Adding 0 turns -0 into 0.
    (p + 0.0).to_bits() << 1 | u64::from(outcome)
}

fn probability_of(key: u64) -> f64 {
    f64::from_bits(key >> 1)
}

fn read(view: &BinaryView<'_>, link: &dyn Link, range: std::ops::Range<usize>) -> Rows {
    let mut rows = Rows::default();
    view.read(range, &mut rows);
    match view.scale() {
        Scale::Probability => {}
        Scale::LogOdds => rows.scores.iter_mut().for_each(|score| *score = Logistic.response(*score)),
        Scale::Link => rows.scores.iter_mut().for_each(|score| *score = link.response(*score).clamp(0.0, 1.0)),
    }
    rows
}

fn counted(view: &BinaryView<'_>, link: &dyn Link) -> Vec<Group> {
    let chunks = parallel::map_chunks(view.len(), parallel::CHUNK, |range| {
        let rows = read(view, link, range);
        rows.scores.iter().zip(&rows.outcomes).map(|(&p, &outcome)| key(p, outcome)).collect::<Vec<u64>>()
    });
    let mut keys = chunks.concat();
    keys.par_sort_unstable();
    let n = keys.len() as f64;
    let same = |a: &u64, b: &u64| a >> 1 == b >> 1;
    let group = |keys: &[u64]| {
        let n_positive = keys.iter().filter(|key| *key & 1 == 1).count();
        let share = |count: usize| count as f64 / n;
        Group { p: probability_of(keys[0]), negative: share(keys.len() - n_positive), positive: share(n_positive) }
    };
    keys.chunk_by(same).map(group).collect()
}

fn weighted(view: &BinaryView<'_>, link: &dyn Link) -> Result<Vec<Group>, Error> {
    let largest_weight = view.largest_weight();
    let chunks = parallel::map_chunks(view.len(), parallel::CHUNK, |range| {
        let rows = read(view, link, range);
        let all = rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights);
        let keyed = all.map(|((&p, &outcome), &weight)| (key(p, outcome), (weight / largest_weight).to_bits()));
        keyed.filter(|(_, weight)| f64::from_bits(*weight) > 0.0).collect::<Vec<(u64, u64)>>()
    });
    let mut rows = chunks.concat();
    if rows.is_empty() {
        return Err(Error::ZeroWeights { n_rows: view.len() as u64 });
    }
    // Weights are not negative, so their bits are in their order.
    rows.par_sort_unstable();
    let total = rows.iter().map(|(_, weight)| f64::from_bits(*weight)).collect::<Sum>().value();
    let group = |rows: &[(u64, u64)]| {
        let (mut negative, mut positive) = (Sum::default(), Sum::default());
        for (key, weight) in rows {
            if key & 1 == 1 { &mut positive } else { &mut negative }.add(f64::from_bits(*weight));
        }
        Group { p: probability_of(rows[0].0), negative: negative.value() / total, positive: positive.value() / total }
    };
    let groups = rows.chunk_by(|a, b| a.0 >> 1 == b.0 >> 1).map(group);
    // A weight can be so small beside others that its share is 0.
    Ok(groups.filter(|group| group.weight() > 0.0).collect())
}
