//! Recalibration: the verdict, the curves before and after, the map, and the numbers behind them.

use calipers::LsCurve;
use calipers::recalibrate::{Left, Method, Parameter};
use maud::{Markup, html};

use super::figure::{Panel, Shown};
use super::table::Table;
use crate::charts::{self, Axes};
use crate::gather::{Candidate, MapCurve, ModelValues, Recalibrated, Recalibration, Smoothed, Values};
use crate::number::{decimals, p_in_words, percent, plus_minus, significant};

const AFTER: &str = "Each row is recalibrated by a map that is fitted to other rows, so that the curve after shows what \
                     new rows would. Both are smoothed with the same sigma.";
const MAP: &str = "The map is what recalibration makes of each probability. It is fitted to all rows.";
const BAND: &str = "The band is pointwise, for the map that infinitely many rows would give.";

/// The section of a model: the verdict, then the charts and the numbers.
pub(super) fn of_model(values: &Values, place: usize, model: &ModelValues, shown: &mut Shown) -> Markup {
    let content = match &model.recalibration {
        Recalibration::Not(reason) => html! { p class="note" { "Recalibration is not available: " (reason) "." } },
        Recalibration::Done(found) => {
            let panels = panels(values, model);
            let figures: Vec<(&str, Markup)> = panels
                .iter()
                .map(|panel| (title(panel.kind), shown.figure(place, values.name_of(model), panel)))
                .collect();
            html! {
                p class="lead" { (found.sentence) }
                @if let Some(left) = &found.left { p class="in-numbers" { (left.sentence()) } }
                div class="charts" {
                    @for (title, figure) in &figures { div class="chart" { h4 { (title) } (figure) } }
                    div class="chart" { h4 { "In numbers" } div { (numbers(found)) } }
                }
            }
        }
    };
    html! {
        div class="parts recalibration" id={ "recalibration-" (place) } {
            h3 { "Recalibration" }
            (content)
        }
    }
}

const BEFORE_AND_AFTER: &str = "recalibration_curve";
const OF_MAP: &str = "recalibration_map";

fn title(kind: &str) -> &'static str {
    if kind == OF_MAP { "The map" } else { "Before and after" }
}

/// The charts of a model: the curves, and the map of a binary outcome.
pub(super) fn panels(values: &Values, model: &ModelValues) -> Vec<Panel> {
    let Recalibration::Done(found) = &model.recalibration else { return Vec::new() };
    let chosen = model.reliability.smoothed.get(model.reliability.chosen);
    let after = found.after.as_ref().filter(|after| charts::is_visible(&after.0, &after.1));
    let curves = chosen.zip(after).map(|(before, after)| curves_panel(model, before, after));
    let map = found.curve.as_ref().map(|map| map_panel(values, model, map));
    curves.into_iter().chain(map).collect()
}

fn curves_panel(model: &ModelValues, before: &Smoothed, (after, near): &(LsCurve, Vec<f64>)) -> Panel {
    let rates = [(&before.curve, &before.rows_nearby), (after, near)].map(charts::drawn);
    let linear = Axes::linear(&model.reliability).holding(&after.probabilities, &rates[1]);
    let logit = Axes::logit_of_all([(&before.curve, &before.rows_nearby), (after, near)].into_iter());
    let chart = |axes: Axes| charts::before_and_after(&model.name, before, (after, near), axes);
    let table = Table::of_columns(&[
        ("probability", &after.probabilities),
        ("outcome rate before", &rates[0]),
        ("outcome rate after", &rates[1]),
    ]);
    Panel::new(BEFORE_AND_AFTER, chart(linear), table, AFTER).view("logit", vec![chart(logit)])
}

fn map_panel(values: &Values, model: &ModelValues, map: &MapCurve) -> Panel {
    let name = format!("{} band", percent(values.options.level));
    let linear = Axes::linear(&model.reliability).holding(&map.probabilities, &map.recalibrated);
    let chosen = model.reliability.smoothed.get(model.reliability.chosen);
    let logit = chosen.map_or(Axes::Logit(0.01, 0.99), Axes::logit);
    let chart = |axes: Axes| charts::map(&model.name, map, axes, &name);
    let mut columns: Vec<(&str, &[f64])> = vec![("predicted", &map.probabilities), ("recalibrated", &map.recalibrated)];
    let mut text = MAP.to_owned();
    if !map.lower.is_empty() {
        columns.extend([("band from", &map.lower[..]), ("band to", &map.upper[..])]);
        text = format!("{MAP} {BAND}");
    }
    Panel::new(OF_MAP, chart(linear), Table::of_columns(&columns), &text).view("logit", vec![chart(logit)])
}

fn numbers(found: &Recalibrated) -> Markup {
    // A model that is certain and right has log-losses of which all digits are 0.
    let places = decimals(found.interval.upper - found.interval.lower).min(6);
    let show = |value: f64| fixed(value, places);
    let is_identity = found.method == Method::Identity;
    html! {
        dl class="facts" {
            dt { "Verdict" } dd { (found.verdict.name()) }
            dt { "Log-loss" }
            dd { (show(found.log_loss_before)) @if !is_identity { " before, " (show(found.log_loss_after)) " after" } }
            @if !is_identity {
                dt { "Gain" }
                dd {
                    (show(found.gain)) ", " (percent(found.interval.level)) " interval "
                    (show(found.interval.lower)) " to " (show(found.interval.upper))
                }
            }
            @if let Some(floor) = &found.floor {
                dt { "By chance" }
                dd { "calibrated predictions seem to gain " (plus_minus(floor.mean, floor.deviation)) " (" (p_in_words(floor.p_value)) ")" }
            }
            @if let Some(left) = &found.left { (ls_ece(left)) }
            @if !is_identity {
                dt { "Top class" }
                dd { "changes in " (share(found.top_class_changed)) " of rows" }
            }
            dt { "Method" }
            dd { (words(found.method.name())) @for each in &found.parameters { br; (parameter(each)) } }
        }
        @if !is_identity {
            p class="note" {
                "After is out of fold, in " (found.n_folds) " folds. The interval is for the gain on new rows of the \
                 map that is fitted to all rows."
            }
        }
        @if !found.candidates.is_empty() { p class="note" { (candidates(&found.candidates, places)) } }
        @for note in &found.notes { p class="note" { (note) } }
    }
}

/// With so many decimals, and without a sign before zeros.
fn fixed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    match text.strip_prefix('-') {
        Some(zeros) if zeros.chars().all(|digit| "0.".contains(digit)) => zeros.to_owned(),
        _ => text,
    }
}

/// A share of the rows in per cent, with one decimal.
fn share(share: f64) -> String {
    if share == 0.0 { "none".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}

/// A name of several words.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// What the method was chosen of.
fn candidates(candidates: &[Candidate], places: usize) -> String {
    let each = |candidate: &Candidate| match candidate.log_loss {
        Some(loss) => format!("{} {}", words(&candidate.name), fixed(loss, places)),
        None => format!("{} has no fit", words(&candidate.name)),
    };
    let all: Vec<String> = candidates.iter().map(each).collect();
    format!(
        "The method is chosen by log-loss out of fold, and one with many parameters has to be clearly better: {}.",
        all.join(", ")
    )
}

/// LS-ECE before and after, with what a calibrated model would have.
fn ls_ece(left: &Left) -> Markup {
    let places = decimals(left.after.interval.upper - left.after.interval.lower);
    let show = |value: f64| fixed(value, places);
    html! {
        dt { "LS-ECE" }
        dd {
            (show(left.before.estimate.value)) " before, " (show(left.after.estimate.value)) " after"
            @if let Some(floor) = &left.after.floor { "; by chance " (show(floor.mean)) }
        }
    }
}

fn parameter(parameter: &Parameter) -> String {
    match parameter.standard_error {
        Some(deviation) => format!("{} {}", parameter.name, plus_minus(parameter.value, deviation)),
        None => format!("{} {}", parameter.name, significant(parameter.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_no_sign() {
        let cases = [(-0.0, "0.000"), (-0.0004, "0.000"), (-0.0006, "-0.001"), (0.25, "0.250"), (-10.0, "-10.000")];
        for (value, text) in cases {
            assert_eq!(fixed(value, 3), text);
        }
        assert_eq!([0.0, 0.0312].map(share), ["none", "3.1 %"]);
    }
}
