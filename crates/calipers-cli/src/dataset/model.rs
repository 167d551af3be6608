//! One result: a model in a file, or a group of its rows.

use std::path::{Path, PathBuf};

use calipers::{Form, Multiclass, Spec, Ties};

use crate::args::InputRules;
use crate::dataset::columns::{Chosen, Scores};
use crate::dataset::files::InputFile;
use crate::dataset::formats::Table;

/// Predictions, measured.
#[derive(Debug, Clone)]
pub(crate) struct Measured<F> {
    /// One, unless files were measured together.
    pub(crate) files: Vec<PathBuf>,
    /// What was read; a sketch does not know.
    pub(crate) columns: Option<Columns>,
    pub(crate) group: Option<Group>,
    pub(crate) method: Method,
    pub(crate) found: F,
}

/// What values were computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// All rows, in memory.
    Rows,
    /// A sketch of them.
    Sketch,
}

/// Rows that have the same value in a column.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) by: String,
    /// The value; `None` for the rows of all groups.
    pub(crate) key: Option<String>,
}

/// The columns of one model, and how they were read.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub(crate) prob: String,
    pub(crate) label: String,
    pub(crate) predicted: Option<String>,
    pub(crate) weight: Option<String>,
    /// What tells groups apart.
    pub(crate) by: Option<String>,
    /// What a column is called in the file.
    pub(crate) noun: &'static str,
    pub(crate) form: Form,
    pub(crate) multiclass: Multiclass,
    /// 1 for a plain column.
    pub(crate) n_classes: usize,
    /// Their names, where they have any.
    pub(crate) classes: Vec<String>,
    pub(crate) rules: InputRules,
    /// What was not named, in words: `probability from column prob`.
    pub(crate) guessed: Vec<String>,
}

impl Measured<()> {
    pub(super) fn new(file: &InputFile, columns: Option<Columns>, method: Method) -> Self {
        Measured { files: vec![file.name.clone()], columns, group: None, method, found: () }
    }
}

impl Measured<()> {
    /// The model with what these measures take of several classes, if they all take the same.
    pub(crate) fn measured_by(&self, specs: impl Iterator<Item = &'static Spec>) -> Self {
        let mut model = self.clone();
        if let Some(columns) = &mut model.columns {
            let mut taken = specs.map(|spec| columns.multiclass_of(spec));
            let first = taken.next();
            columns.multiclass = first.filter(|first| taken.all(|next| next == *first)).unwrap_or(columns.multiclass);
        }
        model
    }
}

impl<F> Measured<F> {
    /// The model, or a group of its rows, with what was found.
    pub(crate) fn with<G>(&self, group: Option<Group>, found: G) -> Measured<G> {
        Measured { files: self.files.clone(), columns: self.columns.clone(), group, method: self.method, found }
    }

    /// The first file, which stands for all.
    pub(crate) fn file(&self) -> &Path {
        self.files.first().map_or(Path::new(""), PathBuf::as_path)
    }

    pub(crate) fn prob(&self) -> Option<&str> {
        self.columns.as_ref().map(|columns| columns.prob.as_str())
    }

    pub(crate) fn multiclass(&self) -> Multiclass {
        self.columns.as_ref().map_or(Multiclass::Auto, |columns| columns.multiclass)
    }

    /// Whether it is a group of rows, and not all of them.
    pub(crate) fn is_group(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.key.is_some())
    }

    /// What a class is called, if it has a name other than its number.
    pub(crate) fn class_name(&self, class: usize) -> Option<&str> {
        let name = self.columns.as_ref()?.classes.get(class)?;
        (*name != class.to_string()).then_some(name)
    }

    pub(crate) fn ties(&self) -> Ties {
        self.columns.as_ref().map_or(Ties::First, |columns| columns.rules.ties)
    }
}

impl Columns {
    /// What a measure takes of several classes.
    pub(crate) fn multiclass_of(&self, spec: &Spec) -> Multiclass {
        // The probability of a predicted class is one column, and so that of the top class.
        if self.n_classes > 2 { spec.multiclass(self.rules.multiclass.asked, self.n_classes) } else { self.multiclass }
    }

    pub(super) fn new(
        table: &dyn Table,
        chosen: &Chosen,
        scores: &Scores,
        n_classes: usize,
        rules: &InputRules,
    ) -> Self {
        let name = |place: usize| table.names()[place].clone();
        Columns {
            prob: scores.name.clone(),
            classes: scores.classes.clone(),
            label: name(chosen.label),
            predicted: chosen.predicted.map(name),
            weight: chosen.weight.map(name),
            by: chosen.by.map(name),
            noun: table.noun(),
            form: scores.form,
            // The probability of a predicted class is that of the top class.
            multiclass: match chosen.predicted.is_some() || chosen.confidences {
                true => Multiclass::TopClass,
                false => rules.multiclass.asked.resolved(n_classes),
            },
            n_classes,
            rules: rules.clone(),
            guessed: guesses(table, chosen, scores, n_classes),
        }
    }
}

/// What was not named, in words.
fn guesses(table: &dyn Table, chosen: &Chosen, scores: &Scores, n_classes: usize) -> Vec<String> {
    let from = |place: usize| format!("{} {}", table.noun(), table.names()[place]);
    let score = match (scores.form, n_classes) {
        (Form::Probabilities, 1) => "probability",
        (Form::Probabilities, _) => "probabilities",
        (Form::Logits, 1) => "raw logit",
        (Form::Logits, _) => "raw logits",
    };
    let guessed = &chosen.guessed;
    let score_from = match &scores.places[..] {
        [place] => from(*place),
        places => {
            let names: Vec<&str> = places.iter().map(|place| table.names()[*place].as_str()).collect();
            // proof: there are several
            format!("{}s {} to {}", table.noun(), names[0], names[names.len() - 1])
        }
    };
    let label = match (chosen.predicted, n_classes) {
        (Some(predicted), _) => format!("outcome from whether {} equals {}", from(predicted), from(chosen.label)),
        (None, 1) if chosen.confidences => {
            format!("whether the prediction was right from {}", from(chosen.label))
        }
        (None, 1) => format!("outcome from {}", from(chosen.label)),
        (None, _) => format!("labels from {}", from(chosen.label)),
    };
    let all = [
        (guessed.scores || scores.form_guessed).then(|| format!("{score} from {score_from}")),
        (guessed.label || guessed.predicted).then_some(label),
        chosen.weight.filter(|_| guessed.weight).map(|weight| format!("weight from {}", from(weight))),
    ];
    all.into_iter().flatten().collect()
}
