//! A table of the classes of each model, where values are means over classes.

use calipers::Adjust;

use super::grid::{Cell, Grid};
use super::screen::{Screen, Tone};
use super::{cells, legend, number};
use crate::commands::analysis::answers::{Answer, Answers};
use crate::commands::analysis::classes::OfClass;
use crate::dataset::model::Measured;

/// More classes are only in JSON: those with the smallest p-values and then the largest values are
/// listed.
const MOST_CLASSES: usize = 20;

/// The tables of all models that have classes; a p-value of at most `significant` stands out.
pub(crate) fn all(results: &[Measured<Answers>], names: &[String], significant: f64, screen: &Screen) -> String {
    let with_classes = results.iter().zip(names).filter(|(measured, _)| !measured.found.classes.is_empty());
    let table = |(measured, name): (&Measured<Answers>, &String)| {
        let heading = if results.len() > 1 { screen.paint(name, Tone::Heading) + "\n" } else { String::new() };
        heading + &of_model(measured, significant).draw(&screen.with_width()) + "\n"
    };
    with_classes.map(table).collect()
}

/// What the columns mean.
pub(crate) fn explanation(results: &[Measured<Answers>]) -> String {
    let models = || results.iter().map(|measured| &measured.found.classes).filter(|classes| !classes.is_empty());
    let Some(most) = models().map(Vec::len).max() else { return String::new() };
    let adjust = results.first().map_or(Adjust::default(), |measured| measured.found.adjust);
    let directions = models().flatten().any(|class| class.direction().is_some());
    [
        "class: each class against the rest; n: rows with that label.\n",
        &legend::adjusted_for("classes", adjust),
        if directions { legend::DIRECTION } else { "" },
        &match most > MOST_CLASSES {
            true => format!("Only the {MOST_CLASSES} classes with the most evidence are listed; --json has all.\n"),
            false => String::new(),
        },
    ]
    .concat()
}

fn of_model(measured: &Measured<Answers>, significant: f64) -> Grid {
    let classes = &measured.found.classes;
    let listed = listed(classes);
    let lines = || listed.iter();
    let mut table = Grid::with_whole_names();
    let name = |class: usize| measured.class_name(class).map_or_else(|| class.to_string(), crate::printable);
    table.names("class", lines().map(|class| name(class.class)));
    table.numbers("n", lines().map(|class| number::count(class.n_labels)));
    table.numbers("mean p", lines().map(|class| number::significant(class.mean_probability)));
    table.numbers("rate", lines().map(|class| number::significant(class.outcome_rate)));
    let n_measures = classes.first().map_or(0, |class| class.values.len());
    for place in 0..n_measures {
        let answers = || lines().map(|class| &class.values[place]);
        let known = |answer: &Answer| answer.known().map(|known| number::significant(known.estimate.value).into());
        let name = answers().next().map_or("value", |answer| answer.name);
        table.numbers(&legend::heading(name), answers().map(|answer| known(answer).unwrap_or_else(cells::error)));
        let has_floor = |answer: &Answer| answer.known().is_some_and(|known| known.floor.is_some());
        if answers().any(has_floor) {
            let floor =
                |answer: &Answer| answer.known().map_or_else(Cell::dash, |known| cells::floor(known.floor.as_ref()));
            table.beside("floor", answers().map(floor));
            table.beside(
                &legend::p_adjusted(measured.found.adjust),
                answers().map(|answer| cells::p_value(answer.p_adjusted, significant)),
            );
        }
    }
    if lines().any(|class| class.direction().is_some()) {
        table.notes("direction", lines().map(|class| class.direction().unwrap_or_default()));
    }
    table
}

/// All in their order if they are few, else those with the most evidence first.
fn listed(classes: &[OfClass]) -> Vec<&OfClass> {
    let mut listed: Vec<&OfClass> = classes.iter().collect();
    if listed.len() > MOST_CLASSES {
        listed.sort_by(|a, b| a.rank().partial_cmp(&b.rank()).unwrap_or(std::cmp::Ordering::Equal));
        listed.truncate(MOST_CLASSES);
    }
    listed
}
