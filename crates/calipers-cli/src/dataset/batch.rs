//! Some rows of a file with a name for every column, and the input that the core checks.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use calipers::recalibrate::Groups;
use calipers::{BinaryView, Error, Form, Input, Invalid, Multiclass, Predictions, Ties};

use super::columns::{Chosen, Scores};
use super::formats::{AtPlace, Column, Numbering, Role, Table, Values};
use super::groups::RowGroups;
use super::{classes, groups, labels};
use crate::args::InputRules;

/// Some rows, or all of a file.
pub(crate) struct Batch {
    /// One column for each model.
    pub(crate) scores: Vec<Column>,
    /// As they are in the file.
    pub(crate) labels: Column,
    pub(crate) weights: Option<Column>,
    /// What tells groups apart.
    pub(crate) groups: Option<RowGroups>,
    /// What tells clusters of rows apart that depend on each other.
    pub(crate) clusters: Option<Column>,
    /// Whether the predicted class is the label, where there is one: the outcomes in place of the
    /// labels.
    agreement: Option<Column>,
    /// The classes that labels name, as numbers: for each model whose classes have names.
    class_labels: Vec<Option<Column>>,
    confidences: bool,
    forms: Vec<Form>,
    origin: Origin,
    rules: InputRules,
}

/// Where rows come from.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) table: Arc<dyn Table>,
    /// Of rows that are all in memory.
    pub(super) numbering: Numbering,
    /// The number in the file of the first row of a part.
    pub(super) first_row: u64,
}

/// The columns that are read, each for what it is, in the order in which [`Batch::new`] takes them.
pub(super) fn wanted(chosen: &Chosen, rules: &InputRules) -> Vec<(usize, Role)> {
    let label_role = match chosen.predicted {
        Some(_) => Role::Classes,
        None => {
            let is_name = |class: &String| class.parse::<i64>().is_err();
            let have_names = chosen.scores.iter().any(|scores| scores.classes.iter().any(is_name));
            Role::Labels { as_text: rules.pos_label.is_some() || have_names }
        }
    };
    let scores = chosen.scores.iter().flat_map(|scores| {
        let role = match scores.form {
            Form::Probabilities => Role::Probabilities,
            Form::Logits => Role::Logits,
        };
        scores.places.iter().map(move |place| (*place, role))
    });
    scores
        .chain([(chosen.label, label_role)])
        .chain(chosen.predicted.map(|place| (place, Role::Classes)))
        .chain(chosen.weight.map(|place| (place, Role::Weights)))
        .chain(chosen.by.iter().map(|place| (*place, Role::Groups)))
        .chain(chosen.cluster.map(|place| (place, Role::Groups)))
        .collect()
}

impl Origin {
    fn located(&self, error: Error) -> anyhow::Error {
        match error.row() {
            Some(row) => AtPlace::new(error, self.place(row)).into(),
            None => error.into(),
        }
    }

    fn place(&self, row: u64) -> String {
        self.table.place(self.numbering.number(row))
    }
}

/// The one column of a model, or those of its classes.
pub(super) fn one_column(columns: Vec<Column>, model: &Scores) -> Result<Column> {
    match <[Column; 1]>::try_from(columns) {
        Ok([column]) => Ok(column),
        Err(columns) if columns.iter().any(|column| column.n_classes > 1) => {
            bail!("the columns {} must have one number in each row, got lists", model.name)
        }
        Err(columns) => Ok(Column::classes(columns)),
    }
}

/// There are as many names as classes.
fn check_names(scores: &Column, model: &Scores) -> Result<()> {
    let (k, n_names) = (scores.n_classes, model.classes.len());
    if n_names > 0 && n_names != k && scores.n_rows() > 0 {
        bail!("--classes must name every class, got {n_names} names for {k} classes");
    }
    Ok(())
}

/// Percentages, say, as probabilities.
pub(super) fn scaled(column: Column, model: &Scores, rules: &InputRules) -> Result<Column> {
    match (rules.scale, model.form) {
        (None, _) => Ok(column),
        (Some(scale), Form::Probabilities) => Ok(column.divided(scale)),
        (Some(_), Form::Logits) => bail!("--scale is for probabilities, and {} are logits", model.name),
    }
}

/// Labels as numbers of the model's classes, where those have names.
fn class_labels(labels: &Column, model: &Scores, origin: &Origin, rules: &InputRules) -> Result<Option<Column>> {
    if model.classes.is_empty() {
        return Ok(None);
    }
    if let Some(positive) = &rules.pos_label {
        // Outcome 1 is the second of two classes.
        return match model.classes.iter().position(|class| class == positive) {
            Some(place) if place != 1 => bail!(
                "--pos-label is left out where labels name columns ({}); --multiclass chooses a class by its name",
                model.classes.join(", ")
            ),
            _ => Ok(None),
        };
    }
    let Some(numbers) = classes::numbers(labels, &model.classes) else { return Ok(None) };
    match classes::unknown(labels, &numbers, &model.classes) {
        Some((row, what)) if rules.invalid == Invalid::Reject => {
            Err(anyhow!("label in {} {what}", origin.place(origin.first_row + row as u64)))
        }
        _ => Ok(Some(numbers)),
    }
}

impl Batch {
    /// `columns` are those that are [`wanted`].
    pub(super) fn new(columns: Vec<Column>, origin: Origin, chosen: &Chosen, rules: &InputRules) -> Result<Self> {
        let mut columns = columns.into_iter();
        let scores = chosen.scores.iter().map(|model| {
            let column = one_column(columns.by_ref().take(model.places.len()).collect(), model)?;
            scaled(column, model, rules)
        });
        let scores: Vec<Column> = scores.collect::<Result<_>>()?;
        for (scores, model) in scores.iter().zip(&chosen.scores) {
            check_names(scores, model)?;
        }
        // proof: a table returns a column for each that is wanted, in order
        let mut next = || columns.next().unwrap_or_else(|| Column::plain(Values::Bool(Vec::new())));
        let labels = next();
        let predicted = chosen.predicted.map(|_| next());
        let agreement = predicted
            .map(|predicted| labels::agreement(&predicted, &labels, origin.first_row, rules.invalid))
            .transpose()
            .map_err(|error| origin.located(error))?;
        let named = chosen.scores.iter().map(|model| class_labels(&labels, model, &origin, rules));
        let class_labels =
            if agreement.is_some() { vec![None; chosen.scores.len()] } else { named.collect::<Result<_>>()? };
        let weights = chosen.weight.map(|_| next());
        let by: Vec<Column> = chosen.by.iter().map(|_| next()).collect();
        let groups = (!by.is_empty()).then(|| RowGroups::new(&by));
        groups::check_number(groups.as_ref().map_or(0, |groups| groups.keys.len()), rules.max_groups)?;
        let batch = Batch {
            scores,
            agreement,
            class_labels,
            confidences: chosen.confidences,
            labels,
            weights,
            groups,
            clusters: chosen.cluster.map(|_| next()),
            forms: chosen.scores.iter().map(|scores| scores.form).collect(),
            origin,
            rules: rules.clone(),
        };
        batch.check_agreement()?;
        Ok(batch)
    }

    /// An error of the core, whose row is one of the batch.
    pub(super) fn located(&self, error: Error) -> anyhow::Error {
        self.origin.located(error)
    }

    /// Where a row of the batch is, as people find it.
    pub(crate) fn place(&self, row: usize) -> String {
        self.origin.place(row as u64)
    }

    /// The probability of a predicted class is one number, and the labels are used up.
    fn check_agreement(&self) -> Result<(), Error> {
        let setting = |name, rule: &str, value| Err(Error::InvalidSetting { name, rule: rule.to_owned(), value });
        let top_class = "\"top_class\" with a predicted class";
        let several = self.scores.iter().find(|scores| scores.n_classes > 1);
        match (&self.rules.pos_label, self.rules.multiclass.asked, several) {
            _ if self.agreement.is_none() => Ok(()),
            (Some(label), ..) => setting("pos_label", "left out with a predicted class", format!("{label:?}")),
            (_, several @ (Multiclass::Classwise | Multiclass::AllClasses), _) => {
                setting("multiclass", top_class, format!("{:?}", several.to_string()))
            }
            (_, Multiclass::Class(class), _) => setting("multiclass", top_class, class.to_string()),
            (.., Some(Column { n_classes, .. })) => {
                let got = format!("(n, {n_classes})");
                Err(Error::Shape { what: "probabilities", expected: "(n,) with a predicted class", got })
            }
            _ => Ok(()),
        }
    }

    /// Some rows of one model.
    pub(crate) fn select(&self, model: usize, rows: &[usize]) -> Batch {
        let select = |column: &Option<Column>| column.as_ref().map(|column| column.select(rows));
        Batch {
            scores: vec![self.scores[model].select(rows)],
            labels: self.labels.select(rows),
            weights: select(&self.weights),
            groups: None,
            clusters: select(&self.clusters),
            agreement: select(&self.agreement),
            class_labels: vec![select(&self.class_labels[model])],
            confidences: self.confidences,
            forms: vec![self.forms[model]],
            origin: Origin { first_row: 0, numbering: Numbering::default(), ..self.origin.clone() },
            rules: self.rules.clone(),
        }
    }

    /// The same rows of one model with other probabilities.
    pub(crate) fn with_probabilities(&self, model: usize, scores: Column) -> Batch {
        Batch {
            scores: vec![scores],
            labels: self.labels.clone(),
            weights: self.weights.clone(),
            groups: None,
            clusters: self.clusters.clone(),
            agreement: self.agreement.clone(),
            class_labels: vec![self.class_labels[model].clone()],
            confidences: self.confidences,
            forms: vec![Form::Probabilities],
            origin: self.origin.clone(),
            rules: self.rules.clone(),
        }
    }

    pub(crate) fn form(&self, model: usize) -> Form {
        self.forms[model]
    }

    /// How scores are measured; the rules have been checked to fit.
    pub(crate) fn multiclass(&self) -> Multiclass {
        if self.agreement.is_some() { Multiclass::Auto } else { self.rules.multiclass.asked }
    }

    pub(crate) fn ties(&self) -> Ties {
        self.rules.ties
    }

    /// The rows of a model, checked.
    pub(crate) fn predictions(&self, model: usize) -> Result<Predictions<'_>> {
        self.input(model).and_then(Input::check).map_err(|error| self.located(error))
    }

    /// The rows of a group, checked. A few rows do not tell what is wrong with all of them, which
    /// was checked before.
    pub(crate) fn group_predictions(&self) -> Result<Predictions<'_>, Error> {
        self.input(0)?.rows(0..self.labels.n_rows())?.check()
    }

    /// The checked rows of a model, group by group.
    pub(super) fn by_group(
        &self,
        predictions: &Predictions<'_>,
        groups: &RowGroups,
    ) -> Result<calipers::GroupedRows, Error> {
        predictions.by_group(&groups.numbers, groups.keys.len(), self.multiclass(), self.rules.ties)
    }

    pub(crate) fn view<'a>(&self, predictions: &'a Predictions<'a>) -> Result<BinaryView<'a>, Error> {
        predictions.view(self.multiclass(), self.rules.ties)
    }

    /// A number for each row that the predictions kept, the same for rows of one cluster.
    pub(crate) fn cluster_numbers(&self, predictions: &Predictions<'_>) -> Result<Option<Vec<u32>>> {
        self.cluster_numbers_among(predictions, &mut groups::Numbers::new())
    }

    /// The same, where a cluster that other rows have has their number.
    pub(crate) fn cluster_numbers_among(
        &self,
        predictions: &Predictions<'_>,
        known: &mut groups::Numbers,
    ) -> Result<Option<Vec<u32>>> {
        let numbers =
            self.clusters.as_ref().map(|column| groups::cluster_numbers(column, &kept_rows(predictions), known));
        numbers.transpose().map_err(|error| self.located(error))
    }

    /// The groups of the rows that the predictions kept; `None` if there are none.
    pub(crate) fn groups(&self, predictions: &Predictions<'_>) -> Result<Option<Groups>, Error> {
        let Some(groups) = &self.groups else { return Ok(None) };
        let (names, numbers) = groups.keys_and_numbers(&kept_rows(predictions));
        Groups::numbered(&names, &numbers).map(Some)
    }

    /// The input of one model, borrowed.
    pub(super) fn input(&self, model: usize) -> Result<Input<'_>, Error> {
        fn floats(column: &Column) -> Result<calipers::Floats<'_>, Error> {
            column.floats().ok_or_else(|| Role::Weights.wrong_type(column.values.type_name()))
        }
        let outcomes = self.agreement.as_ref().or(self.class_labels[model].as_ref()).unwrap_or(&self.labels);
        let scores = &self.scores[model];
        let mut input = match self.forms[model] {
            Form::Probabilities => Input::probabilities(floats(scores)?, outcomes.labels()),
            Form::Logits => Input::logits(floats(scores)?, outcomes.labels()),
        };
        if let Some(weights) = &self.weights {
            input = input.weights(floats(weights)?);
        }
        if let Some(positive) = &self.rules.pos_label {
            input = input.positive(positive.as_str());
        }
        if self.agreement.is_some() || self.confidences {
            input = input.confidences();
        }
        let InputRules { sum_tolerance, invalid, .. } = self.rules;
        let input = input.first_row(self.origin.first_row).classes(scores.n_classes);
        Ok(input.sum_tolerance(sum_tolerance).invalid(invalid).missing(
            scores.missing.as_deref(),
            outcomes.missing.as_deref(),
            self.weights.as_ref().and_then(|weights| weights.missing.as_deref()),
        ))
    }
}

/// The rows of the file that were not left out.
pub(crate) fn kept_rows(predictions: &Predictions<'_>) -> Vec<usize> {
    (0..predictions.len()).map(|place| predictions.row(place)).collect()
}
