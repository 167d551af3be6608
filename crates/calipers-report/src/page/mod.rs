//! Values -> a self-contained HTML page: styles, drawings, numbers and a small script are all in
//! it.

mod answer;
mod comparison;
mod data;
mod drift;
mod figure;
mod measures;
mod model;
mod models;
mod monitor;
mod navigation;
mod parts;
mod provenance;
mod recalibration;
mod reliability;
mod spread;
mod sweep;
mod table;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::chart::Chart;
use crate::gather::{ModelValues, Values};
use figure::{Panel, Shown};

pub use models::{Detail, ModelPoint, ModelsPage, models_page};
pub use monitor::monitor_page;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Values {
    /// The report as an HTML page, which opens anywhere without a network.
    pub fn to_html(&self) -> String {
        let mut shown = Shown::default();
        let diagram = self.diagram(&mut shown);
        let drift = drift::section(self, &mut shown);
        let sections = [
            navigation::bar(self),
            answer::header(self, &diagram),
            drift,
            comparison::section(self),
            measures::section(self),
            model::section(self, &mut shown),
            provenance::section(self),
        ];
        document(&format!("Calibration of {}", self.title), &sections, &data::json(self, &shown))
    }

    /// The diagram of the first screen: that of the only model, or those of all models in one.
    fn diagram(&self, shown: &mut Shown) -> Markup {
        match (&self.models[..], &self.overlay) {
            ([model], _) => html! { (reliability::diagrams(self, 0, model, shown)) (reliability::controls(self)) },
            (_, Some(overlay)) => html! {
                (shown.figure(0, None, &reliability::overlay(self, overlay)))
                div class="controls" { (reliability::axes()) }
            },
            // proof: several models have an overlay
            (_, None) => html! {},
        }
    }

    /// The charts of the page, each with a file name.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let sections: [fn(&Values, &ModelValues) -> Vec<Panel>; 4] =
            [reliability::panels, sweep::panels, spread::panels, recalibration::panels];
        let overlay = self.overlay.as_ref().and_then(|overlay| reliability::overlay(self, overlay).chart().cloned());
        let mut charts: Vec<_> =
            overlay.into_iter().map(|chart| ("reliability_overlay.svg".to_owned(), chart)).collect();
        for (place, (drifted, model)) in self.drifts.iter().zip(&self.models).enumerate() {
            let Ok(changed) = &drifted.outcome else { continue };
            let chart = drift::panel(self, drifted, changed, model).chart().cloned();
            charts.extend(chart.map(|chart| (file_name("drift", place, &model.name), chart)));
        }
        for panels in sections {
            for (place, model) in self.models.iter().enumerate() {
                for panel in panels(self, model) {
                    let chart = panel.chart().cloned();
                    charts.extend(chart.map(|chart| (file_name(panel.kind, place, &model.name), chart)));
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

/// The whole page. `json` has the numbers of its charts, for its script.
fn document(title: &str, sections: &[Markup], json: &str) -> String {
    document_with(title, sections, json, &[STYLE], &[SCRIPT])
}

/// A page with its own styles and scripts.
fn document_with(title: &str, sections: &[Markup], json: &str, styles: &[&str], scripts: &[&str]) -> String {
    // The page loads nothing, and only its own scripts run, not one that a name contains.
    let digests = scripts.iter().map(|script| format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script))));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
         script-src{}",
        digests.collect::<String>()
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
                title { (title) }
                @for style in styles { style { (PreEscaped(style)) } }
            }
            body {
                main {
                    @for section in sections { (section) }
                }
                div #tip role="status" aria-live="polite" hidden {}
                script type="application/json" #calipers-data { (PreEscaped(json)) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    // Control characters of names, which every browser treats in its own way.
    page.into_string().replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "\u{fffd}")
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

/// The file name of a chart of a model, in characters that every system accepts.
fn file_name(kind: &str, place: usize, name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    format!("{kind}_{}_{plain}.svg", place + 1)
}
