//! Is there anything to fix? The gain that the fit seems to have, beside that of calibrated
//! predictions.

use crate::Error;
use crate::inference::{Clusters, CorrelatedOutcomes};
use crate::numerics::binomial::binomial;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::recalibrate::binary::formula::both;
use crate::recalibrate::binary::linear::Design;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atom, Atoms, Ordered};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Recalibrate, mean_loss};
use crate::watch;

/// With more different scores than this, neighbours are pooled before outcomes are drawn: the
/// statistic is that of the pooled rows then, for the rows and for the draws alike.
const MANY: usize = 1 << 14;

/// Cells for each unit of logit where neighbours are pooled.
const CELLS: f64 = 64.0;

/// The gain that recalibration seems to have on rows whose outcomes are drawn from their
/// predictions, where there is nothing to fix.
///
/// # Definition
/// The statistic is the gain on the fitted rows: mean log-loss before less that after. Predictions
/// stay, and every outcome is drawn with its predicted probability (with clusters, correlated as
/// [`CorrelatedOutcomes`] has it); then the map is fitted again. If the predictions are the truth,
/// the value is one more draw: so the p-value is at most α in at most a share α of samples, for any
/// method and any number of rows. Scalings of classes are not fitted again for each draw: their
/// p-value and the mean and deviation of draws are those of a score statistic, which is the gain of
/// one Newton step from the identity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GainFloor {
    /// The gain on the fitted rows themselves.
    pub value: f64,
    /// Mean gain of the draws: what recalibrating calibrated predictions would seem to gain.
    pub mean: f64,
    /// Standard deviation of the draws.
    pub deviation: f64,
    /// (1 + draws that are at least the value) / (1 + draws); draws without a fit count as both.
    pub p_value: f64,
    /// Draws that were requested.
    pub n_resamples: u64,
    /// Draws that have no fit, such as those with one outcome only.
    pub n_failed: u64,
    /// What the random numbers were made from.
    pub random_state: u64,
}

impl GainFloor {
    /// Of a value and of draws, some of which may have failed.
    pub(crate) fn of(value: f64, gains: Vec<Option<f64>>, random_state: u64) -> Self {
        let known: Vec<f64> = gains.iter().flatten().copied().collect();
        let n = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / n;
        let variance = known.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        let n_reaching = gains.iter().filter(|gain| gain.is_none_or(|gain| gain >= value)).count();
        GainFloor {
            value,
            mean,
            deviation: variance.sqrt(),
            p_value: (1 + n_reaching) as f64 / (1 + gains.len()) as f64,
            n_resamples: gains.len() as u64,
            n_failed: (gains.len() - known.len()) as u64,
            random_state,
        }
    }
}

/// What outcomes are drawn for.
pub(crate) struct Redrawn<'a> {
    pub(crate) options: &'a Recalibrate,
    pub(crate) ordered: &'a Ordered,
    pub(crate) clusters: Option<&'a Clusters>,
    pub(crate) n_rows: usize,
}

impl Redrawn<'_> {
    pub(crate) fn floor(&self, atoms: &Atoms, n_resamples: u64, random_state: u64) -> Result<GainFloor, Error> {
        let is_counted = self.is_counted();
        let pooled = if is_counted { Self::pooled(atoms) } else { atoms.clone() };
        let design = Design::new(self.options.method, &pooled);
        let value = self.gain(&design, &pooled)?;
        let correlated = self.clusters.map(|clusters| self.correlated(clusters));
        watch::expect_draws(n_resamples);
        let gains: Vec<Option<f64>> = parallel::map(n_resamples as usize, |draw| {
            watch::draw_begins();
            let seed = seed_of_draw(random_state, draw as u64);
            let drawn = match (&correlated, self.clusters) {
                (Some(correlated), Some(clusters)) => self.draw_clusters(correlated, clusters, seed),
                _ if is_counted => draw_counts(&pooled, seed),
                _ => self.draw_rows(seed),
            };
            self.drawn_gain(&design, &drawn)
        });
        Ok(GainFloor::of(value, gains, random_state))
    }

    /// Whether an atom is a number of equal rows; asks every row.
    fn is_counted(&self) -> bool {
        self.clusters.is_none() && (self.ordered.counts || self.ordered.is_unweighted())
    }

    fn gain(&self, design: &Design, atoms: &Atoms) -> Result<f64, Error> {
        let map = self.options.fit_atoms(design, atoms)?.map;
        Ok(mean_loss(&BinaryMap::identity(), atoms) - mean_loss(&map, atoms))
    }

    fn drawn_gain(&self, design: &Design, atoms: &Atoms) -> Option<f64> {
        match self.gain(design, atoms) {
            Ok(gain) => Some(gain),
            // Scores that fall by chance have their best slope at 0, and a loss of log 2.
            Err(_) if self.options.method == Method::Temperature && atoms.check_outcomes().is_ok() => {
                let flat = mean_loss(&BinaryMap::identity(), atoms) - std::f64::consts::LN_2;
                (flat > 0.0).then_some(flat)
            }
            Err(_) => None,
        }
    }

    /// The atoms, or cells of them where they are many.
    fn pooled(atoms: &Atoms) -> Atoms {
        if atoms.atoms.len() <= MANY {
            return atoms.clone();
        }
        let cell = |atom: &Atom| (atom.h * CELLS).round();
        let merged = |group: &[Atom]| {
            let mut sum = Atom { h: 0.0, weights: [0.0; 2], squares: [0.0; 2] };
            let mut expected = 0.0;
            for atom in group {
                for outcome in 0..2 {
                    sum.weights[outcome] += atom.weights[outcome];
                    sum.squares[outcome] += atom.squares[outcome];
                }
                expected += (atom.weights[0] + atom.weights[1]) * both(atom.h).0;
            }
            // The logit of the mean probability, so that draws have the mean of the rows.
            let p = expected / (sum.weights[0] + sum.weights[1]);
            sum.h = if p > 0.0 && p < 1.0 { (p / (1.0 - p)).ln() } else { group[0].h };
            sum
        };
        let cells: Vec<Atom> = atoms.atoms.chunk_by(|a, b| cell(a) == cell(b)).map(merged).collect();
        Atoms::new(cells, atoms.n)
    }

    /// Every row on its own, for weights of all kinds.
    fn draw_rows(&self, seed: u64) -> Atoms {
        let mut uniforms = Uniforms::new(seed);
        let mut last = (f64::NAN, 0.0);
        self.ordered.pooled_as(|_, row| {
            let h = row.h();
            if h != last.0 {
                last = (h, both(h).0);
            }
            Some(uniforms.next() < last.1)
        })
    }

    fn correlated(&self, clusters: &Clusters) -> CorrelatedOutcomes {
        let mut probabilities = vec![(0.5, 0.5); self.n_rows];
        let mut outcomes = vec![false; self.n_rows];
        let mut weights = vec![0.0; self.n_rows];
        for row in &self.ordered.rows {
            let index = row.index as usize;
            probabilities[index] = both(row.h());
            outcomes[index] = row.outcome();
            weights[index] = row.weight();
        }
        CorrelatedOutcomes::new(clusters, &probabilities, &outcomes, |row| weights[row])
    }

    fn draw_clusters(&self, correlated: &CorrelatedOutcomes, clusters: &Clusters, seed: u64) -> Atoms {
        let mut outcomes = vec![false; self.n_rows];
        let mut place = 0;
        correlated.draw(seed, |outcome| {
            outcomes[clusters.rows()[place]] = outcome;
            place += 1;
        });
        self.ordered.pooled_as(|_, row| Some(outcomes[row.index as usize]))
    }
}

/// A binomial number for each atom, whose weights are numbers of rows.
fn draw_counts(atoms: &Atoms, seed: u64) -> Atoms {
    let mut uniforms = Uniforms::new(seed);
    let draw = |atom: &Atom| {
        let n = atom.weights[0] + atom.weights[1];
        let positive = binomial(&mut uniforms, n.round() as u64, both(atom.h).0) as f64;
        let weights = [n - positive, positive];
        Atom { h: atom.h, weights, squares: weights }
    };
    let drawn: Vec<Atom> = atoms.atoms.iter().map(draw).collect();
    Atoms::new(drawn, atoms.n)
}
