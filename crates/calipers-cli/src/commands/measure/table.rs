//! The table of measures: a line for each measure and a column for each model, or the other way
//! round if there are more models.

use calipers::measure::Family;
use calipers::{Adjust, LsEce};

use crate::commands::analysis::answers::{Answer, Answers, Known};
use crate::commands::analysis::floor::SIGNIFICANT;
use crate::dataset::model::{Measured, Method};
use crate::render::grid::{Cell, Grid};
use crate::render::screen::Screen;
use crate::render::{cells, class_table, left_out, legend, number};

type Results<'a> = &'a [Measured<Answers>];

pub(crate) fn render(results: Results, screen: &Screen) -> String {
    let names = legend::names(results);
    let notes = [
        explanation(results),
        class_table::explanation(results),
        reasons(results, &names, screen),
        inputs_noted(results, &names, screen),
        legend::under(results, &names, results.iter().map(|measured| &measured.found.input)),
    ];
    let left_out = left_out::painted(&left_out::of_results(results, &names), screen);
    let left_out = if left_out.is_empty() { left_out } else { left_out + "\n" };
    let tables = [table(results, &names).draw(&screen.with_width()), "\n".to_owned()].concat();
    left_out + &tables + &class_table::all(results, &names, SIGNIFICANT, screen) + &screen.notes(&notes.concat())
}

/// A column of values, one for each line after the `first` ones, with floors and p-values under the
/// heading `p` if there are any.
fn add_values(table: &mut Grid, heading: &str, first: Vec<Cell>, values: &[&Answer], p: Option<&str>) {
    let cells = |answer: &&Answer| match &answer.outcome {
        Ok(known) => (
            number::significant(known.estimate.value).into(),
            (cells::floor(known.floor.as_ref()), cells::p_value(answer.p_adjusted.or(known.p_value()), SIGNIFICANT)),
        ),
        Err(_) => (cells::error(), Default::default()),
    };
    let (values, of_floors): (Vec<Cell>, Vec<(Cell, Cell)>) =
        first.into_iter().map(|cell| (cell, Default::default())).chain(values.iter().map(cells)).unzip();
    table.numbers(&legend::heading(heading), values);
    if let Some(p) = p {
        let (floors, p_values): (Vec<Cell>, Vec<Cell>) = of_floors.into_iter().unzip();
        table.beside("floor", floors);
        table.beside(p, p_values);
    }
}

/// The largest numerical error of the values in a line.
fn bound(values: &Vec<&Answer>) -> String {
    let bounds = values.iter().filter_map(|answer| answer.known()).map(|known| known.estimate.numerical_bound);
    bounds.reduce(f64::max).map_or(String::new(), number::bound)
}

fn table(results: Results, names: &[String]) -> Grid {
    let shown = shown(results);
    let heading = adjusted(results).map_or_else(|| "p".to_owned(), legend::p_adjusted);
    let p = known(results).any(Known::has_place_for_floor).then_some(&heading[..]);
    let by = legend::by(results);
    let n = |measured: &Measured<Answers>| number::count(measured.found.n);
    let of_measures: Vec<Vec<&Answer>> = shown
        .iter()
        .map(|(place, _)| results.iter().map(|measured| &measured.found.values[*place]).collect())
        .collect();
    let of_models: Vec<Vec<&Answer>> = results
        .iter()
        .map(|measured| shown.iter().map(|(place, _)| &measured.found.values[*place]).collect())
        .collect();
    let mut table = Grid::with_whole_names();
    if results.len() > shown.len() {
        table.names(by.as_deref().unwrap_or("predictions"), names);
        table.numbers("n", results.iter().map(n));
        if left_out::is_column(results) {
            table.numbers("left out", results.iter().map(left_out::cell));
        }
        for ((_, name), values) in shown.iter().zip(&of_measures) {
            add_values(&mut table, name, Vec::new(), values, p);
        }
        table.numbers("num. ±", of_models.iter().map(bound));
        let notes: Vec<String> = results.iter().map(smoothing).collect();
        if notes.iter().any(|notes| !notes.is_empty()) {
            table.notes("notes", notes);
        }
        return table;
    }
    let corner = by.map_or("measure".to_owned(), |by| format!("measure, by {by}"));
    let counts: &[&str] = if left_out::is_column(results) { &["n", "left out"] } else { &["n"] };
    table.names(&corner, counts.iter().copied().chain(shown.iter().map(|(_, name)| *name)));
    for ((measured, name), values) in results.iter().zip(names).zip(&of_models) {
        let first = [n(measured).into(), left_out::cell(measured)].into_iter().take(counts.len()).collect();
        add_values(&mut table, name, first, values, p);
    }
    table.numbers("num. ±", counts.iter().map(|_| String::new()).chain(of_measures.iter().map(bound)));
    if let [values] = &of_models[..] {
        let settings = values.iter().map(|answer| answer.known().map(settings));
        let notes: Vec<String> = counts.iter().map(|_| None).chain(settings).map(Option::unwrap_or_default).collect();
        if notes.iter().any(|notes| !notes.is_empty()) {
            table.notes("notes", notes);
        }
    }
    table
}

/// Sigma, the number of clipped rows and the direction, which belong to every value of LS-ECE.
fn smoothing(measured: &Measured<Answers>) -> String {
    let known = measured.found.values.iter().filter_map(Answer::known);
    let mut smoothed = known.filter(|known| known.estimate.spec.family == Family::LogitSmoothing);
    smoothed.next().map_or(String::new(), settings)
}

/// What was chosen from the data, and the direction of miscalibration.
fn settings(known: &Known) -> String {
    let settings = Some(legend::settings(&known.estimate)).filter(|settings| !settings.is_empty());
    settings.into_iter().chain(known.direction()).collect::<Vec<_>>().join(", ")
}

/// How the p-values of groups were adjusted, if there are any.
fn adjusted(results: Results<'_>) -> Option<Adjust> {
    let is_adjusted = |measured: &&Measured<Answers>| measured.found.values.iter().any(|one| one.p_adjusted.is_some());
    results.iter().find(is_adjusted).map(|measured| measured.found.adjust)
}

fn known(results: Results<'_>) -> impl Iterator<Item = &Known> {
    results.iter().flat_map(|measured| &measured.found.values).filter_map(Answer::known)
}

/// Places and names of the measures. Those that no sketch can answer are not listed one by one.
fn shown(results: Results) -> Vec<(usize, &'static str)> {
    let of_rows = results.iter().any(|measured| measured.method == Method::Rows);
    let answered = |place: usize| results.iter().any(|measured| measured.found.values[place].outcome.is_ok());
    let values = results.first().map_or(&[][..], |measured| &measured.found.values);
    let places = values.iter().enumerate().filter(|(place, _)| of_rows || answered(*place));
    places.map(|(place, answer)| (place, answer.name)).collect()
}

fn explanation(results: Results) -> String {
    let estimates = || known(results).map(|known| &known.estimate);
    let classes = results.iter().flat_map(|measured| &measured.found.classes);
    let of_classes = classes.flat_map(|class| &class.values).filter_map(Answer::known);
    let floor = known(results).chain(of_classes).find_map(|known| known.floor.as_ref());
    let n_resamples = floor.map(|floor| floor.n_resamples);
    let smoothed = estimates().any(|estimate| estimate.spec.name == LsEce::NAME);
    let link = estimates().find_map(|estimate| estimate.settings.text("link"));
    let sigmas: Vec<Option<f64>> = estimates()
        .filter(|estimate| estimate.spec.family == Family::LogitSmoothing)
        .map(|estimate| estimate.settings.number("sigma"))
        .collect();
    let differ = sigmas.windows(2).any(|pair| pair[0] != pair[1]);
    let clipped = estimates().find(|estimate| estimate.n_clipped > 0);
    [
        if smoothed { LS_ECE.to_owned() } else { String::new() },
        n_resamples.map_or(String::new(), legend::floor),
        if smoothed && n_resamples.is_some() { RESIDUAL.to_owned() } else { String::new() },
        if known(results).any(|known| known.direction().is_some()) { DIRECTION.to_owned() } else { String::new() },
        adjusted(results).map_or(String::new(), |adjust| legend::adjusted_for("groups", adjust)),
        legend::BOUND.to_owned(),
        legend::all_classes(estimates()),
        link.filter(|link| *link != "logistic").map_or(String::new(), |link| format!("The link is {link}.\n")),
        if differ { legend::SIGMA_DIFFERS.to_owned() } else { String::new() },
        clipped.map_or(String::new(), |estimate| legend::clipped(estimate.settings.number("clip"))),
    ]
    .concat()
}

const LS_ECE: &str =
    "ls_ece: the mean gap between predicted probability and observed frequency, smoothed; 0 is perfect.\n";

const DIRECTION: &str = "too high, too low, overconfident, underconfident: which way predictions are off, and by how much, if the data show \
     it; without the bias that chance adds.\n";

const RESIDUAL: &str = "p of ls_ece is that of its residual form, residual_ls_ece.\n";

fn reasons(results: Results, names: &[String], screen: &Screen) -> String {
    let all = results.iter().zip(names).flat_map(|(measured, name)| {
        measured.found.values.iter().filter_map(move |answer| {
            let (absent, reason) = match &answer.outcome {
                Err(error) => ("error", error.to_string()),
                Ok(known) => ("floor not available", known.unavailable.clone()?),
            };
            Some(((absent, reason), answer.name, name))
        })
    });
    legend::reasons(all, results.len() > 1, screen)
}

/// What was smoothed, tied or rounded, and what sets models apart. The smoothing is not
/// noted where the table itself has it: with a line for each model, and for one model.
fn inputs_noted(results: Results, names: &[String], screen: &Screen) -> String {
    let alike = legend::all_alike(results);
    let noted = results.len() > 1 && results.len() <= shown(results).len();
    let line = |(measured, name): (&Measured<Answers>, &String)| {
        let view = (!alike).then(|| legend::view(measured)).flatten();
        let smoothing = noted.then(|| smoothing(measured)).filter(|notes| !notes.is_empty());
        let notes: Vec<String> =
            smoothing.into_iter().chain(view).chain(legend::of_input(&measured.found.input)).collect();
        (!notes.is_empty()).then(|| screen.reason(&format!("{name}: {}", notes.join(", "))))
    };
    results.iter().zip(names).filter_map(line).collect()
}
