//! Files -> results of an analysis, for each model and each group: what measure, assess and check
//! share.
//!
//! ```text
//! few rows  -> rows in memory -> analysis        and groups of them
//! many rows -> sketches       -> analysis        and so are files together, and files of sketches
//! ```

pub(crate) mod floor;
pub(crate) mod measures;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use calipers::{Multiclass, Sample, Sketch};
use rayon::prelude::*;

use crate::args::{FilesArgs, OptionArgs};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::{self, InputFile};
use crate::dataset::groups::{in_order, rows_of_groups};
use crate::dataset::model::{Group, Measured};
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader};
use measures::Analysis;

/// What is read and how, as it was typed.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a FilesArgs,
    /// The column that tells clusters apart.
    pub(crate) cluster: Option<&'a str>,
    pub(crate) options: &'a OptionArgs,
}

impl Reading<'_> {
    /// `more_bins` are kept in sketches next to those of ECE.
    pub(crate) fn run<A: Analysis>(
        self,
        analysis: A,
        sketch_is_enough: bool,
        more_bins: &[usize],
    ) -> Result<Vec<Measured<A::Output>>> {
        let FilesArgs { input, together } = self.files;
        let rules = input.rules()?;
        let is_binary = rules.multiclass != Multiclass::Classwise;
        let sketch = self.options.sketch_options(more_bins).filter(|_| is_binary);
        let instead_of_rows = sketch.clone().filter(|_| sketch_is_enough);
        let reader = Reader { args: input, rules, cluster: self.cluster, sketch: instead_of_rows };
        let files = input.open_files()?;
        if *together {
            if self.cluster.is_some() {
                bail!("--cluster needs the rows of one file, and --together makes a sketch of all");
            }
            let Some(options) = &sketch else { bail!(NEEDS_ROWS) };
            let all = merged(&files, |file| reader.open_sketches(file, options))?;
            let results = all.each_model(|place, model| analyse_sketches(&analysis, model, &all.content[place]))?;
            return Ok(results.into_iter().flatten().collect());
        }
        let mut results = Vec::new();
        for file in &files {
            results.extend(reader.open(file).and_then(|file| analyse(&analysis, &file)).with_context(|| file.shown())?);
        }
        Ok(results)
    }
}

/// All files as one.
fn merged(
    files: &[InputFile],
    read: impl Fn(&InputFile) -> Result<Dataset<Vec<Sketches>>> + Sync,
) -> Result<Dataset<Vec<Sketches>>> {
    let mut all: Option<Dataset<Vec<Sketches>>> = None;
    files::for_each(files, read, |more| {
        let Some(all) = &mut all else {
            all = Some(more);
            return Ok(());
        };
        if more.models.len() != all.models.len() {
            bail!("must have the models of the files before it, got {} and {}", more.models.len(), all.models.len());
        }
        for (model, more) in all.models.iter_mut().zip(more.models) {
            model.files.extend(more.files);
        }
        all.content.iter_mut().zip(&more.content).try_for_each(|(sketches, more)| sketches.merge(more))
    })?;
    all.context("no files")
}

fn analyse<A: Analysis>(analysis: &A, dataset: &Dataset) -> Result<Vec<Measured<A::Output>>> {
    let results = dataset.each_model(|place, model| match &dataset.content {
        Content::Rows(batch) => analyse_rows(analysis, model, batch, place),
        Content::Sketches(sketches) => analyse_sketches(analysis, model, &sketches[place]),
    })?;
    Ok(results.into_iter().flatten().collect())
}

fn analyse_rows<A: Analysis>(
    analysis: &A,
    model: &Measured<()>,
    batch: &Batch,
    place: usize,
) -> Result<Vec<Measured<A::Output>>> {
    let predictions = batch.predictions(place)?;
    let all = analyse_batch(analysis, batch, &predictions)?;
    let by = model.columns.as_ref().and_then(|columns| columns.by.as_deref());
    let groups = by.zip(batch.groups.as_ref());
    let groups = groups.map(|(by, column)| (by, rows_of_groups(column, batch::kept_rows(&predictions))));
    with_groups(analysis, model, all, groups, |analysis, rows| {
        let group = batch.select(place, rows);
        analyse_batch(analysis, &group, &group.predictions(0)?)
    })
}

fn analyse_batch<A: Analysis>(
    analysis: &A,
    batch: &Batch,
    predictions: &calipers::Predictions<'_>,
) -> Result<A::Output> {
    let clusters = batch.cluster_numbers(predictions)?;
    let view;
    let sample = match batch.multiclass() {
        Multiclass::Classwise => Sample::classes(predictions, batch.ties()),
        _ => {
            view = batch.view(predictions)?;
            Sample::from(&view)
        }
    };
    Ok(analysis.run(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)))?)
}

fn analyse_sketches<A: Analysis>(
    analysis: &A,
    model: &Measured<()>,
    sketches: &Sketches,
) -> Result<Vec<Measured<A::Output>>> {
    // A file of sketches does not tell.
    let confidences = model.columns.as_ref().map(|columns| columns.multiclass == Multiclass::TopClass);
    let all = analysis.run(sample_of(&sketches.all, confidences))?;
    // A group whose rows were all left out is none to measure.
    let groups = sketches.groups.as_ref().map(|groups| {
        let sketches = groups.sketches.iter().filter(|(_, sketch)| sketch.n() > 0);
        (groups.by.as_str(), sketches.map(|(key, sketch)| (key.clone(), sketch)).collect())
    });
    with_groups(analysis, model, all, groups, |analysis, sketch| Ok(analysis.run(sample_of(sketch, confidences))?))
}

/// A sketch, and whether its predictions are confidences in a predicted class, where that is known.
fn sample_of(sketch: &Sketch, confidences: Option<bool>) -> Sample<'_> {
    confidences.map_or(Sample::from(sketch), |confidences| Sample::from(sketch).confidences(confidences))
}

/// The result of all rows, then that of each group.
fn with_groups<A: Analysis, G: Sync>(
    analysis: &A,
    model: &Measured<()>,
    all: A::Output,
    groups: Option<(&str, BTreeMap<String, G>)>,
    analyse: impl Fn(&A, &G) -> Result<A::Output> + Sync,
) -> Result<Vec<Measured<A::Output>>> {
    let Some((by, groups)) = groups else { return Ok(vec![model.with(None, all)]) };
    let analysis = analysis.for_groups(&all, groups.len());
    let of_group = |key: Option<String>| Some(Group { by: by.to_owned(), key });
    let of_groups = in_order(&groups).into_par_iter().map(|(key, group)| {
        let figures = analyse(&analysis, group).with_context(|| format!("{by} {key}"))?;
        Ok(model.with(of_group(Some(key.clone())), figures))
    });
    let of_groups = of_groups.collect::<Result<Vec<_>>>()?;
    Ok(std::iter::once(model.with(of_group(None), all)).chain(of_groups).collect())
}

const NEEDS_ROWS: &str = "--together needs what a sketch can answer: --noise gaussian or logistic, --link logistic, a number \
     of --n-bins of equal width without --compat, and no --multiclass classwise";
