//! Sentences and tables of assessments for people.

use std::collections::BTreeSet;

use calipers::significance::{Confidence, Part, Parts};
use calipers::{Assessment, Estimate, Interval};

use crate::commands::analysis::floor::{floor_cell, p_cell};
use crate::commands::assess::assessed::{Assessed, AssessedFigure};
use crate::commands::measure::named_table::notes;
use crate::dataset::model::Measured;
use crate::render::grid::{Cell, Grid};
use crate::render::legend;
use crate::render::number;
use crate::render::screen::{Screen, Tone};

type Results<'a> = &'a [Measured<Assessed>];

pub(crate) fn render(results: Results, screen: &Screen) -> String {
    let names = legend::names(results);
    let inputs = results.iter().map(|measured| &measured.figures.input);
    let notes = [
        explanation(results),
        refusals(results, &names, screen),
        legend::asked(results),
        legend::glossary(results, inputs),
        legend::guesses(results, &names),
    ];
    let tables = figures(results, &names).into_iter().chain(tests(results, &names));
    let tables: String = tables.map(|table| table.draw(screen) + "\n").collect();
    screen.prose(&sentences(results, &names)) + "\n" + &tables + &screen.notes(&notes.concat())
}

/// What a person wants to know: of each model and group the first measure, and of a single one all.
fn sentences(results: Results, names: &[String]) -> String {
    let answered = |measured: &Measured<Assessed>| -> Vec<String> {
        let figures = measured.figures.figures.iter();
        figures.filter_map(sentence).collect()
    };
    if let [one] = results {
        return answered(one).iter().map(|sentence| format!("{sentence}\n")).collect();
    }
    let line = |(measured, name): (&Measured<Assessed>, &String)| {
        answered(measured).first().map(|sentence| format!("{name}: {sentence}\n"))
    };
    results.iter().zip(names).filter_map(line).collect()
}

/// What is known of a figure; of a group with too few clusters, the value and why there is no more.
fn sentence(figure: &AssessedFigure) -> Option<String> {
    match (&figure.outcome, &figure.alone) {
        (Ok(assessment), _) => {
            let direction = assessment.parts.as_ref().map(|parts| format!("\n{}", direction(parts)));
            Some(adjusted(figure, assessment) + &direction.unwrap_or_default())
        }
        (Err(_), Some(estimate)) => {
            let value = number::significant(estimate.value);
            Some(format!("{} is {value}. There are too few clusters for an interval or a p-value.", estimate.title()))
        }
        (Err(_), None) => None,
    }
}

/// The sentence, with the p-value after adjusting for all groups where there is one.
fn adjusted(figure: &AssessedFigure, assessment: &Assessment) -> String {
    match figure.p_adjusted {
        Some(p) => assessment.sentence_among_groups(p),
        None => assessment.sentence(),
    }
}

/// The signed parts in a line, without what noise adds to them.
fn direction(parts: &Parts) -> String {
    let Parts { too_high, too_low, confidence } = parts;
    let half = |part: &Part| 0.5 * (part.interval.upper - part.interval.lower);
    let widest = parts.named().into_iter().filter_map(|(_, part)| part.map(half)).fold(0.0, f64::max);
    let digits = if widest > 0.0 { (-widest.log10()).ceil().clamp(3.0, 9.0) as usize } else { 3 };
    let part = |name: &str, part: &Part| {
        let Interval { lower, upper, .. } = part.interval;
        format!("{name} {:.digits$} ({lower:.digits$} to {upper:.digits$})", part.debiased)
    };
    let of_sign = format!("{}, {}", part("too high", too_high), part("too low", too_low));
    let of_confidence = |found: &Confidence| {
        format!("{}, {}", part("overconfident", &found.over), part("underconfident", &found.under))
    };
    match confidence {
        // Of a confidence in a predicted class, too high is overconfident.
        Some(found) if (&found.over, &found.under) == (too_high, too_low) => {
            format!("Direction: {}.", of_confidence(found))
        }
        Some(found) => format!("Direction: {of_sign}; {}.", of_confidence(found)),
        None => format!("Direction: {of_sign}."),
    }
}

/// Of one model a line for each measure; of several a table for each measure, with a line for each model.
fn figures(results: Results, names: &[String]) -> Vec<Grid> {
    let figures = || results.iter().flat_map(|measured| &measured.figures.figures);
    let adjusted = figures().any(|figure| figure.p_adjusted.is_some());
    let row = |name: String, measured: &Measured<Assessed>, figure: &AssessedFigure| {
        let mut row = vec![Cell::from(name), number::count(measured.figures.n).into()];
        match (&figure.outcome, &figure.alone) {
            (Ok(assessment), _) => row.extend(cells(assessment, adjusted.then_some(figure))),
            (Err(_), Some(estimate)) => row.extend(alone(estimate, adjusted)),
            (Err(_), None) => row.push(Cell::toned("refused", Tone::Quiet)),
        }
        row
    };
    // What decides, under what it decides, unless it was asked for by name and has a line of its own.
    let deciding_row = |name: String, measured: &Measured<Assessed>, figure: &AssessedFigure| {
        let deciding = figure.outcome.as_ref().ok()?.residual.as_deref()?;
        let mut row = vec![Cell::from(name), number::count(measured.figures.n).into()];
        row.extend(cells(deciding, adjusted.then_some(figure)));
        Some(row)
    };
    let deciding_name = |figure: &AssessedFigure| {
        let name = figure.outcome.as_ref().ok()?.residual.as_ref()?.estimate.measure;
        figures().all(|other| other.name != name).then_some(name)
    };
    if let [one] = results {
        let rows = one.figures.figures.iter().flat_map(|figure| {
            let deciding = deciding_name(figure).and_then(|name| deciding_row(name.to_owned(), one, figure));
            std::iter::once(row(figure.name.to_owned(), one, figure)).chain(deciding)
        });
        return vec![lines("measure", "value", adjusted, rows.collect())];
    }
    let by = legend::by(results);
    let n_measures = results.first().map_or(0, |measured| measured.figures.figures.len());
    let tables = (0..n_measures).map(|place| {
        let figures =
            || results.iter().zip(names).map(|(measured, name)| (measured, &measured.figures.figures[place], name));
        let rows = figures().map(|(measured, figure, name)| row(name.clone(), measured, figure)).collect();
        let measure = figures().next().map_or("value", |(_, figure, _)| figure.name);
        let corner = by.as_deref().unwrap_or("predictions");
        let deciding = figures().find_map(|(_, figure, _)| deciding_name(figure)).map(|measure| {
            let rows = figures().filter_map(|(measured, figure, name)| deciding_row(name.clone(), measured, figure));
            lines(corner, measure, adjusted, rows.collect())
        });
        std::iter::once(lines(corner, measure, adjusted, rows)).chain(deciding)
    });
    tables.flatten().collect()
}

fn lines(corner: &str, value: &str, adjusted: bool, rows: Vec<Vec<Cell>>) -> Grid {
    let mut header = vec![corner, "n", value, "interval", "floor", "p"];
    header.extend(adjusted.then_some("p (Holm)"));
    header.extend(["debiased", "num. ±", "notes"]);
    let n_columns = header.len();
    let mut table = Grid::new(header, 1..n_columns - 1).together(2..6 + usize::from(adjusted));
    rows.into_iter().for_each(|row| table.add(row));
    table
}

/// From the value on; the adjusted p-value of `adjusted`, where there is a column for it.
fn cells(assessment: &Assessment, adjusted: Option<&AssessedFigure>) -> Vec<Cell> {
    let floor = assessment.floor.as_ref();
    let seen = 1.0 - assessment.interval.level;
    let mut cells = vec![
        Cell::from(number::significant(assessment.estimate.value)),
        interval(&assessment.interval).into(),
        floor_cell(floor),
        p_cell(floor.map(|floor| floor.p_value), seen),
    ];
    cells.extend(adjusted.map(|figure| p_cell(figure.p_adjusted, seen)));
    cells.push(number::significant(assessment.debiased).into());
    cells.push(number::bound(assessment.estimate.numerical_bound).into());
    cells.push(notes(&assessment.estimate).into());
    cells
}

/// From the value on, where nothing is known of chance.
fn alone(estimate: &Estimate, adjusted: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::from(number::significant(estimate.value))];
    // Interval, floor, p and the debiased value.
    cells.extend(vec![Cell::toned("-", Tone::Quiet); 4 + usize::from(adjusted)]);
    cells.push(number::bound(estimate.numerical_bound).into());
    cells.push(notes(estimate).into());
    cells
}

/// `[0.027, 0.036]`, or `<= 0.036` for an upper limit.
pub(crate) fn interval(interval: &Interval) -> String {
    let decimals = number::decimals(0.5 * (interval.upper - interval.lower));
    match interval.is_upper_limit {
        true => format!("<= {:.decimals$}", interval.upper),
        false => format!("[{:.decimals$}, {:.decimals$}]", interval.lower, interval.upper),
    }
}

fn tests(results: Results, names: &[String]) -> Option<Grid> {
    let all = || results.iter().flat_map(|measured| &measured.figures.tests);
    // Where all are refused, the reason under the tables is enough.
    all().find(|test| test.outcome.is_ok())?;
    let adjusted = all().any(|test| test.p_adjusted.is_some());
    let named = results.len() > 1;
    let mut header = Vec::new();
    let by = legend::by(results);
    header.extend(named.then_some(by.as_deref().unwrap_or("predictions")));
    header.extend(["test", "statistic", "p"]);
    header.extend(adjusted.then_some("p (Holm)"));
    header.push("looks at");
    let mut table = Grid::new(header, 1 + usize::from(named)..3 + usize::from(named) + usize::from(adjusted));
    let seen = results
        .iter()
        .find_map(|measured| assessments(measured).next())
        .map_or(0.0, |first| 1.0 - first.interval.level);
    for (measured, name) in results.iter().zip(names) {
        for test in &measured.figures.tests {
            let mut row: Vec<Cell> = Vec::new();
            row.extend(named.then(|| name.clone().into()));
            row.push(test.name.into());
            match &test.outcome {
                Ok(result) => {
                    row.extend([number::significant(result.statistic).into(), p_cell(Some(result.p_value), seen)])
                }
                Err(_) => row.extend([Cell::toned("refused", Tone::Quiet), Cell::default()]),
            }
            row.extend(adjusted.then(|| p_cell(test.p_adjusted, seen)));
            row.push(Cell::toned(test.about, Tone::Quiet));
            table.add(row);
        }
    }
    Some(table)
}

fn assessments(measured: &Measured<Assessed>) -> impl Iterator<Item = &Assessment> {
    measured.figures.figures.iter().filter_map(|figure| figure.outcome.as_ref().ok())
}

fn explanation(results: Results) -> String {
    let assessments = || results.iter().flat_map(assessments);
    let Some(first) = assessments().next() else { return String::new() };
    let n_resamples = assessments().find_map(|assessment| assessment.floor.as_ref()).map(|floor| floor.n_resamples);
    let limits = assessments().any(|assessment| assessment.interval.is_upper_limit);
    let floor = n_resamples.map(|n| {
        format!(
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws. p: how often a calibrated \
             model would score at least as much by chance.\n",
            number::count(n)
        )
    });
    let decided = assessments().any(|assessment| assessment.residual.is_some());
    let rules: BTreeSet<&str> = assessments().map(debiased).collect();
    let adjusted = results.iter().flat_map(|measured| &measured.figures.figures).any(|f| f.p_adjusted.is_some());
    let withheld: BTreeSet<&str> = assessments().filter_map(|a| a.withheld).collect();
    let clusters = first.n_clusters.map(|n| format!("Rows in {} clusters.\n", number::count(n)));
    [
        format!(
            "interval: {} %, for the value of the population at the same settings{}.\n",
            level(first.interval.level),
            if limits { "; an upper limit where there is no evidence of miscalibration" } else { "" }
        ),
        floor.unwrap_or_default(),
        if decided {
            "The verdict comes from residual_ls_ece: p and the debiased value in the line of ls_ece are those of residual_ls_ece. The direction splits that debiased value into parts.\n"
                .to_owned()
        } else {
            String::new()
        },
        if adjusted { "p (Holm): adjusted for the number of groups.\n".to_owned() } else { String::new() },
        withheld.iter().map(|reason| format!("No floor: {reason}\n")).collect(),
        clusters.unwrap_or_default(),
        format!(
            "debiased: the value without the bias that noise adds ({}). num. ±: numerical error alone.\n",
            rules.into_iter().collect::<Vec<_>>().join(", or ")
        ),
    ]
    .concat()
}

/// Of 0.95, 95: without the digits that doubles would add.
pub(crate) fn level(level: f64) -> f64 {
    (1e6 * level).round() / 1e4
}

fn debiased(assessment: &Assessment) -> &'static str {
    match assessment.debias {
        calipers::Debias::Local => "place by place",
        calipers::Debias::Floor => "root of value² - floor²",
        calipers::Debias::Bootstrap => "by the bootstrap",
        calipers::Debias::Mean => "mean of root(value² - floor²) and the bootstrap's",
    }
}

/// Each reason once, with all that it is about.
fn refusals(results: Results, names: &[String], screen: &Screen) -> String {
    // What is not there, why, and of what.
    let mut reasons: Vec<(&str, String, Vec<String>)> = Vec::new();
    for (measured, name) in results.iter().zip(names) {
        let figures = measured.figures.figures.iter().filter_map(|figure| {
            let absent = if figure.alone.is_some() { "no interval" } else { "refused" };
            Some((absent, figure.name, figure.outcome.as_ref().err()?))
        });
        let tests = measured.figures.tests.iter();
        let tests = tests.filter_map(|test| Some(("refused", test.name, test.outcome.as_ref().err()?)));
        for (absent, what, refusal) in figures.chain(tests) {
            let what = if results.len() > 1 { format!("{what} of {name}") } else { what.to_owned() };
            let text = refusal.to_string();
            match reasons.iter_mut().find(|(known_absent, known, _)| *known_absent == absent && *known == text) {
                Some((_, _, all)) => all.push(what),
                None => reasons.push((absent, text, vec![what])),
            }
        }
    }
    let line = |(absent, text, all): &(&str, String, Vec<String>)| {
        let all = if results.len() > 1 { legend::few(all) } else { all.join(", ") };
        screen.reason(&crate::printable(&format!("{absent}: {all}: {text}")))
    };
    reasons.iter().map(line).collect()
}
