//! The first thing that is read: how the models do, in a sentence each.

use maud::{Markup, html};

use crate::gather::{Figures, Measured, ModelFigures};
use crate::number::{count, significant};

pub(super) fn section(figures: &Figures) -> Markup {
    html! {
        header {
            p class="eyebrow" { "calipers · calibration report" }
            h1 { (figures.title) }
            @match &figures.models[..] {
                [model] => {
                    (verdict(model, None))
                    (facts(model))
                }
                models => {
                    ul class={ "verdicts " (super::columns(figures)) } { @for model in models { li { (verdict(model, Some(&model.name))) (facts(model)) } } }
                }
            }
        }
    }
}

fn verdict(model: &ModelFigures, name: Option<&str>) -> Markup {
    let assessment = model.measures.first().and_then(Measured::assessment);
    let (class, word) = match assessment.and_then(|assessment| assessment.significant) {
        Some(true) => ("bad", "Miscalibrated"),
        Some(false) => ("good", "No evidence of miscalibration"),
        None => ("open", "Not decided"),
    };
    let sentence = assessment.map_or_else(String::new, |assessment| super::capitalised(&assessment.sentence()));
    html! {
        div class={ "verdict " (class) } {
            p class="word" { @if let Some(name) = name { span class="name" { (name) } " " } span class="chip" { (word) } }
            p class="sentence" { (sentence) }
        }
    }
}

/// What the figures are of, in a line.
fn facts(model: &ModelFigures) -> Markup {
    html! {
        p class="facts" {
            (count(model.n)) @if model.n == 1 { " row" } @else { " rows" }
            @if let Some(question) = &model.question { " · " (question) }
            " · mean probability " (significant(model.means.0)) ", outcome rate " (significant(model.means.1))
            @if model.from_sketch { " · from a sketch" }
        }
    }
}
