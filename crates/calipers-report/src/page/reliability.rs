//! The reliability diagrams, to switch between, and the slider for sigma.

use maud::{Markup, html};

use super::figure::{Caption, Shown};
use super::table::Table;
use super::{columns, file_name};
use crate::chart::Chart;
use crate::charts;
use crate::gather::{Figures, ModelFigures, Moment};
use crate::number::{percent, significant};

const KINDS: [(&str, &str); 3] = [("smoothed", "Smoothed"), ("binned", "Binned"), ("corp", "CORP")];

/// What each says.
const TEXTS: [&str; 3] = [
    "Outcome rate after smoothing on the logit scale.",
    "A bar up to the outcome rate of each bin, a dot at its mean probability.",
    "The outcome rate that rises with the probability and fits best (isotonic regression).",
];

/// What bands say.
const OUTSIDE: &str = "Outside the band, chance alone does not explain the gap.";
const CLUSTERED: &str = "The band takes rows as independent, which those of a cluster are not: it is narrower than chance. The verdict above reckons with clusters.";

pub(super) fn section(figures: &Figures, shown: &mut Shown) -> Markup {
    let several = figures.models.len() > 1;
    let moments = figures.models.first().map_or(0, |model| model.reliability.moments.len());
    let chosen = figures.models.first().map_or(0, |model| model.reliability.chosen);
    let band_name = band_name(figures);
    let mut panels: [Vec<Markup>; 3] = Default::default();
    for (place, model) in figures.models.iter().enumerate() {
        let name = several.then_some(model.name.as_str());
        let reliability = &model.reliability;
        let all: Vec<Chart> =
            reliability.moments.iter().map(|moment| charts::smoothed(&model.name, moment, &band_name)).collect();
        let tables: Vec<Table> = reliability.moments.iter().map(smoothed_table).collect();
        let notes: Vec<String> = reliability.moments.iter().map(note).collect();
        let band = if model.clustered { CLUSTERED } else { OUTSIDE };
        let caption = Caption { model: name, text: format!("{} {band}", TEXTS[0]), is_shared: several };
        panels[0].push(shown.moments(format!("smoothed-{place}"), &all, &tables, &notes, reliability.chosen, &caption));
        let text = TEXTS[1];
        let caption = Caption { model: name, text: text.to_owned(), is_shared: several };
        let chart = charts::binned(&model.name, &reliability.bins);
        panels[1].push(shown.figure(format!("binned-{place}"), &chart, &binned_table(model), &caption));
        let caption = Caption { model: name, text: format!("{} {band}", TEXTS[2]), is_shared: several };
        let chart = charts::corp(&model.name, &reliability.corp, &band_name);
        panels[2].push(shown.figure(format!("corp-{place}"), &chart, &corp_table(model), &caption));
    }
    let band = if figures.models.iter().any(|model| model.clustered) { CLUSTERED } else { OUTSIDE };
    let bands = [band, "", band];
    let content = html! {
        p class="lead" { "Below the diagonal probabilities are too high, above it too low." }
        div class="controls" {
            fieldset class="switch" {
                legend { "Diagram" }
                @for (place, (kind, title)) in KINDS.iter().enumerate() {
                    label { input type="radio" name="kind" value=(kind) id={ "kind-" (kind) } checked[place == 0]; span { (title) } }
                }
            }
            @if moments > 1 {
                label class="slider of-smoothed" {
                    span { "Smoothing" }
                    input type="range" id="sigma" min="0" max=(moments - 1) step="1" value=(chosen) data-chosen=(chosen)
                        aria-describedby="sigma-value" autocomplete="off";
                    output id="sigma-value" for="sigma" { (sigma_note(figures, chosen)) }
                }
                button type="button" id="sigma-reset" class="of-smoothed" { "Back to " (rule(figures)) }
            }
        }
        @for ((((kind, _), text), band), panel) in KINDS.iter().zip(TEXTS).zip(bands).zip(&panels) {
            div class={ "panel of-" (kind) } {
                @if several { p class="lead" { (text) " " (band) } }
                div class={ "charts " (columns(figures)) } { @for figure in panel { (figure) } }
            }
        }
        @if moments > 1 { (sigma_notes(figures, moments)) }
    };
    super::section("reliability", "Reliability diagram", &content)
}

fn band_name(figures: &Figures) -> String {
    format!("calibrated, {} of draws", percent(figures.options.level))
}

/// How sigma was settled.
fn rule(figures: &Figures) -> &'static str {
    let rule = figures.models.first().and_then(|model| model.measures.first()?.estimate()?.settings.text("sigma_rule"));
    if rule == Some("given") { "the sigma given" } else { "auto" }
}

/// What the slider says of a moment.
fn sigma_note(figures: &Figures, at: usize) -> String {
    let sigmas: Vec<f64> = figures.models.iter().map(|model| model.reliability.moments[at].sigma).collect();
    let same = sigmas.iter().all(|sigma| *sigma == sigmas[0]);
    let is_chosen = figures.models.first().is_some_and(|model| model.reliability.chosen == at);
    let sigma = if same { format!("sigma {}", significant(sigmas[0])) } else { format!("step {}", at + 1) };
    if is_chosen { format!("{sigma} ({})", rule(figures)) } else { sigma }
}

/// The same for all moments, for the script to show.
fn sigma_notes(figures: &Figures, moments: usize) -> Markup {
    html! {
        ol id="sigma-notes" hidden { @for at in 0..moments { li { (sigma_note(figures, at)) } } }
    }
}

fn note(moment: &Moment) -> String {
    let sigma = significant(moment.sigma);
    match &moment.ls_ece {
        Some(estimate) => format!("LS-ECE {} at sigma {sigma}", significant(estimate.value)),
        None => format!("sigma {sigma}"),
    }
}

fn smoothed_table(moment: &Moment) -> Table {
    let columns = ["probability", "outcome rate", "calibrated from", "calibrated to", "density"];
    let row = |place: usize| {
        let (curve, band) = (&moment.curve, &moment.band);
        let seen = |value: f64| if charts::is_seen(moment, place) { value } else { f64::NAN };
        vec![
            curve.probabilities[place],
            seen(curve.outcome_rates[place]),
            seen(band.lower[place]),
            seen(band.upper[place]),
            curve.densities[place],
        ]
    };
    Table::new(&columns, (0..moment.curve.probabilities.len()).map(row))
}

fn binned_table(model: &ModelFigures) -> Table {
    let columns = ["mean probability", "outcome rate", "rows", "bin from", "bin to"];
    let occupied = model.reliability.bins.bins.iter().filter(|bin| !bin.outcome_rate.is_nan());
    Table::new(
        &columns,
        occupied.map(|bin| vec![bin.mean_probability, bin.outcome_rate, bin.n as f64, bin.lower, bin.upper]),
    )
}

fn corp_table(model: &ModelFigures) -> Table {
    let corp = &model.reliability.corp;
    let columns = ["probability", "outcome rate", "calibrated from", "calibrated to"];
    let row =
        |place: usize| vec![corp.probabilities[place], corp.outcome_rates[place], corp.lower[place], corp.upper[place]];
    Table::new(&columns, (0..corp.probabilities.len()).map(row))
}

pub(super) fn charts(figures: &Figures) -> Vec<(String, Chart)> {
    let band_name = band_name(figures);
    let of = |(place, model): (usize, &ModelFigures)| {
        let reliability = &model.reliability;
        let smoothed = reliability.moments.get(reliability.chosen);
        let smoothed = smoothed.map(|moment| {
            (file_name("reliability_smoothed", place, &model.name), charts::smoothed(&model.name, moment, &band_name))
        });
        smoothed.into_iter().chain([
            (file_name("reliability_binned", place, &model.name), charts::binned(&model.name, &reliability.bins)),
            (
                file_name("reliability_corp", place, &model.name),
                charts::corp(&model.name, &reliability.corp, &band_name),
            ),
        ])
    };
    figures.models.iter().enumerate().flat_map(of).collect()
}
