//! Monitors for people: what is decided first, then the last windows.

use calipers::inference::e_value_text;
use calipers::{Look, Monitor};

use super::Watched;
use super::windows::Windows;
use crate::render::grid::{Cell, Grid};
use crate::render::number;
use crate::render::screen::{Screen, Tone};

/// Windows that are shown of each monitor.
const SHOWN: usize = 12;

pub(super) fn render(watched: &[Watched], windows: &Windows, screen: &Screen) -> String {
    let mut text = String::new();
    for Watched { group, monitor } in watched {
        let sentence = crate::printable(&monitor.sentence());
        let line = group.as_ref().map_or(sentence.clone(), |group| format!("{}: {sentence}", crate::printable(group)));
        let tone = if monitor.alarm().is_some() { Tone::Warning } else { Tone::Plain };
        text += &screen.prose(&line).lines().map(|line| screen.paint(line, tone) + "\n").collect::<String>();
    }
    if let [Watched { monitor, .. }] = watched {
        text += "\n";
        text += &values(monitor).draw(screen);
    }
    text + "\n" + &screen.notes(&notes(watched, windows))
}

fn values(monitor: &Monitor) -> Grid {
    let looks = &monitor.looks()[monitor.looks().len().saturating_sub(SHOWN)..];
    let mut table = Grid::with_whole_names();
    let shown = |of: fn(&Look) -> f64| looks.iter().map(move |look| cell(of(look)));
    table.names("window", looks.iter().map(|look| crate::printable(&look.window)));
    table.numbers("rows", looks.iter().map(|look| number::count(look.n)));
    table.numbers("expected", shown(|look| look.expected_rate));
    table.beside("outcomes", shown(|look| look.outcome_rate));
    table.numbers("shift", shown(|look| look.shift));
    table.beside("±", shown(|look| 1.96 * look.shift_standard_error));
    if looks.iter().any(|look| look.value.is_some()) {
        let value = |of: fn(&calipers::inference::WindowValue) -> f64| {
            looks.iter().map(move |look| look.value.as_ref().map_or_else(Cell::dash, |value| cell(of(value))))
        };
        let title = looks.iter().find_map(|look| look.value.as_ref()).map_or("value", |value| &value.measure);
        table.numbers(title, value(|value| value.value));
        table.beside("floor", value(|value| value.floor));
    }
    let e_value = |look: &Look| {
        let tone = if look.is_above_limit { Tone::Warning } else { Tone::Plain };
        Cell::toned(e_value_text(look.log_e_value), tone)
    };
    table.numbers("e-value", looks.iter().map(e_value));
    table
}

fn cell(value: f64) -> Cell {
    if value.is_nan() { Cell::dash() } else { number::significant(value).into() }
}

fn notes(watched: &[Watched], windows: &Windows) -> String {
    let mut notes = String::new();
    if let [Watched { monitor, .. }] = watched {
        let n = monitor.looks().len();
        if n > SHOWN {
            notes +=
                &format!("The last {SHOWN} of {} windows are shown; --json has the others.\n", monitor.n_windows());
        }
        notes += "shift: log-odds of outcomes above what is expected, with 95 % intervals. ";
        if monitor.looks().iter().any(|look| look.value.is_some()) {
            notes += "floor: 95 % quantile of the noise floor. ";
        }
        notes += "e-value: evidence over all windows; values of single windows do not decide.\n";
    }
    if let Some(by) = &windows.by {
        notes += &format!(
            "{} groups by {by} share the false-alarm rate equally: with a probability of at most {} any of them raises a \
             false alarm.\n",
            watched.len(),
            watched.iter().map(|watched| watched.monitor.alpha_value()).sum::<f64>()
        );
    }
    if let Some(uncertainty) = watched.iter().find_map(|watched| watched.monitor.reference_uncertainty()) {
        notes += &format!(
            "The reference is known to within {} in log-odds on average, which counts as expected.\n",
            number::significant(uncertainty)
        );
    }
    if windows.n_without_window > 0 {
        notes += &format!("{} rows without a window are left out.\n", number::count(windows.n_without_window));
    }
    notes
}
