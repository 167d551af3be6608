//! What a gate found, for people.

use calipers::Assessment;

use crate::commands::analysis::floor::p_cell;
use crate::commands::assess::table::interval;
use crate::commands::check::{Gate, Line, Tested, Verdict};
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{legend, number};

/// More that passed are counted and not listed.
const MOST_PASSED: usize = 10;

pub(crate) fn render(gate: &Gate, screen: &Screen) -> String {
    let inputs = gate.results.iter().map(|measured| &measured.figures.input);
    let notes = [
        explanation(gate),
        legend::rows_read(&gate.results),
        legend::glossary(&gate.results, inputs),
        legend::guesses(&gate.results, &gate.names),
    ];
    let lines = lines(gate);
    let table = if lines.is_empty() { String::new() } else { table(gate, &lines).draw(screen) };
    let verdict = screen.paint(&sentence(gate), tone(gate.verdict()));
    [verdict, "\n\n".to_owned(), table, "\n".to_owned(), screen.notes(&notes.concat())].concat()
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Failed => Tone::Bad,
        Verdict::Undecided => Tone::Warning,
        Verdict::Passed => Tone::Good,
    }
}

/// The verdict in one line.
pub(crate) fn sentence(gate: &Gate) -> String {
    let verdict = gate.verdict();
    if let [line] = &gate.lines[..] {
        let (max, measure) = (line.max, decided(line));
        return match verdict {
            Verdict::Failed => format!("failed: {measure} is above {max}"),
            Verdict::Undecided if line.wants_draws() => {
                format!("undecided: whether {measure} is above {max}, so few draws do not tell")
            }
            Verdict::Undecided => format!("undecided: whether {measure} is above {max}, these rows do not tell"),
            Verdict::Passed => format!("passed: {measure} is at most {max}"),
        };
    }
    let count = |verdict: Verdict| gate.lines_of(verdict).count();
    let counts = [Verdict::Failed, Verdict::Undecided, Verdict::Passed].map(|verdict| {
        (count(verdict) > 0).then(|| format!("{} {}", number::count(count(verdict) as u64), verdict.name()))
    });
    format!("{}: {}", verdict.name(), counts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What a verdict is about.
fn decided(line: &Line) -> String {
    match deciding(line) {
        Some(deciding) => deciding.estimate.title().to_owned(),
        None => line.measure.to_owned(),
    }
}

/// The measure that decides, where it is another one.
fn deciding(line: &Line) -> Option<&Assessment> {
    line.tested.as_ref()?.assessment.residual.as_deref()
}

/// What failed, then what is undecided, then what passed, unless that is much.
fn lines(gate: &Gate) -> Vec<&Line> {
    let passed: Vec<&Line> = gate.lines_of(Verdict::Passed).collect();
    let shown = if passed.len() > MOST_PASSED { &[][..] } else { &passed[..] };
    let lines = gate.lines_of(Verdict::Failed).chain(gate.lines_of(Verdict::Undecided)).chain(shown.iter().copied());
    lines.collect()
}

fn table(gate: &Gate, lines: &[&Line]) -> Grid {
    let lines = || lines.iter();
    let seen = 1.0 - gate.level;
    let mut table = Grid::default();
    table.names("verdict", lines().map(|line| Cell::toned(line.verdict.name(), tone(line.verdict))));
    if gate.results.len() > 1 {
        let by = legend::by(&gate.results);
        table.names(by.as_deref().unwrap_or("predictions"), lines().map(|line| &gate.names[line.place]));
    }
    table.names("measure", lines().map(|line| line.measure));
    table.numbers("n", lines().map(|line| number::count(line.estimate.n)));
    table.numbers("value", lines().map(|line| number::significant(line.estimate.value)));
    // The residual form of LS-ECE, which decides for it: with its interval.
    if gate.lines.iter().any(|line| deciding(line).is_some()) {
        let value = |line: &Line| deciding(line).map(|deciding| number::significant(deciding.estimate.value));
        table.numbers("residual", lines().map(|line| value(line).unwrap_or_else(|| "-".to_owned())));
    }
    let known = |line: &Line| line.tested.as_ref().map(|tested| interval(&tested.assessment.deciding().interval));
    table.numbers("interval", lines().map(|line| known(line).unwrap_or_else(|| "-".to_owned())));
    table.numbers("max", lines().map(|line| line.max.to_string()));
    let p_value = |line: &Line, p: fn(&Tested) -> f64| p_cell(line.tested.as_ref().map(p), seen);
    table.numbers("p", lines().map(|line| p_value(line, |tested| tested.against.p_value)));
    if gate.lines.len() > 1 {
        table.numbers("p (Holm)", lines().map(|line| p_value(line, |tested| tested.p_adjusted)));
    }
    let notes = |line: &&Line| {
        let decided = deciding(line).map(|deciding| format!("decided by {}, ", deciding.estimate.title()));
        decided.unwrap_or_default() + &legend::settings(&line.estimate)
    };
    table.notes("notes", lines().map(notes));
    table
}

fn explanation(gate: &Gate) -> String {
    let n_passed = gate.lines_of(Verdict::Passed).count();
    let tested = || gate.lines.iter().filter_map(|line| line.tested.as_ref());
    let clusters = tested().find_map(|tested| tested.assessment.n_clusters);
    let untested = gate.lines.iter().any(|line| line.tested.is_none());
    let adjusted = format!(
        "p: of \"the value of the population is max\"; p (Holm): adjusted for {} figures, and decided where at most {}.\n",
        number::count(gate.lines.len() as u64),
        // Of 1 - 0.95, not 0.050000000000000044.
        (1e9 * (1.0 - gate.level)).round() / 1e9
    );
    let one = "p: of \"the value of the population is max\". Passed where the interval ends at max or below, failed where it begins above.\n".to_owned();
    [
        if n_passed > MOST_PASSED {
            format!("{n_passed} that passed are not listed; --json has them.\n")
        } else {
            String::new()
        },
        format!("interval: {}, for the value of the population at the same settings.\n", number::percent(gate.level)),
        if gate.lines.iter().any(|line| deciding(line).is_some()) {
            "residual: the residual form of LS-ECE, which is 0 for a calibrated model at any sigma. The verdict and the interval are those of the residual form.\n".to_owned()
        } else {
            String::new()
        },
        if gate.lines.len() > 1 { adjusted } else { one },
        clusters.map_or(String::new(), |n| format!("Rows in {} clusters.\n", number::count(n))),
        if untested { "No interval: groups of fewer than 10 clusters.\n".to_owned() } else { String::new() },
    ]
    .concat()
}
