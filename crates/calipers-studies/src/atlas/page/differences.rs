//! Question b: how far ECE, LS-ECE and smECE are apart.

use calipers_report::{Axis, Chart, Series};

use super::{Column, Value, decimal, median, percent, share, table_of_parts};
use crate::Page;
use crate::atlas::measured::Measured;
use crate::atlas::rules::MATTERS;

/// What stands beside ECE.
pub(super) const OTHERS: [(&str, Value); 3] = [
    ("LS-ECE, matched sigma", |model| model.matched),
    ("LS-ECE, automatic sigma", |model| model.automatic),
    ("smECE", |model| model.smooth_ece),
];

pub(super) fn apart(model: &Measured, other: Value) -> f64 {
    (model.ece - other(model)).abs()
}

/// The same in standard errors of ECE; without noise at all, any difference is many.
fn in_errors(model: &Measured, other: Value) -> f64 {
    let difference = apart(model, other);
    if difference == 0.0 { 0.0 } else { difference / model.standard_error }
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    page.heading("b. ECE, LS-ECE and smECE");
    page.text(
        "Differences from ECE with 15 bins of equal width: the median, and the share of models with more than 0.01.",
    );
    let columns = OTHERS.map(|(name, other)| {
        [
            Column::new(format!("to {name}: median"), move |models| {
                decimal(median(models, |model| apart(model, other)))
            }),
            Column::new("above 0.01", move |models| percent(share(models, |model| apart(model, other) > MATTERS))),
        ]
    });
    page.table(&table_of_parts(all, columns.as_flattened()));
    let independent = super::with_errors(all);
    let texts = OTHERS.map(|(name, other)| {
        let share = share(&independent, |model| in_errors(model, other) > 2.0);
        let median = median(&independent, |model| in_errors(model, other));
        let median = median.map_or("-".to_owned(), |found| crate::table::fixed(found.value, 2));
        format!("{name}: {median} in the median, above 2 for {}", percent(share))
    });
    page.text(&format!(
        "In units of the standard error of ECE ({} models with independent rows): {}.",
        independent.len(),
        texts.join("; ")
    ));
    figure(page, all);
}

/// How many models are within a difference.
fn figure(page: &mut Page, all: &[&Measured]) {
    let mut chart = Chart::new("How far ECE is from LS-ECE and smECE")
        .x(Axis::log("absolute difference from ECE with 15 bins"))
        .y(Axis::linear("share of models within it").range(0.0, 1.0));
    for (name, other) in OTHERS {
        let mut differences: Vec<f64> = all.iter().map(|model| apart(model, other).max(1e-5)).collect();
        differences.sort_by(f64::total_cmp);
        let n = differences.len() as f64;
        let points = differences.iter().enumerate().map(|(place, x)| (*x, (place + 1) as f64 / n)).collect();
        chart = chart.add(Series::line(name, points));
    }
    page.figure(
        "differences",
        &chart,
        "The share of models whose ECE is within a distance of LS-ECE or smECE. Differences below 0.00001 are drawn there.",
    );
}
