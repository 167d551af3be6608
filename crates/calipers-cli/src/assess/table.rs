//! Sentences and tables of assessments for people.

use calipers::{Assessment, Interval};

use crate::assess::assessed::{Assessed, AssessedFigure};
use crate::measured::Measured;
use crate::measures_table::{notes, wrapped};
use crate::{number, table, words};

type Results<'a> = &'a [Measured<Assessed>];

pub(crate) fn render(results: Results) -> String {
    let names = words::names(results);
    let inputs = results.iter().map(|measured| &measured.figures.input);
    [
        sentences(results, &names),
        "\n".to_owned(),
        figures(results, &names),
        tests(results, &names),
        "\n".to_owned(),
        explanation(results),
        refusals(results, &names),
        words::asked(results),
        words::glossary(results, inputs),
        words::guesses(results, &names),
    ]
    .concat()
}

/// What a person wants to know: of each model and group the first measure, and of a single one all.
fn sentences(results: Results, names: &[String]) -> String {
    let answered = |measured: &Measured<Assessed>| -> Vec<String> {
        let figures = measured.figures.figures.iter();
        figures.filter_map(|figure| Some(adjusted(figure, figure.outcome.as_ref().ok()?))).collect()
    };
    if let [one] = results {
        return answered(one).iter().map(|sentence| format!("{sentence}\n")).collect();
    }
    let line = |(measured, name): (&Measured<Assessed>, &String)| {
        answered(measured).first().map(|sentence| format!("{name}: {sentence}\n"))
    };
    results.iter().zip(names).filter_map(line).collect()
}

/// The sentence, with a word where the p-value would not be one of miscalibration after it is adjusted for all groups.
fn adjusted(figure: &AssessedFigure, assessment: &Assessment) -> String {
    let sentence = assessment.sentence();
    match figure.p_adjusted {
        Some(p) if assessment.significant == Some(true) && p > 1.0 - assessment.interval.level => {
            format!("{sentence}, but not after adjusting for all groups (p = {p:.2})")
        }
        _ => sentence,
    }
}

/// Of one model a line for each measure; of several a table for each measure, with a line for each model.
fn figures(results: Results, names: &[String]) -> String {
    let figures = || results.iter().flat_map(|measured| &measured.figures.figures);
    let adjusted = figures().any(|figure| figure.p_adjusted.is_some());
    let row = |name: String, measured: &Measured<Assessed>, figure: &AssessedFigure| {
        let mut row = vec![name, number::count(measured.figures.n)];
        match &figure.outcome {
            Ok(assessment) => row.extend(cells(assessment, adjusted.then_some(figure))),
            Err(_) => row.push("refused".to_owned()),
        }
        row
    };
    if let [one] = results {
        let rows = one.figures.figures.iter().map(|figure| row(figure.name.to_owned(), one, figure));
        return lines("measure", "value", adjusted, rows.collect());
    }
    let by = words::by(results);
    let n_measures = results.first().map_or(0, |measured| measured.figures.figures.len());
    let tables = (0..n_measures).map(|place| {
        let figures =
            || results.iter().zip(names).map(|(measured, name)| (measured, &measured.figures.figures[place], name));
        let rows = figures().map(|(measured, figure, name)| row(name.clone(), measured, figure)).collect();
        let measure = figures().next().map_or("value", |(_, figure, _)| figure.name);
        lines(by.as_deref().unwrap_or("predictions"), measure, adjusted, rows)
    });
    tables.collect::<Vec<String>>().join("\n")
}

fn lines(corner: &str, value: &str, adjusted: bool, rows: Vec<Vec<String>>) -> String {
    let mut header = vec![corner, "n", value, "interval", "floor", "p"];
    header.extend(adjusted.then_some("p (Holm)"));
    header.extend(["debiased", "num. ±", "notes"]);
    let n_columns = header.len();
    let mut table = table::plain();
    table.set_header(header);
    for mut row in rows {
        row.resize(n_columns, String::new());
        table.add_row(row);
    }
    table::finished(table, n_columns - 2)
}

/// From the value on; the adjusted p-value of `adjusted`, where there is a column for it.
fn cells(assessment: &Assessment, adjusted: Option<&AssessedFigure>) -> Vec<String> {
    let none = || "-".to_owned();
    let floor = assessment.floor.as_ref();
    let mut cells = vec![
        number::significant(assessment.estimate.value),
        interval(&assessment.interval),
        floor.map_or_else(none, |floor| number::plus_minus(floor.mean, floor.deviation)),
        floor.map_or_else(none, |floor| number::p_value(floor.p_value)),
    ];
    cells.extend(adjusted.map(|figure| figure.p_adjusted.map_or_else(none, number::p_value)));
    cells.push(number::significant(assessment.debiased));
    cells.push(number::bound(assessment.estimate.numerical_bound));
    cells.push(notes(&assessment.estimate));
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

fn tests(results: Results, names: &[String]) -> String {
    if results.iter().all(|measured| measured.figures.tests.is_empty()) {
        return String::new();
    }
    let named = results.len() > 1;
    let mut table = table::plain();
    let mut header = Vec::new();
    let by = words::by(results);
    header.extend(named.then_some(by.as_deref().unwrap_or("predictions")));
    header.extend(["test", "statistic", "p", "looks at"]);
    table.set_header(header);
    for (measured, name) in results.iter().zip(names) {
        for test in &measured.figures.tests {
            let mut row = Vec::new();
            row.extend(named.then(|| name.clone()));
            row.push(test.name.to_owned());
            match &test.outcome {
                Ok(result) => row.extend([number::significant(result.statistic), number::p_value(result.p_value)]),
                Err(_) => row.extend(["refused".to_owned(), String::new()]),
            }
            row.push(test.about.to_owned());
            table.add_row(row);
        }
    }
    let first_number = 1 + usize::from(named);
    "\n".to_owned() + &table::finished_between(table, first_number..first_number + 2)
}

/// What the adjusted p-values are, and whether so few draws can tell anything of so many groups.
fn holm_note(results: Results, n_resamples: Option<u64>, level: f64) -> String {
    let figures = |measured: &&Measured<Assessed>| measured.figures.figures.iter().any(|f| f.p_adjusted.is_some());
    let n_groups = results.iter().filter(figures).count() as f64;
    let needed = (n_groups / (1.0 - level)).ceil();
    match n_resamples {
        Some(n) if (n as f64) + 1.0 < needed => format!(
            "p (Holm): adjusted for the number of groups; {} draws cannot be significant then: --resamples {needed} can.\n",
            number::count(n)
        ),
        _ => "p (Holm): adjusted for the number of groups.\n".to_owned(),
    }
}

fn explanation(results: Results) -> String {
    let assessments = || {
        let figures = results.iter().flat_map(|measured| &measured.figures.figures);
        figures.filter_map(|figure| figure.outcome.as_ref().ok())
    };
    let Some(first) = assessments().next() else { return String::new() };
    let n_resamples = assessments().find_map(|assessment| assessment.floor.as_ref()).map(|floor| floor.n_resamples);
    let limits = assessments().any(|assessment| assessment.interval.is_upper_limit);
    let floor = n_resamples.map(|n| {
        format!(
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws. p: the share of draws that\n\
             are at least the value.\n",
            number::count(n)
        )
    });
    let adjusted = results.iter().flat_map(|measured| &measured.figures.figures).any(|f| f.p_adjusted.is_some());
    let withheld: std::collections::BTreeSet<&str> = assessments().filter_map(|a| a.withheld).collect();
    let clusters = first.n_clusters.map(|n| format!("Rows in {} clusters.\n", number::count(n)));
    [
        format!(
            "interval: {} %, for the value of rows without end at the same settings{}.\n",
            level(first.interval.level),
            if limits { "; an upper limit where p leaves no miscalibration to be seen" } else { "" }
        ),
        floor.unwrap_or_default(),
        if adjusted { holm_note(results, n_resamples, first.interval.level) } else { String::new() },
        withheld.iter().map(|reason| format!("No floor: {reason}\n")).collect(),
        clusters.unwrap_or_default(),
        format!("debiased: the value without what noise adds ({}). num. ±: numerical error alone.\n", debiased(first)),
    ]
    .concat()
}

/// Of 0.95, 95: without the digits that doubles would add.
pub(crate) fn level(level: f64) -> f64 {
    (1e6 * level).round() / 1e4
}

fn debiased(assessment: &Assessment) -> &'static str {
    match assessment.debias {
        calipers::Debias::Floor => "root of value² - floor²",
        calipers::Debias::Bootstrap => "by the bootstrap",
        calipers::Debias::Mean => "mean of root(value² - floor²) and the bootstrap's",
    }
}

/// Each reason once, with all that it is about.
fn refusals(results: Results, names: &[String]) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (measured, name) in results.iter().zip(names) {
        let figures = measured.figures.figures.iter();
        let figures = figures.filter_map(|figure| Some((figure.name, figure.outcome.as_ref().err()?)));
        let tests = measured.figures.tests.iter();
        let tests = tests.filter_map(|test| Some((test.name, test.outcome.as_ref().err()?)));
        for (what, refusal) in figures.chain(tests) {
            let what = if results.len() > 1 { format!("{what} of {name}") } else { what.to_owned() };
            let text = refusal.to_string();
            match reasons.iter_mut().find(|(known, _)| *known == text) {
                Some((_, all)) => all.push(what),
                None => reasons.push((text, vec![what])),
            }
        }
    }
    let line = |(text, all): &(String, Vec<String>)| {
        let all = if results.len() > 1 { words::few(all) } else { all.join(", ") };
        wrapped(&crate::printable(&format!("refused: {all}: {text}")))
    };
    reasons.iter().map(line).collect()
}
