//! Logits with their outcomes and weights: what every part of LS-ECE works on.

use crate::Error;
use crate::link::Link;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::predictions::{BinaryView, Rows, Scale};

/// Beyond this, where a logit is does not matter: see `far.rs`. Its rounding does not either.
pub(super) const FAR: f64 = 1e8;

/// Rows as points on the logit axis.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    pub(crate) logits: Vec<f64>,
    pub(crate) outcomes: Vec<bool>,
    /// `None`: all weights are 1.
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) total_weight: f64,
    /// (Σw)² / Σw²: how many rows of equal weight would say as much.
    pub(crate) effective_n: f64,
    /// How far rounding moved logits and their places on the axis, on average by weight.
    pub(crate) logit_error: f64,
    /// The same, at most.
    pub(crate) largest_logit_error: f64,
    pub(crate) n_clipped: u64,
}

/// One chunk of points, before they are put together.
struct Chunk {
    rows: Rows,
    n_clipped: u64,
    /// Σ weight · error
    logit_error: f64,
    largest_logit_error: f64,
}

impl Points {
    /// Reads a view, with probabilities clipped to [clip, 1 - clip].
    pub(crate) fn new(view: &BinaryView<'_>, link: &dyn Link, clip: f64) -> Result<Self, Error> {
        let n = view.len();
        if n == 0 {
            return Err(Error::NoRows);
        }
        let to_logit = ToLogit { view, link, clip };
        // Divided by the largest weight, so that squares neither overflow nor vanish.
        let largest_weight = view.largest_weight();
        let chunks = parallel::map_chunks(n, parallel::CHUNK, |range| {
            let mut rows = Rows::default();
            view.read(range, &mut rows);
            rows.weights.iter_mut().for_each(|weight| *weight /= largest_weight);
            to_logit.apply(rows)
        });

        let mut points = Points {
            logits: Vec::with_capacity(n),
            outcomes: Vec::with_capacity(n),
            weights: view.is_weighted().then(|| Vec::with_capacity(n)),
            total_weight: n as f64,
            effective_n: n as f64,
            logit_error: 0.0,
            largest_logit_error: 0.0,
            n_clipped: 0,
        };
        for chunk in chunks {
            if let Some(place) = chunk.rows.scores.iter().position(|logit| !logit.is_finite()) {
                let row = (points.logits.len() + place) as u64;
                return Err(Error::InvalidLogit { row, class: None, value: chunk.rows.scores[place] });
            }
            points.logits.extend_from_slice(&chunk.rows.scores);
            points.outcomes.extend_from_slice(&chunk.rows.outcomes);
            if let Some(weights) = &mut points.weights {
                weights.extend_from_slice(&chunk.rows.weights);
            }
            points.n_clipped += chunk.n_clipped;
            points.logit_error += chunk.logit_error;
            points.largest_logit_error = points.largest_logit_error.max(chunk.largest_logit_error);
        }
        points.sum_weights();
        if !(points.total_weight > 0.0) {
            return Err(Error::ZeroWeights { n_rows: n as u64 });
        }
        points.logit_error /= points.total_weight;
        Ok(points)
    }

    fn sum_weights(&mut self) {
        if let Some(weights) = &self.weights {
            self.total_weight = weights.iter().copied().collect::<Sum>().value();
            let squares = weights.iter().map(|weight| weight * weight).collect::<Sum>().value();
            self.effective_n = self.total_weight * self.total_weight / squares;
        }
    }

    /// Points that stand for many rows each; `effective_n` is theirs, not that of the rows.
    pub(crate) fn from_atoms(
        logits: Vec<f64>,
        outcomes: Vec<bool>,
        weights: Vec<f64>,
        logit_error: f64,
        largest_logit_error: f64,
    ) -> Self {
        let mut points = Points {
            logits,
            outcomes,
            weights: Some(weights),
            total_weight: 0.0,
            effective_n: 0.0,
            logit_error,
            largest_logit_error,
            n_clipped: 0,
        };
        points.sum_weights();
        points
    }

    pub(crate) fn len(&self) -> usize {
        self.logits.len()
    }

    /// The share of a point in the total weight.
    #[inline]
    pub(crate) fn share(&self, index: usize) -> f64 {
        self.weight(index) / self.total_weight
    }

    #[inline]
    pub(crate) fn weight(&self, index: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[index])
    }

    /// Smallest and largest logit that has weight.
    pub(crate) fn range(&self) -> (f64, f64) {
        let weighty = (0..self.len()).filter(|&index| self.weight(index) > 0.0).map(|index| self.logits[index]);
        weighty.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), h| (min.min(h), max.max(h)))
    }

    /// Row numbers in the order of their logits; equal logits in the order of their rows.
    pub(crate) fn sorted(&self) -> Vec<usize> {
        use rayon::prelude::*;
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.par_sort_unstable_by(|&a, &b| self.logits[a].total_cmp(&self.logits[b]).then(a.cmp(&b)));
        order
    }
}

/// How the scores of a view become logits under a link.
struct ToLogit<'a> {
    view: &'a BinaryView<'a>,
    link: &'a dyn Link,
    clip: f64,
}

impl ToLogit<'_> {
    fn apply(&self, mut rows: Rows) -> Chunk {
        let (mut n_clipped, mut logit_error, mut largest_logit_error) = (0, 0.0, 0.0_f64);
        for (score, weight) in rows.scores.iter_mut().zip(&rows.weights) {
            let (logit, error) = match self.view.scale() {
                Scale::Link => (*score, 0.0),
                Scale::LogOdds => self.link.inverse_log_odds(*score, self.view.score_error(*score)),
                Scale::Probability => {
                    let p = score.clamp(self.clip, 1.0 - self.clip);
                    n_clipped += u64::from(p != *score);
                    let logit = self.link.inverse(p, 1.0 - p);
                    (logit, self.link.inverse_error(logit))
                }
            };
            *score = logit;
            // Places on a grid, or h ± a, are rounded by up to four units of 2^-53 more.
            let error = if logit.abs() > FAR { 0.0 } else { error + 2.0 * f64::EPSILON * logit.abs() };
            logit_error += weight * error;
            largest_logit_error = largest_logit_error.max(error);
        }
        Chunk { rows, n_clipped, logit_error, largest_logit_error }
    }
}
