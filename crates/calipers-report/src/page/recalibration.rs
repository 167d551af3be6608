//! Recalibration: the verdict, the map, and the numbers behind them.

use maud::{Markup, html};

use super::figure::{Panel, Shown};
use super::table::Table;
use crate::charts::{self, Axes};
use crate::gather::{MapCurve, ModelValues, Recalibrated, Recalibration, Values};
use crate::number::{decimals, p_value, percent, plus_minus, significant};

/// What the chart of the map shows.
const MAP: &str = "The map is what recalibration makes of each probability. It is fitted to all rows. The band is \
                   pointwise: where the map of another sample like this one would be.";

/// The section of a model: the verdict, then the charts and the numbers.
pub(super) fn of_model(values: &Values, place: usize, model: &ModelValues, shown: &mut Shown) -> Markup {
    let content = match &model.recalibration {
        Recalibration::Not(reason) => html! { p class="note" { "There is no recalibration: " (reason) "." } },
        Recalibration::Done(found) => {
            let titles = ["The map"];
            let figures: Vec<(&str, Markup)> = titles
                .into_iter()
                .zip(panels(values, model))
                .map(|(title, panel)| (title, shown.figure(place, values.name_of(model), &panel)))
                .collect();
            html! {
                p class="lead" { (found.sentence) }
                div class="charts" {
                    @for (title, figure) in &figures { div class="chart" { h4 { (title) } (figure) } }
                    div class="chart" { h4 { "In numbers" } div { (numbers(found)) } }
                }
            }
        }
    };
    html! {
        div class="parts" id={ "recalibration-" (place) } {
            h3 { "Recalibration" }
            (content)
        }
    }
}

/// The charts of a model, in the order of their titles.
pub(super) fn panels(values: &Values, model: &ModelValues) -> Vec<Panel> {
    let Recalibration::Done(found) = &model.recalibration else { return Vec::new() };
    found.map.iter().map(|map| map_panel(values, model, map)).collect()
}

fn map_panel(values: &Values, model: &ModelValues, map: &MapCurve) -> Panel {
    let name = format!("{} band", percent(values.options.level));
    let linear = Axes::linear(&model.reliability).holding(&map.probabilities, &map.recalibrated);
    let chosen = model.reliability.smoothed.get(model.reliability.chosen);
    let logit = chosen.map_or(Axes::Logit(0.01, 0.99), Axes::logit);
    let chart = |axes: Axes| charts::map(&model.name, map, axes, &name);
    let table = Table::of_columns(&[
        ("predicted", &map.probabilities),
        ("recalibrated", &map.recalibrated),
        ("band from", &map.lower),
        ("band to", &map.upper),
    ]);
    Panel::new("recalibration_map", chart(linear), table, MAP).view("logit", vec![chart(logit)])
}

fn numbers(found: &Recalibrated) -> Markup {
    let places = decimals(found.interval.upper - found.interval.lower);
    let show = |value: f64| format!("{value:.places$}");
    html! {
        dl class="facts" {
            dt { "Verdict" } dd { (found.verdict.name()) }
            dt { "Log-loss" } dd { (show(found.log_loss_before)) " before, " (show(found.log_loss_after)) " after" }
            dt { "Gain" }
            dd {
                (show(found.gain)) ", " (percent(found.interval.level)) " interval "
                (show(found.interval.lower)) " to " (show(found.interval.upper))
            }
            @if let Some(floor) = &found.floor {
                dt { "Anything to fix?" }
                dd { "p " (p_value(floor.p_value)) "; calibrated predictions seem to gain " (plus_minus(floor.mean, floor.deviation)) }
            }
            dt { "Top class" }
            dd { "changes in " (percent(found.top_class_changed)) " of rows" }
            dt { "Method" }
            dd {
                (found.method.name())
                @for parameter in &found.parameters {
                    br; (parameter.name) " "
                    @match parameter.standard_error {
                        Some(deviation) => (plus_minus(parameter.value, deviation)),
                        None => (significant(parameter.value)),
                    }
                }
            }
        }
        p class="note" {
            "After is out of fold: each row is recalibrated by a map that was fitted to the other rows, in "
            (found.n_folds) " parts. The interval is for the gain on new rows of the map that is fitted to all rows."
        }
        @for note in &found.notes { p class="note" { (note) } }
    }
}
