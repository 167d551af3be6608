//! Rows that were left out: a sentence for each model, and a column where there are groups.

use calipers::InputReport;

use super::grid::Cell;
use super::screen::{Screen, Tone};
use super::{legend, number};
use crate::commands::analysis::answers::Answers;
use crate::dataset::groups::By;
use crate::dataset::model::Measured;

/// A line for each model of which rows were left out, or one if it is the same for all; and groups
/// of which no row is left.
pub(crate) fn of_results(results: &[Measured<Answers>], names: &[String]) -> Vec<String> {
    // Groups of a model are in the table.
    let is_model = |measured: &Measured<Answers>| measured.group.as_ref().is_none_or(|group| group.key.is_none());
    let models = || results.iter().zip(names).filter(|(measured, _)| is_model(measured));
    let rows = sentences(models().map(|(measured, name)| (name.as_str(), &measured.found.input)));
    rows.into_iter().chain(models().filter_map(|(measured, _)| empty_groups(measured))).collect()
}

/// How many rows of each model were left out, and why; one sentence if it is the same for all.
pub(crate) fn sentences<'a>(models: impl Iterator<Item = (&'a str, &'a InputReport)>) -> Vec<String> {
    let all: Vec<(&str, Option<String>)> = models.map(|(name, input)| (name, input.left_out_sentence())).collect();
    let of_models = || all.iter().filter_map(|(name, sentence)| Some(format!("{name}: {}", sentence.as_ref()?)));
    match &all[..] {
        [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => first.iter().cloned().collect(),
        _ => of_models().collect(),
    }
}

/// Lines that stand out, for the top of an output.
pub(crate) fn painted(lines: &[String], screen: &Screen) -> String {
    let text: String = lines.iter().map(|line| screen.prose(&format!("{line}\n"))).collect();
    text.lines().map(|line| screen.paint(line, Tone::Warning) + "\n").collect()
}

/// The groups of a model of which no row is left.
pub(crate) fn empty_groups(measured: &Measured<Answers>) -> Option<String> {
    groups_without_rows(&measured.group.as_ref()?.by, &measured.found.empty_groups)
}

pub(crate) fn groups_without_rows(by: &By, empty: &[String]) -> Option<String> {
    let keys: Vec<String> = empty.iter().map(|key| legend::key(key).to_owned()).collect();
    let have = if empty.len() == 1 { "has" } else { "have" };
    (!empty.is_empty()).then(|| crate::printable(&format!("{by} {} {have} no valid row.", legend::few(&keys))))
}

/// Whether a table of several results has a column of the rows that were left out.
pub(crate) fn is_column(results: &[Measured<Answers>]) -> bool {
    results.len() > 1 && results.iter().any(|measured| measured.found.input.n_left_out() > 0)
}

pub(crate) fn cell(measured: &Measured<Answers>) -> Cell {
    match measured.found.input.n_left_out() {
        0 => Cell::toned("0", Tone::Quiet),
        n => Cell::toned(number::count(n), Tone::Warning),
    }
}
