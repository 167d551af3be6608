//! Files NAME_val and NAME_test: the two parts of a model's predictions, for `calipers study
//! recalibration`.

use anyhow::{Context, Result, bail};
use calipers_studies::recalibration::{self, Pair};
use calipers_studies::{Page, Setting};

use super::WHOLE_FILES;
use crate::args::InputArgs;
use crate::dataset::Reader;
use crate::dataset::files::{self, InputFile};

/// All files that have a partner, the validation part first; none where nothing was named.
pub(super) fn files(input: &InputArgs) -> Result<Vec<InputFile>> {
    if input.files.is_empty() {
        return Ok(Vec::new());
    }
    let mut patterns = Vec::new();
    for argument in &input.files {
        match argument.is_dir() {
            true => patterns.extend(["*_val.*", "*_test.*"].map(|pattern| argument.join(pattern))),
            false => patterns.push(argument.clone()),
        }
    }
    let all = files::expand(&patterns, input.format)?;
    let named = |name: &str| all.iter().find(|file| stem(file).as_deref() == Some(name));
    let mut pairs = Vec::new();
    for validation in &all {
        let Some(stem) = stem(validation) else { continue };
        let Some(model) = stem.strip_suffix("_val") else { continue };
        if let Some(test) = named(&format!("{model}_test")) {
            pairs.extend([validation.clone(), test.clone()]);
        }
    }
    match pairs.is_empty() {
        true => bail!("recalibration needs files NAME_val and NAME_test of the same model, and there are none"),
        false => Ok(pairs),
    }
}

fn stem(file: &InputFile) -> Option<String> {
    let name = std::path::Path::new(&file.name).file_name()?.to_str()?;
    Some(name.split_once('.').map_or(name, |(stem, _)| stem).to_owned())
}

/// The page, with the parts of all models.
pub(super) fn run(inputs: &[InputFile], reader: &mut Reader<'_>, setting: &Setting) -> Result<Page> {
    let mut datasets = Vec::new();
    for file in inputs {
        datasets.push(reader.open_rows(file, &WHOLE_FILES).with_context(|| file.shown())?);
    }
    let mut pairs = Vec::new();
    for parts in datasets.chunks(2) {
        let [validation, _] = parts else { continue };
        let name = stem(&validation.file).unwrap_or_default().trim_end_matches("_val").to_owned();
        let predictions = |place: usize| parts[place].content.predictions(0).with_context(|| parts[place].file.shown());
        pairs.push(Pair { name, validation: predictions(0)?, test: predictions(1)? });
    }
    Ok(recalibration::run(&pairs, setting)?)
}
