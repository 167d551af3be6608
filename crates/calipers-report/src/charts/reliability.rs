//! Reliability diagrams: outcome rate over probability.

use crate::chart::{Axis, BLACK, Band, Chart, Series, Stroke};
use crate::gather::{Bins, Corp, Moment};

/// What the density takes of the height.
const DENSITY: f64 = 0.16;

/// With fewer rows in a hundredth of the axis than this, a curve says nothing of the model; of few
/// rows in all, where the density is below 0.4.
const LEAST_ROWS: f64 = 0.5;

fn diagram(title: &str, name: &str) -> Chart {
    let chart = super::square(title).x(Axis::linear("probability").range(0.0, 1.0));
    let chart = chart.y(Axis::linear("outcome rate").range(0.0, 1.0)).subtitle(name);
    chart.add(Series::line("calibrated", vec![(0.0, 0.0), (1.0, 1.0)]).colour(BLACK).stroke(Stroke::Dotted))
}

/// Whether there are rows enough at a place for its curve to be drawn.
pub(crate) fn is_seen(moment: &Moment, place: usize) -> bool {
    let curve = &moment.curve;
    curve.n as f64 * curve.densities[place] * 0.01 >= LEAST_ROWS.min(0.004 * curve.n as f64)
        && !curve.outcome_rates[place].is_nan()
}

/// The smoothed curve with the band of a calibrated model, and the density of the smoothed
/// probabilities along the axis.
pub(crate) fn smoothed(name: &str, moment: &Moment, band_name: &str) -> Chart {
    let curve = &moment.curve;
    let at = |values: &[f64]| -> Vec<(f64, f64)> {
        let value = |place: usize| if is_seen(moment, place) { values[place] } else { f64::NAN };
        curve.probabilities.iter().enumerate().map(|(place, p)| (*p, value(place))).collect()
    };
    let highest = curve.densities.iter().copied().fold(0.0, f64::max);
    let heights = curve.probabilities.iter().zip(&curve.densities);
    let heights: Vec<(f64, f64)> = heights.map(|(p, density)| (*p, DENSITY * density / highest)).collect();
    let floor = curve.probabilities.iter().map(|p| (*p, 0.0)).collect();
    diagram("Reliability diagram, smoothed", name)
        .band(Band::new("density of probabilities", floor, heights).colour(BLACK))
        .band(Band::new(band_name, at(&moment.band.lower), at(&moment.band.upper)).colour(0))
        .add(Series::line("outcome rate, smoothed", at(&curve.outcome_rates)).colour(0))
}

/// A bar for each bin up to its outcome rate, and a dot at its mean probability.
pub(crate) fn binned(name: &str, bins: &Bins) -> Chart {
    let occupied = || bins.bins.iter().filter(|bin| !bin.outcome_rate.is_nan());
    let mut upper = Vec::new();
    for bin in &bins.bins {
        // What is no number parts one bar from the next.
        upper.push((bin.lower, f64::NAN));
        upper.push((bin.lower + 0.002, bin.outcome_rate));
        upper.push((bin.upper - 0.002, bin.outcome_rate));
    }
    let lower = upper.iter().map(|(x, _)| (*x, 0.0)).collect();
    diagram("Reliability diagram, binned", name)
        .band(Band::new("outcome rate of a bin", lower, upper).colour(0).strong())
        .add(
            Series::line(
                "at its mean probability",
                occupied().map(|bin| (bin.mean_probability, bin.outcome_rate)).collect(),
            )
            .colour(0)
            .markers(),
        )
}

/// The isotonic fit with the band of a calibrated model.
pub(crate) fn corp(name: &str, corp: &Corp, band_name: &str) -> Chart {
    let at = |values: &[f64]| corp.probabilities.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
    diagram("Reliability diagram, CORP", name)
        .band(Band::new(band_name, at(&corp.lower), at(&corp.upper)).colour(2))
        .add(Series::line("outcome rate, isotonic", at(&corp.outcome_rates)).colour(2))
}
