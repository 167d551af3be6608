//! What a measure is ([`Measure`], [`Spec`]), what it returns ([`Estimate`]), and the list of all
//! of them ([`registry`]).

mod declare;
mod estimate;
mod options;
pub mod registry;
#[cfg(feature = "serde")]
mod serialized;
mod settings;
mod spec;

pub(crate) use declare::{described, entry, measure, or_auto};
pub use estimate::Estimate;
pub use options::Options;
pub(crate) use options::{LINK, OptionValue, check_range, parsed_option};
pub use settings::{Setting, Settings};
pub use spec::{Cost, Family, FromSketch, OptionDefault, OptionKind, OptionSpec, Role, Spec};

use crate::Error;
use crate::data::{BinaryView, Distributions, Multiclass, PlainRows};
use crate::inference::{CellResampler, Cells, Clusters, FEW_ROWS, Resampler, RowBracket, RowResampler};
use crate::link::{Link, Logistic};
use crate::sketch::Sketch;

/// Anything that turns predictions into one value.
///
/// Two methods to write: noise floors, intervals, comparisons, tables and reports take any measure.
///
/// # Example
/// The largest absolute residual, as a measure of one's own:
/// ```
/// use calipers::{Assess, BinaryView, Error, Estimate, Input, Logistic, Measure, Rows, Spec};
///
/// struct LargestResidual;
///
/// const SPEC: Spec = Spec::error("largest_residual", "largest |y - p|").range(0.0, 1.0);
///
/// impl Measure for LargestResidual {
///     fn spec(&self) -> &'static Spec {
///         &SPEC
///     }
///
///     fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
///         let mut rows = Rows::default();
///         view.read_probabilities(0..view.len(), &Logistic, &mut rows);
///         let residuals = rows.scores.iter().zip(&rows.outcomes).map(|(p, y)| (f64::from(*y) - p).abs());
///         Ok(Estimate::new(&SPEC, residuals.fold(0.0, f64::max), f64::EPSILON).of(view))
///     }
/// }
///
/// let predictions = Input::probabilities(&[0.2, 0.7, 0.9, 0.4], &[0, 1, 1, 0]).check()?;
/// let found = Assess::new(&LargestResidual).n_resamples(200).run(&predictions.binary()?)?;
/// assert_eq!(found.estimate.value, 0.4);
/// # Ok::<(), Error>(())
/// ```
pub trait Measure: Send + Sync {
    /// What it is called, what its values mean, and what options it has.
    fn spec(&self) -> &'static Spec;

    /// Measures the rows of `view`.
    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error>;

    /// Measures the rows of a sketch, which has at least one with weight; [`Sketch::estimate`]
    /// checks that. Unless overridden, it returns an error, since the measure
    /// needs the rows. [`Spec::from_sketch`] tells beforehand.
    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        let _ = sketch;
        Err(Error::setting("measure", "one that a sketch can answer", "one that needs the rows"))
    }

    /// The link by which raw scores are probabilities: outcomes are drawn with it. The logistic
    /// one, unless the measure has its own.
    fn link(&self) -> &dyn Link {
        &Logistic
    }

    /// The measure of resampled rows, or of resampled clusters of rows. Unless overridden, outcomes
    /// are drawn anew (with the correlation that clusters show), or rows and clusters with
    /// replacement, and measured like any other rows. Many rows are counted in cells, where the
    /// measure has a rule for them ([`cells`](Self::cells)).
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        resampler_by_rows(self, view, clusters)
    }

    /// How rows of nearly the same probability are counted together in resamples of many rows
    /// (above 4096), for a measure that takes two weighted rows for many: `None`, unless
    /// overridden, so that every row is drawn.
    fn cells<'a>(&'a self, view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        let _ = view;
        Ok(None)
    }

    /// The measure of resampled rows of a sketch. Unless overridden, it returns an error, since
    /// the measure needs the rows.
    fn sketch_resampler<'a>(&'a self, sketch: &'a Sketch) -> Result<Box<dyn Resampler + 'a>, Error> {
        let _ = sketch;
        let of_sketches = registry::all().iter().filter(|entry| entry.spec.from_sketch == FromSketch::Assessment);
        let names: Vec<&str> = of_sketches.map(|entry| entry.spec.name).collect();
        let rule = format!("one that resamples from a sketch: {}", names.join(", "));
        Err(Error::setting("measure", rule, "one that needs the rows"))
    }

    /// Measures rows of classes, all classes together. Unless overridden, it returns an error,
    /// since the measure is of one outcome. A measure that overrides it can take classes so by
    /// default: [`Spec::several_classes`].
    fn estimate_all_classes(&self, rows: &Distributions<'_>) -> Result<Estimate, Error> {
        let _ = rows;
        Err(of_one_outcome(self.spec()))
    }

    /// The measure of resampled rows of classes, for a measure of all classes together.
    fn all_classes_resampler<'a>(
        &'a self,
        rows: Distributions<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let _ = (rows, clusters);
        Err(of_one_outcome(self.spec()))
    }

    /// Where the population's value is, with the influence of each row on either end, for measures
    /// that know how their bias depends on the place ([`Bracket`](crate::inference::Bracket)). Sums
    /// of squares of the influences, or of their sums by cluster, give standard errors, and
    /// differences between models on the same rows those of the difference.
    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        let _ = (view, clusters);
        Ok(None)
    }

    /// By how many times its share in the weight the outcome of a row can move the measure at most,
    /// for a norm of sums of residuals ([`Resampler::largest_difference`]). `None` for others,
    /// whose p-values are then never below one in the number of resamples.
    fn effect_of_outcomes(&self) -> Option<f64> {
        None
    }

    /// The measure that decides whether predictions are miscalibrated, where it is not this one:
    /// its p-value, debiased value and interval are what verdicts are made of. LS-ECE is decided by
    /// its residual form, since noise on the logits makes LS-ECE of a calibrated model larger than
    /// 0, and that of an underconfident one smaller.
    fn decided_by(&self) -> Option<Box<dyn Measure>> {
        None
    }

    /// The measure by which these models are compared, where it is not this one. LS-ECE is compared
    /// in its residual form at the given sigma or that of the rule, whichever is smaller: a larger
    /// one takes more from a gap that changes its sign than from one that does not.
    fn compared_by(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        let _ = views;
        Ok(None)
    }

    /// The same measure with every setting that is chosen from the data fixed once for all these
    /// views, so that what is compared was measured alike. `None` where there is no such setting.
    fn resolve(&self, views: &[&BinaryView<'_>]) -> Result<Option<Box<dyn Measure>>, Error> {
        let _ = views;
        Ok(None)
    }

    /// The same measure with every setting that is chosen from the data fixed at what this estimate
    /// had, so that groups of its rows are measured alike. `None` where there is no such setting.
    fn resolved_as(&self, estimate: &Estimate) -> Option<Box<dyn Measure>> {
        let _ = estimate;
        None
    }

    /// Measures rows that are not validated yet, and validates them in its own pass. `None` where a
    /// measure does not do that, where a row is invalid, and where the answer would be an error:
    /// then the rows are checked first and measured next, and errors come in that order.
    #[doc(hidden)]
    fn estimate_unchecked(&self, rows: PlainRows<'_>) -> Option<Estimate> {
        let _ = rows;
        None
    }
}

fn of_one_outcome(spec: &Spec) -> Error {
    let of_classes = registry::all().iter().filter(|entry| entry.spec.several_classes == Multiclass::AllClasses);
    let names: Vec<&str> = of_classes.map(|entry| entry.spec.name).collect();
    let rule =
        format!("\"top_class\", \"classwise\" or a class for {}, since only {} take", spec.name, names.join(" and "));
    Error::setting("multiclass", format!("{rule} all classes together"), "\"all_classes\"")
}

/// Resamples of the rows, or of their cells where there are many rows and the measure has a rule
/// for cells.
pub(crate) fn resampler_by_rows<'a, E: Measure + ?Sized>(
    measure: &'a E,
    view: &'a BinaryView<'a>,
    clusters: Option<&'a Clusters>,
) -> Result<Box<dyn Resampler + 'a>, Error> {
    match cells_of(measure, view, clusters)? {
        Some(cells) => Ok(Box::new(CellResampler::new(measure, view, cells)?)),
        None => Ok(Box::new(RowResampler::new(measure, view, clusters)?)),
    }
}

/// The same with each resample measured by `resolved`, such as with the settings of all rows, where
/// there is one.
pub(crate) fn resolved_resampler<'a, E: Measure, R: Measure + 'static>(
    measure: &'a E,
    resolved: Option<R>,
    view: &'a BinaryView<'a>,
    clusters: Option<&'a Clusters>,
) -> Result<Box<dyn Resampler + 'a>, Error> {
    match (cells_of(measure, view, clusters)?, resolved) {
        (Some(cells), Some(resolved)) => Ok(Box::new(CellResampler::new(measure, view, cells.measured_by(resolved))?)),
        (Some(cells), None) => Ok(Box::new(CellResampler::new(measure, view, cells)?)),
        (None, Some(resolved)) => Ok(Box::new(RowResampler::resolved(measure, resolved, view, clusters)?)),
        (None, None) => Ok(Box::new(RowResampler::new(measure, view, clusters)?)),
    }
}

/// The rule for cells where the rows are counted in them.
fn cells_of<'a, E: Measure + ?Sized>(
    measure: &'a E,
    view: &BinaryView<'_>,
    clusters: Option<&Clusters>,
) -> Result<Option<Cells<'a>>, Error> {
    if clusters.is_some() || view.len() <= FEW_ROWS {
        return Ok(None);
    }
    Ok(measure.cells(view)?.filter(|cells| cells.suit(view)))
}
