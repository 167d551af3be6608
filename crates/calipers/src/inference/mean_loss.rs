//! Resamples of a score of all classes: the mean over rows of a loss that depends on the predicted
//! distribution and on the label.

use std::sync::OnceLock;

use super::resampler::{Resampler, drawn};
use super::rows::effective_rows;
use super::{Clusters, FEW_ROWS};
use crate::Error;
use crate::data::{Distribution, Distributions};
use crate::numerics::parallel;
use crate::numerics::random::{Normals, Uniforms};
use crate::numerics::sum::Sum;

/// The loss of a row, had it this label.
pub(crate) type Loss<'a> = Box<dyn Fn(Distribution<'_>, usize) -> f64 + Sync + 'a>;

/// The mean loss of rows of classes.
///
/// A bootstrap draw is a mean of losses that are known already. A calibrated draw gives each row a
/// label with its predicted probabilities, and asks for the loss of that label. Of more than 4,096
/// effective rows, a calibrated draw is a normal number with the mean and the variance of such a
/// mean, bent to its skewness (Cornish and Fisher): all classes of each row are read once, and not
/// one of each row for each draw. Where errors are so rare that the mean is skewed by more than
/// 0.2, labels are drawn all the same.
pub(crate) struct MeanLoss<'a> {
    rows: Distributions<'a>,
    loss: Loss<'a>,
    /// Of the labels that the rows have.
    losses: Vec<f64>,
    /// Divided by the largest.
    weights: Vec<f64>,
    clusters: Option<&'a Clusters>,
    range: (f64, f64),
    /// The sums of the first probability of a row, of the first two, and so on, row after row; made
    /// for the first calibrated draw.
    cumulative: OnceLock<Vec<f64>>,
    /// That of calibrated draws of many rows; made for the first of them.
    law: OnceLock<Option<Law>>,
}

/// The largest skewness for which a normal number that is bent to it has the tail of the mean: that
/// of 25 errors of one kind.
const MOST_SKEWED: f64 = 0.2;

/// The distribution of a sum of many independent losses.
struct Law {
    mean: f64,
    deviation: f64,
    skewness: f64,
}

impl Law {
    fn draw(&self, draw: u64) -> f64 {
        let z = Normals::new(draw).next();
        self.mean + self.deviation * (z + self.skewness / 6.0 * (z * z - 1.0))
    }
}

impl<'a> MeanLoss<'a> {
    /// Requires at least one row with weight. `range` has the values that the score can have.
    pub(crate) fn new(
        rows: Distributions<'a>,
        clusters: Option<&'a Clusters>,
        range: (f64, f64),
        loss: Loss<'a>,
    ) -> Result<Self, Error> {
        let weights = rows.scaled_weights()?;
        let of_rows = |range: std::ops::Range<usize>| range.map(|row| loss(rows.row(row), rows.label(row))).collect();
        let losses: Vec<Vec<f64>> = parallel::map_chunks(rows.len(), parallel::CHUNK, of_rows);
        let (losses, cumulative, law) = (losses.concat(), OnceLock::new(), OnceLock::new());
        Ok(MeanLoss { rows, loss, losses, weights, clusters, range, cumulative, law })
    }

    /// The weighted mean of losses of some rows; NaN where none has weight.
    fn mean(&self, losses: impl Iterator<Item = (usize, f64)>) -> f64 {
        let (mut sum, mut total) = (Sum::default(), Sum::default());
        for (row, loss) in losses.filter(|(row, _)| self.weights[*row] > 0.0) {
            sum.add(self.weights[row] * loss);
            total.add(self.weights[row]);
        }
        sum.value() / total.value()
    }

    /// `None` of few rows, or of few errors.
    fn law(&self) -> Option<&Law> {
        let law = self.law.get_or_init(|| {
            if !(self.effective_rows() > FEW_ROWS as f64) {
                return None;
            }
            let of_rows = |range: std::ops::Range<usize>| {
                let mut sums = [Sum::default(); 4];
                let mut pairs: Vec<(f64, f64)> = Vec::with_capacity(self.rows.n_classes());
                for row in range.filter(|row| self.weights[*row] > 0.0) {
                    let (distribution, weight) = (self.rows.row(row), self.weights[row]);
                    let probabilities = distribution.probabilities().enumerate().filter(|(_, p)| *p > 0.0);
                    pairs.clear();
                    pairs.extend(probabilities.map(|(label, p)| (p, (self.loss)(distribution, label))));
                    // Rows sum to 1 up to their tolerance.
                    let total: f64 = pairs.iter().map(|(p, _)| p).sum();
                    let mean = pairs.iter().map(|(p, loss)| p * loss).sum::<f64>() / total;
                    let moment =
                        |power| pairs.iter().map(|(p, loss)| p * (loss - mean).powi(power)).sum::<f64>() / total;
                    let (variance, third) = (moment(2), moment(3));
                    let parts = [weight, weight * mean, weight.powi(2) * variance, weight.powi(3) * third];
                    sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(part));
                }
                sums
            };
            let mut all = [Sum::default(); 4];
            let chunk = (parallel::CHUNK / self.rows.n_classes()).max(1);
            for sums in parallel::map_chunks(self.rows.len(), chunk, of_rows) {
                all.iter_mut().zip(sums).for_each(|(sum, part)| sum.merge(part));
            }
            let [total, mean, variance, third] = all.map(Sum::value);
            let skewness = if variance > 0.0 { third / variance.powf(1.5) } else { 0.0 };
            let law = Law { mean: mean / total, deviation: variance.max(0.0).sqrt() / total, skewness };
            (skewness.abs() <= MOST_SKEWED).then_some(law)
        });
        law.as_ref()
    }

    /// With a label for each row.
    fn draw_of_labels(&self, draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let of_row = |(row, cumulative): (usize, &[f64])| {
            // Rows sum to 1 up to their tolerance.
            let place = uniforms.next() * cumulative[cumulative.len() - 1];
            let label = cumulative.partition_point(|sum| *sum <= place).min(cumulative.len() - 1);
            (row, (self.loss)(self.rows.row(row), label))
        };
        self.mean(self.cumulative().chunks_exact(self.rows.n_classes()).enumerate().map(of_row))
    }

    fn cumulative(&self) -> &[f64] {
        self.cumulative.get_or_init(|| {
            let of_rows = |range: std::ops::Range<usize>| {
                let of_row = |row: usize| {
                    self.rows
                        .row(row)
                        .probabilities()
                        .scan(0.0, |sum, p| {
                            *sum += p;
                            Some(*sum)
                        })
                        .collect::<Vec<f64>>()
                };
                range.flat_map(of_row).collect::<Vec<f64>>()
            };
            parallel::map_chunks(self.rows.len(), parallel::CHUNK, of_rows).concat()
        })
    }
}

impl Resampler for MeanLoss<'_> {
    fn value(&self) -> f64 {
        self.mean(self.losses.iter().copied().enumerate())
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        self.law().map_or_else(|| self.draw_of_labels(draw), |law| law.draw(draw))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        let rows = match self.clusters {
            None => drawn(self.rows.len(), draw),
            Some(clusters) => clusters.drawn_rows(draw),
        };
        self.mean(rows.into_iter().map(|row| (row, self.losses[row])))
    }

    fn effective_rows(&self) -> f64 {
        effective_rows(&self.weights)
    }

    fn range(&self) -> (f64, f64) {
        self.range
    }

    fn floor_unavailable(&self) -> Option<&'static str> {
        self.clusters.map(|_| "rows of a cluster depend on each other, and so do the classes of a row")
    }
}

#[cfg(test)]
mod tests {
    use super::super::resampler::{mean_and_deviation, quantile};
    use crate::Input;
    use crate::data::Distribution;
    use crate::inference::{FEW_ROWS, MeanLoss};

    #[test]
    fn many_rows_have_the_distribution_of_labels_drawn_row_by_row() {
        let (n, k) = (FEW_ROWS + 100, 5);
        let place = |index: usize| (index as f64 * 0.618_033_988_749_895).fract();
        let logits: Vec<f64> = (0..n * k).map(|index| 6.0 * place(index)).collect();
        let labels: Vec<i64> = (0..n).map(|row| (row % k) as i64).collect();
        let weights: Vec<f64> = (0..n).map(|row| 1.0 + 0.1 * place(row)).collect();
        let predictions = Input::logits(&logits, &labels).classes(k).weights(&weights[..]).check().unwrap();
        let brier = |row: Distribution<'_>, label: usize| row.complement(label).powi(2) + row.squares_of_others(label);
        let log = |row: Distribution<'_>, label: usize| row.surprisal(label);
        for loss in [&brier as &(dyn Fn(Distribution<'_>, usize) -> f64 + Sync), &log] {
            let rows = predictions.distributions().unwrap();
            let of_many = MeanLoss::new(rows, None, (0.0, 2.0), Box::new(loss)).unwrap();
            assert!(of_many.law().is_some());
            let sorted = |draw: &dyn Fn(u64) -> f64| {
                let mut draws: Vec<f64> = (0..1000).map(draw).collect();
                draws.sort_unstable_by(f64::total_cmp);
                draws
            };
            let by_law = sorted(&|draw| crate::inference::Resampler::calibrated_draw(&of_many, draw));
            let by_labels = sorted(&|draw| of_many.draw_of_labels(draw));
            let ((mean, deviation), (expected, spread)) = (mean_and_deviation(&by_law), mean_and_deviation(&by_labels));
            // Four standard errors of 1,000 draws.
            assert!((mean - expected).abs() < 4.0 * 1.5 * spread / 1000f64.sqrt(), "{mean} for {expected}");
            assert!((deviation / spread - 1.0).abs() < 0.13, "{deviation} for {spread}");
            for level in [0.05, 0.5, 0.95] {
                let apart = (quantile(&by_law, level) - quantile(&by_labels, level)).abs();
                assert!(apart < 0.36 * spread, "{level}: {apart} of {spread}");
            }
        }
    }
}
