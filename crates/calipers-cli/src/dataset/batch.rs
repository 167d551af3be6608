//! Some rows of a file with a name for every column, and the input that the core checks.

use calipers::{BinaryView, Error, Form, Input, Multiclass, Predictions, Ties};

use super::columns::Chosen;
use super::formats::{Column, Role, Values};
use super::{groups, labels};
use crate::args::InputRules;

/// Some rows, or all of a file.
pub(crate) struct Batch {
    /// One column for each model.
    pub(crate) scores: Vec<Column>,
    /// As they are in the file.
    pub(crate) labels: Column,
    pub(crate) weights: Option<Column>,
    /// What tells groups apart.
    pub(crate) groups: Option<Column>,
    /// What tells clusters of rows apart that depend on each other.
    pub(crate) clusters: Option<Column>,
    /// Whether the predicted class is the label, where there is one: the outcomes in place of the
    /// labels.
    agreement: Option<Column>,
    forms: Vec<Form>,
    /// Its number in the file.
    first_row: u64,
    rules: InputRules,
}

/// The columns that are read, each for what it is, in the order in which [`Batch::new`] takes them.
pub(super) fn wanted(chosen: &Chosen, rules: &InputRules) -> Vec<(usize, Role)> {
    let label_role = match chosen.predicted {
        Some(_) => Role::Classes,
        None => Role::Labels { as_text: rules.pos_label.is_some() },
    };
    let scores = chosen.scores.iter().map(|scores| match scores.form {
        Form::Probabilities => (scores.place, Role::Probabilities),
        Form::Logits => (scores.place, Role::Logits),
    });
    scores
        .chain([(chosen.label, label_role)])
        .chain(chosen.predicted.map(|place| (place, Role::Classes)))
        .chain(chosen.weight.map(|place| (place, Role::Weights)))
        .chain(chosen.by.map(|place| (place, Role::Groups)))
        .chain(chosen.cluster.map(|place| (place, Role::Groups)))
        .collect()
}

impl Batch {
    /// `columns` are those that are [`wanted`], from that row of the file on.
    pub(super) fn new(
        columns: Vec<Column>,
        first_row: u64,
        chosen: &Chosen,
        rules: &InputRules,
    ) -> Result<Self, Error> {
        let mut columns = columns.into_iter();
        let scores = columns.by_ref().take(chosen.scores.len()).collect();
        // proof: a table returns a column for each that is wanted, in order
        let mut next = || columns.next().unwrap_or_else(|| Column::plain(Values::Bool(Vec::new())));
        let labels = next();
        let predicted = chosen.predicted.map(|_| next());
        let agreement = predicted.map(|predicted| labels::agreement(&predicted, &labels, first_row, rules.invalid));
        let batch = Batch {
            scores,
            agreement: agreement.transpose()?,
            labels,
            weights: chosen.weight.map(|_| next()),
            groups: chosen.by.map(|_| next()),
            clusters: chosen.cluster.map(|_| next()),
            forms: chosen.scores.iter().map(|scores| scores.form).collect(),
            first_row,
            rules: rules.clone(),
        };
        batch.check_agreement()?;
        Ok(batch)
    }

    /// The probability of a predicted class is one number, and the labels are used up.
    fn check_agreement(&self) -> Result<(), Error> {
        let setting = |name, rule: &str, value| Err(Error::InvalidSetting { name, rule: rule.to_owned(), value });
        let top_class = "\"top_class\" with a predicted class";
        let several = self.scores.iter().find(|scores| scores.n_classes > 1);
        match (&self.rules.pos_label, self.rules.multiclass, several) {
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
            forms: vec![self.forms[model]],
            first_row: 0,
            rules: self.rules.clone(),
        }
    }

    /// How scores are measured; the rules have been checked to fit.
    pub(crate) fn multiclass(&self) -> Multiclass {
        if self.agreement.is_some() { Multiclass::Auto } else { self.rules.multiclass }
    }

    pub(crate) fn ties(&self) -> Ties {
        self.rules.ties
    }

    /// The rows of a model, checked.
    pub(crate) fn predictions(&self, model: usize) -> Result<Predictions<'_>, Error> {
        self.input(model)?.check()
    }

    pub(crate) fn view<'a>(&self, predictions: &'a Predictions<'a>) -> Result<BinaryView<'a>, Error> {
        predictions.view(self.multiclass(), self.rules.ties)
    }

    /// A number for each row that the predictions kept, the same for rows of one cluster.
    pub(crate) fn cluster_numbers(&self, predictions: &Predictions<'_>) -> Result<Option<Vec<u32>>, Error> {
        self.clusters.as_ref().map(|column| groups::numbered(column, &kept_rows(predictions))).transpose()
    }

    /// The input of one model, borrowed.
    pub(super) fn input(&self, model: usize) -> Result<Input<'_>, Error> {
        fn floats(column: &Column) -> Result<calipers::Floats<'_>, Error> {
            column.floats().ok_or_else(|| Role::Weights.wrong_type(column.values.type_name()))
        }
        let (scores, outcomes) = (&self.scores[model], self.agreement.as_ref().unwrap_or(&self.labels));
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
        if self.agreement.is_some() {
            input = input.confidences();
        }
        let InputRules { sum_tolerance, invalid, .. } = self.rules;
        let input = input.first_row(self.first_row).classes(scores.n_classes);
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
