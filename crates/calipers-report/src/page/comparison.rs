//! Every two models on the same rows.

use calipers::{Comparison, Pair};
use maud::{Markup, html};

use crate::gather::{Compared, Values};
use crate::number::{decimals, interval, p_value, percent, significant};

pub(super) fn section(values: &Values) -> Markup {
    let content = match &values.compared {
        None => return html! {},
        Some(Compared::Not(reason)) => html! {
            p { "The models are shown side by side, but they are not compared with each other: " (reason) "." }
        },
        Some(Compared::Done(comparison)) => compared(comparison),
    };
    super::section("pairs", "Which model is better calibrated?", &content)
}

fn compared(comparison: &Comparison) -> Markup {
    let n_pairs = comparison.pairs.len();
    let measure = comparison.compared.first();
    let title = measure.map_or("LS-ECE", calipers::Estimate::title);
    let sigma = measure.and_then(|estimate| estimate.settings.number("sigma"));
    let table = html! {
        table class="pairs" {
            thead { tr {
                th scope="col" { "Pair" }
                th scope="col" { "Verdict" }
                th scope="col" class="n" { "Difference of " (title) }
                th scope="col" class="n wide" { (percent(comparison.level)) " interval" }
                th scope="col" class="n" { "p" @if n_pairs > 1 { ", adjusted" } }
            } }
            tbody { @for pair in &comparison.pairs { (row(comparison, pair)) } }
        }
    };
    html! {
        p class="lead" { (best(comparison)) }
        (super::scrolled("Table of pairs", &table))
        p class="note" {
            "Both models of a pair are measured on the same rows. The difference is that of the debiased " (title)
            @if let Some(sigma) = sigma { " at sigma " (significant(sigma)) }
            ", so it does not contain the part that chance adds."
            @if n_pairs > 1 { " The p-values are adjusted for " (n_pairs) " pairs (Holm)." }
        }
    }
}

/// The answer in one sentence: which model is better calibrated than every other.
fn best(comparison: &Comparison) -> Markup {
    let is_better = |pair: &&Pair| pair.p_adjusted <= 1.0 - comparison.level + 1e-12;
    let n_models = comparison.models.len();
    let wins = |model: usize| {
        let better = |pair: &&Pair| if pair.difference < 0.0 { pair.first == model } else { pair.second == model };
        comparison.pairs.iter().filter(is_better).filter(better).count()
    };
    let n_found = comparison.pairs.iter().filter(is_better).count();
    let winner = (0..n_models).find(|model| wins(*model) + 1 == n_models);
    html! {
        @match (winner, n_found) {
            (Some(winner), _) if n_models > 2 => {
                strong { (comparison.models[winner].0) " is better calibrated than every other model." }
            }
            (Some(winner), _) => strong { (comparison.models[winner].0) " is better calibrated." },
            (None, 0) => { "There is no evidence that any model is better calibrated than another." }
            (None, n) => { "There is evidence of a difference in " strong { (n) " of " (comparison.pairs.len()) " pairs" } ", and no model is better than every other." }
        }
    }
}

fn row(comparison: &Comparison, pair: &Pair) -> Markup {
    let places = decimals(pair.interval.upper - pair.interval.lower);
    let show = |value: f64| format!("{value:+.places$}");
    let (first, second) = (&comparison.models[pair.first].0, &comparison.models[pair.second].0);
    let better = if pair.difference < 0.0 { first } else { second };
    html! {
        tr {
            th scope="row" { (first) " − " (second) }
            td {
                @if pair.p_adjusted <= 1.0 - comparison.level + 1e-12 { strong { (better) } " is better calibrated" }
                @else { "no evidence of a difference" }
            }
            td class="n" { (show(pair.difference)) }
            td class="n wide" { (interval(&pair.interval, show)) }
            td class="n" { (p_value(pair.p_adjusted)) }
        }
    }
}
