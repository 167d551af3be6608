//! What [`CrossFit`](super::CrossFit) returns.

use super::drawn::GainFloor;
use super::left::Left;
use crate::inference::{digits, p_value, percent, signed};
use crate::names::names;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::fit::Fit;
use crate::recalibrate::method::Method;

/// Whether recalibration is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The interval of the gain is above 0.
    Helps,
    /// The interval of the gain is below 0.
    Hurts,
    /// The predictions are miscalibrated, but whether this map gains on new rows is not certain.
    NoDifference,
    /// The rows are what calibrated predictions would give, too.
    NothingToFix,
}

names! { Verdict, "verdict";
    Helps = "helps",
    Hurts = "hurts",
    NoDifference = "no difference seen",
    NothingToFix = "nothing to fix",
}

/// An interval for the gain of the fitted map on new rows, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GainInterval {
    /// Its lower end.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
    /// The share of samples whose interval holds the gain.
    pub level: f64,
}

/// Whether recalibration helps, by how much, and what it changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Improvement<M = BinaryMap> {
    /// The map of all rows: the one to use, and the one that the interval is for.
    pub fit: Fit<M>,
    /// Mean log-loss of the predictions as they are.
    pub log_loss_before: f64,
    /// Mean log-loss out of fold: each row mapped by a fit to other rows.
    pub log_loss_after: f64,
    /// Before less after: positive where recalibration helps.
    pub gain: f64,
    /// For the gain of the map on new rows.
    pub interval: GainInterval,
    /// The test of whether there is anything to fix; `None` where it was left out.
    pub floor: Option<GainFloor>,
    /// In a word.
    pub verdict: Verdict,
    /// LS-ECE before and after, out of fold; `None` unless it was asked for
    /// ([`CrossFit::left`](super::CrossFit::left)).
    pub left: Option<Left>,
    /// The recalibrated probabilities, each row by a fit to other rows, in the order of the rows:
    /// of outcome 1; or of all classes, row after row, where they were asked for
    /// ([`CrossFit::out_of_fold`](super::CrossFit::out_of_fold)), and else none.
    pub out_of_fold: Vec<f64>,
    /// Different scores of a binary outcome, before and after: fewer where a map joins some. Only
    /// bins exchange two.
    pub n_scores: Option<[u64; 2]>,
    /// The share of the weight whose top class changes: for a binary outcome, whose probability
    /// crosses 1/2.
    pub top_class_changed: f64,
    /// Folds that were held out in turn.
    pub n_folds: usize,
    /// Clusters of rows, where they were given.
    pub n_clusters: Option<u64>,
}

impl<M> Improvement<M> {
    /// Sets the verdict by the interval and the floor.
    pub(crate) fn judge(&mut self, level: f64) {
        self.verdict = super::cross_fit::verdict(&self.interval, self.floor.as_ref(), 1.0 - level);
    }

    /// The verdict in plain sentences, with the numbers that it rests on.
    pub fn sentence(&self) -> String {
        let digits = digits(0.5 * (self.interval.upper - self.interval.lower));
        let show = |value: f64| signed(value, digits);
        let name = title(self.fit.method);
        let (gain, lower, upper) = (self.gain, self.interval.lower, self.interval.upper);
        let interval = format!("{} interval {} to {}", percent(self.interval.level), show(lower), show(upper));
        let change = format!(
            "log-loss is {} before and {} after, out of fold: a gain of {} ({interval})",
            show(self.log_loss_before),
            show(self.log_loss_after),
            show(gain),
        );
        let found = match self.verdict {
            Verdict::Helps => format!("{name} helps: {change}."),
            Verdict::Hurts => format!("{name} hurts: {change}."),
            Verdict::NoDifference => format!("There is no evidence that {} helps or hurts: {change}.", lowered(name)),
            Verdict::NothingToFix => {
                format!("There is no evidence of anything to fix. With {}, {change}.", lowered(name))
            }
        };
        format!("{found}{}", self.evidence(digits))
    }

    /// What is left, and the test of whether there is anything to fix, with a space before each.
    pub(crate) fn evidence(&self, digits: usize) -> String {
        let left = self.left.as_ref().map_or(String::new(), |left| format!(" {}", left.sentence()));
        let Some(floor) = &self.floor else { return left };
        let show = |value: f64| signed(value, digits);
        let p = p_value(floor.p_value);
        let calibrated = format!("a calibrated model would seem to gain {} on its own rows", show(floor.mean));
        let significant = floor.p_value <= 1.0 - self.interval.level + 1e-12;
        // The top class alone may be calibrated where the probabilities of all classes are not.
        let subject = if self.n_scores.is_some() { "The predictions" } else { "Over all classes, the probabilities" };
        // Temperatures of classes are tested without the equal probabilities that are mixed in.
        let is_of_temperature = matches!(self.fit.method, Method::Temperature | Method::EnsembleTemperature);
        let alone = if is_of_temperature && self.n_scores.is_none() { " by its temperature alone" } else { "" };
        let state = if significant { "are miscalibrated" } else { "may well be calibrated" };
        format!("{left} {subject} {state} ({p}; {calibrated}, this one {}{alone}).", show(floor.value))
    }
}

pub(crate) fn title(method: Method) -> &'static str {
    match method {
        Method::Identity => "No recalibration",
        Method::Shift => "A shift of the logits",
        Method::Temperature => "Temperature scaling",
        Method::Platt => "Platt scaling",
        Method::Beta => "Beta calibration",
        Method::Spline => "A spline",
        Method::Isotonic => "Isotonic regression",
        Method::CentredIsotonic => "Centred isotonic regression",
        Method::VennAbers => "Venn-Abers prediction",
        Method::Bins => "Binning",
        Method::BiasCorrectedTemperature => "Temperature scaling with a bias of each class",
        Method::Vector => "Vector scaling",
        Method::Matrix => "Matrix scaling",
        Method::EnsembleTemperature => "Ensemble temperature scaling",
    }
}

/// A title in the middle of a sentence; names of people keep their letter.
pub(crate) fn lowered(title: &str) -> String {
    if title.starts_with("Platt") || title.starts_with("Venn") {
        return title.to_owned();
    }
    let mut letters = title.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
