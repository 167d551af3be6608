//! Models that answer for the same rows, of one file or of several: what cannot be paired is refused, with the first row that differs.

use anyhow::{Context, Result, anyhow, bail};
use calipers::{BinaryView, Form, Predictions};

use crate::args::{InputArgs, InputRules};
use crate::dataset::batch::{self, Loaded, WholeFiles};
use crate::dataset::files::InputFile;
use crate::dataset::formats::Column;
use crate::dataset::model::Columns;
use crate::render::legend;

/// A file of models, read.
pub(crate) struct Opened {
    pub(crate) file: InputFile,
    loaded: Loaded,
    /// As they were in the file, before they were compared with predicted classes.
    labels: Column,
    /// In the order of the scores.
    pub(crate) models: Vec<Model>,
    /// What tells clusters of rows apart.
    pub(crate) clusters: Option<Column>,
}

/// One model of a file.
pub(crate) struct Model {
    /// The file's name without its extension, and that of the column if the file has several.
    pub(crate) name: String,
    pub(crate) columns: Columns,
    form: Form,
}

/// A model whose rows are sound.
pub(crate) struct Checked<'a> {
    pub(crate) name: &'a str,
    opened: &'a Opened,
    pub(crate) predictions: Predictions<'a>,
}

impl Opened {
    pub(crate) fn read(
        file: &InputFile,
        whole_files: &WholeFiles,
        args: &InputArgs,
        cluster: Option<&str>,
        rules: &InputRules,
    ) -> Result<Self> {
        let (table, chosen, mut columns) = whole_files.read(file, args, cluster, rules)?;
        let clusters = chosen.cluster.and_then(|_| columns.pop());
        // proof: labels come after the scores, and are always wanted
        let labels = columns.get(chosen.scores.len()).cloned().ok_or_else(|| anyhow!("no labels"))?;
        let loaded = Loaded::new(columns, 0, &chosen, rules)?;
        let stem = legend::stem(&file.name);
        let models = chosen.scores.iter().zip(&loaded.scores).map(|(scores, column)| {
            let name = match chosen.scores.len() {
                1 => stem.clone(),
                _ => format!("{stem} {}", table.names()[scores.place]),
            };
            let columns = Columns::new(&*table, &chosen, scores, column.n_classes, rules);
            Model { name: crate::printable(&name), columns, form: scores.form }
        });
        let models = models.collect();
        Ok(Opened { file: file.clone(), loaded, labels, models, clusters })
    }

    /// The models of both answer for the same rows, in the same order, which count as much. `of_all` says of what the first one is the first: ` of
    /// its group`, or nothing.
    pub(crate) fn must_have_rows_of(&self, first: &Opened, of_all: &str) -> Result<()> {
        same_labels(first, self, of_all)?;
        same_weights(first, self, of_all)
    }
}

fn same_labels(first: &Opened, other: &Opened, of_all: &str) -> Result<()> {
    let (ours, theirs) = (first.labels.n_rows(), other.labels.n_rows());
    let name = first.file.shown();
    if ours != theirs {
        bail!("must have the rows of {name}, the first{of_all}: that has {ours}, and this {theirs}");
    }
    match batch::first_difference(&first.labels, &other.labels) {
        Some((row, ours, theirs)) => bail!(
            "must have the labels of {name}, the first{of_all}, in the same order: in row {row} that has {ours}, and this {theirs}"
        ),
        None => Ok(()),
    }
}

/// Rows are as many: their labels are.
fn same_weights(first: &Opened, other: &Opened, of_all: &str) -> Result<()> {
    let rule = format!("must have the weights of {}, the first{of_all}", first.file.shown());
    match (first.loaded.weights(), other.loaded.weights()) {
        (None, None) => Ok(()),
        (Some(_), None) => bail!("{rule}: this has none"),
        (None, Some(_)) => bail!("{rule}: that has none"),
        (Some(ours), Some(theirs)) => match batch::first_difference(ours, theirs) {
            Some((row, ours, theirs)) => bail!("{rule}: in row {row} that has {ours}, and this {theirs}"),
            None => Ok(()),
        },
    }
}

/// None is compared on rows that were left out of another.
fn same_rows(first: &Checked<'_>, other: &Predictions<'_>, of_all: &str) -> Result<()> {
    let kept =
        |predictions: &Predictions<'_>, index: usize| (index < predictions.len()).then(|| predictions.row(index));
    let longest = first.predictions.len().max(other.len());
    let mut pairs = (0..longest).map(|index| (kept(&first.predictions, index), kept(other, index)));
    let (row, here, there) = match pairs.find(|(ours, theirs)| ours != theirs) {
        None => return Ok(()),
        // The smaller is in one of the two alone.
        Some((Some(ours), Some(theirs))) if ours < theirs => (ours, "left out", "kept"),
        Some((Some(ours), None)) => (ours, "left out", "kept"),
        Some((_, theirs)) => (theirs.unwrap_or_default(), "kept", "left out"),
    };
    let rule = format!("must keep the rows of {} of {}", first.name, first.opened.file.shown());
    bail!("{rule}, the first{of_all}: row {row} is {there} there and {here} here")
}

impl Checked<'_> {
    pub(crate) fn view(&self, rules: &InputRules) -> Result<BinaryView<'_>> {
        let view = self.predictions.view(self.opened.loaded.multiclass(rules), rules.ties);
        view.with_context(|| self.opened.file.shown())
    }
}

/// All models of all files, in their order.
pub(crate) fn check_all<'a>(all: &'a [Opened], rules: &InputRules, of_all: &str) -> Result<Vec<Checked<'a>>> {
    let mut checked: Vec<Checked<'a>> = Vec::new();
    for opened in all {
        for (Model { name, form, .. }, scores) in opened.models.iter().zip(&opened.loaded.scores) {
            let predictions = opened.loaded.input(scores, *form, rules).and_then(calipers::Input::check);
            let place = || match opened.models.len() {
                1 => opened.file.shown(),
                _ => format!("{}: {name}", opened.file.shown()),
            };
            let predictions = predictions.with_context(place)?;
            if let Some(first) = checked.first() {
                same_rows(first, &predictions, of_all).with_context(place)?;
            }
            checked.push(Checked { name, opened, predictions });
        }
    }
    Ok(checked)
}
