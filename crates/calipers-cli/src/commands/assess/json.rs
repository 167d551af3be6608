//! JSON of assessments: every digit and every setting.

use calipers::inference::{Part, Parts};
use calipers::{Assessment, Interval};
use serde_json::{Map, Value, json};

use crate::commands::assess::assessed::{Assessed, AssessedFigure};
use crate::commands::assess::tests_of_calibration::Tested;
use crate::dataset::model::Measured;
use crate::render::json;

pub(crate) fn render(results: &[Measured<Assessed>]) -> String {
    json::all(results.iter().map(result).collect())
}

pub(crate) fn result(measured: &Measured<Assessed>) -> Value {
    let Assessed { n, input, figures, tests } = &measured.figures;
    let figures: Map<String, Value> =
        figures.iter().map(|figure| (figure.name.to_owned(), assessed_or_refused(figure))).collect();
    let mut object = json::result(measured, *n, [("measures", Value::Object(figures))], input);
    if !tests.is_empty() {
        object["tests"] = Value::Object(tests.iter().map(|test| (test.name.to_owned(), tested(test))).collect());
    }
    object
}

fn assessed_or_refused(figure: &AssessedFigure) -> Value {
    let mut object = match (&figure.outcome, &figure.alone) {
        (Ok(assessment), _) => assessed(assessment),
        (Err(reason), Some(estimate)) => {
            let mut object = json::figure(estimate);
            object["unavailable"] = reason.to_string().into();
            object
        }
        (Err(refusal), None) => json!({ "value": null, "refused": refusal.to_string() }),
    };
    if let Some(p) = figure.p_adjusted {
        object["p_adjusted"] = p.into();
        if let Ok(assessment) = &figure.outcome {
            object["sentence"] = assessment.sentence_among_groups(p).into();
        }
    }
    object["definition"] = figure.definition.as_str().into();
    object
}

/// All that is known of a figure.
pub(crate) fn assessed(assessment: &Assessment) -> Value {
    let mut object = json::figure(&assessment.estimate);
    object["floor"] = assessment.floor.as_ref().map_or(Value::Null, json::floor);
    object["unavailable"] = assessment.unavailable.into();
    object["p_value"] = assessment.floor.as_ref().map(|floor| floor.p_value).into();
    object["significant"] = assessment.significant.into();
    object["interval"] = interval(&assessment.interval);
    object["debiased"] = assessment.debiased.into();
    object["debias"] = assessment.debias.name().into();
    object["standard_error"] = assessment.standard_error.into();
    object["bias"] = assessment.bias.into();
    object["residual"] = assessment.residual.as_deref().map_or(Value::Null, assessed);
    object["parts"] = assessment.parts.as_ref().map_or(Value::Null, parts);
    object["smoothing"] = assessment.smoothing.into();
    object["n_clusters"] = assessment.n_clusters.into();
    object["sentence"] = assessment.sentence().into();
    object
}

/// The signed parts by name.
fn parts(parts: &Parts) -> Value {
    let part =
        |part: &Part| json!({ "value": part.value, "debiased": part.debiased, "interval": interval(&part.interval) });
    let named = |(name, found): (&str, Option<&Part>)| (name.to_owned(), found.map_or(Value::Null, part));
    Value::Object(parts.named().into_iter().map(named).collect())
}

pub(crate) fn interval(interval: &Interval) -> Value {
    json!({
        "lower": interval.lower,
        "upper": interval.upper,
        "level": interval.level,
        "method": interval.method.name(),
        "is_upper_limit": interval.is_upper_limit,
    })
}

fn tested(test: &Tested) -> Value {
    let mut object = match &test.outcome {
        Ok(result) => json!({
            "statistic": result.statistic,
            "p_value": result.p_value,
            "degrees_of_freedom": result.degrees_of_freedom,
            "settings": json::settings(&result.settings),
        }),
        Err(refusal) => json!({ "p_value": null, "refused": refusal.to_string() }),
    };
    if let Some(p) = test.p_adjusted {
        object["p_adjusted"] = p.into();
    }
    object
}
