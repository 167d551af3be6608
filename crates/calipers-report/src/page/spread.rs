//! Cumulative differences, and where the probabilities are.

use maud::{Markup, html};

use super::figure::{Caption, Shown};
use super::table::Table;
use super::{columns, file_name};
use crate::chart::Chart;
use crate::charts;
use crate::gather::{Figures, ModelFigures};

/// What each says.
const TEXTS: [&str; 2] = [
    "Rows in order of their probability. Where the line climbs probabilities are too low, where it falls too high; no bins, no smoothing.",
    "How many rows there are at each probability, by what came of them.",
];

pub(super) fn section(figures: &Figures, shown: &mut Shown) -> Markup {
    let several = figures.models.len() > 1;
    let (mut sums, mut bars) = (Vec::new(), Vec::new());
    for (place, model) in figures.models.iter().enumerate() {
        let name = several.then_some(model.name.as_str());
        let text = TEXTS[0];
        let caption = Caption { model: name, text: text.to_owned(), is_shared: several };
        let chart = charts::cumulative(&model.name, &model.spread.cumulative);
        sums.push(shown.figure(format!("cumulative-{place}"), &chart, &cumulative_table(model), &caption));
        let text = TEXTS[1];
        let caption = Caption { model: name, text: text.to_owned(), is_shared: several };
        let chart = charts::distribution(&model.name, &model.spread.bars);
        bars.push(shown.figure(format!("distribution-{place}"), &chart, &distribution_table(model), &caption));
    }
    let part = |id: &str, title: &str, text: &str, panels: &[Markup]| {
        let content = html! {
            @if several { p class="lead" { (text) } }
            div class={ "charts " (columns(figures)) } { @for panel in panels { (panel) } }
        };
        super::section(id, title, &content)
    };
    html! {
        div class=(if several { "stacked" } else { "beside" }) {
            (part("cumulative", "Cumulative differences", TEXTS[0], &sums))
            (part("distribution", "Probabilities by outcome", TEXTS[1], &bars))
        }
    }
}

fn cumulative_table(model: &ModelFigures) -> Table {
    let curve = &model.spread.cumulative;
    let row = |place: usize| vec![curve.shares[place], curve.differences[place], curve.probabilities[place]];
    Table::new(&["share of rows", "cumulative difference", "probability"], (0..curve.shares.len()).map(row))
}

fn distribution_table(model: &ModelFigures) -> Table {
    let bars = &model.spread.bars;
    let total: f64 = bars.iter().map(|bin| bin.weight).sum();
    let share = |bin: &calipers::Bin, rate: f64| if bin.weight > 0.0 { bin.weight / total * rate } else { 0.0 };
    let row = |bin: &calipers::Bin| {
        let middle = 0.5 * (bin.lower + bin.upper);
        vec![middle, share(bin, bin.outcome_rate), share(bin, 1.0 - bin.outcome_rate), bin.n as f64]
    };
    Table::new(&["middle of bar", "outcome 1", "outcome 0", "rows"], bars.iter().map(row))
}

pub(super) fn charts(figures: &Figures) -> Vec<(String, Chart)> {
    let of = |(place, model): (usize, &ModelFigures)| {
        [
            (file_name("cumulative", place, &model.name), charts::cumulative(&model.name, &model.spread.cumulative)),
            (file_name("distribution", place, &model.name), charts::distribution(&model.name, &model.spread.bars)),
        ]
    };
    figures.models.iter().enumerate().flat_map(of).collect()
}
