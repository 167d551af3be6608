//! Resamples of any measure, row by row.

use super::resampler::{Resampler, drawn};
use crate::Error;
use crate::estimate::Estimator;
use crate::link::{Link, Logistic};
use crate::numerics::random::Uniforms;
use crate::predictions::{BinaryView, Rows, Scale};
use crate::significance::Clusters;

/// Draws outcomes or rows and asks the measure again: right for any measure, and as slow as it.
pub struct RowResampler<'a, E: ?Sized> {
    measure: &'a E,
    view: &'a BinaryView<'a>,
    rows: Rows,
    /// The probability of outcome 1 for each row.
    probabilities: Vec<f64>,
    value: f64,
    range: (f64, f64),
}

impl<'a, E: Estimator + ?Sized> RowResampler<'a, E> {
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
        Ok(RowResampler { measure, view, rows, probabilities, value: estimate.value, range: estimate.range() })
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

impl<E: Estimator + ?Sized> Resampler for RowResampler<'_, E> {
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

/// Draws whole clusters of rows and asks the measure again.
pub struct ClusterRowResampler<'a, E: ?Sized> {
    rows: RowResampler<'a, E>,
    clusters: &'a Clusters,
}

impl<'a, E: Estimator + ?Sized> ClusterRowResampler<'a, E> {
    /// Reads and measures the rows.
    pub fn new(measure: &'a E, view: &'a BinaryView<'a>, clusters: &'a Clusters) -> Result<Self, Error> {
        Ok(ClusterRowResampler { rows: RowResampler::new(measure, view)?, clusters })
    }
}

impl<E: Estimator + ?Sized> Resampler for ClusterRowResampler<'_, E> {
    fn value(&self) -> f64 {
        self.rows.value
    }

    fn calibrated_draw(&self, _: u64) -> f64 {
        f64::NAN
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.rows.measure_of(&self.clusters.drawn_rows(draw))
    }

    fn influence_deviation(&self) -> Option<f64> {
        None
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range
    }

    /// How outcomes of a cluster depend on each other is not known, so that they cannot be drawn.
    fn floor_withheld(&self) -> Option<&'static str> {
        Some("rows of a cluster depend on each other, and only LS-ECE has a floor by clusters")
    }
}
