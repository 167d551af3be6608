//! Rows of classes as distributions, for measures that take all classes together.

use std::ops::Range;

use super::class_rows::{self, ClassRows, Score, TwoLargest, first_position, lane_sum};
use super::columns::{Floats, match_floats};
use super::multiclass::with_class_rows;
use super::{Form, InputReport, Predictions};
use crate::Error;
use crate::numerics::dispatch::dispatched;
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::parallel;

/// What a model predicts for each row, a distribution over classes, beside the label of the row.
///
/// One pass over all scores finds what every class of a row needs; each
/// [`Distribution`] then costs no more than the one or two classes that are read from it.
#[derive(Debug)]
pub struct Distributions<'a> {
    predictions: &'a Predictions<'a>,
    summaries: Vec<Summary>,
}

/// The distribution over classes that was predicted for one row.
#[derive(Debug, Clone, Copy)]
pub struct Distribution<'a> {
    predictions: &'a Predictions<'a>,
    /// In the input.
    row: usize,
    summary: &'a Summary,
}

/// What all classes of a row share.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Summary {
    /// The first class with the largest score.
    top: usize,
    /// Its score.
    largest: f64,
    /// Of raw scores z: ln Σ exp(z - largest), which is 0 or more; of probabilities 0.
    excess: f64,
    /// Σ p² over the classes that are not the top one.
    squares: f64,
}

dispatched! {
    /// The summaries of some rows.
    fn summaries / summaries_portable<T: Score>(
        rows: &ClassRows<'_, T>,
        range: Range<usize>,
        form: Form,
    ) -> Vec<Summary> {
        let mut found = Vec::with_capacity(range.len());
        let mut others = vec![0.0; rows.n_classes];
        for index in range {
            let row = rows.row(index);
            let first = TwoLargest::of(row).first;
            let (top, largest): (usize, f64) = (first_position(row, first), first.into());
            for (other, score) in others.iter_mut().zip(row) {
                let score: f64 = (*score).into();
                *other = match form {
                    Form::Probabilities => score.clamp(0.0, 1.0),
                    Form::Logits => exp_of_nonpositive(score - largest),
                };
            }
            others[top] = 0.0;
            // Without the 1 of the top class nothing of the others is lost.
            let rest = match form {
                Form::Probabilities => 0.0,
                Form::Logits => lane_sum(&others),
            };
            others.iter_mut().for_each(|other| *other *= *other);
            let squares = lane_sum(&others) / ((1.0 + rest) * (1.0 + rest));
            found.push(Summary { top, largest, excess: rest.ln_1p(), squares });
        }
        found
    }
}

impl Predictions<'_> {
    /// The rows as distributions over classes, with their labels.
    pub fn distributions(&self) -> Result<Distributions<'_>, Error> {
        self.check_classes("\"all_classes\"")?;
        self.check_no_positive()?;
        let form = self.input.rules.form;
        let chunks = parallel::map_chunks(
            self.len(),
            class_rows::rows_per_chunk(self.n_classes()),
            |range| with_class_rows!(self, rows => summaries(&rows, range.clone(), form)),
        );
        Ok(Distributions { predictions: self, summaries: chunks.concat() })
    }
}

impl Distributions<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.summaries.len()
    }

    /// Whether there is no row; only a batch of a stream can be empty.
    pub fn is_empty(&self) -> bool {
        self.summaries.is_empty()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.predictions.n_classes()
    }

    /// What was read, rounded and left out.
    pub fn report(&self) -> &InputReport {
        self.predictions.report()
    }

    /// The distribution of a row.
    pub fn row(&self, index: usize) -> Distribution<'_> {
        Distribution {
            predictions: self.predictions,
            row: self.predictions.row(index),
            summary: &self.summaries[index],
        }
    }

    /// The label of a row.
    pub fn label(&self, index: usize) -> usize {
        self.predictions.label(index)
    }

    /// The weights of all rows, divided by the largest. Requires at least one row with weight.
    pub fn scaled_weights(&self) -> Result<Vec<f64>, Error> {
        let mut weights = self.predictions.row_weights();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        match weights.len() {
            0 => Err(Error::NoRows),
            n if !(largest > 0.0) => Err(Error::ZeroWeights { n_rows: n as u64 }),
            _ => {
                weights.iter_mut().for_each(|weight| *weight /= largest);
                Ok(weights)
            }
        }
    }

    /// Bound on the rounding error of -ln p of a class, of that value: 0 where probabilities are
    /// read and not computed.
    ///
    /// From raw scores -ln p is (largest - z) + ln(1 + R), both without cancellation, and the sum R
    /// over the other classes is off as those of log-odds are: see `log_odds_error`.
    pub fn surprisal_error(&self, surprisal: f64) -> f64 {
        match self.predictions.input.rules.form {
            Form::Probabilities => 0.0,
            Form::Logits => f64::EPSILON / 2.0 * (4.0 * surprisal + class_rows::log_odds_error(self.n_classes())),
        }
    }
}

impl Distribution<'_> {
    /// The probability of a class.
    pub fn probability(&self, class: usize) -> f64 {
        match self.predictions.input.rules.form {
            Form::Probabilities => self.score(class).clamp(0.0, 1.0),
            Form::Logits => (-self.surprisal(class)).exp(),
        }
    }

    /// That of all other classes: 1 - p, from raw scores without cancellation.
    pub fn complement(&self, class: usize) -> f64 {
        match self.predictions.input.rules.form {
            Form::Probabilities => 1.0 - self.probability(class),
            Form::Logits => -(-self.surprisal(class)).exp_m1(),
        }
    }

    /// -ln p of a class: from raw scores always finite, and exact where p rounds to 0 or 1.
    pub fn surprisal(&self, class: usize) -> f64 {
        match self.predictions.input.rules.form {
            Form::Probabilities => -self.probability(class).ln(),
            Form::Logits => (self.summary.largest - self.score(class)) + self.summary.excess,
        }
    }

    /// Whether probabilities were computed from raw scores.
    pub fn is_of_logits(&self) -> bool {
        self.predictions.input.rules.form == Form::Logits
    }

    /// Σ p² over the other classes.
    pub fn squares_of_others(&self, class: usize) -> f64 {
        let Summary { top, squares, .. } = *self.summary;
        if class == top {
            return squares;
        }
        // Not negative: the square of this class is one of the sum.
        let square = |class: usize| self.probability(class).powi(2);
        (squares - square(class)).max(0.0) + square(top)
    }

    /// All probabilities, in the order of classes.
    pub fn probabilities(&self) -> impl Iterator<Item = f64> {
        (0..self.predictions.n_classes()).map(|class| self.probability(class))
    }

    /// The most probable class, the first one of several.
    pub(crate) fn top(&self) -> usize {
        self.summary.top
    }

    fn score(&self, class: usize) -> f64 {
        self.predictions.input.scores.get(self.row * self.predictions.n_classes() + class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Input;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{found} for {expected}");
    }

    #[test]
    fn raw_scores_and_their_softmax_are_one_distribution() {
        let logits = [1.5, -0.5, 0.25, 3.0, 3.0, -2.0, 0.0, 40.0, -3.0];
        let softmax: Vec<f64> = logits
            .chunks(3)
            .flat_map(|row| {
                let total: f64 = row.iter().map(|z: &f64| z.exp()).sum();
                row.iter().map(move |z| z.exp() / total)
            })
            .collect();
        let raw = Input::logits(&logits, &[0, 1, 2]).classes(3).check().unwrap();
        let probable = Input::probabilities(&softmax, &[0, 1, 2]).classes(3).check().unwrap();
        let (raw, probable) = (raw.distributions().unwrap(), probable.distributions().unwrap());
        for row in 0..3 {
            for class in 0..3 {
                let (ours, slow) = (raw.row(row), softmax[3 * row + class]);
                let others: f64 = (0..3).filter(|other| *other != class).map(|other| softmax[3 * row + other]).sum();
                let squares: f64 =
                    (0..3).filter(|other| *other != class).map(|other| softmax[3 * row + other].powi(2)).sum();
                for found in [ours, probable.row(row)] {
                    assert_close(found.probability(class), slow);
                    assert_close(found.complement(class), others);
                    assert_close(found.squares_of_others(class), squares);
                }
                assert_close(ours.surprisal(class), -slow.ln());
            }
        }
    }

    #[test]
    fn far_scores_neither_saturate_nor_overflow() {
        let logits = [1e6, 0.0, -1e6, 0.0, 800.0, 0.0];
        let predictions = Input::logits(&logits, &[2, 1]).classes(3).check().unwrap();
        let rows = predictions.distributions().unwrap();
        assert_eq!(rows.row(0).surprisal(2), 2e6);
        // e^-1000000 and 2 e^-800, which are no doubles.
        assert!(rows.row(0).surprisal(0) < 1e-300 && rows.row(0).complement(0) < 1e-300);
        assert!(rows.row(1).surprisal(1) < 1e-300);
    }

    #[test]
    fn both_compilations_give_the_same_bits() {
        let values: Vec<f32> = (0..17 * 40).map(|k| 20.0 * (k as f32 * 0.7).sin()).collect();
        let rows = ClassRows { values: &values, n_classes: 17, kept: None };
        for form in [Form::Logits, Form::Probabilities] {
            assert_eq!(summaries(&rows, 0..40, form), summaries_portable(&rows, 0..40, form));
        }
    }
}
