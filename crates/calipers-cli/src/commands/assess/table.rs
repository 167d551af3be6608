//! Sentences and tables of assessments for people.

use std::collections::BTreeSet;

use calipers::inference::calibration_tests::TestResult;
use calipers::inference::{Confidence, Part, Parts};
use calipers::{Adjust, Assessment, Debias, Estimate, Interval};

use crate::commands::analysis::answers::{Answer, Answers, MANY_GROUPS, WorstGroup};
use crate::dataset::model::Measured;
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{cells, class_table, left_out, legend, number};

type Results<'a> = &'a [Measured<Answers>];

pub(crate) fn render(results: Results, screen: &Screen) -> String {
    let names = legend::names(results);
    let level = assessments(results).next().map(|first| first.interval.level);
    let notes = [
        explanation(results),
        class_table::explanation(results),
        reasons(results, &names, screen),
        legend::under(results, &names, results.iter().map(|measured| &measured.found.input)),
    ];
    let tables = values(results, &names).into_iter().chain(tests(results, &names));
    let tables: String = tables.map(|table| table.draw(screen) + "\n").collect();
    let left_out = left_out::painted(&left_out::of_results(results, &names), screen);
    let classes = class_table::all(results, &names, level.map_or(0.0, |level| 1.0 - level), screen);
    screen.prose(&sentences(results, &names)) + &left_out + "\n" + &tables + &classes + &screen.notes(&notes.concat())
}

/// All measures of a single model; the first measure of each of several models and groups.
fn sentences(results: Results, names: &[String]) -> String {
    let all = |measured: &Measured<Answers>| measured.found.values.iter().filter_map(sentence).collect::<Vec<_>>();
    if let [one] = results {
        return all(one).iter().map(|sentence| format!("{sentence}\n")).collect();
    }
    let line = |(measured, name): (&Measured<Answers>, &String)| {
        all(measured).first().map_or(String::new(), |sentence| format!("{name}: {sentence}\n"))
    };
    let mut names = names.iter();
    // The result of all rows comes before those of its groups.
    let of_model = |results: &[Measured<Answers>]| {
        let named: Vec<(&Measured<Answers>, &String)> = results.iter().zip(names.by_ref()).collect();
        let worst = worst(&results[0]);
        worst
            + &match off_of_many(&results[1..]) {
                None => named.into_iter().map(line).collect::<String>(),
                Some((summary, is_off)) => {
                    let worth = named.into_iter().zip(std::iter::once(&true).chain(&is_off));
                    let lines: Vec<String> =
                        worth.filter(|(_, is_off)| **is_off).map(|(named, _)| line(named)).collect();
                    // After that of all rows.
                    lines[..1].concat() + &summary + &lines[1..].concat()
                }
            }
    };
    results.chunk_by(|_, next| next.is_group()).map(of_model).collect()
}

/// The worst group by the first measure, in a sentence.
fn worst(all: &Measured<Answers>) -> String {
    let Some(Some(WorstGroup { key, found })) = all.found.worst.first() else { return String::new() };
    let by = all.group.as_ref().map_or_else(String::new, |group| group.by.to_string());
    let Some(assessment) = all.found.values.first().and_then(Answer::assessment) else { return String::new() };
    let title = assessment.deciding().estimate.title();
    found.sentence(&crate::printable(legend::key(key)), &by, title, assessment.interval.level) + "\n"
}

/// Which of many groups are off, in a sentence and one by one; `None` for few groups, and for a
/// measure that does not tell.
fn off_of_many(groups: Results<'_>) -> Option<(String, Vec<bool>)> {
    let first = |measured: &'_ Measured<Answers>| measured.found.values.first().and_then(Answer::assessment).cloned();
    let [a_group, ..] = groups else { return None };
    let spec = first(a_group)?.estimate.spec;
    if groups.len() <= MANY_GROUPS || spec.is_score() || !spec.larger_is_worse() {
        return None;
    }
    let is_off = |measured: &Measured<Answers>| {
        let p_adjusted = measured.found.values.first().and_then(|answer| answer.p_adjusted);
        let level = first(measured).map_or(1.0, |assessment| assessment.interval.level);
        p_adjusted.is_some_and(|p| p <= 1.0 - level + 1e-12)
    };
    let name = |measured: &Measured<Answers>| {
        let key = measured.group.as_ref().and_then(|group| group.key.as_deref()).unwrap_or_default();
        let direction = first(measured).and_then(|assessment| assessment.parts?.direction_in_words());
        crate::printable(key) + &direction.map_or(String::new(), |direction| format!(" ({direction})"))
    };
    let all: Vec<bool> = groups.iter().map(is_off).collect();
    let off: Vec<String> = groups.iter().zip(&all).filter(|(_, off)| **off).map(|(group, _)| name(group)).collect();
    let by = legend::by(groups).unwrap_or_default();
    let (n, n_groups) = (off.len(), number::count(groups.len() as u64));
    let summary = match n {
        0 => format!(
            "None of the {n_groups} groups by {by} shows evidence of miscalibration after adjusting for their number.\n"
        ),
        _ => {
            let are = if n == 1 { "is" } else { "are" };
            format!(
                "{} of {n_groups} groups by {by} {are} miscalibrated after adjusting for their number: {}.\n",
                number::count(n as u64),
                off.join(", ")
            )
        }
    };
    Some((summary, all))
}

/// What is known of a value; for a group with too few clusters, the value and why there is no more.
fn sentence(answer: &Answer) -> Option<String> {
    let Some(assessment) = answer.assessment() else {
        let estimate = &answer.known()?.estimate;
        let (title, value) = (estimate.title(), number::significant(estimate.value));
        return Some(format!("{title} is {value}. There are too few clusters for an interval or a p-value."));
    };
    // Rows that were left out are reported once for all measures.
    let sentence = assessment.conclusion(answer.p_adjusted.map(|p| (p, "groups")));
    let direction = assessment.parts.as_ref().map(|parts| format!("\n{}", direction(parts)));
    Some(sentence + &direction.unwrap_or_default())
}

/// The signed parts in a line, without what chance adds to them.
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
        // For the confidence in a predicted class, too high is overconfident.
        Some(found) if (&found.over, &found.under) == (too_high, too_low) => {
            format!("Direction: {}.", of_confidence(found))
        }
        Some(found) => format!("Direction: {of_sign}; {}.", of_confidence(found)),
        None => format!("Direction: {of_sign}."),
    }
}

/// A line of a table: what is known of a measure of a model.
pub(crate) struct Line<'a> {
    pub(crate) name: String,
    pub(crate) n: u64,
    /// Rows that were left out, if there is a column for them.
    pub(crate) left_out: Option<Cell>,
    /// `None` if the measure has an error.
    pub(crate) estimate: Option<&'a Estimate>,
    /// `None` if there are too few clusters.
    pub(crate) assessment: Option<&'a Assessment>,
    pub(crate) p_adjusted: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(name: &str, measured: &Measured<Answers>, answer: &'a Answer) -> Self {
        Line {
            name: name.to_owned(),
            n: measured.found.n,
            left_out: None,
            estimate: answer.known().map(|known| &known.estimate),
            assessment: answer.assessment(),
            p_adjusted: answer.p_adjusted,
        }
    }

    /// Of the measure that decides for this one, if there is one.
    fn deciding(name: &str, measured: &Measured<Answers>, answer: &'a Answer) -> Option<Self> {
        let deciding = answer.assessment()?.residual.as_deref()?;
        let (assessment, estimate) = (Some(deciding), Some(&deciding.estimate));
        Some(Line { assessment, estimate, ..Line::new(name, measured, answer) })
    }

    fn of_estimate(&self, text: impl Fn(&Estimate) -> String) -> Cell {
        self.estimate.map_or_else(Cell::default, |estimate| text(estimate).into())
    }

    /// A dash where only the value is known.
    fn of_chance(&self, cell: impl Fn(&Assessment) -> Cell) -> Cell {
        let unknown = || self.estimate.map_or_else(Cell::default, |_| Cell::dash());
        self.assessment.map_or_else(unknown, cell)
    }
}

/// A line for each measure of one model; for several models a table for each measure, with a line
/// for each model.
fn values(results: Results, names: &[String]) -> Vec<Grid> {
    let all = || results.iter().flat_map(|measured| &measured.found.values);
    // What decides is under what it decides, unless it was selected and has a line of its own.
    let deciding_name = |answer: &Answer| {
        let name = answer.assessment()?.residual.as_ref()?.estimate.measure();
        all().all(|other| other.name != name).then_some(name)
    };
    if let [one] = results {
        let lines = one.found.values.iter().flat_map(|answer| {
            let deciding = deciding_name(answer).and_then(|name| Line::deciding(name, one, answer));
            std::iter::once(Line::new(answer.name, one, answer)).chain(deciding)
        });
        return vec![grid("measure", "value", &lines.collect::<Vec<_>>(), &[], one.found.adjust)];
    }
    let (by, adjust) = (legend::by(results), adjust(results));
    let corner = by.as_deref().unwrap_or("predictions");
    let n_measures = results.first().map_or(0, |measured| measured.found.values.len());
    let tables = (0..n_measures).flat_map(|place| {
        let answers =
            || results.iter().zip(names).map(|(measured, name)| (name, measured, &measured.found.values[place]));
        let left_out = |measured| left_out::is_column(results).then(|| left_out::cell(measured));
        let lines = answers().map(|(name, measured, answer)| {
            let line = Line::new(name, measured, answer);
            Line { left_out: left_out(measured), ..line }
        });
        let lines: Vec<Line<'_>> = lines.collect();
        let measure = answers().next().map_or("value", |(_, _, answer)| answer.name);
        // Of many groups the table of what decides would say the same again.
        let is_short = results.iter().filter(|measured| measured.is_group()).count() <= MANY_GROUPS;
        let deciding = answers().find_map(|(_, _, answer)| deciding_name(answer)).filter(|_| is_short).map(|measure| {
            let lines = answers().filter_map(|(name, measured, answer)| Line::deciding(name, measured, answer));
            grid(corner, measure, &lines.collect::<Vec<_>>(), &[], adjust)
        });
        std::iter::once(grid(corner, measure, &lines, &[], adjust)).chain(deciding)
    });
    tables.collect()
}

/// The table of these lines; `compared` are the values by which models are compared.
pub(crate) fn grid(corner: &str, value: &str, lines: &[Line<'_>], compared: &[Estimate], adjust: Adjust) -> Grid {
    let lines = || lines.iter();
    let of_chance = |cell: fn(&Assessment) -> Cell| lines().map(move |line| line.of_chance(cell));
    let significant = |assessment: &Assessment| 1.0 - assessment.interval.level;
    let mut table = Grid::default();
    table.names(corner, lines().map(|line| &line.name));
    table.numbers("n", lines().map(|line| number::count(line.n)));
    if lines().any(|line| line.left_out.is_some()) {
        table.numbers("left out", lines().map(|line| line.left_out.clone().unwrap_or_default()));
    }
    let significant_digits = |estimate: &Estimate| number::significant(estimate.value).into();
    table.numbers(value, lines().map(|line| line.estimate.map_or_else(cells::error, significant_digits)));
    table.beside("interval", of_chance(|assessment| cells::interval(&assessment.interval).into()));
    table.beside("floor", of_chance(|assessment| cells::floor(assessment.floor.as_ref())));
    let p_value = |assessment: &Assessment| {
        cells::p_value(assessment.floor.as_ref().map(|floor| floor.p_value), significant(assessment))
    };
    table.beside("p", lines().map(|line| line.of_chance(p_value)));
    if lines().any(|line| line.p_adjusted.is_some()) {
        let p_adjusted =
            |line: &Line<'_>| line.of_chance(|assessment| cells::p_value(line.p_adjusted, significant(assessment)));
        table.beside(&legend::p_adjusted(adjust), lines().map(p_adjusted));
    }
    table.numbers("debiased", of_chance(|assessment| number::significant(assessment.debiased).into()));
    if !compared.is_empty() {
        table.numbers("compared", compared.iter().map(|compared| number::significant(compared.value)));
    }
    let bound = |estimate: &Estimate| number::bound(estimate.numerical_bound);
    table.numbers("num. ±", lines().map(|line| line.of_estimate(bound)));
    let direction = |line: &Line<'_>| line.assessment?.parts.as_ref()?.direction_in_words();
    if lines().any(|line| direction(line).is_some()) {
        table.notes("direction", lines().map(|line| direction(line).unwrap_or_default()));
    }
    table.notes("notes", lines().map(|line| line.of_estimate(legend::settings)));
    table
}

fn tests(results: Results, names: &[String]) -> Option<Grid> {
    let named = results.iter().zip(names);
    let all = || named.clone().flat_map(|(measured, name)| measured.found.tests.iter().map(move |test| (name, test)));
    // If all have errors, the reason under the tables is enough.
    all().find(|(_, test)| test.outcome.is_ok())?;
    let first = assessments(results).next();
    let significant = first.map_or(0.0, |first| 1.0 - first.interval.level);
    let (mut table, adjust) = (Grid::default(), adjust(results));
    if results.len() > 1 {
        table.names(legend::by(results).as_deref().unwrap_or("predictions"), all().map(|(name, _)| name));
    }
    table.names("test", all().map(|(_, test)| test.name));
    let results = || all().map(|(_, test)| test.outcome.as_ref().ok());
    let statistic = |result: &TestResult| number::significant(result.statistic).into();
    table.numbers("statistic", results().map(|result| result.map_or_else(cells::error, statistic)));
    let p_value = |result: &TestResult| cells::p_value(Some(result.p_value), significant);
    table.numbers("p", results().map(|result| result.map_or_else(Cell::default, p_value)));
    if all().any(|(_, test)| test.p_adjusted.is_some()) {
        let heading = legend::p_adjusted(adjust);
        table.numbers(&heading, all().map(|(_, test)| cells::p_value(test.p_adjusted, significant)));
    }
    table.notes("tests", all().map(|(_, test)| Cell::toned(test.about, Tone::Quiet)));
    Some(table)
}

fn adjust(results: Results<'_>) -> Adjust {
    results.first().map_or(Adjust::default(), |measured| measured.found.adjust)
}

fn assessments(results: Results<'_>) -> impl Iterator<Item = &Assessment> {
    results.iter().flat_map(|measured| &measured.found.values).filter_map(Answer::assessment)
}

fn explanation(results: Results) -> String {
    let adjusted = results.iter().flat_map(|measured| &measured.found.values).any(|answer| answer.p_adjusted.is_some());
    let adjusted = if adjusted { legend::adjusted_for("groups", adjust(results)) } else { String::new() };
    explain(|| assessments(results)) + &adjusted
}

/// What the columns of [`grid`] mean.
pub(crate) fn explain<'a, I: Iterator<Item = &'a Assessment>>(assessments: impl Fn() -> I) -> String {
    let Some(first) = assessments().next() else { return String::new() };
    let n_resamples = assessments().find_map(|assessment| assessment.floor.as_ref()).map(|floor| floor.n_resamples);
    let limits = assessments().any(|assessment| assessment.interval.is_upper_limit);
    let decided = assessments().any(|assessment| assessment.residual.is_some());
    let rules: BTreeSet<&str> = assessments().map(|assessment| rule(assessment.debias)).collect();
    [
        format!(
            "interval: {} interval for the value of the population at the same settings{}.\n",
            number::percent(first.interval.level),
            if limits { "; an upper limit if there is no evidence of miscalibration" } else { "" }
        ),
        n_resamples.map_or(String::new(), legend::floor),
        if decided { DECIDED.to_owned() } else { String::new() },
        legend::floors_and_clusters(assessments()),
        format!(
            "debiased: the value without the bias that chance adds ({}).\n",
            rules.into_iter().collect::<Vec<_>>().join(", or ")
        ),
        legend::BOUND.to_owned(),
        if assessments().any(shows_direction) { legend::DIRECTION.to_owned() } else { String::new() },
        if assessments().any(|assessment| assessment.bias_note().is_some()) {
            legend::BIASED.to_owned() + "\n"
        } else {
            String::new()
        },
    ]
    .concat()
}

fn shows_direction(assessment: &Assessment) -> bool {
    assessment.parts.as_ref().is_some_and(|parts| parts.direction_in_words().is_some())
}

const DECIDED: &str = "p and debiased of ls_ece are those of its residual form, residual_ls_ece, which decides.\n";

fn rule(debias: Debias) -> &'static str {
    match debias {
        Debias::Local => "removed for each block of probabilities",
        Debias::Floor => "root of value² - floor²",
        Debias::Bootstrap => "removed by the bootstrap",
        Debias::Mean => "mean of root(value² - floor²) and the bootstrap's",
    }
}

fn reasons(results: Results, names: &[String], screen: &Screen) -> String {
    let all = results.iter().zip(names).flat_map(|(measured, name)| {
        let values = measured.found.values.iter().filter_map(|answer| match &answer.outcome {
            Err(error) => Some((("error", error.to_string()), answer.name)),
            Ok(known) if known.assessment.is_none() => {
                Some((("interval not available", known.unavailable.clone()?), answer.name))
            }
            Ok(_) => None,
        });
        let tests = measured.found.tests.iter();
        let tests = tests.filter_map(|test| Some((("error", test.outcome.as_ref().err()?.to_string()), test.name)));
        values.chain(tests).map(move |(reason, what)| (reason, what, name))
    });
    legend::reasons(all, results.len() > 1, screen)
}
