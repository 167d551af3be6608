//! Sentences and tables of comparisons for people.

use calipers::{Adjust, Comparison, Estimate, Pair};

use crate::commands::analysis::selected::Selected;
use crate::commands::assess::table::{self, Line};
use crate::commands::compare::Compared;
use crate::render::grid::Grid;
use crate::render::screen::Screen;
use crate::render::{cells, legend, number};

pub(crate) fn render(compared: &Compared, screen: &Screen) -> String {
    let Compared { models, names, by_measure } = compared;
    let sentences = by_measure.iter().map(|(_, comparison)| screen.prose(&(comparison.sentence() + "\n")));
    let tables = by_measure.iter().map(|(selected, comparison)| {
        format!("\n{}\n{}", of_models(selected, comparison).draw(screen), of_pairs(comparison).draw(screen))
    });
    let text: String = sentences.chain(tables).collect();
    let notes = explanation(by_measure) + &legend::under(models, names, std::iter::empty());
    text + "\n" + &screen.notes(&notes)
}

fn of_models(selected: &Selected, comparison: &Comparison) -> Grid {
    let lines = comparison.models.iter().map(|(name, model)| Line {
        name: name.clone(),
        n: model.estimate.n,
        left_out: None,
        estimate: Some(&model.estimate),
        assessment: Some(model),
        p_adjusted: None,
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let compared = compared_by(comparison).map_or(&[][..], |_| &comparison.compared);
    table::grid("model", selected.name(), &lines, compared, Adjust::Holm)
}

/// What the models are compared by, if it is not the measure itself at its own sigma.
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
    table.numbers("p (Holm)", pairs().map(|pair| cells::p_value(Some(pair.p_adjusted), 1.0 - comparison.level)));
    table
}

/// Whether a model is worse than another, although the data have no evidence against it alone.
fn has_worse_without_evidence(comparison: &Comparison) -> bool {
    let is_small = |p: f64| p <= 1.0 - comparison.level + 1e-12;
    let p_alone = |place: usize| comparison.models[place].1.floor.as_ref().map(|floor| floor.p_value);
    let worse = |pair: &Pair| if pair.difference < 0.0 { pair.second } else { pair.first };
    comparison.pairs.iter().any(|pair| is_small(pair.p_adjusted) && p_alone(worse(pair)).is_some_and(|p| !is_small(p)))
}

const NO_EVIDENCE_ALONE: &str = "A model can be worse than another without evidence of miscalibration of its own: the models share \
     their rows, so the difference is known more precisely than either value, and the p of a model is that of a test \
     that looks for errors of any shape.\n";

fn explanation(by_measure: &[(Selected, Comparison)]) -> String {
    let assessments = || by_measure.iter().flat_map(|(_, comparison)| &comparison.models).map(|(_, model)| model);
    let compared = by_measure.iter().find_map(|(selected, comparison)| Some((selected, compared_by(comparison)?)));
    let compared = compared.map(|(selected, by)| {
        let sigma = by.settings.number("sigma").map(|sigma| format!(" at sigma {}", number::significant(sigma)));
        format!(
            "compared: {}{}, by which the models are compared instead of {}. difference: the difference of these \
             values, each without the bias that chance adds.\n",
            by.measure(),
            sigma.unwrap_or_default(),
            selected.name()
        )
    });
    [
        "p of a pair: two-sided, of the hypothesis that both models are equally calibrated; p (Holm): adjusted for the \
         number of pairs.\n",
        &compared.unwrap_or_default(),
        if by_measure.iter().any(|(_, comparison)| has_worse_without_evidence(comparison)) {
            NO_EVIDENCE_ALONE
        } else {
            ""
        },
        &table::explain(assessments),
    ]
    .concat()
}
