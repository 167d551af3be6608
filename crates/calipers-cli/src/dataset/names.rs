//! The names that people give to columns, and which columns of a table have them.

use anyhow::{Result, anyhow};

use super::formats::Table;

/// What a column may be, and the names that tell it. Of several columns the one with the clearer
/// name is taken; two of names that are as clear are an error.
pub(super) struct Usual {
    /// In words.
    pub(super) what: &'static str,
    /// The option that chooses the column.
    pub(super) option: &'static str,
    /// Each list is clearer than the next.
    names: &'static [&'static [&'static str]],
    /// Some of them, for an error.
    examples: &'static str,
}

pub(super) const PROBABILITY: Usual = Usual {
    what: "probability",
    option: "--prob",
    names: &[CLEAR_PROBABILITY, LOOSE_PROBABILITY],
    examples: "prob, proba, y_prob, score, p or logit",
};

const CLEAR_PROBABILITY: &[&str] = &[
    "prob",
    "probs",
    "proba",
    "probas",
    "probability",
    "probabilities",
    "y_prob",
    "y_probs",
    "y_proba",
    "pred_prob",
    "pred_proba",
    "predicted_prob",
    "predicted_proba",
    "predicted_probability",
    "prob_positive",
    "positive_probability",
];

/// What may also be something else.
const LOOSE_PROBABILITY: &[&str] = &[
    "p",
    "p_hat",
    "phat",
    "p1",
    "p_1",
    "prob_1",
    "prob1",
    "proba_1",
    "score",
    "scores",
    "y_score",
    "y_scores",
    "risk",
    "risk_score",
    "predicted_risk",
    "forecast",
];

/// The probability of a predicted class: nothing without the class, or whether it was right.
pub(super) const CONFIDENCE: Usual = Usual {
    what: "confidence",
    option: "--prob",
    names: &[&["conf", "confidence", "confidences", "top_prob", "top_probability", "max_prob", "max_probability"]],
    examples: "confidence",
};

pub(super) const LOGIT: Usual =
    Usual { what: "logit", option: "--prob", names: &[&["logit", "logits"]], examples: "logit" };

pub(super) const LABEL: Usual = Usual {
    what: "label",
    option: "--label",
    names: &[
        &["label", "labels", "y_true", "target", "targets", "outcome", "outcomes"],
        &[
            "y",
            "y_test",
            "true_label",
            "true_labels",
            "true_class",
            "truth",
            "ground_truth",
            "gt",
            "gold",
            "gold_label",
            "actual",
            "actuals",
            "observed",
            "event",
            "class",
        ],
        CORRECT_NAMES,
    ],
    examples: "label, y_true, target, outcome or y",
};

const CORRECT_NAMES: &[&str] = &["correct", "is_correct", "was_correct"];

/// Whether a predicted class was right.
pub(super) const CORRECT: Usual =
    Usual { what: "label", option: "--label", names: &[CORRECT_NAMES], examples: "correct" };

/// The predicted class; or a probability, if there is no other and the values are fractions.
pub(super) const PREDICTED: Usual = Usual {
    what: "predicted class",
    option: "--pred",
    names: &[&[
        "pred",
        "prediction",
        "predicted",
        "y_pred",
        "y_hat",
        "yhat",
        "pred_label",
        "pred_class",
        "predicted_label",
        "predicted_class",
    ]],
    examples: "pred",
};

/// Not `weight`: it may be that of a patient.
pub(super) const WEIGHT: Usual = Usual {
    what: "weight",
    option: "--weight",
    names: &[&["sample_weight", "sample_weights"]],
    examples: "sample_weight",
};

/// How many names an error lists.
const MOST_LISTED: usize = 12;

impl Usual {
    pub(super) fn fits(&self, name: &str) -> bool {
        self.names.iter().any(|names| is_any(name, names))
    }

    /// The column of the clearest name; an error if two have names that are as clear.
    pub(super) fn find(&self, table: &dyn Table) -> Result<Option<usize>> {
        self.find_within(table, 0..self.names.len())
    }

    /// The same, among the clearest of the names or among the others.
    pub(super) fn find_within(&self, table: &dyn Table, lists: std::ops::Range<usize>) -> Result<Option<usize>> {
        let names = table.names();
        for list in &self.names[lists] {
            let places: Vec<usize> = (0..names.len()).filter(|place| is_any(&names[*place], list)).collect();
            match places[..] {
                [] => {}
                [place] => return Ok(Some(place)),
                [..] => {
                    let found: Vec<&str> = places.iter().map(|place| names[*place].as_str()).collect();
                    let (noun, what, option) = (table.noun(), self.what, self.option);
                    let found = found.join(", ");
                    return Err(anyhow!("more than one {noun} may be the {what}: {found}; choose with {option}"));
                }
            }
        }
        Ok(None)
    }

    /// An error that no column has such a name.
    pub(super) fn absent(&self, table: &dyn Table) -> anyhow::Error {
        let Usual { what, option, examples, .. } = self;
        let noun = table.noun();
        anyhow!("no {noun} is named like a {what} ({examples}): choose one with {option}; {}", there_are(table))
    }
}

/// The column of that name, exactly; or else the only one that differs in case alone.
pub(super) fn find(table: &dyn Table, option: &str, name: &str) -> Result<usize> {
    let places = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..table.names().len()).filter(|place| same(&table.names()[*place])).collect()
    };
    let exact = places(&|other| other == name);
    match if exact.is_empty() { places(&|other| is_any(other, &[name])) } else { exact }[..] {
        [place] => Ok(place),
        [] => {
            let nearest = table
                .names()
                .iter()
                .map(|other| (strsim::osa_distance(&name.to_lowercase(), &other.to_lowercase()), other))
                .min();
            let meant = match nearest {
                Some((distance, other)) if distance <= name.chars().count().div_ceil(3) => {
                    format!("did you mean {other}? ")
                }
                _ => String::new(),
            };
            Err(anyhow!("no {} {name} for {option}; {meant}{}", table.noun(), there_are(table)))
        }
        [..] => Err(anyhow!("more than one {} {name} for {option}; {}", table.noun(), there_are(table))),
    }
}

fn is_any(name: &str, candidates: &[&str]) -> bool {
    candidates.iter().any(|candidate| plain(candidate) == plain(name))
}

/// In lower case, with `_` between words: `Predicted Probability` is `predicted_probability`.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-', '.'], "_")
}

fn there_are(table: &dyn Table) -> String {
    let names = table.names();
    let listed = names[..names.len().min(MOST_LISTED)].join(", ");
    match names.len().saturating_sub(MOST_LISTED) {
        0 => format!("the {}s are {listed}", table.noun()),
        more => format!("the {}s are {listed} and {more} more", table.noun()),
    }
}
