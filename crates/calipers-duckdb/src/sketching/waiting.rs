//! Valid rows of a group that wait until there are enough for a call of the core.

use std::ops::Range;

use calipers::{BinaryView, Error, Floats, Form, Labels, Tally};

use super::arguments::{self, Arguments};

/// Rows, copied out of chunks.
#[derive(Clone, Default)]
pub(super) struct Waiting {
    scores: Scores,
    outcomes: Vec<bool>,
    /// Empty where rows have no weights.
    weights: Vec<f64>,
}

/// Scores of the precision that their column has, which decides on their rounding error.
#[derive(Clone)]
enum Scores {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Default for Scores {
    fn default() -> Self {
        Scores::Double(Vec::new())
    }
}

impl Scores {
    fn extend(&mut self, scores: Floats<'_>, rows: Range<usize>) {
        match (&mut *self, scores) {
            (Scores::Single(ours), Floats::F32(scores)) => ours.extend_from_slice(&scores[rows]),
            (Scores::Double(ours), Floats::F64(scores)) => ours.extend_from_slice(&scores[rows]),
            // The scores of a function have one type, so that there are none of another one yet.
            (_, Floats::F32(scores)) => *self = Scores::Single(scores[rows].to_vec()),
            (_, scores) => *self = Scores::Double(rows.map(|row| scores.get(row)).collect()),
        }
    }

    fn floats(&self) -> Floats<'_> {
        match self {
            Scores::Single(scores) => scores.into(),
            Scores::Double(scores) => scores.into(),
        }
    }
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Adds some rows of a chunk, whose labels are 0 or 1.
    pub(super) fn add(&mut self, arguments: &Arguments<'_>, rows: Range<usize>) {
        match arguments.labels {
            Labels::U8(labels) => self.outcomes.extend(labels[rows.clone()].iter().map(|label| *label == 1)),
            Labels::I64(labels) => self.outcomes.extend(labels[rows.clone()].iter().map(|label| *label == 1)),
            Labels::F64(labels) => self.outcomes.extend(labels[rows.clone()].iter().map(|label| *label == 1.0)),
            // proof: arguments have no labels of other types
            _ => return,
        }
        self.scores.extend(arguments.scores, rows.clone());
        if let Some(weights) = arguments.weights {
            self.weights.extend_from_slice(&weights[rows]);
        }
    }

    /// Adds the rows of another group.
    pub(super) fn append(&mut self, other: &Self) {
        self.scores.extend(other.scores.floats(), 0..other.len());
        self.outcomes.extend_from_slice(&other.outcomes);
        self.weights.extend_from_slice(&other.weights);
    }

    /// Calls `work` with all rows, if there are any.
    pub(super) fn each(
        &self,
        form: Form,
        work: impl FnOnce(&BinaryView<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.outcomes.is_empty() {
            return Ok(());
        }
        let weights = (!self.weights.is_empty()).then_some(&self.weights[..]);
        let input = arguments::input(form, self.scores.floats(), (&self.outcomes).into(), weights);
        work(&input.check_batch(&mut Tally::default())?.binary()?)
    }

    pub(super) fn clear(&mut self) {
        match &mut self.scores {
            Scores::Single(scores) => scores.clear(),
            Scores::Double(scores) => scores.clear(),
        }
        self.outcomes.clear();
        self.weights.clear();
    }
}
