//! ECE by number of bins and LS-ECE by sigma.

use calipers::{Estimate, SweepResult, Verdict};
use maud::{Markup, html};

use super::figure::{Panel, Shown};
use super::table::Table;
use crate::charts;
use crate::gather::{ModelValues, SweepValues, Values};
use crate::number::capitalised;

pub(super) fn section(values: &Values, shown: &mut Shown) -> Markup {
    let mut figures = Vec::new();
    for (place, model) in values.models.iter().enumerate() {
        let name = values.name_of(model);
        if let SweepValues::Error(reason) = &model.sweep {
            figures.push(html! {
                p class="note" { @if let Some(name) = name { (name) ": " } "There is no sweep: " (reason) "." }
            });
        }
        figures.extend(panels(values, model).iter().map(|panel| shown.figure(place, name, panel)));
    }
    let content = html! {
        p class="lead" {
            "This chart shows how much ECE depends on the choice of bins. LS-ECE is at sigma = 1/bins. "
            (headline(values))
        }
        div class={ "charts " (super::columns(values)) } { @for figure in &figures { (figure) } }
    };
    super::section("sweep", "Does ECE depend on its bins?", &content)
}

/// The sweep with its verdict, if there is one.
fn whole(model: &ModelValues) -> Option<&SweepResult> {
    match &model.sweep {
        SweepValues::Whole(result) => Some(result),
        SweepValues::Parts { whole, .. } => whole.as_deref(),
        SweepValues::Error(_) => None,
    }
}

/// The verdict on all models. There is none for rows that depend on each other.
fn headline(values: &Values) -> Markup {
    let verdicts = values.models.iter().filter(|model| !model.clustered).filter_map(whole).map(|sweep| &sweep.verdict);
    let (n_brittle, n) = verdicts.fold((0, 0), |(n_brittle, n), verdict| {
        (n_brittle + usize::from(matches!(verdict, Verdict::Brittle { .. })), n + 1)
    });
    let stable = "ECE changes no more than LS-ECE does, or than chance explains";
    html! {
        @match (n, n_brittle) {
            (0, _) => {}
            (1, 0) => strong { (stable) "." },
            (1, _) => strong { "ECE is brittle: it depends on the number of bins." },
            (n, 0) => strong { (stable) ", for each of " (n) " models." },
            (n, n_brittle) => strong { "ECE is brittle for " (n_brittle) " of " (n) " models: it depends on the number of bins." },
        }
    }
}

pub(super) fn panels(_: &Values, model: &ModelValues) -> Vec<Panel> {
    let value = |estimate: &Option<Estimate>| estimate.as_ref().map_or(f64::NAN, |estimate| estimate.value);
    let (chart, table) = match &model.sweep {
        SweepValues::Whole(result) => {
            let row = |point: &calipers::SweepPoint| {
                vec![point.n_bins as f64, point.ece_uniform.value, value(&point.ece_quantile), point.ls_ece.value]
            };
            let columns = ["bins, 1/sigma", "ECE, equal width", "ECE, equal mass", "LS-ECE"];
            let table = Table::new(&columns, result.points.iter().map(row));
            (charts::sweep_chart(&[(&model.name, result)]), table)
        }
        SweepValues::Parts { points, .. } => {
            let rows = points.iter().map(|(n_bins, ece, ls)| vec![*n_bins as f64, value(ece), value(ls)]);
            let table = Table::new(&["bins, 1/sigma", "ECE, equal width", "LS-ECE"], rows);
            (charts::sweep_parts(&model.name, &table.rows), table)
        }
        SweepValues::Error(_) => return Vec::new(),
    };
    let sentence =
        whole(model).map_or_else(|| "the sketch is too coarse for a verdict".to_owned(), SweepResult::sentence);
    let sentence = format!("{}.", capitalised(sentence.trim_end_matches('.')));
    let clustered =
        " The part that chance explains assumes independent rows, but rows of a cluster depend on each other.";
    let text = sentence + if model.clustered { clustered } else { "" };
    vec![Panel { shares_text: false, ..Panel::new("sweep", chart.size(420.0, 400.0), table, &text) }]
}
