//! The values of the page as JSON, for its script and for other programs.

use calipers::inference::{Direction, Region};
use calipers::recalibrate::Parameter;
use calipers::{Assessment, Error, Estimate};
use serde_json::{Map, Value, json};

use super::figure::Shown;
use crate::gather::{Compared, Drifted, Measured, ModelValues, Outcome, Part, Parts, Recalibration, Values};

/// JSON that is safe inside a script element: no text in it can end the element or begin a comment.
pub(super) fn json(values: &Values, shown: &Shown) -> String {
    let charts: Map<String, Value> = shown.charts.iter().cloned().collect();
    let value = json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "title": values.title,
        "models": values.models.iter().map(model).collect::<Vec<Value>>(),
        "pairs": pairs(values),
        "drift": values.drifts.iter().map(drift).collect::<Vec<Value>>(),
        "charts": charts,
    });
    harmless(&value.to_string())
}

/// JSON with escapes for the characters that are special in HTML or in old scripts.
pub(super) fn harmless(json: &str) -> String {
    let escape = |c: char| format!("\\u{:04x}", c as u32);
    ['<', '>', '&', '\u{2028}', '\u{2029}'].into_iter().fold(json.to_owned(), |text, c| text.replace(c, &escape(c)))
}

fn model(model: &ModelValues) -> Value {
    json!({
        "name": model.name,
        "n": model.n,
        "from_sketch": model.from_sketch,
        "sigma": model.sigma,
        "mean_probability": model.means.0,
        "outcome_rate": model.means.1,
        "sentence": super::answer::sentence(model),
        "significant": model.finding.significant,
        "p_value": model.finding.p_value,
        "p_adjusted": model.finding.p_adjusted,
        "direction": model.finding.direction.map(Direction::name),
        "region": model.finding.region.map(region),
        "measures": model.measures.iter().map(|found| (found.spec.name.to_owned(), measure(found))).collect::<Map<_, _>>(),
        "recalibration": recalibration(&model.recalibration),
        "classes": model.classes.as_ref().map(parts),
        "groups": model.groups.as_ref().map(parts),
    })
}

fn recalibration(found: &Recalibration) -> Value {
    let found = match found {
        Recalibration::Not(reason) => return json!({ "unavailable": reason }),
        Recalibration::Done(found) => found,
    };
    let parameter = |parameter: &Parameter| {
        let values = json!({ "value": parameter.value, "standard_error": parameter.standard_error });
        (parameter.name.to_owned(), values)
    };
    json!({
        "method": found.method.name(),
        "verdict": found.verdict.name(),
        "sentence": found.sentence,
        "log_loss_before": found.log_loss_before,
        "log_loss_after": found.log_loss_after,
        "gain": found.gain,
        "interval": [found.interval.lower, found.interval.upper],
        "level": found.interval.level,
        "floor": found.floor.map(|floor| {
            json!({ "mean": floor.mean, "deviation": floor.deviation, "p_value": floor.p_value })
        }),
        "parameters": found.parameters.iter().map(parameter).collect::<Map<_, _>>(),
        "top_class_changed": found.top_class_changed,
        "n_folds": found.n_folds,
        "left": found.left.as_ref().map(|left| {
            json!({
                "before": assessed(&left.before),
                "after": assessed(&left.after),
                "change": left.change.difference,
                "interval": [left.change.interval.lower, left.change.interval.upper],
                "p_value": left.change.p_value,
            })
        }),
        "candidates": found.candidates.iter().map(|each| (each.name.clone(), each.log_loss.into())).collect::<Map<_, _>>(),
        "notes": found.notes,
        // What `calipers recalibrate` reads, as it stands in a file.
        "map": serde_json::from_str::<Value>(&found.file).unwrap_or(Value::Null),
    })
}

fn region(region: Region) -> Value {
    json!({
        "side": if region.is_above { "above" } else { "below" },
        "threshold": region.threshold,
        "n": region.n,
        "mean_probability": region.mean_probability,
        "outcome_rate": region.outcome_rate,
    })
}

fn measure(measure: &Measured) -> Value {
    match &measure.outcome {
        Outcome::Assessed(assessment) => assessed(assessment),
        Outcome::Value(estimate, _) => valued(estimate),
        Outcome::Error(error) => failed(error),
    }
}

fn failed(error: &Error) -> Value {
    json!({ "value": null, "error": error.to_string() })
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
            Err(error) => failed(error),
        };
        value["name"] = part.name.as_str().into();
        value["n"] = part.n.into();
        value["p_adjusted"] = part.p_adjusted.into();
        value
    };
    json!({ "by": parts.by, "parts": parts.parts.iter().map(part).collect::<Vec<Value>>() })
}

fn drift(drifted: &Drifted) -> Value {
    let names = json!({ "before": drifted.names[0], "after": drifted.names[1] });
    let change = match &drifted.outcome {
        Ok(changed) => &changed.change,
        Err(error) => return json!({ "names": names, "error": error.to_string() }),
    };
    json!({
        "names": names,
        "sentence": change.sentence(),
        "significant": change.is_significant(),
        "p_value_of_curve": change.curve.p_value,
        "log_odds": change.curve.log_odds,
        "log_odds_interval": [change.curve.interval.lower, change.curve.interval.upper],
        "difference": change.difference,
        "interval": [change.interval.lower, change.interval.upper],
        "p_value": change.p_value,
        "from_outcomes": change.origin.map(|origin| origin.outcomes),
        "from_predictions": change.origin.map(|origin| origin.predictions),
        "before": assessed(&change.before),
        "after": assessed(&change.after),
    })
}

fn pairs(values: &Values) -> Value {
    let Some(Compared::Done(comparison)) = &values.compared else { return Value::Null };
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
