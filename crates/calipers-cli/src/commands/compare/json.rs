//! JSON of comparisons: every digit and every setting.

use calipers::{Comparison, Pair};
use serde_json::{Map, Value, json};

use crate::commands::assess::json as assess_json;
use crate::commands::compare::Compared;
use crate::render::json;

pub(crate) fn render(compared: &Compared) -> String {
    let Compared { models, names, by_measure } = compared;
    let first = by_measure.first().and_then(|(_, comparison)| comparison.models.first());
    let estimate = first.map(|(_, assessment)| &assessment.estimate);
    let models: Vec<Value> = models
        .iter()
        .zip(names)
        .enumerate()
        .map(|(place, (model, name))| {
            let measures: Map<String, Value> = by_measure
                .iter()
                .map(|(selected, comparison)| {
                    (selected.name().to_owned(), assess_json::assessed(&comparison.models[place].1))
                })
                .collect();
            let n = estimate.map_or(0, |estimate| estimate.n);
            let input = by_measure.first().map(|(_, comparison)| &comparison.models[place].1.estimate.input);
            let figures = [("name", name.as_str().into()), ("measures", Value::Object(measures))];
            json::result(model, n, figures, &input.cloned().unwrap_or_default())
        })
        .collect();
    let comparisons: Map<String, Value> = by_measure
        .iter()
        .map(|(selected, comparison)| (selected.name().to_owned(), compared_models(selected.name(), comparison)))
        .collect();
    json::text(&json!({ "calipers": env!("CARGO_PKG_VERSION"), "models": models, "comparisons": comparisons }))
}

fn compared_models(selected: &str, comparison: &Comparison) -> Value {
    let pair = |pair: &Pair| {
        json!({
            "first": comparison.models[pair.first].0,
            "second": comparison.models[pair.second].0,
            "difference": pair.difference,
            "interval": assess_json::interval(&pair.interval),
            "standard_error": pair.standard_error,
            "p_value": pair.p_value,
            "p_adjusted": pair.p_adjusted,
            "sentence": comparison.pair_sentence(pair),
        })
    };
    // One measure at one sigma for all models.
    let compared_by = comparison.compared.first();
    let of_models = comparison.models.first().map(|(_, model)| model.estimate.measure());
    json!({
        "level": comparison.level,
        "compared_by": {
            "measure": compared_by.map(|estimate| estimate.measure()).filter(|name| Some(*name) != of_models).unwrap_or(selected),
            "sigma": compared_by.and_then(|estimate| estimate.settings.number("sigma")),
        },
        "sentence": comparison.sentence(),
        "pairs": comparison.pairs.iter().map(pair).collect::<Vec<Value>>(),
    })
}
