//! Resamples of a score of all classes: the mean over rows of a loss that depends on the predicted
//! distribution and on the label.
//!
//! # Rows whose label is not their most probable one
//! Let H(r) be the sum of -ln p over the rows up to row r, with p the probability of the most
//! probable label of a row. Labels are independent: all rows from a + 1 to b have theirs with the
//! probability Π p = exp(H(a) - H(b)), which is that of H(a) + E >= H(b) for an exponential number
//! E of mean 1. So the first row r with H(r) > H(a) + E has the distribution of the next row after
//! a with another label. The rows after r do not depend on those before: a new E goes on from H(r).

use std::sync::OnceLock;

use super::resampler::{Resampler, drawn};
use super::rows::effective_rows;
use super::{Clusters, FEW_ROWS};
use crate::Error;
use crate::data::{Distribution, Distributions};
use crate::numerics::logarithm::ln;
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
/// 0.2, labels are drawn all the same: only those rows are visited whose label is not their most
/// probable one.
pub(crate) struct MeanLoss<'a> {
    rows: Distributions<'a>,
    loss: Loss<'a>,
    /// Of the labels that the rows have.
    losses: Vec<f64>,
    /// Divided by the largest.
    weights: Vec<f64>,
    clusters: Option<&'a Clusters>,
    range: (f64, f64),
    /// Made for the first calibrated draw.
    way: OnceLock<Way>,
}

/// How calibrated draws are made.
enum Way {
    /// By a label for each of few rows: the sums of the first probability of a row, of the first
    /// two, and so on, row after row. The fastest with many classes and errors.
    EachLabel(Vec<f64>),
    /// By a number for all of many rows.
    Normal(Law),
    /// By the rows whose label is not their most probable one.
    OtherLabels(TopLabels),
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

/// The rows, if each had its most probable label.
struct TopLabels {
    /// The weighted sum of their losses.
    loss: f64,
    weight: f64,
    /// Σ -ln p over the rows with weight up to each row: see the module.
    hazards: Vec<f64>,
}

impl TopLabels {
    /// The next row after this sum whose label is another one, with the sum up to that row.
    fn next_other(&self, hazard: f64, uniform: f64) -> Option<(usize, f64)> {
        let place = hazard - ln(uniform);
        let row = self.hazards.partition_point(|sum| *sum <= place);
        self.hazards.get(row).map(|sum| (row, *sum))
    }
}

/// The labels of a row but for the most probable one, with their probabilities.
fn others(row: &Distribution<'_>) -> impl Iterator<Item = (usize, f64)> {
    row.probabilities().enumerate().filter(|(label, p)| *label != row.top() && *p > 0.0)
}

/// -ln p of the most probable label, exact to the last digits where p is next to 1. Rows sum to 1
/// up to their tolerance.
fn hazard(row: &Distribution<'_>) -> f64 {
    (others(row).map(|(_, p)| p).sum::<f64>() / row.probability(row.top())).ln_1p()
}

/// A label but the most probable one, of a row that has one with a probability above 0.
fn other_label(row: &Distribution<'_>, uniform: f64) -> usize {
    let place = uniform * others(row).map(|(_, p)| p).sum::<f64>();
    let (mut sum, mut found) = (0.0, row.top());
    for (label, p) in others(row) {
        (sum, found) = (sum + p, label);
        if sum > place {
            break;
        }
    }
    found
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
        Ok(MeanLoss { rows, loss, losses: losses.concat(), weights, clusters, range, way: OnceLock::new() })
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

    fn way(&self) -> &Way {
        // On one thread: while it waits for others of its pool, a thread takes up another draw,
        // which would wait for this very call.
        self.way.get_or_init(|| parallel::on_this_thread(|| self.chosen_way()))
    }

    fn chosen_way(&self) -> Way {
        if !(self.effective_rows() > FEW_ROWS as f64) {
            return Way::EachLabel(self.cumulative());
        }
        let law = self.law();
        if law.skewness.abs() <= MOST_SKEWED { Way::Normal(law) } else { Way::OtherLabels(self.top_labels()) }
    }

    /// Rows of a chunk of which all classes are read.
    fn chunk(&self) -> usize {
        (parallel::CHUNK / self.rows.n_classes()).max(1)
    }

    fn law(&self) -> Law {
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
                let moment = |power| pairs.iter().map(|(p, loss)| p * (loss - mean).powi(power)).sum::<f64>() / total;
                let (variance, third) = (moment(2), moment(3));
                let parts = [weight, weight * mean, weight.powi(2) * variance, weight.powi(3) * third];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(part));
            }
            sums
        };
        let mut all = [Sum::default(); 4];
        for sums in parallel::map_chunks(self.rows.len(), self.chunk(), of_rows) {
            all.iter_mut().zip(sums).for_each(|(sum, part)| sum.merge(part));
        }
        let [total, mean, variance, third] = all.map(Sum::value);
        let skewness = if variance > 0.0 { third / variance.powf(1.5) } else { 0.0 };
        Law { mean: mean / total, deviation: variance.max(0.0).sqrt() / total, skewness }
    }

    fn top_labels(&self) -> TopLabels {
        let of_row = |row: usize| if self.weights[row] > 0.0 { hazard(&self.rows.row(row)) } else { 0.0 };
        let of_rows = |range: std::ops::Range<usize>| range.map(of_row).collect::<Vec<f64>>();
        let mut hazards = parallel::map_chunks(self.rows.len(), self.chunk(), of_rows).concat();
        // A plain sum never falls, and n additions move it by n 2^-53 of itself.
        let mut sum = 0.0;
        for hazard in &mut hazards {
            sum += *hazard;
            *hazard = sum;
        }
        let [loss, weight] = parallel::sums(self.rows.len(), |range, [loss, weight]| {
            for row in range.filter(|row| self.weights[*row] > 0.0) {
                loss.add(self.weights[row] * self.loss_of_top(row));
                weight.add(self.weights[row]);
            }
        });
        TopLabels { loss, weight, hazards }
    }

    fn loss_of_top(&self, row: usize) -> f64 {
        let row = self.rows.row(row);
        (self.loss)(row, row.top())
    }

    /// With a label for each row.
    fn draw_of_each_label(&self, cumulative: &[f64], draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let of_row = |(row, cumulative): (usize, &[f64])| {
            // Rows sum to 1 up to their tolerance.
            let place = uniforms.next() * cumulative[cumulative.len() - 1];
            let label = cumulative.partition_point(|sum| *sum <= place).min(cumulative.len() - 1);
            (row, (self.loss)(self.rows.row(row), label))
        };
        self.mean(cumulative.chunks_exact(self.rows.n_classes()).enumerate().map(of_row))
    }

    fn cumulative(&self) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.rows.len() * self.rows.n_classes());
        for row in 0..self.rows.len() {
            let mut sum = 0.0;
            sums.extend(self.rows.row(row).probabilities().map(|p| {
                sum += p;
                sum
            }));
        }
        sums
    }

    /// The same distribution, by the rows whose label is not the most probable one.
    fn draw_of_other_labels(&self, top: &TopLabels, draw: u64) -> f64 {
        let mut uniforms = Uniforms::new(draw);
        let (mut sum, mut reached) = (Sum::default(), 0.0);
        sum.add(top.loss);
        while let Some((row, hazard)) = top.next_other(reached, uniforms.next()) {
            let label = other_label(&self.rows.row(row), uniforms.next());
            sum.add(self.weights[row] * ((self.loss)(self.rows.row(row), label) - self.loss_of_top(row)));
            reached = hazard;
        }
        sum.value() / top.weight
    }
}

impl Resampler for MeanLoss<'_> {
    fn value(&self) -> f64 {
        self.mean(self.losses.iter().copied().enumerate())
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        match self.way() {
            Way::EachLabel(cumulative) => self.draw_of_each_label(cumulative, draw),
            Way::Normal(law) => law.draw(draw),
            Way::OtherLabels(top) => self.draw_of_other_labels(top, draw),
        }
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
    use super::super::resampler::{Resampler, mean_and_deviation, quantile};
    use super::Way;
    use crate::data::Distribution;
    use crate::inference::{FEW_ROWS, MeanLoss};
    use crate::numerics::parallel;
    use crate::{Input, Predictions};

    type LossOfRow<'a> = &'a (dyn Fn(Distribution<'_>, usize) -> f64 + Sync);

    fn brier(row: Distribution<'_>, label: usize) -> f64 {
        row.complement(label).powi(2) + row.squares_of_others(label)
    }

    fn log(row: Distribution<'_>, label: usize) -> f64 {
        row.surprisal(label)
    }

    fn of<'a>(predictions: &'a Predictions<'a>, loss: LossOfRow<'a>) -> MeanLoss<'a> {
        MeanLoss::new(predictions.distributions().unwrap(), None, (0.0, 2.0), Box::new(loss)).unwrap()
    }

    /// Numbers in [0, 1).
    fn place(index: usize) -> f64 {
        (index as f64 * 0.618_033_988_749_895).fract()
    }

    /// More than few rows of five classes, and their labels; one class of each row can have a score
    /// of its own.
    fn many_logits(largest: Option<f64>) -> (Vec<f64>, Vec<i64>) {
        let (n, k) = (FEW_ROWS + 1000, 5);
        let score = |index: usize| match largest {
            Some(largest) if index % k == index / k % k => largest,
            _ => 6.0 * place(index),
        };
        ((0..n * k).map(score).collect(), (0..n).map(|row| (row % k) as i64).collect())
    }

    fn assert_has_the_distribution_of_each_label(of_many: &MeanLoss<'_>) {
        let sorted = |draw: &dyn Fn(u64) -> f64| {
            let mut draws: Vec<f64> = (0..1000).map(draw).collect();
            draws.sort_unstable_by(f64::total_cmp);
            draws
        };
        let cumulative = of_many.cumulative();
        let fast = sorted(&|draw| of_many.calibrated_draw(draw));
        let slow = sorted(&|draw| of_many.draw_of_each_label(&cumulative, draw));
        let ((mean, deviation), (expected, spread)) = (mean_and_deviation(&fast), mean_and_deviation(&slow));
        // Four standard errors of 1,000 draws.
        assert!((mean - expected).abs() < 4.0 * 1.5 * spread / 1000f64.sqrt(), "{mean} for {expected}");
        assert!((deviation / spread - 1.0).abs() < 0.13, "{deviation} for {spread}");
        for level in [0.05, 0.5, 0.95] {
            let apart = (quantile(&fast, level) - quantile(&slow, level)).abs();
            assert!(apart < 0.36 * spread, "{level}: {apart} of {spread}");
        }
    }

    #[test]
    fn many_rows_have_the_distribution_of_labels_drawn_row_by_row() {
        let (logits, labels) = many_logits(None);
        let weights: Vec<f64> = (0..labels.len()).map(|row| 1.0 + 0.1 * place(row)).collect();
        let predictions = Input::logits(&logits, &labels).classes(5).weights(&weights[..]).check().unwrap();
        for loss in [&brier as LossOfRow<'_>, &log] {
            let of_many = of(&predictions, loss);
            assert!(matches!(of_many.way(), Way::Normal(_)));
            assert_has_the_distribution_of_each_label(&of_many);
        }
    }

    #[test]
    fn few_errors_of_many_rows_have_the_distribution_of_labels_drawn_row_by_row() {
        // Some ten errors.
        let (logits, labels) = many_logits(Some(11.6));
        let weight = |row: usize| if place(row) < 0.1 { 0.0 } else { 1.0 + place(row) };
        let weights: Vec<f64> = (0..labels.len()).map(weight).collect();
        let predictions = Input::logits(&logits, &labels).classes(5).weights(&weights[..]).check().unwrap();
        for loss in [&brier as LossOfRow<'_>, &log] {
            let of_many = of(&predictions, loss);
            assert!(matches!(of_many.way(), Way::OtherLabels(_)));
            assert_has_the_distribution_of_each_label(&of_many);
        }
    }
    /// A sure row, two most probable labels, and a row without weight; the loss is such that a draw
    /// has the labels of all other rows as its digits.
    #[test]
    fn labels_have_exactly_their_probabilities() {
        let rows = [[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.4, 0.4, 0.2], [0.3, 0.4, 0.3], [0.05, 0.05, 0.9]];
        let (probabilities, weights) = (rows.concat(), [1.0, 3.0, 9.0, 0.0, 27.0]);
        let input = Input::probabilities(&probabilities, &[0; 5]).classes(3).weights(&weights[..]);
        let predictions = input.check().unwrap();
        let digits = of(&predictions, &|_, label| label as f64);
        let top = digits.top_labels();
        let n_draws = 100_000u64;
        let mut counts = [0u32; 81];
        for draw in 0..n_draws {
            counts[(40.0 * digits.draw_of_other_labels(&top, draw)).round() as usize] += 1;
        }
        for (number, count) in counts.into_iter().enumerate() {
            let digit = |power: usize| number / power % 3;
            let p = rows[0][digit(1)] * rows[1][digit(3)] * rows[2][digit(9)] * rows[4][digit(27)];
            let error = (p * (1.0 - p) / n_draws as f64).sqrt();
            let share = f64::from(count) / n_draws as f64;
            assert!((share - p).abs() <= 4.5 * error, "{number}: {share} for {p}");
        }
    }

    /// Of 50,000 rows with 5 errors among them, e^-5 of the draws have none: then the mean is that
    /// of the most probable labels.
    #[test]
    fn draws_without_an_error_are_as_frequent_as_they_should_be() {
        let (n, rare) = (50_000usize, 1e-4f64);
        let probabilities = [1.0 - rare, rare].repeat(n);
        let labels = vec![0i64; n];
        let predictions = Input::probabilities(&probabilities, &labels).classes(2).check().unwrap();
        let of_many = of(&predictions, &|_, label| label as f64);
        assert!(matches!(of_many.way(), Way::OtherLabels(_)));
        let (n_draws, expected) = (20_000u64, (n as f64 * (-rare).ln_1p()).exp());
        let draws: Vec<f64> = (0..n_draws).map(|draw| of_many.calibrated_draw(draw)).collect();
        let share = draws.iter().filter(|draw| **draw == 0.0).count() as f64 / n_draws as f64;
        assert!((share - expected).abs() < 4.0 * (expected / n_draws as f64).sqrt(), "{share} for {expected}");
        let (mean, deviation) = mean_and_deviation(&draws);
        let spread = (rare * (1.0 - rare) / n as f64).sqrt();
        assert!((mean - rare).abs() < 4.0 * spread / (n_draws as f64).sqrt(), "{mean}");
        assert!((deviation / spread - 1.0).abs() < 0.025, "{deviation} for {spread}");
    }

    /// With so many threads some help the one that prepares the draws, if they can.
    #[test]
    fn no_draw_waits_for_itself() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
        let k = 50;
        let logits: Vec<f64> = (0..(FEW_ROWS + 100) * k).map(|index| 6.0 * place(index)).collect();
        let labels: Vec<i64> = (0..FEW_ROWS + 100).map(|row| (row % k) as i64).collect();
        let predictions = Input::logits(&logits, &labels).classes(k).check().unwrap();
        for _ in 0..20 {
            let of_many = of(&predictions, &brier);
            let draws = pool.install(|| parallel::map(500, |draw| of_many.calibrated_draw(draw as u64)));
            assert!(draws.into_iter().all(f64::is_finite));
        }
    }
}
