//! Rows of classes as slices of their own type: what is done with every value is done here, in
//! vector code.
//!
//! A processor has wider or narrower registers, but sums are taken in a fixed number of lanes: the
//! same bits everywhere.

use std::ops::Range;

use super::Form;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::{logarithm, parallel};

/// Sums and comparisons are made in so many lanes: several registers, since each waits for the one
/// before.
pub(super) const LANES: usize = 16;

/// A score as users have it: the same steps for single and double precision.
pub(super) trait Score: Copy + PartialOrd + Into<f64> {
    /// Differences of larger logits would overflow.
    const LARGEST_LOGIT: Self;
    const LOWEST: Self;
    const ZERO: Self;
    const ONE: Self;

    fn magnitude(self) -> Self;
}

macro_rules! score {
    ($($type:ty: $largest_logit:expr),*) => {$(
        impl Score for $type {
            const LARGEST_LOGIT: $type = $largest_logit;
            const LOWEST: $type = <$type>::NEG_INFINITY;
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;

            #[inline(always)]
            fn magnitude(self) -> $type {
                self.abs()
            }
        }
    )*};
}
score!(f32: f32::MAX, f64: 1e300);

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
    /// Whether every value is in [0, 1] and every row sums to 1 for certain: the sum that decides
    /// is taken from left to right, and this one, in lanes, may differ from it by rounding.
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
    pub(super) fn row(&self, index: usize) -> &[T] {
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

/// What the log-odds of every class of a row of logits need: the others are all but its own term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Total {
    largest: f64,
    /// Whether no other class has the largest score.
    is_alone: bool,
    /// Σ exp(z - largest) over all classes.
    sum: f64,
}

dispatched! {
    /// The totals of some rows of logits.
    pub(super) fn totals / totals_portable<T: Score>(rows: &ClassRows<'_, T>, range: Range<usize>) -> Vec<Total> {
        let mut totals = Vec::with_capacity(range.len());
        let mut exponentials = vec![0.0; rows.n_classes];
        for index in range {
            let row = rows.row(index);
            let found = TwoLargest::of(row);
            let largest: f64 = found.first.into();
            fill_exponentials(row, largest, &mut exponentials);
            totals.push(Total { largest, is_alone: found.first > found.second, sum: lane_sum(&exponentials) });
        }
        totals
    }
}

dispatched! {
    /// The log-odds of some classes in some rows of logits, class after class. `totals` are those
    /// of these rows.
    ///
    /// A class that is not alone the largest has the log-odds (z - largest) - ln(total - own term),
    /// in which nothing cancels: the total is at least twice the own term. Of the one that is, the
    /// others are summed anew, relative to the largest of them; and of two classes, whose log-odds
    /// are then their difference exactly.
    pub(super) fn log_odds / log_odds_portable<T: Score>(
        rows: &ClassRows<'_, T>,
        range: Range<usize>,
        classes: Range<usize>,
        totals: &[Total],
    ) -> Vec<Vec<f64>> {
        let mut columns = vec![vec![0.0; range.len()]; classes.len()];
        let (mut of_row, mut exponentials) = (vec![0.0; classes.len()], vec![0.0; rows.n_classes]);
        for (place, (index, total)) in range.zip(totals).enumerate() {
            let row = rows.row(index);
            // Side by side first: one by one into columns would be no vector code.
            for (value, score) in of_row.iter_mut().zip(&row[classes.clone()]) {
                let score: f64 = (*score).into();
                let away = score - total.largest;
                *value = away - logarithm::ln(total.sum - exp_of_nonpositive(away));
            }
            columns.iter_mut().zip(&of_row).for_each(|(column, value)| column[place] = *value);
            for (column, class) in columns.iter_mut().zip(classes.clone()) {
                if rows.n_classes == 2 || (total.is_alone && row[class].into() == total.largest) {
                    column[place] = log_odds_of_row(row, class, &TwoLargest::of(row), &mut exponentials);
                }
            }
        }
        columns
    }
}

/// The part of the rounding error of log-odds that does not grow with their size, in units of u =
/// 2^-53; the other part is at most 4 |log-odds|.
///
/// With m the largest of the others, log-odds of a score z are L = (z - m) - ln S, where S sums
/// exp(d) over the differences d = z' - m of the others z' from m, and is in [1, k]. A difference
/// is rounded by |d| u and its exponential by (6 + 2 |d|) u, relative to a term. So S is off by the
/// mean of 6 + 3 |d| with the terms as weights, where the mean of |d| is the entropy of the weights
/// less ln S, and so at most ln k; and by its additions, at most k / 16 in a lane and 4 of lanes.
/// What is off relative in S is off in ln S, which is rounded by 2 ln S more; z - m by |L| + ln k,
/// and the last subtraction by |L|. The sum is 2 |L| + k / 16 + 6 ln k + 10.
///
/// Where S is a total less the own term, that term is rounded alike in both and cancels with its
/// error. The additions of the total are then off relative to it, which is at most 2 S: k / 16 and
/// 4 count twice; the subtraction and the logarithm add one each. [`class_log_odds_error`] has
/// these.
pub(super) fn log_odds_error(n_classes: usize) -> f64 {
    let k = n_classes as f64;
    k / LANES as f64 + 6.0 * k.ln() + 12.0
}

/// That of [`log_odds`], where the others are a total less the own term: see [`log_odds_error`].
pub(super) fn class_log_odds_error(n_classes: usize) -> f64 {
    log_odds_error(n_classes) + n_classes as f64 / LANES as f64 + 6.0
}

/// ln(p / (1 - p)) of a class under softmax: its score less the log-sum-exp of the others.
/// `exponentials` is room for one of each class; their loop is apart from that of the sum, since a
/// sum in order is no vector code.
#[inline(always)]
fn log_odds_of_row<T: Score>(row: &[T], class: usize, largest: &TwoLargest<T>, exponentials: &mut [f64]) -> f64 {
    let score = row[class];
    let largest_other: f64 = if score == largest.first { largest.second } else { largest.first }.into();
    fill_exponentials(row, largest_other, exponentials);
    exponentials[class] = 0.0;
    (score.into() - largest_other) - lane_sum(exponentials).ln()
}

/// exp(z - largest) of each score. Scores above `largest` give no number of use.
#[inline(always)]
fn fill_exponentials<T: Score>(row: &[T], largest: f64, exponentials: &mut [f64]) {
    for (exponential, score) in exponentials.iter_mut().zip(row) {
        *exponential = exp_of_nonpositive((*score).into() - largest);
    }
}

/// The log-odds of a class in one row of logits, with the others summed.
pub(crate) fn log_odds_of(row: &[f64], class: usize) -> f64 {
    log_odds_of_row(row, class, &TwoLargest::of(row), &mut vec![0.0; row.len()])
}

/// The two largest of some values, which are equal if several are the largest.
pub(super) struct TwoLargest<T> {
    pub(super) first: T,
    pub(super) second: T,
}

impl<T: Score> TwoLargest<T> {
    /// Of at least two values; NaN is not among them.
    #[inline(always)]
    pub(super) fn of(values: &[T]) -> Self {
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
pub(super) fn first_position<T: Score>(values: &[T], wanted: T) -> usize {
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
pub(super) fn lane_sum<T: Score>(values: &[T]) -> f64 {
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

/// Applies `work` to the values, as many at a time as there are lanes; the last ones are filled up
/// with `filler`.
#[inline(always)]
pub(super) fn for_each_block<T: Score>(values: &[T], filler: T, mut work: impl FnMut(&[T; LANES])) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as models have them and rows that are nasty, from a plain generator.
    fn rows_of<T: From<f32>>(n_classes: usize) -> Vec<T> {
        let mut state = 7_u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 20) as f32 - 8.0
        };
        let mut values: Vec<f32> = Vec::new();
        let spike = |class: usize, at: usize, height: f32| if class == at { height } else { 0.0 };
        for row in 0..40 {
            let at = row * 7 % n_classes;
            for class in 0..n_classes {
                values.push(match row % 8 {
                    0..3 => noise(),
                    3 => 0.25,
                    4 => noise().round(),
                    5 => spike(class, at, 1e9),
                    6 => spike(class, at, -1e9) + noise(),
                    _ => 1e30 * noise() + spike(class, at, 3e38),
                });
            }
        }
        values.into_iter().map(T::from).collect()
    }

    /// The definition, one value after the other.
    fn slow_log_odds(row: &[f64], class: usize) -> f64 {
        let others = || row.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, score)| *score);
        let largest = others().fold(f64::NEG_INFINITY, f64::max);
        let sum: crate::numerics::sum::Sum = others().map(|score| (score - largest).exp()).collect();
        (row[class] - largest) - sum.value().ln()
    }

    fn is_close(fast: f64, slow: f64, n_classes: usize) -> bool {
        (fast - slow).abs() <= f64::EPSILON / 2.0 * (4.0 * slow.abs() + log_odds_error(n_classes))
    }

    fn compare_with_the_definition<T: Score + From<f32>>(n_classes: usize) {
        let values: Vec<T> = rows_of(n_classes);
        let wide: Vec<f64> = values.iter().map(|value| (*value).into()).collect();
        let rows = ClassRows { values: &values, n_classes, kept: None };
        let n = values.len() / n_classes;
        assert!(are_logits(&values));

        let found = tops(&rows, 0..n, Form::Logits);
        assert_eq!(found, tops_portable(&rows, 0..n, Form::Logits), "the same bits on every processor");
        let probable = tops(&rows, 0..n, Form::Probabilities);
        for ((top, probable), row) in found.iter().zip(probable).zip(wide.chunks(n_classes)) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(row.iter().position(|score| *score == largest), Some(top.class));
            assert_eq!(row.iter().filter(|score| **score == largest).count() > 1, top.tied);
            assert!(is_close(top.score, slow_log_odds(row, top.class), n_classes), "{top:?}");
            assert_eq!(probable, Top { score: largest, ..*top });
        }

        let totals = totals(&rows, 0..n);
        assert_eq!(totals, totals_portable(&rows, 0..n), "the same bits on every processor");
        let fast = log_odds(&rows, 0..n, 0..n_classes, &totals);
        assert_eq!(fast, log_odds_portable(&rows, 0..n, 0..n_classes, &totals), "the same bits on every processor");
        for class in [0, n_classes / 2, n_classes - 1] {
            assert_eq!(log_odds(&rows, 0..n, class..class + 1, &totals), fast[class..=class], "alone or beside others");
            for (fast, row) in fast[class].iter().zip(wide.chunks(n_classes)) {
                let (slow, error) = (slow_log_odds(row, class), class_log_odds_error(n_classes));
                assert!((fast - slow).abs() <= f64::EPSILON / 2.0 * (4.0 * slow.abs() + error), "{class}: {fast}");
            }
        }
    }

    #[test]
    fn fast_rows_are_as_the_definition_says() {
        for n_classes in [2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000] {
            compare_with_the_definition::<f32>(n_classes);
            compare_with_the_definition::<f64>(n_classes);
        }
    }

    #[test]
    fn the_ends_of_the_range_of_logits_give_no_nan() {
        let values = [1e300, -1e300, -1e300, -1e300, -1e300, 1e300, 0.0, -1e300, -1e9];
        let rows = ClassRows { values: &values, n_classes: 3, kept: None };
        let scores: Vec<f64> = tops(&rows, 0..3, Form::Logits).iter().map(|top| top.score).collect();
        assert_eq!(scores, [2e300, 2e300, 1e9]);
    }

    #[test]
    fn two_classes_have_the_difference_as_log_odds_exactly() {
        let values = [0.0, 1e-20, 3.0, 1.0, -5.0, 700.25];
        let rows = ClassRows { values: &values, n_classes: 2, kept: None };
        assert_eq!(log_odds(&rows, 0..3, 1..2, &totals(&rows, 0..3)), [[1e-20, -2.0, 705.25]]);
    }

    #[test]
    fn rows_that_were_left_out_are_not_read() {
        let values = [f64::NAN, f64::NAN, 1.0, 4.0, f64::NAN, 0.0, 6.0, 2.0];
        let rows = ClassRows { values: &values, n_classes: 2, kept: Some(&[1, 3]) };
        assert_eq!(log_odds(&rows, 0..2, 0..1, &totals(&rows, 0..2)), [[-3.0, 4.0]]);
    }

    #[test]
    fn one_bad_value_anywhere_is_seen() {
        for n in [1, 7, 8, 9, 31, 32, 33, 1000] {
            for at in [0, n / 2, n - 1] {
                for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut values = vec![0.5; n];
                    values[at] = bad;
                    assert!(!are_logits(&values) && !are_logits_portable(&values));
                    assert!(!are_distributions(&values, n, 1e9));
                }
                let mut values = vec![0.5; n];
                values[at] = 1.1e300;
                assert!(!are_logits(&values));
                values[at] = -1e-9;
                assert!(!are_distributions(&values, n, 1e9));
            }
        }
    }

    #[test]
    fn a_row_sum_near_the_tolerance_is_left_to_the_slow_check() {
        let row = |sum: f64| vec![sum / 1000.0; 1000];
        assert!(are_distributions(&row(1.0), 1000, 1e-3));
        assert!(are_distributions(&row(1.000_999), 1000, 1e-3));
        assert!(!are_distributions(&row(1.001), 1000, 1e-3));
        assert!(!are_distributions(&row(0.998), 1000, 1e-3));
        assert!(!are_distributions(&row(1.0), 1000, 0.0));
        let two_rows = [row(1.0), row(1.1)].concat();
        assert!(!are_distributions(&two_rows, 1000, 1e-3) && !are_distributions_portable(&two_rows, 1000, 1e-3));
    }
}
