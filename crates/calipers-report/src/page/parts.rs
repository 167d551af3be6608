//! Classes and groups: the worst of them drawn, all of them in a table that can be sorted.

use maud::{Markup, PreEscaped, html};

use crate::charts;
use crate::gather::{Figures, Part, Parts};
use crate::number::{count, decimals, p_value, percent, significant};

pub(super) fn classes(figures: &Figures) -> Markup {
    let of: Vec<(&str, &Parts)> =
        figures.models.iter().filter_map(|model| Some((model.name.as_str(), model.classes.as_ref()?))).collect();
    all(figures, "classes", "Class by class", &of)
}

pub(super) fn groups(figures: &Figures) -> Markup {
    let of: Vec<(&str, &Parts)> =
        figures.models.iter().filter_map(|model| Some((model.name.as_str(), model.groups.as_ref()?))).collect();
    let by = of.first().map_or_else(String::new, |(_, parts)| format!("By {}", parts.by));
    all(figures, "groups", &by, &of)
}

fn all(figures: &Figures, id: &str, title: &str, of: &[(&str, &Parts)]) -> Markup {
    if of.is_empty() {
        return html! {};
    }
    let content = html! {
        @for (place, (name, parts)) in of.iter().enumerate() {
            @if of.len() > 1 || figures.models.len() > 1 { h3 { (name) } }
            (one(figures, &format!("{id}-{place}"), parts))
        }
    };
    super::section(id, title, &content)
}

fn one(figures: &Figures, id: &str, parts: &Parts) -> Markup {
    let level = figures.options.level;
    let drawn: Vec<&Part> = parts.parts.iter().filter(|part| part.moment.is_some()).collect();
    let n_seen = parts.parts.iter().filter(|part| part.p_adjusted.is_some_and(|p| p <= 1.0 - level + 1e-12)).count();
    html! {
        p class="lead" {
            "There is evidence of miscalibration in " strong { @if parts.n_open > 0 { "at least " } (n_seen) " of " (parts.n) } " " (plural(parts)) ", their number taken into account."
            @if let Some(mean) = parts.mean { " The mean of LS-ECE over classes is " (significant(mean)) "." }
            @if drawn.len() < parts.n { " Drawn are the " (drawn.len()) " worst." }
        }
        div class="small-multiples" {
            @for part in &drawn {
                @if let Some(moment) = &part.moment {
                    div class="small" {
                        (PreEscaped(charts::small(&format!("Reliability diagram of {} {}", parts.by, name(part)), moment)))
                        p { span class="name" title=(name(part)) { (name(part)) } " " span class="n" { (significant(part.debiased())) } }
                    }
                }
            }
        }
        div class="scroll tall" tabindex="0" role="region" aria-label={ "Table of " (plural(parts)) } {
            table class="sortable" id=(id) {
                thead { tr {
                    (head(&parts.by, false, None))
                    (head("Rows", true, None))
                    (head("Mean p", true, None))
                    (head("Outcome rate", true, None))
                    (head("LS-ECE", true, None))
                    (head(&format!("{} interval", percent(level)), true, None))
                    (head("Floor", true, None))
                    (head("Debiased", true, None))
                    (head("p, adjusted", true, None))
                } }
                tbody { @for part in &parts.parts { (row(part)) } }
            }
        }
        p class="note" {
            @if let Some(sigma) = parts.sigma {
                "Figures are at the sigma of all rows, " (significant(sigma)) ", diagrams at that of their own rows. "
            } @else if let Some(sigma) = one_sigma(parts) { "All at sigma " (significant(sigma)) ". " }
            @else { "Each at the sigma that the rule gives for it. " }
            @if parts.n > parts.parts.len() { "Listed are the first " (count(parts.parts.len() as u64)) " of " (count(parts.n as u64)) ". " }
            (count(parts.n_resamples)) " draws of each kind for each, more where a p-value needs them; p-values are adjusted for " (count(parts.n as u64)) " (Holm). The small diagrams have the debiased LS-ECE beside the name."
        }
    }
}

/// That of all parts, if it is one.
fn one_sigma(parts: &Parts) -> Option<f64> {
    let mut sigmas = parts.parts.iter().filter_map(|part| part.ls_ece.as_ref().ok()?.estimate.settings.number("sigma"));
    let first = sigmas.next()?;
    sigmas.all(|sigma| sigma == first).then_some(first)
}

fn plural(parts: &Parts) -> String {
    if parts.by == "class" { "classes".to_owned() } else { "groups".to_owned() }
}

fn name(part: &Part) -> &str {
    if part.name.is_empty() { "(none)" } else { &part.name }
}

fn head(title: &str, is_number: bool, sorted: Option<&str>) -> Markup {
    html! {
        th scope="col" class=[is_number.then_some("n")] aria-sort=[sorted] { button type="button" { (title) } }
    }
}

fn row(part: &Part) -> Markup {
    let value = |value: f64| html! { td class="n" data-value=(value) { (significant(value)) } };
    html! {
        tr {
            th scope="row" data-value=(part.name) { (name(part)) }
            td class="n" data-value=(part.n) { (count(part.n)) }
            (value(part.means.0))
            (value(part.means.1))
            @match &part.ls_ece {
                Err(refusal) => { td colspan="5" class="note" data-value="NaN" { "refused: " (refusal) } }
                Ok(known) => {
                    @let places = decimals(known.interval.upper - known.interval.lower);
                    @let show = |value: f64| format!("{value:.places$}");
                    td class="n" data-value=(known.estimate.value) { (show(known.estimate.value)) }
                    td class="n" data-value=(known.interval.upper) {
                        @if known.interval.is_upper_limit { "below " (show(known.interval.upper)) }
                        @else { "[" (show(known.interval.lower)) ", " (show(known.interval.upper)) "]" }
                    }
                    @match &known.floor {
                        Some(floor) => td class="n" data-value=(floor.mean) { (show(floor.mean)) },
                        None => td class="n" data-value="NaN" { "–" },
                    }
                    td class="n" data-value=(known.debiased) { (show(known.debiased)) }
                    @match part.p_adjusted {
                        Some(p) => td class="n" data-value=(p) { (p_value(p)) },
                        None => td class="n" data-value="NaN" { "–" },
                    }
                }
            }
        }
    }
}
