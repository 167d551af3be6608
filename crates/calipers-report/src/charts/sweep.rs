//! The chart of a sweep.

use calipers::{SweepPoint, SweepResult};

use crate::chart::{Axis, BLACK, Band, Chart, PALETTE, Rule, Series, Stroke};

/// A chart of ECE by number of bins (solid lines), LS-ECE by 1/sigma (dashed lines) and smECE (thin
/// dotted lines), with one colour for each model. ECE has bins of equal width; with one model, a
/// further line shows ECE with bins of equal mass, and an area the range that ECE with bins of
/// equal width would have by chance alone. The vertical axis begins at 0.
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
    match models {
        [(name, result)] => one(name, result),
        _ => many(models),
    }
}

fn empty() -> Chart {
    let chart = Chart::new("Calibration error by number of bins").x(Axis::linear("number of bins, and 1/sigma"));
    // From 0, so that a small change does not look steep.
    chart.y(Axis::linear("calibration error").from_zero())
}

fn one(name: &str, result: &SweepResult) -> Chart {
    let chart = chance(result).into_iter().fold(empty().subtitle(name), Chart::band);
    let mut chart = chart.add(Series::line(ECE, ece(result)).colour(0).markers());
    let quantile = |point: &SweepPoint| Some((point.n_bins as f64, point.ece_quantile.as_ref()?.value));
    let quantile: Vec<(f64, f64)> = result.points.iter().filter_map(quantile).collect();
    if !quantile.is_empty() {
        chart = chart.add(Series::line("ECE, equal-mass bins", quantile).colour(1).markers());
    }
    chart = chart.add(Series::line(LS_ECE, ls_ece(result)).colour(0).stroke(Stroke::Dashed));
    with_rule(chart, result, 0, "smECE")
}

/// The legend has one entry for each model, and one for each kind of line in black.
fn many(models: &[(&str, &SweepResult)]) -> Chart {
    let mut chart = empty();
    for (index, (name, result)) in models.iter().enumerate() {
        let colour = index % (PALETTE.len() - 1);
        chart = chart.add(Series::line(*name, ece(result)).colour(colour).markers());
        chart = chart.add(Series::line("", ls_ece(result)).colour(colour).stroke(Stroke::Dashed));
        chart = with_rule(chart, result, colour, "");
    }
    let kinds = [(ECE, Stroke::Solid), (LS_ECE, Stroke::Dashed), ("smECE", Stroke::Dotted)];
    let kinds = kinds.map(|(name, stroke)| Series::line(name, Vec::new()).colour(BLACK).stroke(stroke));
    kinds.into_iter().fold(chart, Chart::add)
}

const ECE: &str = "ECE, equal-width bins";
const LS_ECE: &str = "LS-ECE, sigma = 1/bins";

/// The sweep of a sketch, from rows with the number of bins, ECE and LS-ECE, and with the range
/// that chance gives if there is a whole sweep.
pub(crate) fn sweep_parts(name: &str, rows: &[Vec<f64>], whole: Option<&SweepResult>) -> Chart {
    let points = |column: usize| rows.iter().map(|row| (row[0], row[column])).collect();
    let chart = whole.and_then(chance).into_iter().fold(empty().subtitle(name), Chart::band);
    let chart = chart.add(Series::line(ECE, points(1)).colour(0).markers());
    chart.add(Series::line(LS_ECE, points(2)).colour(0).stroke(Stroke::Dashed))
}

/// From the least ECE with bins of equal width up: the range that chance alone would give it.
fn chance(result: &SweepResult) -> Option<Band> {
    let least = result.range_uniform.as_ref()?.least;
    let most = least + result.sampling_noise.uniform;
    let judged: Vec<f64> =
        result.points.iter().map(|point| point.n_bins as f64).filter(|n| (10.0..=100.0).contains(n)).collect();
    let at = |y: f64| judged.iter().map(|x| (*x, y)).collect::<Vec<_>>();
    (judged.len() > 1).then(|| Band::new("range of ECE by chance", at(least), at(most)).colour(BLACK))
}

fn ece(result: &SweepResult) -> Vec<(f64, f64)> {
    result.points.iter().map(|point| (point.n_bins as f64, point.ece_uniform.value)).collect()
}

fn ls_ece(result: &SweepResult) -> Vec<(f64, f64)> {
    result.points.iter().map(|point| (point.n_bins as f64, point.ls_ece.value)).collect()
}

/// Adds smECE as a horizontal line, if there is one.
fn with_rule(chart: Chart, result: &SweepResult, colour: usize, name: &str) -> Chart {
    let rule = |value: f64| Rule { name: name.to_owned(), value, stroke: Stroke::Dotted, colour };
    result.smooth_ece.iter().fold(chart, |chart, smooth_ece| chart.rule(rule(smooth_ece.value)))
}
