//! Question d: how much of a published ECE is noise.

use calipers_report::{Axis, Chart, Series, Stroke};

use super::{Column, decimal, median, percent, set_of, share, table_of_parts, with_chance};
use crate::atlas::measured::Measured;
use crate::atlas::rules::LEVEL;
use crate::{Agreement, Page};

fn floor(model: &Measured) -> f64 {
    model.chance.as_ref().map_or(f64::NAN, |chance| chance.floor)
}

/// Whether ECE is no larger than chance explains.
pub(super) fn not_above(model: &Measured) -> bool {
    model.chance.as_ref().is_some_and(|chance| chance.p_value > LEVEL)
}

/// The floor over the value, at most 1.
pub(super) fn share_of_noise(model: &Measured) -> f64 {
    if model.ece > 0.0 { (floor(model) / model.ece).min(1.0) } else { 1.0 }
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    let models = with_chance(all);
    page.heading("d. How much of an ECE is noise");
    page.text(&format!(
        "The {} models with independent rows, ECE with 15 bins of equal width. The noise floor is the mean ECE of a \
         calibrated model with the same predictions.",
        models.len()
    ));
    page.table(&table_of_parts(
        &models,
        &[
            Column::new("ECE, median", |models| decimal(median(models, |model| model.ece))),
            Column::new("noise floor, median", |models| decimal(median(models, floor))),
            Column::new("share of noise, median", |models| percent(median(models, share_of_noise))),
            Column::new("not above the floor", |models| percent(share(models, not_above))),
            Column::new("debiased ECE, median", |models| decimal(median(models, |model| model.debiased))),
        ],
    ));
    let simulated = models.iter().flat_map(|model| {
        let (n, hits) = model.chance.as_ref().map_or((0, 0), |chance| (chance.n_simulated, chance.n_simulated_above));
        (0..n).map(move |draw| (set_of(model), draw < hits))
    });
    let simulated = crate::atlas::share::share(simulated);
    if let (Some(noise), Some(not_above), Some(simulated)) =
        (median(&models, share_of_noise), share(&models, not_above), simulated)
    {
        page.finding(
            Agreement::Noted,
            &format!(
                "The noise floor is {} of the ECE in the median, and the ECE of {} of models is not significantly above it. Of simulated calibrated models, {} are called above it; the rule allows 5 %.",
                noise.percent(),
                not_above.percent(),
                simulated.percent()
            ),
        );
    }
    let series = |name: &str, is: &dyn Fn(&Measured) -> bool, value: fn(&Measured) -> f64| {
        let points = models.iter().filter(|model| is(model)).map(|model| (model.n as f64, value(model).max(1e-5)));
        Series::line(name, points.collect()).stroke(Stroke::None).markers()
    };
    let chart = Chart::new("ECE with 15 bins and its noise floor, by number of rows")
        .x(Axis::log("rows"))
        .y(Axis::log("ECE"))
        .add(series("ECE above its floor", &|model| !not_above(model), |model| model.ece))
        .add(series("ECE not above its floor", &not_above, |model| model.ece))
        .add(series("noise floor", &|_| true, floor));
    page.figure(
        "noise",
        &chart,
        "The ECE of each model with independent rows and its noise floor, against the number of rows.",
    );
}
