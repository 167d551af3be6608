//! Sketches as folds: each is held out in turn, since there are no rows to hold out.

use anyhow::{Context, Result, bail};
use calipers::Sketch;

use crate::args::InputArgs;
use crate::args::significance::ResampleArgs;
use crate::dataset::files::{self, InputFile};
use crate::dataset::folds::FOLD;
use crate::dataset::sketches::Sketches;

/// All files, if they are sketches, to which no option of rows applies; else none.
pub(super) fn sketch_files(input: &InputArgs, resample: &ResampleArgs) -> Result<Vec<InputFile>> {
    // Standard input is read once, and rows are the likelier content.
    if input.files.iter().any(|name| files::is_standard_input(name)) {
        return Ok(Vec::new());
    }
    let files = input.open_files()?;
    if !files.iter().all(InputFile::is_sketch) {
        return Ok(Vec::new());
    }
    let given = [("--by", input.by.is_some()), ("--cluster", resample.cluster.is_some())];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        bail!("{option} needs the rows, which a sketch does not have");
    }
    Ok(files)
}

/// What files of sketches are.
pub(super) enum Folded {
    /// One for each fold.
    Folds(Vec<Sketch>),
    /// One for all rows.
    Whole(Box<Sketch>),
}

/// Several files of one sketch each are folds, and so are the rows of files that `calipers sketch
/// --n-folds` has written.
pub(super) fn folded(files: &[InputFile]) -> Result<Folded> {
    let open = |file: &InputFile| Sketches::open(file).with_context(|| file.shown());
    let all = files.iter().map(open).collect::<Result<Vec<Sketches>>>()?;
    let is_folded = |sketches: &Sketches| sketches.groups.as_ref().is_some_and(|groups| groups.by == FOLD);
    match all.iter().filter(|sketches| is_folded(sketches)).count() {
        0 => {}
        n if n < all.len() => {
            bail!("files must all have folds, or be folds themselves, got {n} with folds of {}", all.len())
        }
        _ => {
            let mut parts = all.into_iter();
            let first = parts.next().context("no sketches")?;
            let merged = parts.try_fold(first, |mut all, part| all.merge(&part).map(|()| all))?;
            return Ok(Folded::Folds(
                merged.groups.into_iter().flat_map(|groups| groups.sketches.into_values()).collect(),
            ));
        }
    }
    let mut sketches: Vec<Sketch> = all.into_iter().map(|sketches| sketches.all).collect();
    Ok(match (sketches.pop(), sketches.is_empty()) {
        (Some(only), true) => Folded::Whole(Box::new(only)),
        (last, _) => {
            sketches.extend(last);
            Folded::Folds(sketches)
        }
    })
}

/// The names of the files, for people and programs.
pub(super) fn names(files: &[InputFile]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.name.display().to_string()).collect();
    names.join(", ")
}
