//! What a measure returns: the value, a bound on its numerical error, and the options.

use super::{Setting, Settings, Spec};
use crate::Error;
use crate::data::{BinaryView, Distributions, InputReport, Multiclass};
use crate::numerics::sum::Sum;
use crate::sketch::Sketch;

/// A value with what belongs to it.
///
/// `numerical_bound` is about arithmetic: how far `value` can be from the defined quantity of these
/// rows. Sampling uncertainty is not part of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Estimate {
    /// The measure.
    #[cfg_attr(feature = "serde", serde(rename = "measure", serialize_with = "super::serialized::name"))]
    pub spec: &'static Spec,
    /// The value.
    pub value: f64,
    /// Bound on |value - exact value|, proven where the measure is defined.
    pub numerical_bound: f64,
    /// Standard error of the measure's own sampling, for the one measure that samples.
    pub standard_error: Option<f64>,
    /// Rows measured.
    pub n: u64,
    /// Probabilities within `clip` of 0 or 1, which were moved to that distance so that their logit
    /// is finite.
    pub n_clipped: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
    /// Every option that the value depends on, in the order of the measure's signature.
    pub settings: Settings,
    /// The estimates of all classes, where this one is their mean; otherwise empty.
    pub per_class: Vec<Estimate>,
}

impl Estimate {
    /// A value with the bound on its numerical error. [`of`](Self::of) adds the rows that it
    /// was measured on, and [`with`](Self::with) its options.
    pub fn new(spec: &'static Spec, value: f64, numerical_bound: f64) -> Self {
        Estimate {
            spec,
            value,
            numerical_bound,
            standard_error: None,
            n: 0,
            n_clipped: 0,
            input: InputReport::default(),
            settings: Settings::default(),
            per_class: Vec::new(),
        }
    }

    /// Of the rows of this view.
    pub fn of(self, view: &BinaryView<'_>) -> Self {
        self.of_rows(view.len() as u64, view.report())
    }

    /// Of the rows of a sketch.
    pub(crate) fn of_sketch(self, sketch: &Sketch) -> Self {
        self.of_rows(sketch.n(), sketch.report())
    }

    /// Of rows of classes, all together.
    pub fn of_classes(self, rows: &Distributions<'_>) -> Self {
        let of_rows = self.of_rows(rows.len() as u64, rows.report());
        of_rows
            .with("multiclass", Multiclass::AllClasses.to_string().as_str())
            .with("n_classes", rows.n_classes() as u64)
    }

    /// Of `n` rows with this report on the input.
    pub(crate) fn of_rows(self, n: u64, report: &InputReport) -> Self {
        Estimate { n, input: report.clone(), ..self }
    }

    /// With the number of probabilities that were clipped.
    pub(crate) fn clipped(self, n_clipped: u64) -> Self {
        Estimate { n_clipped, ..self }
    }

    /// An option that made the value.
    pub fn with(mut self, name: &'static str, value: impl Into<Setting>) -> Self {
        self.settings = self.settings.with(name, value);
        self
    }

    /// The name of the measure.
    pub fn measure(&self) -> &'static str {
        self.spec.name
    }

    /// What people call the measure: `LS-ECE`, `ECE`, `ICI`.
    pub fn title(&self) -> &'static str {
        self.spec.title
    }

    /// The mean over classes, each counting alike.
    pub(crate) fn mean_over_classes(per_class: Vec<Estimate>) -> Result<Estimate, Error> {
        let first = per_class.first().ok_or(Error::NoRows)?;
        let n_classes = per_class.len() as f64;
        let mean_of = |field: fn(&Estimate) -> f64| per_class.iter().map(field).collect::<Sum>().value() / n_classes;
        Ok(Estimate {
            spec: first.spec,
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

/// The settings of the first class; where another differs, as an automatic sigma does, the text "by
/// class".
fn common_settings(first: &Estimate, estimates: &[Estimate]) -> Settings {
    first.settings.iter().fold(Settings::default(), |settings, (name, value)| {
        let same = estimates.iter().all(|estimate| estimate.settings.get(name) == Some(value));
        settings.with(name, if same { value.clone() } else { Setting::Text("by class".to_owned()) })
    })
}
