//! The chart of a sweep.

use calipers::{Estimate, SweepResult};

use crate::chart::{Axis, BLACK, Chart, PALETTE, Rule, Series, Stroke};

/// ECE of each model over the number of bins as a solid line, LS-ECE over 1/sigma as a dashed one
/// of the same colour, smECE as a thin dotted rule. ECE is that with bins of equal width; with one
/// model, that with bins of equal mass has a line of its own.
///
/// # Example
/// ```
/// use calipers::{Input, Sweep};
///
/// let predictions = Input::probabilities(&[0.9, 0.6, 0.2], &[1, 0, 0]).check()?;
/// let sweep = Sweep::new().run(&predictions.binary()?)?;
/// let chart = calipers_report::sweep_chart(&[("forest", &sweep)]);
/// assert!(chart.to_svg().contains("forest"));
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn sweep_chart(models: &[(&str, &SweepResult)]) -> Chart {
    let chart = Chart::new("Calibration error by number of bins").x(Axis::linear("number of bins, and 1/sigma"));
    let chart = chart.y(Axis::linear("calibration error"));
    match models {
        [(name, result)] => one(chart, name, result),
        _ => many(chart, models),
    }
}

fn one(chart: Chart, name: &str, result: &SweepResult) -> Chart {
    let mut chart = if name.is_empty() { chart } else { chart.subtitle(name) };
    chart = chart.add(Series::line("ECE, equal-width bins", uniform(result)).colour(0).markers());
    let quantile: Vec<(f64, f64)> = result
        .points
        .iter()
        .filter_map(|point| Some((point.n_bins as f64, point.ece_quantile.as_ref()?.value)))
        .collect();
    if !quantile.is_empty() {
        chart = chart.add(Series::line("ECE, equal-mass bins", quantile).colour(1).markers());
    }
    chart = chart.add(Series::line(LS_ECE, ls_ece(result)).colour(0).stroke(Stroke::Dashed));
    with_rule(chart, result, 0, "smECE")
}

/// One entry of the legend for each model, and one for each kind of line.
fn many(mut chart: Chart, models: &[(&str, &SweepResult)]) -> Chart {
    // Black is for the kinds of lines.
    for (index, (name, result)) in models.iter().enumerate() {
        let colour = index % (PALETTE.len() - 1);
        chart = chart.add(Series::line(*name, uniform(result)).colour(colour).markers());
        chart = chart.add(Series::line("", ls_ece(result)).colour(colour).stroke(Stroke::Dashed));
        chart = with_rule(chart, result, colour, "");
    }
    let kinds = [("ECE, equal-width bins", Stroke::Solid), (LS_ECE, Stroke::Dashed), ("smECE", Stroke::Dotted)];
    kinds
        .into_iter()
        .fold(chart, |chart, (name, stroke)| chart.add(Series::line(name, Vec::new()).colour(BLACK).stroke(stroke)))
}

const LS_ECE: &str = "LS-ECE, sigma = 1/bins";

/// The sweep of a sketch: what it answers, point by point.
pub(crate) fn sweep_parts(name: &str, points: &[(usize, Option<Estimate>, Option<Estimate>)]) -> Chart {
    let value = |found: &Option<Estimate>| found.as_ref().map_or(f64::NAN, |found| found.value);
    let ece = points.iter().map(|(n_bins, ece, _)| (*n_bins as f64, value(ece))).collect();
    let ls_ece = points.iter().map(|(n_bins, _, ls_ece)| (*n_bins as f64, value(ls_ece))).collect();
    Chart::new("Calibration error by number of bins")
        .subtitle(name)
        .x(Axis::linear("number of bins, and 1/sigma"))
        .y(Axis::linear("calibration error"))
        .add(Series::line("ECE, equal-width bins", ece).colour(0).markers())
        .add(Series::line(LS_ECE, ls_ece).colour(0).stroke(Stroke::Dashed))
}

fn uniform(result: &SweepResult) -> Vec<(f64, f64)> {
    result.points.iter().map(|point| (point.n_bins as f64, point.ece_uniform.value)).collect()
}

fn ls_ece(result: &SweepResult) -> Vec<(f64, f64)> {
    result.points.iter().map(|point| (point.n_bins as f64, point.ls_ece.value)).collect()
}

/// smECE, where there is one.
fn with_rule(chart: Chart, result: &SweepResult, colour: usize, name: &str) -> Chart {
    match &result.smooth_ece {
        Some(smooth_ece) => {
            chart.rule(Rule { name: name.to_owned(), value: smooth_ece.value, stroke: Stroke::Dotted, colour })
        }
        None => chart,
    }
}
