//! Input validation: everything that calipers measures has passed it.
//!
//! [`Input`] is what a user has, borrowed and not yet checked. [`Input::check`] turns it into
//! [`Predictions`], whose views need no further checks:
//!
//! ```text
//! Input -> check -> Predictions -> binary | top_class | one_class | classwise -> BinaryView
//!                               -> by_group -> GroupedRows -> view -> BinaryView
//! ```

mod all_classes;
mod binary;
mod by_group;
mod checks;
mod class_rows;
mod columns;
mod description;
mod distributions;
mod faults;
mod left_out;
mod multiclass;
mod plain;
mod sample;
mod softmax;
mod tally;
mod top_label;

pub use binary::{BinaryView, Rows, Scale};
pub use by_group::GroupedRows;
pub use checks::Invalid;
pub(crate) use class_rows::log_odds_of;
use columns::Coded;
pub use columns::{Floats, Labels, PositiveLabel};
pub use description::Description;
pub use distributions::{Distribution, Distributions};
pub(crate) use faults::KINDS;
pub use multiclass::{Multiclass, Ties};
pub use plain::PlainRows;
pub(crate) use plain::{Outcome, PlainPass, Probability};
pub use sample::{Asked, Sample};
pub(crate) use sample::{Binary, Data};
pub(crate) use softmax::ClassScores;
pub use tally::{InputReport, Tally};

use std::ops::Range;

use crate::Error;
use crate::measure::{Estimate, Measure};
use crate::setters::setters;

/// Whether scores are probabilities or raw scores. The caller states it; it is never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In [0, 1]; rows of classes sum to 1.
    Probabilities,
    /// Any finite number: a logit for a binary outcome, the input of a softmax for classes.
    /// Log-probabilities are a special case.
    Logits,
}

/// How input is read and how invalid rows are handled; the same for every batch of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) form: Form,
    /// 1: a column for a binary outcome; otherwise rows of so many classes.
    pub(crate) n_classes: usize,
    pub(crate) sum_tolerance: f64,
    pub(crate) invalid: Invalid,
    pub(crate) positive: Option<PositiveLabel>,
}

/// Predictions as the user has them, borrowed and not yet checked.
///
/// # Example
/// ```
/// use calipers::{Measure, Input, LsEce};
///
/// let probabilities = [0.9, 0.8, 0.3, 0.2];
/// let outcomes = [1, 1, 0, 1];
/// let predictions = Input::probabilities(&probabilities, &outcomes).check()?;
/// let estimate = LsEce::new().sigma(0.5).estimate(&predictions.binary()?)?;
/// assert!(estimate.numerical_bound <= 1e-6);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Input<'a> {
    rules: Rules,
    scores: Floats<'a>,
    labels: Labels<'a>,
    coded: Option<Coded<'a>>,
    weights: Option<Floats<'a>>,
    missing_scores: Option<&'a [bool]>,
    missing_labels: Option<&'a [bool]>,
    missing_weights: Option<&'a [bool]>,
    first_row: u64,
    /// Whether these are a few rows of several, which show no fault of all.
    is_part: bool,
    confidences: bool,
}

impl<'a> Input<'a> {
    /// Probabilities of outcome 1, or with [`classes`](Self::classes) rows of class probabilities.
    pub fn probabilities(scores: impl Into<Floats<'a>>, labels: impl Into<Labels<'a>>) -> Self {
        Self::new(Form::Probabilities, scores.into(), labels.into())
    }

    /// Raw scores: logits of outcome 1, or with [`classes`](Self::classes) rows of class scores.
    pub fn logits(scores: impl Into<Floats<'a>>, labels: impl Into<Labels<'a>>) -> Self {
        Self::new(Form::Logits, scores.into(), labels.into())
    }

    fn new(form: Form, scores: Floats<'a>, labels: Labels<'a>) -> Self {
        let sum_tolerance = checks::ROUNDED_SUM;
        let rules = Rules { form, n_classes: 1, sum_tolerance, invalid: Invalid::Reject, positive: None };
        Input {
            rules,
            scores,
            labels,
            coded: None,
            weights: None,
            missing_scores: None,
            missing_labels: None,
            missing_weights: None,
            first_row: 0,
            is_part: false,
            confidences: false,
        }
    }

    /// Scores are rows of `n_classes` values, row after row. 1 means a plain column.
    pub fn classes(mut self, n_classes: usize) -> Self {
        self.rules.n_classes = n_classes;
        self
    }

    /// The scores are a model's confidence in the class that it predicts, and the labels say
    /// whether that class was right. Then too high a score is overconfident, also below 1/2.
    pub fn confidences(mut self) -> Self {
        self.confidences = true;
        self
    }

    /// One weight for each row: finite, not negative, not all zero.
    pub fn weights(mut self, weights: impl Into<Floats<'a>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// The label that counts as outcome 1, where labels are not 0 and 1.
    pub fn positive(mut self, label: impl Into<PositiveLabel>) -> Self {
        self.rules.positive = Some(label.into());
        self
    }

    /// Labels stand for others by number: label i was written `texts[i]`, first those of the
    /// classes, then those that are no class. Errors show these texts, and `rule` as what a label
    /// must be.
    pub fn coded(mut self, rule: &'a str, texts: &'a [String]) -> Self {
        self.coded = Some(Coded { rule, texts });
        self
    }

    /// How far the sum of a row of class probabilities may be from 1; 0.02 unless set. Rows that
    /// are off by more than 0.001 are used as given and counted in [`InputReport`].
    pub fn sum_tolerance(mut self, tolerance: f64) -> Self {
        self.rules.sum_tolerance = tolerance;
        self
    }

    /// What happens to invalid rows; they are an error unless set.
    pub fn invalid(mut self, invalid: Invalid) -> Self {
        self.rules.invalid = invalid;
        self
    }

    /// Marks the nulls of each column: `true` where a value is missing.
    pub fn missing(
        mut self,
        scores: Option<&'a [bool]>,
        labels: Option<&'a [bool]>,
        weights: Option<&'a [bool]>,
    ) -> Self {
        (self.missing_scores, self.missing_labels, self.missing_weights) = (scores, labels, weights);
        self
    }

    setters! {
        /// The number of the first row, where this is a later batch of a stream.
        first_row: u64;
    }

    /// The number of scores, those of all classes counted, before any check.
    pub fn n_scores(&self) -> usize {
        self.scores.len()
    }

    /// Some of the rows, read by the same rules and counted from the first of them: those of one
    /// group, as a rule. What is wrong with rows as a whole, as percentages are, a few of them do
    /// not tell: where bad rows are counted, check all of them, too.
    pub fn rows(&self, rows: Range<usize>) -> Result<Self, Error> {
        checks::check_shape(self)?;
        let n_rows = self.n_rows();
        let valid = rows.start <= rows.end && rows.end <= n_rows;
        Error::require(valid, "rows", format!("within 0..{n_rows}"), format!("{rows:?}"))?;
        let n_classes = self.rules.n_classes;
        let marks = |marks: Option<&'a [bool]>| marks.map(|marks| &marks[rows.clone()]);
        Ok(Input {
            scores: self.scores.slice(rows.start * n_classes..rows.end * n_classes),
            labels: self.labels.slice(rows.clone()),
            weights: self.weights.map(|weights| weights.slice(rows.clone())),
            missing_scores: marks(self.missing_scores),
            missing_labels: marks(self.missing_labels),
            missing_weights: marks(self.missing_weights),
            first_row: 0,
            is_part: true,
            ..self.clone()
        })
    }

    /// Checks everything, once.
    pub fn check(self) -> Result<Predictions<'a>, Error> {
        let mut tally = Tally::default();
        let predictions = self.check_batch(&mut tally)?;
        tally.finish()?;
        Ok(predictions)
    }

    /// Checks one batch of a stream. What is known only of the whole, such as that there was
    /// a row at all, is checked by [`Tally::finish`] after the last batch.
    pub fn check_batch(self, tally: &mut Tally) -> Result<Predictions<'a>, Error> {
        let (report, kept) = checks::check(&self, tally)?;
        Ok(Predictions { input: self, kept, report })
    }

    /// Checks everything and computes a measure: [`check`](Self::check), then
    /// [`Predictions::estimate`].
    ///
    /// Where a measure can check plain rows in its own pass, they are read once rather than twice.
    pub fn estimate(self, multiclass: Multiclass, ties: Ties, measure: &dyn Measure) -> Result<Estimate, Error> {
        if multiclass == Multiclass::Auto
            && let Some(rows) = checks::plain_rows(&self)
            && let Some(estimate) = measure.estimate_unchecked(rows)
        {
            return Ok(estimate);
        }
        self.check()?.estimate(multiclass, ties, measure)
    }

    fn n_rows(&self) -> usize {
        self.labels.len()
    }
}

/// Predictions that have been checked: the only source of views, and so of every value.
#[derive(Debug, Clone)]
pub struct Predictions<'a> {
    input: Input<'a>,
    /// Rows that are measured, where some were left out.
    kept: Option<Vec<usize>>,
    report: InputReport,
}

impl<'a> Predictions<'a> {
    /// Number of rows that are measured.
    pub fn len(&self) -> usize {
        self.kept.as_ref().map_or(self.input.n_rows(), Vec::len)
    }

    /// Whether no row is left; only a batch of a stream can be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of classes of a row; 1 for a plain column.
    pub fn n_classes(&self) -> usize {
        self.input.rules.n_classes
    }

    /// What was read, rounded and left out.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// The row of the batch that is measured as number `index`: the same, unless rows were left
    /// out.
    pub fn row(&self, index: usize) -> usize {
        self.kept.as_ref().map_or(index, |kept| kept[index])
    }

    /// The scores of all classes of a row, as doubles.
    pub(crate) fn scores_of(&self, index: usize) -> Vec<f64> {
        let (row, k) = (self.row(index), self.n_classes());
        (row * k..(row + 1) * k).map(|at| self.input.scores.get(at)).collect()
    }

    /// The weights of the rows that are measured; 1 where there are none.
    pub(crate) fn row_weights(&self) -> Vec<f64> {
        let weight = |index: usize| self.input.weights.map_or(1.0, |weights| weights.get(self.row(index)));
        (0..self.len()).map(weight).collect()
    }
}
