//! A chart in the page: the drawing, what it says in a line, and the numbers behind it.

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::table::Table;
use crate::chart::{Chart, Drawing};

/// The numbers of all charts so far, for the page's JSON.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) charts: Vec<(String, Value)>,
}

/// What stands around a chart.
pub(super) struct Caption<'a> {
    /// The model, where there are several.
    pub(super) model: Option<&'a str>,
    /// What the chart says.
    pub(super) text: String,
    /// Whether that is said of all models at once, above their charts.
    pub(super) is_shared: bool,
}

impl Shown {
    /// A chart and its numbers, of which the first column is x.
    pub(super) fn figure(&mut self, id: String, chart: &Chart, table: &Table, caption: &Caption<'_>) -> Markup {
        let drawing = chart.inline();
        let data = json!({ "columns": table.columns, "x": places(&drawing, table), "rows": table.json() });
        self.add(id, &drawing, table, data, caption, None)
    }

    /// Charts that a slider moves through, of which `chosen` is shown at first.
    pub(super) fn moments(
        &mut self,
        id: String,
        charts: &[Chart],
        tables: &[Table],
        notes: &[String],
        chosen: usize,
        caption: &Caption<'_>,
    ) -> Markup {
        let drawing = Chart::inline_moments(charts, chosen);
        let Some(table) = tables.get(chosen) else { return html! {} };
        let rows: Vec<Value> = tables.iter().map(Table::json).collect();
        let data = json!({ "columns": table.columns, "x": places(&drawing, table), "moments": rows, "notes": notes });
        self.add(id, &drawing, table, data, caption, notes.get(chosen).map(String::as_str))
    }

    fn add(
        &mut self,
        id: String,
        drawing: &Drawing,
        table: &Table,
        data: Value,
        caption: &Caption<'_>,
        note: Option<&str>,
    ) -> Markup {
        let title = caption.model.map_or_else(String::new, |model| format!("{model}: "));
        let markup = html! {
            figure data-chart=(id) {
                @if let Some(model) = caption.model { h3 { (model) } }
                @if let Some(note) = note { p class="note" { (note) } }
                div class="plot" tabindex="0" role="group" aria-label="Chart. Left and right arrow keys read its values." {
                    (PreEscaped(&drawing.svg))
                }
                @if !caption.is_shared { figcaption { (caption.text) } }
                (table.html(&format!("{title}{}", caption.text)))
            }
        };
        self.charts.push((id, data));
        markup
    }
}

/// Where each row of the table is in the drawing.
fn places(drawing: &Drawing, table: &Table) -> Value {
    table.rows.iter().map(|row| row.first().and_then(|x| drawing.x(*x)).map_or(Value::Null, Value::from)).collect()
}
