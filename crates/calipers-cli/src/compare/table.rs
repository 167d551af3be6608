//! Sentences and tables of comparisons for people.

use calipers::Comparison;

use crate::assess::table::{interval, level};
use crate::compare::Compared;
use crate::measures_table::notes;
use crate::question::Asked;
use crate::{number, table, words};

pub(crate) fn render(compared: &Compared) -> String {
    let Compared { models, names, by_measure } = compared;
    let sentences = by_measure.iter().map(|(_, comparison)| comparison.sentence() + "\n");
    let tables = by_measure.iter().map(|(asked, comparison)| {
        ["\n".to_owned(), of_models(asked, comparison), "\n".to_owned(), of_pairs(comparison)].concat()
    });
    let mut text: String = sentences.chain(tables).collect();
    text += "\n";
    text += &explanation(by_measure);
    text += &words::asked(models);
    text + &words::guesses(models, names)
}

fn of_models(asked: &Asked, comparison: &Comparison) -> String {
    let mut table = table::plain();
    table.set_header(["model", "n", asked.name, "interval", "floor", "p", "num. ±", "notes"]);
    for (name, assessment) in &comparison.models {
        let none = || "-".to_owned();
        let floor = assessment.floor.as_ref();
        table.add_row([
            name.clone(),
            number::count(assessment.estimate.n),
            number::significant(assessment.estimate.value),
            interval(&assessment.interval),
            floor.map_or_else(none, |floor| number::plus_minus(floor.mean, floor.deviation)),
            floor.map_or_else(none, |floor| number::p_value(floor.p_value)),
            number::bound(assessment.estimate.numerical_bound),
            notes(&assessment.estimate),
        ]);
    }
    table::finished(table, 6)
}

fn of_pairs(comparison: &Comparison) -> String {
    let mut table = table::plain();
    table.set_header(["pair", "difference", "interval", "p", "p (Holm)"]);
    for pair in &comparison.pairs {
        let [first, second] = [pair.first, pair.second].map(|place| &comparison.models[place].0);
        let decimals = number::decimals(0.5 * (pair.interval.upper - pair.interval.lower));
        table.add_row([
            format!("{first} - {second}"),
            format!("{:+.decimals$}", pair.difference),
            format!("[{:+.decimals$}, {:+.decimals$}]", pair.interval.lower, pair.interval.upper),
            number::p_value(pair.p_value),
            number::p_value(pair.p_adjusted),
        ]);
    }
    table::finished(table, 4)
}

fn explanation(by_measure: &[(Asked, Comparison)]) -> String {
    let Some((_, first)) = by_measure.first() else { return String::new() };
    let assessments = || by_measure.iter().flat_map(|(_, comparison)| &comparison.models).map(|(_, model)| model);
    let n_resamples = assessments().find_map(|model| model.floor.as_ref()).map(|floor| floor.n_resamples);
    let withheld: std::collections::BTreeSet<&str> = assessments().filter_map(|model| model.withheld).collect();
    let floor = n_resamples.map(|n| {
        format!(
            "floor: what a calibrated model would show on these rows, mean ± deviation of {} draws; p of a model: the share of\n\
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
