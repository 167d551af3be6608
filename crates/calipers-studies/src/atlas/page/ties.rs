//! Question e: where the discontinuities of practice are.

use calipers_report::{Axis, Chart, Series, Stroke};

use super::{Column, decimal, median, percent, share, table_of_parts};
use crate::atlas::measured::Measured;
use crate::atlas::rules::MATTERS;
use crate::{Agreement, Page};

/// The share of rows that have the probability of another row.
pub(super) fn tied(model: &Measured) -> f64 {
    model.n_tied as f64 / model.n.max(1) as f64
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    page.heading("e. Ties: the discontinuities of practice");
    page.text(
        "The paper shows that ECE is discontinuous where predictions coincide that have different outcomes: the smallest \
         change that splits them changes the ECE of the data, in which every distinct probability is a bin. Of binned ECE \
         that is true only for ties on the edge of a bin. The table has the share of rows that are tied, and how far the \
         ECE of the data jumps if all ties are split.",
    );
    page.table(&table_of_parts(
        all,
        &[
            Column::new("tied rows, median", |models| percent(median(models, tied))),
            Column::new("more than half tied", |models| percent(share(models, |model| tied(model) > 0.5))),
            Column::new("jump, median", |models| decimal(median(models, |model| model.tied_jump))),
            Column::new("jump above 0.01", |models| percent(share(models, |model| model.tied_jump > MATTERS))),
        ],
    ));
    if let (Some(jump), Some(most)) =
        (share(all, |model| model.tied_jump > MATTERS), share(all, |model| tied(model) > 0.5))
    {
        page.finding(
            Agreement::Noted,
            &format!(
                "More than half of the rows are tied in {} of models, and splitting ties can move the ECE of the data by more than 0.01 in {}.",
                most.percent(),
                jump.percent()
            ),
        );
    }
    let points = all.iter().filter(|model| model.n_tied > 0).map(|model| (tied(model), model.tied_jump.max(1e-5)));
    let chart = Chart::new("Tied rows, and the jump that splitting them makes")
        .x(Axis::log("share of tied rows"))
        .y(Axis::log("jump of ECE"))
        .add(Series::line("model", points.collect()).stroke(Stroke::None).markers());
    page.figure(
        "ties",
        &chart,
        "Models with ties: the share of tied rows and the jump. Jumps below 0.00001 are drawn there.",
    );
}
