//! A recalibration map.

use super::Axes;
use crate::chart::{BLACK, Band, Chart, Series, Stroke};
use crate::gather::MapCurve;

/// The recalibrated probability by the predicted one, with its band and the diagonal.
pub(crate) fn map(name: &str, curve: &MapCurve, axes: Axes, band_name: &str) -> Chart {
    let at = |values: &[f64]| axes.curve(&curve.probabilities, values);
    let (from, to) = axes.ends();
    super::square("Recalibration map")
        .subtitle(name)
        .x(axes.axis("predicted probability"))
        .y(axes.axis("recalibrated probability"))
        .add(Series::line("no change", vec![(from, from), (to, to)]).colour(BLACK).stroke(Stroke::Dotted))
        .band(Band::new(band_name, at(&curve.lower), at(&curve.upper)).colour(2))
        .add(Series::line("map", at(&curve.recalibrated)).colour(2))
}
