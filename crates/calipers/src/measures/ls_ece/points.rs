//! Logits with their outcomes and weights: what every part of LS-ECE works on.

use crate::Error;
use crate::data::{BinaryView, Outcome, PlainPass, Probability, Scale};
use crate::link::Link;
use crate::measures::Probabilities;
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::numerics::sum::{LANES, LaneSum, Sum};

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
    /// Sums of p (1 - p) times the weight and the powers 0, 1 and 2 of the logit, where points were
    /// probabilities.
    pub(super) moments: Option<[f64; 3]>,
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
        let mut points = Points {
            logits: vec![0.0; n],
            outcomes: vec![false; n],
            weights: view.is_weighted().then(|| vec![0.0; n]),
            total_weight: n as f64,
            effective_n: n as f64,
            range: EMPTY,
            ..Points::default()
        };
        let chunk = parallel::chunk_of(n);
        let mut weights = points.weights.as_mut().map(|weights| weights.chunks_mut(chunk));
        let parts = points.logits.chunks_mut(chunk).zip(points.outcomes.chunks_mut(chunk));
        let parts: Vec<Part<'_>> = parts
            .map(|(logits, outcomes)| Part { logits, outcomes, weights: weights.as_mut().and_then(Iterator::next) })
            .collect();
        let extents = parallel::map_items(parts, |index, part| part.read(index * chunk, &rows, view, link, clip));
        let mut extent = Extent::default();
        for (index, part) in extents.iter().enumerate() {
            if let Some(place) = part.infinite {
                let row = index * chunk + place;
                return Err(Error::InvalidLogit { row: row as u64, class: None, value: points.logits[row] });
            }
            extent.absorb(part);
        }
        points.sum_weights();
        (points.range, points.n_clipped, points.moments) = (extent.range, extent.n_clipped, extent.moments());
        points.logit_error = extent.logit_error / points.total_weight;
        points.largest_logit_error = extent.largest_logit_error;
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
        let mut extent = Extent { moments: None, ..Extent::default() };
        let mut block = Block::default();
        for (logits, weights) in logits.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
            block.fill(logits, Some(weights));
            extent.add(&block, logits.len());
        }
        let range = extent.range;
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
        self.moments = None;
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

/// Rows that are worked on at once: few enough for the fastest cache.
const BLOCK: usize = 256;

/// Where the points of one chunk of a view go.
struct Part<'a> {
    logits: &'a mut [f64],
    outcomes: &'a mut [bool],
    weights: Option<&'a mut [f64]>,
}

impl Part<'_> {
    /// Reads the rows from `first` on, as many as there is room for.
    fn read(self, first: usize, rows: &Probabilities<'_>, view: &BinaryView<'_>, link: &dyn Link, clip: f64) -> Extent {
        let Part { logits, outcomes, mut weights } = self;
        let range = first..first + logits.len();
        match view.plain() {
            Some(plain) => {
                plain.visit(range, CopyTo { scores: logits, outcomes });
            }
            None => {
                let rows = rows.rows(range);
                logits.copy_from_slice(&rows.scores);
                outcomes.copy_from_slice(&rows.outcomes);
                if let Some(weights) = &mut weights {
                    weights.copy_from_slice(&rows.weights);
                }
            }
        }
        let (mut block, mut extent) = (Block::default(), Extent::default());
        if view.scale() != Scale::Probability {
            extent.moments = None;
        }
        for (index, logits) in logits.chunks_mut(BLOCK).enumerate() {
            let n = logits.len();
            block.fill(logits, weights.as_ref().map(|weights| &weights[index * BLOCK..][..n]));
            let (scores, errors) = (&mut block.logits.as_flattened_mut()[..n], block.errors.as_flattened_mut());
            match view.scale() {
                Scale::Link => {}
                Scale::LogOdds => {
                    for (score, error) in scores.iter_mut().zip(errors) {
                        (*score, *error) = link.inverse_log_odds(*score, view.score_error(*score));
                    }
                }
                Scale::Probability => {
                    extent.n_clipped += clip_all(scores, block.counts.as_flattened_mut(), clip);
                    link.inverse_all(scores, &mut errors[..n]);
                }
            }
            logits.copy_from_slice(scores);
            extent.add(&block, n);
        }
        if extent.n_infinite > 0 {
            extent.infinite = logits.iter().position(|logit| !logit.is_finite());
        }
        extent
    }
}

/// Some rows, filled up with logits of 0 that have no weight.
#[derive(Default)]
struct Block {
    logits: Columns,
    weights: Columns,
    /// How far logits are off.
    errors: Columns,
    /// What logits count for in moments.
    counts: Columns,
}

/// A number of each row.
type Columns = [[f64; LANES]; BLOCK / LANES];

impl Block {
    /// Takes rows in place of those it had, with logits that are exact and count for nothing.
    fn fill(&mut self, logits: &[f64], weights: Option<&[f64]>) {
        let n = logits.len();
        if n < BLOCK {
            *self = Block::default();
        }
        self.logits.as_flattened_mut()[..n].copy_from_slice(logits);
        match weights {
            Some(weights) => self.weights.as_flattened_mut()[..n].copy_from_slice(weights),
            None => self.weights.as_flattened_mut()[..n].fill(1.0),
        }
    }
}

/// Copies plain rows.
struct CopyTo<'a> {
    scores: &'a mut [f64],
    outcomes: &'a mut [bool],
}

impl PlainPass for CopyTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        self.scores.iter_mut().zip(probabilities).for_each(|(score, p)| *score = (*p).into());
        self.outcomes.iter_mut().zip(labels).for_each(|(outcome, label)| *outcome = label.bit() == 1);
    }
}

dispatched! {
    /// Clips probabilities, counts those that were moved, and puts p (1 - p) into `counts`.
    fn clip_all / clip_all_portable(probabilities: &mut [f64], counts: &mut [f64], clip: f64) -> u64 {
        let mut n_clipped = 0;
        for (p, count) in probabilities.iter_mut().zip(counts) {
            let within = clipped(*p, clip);
            n_clipped += u64::from(within != *p);
            (*p, *count) = (within, within * (1.0 - within));
        }
        n_clipped
    }
}

/// Where logits are, how far off, and their moments.
#[derive(Clone, Copy)]
struct Extent {
    /// Smallest and largest logit that has weight.
    range: (f64, f64),
    /// Σ weight · error.
    logit_error: f64,
    largest_logit_error: f64,
    n_clipped: u64,
    n_infinite: u64,
    /// The first logit that is infinite or NaN.
    infinite: Option<usize>,
    /// Sums of what logits count for, times their powers; `None` where that is not known.
    moments: Option<[LaneSum; 3]>,
}

impl Default for Extent {
    fn default() -> Self {
        let moments = Some([LaneSum::default(); 3]);
        let (logit_error, largest_logit_error, n_clipped, n_infinite) = (0.0, 0.0, 0, 0);
        Extent { range: EMPTY, logit_error, largest_logit_error, n_clipped, n_infinite, infinite: None, moments }
    }
}

impl Extent {
    /// The first rows of a block.
    fn add(&mut self, block: &Block, n: usize) {
        let BlockExtent { range, logit_error, largest_logit_error, n_infinite, moments } = extent(block, n);
        self.range = hull(self.range, range);
        self.logit_error += logit_error;
        self.largest_logit_error = self.largest_logit_error.max(largest_logit_error);
        self.n_infinite += n_infinite;
        if let Some(sums) = &mut self.moments {
            sums.iter_mut().zip(moments).for_each(|(sum, moment)| sum.add(moment));
        }
    }

    fn absorb(&mut self, other: &Extent) {
        self.range = hull(self.range, other.range);
        self.logit_error += other.logit_error;
        self.largest_logit_error = self.largest_logit_error.max(other.largest_logit_error);
        self.n_clipped += other.n_clipped;
        let both = self.moments.as_mut().zip(other.moments);
        self.moments = both.map(|(sums, others)| {
            sums.iter_mut().zip(others).for_each(|(sum, other)| sum.merge(other));
            *sums
        });
    }

    fn moments(&self) -> Option<[f64; 3]> {
        self.moments.map(|sums| sums.map(LaneSum::value))
    }
}

/// The extent of the rows of a block.
struct BlockExtent {
    range: (f64, f64),
    logit_error: f64,
    largest_logit_error: f64,
    n_infinite: u64,
    moments: [[f64; LANES]; 3],
}

dispatched! {
    /// The extent of the first rows of a block. Loops are short, so that each becomes vectors.
    fn extent / extent_portable(block: &Block, n: usize) -> BlockExtent {
        let n_parts = n.div_ceil(LANES).min(block.logits.len());
        let rows = || block.logits[..n_parts].iter().zip(&block.weights);
        // Nothing is less or more than NaN.
        let (mut placed, mut infinite) = ([[f64::NAN; LANES]; BLOCK / LANES], [0.0; LANES]);
        for (placed, (logits, weights)) in placed.iter_mut().zip(rows()) {
            for lane in 0..LANES {
                placed[lane] = if weights[lane] > 0.0 { logits[lane] } else { f64::NAN };
                infinite[lane] += if logits[lane].abs() < f64::INFINITY { 0.0 } else { 1.0 };
            }
        }
        // Comparisons rather than `min` and `max`, which are not compiled to one instruction.
        let (mut min, mut max) = ([EMPTY.0; LANES], [EMPTY.1; LANES]);
        for logits in &placed[..n_parts] {
            for lane in 0..LANES {
                min[lane] = if logits[lane] < min[lane] { logits[lane] } else { min[lane] };
                max[lane] = if logits[lane] > max[lane] { logits[lane] } else { max[lane] };
            }
        }
        let (mut sums, mut largest) = ([0.0; LANES], [0.0; LANES]);
        for ((logits, weights), errors) in rows().zip(&block.errors) {
            for lane in 0..LANES {
                let size = logits[lane].abs();
                // Places on a grid, or h ± a, are rounded by up to four units of 2^-53 more.
                let error = errors[lane] + 2.0 * f64::EPSILON * size;
                let error = if size > FAR { 0.0 } else { error };
                sums[lane] += weights[lane] * error;
                largest[lane] = if error > largest[lane] { error } else { largest[lane] };
            }
        }
        let mut moments = [[0.0; LANES]; 3];
        for ((logits, weights), counts) in rows().zip(&block.counts) {
            for lane in 0..LANES {
                let count = weights[lane] * counts[lane];
                let first = count * logits[lane];
                moments[0][lane] += count;
                moments[1][lane] += first;
                moments[2][lane] += first * logits[lane];
            }
        }
        BlockExtent {
            range: min.into_iter().zip(max).fold(EMPTY, hull),
            logit_error: sums.iter().sum(),
            largest_logit_error: largest.into_iter().fold(0.0, f64::max),
            n_infinite: infinite.iter().sum::<f64>() as u64,
            moments,
        }
    }
}
