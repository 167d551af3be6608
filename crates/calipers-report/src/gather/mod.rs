//! Predictions -> values: the core computes every number of a report, and this module keeps them as
//! plain data.

mod drift;
mod finding;
mod measures;
mod options;
mod overlay;
mod parts;
mod recalibration;
mod reliability;
mod spread;
mod sweep;

use calipers::{
    BinaryView, Compare, Comparison, Error, InputReport, Link, Measure, Multiclass, Predictions, Sample, Sketch, Ties,
};

use crate::setters::setters;
pub use drift::{Changed, Drifted};
pub use finding::Finding;
pub use measures::{Measured, Outcome};
pub use options::{Options, Origin};
pub use overlay::Overlay;
pub use parts::{Groups, Part, Parts};
pub use recalibration::{Candidate, MapCurve, Recalibrated, Recalibration};
pub use reliability::{Corp, Reliability, Smoothed};
pub use spread::{Cumulative, Spread};
pub use sweep::SweepValues;

/// Above this number of rows, charts and the resamples of ECE use a sketch of the data, and there
/// is one candidate for recalibration.
const MANY: usize = 20_000;

/// A report to be made: the models and the options.
///
/// # Example
/// ```
/// use calipers::{Input, Multiclass, Ties};
/// use calipers_report::{Model, Options, Report, Source};
///
/// let predictions = Input::probabilities(&[0.9, 0.6, 0.2, 0.4], &[1, 0, 0, 1]).check()?;
/// let source = Source::Rows { predictions: &predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None };
/// let values = Report::new(Options::new().n_resamples(100)).model(Model::new("forest", source)).gather()?;
/// assert!(values.to_html().contains("forest"));
/// # Ok::<(), calipers::Error>(())
/// ```
pub struct Report<'a> {
    options: Options,
    models: Vec<Model<'a>>,
    against: Vec<Model<'a>>,
    title: Option<String>,
    unpaired: Option<String>,
    command: Option<String>,
    notes: Vec<String>,
}

/// A model and its predictions.
pub struct Model<'a> {
    name: String,
    source: Source<'a>,
    groups: Option<Groups<'a>>,
    class_names: Option<Vec<String>>,
    origin: Origin,
}

/// Predictions of a model.
pub enum Source<'a> {
    /// Rows in memory.
    Rows {
        /// The validated rows.
        predictions: &'a Predictions<'a>,
        /// How several classes become one probability and one outcome. With
        /// [`Multiclass::Classwise`] and [`Multiclass::AllClasses`] the report is still about the
        /// top class first.
        multiclass: Multiclass,
        /// Which class is the top class if several have the same probability.
        ties: Ties,
        /// The cluster number of each row, if rows depend on each other.
        clusters: Option<&'a [u32]>,
    },
    /// A sketch of rows that are not in memory.
    Sketch(&'a Sketch),
}

impl<'a> Model<'a> {
    /// A model without groups.
    pub fn new(name: impl Into<String>, source: Source<'a>) -> Self {
        Model { name: name.into(), source, groups: None, class_names: None, origin: Origin::default() }
    }

    setters! {
        /// Groups of the rows, each of which is measured on its own.
        groups(groups: Groups<'a>) |model| model.groups = Some(groups);

        /// The names of the classes, in the order of their probabilities; numbers unless set.
        class_names(names: Vec<String>) |model| model.class_names = Some(names);

        /// Where the predictions came from, so that a reader can make the report again.
        origin(origin: Origin) |model| model.origin = origin;
    }
}

/// All values of a report.
#[derive(Debug, Clone)]
pub struct Values {
    /// The title of the page.
    pub title: String,
    /// One entry for each model, in the given order.
    pub models: Vec<ModelValues>,
    /// The comparison of several models, or why there is none.
    pub compared: Option<Compared>,
    /// What has changed against an earlier sample of each model; empty if there are none.
    pub drifts: Vec<Drifted>,
    /// The curves of several models in one diagram.
    pub overlay: Option<Overlay>,
    /// The options of the report.
    pub options: Options,
    /// The command that makes the page again, if there is one.
    pub command: Option<String>,
    /// Further notes on how the page was made.
    pub notes: Vec<String>,
}

/// The comparison of every two models on the same rows.
#[derive(Debug, Clone)]
pub enum Compared {
    /// All differences.
    Done(Comparison),
    /// Why the models are not compared.
    Not(String),
}

/// All values of one model.
#[derive(Debug, Clone)]
pub struct ModelValues {
    /// The name of the model.
    pub name: String,
    /// Where the predictions came from.
    pub origin: Origin,
    /// The number of rows.
    pub n: u64,
    /// How many rows were read, rounded, tied and left out.
    pub input: InputReport,
    /// How several classes became one probability and one outcome.
    pub question: Option<String>,
    /// The number of probabilities that were clipped away from 0 or 1.
    pub n_clipped: u64,
    /// Whether rows have clusters. Values account for them; bands and the sweep do not.
    pub clustered: bool,
    /// Mean probability and outcome rate.
    pub means: (f64, f64),
    /// Whether values come from a sketch.
    pub from_sketch: bool,
    /// Whether charts were drawn from a sketch of the rows.
    pub drawn_from_sketch: bool,
    /// The verdict with its direction.
    pub finding: Finding,
    /// LS-ECE first, then its residual form, which decides the verdict.
    pub measures: Vec<Measured>,
    /// The scale of the noise of LS-ECE.
    pub sigma: f64,
    /// The reliability diagrams.
    pub reliability: Reliability,
    /// ECE by number of bins and LS-ECE by sigma.
    pub sweep: SweepValues,
    /// Cumulative differences and the distribution of probabilities.
    pub spread: Spread,
    /// Whether recalibration would help, and by which map.
    pub recalibration: Recalibration,
    /// Each class against the rest.
    pub classes: Option<Parts>,
    /// Groups of rows.
    pub groups: Option<Parts>,
}

impl<'a> Report<'a> {
    /// A report without models.
    pub fn new(options: Options) -> Self {
        Report {
            options,
            models: Vec::new(),
            against: Vec::new(),
            title: None,
            unpaired: None,
            command: None,
            notes: Vec::new(),
        }
    }

    setters! {
        /// Adds a model.
        model(model: Model<'a>) |report| report.models.push(model);

        /// Adds an earlier sample: the first is that of the first model, and so on. It shares no
        /// rows with its model.
        against(before: Model<'a>) |report| report.against.push(before);

        /// The title of the page. The default is the names of the models.
        title(title: impl Into<String>) |report| report.title = Some(title.into());

        /// Models are not compared, for this reason. Without a reason, the caller guarantees that
        /// all models have the same rows in the same order.
        unpaired(reason: impl Into<String>) |report| report.unpaired = Some(reason.into());

        /// The command that makes the page again.
        command(command: impl Into<String>) |report| report.command = Some(command.into());

        /// Adds a note on how the page was made.
        note(note: impl Into<String>) |report| report.notes.push(note.into());
    }

    /// Computes every value.
    pub fn gather(self) -> Result<Values, Error> {
        if self.models.is_empty() {
            return Err(Error::NoRows);
        }
        let views = self.models.iter().map(|model| model.source.view()).collect::<Result<Vec<_>, Error>>()?;
        let compared = self.compare(&views);
        let detail = reliability::Detail::new(self.models.len());
        let mut models = Vec::new();
        for (place, (model, view)) in self.models.iter().zip(&views).enumerate() {
            let of_comparison = match &compared {
                Some(Compared::Done(comparison)) => Some(comparison.models[place].1.clone()),
                _ => None,
            };
            models.push(model.values(view.as_ref(), &self.options, of_comparison, &detail)?);
        }
        finding::adjust(&mut models, self.options.level);
        let overlay = self.overlay(&views, &models)?;
        let drifts = self.drifts(&views)?;
        let names = || self.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ");
        let title = self.title.clone().unwrap_or_else(names);
        let Report { options, command, notes, .. } = self;
        Ok(Values { title, models, compared, drifts, overlay, options, command, notes })
    }

    /// Each model against the sample of earlier that it has.
    fn drifts(&self, views: &[Option<BinaryView<'_>>]) -> Result<Vec<Drifted>, Error> {
        let (n, n_models) = (self.against.len(), self.models.len());
        if n > 0 && n != n_models {
            let (rule, value) = ("one sample for each model".to_owned(), format!("{n} for {n_models} models"));
            return Err(Error::InvalidSetting { name: "against", rule, value });
        }
        let pairs = self.against.iter().zip(&self.models).zip(views);
        let drifted = |((before, after), view): ((&Model<'_>, &Model<'_>), &Option<BinaryView<'_>>)| {
            let earlier = before.source.view()?;
            Drifted::new([before, after], [earlier.as_ref(), view.as_ref()], &self.options)
        };
        pairs.map(drifted).collect()
    }

    /// The curves of several models in one diagram.
    fn overlay(&self, views: &[Option<BinaryView<'_>>], models: &[ModelValues]) -> Result<Option<Overlay>, Error> {
        if models.len() < 2 {
            return Ok(None);
        }
        let mut overlay = Overlay::new(models.iter().map(|model| model.sigma).fold(0.0, f64::max));
        for (model, view) in self.models.iter().zip(views) {
            let sample = model.source.sample(view.as_ref())?;
            let sketch = sketch_of(sample, &self.options);
            overlay.add(sketch.as_ref().map_or(sample, Sample::from), &self.options)?;
        }
        Ok(Some(overlay))
    }

    fn compare(&self, views: &[Option<BinaryView<'_>>]) -> Option<Compared> {
        let first = self.models.first().filter(|_| self.models.len() > 1)?;
        if let Some(reason) = &self.unpaired {
            return Some(Compared::Not(reason.clone()));
        }
        let named: Option<Vec<(&str, &BinaryView<'_>)>> =
            self.models.iter().zip(views).map(|(model, view)| Some((model.name.as_str(), view.as_ref()?))).collect();
        let Some(named) = named else {
            return Some(Compared::Not("a sketch does not have the rows that a comparison needs".to_owned()));
        };
        let Options { ls_ece, level, n_resamples, random_state, .. } = &self.options;
        let compare = Compare::new(ls_ece).level(*level).n_resamples(*n_resamples).random_state(*random_state);
        let compare = first.source.clusters().map_or(compare, |clusters| compare.clusters(clusters));
        // Models whose rows cannot be paired are still shown side by side.
        Some(compare.run(&named).map_or_else(|error| Compared::Not(error.to_string()), Compared::Done))
    }
}

impl Source<'_> {
    /// The view of the rows that is measured; that of the top class if classes are measured one by
    /// one.
    fn view(&self) -> Result<Option<BinaryView<'_>>, Error> {
        let Source::Rows { predictions, multiclass, ties, .. } = self else { return Ok(None) };
        let of_several = matches!(multiclass, Multiclass::Classwise | Multiclass::AllClasses);
        let multiclass = if of_several { Multiclass::TopClass } else { *multiclass };
        predictions.view(multiclass, *ties).map(Some)
    }

    /// The rows with their clusters, or the sketch; `view` is that of the rows.
    fn sample<'s>(&'s self, view: Option<&'s BinaryView<'s>>) -> Result<Sample<'s>, Error> {
        match (self, view) {
            (Source::Sketch(sketch), _) => Ok(Sample::from(*sketch)),
            // Scores are over all classes, unless something else was requested.
            (Source::Rows { predictions, multiclass: Multiclass::Auto, clusters, .. }, Some(view))
                if predictions.n_classes() > 2 =>
            {
                Ok(sample_of(view, *clusters).with_classes(predictions))
            }
            (Source::Rows { clusters, .. }, Some(view)) => Ok(sample_of(view, *clusters)),
            // proof: rows have a view
            (Source::Rows { .. }, None) => Err(Error::NoRows),
        }
    }

    fn clusters(&self) -> Option<&[u32]> {
        match self {
            Source::Rows { clusters, .. } => *clusters,
            Source::Sketch(_) => None,
        }
    }

    /// How several classes became one probability and one outcome, in words.
    fn question(&self, class_name: impl Fn(usize) -> String) -> Option<String> {
        let Source::Rows { predictions, multiclass, .. } = self else { return None };
        match multiclass.resolved(predictions.n_classes()) {
            Multiclass::TopClass | Multiclass::Classwise | Multiclass::AllClasses => {
                let n_classes = predictions.n_classes();
                Some(format!("the top of {n_classes} classes: its probability, and whether it was correct"))
            }
            Multiclass::Class(class) => Some(format!("class {} against the rest", class_name(class))),
            Multiclass::Auto => None,
        }
    }
}

/// Rows with their clusters.
fn sample_of<'a>(view: &'a BinaryView<'a>, clusters: Option<&'a [u32]>) -> Sample<'a> {
    clusters.map_or(Sample::from(view), |clusters| Sample::from(view).clusters(clusters))
}

/// A sketch of many rows; `None` if there are few rows, or if a sketch cannot have them.
fn sketch_of(sample: Sample<'_>, options: &Options) -> Option<Sketch> {
    let view = sample.view().filter(|view| view.len() > MANY)?;
    let n_bins = options.ece.estimate(view).ok()?.settings.number("n_bins")?;
    let mut sketch = Sketch::with(&options.sketch(n_bins as usize)).ok()?;
    sketch.update(view).ok()?;
    // Every chart would fail with a link that a sketch of raw scores does not support.
    if options.link.name() != calipers::Logistic.name() {
        calipers::Corp::new().link(options.link.clone()).curve(&sketch).ok()?;
    }
    Some(sketch)
}

/// Mean probability and outcome rate.
fn means(sample: Sample<'_>, options: &Options) -> Result<(f64, f64), Error> {
    let whole = options.bins(1).bins(sample)?;
    Ok(whole.first().map_or((f64::NAN, f64::NAN), |bin| (bin.mean_probability, bin.outcome_rate)))
}

impl Model<'_> {
    fn class_name(&self, class: usize) -> String {
        self.class_names.as_ref().and_then(|names| names.get(class).cloned()).unwrap_or_else(|| class.to_string())
    }

    fn values(
        &self,
        view: Option<&BinaryView<'_>>,
        options: &Options,
        assessment: Option<calipers::Assessment>,
        detail: &reliability::Detail,
    ) -> Result<ModelValues, Error> {
        let clusters = self.source.clusters();
        let sample = self.source.sample(view)?;
        // A chart cannot show the difference, and a sketch of many rows is faster to draw.
        let sketch = sketch_of(sample, options);
        let drawn = sketch.as_ref().map_or(sample, Sample::from);
        let measures = measures::gather(sample, drawn, options, assessment)?;
        let ls_ece = measures.first().and_then(Measured::estimate).ok_or(Error::NoRows)?;
        let sigma = ls_ece.settings.number("sigma").unwrap_or(1.0);
        let classes = match &self.source {
            Source::Rows { predictions, .. } if predictions.n_classes() > 2 => {
                Some(parts::classes(predictions, |class| self.class_name(class), clusters, options)?)
            }
            _ => None,
        };
        let groups = self.groups.as_ref().map(|groups| parts::groups(groups, view, clusters, options));
        Ok(ModelValues {
            name: self.name.clone(),
            origin: self.origin.clone(),
            n: ls_ece.n,
            n_clipped: ls_ece.n_clipped,
            input: ls_ece.input.clone(),
            clustered: clusters.is_some(),
            from_sketch: sample.is_sketch(),
            drawn_from_sketch: drawn.is_sketch(),
            question: self.source.question(|class| self.class_name(class)),
            means: means(drawn, options)?,
            sigma,
            reliability: reliability::gather(drawn, sigma, options, detail)?,
            sweep: sweep::gather(sample, options),
            spread: spread::gather(drawn, options)?,
            recalibration: recalibration::gather(
                &self.source,
                sample,
                &recalibration::Drawn { sigma, n_places: detail.n_places() },
                options,
            ),
            finding: Finding::new(measures.first().and_then(Measured::assessment), sample, options)?,
            measures,
            classes,
            groups: groups.transpose()?,
        })
    }
}
