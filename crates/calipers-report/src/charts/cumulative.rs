//! Cumulative differences.

use calipers::CumulativeCurve;

use crate::chart::{Axis, Chart, Series};

/// Σ (y - p) by share of rows. Probabilities are too low where the line rises, and too high where
/// it falls.
pub(crate) fn cumulative(name: &str, curve: &CumulativeCurve) -> Chart {
    let points = curve.shares.iter().copied().zip(curve.differences.iter().copied()).collect();
    super::low("Cumulative differences")
        .subtitle(name)
        .x(Axis::linear("share of rows, in order of probability").range(0.0, 1.0))
        .y(Axis::linear("cumulative difference"))
        .add(Series::line("cumulative difference", points).colour(0))
        .horizontal_rule(0.0, "perfect calibration")
}
