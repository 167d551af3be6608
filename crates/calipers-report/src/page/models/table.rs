//! The table of all models: what the chart shows, for people who cannot see it or who look for one
//! model.

use maud::{Markup, html};

use super::groups::{self, Groups};
use super::{Detail, ModelPoint, ModelsPage};
use crate::number::{capitalised, count, significant};

/// A column of further values.
struct Column<'a> {
    label: &'a str,
    /// Whether all its values are numbers.
    is_number: bool,
}

pub(super) fn html(page: &ModelsPage, groups: &Groups) -> Markup {
    let columns = columns(&page.models);
    let table = html! {
        table class="sortable" id="models-table" {
            thead { tr {
                (head("Model", false)) (head(&capitalised(&page.group), false)) (head("Rows", true))
                (head(&page.x, true)) (head(&page.y, true))
                @for column in &columns { (head(column.label, column.is_number)) }
            } }
            tbody {
                @for (place, model) in page.models.iter().enumerate() { (row(place, model, groups, &columns)) }
            }
        }
    };
    html! { div class="scroll tall" tabindex="0" role="region" aria-label="Table of all models" { (table) } }
}

/// The labels of all models, in the order in which they first appear.
fn columns(models: &[ModelPoint]) -> Vec<Column<'_>> {
    let mut columns: Vec<Column> = Vec::new();
    for detail in models.iter().flat_map(|model| &model.details) {
        let is_number = detail.value.is_some();
        match columns.iter_mut().find(|column| column.label == detail.label) {
            Some(column) => column.is_number &= is_number,
            None => columns.push(Column { label: &detail.label, is_number }),
        }
    }
    columns
}

fn head(label: &str, is_number: bool) -> Markup {
    html! { th scope="col" class=[is_number.then_some("n")] { button type="button" { (label) } } }
}

fn row(place: usize, model: &ModelPoint, groups: &Groups, columns: &[Column]) -> Markup {
    let group = groups.of_model(place);
    html! {
        tr data-place=(place) data-group=(group) {
            th scope="row" data-value=(model.name) { bdi { (model.name) } }
            td class="group-cell" data-value=(model.group) { (groups::symbol(group)) " " bdi { (groups::shown(&model.group)) } }
            td class="n" data-value=(model.n) { (count(model.n)) }
            td class="n" data-value=(model.x) { (significant(model.x)) }
            td class="n" data-value=(model.y) { (significant(model.y)) }
            @for column in columns { (cell(model, column)) }
        }
    }
}

fn cell(model: &ModelPoint, column: &Column) -> Markup {
    let detail = model.details.iter().find(|detail| detail.label == column.label);
    let text = detail.map_or("–", |detail| detail.text.as_str());
    let sorted = |detail: &Detail| match (column.is_number, detail.value) {
        (true, Some(value)) => value.to_string(),
        _ => detail.text.clone(),
    };
    let by = detail.map_or_else(|| if column.is_number { "NaN".to_owned() } else { String::new() }, sorted);
    html! { td class=[column.is_number.then_some("n")] data-value=(by) { bdi { (text) } } }
}
