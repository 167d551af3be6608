//! Question f: over- or underconfident, and where.

use super::{Column, percent, share, table_of_parts, with_errors};
use crate::atlas::measured::Measured;
use crate::atlas::rules::{CONFIDENCE_ENDS, LEAST_ROWS_IN_RANGE, SIGNIFICANT};
use crate::table::fixed;
use crate::{Agreement, Page, Table};

pub(super) fn overconfident(model: &Measured) -> bool {
    model.overconfidence > SIGNIFICANT * model.overconfidence_error
}

pub(super) fn underconfident(model: &Measured) -> bool {
    -model.overconfidence > SIGNIFICANT * model.overconfidence_error
}

pub(super) fn section(page: &mut Page, all: &[&Measured]) {
    let models = with_errors(all);
    page.heading("f. Over- or underconfident");
    page.table(&table_of_parts(
        &models,
        &[
            Column::new("overconfident", |models| percent(share(models, overconfident))),
            Column::new("underconfident", |models| percent(share(models, underconfident))),
            Column::new("mean confidence less share of right predictions, median", |models| {
                super::decimal(super::median(models, |model| model.overconfidence))
            }),
        ],
    ));
    if let (Some(over), Some(under)) = (share(&models, overconfident), share(&models, underconfident)) {
        page.finding(
            Agreement::Noted,
            &format!(
                "Of the models with independent rows, {} are overconfident and {} underconfident; for the others chance could explain the difference.",
                over.percent(),
                under.percent()
            ),
        );
    }
    page.text(&format!(
        "The gap by confidence, over all models: in each range, the models with at least {LEAST_ROWS_IN_RANGE} rows there, the share of them whose confidence is above the share of right predictions, and the median gap."
    ));
    let mut table = Table::new(["confidence", "models", "confidence too high", "gap, median"]);
    for (place, end) in CONFIDENCE_ENDS.iter().enumerate() {
        let of: Vec<&Measured> =
            all.iter().filter(|model| model.ranges[place].n >= LEAST_ROWS_IN_RANGE).copied().collect();
        let start = if place == 0 { 0.0 } else { CONFIDENCE_ENDS[place - 1] };
        table.row([
            format!("{} to {}", fixed(start, 2), fixed(*end, 2)),
            of.len().to_string(),
            percent(share(&of, |model| model.ranges[place].gap > 0.0)),
            super::decimal(super::median(&of, |model| model.ranges[place].gap)),
        ]);
    }
    page.table(&table);
}
