//! What a gate found, for people.

use super::{EnoughRows, Gate, Line, Tested, Verdict};
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{cells, left_out, legend, number};

/// More that passed are counted and not listed.
const MOST_PASSED: usize = 10;

pub(super) fn render(gate: &Gate, screen: &Screen) -> String {
    let lines = lines(gate);
    let table = if lines.is_empty() { String::new() } else { table(gate, &lines).draw(screen) };
    let verdict = screen.paint(&sentence(gate), tone(gate.verdict())) + "\n";
    let left_out = left_out::painted(&gate.rows_left_out(), screen);
    [verdict, left_out, "\n".to_owned(), table, "\n".to_owned(), screen.notes(&notes(gate))].concat()
}

/// What the columns mean, and what is to be known of the rows: a line each.
pub(super) fn notes(gate: &Gate) -> String {
    let inputs = gate.results.iter().map(|measured| &measured.found.input);
    explanation(gate) + &legend::under(&gate.results, &gate.names, inputs)
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Failed | Verdict::NotMeasured => Tone::Bad,
        Verdict::Undecided => Tone::Warning,
        Verdict::Passed => Tone::Good,
    }
}

/// The verdict in one line.
pub(super) fn sentence(gate: &Gate) -> String {
    let verdict = gate.verdict();
    if let ([line], []) = (&gate.lines[..], &gate.empty_groups()[..]) {
        return format!("{}: {}", verdict.name(), finding(gate, line));
    }
    let n_empty: usize = gate.results.iter().map(|measured| measured.found.empty_groups.len()).sum();
    let count =
        |verdict: Verdict| gate.lines_of(verdict).count() + if verdict == Verdict::NotMeasured { n_empty } else { 0 };
    let counts = Verdict::ALL.map(|verdict| {
        (count(verdict) > 0).then(|| format!("{} {}", number::count(count(verdict) as u64), verdict.name()))
    });
    format!("{}: {}", verdict.name(), counts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What was found of one value.
pub(super) fn finding(gate: &Gate, line: &Line) -> String {
    let (max, measure) = (line.max, decided(line));
    match line.verdict {
        Verdict::Failed => format!("{measure} is above {max}"),
        Verdict::NotMeasured => {
            let input = &gate.results[line.place].found.input;
            let (n, of) = (number::count(line.estimate.n), number::count(input.n_rows));
            format!("only {n} of {of} rows could be measured, too few for a verdict on {measure}")
        }
        Verdict::Undecided => {
            let few = if line.wants_resamples() { "resamples" } else { "rows" };
            format!("there are too few {few} to tell whether {measure} is above {max}")
        }
        Verdict::Passed => format!("{measure} is at most {max}"),
    }
}

/// The numbers behind a finding, in one line.
pub(super) fn details(gate: &Gate, line: &Line) -> String {
    let rows = format!("{} rows", number::count(line.estimate.n));
    let value = format!("{} is {}", line.measure, number::significant(line.estimate.value));
    let decided = line.deciding().map(|deciding| {
        let (title, value) = (deciding.estimate.title(), number::significant(deciding.estimate.value));
        format!("{title}, which decides, is {value}")
    });
    let interval = line.tested.as_ref().map(|tested| {
        let p = if gate.lines.len() > 1 { tested.p_adjusted } else { tested.against.p_value };
        let interval = cells::interval(&tested.assessment.deciding().interval);
        format!("{} interval {interval}, p {}", number::percent(gate.level), number::p_value(p))
    });
    [Some(value), decided, interval, Some(rows)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What a verdict is about.
fn decided(line: &Line) -> String {
    line.deciding().map_or(line.measure, |deciding| deciding.estimate.title()).to_owned()
}

/// What failed, then what is not measured or undecided, then what passed, unless that is much.
pub(super) fn lines(gate: &Gate) -> Vec<&Line> {
    let passed: Vec<&Line> = gate.lines_of(Verdict::Passed).collect();
    let shown = if passed.len() > MOST_PASSED { &[][..] } else { &passed[..] };
    let worse = Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Passed);
    worse.flat_map(|verdict| gate.lines_of(verdict)).chain(shown.iter().copied()).collect()
}

pub(super) fn table(gate: &Gate, lines: &[&Line]) -> Grid {
    let lines = || lines.iter();
    let significant = 1.0 - gate.level;
    let mut table = Grid::default();
    table.names("verdict", lines().map(|line| Cell::toned(line.verdict.name(), tone(line.verdict))));
    if gate.results.len() > 1 {
        let by = legend::by(&gate.results);
        table.names(by.as_deref().unwrap_or("predictions"), lines().map(|line| &gate.names[line.place]));
    }
    table.names("measure", lines().map(|line| line.measure));
    table.numbers("n", lines().map(|line| number::count(line.estimate.n)));
    if left_out::is_column(&gate.results) {
        table.numbers("left out", lines().map(|line| left_out::cell(&gate.results[line.place])));
    }
    table.numbers("value", lines().map(|line| number::significant(line.estimate.value)));
    // The residual form of LS-ECE, which decides for it: with its interval.
    if gate.lines.iter().any(|line| line.deciding().is_some()) {
        let value = |line: &Line| line.deciding().map(|deciding| number::significant(deciding.estimate.value));
        table.numbers("residual", lines().map(|line| value(line).unwrap_or_else(|| "-".to_owned())));
    }
    let known =
        |line: &Line| line.tested.as_ref().map(|tested| cells::interval(&tested.assessment.deciding().interval));
    table.numbers("interval", lines().map(|line| known(line).unwrap_or_else(|| "-".to_owned())));
    table.numbers("max", lines().map(|line| line.max.to_string()));
    let p_value = |line: &Line, p: fn(&Tested) -> f64| cells::p_value(line.tested.as_ref().map(p), significant);
    table.numbers("p", lines().map(|line| p_value(line, |tested| tested.against.p_value)));
    if gate.lines.len() > 1 {
        table.numbers(&legend::p_adjusted(gate.adjust), lines().map(|line| p_value(line, |tested| tested.p_adjusted)));
    }
    let notes = |line: &&Line| {
        let decided = line.deciding().map(|deciding| format!("decided by {}, ", deciding.estimate.title()));
        decided.unwrap_or_default() + &legend::settings(&line.estimate)
    };
    table.notes("notes", lines().map(notes));
    table
}

fn explanation(gate: &Gate) -> String {
    let n_passed = gate.lines_of(Verdict::Passed).count();
    let tested = || gate.lines.iter().filter_map(|line| line.tested.as_ref());
    let clusters = tested().find_map(|tested| tested.assessment.n_clusters);
    let decided = gate.lines.iter().any(|line| line.deciding().is_some());
    let p = "p: of the hypothesis that the value of the population equals max";
    // Of 1 - 0.95, not 0.050000000000000044.
    let significant = (1e9 * (1.0 - gate.level)).round() / 1e9;
    let n_values = number::count(gate.lines.len() as u64);
    let lines = [
        (n_passed > MOST_PASSED).then(|| format!("{n_passed} values that passed are not listed; --json has them.")),
        Some(format!(
            "interval: {} interval for the value of the population at the same settings.",
            number::percent(gate.level)
        )),
        decided.then(|| RESIDUAL.to_owned()),
        Some(match gate.lines.len() {
            1 => format!("{p}. A value passes if the interval ends at max or below, and fails if it begins above."),
            _ => format!(
                "{p}; {}: adjusted for {n_values} values. A value is decided if that is at most {significant}.",
                legend::p_adjusted(gate.adjust)
            ),
        }),
        tested().any(|tested| tested.assessment.deciding().bias_note().is_some()).then(|| legend::BIASED.to_owned()),
        gate.lines_of(Verdict::NotMeasured).next().map(|_| not_measured(gate)),
        clusters.map(|n| legend::clusters(n).trim_end().to_owned()),
        gate.lines.iter().any(|line| line.tested.is_none()).then(|| FEW_CLUSTERS.to_owned()),
    ];
    lines.into_iter().flatten().map(|line| line + "\n").collect()
}

/// What a verdict of too few rows means.
fn not_measured(gate: &Gate) -> String {
    let EnoughRows { max_missing, min_rows } = gate.enough;
    let few = format!(", or fewer than {} remain (--min-rows)", number::count(min_rows));
    format!(
        "not measured: more than {} of the rows were left out (--max-missing){}.",
        number::percent(max_missing.0),
        if min_rows > 1 { few.as_str() } else { "" }
    )
}

const RESIDUAL: &str = "residual: the residual form of LS-ECE, which is 0 for a calibrated model at any sigma. The verdict and the interval are \
     those of the residual form.";

const FEW_CLUSTERS: &str = "Groups of fewer than 10 clusters have no interval.";
