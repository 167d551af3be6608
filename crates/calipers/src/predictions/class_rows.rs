//! Rows of classes as slices of their own type: what is done with every value is done here, in vector code.
//!
//! A processor has wider or narrower registers, but sums are taken in a fixed number of lanes: the same bits everywhere.

use std::ops::Range;

use super::Form;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::parallel;

/// Sums and comparisons are made in so many lanes: several registers, since each waits for the one before.
const LANES: usize = 16;

/// A score as users have it: the same steps for single and double precision.
pub(super) trait Score: Copy + PartialOrd + Into<f64> {
    /// Differences of larger logits would overflow.
    const LARGEST_LOGIT: Self;
    const LOWEST: Self;
    const ZERO: Self;
    const ONE: Self;

    fn magnitude(self) -> Self;
}

impl Score for f32 {
    const LARGEST_LOGIT: f32 = f32::MAX;
    const LOWEST: f32 = f32::NEG_INFINITY;
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    #[inline(always)]
    fn magnitude(self) -> f32 {
        self.abs()
    }
}

impl Score for f64 {
    const LARGEST_LOGIT: f64 = 1e300;
    const LOWEST: f64 = f64::NEG_INFINITY;
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.abs()
    }
}

/// Rows of a chunk: as many values as a chunk of a plain column has.
pub(super) fn rows_per_chunk(n_classes: usize) -> usize {
    (parallel::CHUNK / n_classes.max(1)).max(1)
}

dispatched! {
    /// Whether every value is a logit.
    pub(super) fn are_logits / are_logits_portable<T: Score>(values: &[T]) -> bool {
        // Written so that NaN fails, and without a branch for each value.
        values.iter().fold(true, |all, value| all & (value.magnitude() <= T::LARGEST_LOGIT))
    }
}

dispatched! {
    /// Whether every value is in [0, 1] and every row sums to 1 for certain: the sum that decides is taken from left to
    /// right, and this one, in lanes, may differ from it by rounding.
    pub(super) fn are_distributions / are_distributions_portable<T: Score>(
        values: &[T],
        n_classes: usize,
        sum_tolerance: f64,
    ) -> bool {
        let in_range = values.iter().fold(true, |all, value| all & (*value >= T::ZERO) & (*value <= T::ONE));
        // Each of the two is off by less than k 2^-53 of a sum that is at most 2.
        let certain = sum_tolerance - 2.0 * n_classes as f64 * f64::EPSILON;
        in_range && values.chunks_exact(n_classes).all(|row| (lane_sum(row) - 1.0).abs() <= certain)
    }
}

/// Rows of classes, as a view has them.
#[derive(Clone, Copy)]
pub(super) struct ClassRows<'a, T> {
    pub(super) values: &'a [T],
    pub(super) n_classes: usize,
    /// The rows that stay, where some were left out.
    pub(super) kept: Option<&'a [usize]>,
}

impl<T> ClassRows<'_, T> {
    #[inline(always)]
    fn row(&self, index: usize) -> &[T] {
        let row = self.kept.map_or(index, |kept| kept[index]);
        &self.values[row * self.n_classes..][..self.n_classes]
    }
}

/// The top class of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Top {
    /// The first class with the largest score.
    pub(super) class: usize,
    /// Whether another class has the same score.
    pub(super) tied: bool,
    /// Its probability; for logits, its log-odds.
    pub(super) score: f64,
}

dispatched! {
    /// The top classes of some rows.
    pub(super) fn tops / tops_portable<T: Score>(rows: &ClassRows<'_, T>, range: Range<usize>, form: Form) -> Vec<Top> {
        let mut tops = Vec::with_capacity(range.len());
        let mut exponentials = vec![0.0; rows.n_classes];
        for index in range {
            let row = rows.row(index);
            let largest = TwoLargest::of(row);
            let class = first_position(row, largest.first);
            let score = match form {
                Form::Probabilities => largest.first.into(),
                Form::Logits => log_odds_of_row(row, class, &largest, &mut exponentials),
            };
            tops.push(Top { class, tied: largest.first == largest.second, score });
        }
        tops
    }
}

dispatched! {
    /// The log-odds of one class in some rows of logits.
    pub(super) fn log_odds / log_odds_portable<T: Score>(
        rows: &ClassRows<'_, T>,
        range: Range<usize>,
        class: usize,
    ) -> Vec<f64> {
        let mut log_odds = Vec::with_capacity(range.len());
        let mut exponentials = vec![0.0; rows.n_classes];
        for index in range {
            let row = rows.row(index);
            log_odds.push(log_odds_of_row(row, class, &TwoLargest::of(row), &mut exponentials));
        }
        log_odds
    }
}

/// The part of the rounding error of log-odds that does not grow with their size, in units of u = 2^-53; the other
/// part is at most 4 |log-odds|.
///
/// With m the largest of the others, log-odds of a score z are L = (z - m) - ln S, where S sums exp(d) over the
/// differences d = z' - m of the others z' from m, and is in [1, k]. A difference is rounded by |d| u and its
/// exponential by (5 + 2 |d|) u, relative to a term. So S is off by the mean of 5 + 3 |d| with the terms as weights,
/// where the mean of |d| is the entropy of the weights less ln S, and so at most ln k; and by its additions,
/// k / 8 + 4 in each of the two parts and 1 for both. What is off relative in S is off in ln S, which is rounded by
/// 2 ln S more; z - m by |L| + ln k, and the last subtraction by |L|.
pub(super) fn log_odds_error(n_classes: usize) -> f64 {
    let k = n_classes as f64;
    k / 8.0 + 6.0 * k.ln() + 16.0
}

/// ln(p / (1 - p)) of a class under softmax: its score less the log-sum-exp of the others. `exponentials` is room for
/// one of each class; their loop is apart from that of the sum, since a sum in order is no vector code.
#[inline(always)]
fn log_odds_of_row<T: Score>(row: &[T], class: usize, largest: &TwoLargest<T>, exponentials: &mut [f64]) -> f64 {
    let score = row[class];
    let largest_other: f64 = if score == largest.first { largest.second } else { largest.first }.into();
    for (exponential, score) in exponentials.iter_mut().zip(row) {
        *exponential = exp_of_nonpositive((*score).into() - largest_other);
    }
    exponentials[class] = 0.0;
    (score.into() - largest_other) - lane_sum(exponentials).ln()
}

/// The two largest of some values, which are equal if several are the largest.
struct TwoLargest<T> {
    first: T,
    second: T,
}

impl<T: Score> TwoLargest<T> {
    /// Of at least two values; NaN is not among them.
    #[inline(always)]
    fn of(values: &[T]) -> Self {
        let (mut first, mut second) = ([T::LOWEST; LANES], [T::LOWEST; LANES]);
        for_each_block(values, T::LOWEST, |block| {
            for lane in 0..LANES {
                second[lane] = larger(second[lane], smaller(first[lane], block[lane]));
                first[lane] = larger(first[lane], block[lane]);
            }
        });
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                let other = lane + width;
                second[lane] = larger(larger(second[lane], second[other]), smaller(first[lane], first[other]));
                first[lane] = larger(first[lane], first[other]);
            }
        }
        TwoLargest { first: first[0], second: second[0] }
    }
}

/// Not `max`, which asks for NaN first: this is one instruction.
#[inline(always)]
fn larger<T: Score>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

#[inline(always)]
fn smaller<T: Score>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// Where a value that is there is found first.
#[inline(always)]
fn first_position<T: Score>(values: &[T], wanted: T) -> usize {
    let mut start = 0;
    for block in values.as_chunks::<{ 4 * LANES }>().0 {
        if block.iter().fold(false, |found, value| found | (*value == wanted)) {
            break;
        }
        start += block.len();
    }
    // proof: it is there
    start + values[start..].iter().position(|value| *value == wanted).unwrap_or(0)
}

/// The sum of all values in lanes, and then of the lanes.
#[inline(always)]
fn lane_sum<T: Score>(values: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    for_each_block(values, T::ZERO, |block| {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += (*value).into();
        }
    });
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
    }
    lanes[0]
}

/// Applies `work` to the values, as many at a time as there are lanes; the last ones are filled up with `filler`.
#[inline(always)]
fn for_each_block<T: Score>(values: &[T], filler: T, mut work: impl FnMut(&[T; LANES])) {
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        work(block);
    }
    if !rest.is_empty() {
        let mut block = [filler; LANES];
        block[..rest.len()].copy_from_slice(rest);
        work(&block);
    }
}
