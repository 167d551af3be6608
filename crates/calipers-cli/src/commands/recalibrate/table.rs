//! Maps and gains for people and for programs.

use calipers::Assessment;
use calipers::recalibrate::{BinaryMap, Candidate, GainInterval, GroupMaps, GroupRecord, Left, Parameter, Verdict};
use serde_json::{Value, json};

use super::groups::OfGroups;
use super::model::Found;
use crate::render::grid::{Cell, Grid};
use crate::render::number;
use crate::render::screen::{Screen, Tone};
use crate::render::{cells, left_out};

/// The sentence, the parameters, and where the map is.
pub(super) fn of_fit(found: &Found, written: &str, screen: &Screen) -> String {
    let mut text = screen.prose(&format!("{}\n", found.sentence));
    let left_out = left_out::sentences(std::iter::once(("", &found.input)));
    text += &left_out::painted(&left_out, screen);
    text += "\n";
    if let Some(of_groups) = &found.of_groups {
        text += &of_groups.tables(&found.parameters, screen);
        text += "\n";
    } else if !found.parameters.is_empty() {
        text += &of_fitted(&found.parameters).draw(screen);
        text += "\n";
    }
    let mut notes: String = found.notes.iter().map(|note| format!("{note}\n")).collect();
    if found.of_groups.is_some() {
        notes += "own share: how much of a map the rows of its own group decide. spread: how much maps differ among \
                  groups, as a standard deviation. worse by: the log-loss out of fold less that of partially pooled \
                  maps.\n";
    }
    text + &screen.notes(&(notes + written))
}

pub(super) fn of_fitted(parameters: &[Parameter]) -> Grid {
    let errors = parameters.iter().map(|parameter| parameter.standard_error);
    of_parameters(parameters.iter().map(|parameter| (parameter.name, parameter.value)), errors)
}

pub(super) fn of_parameters<'a>(
    parameters: impl Iterator<Item = (&'a str, f64)> + Clone,
    errors: impl Iterator<Item = Option<f64>>,
) -> Grid {
    let mut grid = Grid::default();
    grid.names("parameter", parameters.clone().map(|(name, _)| name));
    grid.numbers("value", parameters.map(|(_, value)| number::significant(value)));
    let error = |error: Option<f64>| error.map_or_else(Cell::dash, |error| number::significant(error).into());
    grid.numbers("standard error", errors.map(error));
    grid
}

/// The parameters of each group, with the rows that are known of it.
pub(super) fn of_groups(maps: &GroupMaps, of_fit: &[GroupRecord]) -> Grid {
    let mut grid = Grid::with_whole_names();
    let name = |name: &String| if name.is_empty() { "(none)".to_owned() } else { name.clone() };
    grid.names("group", maps.names.iter().map(name));
    if of_fit.len() == maps.names.len() {
        grid.numbers("rows", of_fit.iter().map(|group| number::count(group.n)));
        grid.numbers("own share", of_fit.iter().map(|group| format!("{:.0} %", 100.0 * group.own_share)));
    }
    for (place, parameter) in maps.method().parameter_names().iter().enumerate() {
        let value =
            |map: &BinaryMap| map.parameters.get(place).map_or_else(Cell::dash, |x| number::significant(*x).into());
        grid.numbers(parameter, maps.maps.iter().map(value));
    }
    grid
}

/// An interval of a gain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) level: f64,
}

impl From<GainInterval> for Ends {
    fn from(interval: GainInterval) -> Self {
        Ends { lower: interval.lower, upper: interval.upper, level: interval.level }
    }
}

/// `[+0.012, +0.034]`.
pub(super) fn interval(interval: &Ends) -> String {
    let decimals = decimals(interval);
    // Adding 0 turns -0 into 0.
    format!("[{:+.decimals$}, {:+.decimals$}]", interval.lower + 0.0, interval.upper + 0.0)
}

pub(super) fn gain(gain: f64, interval: &Ends) -> String {
    format!("{:+.*}", decimals(interval), gain + 0.0)
}

pub(super) fn decimals(interval: &Ends) -> usize {
    number::decimals(0.5 * (interval.upper - interval.lower))
}

pub(super) fn verdict(verdict: Verdict) -> Cell {
    let tone = if verdict == Verdict::Hurts { Tone::Warning } else { Tone::Plain };
    Cell::toned(verdict.name(), tone)
}

/// One line for each method; a method without a fit has the reason in place of its numbers.
pub(super) fn of_methods(all: &[(&'static str, Result<Found, String>)], level: f64) -> Grid {
    let found = || all.iter().map(|(_, found)| found.as_ref().ok());
    let cell =
        |text: &dyn Fn(&Found) -> Cell| found().map(|found| found.map_or_else(Cell::dash, text)).collect::<Vec<Cell>>();
    let mut grid = Grid::with_whole_names();
    let name = |(name, found): &(&'static str, Result<Found, String>)| match found {
        Ok(found) if found.candidates.is_some() => format!("{name}: {}", found.method.name()),
        _ => (*name).to_owned(),
    };
    grid.names("method", all.iter().map(name));
    grid.numbers("log-loss", cell(&|found| format!("{:.*}", decimals(&found.interval), found.log_loss_after).into()));
    grid.numbers("gain", cell(&|found| gain(found.gain, &found.interval).into()));
    grid.beside("interval", cell(&|found| interval(&found.interval).into()));
    grid.numbers("p", cell(&|found| cells::p_value(found.floor.map(|floor| floor.p_value), 1.0 - level)));
    let after = |found: &Found| found.left.as_ref().map(|left| left.after.clone());
    grid.numbers("LS-ECE", cell(&|found| after(found).map_or_else(Cell::dash, |after| value(&after).into())));
    grid.beside("floor", cell(&|found| cells::floor(after(found).and_then(|after| after.floor).as_ref())));
    grid.notes("verdict", cell(&|found| verdict(found.verdict)));
    grid.notes("ranks kept", cell(&|found| if found.keeps_ranks { "yes".into() } else { "no".into() }));
    grid
}

/// A value with the digits that its noise floor leaves.
fn value(assessment: &Assessment) -> String {
    match &assessment.floor {
        Some(floor) => format!("{:.*}", number::decimals(floor.deviation), assessment.estimate.value),
        None => number::significant(assessment.estimate.value),
    }
}

/// LS-ECE before and after.
pub(super) fn left_to_json(left: &Left) -> Value {
    let one = |assessment: &Assessment| {
        json!({
            "value": assessment.estimate.value,
            "floor": assessment.floor.as_ref().map(|floor| floor.mean),
            "p_value": assessment.floor.as_ref().map(|floor| floor.p_value),
            "significant": assessment.significant,
        })
    };
    let measure = left.before.estimate.measure();
    json!({ "measure": measure, "before": one(&left.before), "after": one(&left.after), "sentence": left.sentence() })
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "method": candidate.name,
        "loss": candidate.loss,
        "difference": candidate.difference,
        "standard_error": candidate.standard_error,
        "error": candidate.reason,
    })
}

/// The result of one method.
pub(super) fn to_json(found: &Found) -> Value {
    let parameters = found.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "value": parameter.value,
            "standard_error": parameter.standard_error,
        })
    });
    let (groups, pooling) = found.of_groups.as_ref().map_or((Value::Null, Value::Null), OfGroups::to_json);
    json!({
        "method": found.method.name(),
        "groups": groups,
        "pooling": pooling,
        "n": found.n,
        "log_loss_before": found.log_loss_before,
        "log_loss_after": found.log_loss_after,
        "gain": found.gain,
        "interval": { "lower": found.interval.lower, "upper": found.interval.upper, "level": found.interval.level },
        "floor": found.floor,
        "left": found.left.as_ref().map(left_to_json),
        "candidates": found.candidates.as_ref().map(|all| all.iter().map(candidate).collect::<Vec<Value>>()),
        "verdict": found.verdict.name(),
        "sentence": found.sentence,
        "n_folds": found.n_folds,
        "keeps_ranks": found.keeps_ranks,
        "parameters": parameters.collect::<Vec<Value>>(),
        "notes": found.notes,
    })
}
