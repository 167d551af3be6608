//! ECE over numbers of bins beside LS-ECE over sigma.

use calipers::{Estimate, Verdict};
use maud::{Markup, html};

use super::figure::{Caption, Shown};
use super::table::Table;
use super::{columns, file_name};
use crate::chart::Chart;
use crate::charts;
use crate::gather::{Figures, ModelFigures, SweepFigures};

pub(super) fn section(figures: &Figures, shown: &mut Shown) -> Markup {
    let several = figures.models.len() > 1;
    let mut panels = Vec::new();
    for (place, model) in figures.models.iter().enumerate() {
        let name = several.then_some(model.name.as_str());
        let panel = match (&model.sweep, chart(model)) {
            (SweepFigures::Refused(reason), _) => {
                html! { p class="note" { @if let Some(name) = name { (name) ": " } "There is no sweep: " (reason) "." } }
            }
            (sweep, Some(chart)) => {
                let text = sentence(sweep)
                    + if model.clustered {
                        ". What chance does is that of independent rows, which those of a cluster are not."
                    } else {
                        ""
                    };
                let caption = Caption { model: name, text, is_shared: false };
                shown.figure(format!("sweep-{place}"), &chart, &table(sweep), &caption)
            }
            (_, None) => html! {},
        };
        panels.push(panel);
    }
    let content = html! {
        p class="lead" {
            "How much of ECE is the choice of bins? LS-ECE is at sigma = 1/bins. "
            (headline(figures))
        }
        div class={ "charts " (columns(figures)) } { @for panel in &panels { (panel) } }
    };
    super::section("sweep", "Does ECE depend on its bins?", &content)
}

/// In one word, where all models agree.
fn headline(figures: &Figures) -> Markup {
    let verdicts: Vec<&Verdict> = figures
        .models
        .iter()
        // Without a word on rows that depend on each other.
        .filter(|model| !model.clustered)
        .filter_map(|model| match &model.sweep {
            SweepFigures::Whole(result) => Some(&result.verdict),
            SweepFigures::Parts { whole, .. } => whole.as_ref().map(|sweep| &sweep.verdict),
            SweepFigures::Refused(_) => None,
        })
        .collect();
    let n_brittle = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Brittle { .. })).count();
    match (verdicts.len(), n_brittle) {
        (0, _) => html! {},
        (1, 0) => html! { strong { "No more than chance or LS-ECE would move." } },
        (1, _) => html! { strong { "It does, here: ECE is brittle." } },
        (n, 0) => html! { strong { "No more than chance or LS-ECE would move, for each of " (n) " models." } },
        (n, brittle) => html! { strong { "ECE is brittle for " (brittle) " of " (n) " models." } },
    }
}

fn sentence(sweep: &SweepFigures) -> String {
    let sentence = match sweep {
        SweepFigures::Whole(result) => result.sentence(),
        SweepFigures::Parts { whole: Some(sweep), .. } => sweep.sentence(),
        SweepFigures::Parts { whole: None, .. } => "the sketch is too coarse for a verdict".to_owned(),
        SweepFigures::Refused(reason) => reason.clone(),
    };
    super::capitalised(&sentence)
}

fn chart(model: &ModelFigures) -> Option<Chart> {
    match &model.sweep {
        SweepFigures::Whole(result) => Some(charts::sweep_chart(&[(&model.name, result)]).size(420.0, 400.0)),
        SweepFigures::Parts { points, .. } => Some(charts::sweep_parts(&model.name, points).size(420.0, 400.0)),
        SweepFigures::Refused(_) => None,
    }
}

fn table(sweep: &SweepFigures) -> Table {
    let value = |estimate: &Option<Estimate>| estimate.as_ref().map_or(f64::NAN, |estimate| estimate.value);
    match sweep {
        SweepFigures::Whole(result) => {
            let row = |point: &calipers::SweepPoint| {
                vec![point.n_bins as f64, point.ece_uniform.value, value(&point.ece_quantile), point.ls_ece.value]
            };
            let columns = ["bins, 1/sigma", "ECE, equal width", "ECE, equal mass", "LS-ECE"];
            Table::new(&columns, result.points.iter().map(row))
        }
        SweepFigures::Parts { points, .. } => {
            let columns = ["bins, 1/sigma", "ECE, equal width", "LS-ECE"];
            Table::new(&columns, points.iter().map(|(n_bins, ece, ls)| vec![*n_bins as f64, value(ece), value(ls)]))
        }
        SweepFigures::Refused(_) => Table::new(&[], std::iter::empty()),
    }
}

pub(super) fn charts(figures: &Figures) -> Vec<(String, Chart)> {
    let of = |(place, model): (usize, &ModelFigures)| Some((file_name("sweep", place, &model.name), chart(model)?));
    figures.models.iter().enumerate().filter_map(of).collect()
}
