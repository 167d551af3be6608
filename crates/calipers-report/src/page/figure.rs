//! A chart on the page: the drawing, its caption and the numbers behind it.

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::table::Table;
use crate::chart::Chart;
use crate::gather::{ModelValues, Values};

/// A chart of one model, or several that a slider selects from.
pub(super) struct Panel {
    /// The kind of chart, which starts the names of its files.
    pub(super) kind: &'static str,
    /// The chart at each step of the slider.
    pub(super) steps: Vec<Step>,
    /// The index of the step that is shown first.
    pub(super) chosen: usize,
    /// What the chart shows.
    pub(super) text: String,
    /// Whether all models have the same text, so that it is shown once above their charts.
    pub(super) shares_text: bool,
}

/// A chart with its numbers.
pub(super) struct Step {
    pub(super) chart: Chart,
    /// The first column is x.
    pub(super) table: Table,
    /// A line above the chart; empty if there is no slider.
    pub(super) note: String,
}

impl Panel {
    /// A chart without a slider, whose text is the same for all models.
    pub(super) fn new(kind: &'static str, chart: Chart, table: Table, text: &str) -> Self {
        let steps = vec![Step { chart, table, note: String::new() }];
        Panel { kind, steps, chosen: 0, text: text.to_owned(), shares_text: true }
    }
}

/// The numbers of all charts so far, for the JSON of the page.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) charts: Vec<(String, Value)>,
}

impl Shown {
    /// The figures of all models: for each kind of chart, one figure for each model.
    pub(super) fn figures(
        &mut self,
        values: &Values,
        panels: fn(&Values, &ModelValues) -> Vec<Panel>,
    ) -> Vec<Vec<Markup>> {
        let mut kinds: Vec<Vec<Markup>> = Vec::new();
        for (place, model) in values.models.iter().enumerate() {
            let panels = panels(values, model);
            kinds.resize_with(panels.len(), Vec::new);
            for (kind, panel) in kinds.iter_mut().zip(&panels) {
                kind.push(self.figure(place, values.name_of(model), panel));
            }
        }
        kinds
    }

    /// The figure of the model with index `place`; `model` is its name if there are several.
    pub(super) fn figure(&mut self, place: usize, model: Option<&str>, panel: &Panel) -> Markup {
        let Some(Step { table, note, .. }) = panel.steps.get(panel.chosen) else { return html! {} };
        let charts: Vec<Chart> = panel.steps.iter().map(|step| step.chart.clone()).collect();
        let drawing = Chart::inline(&charts, panel.chosen);
        let x = |row: &Vec<f64>| row.first().and_then(|x| drawing.x(*x)).map_or(Value::Null, Value::from);
        let mut data = json!({ "columns": table.columns, "x": table.rows.iter().map(x).collect::<Value>() });
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
                @if let Some(model) = model { h3 { (model) } }
                @if !note.is_empty() { p class="note" { (note) } }
                div class="plot" tabindex="0" role="group" aria-label="Chart. The left and right arrow keys read its values." {
                    (PreEscaped(&drawing.svg))
                }
                @if model.is_none() || !panel.shares_text { figcaption { (panel.text) } }
                (table.html(&format!("{title}{}", panel.text)))
            }
        };
        self.charts.push((id, data));
        markup
    }
}
