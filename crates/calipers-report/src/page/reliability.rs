//! The reliability diagrams, with a switch between them and a slider for sigma.

use maud::{Markup, html};

use super::figure::{Panel, Shown, Step};
use super::table::Table;
use crate::charts;
use crate::gather::{ModelValues, Smoothed, Values};
use crate::number::{percent, significant};

const KINDS: [(&str, &str); 3] = [("smoothed", "Smoothed"), ("binned", "Binned"), ("corp", "CORP")];

/// What each diagram shows.
const TEXTS: [&str; 3] = [
    "The curve is the outcome rate after smoothing on the logit scale.",
    "Each bar is the outcome rate of a bin, and each dot is at the mean probability of the bin.",
    "The curve is the best fit among outcome rates that increase with the probability (isotonic regression).",
];

/// What bands show.
const BAND: &str = "Chance alone does not explain a curve outside the band.";
const CLUSTERED: &str = "The band assumes independent rows. Rows of a cluster depend on each other, so the band is too narrow. The verdict above accounts for clusters.";

/// The text of a diagram for these models.
fn text<'a>(kind: usize, mut models: impl Iterator<Item = &'a ModelValues>) -> String {
    let band = if models.any(|model| model.clustered) { CLUSTERED } else { BAND };
    if kind == 1 { TEXTS[kind].to_owned() } else { format!("{} {band}", TEXTS[kind]) }
}

pub(super) fn section(values: &Values, shown: &mut Shown) -> Markup {
    let first = values.models.first().map(|model| &model.reliability);
    let n_steps = first.map_or(0, |reliability| reliability.smoothed.len());
    let chosen = first.map_or(0, |reliability| reliability.chosen);
    let figures = shown.figures(values, panels);
    let content = html! {
        p class="lead" { "Below the diagonal, probabilities are too high. Above it, they are too low." }
        div class="controls" {
            fieldset class="switch" {
                legend { "Diagram" }
                @for (place, (kind, title)) in KINDS.iter().enumerate() {
                    label { input type="radio" name="kind" value=(kind) id={ "kind-" (kind) } checked[place == 0]; span { (title) } }
                }
            }
            @if n_steps > 1 {
                label class="slider of-smoothed" {
                    span { "Smoothing" }
                    input type="range" id="sigma" min="0" max=(n_steps - 1) step="1" value=(chosen) data-chosen=(chosen)
                        aria-describedby="sigma-value" autocomplete="off";
                    output id="sigma-value" for="sigma" { (sigma_note(values, chosen)) }
                }
                button type="button" id="sigma-reset" class="of-smoothed" { "Back to the " (rule(values)) " sigma" }
            }
        }
        @for (place, ((kind, _), figures)) in KINDS.iter().zip(&figures).enumerate() {
            div class={ "panel of-" (kind) } {
                (super::side_by_side(values, &text(place, values.models.iter()), figures))
            }
        }
        // The script shows these when the slider moves.
        @if n_steps > 1 { ol id="sigma-notes" hidden { @for at in 0..n_steps { li { (sigma_note(values, at)) } } } }
    };
    super::section("reliability", "Reliability diagram", &content)
}

/// Whether sigma was chosen automatically.
fn rule(values: &Values) -> &'static str {
    let rule = values.models.first().and_then(|model| model.measures.first()?.estimate()?.settings.text("sigma_rule"));
    if rule == Some("given") { "given" } else { "automatic" }
}

/// The text beside the slider at a step.
fn sigma_note(values: &Values, at: usize) -> String {
    let sigmas: Vec<f64> = values.models.iter().map(|model| model.reliability.smoothed[at].sigma).collect();
    let same = sigmas.iter().all(|sigma| *sigma == sigmas[0]);
    let is_chosen = values.models.first().is_some_and(|model| model.reliability.chosen == at);
    let sigma = if same { format!("sigma {}", significant(sigmas[0])) } else { format!("step {}", at + 1) };
    if is_chosen { format!("{sigma} ({})", rule(values)) } else { sigma }
}

fn note(diagram: &Smoothed) -> String {
    let sigma = significant(diagram.sigma);
    match &diagram.ls_ece {
        Some(estimate) => format!("LS-ECE is {} at sigma {sigma}.", significant(estimate.value)),
        None => format!("Sigma is {sigma}."),
    }
}

pub(super) fn panels(values: &Values, model: &ModelValues) -> Vec<Panel> {
    let (name, reliability) = (&model.name, &model.reliability);
    let band_name = format!("{} band of a calibrated model", percent(values.options.level));
    let text = |kind: usize| text(kind, std::iter::once(model));
    let step = |diagram: &Smoothed| {
        let (curve, band) = (&diagram.curve, &diagram.band);
        let seen = |values: &[f64]| charts::seen(diagram, values);
        let table = Table::of_columns(&[
            ("probability", &curve.probabilities),
            ("outcome rate", &seen(&curve.outcome_rates)),
            ("band from", &seen(&band.lower)),
            ("band to", &seen(&band.upper)),
            ("density", &curve.densities),
        ]);
        Step { chart: charts::smoothed(name, diagram, &band_name), table, note: note(diagram) }
    };
    let steps = reliability.smoothed.iter().map(step).collect();
    let chosen = reliability.chosen;
    let smoothed = Panel { kind: "reliability_smoothed", steps, chosen, text: text(0), shares_text: true };
    let occupied = reliability.bins.iter().filter(|bin| !bin.outcome_rate.is_nan());
    let bins = Table::new(
        &["mean probability", "outcome rate", "rows", "bin from", "bin to"],
        occupied.map(|bin| vec![bin.mean_probability, bin.outcome_rate, bin.n as f64, bin.lower, bin.upper]),
    );
    let corp = &reliability.corp;
    let fit = Table::of_columns(&[
        ("probability", &corp.probabilities),
        ("outcome rate", &corp.outcome_rates),
        ("band from", &corp.lower),
        ("band to", &corp.upper),
    ]);
    let binned = Panel::new("reliability_binned", charts::binned(name, &reliability.bins), bins, &text(1));
    vec![smoothed, binned, Panel::new("reliability_corp", charts::corp(name, corp, &band_name), fit, &text(2))]
}
