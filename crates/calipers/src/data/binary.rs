//! The form that every measure reads: an outcome, a score and a weight for each row.

use std::ops::Range;

use super::class_rows;
use super::columns::{Floats, Labels, PositiveLabel};
use super::{Form, InputReport, Outcome, PlainPass, PlainRows, Predictions, Probability};
use crate::Error;
use crate::link::{Link, Logistic};
use crate::numerics::parallel;

/// What the scores of a view are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Probabilities of outcome 1, in [0, 1].
    Probability,
    /// ln(p / (1 - p)), from scores that never became probabilities and so never saturate.
    LogOdds,
    /// The input h of the link itself: the probability is rho(h), whatever rho is.
    Link,
}

/// Where the scores of a view come from.
#[derive(Debug, Clone)]
enum Scores<'a> {
    Column(Floats<'a>),
    /// One class of rows of `n_classes`.
    Class {
        values: Floats<'a>,
        n_classes: usize,
        class: usize,
    },
    /// For the rows of the view, not of the input.
    Computed(Vec<f64>),
}

/// Where the outcomes of a view come from.
#[derive(Debug, Clone)]
enum Outcomes<'a> {
    /// 1 where the label is the named one.
    Positive(Labels<'a>, PositiveLabel),
    /// 1 where the label is not the named one.
    Negative(Labels<'a>, PositiveLabel),
    /// 1 where the label is this class.
    Class(Labels<'a>, f64),
    /// For the rows of the view, not of the input.
    Computed(Vec<bool>),
}

/// Some rows of a view, copied out as doubles for a measure to work on.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Outcomes.
    pub outcomes: Vec<bool>,
    /// Scores, on the view's [`Scale`].
    pub scores: Vec<f64>,
    /// Weights; 1 where the predictions have none.
    pub weights: Vec<f64>,
}

/// Checked predictions of a binary outcome, read in place.
#[derive(Debug, Clone)]
pub struct BinaryView<'a> {
    outcomes: Outcomes<'a>,
    scores: Scores<'a>,
    scale: Scale,
    weights: Option<Floats<'a>>,
    /// The input's rows that the view has, where some were left out.
    kept: Option<&'a [usize]>,
    n: usize,
    report: InputReport,
    /// For scores that were computed from several: see [`BinaryView::score_error`].
    score_error: Option<f64>,
    single_precision: bool,
    confidences: bool,
    counted: bool,
}

impl<'a> Predictions<'a> {
    /// The view of a binary outcome: a plain column, or column 1 of two.
    pub fn binary(&self) -> Result<BinaryView<'_>, Error> {
        match self.n_classes() {
            1 => {
                let scale = match self.input.rules.form {
                    Form::Probabilities => Scale::Probability,
                    Form::Logits => Scale::Link,
                };
                Ok(self.assemble(Scores::Column(self.input.scores), self.class_outcomes(1), scale))
            }
            2 => self.one_class(1),
            k => {
                let rule = "\"top_class\", \"classwise\" or a class for more than two classes";
                Err(Error::setting("multiclass", rule, format!("none for {k} classes")))
            }
        }
    }

    /// One class against the rest, read in place from rows of probabilities.
    pub(super) fn class_probabilities(&self, class: usize) -> BinaryView<'_> {
        let scores = Scores::Class { values: self.input.scores, n_classes: self.n_classes(), class };
        self.assemble(scores, self.class_outcomes(class), Scale::Probability)
    }

    /// One class against the rest, with log-odds that were computed row by row.
    pub(super) fn class_log_odds(&self, class: usize, log_odds: Vec<f64>) -> BinaryView<'_> {
        let view = self.assemble(Scores::Computed(log_odds), self.class_outcomes(class), Scale::LogOdds);
        BinaryView { score_error: Some(class_rows::class_log_odds_error(self.n_classes())), ..view }
    }

    /// A view of scores and outcomes that were computed row by row: of all rows, or of some. From
    /// raw scores of classes the scores are log-odds.
    pub(super) fn computed_view<'v>(
        &'v self,
        rows: Option<&'v [usize]>,
        scores: Vec<f64>,
        outcomes: Vec<bool>,
    ) -> BinaryView<'v> {
        let scale = match self.input.rules.form {
            Form::Probabilities => Scale::Probability,
            Form::Logits => Scale::LogOdds,
        };
        let view = self.assemble(Scores::Computed(scores), Outcomes::Computed(outcomes), scale);
        BinaryView { n: rows.map_or(view.n, <[usize]>::len), kept: rows.or(view.kept), ..view }
    }

    fn class_outcomes(&self, class: usize) -> Outcomes<'a> {
        let labels = self.input.labels;
        match (&self.input.rules.positive, class) {
            (Some(positive), 1) => Outcomes::Positive(labels, positive.clone()),
            (Some(positive), _) => Outcomes::Negative(labels, positive.clone()),
            (None, class) => Outcomes::Class(labels, class as f64),
        }
    }

    fn assemble<'v>(&'v self, scores: Scores<'v>, outcomes: Outcomes<'v>, scale: Scale) -> BinaryView<'v> {
        BinaryView {
            outcomes,
            scores,
            scale,
            weights: self.input.weights,
            kept: self.kept.as_deref(),
            n: self.len(),
            report: self.report.clone(),
            score_error: (scale == Scale::LogOdds).then(|| class_rows::log_odds_error(self.n_classes())),
            single_precision: matches!(self.input.scores, Floats::F32(_)),
            confidences: self.input.confidences,
            counted: false,
        }
    }
}

impl BinaryView<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is no row; only a batch of a stream can be empty.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// What the scores are.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Whether rows have weights of their own.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Whether a weight is a number of rows, as in resamples of many rows.
    pub fn is_counted(&self) -> bool {
        self.counted
    }

    /// What was read, rounded, tied and left out.
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// Bound on the rounding error of a score of that value: 0 where scores are read and not
    /// computed.
    pub fn score_error(&self, score: f64) -> f64 {
        self.score_error.map_or(0.0, |constant| f64::EPSILON / 2.0 * (4.0 * score.abs() + constant))
    }

    /// The columns themselves, where outcomes are the labels and nothing is weighted or left out.
    pub(crate) fn plain(&self) -> Option<PlainRows<'_>> {
        match (&self.scores, &self.outcomes, self.kept, self.weights, self.scale) {
            (Scores::Column(scores), Outcomes::Class(labels, 1.0), None, None, Scale::Probability)
                if !labels.are_text() =>
            {
                Some(PlainRows { probabilities: *scores, labels: *labels, checked: true })
            }
            _ => None,
        }
    }

    /// Whether scores are confidences in the class that a model predicts, and outcomes whether that
    /// class was right. Then models on the same rows may have different outcomes.
    pub fn has_confidences(&self) -> bool {
        self.confidences || matches!(self.outcomes, Outcomes::Computed(_))
    }

    /// Other rows in the place of these, with scores on the same scale.
    pub(crate) fn with_rows<'v>(
        &'v self,
        scores: Vec<f64>,
        outcomes: Vec<bool>,
        weights: Option<&'v [f64]>,
    ) -> BinaryView<'v> {
        BinaryView {
            n: outcomes.len(),
            outcomes: Outcomes::Computed(outcomes),
            scores: Scores::Computed(scores),
            weights: weights.map(Floats::F64),
            kept: None,
            ..self.clone()
        }
    }

    /// Probabilities with weights in the place of these rows; `counted` is whether the weights are
    /// numbers of rows.
    pub(crate) fn with_cells<'v>(
        &'v self,
        probabilities: Vec<f64>,
        outcomes: Vec<bool>,
        weights: &'v [f64],
        counted: bool,
    ) -> BinaryView<'v> {
        let view = self.with_rows(probabilities, outcomes, Some(weights));
        BinaryView { scale: Scale::Probability, score_error: None, counted, ..view }
    }

    /// Some of the rows, by their places, from all of them as [`rows`](Self::rows) has them. Rows
    /// that were left out before are not reported again. The weights are kept by the caller.
    pub(crate) fn with_some<'v>(&'v self, all: &Rows, places: &[usize], weights: Option<&'v [f64]>) -> BinaryView<'v> {
        let scores = places.iter().map(|row| all.scores[*row]).collect();
        let outcomes = places.iter().map(|row| all.outcomes[*row]).collect();
        let report = InputReport { n_rows: places.len() as u64, ..InputReport::default() };
        BinaryView { report, ..self.with_rows(scores, outcomes, weights) }
    }

    /// The largest weight, by which others are divided so that sums neither overflow nor vanish; 1
    /// without weights, and where all are 0.
    pub(crate) fn largest_weight(&self) -> f64 {
        let largest = if self.is_weighted() { self.weight_extent().0 } else { 1.0 };
        if largest > 0.0 { largest } else { 1.0 }
    }

    /// The largest weight and the sum of all; those of rows without weights are 1.
    pub(crate) fn weight_extent(&self) -> (f64, f64) {
        let Some(weights) = self.weights else { return (1.0, self.n as f64) };
        let extents = parallel::map_chunks(self.n, parallel::CHUNK, |range| {
            let row = |index: usize| self.kept.map_or(index, |kept| kept[index]);
            let weights = range.map(|index| weights.get(row(index)));
            weights.fold((0.0_f64, 0.0), |(largest, total), weight| (largest.max(weight), total + weight))
        });
        extents.into_iter().fold((0.0, 0.0), |all, part| (all.0.max(part.0), all.1 + part.1))
    }

    /// Whether probabilities came in single precision.
    pub(crate) fn is_single_precision(&self) -> bool {
        self.single_precision
    }

    pub(super) fn set_ties(&mut self, n_ties: u64) {
        self.report.n_ties = n_ties;
    }

    /// Copies all rows.
    pub(crate) fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        self.read(0..self.n, &mut rows);
        rows
    }

    /// Copies some rows into `rows`, whose former content is dropped.
    pub fn read(&self, range: Range<usize>, rows: &mut Rows) {
        rows.outcomes.clear();
        rows.scores.clear();
        rows.weights.clear();
        if let Some(plain) = self.plain() {
            plain.visit(range, CopyTo(rows));
            return;
        }
        for index in range {
            let row = self.kept.map_or(index, |kept| kept[index]);
            rows.outcomes.push(self.outcome(index, row));
            rows.scores.push(self.score(index, row));
            rows.weights.push(self.weights.map_or(1.0, |weights| weights.get(row)));
        }
    }

    /// The same with scores as probabilities of outcome 1; raw binary scores become such by the
    /// link.
    pub fn read_probabilities(&self, range: Range<usize>, link: &dyn Link, rows: &mut Rows) {
        self.read(range, rows);
        match self.scale() {
            Scale::Probability => {}
            Scale::LogOdds => Logistic.response_all(&mut rows.scores),
            // One by one: with the bits that a caller gets who asks the link for probabilities.
            Scale::Link => rows.scores.iter_mut().for_each(|score| *score = link.response(*score).clamp(0.0, 1.0)),
        }
    }

    #[inline]
    fn outcome(&self, index: usize, row: usize) -> bool {
        match &self.outcomes {
            Outcomes::Positive(labels, positive) => labels.is_positive(row, positive),
            Outcomes::Negative(labels, positive) => !labels.is_positive(row, positive),
            Outcomes::Class(labels, class) => labels.number(row) == Some(*class),
            Outcomes::Computed(outcomes) => outcomes[index],
        }
    }

    #[inline]
    fn score(&self, index: usize, row: usize) -> f64 {
        let score = match &self.scores {
            Scores::Column(values) => values.get(row),
            Scores::Class { values, n_classes, class } => values.get(row * n_classes + class),
            Scores::Computed(values) => values[index],
        };
        match self.scale {
            // Beyond [0, 1] by rounding only, which validation has counted.
            Scale::Probability => score.clamp(0.0, 1.0),
            Scale::LogOdds | Scale::Link => score,
        }
    }
}

/// The rows of several views side by side, of which each is read as a view of its own.
#[derive(Debug, Clone)]
pub(super) struct Grouped {
    pub(super) scores: Vec<f64>,
    pub(super) outcomes: Vec<bool>,
    pub(super) weights: Option<Vec<f64>>,
    scale: Scale,
    score_error: Option<f64>,
    single_precision: bool,
    confidences: bool,
}

impl Grouped {
    /// Room for the rows of a view.
    pub(super) fn like(view: &BinaryView<'_>) -> Self {
        Grouped {
            scores: vec![0.0; view.n],
            outcomes: vec![false; view.n],
            weights: view.weights.map(|_| vec![0.0; view.n]),
            scale: view.scale,
            score_error: view.score_error,
            single_precision: view.single_precision,
            confidences: view.has_confidences(),
        }
    }

    /// Some of the rows, of which that was counted.
    pub(super) fn view(&self, rows: Range<usize>, report: InputReport) -> BinaryView<'_> {
        BinaryView {
            n: rows.len(),
            outcomes: Outcomes::Class(Labels::Bool(&self.outcomes[rows.clone()]), 1.0),
            scores: Scores::Column(Floats::F64(&self.scores[rows.clone()])),
            scale: self.scale,
            weights: self.weights.as_ref().map(|weights| Floats::F64(&weights[rows])),
            kept: None,
            report,
            score_error: self.score_error,
            single_precision: self.single_precision,
            confidences: self.confidences,
            counted: false,
        }
    }
}

/// Copies plain rows, which is quick for columns of any type.
struct CopyTo<'a>(&'a mut Rows);

impl PlainPass for CopyTo<'_> {
    type Output = ();

    fn run<P: Probability, L: Outcome>(self, probabilities: &[P], labels: &[L]) {
        self.0.outcomes.extend(labels.iter().map(|label| label.bit() == 1));
        // Beyond [0, 1] by rounding only, which validation has counted.
        self.0.scores.extend(probabilities.iter().map(|p| -> f64 { (*p).into() }).map(|p| p.clamp(0.0, 1.0)));
        self.0.weights.resize(labels.len(), 1.0);
    }
}
