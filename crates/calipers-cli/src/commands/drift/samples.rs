//! Which rows or sketches are compared: two files, or two parts of one.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use calipers::{Asked, Error, InputReport, Multiclass, Predictions, Sample, Sketch};

use super::{Compared, OfMeasure};
use crate::dataset::batch::{self, Batch};
use crate::dataset::files::InputFile;
use crate::dataset::groups::{By, Numbers, in_order};
use crate::dataset::model::{Group, Measured};
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Dataset, Reader};
use crate::render::legend;

/// The column that splits a file, and its values before and after, where they were given.
pub(super) struct Split<'a> {
    pub(super) column: &'a str,
    pub(super) values: [Option<&'a str>; 2],
}

/// Both samples of all models.
pub(super) enum Opened {
    Files(Box<[Dataset; 2]>),
    /// One file, and the values of its column before and after.
    Parts(Box<Dataset>, [String; 2]),
}

/// Both samples of a model.
pub(super) struct Pair<'a> {
    models: [&'a Measured<()>; 2],
    source: Source<'a>,
}

enum Source<'a> {
    Files([(&'a Dataset, usize); 2]),
    Parts(&'a Dataset, usize, &'a [String; 2]),
}

/// Rows or a sketch of one sample.
pub(super) enum Part<'a> {
    /// All rows of a model of a file.
    Whole(&'a Dataset, &'a Batch, usize),
    /// Some rows of a file that was checked before.
    Selected(Box<Batch>),
    Sketch(&'a Sketch),
}

/// All rows before and after, and those of groups.
pub(super) struct Parts<'a> {
    pub(super) all: [Part<'a>; 2],
    pub(super) groups: Option<Groups<'a>>,
}

pub(super) struct Groups<'a> {
    pub(super) by: By,
    /// In order.
    pub(super) both: Vec<(String, [Part<'a>; 2])>,
    /// Those of one sample alone.
    pub(super) only: [Vec<String>; 2],
}

/// What was found of two samples.
pub(super) struct Found {
    rows: [(u64, InputReport); 2],
    by_measure: Vec<OfMeasure>,
}

pub(super) fn open(files: &[InputFile], reader: &Reader<'_>, split: Option<&Split<'_>>) -> Result<Opened> {
    let open = |file: &InputFile| reader.open(file).with_context(|| file.shown());
    match (files, split) {
        ([before, after], None) => Ok(Opened::Files(Box::new([open(before)?, open(after)?]))),
        ([file], Some(split)) => {
            let dataset = open(file)?;
            let values = values_of(&dataset, split).with_context(|| file.shown())?;
            Ok(Opened::Parts(Box::new(dataset), values))
        }
        (_, None) => bail!(
            "drift compares two files, BEFORE and AFTER, or the parts of one file by --split COL; got {} (a folder \
             counts as one file)",
            counted(files.len())
        ),
        (_, Some(_)) => bail!("--split takes the two samples from one file, got {}", counted(files.len())),
    }
}

fn counted(n: usize) -> String {
    if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
}

/// Values of a column that an error lists.
const MOST_LISTED: usize = 8;

/// The values before and after: those that were given, or the only two in their order.
fn values_of(dataset: &Dataset, split: &Split<'_>) -> Result<[String; 2]> {
    let column = split.column;
    let keys: Vec<String> = match &dataset.content {
        Content::Rows(batch) => {
            let rows = batch.groups.as_ref().map(|groups| groups.rows(0..groups.n_rows()));
            rows.map_or_else(Vec::new, |rows| in_order(&rows).into_iter().map(|(key, _)| key.clone()).collect())
        }
        Content::Sketches(all) => {
            let groups = all.first().and_then(|sketches| sketches.groups.as_ref());
            match groups {
                Some(groups) if groups.by.names() == [column] => {
                    in_order(&groups.sketches).into_iter().map(|(key, _)| key.clone()).collect()
                }
                Some(groups) => bail!("the sketches are by {}, not by {column}", groups.by),
                None => bail!("--split needs rows, or sketches by {column}, which `calipers sketch --by` makes"),
            }
        }
    };
    let listed = || {
        let some = keys.iter().take(MOST_LISTED).map(|key| legend::key(key)).collect::<Vec<_>>().join(", ");
        if keys.len() > MOST_LISTED { format!("{some} and {} more", keys.len() - MOST_LISTED) } else { some }
    };
    let known = |value: &str| match keys.iter().find(|key| *key == value) {
        Some(key) => Ok(key.clone()),
        None => bail!("column {column} has no value {value}; its values are {}", listed()),
    };
    let other = |value: &str| keys.iter().find(|key| *key != value).cloned().filter(|_| keys.len() == 2);
    let values = match split.values {
        [Some(before), Some(after)] => Some([known(before)?, known(after)?]),
        [Some(before), None] => other(&known(before)?).map(|after| [before.to_owned(), after]),
        [None, Some(after)] => other(&known(after)?).map(|before| [before, after.to_owned()]),
        [None, None] => <[String; 2]>::try_from(keys.clone()).ok(),
    };
    let Some(values) = values else {
        bail!("--before and --after name two values of column {column}; its values are {}", listed());
    };
    if values[0] == values[1] {
        bail!("--before and --after must differ, got {} twice", values[0]);
    }
    Ok(values)
}

impl Opened {
    /// The samples of each model.
    pub(super) fn pairs(&self) -> Result<Vec<Pair<'_>>> {
        match self {
            Opened::Parts(dataset, values) => {
                let pair = |place: usize| Pair {
                    models: [&dataset.models[place]; 2],
                    source: Source::Parts(dataset, place, values),
                };
                Ok((0..dataset.models.len()).map(pair).collect())
            }
            Opened::Files(files) => {
                let [before, after] = &**files;
                let (ours, theirs) = (before.models.len(), after.models.len());
                if ours != theirs {
                    bail!("both files must have the same models, got {ours} before and {theirs} after");
                }
                let pair = |place: usize| Pair {
                    models: [&before.models[place], &after.models[place]],
                    source: Source::Files([(before, place), (after, place)]),
                };
                Ok((0..ours).map(pair).collect())
            }
        }
    }
}

impl Pair<'_> {
    /// What was found, with what was read.
    pub(super) fn compared(&self, group: Option<Group>, found: Found) -> Compared {
        let Found { rows: [before, after], by_measure } = found;
        let sides = [self.models[0].with(group.clone(), before), self.models[1].with(group.clone(), after)];
        Compared { sides, group, by_measure, only: Default::default() }
    }

    /// The rows or sketches to compare.
    pub(super) fn parts(&self) -> Result<Parts<'_>> {
        match &self.source {
            Source::Files(files) => of_files(files),
            Source::Parts(dataset, place, values) => {
                let [before, after] = values.each_ref().map(|value| of_value(dataset, *place, value));
                Ok(Parts { all: [before?, after?], groups: None })
            }
        }
    }
}

/// The rows of a file that have a value.
fn of_value<'a>(dataset: &'a Dataset, place: usize, value: &str) -> Result<Part<'a>> {
    let part = || match &dataset.content {
        Content::Rows(batch) => {
            // Mistakes are found among all rows, and named by their place in the file.
            batch.predictions(place)?;
            // proof: the column of --split was read
            let rows = batch
                .groups
                .as_ref()
                .map_or_else(Vec::new, |groups| (0..groups.n_rows()).filter(|row| groups.key(*row) == value).collect());
            Ok(Part::Selected(Box::new(batch.select(place, &rows))))
        }
        Content::Sketches(all) => {
            let sketches = all[place].groups.as_ref().and_then(|groups| groups.sketches.get(value));
            // proof: the value is among the groups
            Ok(Part::Sketch(sketches.map_or_else(|| all[place].all(), Ok)?))
        }
    };
    part().map_err(|error| dataset.in_model(place, error)).with_context(|| dataset.file.shown())
}

fn of_files<'a>(files: &[(&'a Dataset, usize); 2]) -> Result<Parts<'a>> {
    let [before, after] = files.each_ref().map(|(dataset, place)| match &dataset.content {
        Content::Rows(batch) => Ok(Part::Whole(dataset, batch, *place)),
        Content::Sketches(all) => all[*place].all().map(Part::Sketch).with_context(|| dataset.file.shown()),
    });
    let all = [before?, after?];
    let mut of_both = Vec::new();
    for (dataset, place) in files {
        of_both.push(groups_of(dataset, *place).with_context(|| dataset.file.shown())?);
    }
    let groups = match (of_both.pop().flatten(), of_both.pop().flatten()) {
        (Some((by_after, after)), Some((by, before))) => {
            if by != by_after {
                bail!("both files must have the same groups, got {by} before and {by_after} after");
            }
            Some(matched(by, before, after))
        }
        (None, None) => None,
        // A sketch that has groups is compared with rows that were asked for none.
        _ => None,
    };
    Ok(Parts { all, groups })
}

type OfGroups<'a> = BTreeMap<String, Part<'a>>;

/// The groups of a model, if there are any; those without a valid row are none.
fn groups_of<'a>(dataset: &'a Dataset, place: usize) -> Result<Option<(By, OfGroups<'a>)>> {
    match &dataset.content {
        Content::Rows(batch) => {
            let by = dataset.models[place].columns.as_ref().and_then(|columns| columns.by.clone());
            let Some((by, groups)) = by.zip(batch.groups.as_ref()) else { return Ok(None) };
            let predictions = batch.predictions(place).map_err(|error| dataset.in_model(place, error))?;
            let kept = groups.rows(batch::kept_rows(&predictions));
            // With the rows that are left out, so that each group counts its own.
            let rows = groups.rows(0..groups.n_rows());
            let rows = rows.into_iter().filter(|(key, _)| kept.contains_key(key));
            let selected = rows.map(|(key, rows)| (key, Part::Selected(Box::new(batch.select(place, &rows)))));
            Ok(Some((by, selected.collect())))
        }
        Content::Sketches(all) => {
            let Sketches { groups, .. } = &all[place];
            Ok(groups.as_ref().map(|groups| {
                let sketches: BTreeMap<String, &Sketch> = groups.with_rows();
                (groups.by.clone(), sketches.into_iter().map(|(key, sketch)| (key, Part::Sketch(sketch))).collect())
            }))
        }
    }
}

/// Groups of both samples, and the names of the others.
fn matched<'a>(by: By, before: OfGroups<'a>, mut after: OfGroups<'a>) -> Groups<'a> {
    let (mut both, mut only_before) = (BTreeMap::new(), Vec::new());
    for (key, part) in before {
        match after.remove(&key) {
            Some(other) => _ = both.insert(key, [part, other]),
            None => only_before.push(key),
        }
    }
    let order: Vec<String> = in_order(&both).into_iter().map(|(key, _)| key.clone()).collect();
    let both = order.into_iter().filter_map(|key| both.remove_entry(&key)).collect();
    Groups { by, both, only: [only_before, after.into_keys().collect()] }
}

impl Part<'_> {
    fn batch(&self) -> Option<&Batch> {
        match self {
            Part::Whole(_, batch, _) => Some(batch),
            Part::Selected(batch) => Some(batch),
            Part::Sketch(_) => None,
        }
    }

    fn predictions(&self) -> Result<Option<Predictions<'_>>> {
        Ok(match self {
            Part::Whole(dataset, batch, place) => {
                let checked = batch.predictions(*place).map_err(|error| dataset.in_model(*place, error));
                Some(checked.with_context(|| dataset.file.shown())?)
            }
            Part::Selected(batch) => Some(batch.group_predictions()?),
            Part::Sketch(_) => None,
        })
    }
}

/// What `run` finds of both samples.
pub(super) fn with(parts: [&Part<'_>; 2], run: impl FnOnce(Sample<'_>, Sample<'_>) -> Vec<OfMeasure>) -> Result<Found> {
    let [before, after] = parts.map(Part::predictions);
    let predictions = [before?, after?];
    // A cluster of both samples has one number.
    let mut numbers = Numbers::new();
    let mut clusters = |side: usize| match (parts[side].batch(), &predictions[side]) {
        (Some(batch), Some(predictions)) => batch.cluster_numbers_among(predictions, &mut numbers),
        _ => Ok(None),
    };
    let clusters = [clusters(0)?, clusters(1)?];
    let asked = |side: usize| -> Result<Option<Asked<'_>>, Error> {
        let (Some(batch), Some(predictions)) = (parts[side].batch(), &predictions[side]) else { return Ok(None) };
        let multiclass = batch.multiclass().resolved(predictions.n_classes());
        let multiclass = if multiclass == Multiclass::AllClasses { Multiclass::TopClass } else { multiclass };
        predictions.asked(multiclass, batch.ties()).map(Some)
    };
    let asked = [asked(0)?, asked(1)?];
    let sample = |side: usize| -> Result<Sample<'_>, Error> {
        match (parts[side], &asked[side]) {
            (Part::Sketch(sketch), _) => Ok(Sample::from(*sketch)),
            (_, Some(asked)) => {
                let sample = asked.sample();
                Ok(clusters[side].as_ref().map_or(sample, |numbers| sample.clusters(numbers)))
            }
            // proof: rows were asked for
            (_, None) => Err(Error::NoRows),
        }
    };
    let rows = |side: usize| match (parts[side], &predictions[side]) {
        (Part::Sketch(sketch), _) => (sketch.n(), sketch.report().clone()),
        (_, Some(predictions)) => (predictions.len() as u64, predictions.report().clone()),
        (_, None) => (0, InputReport::default()),
    };
    Ok(Found { by_measure: run(sample(0)?, sample(1)?), rows: [rows(0), rows(1)] })
}
