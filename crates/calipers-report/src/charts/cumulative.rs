//! Cumulative differences.

use calipers::CumulativeCurve;

use crate::chart::{Axis, BLACK, Chart, Rule, Series, Stroke};

/// Σ (y - p) over the share of rows up to there: where the line climbs probabilities are too low,
/// where it falls too high.
pub(crate) fn cumulative(name: &str, curve: &CumulativeCurve) -> Chart {
    let points = curve.shares.iter().copied().zip(curve.differences.iter().copied()).collect();
    super::low("Cumulative differences")
        .subtitle(name)
        .x(Axis::linear("share of rows, by probability").range(0.0, 1.0))
        .y(Axis::linear("cumulative difference"))
        .add(Series::line("cumulative difference", points).colour(0))
        .rule(Rule { name: "calibrated".to_owned(), value: 0.0, stroke: Stroke::Dotted, colour: BLACK })
}
