//! Populations whose truth is known, and what a map gains on them.

use calipers::population::{Family, Logits, Truth};
use calipers::recalibrate::BinaryMap;
use calipers::{BinaryView, Error, Link, Logistic, Probit, Sample};

use crate::replicates::{seed_of, uniform};

/// Places at which a population is looked at: quantiles of its logits, all of the same probability.
const N_PLACES: usize = 2000;

/// The share of the variance that rows of one cluster have in common, on the scale of normal
/// numbers: of logits, and of outcomes given logits.
const COMMON: f64 = 0.3;

/// Rows of a cluster.
const CLUSTER: usize = 5;

/// A family with its truth at many places.
pub(super) struct Known {
    pub(super) family: Family,
    /// Normal logits in clusters, with outcomes that depend on each other: mean and deviation.
    clustered: Option<(f64, f64)>,
    /// Logits and log-losses: of the truth, and the prediction.
    places: Vec<Place>,
}

struct Place {
    logit: f64,
    /// P(Y = 1) and P(Y = 0).
    truth: (f64, f64),
}

/// Rows of a population.
pub(super) struct Drawn {
    pub(super) logits: Vec<f64>,
    pub(super) outcomes: Vec<bool>,
    /// Where rows depend on each other.
    pub(super) clusters: Option<Vec<u32>>,
}

impl Drawn {
    /// The rows with their clusters.
    pub(super) fn sample<'a>(&'a self, view: &'a BinaryView<'a>) -> Sample<'a> {
        match &self.clusters {
            Some(clusters) => Sample::from(view).clusters(clusters),
            None => Sample::from(view),
        }
    }
}

impl Known {
    pub(super) fn new(family: Family) -> Self {
        let place = |k: usize| {
            let logit = quantile(family.logits(), (k as f64 + 0.5) / N_PLACES as f64);
            Place { logit, truth: Logistic.both(family.truth().logit(logit)) }
        };
        let places = (0..N_PLACES).map(place).collect();
        Known { family, clustered: None, places }
    }

    /// Normal logits in clusters of [`CLUSTER`] rows. The truth of a row is the same as without.
    pub(super) fn clustered(name: &'static str, mean: f64, deviation: f64, truth: Truth) -> Result<Self, Error> {
        let family = Family::new(name, Logits::Normal { mean, deviation }, truth)?;
        Ok(Known { clustered: Some((mean, deviation)), ..Known::new(family) })
    }

    pub(super) fn draw(&self, n: usize, seed: u64) -> Drawn {
        let Some((mean, deviation)) = self.clustered else {
            let sample = self.family.sample(n, seed);
            return Drawn { logits: sample.scores, outcomes: sample.outcomes, clusters: None };
        };
        let normal = |stream: u64, index: usize| {
            let u = uniform(seed_of(seed, stream, 1), index as u64);
            Probit.inverse(u, 1.0 - u)
        };
        let both = |own: u64, index: usize| {
            COMMON.sqrt() * normal(own, index / CLUSTER) + (1.0 - COMMON).sqrt() * normal(own + 1, index)
        };
        let row = |index: usize| {
            let logit = mean + deviation * both(1, index);
            (logit, Probit.response(both(3, index)) < self.family.truth().probability(logit))
        };
        let (logits, outcomes) = (0..n).map(row).unzip();
        Drawn { logits, outcomes, clusters: Some((0..n).map(|index| (index / CLUSTER) as u32).collect()) }
    }

    /// By how much a map lowers the expected log-loss.
    pub(super) fn gain(&self, map: &BinaryMap) -> f64 {
        self.mean(|place| {
            let (p, complement) = Logistic.both(place.logit);
            cross_entropy(place, -log(p, place.logit), -log(complement, -place.logit)) - loss(map, place)
        })
    }

    /// By how much the expected log-loss of a map is above that of the truth.
    pub(super) fn excess(&self, map: &BinaryMap) -> f64 {
        self.mean(|place| {
            let u = self.family.truth().logit(place.logit);
            loss(map, place) - cross_entropy(place, -log(place.truth.0, u), -log(place.truth.1, -u))
        })
    }

    fn mean(&self, of: impl Fn(&Place) -> f64) -> f64 {
        self.places.iter().map(of).sum::<f64>() / self.places.len() as f64
    }
}

fn loss(map: &BinaryMap, place: &Place) -> f64 {
    let [negative, positive] = map.losses(place.logit);
    cross_entropy(place, positive, negative)
}

/// The expected loss, for those of outcome 1 and of outcome 0.
fn cross_entropy(place: &Place, positive: f64, negative: f64) -> f64 {
    let part = |p: f64, loss: f64| if p > 0.0 { p * loss } else { 0.0 };
    part(place.truth.0, positive) + part(place.truth.1, negative)
}

/// log σ(u), where σ(u) is p: u itself where p is no longer a double.
fn log(p: f64, u: f64) -> f64 {
    if p > 1e-300 { p.ln() } else { u }
}

/// The logit that a share of rows is at most at, by bisection.
fn quantile(logits: &Logits, share: f64) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    while logits.distribution(low) > share {
        low *= 2.0;
    }
    while logits.distribution(high) < share {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if logits.distribution(middle) < share { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_to_the_truth_has_no_excess_and_gains_what_the_identity_loses() -> Result<(), Error> {
        let known = Known::new(Family::named("overconfident")?);
        let identity = BinaryMap::identity();
        let excess = known.excess(&identity);
        assert!(known.gain(&identity).abs() < 1e-15 && excess > 0.03, "{excess}");
        let mut truth = BinaryMap::identity();
        (truth.method, truth.parameters) = (calipers::recalibrate::Method::Temperature, vec![0.6]);
        assert!(known.excess(&truth).abs() < 1e-15);
        assert!((known.gain(&truth) - excess).abs() < 1e-15);
        Ok(())
    }

    #[test]
    fn clustered_rows_have_the_truth_of_their_population() -> Result<(), Error> {
        let known = Known::clustered("clustered", 0.5, 1.5, Truth::Affine { intercept: 0.0, slope: 0.6 })?;
        let drawn = known.draw(60_000, 3);
        let residual: f64 = drawn
            .logits
            .iter()
            .zip(&drawn.outcomes)
            .map(|(h, y)| f64::from(u8::from(*y)) - known.family.truth().probability(*h))
            .sum::<f64>()
            / 60_000.0;
        // Five standard errors, of which clusters make some twice as large.
        assert!(residual.abs() < 0.02, "{residual}");
        Ok(())
    }
}
