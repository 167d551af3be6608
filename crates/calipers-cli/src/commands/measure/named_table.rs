//! The table of many measures: a line for each and a column for each model, or the other way round if models are more.

use std::ops::Range;

use calipers::{Estimate, Setting};

use crate::commands::analysis::floor::Floored;
use crate::commands::analysis::measures::{Answers, Figure};
use crate::dataset::model::{Measured, Method};
use crate::render::grid::{self, Grid};
use crate::render::legend;
use crate::render::number;
use crate::render::screen::{Screen, Tone};

/// Characters in a line of a heading.
const HEADING: usize = 12;

/// Beside a column of figures.
const FLOORS: [&str; 2] = ["floor", "p"];

/// Between two columns.
const GAP: usize = 2;

/// Settings that the rows decide, or that tell a figure from others of its name.
const NOTED: [&str; 4] = ["sigma", "bandwidth", "width", "n_bins"];

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
    tables(results, &names, screen) + &screen.notes(&notes.concat())
}

/// What stands at one place of the table, and how far it can be off.
struct Cell {
    value: grid::Cell,
    /// Floor and p-value, empty for what has neither.
    floor: [grid::Cell; 2],
    bound: Option<f64>,
}

impl Cell {
    fn of(figure: &Figure) -> Self {
        match &figure.outcome {
            Ok(floored) => Cell {
                value: number::significant(floored.estimate.value).into(),
                floor: floored.cells(),
                bound: Some(floored.estimate.numerical_bound),
            },
            Err(_) => Cell { value: grid::Cell::toned("refused", Tone::Quiet), floor: Default::default(), bound: None },
        }
    }

    fn plain(text: String) -> Self {
        Cell { value: text.into(), floor: Default::default(), bound: None }
    }
}

/// The heading of a column, and whether floors and p-values are beside it.
struct Heading {
    text: String,
    floors: bool,
}

/// One line of the table.
struct Line {
    name: String,
    cells: Vec<Cell>,
    notes: String,
}

fn tables(results: Results, names: &[String], screen: &Screen) -> String {
    let shown = shown(results);
    let n = |measured: &Measured<Answers>| Cell::plain(number::count(measured.figures.n));
    let floors = floored(results).any(Floored::has_place_for_floor);
    let heading = |text: &str| Heading { text: in_lines(text), floors };
    let by = legend::by(results);
    if results.len() > shown.len() {
        let lines = results.iter().zip(names).map(|(measured, name)| {
            let figures = shown.iter().map(|&(place, _)| Cell::of(&measured.figures.figures[place]));
            Line {
                name: name.clone(),
                cells: std::iter::once(n(measured)).chain(figures).collect(),
                notes: String::new(),
            }
        });
        let of_rows = Heading { text: "n".to_owned(), floors: false };
        let columns: Vec<Heading> =
            std::iter::once(of_rows).chain(shown.iter().map(|&(_, name)| heading(name))).collect();
        return blocks(by.as_deref().unwrap_or("predictions"), &columns, &lines.collect::<Vec<_>>(), screen);
    }
    let of_rows = Line { name: "n".to_owned(), cells: results.iter().map(n).collect(), notes: String::new() };
    let lines = shown.iter().map(|&(place, name)| {
        let figures: Vec<&Figure> = results.iter().map(|measured| &measured.figures.figures[place]).collect();
        let notes = match figures[..] {
            [Figure { outcome: Ok(floored), .. }] => notes(&floored.estimate),
            _ => String::new(),
        };
        Line { name: name.to_owned(), cells: figures.into_iter().map(Cell::of).collect(), notes }
    });
    let lines: Vec<Line> = std::iter::once(of_rows).chain(lines).collect();
    let corner = by.map_or("measure".to_owned(), |by| format!("measure, by {by}"));
    let columns: Vec<Heading> = names.iter().map(|name| heading(name)).collect();
    blocks(&corner, &columns, &lines, screen)
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

/// One table if its columns fit, else as few as will do, with as many columns in each.
fn blocks(corner: &str, columns: &[Heading], lines: &[Line], screen: &Screen) -> String {
    let length = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let first = lines.iter().map(|line| length(&line.name)).chain([length(corner)]).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = || lines.iter().map(|line| &line.cells[column]);
        let text = cells().map(|cell| length(cell.value.text())).chain([length(&columns[column].text)]).max();
        let beside = |place: usize, heading: &str| {
            let width = cells().map(|cell| length(cell.floor[place].text())).chain([length(heading)]).max();
            if columns[column].floors { width.unwrap_or_default() + GAP } else { 0 }
        };
        text.unwrap_or_default() + GAP + beside(0, FLOORS[0]) + beside(1, FLOORS[1])
    };
    let beside = first + GAP + "num. ±".chars().count();
    let most = screen.table_width();
    let fits = |range: &Range<usize>| range.len() == 1 || beside + range.clone().map(width).sum::<usize>() <= most;
    let n = columns.len();
    let cut = |n_blocks: usize| {
        let size = n.div_ceil(n_blocks);
        (0..n).step_by(size).map(move |start| start..n.min(start + size))
    };
    let n_blocks = (1..n).find(|n_blocks| cut(*n_blocks).all(|range| fits(&range)));
    let blocks = cut(n_blocks.unwrap_or(n)).map(|range| block(corner, columns, lines, range).draw(screen) + "\n");
    blocks.collect()
}

/// A heading, cut where a name can be, so that it is hardly wider than what is under it.
fn in_lines(name: &str) -> String {
    let mut lines = vec![String::new()];
    for piece in name.split_inclusive(['_', '-', ' ', '.']) {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.chars().count() + piece.chars().count() <= HEADING => *line += piece,
            _ => lines.push(piece.to_owned()),
        }
    }
    lines.join("\n")
}

fn block(corner: &str, columns: &[Heading], lines: &[Line], range: Range<usize>) -> Grid {
    let has_notes = lines.iter().any(|line| !line.notes.is_empty());
    let columns = &columns[range.clone()];
    let mut header = vec![corner];
    for column in columns {
        header.push(&column.text);
        header.extend(FLOORS.iter().filter(|_| column.floors));
    }
    header.extend(std::iter::once("num. ±").chain(has_notes.then_some("notes")));
    let n_numbers = header.len() - 1 - usize::from(has_notes);
    let mut table = Grid::new(header, 1..n_numbers + 1);
    for line in lines {
        let cells = &line.cells[range.clone()];
        let bound = cells.iter().filter_map(|cell| cell.bound).reduce(f64::max).map_or(String::new(), number::bound);
        let mut row = vec![grid::Cell::from(line.name.as_str())];
        for (cell, column) in cells.iter().zip(columns) {
            row.push(cell.value.clone());
            row.extend(cell.floor.iter().filter(|_| column.floors).cloned());
        }
        row.extend(
            std::iter::once(bound.as_str()).chain(has_notes.then_some(line.notes.as_str())).map(grid::Cell::from),
        );
        table.add(row);
    }
    table
}

/// Settings that the rows decided, and what was clipped.
pub(crate) fn notes(estimate: &Estimate) -> String {
    let setting = |name: &&str| {
        Some(match (*name, estimate.settings.get(name)?) {
            ("n_bins", Setting::Count(1)) => "1 bin".to_owned(),
            ("n_bins", n_bins) => format!("{n_bins} bins"),
            (name, Setting::Number(value)) => format!("{name} {}", number::significant(*value)),
            (name, value) => format!("{name} {value}"),
        })
    };
    let clipped = legend::counted(estimate.n_clipped, "clipped");
    NOTED.iter().filter_map(setting).chain(clipped).collect::<Vec<_>>().join(", ")
}

fn explanation(results: Results) -> String {
    let estimates = || floored(results).map(|floored| &floored.estimate);
    let link = estimates().find_map(|estimate| estimate.settings.text("link"));
    let sigmas: Vec<Option<f64>> = estimates()
        .filter(|estimate| ["ls_ece", "residual_ls_ece"].contains(&estimate.measure))
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
        &legend::asked(results),
    ]
    .concat()
}

/// Each reason once, with the measures and the models that it is about.
fn refusals(results: Results, names: &[String], screen: &Screen) -> String {
    let refused = |figure: &Figure| figure.outcome.as_ref().err().map(ToString::to_string);
    let withheld = |figure: &Figure| figure.outcome.as_ref().ok().and_then(|floored| floored.withheld.clone());
    let all = [reasons(results, names, "refused", refused), reasons(results, names, "no floor", withheld)].concat();
    all.iter().map(|line| screen.reason(line)).collect()
}

fn reasons(results: Results, names: &[String], what: &str, reason: impl Fn(&Figure) -> Option<String>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>, Vec<&str>)> = Vec::new();
    let n_measures = results.first().map_or(0, |measured| measured.figures.figures.len());
    for place in 0..n_measures {
        let mut texts: Vec<(String, Vec<String>)> = Vec::new();
        for (measured, name) in results.iter().zip(names) {
            let Some(text) = reason(&measured.figures.figures[place]) else { continue };
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, models)) => models.push(name.clone()),
                None => texts.push((text, vec![name.clone()])),
            }
        }
        let measure = results[0].figures.figures[place].name;
        for (text, models) in texts {
            match reasons.iter_mut().find(|(known, of, _)| *known == text && *of == models) {
                Some((_, _, measures)) => measures.push(measure),
                None => reasons.push((text, models, vec![measure])),
            }
        }
    }
    let line = |(text, models, measures): &(String, Vec<String>, Vec<&str>)| {
        let of = if models.len() == results.len() { String::new() } else { format!(" of {}", legend::few(models)) };
        crate::printable(&format!("{what}: {}{of}: {text}", measures.join(", ")))
    };
    reasons.iter().map(line).collect()
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
