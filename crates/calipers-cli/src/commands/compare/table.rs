//! Sentences and tables of comparisons for people.

use calipers::{Assessment, Comparison, Estimate, Pair};

use crate::commands::analysis::floor::{floor_cell, p_cell};
use crate::commands::analysis::measures::Selected;
use crate::commands::assess::table::interval;
use crate::commands::compare::Compared;
use crate::render::grid::Grid;
use crate::render::screen::Screen;
use crate::render::{legend, number};

pub(crate) fn render(compared: &Compared, screen: &Screen) -> String {
    let Compared { models, names, by_measure } = compared;
    let sentences = by_measure.iter().map(|(_, comparison)| screen.prose(&(comparison.sentence() + "\n")));
    let tables = by_measure.iter().map(|(selected, comparison)| {
        format!("\n{}\n{}", of_models(selected, comparison).draw(screen), of_pairs(comparison).draw(screen))
    });
    let text: String = sentences.chain(tables).collect();
    let notes = [explanation(by_measure), legend::rows_read(models), legend::guesses(models, names)];
    text + "\n" + &screen.notes(&notes.concat())
}

fn of_models(selected: &Selected, comparison: &Comparison) -> Grid {
    let models = || comparison.models.iter().map(|(_, assessment)| assessment);
    let mut table = Grid::default();
    table.names("model", comparison.models.iter().map(|(name, _)| name));
    table.numbers("n", models().map(|model| number::count(model.estimate.n)));
    table.numbers(selected.name(), models().map(|model| number::significant(model.estimate.value)));
    table.beside("interval", models().map(|model| interval(&model.interval)));
    table.beside("floor", models().map(|model| floor_cell(model.floor.as_ref())));
    let p_value = |model: &Assessment| model.floor.as_ref().map(|floor| floor.p_value);
    table.beside("p", models().map(|model| p_cell(p_value(model), 1.0 - comparison.level)));
    if compared_by(comparison).is_some() {
        table.numbers("compared", comparison.compared.iter().map(|compared| number::significant(compared.value)));
    }
    table.numbers("num. ±", models().map(|model| number::bound(model.estimate.numerical_bound)));
    table.notes("notes", models().map(|model| legend::settings(&model.estimate)));
    table
}

/// What the models are compared by, where it is not the measure itself at its own sigma.
fn compared_by(comparison: &Comparison) -> Option<&Estimate> {
    let compared = comparison.compared.first()?;
    let (_, model) = comparison.models.first()?;
    let of = |estimate: &Estimate| (estimate.measure(), estimate.settings.number("sigma"));
    (of(compared) != of(&model.estimate)).then_some(compared)
}

fn of_pairs(comparison: &Comparison) -> Grid {
    let pairs = || comparison.pairs.iter();
    let decimals = |pair: &Pair| number::decimals(0.5 * (pair.interval.upper - pair.interval.lower));
    let name = |place: usize| &comparison.models[place].0;
    let mut table = Grid::default();
    table.names("pair", pairs().map(|pair| format!("{} - {}", name(pair.first), name(pair.second))));
    table.numbers("difference", pairs().map(|pair| format!("{:+.*}", decimals(pair), pair.difference)));
    let interval = |pair: &Pair| {
        let decimals = decimals(pair);
        format!("[{:+.decimals$}, {:+.decimals$}]", pair.interval.lower, pair.interval.upper)
    };
    table.numbers("interval", pairs().map(interval));
    table.numbers("p", pairs().map(|pair| number::p_value(pair.p_value)));
    table.numbers("p (Holm)", pairs().map(|pair| p_cell(Some(pair.p_adjusted), 1.0 - comparison.level)));
    table
}

fn explanation(by_measure: &[(Selected, Comparison)]) -> String {
    let Some((_, first)) = by_measure.first() else { return String::new() };
    let assessments = || by_measure.iter().flat_map(|(_, comparison)| &comparison.models).map(|(_, model)| model);
    let n_resamples = assessments().find_map(|model| model.floor.as_ref()).map(|floor| floor.n_resamples);
    let floor = n_resamples.map(|n| {
        format!(
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws; p of a model: how \
             often a calibrated model would show as much.\n",
            number::count(n)
        )
    });
    let compared = by_measure.iter().find_map(|(selected, comparison)| Some((selected, compared_by(comparison)?)));
    let compared = compared.map(|(selected, by)| {
        let sigma = by.settings.number("sigma").map(|sigma| format!(" at sigma {}", number::significant(sigma)));
        format!(
            "compared: {}{}, by which models are compared in place of {}. difference: of these values, each without the bias that noise adds. p of a model is that of its residual form.\n",
            by.measure(),
            sigma.unwrap_or_default(),
            selected.name()
        )
    });
    [
        format!(
            "interval: {}. p of a pair: two-sided, of the hypothesis that both are equally calibrated; p (Holm): adjusted for the number of pairs.\n",
            number::percent(first.level)
        ),
        floor.unwrap_or_default(),
        compared.unwrap_or_default(),
        legend::floors_and_clusters(assessments()),
    ]
    .concat()
}
