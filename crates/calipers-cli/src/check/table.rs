//! What a gate found, for people.

use crate::assess::table::{interval, level};
use crate::check::{Gate, Line, Verdict};
use crate::measures_table::notes;
use crate::{number, table, words};

/// More that passed are counted and not listed.
const MOST_PASSED: usize = 10;

pub(crate) fn render(gate: &Gate) -> String {
    let inputs = gate.results.iter().map(|measured| &measured.figures.input);
    [
        sentence(gate) + "\n\n",
        lines(gate),
        "\n".to_owned(),
        explanation(gate),
        words::asked(&gate.results),
        words::glossary(&gate.results, inputs),
        words::guesses(&gate.results, &gate.names),
    ]
    .concat()
}

/// The verdict in one line.
pub(crate) fn sentence(gate: &Gate) -> String {
    let verdict = gate.verdict();
    if let [line] = &gate.lines[..] {
        let max = line.against.threshold;
        return match verdict {
            Verdict::Failed => format!("failed: {} is above {max}", line.measure),
            Verdict::Undecided => format!("undecided: whether {} is above {max}, these rows do not tell", line.measure),
            Verdict::Passed => format!("passed: {} is at most {max}", line.measure),
        };
    }
    let count = |verdict: Verdict| gate.lines_of(verdict).count();
    let counts = [Verdict::Failed, Verdict::Undecided, Verdict::Passed].map(|verdict| {
        (count(verdict) > 0).then(|| format!("{} {}", number::count(count(verdict) as u64), verdict.name()))
    });
    format!("{}: {}", verdict.name(), counts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What failed, then what is undecided, then what passed, unless that is much.
fn lines(gate: &Gate) -> String {
    let passed: Vec<&Line> = gate.lines_of(Verdict::Passed).collect();
    let shown = if passed.len() > MOST_PASSED { &[][..] } else { &passed[..] };
    let lines = gate.lines_of(Verdict::Failed).chain(gate.lines_of(Verdict::Undecided)).chain(shown.iter().copied());
    let (named, several) = (gate.results.len() > 1, gate.lines.len() > 1);
    let by = words::by(&gate.results);
    let mut header = vec!["verdict"];
    header.extend(named.then_some(by.as_deref().unwrap_or("predictions")));
    header.extend(["measure", "n", "value", "interval", "max", "p"]);
    header.extend(several.then_some("p (Holm)"));
    header.push("notes");
    let (first_number, n_columns) = (2 + usize::from(named), header.len());
    let mut table = table::plain();
    table.set_header(header);
    let mut n_shown = 0;
    for line in lines {
        n_shown += 1;
        let estimate = &line.assessment.estimate;
        let mut row = vec![line.verdict.name().to_owned()];
        row.extend(named.then(|| gate.names[line.place].clone()));
        row.extend([
            line.measure.to_owned(),
            number::count(estimate.n),
            number::significant(estimate.value),
            interval(&line.assessment.interval),
            line.against.threshold.to_string(),
            number::p_value(line.against.p_value),
        ]);
        row.extend(several.then(|| number::p_value(line.p_adjusted)));
        row.push(notes(estimate));
        table.add_row(row);
    }
    if n_shown == 0 {
        return String::new();
    }
    table::finished_between(table, first_number..n_columns - 1)
}

fn explanation(gate: &Gate) -> String {
    let n_passed = gate.lines_of(Verdict::Passed).count();
    let clusters = gate.lines.iter().find_map(|line| line.assessment.n_clusters);
    let adjusted = format!(
        "p: of \"the value of rows without end is max\"; p (Holm): adjusted for {} figures, and decided where at most {}.\n",
        number::count(gate.lines.len() as u64),
        // Of 1 - 0.95, not 0.050000000000000044.
        (1e9 * (1.0 - gate.level)).round() / 1e9
    );
    let one = "Passed where the interval ends at max or below, failed where it begins above.\n".to_owned();
    [
        if n_passed > MOST_PASSED {
            format!("{n_passed} that passed are not listed; --json has them.\n")
        } else {
            String::new()
        },
        format!("interval: {} %, for the value of rows without end at the same settings.\n", level(gate.level)),
        if gate.lines.len() > 1 { adjusted } else { one },
        clusters.map_or(String::new(), |n| format!("Rows in {} clusters.\n", number::count(n))),
    ]
    .concat()
}
