//! Every two models on the same rows.

use maud::{Markup, html};

use crate::gather::{Compared, Figures};
use crate::number::{decimals, p_value, percent, significant};

pub(super) fn section(figures: &Figures) -> Markup {
    let content = match &figures.compared {
        None => return html! {},
        Some(Compared::Not(reason)) => html! {
            p { "The models are shown side by side, and not compared pair by pair: " (reason) "." }
        },
        Some(Compared::Done(comparison)) => {
            let best = comparison.pairs.len();
            let by = comparison.compared.first();
            let title = by.map_or("LS-ECE", calipers::Estimate::title);
            let sigma = by.and_then(|estimate| estimate.settings.number("sigma"));
            html! {
                div class="scroll" tabindex="0" role="region" aria-label="Table of pairs" {
                    table class="pairs" {
                        thead { tr {
                            th scope="col" { "Pair" }
                            th scope="col" { "Verdict" }
                            th scope="col" class="n" { "Difference of " (title) }
                            th scope="col" class="n" { (percent(comparison.level)) " interval" }
                            th scope="col" class="n" { "p" @if best > 1 { ", adjusted" } }
                        } }
                        tbody {
                            @for pair in &comparison.pairs {
                                @let places = decimals(pair.interval.upper - pair.interval.lower);
                                @let show = |value: f64| format!("{value:+.places$}");
                                @let (first, second) = (&comparison.models[pair.first].0, &comparison.models[pair.second].0);
                                tr {
                                    th scope="row" { (first) " − " (second) }
                                    td {
                                        @match (pair.p_adjusted <= 1.0 - comparison.level + 1e-12, pair.difference < 0.0) {
                                            (true, true) => { strong { (first) } " is better calibrated" }
                                            (true, false) => { strong { (second) } " is better calibrated" }
                                            (false, _) => "no difference seen",
                                        }
                                    }
                                    td class="n" { (show(pair.difference)) }
                                    td class="n" { "[" (show(pair.interval.lower)) ", " (show(pair.interval.upper)) "]" }
                                    td class="n" { (p_value(pair.p_adjusted)) }
                                }
                            }
                        }
                    }
                }
                p class="note" {
                    "On the same rows, so that what is hard for both makes no difference. Models are compared by " (title)
                    @if let Some(sigma) = sigma { " at sigma " (significant(sigma)) }
                    ", without what noise adds to it."
                    @if best > 1 { " P-values are adjusted for " (best) " pairs (Holm)." }
                }
            }
        }
    };
    super::section("pairs", "Which is better calibrated?", &content)
}
