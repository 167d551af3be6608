//! Logits with their outcomes and weights: what every part of LS-ECE works on.

use crate::Error;
use crate::data::{BinaryView, Rows, Scale};
use crate::link::Link;
use crate::measures::Probabilities;
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// Beyond this, where a logit is does not matter: see `saturated.rs`. Its rounding does not either.
pub(super) const FAR: f64 = 1e8;

/// Rows as points on the logit axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points {
    pub(crate) logits: Vec<f64>,
    pub(crate) outcomes: Vec<bool>,
    /// `None`: all weights are 1.
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) total_weight: f64,
    /// (Σw)² / Σw²: the effective number of rows.
    pub(crate) effective_n: f64,
    /// How far rounding moved logits and their places on the axis, on average by weight.
    pub(crate) logit_error: f64,
    /// The same, at most.
    pub(crate) largest_logit_error: f64,
    pub(crate) n_clipped: u64,
    /// Smallest and largest logit that has weight.
    pub(crate) range: (f64, f64),
}

/// No logit at all.
const EMPTY: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

fn hull(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl Points {
    /// Reads a view, with probabilities clipped to [clip, 1 - clip]. Weights are divided by the
    /// largest, so that squares neither overflow nor vanish.
    pub(crate) fn new(view: &BinaryView<'_>, link: &dyn Link, clip: f64) -> Result<Self, Error> {
        let (n, rows) = (view.len(), Probabilities::of_scores(view)?);
        let chunks =
            parallel::map_chunks(n, parallel::chunk_of(n), |range| Self::of_rows(rows.rows(range), view, link, clip));
        let mut points = Points {
            logits: Vec::with_capacity(n),
            outcomes: Vec::with_capacity(n),
            weights: view.is_weighted().then(|| Vec::with_capacity(n)),
            total_weight: n as f64,
            effective_n: n as f64,
            range: EMPTY,
            ..Points::default()
        };
        for chunk in chunks {
            // All of them first, which the compiler does in vectors.
            let all_finite = chunk.logits.iter().fold(true, |all, logit| all & logit.is_finite());
            let place = if all_finite { None } else { chunk.logits.iter().position(|logit| !logit.is_finite()) };
            if let Some(place) = place {
                let row = (points.logits.len() + place) as u64;
                return Err(Error::InvalidLogit { row, class: None, value: chunk.logits[place] });
            }
            points.logits.extend(chunk.logits);
            points.outcomes.extend(chunk.outcomes);
            if let (Some(weights), Some(more)) = (&mut points.weights, chunk.weights) {
                weights.extend(more);
            }
            points.n_clipped += chunk.n_clipped;
            points.logit_error += chunk.logit_error;
            points.largest_logit_error = points.largest_logit_error.max(chunk.largest_logit_error);
            points.range = hull(points.range, chunk.range);
        }
        points.sum_weights();
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
        let Extent { range, .. } = extent(&logits, &weights, &vec![0.0; logits.len()]);
        let weights = Some(weights);
        let mut points =
            Points { logits, outcomes, weights, logit_error, largest_logit_error, range, ..Points::default() };
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

    /// Brings all logits to within `limit` of 0.
    pub(super) fn clamp(&mut self, limit: f64) {
        self.logits.iter_mut().for_each(|logit| *logit = logit.clamp(-limit, limit));
        self.range = (self.range.0.clamp(-limit, limit), self.range.1.clamp(-limit, limit));
    }

    /// Row numbers in the order of their logits; equal logits in the order of their rows.
    pub(crate) fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        parallel::sort_unstable_by(&mut order, |&a, &b| self.logits[a].total_cmp(&self.logits[b]).then(a.cmp(&b)));
        order
    }
}

/// A probability within [clip, 1 - clip].
#[inline(always)]
pub(super) fn clipped(p: f64, clip: f64) -> f64 {
    // Comparisons rather than `clamp`, which the compiler does not turn into two instructions.
    let raised = if p > clip { p } else { clip };
    if raised < 1.0 - clip { raised } else { 1.0 - clip }
}

impl Points {
    /// One chunk of a view, before weights are summed: `logit_error` is Σ weight · error.
    fn of_rows(mut rows: Rows, view: &BinaryView<'_>, link: &dyn Link, clip: f64) -> Self {
        let mut n_clipped = 0;
        let mut errors = vec![0.0; rows.scores.len()];
        match view.scale() {
            Scale::Link => {}
            Scale::LogOdds => {
                for (score, error) in rows.scores.iter_mut().zip(&mut errors) {
                    (*score, *error) = link.inverse_log_odds(*score, view.score_error(*score));
                }
            }
            Scale::Probability => {
                for score in &mut rows.scores {
                    let p = clipped(*score, clip);
                    n_clipped += u64::from(p != *score);
                    *score = p;
                }
                link.inverse_all(&mut rows.scores, &mut errors);
            }
        }
        let Extent { range, logit_error, largest_logit_error } = extent(&rows.scores, &rows.weights, &errors);
        Points {
            range,
            logits: rows.scores,
            outcomes: rows.outcomes,
            weights: Some(rows.weights),
            n_clipped,
            logit_error,
            largest_logit_error,
            ..Points::default()
        }
    }
}

/// Where logits are, and how far off.
struct Extent {
    /// Smallest and largest logit that has weight.
    range: (f64, f64),
    /// Σ weight · error.
    logit_error: f64,
    largest_logit_error: f64,
}

dispatched! {
    /// The extent of logits of which each is off by its error.
    fn extent / extent_portable(logits: &[f64], weights: &[f64], errors: &[f64]) -> Extent {
        // Side by side: in one sum, each addition would wait for the one before.
        const LANES: usize = 8;
        let (mut min, mut max) = ([EMPTY.0; LANES], [EMPTY.1; LANES]);
        let (mut sums, mut largest) = ([0.0; LANES], [0.0; LANES]);
        let mut add = |logits: &[f64; LANES], weights: &[f64; LANES], errors: &[f64; LANES]| {
            for lane in 0..LANES {
                let (logit, weight) = (logits[lane], weights[lane]);
                // Places on a grid, or h ± a, are rounded by up to four units of 2^-53 more.
                let error = errors[lane] + 2.0 * f64::EPSILON * logit.abs();
                let error = if logit.abs() > FAR { 0.0 } else { error };
                sums[lane] += weight * error;
                // Comparisons rather than `max`, which is not compiled to one instruction.
                largest[lane] = if error > largest[lane] { error } else { largest[lane] };
                let (low, high) = if weight > 0.0 { (logit, logit) } else { EMPTY };
                min[lane] = if low < min[lane] { low } else { min[lane] };
                max[lane] = if high > max[lane] { high } else { max[lane] };
            }
        };
        let [blocks, weight_blocks, error_blocks] = [logits, weights, errors].map(|values| values.as_chunks::<LANES>());
        for ((logits, weights), errors) in blocks.0.iter().zip(weight_blocks.0).zip(error_blocks.0) {
            add(logits, weights, errors);
        }
        // What is left, with logits of 0 that have no weight.
        let [logits, weights, errors] = [blocks, weight_blocks, error_blocks].map(|(_, rest)| {
            let mut block = [0.0; LANES];
            block[..rest.len()].copy_from_slice(rest);
            block
        });
        add(&logits, &weights, &errors);
        Extent {
            range: min.into_iter().zip(max).fold(EMPTY, hull),
            logit_error: sums.iter().sum(),
            largest_logit_error: largest.into_iter().fold(0.0, f64::max),
        }
    }
}
