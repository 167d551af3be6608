//! Does a map that is already there help on rows that it was not fitted to?

use super::cross_fit::{CrossRows, Deviations, change_of, verdict};
use super::cross_fit_classes::{Applied, changes, sum_in_any_order};
use super::gain::normal_quantile;
use super::improvement::{GainInterval, Verdict};
use super::left::{Left, Remainder};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::inference::{digits, percent, signed};
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atoms, Ordered};
use crate::recalibrate::classes::fit::Classes;
use crate::recalibrate::classes::map::ClassMap;
use crate::recalibrate::classes::sample::{ClassSample, Units};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Recalibrate, mean_loss};
use crate::setters::setters;

/// What a fixed map gains on rows that it was not fitted to: those of a held-out file.
///
/// # Definition
/// The gain is the mean log-loss before less that after. The map is fixed, so rows are independent
/// given the map, and the interval is plain: the gain plus or minus z standard errors of the mean
/// of paired differences, by rows or by clusters. [`CrossFit`](super::CrossFit) is for the rows
/// that a map is fitted to, and needs more than that.
///
/// # Assumptions
/// Independent rows or clusters, none of which the map or the model was fitted to. With a few dozen
/// rows or events the interval is too narrow, since the mean is not normal then.
///
/// # Cost
/// One pass.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::recalibrate::{HeldOut, Method, Recalibrate, Verdict};
///
/// let family = Family::named("overconfident")?;
/// let (fitted, new) = (family.sample(1000, 1), family.sample(4000, 2));
/// let map = Recalibrate::new(Method::Platt).fit(&fitted.input().check()?.binary()?)?.map;
/// let found = HeldOut::new(&map).run(&new.input().check()?.binary()?)?;
/// assert_eq!(found.verdict, Verdict::Helps);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut<'a, M> {
    pub(crate) map: &'a M,
    level: f64,
    left: bool,
    n_resamples: u64,
    random_state: u64,
}

impl<'a, M> HeldOut<'a, M> {
    /// Level 0.95; without what is left.
    pub fn new(map: &'a M) -> Self {
        HeldOut { map, level: 0.95, left: false, n_resamples: 499, random_state: 0 }
    }

    setters! {
        /// The level of the interval.
        level: f64;

        /// Whether LS-ECE is measured before and after: [`HeldOutGain::left`].
        left: bool;

        /// Draws for the noise floors of LS-ECE.
        n_resamples: u64;

        /// What the random numbers of the draws are made from.
        random_state: u64;
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        Error::require(self.level > 0.0 && self.level < 1.0, "level", "above 0 and below 1", self.level)
    }

    fn remainder<'c>(&self, clusters: Option<&'c [u32]>) -> Remainder<'c> {
        Remainder { level: self.level, n_resamples: self.n_resamples, random_state: self.random_state, clusters }
    }

    /// The gain of a mean change of log-loss with its interval; of no rows so far.
    fn gain(&self, log_loss_before: f64, change: f64, standard_error: f64) -> HeldOutGain {
        let half = normal_quantile(0.5 * (1.0 - self.level)) * standard_error;
        let interval = GainInterval { lower: -change - half, upper: half - change, level: self.level };
        HeldOutGain {
            log_loss_before,
            log_loss_after: log_loss_before + change,
            gain: -change,
            standard_error,
            interval,
            verdict: verdict(&interval, None, 0.0),
            left: None,
            probabilities: Vec::new(),
            top_class_changed: 0.0,
            n: 0,
            effective_n: 0.0,
            n_clusters: None,
        }
    }
}

impl HeldOut<'_, BinaryMap> {
    /// The gain on rows of a binary outcome.
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<HeldOutGain, Error> {
        let sample = sample.into();
        self.check()?;
        let Binary::Rows(view) = sample.binary("recalibration")? else {
            return Err(Error::setting("recalibration", "of rows", "a sketch"));
        };
        let clusters = sample.resolved_clusters()?;
        let ordered = Ordered::new(view, self.map.clip, false)?;
        let atoms = ordered.pooled(|_| true);
        let own: Vec<f64> = ordered.rows.iter().map(|row| change_of(self.map, row.h(), row.outcome())).collect();
        let rows = CrossRows { view, ordered: &ordered, clusters: clusters.as_ref(), numbers: sample.clusters };
        let after = rows.out_of_fold(&vec![0; ordered.rows.len()], std::slice::from_ref(self.map), self.map);
        let top_class_changed = atoms.share(|h| (h > 0.0) != (self.map.apply(h) > 0.5));
        self.of_changes(&rows, &atoms, &own, after, top_class_changed)
    }
}

impl<M> HeldOut<'_, M> {
    /// The gain of maps that change the log-loss of each row by so much, in the order of
    /// [`Ordered::rows`], and make these probabilities of the rows of the view.
    pub(crate) fn of_changes(
        &self,
        rows: &CrossRows<'_>,
        atoms: &Atoms,
        changes: &[f64],
        after: Vec<(f64, f64)>,
        top_class_changed: f64,
    ) -> Result<HeldOutGain, Error> {
        let CrossRows { view, ordered, clusters, numbers } = *rows;
        let total = atoms.total();
        let parts = ordered.rows.iter().zip(changes).map(|(row, change)| row.weight() * change);
        let change = parts.collect::<Sum>().value() / total;
        let standard_error = Deviations { ordered, clusters, total, n_rows: view.len() }.of(changes, change);
        let log_loss_before = mean_loss(&BinaryMap::identity(), atoms);
        let left = match self.left {
            true => Some(rows.left(&self.remainder(numbers), &after)?),
            false => None,
        };
        Ok(HeldOutGain {
            left,
            probabilities: after.into_iter().map(|(p, _)| p).collect(),
            top_class_changed,
            n: atoms.n,
            effective_n: atoms.effective_n,
            n_clusters: clusters.map(|clusters| clusters.len() as u64),
            ..self.gain(log_loss_before, change, standard_error)
        })
    }
}

impl HeldOut<'_, ClassMap> {
    /// The gain on rows of classes.
    pub fn run_classes<'s>(&self, sample: impl Into<ClassSample<'s>>) -> Result<HeldOutGain, Error> {
        self.check()?;
        let sample = sample.into();
        let (predictions, clusters) = (sample.predictions, sample.resolved_clusters()?);
        let (k, own) = (self.map.n_classes, predictions.n_classes());
        Error::require(own == k, "rows", format!("of {k} classes, as those that the map was fitted to"), own)?;
        let options = Recalibrate { method: Method::Identity, clip: self.map.clip, ..Recalibrate::default() };
        let classes = Classes::new(&options, predictions)?;
        let scores = &classes.scores;
        let weights: Vec<f64> = (0..scores.len()).map(|index| scores.weight(index)).collect();
        let total = sum_in_any_order(weights.iter().copied());
        if !(total > 0.0) {
            return Err(if scores.len() == 0 {
                Error::NoRows
            } else {
                Error::ZeroWeights { n_rows: scores.len() as u64 }
            });
        }
        let own = changes(&classes, self.map);
        let mean = |values: &dyn Fn(usize) -> f64| sum_in_any_order((0..scores.len()).map(values)) / total;
        let change = mean(&|index| weights[index] * own[index]);
        let units = Units { clusters: clusters.as_ref() };
        let squares: Vec<f64> = weights.iter().map(|weight| weight * weight).collect();
        let standard_error = units.deviation(&own, &weights, change, &squares);
        let before =
            scores.at_slope(1.0 / scores.unit, |_, terms| terms.iter().map(|row| row.loss).collect::<Vec<f64>>());
        let before = before.concat();
        let log_loss_before = mean(&|index| weights[index] * before[index]);
        let folds = vec![0; scores.len()];
        let applied = Applied { predictions, folds: &folds, maps: std::slice::from_ref(self.map) };
        Ok(HeldOutGain {
            left: if self.left { Some(applied.left(&self.remainder(sample.numbers))?) } else { None },
            probabilities: applied.out_of_fold(),
            top_class_changed: applied.top_class_changed(&weights) / total,
            n: weights.iter().filter(|weight| **weight > 0.0).count() as u64,
            effective_n: total * total / sum_in_any_order(weights.iter().map(|weight| weight * weight)),
            n_clusters: clusters.map(|clusters| clusters.len() as u64),
            ..self.gain(log_loss_before, change, standard_error)
        })
    }
}

/// What a fixed map gains on new rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HeldOutGain {
    /// Mean log-loss of the predictions as they are.
    pub log_loss_before: f64,
    /// Mean log-loss of the recalibrated ones.
    pub log_loss_after: f64,
    /// Before less after: positive where the map helps.
    pub gain: f64,
    /// Of the gain.
    pub standard_error: f64,
    /// For the expected gain.
    pub interval: GainInterval,
    /// In a word; never "nothing to fix", which is not tested here.
    pub verdict: Verdict,
    /// LS-ECE before and after; `None` unless it was asked for ([`HeldOut::left`]).
    pub left: Option<Left>,
    /// The recalibrated probabilities in the order of the rows: of outcome 1, or of all classes,
    /// row after row.
    pub probabilities: Vec<f64>,
    /// The share of the weight whose top class changes: for a binary outcome, whose probability
    /// crosses 1/2.
    pub top_class_changed: f64,
    /// Rows with weight.
    pub n: u64,
    /// (Σw)² / Σw².
    pub effective_n: f64,
    /// Clusters of rows, where they were given.
    pub n_clusters: Option<u64>,
}

impl HeldOutGain {
    /// The verdict in plain sentences.
    pub fn sentence(&self) -> String {
        let digits = digits(0.5 * (self.interval.upper - self.interval.lower));
        let show = |value: f64| signed(value, digits);
        let found = match self.verdict {
            Verdict::Helps => "The map helps on these rows",
            Verdict::Hurts => "The map hurts on these rows",
            _ => "There is no evidence that the map helps or hurts on these rows",
        };
        let found = format!(
            "{found}: log-loss is {} before and {} after, a gain of {} ({} interval {} to {}).",
            show(self.log_loss_before),
            show(self.log_loss_after),
            show(self.gain),
            percent(self.interval.level),
            show(self.interval.lower),
            show(self.interval.upper)
        );
        match &self.left {
            Some(left) => format!("{found} {}", left.sentence().replace(", out of fold", "")),
            None => found,
        }
    }
}
