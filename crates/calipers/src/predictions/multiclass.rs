//! Views of rows of classes: the top class, one class against the rest, each class in turn.

use super::binary::{BinaryView, Scale};
use super::{Form, Predictions};
use crate::Error;
use crate::estimate::{Estimate, Estimator};
use crate::numerics::parallel;

/// What is refused of a plain column.
const PLAIN: &str = "left out for a plain column of scores";

/// When the top class of a row counts as right, if several share the largest score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ties {
    /// The first of them is the prediction, as argmax takes it.
    #[default]
    First,
    /// Right if the label is any of them: equation (tcecedef) of the paper.
    Any,
}

impl std::str::FromStr for Ties {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "first" => Ok(Ties::First),
            "any" => Ok(Ties::Any),
            other => Err(Error::setting("ties", "\"first\" or \"any\"", format!("{other:?}"))),
        }
    }
}

/// How rows of classes become rows with a binary outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiclass {
    /// Column 1 of two, the top class of more; a plain column as it is.
    #[default]
    Auto,
    /// The top class, and whether it was right.
    TopClass,
    /// Each class against the rest, and the mean over them.
    Classwise,
    /// This class against the rest.
    Class(usize),
}

impl Multiclass {
    const RULE: &str = "\"top_class\", \"classwise\" or a class";

    /// What [`Multiclass::Auto`] means for so many classes.
    pub fn resolved(self, n_classes: usize) -> Self {
        match (self, n_classes) {
            (Multiclass::Auto, 2) => Multiclass::Class(1),
            (Multiclass::Auto, 3..) => Multiclass::TopClass,
            _ => self,
        }
    }
}

impl std::str::FromStr for Multiclass {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Multiclass::Auto),
            "top_class" => Ok(Multiclass::TopClass),
            "classwise" => Ok(Multiclass::Classwise),
            other => {
                let refused = |_| Error::setting("multiclass", Multiclass::RULE, format!("{other:?}"));
                other.parse().map(Multiclass::Class).map_err(refused)
            }
        }
    }
}

/// The top class of one row.
pub(super) struct Top {
    pub(super) class: usize,
    pub(super) score: f64,
    pub(super) right: bool,
    tied: bool,
}

impl Predictions<'_> {
    /// The one view that is asked for; class by class there is none.
    pub fn view(&self, multiclass: Multiclass, ties: Ties) -> Result<BinaryView<'_>, Error> {
        match multiclass.resolved(self.n_classes()) {
            Multiclass::Auto => self.binary(),
            Multiclass::TopClass => self.top_class(ties),
            Multiclass::Class(class) => self.one_class(class),
            Multiclass::Classwise => {
                Err(Error::setting("multiclass", "\"top_class\" or a class for one curve or table", "\"classwise\""))
            }
        }
    }

    /// What a measure says of the view that is asked for; class by class, the mean and each class's own.
    pub fn estimate(&self, multiclass: Multiclass, ties: Ties, measure: &dyn Estimator) -> Result<Estimate, Error> {
        if multiclass != Multiclass::Classwise {
            return measure.estimate(&self.view(multiclass, ties)?);
        }
        if self.n_classes() < 2 {
            return Err(Error::setting("multiclass", PLAIN, "\"classwise\""));
        }
        let per_class: Result<Vec<Estimate>, Error> = self.classwise().map(|view| measure.estimate(&view?)).collect();
        Estimate::mean_over_classes(per_class?)
    }

    /// Confidence calibration: the probability of the top class, and whether it was right.
    ///
    /// From raw scores the view has log-odds, `z_top - logsumexp(the others)`, which stay finite
    /// and exact where the probability would round to 1.
    pub fn top_class(&self, ties: Ties) -> Result<BinaryView<'_>, Error> {
        if self.n_classes() < 2 {
            return Err(Error::setting("multiclass", PLAIN, "\"top_class\""));
        }
        if self.input.rules.positive.is_some() {
            return Err(Error::setting("pos_label", "left out with multiclass", "both"));
        }
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |rows| {
            rows.map(|index| self.top(self.row(index), ties)).collect::<Vec<Top>>()
        });
        let tops = || chunks.iter().flatten();
        let scores = tops().map(|top| top.score).collect();
        let outcomes = tops().map(|top| top.right).collect();
        let n_ties = tops().filter(|top| top.tied).count() as u64;
        let (scale, error) = match self.input.rules.form {
            Form::Probabilities => (Scale::Probability, None),
            Form::Logits => (Scale::LogOdds, Some(self.log_odds_error())),
        };
        let mut view = self.computed_view(scores, outcomes, scale, error);
        view.set_ties(n_ties);
        Ok(view)
    }

    pub(super) fn top(&self, row: usize, ties: Ties) -> Top {
        let k = self.n_classes();
        let score = |class: usize| self.input.scores.get(row * k + class);
        let mut top = 0;
        let mut n_top = 1;
        for class in 1..k {
            if score(class) > score(top) {
                (top, n_top) = (class, 1);
            } else if score(class) == score(top) {
                n_top += 1;
            }
        }
        // proof: the door has checked that labels are classes
        let label = self.input.labels.number(row).map_or(usize::MAX, |label| label as usize);
        let right = match ties {
            Ties::First => label == top,
            Ties::Any => score(label) == score(top),
        };
        let score = match self.input.rules.form {
            Form::Probabilities => score(top),
            Form::Logits => self.log_odds(row, top),
        };
        Top { class: top, score, right, tied: n_top > 1 }
    }

    /// One class against the rest.
    pub fn one_class(&self, class: usize) -> Result<BinaryView<'_>, Error> {
        let k = self.n_classes();
        if k < 2 {
            return Err(Error::setting("multiclass", PLAIN, class));
        }
        if class >= k {
            return Err(Error::setting("multiclass", format!("a class from 0 to {}", k - 1), class));
        }
        if self.input.rules.form == Form::Probabilities {
            return Ok(self.class_probabilities(class));
        }
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK, |rows| {
            rows.map(|index| self.log_odds(self.row(index), class)).collect::<Vec<f64>>()
        });
        Ok(self.class_log_odds(class, chunks.concat(), Some(self.log_odds_error())))
    }

    /// Each class against the rest, in order.
    fn classwise(&self) -> impl Iterator<Item = Result<BinaryView<'_>, Error>> {
        (0..self.n_classes()).map(|class| self.one_class(class))
    }

    /// ln(p / (1 - p)) of a class under softmax: less the log-sum-exp of what the other scores are above its own.
    fn log_odds(&self, row: usize, class: usize) -> f64 {
        let k = self.n_classes();
        let score = |class: usize| self.input.scores.get(row * k + class);
        let above = || (0..k).filter(|&other| other != class).map(|other| score(other) - score(class));
        let largest = above().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = above().map(|above| (above - largest).exp()).sum();
        -(largest + sum.ln())
    }

    /// The part of the rounding error of [`log_odds`](Self::log_odds) that does not grow with their size, in units of
    /// 2^-53; the other part is at most 4 |log-odds|.
    ///
    /// With m the largest difference, |m| is at most |log-odds| + ln k. A difference d is rounded by |d|, and d - m by
    /// |d - m| more, where |d| <= |m| + |d - m| and |d - m| exp(d - m) <= 1/e; exp itself and the sum of k - 1
    /// terms of one sign add k + 2 relative, the logarithm ln k, the last addition |log-odds|.
    pub(super) fn log_odds_error(&self) -> f64 {
        let k = self.n_classes() as f64;
        3.0 * k + 4.0 * k.ln() + 8.0
    }
}
