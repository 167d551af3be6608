//! What was known about a map when it was fitted.

use serde_json::Value;

use super::object::{Object, error, number_or_null};
use super::parts::named;
use super::text::{Json, Text};
use crate::Error;
use crate::recalibrate::fit::Fit;
use crate::recalibrate::fit::newton::FitBound;
use crate::recalibrate::groups::{GroupFit, GroupedFit};
use crate::recalibrate::verdict::improvement::{GainInterval, Improvement, Verdict};

/// The numbers of a [`Fit`] that a file keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FitRecord {
    /// Rows with weight.
    pub n: u64,
    /// (Σw)² / Σw², or Σw where weights count rows.
    pub effective_n: f64,
    /// The coefficient of the ridge.
    pub ridge: f64,
    /// Mean log-loss of the fitted rows before.
    pub log_loss_before: f64,
    /// Mean log-loss of the same rows after: in sample.
    pub log_loss_after: f64,
    /// Of each parameter, in order; `None` where a constraint holds it.
    pub standard_errors: Vec<Option<f64>>,
    /// Covariances of the parameters, row after row.
    pub covariance: Vec<f64>,
    /// How far the parameters are from the optimum at most.
    pub bound: FitBound,
    /// Of maps by group, each group in the order of the maps; else none.
    pub groups: Vec<GroupRecord>,
}

/// The numbers of a [`GroupFit`](crate::recalibrate::GroupFit) that a file keeps.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupRecord {
    /// Rows with weight.
    pub n: u64,
    /// The share of the map that the group's own rows decide.
    pub own_share: f64,
    /// Of each parameter, in order; `None` where a constraint holds it.
    pub standard_errors: Vec<Option<f64>>,
}

/// Equal where their files are: a number that is not finite is null there, and so equals itself.
impl PartialEq for FitRecord {
    fn eq(&self, other: &Self) -> bool {
        self.written().json() == other.written().json()
    }
}

impl From<&GroupFit> for GroupRecord {
    fn from(group: &GroupFit) -> Self {
        let standard_errors = group.parameters.iter().map(|parameter| parameter.standard_error).collect();
        GroupRecord { n: group.n, own_share: group.own_share, standard_errors }
    }
}

impl From<&GroupedFit> for FitRecord {
    fn from(found: &GroupedFit) -> Self {
        FitRecord::from(&found.fit).groups(&found.groups)
    }
}

impl<M> From<&Fit<M>> for FitRecord {
    fn from(fit: &Fit<M>) -> Self {
        FitRecord {
            n: fit.n,
            effective_n: fit.effective_n,
            ridge: fit.ridge,
            log_loss_before: fit.log_loss_before,
            log_loss_after: fit.log_loss_after,
            standard_errors: fit.parameters.iter().map(|parameter| parameter.standard_error).collect(),
            covariance: fit.covariance.clone(),
            bound: fit.bound,
            groups: Vec::new(),
        }
    }
}

impl FitRecord {
    /// With what is known of each group.
    pub fn groups(mut self, groups: &[GroupFit]) -> Self {
        self.groups = groups.iter().map(GroupRecord::from).collect();
        self
    }

    pub(super) fn written(&self) -> Text {
        let bound = Text::default().with("standard_errors", self.bound.standard_errors).with("nats", self.bound.nats);
        Text::default()
            .with("n", self.n)
            .with("effective_n", self.effective_n)
            .with("ridge", self.ridge)
            .with("log_loss_before", self.log_loss_before)
            .with("log_loss_after", self.log_loss_after)
            .with("standard_errors", &self.standard_errors)
            .with("covariance", &self.covariance)
            .with("bound", bound)
            .maybe(
                "groups",
                (!self.groups.is_empty()).then(|| self.groups.iter().map(GroupRecord::written).collect::<Vec<Text>>()),
            )
    }

    pub(super) fn read(object: &Object<'_>) -> Result<Self, Error> {
        let bound = object.object("bound")?;
        let number = |value: &Value| number_or_null(value).map(|number| number.unwrap_or(f64::NAN));
        let record = FitRecord {
            n: object.count("n")?,
            effective_n: object.measured("effective_n")?,
            ridge: object.number("ridge", "finite and not negative", |ridge| ridge >= 0.0)?,
            log_loss_before: object.measured("log_loss_before")?,
            log_loss_after: object.measured("log_loss_after")?,
            standard_errors: object.list("standard_errors", "a number or null", number_or_null)?,
            covariance: object.list("covariance", "a number or null", number)?,
            bound: FitBound { standard_errors: bound.measured("standard_errors")?, nats: bound.measured("nats")? },
            groups: match object.get("groups") {
                None => Vec::new(),
                Some(_) => object.objects("groups")?.iter().map(GroupRecord::read).collect::<Result<_, _>>()?,
            },
        };
        bound.finish()?;
        object.finish()?;
        Ok(record)
    }
}

impl GroupRecord {
    fn written(&self) -> Text {
        let text = Text::default().with("n", self.n).with("own_share", self.own_share);
        text.with("standard_errors", &self.standard_errors)
    }

    fn read(object: &Object<'_>) -> Result<Self, Error> {
        let record = GroupRecord {
            n: object.count("n")?,
            own_share: object.number("own_share", "in [0, 1]", |share| (0.0..=1.0).contains(&share))?,
            standard_errors: object.list("standard_errors", "a number or null", number_or_null)?,
        };
        object.finish()?;
        Ok(record)
    }
}

/// The numbers of an [`Improvement`] that a file keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GainRecord {
    /// Mean log-loss before less that after, out of fold.
    pub gain: f64,
    /// For the gain of the map on new rows.
    pub interval: GainInterval,
    /// Of the test whether there is anything to fix; `None` where it was left out.
    pub p_value: Option<f64>,
    /// Folds that were held out in turn.
    pub n_folds: usize,
    /// In a word.
    pub verdict: Verdict,
}

/// As [`FitRecord`].
impl PartialEq for GainRecord {
    fn eq(&self, other: &Self) -> bool {
        self.written().json() == other.written().json()
    }
}

impl<M> From<&Improvement<M>> for GainRecord {
    fn from(improvement: &Improvement<M>) -> Self {
        GainRecord {
            gain: improvement.gain,
            interval: improvement.interval,
            p_value: improvement.floor.map(|floor| floor.p_value),
            n_folds: improvement.n_folds,
            verdict: improvement.verdict,
        }
    }
}

impl GainRecord {
    pub(super) fn written(&self) -> Text {
        Text::default()
            .with("gain", self.gain)
            .with("interval", [self.interval.lower, self.interval.upper].as_slice())
            .with("level", self.interval.level)
            .with("p_value", self.p_value)
            .with("n_folds", self.n_folds)
            .with("verdict", self.verdict.name())
    }

    pub(super) fn read(object: &Object<'_>) -> Result<Self, Error> {
        let number = |value: &Value| number_or_null(value).map(|number| number.unwrap_or(f64::NAN));
        let interval = object.list("interval", "a number or null", number)?;
        let [lower, upper] = interval[..] else {
            let found = interval.len();
            return Err(error(format!("{} must have two ends, got {found}", object.name("interval"))));
        };
        let level = object.number("level", "above 0 and below 1", |level| level > 0.0 && level < 1.0)?;
        let record = GainRecord {
            gain: object.measured("gain")?,
            interval: GainInterval { lower, upper, level },
            p_value: Some(object.measured("p_value")?).filter(|p_value| !p_value.is_nan()),
            n_folds: object.count("n_folds")? as usize,
            verdict: named(object, "verdict", Verdict::NAMES)?,
        };
        object.finish()?;
        Ok(record)
    }
}
