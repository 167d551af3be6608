//! Resamples of any measure, row by row.

use super::resampler::{Resampler, drawn};
use crate::Error;
use crate::data::{BinaryView, Rows, Scale};
use crate::inference::{Bracket, Clusters, CorrelatedOutcomes, RowBracket};
use crate::link::{Link, Logistic};
use crate::measure::Measure;
use crate::numerics::random::Uniforms;

/// Draws outcomes or rows and asks the measure again: right for any measure, and as slow as it.
pub struct RowResampler<'a, E: ?Sized> {
    measure: &'a E,
    view: &'a BinaryView<'a>,
    rows: Rows,
    /// The probability of outcome 1 for each row.
    probabilities: Vec<f64>,
    value: f64,
    range: (f64, f64),
    bracket: Option<Bracket>,
}

impl<'a, E: Measure + ?Sized> RowResampler<'a, E> {
    /// Reads and measures the rows.
    pub fn new(measure: &'a E, view: &'a BinaryView<'a>) -> Result<Self, Error> {
        let estimate = measure.estimate(view)?;
        let mut rows = Rows::default();
        view.read(0..view.len(), &mut rows);
        let probability = |score: &f64| match view.scale() {
            Scale::Probability => *score,
            Scale::LogOdds => Logistic.response(*score),
            Scale::Link => measure.link().response(*score),
        };
        let probabilities = rows.scores.iter().map(probability).collect();
        let (value, range) = (estimate.value, estimate.spec.range);
        let bracket =
            measure.row_bracket(view, None)?.map(|found| found.of_sums(&|influences| of_squares(influences), value));
        Ok(RowResampler { measure, view, rows, probabilities, value, range, bracket })
    }

    /// The measure of these rows of the view, some more than once.
    fn measure_of(&self, drawn: &[usize]) -> f64 {
        let weights: Vec<f64> = drawn.iter().map(|&row| self.rows.weights[row]).collect();
        let scores = drawn.iter().map(|&row| self.rows.scores[row]).collect();
        let outcomes = drawn.iter().map(|&row| self.rows.outcomes[row]).collect();
        self.measure(scores, outcomes, &weights)
    }

    fn measure(&self, scores: Vec<f64>, outcomes: Vec<bool>, weights: &[f64]) -> f64 {
        let weights = self.view.is_weighted().then_some(weights);
        let estimate = self.measure.estimate(&self.view.with_rows(scores, outcomes, weights));
        estimate.map_or(f64::NAN, |estimate| estimate.value)
    }
}

impl<E: Measure + ?Sized> Resampler for RowResampler<'_, E> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let outcomes = self.probabilities.iter().map(|probability| uniforms.next() < *probability).collect();
        self.measure(self.rows.scores.clone(), outcomes, &self.rows.weights)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.measure_of(&drawn(self.rows.scores.len(), draw))
    }

    fn influence_deviation(&self) -> Option<f64> {
        None
    }

    fn bracket(&self) -> Option<Bracket> {
        self.bracket
    }

    fn effective_rows(&self) -> f64 {
        effective_rows(&self.rows.weights)
    }

    fn range(&self) -> (f64, f64) {
        self.range
    }
}

/// (Σw)² / Σw².
pub(super) fn effective_rows(weights: &[f64]) -> f64 {
    let total = weights.iter().sum::<f64>();
    total * total / weights.iter().map(|weight| weight * weight).sum::<f64>()
}

/// Σ x².
fn of_squares(influences: &[f64]) -> f64 {
    influences.iter().map(|influence| influence * influence).sum()
}

impl RowBracket {
    /// Of the sum of two measures of the same rows.
    pub(super) fn plus(mut self, other: &RowBracket) -> Self {
        for (ours, theirs) in [(&mut self.lower, &other.lower), (&mut self.upper, &other.upper)] {
            ours.value += theirs.value;
            // At most so much: standard errors add where noise is the same.
            ours.lacking = (ours.lacking.sqrt() + theirs.lacking.sqrt()).powi(2);
            ours.influences.iter_mut().zip(&theirs.influences).for_each(|(sum, influence)| *sum += influence);
        }
        self.value += other.value;
        self.corrected += other.corrected;
        self.debiased += other.debiased;
        self
    }

    /// With standard errors, `variance` being that of a sum of influences; moved to where the
    /// measure has its `value`.
    pub(super) fn of_sums(&self, variance: &dyn Fn(&[f64]) -> f64, value: f64) -> Bracket {
        let shift = value - self.value;
        Bracket {
            lower: self.lower.value + shift,
            lower_deviation: (variance(&self.lower.influences) + self.lower.lacking).sqrt(),
            upper: self.upper.value + shift,
            upper_deviation: (variance(&self.upper.influences) + self.upper.lacking).sqrt(),
            corrected: self.corrected + shift,
            debiased: self.debiased,
        }
    }
}

/// Draws outcomes that depend on each other within clusters, or whole clusters of rows, and asks
/// the measure again.
pub struct ClusterRowResampler<'a, E: ?Sized> {
    rows: RowResampler<'a, E>,
    clusters: &'a Clusters,
    outcomes: CorrelatedOutcomes,
}

impl<'a, E: Measure + ?Sized> ClusterRowResampler<'a, E> {
    /// Reads and measures the rows.
    pub fn new(measure: &'a E, view: &'a BinaryView<'a>, clusters: &'a Clusters) -> Result<Self, Error> {
        let mut rows = RowResampler::new(measure, view)?;
        let variance = |influences: &[f64]| clusters.deviation(influences).powi(2);
        rows.bracket = measure.row_bracket(view, Some(clusters))?.map(|found| found.of_sums(&variance, rows.value));
        let probabilities: Vec<(f64, f64)> = rows.probabilities.iter().map(|p| (*p, 1.0 - p)).collect();
        let outcomes =
            CorrelatedOutcomes::new(clusters, &probabilities, &rows.rows.outcomes, |row| rows.rows.weights[row]);
        Ok(ClusterRowResampler { rows, clusters, outcomes })
    }
}

impl<E: Measure + ?Sized> Resampler for ClusterRowResampler<'_, E> {
    fn value(&self) -> f64 {
        self.rows.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        // Rows without weight are in no cluster, and keep their outcome.
        let mut outcomes = self.rows.rows.outcomes.clone();
        let mut rows = self.clusters.rows().iter();
        self.outcomes.draw(draw, |outcome| {
            if let Some(row) = rows.next() {
                outcomes[*row] = outcome;
            }
        });
        self.rows.measure(self.rows.rows.scores.clone(), outcomes, &self.rows.rows.weights)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.rows.measure_of(&self.clusters.drawn_rows(draw))
    }

    fn influence_deviation(&self) -> Option<f64> {
        None
    }

    fn bracket(&self) -> Option<Bracket> {
        self.rows.bracket
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range
    }
}
