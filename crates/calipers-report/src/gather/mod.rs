//! Predictions -> figures: every number of a report, asked of the core and kept as plain data.

mod measures;
mod options;
mod parts;
mod reliability;
mod spread;
mod subject;
mod sweep;

use calipers::{BinaryView, Compare, Comparison, Error, InputReport, Multiclass, Predictions, Sample, Sketch, Ties};

pub use measures::{Measured, Outcome};
pub use options::{Options, Origin};
pub use parts::{Groups, Part, Parts};
pub use reliability::{Bins, Corp, Moment, Reliability};
pub use spread::Spread;
pub use sweep::SweepFigures;

/// A report to be made: models, and how they are looked at.
///
/// # Example
/// ```
/// use calipers::{Input, Multiclass, Ties};
/// use calipers_report::{Model, Options, Report, Source};
///
/// let predictions = Input::probabilities(&[0.9, 0.6, 0.2, 0.4], &[1, 0, 0, 1]).check()?;
/// let source = Source::Rows { predictions: &predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None };
/// let figures = Report::new(Options::new().n_resamples(100)).model(Model::new("forest", source)).gather()?;
/// assert!(figures.to_html().contains("forest"));
/// # Ok::<(), calipers::Error>(())
/// ```
pub struct Report<'a> {
    options: Options,
    models: Vec<Model<'a>>,
    title: Option<String>,
    unpaired: Option<String>,
    command: Option<String>,
    notes: Vec<String>,
}

/// A model, and where its predictions came from.
pub struct Model<'a> {
    name: String,
    source: Source<'a>,
    groups: Option<Groups<'a>>,
    origin: Origin,
}

/// Predictions of a model.
pub enum Source<'a> {
    /// Rows that are in memory.
    Rows {
        /// The rows, checked.
        predictions: &'a Predictions<'a>,
        /// What is asked of rows of several classes. [`Multiclass::Classwise`] shows the top class
        /// first, too.
        multiclass: Multiclass,
        /// The top class, if several tie.
        ties: Ties,
        /// The number of each row's cluster, where rows depend on each other.
        clusters: Option<&'a [u32]>,
    },
    /// What stands for rows that are not.
    Sketch(&'a Sketch),
}

impl<'a> Model<'a> {
    /// A model without groups.
    pub fn new(name: impl Into<String>, source: Source<'a>) -> Self {
        Model { name: name.into(), source, groups: None, origin: Origin::default() }
    }

    /// Groups of its rows, each of which is looked at on its own.
    pub fn groups(mut self, groups: Groups<'a>) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Where the predictions came from, for those who make the report again.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

/// All that a report shows.
#[derive(Debug, Clone)]
pub struct Figures {
    /// What the page is called.
    pub title: String,
    /// One for each model, in the order in which they came.
    pub models: Vec<ModelFigures>,
    /// Every two models, where there are two: or why they are not compared.
    pub compared: Option<Compared>,
    /// How all of it was made.
    pub options: Options,
    /// The command that makes the page again, if there is one.
    pub command: Option<String>,
    /// What else should be known of how it was made.
    pub notes: Vec<String>,
}

/// Every two models on the same rows.
#[derive(Debug, Clone)]
pub enum Compared {
    /// With all differences.
    Done(Comparison),
    /// Why not.
    Not(String),
}

/// All that a report shows of one model.
#[derive(Debug, Clone)]
pub struct ModelFigures {
    /// Its name.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// Rows.
    pub n: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
    /// Probabilities that were moved off 0 or 1.
    pub n_clipped: u64,
    /// Whether rows depend on each other, by clusters: figures reckon with that, bands and the
    /// sweep do not.
    pub clustered: bool,
    /// Whether figures are those of a sketch.
    pub from_sketch: bool,
    /// Whether charts were drawn from a sketch of the rows.
    pub drawn_from_sketch: bool,
    /// What was asked of rows of several classes.
    pub question: Option<String>,
    /// LS-ECE first, and then its residual form, which decides.
    pub measures: Vec<Measured>,
    /// Mean probability and outcome rate.
    pub means: (f64, f64),
    /// The scale of the noise of LS-ECE.
    pub sigma: f64,
    /// The reliability diagrams.
    pub reliability: Reliability,
    /// ECE over bins beside LS-ECE over sigma.
    pub sweep: SweepFigures,
    /// Cumulative differences, and where the probabilities are.
    pub spread: Spread,
    /// Each class against the rest.
    pub classes: Option<Parts>,
    /// Groups of rows.
    pub groups: Option<Parts>,
}

impl<'a> Report<'a> {
    /// A report without models.
    pub fn new(options: Options) -> Self {
        Report { options, models: Vec::new(), title: None, unpaired: None, command: None, notes: Vec::new() }
    }

    /// Adds a model.
    pub fn model(mut self, model: Model<'a>) -> Self {
        self.models.push(model);
        self
    }

    /// What the page is called; the names of the models, unless set.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Models are not compared pair by pair, for this reason. Otherwise the caller vouches that
    /// their rows are the same, in the same order.
    pub fn unpaired(mut self, reason: impl Into<String>) -> Self {
        self.unpaired = Some(reason.into());
        self
    }

    /// The command that makes the page again.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Something that should be known of how it was made.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Asks the core for every figure.
    pub fn gather(self) -> Result<Figures, Error> {
        if self.models.is_empty() {
            return Err(Error::NoRows);
        }
        let views = self.models.iter().map(|model| model.source.view()).collect::<Result<Vec<_>, Error>>()?;
        let compared = self.compare(&views)?;
        let detail = reliability::Detail::new(self.models.len());
        let mut models = Vec::new();
        for (place, (model, view)) in self.models.iter().zip(&views).enumerate() {
            let of_comparison = match &compared {
                Some(Compared::Done(comparison)) => Some(comparison.models[place].1.clone()),
                _ => None,
            };
            models.push(model.figures(view.as_ref(), &self.options, of_comparison, &detail)?);
        }
        let names: Vec<&str> = self.models.iter().map(|model| model.name.as_str()).collect();
        let title = self.title.clone().unwrap_or_else(|| names.join(", "));
        Ok(Figures { title, models, compared, options: self.options, command: self.command, notes: self.notes })
    }

    fn compare(&self, views: &[Option<BinaryView<'_>>]) -> Result<Option<Compared>, Error> {
        if self.models.len() < 2 {
            return Ok(None);
        }
        if let Some(reason) = &self.unpaired {
            return Ok(Some(Compared::Not(reason.clone())));
        }
        let named: Option<Vec<(&str, &BinaryView<'_>)>> =
            self.models.iter().zip(views).map(|(model, view)| Some((model.name.as_str(), view.as_ref()?))).collect();
        let Some(named) = named else {
            return Ok(Some(Compared::Not("pairs need the rows, which a sketch has lost".to_owned())));
        };
        let clusters = self.models.first().and_then(|model| model.source.clusters());
        let compare =
            Compare::new(&self.options.ls_ece).level(self.options.level).random_state(self.options.random_state);
        let compare = compare.n_resamples(self.options.n_resamples);
        let compare = clusters.map_or(compare, |clusters| compare.clusters(clusters));
        // Whose rows cannot be paired are shown side by side all the same.
        Ok(Some(match compare.run(&named) {
            Ok(comparison) => Compared::Done(comparison),
            Err(refusal) => Compared::Not(refusal.to_string()),
        }))
    }
}

impl Source<'_> {
    /// The one view of the rows that figures are of: the top class first, where there are several.
    fn view(&self) -> Result<Option<BinaryView<'_>>, Error> {
        match self {
            Source::Sketch(_) => Ok(None),
            Source::Rows { predictions, multiclass: Multiclass::Classwise, ties, .. } => {
                predictions.view(Multiclass::TopClass, *ties).map(Some)
            }
            Source::Rows { predictions, multiclass, ties, .. } => predictions.view(*multiclass, *ties).map(Some),
        }
    }

    fn clusters(&self) -> Option<&[u32]> {
        match self {
            Source::Rows { clusters, .. } => *clusters,
            Source::Sketch(_) => None,
        }
    }

    /// What was asked of rows of several classes, in words.
    fn question(&self) -> Option<String> {
        let Source::Rows { predictions, multiclass, .. } = self else { return None };
        match multiclass.resolved(predictions.n_classes()) {
            Multiclass::TopClass | Multiclass::Classwise => {
                let n_classes = predictions.n_classes();
                Some(format!("the top of {n_classes} classes: its probability, and whether it was right"))
            }
            Multiclass::Class(class) => Some(format!("class {class} against the rest")),
            Multiclass::Auto => None,
        }
    }
}

/// Rows with their clusters.
fn sample_of<'a>(view: &'a BinaryView<'a>, clusters: Option<&'a [u32]>) -> Sample<'a> {
    clusters.map_or(Sample::from(view), |clusters| Sample::from(view).clusters(clusters))
}

impl Model<'_> {
    fn figures(
        &self,
        view: Option<&BinaryView<'_>>,
        options: &Options,
        assessment: Option<calipers::Assessment>,
        detail: &reliability::Detail,
    ) -> Result<ModelFigures, Error> {
        let sample = match (&self.source, view) {
            (Source::Sketch(sketch), _) => Sample::from(*sketch),
            (Source::Rows { clusters, .. }, Some(view)) => sample_of(view, *clusters),
            // proof: rows have a view
            (Source::Rows { .. }, None) => return Err(Error::NoRows),
        };
        let summed = subject::summed(sample, options);
        // Many rows look the same from afar, and cost more: charts are drawn from their cells.
        let drawn = summed.as_ref().map_or(sample, Sample::from);
        let measures = measures::gather(sample, drawn, options, assessment)?;
        let ls_ece = measures.first().and_then(Measured::estimate).ok_or(Error::NoRows)?;
        let sigma = ls_ece.settings.number("sigma").unwrap_or(1.0);
        let (n_clipped, input) = (ls_ece.n_clipped, ls_ece.input.clone());
        let whole = options.bins(1).bins(drawn)?;
        let classes = match &self.source {
            Source::Rows { predictions, .. } if predictions.n_classes() > 2 => {
                Some(parts::classes(predictions, self.source.clusters(), options)?)
            }
            _ => None,
        };
        let groups = self
            .groups
            .as_ref()
            .map(|groups| parts::groups(groups, view, self.source.clusters(), sigma, options))
            .transpose()?;
        Ok(ModelFigures {
            name: self.name.clone(),
            origin: self.origin.clone(),
            n: ls_ece.n,
            n_clipped,
            input,
            clustered: self.source.clusters().is_some(),
            from_sketch: matches!(self.source, Source::Sketch(_)),
            drawn_from_sketch: drawn.is_sketch(),
            question: self.source.question(),
            means: whole.first().map_or((f64::NAN, f64::NAN), |bin| (bin.mean_probability, bin.outcome_rate)),
            sigma,
            reliability: reliability::gather(drawn, sigma, options, detail)?,
            sweep: sweep::gather(sample, options),
            spread: spread::gather(drawn, options)?,
            measures,
            classes,
            groups,
        })
    }
}
