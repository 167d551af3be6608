//! The data that measures are applied to: rows, the classes of rows, or a sketch.

use crate::Error;
use crate::data::{BinaryView, Multiclass, Predictions, Ties};
#[cfg(doc)]
use crate::inference::Assessment;
use crate::inference::{ClasswiseResampler, Clusters, NoiseFloor, Resampler};
use crate::link::Link;
use crate::measure::{Estimate, Measure};
use crate::measures::{Group, Pooled};
use crate::sketch::Sketch;

/// Predictions with outcomes, in any of the three forms that calipers works on.
///
/// A view or a sketch is a sample by itself: `assess.run(&view)`, `assess.run(&sketch)`.
///
/// # Example
/// ```
/// use calipers::{BinnedEce, Input, Sample, Sketch, Ties};
///
/// let predictions = Input::probabilities(&[0.7, 0.2, 0.1, 0.3, 0.6, 0.1], &[0, 1]).classes(3).check()?;
/// let by_class = Sample::classes(&predictions, Ties::First).estimate(&BinnedEce::new())?;
/// assert_eq!(by_class.per_class.len(), 3);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) clusters: Option<&'a [u32]>,
    pub(crate) confidences: Option<bool>,
    /// What measures of all classes read, where nothing was requested of several classes.
    pub(crate) by_default: Option<&'a Predictions<'a>>,
}

/// The form of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data<'a> {
    /// One outcome a row.
    Rows(&'a BinaryView<'a>),
    /// Several classes a row, which are measured one by one and averaged.
    Classes(&'a Predictions<'a>, Ties),
    /// Several classes a row, which are measured together.
    AllClasses(&'a Predictions<'a>),
    /// Cells in which rows were counted.
    Sketch(&'a Sketch),
}

impl<'a> Sample<'a> {
    /// Each class against the others; values are means over classes.
    pub fn classes(predictions: &'a Predictions<'a>, ties: Ties) -> Self {
        Data::Classes(predictions, ties).into()
    }

    /// All classes together, for measures that take a distribution over classes.
    pub fn all_classes(predictions: &'a Predictions<'a>) -> Self {
        Data::AllClasses(predictions).into()
    }

    /// For measures that take several classes together by default, all classes of these predictions
    /// in place of the sample, which is of one outcome.
    pub fn with_classes(self, predictions: &'a Predictions<'a>) -> Self {
        Sample { by_default: Some(predictions), ..self }
    }

    /// The same sample as this measure takes it: all classes together, where nothing was requested
    /// and the measure takes several classes so.
    pub(crate) fn for_measure(self, measure: &dyn Measure) -> Self {
        match (self.by_default, measure.spec().several_classes) {
            (Some(predictions), Multiclass::AllClasses) => Sample { data: Data::AllClasses(predictions), ..self },
            _ => self,
        }
    }

    /// Rows that depend on each other, such as the answers of one person: one number for each row,
    /// the same for rows of one cluster. At least ten clusters. A sketch does not know its rows,
    /// and has none.
    ///
    /// Standard errors are those of sums by cluster, bootstrap draws are of whole clusters, and the
    /// noise floor draws outcomes that are correlated within clusters as much as those of the rows
    /// are ([`CorrelatedOutcomes`](crate::inference::CorrelatedOutcomes)).
    pub fn clusters(self, clusters: &'a [u32]) -> Self {
        Sample { clusters: Some(clusters), ..self }
    }

    /// Whether predictions are confidences in the class that a model predicts
    /// ([`Input::confidences`](crate::Input::confidences)). A view knows that. A sketch does not,
    /// and unless this is set its [`Parts`](crate::inference::Parts) do not tell over- from
    /// underconfidence.
    pub fn confidences(self, confidences: bool) -> Self {
        Sample { confidences: Some(confidences), ..self }
    }

    /// The value of a measure.
    pub fn estimate(&self, measure: &dyn Measure) -> Result<Estimate, Error> {
        match self.for_measure(measure).data {
            Data::Rows(view) => measure.estimate(view),
            Data::Classes(predictions, ties) => predictions.estimate(Multiclass::Classwise, ties, measure),
            Data::AllClasses(predictions) => measure.estimate_all_classes(&predictions.distributions()?),
            Data::Sketch(sketch) => sketch.estimate(measure),
        }
    }

    /// The noise floor of a measure, with the p-value of the measure that decides for it
    /// ([`Measure::decided_by`]): for LS-ECE its residual form.
    pub fn noise_floor(&self, measure: &dyn Measure, n_resamples: u64, random_state: u64) -> Result<NoiseFloor, Error> {
        self.resolving_noise_floor(measure, n_resamples, 1.0, random_state)
    }

    /// The same with a p-value that can be compared with a level as small as `resolution`
    /// ([`NoiseFloor::resolving`]).
    pub fn resolving_noise_floor(
        &self,
        measure: &dyn Measure,
        n_resamples: u64,
        resolution: f64,
        random_state: u64,
    ) -> Result<NoiseFloor, Error> {
        let clusters = self.resolved_clusters()?;
        let floor = |measure: &dyn Measure, resolution: f64| {
            let resampler = self.resampler(measure, clusters.as_ref(), None)?;
            NoiseFloor::resolving(&*resampler, n_resamples, resolution, random_state)
        };
        match measure.decided_by() {
            Some(deciding) => {
                let NoiseFloor { p_value, n_draws, .. } = floor(&*deciding, resolution)?;
                Ok(NoiseFloor { p_value, n_draws, ..floor(measure, 1.0)? })
            }
            None => floor(measure, resolution),
        }
    }

    /// How strong the evidence of miscalibration is, as [`Assessment::evidence`] has it: the
    /// p-value of the measure that decides, and by how many standard deviations the value is above
    /// its noise floor. For a first look at many parts of the data, since the measure itself is not
    /// computed.
    pub fn evidence(&self, measure: &dyn Measure, n_resamples: u64, random_state: u64) -> Result<(f64, f64), Error> {
        let clusters = self.resolved_clusters()?;
        let decided_by = measure.decided_by();
        let resampler = self.resampler(decided_by.as_deref().unwrap_or(measure), clusters.as_ref(), None)?;
        let floor = NoiseFloor::new(&*resampler, n_resamples, random_state)?;
        let above = resampler.calibrated_value() - floor.mean;
        Ok((floor.p_value, above / floor.deviation.max(f64::MIN_POSITIVE)))
    }

    /// The weights of the rows; none of a sketch, which has no single rows.
    pub(crate) fn row_weights(&self) -> Vec<f64> {
        match self.data {
            Data::Rows(view) => view.rows().weights,
            Data::Classes(predictions, _) | Data::AllClasses(predictions) => predictions.row_weights(),
            Data::Sketch(_) => Vec::new(),
        }
    }

    /// Outcomes or labels of the rows, where they are the same for all models of them: whether a
    /// predicted class was right is not.
    pub(crate) fn outcomes(&self) -> Option<Vec<usize>> {
        match self.data {
            Data::Rows(view) if view.has_confidences() => None,
            Data::Rows(view) => Some(view.rows().outcomes.into_iter().map(usize::from).collect()),
            Data::Classes(predictions, _) | Data::AllClasses(predictions) => {
                Some((0..predictions.len()).map(|row| predictions.label(row)).collect())
            }
            Data::Sketch(_) => None,
        }
    }

    /// The clusters of the rows, where they were given.
    pub(crate) fn resolved_clusters(&self) -> Result<Option<Clusters>, Error> {
        let Some(ids) = self.clusters else { return Ok(None) };
        Error::require(!self.is_sketch(), "clusters", "left out for a sketch, which has no single rows", "some")?;
        Clusters::of_weights(ids, &self.row_weights()).map(Some)
    }

    /// The resampler of a measure. Class by class it needs the `value`, which is computed if not
    /// given.
    pub(crate) fn resampler<'r>(
        &self,
        measure: &'r dyn Measure,
        clusters: Option<&'r Clusters>,
        value: Option<f64>,
    ) -> Result<Box<dyn Resampler + 'r>, Error>
    where
        'a: 'r,
    {
        match self.for_measure(measure).data {
            Data::Rows(view) => measure.resampler(view, clusters),
            Data::Classes(predictions, _) => {
                let value = value.map_or_else(|| self.estimate(measure).map(|estimate| estimate.value), Ok)?;
                Ok(Box::new(ClasswiseResampler::new(measure, predictions, clusters, value)?))
            }
            Data::AllClasses(predictions) => measure.all_classes_resampler(predictions.distributions()?, clusters),
            Data::Sketch(sketch) => measure.sketch_resampler(sketch),
        }
    }

    /// Rows.
    pub fn n(&self) -> u64 {
        match self.data {
            Data::Rows(view) => view.len() as u64,
            Data::Classes(predictions, _) | Data::AllClasses(predictions) => predictions.len() as u64,
            Data::Sketch(sketch) => sketch.n(),
        }
    }

    /// Whether clusters of dependent rows were given.
    pub fn has_clusters(&self) -> bool {
        self.clusters.is_some()
    }

    /// The sketch, where it is one.
    pub fn sketch(&self) -> Option<&'a Sketch> {
        match self.data {
            Data::Sketch(sketch) => Some(sketch),
            Data::Rows(_) | Data::Classes(..) | Data::AllClasses(_) => None,
        }
    }

    /// Whether it is a sketch.
    pub fn is_sketch(&self) -> bool {
        self.sketch().is_some()
    }

    /// Whether values are means over classes.
    pub fn is_classwise(&self) -> bool {
        matches!(self.data, Data::Classes(..))
    }

    /// The rows, where it has them as they are.
    pub fn view(&self) -> Option<&'a BinaryView<'a>> {
        match self.data {
            Data::Rows(view) => Some(view),
            Data::Classes(..) | Data::AllClasses(_) | Data::Sketch(_) => None,
        }
    }

    /// Rows or cells in the order of their probabilities, equal ones together, as shares of the
    /// weight.
    pub(crate) fn groups(&self, link: &dyn Link) -> Result<Vec<Group>, Error> {
        match self.binary("a curve")? {
            Binary::Rows(view) => Ok(Pooled::new(view, link)?.groups),
            Binary::Sketch(sketch) => sketch.groups(link),
        }
    }

    /// The rows or the sketch, for what is of one outcome.
    pub(crate) fn binary(&self, what: &'static str) -> Result<Binary<'a>, Error> {
        match self.data {
            Data::Rows(view) => Ok(Binary::Rows(view)),
            Data::Sketch(sketch) => Ok(Binary::Sketch(sketch)),
            Data::Classes(..) | Data::AllClasses(_) => Err(Error::setting(what, "of one outcome", "several classes")),
        }
    }
}

/// A sample of one outcome.
pub(crate) enum Binary<'a> {
    Rows(&'a BinaryView<'a>),
    Sketch(&'a Sketch),
}

impl<'a> From<Data<'a>> for Sample<'a> {
    fn from(data: Data<'a>) -> Self {
        Sample { data, clusters: None, confidences: None, by_default: None }
    }
}

impl<'a> From<&'a BinaryView<'a>> for Sample<'a> {
    fn from(view: &'a BinaryView<'a>) -> Self {
        Data::Rows(view).into()
    }
}

impl<'a> From<&'a Sketch> for Sample<'a> {
    fn from(sketch: &'a Sketch) -> Self {
        Data::Sketch(sketch).into()
    }
}

/// Predictions with what was requested of their classes: the owner of a [`Sample`] for any measure.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    predictions: &'a Predictions<'a>,
    multiclass: Multiclass,
    ties: Ties,
    view: Option<BinaryView<'a>>,
}

impl Predictions<'_> {
    /// What is measured where this was requested. With [`Multiclass::Auto`] and three classes or
    /// more, each measure takes what its [`Spec`](crate::Spec::several_classes) has.
    ///
    /// # Example
    /// ```
    /// use calipers::{Assess, Input, LogLoss, Multiclass, Ties};
    ///
    /// let scores = [0.7, 0.2, 0.1, 0.3, 0.6, 0.1];
    /// let predictions = Input::probabilities(&scores, &[0, 1]).classes(3).check()?;
    /// let asked = predictions.asked(Multiclass::Auto, Ties::First)?;
    /// let assessment = Assess::new(&LogLoss::new()).n_resamples(100).run(asked.sample())?;
    /// // The mean of -ln 0.7 and -ln 0.6.
    /// assert!((assessment.estimate.value + (0.7f64 * 0.6).ln() / 2.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn asked(&self, multiclass: Multiclass, ties: Ties) -> Result<Asked<'_>, Error> {
        let of_several = matches!(multiclass, Multiclass::Classwise | Multiclass::AllClasses);
        let view = if of_several { None } else { Some(self.view(multiclass, ties)?) };
        Ok(Asked { predictions: self, multiclass, ties, view })
    }
}

impl Asked<'_> {
    /// The sample.
    pub fn sample(&self) -> Sample<'_> {
        match (&self.view, self.multiclass) {
            (Some(view), Multiclass::Auto) if self.predictions.n_classes() > 2 => {
                Sample::from(view).with_classes(self.predictions)
            }
            (Some(view), _) => view.into(),
            (None, Multiclass::AllClasses) => Sample::all_classes(self.predictions),
            (None, _) => Sample::classes(self.predictions, self.ties),
        }
    }
}
