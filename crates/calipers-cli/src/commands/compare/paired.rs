//! Models of the same rows, from one file or several. Rows that cannot be paired are an error,
//! which names the first row that differs.

use anyhow::{Context, Result, bail};
use calipers::{Asked, BinaryView, Predictions};

use crate::dataset::batch::Batch;
use crate::dataset::files::InputFile;
use crate::dataset::pairing;
use crate::dataset::{Dataset, Reader, WholeFiles};
use crate::render::legend;

/// A model whose rows are valid.
pub(crate) struct Checked<'a> {
    pub(crate) name: String,
    pub(crate) dataset: &'a Dataset<Batch>,
    pub(crate) predictions: Predictions<'a>,
}

/// What the models of a file are called: its name without the extension, and that of the column if
/// the file has several.
pub(crate) fn names(dataset: &Dataset<Batch>) -> Vec<String> {
    let stem = legend::stem(&dataset.file.name);
    let name = |prob: Option<&str>| match dataset.models.len() {
        1 => stem.clone(),
        _ => format!("{stem} {}", prob.unwrap_or_default()),
    };
    dataset.models.iter().map(|model| crate::printable(&name(model.prob()))).collect()
}

/// All files, each with the rows of the first.
pub(crate) fn open_all(
    files: &[InputFile],
    reader: &mut Reader<'_>,
    whole_files: &WholeFiles,
    of_all: &str,
) -> Result<Vec<Dataset<Batch>>> {
    let mut all: Vec<Dataset<Batch>> = Vec::new();
    for file in files {
        let dataset = reader.open_rows(file, whole_files).with_context(|| file.shown())?;
        if let Some(first) = all.first() {
            must_have_rows_of(first, &dataset, of_all).with_context(|| file.shown())?;
        }
        all.push(dataset);
        // Rows are the same in all files, and so are clusters.
        reader.cluster = None;
    }
    Ok(all)
}

/// The models of both have the same rows, in the same order, with the same weights. `of_all` tells
/// of what the first one is the first: ` of its group`, or nothing.
fn must_have_rows_of(first: &Dataset<Batch>, other: &Dataset<Batch>, of_all: &str) -> Result<()> {
    match pairing::difference(&first.content, &other.content) {
        None => Ok(()),
        Some(what) => bail!("must have the rows of {}, the first{of_all}: they have {what}", first.file.shown()),
    }
}

impl Checked<'_> {
    pub(crate) fn view(&self) -> Result<BinaryView<'_>> {
        self.dataset.content.view(&self.predictions).with_context(|| self.dataset.file.shown())
    }

    pub(crate) fn asked(&self) -> Result<Asked<'_>> {
        let batch = &self.dataset.content;
        let asked = self.predictions.asked(batch.multiclass(), batch.ties());
        asked.with_context(|| self.dataset.file.shown())
    }

    /// None is compared on rows that were left out of another.
    fn must_keep_rows_of(&self, first: &Checked<'_>, of_all: &str) -> Result<()> {
        let Some((row, in_first)) = pairing::first_row_of_one(&first.predictions, &self.predictions) else {
            return Ok(());
        };
        let rule = format!("must keep the rows of {} of {}", first.name, first.dataset.file.shown());
        let (there, here) = if in_first { ("kept", "left out") } else { ("left out", "kept") };
        let place = pairing::place(&first.dataset.content, &self.dataset.content, row);
        bail!("{rule}, the first{of_all}: {place} is {there} there and {here} here")
    }
}

/// All models of all files, in their order.
pub(crate) fn check_all<'a>(all: &'a [Dataset<Batch>], of_all: &str) -> Result<Vec<Checked<'a>>> {
    let mut checked: Vec<Checked<'a>> = Vec::new();
    for dataset in all {
        for (place, name) in names(dataset).into_iter().enumerate() {
            let check = || {
                let model = Checked { name, dataset, predictions: dataset.content.predictions(place)? };
                checked.first().map_or(Ok(()), |first| model.must_keep_rows_of(first, of_all))?;
                Ok(model)
            };
            let model = check().map_err(|error| dataset.in_model(place, error));
            checked.push(model.with_context(|| dataset.file.shown())?);
        }
    }
    Ok(checked)
}
