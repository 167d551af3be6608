//! The table of measures with interval, floor and p-value.

use calipers::inference::Part;
use calipers::measure::Family;
use calipers::{Assessment, Estimate, Spec};
use maud::{Markup, html};

use crate::gather::{Figures, Measured, Outcome};
use crate::number::{decimals, p_value, percent, significant};

pub(super) fn section(figures: &Figures) -> Markup {
    let several = figures.models.len() > 1;
    let level = percent(figures.options.level);
    // A sketch answers fewer measures than rows do.
    let mut names: Vec<&str> = Vec::new();
    for measure in figures.models.iter().flat_map(|model| &model.measures) {
        if !names.contains(&measure.spec.name) {
            names.push(measure.spec.name);
        }
    }
    let content = html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of measures" {
            table class="measures" {
                thead { tr {
                    th scope="col" { @if several { "Model" } @else { "Measured" } }
                    th scope="col" class="n" { "Value" }
                    th scope="col" class="n" { (level) " interval" }
                    th scope="col" class="wide" { "" }
                    th scope="col" class="n wide" { "Floor" }
                    th scope="col" class="n" { "p" }
                    th scope="col" class="n wide" { "Debiased" }
                } }
                @for name in &names {
                    @let found: Vec<(&str, &Measured)> = figures.models.iter()
                        .filter_map(|model| Some((model.name.as_str(), model.measures.iter().find(|measure| measure.spec.name == *name)?)))
                        .collect();
                    @let titles: Vec<String> = found.iter().map(|(_, measure)| title(measure.spec, measure.estimate())).collect();
                    @let alike = titles.iter().all(|title| Some(title) == titles.first());
                    @let scale = found.iter().map(|(_, measure)| greatest(measure)).fold(0.0, f64::max);
                    tbody {
                        @if let (true, Some((_, first))) = (several, found.first()) {
                            tr class="group" {
                                th scope="rowgroup" colspan="7" title=(first.spec.definition) {
                                    (title(first.spec, first.estimate().filter(|_| alike)))
                                }
                            }
                        }
                        @for ((model, measure), title) in found.iter().zip(&titles) {
                            tr {
                                th scope="row" title=(measure.spec.definition) {
                                    @if several { (model) @if !alike { ": " (title) } } @else { (title) }
                                }
                                (cells(measure, scale))
                            }
                        }
                    }
                }
            }
        }
        p class="note narrow" { "Wider windows have the floor and the debiased value too." }
        (notes(figures))
        (directions(figures))
        details {
            summary { "What these are" }
            dl {
                dt { "Floor" }
                dd { "What a calibrated model with these very predictions would show: mean ± deviation over draws of the outcomes. No model can be seen to be better than that." }
                dt { "p" }
                dd { "How often a calibrated model would show as much. That of LS-ECE is by its residual form." }
                dt { (level) " interval" }
                dd { "Where the value of the population is, at the same settings. Where p is above " (significant(1.0 - figures.options.level)) ", calibration errors have an upper limit in its place; scores keep their interval." }
                dt { "Debiased" }
                dd { "The value without what noise adds to it. That of LS-ECE is of its residual form." }
                dt { "Residual LS-ECE" }
                dd { "The residuals y − p are smoothed in place of the logits. It is 0 for a calibrated model at any sigma, while noise on the logits makes LS-ECE of a calibrated model larger than 0. So the verdict, p and the debiased value of LS-ECE are those of this form." }
                @if let Some(model) = figures.models.first() {
                    @for measure in &model.measures {
                        dt { (title(measure.spec, measure.estimate())) }
                        dd { (measure.spec.definition) }
                    }
                }
            }
        }
    };
    super::section("measures", "Measures", &content)
}

/// In which direction predictions are off: the signed parts of the residual form, of each model.
fn directions(figures: &Figures) -> Markup {
    let several = figures.models.len() > 1;
    let found: Vec<(&str, &calipers::inference::Parts)> = figures
        .models
        .iter()
        .filter_map(|model| Some((model.name.as_str(), model.measures.first()?.assessment()?.parts.as_ref()?)))
        .collect();
    if found.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Direction" }
        div class="scroll" tabindex="0" role="region" aria-label="Table of directions" {
            table class="directions" {
                thead { tr {
                    th scope="col" { "Predictions are" }
                    th scope="col" class="n" { "Value" }
                    th scope="col" class="n" { (percent(figures.options.level)) " interval" }
                    th scope="col" class="n" { "Debiased" }
                } }
                @for (name, parts) in found {
                    tbody {
                        @if several { tr class="group" { th scope="rowgroup" colspan="4" { (name) } } }
                        @for (part_name, part) in parts.named() {
                            @if let Some(part) = part { (direction(&part_name.replace('_', " "), part)) }
                        }
                    }
                }
            }
        }
        p class="note" {
            "The signed parts of residual LS-ECE. Too high and too low sum to it, and so do overconfident (further from 1/2 than outcomes are) and underconfident (nearer to 1/2). For the confidence in a predicted class, overconfident means too high. A sketch does not tell over- from underconfidence."
        }
    }
}

fn direction(name: &str, part: &Part) -> Markup {
    let places = decimals(part.interval.upper - part.interval.lower);
    let show = |value: f64| format!("{value:.places$}");
    html! {
        tr {
            th scope="row" { (name) }
            td class="n value" { (show(part.value)) }
            td class="n" { "[" (show(part.interval.lower)) ", " (show(part.interval.upper)) "]" }
            td class="n" { (show(part.debiased)) }
        }
    }
}

fn cells(measure: &Measured, scale: f64) -> Markup {
    match &measure.outcome {
        Outcome::Refused(refusal) => html! { td class="note" colspan="6" { "none: " (refusal) } },
        Outcome::Value(estimate, _) => html! {
            td class="n value" { (significant(estimate.value)) }
            td class="n" { "–" } td class="wide" {} td class="n wide" { "–" } td class="n" { "–" } td class="n wide" { "–" }
        },
        Outcome::Assessed(assessment) => assessed(assessment, scale),
    }
}

fn assessed(assessment: &Assessment, scale: f64) -> Markup {
    let interval = &assessment.interval;
    let places = decimals(interval.upper - interval.lower);
    let show = |value: f64| if value.is_finite() { format!("{value:.places$}") } else { "infinite".to_owned() };
    html! {
        td class="n value" { (show(assessment.estimate.value)) }
        td class="n" {
            @if interval.is_upper_limit { "below " (show(interval.upper)) }
            @else { "[" (show(interval.lower)) ", " (show(interval.upper)) "]" }
        }
        td class="wide" { (strip(assessment, scale)) }
        @match &assessment.floor {
            Some(floor) => {
                td class="n wide" { (show(floor.mean)) " ± " (show(floor.deviation)) }
                td class="n" { (p_value(floor.p_value)) }
            }
            None => { td class="n wide" { "–" } td class="n" { "–" } }
        }
        td class="n wide" { (show(assessment.debiased)) }
    }
}

/// Where the strip of a measure ends.
fn greatest(measure: &Measured) -> f64 {
    let of = |assessment: &Assessment| {
        let floor = assessment.floor.as_ref().map_or(0.0, |floor| floor.quantiles[2]);
        [assessment.estimate.value, assessment.interval.upper, floor]
            .into_iter()
            .filter(|x| x.is_finite())
            .fold(0.0, f64::max)
    };
    measure.assessment().map_or(0.0, of)
}

/// Value, interval and floor as a strip from 0: the same as the numbers beside it, which is why
/// nobody reads it out.
fn strip(assessment: &Assessment, scale: f64) -> Markup {
    if !(scale > 0.0) {
        return html! {};
    }
    let x = |value: f64| format!("{:.1}", 4.0 + 132.0 * (value / scale).clamp(0.0, 1.0));
    let (lower, upper) = (x(assessment.interval.lower), x(assessment.interval.upper));
    html! {
        svg viewBox="0 0 140 16" class="strip" aria-hidden="true" {
            line x1="4" x2="136" y1="8" y2="8" stroke="var(--grid)" {}
            @if let Some(floor) = &assessment.floor {
                @let (from, to) = (x(floor.quantiles[0]), x(floor.quantiles[2]));
                path d={ "M" (from) " 8H" (to) } stroke="var(--axis)" stroke-width="8" stroke-opacity="0.45" {}
            }
            line x1=(lower) x2=(upper) y1="8" y2="8" stroke="var(--c0)" stroke-width="2" {}
            circle cx=(x(assessment.estimate.value)) cy="8" r="3.5" fill="var(--c0)" {}
        }
    }
}

/// Why there is less to say of some measures, each reason once.
fn notes(figures: &Figures) -> Markup {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for measure in figures.models.iter().flat_map(|model| &model.measures) {
        let reason = match &measure.outcome {
            Outcome::Value(_, reason) => reason.as_str(),
            Outcome::Assessed(assessment) => assessment.unavailable.unwrap_or(""),
            Outcome::Refused(_) => "",
        };
        if reason.is_empty() {
            continue;
        }
        let name = title(measure.spec, measure.estimate());
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    html! {
        p class="note wide" { "Strips: value and interval in blue, the middle 90 % of the floor in grey, all from 0." }
        @for (reason, names) in reasons { p class="note" { "No floor and interval of " (names.join(", ")) ": " (reason) "." } }
    }
}

/// As people call it, with the setting that matters most.
pub(super) fn title(spec: &Spec, estimate: Option<&Estimate>) -> String {
    // Names of measures keep their letters; titles of several words begin like a sentence.
    let title = match spec.title.split_once(' ') {
        Some((first, _)) => spec.title.replacen(first, &capitalised(first), 1),
        None => spec.title.to_owned(),
    };
    let number = |setting: &str| estimate.and_then(|estimate| estimate.settings.number(setting));
    match (spec.family, number("sigma"), number("n_bins")) {
        (Family::LogitSmoothing, Some(sigma), _) => format!("{title} at sigma {}", significant(sigma)),
        (Family::Binned, _, Some(n_bins)) => {
            let strategy = estimate.and_then(|estimate| estimate.settings.text("strategy"));
            let equal = if strategy == Some("quantile") { " of equal mass" } else { "" };
            format!("{title}, {n_bins} bins{equal}")
        }
        _ => title,
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
