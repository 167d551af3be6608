//! Logits with their outcomes and weights: what every part of LS-ECE works on.

use crate::Error;
use crate::link::Link;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::predictions::{BinaryView, Rows, Scale};

/// Rows as points on the logit axis.
#[derive(Debug, Clone)]
pub(super) struct Points {
    pub(super) logits: Vec<f64>,
    pub(super) outcomes: Vec<bool>,
    /// `None`: all weights are 1.
    pub(super) weights: Option<Vec<f64>>,
    pub(super) total_weight: f64,
    /// (Σw)² / Σw²: how many rows of equal weight would say as much.
    pub(super) effective_n: f64,
    /// How far rounding moved logits and their places on the axis, on average by weight.
    pub(super) logit_error: f64,
    /// The same, at most.
    pub(super) largest_logit_error: f64,
    pub(super) n_clipped: u64,
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
    pub(super) fn new(view: &BinaryView<'_>, link: &dyn Link, clip: f64) -> Result<Self, Error> {
        let n = view.len();
        if n == 0 {
            return Err(Error::NoRows);
        }
        let to_logit = ToLogit { view, link, clip };
        // Divided by the largest weight, so that squares neither overflow nor vanish.
        let largest_weight = largest_weight(view);
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
            points.logits.extend_from_slice(&chunk.rows.scores);
            points.outcomes.extend_from_slice(&chunk.rows.outcomes);
            if let Some(weights) = &mut points.weights {
                weights.extend_from_slice(&chunk.rows.weights);
            }
            points.n_clipped += chunk.n_clipped;
            points.logit_error += chunk.logit_error;
            points.largest_logit_error = points.largest_logit_error.max(chunk.largest_logit_error);
        }
        if let Some(weights) = &points.weights {
            points.total_weight = weights.iter().copied().collect::<Sum>().value();
            let squares = weights.iter().map(|weight| weight * weight).collect::<Sum>().value();
            points.effective_n = points.total_weight * points.total_weight / squares;
        }
        points.logit_error /= points.total_weight;
        Ok(points)
    }

    pub(super) fn len(&self) -> usize {
        self.logits.len()
    }

    /// The share of a point in the total weight.
    #[inline]
    pub(super) fn share(&self, index: usize) -> f64 {
        self.weight(index) / self.total_weight
    }

    #[inline]
    pub(super) fn weight(&self, index: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[index])
    }

    /// Smallest and largest logit.
    pub(super) fn range(&self) -> (f64, f64) {
        self.logits.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &h| (min.min(h), max.max(h)))
    }

    /// Row numbers in the order of their logits; equal logits in the order of their rows.
    pub(super) fn sorted(&self) -> Vec<usize> {
        use rayon::prelude::*;
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.par_sort_unstable_by(|&a, &b| self.logits[a].total_cmp(&self.logits[b]).then(a.cmp(&b)));
        order
    }
}

fn largest_weight(view: &BinaryView<'_>) -> f64 {
    if !view.is_weighted() {
        return 1.0;
    }
    let largest = parallel::map_chunks(view.len(), parallel::CHUNK, |range| {
        let mut rows = Rows::default();
        view.read(range, &mut rows);
        rows.weights.into_iter().fold(0.0, f64::max)
    });
    largest.into_iter().fold(0.0, f64::max)
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
                Scale::LogOdds => self.logit_of_log_odds(*score),
                Scale::Probability => {
                    let p = score.clamp(self.clip, 1.0 - self.clip);
                    n_clipped += u64::from(p != *score);
                    let logit = self.link.inverse(p, 1.0 - p);
                    (logit, self.link.inverse_error(logit))
                }
            };
            *score = logit;
            // Places on a grid, or h ± a, are rounded by up to four units of 2^-53 more.
            let error = error + 2.0 * f64::EPSILON * logit.abs();
            logit_error += weight * error;
            largest_logit_error = largest_logit_error.max(error);
        }
        Chunk { rows, n_clipped, logit_error, largest_logit_error }
    }

    /// With the logistic link, log-odds are the logit; otherwise p and 1 - p are both taken from them
    /// without cancellation, and the error grows by dh/d(log-odds) = p(1 - p) / rho'(h).
    fn logit_of_log_odds(&self, log_odds: f64) -> (f64, f64) {
        let error = self.view.score_error(log_odds);
        if self.link.name() == "logistic" {
            return (log_odds, error);
        }
        let small = (-log_odds.abs()).exp();
        let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
        let (p, complement) = if log_odds < 0.0 { (less, more) } else { (more, less) };
        let logit = self.link.inverse(p, complement);
        let slope = p * complement / self.link.derivative(logit);
        (logit, self.link.inverse_error(logit) + slope * (error + 4.0 * f64::EPSILON))
    }
}
