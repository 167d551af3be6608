//! Resamples of any measure, row by row.

use super::resampler::{Resampler, drawn};
use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::inference::{Bracket, Clusters, CorrelatedOutcomes, RowBracket};
use crate::measure::{Estimate, Measure};
use crate::numerics::random::Uniforms;

/// A measure behind a pointer, so that what resamples it is compiled once for all measures.
pub(super) type Estimator<'a> = Box<dyn Fn(&BinaryView<'_>) -> Result<Estimate, Error> + Sync + 'a>;

/// Draws outcomes or rows and measures them again: correct for any measure, and as slow as it is.
///
/// With clusters, outcomes are drawn with the correlation that they have within clusters, and whole
/// clusters are drawn in place of rows.
pub struct RowResampler<'a> {
    estimate: Estimator<'a>,
    view: &'a BinaryView<'a>,
    rows: Rows,
    /// The probability of outcome 1 for each row.
    probabilities: Vec<f64>,
    clusters: Option<(&'a Clusters, CorrelatedOutcomes)>,
    value: f64,
    range: (f64, f64),
    bracket: Option<Bracket>,
    /// [`Measure::effect_of_outcomes`].
    effect: Option<f64>,
}

impl<'a> RowResampler<'a> {
    /// Reads and measures the rows.
    pub fn new<E: Measure + ?Sized>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Self, Error> {
        let estimate = measure.estimate(view)?;
        let mut probabilities = Rows::default();
        view.read_probabilities(0..view.len(), measure.link(), &mut probabilities);
        let bracket = measure.row_bracket(view, clusters)?;
        let effect = measure.effect_of_outcomes();
        let measure = Box::new(move |view: &BinaryView<'_>| measure.estimate(view));
        Ok(RowResampler { effect, ..Self::of(measure, view, estimate, probabilities.scores, bracket, clusters) })
    }

    /// The same with rows and resamples measured by `resolved`.
    pub(crate) fn resolved<E: Measure>(
        measure: &'a E,
        resolved: impl Measure + 'static,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Self, Error> {
        let rows = Self::new(measure, view, clusters)?;
        let value = resolved.estimate(view)?.value;
        Ok(RowResampler { estimate: Box::new(move |view: &BinaryView<'_>| resolved.estimate(view)), value, ..rows })
    }

    fn of(
        measure: Estimator<'a>,
        view: &'a BinaryView<'a>,
        estimate: Estimate,
        probabilities: Vec<f64>,
        bracket: Option<RowBracket>,
        clusters: Option<&'a Clusters>,
    ) -> Self {
        let rows = view.rows();
        let (value, range) = (estimate.value, estimate.spec.range);
        let variance = |influences: &[f64]| variance(influences, clusters);
        let bracket = bracket.map(|found| found.of_sums(&variance, value));
        let clusters = clusters.map(|clusters| {
            let both: Vec<(f64, f64)> = probabilities.iter().map(|p| (*p, 1.0 - p)).collect();
            (clusters, CorrelatedOutcomes::new(clusters, &both, &rows.outcomes, |row| rows.weights[row]))
        });
        RowResampler { estimate: measure, view, rows, probabilities, clusters, value, range, bracket, effect: None }
    }

    /// Whether rows have weights of their own.
    pub(super) fn is_weighted(&self) -> bool {
        self.view.is_weighted()
    }

    /// The share of each row or cluster in the weight.
    fn shares(&self) -> Vec<f64> {
        let weights = &self.rows.weights;
        let unit = unit_of(weights);
        let of_cluster = |clusters: &Clusters, cluster: usize| {
            clusters.rows_of(cluster).iter().map(|row| weights[*row] / unit).sum::<f64>()
        };
        let sums: Vec<f64> = match &self.clusters {
            None => weights.iter().map(|weight| weight / unit).collect(),
            Some((clusters, _)) => (0..clusters.len()).map(|cluster| of_cluster(clusters, cluster)).collect(),
        };
        let total = weights.iter().map(|weight| weight / unit).sum::<f64>();
        sums.into_iter().map(|weight| weight / total).collect()
    }

    /// The measure of these rows, each as often as it is named; NaN where it has none.
    pub(super) fn measure_rows(&self, rows: &[usize]) -> f64 {
        let weights: Vec<f64> = rows.iter().map(|&row| self.rows.weights[row]).collect();
        let scores = rows.iter().map(|&row| self.rows.scores[row]).collect();
        let outcomes = rows.iter().map(|&row| self.rows.outcomes[row]).collect();
        self.measure(scores, outcomes, &weights)
    }

    fn measure(&self, scores: Vec<f64>, outcomes: Vec<bool>, weights: &[f64]) -> f64 {
        let weights = self.view.is_weighted().then_some(weights);
        let estimate = (self.estimate)(&self.view.with_rows(scores, outcomes, weights));
        estimate.map_or(f64::NAN, |estimate| estimate.value)
    }
}

impl Resampler for RowResampler<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        let outcomes = match &self.clusters {
            None => {
                let mut uniforms = Uniforms::new(draw);
                self.probabilities.iter().map(|probability| uniforms.next() < *probability).collect()
            }
            Some((clusters, correlated)) => {
                // Rows without weight are in no cluster, and keep their outcome.
                let mut outcomes = self.rows.outcomes.clone();
                let mut rows = clusters.rows().iter();
                correlated.draw(draw, |outcome| {
                    if let Some(row) = rows.next() {
                        outcomes[*row] = outcome;
                    }
                });
                outcomes
            }
        };
        self.measure(self.rows.scores.clone(), outcomes, &self.rows.weights)
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let drawn = match &self.clusters {
            None => drawn(self.rows.scores.len(), draw),
            Some((clusters, _)) => clusters.drawn_rows(draw),
        };
        self.measure_rows(&drawn)
    }

    fn bracket(&self) -> Option<Bracket> {
        self.bracket
    }

    fn squared_differences(&self) -> Option<f64> {
        let squares = || self.shares().into_iter().map(|share| share * share).sum::<f64>();
        self.effect.map(|effect| effect * effect * squares())
    }

    fn largest_difference(&self) -> Option<f64> {
        self.effect.map(|effect| effect * self.shares().into_iter().fold(0.0, f64::max))
    }

    fn effective_rows(&self) -> f64 {
        effective_rows(&self.rows.weights)
    }

    fn draws_rows(&self) -> bool {
        true
    }

    fn range(&self) -> (f64, f64) {
        self.range
    }
}

/// A power of two near the largest weight: sums and squares of weights in this unit are no larger
/// or smaller than a number can be.
fn unit_of(weights: &[f64]) -> f64 {
    // Logarithms of the largest numbers are rounded up.
    weights.iter().copied().fold(0.0, f64::max).log2().floor().min(1023.0).exp2()
}

/// (Σw)² / Σw².
pub(super) fn effective_rows(weights: &[f64]) -> f64 {
    let unit = unit_of(weights);
    let scaled = || weights.iter().map(|weight| weight / unit);
    let total = scaled().sum::<f64>();
    total * total / scaled().map(|weight| weight * weight).sum::<f64>()
}

/// The variance of a sum of influences: Σ x², with clusters that of their sums by cluster.
pub(super) fn variance(influences: &[f64], clusters: Option<&Clusters>) -> f64 {
    match clusters {
        None => influences.iter().map(|influence| influence * influence).sum(),
        Some(clusters) => clusters.deviation(influences).powi(2),
    }
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

#[cfg(test)]
mod tests {
    use super::effective_rows;

    #[test]
    fn weights_whose_sums_and_squares_overflow_count_as_others_do() {
        for weight in [1e-200, 1.0, 1e306, f64::MAX] {
            assert!((effective_rows(&[weight; 64]) - 64.0).abs() < 1e-9, "{weight:e}");
        }
        assert_eq!(effective_rows(&[f64::MAX, 0.0]), 1.0);
    }
}
