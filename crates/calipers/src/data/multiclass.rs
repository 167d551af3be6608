//! Views of rows of classes: the top class, one class against the rest, each class in turn.

use std::ops::Range;

use super::binary::BinaryView;
use super::class_rows::{self, ClassRows, Top, Total};
use super::columns::{Floats, match_floats};
use super::{Form, Predictions};
use crate::Error;
use crate::measure::{Estimate, Measure};
use crate::names::names;
use crate::numerics::parallel;

/// Classes whose log-odds are computed together: as many as the doubles of a line of the cache.
const SIDE_BY_SIDE: usize = 8;

/// When the top class of a row counts as right, if several share the largest score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Ties {
    /// The first of them is the prediction, as argmax takes it.
    #[default]
    First,
    /// Right if the label is any of them: equation (tcecedef) of the paper.
    Any,
}

names! { Ties, "ties"; First = "first", Any = "any" }

/// How rows of classes become rows with a binary outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiclass {
    /// Column 1 of two, the top class of more; a plain column as it is.
    #[default]
    Auto,
    /// The top class, and whether it was right.
    TopClass,
    /// Each class against the rest, and the mean over them: with binned ECE, the static calibration
    /// error (SCE) of Nixon et al.; [`Predictions::estimate`] has the definition.
    Classwise,
    /// This class against the rest.
    Class(usize),
    /// All classes together, for measures that take a distribution over classes: proper scores.
    AllClasses,
}

impl Multiclass {
    const RULE: &str = "\"top_class\", \"classwise\", \"all_classes\" or a class";

    /// What [`Multiclass::Auto`] means for this number of classes, but for measures that take all
    /// classes together: [`Spec::multiclass`](crate::Spec::multiclass) has that.
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
            "all_classes" => Ok(Multiclass::AllClasses),
            other => {
                let invalid = |_| Error::setting("multiclass", Multiclass::RULE, format!("{other:?}"));
                other.parse().map(Multiclass::Class).map_err(invalid)
            }
        }
    }
}

impl std::fmt::Display for Multiclass {
    /// The text of the option.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Multiclass::Auto => f.write_str("auto"),
            Multiclass::TopClass => f.write_str("top_class"),
            Multiclass::Classwise => f.write_str("classwise"),
            Multiclass::Class(class) => class.fmt(f),
            Multiclass::AllClasses => f.write_str("all_classes"),
        }
    }
}

/// Runs one expression with `$rows` bound to the [`ClassRows`] of some predictions, of whichever
/// type they are.
macro_rules! with_class_rows {
    ($predictions:expr, $rows:ident => $expression:expr) => {{
        let (n_classes, kept) = ($predictions.n_classes(), $predictions.kept.as_deref());
        match_floats!($predictions.input.scores, values => {
            let $rows = ClassRows { values, n_classes, kept };
            $expression
        })
    }};
}
pub(super) use with_class_rows;

impl Predictions<'_> {
    /// The requested view; class by class there is none.
    pub fn view(&self, multiclass: Multiclass, ties: Ties) -> Result<BinaryView<'_>, Error> {
        match multiclass.resolved(self.n_classes()) {
            Multiclass::Auto => self.binary(),
            Multiclass::TopClass => self.top_class(ties),
            Multiclass::Class(class) => self.one_class(class),
            several @ (Multiclass::Classwise | Multiclass::AllClasses) => {
                let rule = "\"top_class\" or a class for one curve, table or sketch";
                Err(Error::setting("multiclass", rule, format!("{:?}", several.to_string())))
            }
        }
    }

    /// The value of a measure for the requested view; class by class, the mean and the value of
    /// each class; of all classes together where that is requested, or where the measure takes them
    /// so by default.
    ///
    /// # Definition
    /// With [`Multiclass::Classwise`], for K classes and M the measure:
    /// ```text
    /// (1/K) Σ_c M(probability of class c, whether the label is c)       over all rows, for each class
    /// SCE = (1/K) Σ_c Σ_b (W_cb / W) |ȳ_cb - p̄_cb|                      M binned ECE with bins of equal width
    /// ```
    /// The second line is the static calibration error (SCE) of Nixon et al., also called
    /// class-wise ECE; W_cb is the weight of the rows whose probability of class c is in bin b.
    /// Their adaptive calibration error (ACE) is the same with bins of equal mass,
    /// [`Strategy::Quantile`](crate::Strategy): there all bins have the share 1/R, here the one
    /// that ties leave them. Their thresholded variant, which drops small probabilities, is not
    /// here: its value depends on the threshold more than on the model.
    ///
    /// # Assumptions
    /// Those of the measure. Every class counts the same, a rare one too. All probabilities may be
    /// calibrated class by class, and the vectors not: [`CanonicalKdeEce`](crate::CanonicalKdeEce)
    /// asks for these.
    ///
    /// # Cost
    /// K times that of the measure.
    ///
    /// # Accuracy
    /// Numerical: the mean of the bounds. Statistical: that of the measure; with many classes most
    /// probabilities are near 0, where equal-width bins have one that holds nearly all rows, and
    /// the mean over classes is near 0 whatever the top classes do.
    ///
    /// # Reference
    /// Nixon, Dusenberry, Zhang, Jerfel, Tran, "Measuring Calibration in Deep Learning", CVPR
    /// workshops 2019; class-wise ECE: Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach,
    /// "Beyond temperature scaling", NeurIPS 2019.
    ///
    /// # Example
    /// One bin: class 0 came once for 0.8 + 0.4 expected, class 1 never for 0.1 + 0.2, class 2 once
    /// for 0.1 + 0.4.
    /// ```
    /// use calipers::{BinnedEce, Input, Multiclass, Ties};
    ///
    /// let scores = [0.8, 0.1, 0.1, 0.4, 0.2, 0.4];
    /// let predictions = Input::probabilities(&scores, &[0, 2]).classes(3).check()?;
    /// let sce = predictions.estimate(Multiclass::Classwise, Ties::First, &BinnedEce::new().n_bins(1))?;
    /// assert!((sce.value - (0.2 + 0.3 + 0.5) / 2.0 / 3.0).abs() < 1e-15);
    /// assert_eq!(sce.per_class.len(), 3);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn estimate(&self, multiclass: Multiclass, ties: Ties, measure: &dyn Measure) -> Result<Estimate, Error> {
        match measure.spec().multiclass(multiclass, self.n_classes()) {
            Multiclass::Classwise => {
                let per_class = self.each_class()?.map(|view| measure.estimate(&view));
                Estimate::mean_over_classes(per_class.collect::<Result<Vec<Estimate>, Error>>()?)
            }
            Multiclass::AllClasses => measure.estimate_all_classes(&self.distributions()?),
            of_one_outcome => measure.estimate(&self.view(of_one_outcome, ties)?),
        }
    }

    /// Confidence calibration: the probability of the top class, and whether it was right.
    ///
    /// From raw scores the view has log-odds, `z_top - logsumexp(the others)`, which stay finite
    /// and exact where the probability would round to 1.
    pub fn top_class(&self, ties: Ties) -> Result<BinaryView<'_>, Error> {
        self.check_classes("\"top_class\"")?;
        self.check_no_positive()?;
        let chunks = self.tops(ties);
        let tops = || chunks.iter().flatten();
        let scores = tops().map(|(top, _)| top.score).collect();
        let outcomes = tops().map(|(_, right)| *right).collect();
        let n_ties = tops().filter(|(top, _)| top.tied).count() as u64;
        let mut view = self.computed_view(None, scores, outcomes);
        view.set_ties(n_ties);
        Ok(view)
    }

    /// Checks that rows have classes; `got` is what was requested.
    pub(super) fn check_classes(&self, got: impl ToString) -> Result<(), Error> {
        Error::require(self.n_classes() > 1, "multiclass", "left out for a plain column of scores", got)
    }

    pub(super) fn check_no_positive(&self) -> Result<(), Error> {
        Error::require(self.input.rules.positive.is_none(), "pos_label", "left out with multiclass", "both")
    }

    /// The top class of each row and whether it is right, chunk by chunk.
    pub(super) fn tops(&self, ties: Ties) -> Vec<Vec<(Top, bool)>> {
        let rows_per_chunk = class_rows::rows_per_chunk(self.n_classes());
        parallel::map_chunks(self.len(), rows_per_chunk, |range| {
            let tops = with_class_rows!(self, rows => class_rows::tops(&rows, range.clone(), self.input.rules.form));
            range.zip(tops).map(|(index, top)| (top, self.is_right(index, top, ties))).collect()
        })
    }

    fn is_right(&self, index: usize, top: Top, ties: Ties) -> bool {
        let (row, label) = (self.row(index), self.label(index));
        let score = |class: usize| self.input.scores.get(row * self.n_classes() + class);
        label == top.class || (ties == Ties::Any && top.tied && score(label) == score(top.class))
    }

    /// The label of a row of classes.
    pub(crate) fn label(&self, index: usize) -> usize {
        // proof: validation has checked that labels are classes
        self.input.labels.number(self.row(index)).map_or(0, |label| label as usize)
    }

    /// One class against the rest.
    pub fn one_class(&self, class: usize) -> Result<BinaryView<'_>, Error> {
        let k = self.n_classes();
        self.check_classes(class)?;
        Error::require(class < k, "multiclass", format!("a class from 0 to {}", k - 1), class)?;
        if self.input.rules.form == Form::Probabilities {
            return Ok(self.class_probabilities(class));
        }
        let chunks = parallel::map_chunks(self.len(), class_rows::rows_per_chunk(k), |range| {
            with_class_rows!(self, rows => {
                let totals = class_rows::totals(&rows, range.clone());
                class_rows::log_odds(&rows, range, class..class + 1, &totals).concat()
            })
        });
        Ok(self.class_log_odds(class, chunks.concat()))
    }

    /// Each class against the rest, in order: the views of [`one_class`](Self::one_class), at a
    /// cost of O(n k) for all of them.
    ///
    /// From raw scores each row is summed once, and every class takes its own term from the sum.
    pub fn each_class(&self) -> Result<impl Iterator<Item = BinaryView<'_>>, Error> {
        let k = self.n_classes();
        self.check_classes("\"classwise\"")?;
        let totals = (self.input.rules.form == Form::Logits).then(|| {
            parallel::map_chunks(
                self.len(),
                class_rows::rows_per_chunk(k),
                |range| with_class_rows!(self, rows => class_rows::totals(&rows, range)),
            )
            .concat()
        });
        Ok((0..k).step_by(SIDE_BY_SIDE).flat_map(move |first| {
            let classes = first..k.min(first + SIDE_BY_SIDE);
            match &totals {
                None => classes.map(|class| self.class_probabilities(class)).collect::<Vec<_>>(),
                Some(totals) => self.log_odds_of(classes, totals),
            }
        }))
    }

    /// The views of some classes of rows of logits, whose totals are known.
    fn log_odds_of(&self, classes: Range<usize>, totals: &[Total]) -> Vec<BinaryView<'_>> {
        // Of each row few values are read.
        let chunks = parallel::map_chunks(self.len(), parallel::CHUNK / SIDE_BY_SIDE, |range| {
            let totals = &totals[range.clone()];
            with_class_rows!(self, rows => class_rows::log_odds(&rows, range, classes.clone(), totals))
        });
        let column = |place: usize| chunks.iter().flat_map(|columns| &columns[place]).copied().collect();
        classes.enumerate().map(|(place, class)| self.class_log_odds(class, column(place))).collect()
    }
}
