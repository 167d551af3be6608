//! Sentences and tables of comparisons for people.

use calipers::Comparison;

use crate::assess::table::{interval, level};
use crate::compare::Compared;
use crate::floor::{floor_cell, p_cell};
use crate::grid::{Cell, Grid};
use crate::measures_table::notes;
use crate::question::Asked;
use crate::screen::Screen;
use crate::{number, words};

pub(crate) fn render(compared: &Compared, screen: &Screen) -> String {
    let Compared { models, names, by_measure } = compared;
    let sentences = by_measure.iter().map(|(_, comparison)| screen.prose(&(comparison.sentence() + "\n")));
    let tables = by_measure.iter().map(|(asked, comparison)| {
        format!("\n{}\n{}", of_models(asked, comparison).draw(screen), of_pairs(comparison).draw(screen))
    });
    let text: String = sentences.chain(tables).collect();
    let notes = [explanation(by_measure), words::asked(models), words::guesses(models, names)];
    text + "\n" + &screen.notes(&notes.concat())
}

fn of_models(asked: &Asked, comparison: &Comparison) -> Grid {
    let header = ["model", "n", asked.name, "interval", "floor", "p", "num. ±", "notes"];
    let mut table = Grid::new(header, 1..7).together(2..6);
    for (name, assessment) in &comparison.models {
        let floor = assessment.floor.as_ref();
        table.add([
            Cell::from(name.clone()),
            number::count(assessment.estimate.n).into(),
            number::significant(assessment.estimate.value).into(),
            interval(&assessment.interval).into(),
            floor_cell(floor),
            p_cell(floor.map(|floor| floor.p_value), 1.0 - comparison.level),
            number::bound(assessment.estimate.numerical_bound).into(),
            notes(&assessment.estimate).into(),
        ]);
    }
    table
}

fn of_pairs(comparison: &Comparison) -> Grid {
    let mut table = Grid::new(["pair", "difference", "interval", "p", "p (Holm)"], 1..5);
    for pair in &comparison.pairs {
        let [first, second] = [pair.first, pair.second].map(|place| &comparison.models[place].0);
        let decimals = number::decimals(0.5 * (pair.interval.upper - pair.interval.lower));
        table.add([
            Cell::from(format!("{first} - {second}")),
            format!("{:+.decimals$}", pair.difference).into(),
            format!("[{:+.decimals$}, {:+.decimals$}]", pair.interval.lower, pair.interval.upper).into(),
            number::p_value(pair.p_value).into(),
            p_cell(Some(pair.p_adjusted), 1.0 - comparison.level),
        ]);
    }
    table
}

fn explanation(by_measure: &[(Asked, Comparison)]) -> String {
    let Some((_, first)) = by_measure.first() else { return String::new() };
    let assessments = || by_measure.iter().flat_map(|(_, comparison)| &comparison.models).map(|(_, model)| model);
    let n_resamples = assessments().find_map(|model| model.floor.as_ref()).map(|floor| floor.n_resamples);
    let withheld: std::collections::BTreeSet<&str> = assessments().filter_map(|model| model.withheld).collect();
    let floor = n_resamples.map(|n| {
        format!(
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws; p of a model: the share of \
             draws that are at least its value.\n",
            number::count(n)
        )
    });
    let clusters = assessments().find_map(|model| model.n_clusters);
    [
        format!(
            "interval: {} %. p of a pair: of \"no difference\", two-sided; p (Holm): adjusted for the number of pairs.\n",
            level(first.level)
        ),
        floor.unwrap_or_default(),
        withheld.iter().map(|reason| format!("No floor: {reason}\n")).collect(),
        clusters.map_or(String::new(), |n| format!("Rows in {} clusters.\n", number::count(n))),
    ]
    .concat()
}
