//! Sentences and tables of assessments for people.

use std::collections::BTreeSet;

use calipers::inference::calibration_tests::TestResult;
use calipers::inference::{Confidence, Part, Parts};
use calipers::{Assessment, Estimate, Interval};

use crate::commands::analysis::floor::{floor_cell, p_cell};
use crate::commands::assess::assessed::{Assessed, AssessedFigure};
use crate::commands::assess::tests_of_calibration::Tested;
use crate::dataset::model::Measured;
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{grouped, legend, number};

type Results<'a> = &'a [Measured<Assessed>];

pub(crate) fn render(results: Results, screen: &Screen) -> String {
    let names = legend::names(results);
    let inputs = results.iter().map(|measured| &measured.figures.input);
    let notes = [
        explanation(results),
        refusals(results, &names, screen),
        legend::rows_read(results),
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

/// A line of a table: what is known of a measure of a model.
struct Line<'a> {
    name: String,
    n: u64,
    /// `None` where there is too little to tell what chance does.
    assessment: Option<&'a Assessment>,
    /// `None` where the measure is refused.
    estimate: Option<&'a Estimate>,
    p_adjusted: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(name: &str, measured: &'a Measured<Assessed>, figure: &'a AssessedFigure) -> Self {
        let (assessment, estimate) = (figure.outcome.as_ref().ok(), figure.estimate());
        Line { name: name.to_owned(), n: measured.figures.n, assessment, estimate, p_adjusted: figure.p_adjusted }
    }

    /// Of the measure that decides for this one, if there is one.
    fn deciding(name: &str, measured: &'a Measured<Assessed>, figure: &'a AssessedFigure) -> Option<Self> {
        let deciding = figure.outcome.as_ref().ok()?.residual.as_deref()?;
        let (assessment, estimate) = (Some(deciding), Some(&deciding.estimate));
        Some(Line { assessment, estimate, ..Line::new(name, measured, figure) })
    }

    fn value(&self) -> Cell {
        let refused = || Cell::toned("refused", Tone::Quiet);
        self.estimate.map_or_else(refused, |estimate| number::significant(estimate.value).into())
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

/// Of one model a line for each measure; of several a table for each measure, with a line for each
/// model.
fn figures(results: Results, names: &[String]) -> Vec<Grid> {
    let figures = || results.iter().flat_map(|measured| &measured.figures.figures);
    let adjusted = figures().any(|figure| figure.p_adjusted.is_some());
    // What decides, under what it decides, unless it was selected by name and has a line of its
    // own.
    let deciding_name = |figure: &AssessedFigure| {
        let name = figure.outcome.as_ref().ok()?.residual.as_ref()?.estimate.measure();
        figures().all(|other| other.name != name).then_some(name)
    };
    if let [one] = results {
        let lines = one.figures.figures.iter().flat_map(|figure| {
            let deciding = deciding_name(figure).and_then(|name| Line::deciding(name, one, figure));
            std::iter::once(Line::new(figure.name, one, figure)).chain(deciding)
        });
        return vec![grid("measure", "value", adjusted, &lines.collect::<Vec<_>>())];
    }
    let by = legend::by(results);
    let corner = by.as_deref().unwrap_or("predictions");
    let n_measures = results.first().map_or(0, |measured| measured.figures.figures.len());
    let tables = (0..n_measures).flat_map(|place| {
        let figures =
            || results.iter().zip(names).map(|(measured, name)| (measured, &measured.figures.figures[place], name));
        let lines: Vec<Line<'_>> =
            figures().map(|(measured, figure, name)| Line::new(name, measured, figure)).collect();
        let measure = figures().next().map_or("value", |(_, figure, _)| figure.name);
        let deciding = figures().find_map(|(_, figure, _)| deciding_name(figure)).map(|measure| {
            let lines = figures().filter_map(|(measured, figure, name)| Line::deciding(name, measured, figure));
            grid(corner, measure, adjusted, &lines.collect::<Vec<_>>())
        });
        std::iter::once(grid(corner, measure, adjusted, &lines)).chain(deciding)
    });
    tables.collect()
}

fn grid(corner: &str, value: &str, adjusted: bool, lines: &[Line<'_>]) -> Grid {
    let lines = || lines.iter();
    let of_chance = |cell: fn(&Assessment) -> Cell| lines().map(move |line| line.of_chance(cell));
    let seen = |assessment: &Assessment| 1.0 - assessment.interval.level;
    let mut table = Grid::default();
    table.names(corner, lines().map(|line| &line.name));
    table.numbers("n", lines().map(|line| number::count(line.n)));
    table.numbers(value, lines().map(Line::value));
    table.beside("interval", of_chance(|assessment| interval(&assessment.interval).into()));
    table.beside("floor", of_chance(|assessment| floor_cell(assessment.floor.as_ref())));
    let p_value =
        |assessment: &Assessment| p_cell(assessment.floor.as_ref().map(|floor| floor.p_value), seen(assessment));
    table.beside("p", lines().map(|line| line.of_chance(p_value)));
    if adjusted {
        let p_adjusted = |line: &Line<'_>| line.of_chance(|assessment| p_cell(line.p_adjusted, seen(assessment)));
        table.beside("p (Holm)", lines().map(p_adjusted));
    }
    table.numbers("debiased", of_chance(|assessment| number::significant(assessment.debiased).into()));
    let bound = |estimate: &Estimate| number::bound(estimate.numerical_bound);
    table.numbers("num. ±", lines().map(|line| line.of_estimate(bound)));
    table.notes("notes", lines().map(|line| line.of_estimate(legend::settings)));
    table
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
    let named = results.iter().zip(names);
    let all = || named.clone().flat_map(|(measured, name)| measured.figures.tests.iter().map(move |test| (name, test)));
    // Where all are refused, the reason under the tables is enough.
    all().find(|(_, test)| test.outcome.is_ok())?;
    let first = results.iter().find_map(|measured| assessments(measured).next());
    let seen = first.map_or(0.0, |first| 1.0 - first.interval.level);
    let mut table = Grid::default();
    if results.len() > 1 {
        table.names(legend::by(results).as_deref().unwrap_or("predictions"), all().map(|(name, _)| name));
    }
    table.names("test", all().map(|(_, test)| test.name));
    let of_result = |test: &Tested, cell: &dyn Fn(&TestResult) -> Cell, refused: Cell| match &test.outcome {
        Ok(result) => cell(result),
        Err(_) => refused,
    };
    let statistic = |result: &TestResult| number::significant(result.statistic).into();
    let refused = || Cell::toned("refused", Tone::Quiet);
    table.numbers("statistic", all().map(|(_, test)| of_result(test, &statistic, refused())));
    let p_value = |result: &TestResult| p_cell(Some(result.p_value), seen);
    table.numbers("p", all().map(|(_, test)| of_result(test, &p_value, Cell::default())));
    if all().any(|(_, test)| test.p_adjusted.is_some()) {
        table.numbers("p (Holm)", all().map(|(_, test)| p_cell(test.p_adjusted, seen)));
    }
    table.notes("looks at", all().map(|(_, test)| Cell::toned(test.about, Tone::Quiet)));
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
    [
        format!(
            "interval: {}, for the value of the population at the same settings{}.\n",
            number::percent(first.interval.level),
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
        legend::floors_and_clusters(assessments()),
        format!(
            "debiased: the value without the bias that noise adds ({}). num. ±: numerical error alone.\n",
            rules.into_iter().collect::<Vec<_>>().join(", or ")
        ),
    ]
    .concat()
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
    // What is not there and why, and of what.
    let mut all: Vec<((&str, String), String)> = Vec::new();
    for (measured, name) in results.iter().zip(names) {
        let figures = measured.figures.figures.iter().filter_map(|figure| {
            let absent = if figure.alone.is_some() { "no interval" } else { "refused" };
            Some((absent, figure.name, figure.outcome.as_ref().err()?))
        });
        let tests = measured.figures.tests.iter();
        let tests = tests.filter_map(|test| Some(("refused", test.name, test.outcome.as_ref().err()?)));
        for (absent, what, refusal) in figures.chain(tests) {
            let what = if results.len() > 1 { format!("{what} of {name}") } else { what.to_owned() };
            all.push(((absent, refusal.to_string()), what));
        }
    }
    let line = |((absent, text), all): &((&str, String), Vec<String>)| {
        let all = if results.len() > 1 { legend::few(all) } else { all.join(", ") };
        screen.reason(&crate::printable(&format!("{absent}: {all}: {text}")))
    };
    grouped(all).iter().map(line).collect()
}
