//! The top of the page: the verdict on each model, in words.

use maud::{Markup, html};

use crate::gather::{Measured, ModelValues, Values};
use crate::number::{capitalised, count, significant};

pub(super) fn section(values: &Values) -> Markup {
    html! {
        header {
            p class="eyebrow" { "calipers · calibration report" }
            h1 { (values.title) }
            @match &values.models[..] {
                [model] => { (verdict(model, None)) (facts(model)) }
                models => {
                    ul class={ "verdicts " (super::columns(values)) } {
                        @for model in models { li { (verdict(model, Some(&model.name))) (facts(model)) } }
                    }
                }
            }
        }
    }
}

fn verdict(model: &ModelValues, name: Option<&str>) -> Markup {
    let assessment = model.measures.first().and_then(Measured::assessment);
    let (class, word) = match assessment.and_then(|assessment| assessment.significant) {
        Some(true) => ("bad", "Miscalibrated"),
        Some(false) => ("good", "No evidence of miscalibration"),
        None => ("open", "Not decided"),
    };
    let sentence = assessment.map_or_else(String::new, |assessment| capitalised(&assessment.sentence()));
    html! {
        div class={ "verdict " (class) } {
            p class="word" { @if let Some(name) = name { span class="name" { (name) } " " } span class="chip" { (word) } }
            p class="sentence" { (sentence) }
        }
    }
}

/// The data of a model, in one line.
fn facts(model: &ModelValues) -> Markup {
    html! {
        p class="facts" {
            (count(model.n)) @if model.n == 1 { " row" } @else { " rows" }
            @if let Some(question) = &model.question { " · " (question) }
            " · mean probability " (significant(model.means.0)) ", outcome rate " (significant(model.means.1))
            @if model.from_sketch { " · from a sketch" }
        }
    }
}
