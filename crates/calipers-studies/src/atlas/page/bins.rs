//! Question a: how far ECE moves with the bins, beyond what chance does.

use calipers_report::{Axis, BLACK, Chart, Series, Stroke};

use super::{Column, Value, decimal, median, percent, set_of, share, table_of_parts, with_chance};
use crate::atlas::chance::is_brittle;
use crate::atlas::measured::Measured;
use crate::atlas::rules::{LEVEL, MATTERS, N_TESTS};
use crate::atlas::share::Statistic;
use crate::table::fixed;
use crate::{Agreement, Page};

/// Whether chance fails to explain how far ECE moves; false where chance is not known.
pub(super) fn brittle(model: &Measured) -> bool {
    model.chance.as_ref().is_some_and(|chance| is_brittle(chance.p_values))
}

/// The same, by more than a percentage point.
pub(super) fn brittle_by_a_point(model: &Measured) -> bool {
    let Some(chance) = &model.chance else { return false };
    let significant = (0..3).filter(|kind| chance.p_values[*kind] <= LEVEL / N_TESTS);
    significant.map(|kind| model.distances[kind]).fold(0.0, f64::max) > MATTERS
}

/// Of the calibrated models that were simulated, the share that is called brittle.
pub(super) fn simulated_brittle(models: &[&Measured]) -> Option<Statistic> {
    let draws = models.iter().flat_map(|model| {
        let chance = model.chance.as_ref();
        let (n, hits) = chance.map_or((0, 0), |chance| (chance.n_simulated, chance.n_simulated_brittle));
        (0..n).map(move |draw| (set_of(model), draw < hits))
    });
    crate::atlas::share::share(draws)
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    let models = with_chance(all);
    page.heading("a. How far ECE moves with the bins");
    let moves: [(&str, Value); 3] = [
        ("over 5 to 100 bins of equal width", |model| model.distances[0]),
        ("over 5 to 100 bins of equal mass", |model| model.distances[1]),
        ("between equal width and equal mass", |model| model.distances[2]),
    ];
    let medians = moves.map(|(words, of)| format!("{words} by {}", decimal(median(all, of))));
    page.text(&format!(
        "In the median over all {} models, ECE moves {}. The table compares this with chance: more bins have fewer rows each, and the \
         ECE of a calibrated model grows with their number. It counts the {} models with independent rows.",
        all.len(),
        medians.join(", "),
        models.len()
    ));
    page.table(&table_of_parts(
        &models,
        &[
            Column::new("range, equal width", |models| decimal(median(models, |model| model.distances[0]))),
            Column::new("by chance", |models| {
                decimal(median(models, |model| model.chance.as_ref().map_or(0.0, |chance| chance.by_chance[0])))
            }),
            Column::new("brittle", |models| percent(share(models, brittle))),
            Column::new("brittle by a point", |models| percent(share(models, brittle_by_a_point))),
            Column::new("simulated calibrated models called brittle", |models| percent(simulated_brittle(models))),
        ],
    ));
    if let (Some(found), Some(point), Some(simulated)) =
        (share(&models, brittle), share(&models, brittle_by_a_point), simulated_brittle(&models))
    {
        page.finding(
            Agreement::Noted,
            &format!(
                "ECE is brittle for {} of the models with independent rows, and by more than a percentage point for {}. Of simulated calibrated models with the same predictions, {} are called brittle; the rule allows 5 %.",
                found.percent(),
                point.percent(),
                simulated.percent()
            ),
        );
    }
    let names: Vec<String> = models
        .iter()
        .filter(|model| brittle_by_a_point(model))
        .map(|model| format!("{} ({})", model.entry.title(), fixed(model.distances.into_iter().fold(0.0, f64::max), 3)))
        .collect();
    if !names.is_empty() {
        page.text(&format!("Brittle by a point, with the largest distance: {}.", names.join(", ")));
    }
    let verdicts: Vec<String> = ["brittle", "stable"]
        .iter()
        .map(|verdict| {
            let n = all.iter().filter(|model| model.sweep == *verdict).count();
            format!("{n} {verdict}")
        })
        .collect();
    page.text(&format!(
        "For comparison, `calipers sweep` looks at 10, 20, ..., 100 bins and asks besides that ECE moves farther than LS-ECE and twice as far as chance makes it. It calls {} of all {} models.",
        verdicts.join(" and "),
        all.len()
    ));
    figure(page, &models);
}

fn figure(page: &mut Page, models: &[&Measured]) {
    let point = |model: &Measured| {
        let chance = model.chance.as_ref()?;
        Some((chance.by_chance[0].max(1e-5), model.distances[0].max(1e-5)))
    };
    let series = |name: &str, is: &dyn Fn(&Measured) -> bool| {
        Series::line(name, models.iter().filter(|model| is(model)).filter_map(|model| point(model)).collect())
            .stroke(Stroke::None)
            .markers()
    };
    let chart = Chart::new("Range of ECE over 5 to 100 bins, and what chance does")
        .x(Axis::log("mean range by chance"))
        .y(Axis::log("range of the model"))
        .add(series("chance explains it", &|model| !brittle(model)))
        .add(series("brittle", &brittle))
        .add(Series::line("equal", vec![(1e-3, 1e-3), (0.5, 0.5)]).stroke(Stroke::Dotted).colour(BLACK));
    page.figure(
        "bins",
        &chart,
        "Each point is a model with independent rows: how far its ECE moves over 5 to 100 bins of equal width, against \
         how far the ECE of a calibrated model with the same predictions moves on average. On the dotted line, the two \
         are equal.",
    );
}
