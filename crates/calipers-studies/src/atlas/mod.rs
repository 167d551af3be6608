//! Does ECE mislead in practice? The paper's question, on a folder of real predictions.
//!
//! ```text
//! manifest -> Entry ; file -> Model   (the command)
//! Models of a set -> measure_set -> MeasuredSet, one at a time, kept as JSON
//! all MeasuredSets -> page
//! ```

mod binnings;
mod chance;
mod measured;
mod page;
mod ranking;
mod rules;
mod share;

use calipers::{BinaryView, Error};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Setting;
use crate::replicates::seed_of;
use measured::Measured;
pub use page::page;
use ranking::Pair;

/// The name of the study in `calipers study`.
pub const NAME: &str = "atlas";

/// The subject of the study, in one line.
pub const ABOUT: &str =
    "does ECE mislead in practice? bins, noise, ties and rankings of all models in folders with a manifest";

/// Changes whenever the values of a set do: values of another version are not used again.
pub const VERSION: u32 = 2;

/// What the manifest tells about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name of the file, without its folder.
    pub file: String,
    /// The field that the predictions are from.
    pub domain: String,
    /// The data set.
    pub data_set: String,
    /// The model; empty where the data set has one.
    pub model: String,
    /// The part of the data: `test`, `val` and the like.
    pub split: String,
    /// Files of the same rows or benchmark have the same text here.
    pub rows: String,
    /// The column that tells clusters of dependent rows apart.
    pub cluster: Option<String>,
    /// What is to be known about the file.
    pub caution: String,
}

/// The caution of files whose rows depend on each other.
const DEPENDENT: &str = "dependent rows";

/// Parts of data whose models are counted by another part.
const OTHER_PARTS: [&str; 2] = ["val", "test2"];

impl Entry {
    /// A file of this name, about which nothing else is known.
    pub fn of_file(file: impl Into<String>) -> Self {
        let file = file.into();
        let stem = file.split('.').next().unwrap_or_default().to_owned();
        Entry { rows: stem.clone(), data_set: stem, domain: "unknown".to_owned(), file, ..Entry::default() }
    }

    /// Whether rows depend on each other.
    fn is_dependent(&self) -> bool {
        self.caution.contains(DEPENDENT)
    }

    /// Why the file does not count as a model of its own, if so.
    pub fn other_part(&self) -> Option<String> {
        let is_part = |part: &&str| self.split == *part || self.split.starts_with(&format!("{part} "));
        let part = OTHER_PARTS.iter().find(|part| is_part(part))?;
        Some(format!("it is the part {part} of a model, which counts once, by its test part"))
    }

    /// Data set and model.
    fn title(&self) -> String {
        [self.data_set.as_str(), self.model.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The predictions of a file.
#[derive(Debug)]
pub struct Model<'a> {
    entry: Entry,
    view: BinaryView<'a>,
    n_classes: usize,
    clusters: Option<Vec<u32>>,
    same_rows: usize,
}

impl<'a> Model<'a> {
    /// A model whose rows no other one has.
    pub fn new(entry: Entry, view: BinaryView<'a>, n_classes: usize) -> Self {
        Model { entry, view, n_classes, clusters: None, same_rows: 0 }
    }

    /// A number for each row, the same for rows of one cluster.
    pub fn clusters(self, clusters: Option<Vec<u32>>) -> Self {
        Model { clusters, ..self }
    }

    /// The number that models of the same rows share.
    pub fn same_rows(self, same_rows: usize) -> Self {
        Model { same_rows, ..self }
    }

    /// Whether the view has the confidence in a class that was predicted.
    fn is_top_class(&self) -> bool {
        self.n_classes > 2 || self.view.has_confidences()
    }
}

/// The values of all models of a set, which go through JSON without a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSet {
    models: Vec<Measured>,
    pairs: Vec<Pair>,
}

/// A file that the study does not use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// The models of a set that could be measured, and the others with the reason.
pub fn measure_set(models: Vec<Model<'_>>, setting: &Setting) -> Result<(MeasuredSet, Vec<LeftOut>), Error> {
    let seed = |entry: &Entry| seed_of(setting.random_state, 33, text_seed(&entry.file));
    let found: Vec<Result<Measured, Error>> =
        models.par_iter().map(|model| measured::measure(model, seed(&model.entry))).collect();
    let (mut kept, mut measured, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for (model, found) in models.into_iter().zip(found) {
        match found {
            Ok(found) => {
                measured.push(found);
                kept.push(model);
            }
            Err(error) => left_out.push(LeftOut { file: model.entry.file, reason: error.to_string() }),
        }
    }
    let of_set = kept.first().map_or(0, |model| text_seed(&model.entry.rows));
    let pairs = ranking::pairs(&kept, setting, seed_of(setting.random_state, 34, of_set))?;
    Ok((MeasuredSet { models: measured, pairs }, left_out))
}

/// A number for a text, the same everywhere (FNV-1a).
fn text_seed(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
