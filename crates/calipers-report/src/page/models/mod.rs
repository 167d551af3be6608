//! A page about many models: a chart of two values of each, and a table of all their values.

mod groups;
mod table;

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use super::{SCRIPT, STYLE, data, document_with, section};
use crate::chart::{Mark, Scale, Scatter};
use crate::number::{count, four_digits, significant};
use groups::Groups;

const MODELS_STYLE: &str = include_str!("style.css");
const MODELS_SCRIPT: &str = include_str!("script.js");

/// The letters of a name that a browser shows on hover where no script runs.
const MOST_LETTERS: usize = 120;

/// What [`models_page`] shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelsPage {
    /// The heading of the page.
    pub title: String,
    /// Paragraphs below the heading.
    pub about: Vec<String>,
    /// The quantity along the horizontal axis.
    pub x: String,
    /// The quantity along the vertical axis. Both axes have the same scale.
    pub y: String,
    /// What a group is, for example `domain`.
    pub group: String,
    /// The models, in the order of the table.
    pub models: Vec<ModelPoint>,
    /// The command that made the page.
    pub command: Option<String>,
}

/// One model on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPoint {
    /// The name of the model.
    pub name: String,
    /// The group of the model, which has a colour and a shape in the chart.
    pub group: String,
    /// The number of rows. The area of the mark grows with it.
    pub n: u64,
    /// The value along the horizontal axis. If it or `y` is not finite, the model is only in the
    /// table.
    pub x: f64,
    /// The value along the vertical axis.
    pub y: f64,
    /// Further values. The table has a column for each label.
    pub details: Vec<Detail>,
}

/// A further value of a model, as it is shown and as it is sorted.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// What the value is: the heading of its column.
    pub label: String,
    /// The value as it is shown.
    pub text: String,
    /// The number by which the table sorts; `None` for a text, which is sorted as such.
    pub value: Option<f64>,
}

impl Detail {
    /// A number with four significant digits.
    pub fn number(label: impl Into<String>, value: f64) -> Self {
        Detail::shown(label, value, significant(value))
    }

    /// A number that is shown in a form of its own, for example an interval.
    pub fn shown(label: impl Into<String>, value: f64, text: impl Into<String>) -> Self {
        Detail { label: label.into(), text: text.into(), value: Some(value) }
    }

    /// A text.
    pub fn text(label: impl Into<String>, text: impl Into<String>) -> Self {
        Detail { label: label.into(), text: text.into(), value: None }
    }
}

/// A self-contained HTML page with a chart of many models: `y` against `x`, a colour and a shape
/// for each group, and an area that grows with the number of rows. Its table has all values.
///
/// The chart is drawn here, so that it is visible where no script runs. The script of the page
/// shows the values of a model on hover and with the arrow keys, filters by name and by group, and
/// sorts the table. A logarithmic axis shows values that are not positive at its start.
///
/// # Example
/// ```
/// use calipers_report::{Detail, ModelPoint, ModelsPage, models_page};
///
/// let model = ModelPoint {
///     name: "forest".to_owned(),
///     group: "medicine".to_owned(),
///     n: 569,
///     x: 0.031,
///     y: 0.024,
///     details: vec![Detail::number("noise floor", 0.019), Detail::text("verdict", "no evidence")],
/// };
/// let page = models_page(&ModelsPage {
///     title: "ECE and LS-ECE of one model".to_owned(),
///     about: vec!["The model is a random forest.".to_owned()],
///     x: "ECE".to_owned(),
///     y: "LS-ECE".to_owned(),
///     group: "domain".to_owned(),
///     models: vec![model],
///     command: None,
/// });
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("forest"));
/// ```
pub fn models_page(page: &ModelsPage) -> String {
    let groups = Groups::new(&page.models);
    let sections = [
        navigation(),
        header(page),
        section("chart", "Chart", &chart(page, &groups)),
        section("models", "All models", &table::html(page, &groups)),
        provenance(page),
    ];
    let json = data::harmless(&to_json(page).to_string());
    document_with(&page.title, &sections, &json, &[STYLE, MODELS_STYLE], &[SCRIPT, MODELS_SCRIPT])
}

fn navigation() -> Markup {
    html! {
        nav aria-label="Sections" {
            span class="eyebrow" { "calipers · models" }
            a href="#chart" { "Chart" }
            a href="#models" { "All models" }
            a href="#provenance" { "How this page was made" }
        }
    }
}

fn header(page: &ModelsPage) -> Markup {
    html! {
        header class="about" {
            h1 { (page.title) }
            @for paragraph in &page.about { p class="lead" { (paragraph) } }
        }
    }
}

fn chart(page: &ModelsPage, groups: &Groups) -> Markup {
    let scatter = Scatter {
        title: format!("{} against {}", page.y, page.x),
        x: page.x.clone(),
        y: page.y.clone(),
        marks: page.models.iter().enumerate().map(|(place, model)| mark(page, groups, place, model)).collect(),
    };
    let n_drawn = scatter.drawn().count();
    let n_missing = page.models.len() - n_drawn;
    if n_drawn == 0 {
        return html! { p class="lead" { "No model has two values that can be drawn." } };
    }
    let has_zero = scatter.drawn().any(|mark| mark.x.min(mark.y) <= 0.0);
    let help = "Chart. The arrow keys go from model to model: left and right along the horizontal axis, up and down \
                along the vertical axis.";
    html! {
        div class="controls" {
            fieldset class="switch" {
                legend { "Axes" }
                @for (place, (name, id)) in [("Logarithmic", "axes-log"), ("Linear", "axes-linear")].into_iter().enumerate() {
                    label { input type="radio" name="axes" id=(id) autocomplete="off" checked[place == 0]; span { (name) } }
                }
            }
            label class="find" { span { "Find a model" } input type="search" id="find" autocomplete="off" spellcheck="false" placeholder={ "name or " (page.group) }; }
            output id="found" class="note" for="find" {}
        }
        div class="explorer" {
            figure {
                @for (name, scale) in [("log", Scale::Log), ("linear", Scale::Linear)] {
                    div class={ "scatter of-" (name) } tabindex="0" role="group" aria-label=(help) { (PreEscaped(scatter.svg(scale))) }
                }
                figcaption {
                    "Each mark is a model; its area grows with its number of rows. On the dashed line, both values are \
                     equal; above it, " (page.y) " is larger than " (page.x) "."
                    @if has_zero { span class="of-log" { " A logarithmic axis has no place for 0: the strip at its start has such values." } }
                    @if n_missing > 0 { " " (count(n_missing as u64)) " of " (count(page.models.len() as u64)) " models do not have both values; they are only in the table." }
                }
            }
            (groups.legend(&page.group))
        }
    }
}

fn mark(page: &ModelsPage, groups: &Groups, place: usize, model: &ModelPoint) -> Mark {
    let (colour, shape) = groups::look(groups.of_model(place));
    let name: String = model.name.chars().take(MOST_LETTERS).collect();
    let group: String = model.group.chars().take(MOST_LETTERS).collect();
    let [x, y] = [model.x, model.y].map(four_digits);
    let title = format!("{name} ({group}), {} rows, {} {x}, {} {y}", count(model.n), page.x, page.y);
    Mark { place, x: model.x, y: model.y, n: model.n, colour, shape, title }
}

fn provenance(page: &ModelsPage) -> Markup {
    let content = html! {
        dl class="facts" {
            dt { "Models" }
            dd { (count(page.models.len() as u64)) }
            dt { "Version" }
            dd { "calipers " (env!("CARGO_PKG_VERSION")) }
            @if let Some(command) = &page.command { dt { "Command" } dd { code { (command) } } }
        }
    };
    section("provenance", "How this page was made", &content)
}

/// The values of the page, for other programs.
fn to_json(page: &ModelsPage) -> Value {
    let detail = |detail: &Detail| {
        let value = detail.value.map_or_else(|| Value::from(detail.text.as_str()), Value::from);
        (detail.label.clone(), value)
    };
    let model = |model: &ModelPoint| {
        json!({
            "name": model.name,
            "group": model.group,
            "n": model.n,
            "x": model.x,
            "y": model.y,
            "details": model.details.iter().map(detail).collect::<Map<_, _>>(),
        })
    };
    json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "title": page.title,
        "x": page.x,
        "y": page.y,
        "models": page.models.iter().map(model).collect::<Vec<Value>>(),
    })
}
