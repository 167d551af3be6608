//! Reliability diagrams: outcome rate by probability.

use calipers::Bin;

use crate::chart::{Axis, BLACK, Band, Chart, Series, Stroke};
use crate::gather::{Corp, Smoothed};

/// The share of the height that the density takes.
const DENSITY: f64 = 0.16;

/// With fewer rows than this in a hundredth of the axis, a curve shows nothing about the model. If
/// there are few rows in all, the limit is a density of 0.4.
const LEAST_ROWS: f64 = 0.5;

fn diagram(title: &str, name: &str) -> Chart {
    let chart = super::square(title).x(Axis::linear("probability").range(0.0, 1.0));
    let chart = chart.y(Axis::linear("outcome rate").range(0.0, 1.0)).subtitle(name);
    chart.add(Series::line("perfect calibration", vec![(0.0, 0.0), (1.0, 1.0)]).colour(BLACK).stroke(Stroke::Dotted))
}

/// Whether there are enough rows at a point to draw the curve there.
pub(crate) fn is_seen(diagram: &Smoothed, place: usize) -> bool {
    let curve = &diagram.curve;
    curve.n as f64 * curve.densities[place] * 0.01 >= LEAST_ROWS.min(0.004 * curve.n as f64)
        && !curve.outcome_rates[place].is_nan()
}

/// Values along the curve, with NaN where it is not drawn.
pub(crate) fn seen(diagram: &Smoothed, values: &[f64]) -> Vec<f64> {
    let value = |(place, value): (usize, &f64)| if is_seen(diagram, place) { *value } else { f64::NAN };
    values.iter().enumerate().map(value).collect()
}

fn points(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    x.iter().copied().zip(y.iter().copied()).collect()
}

/// The smoothed curve with its consistency band, and the density of the smoothed probabilities at
/// the bottom.
pub(crate) fn smoothed(name: &str, diagram: &Smoothed, band_name: &str) -> Chart {
    let curve = &diagram.curve;
    let at = |values: &[f64]| points(&curve.probabilities, &seen(diagram, values));
    let highest = curve.densities.iter().copied().fold(0.0, f64::max);
    let heights: Vec<f64> = curve.densities.iter().map(|density| DENSITY * density / highest).collect();
    let bottom = curve.probabilities.iter().map(|p| (*p, 0.0)).collect();
    self::diagram("Reliability diagram, smoothed", name)
        .band(Band::new("density of probabilities", bottom, points(&curve.probabilities, &heights)).colour(BLACK))
        .band(Band::new(band_name, at(&diagram.band.lower), at(&diagram.band.upper)).colour(0))
        .add(Series::line("outcome rate, smoothed", at(&curve.outcome_rates)).colour(0))
}

/// A bar for the outcome rate of each bin, and a dot at its mean probability.
pub(crate) fn binned(name: &str, bins: &[Bin]) -> Chart {
    let occupied = bins.iter().filter(|bin| !bin.outcome_rate.is_nan());
    let dots = occupied.map(|bin| (bin.mean_probability, bin.outcome_rate)).collect();
    let upper: Vec<(f64, f64)> = bins
        .iter()
        // NaN separates the bars.
        .flat_map(|bin| {
            [(bin.lower, f64::NAN), (bin.lower + 0.002, bin.outcome_rate), (bin.upper - 0.002, bin.outcome_rate)]
        })
        .collect();
    let lower = upper.iter().map(|(x, _)| (*x, 0.0)).collect();
    diagram("Reliability diagram, binned", name)
        .band(Band::new("outcome rate of a bin", lower, upper).colour(0).strong())
        .add(Series::line("mean probability of the bin", dots).colour(0).markers())
}

/// The isotonic fit with its consistency band.
pub(crate) fn corp(name: &str, corp: &Corp, band_name: &str) -> Chart {
    let at = |values: &[f64]| points(&corp.probabilities, values);
    diagram("Reliability diagram, CORP", name)
        .band(Band::new(band_name, at(&corp.lower), at(&corp.upper)).colour(2))
        .add(Series::line("outcome rate, isotonic", at(&corp.outcome_rates)).colour(2))
}
