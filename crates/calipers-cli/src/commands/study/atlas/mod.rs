//! `calipers study atlas FOLDER...`: folders of predictions -> sets of models -> values -> page.
//!
//! The values of a set are written to `atlas-parts/` in the output folder as soon as they are
//! known, with a digest of all that they depend on. A run that was interrupted goes on from there,
//! and gives the same bytes as one that was not.

mod manifest;
mod parts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use calipers_studies::atlas::{self, Entry, LeftOut, MeasuredSet, Model};
use calipers_studies::{Page, Setting};
use rayon::prelude::*;

use super::WHOLE_FILES;
use crate::args::InputArgs;
use crate::dataset::batch::Batch;
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats::Format;
use crate::dataset::{Dataset, pairing};
use crate::progress::many_files;
use manifest::Manifest;
use parts::Parts;

/// A file and what the manifest tells about it.
struct Listed {
    entry: Entry,
    file: InputFile,
}

/// The files of all folders, in sets of the same rows.
pub(super) struct Found {
    sets: BTreeMap<String, Vec<Listed>>,
    left_out: Vec<LeftOut>,
}

/// Finds the files. A manifest of the folder goes before those that are named.
pub(super) fn find(input: &InputArgs, manifests: &[PathBuf]) -> Result<Found> {
    if input.files.is_empty() {
        bail!("atlas needs folders of predictions, each with a {}", manifest::NAME);
    }
    let named = manifests.iter().map(|path| manifest::read(path)).collect::<Result<Vec<Manifest>>>()?;
    let mut found = Found { sets: BTreeMap::new(), left_out: Vec::new() };
    for folder in &input.files {
        found.add(folder, &named, input)?;
    }
    match found.sets.is_empty() {
        true => bail!("the folders have no predictions: {}", shown(&input.files)),
        false => Ok(found),
    }
}

fn shown(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| files::shown(folder)).collect::<Vec<_>>().join(", ")
}

impl Found {
    fn add(&mut self, folder: &Path, named: &[Manifest], input: &InputArgs) -> Result<()> {
        if !folder.is_dir() {
            bail!("{}: must be a folder of predictions with a {}", files::shown(folder), manifest::NAME);
        }
        let of_folder = folder.join(manifest::NAME);
        let mut own = if of_folder.is_file() { manifest::read(&of_folder)? } else { Manifest::new() };
        let is_listed = !own.is_empty() || !named.is_empty();
        for path in members(folder)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let entry = own.remove(&name).or_else(|| named.iter().find_map(|manifest| manifest.get(&name).cloned()));
            let entry = match entry {
                Some(entry) => entry,
                None if is_listed => {
                    self.leave_out(name, "no manifest names it");
                    continue;
                }
                None => Entry::of_file(name),
            };
            if let Some(reason) = entry.other_part() {
                self.leave_out(entry.file, reason);
                continue;
            }
            let [file] = <[InputFile; 1]>::try_from(files::expand(&[path], input.format, input.rules.limit())?)
                .map_err(|_| anyhow::anyhow!("{}: must be one file", crate::printable(&entry.file)))?;
            self.sets.entry(entry.rows.clone()).or_default().push(Listed { entry, file });
        }
        for name in own.into_keys() {
            self.leave_out(name, "the manifest names it, and the folder does not have it");
        }
        Ok(())
    }

    fn leave_out(&mut self, file: String, reason: impl Into<String>) {
        self.left_out.push(LeftOut { file, reason: reason.into() });
    }

    /// All files that are read.
    pub(super) fn inputs(&self) -> Vec<InputFile> {
        self.sets.values().flatten().map(|listed| listed.file.clone()).collect()
    }

    /// The page. Values of sets that an earlier run has left in `out` are used if nothing has
    /// changed that they depend on.
    pub(super) fn run(mut self, input: &InputArgs, out: &Path, setting: &Setting) -> Result<Page> {
        let parts = Parts::new(out)?;
        let bar = many_files(self.sets.len());
        let measure = |(name, files): (&String, &Vec<Listed>)| {
            let key = parts::key(files.iter().map(|listed| (&listed.entry, &listed.file)), input, setting)?;
            let found = match parts.get(name, &key) {
                Some(found) => found,
                None => parts.put(name, &key, &measured(files, input, setting)?)?,
            };
            bar.inc(1);
            Ok(found)
        };
        let found = self.sets.par_iter().map(measure).collect::<Result<Vec<_>>>()?;
        let (sets, left_out): (Vec<MeasuredSet>, Vec<Vec<LeftOut>>) = found.into_iter().unzip();
        self.left_out.extend(left_out.into_iter().flatten());
        self.left_out.sort_by(|a, b| (&a.file, &a.reason).cmp(&(&b.file, &b.reason)));
        Ok(atlas::page(&sets, &self.left_out, setting))
    }
}

/// The files of a folder that could be predictions, sorted by name; those in folders below it are
/// not looked at.
fn members(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| files::shown(folder))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| files::shown(folder))?.path();
        let is_manifest = path.file_name().is_some_and(|name| name == manifest::NAME);
        if path.is_file() && !is_manifest && Format::by_extension(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The values of a set, and the files that have none.
fn measured(files: &[Listed], input: &InputArgs, setting: &Setting) -> Result<(MeasuredSet, Vec<LeftOut>)> {
    let mut left_out = Vec::new();
    let mut leave_out = |entry: &Entry, error: anyhow::Error| {
        left_out.push(LeftOut { file: entry.file.clone(), reason: format!("{error:#}") })
    };
    let mut opened: Vec<(&Entry, Dataset<Batch>)> = Vec::new();
    for Listed { entry, file } in files {
        let reader = WHOLE_FILES.reader(input, entry.cluster.as_deref())?;
        match reader.open_rows(file, &WHOLE_FILES) {
            Ok(dataset) => opened.push((entry, dataset)),
            Err(error) => leave_out(entry, error),
        }
    }
    let mut checked = Vec::new();
    for (place, (entry, dataset)) in opened.iter().enumerate() {
        for model in 0..dataset.models.len() {
            match dataset.content.predictions(model) {
                Ok(predictions) => checked.push((place, model, predictions)),
                Err(error) => leave_out(entry, error),
            }
        }
    }
    let mut models = Vec::new();
    for (place, model, predictions) in &checked {
        let (entry, dataset) = &opened[*place];
        let batch = &dataset.content;
        let made = || {
            if batch.weights.is_some() {
                bail!("has weights, which the study does not use");
            }
            let mut entry = (*entry).clone();
            if dataset.models.len() > 1 {
                let column = dataset.models[*model].prob().unwrap_or_default();
                entry.model = [entry.model.as_str(), column].join(" ").trim().to_owned();
            }
            // The first file of the set with the same rows.
            let same = |other: &usize| pairing::difference(&opened[*other].1.content, batch).is_none();
            let same_rows = (0..*place).find(same).unwrap_or(*place);
            Ok(Model::new(entry, batch.view(predictions)?, predictions.n_classes())
                .clusters(batch.cluster_numbers(predictions)?)
                .same_rows(same_rows))
        };
        match made() {
            Ok(model) => models.push(model),
            Err(error) => leave_out(entry, error),
        }
    }
    let (set, without_value) = atlas::measure_set(models, setting)?;
    left_out.extend(without_value);
    Ok((set, left_out))
}
