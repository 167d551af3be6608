//! A page about monitors: the alarm, since when, and charts over time.

use calipers::inference::e_value_text;
use calipers::{Look, Monitor};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::figure::{Panel, Shown};
use super::table::Table;
use super::{data, document, section};
use crate::charts::{self, monitor as chart};
use crate::number::{count, four_digits, percent, significant};

/// The last windows that the page shows.
const MOST_WINDOWS: usize = 1000;

/// Groups with charts; alarms come first.
const MOST_GROUPS: usize = 40;

/// A self-contained HTML page about one monitor, or about one for each of several groups.
///
/// # Example
/// ```
/// use calipers::{Input, Monitor};
///
/// let mut monitor = Monitor::new();
/// for hour in ["08:00", "09:00"] {
///     let predictions = Input::probabilities(&[0.9, 0.6, 0.2], &[1, 0, 0]).check()?;
///     monitor.update(hour, &predictions.binary()?)?;
/// }
/// let page = calipers_report::monitor_page("forest", &[(String::new(), &monitor)], None);
/// assert!(page.contains("No alarm after 2 windows"));
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn monitor_page(title: &str, monitors: &[(String, &Monitor)], command: Option<&str>) -> String {
    let mut shown = Shown::default();
    // A stable sort: alarms first, in the order of the groups.
    let mut ordered: Vec<&(String, &Monitor)> = monitors.iter().collect();
    ordered.sort_by_key(|(_, monitor)| monitor.alarm().is_none());
    let several = ordered.len() > 1;
    let drawn = &ordered[..ordered.len().min(MOST_GROUPS)];
    let mut sections = vec![navigation(several)];
    match drawn {
        [(_, monitor)] => sections.extend(of_one(title, monitor, &mut shown)),
        _ => {
            sections.push(overview(title, &ordered));
            let groups =
                drawn.iter().enumerate().map(|(place, (name, monitor))| of_group(place, name, monitor, &mut shown));
            let groups: Vec<Markup> = groups.collect();
            let content = html! { @for group in &groups { (group) } };
            sections.push(section("groups", "Groups", &content));
        }
    }
    sections.push(provenance(monitors, command));
    let charts: Map<String, Value> = shown.charts.iter().cloned().collect();
    let all: Vec<Value> = monitors.iter().map(|(name, monitor)| to_json(name, monitor)).collect();
    let values = json!({ "calipers": env!("CARGO_PKG_VERSION"), "title": title, "monitors": all, "charts": charts });
    document(&format!("Calibration of {title} over time"), &sections, &data::harmless(&values.to_string()))
}

fn to_json(name: &str, monitor: &Monitor) -> Value {
    json!({
        "name": name,
        "sentence": monitor.sentence(),
        "alarm": monitor.alarm().map(|look| look.window.as_str()),
        "onset": monitor.onset().map(|onset| onset.window),
        "log_e_value": monitor.log_e_value(),
        "n_windows": monitor.n_windows(),
    })
}

fn navigation(several: bool) -> Markup {
    html! {
        nav aria-label="Sections" {
            span class="eyebrow" { "calipers · calibration over time" }
            a href="#answer" { "Answer" }
            @if several { a href="#groups" { "Groups" } } @else { a href="#charts" { "Charts" } a href="#windows" { "Windows" } }
            a href="#provenance" { "How this page was made" }
        }
    }
}

/// The looks that are drawn.
fn last(monitor: &Monitor) -> &[Look] {
    &monitor.looks()[monitor.looks().len().saturating_sub(MOST_WINDOWS)..]
}

fn state(monitor: &Monitor) -> &'static str {
    if monitor.alarm().is_some() { "bad" } else { "open" }
}

/// The verdict in few words.
fn headline(monitor: &Monitor) -> String {
    match (monitor.alarm(), monitor.onset()) {
        (Some(alarm), Some(onset)) => format!("Alarm at {}, since about {}.", alarm.window, onset.window),
        _ => "No alarm.".to_owned(),
    }
}

fn of_one(title: &str, monitor: &Monitor, shown: &mut Shown) -> Vec<Markup> {
    let looks = last(monitor);
    let evidence = shown.figure(0, None, &evidence(monitor, looks));
    let header = html! {
        header class="hero" id="answer" {
            div class="answer" {
                h1 { (title) }
                p class={ "sentence " (state(monitor)) } { (headline(monitor)) }
                p class="sure" { (monitor.sentence()) }
            }
            div class="diagram" { (evidence) }
            div class="more" { (facts(monitor)) }
        }
    };
    let panels = panels(monitor, looks);
    let charts: Vec<Markup> =
        panels.iter().map(|(title, panel)| titled(title, &shown.figure(0, None, panel))).collect();
    let charts = html! { div class="charts" { @for chart in &charts { (chart) } } };
    vec![header, section("charts", "Charts", &charts), section("windows", "Windows", &windows(looks))]
}

fn of_group(place: usize, name: &str, monitor: &Monitor, shown: &mut Shown) -> Markup {
    let looks = last(monitor);
    let mut panels = panels(monitor, looks);
    // Three side by side: the shift has what the outcomes show.
    panels.pop();
    panels.insert(0, ("Evidence", evidence(monitor, looks)));
    let charts: Vec<Markup> =
        panels.iter().map(|(title, panel)| titled(title, &shown.figure(place, Some(name), panel))).collect();
    html! {
        div class="model" id={ "of-group-" (place) } {
            h3 { (name) }
            p class="sure" { (monitor.sentence()) }
            div class="charts" { @for chart in &charts { (chart) } }
        }
    }
}

fn titled(title: &str, figure: &Markup) -> Markup {
    html! { div class="chart" { h3 { (title) } (figure) } }
}

fn overview(title: &str, monitors: &[&(String, &Monitor)]) -> Markup {
    let n_alarms = monitors.iter().filter(|(_, monitor)| monitor.alarm().is_some()).count();
    let found = match n_alarms {
        0 => format!("No alarm in {} groups.", monitors.len()),
        n => format!("Alarm in {n} of {} groups.", monitors.len()),
    };
    html! {
        header class="hero" id="answer" {
            div class="answer" {
                h1 { (title) }
                p class={ "sentence " (if n_alarms > 0 { "bad" } else { "open" }) } { (found) }
                p class="sure" { "The groups share the false-alarm rate equally." }
            }
            div class="more" {
                ul class="verdicts" {
                    @for (name, monitor) in monitors.iter().take(MOST_GROUPS) {
                        li {
                            div class={ "verdict " (state(monitor)) } {
                                p class="word" { span class="name" { (name) } span class="chip" { (headline(monitor)) } }
                            }
                        }
                    }
                }
                @if monitors.len() > MOST_GROUPS {
                    p class="sure" { (count((monitors.len() - MOST_GROUPS) as u64)) " further groups without an alarm are not shown." }
                }
            }
        }
    }
}

fn facts(monitor: &Monitor) -> Markup {
    html! {
        dl class="facts" {
            dt { "Expected" }
            dd {
                @if monitor.n_reference().is_some() { "Outcomes at equal predictions are as in the reference" }
                @else { "Outcomes have the predicted probabilities" }
                @if monitor.margin_value() > 0.0 { ", within " (monitor.margin_value()) " in log-odds" } "."
            }
            dt { "False-alarm rate" }
            dd { (percent(monitor.alpha_value())) " over the life of the monitor, for any number of looks" }
            dt { "e-value" }
            dd { (e_value_text(monitor.log_e_value())) "; limit " (e_value_text(monitor.log_limit())) }
            @if let Some(onset) = monitor.onset() {
                dt { "Since" }
                dd { (onset.window) @if onset.earliest != onset.latest { " (plausible: " (onset.earliest) " to " (onset.latest) ")" } }
                dt { "Shift since then" }
                dd { (significant(onset.shift)) " in log-odds (95 % interval " (significant(onset.shift_interval.lower)) " to " (significant(onset.shift_interval.upper)) "), as if this onset had been known. The onset is where the shift looks largest, so that soon after the alarm it is overstated." }
            }
            @if let (Some(n), Some(uncertainty)) = (monitor.n_reference(), monitor.reference_uncertainty()) {
                dt { "Reference" }
                dd { (count(n)) " rows, known to within " (four_digits(uncertainty)) " in log-odds on average" }
            }
        }
    }
}

fn evidence(monitor: &Monitor, looks: &[Look]) -> Panel {
    let row = |look: &Look| vec![look.number as f64, look.e_value(), monitor.limit(), look.n as f64];
    let table = Table::new(&["window", "e-value", "limit", "rows"], looks.iter().map(row));
    let text = "The e-value is the evidence that outcomes are not as expected. If they are, it reaches the limit with at \
                most the false-alarm rate, over all windows together. E-values beyond a million times the limit are \
                drawn there.";
    Panel::new("evidence", chart::evidence(monitor, looks), table, text)
}

fn panels(monitor: &Monitor, looks: &[Look]) -> Vec<(&'static str, Panel)> {
    let shift = |look: &Look| vec![look.number as f64, look.shift, look.shift_standard_error];
    let table = Table::new(&["window", "shift", "standard error"], looks.iter().map(shift));
    let text = "How far the log-odds of outcomes are above what is expected, window by window. Single windows leave their \
                intervals by chance: only the e-value decides.";
    let mut panels =
        vec![("Shift of the log-odds", Panel::new("shift", charts::low(chart::shift(monitor, looks)), table, text))];
    if let Some(drawn) = chart::values(looks) {
        let value = |look: &Look| {
            let value = look.value.as_ref()?;
            Some(vec![look.number as f64, value.value, value.floor, value.lower, value.upper])
        };
        let table = Table::new(&["window", "value", "noise floor", "lower", "upper"], looks.iter().filter_map(value));
        let text = "A value below the noise floor is no larger than chance explains.";
        panels.push(("Calibration error", Panel::new("values", charts::low(drawn), table, text)));
    }
    let rates = |look: &Look| vec![look.number as f64, look.expected_rate, look.outcome_rate];
    let table = Table::new(&["window", "expected", "outcomes"], looks.iter().map(rates));
    let text = "The share of outcome 1 that is expected for the predictions of each window, and the one that was seen.";
    panels.push(("Outcomes", Panel::new("rates", charts::low(chart::rates(looks)), table, text)));
    panels
}

fn windows(looks: &[Look]) -> Markup {
    let table = html! {
        table {
            thead {
                tr {
                    th scope="col" class="n" { "No." } th scope="col" { "Window" } th scope="col" class="n" { "Rows" }
                    th scope="col" class="n" { "Expected" } th scope="col" class="n" { "Outcomes" }
                    th scope="col" class="n" { "Shift" } th scope="col" class="n" { "e-value" }
                }
            }
            tbody {
                // The newest first.
                @for look in looks.iter().rev() {
                    tr {
                        td class="n" { (look.number) } th scope="row" { (look.window) } td class="n" { (count(look.n)) }
                        td class="n" { (significant(look.expected_rate)) } td class="n" { (significant(look.outcome_rate)) }
                        td class="n" { (significant(look.shift)) } td class="n" { (e_value_text(look.log_e_value)) }
                    }
                }
            }
        }
    };
    html! { div class="scroll tall" tabindex="0" role="region" aria-label="Table of windows" { (table) } }
}

fn provenance(monitors: &[(String, &Monitor)], command: Option<&str>) -> Markup {
    let n_windows = monitors.iter().map(|(_, monitor)| monitor.n_windows()).max().unwrap_or(0);
    let content = html! {
        dl class="facts" {
            dt { "Windows" }
            dd { (count(n_windows)) @if n_windows > MOST_WINDOWS as u64 { ", of which the last " (count(MOST_WINDOWS as u64)) " are shown" } }
            dt { "Version" }
            dd { "calipers " (env!("CARGO_PKG_VERSION")) }
            @if let Some(command) = command { dt { "Command" } dd { code { (command) } } }
        }
    };
    section("provenance", "How this page was made", &content)
}
