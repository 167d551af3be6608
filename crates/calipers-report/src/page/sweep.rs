//! ECE by number of bins and LS-ECE by sigma.

use calipers::{Estimate, SweepResult, Verdict};

use super::figure::Panel;
use super::table::Table;
use crate::charts;
use crate::gather::{ModelValues, SweepValues, Values};
use crate::number::capitalised;

/// The sweep with its verdict, if there is one.
fn whole(model: &ModelValues) -> Option<&SweepResult> {
    match &model.sweep {
        SweepValues::Whole(result) => Some(result),
        SweepValues::Parts { whole, .. } => whole.as_deref(),
        SweepValues::Error(_) => None,
    }
}

/// The verdict in few words. There is none for rows that depend on each other.
fn headline(model: &ModelValues) -> &'static str {
    match whole(model).filter(|_| !model.clustered).map(|sweep| &sweep.verdict) {
        Some(Verdict::Brittle { .. }) => "ECE is brittle: it depends on the number of bins.",
        Some(_) => "ECE changes no more than LS-ECE does, or than chance explains.",
        None => "",
    }
}

pub(super) fn panels(_: &Values, model: &ModelValues) -> Vec<Panel> {
    let value = |estimate: &Option<Estimate>| estimate.as_ref().map_or(f64::NAN, |estimate| estimate.value);
    let (chart, table) = match &model.sweep {
        SweepValues::Whole(result) => {
            let row = |point: &calipers::SweepPoint| {
                vec![point.n_bins as f64, point.ece_uniform.value, value(&point.ece_quantile), point.ls_ece.value]
            };
            let columns = ["bins, 1/sigma", "ECE, equal width", "ECE, equal mass", "LS-ECE"];
            let table = Table::new(&columns, result.points.iter().map(row));
            (charts::sweep_chart(&[(&model.name, result)]), table)
        }
        SweepValues::Parts { points, .. } => {
            let rows = points.iter().map(|(n_bins, ece, ls)| vec![*n_bins as f64, value(ece), value(ls)]);
            let table = Table::new(&["bins, 1/sigma", "ECE, equal width", "LS-ECE"], rows);
            (charts::sweep_parts(&model.name, &table.rows, whole(model)), table)
        }
        SweepValues::Error(_) => return Vec::new(),
    };
    let sentence =
        whole(model).map_or_else(|| "the sketch is too coarse for a verdict".to_owned(), SweepResult::sentence);
    let sentence = format!("{}.", capitalised(sentence.trim_end_matches('.')));
    let clustered =
        " The part that chance explains assumes independent rows, but rows of a cluster depend on each other.";
    let (headline, explanation) = (headline(model), "LS-ECE is at sigma = 1/bins.");
    let text = format!("{headline} {sentence} {explanation}{}", if model.clustered { clustered } else { "" });
    vec![Panel::new("sweep", charts::low(chart), table, text.trim_start())]
}
