//! The charts and the parts of one model.

use maud::{Markup, html};

use super::figure::Shown;
use super::{parts, recalibration, reliability, spread, sweep};
use crate::gather::{ModelValues, SweepValues, Values};

/// The section with the charts of all models. With several models a switch shows one of them, or
/// all.
pub(super) fn section(values: &Values, shown: &mut Shown) -> Markup {
    let several = values.models.len() > 1;
    let content = html! {
        @if several {
            (style(values.models.len()))
            fieldset class="switch models" {
                legend { "Model" }
                @for (place, model) in values.models.iter().enumerate() {
                    label { input type="radio" name="model" id={ "model-" (place) } checked[place == 0]; span { (model.name) } }
                }
                label { input type="radio" name="model" id="model-all"; span { "All" } }
            }
            (reliability::controls(values))
        }
        div class="controls" {
            span { "Probabilities by outcome:" }
            (reliability::switch("scale", "Scale of the distribution", &spread::SCALES, spread::scale(values)))
        }
        @for (place, model) in values.models.iter().enumerate() { (one(values, place, model, shown)) }
    };
    super::section("charts", if several { "Charts of each model" } else { "Charts" }, &content)
}

/// Rules that hide all models but the chosen one. On paper all are shown.
fn style(n_models: usize) -> Markup {
    let rule = |place: usize| format!("body:has(#model-{place}:checked) .model:not(#of-model-{place}){{display:none}}");
    let rules: String = (0..n_models).map(rule).collect();
    html! { style { (maud::PreEscaped(format!("@media screen{{{rules}}}"))) } }
}

fn one(values: &Values, place: usize, model: &ModelValues, shown: &mut Shown) -> Markup {
    let name = values.name_of(model);
    let mut charts = Vec::new();
    if let SweepValues::Error(reason) = &model.sweep {
        charts.push(("Does ECE depend on its bins?", html! { p class="note" { "There is no sweep: " (reason) "." } }));
    }
    let titles = ["Cumulative differences", "Probabilities by outcome"];
    for panel in sweep::panels(values, model) {
        charts.push(("Does ECE depend on its bins?", shown.figure(place, name, &panel)));
    }
    for (title, panel) in titles.into_iter().zip(spread::panels(values, model)) {
        charts.push((title, shown.figure(place, name, &panel)));
    }
    let recalibration = recalibration::of_model(values, place, model, shown);
    html! {
        div class="model" id={ "of-model-" (place) } {
            @if let Some(name) = name {
                h3 { (name) }
                div class="hero" {
                    div class="answer" { p class="sentence" { (super::answer::sentence(model)) } }
                    div class="diagram" { (reliability::diagrams(values, place, model, shown)) }
                    div class="more" { (super::answer::numbers(values, model)) }
                }
            }
            div class="charts" {
                @for (title, figure) in &charts { div class="chart" { h4 { (title) } (figure) } }
            }
            (recalibration)
            (parts::of_model(values, place, "classes", "LS-ECE of each class", model.classes.as_ref()))
            @if let Some(groups) = &model.groups {
                (parts::of_model(values, place, "groups", &format!("LS-ECE by {}", groups.by), Some(groups)))
            }
        }
    }
}
