//! Figures -> one page of HTML that needs nothing else: styles, drawings, numbers and the little
//! script are all in it.

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
use crate::gather::Figures;
use figure::Shown;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Figures {
    /// The report as a page of HTML. It opens anywhere, without a network.
    pub fn to_html(&self) -> String {
        let mut shown = Shown::default();
        let (diagrams, sweep) = (reliability::section(self, &mut shown), sweep::section(self, &mut shown));
        let sections = [
            verdict::section(self),
            measures::section(self),
            comparison::section(self),
            html! { div class=(if self.models.len() > 1 { "stacked" } else { "beside" }) { (diagrams) (sweep) } },
            spread::section(self, &mut shown),
            parts::classes(self),
            parts::groups(self),
            provenance::section(self),
        ];
        // Nothing is fetched, and no script runs but the one of this page: not even one that a name
        // would smuggle in.
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

    /// The charts of the page, each with the name of a file for it.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let mut charts = reliability::charts(self);
        charts.extend(sweep::charts(self));
        charts.extend(spread::charts(self));
        charts
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

/// A sentence of the core, at the start of a line.
fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How many charts stand side by side in a wide window: four in two rows rather than three and one.
fn columns(figures: &Figures) -> &'static str {
    match figures.models.len() {
        1 => "one",
        2 | 4 => "two",
        _ => "three",
    }
}

/// The name of a file for a chart of a model, in letters that every system takes.
fn file_name(kind: &str, place: usize, name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    format!("{kind}_{}_{plain}.svg", place + 1)
}
