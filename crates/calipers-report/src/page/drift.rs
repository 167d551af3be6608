//! What has changed against an earlier sample: the sentence, both curves, and a table.

use calipers::{Assessment, Change, Interval};
use maud::{Markup, html};

use super::figure::{Panel, Shown};
use super::table::Table;
use crate::charts::{self, Axes};
use crate::gather::{Changed, Drifted, ModelValues, Values};
use crate::number::{count, decimals, interval, p_value, percent, significant};

pub(super) fn section(values: &Values, shown: &mut Shown) -> Markup {
    if values.drifts.is_empty() {
        return html! {};
    }
    let several = values.drifts.len() > 1;
    let blocks: Vec<Markup> = (values.drifts.iter().zip(&values.models).enumerate())
        .map(|(place, (drifted, model))| block(values, place, drifted, model, shown))
        .collect();
    let content = html! {
        @for (block, drifted) in blocks.iter().zip(&values.drifts) {
            @if several { h3 { (drifted.names[1]) } }
            (block)
        }
    };
    super::section("drift", "Has it changed?", &content)
}

fn block(values: &Values, place: usize, drifted: &Drifted, model: &ModelValues, shown: &mut Shown) -> Markup {
    let changed = match &drifted.outcome {
        Ok(changed) => changed,
        Err(error) => {
            return html! { p { "There is no comparison with " (drifted.names[0]) ": " (error.to_string()) "." } };
        }
    };
    let figure = shown.figure(place, values.name_of(model), &panel(values, drifted, changed, model));
    html! {
        p class="lead" { (lead(&changed.change, drifted)) }
        div class="drift" {
            (figure)
            div {
                (super::scrolled("Table of values before and after", &before_and_after(values, drifted, &changed.change)))
                (super::scrolled("Table of what has changed", &changes(values, &changed.change)))
                p class="note" { (changed.change.sentence()) }
                p class="note" {
                    "The test asks whether outcomes at equal predictions are as frequent after as before, whatever the shape of the change. Another distribution of predictions alone does not move it."
                    @if let Some(n) = changed.change.n_shared_clusters { " " (count(n)) " clusters have rows in both samples." }
                }
            }
        }
    }
}

/// The answer in one sentence.
fn lead(change: &Change, drifted: &Drifted) -> Markup {
    let before = &drifted.names[0];
    let direction = if change.curve.log_odds > 0.0 { "more" } else { "less" };
    let odds = change.curve.interval;
    let is_one_way = odds.lower > 0.0 || odds.upper < 0.0;
    html! {
        @if change.is_significant() {
            strong { "Outcomes at equal predictions have changed since " (before) "." }
            @if is_one_way {
                " On average outcome 1 is " (direction) " frequent: its odds are " (ratio(change.curve.log_odds)) " times those before."
            } @else {
                " The data do not show whether outcome 1 is more or less frequent on average: it can be more frequent at some predictions and less at others."
            }
        } @else {
            strong { "There is no evidence that outcomes at equal predictions have changed since " (before) "." }
        }
    }
}

fn ratio(log_odds: f64) -> String {
    let ratio = log_odds.exp();
    if (0.1..1000.0).contains(&ratio) { format!("{ratio:.2}") } else { significant(ratio) }
}

/// The chart with the numbers behind it.
pub(super) fn panel(values: &Values, drifted: &Drifted, changed: &Changed, model: &ModelValues) -> Panel {
    let Changed { change, curves } = changed;
    let names = [drifted.names[0].as_str(), drifted.names[1].as_str()];
    let band_name = format!("{} band if unchanged", percent(values.options.level));
    let rates = curves.each_ref().map(|smoothed| charts::seen(smoothed, &smoothed.curve.outcome_rates));
    let axes = curves.iter().zip(&rates).fold(Axes::linear(&model.reliability), |axes, (smoothed, rates)| {
        let known = smoothed.curve.probabilities.iter().zip(rates).filter(|(_, rate)| !rate.is_nan());
        let (x, y): (Vec<f64>, Vec<f64>) = known.unzip();
        axes.holding(&x, &y)
    });
    let logit = Axes::logit_of_all(curves.iter().map(|smoothed| (&smoothed.curve, &smoothed.rows_nearby)));
    let chart = |axes: Axes| charts::drift(names, curves, axes, &band_name);
    let [before, after] = curves;
    let ends = [&before.band.lower, &before.band.upper, &after.band.lower, &after.band.upper];
    let sides = [before, before, after, after];
    let ends: Vec<Vec<f64>> = ends.iter().zip(sides).map(|(ends, side)| charts::seen(side, ends)).collect();
    let table = Table::of_columns(&[
        ("probability", &before.curve.probabilities),
        ("before", &rates[0]),
        ("after", &rates[1]),
        ("before, band from", &ends[0]),
        ("before, band to", &ends[1]),
        ("after, band from", &ends[2]),
        ("after, band to", &ends[3]),
    ]);
    let sigma = change.before.estimate.settings.number("sigma").map_or(String::new(), significant);
    let text = format!(
        "Outcome rate by probability before (dashed) and after, both with sigma {sigma}. Each curve would be inside the band of \
         its colour at {} of the places if outcomes at equal predictions had not changed. Lines are thin where they rest on few rows.",
        percent(values.options.level)
    );
    Panel::new("drift", chart(axes), table, &text).view("logit", vec![chart(logit)])
}

/// Each sample by itself.
fn before_and_after(values: &Values, drifted: &Drifted, change: &Change) -> Markup {
    let row = |name: &str, assessment: &Assessment| {
        let places = decimals(assessment.interval.upper - assessment.interval.lower);
        let show = |value: f64| format!("{value:.places$}");
        html! {
            tr {
                th scope="row" { (name) }
                td class="n" { (count(assessment.estimate.n)) }
                td class="n" { (show(assessment.estimate.value)) }
                td class="n wide" { (interval(&assessment.interval, show)) }
                td class="n value" { (show(assessment.debiased)) }
            }
        }
    };
    html! {
        table {
            thead { tr {
                th scope="col" { "Sample" }
                th scope="col" class="n" { "Rows" }
                th scope="col" class="n" { (change.before.estimate.title()) }
                th scope="col" class="n wide" { (percent(values.options.level)) " interval" }
                th scope="col" class="n" { "Debiased" }
            } }
            tbody {
                (row(&drifted.names[0], &change.before))
                (row(&drifted.names[1], &change.after))
            }
        }
    }
}

/// Odds, difference and its parts.
fn changes(values: &Values, change: &Change) -> Markup {
    let places = decimals(change.interval.upper - change.interval.lower);
    let show = |value: f64| format!("{value:+.places$}");
    let measured = change.after.estimate.value - change.before.estimate.value;
    let Interval { lower, upper, .. } = change.curve.interval;
    html! {
        table class="pairs" {
            thead { tr {
                th scope="col" { "Change" }
                th scope="col" class="n" { "After − before" }
                th scope="col" class="n wide" { (percent(values.options.level)) " interval" }
                th scope="col" class="n" { "p" }
            } }
            tbody {
                tr {
                    th scope="row" { "Odds of outcome 1 at equal predictions" }
                    td class="n" { "× " (ratio(change.curve.log_odds)) }
                    td class="n wide" { "[" (ratio(lower)) ", " (ratio(upper)) "]" }
                    td class="n" { (p_value(change.curve.p_value)) }
                }
                tr {
                    th scope="row" { "Debiased " (change.before.deciding().estimate.title()) }
                    td class="n" { (show(change.difference)) }
                    td class="n wide" { (interval(&change.interval, show)) }
                    td class="n" { (p_value(change.p_value)) }
                }
                tr {
                    th scope="row" { (change.before.estimate.title()) " as measured" }
                    td class="n" { (show(measured)) } td class="n wide" {} td class="n" {}
                }
                @if let Some(origin) = change.origin {
                    @for (name, part) in [("of it from outcomes", origin.outcomes), ("of it from predictions", origin.predictions)] {
                        tr { th scope="row" { (name) } td class="n" { (show(part)) } td class="n wide" {} td class="n" {} }
                    }
                }
            }
        }
    }
}
