//! How much of a proper score is miscalibration, and how much is left after the best recalibration.

use super::choose::Choose;
use super::cross_fit::CrossFit;
use super::cross_fit_classes::sum_in_any_order;
use super::gain::TableEvidence;
use super::improvement::{GainInterval, Improvement, lowered, title};
use crate::Error;
use crate::data::{Binary, Sample, Scale};
use crate::inference::{Clusters, digits, percent, signed};
use crate::link::{Link, Logistic};
use crate::measures::ProperScore;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::classes::map::ClassMap;
use crate::recalibrate::classes::sample::ClassSample;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Recalibrate;
use crate::setters::setters;

/// Takes a proper score apart: what recalibration would gain, and what it would not.
///
/// # Definition
/// ```text
/// risk(f) = [ risk(f) - min_g risk(g(f)) ] + min_g risk(g(f)) = calibration + refinement
/// ```
/// over the maps g of a method. Both parts are estimated by cross-fitting: refinement is the mean
/// loss of the recalibrated predictions out of fold, and calibration is the loss less that. It can
/// be negative where there is nothing to see. CORP ([`Corp`](crate::Corp)) takes the best rising
/// map of the same rows in place of cross-fitting, and is never negative, nor 0 for a calibrated
/// model.
///
/// Log-loss has the interval of [`CrossFit`]. The interval of the Brier score is by the rule for
/// tables of `gain.rs`: in its units a parameter costs 2 E p(1 - p) / n in place of 1 / n, and the
/// mean Brier score after estimates E p(1 - p).
///
/// # Assumptions
/// Those of [`CrossFit`]. A small family misses part of the miscalibration, and counts it as
/// refinement.
///
/// # Reference
/// Bröcker 2009; Berta, Holzmüller, Jordan, Bach, "Rethinking Early Stopping: Refine, Then
/// Calibrate", 2025.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::recalibrate::{Decompose, Method, Recalibrate};
///
/// let sample = Family::named("overconfident")?.sample(2000, 1);
/// let predictions = sample.input().check()?;
/// let parts = Decompose::new().method(Recalibrate::new(Method::Platt)).run(&predictions.binary()?)?;
/// assert!((parts.calibration + parts.refinement - parts.loss).abs() < 1e-15);
/// assert!(parts.interval.lower > 0.0);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decompose {
    method: Option<Recalibrate>,
    choose: Choose,
    score: Option<ProperScore>,
    level: Option<f64>,
}

impl Decompose {
    /// Log-loss by the method that [`Choose`] takes; level 0.95.
    pub fn new() -> Self {
        Decompose::default()
    }

    setters! {
        /// The method whose maps are the candidates for g. Unless set it is chosen, and beta
        /// calibration (temperature scaling of classes) stands in for the identity, whose
        /// calibration part is 0 whatever the rows say.
        method: some Recalibrate;

        /// How the method is chosen.
        choose: Choose;

        /// The score: log-loss unless set.
        score: some ProperScore;

        /// The level of the interval.
        level: some f64;
    }

    fn score_in_use(&self) -> ProperScore {
        self.score.unwrap_or(ProperScore::Log)
    }

    fn cross_fit(&self, options: Recalibrate) -> CrossFit {
        CrossFit::new(options).level(self.level.unwrap_or(0.95)).n_resamples(0).out_of_fold(true)
    }

    fn choice(&self) -> Choose {
        self.choose.clone().score(self.score_in_use()).level(self.level.unwrap_or(0.95)).n_resamples(0)
    }

    /// The parts for rows of a binary outcome.
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Decomposition, Error> {
        let sample = sample.into();
        let options = match &self.method {
            Some(options) => options.clone(),
            None => self.choice().chosen_options(sample)?.or_instead_of_identity(Method::Beta),
        };
        let improvement: Improvement = self.cross_fit(options).run(sample)?;
        if self.score_in_use() == ProperScore::Log {
            return Ok(Decomposition::of_gain(&improvement));
        }
        let Binary::Rows(view) = sample.binary("recalibration")? else {
            return Err(Error::setting("recalibration", "of rows", "a sketch"));
        };
        let rows = view.rows();
        let identity = BinaryMap { clip: improvement.fit.map.clip, ..BinaryMap::identity() };
        let before: Vec<f64> = match view.scale() {
            Scale::Probability => rows.scores.iter().map(|p| identity.apply_probability(*p)).collect(),
            Scale::LogOdds | Scale::Link => rows.scores.iter().map(|h| Logistic.response(*h)).collect(),
        };
        let own = improvement.fit.map.apply_view(view);
        let brier = |p: f64, outcome: bool| if outcome { (1.0 - p) * (1.0 - p) } else { p * p };
        let of = |p: &[f64]| p.iter().zip(&rows.outcomes).map(|(p, y)| brier(*p, *y)).collect::<Vec<f64>>();
        let losses = Losses { before: of(&before), after: of(&improvement.out_of_fold), own: of(&own) };
        let clusters = sample.resolved_clusters()?;
        Ok(losses.parts(&rows.weights, clusters.as_ref(), &improvement))
    }

    /// The parts for rows of classes, all classes together.
    pub fn run_classes<'s>(&self, sample: impl Into<ClassSample<'s>>) -> Result<Decomposition, Error> {
        let sample = sample.into();
        let predictions = sample.predictions;
        let options = match &self.method {
            Some(options) => options.clone(),
            None => {
                let method = self.choice().run_classes(sample)?.chosen;
                Recalibrate::new(method).or_instead_of_identity(Method::Temperature)
            }
        };
        let improvement: Improvement<ClassMap> = self.cross_fit(options).run_classes(sample)?;
        if self.score_in_use() == ProperScore::Log {
            return Ok(Decomposition::of_gain(&improvement));
        }
        let (n, k, form) = (predictions.len(), predictions.n_classes(), predictions.form());
        let brier = |row: &[f64], label: usize| {
            let part = |(class, p): (usize, &f64)| (p - f64::from(u8::from(class == label))).powi(2);
            row.iter().enumerate().map(part).sum::<f64>()
        };
        let of_map = |map: &ClassMap| {
            let row = |index: usize| brier(&map.apply(&predictions.scores_of(index), form), predictions.label(index));
            (0..n).map(row).collect::<Vec<f64>>()
        };
        let after = improvement.out_of_fold.chunks(k.max(1)).enumerate();
        let losses = Losses {
            before: of_map(&ClassMap::identity(k)),
            after: after.map(|(index, row)| brier(row, predictions.label(index))).collect(),
            own: of_map(&improvement.fit.map),
        };
        let clusters = sample.resolved_clusters()?;
        Ok(losses.parts(&predictions.row_weights(), clusters.as_ref(), &improvement))
    }
}

/// Losses of rows: as they are, out of fold, and by the map that is fitted to all.
struct Losses {
    before: Vec<f64>,
    after: Vec<f64>,
    own: Vec<f64>,
}

impl Losses {
    fn parts<M>(&self, weights: &[f64], clusters: Option<&Clusters>, improvement: &Improvement<M>) -> Decomposition {
        let total = sum_in_any_order(weights.iter().copied());
        let mean = |losses: &[f64]| sum_in_any_order(losses.iter().zip(weights).map(|(loss, w)| loss * w)) / total;
        let [before, after, own] = [&self.before, &self.after, &self.own].map(|losses| mean(losses));
        let change = after - before;
        let part = |index: usize| weights[index] / total * (self.after[index] - self.before[index] - change);
        let parts: Vec<f64> = (0..weights.len()).map(part).collect();
        let of_rows = sum_in_any_order(parts.iter().map(|part| part * part)).sqrt();
        let deviation = clusters.map_or(of_rows, |clusters| clusters.deviation(&parts));
        let effect = if of_rows > 0.0 { (deviation / of_rows).powi(2) } else { 1.0 };
        let unit = effect * 2.0 * after / improvement.fit.effective_n;
        let level = improvement.interval.level;
        let in_sample = own - before;
        // The maps of the folds are not known here, nor is a Brier score of rare outcomes far from
        // normal: so there is no correction for the size of folds, and no floor of the spread.
        let evidence =
            TableEvidence { cross_fitted: change, in_sample, of_folds: in_sample, deviation, drawn: 0.0, unit };
        let (lower, upper) = evidence.interval(level);
        Decomposition {
            score: ProperScore::Brier,
            method: improvement.fit.method,
            loss: before,
            calibration: -change,
            refinement: after,
            interval: GainInterval { lower: -upper, upper: -lower, level },
            n: improvement.fit.n,
            n_clusters: improvement.n_clusters,
        }
    }
}

/// The two parts of a proper score.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decomposition {
    /// The score.
    pub score: ProperScore,
    /// The method whose maps were fitted.
    pub method: Method,
    /// The mean loss of the predictions as they are.
    pub loss: f64,
    /// What recalibration would gain: loss less refinement. Not positive where none is seen.
    pub calibration: f64,
    /// The mean loss of the recalibrated predictions, out of fold.
    pub refinement: f64,
    /// For the calibration part.
    pub interval: GainInterval,
    /// Rows with weight.
    pub n: u64,
    /// Clusters of rows, where they were given.
    pub n_clusters: Option<u64>,
}

impl Decomposition {
    fn of_gain<M>(improvement: &Improvement<M>) -> Self {
        Decomposition {
            score: ProperScore::Log,
            method: improvement.fit.method,
            loss: improvement.log_loss_before,
            calibration: improvement.log_loss_before - improvement.log_loss_after,
            refinement: improvement.log_loss_after,
            interval: improvement.interval,
            n: improvement.fit.n,
            n_clusters: improvement.n_clusters,
        }
    }

    /// Both parts in a sentence.
    pub fn sentence(&self) -> String {
        let digits = digits(0.5 * (self.interval.upper - self.interval.lower));
        let show = |value: f64| signed(value, digits);
        let name = match self.score {
            ProperScore::Log => "Log-loss",
            ProperScore::Brier => "The Brier score",
        };
        let by = title(self.method);
        let level = percent(self.interval.level);
        let (loss, refinement) = (show(self.loss), show(self.refinement));
        match self.calibration > 0.0 {
            true => format!(
                "{name} is {loss}: {} of miscalibration ({level} interval {} to {}) and {refinement} that {} does not take away.",
                show(self.calibration),
                show(self.interval.lower),
                show(self.interval.upper),
                lowered(by),
            ),
            false => format!(
                "{name} is {loss}. No part of it is seen to be miscalibration that {} takes away; with {level} confidence it is at most {}.",
                lowered(by),
                show(self.interval.upper.max(0.0)),
            ),
        }
    }
}

impl Recalibrate {
    /// The same options with another method in the place of the identity.
    fn or_instead_of_identity(self, method: Method) -> Self {
        if self.method == Method::Identity { Recalibrate { method, ..self } } else { self }
    }
}
