//! The rows of one model with their outcomes, and what is asked of them.

use anyhow::{Context, Result, bail};
use calipers::recalibrate::{
    BinaryMap, Candidate, Choice, Choose, ClassSample, CrossFit, FitRecord, GainFloor, GainRecord, Improvement, Left,
    Map, MapFile, Method, Parameter, SketchImprovement, Verdict,
};
use calipers::{InputReport, Multiclass, Predictions, Sample};

use super::groups::OfGroups;
use super::method::{MapArgs, Requested};
use super::table::Ends;
use crate::args::InputArgs;
use crate::args::significance::ResampleArgs;
use crate::dataset::batch::Batch;
use crate::dataset::files::InputFile;
use crate::dataset::formats::Column;
use crate::dataset::groups::RowGroups;
use crate::dataset::whole_rows::row_of;
use crate::dataset::{Dataset, WholeFiles};

/// One model, with its rows in memory.
pub(super) struct Model {
    pub(super) file: InputFile,
    pub(super) dataset: Dataset<Batch>,
}

impl Model {
    /// With the groups of `--by`, where the verb has use for them.
    pub(super) fn open(args: &InputArgs, cluster: Option<&str>, verb: &'static str, by_group: bool) -> Result<Self> {
        let whole_files = WholeFiles { verb, needs: "folds", by_group };
        let reader = whole_files.reader(args, cluster)?;
        if args.prob.len() > 1 {
            bail!("a map is of one model, got --prob {}: fit one for each", args.prob.join(" and --prob "));
        }
        let mut files = args.open_files()?;
        let (Some(file), true) = (files.pop(), files.is_empty()) else {
            bail!("{verb} takes one file; put files of the same columns into one folder");
        };
        let dataset = reader.open_rows(&file, &whole_files).with_context(|| file.shown())?;
        Ok(Model { file, dataset })
    }

    pub(super) fn predictions(&self) -> Result<Predictions<'_>> {
        self.dataset.content.predictions(0).with_context(|| self.file.shown())
    }

    /// The names of the classes, where they have any: those of their columns, or of --classes.
    pub(super) fn class_names(&self) -> Vec<String> {
        self.dataset.models[0].columns.as_ref().map_or_else(Vec::new, |columns| columns.classes.clone())
    }

    pub(super) fn prob(&self) -> &str {
        self.dataset.models[0].prob().unwrap_or_default()
    }
}

/// What is known of one method.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) file: MapFile,
    pub(super) method: Method,
    pub(super) parameters: Vec<Parameter>,
    pub(super) log_loss_before: f64,
    pub(super) log_loss_after: f64,
    pub(super) gain: f64,
    pub(super) interval: Ends,
    pub(super) floor: Option<GainFloor>,
    pub(super) left: Option<Left>,
    /// What the method was chosen from; `None` if it was named.
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) verdict: Verdict,
    pub(super) sentence: String,
    pub(super) notes: Vec<String>,
    pub(super) n: u64,
    pub(super) n_folds: usize,
    pub(super) keeps_ranks: bool,
    /// Of maps by group.
    pub(super) of_groups: Option<OfGroups>,
    pub(super) input: InputReport,
}

impl Found {
    pub(super) fn new<M: Clone + Into<Map>>(improvement: &Improvement<M>) -> Self {
        let fit = &improvement.fit;
        let map: Map = fit.map.clone().into();
        let keeps_ranks = match &map {
            Map::Binary(map) => map.keeps_ranks(),
            Map::Groups(maps) => maps.maps.iter().all(BinaryMap::keeps_ranks),
            _ => improvement.top_class_changed == 0.0,
        };
        Found {
            file: MapFile::new(map).fit(FitRecord::from(fit)).improvement(GainRecord::from(improvement)),
            method: fit.method,
            parameters: fit.parameters.clone(),
            log_loss_before: improvement.log_loss_before,
            log_loss_after: improvement.log_loss_after,
            gain: improvement.gain,
            interval: improvement.interval.into(),
            floor: improvement.floor,
            left: improvement.left.clone(),
            candidates: None,
            verdict: improvement.verdict,
            sentence: improvement.sentence(),
            notes: fit.notes.iter().map(ToString::to_string).collect(),
            n: fit.n,
            n_folds: improvement.n_folds,
            keeps_ranks,
            of_groups: None,
            input: fit.input.clone(),
        }
    }

    /// By the cells of sketches, one for each fold.
    pub(super) fn from_sketches(found: &SketchImprovement) -> Self {
        Found { sentence: found.sentence(), ..Found::new(&found.improvement) }
    }

    fn chosen<M: Clone + Into<Map>>(choice: &Choice<M>) -> Self {
        Found { candidates: Some(choice.table.clone()), sentence: choice.sentence(), ..Found::new(&choice.improvement) }
    }
}

/// What is asked of some rows.
pub(super) enum Question {
    /// What does this method do?
    Named(CrossFit),
    /// Which method, and what does it do?
    Auto(Choose),
}

/// What one method does for some rows.
pub(super) fn answer(batch: &Batch, predictions: &Predictions<'_>, question: &Question) -> Result<Found> {
    if is_of_classes(batch, predictions)? {
        let clusters = batch.cluster_numbers(predictions)?;
        let rows = of_classes(predictions, clusters.as_deref());
        return Ok(match question {
            Question::Named(cross_fit) => Found::new(&cross_fit.run_classes(rows)?),
            Question::Auto(choose) => Found::chosen(&choose.run_classes(rows)?),
        });
    }
    let view = batch.view(predictions)?;
    let clusters = batch.cluster_numbers(predictions)?;
    let sample = Sample::from(&view);
    let sample = clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters));
    Ok(match question {
        Question::Named(cross_fit) => Found::new(&cross_fit.run(sample)?),
        Question::Auto(choose) => Found::chosen(&choose.run(sample)?),
    })
}

/// Rows of classes with their clusters, if there are any.
pub(super) fn of_classes<'a>(predictions: &'a Predictions<'a>, clusters: Option<&'a [u32]>) -> ClassSample<'a> {
    let rows = ClassSample::new(predictions);
    clusters.map_or(rows, |clusters| rows.clusters(clusters))
}

/// Whether the map is of all classes; two classes are one binary outcome.
pub(super) fn is_of_classes(batch: &Batch, predictions: &Predictions<'_>) -> Result<bool> {
    let is_so = predictions.n_classes() > 2;
    if is_so && !matches!(batch.multiclass(), Multiclass::Auto | Multiclass::AllClasses) {
        bail!("a map is of all classes together; leave --multiclass out");
    }
    Ok(is_so)
}

/// What the method that was requested does, or the one that is chosen for these rows; with LS-ECE
/// of what is left if that is asked for.
pub(super) fn requested(
    model: &Model,
    predictions: &Predictions<'_>,
    requested: Requested,
    (map, resample, left): (&MapArgs, &ResampleArgs, bool),
) -> Result<Found> {
    let question = match requested {
        Requested::Named(method) => Question::Named(map.cross_fit(method, resample).left(left)),
        Requested::Auto => Question::Auto(map.choose(resample).left(left)),
    };
    answer(&model.dataset.content, predictions, &question).with_context(|| model.file.shown())
}

/// The recalibrated probabilities of all rows, by the maps of their groups where there are some;
/// those that are not valid are NaN and missing.
pub(super) fn recalibrated(
    map: &Map,
    (scores, form): (&Column, calipers::Form),
    groups: Option<&RowGroups>,
    is_valid: &[bool],
) -> Result<Column> {
    let (mut row, mut all) = (Vec::new(), Vec::with_capacity(scores.values.len()));
    for (place, is_valid) in is_valid.iter().enumerate() {
        row_of(scores, place, &mut row);
        if !is_valid {
            all.extend(std::iter::repeat_n(f64::NAN, scores.n_classes));
            continue;
        }
        let group = groups.map_or("", |groups| groups.key(place));
        match map.apply_row_of(group, &row, form) {
            Some(values) => all.extend(values),
            None => return Err(unlike(map, scores.n_classes)),
        }
    }
    let missing: Vec<bool> = is_valid.iter().map(|is_valid| !is_valid).collect();
    let missing = missing.contains(&true).then_some(missing);
    Ok(Column { n_classes: scores.n_classes, missing, ..Column::plain(all.into()) })
}

/// A map of another number of classes than the rows have.
pub(super) fn unlike(map: &Map, n_scores: usize) -> anyhow::Error {
    let of_rows = match n_scores {
        1 => {
            "the rows have one probability: name the columns of all classes with --prob, or fit another map".to_owned()
        }
        n => format!("the rows have {n}: fit another map"),
    };
    anyhow::anyhow!("the map is of {} classes, and {of_rows}", map.n_classes())
}

/// Whether a map can be applied to rows of so many scores.
pub(super) fn check_fits(map: &Map, n_scores: usize) -> Result<()> {
    let fits = map.n_classes() == n_scores.max(2);
    if fits { Ok(()) } else { Err(unlike(map, n_scores)) }
}
