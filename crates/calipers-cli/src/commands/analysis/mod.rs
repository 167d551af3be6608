//! Files -> results of an analysis, for each model and each group: what measure, assess and check
//! share.
//!
//! ```text
//! few rows  -> rows in memory -> analysis        and groups of them
//! many rows -> sketches       -> analysis        and so are files together, and files of sketches
//! ```

pub(crate) mod answers;
pub(crate) mod classes;
pub(crate) mod floor;
pub(crate) mod selected;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use calipers::{Multiclass, Predictions, Sample, Sketch};
use rayon::prelude::*;

use crate::args::{FilesArgs, OptionArgs};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::{self, InputFile};
use crate::dataset::groups::{By, in_order};
use crate::dataset::model::{Group, Measured};
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader};
use answers::{Analysis, Answers, WorstGroups};

/// The results of each model, and of each group after those of its model.
type Results = Vec<Measured<Answers>>;

/// What is read and how, as it was typed.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a FilesArgs,
    /// The column of clusters.
    pub(crate) cluster: Option<&'a str>,
    pub(crate) options: &'a OptionArgs,
}

impl Reading<'_> {
    pub(crate) fn run(self, analysis: &Analysis<'_>) -> Result<Results> {
        self.run_on(&self.files.input.open_files()?, analysis)
    }

    /// The results of these files.
    pub(crate) fn run_on(self, files: &[InputFile], analysis: &Analysis<'_>) -> Result<Results> {
        let FilesArgs { input, together } = self.files;
        let of_several = matches!(input.rules.multiclass.asked, Multiclass::Classwise | Multiclass::AllClasses);
        let sketch = self.options.sketch_options().filter(|_| !of_several);
        let instead_of_rows = sketch.clone().filter(|_| analysis.sketch_is_enough());
        let reader = Reader { args: input, cluster: self.cluster, sketch: instead_of_rows };
        if *together {
            if self.cluster.is_some() {
                bail!("--cluster needs the rows of one file, but --together makes a sketch of all files");
            }
            let Some(options) = &sketch else { bail!(NEEDS_ROWS) };
            let all = files::merged(files, |file| reader.open_sketches(file, options), merge)?;
            if analysis.needs_classes(&all.models) {
                bail!(NEEDS_CLASSES);
            }
            return all.each_model(|place, model| analyse_sketches(analysis, model, &all.content[place]));
        }
        let mut results = Vec::new();
        for file in files {
            let opened = reader.open(file).and_then(|opened| match opened.content {
                Content::Sketches(_) if analysis.needs_classes(&opened.models) => {
                    Reader { args: input, cluster: self.cluster, sketch: None }.open(file)
                }
                _ => Ok(opened),
            });
            results.extend(opened.and_then(|file| analyse(analysis, &file)).with_context(|| file.shown())?);
        }
        Ok(results)
    }
}

/// Adds the sketches of a file, model by model.
fn merge(all: &mut Dataset<Vec<Sketches>>, more: Dataset<Vec<Sketches>>) -> Result<()> {
    if more.models.len() != all.models.len() {
        bail!("must have the models of the files before it, got {} and {}", more.models.len(), all.models.len());
    }
    for (model, more) in all.models.iter_mut().zip(more.models) {
        model.files.extend(more.files);
    }
    all.content.iter_mut().zip(&more.content).try_for_each(|(sketches, more)| sketches.merge(more))
}

fn analyse(analysis: &Analysis<'_>, dataset: &Dataset) -> Result<Results> {
    dataset.each_model(|place, model| match &dataset.content {
        Content::Rows(batch) => analyse_rows(analysis, model, batch, place),
        Content::Sketches(sketches) => analyse_sketches(analysis, model, &sketches[place]),
    })
}

fn analyse_rows(analysis: &Analysis<'_>, model: &Measured<()>, batch: &Batch, place: usize) -> Result<Results> {
    let model = &model.measured_by(analysis.selected.iter().map(|selected| selected.measure.spec()));
    let predictions = batch.predictions(place)?;
    let mut all = analyse_batch(analysis, batch, &predictions, None)?;
    if batch.multiclass() == Multiclass::Classwise && analysis.each_class {
        all.classes = analysis.classes(&predictions)?;
    }
    let by = model.columns.as_ref().and_then(|columns| columns.by.as_ref());
    let groups = by.zip(batch.groups.as_ref()).map(|(by, rows)| {
        // With the rows that are left out, so that each group counts its own.
        let mut groups = rows.rows(0..rows.n_rows());
        let kept = rows.rows(batch::kept_rows(&predictions));
        all.empty_groups = groups.keys().filter(|key| !kept.contains_key(*key)).cloned().collect();
        groups.retain(|key, _| kept.contains_key(key));
        (by, groups)
    });
    with_groups(analysis, model, all, groups, |analysis, number, rows| {
        let group = batch.select(place, rows);
        analyse_batch(analysis, &group, &group.group_predictions()?, Some(number))
    })
}

/// The answers for a batch; `group` is its place, if it is one of several groups.
fn analyse_batch(
    analysis: &Analysis<'_>,
    batch: &Batch,
    predictions: &Predictions<'_>,
    group: Option<usize>,
) -> Result<Answers> {
    let clusters = batch.cluster_numbers(predictions)?;
    let asked = predictions.asked(batch.multiclass(), batch.ties())?;
    let sample = asked.sample();
    Ok(analysis.run(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)), group)?)
}

fn analyse_sketches(analysis: &Analysis<'_>, model: &Measured<()>, sketches: &Sketches) -> Result<Results> {
    // A file of sketches does not tell.
    let confidences = model.columns.as_ref().map(|columns| columns.multiclass == Multiclass::TopClass);
    let mut all = analysis.run(sample_of(sketches.all()?, confidences), None)?;
    let groups = sketches.groups.as_ref().map(|groups| {
        all.empty_groups = groups.without_rows();
        (&groups.by, groups.with_rows())
    });
    with_groups(analysis, model, all, groups, |analysis, number, sketch| {
        Ok(analysis.run(sample_of(sketch, confidences), Some(number))?)
    })
}

/// A sketch, and whether its predictions are confidences in a predicted class, where that is known.
fn sample_of(sketch: &Sketch, confidences: Option<bool>) -> Sample<'_> {
    confidences.map_or(Sample::from(sketch), |confidences| Sample::from(sketch).confidences(confidences))
}

/// The result of all rows, then that of each group.
fn with_groups<G: Sync>(
    analysis: &Analysis<'_>,
    model: &Measured<()>,
    mut all: Answers,
    groups: Option<(&By, BTreeMap<String, G>)>,
    analyse: impl Fn(&Analysis<'_>, usize, &G) -> Result<Answers> + Sync,
) -> Result<Results> {
    let Some((by, groups)) = groups else { return Ok(vec![model.with(None, all)]) };
    let analysis = analysis.for_groups(groups.len());
    let worst = Mutex::new(WorstGroups::new(analysis.selected.len()));
    let of_group = |key: Option<String>| Some(Group { by: by.clone(), key });
    let in_order = in_order(&groups);
    let of_groups = in_order.par_iter().enumerate().map(|(number, &(key, group))| {
        let mut found = analyse(&analysis, number, group).with_context(|| format!("{by} {key}"))?;
        worst.lock().unwrap_or_else(PoisonError::into_inner).add(number, &mut found);
        Ok(model.with(of_group(Some(key.clone())), found))
    });
    let of_groups = of_groups.collect::<Result<Vec<_>>>()?;
    let keys: Vec<&String> = in_order.iter().map(|(key, _)| *key).collect();
    all.worst = worst.into_inner().unwrap_or_else(PoisonError::into_inner).found(&keys);
    Ok(std::iter::once(model.with(of_group(None), all)).chain(of_groups).collect())
}

const NEEDS_ROWS: &str = "--together makes a sketch of all files, which needs --noise gaussian or logistic, --link logistic, a \
     number of --n-bins of equal width without --compat, and no --multiclass classwise";

const NEEDS_CLASSES: &str = "--together makes a sketch of all files, which has one outcome a row, but a score over all classes needs the \
     rows; pass --multiclass top_class to measure the top class";
