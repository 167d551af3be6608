//! Scores of classes under a softmax whose scores are multiplied by a slope: what temperature
//! scaling adds up over rows.
//!
//! # The same bits for any order of rows and classes
//! Within a row three sums over classes are needed, of e^-x, y e^-x and y² e^-x, where x is the
//! slope times the distance from the largest score, and y is x or, for slopes below 1, half the
//! distance. Distances are below 2 in their unit, so no term is above 1. Each term is split into a
//! multiple of 2^-q and a rest, which is rounded to a multiple of 2^-r. For k <= 2^b classes, q =
//! 52 - b and r = 53 + q - b make both sums exact in doubles, so their order does not matter; a
//! term is off by 2^-r / 2 at most, far below rounding. Sums over rows are integers of 128 bits.

use std::borrow::Cow;
use std::ops::Range;

use super::class_rows::{self, ClassRows, LANES, Score};
use super::{Floats, Form, Predictions};
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::logarithm;
use crate::numerics::parallel;

/// Terms beyond are nothing beside the 1 of the largest score.
const FAR: f64 = 700.0;

/// Raw scores of classes with labels and weights, ready for many passes.
pub(crate) struct ClassScores<'a> {
    values: Values<'a>,
    n_classes: usize,
    /// The rows that stay, where some were left out; of computed values all stay.
    kept: Option<&'a [usize]>,
    /// The class of each row that stays.
    pub(crate) labels: Vec<u32>,
    /// Weights, divided by a power of two so that the largest is in (1/2, 1]; `None`: all are 1.
    weights: Option<Vec<f64>>,
    /// What weights were divided by.
    pub(crate) weight_unit: f64,
    /// Probabilities that were clipped.
    pub(crate) n_clipped: u64,
    /// 2^-e with e such that the widest row has a range of scores in [1, 2) after the factor.
    pub(crate) unit: f64,
}

enum Values<'a> {
    Single(&'a [f32]),
    Double(Cow<'a, [f64]>),
}

/// Runs one expression with `$rows` bound to the [`ClassRows`] of some scores.
macro_rules! with_rows {
    ($scores:expr, $rows:ident => $expression:expr) => {
        match &$scores.values {
            Values::Single(values) => {
                let $rows = ClassRows { values, n_classes: $scores.n_classes, kept: $scores.kept };
                $expression
            }
            Values::Double(values) => {
                let $rows = ClassRows { values: &values[..], n_classes: $scores.n_classes, kept: $scores.kept };
                $expression
            }
        }
    };
}

/// What a row adds at a slope.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RowTerms {
    /// Log-loss of the label.
    pub(crate) loss: f64,
    /// Its derivative by the slope: the label's distance from the largest score less the mean one.
    pub(crate) first: f64,
    /// The second derivative: the variance of the distance.
    pub(crate) second: f64,
}

impl Predictions<'_> {
    pub(crate) fn form(&self) -> Form {
        self.input.rules.form
    }

    /// The scores of a row that stays, as they are.
    pub(crate) fn read_row(&self, index: usize, scores: &mut [f64]) {
        let start = self.row(index) * scores.len();
        match self.input.scores {
            Floats::F32(values) => {
                let row = &values[start..start + scores.len()];
                scores.iter_mut().zip(row).for_each(|(score, value)| *score = f64::from(*value));
            }
            Floats::F64(values) => scores.copy_from_slice(&values[start..start + scores.len()]),
        }
    }

    /// The scores of classes; probabilities are clipped to `clip` and become logarithms.
    pub(crate) fn class_scores(&self, clip: f64) -> ClassScores<'_> {
        let k = self.n_classes();
        let n = self.len();
        // proof: validation has checked that labels are classes
        let label = |index: usize| self.input.labels.number(self.row(index)).map_or(0, |label| label as u32);
        let mut weights: Option<Vec<f64>> =
            self.input.weights.map(|weights| (0..n).map(|index| weights.get(self.row(index))).collect());
        let largest = weights.iter().flatten().copied().fold(0.0, f64::max);
        let exponent = if largest > 0.0 { largest.log2().ceil().clamp(-1000.0, 1000.0) } else { 0.0 };
        let weight_unit = 2f64.powi(exponent as i32);
        weights.iter_mut().flatten().for_each(|weight| *weight /= weight_unit);
        let (values, kept, n_clipped) = match (self.input.rules.form, self.input.scores) {
            (Form::Logits, Floats::F32(values)) => (Values::Single(values), self.kept.as_deref(), 0),
            (Form::Logits, Floats::F64(values)) => (Values::Double(Cow::Borrowed(values)), self.kept.as_deref(), 0),
            (Form::Probabilities, _) => {
                let chunks = parallel::map_chunks(n, class_rows::rows_per_chunk(k), |range| {
                    let mut all = vec![0.0; range.len() * k];
                    range.zip(all.chunks_exact_mut(k)).for_each(|(index, row)| self.read_row(index, row));
                    let n_clipped = logarithms(&mut all, clip);
                    (all, n_clipped)
                });
                let n_clipped = chunks.iter().map(|chunk| chunk.1).sum();
                let mut values: Vec<f64> = Vec::with_capacity(n * k);
                chunks.iter().for_each(|chunk| values.extend_from_slice(&chunk.0));
                (Values::Double(Cow::Owned(values)), None, n_clipped)
            }
        };
        let mut scores = ClassScores {
            values,
            n_classes: k,
            kept,
            labels: (0..n).map(label).collect(),
            weights,
            weight_unit,
            n_clipped,
            unit: 1.0,
        };
        let widest = scores.widest();
        if widest > 0.0 {
            scores.unit = 2f64.powi(-(widest.log2().floor().clamp(-1000.0, 1000.0) as i32));
        }
        scores
    }
}

impl ClassScores<'_> {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.n_classes
    }

    pub(crate) fn weight(&self, index: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[index])
    }

    /// The scores of a row, as doubles.
    pub(crate) fn read_row(&self, index: usize, scores: &mut [f64]) {
        with_rows!(self, rows => copy(rows.row(index), scores));
    }

    /// The distance of a class's score from the largest of its row, in units of `unit`.
    pub(crate) fn distance(&self, index: usize, class: usize) -> f64 {
        with_rows!(self, rows => distance_from_top(rows.row(index), class)) * self.unit
    }

    /// Applies `work` to the terms of the rows of each chunk. The slope is that of scores which are
    /// multiplied by [`unit`](Self::unit).
    pub(crate) fn at_slope<T: Send>(&self, slope: f64, work: impl Fn(Range<usize>, &[RowTerms]) -> T + Sync) -> Vec<T> {
        self.at_slope_of(&|_| true, slope, work)
    }

    /// The same for some of the rows only: the terms of others are 0.
    pub(crate) fn at_slope_of<T: Send>(
        &self,
        is_chosen: &(dyn Fn(usize) -> bool + Sync),
        slope: f64,
        work: impl Fn(Range<usize>, &[RowTerms]) -> T + Sync,
    ) -> Vec<T> {
        parallel::map_chunks(self.len(), class_rows::rows_per_chunk(self.n_classes), |range| {
            let labels = &self.labels[range.clone()];
            let found = with_rows!(self, rows => terms(&rows, range.clone(), labels, self.unit, slope, is_chosen));
            work(range, &found)
        })
    }

    /// For each row of a chunk the distance of its label's score from the largest, and the mean of
    /// these distances over all classes, in units of `unit`.
    pub(crate) fn distances<T: Send>(
        &self,
        is_chosen: &(dyn Fn(usize) -> bool + Sync),
        work: impl Fn(Range<usize>, &[[f64; 2]]) -> T + Sync,
    ) -> Vec<T> {
        parallel::map_chunks(self.len(), class_rows::rows_per_chunk(self.n_classes), |range| {
            let labels = &self.labels[range.clone()];
            let found = with_rows!(self, rows => distances(&rows, range.clone(), labels, self.unit, is_chosen));
            work(range, &found)
        })
    }

    /// The score of a row's own class.
    pub(crate) fn of_label(&self, index: usize) -> f64 {
        with_rows!(self, rows => as_double(rows.row(index)[self.labels[index] as usize]))
    }

    /// The largest distance between two scores of a row.
    fn widest(&self) -> f64 {
        let chunks = parallel::map_chunks(
            self.len(),
            class_rows::rows_per_chunk(self.n_classes),
            |range| with_rows!(self, rows => widest(&rows, range)),
        );
        chunks.into_iter().fold(0.0, f64::max)
    }
}

dispatched! {
    /// ln p in place of probabilities, which are at least `clip`; returns how many were less.
    fn logarithms / logarithms_portable(probabilities: &mut [f64], clip: f64) -> u64 {
        let mut n_clipped = 0;
        for p in probabilities {
            n_clipped += u64::from(*p < clip);
            *p = logarithm::ln(if *p > clip { *p } else { clip });
        }
        n_clipped
    }
}

fn copy<T: Score>(row: &[T], scores: &mut [f64]) {
    scores.iter_mut().zip(row).for_each(|(score, value)| *score = (*value).into());
}

fn distance_from_top<T: Score>(row: &[T], class: usize) -> f64 {
    let top = row.iter().map(|score| (*score).into()).fold(f64::NEG_INFINITY, f64::max);
    top - row[class].into()
}

dispatched! {
    /// The largest distance between two scores of one of these rows.
    fn widest / widest_portable<T: Score>(rows: &ClassRows<'_, T>, range: Range<usize>) -> f64 {
        let mut widest = 0.0;
        for index in range {
            let row = rows.row(index);
            let (mut low, mut high) = ([row[0]; LANES], [row[0]; LANES]);
            let (blocks, rest) = row.as_chunks::<LANES>();
            for block in blocks {
                for lane in 0..LANES {
                    low[lane] = if block[lane] < low[lane] { block[lane] } else { low[lane] };
                    high[lane] = if block[lane] > high[lane] { block[lane] } else { high[lane] };
                }
            }
            let mut ends: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];
            for value in low.iter().chain(&high).chain(rest) {
                let value: f64 = (*value).into();
                ends = [ends[0].min(value), ends[1].max(value)];
            }
            widest = f64::max(widest, ends[1] - ends[0]);
        }
        widest
    }
}

/// The largest score of a row.
#[inline(always)]
fn top_of<T: Score>(row: &[T]) -> f64 {
    let mut largest = [T::LOWEST; LANES];
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            largest[lane] = if block[lane] > largest[lane] { block[lane] } else { largest[lane] };
        }
    }
    largest.iter().chain(rest).fold(f64::NEG_INFINITY, |top, value| top.max((*value).into()))
}

dispatched! {
    /// The distances of some rows: see the method of this name.
    fn distances / distances_portable<T: Score>(
        rows: &ClassRows<'_, T>,
        range: Range<usize>,
        labels: &[u32],
        unit: f64,
        is_chosen: &(dyn Fn(usize) -> bool + Sync),
    ) -> Vec<[f64; 2]> {
        let mut found = Vec::with_capacity(range.len());
        for (index, label) in range.zip(labels) {
            if !is_chosen(index) {
                found.push([0.0; 2]);
                continue;
            }
            let row = rows.row(index);
            let top = top_of(row);
            let mut sums = [0.0; LANES];
            let (blocks, rest) = row.as_chunks::<LANES>();
            for block in blocks {
                for lane in 0..LANES {
                    let score: f64 = block[lane].into();
                    sums[lane] += (top - score) * unit;
                }
            }
            for (lane, score) in rest.iter().enumerate() {
                let score: f64 = (*score).into();
                sums[lane] += (top - score) * unit;
            }
            let own: f64 = row[*label as usize].into();
            found.push([(top - own) * unit, sums.iter().sum::<f64>() / row.len() as f64]);
        }
        found
    }
}

/// A sum of terms in [0, 1] that does not depend on their order.
#[derive(Clone, Copy)]
struct ExactSum {
    high: [f64; LANES],
    low: [f64; LANES],
}

/// A score in double precision.
fn as_double<T: Score>(score: T) -> f64 {
    score.into()
}

impl ExactSum {
    const ZERO: Self = ExactSum { high: [0.0; LANES], low: [0.0; LANES] };

    /// The numbers to which terms are rounded by adding and subtracting these.
    fn rounders(n_classes: usize) -> [f64; 2] {
        let b = n_classes.next_power_of_two().trailing_zeros().max(4) as i32;
        let q = 52 - b;
        let r = 53 + q - b;
        [1.5 * 2f64.powi(52 - q), 1.5 * 2f64.powi(52 - r)]
    }

    #[inline(always)]
    fn add(&mut self, lane: usize, term: f64, [coarse, fine]: [f64; 2]) {
        let high = (term + coarse) - coarse;
        self.high[lane] += high;
        self.low[lane] += ((term - high) + fine) - fine;
    }

    /// Adds e^-x, y e^-x and y² e^-x of a block of scores.
    #[inline(always)]
    fn add_block<T: Score>(sums: &mut [Self; 3], block: &[T; LANES], at: &Place) {
        for (lane, score) in block.iter().enumerate() {
            let score: f64 = (*score).into();
            let distance = (at.top - score) * at.unit;
            let (x, y) = (at.slope * distance, at.factor * distance);
            let (x, y) = (if x < FAR { x } else { FAR }, if y < FAR { y } else { FAR });
            let e = exp_of_nonpositive(-x);
            sums[0].add(lane, e, at.rounders);
            sums[1].add(lane, y * e, at.rounders);
            sums[2].add(lane, (y * y) * e, at.rounders);
        }
    }

    #[inline(always)]
    fn value(&self) -> f64 {
        self.high.iter().sum::<f64>() + self.low.iter().sum::<f64>()
    }
}

/// What the terms of a row depend on beside its scores.
struct Place {
    top: f64,
    unit: f64,
    slope: f64,
    factor: f64,
    rounders: [f64; 2],
}

dispatched! {
    /// The terms of some rows; those of rows that are not chosen are 0.
    fn terms / terms_portable<T: Score>(
        rows: &ClassRows<'_, T>,
        range: Range<usize>,
        labels: &[u32],
        unit: f64,
        slope: f64,
        is_chosen: &(dyn Fn(usize) -> bool + Sync),
    ) -> Vec<RowTerms> {
        let rounders = ExactSum::rounders(rows.n_classes);
        let factor = if slope < 1.0 { 0.5 } else { slope };
        let mut found = Vec::with_capacity(range.len());
        for (index, label) in range.zip(labels) {
            if !is_chosen(index) {
                found.push(RowTerms::default());
                continue;
            }
            let row = rows.row(index);
            let top = top_of(row);
            let place = Place { top, unit, slope, factor, rounders };
            let mut sums = [ExactSum::ZERO; 3];
            let (blocks, rest) = row.as_chunks::<LANES>();
            for block in blocks {
                ExactSum::add_block(&mut sums, block, &place);
            }
            if !rest.is_empty() {
                let mut block = [T::LOWEST; LANES];
                block[..rest.len()].copy_from_slice(rest);
                ExactSum::add_block(&mut sums, &block, &place);
            }
            let [total, first, second] = [sums[0].value(), sums[1].value(), sums[2].value()];
            let mean = first / total;
            let score: f64 = row[*label as usize].into();
            let distance = (top - score) * unit;
            found.push(RowTerms {
                loss: total.ln() + slope * distance,
                first: distance - mean / factor,
                second: (second / total - mean * mean).max(0.0) / (factor * factor),
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_terms<T: Score>(values: &[T], label: u32, slope: f64) -> RowTerms {
        let rows = ClassRows { values, n_classes: values.len(), kept: None };
        let found = terms(&rows, 0..1, &[label], 1.0, slope, &|_| true)[0];
        let portable = terms_portable(&rows, 0..1, &[label], 1.0, slope, &|_| true)[0];
        assert_eq!(found, portable, "the same bits on every processor");
        found
    }

    #[test]
    fn terms_are_as_the_definition_says_and_do_not_depend_on_the_order_of_classes() {
        for n_classes in [2, 3, 16, 17, 1000] {
            let scores: Vec<f32> = (0..n_classes).map(|k| ((k * 379 % 1013) as f32 / 100.0).sin() * 0.9).collect();
            for slope in [1e-9, 0.01, 1.0, 30.0, 300.0] {
                let wide: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
                let found = row_terms(&scores, 1, slope);
                let top = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weight = |z: &f64| (slope * (z - top)).exp();
                let total: f64 = wide.iter().map(weight).sum();
                let mean: f64 = wide.iter().map(|z| weight(z) * (top - z)).sum::<f64>() / total;
                let square: f64 = wide.iter().map(|z| weight(z) * (top - z - mean).powi(2)).sum::<f64>() / total;
                assert!((found.loss - (total.ln() + slope * (top - wide[1]))).abs() < 1e-12 * (1.0 + found.loss));
                assert!((found.first - ((top - wide[1]) - mean)).abs() < 1e-12 * (1.0 + top - wide[1]));
                assert!((found.second - square).abs() < 1e-12, "{found:?} {square}");
                let mut reversed = scores.clone();
                reversed.reverse();
                assert_eq!(found, row_terms(&reversed, n_classes as u32 - 2, slope));
                assert_eq!(found, row_terms(&wide, 1, slope));
            }
        }
    }

    #[test]
    fn scores_of_any_size_give_finite_terms() {
        let found = row_terms(&[1e300, -1e300, 0.0], 1, 1e-10);
        assert_eq!((found.first, found.second), (2e300, 0.0));
        assert_eq!(row_terms(&[5.0, 5.0], 0, 3.0), RowTerms { loss: 2f64.ln(), first: 0.0, second: 0.0 });
    }
}
