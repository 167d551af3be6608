//! The curves of two samples in one diagram.

use super::reliability::{Axes, by_rows, diagram, seen};
use crate::chart::{Band, Chart, Series, Stroke};
use crate::gather::Smoothed;

/// Both smoothed curves, each with the band in which it would be if nothing had changed.
pub(crate) fn drift(names: [&str; 2], curves: &[Smoothed; 2], axes: Axes, band_name: &str) -> Chart {
    let mut chart = diagram("Reliability diagram, before and after", "", axes, &[]);
    let strokes = [Stroke::Dashed, Stroke::Solid];
    for (place, smoothed) in curves.iter().enumerate() {
        let at = |values: &[f64]| axes.curve(&smoothed.curve.probabilities, &seen(smoothed, values));
        let (lower, upper) = (at(&smoothed.band.lower), at(&smoothed.band.upper));
        chart = chart.band(Band::new(format!("{}, {band_name}", names[place]), lower, upper).colour(1 - place));
        let [firm, weak] = by_rows(&smoothed.curve, &smoothed.rows_nearby)
            .map(|rates| axes.curve(&smoothed.curve.probabilities, &rates));
        chart = chart.add(Series::line("", weak).colour(1 - place).thin());
        chart = chart.add(Series::line(names[place], firm).colour(1 - place).stroke(strokes[place]));
    }
    chart
}
