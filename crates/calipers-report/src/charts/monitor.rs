//! Charts over time: the e-value with its limit, a measure with its noise floor, and the shift.

use calipers::{Look, Monitor, Onset};

use crate::chart::{Axis, BLACK, Band, Chart, Rule, Series, Stroke};

/// Larger e-values are drawn at this many times the limit, so that those near the limit can be
/// seen.
const MOST_TIMES_THE_LIMIT: f64 = 1e6;

/// Half the width of a 95 % interval in standard errors.
const TWO_SIDED: f64 = 1.96;

const WINDOW: &str = "window";

fn at(look: &Look) -> f64 {
    look.number as f64
}

/// The e-value on a logarithmic axis, its limit, the alarm, and the plausible onsets as an area.
pub(crate) fn evidence(monitor: &Monitor, looks: &[Look]) -> Chart {
    let most = MOST_TIMES_THE_LIMIT * monitor.limit();
    let shown = |look: &Look| (at(look), look.e_value().min(most));
    let points: Vec<(f64, f64)> = looks.iter().map(shown).collect();
    let least = points.iter().map(|point| point.1).fold(0.1, f64::min);
    let highest = points.iter().map(|point| point.1).fold(10.0 * monitor.limit(), f64::max);
    let mut chart = super::low(Chart::new("Evidence over time"))
        .x(Axis::linear(WINDOW))
        .y(Axis::log("e-value").range(least, highest));
    if let Some(band) = monitor.onset().and_then(|onset| onset_area(&onset, looks, least, highest)) {
        chart = chart.band(band);
    }
    chart = chart.add(Series::line("e-value", points).colour(0));
    if let Some(alarm) = monitor.alarm().filter(|alarm| looks.iter().any(|look| look.number == alarm.number)) {
        chart = chart.add(Series::line("alarm", vec![shown(alarm)]).colour(1).markers().large());
    }
    let limit =
        Rule { name: "limit of an alarm".to_owned(), value: monitor.limit(), stroke: Stroke::Dashed, colour: 1 };
    chart.rule(limit)
}

fn onset_area(onset: &Onset, looks: &[Look], least: f64, highest: f64) -> Option<Band> {
    let first = looks.first()?.number as f64;
    // As wide as a window at least.
    let from = (onset.earliest_number as f64 - 0.5).max(first);
    let to = onset.latest_number as f64 + 0.5;
    let to = to.min(looks.last()?.number as f64).max(from);
    let line = |y: f64| vec![(from, y), (to, y)];
    (to > from).then(|| Band::new("plausible onset", line(least), line(highest)).colour(4).visible())
}

/// A measure in each window, with its interval and the noise floor; `None` without values.
pub(crate) fn values(looks: &[Look]) -> Option<Chart> {
    let measured: Vec<_> = looks.iter().filter_map(|look| Some((at(look), look.value.as_ref()?))).collect();
    let title = measured.first()?.1.measure.clone();
    let points = |of: fn(&calipers::inference::WindowValue) -> f64| -> Vec<(f64, f64)> {
        measured.iter().map(|(x, value)| (*x, of(value))).collect()
    };
    let chart =
        Chart::new(format!("{title} over time")).x(Axis::linear(WINDOW)).y(Axis::linear(title.as_str()).from_zero());
    let chart =
        chart.band(Band::new("95 % interval", points(|value| value.lower), points(|value| value.upper)).colour(0));
    let chart = chart.add(Series::line(title, points(|value| value.value)).colour(0));
    let floor = Series::line("noise floor, 95 % quantile", points(|value| value.floor)).colour(BLACK);
    Some(chart.add(floor.stroke(Stroke::Dotted)))
}

/// By how much log-odds of outcomes are above what is expected, with what is allowed.
pub(crate) fn shift(monitor: &Monitor, looks: &[Look]) -> Chart {
    let points =
        |of: &dyn Fn(&Look) -> f64| -> Vec<(f64, f64)> { looks.iter().map(|look| (at(look), of(look))).collect() };
    let half = |look: &Look| TWO_SIDED * look.shift_standard_error;
    let band =
        Band::new("95 % interval", points(&|look| look.shift - half(look)), points(&|look| look.shift + half(look)));
    let chart = Chart::new("Shift over time").x(Axis::linear(WINDOW)).y(Axis::linear("shift in log-odds").from_zero());
    let chart = chart.band(band.colour(0)).add(Series::line("shift", points(&|look| look.shift)).colour(0));
    let chart = chart.horizontal_rule(0.0, "as expected");
    let margin = monitor.margin_value();
    let rule = |value: f64, name: &str| Rule { name: name.to_owned(), value, stroke: Stroke::Dashed, colour: 1 };
    if margin > 0.0 { chart.rule(rule(margin, "margin")).rule(rule(-margin, "")) } else { chart }
}

/// The share of outcome 1 that is expected, and the one that was seen.
pub(crate) fn rates(looks: &[Look]) -> Chart {
    let points = |of: fn(&Look) -> f64| -> Vec<(f64, f64)> { looks.iter().map(|look| (at(look), of(look))).collect() };
    let chart = Chart::new("Outcomes over time").x(Axis::linear(WINDOW)).y(Axis::linear("share of outcome 1"));
    let chart = chart.add(Series::line("seen", points(|look| look.outcome_rate)).colour(0));
    chart.add(Series::line("expected", points(|look| look.expected_rate)).colour(BLACK).stroke(Stroke::Dotted))
}
