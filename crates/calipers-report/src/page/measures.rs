//! The table of measures with interval, floor and p-value, and the direction of the errors.

use calipers::inference::Part;
use calipers::measure::Family;
use calipers::{Assessment, Estimate, Spec};
use maud::{Markup, html};

use crate::gather::{Measured, ModelValues, Outcome, Values};
use crate::number::{capitalised, decimals, interval, p_value, percent, significant};

pub(super) fn section(values: &Values) -> Markup {
    let several = values.models.len() > 1;
    let level = percent(values.options.level);
    // A sketch supports fewer measures than rows do.
    let mut names: Vec<&str> = Vec::new();
    for measure in values.models.iter().flat_map(|model| &model.measures) {
        if !names.contains(&measure.spec.name) {
            names.push(measure.spec.name);
        }
    }
    let table = html! {
            table class="measures" {
                thead { tr {
                    th scope="col" { @if several { "Model" } @else { "Measure" } }
                    th scope="col" class="n" { "Value" }
                    th scope="col" class="n" { (level) " interval" }
                    th scope="col" class="wide" { "" }
                    th scope="col" class="n wide" { "Floor" }
                    th scope="col" class="n" { "p" }
                    th scope="col" class="n wide" { "Debiased" }
                } }
                @for name in &names {
                    @let found: Vec<(&str, &Measured)> = values.models.iter()
                        .filter_map(|model| Some((model.name.as_str(), model.measures.iter().find(|measure| measure.spec.name == *name)?)))
                        .filter(|(_, measure)| measure.assessment().is_some())
                        .collect();
                    @let titles: Vec<String> = found.iter().map(|(_, measure)| title(measure.spec, measure.estimate())).collect();
                    @let alike = titles.iter().all(|title| Some(title) == titles.first());
                    @let scale = found.iter().map(|(_, measure)| greatest(measure)).fold(0.0, f64::max);
                    @if !found.is_empty() { tbody {
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
                                @if let Some(assessment) = measure.assessment() { (assessed(assessment, scale)) }
                            }
                        }
                    } }
                }
            }
    };
    let content = html! {
        (super::scrolled("Table of measures", &table))
        p class="note narrow" { "A wider window also shows the floor and the debiased value." }
        (notes(values))
        (directions(values))
        details {
            summary { "Explanation of the columns and the measures" }
            dl {
                dt { "Floor" }
                dd { "The noise floor: the value that a perfectly calibrated model would get on the same data by chance alone, as mean ± standard deviation over resamples of the outcomes. A value near the floor is no evidence of miscalibration." }
                dt { "p" }
                dd { "The probability that a perfectly calibrated model gets a value at least as large by chance. The p-value of LS-ECE is that of its residual form." }
                dt { (level) " interval" }
                dd { "An interval for the value of the population at the same settings. If p is above " (significant(1.0 - values.options.level)) ", a calibration error has an upper limit instead; a score keeps its interval." }
                dt { "Resamples" }
                dd { "Measures without a faster way have fewer resamples if there are many rows, at least 100." }
                dt { "Debiased" }
                dd { "The value without the part that chance adds. The debiased value of LS-ECE is that of its residual form." }
                dt { "Residual LS-ECE" }
                dd { "This form smooths the residuals y − p instead of the logits. For a calibrated model it is 0 at any sigma, while noise on the logits makes LS-ECE larger than 0. The verdict, p and the debiased value of LS-ECE therefore come from this form." }
                @if let Some(model) = values.models.first() {
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

/// The direction of the errors: the signed parts of the residual form, for each model.
fn directions(values: &Values) -> Markup {
    let parts = |model: &'_ ModelValues| model.measures.first()?.assessment()?.parts;
    let found: Vec<_> = values.models.iter().filter_map(|model| Some((model, parts(model)?))).collect();
    if found.is_empty() {
        return html! {};
    }
    let table = html! {
        table class="directions" {
            thead { tr {
                th scope="col" { "Predictions are" }
                th scope="col" class="n" { "Value" }
                th scope="col" class="n" { (percent(values.options.level)) " interval" }
                th scope="col" class="n wide" { "Debiased" }
            } }
            @for (model, parts) in found {
                tbody {
                    @if let Some(name) = values.name_of(model) { tr class="group" { th scope="rowgroup" colspan="4" { (name) } } }
                    @for (name, part) in parts.named() {
                        @if let Some(part) = part { (direction(&name.replace('_', " "), part)) }
                    }
                }
            }
        }
    };
    let lead: Vec<String> = values
        .models
        .iter()
        .filter_map(|model| {
            let word = super::answer::word(&model.finding).filter(|_| model.finding.significant == Some(true))?;
            Some(values.name_of(model).map_or_else(|| capitalised(word), |name| format!("{name}: {word}")))
        })
        .collect();
    html! {
        h3 { "Direction of the errors" }
        @if !lead.is_empty() { p class="lead" { strong { (lead.join("; ")) "." } } }
        @if values.models.len() > 1 {
            details { summary { "Directions of each model" } (super::scrolled("Table of directions", &table)) }
        } @else { (super::scrolled("Table of directions", &table)) }
        p class="note" {
            "These are the signed parts of residual LS-ECE. \"Too high\" and \"too low\" sum to it. So do \"overconfident\" (predictions are further from 1/2 than outcomes) and \"underconfident\" (predictions are nearer to 1/2). For the confidence in a predicted class, overconfident means too high. A sketch cannot distinguish overconfidence from underconfidence."
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
            td class="n" { (interval(&part.interval, show)) }
            td class="n wide" { (show(part.debiased)) }
        }
    }
}

fn assessed(assessment: &Assessment, scale: f64) -> Markup {
    let places = decimals(assessment.interval.upper - assessment.interval.lower);
    let show = |value: f64| if value.is_finite() { format!("{value:.places$}") } else { "infinite".to_owned() };
    html! {
        td class="n value" { (show(assessment.estimate.value)) }
        td class="n" { (interval(&assessment.interval, show)) }
        td class="wide" { (strip(assessment, scale)) }
        @match &assessment.floor {
            Some(floor) => {
                td class="n wide" { (show(floor.mean)) " ± " (show(floor.deviation)) }
                td class="n" { (p_value(floor.p_value)) }
            }
            None => { td class="n wide" { "not available" } td class="n" {} }
        }
        td class="n wide" { (show(assessment.debiased)) }
    }
}

/// The right end of the strip of a measure.
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

/// Value, interval and floor as a strip from 0. Screen readers skip it, since the numbers beside it
/// are the same.
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

/// The measures without floor and interval, in a sentence for each reason.
fn notes(values: &Values) -> Markup {
    let several = values.models.len() > 1;
    let mut alone: Vec<(String, Vec<String>)> = Vec::new();
    for model in &values.models {
        for measure in &model.measures {
            let title = title(measure.spec, measure.estimate());
            let name = if several { format!("{title} of {}", model.name) } else { title };
            let (reason, text) = match &measure.outcome {
                Outcome::Assessed(assessment) => match assessment.unavailable {
                    Some(reason) => (format!("There is no noise floor, because {reason}"), name),
                    None => continue,
                },
                Outcome::Value(estimate, reason) => {
                    (format!("Values alone, because {reason}"), format!("{name} is {}", significant(estimate.value)))
                }
                Outcome::Error(error) => (format!("Not available: {error}"), name),
            };
            match alone.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, texts)) => texts.push(text),
                None => alone.push((reason, vec![text])),
            }
        }
    }
    html! {
        p class="note wide" { "The strips start at 0. They show the value and its interval in blue, and the middle 90 % of the floor in grey." }
        @for (reason, texts) in alone { p class="note" { (reason) ": " (texts.join("; ")) "." } }
    }
}

/// The title of a measure, with its most important setting.
pub(super) fn title(spec: &Spec, estimate: Option<&Estimate>) -> String {
    // A title of several words begins with a capital letter. A name such as smECE stays as it is.
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
        _ => match number("n_classes") {
            Some(n_classes) => format!("{title} over {n_classes} classes"),
            None => title,
        },
    }
}
