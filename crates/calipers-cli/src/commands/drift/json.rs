//! Changes as JSON.

use calipers::{Adjust, Change};
use serde_json::{Value, json};

use super::{Compared, OfMeasure};
use crate::render::json;

pub(super) fn document(results: &[Compared], adjust: Adjust) -> String {
    json::document([("results", results.iter().map(|compared| result(compared, adjust)).collect())])
}

fn result(compared: &Compared, adjust: Adjust) -> Value {
    let side = |side: usize| {
        let measured = &compared.sides[side];
        let (n, input) = &measured.found;
        json::result(measured, *n, [], input)
    };
    let measures = compared.by_measure.iter().map(|of| (of.name, of_measure(of, adjust)));
    let mut object = json!({ "before": side(0), "after": side(1), "measures": json::by_name(measures) });
    if let Some(group) = &compared.group {
        object["by"] = group.by.to_string().into();
        object["group"] = group.key.clone().into();
        if group.key.is_none() {
            object["groups_only_before"] = json!(compared.only[0]);
            object["groups_only_after"] = json!(compared.only[1]);
        }
    }
    object
}

fn of_measure(of: &OfMeasure, adjust: Adjust) -> Value {
    match &of.change {
        Ok(found) => change(found, of.p_adjusted, adjust),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn change(change: &Change, p_adjusted: Option<f64>, adjust: Adjust) -> Value {
    let sentence = p_adjusted.map_or_else(|| change.sentence(), |p| change.sentence_among_groups(p));
    let mut curve = json!(change.curve);
    curve["odds_ratio"] = change.curve.log_odds.exp().into();
    json!({
        "sentence": sentence,
        "significant": change.is_significant(),
        "p_adjusted": p_adjusted,
        "adjust": p_adjusted.map(|_| adjust.name()),
        "curve": curve,
        "compared_by": change.before.deciding().estimate.measure(),
        "difference": change.difference,
        "interval": change.interval,
        "standard_error": change.standard_error,
        "p_value": change.p_value,
        "origin": change.origin,
        "n_shared_clusters": change.n_shared_clusters,
        "before": json::assessed(&change.before),
        "after": json::assessed(&change.after),
    })
}
