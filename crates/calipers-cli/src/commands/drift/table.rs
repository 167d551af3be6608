//! Sentences and tables of changes for people.

use calipers::{Adjust, Change, Interval};

use super::samples::Split;
use super::{Compared, OfMeasure};
use crate::commands::assess::table::{self, Line};
use crate::dataset::model::Measured;
use crate::render::grid::{Cell, Grid};
use crate::render::screen::Screen;
use crate::render::{cells, left_out, legend, number};

const SIDES: [&str; 2] = ["before", "after"];

pub(super) fn render(results: &[Compared], adjust: Adjust, split: Option<&Split<'_>>, screen: &Screen) -> String {
    // The result of all rows comes before those of its groups.
    let models: Vec<&[Compared]> = results.chunk_by(|_, next| next.is_group()).collect();
    let names = names(&models);
    let mut text = String::new();
    for (model, name) in models.iter().zip(&names) {
        let name = if models.len() > 1 { format!("{name}: ") } else { String::new() };
        text += &screen.prose(&sentences(model, &name));
        let sides = model[0].sides.iter().zip(SIDES).map(|(side, name)| (name, &side.found.1));
        text += &left_out::painted(&left_out::sentences(sides), screen);
    }
    for (model, name) in models.iter().zip(&names) {
        let n_measures = model[0].by_measure.len();
        for place in 0..n_measures {
            if models.len() > 1 {
                text += &format!("\n{name}\n");
            }
            text += &tables(model, place, adjust, screen);
        }
    }
    let read: Vec<Measured<()>> =
        models.iter().flat_map(|model| model[0].sides.each_ref().map(|side| side.with(None, ()))).collect();
    let sides: Vec<String> = names.iter().flat_map(|_| SIDES.map(str::to_owned)).collect();
    let inputs = results.iter().flat_map(|compared| compared.sides.iter().map(|side| &side.found.1));
    let notes = explanation(results, adjust, split) + &legend::under(&read, &sides, inputs);
    text + "\n" + &screen.notes(&notes)
}

/// What each model is called: its column, where there are several.
fn names(models: &[&[Compared]]) -> Vec<String> {
    let of_model = |model: &&[Compared]| crate::printable(model[0].sides[0].prob().unwrap_or("sketch"));
    models.iter().map(of_model).collect()
}

/// Of all rows by each measure; then which groups have changed, and which are in one sample only.
fn sentences(model: &[Compared], name: &str) -> String {
    let [all, groups @ ..] = model else { return String::new() };
    let changes = all.by_measure.iter().map(|of| match &of.change {
        Ok(change) => format!("{name}{}\n", change.sentence()),
        Err(error) => format!("{name}{}: not available: {error}\n", of.name),
    });
    let by = all.group.as_ref().map_or(String::new(), |group| crate::printable(&group.by.to_string()));
    let only = all.only.iter().zip(SIDES).filter(|(only, _)| !only.is_empty()).map(|(only, side)| {
        let keys = only.iter().map(|key| crate::printable(legend::key(key))).collect::<Vec<_>>().join(", ");
        format!("Only {side}, and so not compared: {by} {keys}.\n")
    });
    let groups = (!groups.is_empty()).then(|| changed_groups(groups, &by));
    changes.chain(groups).chain(only).collect()
}

fn changed_groups(groups: &[Compared], by: &str) -> String {
    let changed = groups.iter().filter_map(|compared| {
        let of = compared.by_measure.first()?;
        let change = of.change.as_ref().ok()?;
        let is_changed = of.p_adjusted.is_some_and(|p| p <= 1.0 - change.interval.level + 1e-12);
        is_changed.then(|| format!("{} (odds times {})", key(compared), ratio(change.curve.log_odds)))
    });
    let changed: Vec<String> = changed.collect();
    let n_groups = number::count(groups.len() as u64);
    match changed.len() {
        0 => format!("None of the {n_groups} groups by {by} shows a change after adjusting for their number.\n"),
        n => {
            let have = if n == 1 { "has" } else { "have" };
            format!(
                "{n} of {n_groups} groups by {by} {have} changed after adjusting for their number: {}.\n",
                changed.join(", ")
            )
        }
    }
}

/// What a line of the table of groups is called.
fn key(compared: &Compared) -> String {
    let key = compared.group.as_ref().and_then(|group| group.key.as_deref());
    crate::printable(key.map_or("all", legend::key))
}

fn tables(model: &[Compared], place: usize, adjust: Adjust, screen: &Screen) -> String {
    let all = &model[0];
    let of = &all.by_measure[place];
    let Ok(change) = &of.change else { return String::new() };
    let samples = sides(all, of.name, change).draw(screen);
    let changes = match model {
        [_] => changes(change).draw(screen),
        groups => by_group(groups, place, adjust).draw(screen),
    };
    format!("\n{samples}\n{changes}")
}

/// Each sample by itself.
fn sides(compared: &Compared, measure: &str, change: &Change) -> Grid {
    let lines = [(0, &change.before), (1, &change.after)].map(|(side, assessment)| Line {
        name: SIDES[side].to_owned(),
        n: compared.sides[side].found.0,
        left_out: None,
        estimate: Some(&assessment.estimate),
        assessment: Some(assessment),
        p_adjusted: None,
    });
    table::grid("sample", measure, &lines, &[], Adjust::default())
}

/// What has changed, a line each.
fn changes(change: &Change) -> Grid {
    let decimals = decimals(&change.interval);
    let signed = |value: f64| format!("{value:+.decimals$}");
    let significant = 1.0 - change.interval.level;
    let [measured, deciding] = [&change.before, change.before.deciding()].map(|found| found.estimate.measure());
    let mut lines: Vec<[Cell; 4]> = vec![
        [
            "odds of outcome 1 at equal predictions".into(),
            format!("x {}", ratio(change.curve.log_odds)).into(),
            ratios(&change.curve.interval).into(),
            cells::p_value(Some(change.curve.p_value), significant),
        ],
        [
            format!("{deciding} without noise").into(),
            signed(change.difference).into(),
            interval(&change.interval).into(),
            cells::p_value(Some(change.p_value), significant),
        ],
        [
            format!("{measured} as measured").into(),
            signed(change.after.estimate.value - change.before.estimate.value).into(),
            Cell::default(),
            Cell::default(),
        ],
    ];
    if let Some(origin) = change.origin {
        for (name, value) in [("- from outcomes", origin.outcomes), ("- from predictions", origin.predictions)] {
            lines.push([name.into(), signed(value).into(), Cell::default(), Cell::default()]);
        }
    }
    let column = |place: usize| lines.iter().map(move |line| line[place].clone());
    let mut grid = Grid::with_whole_names();
    grid.names("change", column(0));
    grid.numbers("after - before", column(1));
    grid.numbers("interval", column(2));
    grid.numbers("p", column(3));
    grid
}

/// A line for all rows and for each group.
fn by_group(model: &[Compared], place: usize, adjust: Adjust) -> Grid {
    let of = |compared: &'_ Compared| -> Option<Change> { compared.by_measure[place].change.as_ref().ok().cloned() };
    let cell = |text: fn(&Change) -> Cell| {
        model.iter().map(move |compared| of(compared).as_ref().map_or_else(Cell::dash, text)).collect::<Vec<Cell>>()
    };
    let by = model[0].group.as_ref().map_or_else(|| "group".to_owned(), |group| group.by.to_string());
    let mut grid = Grid::default();
    grid.names(&crate::printable(&by), model.iter().map(key));
    for (side, name) in SIDES.iter().enumerate() {
        grid.numbers(&format!("n {name}"), model.iter().map(|compared| number::count(compared.sides[side].found.0)));
    }
    grid.numbers("odds", cell(|change| format!("x {}", ratio(change.curve.log_odds)).into()));
    grid.beside("interval", cell(|change| ratios(&change.curve.interval).into()));
    grid.beside("p", cell(|change| cells::p_value(Some(change.curve.p_value), 1.0 - change.interval.level)));
    let adjusted = |compared: &Compared| match (&compared.by_measure[place], of(compared)) {
        (OfMeasure { p_adjusted: Some(p), .. }, Some(change)) => cells::p_value(Some(*p), 1.0 - change.interval.level),
        _ => Cell::dash(),
    };
    grid.beside(&legend::p_adjusted(adjust), model.iter().map(adjusted));
    grid.numbers("before", cell(|change| number::significant(change.before.deciding().debiased).into()));
    grid.beside("after", cell(|change| number::significant(change.after.deciding().debiased).into()));
    grid.beside("difference", cell(|change| format!("{:+.*}", decimals(&change.interval), change.difference).into()));
    grid.beside("interval", cell(|change| interval(&change.interval).into()));
    grid.beside("p", cell(|change| cells::p_value(Some(change.p_value), 1.0 - change.interval.level)));
    grid
}

fn decimals(interval: &Interval) -> usize {
    number::decimals(0.5 * (interval.upper - interval.lower))
}

fn interval(interval: &Interval) -> String {
    let decimals = decimals(interval);
    format!("[{:+.decimals$}, {:+.decimals$}]", interval.lower, interval.upper)
}

/// An odds ratio by its logarithm.
fn ratio(log_odds: f64) -> String {
    match log_odds.exp() {
        ratio if ratio.is_infinite() => "inf".to_owned(),
        ratio if (0.1..1000.0).contains(&ratio) => format!("{ratio:.2}"),
        ratio => number::significant(ratio),
    }
}

fn ratios(interval: &Interval) -> String {
    format!("[{}, {}]", ratio(interval.lower), ratio(interval.upper))
}

fn explanation(results: &[Compared], adjust: Adjust, split: Option<&Split<'_>>) -> String {
    let changes = || {
        let of_measures = results.iter().flat_map(|compared| &compared.by_measure);
        of_measures.filter_map(|of| of.change.as_ref().ok())
    };
    let Some(first) = changes().next() else { return String::new() };
    let level = number::percent(first.interval.level);
    let shared = changes().find_map(|change| change.n_shared_clusters).map(|n| {
        let are = if n == 1 { "cluster has" } else { "clusters have" };
        format!("{} {are} rows in both samples.\n", number::count(n))
    });
    let has_groups = results.iter().any(Compared::is_group);
    let errors: String = results
        .iter()
        .flat_map(|compared| compared.by_measure.iter().map(move |of| (compared, of)))
        .filter_map(|(compared, of)| Some((compared, of.change.as_ref().err()?)))
        .map(|(compared, error)| format!("not available: {}: {error}\n", key(compared)))
        .collect();
    let split = split.map_or(String::new(), |split| {
        format!("The samples are rows of one file by column {}.\n", crate::printable(split.column))
    });
    [
        errors,
        format!(
            "odds: of outcome 1 at equal predictions, after over before, with its {level} interval; p: of the \
             hypothesis that outcomes at equal predictions are as frequent after as before, whatever the shape of the \
             change.\n"
        ),
        if has_groups {
            legend::adjusted_for("groups", adjust)
                + "before, after and difference: the value without the bias that chance adds.\n"
        } else if changes().any(|change| change.origin.is_some()) {
            "from outcomes, from predictions: how much of the change as measured comes from other outcomes at equal \
             predictions, and how much from another distribution of predictions.\n"
                .to_owned()
        } else {
            "Where the change as measured comes from is not available: the predictions of the samples hardly overlap, \
             or the measure takes no weights.\n"
                .to_owned()
        },
        split,
        shared.unwrap_or_default(),
        table::explain(|| changes().flat_map(|change| [&change.before, &change.after])),
    ]
    .concat()
}
