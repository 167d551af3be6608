//! Temperature scaling of rows of classes.

use super::fit::{Fit, Note, Parameter};
use super::method::Method;
use super::newton::{FitBound, NotFound};
use super::options::Recalibrate;
use super::slope::{self, AtSlope};
use crate::Error;
use crate::data::{ClassScores, Form, Predictions};
use crate::error::number;
use crate::numerics::parallel;

/// A map from the scores of all classes of a row to recalibrated probabilities.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassMap {
    /// The family: the identity or temperature.
    pub method: Method,
    /// The number of classes.
    pub n_classes: usize,
    /// What raw scores, or logarithms of probabilities, are multiplied by: 1 / temperature.
    pub slope: f64,
    /// The share of equal probabilities that is mixed in: p becomes (1 - mixture) p + mixture / k.
    pub mixture: f64,
    /// Probabilities are clipped to at least this first; raw scores are taken as they are.
    pub clip: f64,
}

impl ClassMap {
    /// The map that changes nothing.
    pub fn identity(n_classes: usize) -> Self {
        ClassMap { method: Method::Identity, n_classes, slope: 1.0, mixture: 0.0, clip: 1e-12 }
    }

    /// 1 / slope.
    pub fn temperature(&self) -> f64 {
        1.0 / self.slope
    }

    /// The recalibrated probabilities of one row of raw scores or, by `form`, of probabilities.
    /// They sum to 1, and their order is that of the scores.
    pub fn apply(&self, scores: &[f64], form: Form) -> Vec<f64> {
        let raw = |score: &f64| match form {
            Form::Logits => *score,
            Form::Probabilities => score.max(self.clip).ln(),
        };
        let scores: Vec<f64> = scores.iter().map(raw).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exponentials: Vec<f64> = scores.iter().map(|score| (self.slope * (score - top)).exp()).collect();
        let total: f64 = exponentials.iter().sum();
        let equal = self.mixture / self.n_classes as f64;
        exponentials.iter().map(|exponential| (1.0 - self.mixture) * (exponential / total) + equal).collect()
    }
}

/// Sums over rows that do not depend on their order: integers, in units of 2^-92.
#[derive(Debug, Clone, Copy, Default)]
struct Fixed(i128);

impl Fixed {
    /// Terms are at most 2 in size, weights at most 1, and rows fewer than 2^32.
    const UNIT: f64 = (1u128 << 92) as f64;

    fn add(&mut self, term: f64) {
        self.0 += (term * Self::UNIT) as i128;
    }

    fn value(self) -> f64 {
        self.0 as f64 / Self::UNIT
    }
}

/// Sums of all rows at a slope: two derivatives of the log-loss, squares and sizes of the first,
/// and the log-loss in a unit of its own.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    first: Fixed,
    second: Fixed,
    squares: Fixed,
    sizes: Fixed,
    loss: Fixed,
}

/// Rows that are fitted: all, or those of some folds.
pub(crate) struct Chosen<'a> {
    pub(crate) scores: &'a ClassScores<'a>,
    pub(crate) is_chosen: &'a (dyn Fn(usize) -> bool + Sync),
    pub(crate) total: f64,
    pub(crate) effective_n: f64,
    /// Rows with weight.
    pub(crate) n: u64,
    counts: bool,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(
        scores: &'a ClassScores<'a>,
        is_chosen: &'a (dyn Fn(usize) -> bool + Sync),
        counts: bool,
    ) -> Self {
        let (mut total, mut squares, mut n) = (Fixed::default(), Fixed::default(), 0);
        for index in (0..scores.len()).filter(|index| is_chosen(*index)) {
            let weight = scores.weight(index);
            total.add(weight);
            squares.add(weight * weight);
            n += u64::from(weight > 0.0);
        }
        let effective =
            if counts { total.value() * scores.weight_unit } else { total.value().powi(2) / squares.value() };
        Chosen { scores, is_chosen, total: total.value(), effective_n: effective, n, counts }
    }

    /// Σ over the chosen rows at a slope in units of [`ClassScores::unit`].
    fn totals(&self, slope: f64) -> Totals {
        // Losses are at most log k + slope · 2.
        let loss_unit = 1.0 / ((self.scores.n_classes() as f64).ln() + 2.0 * slope);
        let chunks = self.scores.at_slope(slope, |range, terms| {
            let mut totals = Totals::default();
            for (index, terms) in range.zip(terms).filter(|(index, _)| (self.is_chosen)(*index)) {
                let weight = self.scores.weight(index);
                totals.first.add(weight * terms.first);
                totals.second.add(weight * terms.second);
                totals.squares.add(self.square(index) * terms.first * terms.first);
                totals.sizes.add(weight * terms.first.abs());
                totals.loss.add(weight * (terms.loss * loss_unit));
            }
            totals
        });
        let add = |sum: Fixed, part: Fixed| Fixed(sum.0 + part.0);
        chunks.into_iter().fold(Totals::default(), |all, part| Totals {
            first: add(all.first, part.first),
            second: add(all.second, part.second),
            squares: add(all.squares, part.squares),
            sizes: add(all.sizes, part.sizes),
            loss: add(all.loss, part.loss),
        })
    }

    /// Two derivatives of the mean log-loss, and the mean log-loss, at a slope in units of
    /// [`ClassScores::unit`].
    pub(crate) fn derivatives(&self, slope: f64) -> (f64, f64, f64) {
        let bound = (self.scores.n_classes() as f64).ln() + 2.0 * slope;
        let totals = self.totals(slope);
        let [first, second, loss] = [totals.first, totals.second, totals.loss].map(|sum| sum.value() / self.total);
        (first, second, bound * loss)
    }

    /// The standard deviation of the first derivative where labels are drawn by the softmax.
    pub(crate) fn spread(&self, slope: f64) -> f64 {
        let chunks = self.scores.at_slope(slope, |range, terms| {
            let mut sum = Fixed::default();
            for (index, terms) in range.zip(terms).filter(|(index, _)| (self.is_chosen)(*index)) {
                sum.add(self.square(index) * terms.second);
            }
            sum
        });
        chunks.iter().fold(Fixed::default(), |sum, part| Fixed(sum.0 + part.0)).value().sqrt() / self.total
    }

    /// The square of a weight; a weight that counts rows stands for so many squares.
    fn square(&self, index: usize) -> f64 {
        let weight = self.scores.weight(index);
        if self.counts { weight / self.scores.weight_unit } else { weight * weight }
    }

    /// Mean log-loss at a slope of the scores as they are.
    pub(crate) fn log_loss(&self, slope: f64) -> f64 {
        self.derivatives(slope / self.scores.unit).2
    }

    /// The best slope, with its standard error by the sandwich formula and the certificate.
    pub(crate) fn temperature(&self, ridge: f64) -> Result<Slope, Error> {
        let unit = self.scores.unit;
        // 2λ: not multiplied by the unit where it is 0, since the unit's square may overflow.
        let pull = if ridge > 0.0 { 2.0 * ridge / self.effective_n * unit } else { 0.0 };
        let stiffness = if ridge > 0.0 { pull * unit } else { 0.0 };
        // The slope of scores in units of `unit`: that of the scores themselves divided by it.
        let at = |slope: f64| {
            let totals = self.totals(slope);
            let [first, second, size] = [totals.first, totals.second, totals.sizes].map(|sum| sum.value() / self.total);
            AtSlope {
                first: first + pull * (slope * unit - 1.0),
                second: second + stiffness,
                // Terms are off by some 20 units of rounding, x = slope · distance by two more.
                error: 64.0 * f64::EPSILON * (size + second * slope + pull),
            }
        };
        self.check(ridge)?;
        // Where most probabilities are 0 and 1, the derivative is the same for all slopes: so the
        // search begins where scores have a range of about 4, and not where all are alike.
        let start = (1.0 / unit).clamp(0.01, 4.0);
        let (slope, found) = slope::minimise(&at, start).map_err(NotFound::error)?;
        let root_n = self.effective_n.sqrt();
        let reach = 2.0 / found.second.sqrt();
        let bound = FitBound::near(found.distance(), reach, root_n).ok_or_else(|| NotFound.error())?;
        let squares = self.totals(slope).squares.value() / (self.total * self.total);
        let standard_error = squares.sqrt() / found.second;
        let information = found.second - stiffness;
        Ok(Slope {
            value: slope * unit,
            standard_error: standard_error * unit,
            bound,
            share: information / found.second,
            unit: squares / information,
        })
    }

    /// What has no temperature is an error.
    fn check(&self, ridge: f64) -> Result<(), Error> {
        let scores = self.scores;
        let chunks = parallel::map_chunks(scores.len(), parallel::CHUNK, |range| {
            let (mut toward, mut is_wrong) = (Fixed::default(), false);
            for index in range.filter(|index| (self.is_chosen)(*index)) {
                // At slope 0 all classes are alike.
                let (weight, row) = (scores.weight(index), scores.row(index));
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mean = row.iter().map(|score| (top - score) * scores.unit).sum::<f64>() / row.len() as f64;
                let own = (top - row[scores.labels[index] as usize]) * scores.unit;
                toward.add(weight * (mean - own));
                is_wrong |= weight > 0.0 && own > 0.0;
            }
            (toward, is_wrong)
        });
        let toward = chunks.iter().fold(Fixed::default(), |sum, (part, _)| Fixed(sum.0 + part.0)).value();
        let toward = toward / self.total / scores.unit;
        if !(toward + 2.0 * ridge / self.effective_n > 0.0) {
            let rule = "of scores that rise with the outcome, since the best inverse temperature is 0 else";
            let got = format!("a mean score of {} toward the label", number(toward));
            return Err(Error::setting("rows", rule, got));
        }
        if ridge == 0.0 && !chunks.iter().any(|(_, is_wrong)| *is_wrong) {
            let rule =
                "with a label that has not the largest score where ridge is 0, since there is no finite slope else";
            return Err(Error::setting("rows", rule, format!("{} rows, and none is", self.n)));
        }
        Ok(())
    }
}

/// A fitted slope.
pub(crate) struct Slope {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    pub(crate) bound: FitBound,
    /// The share of the information that is not of the ridge.
    pub(crate) share: f64,
    /// κ of the rule in `gain.rs`: the variance of the derivative over the information.
    pub(crate) unit: f64,
}

impl Recalibrate {
    /// The map of rows of classes: the identity or temperature scaling, for any number of classes
    /// and scores of any size.
    ///
    /// # Definition
    /// ```text
    /// softmax(slope z)      slope minimises the mean log-loss of the labels
    /// ```
    /// with z raw scores or logarithms of probabilities, which give the same map; then a mixture
    /// with 1 / k ([`mixture`](Self::mixture)) for more than two classes.
    ///
    /// # Cost
    /// 8 to 12 passes over the scores, which are read in place in their own precision;
    /// probabilities are copied as logarithms once.
    ///
    /// # Accuracy
    /// As for [`fit`](Self::fit). The order of rows, the order of classes and the number of threads
    /// change no bit: sums over classes are exact, and sums over rows are of integers.
    ///
    /// # Reference
    /// Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    ///
    /// # Example
    /// Scores ln 8 ahead of two others say 0.8, and 2 of 3 labels are right: at a slope of 2/3 they
    /// are ln 4 ahead, which is 2/3.
    /// ```
    /// use calipers::Input;
    /// use calipers::recalibrate::{Method, Recalibrate};
    ///
    /// let z = [8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln(), 0.0, 0.0, 0.0, 8f64.ln()];
    /// let predictions = Input::logits(&z, &[0, 1, 0]).classes(3).check()?;
    /// let fit = Recalibrate::new(Method::Temperature).fit_classes(&predictions)?;
    /// assert!((fit.map.slope - 2.0 / 3.0).abs() < 1e-14);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn fit_classes(&self, predictions: &Predictions<'_>) -> Result<Fit<ClassMap>, Error> {
        self.check()?;
        self.check_classes(predictions)?;
        let scores = predictions.class_scores(self.clip);
        let rows = Chosen::new(&scores, &|_| true, self.counts);
        if !(rows.total > 0.0) {
            return Err(Error::ZeroWeights { n_rows: scores.len() as u64 });
        }
        let (map, found) = self.class_map(&rows)?;
        let n_classes = scores.n_classes();
        let parameter =
            |found: &Slope| Parameter { name: "slope", value: found.value, standard_error: Some(found.standard_error) };
        let mut occurs = vec![false; n_classes];
        scores.labels.iter().for_each(|label| occurs[*label as usize] = true);
        let absent = (0..n_classes).filter(|class| !occurs[*class]);
        Ok(Fit {
            method: self.method,
            parameters: found.iter().map(parameter).collect(),
            covariance: found.iter().map(|found| found.standard_error.powi(2)).collect(),
            log_loss_before: rows.log_loss(1.0),
            log_loss_after: mixed_loss(&rows, &map),
            bound: found.as_ref().map_or(FitBound::default(), |found| found.bound),
            ridge: if found.is_some() { self.ridge_in_use() } else { 0.0 },
            effective_parameters: found.as_ref().map_or(0.0, |found| found.share),
            notes: absent.map(|class| Note::AbsentClass { class }).collect(),
            n: rows.n,
            effective_n: rows.effective_n,
            n_clipped: scores.n_clipped,
            input: predictions.report().clone(),
            map,
        })
    }

    /// The map of some rows, with the fit of its slope.
    pub(crate) fn class_map(&self, rows: &Chosen<'_>) -> Result<(ClassMap, Option<Slope>), Error> {
        let found = match self.method {
            Method::Identity => None,
            _ => Some(rows.temperature(self.ridge_in_use())?),
        };
        let slope = found.as_ref().map_or(1.0, |found| found.value);
        let n_classes = rows.scores.n_classes();
        let mixture = match (self.method, self.mixture) {
            (Method::Identity, _) => 0.0,
            (_, Some(mixture)) => mixture,
            (_, None) => {
                if n_classes > 2 {
                    1.0 / (rows.effective_n + 1.0)
                } else {
                    0.0
                }
            }
        };
        let map = ClassMap { method: self.method, n_classes, slope, mixture, clip: self.clip };
        Ok((map, found))
    }

    fn check_classes(&self, predictions: &Predictions<'_>) -> Result<(), Error> {
        let k = predictions.n_classes();
        Error::require(k > 1, "recalibration", "of rows of classes", "a plain column of scores")?;
        let has_map = matches!(self.method, Method::Identity | Method::Temperature);
        let rule = "\"identity\" or \"temperature\" for rows of classes";
        Error::require(has_map, "method", rule, format!("{:?}", self.method.name()))?;
        if predictions.is_empty() { Err(Error::NoRows) } else { Ok(()) }
    }
}

/// Mean log-loss after the map, its mixture included.
fn mixed_loss(rows: &Chosen<'_>, map: &ClassMap) -> f64 {
    if map.mixture == 0.0 {
        return rows.log_loss(map.slope);
    }
    let slope = map.slope / rows.scores.unit;
    let equal = map.mixture / map.n_classes as f64;
    // At most -ln(equal), which is below 2^10 for any mixture that a double can have.
    let unit = 2f64.powi(-10);
    let chunks = rows.scores.at_slope(slope, |range, terms| {
        let mut sum = Fixed::default();
        for (index, terms) in range.zip(terms).filter(|(index, _)| (rows.is_chosen)(*index)) {
            let p = (1.0 - map.mixture) * (-terms.loss).exp() + equal;
            sum.add(rows.scores.weight(index) * (-p.ln() * unit));
        }
        sum
    });
    chunks.iter().fold(Fixed::default(), |sum, part| Fixed(sum.0 + part.0)).value() / unit / rows.total
}
