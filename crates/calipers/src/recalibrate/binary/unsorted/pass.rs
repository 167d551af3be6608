//! One pass over the rows, in any order: all sums that a formula needs at some parameters.

use std::ops::Range;

use super::cells::{FARTHEST, READ};
use crate::data::{BinaryView, Rows};
use crate::numerics::cholesky::Symmetric;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::order_free::{BLOCK, CoarseSum, GridSum};
use crate::numerics::parallel;
use crate::recalibrate::binary::linear::{features, softplus_of_nonpositive};
use crate::recalibrate::binary::logits;
use crate::recalibrate::method::Method;

/// The most parameters, and entries of the lower half of their matrix.
const MOST: usize = 3;
const ENTRIES: usize = MOST * (MOST + 1) / 2;

/// A family of maps whose features depend on nothing but the logit.
pub(super) trait Family: Copy + Sync {
    /// The family as a value, which tells functions their type.
    const OWN: Self;
    const METHOD: Method;
    const N: usize;
    /// Features are at most 2^this, for logits within [`FARTHEST`].
    const EXPONENTS: [i32; MOST];
}

/// 2^6, which is above log(1 + e^40).
const OF_LOGIT: i32 = 6;

/// Losses of the identity are at most 2 (40 + 1).
const OF_BEFORE: i32 = 7;

macro_rules! families {
    ($($name:ident: $n:literal, $exponents:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Family for $name {
            const OWN: Self = $name;
            const METHOD: Method = Method::$name;
            const N: usize = $n;
            const EXPONENTS: [i32; MOST] = $exponents;
        }
    )*};
}
families! {
    Shift: 1, [0, 0, 0];
    Temperature: 1, [OF_LOGIT, 0, 0];
    Platt: 2, [OF_LOGIT, 0, 0];
    Beta: 3, [OF_LOGIT, OF_LOGIT, 0];
}

/// What the rows are, and how they are read.
pub(super) struct Pass<'a> {
    pub(super) view: &'a BinaryView<'a>,
    pub(super) clip: f64,
    /// What weights are multiplied by, after which they are below 2.
    pub(super) scale: f64,
    /// Where rows have no weights: how many there are of each outcome.
    pub(super) counts: Option<[u64; 2]>,
    /// Logits between which all rows are.
    pub(super) ends: [f64; 2],
}

/// Means over the rows at some parameters, in units of weight; without the ridge.
pub(super) struct Means {
    pub(super) effective_n: f64,
    pub(super) totals: [f64; 2],
    /// Log-loss of the identity, and of the parameters.
    pub(super) before: f64,
    pub(super) loss: f64,
    pub(super) gradient: Vec<f64>,
    /// Bounds on the rounding errors of the gradient.
    pub(super) gradient_error: Vec<f64>,
    pub(super) hessian: Symmetric,
    /// Σ (ω r)² φ φ' for the residuals r of rows.
    pub(super) scatter: Symmetric,
    /// The most that an entry of the diagonal of the scatter is off by, as a share of it.
    pub(super) scatter_error: f64,
}

impl Pass<'_> {
    pub(super) fn at<F: Family>(&self, theta: &[f64]) -> Means {
        let mut whole = [0.0; MOST];
        whole[..F::N].copy_from_slice(theta);
        let at = At {
            theta: whole,
            of_loss: exponent_of_loss(theta),
            of_features: exponents_of_features::<F>(self.ends),
            adds_weights: self.counts.is_none(),
        };
        let part = parallel::CHUNK << 1;
        let parts = parallel::map_chunks(self.view.len(), part, |range| self.part::<F>(range, &at));
        let mut sums = Sums::default();
        parts.iter().for_each(|part| sums.merge(part));
        let (totals, squares) = match self.counts {
            // The weight of each row is 1 after scaling.
            Some(counts) => (counts.map(|count| count as f64), (counts[0] + counts[1]) as f64),
            None => (sums.weights.map(|sum| sum.value(1)), sums.squares.value(2)),
        };
        sums.means::<F>(&at, totals, squares, self.view.len() as f64)
    }

    fn part<F: Family>(&self, range: Range<usize>, at: &At) -> Sums {
        let mut sums = Sums::default();
        let mut rows = Rows::default();
        let mut start = range.start;
        let mut block = Block::EMPTY;
        while start < range.end {
            let end = range.end.min(start + READ);
            logits::read(self.view, start..end, self.clip, &mut rows);
            for first in (0..rows.scores.len()).step_by(BLOCK) {
                block.fill(&rows, first, self.scale);
                add_block(F::OWN, &mut block, at, &mut sums);
            }
            start = end;
        }
        sums
    }
}

/// Parameters, and the exponent of the losses that they can have.
struct At {
    theta: [f64; MOST],
    of_loss: i32,
    /// Features of these rows are at most 2^this: coarse sums have the more digits the smaller.
    of_features: [i32; MOST],
    /// Whether weights are added up: not where all are 1.
    adds_weights: bool,
}

/// Losses are at most 2 (|u| + 1).
fn exponent_of_loss(theta: &[f64]) -> i32 {
    let size: f64 = theta.iter().map(|theta| theta.abs()).sum();
    let largest = 2.0 * ((size + 1.0) * (FARTHEST + 1.0) + 1.0);
    largest.log2().ceil() as i32
}

/// Features rise or fall with the logit, so that the largest are at the ends.
fn exponents_of_features<F: Family>(ends: [f64; 2]) -> [i32; MOST] {
    let at = ends.map(|h| features(F::METHOD, h));
    std::array::from_fn(|i| match i < F::N {
        // With what rounding may add to a feature.
        true => ((1.0 + 1e-9) * at[0][i].abs().max(at[1][i].abs())).log2().ceil() as i32,
        false => 0,
    })
}

/// Rows of a block: what goes in, and what is the same for several sums.
struct Block {
    h: [f64; BLOCK],
    negative: [f64; BLOCK],
    positive: [f64; BLOCK],
    features: [[f64; BLOCK]; MOST],
    before: [f64; BLOCK],
    loss: [f64; BLOCK],
    residual: [f64; BLOCK],
    size: [f64; BLOCK],
    curvature: [f64; BLOCK],
    square: [f64; BLOCK],
}

impl Block {
    const EMPTY: Self = Block {
        h: [0.0; BLOCK],
        negative: [0.0; BLOCK],
        positive: [0.0; BLOCK],
        features: [[0.0; BLOCK]; MOST],
        before: [0.0; BLOCK],
        loss: [0.0; BLOCK],
        residual: [0.0; BLOCK],
        size: [0.0; BLOCK],
        curvature: [0.0; BLOCK],
        square: [0.0; BLOCK],
    };

    /// The rows from `first` on; where there are too few, rows without weight.
    fn fill(&mut self, rows: &Rows, first: usize, scale: f64) {
        let n = BLOCK.min(rows.scores.len() - first);
        let (scores, outcomes) = (&rows.scores[first..first + n], &rows.outcomes[first..first + n]);
        for (row, (h, outcome)) in scores.iter().zip(outcomes).enumerate() {
            let weight = rows.weights[first + row] * scale;
            let of_one = weight * f64::from(u8::from(*outcome));
            (self.negative[row], self.positive[row]) = (weight - of_one, of_one);
            // A row without weight may have any logit.
            self.h[row] = if weight > 0.0 { *h } else { 0.0 };
        }
        for rest in [&mut self.h, &mut self.negative, &mut self.positive] {
            rest[n..].fill(0.0);
        }
    }
}

/// Sums over rows.
#[derive(Clone, Copy, Default)]
struct Sums {
    weights: [GridSum; 2],
    squares: GridSum,
    before: GridSum,
    loss: GridSum,
    gradient: [GridSum; MOST],
    /// Bounds on rounding, and standard errors: both need few digits.
    sizes: [CoarseSum; MOST],
    hessian: [GridSum; ENTRIES],
    scatter: [CoarseSum; ENTRIES],
}

dispatched! {
    /// Adds the rows of a block.
    fn add_block / add_block_portable<F: Family>(_family: F, block: &mut Block, at: &At, sums: &mut Sums) {
        let offset = if matches!(F::METHOD, Method::Shift) { 1.0 } else { 0.0 };
        for row in 0..BLOCK {
            let (h, negative, positive) = (block.h[row], block.negative[row], block.positive[row]);
            let features = features(F::METHOD, h);
            let tail = softplus_of_nonpositive(-h.abs());
            block.before[row] = negative * (h.max(0.0) + tail) + positive * (tail - h.min(0.0));
            let mut u = offset * h;
            for (i, feature) in features.into_iter().enumerate().take(F::N) {
                block.features[i][row] = feature;
                u += at.theta[i] * feature;
            }
            // As in `linear.rs`.
            let size = u.abs();
            let small = exp_of_nonpositive(-size);
            let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
            let (p, complement) = if u < 0.0 { (less, more) } else { (more, less) };
            let tail = logarithm::ln(1.0 + small);
            let (above, below) = if u < 0.0 { (0.0, size) } else { (size, 0.0) };
            block.loss[row] = negative * (above + tail) + positive * (below + tail);
            let curvature = (negative + positive) * (less * more);
            let residual = negative * p - positive * complement;
            block.residual[row] = residual;
            block.square[row] = residual * residual;
            block.size[row] = (negative * p + positive * complement) + curvature * size;
            block.curvature[row] = curvature;
        }
        let Block { negative, positive, features, before, loss, residual, size, curvature, square, .. } = block;
        if at.adds_weights {
            sums.weights[0].add(1, |row| negative[row]);
            sums.weights[1].add(1, |row| positive[row]);
            sums.squares.add(2, |row| (negative[row] + positive[row]) * (negative[row] + positive[row]));
        }
        sums.before.add(OF_BEFORE, |row| before[row]);
        sums.loss.add(at.of_loss, |row| loss[row]);
        let mut entry = 0;
        for i in 0..F::N {
            let (left, exponent) = (&features[i], F::EXPONENTS[i]);
            sums.gradient[i].add(1 + exponent, |row| residual[row] * left[row]);
            sums.sizes[i].add(2 + at.of_features[i], |row| size[row] * left[row].abs());
            for (j, right) in features.iter().enumerate().take(i + 1) {
                sums.hessian[entry].add(exponent + F::EXPONENTS[j] - 1, |row| curvature[row] * left[row] * right[row]);
                let exponent = at.of_features[i] + at.of_features[j] + 2;
                sums.scatter[entry].add(exponent, |row| square[row] * left[row] * right[row]);
                entry += 1;
            }
        }
    }
}

impl Sums {
    fn merge(&mut self, other: &Sums) {
        self.squares.merge(other.squares);
        self.before.merge(other.before);
        self.loss.merge(other.loss);
        self.weights.iter_mut().zip(other.weights).for_each(|(sum, other)| sum.merge(other));
        self.gradient.iter_mut().zip(other.gradient).for_each(|(sum, other)| sum.merge(other));
        self.sizes.iter_mut().zip(other.sizes).for_each(|(sum, other)| sum.merge(other));
        self.hessian.iter_mut().zip(other.hessian).for_each(|(sum, other)| sum.merge(other));
        self.scatter.iter_mut().zip(other.scatter).for_each(|(sum, other)| sum.merge(other));
    }

    fn means<F: Family>(&self, at: &At, totals: [f64; 2], squares: f64, n_rows: f64) -> Means {
        let total = totals[0] + totals[1];
        // A term is off by 8 units of rounding, one for each parameter in u, those of e^u and of
        // its features; two for the rest.
        let unit = 12.0 * f64::EPSILON;
        let exponents = &F::EXPONENTS[..F::N];
        let gradient = self.gradient.iter().zip(exponents).map(|(sum, exponent)| sum.value(1 + exponent) / total);
        let sizes = self.sizes.iter().zip(&at.of_features[..F::N]).map(|(sum, of_feature)| {
            let exponent = 2 + of_feature;
            (sum.value(exponent) + CoarseSum::error(n_rows, exponent)) / total
        });
        let pairs = |e: [i32; MOST]| (0..F::N).flat_map(move |i| (0..=i).map(move |j| e[i] + e[j]));
        let hessian = pairs(F::EXPONENTS).zip(&self.hessian).map(|(exponent, sum)| sum.value(exponent - 1) / total);
        let of_scatter = pairs(at.of_features).zip(&self.scatter);
        let scatter = of_scatter.map(|(exponent, sum)| sum.value(exponent + 2) / (total * total));
        let hessian = Symmetric { n: F::N, lower: hessian.collect() };
        let scatter = Symmetric { n: F::N, lower: scatter.collect() };
        let scatter_error = (0..F::N).map(|i| {
            let error = CoarseSum::error(n_rows, 2 * at.of_features[i] + 2);
            error / (scatter.get(i, i) * total * total)
        });
        Means {
            effective_n: total * total / squares,
            scatter_error: scatter_error.fold(0.0, f64::max),
            totals,
            before: self.before.value(OF_BEFORE) / total,
            loss: self.loss.value(at.of_loss) / total,
            gradient: gradient.collect(),
            gradient_error: sizes.map(|size| unit * size).collect(),
            hessian,
            scatter,
        }
    }
}
