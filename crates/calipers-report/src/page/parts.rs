//! Classes and groups: diagrams of the worst, and a sortable table of all.

use maud::{Markup, PreEscaped, html};

use crate::charts;
use crate::gather::{ModelValues, Part, Parts, Values};
use crate::number::{count, decimals, interval, p_value, percent, significant};

/// The section with the classes or with the groups, whose title depends on the name of their
/// column.
pub(super) fn section(
    values: &Values,
    id: &str,
    title: fn(&str) -> String,
    parts: fn(&ModelValues) -> Option<&Parts>,
) -> Markup {
    let found: Vec<(&ModelValues, &Parts)> =
        values.models.iter().filter_map(|model| Some((model, parts(model)?))).collect();
    let Some((_, first)) = found.first() else { return html! {} };
    let content = html! {
        @for (place, (model, parts)) in found.iter().enumerate() {
            @if let Some(name) = values.name_of(model) { h3 { (name) } }
            (one(values.options.level, &format!("{id}-{place}"), parts))
        }
    };
    super::section(id, &title(&first.by), &content)
}

fn one(level: f64, id: &str, parts: &Parts) -> Markup {
    let drawn: Vec<_> = parts.parts.iter().filter_map(|part| Some((part, part.diagram.as_ref()?))).collect();
    let n_found = parts.parts.iter().filter(|part| part.p_adjusted.is_some_and(|p| p <= 1.0 - level + 1e-12)).count();
    let plural = if parts.by == "class" { "classes" } else { "groups" };
    let heads =
        ["Rows", "Mean p", "Outcome rate", "LS-ECE", &format!("{} interval", percent(level)), "Floor", "Debiased"];
    html! {
        p class="lead" {
            "There is evidence of miscalibration in " strong { @if parts.n_open > 0 { "at least " } (n_found) " of " (parts.n) " " (plural) }
            ", after adjustment for their number."
            @if let Some(mean) = parts.mean { " The mean of LS-ECE over classes is " (significant(mean)) "." }
            @if drawn.len() < parts.n { " The diagrams show the " (drawn.len()) " worst." }
        }
        div class="small-multiples" {
            @for (part, diagram) in &drawn {
                div class="small" {
                    (PreEscaped(charts::small(&format!("Reliability diagram of {} {}", parts.by, name(part)), diagram)))
                    p { span class="name" title=(name(part)) { (name(part)) } " " span class="n" { (significant(part.debiased())) } }
                }
            }
        }
        div class="scroll tall" tabindex="0" role="region" aria-label={ "Table of " (plural) } {
            table class="sortable" id=(id) {
                thead { tr {
                    th scope="col" { button type="button" { (parts.by) } }
                    @for head in heads.into_iter().chain(["p, adjusted"]) { th scope="col" class="n" { button type="button" { (head) } } }
                } }
                tbody { @for part in &parts.parts { (row(part)) } }
            }
        }
        p class="note" {
            @if let Some(sigma) = parts.sigma {
                "All values have the sigma of the whole data, " (significant(sigma)) ". Each diagram has the sigma of its own rows. "
            } @else if let Some(sigma) = one_sigma(parts) { "All values have sigma " (significant(sigma)) ". " }
            @else { "Sigma was chosen automatically for each. " }
            @if parts.n > parts.parts.len() { "The table lists " (count(parts.parts.len() as u64)) " of " (count(parts.n as u64)) " " (plural) ", the worst first. " }
            "Each has " (count(parts.n_resamples)) " resamples of each kind, and more if its p-value needs them. The p-values are adjusted for "
            (count(parts.n as u64)) " " (plural) " (Holm). The number below each small diagram is the debiased LS-ECE."
        }
    }
}

/// The sigma of all parts, if they have the same.
fn one_sigma(parts: &Parts) -> Option<f64> {
    let mut sigmas = parts.parts.iter().filter_map(|part| part.ls_ece.as_ref().ok()?.estimate.settings.number("sigma"));
    let first = sigmas.next()?;
    sigmas.all(|sigma| sigma == first).then_some(first)
}

fn name(part: &Part) -> &str {
    if part.name.is_empty() { "(none)" } else { &part.name }
}

/// A cell that is sorted by its value.
fn cell(value: f64, text: &str) -> Markup {
    html! { td class="n" data-value=(value) { (text) } }
}

fn row(part: &Part) -> Markup {
    html! {
        tr {
            th scope="row" data-value=(part.name) { (name(part)) }
            td class="n" data-value=(part.n) { (count(part.n)) }
            @for mean in [part.means.0, part.means.1] { (cell(mean, &significant(mean))) }
            @match &part.ls_ece {
                Err(error) => { td colspan="5" class="note" data-value="NaN" { "not available: " (error) } }
                Ok(known) => {
                    @let places = decimals(known.interval.upper - known.interval.lower);
                    @let show = |value: f64| if value.is_nan() { "–".to_owned() } else { format!("{value:.places$}") };
                    @let floor = known.floor.as_ref().map_or(f64::NAN, |floor| floor.mean);
                    @let p = part.p_adjusted.unwrap_or(f64::NAN);
                    (cell(known.estimate.value, &show(known.estimate.value)))
                    (cell(known.interval.upper, &interval(&known.interval, show)))
                    (cell(floor, &show(floor)))
                    (cell(known.debiased, &show(known.debiased)))
                    (cell(p, &p_value(p)))
                }
            }
        }
    }
}
