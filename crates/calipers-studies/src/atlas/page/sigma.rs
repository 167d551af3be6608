//! Question g: how much LS-ECE depends on sigma and on the shape of the noise.

use super::{decimal, median, percent, share};
use crate::atlas::measured::{Measured, shapes};
use crate::atlas::rules::{MATTERS, SIGMA_FACTORS};
use crate::{Agreement, Page, Table};

/// The largest change when sigma is halved or doubled.
pub(super) fn by_factor_two(model: &Measured) -> f64 {
    let near = SIGMA_FACTORS.iter().zip(&model.factors).filter(|(factor, _)| (0.5..=2.0).contains(*factor));
    near.map(|(_, value)| (value - model.automatic).abs()).fold(0.0, f64::max)
}

/// The largest change with another shape of the noise.
pub(super) fn by_shape(model: &Measured) -> f64 {
    model.shapes.iter().map(|value| (value - model.automatic).abs()).fold(0.0, f64::max)
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    page.heading("g. Sigma and the shape of the noise");
    let mut table = Table::new(["change", "absolute change of LS-ECE, median", "above 0.01"]);
    let mut row = |name: String, change: &dyn Fn(&Measured) -> f64| {
        table.row([name, decimal(median(all, change)), percent(share(all, |model| change(model) > MATTERS))]);
    };
    for (place, factor) in SIGMA_FACTORS.iter().enumerate().filter(|(_, factor)| **factor != 1.0) {
        row(format!("sigma times {factor}"), &|model| (model.factors[place] - model.automatic).abs());
    }
    for (place, (name, ..)) in shapes().iter().enumerate() {
        row(format!("{name} noise, same standard deviation"), &|model| (model.shapes[place] - model.automatic).abs());
    }
    page.table(&table);
    if let (Some(sigma), Some(shape)) =
        (share(all, |model| by_factor_two(model) > MATTERS), share(all, |model| by_shape(model) > MATTERS))
    {
        page.finding(
            Agreement::Noted,
            &format!(
                "Halving or doubling sigma changes LS-ECE by more than 0.01 for {} of models, and another shape of the noise for {}.",
                sigma.percent(),
                shape.percent()
            ),
        );
    }
}
