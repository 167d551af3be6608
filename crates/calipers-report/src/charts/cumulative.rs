//! Cumulative differences.

use crate::chart::{Axis, Band, Chart, Series};
use crate::gather::Cumulative;

/// Σ (y - p) by share of rows, and where it would be for a calibrated model. Probabilities are too
/// low where the line rises, and too high where it falls.
pub(crate) fn cumulative(name: &str, found: &Cumulative, band_name: &str) -> Chart {
    let at = |values: &[f64]| found.curve.shares.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
    super::low(Chart::new("Cumulative differences"))
        .subtitle(name)
        .x(Axis::linear("share of rows, in order of probability").range(0.0, 1.0))
        .y(Axis::linear("cumulative difference"))
        .band(Band::new(band_name, at(&found.lower), at(&found.upper)).colour(0))
        .add(Series::line("cumulative difference", at(&found.curve.differences)).colour(0))
        .horizontal_rule(0.0, "perfect calibration")
}
