//! The readers of the command for `fuzz/`: no part of any interface.

use std::path::{Path, PathBuf};

use anyhow::Result;
use calipers::{BinnedEce, Estimate, LsEce, Measure, SketchOptions};
use clap::Parser;

use crate::args::InputArgs;
use crate::dataset::files::{self, InputFile};
use crate::dataset::formats;
use crate::dataset::listing::Listing;
use crate::dataset::sketches::Sketches;
use crate::dataset::{Content, Reader};

/// Reads files with some options of the command.
#[derive(Debug)]
pub struct FileReader(InputArgs);

#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    input: InputArgs,
}

/// Keeps panics quiet that a reader turns into an error.
pub fn keep_damage_quiet() {
    formats::keep_damage_quiet();
}

impl FileReader {
    /// The options are those of `calipers measure`.
    ///
    /// # Panics
    /// If there is no such option.
    pub fn new(options: &[&str]) -> Self {
        let arguments = ["calipers", "FILE"].iter().chain(options);
        match Options::try_parse_from(arguments) {
            Ok(Options { input }) => FileReader(input),
            Err(error) => panic!("{error}"),
        }
    }

    /// Two measures of each model and group of a file, as `calipers measure` has them, or the line
    /// that it prints.
    pub fn measure(&self, path: &Path) -> Result<Vec<Estimate>, String> {
        self.opened(path, |file| self.measured(file))
    }

    /// The number of rows that `calipers inspect` lists, with the names and first values of
    /// columns.
    pub fn inspect(&self, path: &Path) -> Result<(u64, Vec<String>), String> {
        self.opened(path, |file| {
            let InputArgs { text, rules, .. } = &self.0;
            let listing = Listing::new(file, &text.reading(rules.invalid), rules.limit())?;
            let columns = listing.columns.into_iter();
            Ok((listing.n_rows, columns.map(|column| format!("{} {:?}", column.name, column.values)).collect()))
        })
    }

    /// Writes the sketches of a file again, as `calipers merge` does with one file, and returns
    /// their keys and bytes.
    pub fn copy_sketches(&self, from: &Path, to: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
        self.opened(from, |file| {
            let sketches = Sketches::open(&file)?;
            std::fs::write(to, sketches.to_bytes(to)?)?;
            Ok(match &sketches.groups {
                Some(groups) => groups.sketches.iter().map(|(key, sketch)| (key.clone(), sketch.to_bytes())).collect(),
                None => vec![(String::new(), sketches.all()?.to_bytes())],
            })
        })
    }

    fn opened<T>(&self, path: &Path, read: impl FnOnce(InputFile) -> Result<T>) -> Result<T, String> {
        let names: [PathBuf; 1] = [path.to_owned()];
        let files = files::expand(&names, self.0.format, self.0.rules.limit());
        let file = files.and_then(|mut files| files.pop().ok_or_else(|| anyhow::anyhow!("no file")));
        file.and_then(read).map_err(|error| crate::printable(&crate::explained(&error, crate::LEAVE_OUT)))
    }

    fn measured(&self, file: InputFile) -> Result<Vec<Estimate>> {
        let reader = Reader { args: &self.0, cluster: None, sketch: Some(SketchOptions::new()) };
        let dataset = reader.open(&file)?;
        let (ls_ece, ece) = (LsEce::new().sigma(0.25), BinnedEce::new());
        let measures: [&dyn Measure; 2] = [&ls_ece, &ece];
        let mut found = Vec::new();
        for measure in measures {
            match &dataset.content {
                Content::Rows(batch) => {
                    for model in 0..dataset.models.len() {
                        let predictions = batch.predictions(model)?;
                        batch.groups(&predictions)?;
                        found.push(predictions.estimate(batch.multiclass(), batch.ties(), measure)?);
                    }
                }
                Content::Sketches(models) => {
                    for sketches in models {
                        found.push(sketches.all()?.estimate(measure)?);
                        for sketch in sketches.groups.iter().flat_map(|groups| groups.sketches.values()) {
                            // A group may have no rows.
                            found.extend(sketch.estimate(measure));
                        }
                    }
                }
            }
        }
        Ok(found)
    }
}
