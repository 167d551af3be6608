//! How the page was made, so that a reader can make it again. The page is meant to be shared, so it
//! has the names of files and not the folders of the machine on which it was made.

use calipers::Setting;
use maud::{Markup, html};

use crate::gather::{Measured, ModelValues, Values};
use crate::number::{count, four_digits};

pub(super) fn section(values: &Values) -> Markup {
    let options = &values.options;
    let content = html! {
        div class="origins" {
            @for model in &values.models { div { (of_model(model, values.models.len() > 1)) } }
        }
        dl class="facts" {
            dt { "Level, resamples, seed" }
            dd { (options.level) ", " (count(options.n_resamples)) ", " (options.random_state) }
            @for note in &values.notes { dt { "Note" } dd { (note) } }
            dt { "Version" }
            dd { "calipers " (env!("CARGO_PKG_VERSION")) }
            @if let Some(command) = &values.command { dt { "Command" } dd { code { (command) } } }
        }
    };
    super::section("provenance", "How this page was made", &content)
}

/// The name of a file without its folders, of any system.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or(path)
}

fn of_model(model: &ModelValues, several: bool) -> Markup {
    let left_out: Vec<String> = model.input.left_out.iter().map(|(kind, n)| format!("{} {kind}", count(*n))).collect();
    let source = match (model.from_sketch, model.drawn_from_sketch) {
        (true, _) => "A sketch of the data. All values and charts come from its cells.",
        (false, true) => {
            "The data. Charts, and the resamples of ECE, come from a sketch of the data, whose cells are finer than a chart can show."
        }
        (false, false) => "The data.",
    };
    html! {
        @if several { h3 { (model.name) } }
        dl class="facts" {
            @if !model.origin.files.is_empty() {
                dt { "File" }
                dd { @for (place, file) in model.origin.files.iter().enumerate() { @if place > 0 { br; } code { (file_name(file)) } } }
            }
            @for (what, column) in &model.origin.columns { dt { (what) } dd { code { (column) } } }
            @for note in &model.origin.notes { dt { "Input" } dd { (note) } }
            dt { "Rows" }
            dd {
                (count(model.n)) " measured"
                @if model.input.n_rows > model.n { " of " (count(model.input.n_rows)) }
                @if !left_out.is_empty() { "; left out: " (left_out.join(", ")) }
                @if model.input.n_ties > 0 { "; " (count(model.input.n_ties)) " with tied top classes" }
                @if model.input.n_rounded > 0 { "; " (count(model.input.n_rounded)) " rounded into [0, 1]" }
                @if model.input.n_inexact_sums > 0 {
                    "; " (count(model.input.n_inexact_sums)) " whose class probabilities do not sum to 1 within 0.001, used as given"
                }
            }
            dt { "Clipped" }
            dd { (count(model.n_clipped)) " probabilities, for LS-ECE only" }
            @for measure in model.measures.iter().take(2) {
                @if let Some(settings) = settings(measure) { dt { (super::measures::title(measure.spec, None)) } dd { (settings) } }
            }
            dt { "Made from" }
            dd { (source) }
        }
    }
}

/// The settings with four digits. The JSON of the page has all digits.
fn settings(measure: &Measured) -> Option<String> {
    let shown = |value: &Setting| match (value, value.to_string()) {
        (Setting::Number(number), text) if text.len() > 8 => four_digits(*number),
        (_, text) => text,
    };
    let settings = measure.estimate()?.settings.iter().map(|(name, value)| format!("{name} {}", shown(value)));
    Some(settings.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_not_shown() {
        let names =
            ["/home/someone/data/rows.csv", "C:\\Users\\someone\\rows.csv", "rows.csv", "arrays in Python", "data/"];
        assert_eq!(names.map(file_name), ["rows.csv", "rows.csv", "rows.csv", "arrays in Python", "data"]);
    }
}
