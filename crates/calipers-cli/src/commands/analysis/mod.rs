//! Files -> results of an analysis, for each model and each group: what measure, assess and check share.
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

use crate::args::{BinnedEceArgs, InputArgs, LsEceArgs};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::{self, InputFile};
use crate::dataset::groups::{in_order, rows_of_groups};
use crate::dataset::model::{Group, Measured};
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader};
use measures::Question;

/// What is read and how, as it was typed.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) input: &'a InputArgs,
    /// All files as one.
    pub(crate) together: bool,
    /// The column that tells clusters apart.
    pub(crate) cluster: Option<&'a str>,
    pub(crate) ls_ece: &'a LsEceArgs,
    pub(crate) ece: &'a BinnedEceArgs,
}

impl Reading<'_> {
    /// `more_bins` are kept in sketches next to those of ECE.
    pub(crate) fn answers<Q: Question>(
        self,
        question: Q,
        sketch_is_enough: bool,
        more_bins: &[usize],
    ) -> Result<Vec<Measured<Q::Answer>>> {
        let rules = self.input.rules()?;
        let sketch = self.ls_ece.sketch_options().zip(self.ece.n_bins_of_a_sketch()).and_then(|(options, n_bins)| {
            (rules.multiclass != Multiclass::Classwise).then(|| options.n_bins(&[&[n_bins], more_bins].concat()))
        });
        let instead_of_rows = sketch.clone().filter(|_| sketch_is_enough);
        let reader = Reader { args: self.input, rules, cluster: self.cluster, sketch: instead_of_rows };
        let files = self.input.open_files()?;
        if self.together {
            if self.cluster.is_some() {
                bail!("--cluster needs the rows of one file, and --together makes a sketch of all");
            }
            let Some(options) = &sketch else { bail!(NEEDS_ROWS) };
            let all = merged(&files, |file| reader.open_sketches(file, options))?;
            let answers = all.each_model(|place, model| answer_sketches(&question, model, &all.content[place]))?;
            return Ok(answers.into_iter().flatten().collect());
        }
        let mut results = Vec::new();
        for file in &files {
            results.extend(reader.open(file).and_then(|file| answer(&question, &file)).with_context(|| file.shown())?);
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

fn answer<Q: Question>(question: &Q, dataset: &Dataset) -> Result<Vec<Measured<Q::Answer>>> {
    let answers = dataset.each_model(|place, model| match &dataset.content {
        Content::Rows(batch) => answer_rows(question, model, batch, place),
        Content::Sketches(sketches) => answer_sketches(question, model, &sketches[place]),
    })?;
    Ok(answers.into_iter().flatten().collect())
}

fn answer_rows<Q: Question>(
    question: &Q,
    model: &Measured<()>,
    batch: &Batch,
    place: usize,
) -> Result<Vec<Measured<Q::Answer>>> {
    let predictions = batch.predictions(place)?;
    let all = answer_batch(question, batch, &predictions)?;
    let by = model.columns.as_ref().and_then(|columns| columns.by.as_deref());
    let groups = by.zip(batch.groups.as_ref());
    let groups = groups.map(|(by, column)| (by, rows_of_groups(column, batch::kept_rows(&predictions))));
    with_groups(question, model, all, groups, |question, rows| {
        let group = batch.select(place, rows);
        answer_batch(question, &group, &group.predictions(0)?)
    })
}

fn answer_batch<Q: Question>(
    question: &Q,
    batch: &Batch,
    predictions: &calipers::Predictions<'_>,
) -> Result<Q::Answer> {
    let clusters = batch.cluster_numbers(predictions)?;
    let view;
    let sample = match batch.multiclass() {
        Multiclass::Classwise => Sample::classes(predictions, batch.ties()),
        _ => {
            view = batch.view(predictions)?;
            Sample::from(&view)
        }
    };
    Ok(question.answer(clusters.as_ref().map_or(sample, |clusters| sample.clusters(clusters)))?)
}

fn answer_sketches<Q: Question>(
    question: &Q,
    model: &Measured<()>,
    sketches: &Sketches,
) -> Result<Vec<Measured<Q::Answer>>> {
    // A file of sketches does not tell.
    let confidences = model.columns.as_ref().map(|columns| columns.multiclass == Multiclass::TopClass);
    let all = question.answer(sample_of(&sketches.all, confidences))?;
    // A group whose rows were all left out is none to measure.
    let groups = sketches.groups.as_ref().map(|groups| {
        let sketches = groups.sketches.iter().filter(|(_, sketch)| sketch.n() > 0);
        (groups.by.as_str(), sketches.map(|(key, sketch)| (key.clone(), sketch)).collect())
    });
    with_groups(question, model, all, groups, |question, sketch| Ok(question.answer(sample_of(sketch, confidences))?))
}

/// A sketch, and whether its predictions are confidences in a predicted class, where that is known.
fn sample_of(sketch: &Sketch, confidences: Option<bool>) -> Sample<'_> {
    confidences.map_or(Sample::from(sketch), |confidences| Sample::from(sketch).confidences(confidences))
}

/// The result of all rows, then that of each group.
fn with_groups<Q: Question, G: Sync>(
    question: &Q,
    model: &Measured<()>,
    all: Q::Answer,
    groups: Option<(&str, BTreeMap<String, G>)>,
    answer: impl Fn(&Q, &G) -> Result<Q::Answer> + Sync,
) -> Result<Vec<Measured<Q::Answer>>> {
    let Some((by, groups)) = groups else { return Ok(vec![model.with(None, all)]) };
    let question = question.for_groups(&all, groups.len());
    let of_group = |key: Option<String>| Some(Group { by: by.to_owned(), key });
    let of_groups = in_order(&groups).into_par_iter().map(|(key, group)| {
        let figures = answer(&question, group).with_context(|| format!("{by} {key}"))?;
        Ok(model.with(of_group(Some(key.clone())), figures))
    });
    let of_groups = of_groups.collect::<Result<Vec<_>>>()?;
    Ok(std::iter::once(model.with(of_group(None), all)).chain(of_groups).collect())
}

const NEEDS_ROWS: &str = "--together needs what a sketch can answer: --noise gaussian or logistic, --link logistic, a number \
     of --n-bins of equal width without --compat, and no --multiclass classwise";
