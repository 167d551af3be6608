//! Cumulative differences and the distribution of the probabilities.

use super::figure::Panel;
use super::table::Table;
use crate::charts;
use crate::gather::{ModelValues, Values};

const CUMULATIVE: &str = "The rows are in order of their probability. Probabilities are too low where the line rises, and too high where it falls. This chart needs no bins and no smoothing.";
const DISTRIBUTION: &str = "Each bar is the share of the rows at a probability, by outcome.";

/// The scales of the distribution, of which a switch shows one.
pub(super) const SCALES: [(&str, &str); 2] = [("count", "Linear"), ("log", "Log scale")];

/// The scale that is shown first: logarithmic if an outcome is too rare for a linear one.
pub(super) fn scale(values: &Values) -> &'static str {
    let is_rare = values.models.iter().any(|model| charts::is_rare(&model.spread.bars));
    SCALES[usize::from(is_rare)].0
}

/// The charts, each with its title.
pub(super) fn panels(values: &Values, model: &ModelValues) -> Vec<Panel> {
    let (found, bars) = (&model.spread.cumulative, &model.spread.bars);
    let sums = Table::of_columns(&[
        ("share of rows", &found.curve.shares),
        ("cumulative difference", &found.curve.differences),
        ("band from", &found.lower),
        ("band to", &found.upper),
        ("probability", &found.curve.probabilities),
    ]);
    let [ones, zeros] = charts::shares(bars);
    let rows = bars.iter().zip(ones.iter().zip(&zeros));
    let shares = Table::new(
        &["middle of bar", "outcome 1", "outcome 0", "rows"],
        rows.map(|(bin, (one, zero))| vec![0.5 * (bin.lower + bin.upper), *one, *zero, bin.n as f64]),
    );
    let clustered = " The band assumes independent rows, but rows of a cluster depend on each other.";
    let text = format!("{CUMULATIVE}{}", if model.clustered { clustered } else { "" });
    let cumulative = charts::cumulative(&model.name, found, &super::reliability::band_name(values));
    let mut distribution =
        Panel::new("distribution", charts::distribution(&model.name, bars, false), shares, DISTRIBUTION);
    if let Some(first) = distribution.views.first_mut() {
        first.name = SCALES[0].0;
    }
    let log = vec![charts::distribution(&model.name, bars, true)];
    vec![Panel::new("cumulative", cumulative, sums, &text), distribution.view(SCALES[1].0, log)]
}
