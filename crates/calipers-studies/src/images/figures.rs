//! The figures of a group.

use calipers_report::{Axis, BLACK, Band, Chart, PALETTE, Series, Stroke};

use super::{DIFFERENCES, over_models};
use super::{Measured, Point};
use crate::Page;
use calipers::SmoothEce;

const X: &str = "bins, 1/sigma";

/// A line for each model, in its colour.
fn series(models: &[Measured], stroke: Stroke, named: bool, value: fn(&Point) -> f64) -> impl Iterator<Item = Series> {
    models.iter().enumerate().map(move |(place, model)| {
        let name = if named { model.short.as_str() } else { "" };
        let points = model.points.iter().map(|point| (point.n_bins as f64, value(point))).collect();
        // Black is for the kinds of lines. Where colours have run out, dots tell models apart.
        let (colour, turn) = (place % (PALETTE.len() - 1), place / (PALETTE.len() - 1));
        let series = Series::line(name, points).stroke(stroke).colour(colour);
        if turn % 2 == 1 { series.markers() } else { series }
    })
}

fn two_kinds(
    title: String,
    models: &[Measured],
    (solid, of_solid): (&str, fn(&Point) -> f64),
    (other, stroke, of_other): (&str, Stroke, fn(&Point) -> f64),
) -> Chart {
    let chart = Chart::new(title).x(Axis::linear(X)).y(Axis::linear("calibration error")).size(720.0, 440.0);
    let lines = series(models, Stroke::Solid, true, of_solid).chain(series(models, stroke, false, of_other));
    let chart = lines.fold(chart, Chart::add);
    [(solid, Stroke::Solid), (other, stroke)]
        .into_iter()
        .fold(chart, |chart, (name, stroke)| chart.add(Series::line(name, Vec::new()).colour(BLACK).stroke(stroke)))
}

/// Figure cifarplots: ECE and LS-ECE of each model.
pub(super) fn lines(page: &mut Page, group: &str, models: &[Measured]) {
    let chart = two_kinds(
        format!("{group}: ECE by bins and LS-ECE by 1/sigma"),
        models,
        ("ECE", |point| point.ece),
        ("LS-ECE, Gaussian", Stroke::Dashed, |point| point.gaussian.integral),
    );
    page.figure(
        &format!("{group}-ece"),
        &chart,
        "ECE (solid) and LS-ECE as the integral (dashed), a colour for each model.",
    );
}

/// The integral and its sampling.
pub(super) fn sampling(page: &mut Page, group: &str, models: &[Measured], n_samples: u64) {
    let chart = two_kinds(
        format!("{group}: LS-ECE, the integral and {n_samples} samples of it"),
        models,
        ("LS-ECE, the integral", |point| point.gaussian.integral),
        ("LS-ECE, sampled", Stroke::Dotted, |point| point.gaussian.sampled),
    );
    let caption = format!(
        "LS-ECE as the integral (solid) and by the paper's sampling (dotted): what lies between them is the noise of {n_samples} samples."
    );
    page.figure(&format!("{group}-sampling"), &chart, &caption);
}

/// What lies between the two, which is too little to be seen beside the figures themselves.
pub(super) fn sampling_error(page: &mut Page, group: &str, models: &[Measured], n_samples: u64) {
    let chart = Chart::new(format!("{group}: {n_samples} samples of LS-ECE, less the integral"))
        .x(Axis::linear(X))
        .y(Axis::linear("sampled LS-ECE - LS-ECE"))
        .size(720.0, 440.0);
    let lines = series(models, Stroke::Solid, true, |point| point.gaussian.sampled - point.gaussian.integral);
    let chart = lines.fold(chart, Chart::add).horizontal_rule(0.0, "");
    page.figure(&format!("{group}-sampling-error"), &chart, "The difference of the two is noise without a trend.");
}

/// Figures imagenetplot and imagenetplotuniform: differences from ECE, over all models.
pub(super) fn differences(page: &mut Page, group: &str, models: &[Measured]) {
    let difference = |wanted: &str| DIFFERENCES.into_iter().find(|(name, _)| *name == wanted);
    for (noise, words) in [("gaussian", "Gaussian"), ("uniform", "uniform")] {
        let mut chart = Chart::new(format!("{group}: mean absolute difference from ECE, {words} noise"))
            .x(Axis::linear(X))
            .y(Axis::linear("mean absolute difference"));
        let kinds = [(format!("ls_ece_{noise}"), "|ECE - LS-ECE|"), (SmoothEce::NAME.to_owned(), "|ECE - smECE|")];
        for (colour, (column, name)) in kinds.into_iter().enumerate() {
            // proof: both names are in the table
            let Some((_, difference)) = difference(&column) else { continue };
            let points = over_models(models, difference);
            let line = |of: fn(f64, f64) -> f64| {
                points.iter().map(|&(bins, mean, deviation)| (bins as f64, of(mean, deviation))).collect::<Vec<_>>()
            };
            let band =
                Band::new("", line(|mean, deviation| mean - deviation), line(|mean, deviation| mean + deviation));
            chart =
                chart.band(band.colour(colour)).add(Series::line(name, line(|mean, _| mean)).colour(colour).markers());
        }
        let caption = format!(
            "Mean over models of |ECE - LS-ECE| with {words} noise and of |ECE - smECE|; bands are one standard deviation either side."
        );
        page.figure(&format!("{group}-difference-{noise}"), &chart, &caption);
    }
}
