//! Why a row is invalid, and the error that says so: if the whole batch shows a mistake that people
//! make, such as swapped columns or percentages, the error names it.

use super::checks::rounding;
use super::tally::{LABELS_SEEN, note_labels};
use super::{Form, Input};
use crate::Error;

/// Why a row is invalid, without its text: cheap to make, so that counting is cheap.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    MissingScore,
    MissingLabel,
    MissingWeight,
    Score { class: usize },
    RowSum { sum: f64 },
    Label,
    Weight,
}

/// The kinds of rows that can be left out.
pub(crate) const KINDS: [&str; 9] = [
    "missing probability",
    "missing logit",
    "missing label",
    "missing weight",
    "invalid probability",
    "invalid logit",
    "invalid row sum",
    "invalid label",
    "invalid weight",
];

impl Fault {
    pub(super) fn kind(self, form: Form) -> &'static str {
        match (self, form) {
            (Fault::MissingScore, Form::Probabilities) => "missing probability",
            (Fault::MissingScore, Form::Logits) => "missing logit",
            (Fault::MissingLabel, _) => "missing label",
            (Fault::MissingWeight, _) => "missing weight",
            (Fault::Score { .. }, Form::Probabilities) => "invalid probability",
            (Fault::Score { .. }, Form::Logits) => "invalid logit",
            (Fault::RowSum { .. }, _) => "invalid row sum",
            (Fault::Label, _) => "invalid label",
            (Fault::Weight, _) => "invalid weight",
        }
    }
}

/// A fault that is not of some rows but of all, whose other rows would be measured wrongly: classes
/// that count from 1, percentages, logits, swapped arguments. They are an error even where bad rows
/// are counted.
pub(super) fn systematic<'a>(
    input: &Input<'_>,
    faults: impl Iterator<Item = &'a (usize, Fault)> + Clone,
) -> Option<(usize, Fault)> {
    let label = faults.clone().find(|(_, fault)| matches!(fault, Fault::Label));
    let score = faults.clone().find(|(_, fault)| matches!(fault, Fault::Score { .. }));
    let k = input.rules.n_classes;
    if let Some(&(row, fault)) = label
        && ((k > 2 && input.coded.is_none() && labels_start_at_one(input)) || looks_swapped(input))
    {
        return Some((row, fault));
    }
    let is_other_scale = || {
        input.rules.form == Form::Probabilities && (percentage_scale(input).is_some() || logit_range(input).is_some())
    };
    let n_bad = || faults.filter(|(_, fault)| matches!(fault, Fault::Score { .. })).count();
    score.filter(|_| is_other_scale() && 2 * n_bad() > input.n_rows()).copied()
}

/// The error for a fault; the rest of the batch shows whether the fault is systematic.
pub(super) fn error_of(input: &Input<'_>, row: usize, fault: Fault) -> Error {
    if matches!(fault, Fault::Label | Fault::Score { .. }) && looks_swapped(input) {
        return Error::Swapped;
    }
    let place = input.first_row + row as u64;
    let k = input.rules.n_classes;
    match fault {
        Fault::MissingScore | Fault::MissingLabel | Fault::MissingWeight => {
            Error::Missing { what: fault.kind(input.rules.form).trim_start_matches("missing "), row: place }
        }
        Fault::RowSum { sum } => Error::RowSum { row: place, sum, tolerance: input.rules.sum_tolerance },
        Fault::Weight => {
            // proof: a weight can only be at fault where there are weights
            let value = input.weights.map_or(f64::NAN, |weights| weights.get(row));
            Error::InvalidWeight { row: place, value }
        }
        Fault::Score { class } => {
            let value = input.scores.get(row * k + class);
            let class = (k > 1).then_some(class);
            if input.rules.form == Form::Logits {
                return Error::InvalidLogit { row: place, class, value };
            }
            match (percentage_scale(input), logit_range(input)) {
                (Some(max), _) if value > 1.0 => Error::Percentages { row: place, class, value, max },
                (_, Some((min, max))) => Error::LooksLikeLogits { row: place, class, value, min, max },
                _ => Error::InvalidProbability { row: place, class, value },
            }
        }
        Fault::Label => {
            if let Some(coded) = input.coded {
                let value = coded.text(&input.labels, row);
                return Error::UnknownLabel { row: place, rule: coded.rule.to_owned(), value };
            }
            let value = input.labels.display(row);
            let last = k.saturating_sub(1);
            if k <= 2 {
                Error::InvalidOutcome { row: place, value, labels: labels_of(input) }
            } else if input.labels.number(row) == Some(k as f64) && labels_start_at_one(input) {
                Error::LabelsFromOne { row: place, value, last }
            } else {
                Error::InvalidLabel { row: place, value, last }
            }
        }
    }
}

/// Labels that are fractions, or raw scores where these were expected, and scores that are only 0
/// and 1.
fn looks_swapped(input: &Input<'_>) -> bool {
    let scores_are_outcomes = (0..input.scores.len()).all(|index| matches!(input.scores.get(index), 0.0 | 1.0));
    let labels = || (0..input.n_rows()).filter_map(|row| input.labels.number(row));
    input.rules.n_classes == 1
        && scores_are_outcomes
        && labels().any(|label| label.fract() != 0.0)
        && (input.rules.form == Form::Logits || labels().all(|label| (0.0..=1.0).contains(&label)))
}

/// The largest score, if all are in [0, 100] and the largest is above 10: no slip, but a scale.
fn percentage_scale(input: &Input<'_>) -> Option<f64> {
    let scores = || (0..input.scores.len()).map(|index| input.scores.get(index));
    let max = scores().fold(f64::NEG_INFINITY, f64::max);
    (scores().all(|score| (0.0..=100.0).contains(&score)) && max > 10.0).then_some(max)
}

/// The smallest and the largest score, if logits look so: all are finite, and more than a quarter
/// are negative, and not by one number that stands for a missing value. Logits of outcomes that are
/// not all likely are so, and log-probabilities; probabilities with a few mistakes are not.
fn logit_range(input: &Input<'_>) -> Option<(f64, f64)> {
    let scores = || (0..input.scores.len()).map(|index| input.scores.get(index));
    let negative = || scores().filter(|score| *score < -rounding(input.rules.n_classes));
    let min = scores().fold(f64::INFINITY, f64::min);
    let max = scores().fold(f64::NEG_INFINITY, f64::max);
    let is_spread = 4 * negative().count() > input.scores.len() && negative().any(|score| score != min);
    (is_spread && scores().all(f64::is_finite)).then_some((min, max))
}

fn labels_start_at_one(input: &Input<'_>) -> bool {
    let last = input.rules.n_classes as f64;
    (0..input.n_rows())
        .all(|row| input.labels.number(row).is_some_and(|label| (1.0..=last).contains(&label) && label.fract() == 0.0))
}

/// The first few distinct labels of a batch, in words: `"yes", "no"`.
fn labels_of(input: &Input<'_>) -> String {
    let mut seen = Vec::new();
    note_labels(input, &mut seen);
    let texts: Vec<&str> = seen.iter().map(|(_, label)| label.as_str()).collect();
    texts.join(", ") + if seen.len() < LABELS_SEEN { "" } else { ", ..." }
}
