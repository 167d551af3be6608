//! A chart on the page: the drawing, its caption and the numbers behind it.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use super::table::Table;
use crate::chart::Chart;

/// A chart of one model. A slider selects one of several steps, and a switch one of several views.
pub(super) struct Panel {
    /// The kind of chart, which starts the names of its files.
    pub(super) kind: &'static str,
    /// The same numbers on different axes; the first is shown unless a switch selects another.
    pub(super) views: Vec<View>,
    /// The numbers at each step of the slider.
    pub(super) steps: Vec<Step>,
    /// The index of the step that is shown first.
    pub(super) chosen: usize,
    /// What the chart shows.
    pub(super) text: String,
}

/// A chart with certain axes.
pub(super) struct View {
    /// The name of the axes, by which a switch selects the view.
    pub(super) name: &'static str,
    /// The chart at each step of the slider.
    pub(super) charts: Vec<Chart>,
}

/// The numbers of a chart.
pub(super) struct Step {
    /// The first column is x.
    pub(super) table: Table,
    /// A line above the chart; empty if there is no slider.
    pub(super) note: String,
}

impl Panel {
    /// A chart without a slider.
    pub(super) fn new(kind: &'static str, chart: Chart, table: Table, text: &str) -> Self {
        let steps = vec![Step { table, note: String::new() }];
        let views = vec![View { name: "linear", charts: vec![chart] }];
        Panel { kind, views, steps, chosen: 0, text: text.to_owned() }
    }

    /// The same numbers on other axes.
    pub(super) fn view(mut self, name: &'static str, charts: Vec<Chart>) -> Self {
        self.views.push(View { name, charts });
        self
    }

    /// The chart for a file.
    pub(super) fn chart(&self) -> Option<&Chart> {
        self.views.first()?.charts.get(self.chosen)
    }
}

/// The numbers of all charts so far, for the JSON of the page.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) charts: Vec<(String, Value)>,
}

impl Shown {
    /// The figure of the model with index `place`; `model` is its name if there are several.
    pub(super) fn figure(&mut self, place: usize, model: Option<&str>, panel: &Panel) -> Markup {
        let Some(Step { table, note }) = panel.steps.get(panel.chosen) else { return html! {} };
        let drawings: Vec<_> =
            panel.views.iter().map(|view| (view.name, Chart::inline(&view.charts, panel.chosen))).collect();
        let positions = |drawing: &crate::chart::Drawing| {
            let x = |row: &Vec<f64>| row.first().and_then(|x| drawing.x(*x)).map_or(Value::Null, Value::from);
            table.rows.iter().map(x).collect::<Value>()
        };
        let mut data = json!({ "columns": table.columns });
        if let Some((_, first)) = drawings.first() {
            data["x"] = positions(first);
        }
        let others = drawings.iter().skip(1).map(|(name, drawing)| ((*name).to_owned(), positions(drawing)));
        let others: Map<String, Value> = others.collect();
        if !others.is_empty() {
            data["views"] = others.into();
        }
        if panel.steps.len() > 1 || !note.is_empty() {
            data["steps"] = panel.steps.iter().map(|step| step.table.json()).collect();
            data["notes"] = panel.steps.iter().map(|step| step.note.as_str()).collect();
        } else {
            data["rows"] = table.json();
        }
        let id = format!("{}-{place}", panel.kind.trim_start_matches("reliability_"));
        let title = model.map_or_else(String::new, |model| format!("{model}: "));
        let markup = html! {
            figure data-chart=(id) {
                @for (name, drawing) in &drawings {
                    div class={ "plot view-" (name) } data-view=(name) tabindex="0" role="group" aria-label="Chart. The left and right arrow keys read its values." {
                        (PreEscaped(&drawing.svg))
                    }
                }
                @if !note.is_empty() { p class="note" { (note) } }
                figcaption { (panel.text) }
                (table.html(&format!("{title}{}", panel.text)))
            }
        };
        self.charts.push((id, data));
        markup
    }
}
