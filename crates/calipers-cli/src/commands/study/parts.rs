//! Files NAME_val and NAME_test: the two parts of a model's predictions, for `calipers study
//! recalibration`.

use anyhow::{Context, Result, bail};
use calipers_studies::recalibration::{self, Pair};
use calipers_studies::{Page, Setting};

use super::WHOLE_FILES;
use crate::args::InputArgs;
use crate::dataset::batch::Batch;
use crate::dataset::files::{self, InputFile};
use crate::dataset::{Dataset, Reader};

/// The files of models with both parts, and what is not used.
pub(super) struct Parts {
    /// Both parts of each model, the validation part first; none where nothing was named.
    pub(super) inputs: Vec<InputFile>,
    /// Files without a partner, each with the reason.
    left_out: Vec<String>,
}

/// Finds the parts of models among the files that were named, and in the folders.
pub(super) fn files(input: &InputArgs) -> Result<Parts> {
    if input.files.is_empty() {
        return Ok(Parts { inputs: Vec::new(), left_out: Vec::new() });
    }
    let mut patterns = Vec::new();
    for argument in &input.files {
        match argument.is_dir() {
            true => patterns.extend(ENDS.map(|end| argument.join(format!("*{end}.*")))),
            false => patterns.push(argument.clone()),
        }
    }
    let all = files::expand(&patterns, input.format, input.rules.limit())?;
    let mut parts = Parts { inputs: Vec::new(), left_out: Vec::new() };
    for file in &all {
        let Some(name) = stem(file) else { continue };
        let other = |own: &str, other: &str| Some(format!("{}{other}", name.strip_suffix(own)?));
        let [validation, test] = ENDS;
        let Some(partner) = other(validation, test).or_else(|| other(test, validation)) else {
            parts.left_out.push(format!("{} (the name ends in neither {validation} nor {test})", file.shown()));
            continue;
        };
        match all.iter().find(|file| stem(file).as_deref() == Some(partner.as_str())) {
            Some(partner) if name.ends_with(validation) => parts.inputs.extend([file.clone(), partner.clone()]),
            Some(_) => {}
            None => parts.left_out.push(format!("{} (there is no {partner})", file.shown())),
        }
    }
    match parts.inputs.is_empty() {
        true => bail!("recalibration needs files NAME_val and NAME_test of the same model, and there are none"),
        false => Ok(parts),
    }
}

/// How the names of the parts end.
const ENDS: [&str; 2] = ["_val", "_test"];

fn stem(file: &InputFile) -> Option<String> {
    let name = std::path::Path::new(&file.name).file_name()?.to_str()?;
    Some(name.split_once('.').map_or(name, |(stem, _)| stem).to_owned())
}

/// The page, with the parts of all models that can be read.
pub(super) fn run(parts: Parts, reader: &mut Reader<'_>, setting: &Setting) -> Result<Page> {
    let Parts { inputs, mut left_out } = parts;
    let mut models = Vec::new();
    for files in inputs.chunks(2) {
        let open = |file: &InputFile| reader.open_rows(file, &WHOLE_FILES).with_context(|| file.shown());
        match files.iter().map(open).collect::<Result<Vec<_>>>() {
            Ok(datasets) => models.push(datasets),
            Err(error) => left_out.push(format!("{error:#}")),
        }
    }
    let mut pairs = Vec::new();
    for datasets in &models {
        match pair(datasets) {
            Ok(pair) => pairs.push(pair),
            Err(error) => left_out.push(format!("{error:#}")),
        }
    }
    match left_out.first() {
        Some(reason) if pairs.is_empty() && !inputs.is_empty() => {
            bail!("no model has two parts that can be read: {reason}")
        }
        _ => Ok(recalibration::run(&pairs, &left_out, setting)?),
    }
}

/// The parts of a model, whose classes are the same.
fn pair(datasets: &[Dataset<Batch>]) -> Result<Pair<'_>> {
    // proof: there are two, since files come in pairs
    let [validation, test] = [0, 1].map(|place| &datasets[place]);
    let name = stem(&validation.file).unwrap_or_default().trim_end_matches(ENDS[0]).to_owned();
    let [of_validation, of_test] =
        [validation, test].map(|part| part.content.predictions(0).with_context(|| part.file.shown()));
    let (of_validation, of_test) = (of_validation?, of_test?);
    let (n_classes, of_other) = (of_test.n_classes(), of_validation.n_classes());
    if n_classes != of_other {
        bail!("{}: {n_classes} classes, and {of_other} in {}", test.file.shown(), validation.file.shown());
    }
    Ok(Pair { name, validation: of_validation, test: of_test })
}
