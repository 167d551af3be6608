//! Recalibration: the curve before and after, and the map.

use calipers::LsCurve;

use super::{Axes, by_rows};
use crate::chart::{BLACK, Band, Chart, Series, Stroke};
use crate::gather::{MapCurve, Smoothed};

/// The smoothed curves before and after recalibration. They are thin where they rest on few rows.
pub(crate) fn before_and_after(name: &str, before: &Smoothed, (after, near): (&LsCurve, &[f64]), axes: Axes) -> Chart {
    let lines = [
        ("before", &before.curve, &before.rows_nearby[..], 1, Stroke::Dashed),
        ("after, out of fold", after, near, 2, Stroke::Solid),
    ];
    let mut chart = diagonal("Before and after recalibration", name, axes, ["probability", "outcome rate"])
        .add(Series::line("perfect calibration", Vec::new()).colour(BLACK).stroke(Stroke::Dotted));
    for (title, curve, near, colour, stroke) in lines {
        let [firm, weak] = by_rows(curve, near).map(|rates| axes.curve(&curve.probabilities, &rates));
        chart = chart.add(Series::line("", weak).colour(colour).stroke(stroke).thin());
        chart = chart.add(Series::line(title, firm).colour(colour).stroke(stroke));
    }
    chart
}

/// Whether a curve has points between 0 and 1: one of certain predictions has none.
pub(crate) fn is_visible(curve: &LsCurve, near: &[f64]) -> bool {
    let [firm, weak] = by_rows(curve, near).map(|rates| Axes::Linear(0.0, 1.0).curve(&curve.probabilities, &rates));
    firm.iter().chain(&weak).any(|(_, rate)| !rate.is_nan())
}

/// The recalibrated probability by the predicted one, with its band and the diagonal.
pub(crate) fn map(name: &str, curve: &MapCurve, axes: Axes, band_name: &str) -> Chart {
    let at = |values: &[f64]| axes.curve(&curve.probabilities, values);
    let chart = diagonal("Recalibration map", name, axes, ["predicted probability", "recalibrated probability"])
        .add(Series::line("no change", Vec::new()).colour(BLACK).stroke(Stroke::Dotted))
        .add(Series::line("map", at(&curve.recalibrated)).colour(2));
    if curve.lower.is_empty() {
        return chart;
    }
    chart.band(Band::new(band_name, at(&curve.lower), at(&curve.upper)).colour(2))
}

/// A square with its diagonal.
fn diagonal(title: &str, name: &str, axes: Axes, [x, y]: [&str; 2]) -> Chart {
    let (from, to) = axes.ends();
    let line = Series::line("", vec![(from, from), (to, to)]).colour(BLACK).stroke(Stroke::Dotted);
    super::square(title).subtitle(name).x(axes.axis(x)).y(axes.axis(y)).add(line)
}
