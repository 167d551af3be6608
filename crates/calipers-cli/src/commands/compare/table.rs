//! Sentences and tables of comparisons for people.

use calipers::{Comparison, Estimate};

use crate::commands::analysis::floor::{floor_cell, p_cell};
use crate::commands::analysis::measures::Asked;
use crate::commands::assess::table::{interval, level};
use crate::commands::compare::Compared;
use crate::commands::measure::named_table::notes;
use crate::render::grid::{Cell, Grid};
use crate::render::legend;
use crate::render::number;
use crate::render::screen::Screen;

pub(crate) fn render(compared: &Compared, screen: &Screen) -> String {
    let Compared { models, names, by_measure } = compared;
    let sentences = by_measure.iter().map(|(_, comparison)| screen.prose(&(comparison.sentence() + "\n")));
    let tables = by_measure.iter().map(|(asked, comparison)| {
        format!("\n{}\n{}", of_models(asked, comparison).draw(screen), of_pairs(comparison).draw(screen))
    });
    let text: String = sentences.chain(tables).collect();
    let notes = [explanation(by_measure), legend::asked(models), legend::guesses(models, names)];
    text + "\n" + &screen.notes(&notes.concat())
}

fn of_models(asked: &Asked, comparison: &Comparison) -> Grid {
    let compared_by = compared_by(comparison);
    let mut header = vec!["model", "n", asked.name, "interval", "floor", "p"];
    header.extend(compared_by.map(|_| "compared"));
    header.extend(["num. ±", "notes"]);
    let n_columns = header.len();
    let mut table = Grid::new(header, 1..n_columns - 1).together(2..6);
    for ((name, assessment), compared) in comparison.models.iter().zip(&comparison.compared) {
        let floor = assessment.floor.as_ref();
        let mut row = vec![
            Cell::from(name.clone()),
            number::count(assessment.estimate.n).into(),
            number::significant(assessment.estimate.value).into(),
            interval(&assessment.interval).into(),
            floor_cell(floor),
            p_cell(floor.map(|floor| floor.p_value), 1.0 - comparison.level),
        ];
        row.extend(compared_by.map(|_| Cell::from(number::significant(compared.value))));
        row.push(number::bound(assessment.estimate.numerical_bound).into());
        row.push(notes(&assessment.estimate).into());
        table.add(row);
    }
    table
}

/// What the models are compared by, where it is not the measure itself at its own sigma.
fn compared_by(comparison: &Comparison) -> Option<&Estimate> {
    let compared = comparison.compared.first()?;
    let (_, model) = comparison.models.first()?;
    let of = |estimate: &Estimate| (estimate.measure, estimate.settings.number("sigma"));
    (of(compared) != of(&model.estimate)).then_some(compared)
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
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws; p of a model: how \
             often a calibrated model would show as much.\n",
            number::count(n)
        )
    });
    let clusters = assessments().find_map(|model| model.n_clusters);
    let compared = by_measure.iter().find_map(|(asked, comparison)| Some((asked, compared_by(comparison)?)));
    let compared = compared.map(|(asked, by)| {
        let sigma = by.settings.number("sigma").map(|sigma| format!(" at sigma {}", number::significant(sigma)));
        format!(
            "compared: {}{}, by which models are compared in place of {}. difference: of these values, each without the bias that noise adds. p of a model is that of its residual form.\n",
            by.measure,
            sigma.unwrap_or_default(),
            asked.name
        )
    });
    [
        format!(
            "interval: {} %. p of a pair: two-sided, of the hypothesis that both are equally calibrated; p (Holm): adjusted for the number of pairs.\n",
            level(first.level)
        ),
        floor.unwrap_or_default(),
        compared.unwrap_or_default(),
        withheld.iter().map(|reason| format!("No floor: {reason}\n")).collect(),
        clusters.map_or(String::new(), |n| format!("Rows in {} clusters.\n", number::count(n))),
    ]
    .concat()
}
