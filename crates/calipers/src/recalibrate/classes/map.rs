//! Maps of rows of classes as values.

use super::rows::{largest, log_softmax, softmax, softmax_loss};
use crate::data::{Form, Predictions, log_odds_of};
use crate::numerics::exp::exp_of_nonpositive;
use crate::numerics::parallel;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::method::Method;

/// A map from the scores of all classes of a row to recalibrated probabilities.
///
/// # Definition
/// With z the raw scores, or the logarithms of probabilities that are clipped to at least
/// [`clip`](Self::clip), and k classes:
/// ```text
/// p = what formula says                                see ClassFormula
/// p becomes (1 - mixture) p + mixture / k
/// ```
/// A map is immutable and comparable, and equal rows get equal probabilities, whatever stands
/// beside them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassMap {
    /// The family.
    pub method: Method,
    /// The number of classes.
    pub n_classes: usize,
    /// What raw scores, or logarithms of probabilities, are multiplied by first: 1 / temperature.
    pub slope: f64,
    /// What follows.
    pub formula: ClassFormula,
    /// The share of equal probabilities that is mixed in: p becomes (1 - mixture) p + mixture / k.
    pub mixture: f64,
    /// Probabilities are clipped to at least this first; raw scores are taken as they are.
    pub clip: f64,
}

/// What a [`ClassMap`] does after the slope.
///
/// With z the scores, p⁰ = softmax(slope z) and g = log((1 - mixture_before) p⁰ + mixture_before /
/// k), which is log softmax(slope z) for a mixture of 0.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ClassFormula {
    /// p⁰: the identity, whose slope is 1, and temperature scaling.
    Slope,
    /// softmax(scale_j g_j + bias_j): vector scaling, and with equal scales the bias-corrected
    /// temperature.
    Vector {
        /// The share of equal probabilities in g.
        mixture_before: f64,
        /// One for each class.
        scale: Vec<f64>,
        /// One for each class.
        bias: Vec<f64>,
    },
    /// softmax(Σ_i matrix_ji g_i + bias_j): matrix scaling.
    Matrix {
        /// The share of equal probabilities in g.
        mixture_before: f64,
        /// Row after row: entry j k + i is what score i counts for class j.
        matrix: Vec<f64>,
        /// One for each class.
        bias: Vec<f64>,
    },
    /// w_0 p⁰ + w_1 softmax(z) + w_2 / k: ensemble temperature scaling.
    Ensemble {
        /// Not negative, with a sum of 1.
        weights: [f64; 3],
    },
    /// Each class by a map of its own probability, or of its log-odds under softmax(z); the results
    /// are divided by their sum. If all are 0, the row stays as it is.
    OneVsRest {
        /// One for each class.
        maps: Vec<BinaryMap>,
    },
}

impl ClassMap {
    /// The map that changes nothing.
    pub fn identity(n_classes: usize) -> Self {
        ClassMap {
            method: Method::Identity,
            n_classes,
            slope: 1.0,
            formula: ClassFormula::Slope,
            mixture: 0.0,
            clip: 1e-12,
        }
    }

    /// 1 / slope.
    pub fn temperature(&self) -> f64 {
        1.0 / self.slope
    }

    /// The recalibrated probabilities of one row of raw scores or, by `form`, of probabilities.
    /// They sum to 1.
    pub fn apply(&self, scores: &[f64], form: Form) -> Vec<f64> {
        let mut row = scores.to_vec();
        self.apply_to(&mut row, form, &mut Vec::new());
        row
    }

    /// The recalibrated probabilities of all rows that are measured, row after row: what
    /// [`apply`](Self::apply) gives for each, on all cores. Rows of another number of classes than
    /// the map's give nothing.
    pub fn apply_all(&self, predictions: &Predictions<'_>) -> Vec<f64> {
        let (n, k) = (predictions.len(), self.n_classes);
        if predictions.n_classes() != k {
            return Vec::new();
        }
        let form = predictions.form();
        let chunks = parallel::map_chunks(n, (parallel::CHUNK / k).max(1), |range| {
            let mut rows = vec![0.0; range.len() * k];
            let mut room = Vec::new();
            for (index, row) in range.zip(rows.chunks_exact_mut(k)) {
                predictions.read_row(index, row);
                self.apply_to(row, form, &mut room);
            }
            rows
        });
        chunks.concat()
    }

    /// Probabilities in place of the scores of a row.
    fn apply_to(&self, row: &mut [f64], form: Form, room: &mut Vec<f64>) {
        if let ClassFormula::OneVsRest { maps } = &self.formula {
            one_vs_rest(maps, row, form, room);
        } else {
            if form == Form::Probabilities {
                row.iter_mut().for_each(|p| *p = p.max(self.clip).ln());
            }
            self.recalibrate(row, room);
        }
        if self.mixture > 0.0 {
            let equal = self.mixture / row.len() as f64;
            row.iter_mut().for_each(|p| *p = (1.0 - self.mixture) * *p + equal);
        }
    }

    /// Probabilities in place of raw scores or logarithms, before the mixture.
    fn recalibrate(&self, row: &mut [f64], room: &mut Vec<f64>) {
        if let ClassFormula::Ensemble { weights } = &self.formula {
            room.clear();
            room.extend_from_slice(row);
            softmax(row, self.slope);
            softmax(room, 1.0);
            let equal = weights[2] / row.len() as f64;
            row.iter_mut().zip(room).for_each(|(p, before)| *p = weights[0] * *p + weights[1] * *before + equal);
            return;
        }
        let slope = self.predictors(row, room);
        softmax(row, slope);
    }

    /// u in place of scores, and a factor s such that the probabilities are softmax(s u); nothing
    /// for formulas that are no softmax.
    fn predictors(&self, row: &mut [f64], room: &mut Vec<f64>) -> f64 {
        match &self.formula {
            ClassFormula::Vector { mixture_before, scale, bias } => {
                log_softmax(row, self.slope, *mixture_before);
                row.iter_mut().zip(scale.iter().zip(bias)).for_each(|(g, (scale, bias))| *g = scale * *g + bias);
                1.0
            }
            ClassFormula::Matrix { mixture_before, matrix, bias } => {
                log_softmax(row, self.slope, *mixture_before);
                room.clear();
                room.extend_from_slice(row);
                let line = |weights: &[f64]| weights.iter().zip(&*room).map(|(weight, g)| weight * g).sum::<f64>();
                let lines = matrix.chunks_exact(row.len()).zip(bias);
                row.iter_mut().zip(lines).for_each(|(u, (weights, bias))| *u = line(weights) + bias);
                1.0
            }
            ClassFormula::Slope | ClassFormula::Ensemble { .. } | ClassFormula::OneVsRest { .. } => self.slope,
        }
    }

    /// The log-loss of a label, for a row of raw scores or logarithms of probabilities, which are
    /// lost. Exact where a probability rounds to 0.
    pub(crate) fn loss(&self, row: &mut [f64], label: usize, room: &mut Vec<f64>) -> f64 {
        if matches!(self.formula, ClassFormula::Ensemble { .. } | ClassFormula::OneVsRest { .. }) {
            self.apply_to(row, Form::Logits, room);
            return -row[label].ln();
        }
        let slope = self.predictors(row, room);
        let loss = softmax_loss(row, slope, label);
        if self.mixture == 0.0 {
            return loss;
        }
        let equal = self.mixture / row.len() as f64;
        -((1.0 - self.mixture) * (-loss).exp() + equal).ln()
    }
}

/// Whether the top class of a row changes: none of the classes with the largest score has the
/// largest probability after.
pub(crate) fn top_changes(scores: &[f64], after: &[f64]) -> bool {
    let (top, most) = (largest(scores), largest(after));
    !scores.iter().zip(after).any(|(score, p)| *score == top && *p == most)
}

fn one_vs_rest(maps: &[BinaryMap], row: &mut [f64], form: Form, room: &mut Vec<f64>) {
    room.clear();
    match form {
        Form::Probabilities => room.extend(maps.iter().zip(&*row).map(|(map, p)| map.apply_probability(*p))),
        Form::Logits => {
            let top = largest(row);
            let total: f64 = row.iter().map(|score| exp_of_nonpositive(score - top)).sum();
            let log_odds = |class: usize| {
                // Others have the largest score among the rest, so that nothing cancels.
                let away = row[class] - top;
                if away < 0.0 { away - (total - exp_of_nonpositive(away)).ln() } else { log_odds_of(row, class) }
            };
            room.extend(maps.iter().enumerate().map(|(class, map)| map.apply(log_odds(class))));
        }
    }
    let total: f64 = room.iter().sum();
    if total > 0.0 {
        row.iter_mut().zip(&*room).for_each(|(p, own)| *p = own / total);
    } else if form == Form::Logits {
        softmax(row, 1.0);
    }
}
