//! Rows on which the candidates of a choice are tried.

use crate::Error;
use crate::inference::Clusters;
use crate::measures::ProperScore;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::linear::Design;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atoms, Ordered, Row};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Recalibrate;

/// What it takes to choose a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The smaller loss decides between those.
    Base,
    /// It loses little where it is wrong, and so takes little evidence.
    Safe,
    /// It may lose much, or looks best by chance often.
    Other,
}

/// Rows on which candidates are tried.
pub(super) trait Trials: Sync {
    /// A map of one row.
    type Map: Clone + Send + Sync;

    /// The fold of each row.
    fn folds(&self) -> &[u32];

    fn n_folds(&self) -> usize {
        self.folds().iter().max().map_or(0, |fold| *fold as usize + 1)
    }

    /// What it takes to choose a method.
    fn role(&self, method: Method) -> Role;

    /// The map of the rows of some folds.
    fn fit(&self, options: &Recalibrate, of: &(dyn Fn(u32) -> bool + Sync)) -> Result<Self::Map, Error>;

    /// The loss after less that before, of each row by the map of its fold; 0 for the fold that is
    /// left out.
    fn changes(&self, score: ProperScore, maps: &[&Self::Map], without: Option<usize>) -> Vec<f64>;

    /// The mean of changes without those of a fold.
    fn mean(&self, changes: &[f64], without: Option<usize>) -> f64;

    /// The standard error of that mean.
    fn deviation(&self, changes: &[f64], mean: f64, without: Option<usize>) -> f64;

    /// The mean loss of the rows as they are.
    fn loss_before(&self, score: ProperScore) -> f64;
}

/// Rows of a binary outcome.
pub(super) struct BinaryTrials<'a> {
    pub(super) ordered: &'a Ordered,
    pub(super) clusters: Option<&'a Clusters>,
    pub(super) folds: &'a [u32],
    pub(super) n_rows: usize,
}

impl BinaryTrials<'_> {
    fn is_in(&self, place: usize, without: Option<usize>) -> bool {
        without.is_none_or(|fold| self.folds[place] != fold as u32)
    }

    fn weight(&self, without: Option<usize>) -> f64 {
        let rows = self.ordered.rows.iter().enumerate().filter(|(place, _)| self.is_in(*place, without));
        rows.map(|(_, row)| row.weight()).collect::<Sum>().value()
    }
}

impl Trials for BinaryTrials<'_> {
    type Map = BinaryMap;

    fn folds(&self) -> &[u32] {
        self.folds
    }

    fn role(&self, method: Method) -> Role {
        match method {
            Method::Identity | Method::Platt => Role::Base,
            Method::Beta | Method::Spline => Role::Safe,
            _ => Role::Other,
        }
    }

    fn fit(&self, options: &Recalibrate, of: &(dyn Fn(u32) -> bool + Sync)) -> Result<BinaryMap, Error> {
        let atoms: Atoms = self.ordered.pooled(|place| of(self.folds[place]));
        let design = Design::new(options.method, &atoms);
        Ok(options.fit_atoms(&design, &atoms)?.map)
    }

    fn changes(&self, score: ProperScore, maps: &[&BinaryMap], without: Option<usize>) -> Vec<f64> {
        let identity = BinaryMap::identity();
        let change = |(row, fold): (&Row, &u32)| {
            if without == Some(*fold as usize) {
                return 0.0;
            }
            let outcome = row.outcome();
            loss(maps[*fold as usize], score, row.h(), outcome) - loss(&identity, score, row.h(), outcome)
        };
        self.ordered.rows.iter().zip(self.folds).map(change).collect()
    }

    fn mean(&self, changes: &[f64], without: Option<usize>) -> f64 {
        let parts = self.ordered.rows.iter().zip(changes).map(|(row, change)| row.weight() * change);
        parts.collect::<Sum>().value() / self.weight(without)
    }

    fn deviation(&self, changes: &[f64], mean: f64, without: Option<usize>) -> f64 {
        let total = self.weight(without);
        let away = |place: usize| if self.is_in(place, without) { changes[place] - mean } else { 0.0 };
        match self.clusters {
            Some(clusters) => {
                let mut parts = vec![0.0; self.n_rows];
                for (place, row) in self.ordered.rows.iter().enumerate() {
                    parts[row.index as usize] = row.weight() / total * away(place);
                }
                clusters.deviation(&parts)
            }
            None => {
                let square = |(place, row): (usize, &Row)| {
                    let weight = row.weight();
                    (if self.ordered.counts { weight } else { weight * weight }) * away(place).powi(2)
                };
                self.ordered.rows.iter().enumerate().map(square).collect::<Sum>().value().sqrt() / total
            }
        }
    }

    fn loss_before(&self, score: ProperScore) -> f64 {
        let identity = BinaryMap::identity();
        let part = |row: &Row| row.weight() * loss(&identity, score, row.h(), row.outcome());
        self.ordered.rows.iter().map(part).collect::<Sum>().value() / self.weight(None)
    }
}

/// The loss of a map for an outcome at a logit.
pub(crate) fn loss(map: &BinaryMap, score: ProperScore, h: f64, outcome: bool) -> f64 {
    match score {
        ProperScore::Log => map.losses(h)[usize::from(outcome)],
        ProperScore::Brier => {
            let (p, complement) = map.both(h);
            if outcome { complement * complement } else { p * p }
        }
    }
}
