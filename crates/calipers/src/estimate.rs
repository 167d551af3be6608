//! What a measure returns: the value, how far it can be off numerically, and what made it.

use crate::Error;
use crate::link::{Link, Logistic};
use crate::numerics::sum::Sum;
use crate::predictions::{BinaryView, InputReport, PlainRows};
use crate::significance::{ClusterRowResampler, Clusters, Resampler, RowBracket, RowResampler};
use crate::sketch::Sketch;

/// Anything that turns predictions into one figure.
///
/// One method to write, because resampling, tables and reports take any measure.
pub trait Estimator: Send + Sync {
    /// Measures the rows of `view`.
    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error>;

    /// Measures the rows of a sketch, which has at least one with weight; [`Sketch::estimate`] has seen to that. Unless
    /// overridden, the measure needs the rows themselves and says so.
    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        let _ = sketch;
        Err(Error::setting("measure", "one that a sketch can answer", "one that needs the rows themselves"))
    }

    /// The link by which raw scores are probabilities: outcomes are drawn with it. The logistic one, unless the measure has its own.
    fn link(&self) -> &dyn Link {
        &Logistic
    }

    /// The measure of resampled rows, for noise floors and intervals. Unless overridden, rows are resampled one by one and measured
    /// like any others.
    fn resampler<'a>(&'a self, view: &'a BinaryView<'a>) -> Result<Box<dyn Resampler + 'a>, Error> {
        Ok(Box::new(RowResampler::new(self, view)?))
    }

    /// The measure of resampled clusters of rows. Unless overridden, outcomes are drawn with the correlation that clusters show, or clusters
    /// with replacement, and measured like any other rows.
    fn cluster_resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: &'a Clusters,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        Ok(Box::new(ClusterRowResampler::new(self, view, clusters)?))
    }

    /// The measure of resampled rows of a sketch. Unless overridden, the measure needs the rows themselves and says so.
    fn sketch_resampler<'a>(&'a self, sketch: &'a Sketch) -> Result<Box<dyn Resampler + 'a>, Error> {
        let _ = sketch;
        Err(Error::setting(
            "measure",
            "one that resamples from a sketch: ls_ece, residual_ls_ece or expected_calibration_error",
            "one that needs the rows themselves",
        ))
    }

    /// Where the population's value is, with the pull of each row on either end, for measures that know how their bias depends on the place
    /// ([`Bracket`](crate::significance::Bracket)). Sums of squares of the pulls, or of their sums by cluster, give standard errors, and differences between
    /// models on the same rows those of the difference.
    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        let _ = (view, clusters);
        Ok(None)
    }

    /// The measure that decides whether predictions are miscalibrated, where it is not this one: its p-value, debiased value and interval are what
    /// verdicts are made of. LS-ECE is decided by its residual form, since noise on the logits makes LS-ECE of a calibrated model larger than 0, and that
    /// of an underconfident one smaller.
    fn decided_by(&self) -> Option<Box<dyn Estimator>> {
        None
    }

    /// The measure by which these models are compared, where it is not this one. LS-ECE is compared in its residual form at the given sigma or that of the
    /// rule, whichever is smaller: a larger one takes more from a gap that changes its sign than from one that does not.
    fn compared_by(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Estimator>>, Error> {
        let _ = views;
        Ok(None)
    }

    /// The same measure with every setting that a rule takes from the rows settled once for all these views, so that what is compared was measured alike. `None`
    /// where there is no such setting.
    fn settled(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Estimator>>, Error> {
        let _ = views;
        Ok(None)
    }

    /// Measures rows that nobody has checked, looking at them in its own pass. `None` where a measure does not do that, where
    /// a row breaks a rule, and where the answer would be a refusal: then the rows are checked first and measured next,
    /// and what is wrong is said in that order.
    #[doc(hidden)]
    fn estimate_unchecked(&self, rows: PlainRows<'_>) -> Option<Estimate> {
        let _ = rows;
        None
    }
}

/// A figure with what belongs to it.
///
/// `numerical_bound` is about arithmetic: how far `value` can be from the defined quantity of these very
/// rows. It says nothing of how the rows were sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Name of the measure.
    pub measure: &'static str,
    /// The figure.
    pub value: f64,
    /// Bound on |value - exact value|, proven where the measure is defined.
    pub numerical_bound: f64,
    /// Standard error of the measure's own sampling, for the one measure that samples.
    pub standard_error: Option<f64>,
    /// Rows measured.
    pub n: u64,
    /// Probabilities within `clip` of 0 or 1, which were moved to that distance so that their logit is finite.
    pub n_clipped: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
    /// Every option that made the figure, in the order of the measure's signature.
    pub settings: Settings,
    /// The estimates of all classes, where this one is their mean; otherwise empty.
    pub per_class: Vec<Estimate>,
}

impl Estimate {
    /// Whether a larger value is worse: not so for a ratio and for coefficients, whose ideal is 1 or 0.
    pub fn larger_is_worse(&self) -> bool {
        !matches!(self.measure, "observed_expected" | "cox_calibration")
    }

    /// Whether it is a score of which miscalibration is a part only: a calibrated model's own is not noise.
    pub(crate) fn is_score(&self) -> bool {
        matches!(self.measure, "brier_score" | "log_loss")
    }

    /// Whether samples are right on average, so that there is no bias to take off. Resamples of rows are off there, too, since they have ties.
    pub(crate) fn is_unbiased(&self) -> bool {
        self.is_score() || matches!(self.measure, "debiased_ece" | "tcal_squared_error")
    }

    /// What values the measure can have.
    pub(crate) fn range(&self) -> (f64, f64) {
        match self.measure {
            "log_loss" => (0.0, f64::INFINITY),
            "tcal_squared_error" => (-1.0, 1.0),
            _ => (0.0, 1.0),
        }
    }

    /// The mean over classes, each counting alike.
    pub(crate) fn mean_over_classes(per_class: Vec<Estimate>) -> Result<Estimate, Error> {
        let first = per_class.first().ok_or(Error::NoRows)?;
        let n_classes = per_class.len() as f64;
        let mean_of = |field: fn(&Estimate) -> f64| per_class.iter().map(field).collect::<Sum>().value() / n_classes;
        Ok(Estimate {
            measure: first.measure,
            value: mean_of(|estimate| estimate.value),
            numerical_bound: mean_of(|estimate| estimate.numerical_bound) + 4.0 * f64::EPSILON,
            // No less than that of the mean, however the classes depend on each other (Minkowski).
            standard_error: first.standard_error.map(|_| mean_of(|estimate| estimate.standard_error.unwrap_or(0.0))),
            n: first.n,
            n_clipped: per_class.iter().map(|estimate| estimate.n_clipped).sum(),
            input: first.input.clone(),
            settings: common_settings(first, &per_class),
            per_class,
        })
    }
}

/// The settings of the first class; where another differs, as sigma by rule does, the text says so.
fn common_settings(first: &Estimate, estimates: &[Estimate]) -> Settings {
    first.settings.iter().fold(Settings::default(), |settings, (name, value)| {
        let same = estimates.iter().all(|estimate| estimate.settings.get(name) == Some(value));
        settings.with(name, if same { value.clone() } else { Setting::Text("by class".to_owned()) })
    })
}

/// Named options, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings(Vec<(&'static str, Setting)>);

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// A real number.
    Number(f64),
    /// A count.
    Count(u64),
    /// A name.
    Text(String),
}

impl Settings {
    /// Adds an option.
    pub fn with(mut self, name: &'static str, value: impl Into<Setting>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The option of that name.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The option of that name, if it is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Setting::Number(number) => Some(*number),
            Setting::Count(count) => Some(*count as f64),
            Setting::Text(_) => None,
        }
    }

    /// The option of that name, if it is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Setting::Text(text) => Some(text),
            Setting::Number(_) | Setting::Count(_) => None,
        }
    }

    /// All options in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Setting::Number(value)
    }
}

impl From<u64> for Setting {
    fn from(value: u64) -> Self {
        Setting::Count(value)
    }
}

impl From<&str> for Setting {
    fn from(value: &str) -> Self {
        Setting::Text(value.to_owned())
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Number(value) => value.fmt(f),
            Setting::Count(value) => value.fmt(f),
            Setting::Text(value) => value.fmt(f),
        }
    }
}
