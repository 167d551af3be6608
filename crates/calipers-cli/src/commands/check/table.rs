//! What a gate found, for people.

use calipers::Assessment;

use crate::commands::analysis::floor::p_cell;
use crate::commands::assess::table::{interval, level};
use crate::commands::check::{Gate, Line, Verdict};
use crate::commands::measure::named_table::notes;
use crate::render::grid::{Cell, Grid};
use crate::render::legend;
use crate::render::number;
use crate::render::screen::{Screen, Tone};

/// More that passed are counted and not listed.
const MOST_PASSED: usize = 10;

pub(crate) fn render(gate: &Gate, screen: &Screen) -> String {
    let inputs = gate.results.iter().map(|measured| &measured.figures.input);
    let notes = [
        explanation(gate),
        legend::asked(&gate.results),
        legend::glossary(&gate.results, inputs),
        legend::guesses(&gate.results, &gate.names),
    ];
    let table = lines(gate);
    let table = if table.is_empty() { String::new() } else { table.draw(screen) };
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
fn lines(gate: &Gate) -> Grid {
    let passed: Vec<&Line> = gate.lines_of(Verdict::Passed).collect();
    let shown = if passed.len() > MOST_PASSED { &[][..] } else { &passed[..] };
    let lines = gate.lines_of(Verdict::Failed).chain(gate.lines_of(Verdict::Undecided)).chain(shown.iter().copied());
    let (named, several) = (gate.results.len() > 1, gate.lines.len() > 1);
    let by = legend::by(&gate.results);
    let mut header = vec!["verdict"];
    header.extend(named.then_some(by.as_deref().unwrap_or("predictions")));
    // The residual form of LS-ECE, which decides for it: with its interval.
    let decided = gate.lines.iter().any(|line| deciding(line).is_some());
    header.extend(["measure", "n", "value"]);
    header.extend(decided.then_some("residual"));
    header.extend(["interval", "max", "p"]);
    header.extend(several.then_some("p (Holm)"));
    header.push("notes");
    let (first_number, n_columns) = (2 + usize::from(named), header.len());
    let mut table = Grid::new(header, first_number..n_columns - 1);
    let seen = 1.0 - gate.level;
    for line in lines {
        let tested = line.tested.as_ref();
        let mut row = vec![Cell::toned(line.verdict.name(), tone(line.verdict))];
        row.extend(named.then(|| gate.names[line.place].clone().into()));
        row.extend([
            Cell::from(line.measure),
            number::count(line.estimate.n).into(),
            number::significant(line.estimate.value).into(),
        ]);
        row.extend(decided.then(|| {
            let value = deciding(line).map(|deciding| number::significant(deciding.estimate.value));
            Cell::from(value.unwrap_or_else(|| "-".to_owned()))
        }));
        row.extend([
            Cell::from(tested.map_or("-".to_owned(), |tested| interval(&tested.assessment.deciding().interval))),
            line.max.to_string().into(),
            p_cell(tested.map(|tested| tested.against.p_value), seen),
        ]);
        row.extend(several.then(|| p_cell(tested.map(|tested| tested.p_adjusted), seen)));
        let decided = deciding(line).map(|deciding| format!("decided by {}, ", deciding.estimate.title()));
        row.push((decided.unwrap_or_default() + &notes(&line.estimate)).into());
        table.add(row);
    }
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
        format!("interval: {} %, for the value of the population at the same settings.\n", level(gate.level)),
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
