//! JSON for programs: every digit and every setting.

use calipers::inference::Parts;
use calipers::{Adjust, Assessment, Estimate, Form, InputReport, Multiclass, NoiseFloor, Setting, Settings, Sketch};
use serde_json::{Map, Value, json};

use crate::commands::analysis::answers::{Answer, Answers, Known, WorstGroup};
use crate::commands::analysis::classes::OfClass;
use crate::commands::assess::tests_of_calibration::Tested;
use crate::dataset::groups::By;
use crate::dataset::model::{Measured, Method};
use crate::dataset::sketches::Groups;

/// The output of a command: the version, and then these keys.
pub(crate) fn document<const N: usize>(entries: [(&str, Value); N]) -> String {
    let mut all = json!({ "calipers": env!("CARGO_PKG_VERSION") });
    for (key, value) in entries {
        all[key] = value;
    }
    format!("{all:#}\n")
}

/// The output of `measure` and `assess`.
pub(crate) fn results(results: &[Measured<Answers>]) -> String {
    document([("results", results.iter().map(answers).collect())])
}

/// All measures of one model or group.
pub(crate) fn answers(measured: &Measured<Answers>) -> Value {
    let Answers { n, input, values, tests, classes, empty_groups, adjust, worst, .. } = &measured.found;
    let adjust = *adjust;
    let values = by_name(values.iter().enumerate().map(|(place, value)| {
        let mut object = answer(value, adjust);
        if let Some(worst) = worst.get(place) {
            object["worst_group"] = worst.as_ref().map_or(Value::Null, worst_group);
        }
        (value.name, object)
    }));
    let mut object = result(measured, *n, [("measures", values)], input);
    if !tests.is_empty() {
        object["tests"] = by_name(tests.iter().map(|test| (test.name, tested(test, adjust))));
    }
    if !classes.is_empty() {
        object["by_class"] =
            classes.iter().map(|class| of_class(class, measured.class_name(class.class), adjust)).collect();
    }
    if measured.group.as_ref().is_some_and(|group| group.key.is_none()) {
        object["empty_groups"] = json!(empty_groups);
    }
    object
}

/// One class against the rest. The sentences are of the class alone, before p-values are adjusted.
fn of_class(found: &OfClass, name: Option<&str>, adjust: Adjust) -> Value {
    let value = |answer: &Answer| match &answer.outcome {
        Ok(known) => {
            let mut object = self::known(known);
            object["p_adjusted"] = answer.p_adjusted.into();
            object["adjust"] = adjust.name().into();
            object
        }
        Err(error) => json!({ "value": null, "error": error.to_string() }),
    };
    json!({
        "class": found.class,
        "name": name,
        "n_labels": found.n_labels,
        "mean_probability": found.mean_probability,
        "outcome_rate": found.outcome_rate,
        "measures": by_name(found.values.iter().map(|answer| (answer.name, value(answer)))),
    })
}

pub(crate) fn by_name<'a>(values: impl Iterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(values.map(|(name, value)| (name.to_owned(), value)).collect::<Map<String, Value>>())
}

/// What every result has, and what is special about this one.
pub(crate) fn result<F, const N: usize>(
    measured: &Measured<F>,
    n: u64,
    entries: [(&str, Value); N],
    report: &InputReport,
) -> Value {
    let columns = measured.columns.as_ref();
    let rules = columns.map(|columns| &columns.rules);
    let files: Vec<String> = measured.files.iter().map(|file| file.display().to_string()).collect();
    let mut object = json!({
        "file": if let [file] = &files[..] { json!(file) } else { json!(files) },
        "prob": columns.map(|columns| &columns.prob),
        "label": columns.map(|columns| &columns.label),
        "pred": columns.and_then(|columns| columns.predicted.as_ref()),
        "weight": columns.and_then(|columns| columns.weight.as_ref()),
        "from_logits": columns.map(|columns| columns.form == Form::Logits),
        "multiclass": multiclass(measured.multiclass()),
        "classes": columns.map(|columns| &columns.classes).filter(|classes| !classes.is_empty()),
        "n_classes": columns.map(|columns| columns.n_classes).filter(|n_classes| *n_classes > 1),
        "ties": rules.map(|rules| rules.ties.name()),
        "pos_label": rules.and_then(|rules| rules.pos_label.as_ref()),
        "scale": rules.and_then(|rules| rules.scale),
        "sum_tolerance": rules.map(|rules| rules.sum_tolerance),
        "invalid": rules.map(|rules| rules.invalid.name()),
        "limit": rules.and_then(|rules| rules.limit),
        "method": match measured.method {
            Method::Rows => "rows",
            Method::Sketch => "sketch",
        },
        "n": n,
    });
    for (name, value) in entries {
        object[name] = value;
    }
    object["input"] = input(report);
    object["guessed"] = json!(columns.map_or(&[][..], |columns| &columns.guessed));
    if let Some(group) = &measured.group {
        object["by"] = group.by.to_string().into();
        object["group"] = group.key.clone().into();
        if let Some(key) = &group.key {
            object["keys"] = keys(&group.by, key);
        }
    }
    object
}

/// What happened to the rows that were read.
pub(crate) fn input(report: &InputReport) -> Value {
    json!({
        "n_rows": report.n_rows,
        "n_left_out": report.n_left_out(),
        "left_out": report.left_out,
        "n_rounded": report.n_rounded,
        "n_inexact_sums": report.n_inexact_sums,
        "n_ties": report.n_ties,
    })
}

/// A value with its bound and its settings.
pub(crate) fn estimate(estimate: &Estimate) -> Value {
    let mut object = json!({
        "value": estimate.value,
        "numerical_bound": estimate.numerical_bound,
        "n_clipped": estimate.n_clipped,
        "settings": settings(&estimate.settings),
    });
    if !estimate.value.is_finite() {
        object["value_text"] = estimate.value.to_string().into();
    }
    if !estimate.per_class.is_empty() {
        object["per_class"] = estimate.per_class.iter().map(self::estimate).collect();
    }
    object
}

fn answer(answer: &Answer, adjust: Adjust) -> Value {
    let mut object = match &answer.outcome {
        Ok(known) => self::known(known),
        Err(error) => json!({ "value": null, "error": error.to_string() }),
    };
    if let Some(p) = answer.p_adjusted {
        object["p_adjusted"] = p.into();
        object["adjust"] = adjust.name().into();
        if let Some(assessment) = answer.assessment() {
            object["sentence"] = assessment.sentence_among_groups(p).into();
        }
    }
    object["definition"] = answer.definition.as_str().into();
    object
}

fn known(known: &Known) -> Value {
    let mut object = estimate(&known.estimate);
    object["floor"] = known.floor.as_ref().map_or(Value::Null, floor);
    object["unavailable"] = known.unavailable.as_deref().into();
    object["p_value"] = known.p_value().into();
    object["direction"] = known.direction().into();
    let Some(assessment) = &known.assessment else { return object };
    object["significant"] = assessment.significant.into();
    object["interval"] = json!(assessment.interval);
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

/// All that is known of a value.
pub(crate) fn assessed(assessment: &Assessment) -> Value {
    known(&assessment.clone().into())
}

/// The signed parts by name.
fn parts(parts: &Parts) -> Value {
    by_name(parts.named().into_iter().map(|(name, part)| (name, json!(part))))
}

fn floor(floor: &NoiseFloor) -> Value {
    let [low, median, high] = floor.quantiles;
    json!({
        "mean": floor.mean,
        "deviation": floor.deviation,
        "quantiles": { "0.05": low, "0.5": median, "0.95": high },
        "n_resamples": floor.n_resamples,
        "n_draws": floor.n_draws,
        "n_failed": floor.n_failed,
        "random_state": floor.random_state,
    })
}

fn tested(test: &Tested, adjust: Adjust) -> Value {
    let mut object = match &test.outcome {
        Ok(result) => json!({
            "statistic": result.statistic,
            "p_value": result.p_value,
            "degrees_of_freedom": result.degrees_of_freedom,
            "settings": settings(&result.settings),
        }),
        Err(error) => json!({ "p_value": null, "error": error.to_string() }),
    };
    if let Some(p) = test.p_adjusted {
        object["p_adjusted"] = p.into();
        object["adjust"] = adjust.name().into();
    }
    object
}

/// The worst of all groups.
fn worst_group(WorstGroup { key, found }: &WorstGroup) -> Value {
    json!({
        "group": key,
        "statistic": found.statistic,
        "p_value": found.p_value,
        "n_groups": found.n_segments,
        "n_resamples": found.n_resamples,
    })
}

/// The groups of a file of sketches.
pub(crate) fn groups(groups: Option<&Groups>) -> Value {
    let of_group = |by: &By, group: &String, sketch: &Sketch| {
        let (n, n_left_out) = (sketch.n(), sketch.report().n_left_out());
        json!({ "group": group, "keys": keys(by, group), "n": n, "n_left_out": n_left_out })
    };
    let of_groups = |groups: &Groups| -> Vec<Value> {
        groups.sketches.iter().map(|(group, sketch)| of_group(&groups.by, group, sketch)).collect()
    };
    groups.map(of_groups).into()
}

/// The value of each column in the key of a group.
fn keys(by: &By, key: &str) -> Value {
    by_name(by.names().iter().map(String::as_str).zip(by.values(key).into_iter().map(Value::from)))
}

fn multiclass(multiclass: Multiclass) -> Value {
    match multiclass {
        Multiclass::Auto => Value::Null,
        Multiclass::Class(class) => class.into(),
        named => named.to_string().into(),
    }
}

pub(crate) fn settings(settings: &Settings) -> Value {
    let value = |setting: &Setting| match setting {
        Setting::Number(number) => (*number).into(),
        Setting::Count(count) => (*count).into(),
        Setting::Text(text) if text == "none" => Value::Null,
        Setting::Text(text) => text.as_str().into(),
    };
    by_name(settings.iter().map(|(name, setting)| (name, value(setting))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_value_is_written_as_text() {
        let p = [0.25, 0.75];
        let predictions = calipers::Input::probabilities(&p, &[0, 1]).check().unwrap();
        let mut found =
            calipers::Measure::estimate(&calipers::BrierScore::new(), &predictions.binary().unwrap()).unwrap();
        assert_eq!(estimate(&found).get("value_text"), None);
        found.value = f64::INFINITY;
        assert_eq!((&estimate(&found)["value"], &estimate(&found)["value_text"]), (&Value::Null, &json!("inf")));
    }
}
