//! The reliability diagrams, with switches between diagrams and axes, and a slider for sigma.

use maud::{Markup, html};

use super::figure::{Panel, Shown, Step, View};
use super::table::Table;
use crate::charts::{self, Axes};
use crate::gather::{ModelValues, Overlay, Smoothed, Values};
use crate::number::{percent, significant};

const KINDS: [(&str, &str); 3] = [("smoothed", "Smoothed"), ("binned", "Binned"), ("corp", "CORP")];
const AXES: [(&str, &str); 2] = [("linear", "Probability"), ("logit", "Log-odds")];

/// What each diagram shows.
const TEXTS: [&str; 3] = [
    "The curve is the outcome rate after smoothing on the logit scale.",
    "Each bar is the outcome rate of a bin, and each dot is at the mean probability of the bin.",
    "The curve is the best fit among outcome rates that increase with the probability (isotonic regression).",
];

/// What bands show.
const BAND: &str = "The band is where a calibrated model would be: chance alone does not explain values outside it.";
const CLUSTERED: &str = "The band assumes independent rows. Rows of a cluster depend on each other, so the band is too narrow. The verdict above accounts for clusters.";

/// How to read a diagram.
pub(super) const READING: &str = "Below the diagonal, probabilities are too high. Above it, they are too low.";

/// The text of a diagram.
fn text(kind: usize, model: &ModelValues) -> String {
    format!("{READING} {} {}", TEXTS[kind], if model.clustered { CLUSTERED } else { BAND })
}

/// The switches and the slider. A page has them once, for the diagrams of all models.
pub(super) fn controls(values: &Values) -> Markup {
    let first = values.models.first().map(|model| &model.reliability);
    let n_steps = first.map_or(0, |reliability| reliability.smoothed.len());
    let chosen = first.map_or(0, |reliability| reliability.chosen);
    html! {
        div class="controls" {
            (switch("kind", "Diagram", &KINDS, "smoothed"))
            @if values.models.len() == 1 { (axes()) }
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
        // The script shows these when the slider moves.
        @if n_steps > 1 { ol id="sigma-notes" hidden { @for at in 0..n_steps { li { (sigma_note(values, at)) } } } }
    }
}

/// The switch between the axes, which is beside the first diagram of the page.
pub(super) fn axes() -> Markup {
    switch("axis", "Axes", &AXES, "linear")
}

/// A choice of one of several.
pub(super) fn switch(name: &str, legend: &str, choices: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        fieldset class="switch" {
            legend { (legend) }
            @for (choice, title) in choices {
                label { input type="radio" name=(name) value=(choice) id={ (name) "-" (choice) } checked[*choice == chosen]; span { (title) } }
            }
        }
    }
}

/// The diagrams of a model, of which the switch shows one.
pub(super) fn diagrams(values: &Values, place: usize, model: &ModelValues, shown: &mut Shown) -> Markup {
    let figures: Vec<Markup> =
        panels(values, model).iter().map(|panel| shown.figure(place, values.name_of(model), panel)).collect();
    html! {
        @for ((kind, _), figure) in KINDS.iter().zip(&figures) { div class={ "panel of-" (kind) } { (figure) } }
    }
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
    let band_name = band_name(values);
    let linear = Axes::linear(reliability);
    let logit = reliability.smoothed.get(reliability.chosen).map_or(Axes::Logit(0.01, 0.99), Axes::logit);
    let smoothed_with = |axes: Axes| {
        let chart = |diagram: &Smoothed| charts::smoothed(name, reliability, diagram, axes, &band_name);
        reliability.smoothed.iter().map(chart).collect()
    };
    let step = |diagram: &Smoothed| Step { table: numbers(model, diagram), note: note(diagram) };
    let views = vec![
        View { name: "linear", charts: smoothed_with(linear) },
        View { name: "logit", charts: smoothed_with(logit) },
    ];
    let steps = reliability.smoothed.iter().map(step).collect();
    let chosen = reliability.chosen;
    let smoothed = Panel { kind: "reliability_smoothed", views, steps, chosen, text: text(0, model) };

    let chance = &reliability.bins_band;
    let bins = reliability.bins.iter().zip(chance.lower.iter().zip(&chance.upper));
    let bins = Table::new(
        &["mean probability", "outcome rate", "band from", "band to", "rows", "bin from", "bin to"],
        bins.filter(|(bin, _)| !bin.outcome_rate.is_nan()).map(|(bin, (lower, upper))| {
            vec![bin.mean_probability, bin.outcome_rate, *lower, *upper, bin.n as f64, bin.lower, bin.upper]
        }),
    );
    let binned = |axes: Axes| charts::binned(name, reliability, axes, &band_name);
    let corp = |axes: Axes| charts::corp(name, reliability, axes, &band_name);
    let fit = &reliability.corp;
    let fit = Table::of_columns(&[
        ("probability", &fit.probabilities),
        ("outcome rate", &fit.outcome_rates),
        ("band from", &fit.lower),
        ("band to", &fit.upper),
    ]);
    let bins =
        Panel::new("reliability_binned", binned(linear), bins, &text(1, model)).view("logit", vec![binned(logit)]);
    let fit = Panel::new("reliability_corp", corp(linear), fit, &text(2, model)).view("logit", vec![corp(logit)]);
    vec![smoothed, bins, fit]
}

/// The name of consistency bands in legends.
pub(super) fn band_name(values: &Values) -> String {
    format!("{} chance band", percent(values.options.level))
}

/// The points of the curve and of the ends, in order of their probabilities.
fn numbers(model: &ModelValues, diagram: &Smoothed) -> Table {
    let (curve, band) = (&diagram.curve, &diagram.band);
    let columns = [&curve.outcome_rates, &band.lower, &band.upper].map(|values| charts::seen(diagram, values));
    let [rates, lower, upper] = &columns;
    let point = |at: usize| vec![curve.probabilities[at], rates[at], lower[at], upper[at], diagram.rows_nearby[at]];
    let reliability = &model.reliability;
    let end = |(at, bin): (usize, &calipers::Bin)| {
        let (lower, upper) = (reliability.ends_band.lower[at], reliability.ends_band.upper[at]);
        vec![bin.mean_probability, bin.outcome_rate, lower, upper, bin.n as f64]
    };
    let ends = reliability.ends.iter().enumerate().map(end);
    let mut rows: Vec<Vec<f64>> = (0..curve.probabilities.len()).map(point).chain(ends).collect();
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Table::new(&["probability", "outcome rate", "band from", "band to", "rows nearby"], rows.into_iter())
}

/// The curves of several models in one diagram.
pub(super) fn overlay(values: &Values, overlay: &Overlay) -> Panel {
    let named: Vec<_> = values.models.iter().map(|model| (model.name.as_str(), &model.reliability)).collect();
    let rates: Vec<Vec<f64>> = overlay.curves.iter().zip(&overlay.rows_nearby).map(charts::drawn).collect();
    // A comparison gives all models one sigma.
    let is_common = values.models.iter().all(|model| model.sigma == overlay.sigma);
    let which = if is_common { "as their values have" } else { "the largest of the models" };
    let text = format!(
        "{READING} All curves have sigma {}, {which}. They are thin where they rest on few rows, and dots are rows \
         near 0 or 1.",
        significant(overlay.sigma)
    );
    let places = overlay.curves.first().map_or(&[][..], |curve| &curve.probabilities);
    let mut columns: Vec<(&str, &[f64])> = vec![("probability", places)];
    columns.extend(named.iter().zip(&rates).map(|((name, _), rates)| (*name, &rates[..])));
    let all: Vec<Axes> = values.models.iter().map(|model| Axes::linear(&model.reliability)).collect();
    // One part of the axis for all, if all have the same.
    let linear = if all.iter().all(|axes| *axes == all[0]) { all[0] } else { Axes::Linear(0.0, 1.0) };
    let logit = Axes::logit_of_all(overlay.curves.iter().zip(&overlay.rows_nearby));
    let chart = |axes: Axes| charts::overlay(&named, overlay, axes);
    Panel::new("overlay", chart(linear), Table::of_columns(&columns), &text).view("logit", vec![chart(logit)])
}
