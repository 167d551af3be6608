//! The figures of the page as JSON: what its script shows, and what programs may read.

use calipers::{Assessment, Estimate};
use serde_json::{Map, Value, json};

use super::figure::Shown;
use crate::gather::{Compared, Figures, Measured, ModelFigures, Outcome, Part, Parts};

/// JSON that may stand inside a script element: no text in it can end that element, or begin a
/// comment.
pub(super) fn json(figures: &Figures, shown: &Shown) -> String {
    let charts: Map<String, Value> = shown.charts.iter().cloned().collect();
    let value = json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "title": figures.title,
        "models": figures.models.iter().map(model).collect::<Vec<Value>>(),
        "pairs": pairs(figures),
        "charts": charts,
    });
    harmless(&value.to_string())
}

/// With what HTML and old scripts would take for more than text written as escapes.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", c as u32)),
            c => text.push(c),
        }
    }
    text
}

fn model(model: &ModelFigures) -> Value {
    json!({
        "name": model.name,
        "n": model.n,
        "from_sketch": model.from_sketch,
        "sigma": model.sigma,
        "mean_probability": model.means.0,
        "outcome_rate": model.means.1,
        "measures": model.measures.iter().map(|found| (found.spec.name.to_owned(), measure(found))).collect::<Map<_, _>>(),
        "classes": model.classes.as_ref().map(parts),
        "groups": model.groups.as_ref().map(parts),
    })
}

fn measure(measure: &Measured) -> Value {
    match &measure.outcome {
        Outcome::Assessed(assessment) => assessed(assessment),
        Outcome::Value(estimate, _) => valued(estimate),
        Outcome::Refused(refusal) => json!({ "value": null, "refused": refusal.to_string() }),
    }
}

fn valued(estimate: &Estimate) -> Value {
    json!({ "value": estimate.value, "numerical_bound": estimate.numerical_bound })
}

fn assessed(assessment: &Assessment) -> Value {
    let mut value = valued(&assessment.estimate);
    value["interval"] = json!([assessment.interval.lower, assessment.interval.upper]);
    value["is_upper_limit"] = assessment.interval.is_upper_limit.into();
    value["floor"] = assessment.floor.as_ref().map_or(
        Value::Null,
        |floor| json!({ "mean": floor.mean, "deviation": floor.deviation, "p_value": floor.p_value }),
    );
    value["debiased"] = assessment.debiased.into();
    value["residual"] = assessment.residual.as_deref().map_or(Value::Null, assessed);
    value["parts"] = assessment.parts.as_ref().map_or(Value::Null, |parts| {
        let part = |part: &calipers::inference::Part| {
            json!({ "value": part.value, "debiased": part.debiased, "interval": [part.interval.lower, part.interval.upper] })
        };
        let named = |(name, found): (&str, Option<&calipers::inference::Part>)| {
            (name.to_owned(), found.map_or(Value::Null, part))
        };
        Value::Object(parts.named().into_iter().map(named).collect())
    });
    value["smoothing"] = assessment.smoothing.into();
    value["sentence"] = assessment.sentence().into();
    value
}

fn parts(parts: &Parts) -> Value {
    let part = |part: &Part| {
        let mut value = match &part.ls_ece {
            Ok(assessment) => assessed(assessment),
            Err(refusal) => json!({ "value": null, "refused": refusal.to_string() }),
        };
        value["name"] = part.name.as_str().into();
        value["n"] = part.n.into();
        value["p_adjusted"] = part.p_adjusted.into();
        value
    };
    json!({ "by": parts.by, "parts": parts.parts.iter().map(part).collect::<Vec<Value>>() })
}

fn pairs(figures: &Figures) -> Value {
    let Some(Compared::Done(comparison)) = &figures.compared else { return Value::Null };
    let pair = |pair: &calipers::Pair| {
        json!({
            "first": comparison.models[pair.first].0,
            "second": comparison.models[pair.second].0,
            "difference": pair.difference,
            "interval": [pair.interval.lower, pair.interval.upper],
            "p_value": pair.p_value,
            "p_adjusted": pair.p_adjusted,
        })
    };
    comparison.pairs.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script_element() {
        let text = harmless(&json!("</script><!-- & \u{2028}").to_string());
        assert_eq!(text, "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!("</script><!-- & \u{2028}"));
    }
}
