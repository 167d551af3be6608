//! Cumulative differences and the distribution of the probabilities.

use maud::{Markup, html};

use super::figure::{Panel, Shown};
use super::table::Table;
use crate::charts;
use crate::gather::{ModelValues, Values};

/// The id, the title and the text of each chart.
const KINDS: [(&str, &str, &str); 2] = [
    (
        "cumulative",
        "Cumulative differences",
        "The rows are in order of their probability. Probabilities are too low where the line rises, and too high where it falls. This chart needs no bins and no smoothing.",
    ),
    ("distribution", "Probabilities by outcome", "Each bar is the share of the rows at a probability, by outcome."),
];

pub(super) fn section(values: &Values, shown: &mut Shown) -> Markup {
    let figures = shown.figures(values, panels);
    html! {
        div class=(super::arrangement(values)) {
            @for ((id, title, text), figures) in KINDS.iter().zip(&figures) {
                (super::section(id, title, &super::side_by_side(values, text, figures)))
            }
        }
    }
}

pub(super) fn panels(_: &Values, model: &ModelValues) -> Vec<Panel> {
    let (curve, bars) = (&model.spread.cumulative, &model.spread.bars);
    let sums = Table::of_columns(&[
        ("share of rows", &curve.shares),
        ("cumulative difference", &curve.differences),
        ("probability", &curve.probabilities),
    ]);
    let [ones, zeros] = charts::shares(bars);
    let rows = bars.iter().zip(ones.iter().zip(&zeros));
    let shares = Table::new(
        &["middle of bar", "outcome 1", "outcome 0", "rows"],
        rows.map(|(bin, (one, zero))| vec![0.5 * (bin.lower + bin.upper), *one, *zero, bin.n as f64]),
    );
    let charts = [(charts::cumulative(&model.name, curve), sums), (charts::distribution(&model.name, bars), shares)];
    let panels = KINDS.iter().zip(charts).map(|((id, _, text), (chart, table))| Panel::new(id, chart, table, text));
    panels.collect()
}
