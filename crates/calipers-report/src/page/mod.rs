//! Values -> a self-contained HTML page: styles, drawings, numbers and a small script are all in
//! it.

mod comparison;
mod data;
mod figure;
mod measures;
mod parts;
mod provenance;
mod reliability;
mod spread;
mod sweep;
mod table;
mod verdict;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::chart::Chart;
use crate::gather::{ModelValues, Values};
use figure::{Panel, Shown};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Values {
    /// The report as an HTML page, which opens anywhere without a network.
    pub fn to_html(&self) -> String {
        let mut shown = Shown::default();
        let (diagrams, sweep) = (reliability::section(self, &mut shown), sweep::section(self, &mut shown));
        let sections = [
            verdict::section(self),
            measures::section(self),
            comparison::section(self),
            html! { div class=(arrangement(self)) { (diagrams) (sweep) } },
            spread::section(self, &mut shown),
            parts::section(self, "classes", |_| "LS-ECE of each class".to_owned(), |model| model.classes.as_ref()),
            parts::section(self, "groups", |by| format!("LS-ECE by {by}"), |model| model.groups.as_ref()),
            provenance::section(self),
        ];
        // The page loads nothing, and only its own script runs, not one that a name contains.
        let policy = format!(
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
             script-src 'sha256-{}'",
            BASE64_STANDARD.encode(Sha256::digest(SCRIPT))
        );
        let page: Markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content={ "calipers " (env!("CARGO_PKG_VERSION")) };
                    title { "Calibration of " (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        @for section in &sections { (section) }
                    }
                    div #tip role="status" aria-live="polite" hidden {}
                    script type="application/json" #calipers-data { (PreEscaped(data::json(self, &shown))) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }

    /// The charts of the page, each with a file name.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let sections: [fn(&Values, &ModelValues) -> Vec<Panel>; 3] =
            [reliability::panels, sweep::panels, spread::panels];
        let mut charts = Vec::new();
        for panels in sections {
            for (place, model) in self.models.iter().enumerate() {
                for mut panel in panels(self, model) {
                    let chart = panel.steps.swap_remove(panel.chosen).chart;
                    charts.push((file_name(panel.kind, place, &model.name), chart));
                }
            }
        }
        charts
    }

    /// The name of a model if there are several models.
    fn name_of<'a>(&self, model: &'a ModelValues) -> Option<&'a str> {
        (self.models.len() > 1).then_some(model.name.as_str())
    }
}

/// A heading with its section below.
fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A table that scrolls in its own box.
fn scrolled(label: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="region" aria-label=(label) { (table) } }
}

/// The same chart of all models, below the text that they share.
fn side_by_side(values: &Values, text: &str, figures: &[Markup]) -> Markup {
    html! {
        @if values.models.len() > 1 { p class="lead" { (text) } }
        div class={ "charts " (columns(values)) } { @for figure in figures { (figure) } }
    }
}

/// Whether two sections are side by side.
fn arrangement(values: &Values) -> &'static str {
    if values.models.len() > 1 { "stacked" } else { "beside" }
}

/// The number of columns in a wide window. Four models are in two rows, not three and one.
fn columns(values: &Values) -> &'static str {
    match values.models.len() {
        1 => "one",
        2 | 4 => "two",
        _ => "three",
    }
}

/// The file name of a chart of a model, in characters that every system accepts.
fn file_name(kind: &str, place: usize, name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    format!("{kind}_{}_{plain}.svg", place + 1)
}
