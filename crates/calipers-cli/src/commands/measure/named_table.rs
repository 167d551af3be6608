//! The table of many measures: a line for each and a column for each model, or the other way round
//! if models are more.

use calipers::measure::Family;

use crate::commands::analysis::floor::{Floored, add_floors};
use crate::commands::analysis::measures::{Answers, Figure};
use crate::dataset::model::{Measured, Method};
use crate::render::grid::{self, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{grouped, legend, number, wrap};

/// Characters in a line of a heading, so that it is hardly wider than what is under it.
const HEADING: usize = 12;

type Results<'a> = &'a [Measured<Answers>];

pub(crate) fn render(results: Results, screen: &Screen) -> String {
    let names = legend::names(results);
    let inputs = results.iter().map(|measured| &measured.figures.input);
    let notes = [
        explanation(results),
        refusals(results, &names, screen),
        inputs_noted(results, &names, screen),
        legend::glossary(results, inputs),
        legend::guesses(results, &names),
    ];
    table(results, &names).draw(&screen.with_width()) + "\n" + &screen.notes(&notes.concat())
}

/// A column of figures, one for each line, with floors and p-values if there are any.
fn add_figures(table: &mut Grid, heading: &str, n: Option<grid::Cell>, figures: &[&Figure], floors: bool) {
    let cells = |figure: &&Figure| match &figure.outcome {
        Ok(floored) => (number::significant(floored.estimate.value).into(), floored.cells()),
        Err(_) => (grid::Cell::toned("refused", Tone::Quiet), Default::default()),
    };
    let (values, of_floors): (Vec<grid::Cell>, Vec<[grid::Cell; 2]>) =
        n.map(|n| (n, Default::default())).into_iter().chain(figures.iter().map(cells)).unzip();
    table.numbers(&wrap::lines(heading, &['_', '-', ' ', '.'], HEADING, 0).join("\n"), values);
    if floors {
        add_floors(table, of_floors.into_iter());
    }
}

/// The largest numerical error of the figures in a line.
fn bound(figures: &Vec<&Figure>) -> String {
    let found = figures.iter().filter_map(|figure| figure.outcome.as_ref().ok());
    let bounds = found.map(|floored| floored.estimate.numerical_bound);
    bounds.reduce(f64::max).map_or(String::new(), number::bound)
}

fn table(results: Results, names: &[String]) -> Grid {
    let shown = shown(results);
    let floors = floored(results).any(Floored::has_place_for_floor);
    let by = legend::by(results);
    let n = |measured: &Measured<Answers>| number::count(measured.figures.n);
    let of_measures = shown.iter().map(|(place, _)| results.iter().map(|measured| figure(measured, *place)).collect());
    let of_measures: Vec<Vec<&Figure>> = of_measures.collect();
    let of_models = results.iter().map(|measured| shown.iter().map(|(place, _)| figure(measured, *place)).collect());
    let of_models: Vec<Vec<&Figure>> = of_models.collect();
    let mut table = Grid::with_whole_names();
    if results.len() > shown.len() {
        table.names(by.as_deref().unwrap_or("predictions"), names);
        table.numbers("n", results.iter().map(n));
        for ((_, name), figures) in shown.iter().zip(&of_measures) {
            add_figures(&mut table, name, None, figures, floors);
        }
        table.numbers("num. ±", of_models.iter().map(bound));
        return table;
    }
    let corner = by.map_or("measure".to_owned(), |by| format!("measure, by {by}"));
    table.names(&corner, std::iter::once("n").chain(shown.iter().map(|(_, name)| *name)));
    for ((measured, name), figures) in results.iter().zip(names).zip(&of_models) {
        add_figures(&mut table, name, Some(n(measured).into()), figures, floors);
    }
    table.numbers("num. ±", std::iter::once(String::new()).chain(of_measures.iter().map(bound)));
    if let [figures] = &of_models[..] {
        let settings = figures.iter().map(|figure| {
            figure.outcome.as_ref().map_or_else(|_| String::new(), |floored| legend::settings(&floored.estimate))
        });
        let notes: Vec<String> = std::iter::once(String::new()).chain(settings).collect();
        if notes.iter().any(|notes| !notes.is_empty()) {
            table.notes("notes", notes);
        }
    }
    table
}

fn figure(measured: &Measured<Answers>, place: usize) -> &Figure {
    &measured.figures.figures[place]
}

fn floored(results: Results<'_>) -> impl Iterator<Item = &Floored> {
    results.iter().flat_map(|measured| &measured.figures.figures).filter_map(|figure| figure.outcome.as_ref().ok())
}

/// Places and names of the measures. Those that no sketch can answer are not listed one by one.
fn shown(results: Results) -> Vec<(usize, &'static str)> {
    let of_rows = results.iter().any(|measured| measured.method == Method::Rows);
    let answered = |place: usize| results.iter().any(|measured| measured.figures.figures[place].outcome.is_ok());
    let figures = results.first().map_or(&[][..], |measured| &measured.figures.figures);
    let places = figures.iter().enumerate().filter(|(place, _)| of_rows || answered(*place));
    places.map(|(place, figure)| (place, figure.name)).collect()
}

fn explanation(results: Results) -> String {
    let estimates = || floored(results).map(|floored| &floored.estimate);
    let link = estimates().find_map(|estimate| estimate.settings.text("link"));
    let sigmas: Vec<Option<f64>> = estimates()
        .filter(|estimate| estimate.spec.family == Family::LogitSmoothing)
        .map(|estimate| estimate.settings.number("sigma"))
        .collect();
    let differ = sigmas.windows(2).any(|pair| pair[0] != pair[1]);
    let clipped = results.len() == 1 && estimates().any(|estimate| estimate.n_clipped > 0);
    [
        "num. ± bounds the numerical error of the values in its line, not chance. Names: calipers measures\n",
        &link.filter(|link| *link != "logistic").map_or(String::new(), |link| format!("Link {link}.\n")),
        if differ { "Sigma of LS-ECE differs: to compare its values, give all one --sigma.\n" } else { "" },
        if clipped { "clipped: moved off 0 and 1, which have no finite logit\n" } else { "" },
        if floored(results).any(Floored::has_place_for_floor) { legend::FLOOR } else { "" },
        &legend::rows_read(results),
    ]
    .concat()
}

/// Each reason once, with the measures and the models that it is about.
fn refusals(results: Results, names: &[String], screen: &Screen) -> String {
    let refused = |figure: &Figure| figure.outcome.as_ref().err().map(ToString::to_string);
    let unavailable = |figure: &Figure| figure.outcome.as_ref().ok().and_then(|floored| floored.unavailable.clone());
    let all = [reasons(results, names, "refused", refused), reasons(results, names, "no floor", unavailable)].concat();
    all.iter().map(|line| screen.reason(line)).collect()
}

fn reasons(results: Results, names: &[String], what: &str, reason: impl Fn(&Figure) -> Option<String>) -> Vec<String> {
    let n_measures = results.first().map_or(0, |measured| measured.figures.figures.len());
    let of_measures = (0..n_measures).flat_map(|place| {
        let figures = results.iter().map(|measured| &measured.figures.figures[place]);
        let texts = figures.zip(names).filter_map(|(figure, name)| Some((reason(figure)?, name.clone())));
        let measure = results[0].figures.figures[place].name;
        grouped(texts).into_iter().map(move |of_models| (of_models, measure))
    });
    let line = |((text, models), measures): &((String, Vec<String>), Vec<&str>)| {
        let of = if models.len() == results.len() { String::new() } else { format!(" of {}", legend::few(models)) };
        crate::printable(&format!("{what}: {}{of}: {text}", measures.join(", ")))
    };
    grouped(of_measures).iter().map(line).collect()
}

/// What was tied, rounded or left out, and what sets models apart.
fn inputs_noted(results: Results, names: &[String], screen: &Screen) -> String {
    let alike = legend::all_alike(results);
    let line = |(measured, name): (&Measured<Answers>, &String)| {
        let view = (!alike).then(|| legend::view(measured)).flatten();
        let notes: Vec<String> =
            std::iter::once(view).chain(legend::of_input(&measured.figures.input)).flatten().collect();
        (!notes.is_empty()).then(|| screen.reason(&format!("{name}: {}", notes.join(", "))))
    };
    results.iter().zip(names).filter_map(line).collect()
}
