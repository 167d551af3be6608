//! Classes and groups: diagrams of the worst, and a sortable table of all.

use maud::{Markup, PreEscaped, html};

use crate::charts;
use crate::gather::{Part, Parts, Values};
use crate::number::{count, decimals, interval, p_value, percent, significant};

/// The classes or the groups of a model, if it has any.
pub(super) fn of_model(values: &Values, place: usize, id: &str, title: &str, parts: Option<&Parts>) -> Markup {
    let Some(parts) = parts else { return html! {} };
    let id = format!("{id}-{place}");
    html! {
        div class="parts" id=(id) {
            h3 { (title) }
            (one(values.options.level, &format!("{id}-table"), parts))
        }
    }
}

fn one(level: f64, id: &str, parts: &Parts) -> Markup {
    let drawn: Vec<_> = parts.parts.iter().filter_map(|part| Some((part, part.diagram.as_ref()?))).collect();
    let plural = if parts.by == "class" { "classes" } else { "groups" };
    html! {
        p class="lead" {
            "There is evidence of miscalibration in " strong { @if parts.n_open > 0 { "at least " } (count(parts.n_found as u64)) " of " (count(parts.n as u64)) " " (plural) }
            ", after adjustment for their number."
            @if let Some(mean) = parts.mean { " The mean of LS-ECE over classes is " (significant(mean)) "." }
            @if drawn.len() < parts.n { " The diagrams show the " (drawn.len()) " worst." }
        }
        div class="small-multiples" style=(columns(drawn.len())) {
            @for (part, diagram) in &drawn {
                div class="small" {
                    (PreEscaped(charts::small(&format!("Reliability diagram of {} {}", parts.by, name(part)), diagram)))
                    p {
                        span class="name" title=(name(part)) { (name(part)) } " "
                        span class="n" { (debiased(part)) @if let Some(found) = part.direction(level) { ", " (found.in_words()) } }
                    }
                }
            }
        }
        div class="scroll tall" tabindex="0" role="region" aria-label={ "Table of " (plural) } {
            table class="sortable" id=(id) {
                thead { tr {
                    th scope="col" { button type="button" { (parts.by) } }
                    @for (head, class) in heads(level) { th scope="col" class=(class) { button type="button" { (head) } } }
                } }
                tbody { @for part in &parts.parts { (row(level, part)) } }
            }
        }
        p class="note narrow" { "A wider window shows further columns." }
        p class="note" {
            @if let Some(sigma) = one_sigma(parts) { "All values and diagrams have sigma " (significant(sigma)) ". " }
            @else { "Sigma was chosen automatically for each; the value and the diagram have the same. " }
            @if parts.n > parts.parts.len() { "The table lists " (count(parts.parts.len() as u64)) " of " (count(parts.n as u64)) " " (plural) ", the worst first. " }
            "Each has " (count(parts.n_resamples)) " resamples of each kind, and more if its p-value needs them. The p-values are adjusted for "
            (count(parts.n as u64)) " " (plural) " (" (parts.adjust.title()) "). The number below each small diagram is the debiased LS-ECE, as in the table."
        }
    }
}

/// The columns after the name. In a narrow window, those that matter most remain.
fn heads(level: f64) -> [(String, &'static str); 9] {
    let head = |text: &str, class: &'static str| (text.to_owned(), class);
    [
        head("Debiased", "n"),
        head("Direction", ""),
        head("p, adjusted", "n"),
        head("LS-ECE", "n wide"),
        (format!("{} interval", percent(level)), "n wide"),
        head("Floor", "n wide"),
        head("Mean p", "n wide"),
        head("Outcome rate", "n wide"),
        head("Rows", "n wide"),
    ]
}

/// The numbers of columns in a wide, a middle and a narrow window, so that no row has one diagram
/// alone while others are full.
fn columns(n: usize) -> String {
    format!("--wide:{};--middle:{};--narrow:{}", balanced(n, 8), balanced(n, 6), balanced(n, 3))
}

/// The number of columns up to `most` that leaves the fewest places empty; of several, the largest.
fn balanced(n: usize, most: usize) -> usize {
    let empty = |columns: &usize| n.div_ceil(*columns) * columns - n;
    (most.div_ceil(2)..=most).rev().min_by_key(empty).unwrap_or(most).min(n.max(1))
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

/// The debiased value with the digits of the table.
fn debiased(part: &Part) -> String {
    let Ok(known) = &part.ls_ece else { return "not available".to_owned() };
    format!("{:.1$}", known.debiased, decimals(known.interval.upper - known.interval.lower))
}

/// A cell that is sorted by its value.
fn cell(class: &str, value: f64, text: &str) -> Markup {
    html! { td class=(class) data-value=(value) { (text) } }
}

fn row(level: f64, part: &Part) -> Markup {
    html! {
        tr {
            th scope="row" data-value=(part.name) title=(name(part)) { (name(part)) }
            @match &part.ls_ece {
                Err(error) => { td colspan="6" class="note" data-value="NaN" { "not available: " (error) } }
                Ok(known) => {
                    @let places = decimals(known.interval.upper - known.interval.lower);
                    @let show = |value: f64| format!("{value:.places$}");
                    @let p = part.p_adjusted.unwrap_or(f64::NAN);
                    @let word = part.direction(level).map_or("", calipers::inference::Direction::in_words);
                    (cell("n value", known.debiased, &debiased(part)))
                    td data-value=(word) { (word) }
                    (cell("n", p, &if p.is_nan() { "not tested".to_owned() } else { p_value(p) }))
                    (cell("n wide", known.estimate.value, &show(known.estimate.value)))
                    (cell("n wide", known.interval.upper, &interval(&known.interval, show)))
                    @match &known.floor {
                        Some(floor) => (cell("n wide", floor.mean, &show(floor.mean))),
                        None => (cell("n wide", f64::NAN, "none")),
                    }
                }
            }
            @for mean in [part.means.0, part.means.1] { (cell("n wide", mean, &significant(mean))) }
            td class="n wide" data-value=(part.n) { (count(part.n)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_of_small_diagrams_has_an_orphan() {
        for n in 2..=24 {
            for most in [8, 6, 3] {
                let columns = balanced(n, most);
                assert!(columns >= 1 && columns <= most);
                // The last row may lack some, but it has not one alone below rows of three or more.
                assert!(n % columns != 1 || columns <= 2, "{n} in {columns} columns");
            }
        }
        assert_eq!((balanced(24, 8), balanced(10, 8), balanced(10, 3), balanced(1, 8)), (8, 5, 2, 1));
    }
}
