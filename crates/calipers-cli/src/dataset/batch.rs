//! Columns of a file -> what the core checks.

use anyhow::{Result, bail};
use calipers::{Error, Form, Input, Invalid, Multiclass};

use crate::args::{InputArgs, InputRules};
use crate::dataset::columns::{self, Chosen};
use crate::dataset::files::InputFile;
use crate::dataset::formats::{self, Column, Role, Table, Values};

/// A verb that needs all rows of a file at once and has one figure for them, in the words of its refusals.
pub(crate) struct WholeFiles {
    /// `sweep`
    pub(crate) verb: &'static str,
    /// `swept`
    pub(crate) done: &'static str,
    /// What there would be for each class: `sweep`, `curve`.
    pub(crate) figure: &'static str,
    /// What needs the rows.
    pub(crate) needs: &'static str,
}

impl WholeFiles {
    /// The rules, without groups and classes.
    pub(crate) fn rules(&self, args: &InputArgs) -> Result<InputRules> {
        let rules = args.rules()?;
        if rules.multiclass == Multiclass::Classwise {
            bail!("--multiclass classwise has a {} for each class: name one, as --multiclass 3", self.figure);
        }
        if args.by.is_some() {
            bail!("--by is not taken by {}: give a file for each group", self.verb);
        }
        Ok(rules)
    }

    /// A table, which of its columns is what, and those that are [`wanted`].
    pub(crate) fn read(
        &self,
        file: &InputFile,
        args: &InputArgs,
        cluster: Option<&str>,
        rules: &InputRules,
    ) -> Result<(Box<dyn Table>, Chosen, Vec<Column>)> {
        if file.is_sketch() {
            bail!("a sketch cannot be {}: it has lost the rows, which {} need", self.done, self.needs);
        }
        let (table, chosen) = columns::open(file, args, cluster, rules.invalid)?;
        match formats::collect(&*table, &wanted(&chosen, rules), rules.limit, u64::MAX)? {
            Some(columns) => Ok((table, chosen, columns)),
            None => bail!("too many rows to keep"),
        }
    }
}

/// The chosen columns of a file, read.
pub(crate) struct Loaded {
    /// One column for each model, in the order of [`Chosen::scores`].
    pub(crate) scores: Vec<Column>,
    labels: Column,
    weights: Option<Column>,
    /// The labels have become: was the predicted class right?
    compared: bool,
    first_row: u64,
}

/// The columns that are read, each for what it is: scores, labels, then what else was chosen.
pub(crate) fn wanted(chosen: &Chosen, rules: &InputRules) -> Vec<(usize, Role)> {
    let label_role = match chosen.predicted {
        Some(_) => Role::Classes,
        None => Role::Labels { as_text: rules.positive.is_some() },
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

impl Loaded {
    /// `columns` are those that are [`wanted`], but for groups and clusters, from that row of the file on.
    pub(crate) fn new(
        columns: Vec<Column>,
        first_row: u64,
        chosen: &Chosen,
        rules: &InputRules,
    ) -> Result<Self, Error> {
        let mut columns = columns.into_iter();
        let scores: Vec<Column> = columns.by_ref().take(chosen.scores.len()).collect();
        // proof: a table returns a column for each that is wanted, in order
        let mut next = || columns.next().unwrap_or_else(|| Column::plain(Values::Bool(Vec::new())));
        let labels = next();
        let (labels, compared) = match chosen.predicted {
            Some(_) => (agreement(&next(), &labels, first_row, rules.invalid)?, true),
            None => (labels, false),
        };
        let weights = chosen.weight.map(|_| next());
        let loaded = Loaded { scores, labels, weights, compared, first_row };
        loaded.check_compared(rules)?;
        Ok(loaded)
    }

    /// The probability of a predicted class is one number, and the labels are used up.
    fn check_compared(&self, rules: &InputRules) -> Result<(), Error> {
        if !self.compared {
            return Ok(());
        }
        let refused = |name, rule: &str, value| Err(Error::InvalidSetting { name, rule: rule.to_owned(), value });
        if let Some(positive) = &rules.positive {
            return refused("pos_label", "left out with a predicted class", format!("{positive:?}"));
        }
        match rules.multiclass {
            Multiclass::Auto | Multiclass::TopClass => {}
            Multiclass::Classwise => {
                return refused("multiclass", "\"top_class\" with a predicted class", "\"classwise\"".to_owned());
            }
            Multiclass::Class(class) => {
                return refused("multiclass", "\"top_class\" with a predicted class", class.to_string());
            }
        }
        match self.scores.iter().find(|scores| scores.n_classes > 1) {
            Some(scores) => {
                let got = format!("(n, {})", scores.n_classes);
                Err(Error::Shape { what: "probabilities", expected: "(n,) with a predicted class", got })
            }
            None => Ok(()),
        }
    }

    /// Some rows of one model, of which none is missing.
    pub(crate) fn select(&self, scores: &Column, rows: &[usize]) -> (Loaded, Column) {
        let loaded = Loaded {
            scores: Vec::new(),
            labels: self.labels.select(rows),
            weights: self.weights.as_ref().map(|weights| weights.select(rows)),
            compared: self.compared,
            first_row: 0,
        };
        (loaded, scores.select(rows))
    }

    /// The column of weights, if there is one.
    pub(crate) fn weights(&self) -> Option<&Column> {
        self.weights.as_ref()
    }

    /// How the scores of a model are measured; rules have been checked to fit.
    pub(crate) fn multiclass(&self, rules: &InputRules) -> Multiclass {
        if self.compared { Multiclass::Auto } else { rules.multiclass }
    }

    /// The input of one model, borrowed.
    pub(crate) fn input<'a>(&'a self, scores: &'a Column, form: Form, rules: &InputRules) -> Result<Input<'a>, Error> {
        let floats =
            |column: &'a Column| column.floats().ok_or_else(|| Role::Weights.wrong_type(column.values.type_name()));
        let (values, labels) = (floats(scores)?, self.labels.labels());
        let mut input = match form {
            Form::Probabilities => Input::probabilities(values, labels),
            Form::Logits => Input::logits(values, labels),
        };
        if let Some(weights) = &self.weights {
            input = input.weights(floats(weights)?);
        }
        if let Some(positive) = &rules.positive {
            input = input.positive(positive.as_str());
        }
        if self.compared {
            input = input.confidences();
        }
        input = input.first_row(self.first_row);
        let missing = |column: &'a Column| column.missing.as_deref();
        Ok(input.classes(scores.n_classes).sum_tolerance(rules.sum_tolerance).invalid(rules.invalid).missing(
            missing(scores),
            missing(&self.labels),
            self.weights.as_ref().and_then(missing),
        ))
    }
}

/// A class, for comparing columns of different types.
enum Class<'a> {
    Integer(i128),
    Number(f64),
    Text(&'a str),
}

fn class(values: &Values, row: usize) -> Class<'_> {
    match values {
        Values::Bool(values) => Class::Integer(values[row].into()),
        Values::I8(values) => Class::Integer(values[row].into()),
        Values::I16(values) => Class::Integer(values[row].into()),
        Values::I32(values) => Class::Integer(values[row].into()),
        Values::I64(values) => Class::Integer(values[row].into()),
        Values::U8(values) => Class::Integer(values[row].into()),
        Values::U16(values) => Class::Integer(values[row].into()),
        Values::U32(values) => Class::Integer(values[row].into()),
        Values::U64(values) => Class::Integer(values[row].into()),
        Values::F32(values) => Class::Number(values[row].into()),
        Values::F64(values) => Class::Number(values[row]),
        Values::Text(values) => Class::Text(&values[row]),
    }
}

/// The outcome: whether the predicted class is the label, and NaN where either is.
fn agreement(predicted: &Column, labels: &Column, first_row: u64, invalid: Invalid) -> Result<Column, Error> {
    let n = labels.values.len();
    if predicted.values.len() != n {
        return Err(Error::LengthMismatch { what: "predicted classes", got: predicted.values.len(), expected: n });
    }
    let is_text = |column: &Column| matches!(column.values, Values::Text(_));
    if is_text(predicted) != is_text(labels) {
        let what = "predicted classes and labels".to_owned();
        let got = format!("{} and {}", predicted.values.type_name(), labels.values.type_name());
        return Err(Error::WrongType { what, expected: "of one type", got });
    }
    if let (Invalid::Refuse, Some(row)) = (invalid, (0..n).find(|&row| predicted.is_missing(row))) {
        return Err(Error::Missing { what: "predicted class", row: first_row + row as u64 });
    }
    let outcome = |row: usize| match (class(&predicted.values, row), class(&labels.values, row)) {
        (Class::Integer(a), Class::Integer(b)) => f64::from(a == b),
        (Class::Text(a), Class::Text(b)) => f64::from(a == b),
        (a, b) => {
            let (a, b) = (number(&a), number(&b));
            if a.is_nan() || b.is_nan() { f64::NAN } else { f64::from(a == b) }
        }
    };
    let missing: Vec<bool> = (0..n).map(|row| predicted.is_missing(row) || labels.is_missing(row)).collect();
    Ok(Column {
        values: (0..n).map(outcome).collect::<Vec<f64>>().into(),
        n_classes: 1,
        missing: missing.contains(&true).then_some(missing),
    })
}

/// The first row in which two columns of labels or weights, of one length, differ, and both in words.
pub(crate) fn first_difference(a: &Column, b: &Column) -> Option<(usize, String, String)> {
    let words = |column: &Column, row: usize| match class(&column.values, row) {
        _ if column.is_missing(row) => "none".to_owned(),
        Class::Integer(class) => class.to_string(),
        Class::Number(class) => class.to_string(),
        Class::Text(class) => format!("{class:?}"),
    };
    let differ = |row: &usize| {
        if a.is_missing(*row) || b.is_missing(*row) {
            return a.is_missing(*row) != b.is_missing(*row);
        }
        match (class(&a.values, *row), class(&b.values, *row)) {
            (Class::Integer(a), Class::Integer(b)) => a != b,
            (Class::Text(a), Class::Text(b)) => a != b,
            (Class::Text(_), _) | (_, Class::Text(_)) => true,
            // Written so that NaN equals itself: what is no label is refused elsewhere.
            (a, b) => number(&a).total_cmp(&number(&b)).is_ne(),
        }
    };
    (0..a.n_rows().min(b.n_rows())).find(differ).map(|row| (row, words(a, row), words(b, row)))
}

fn number(class: &Class<'_>) -> f64 {
    match class {
        Class::Integer(class) => *class as f64,
        Class::Number(class) => *class,
        Class::Text(_) => f64::NAN,
    }
}
