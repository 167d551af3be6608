//! JSON for programs: every digit and every setting.

use calipers::registry::Entry;
use calipers::{
    Estimate, Extent, Form, InputReport, LsEce, Multiclass, NoiseFloor, Setting, Settings, SmoothEce, Strategy,
    SweepResult, Verdict,
};
use serde_json::{Map, Value, json};

use crate::commands::analysis::floor::Floored;
use crate::commands::analysis::measures::{Answers, Figure, Figures};
use crate::dataset::model::{Measured, Method};

pub(crate) fn render(results: &[Measured<Figures>]) -> String {
    let result = |measured: &Measured<Figures>| {
        let Figures { ls_ece, ece } = &measured.figures;
        let figures = [(LsEce::NAME, floored(ls_ece)), ("ece", floored(ece))];
        result(measured, ls_ece.estimate.n, figures, &ls_ece.estimate.input)
    };
    all(results.iter().map(result).collect())
}

/// Measures by name.
pub(crate) fn render_named(results: &[Measured<Answers>]) -> String {
    let result = |measured: &Measured<Answers>| {
        let Answers { n, input, figures } = &measured.figures;
        let figures: Map<String, Value> =
            figures.iter().map(|figure| (figure.name.to_owned(), figure_or_refusal(figure))).collect();
        result(measured, *n, [("measures", Value::Object(figures))], input)
    };
    all(results.iter().map(result).collect())
}

/// What can be selected for.
pub(crate) fn render_list(entries: &[Entry]) -> String {
    let measure = |entry: &Entry| json!({ "name": entry.spec.name, "definition": entry.spec.definition });
    let measures: Vec<Value> = entries.iter().map(measure).collect();
    text(&json!({ "calipers": env!("CARGO_PKG_VERSION"), "measures": measures }))
}

/// Sweeps.
pub(crate) fn render_swept(results: &[Measured<SweepResult>]) -> String {
    let result = |measured: &Measured<SweepResult>| {
        let swept = &measured.figures;
        let points = || swept.points.iter();
        let strategies: Vec<&str> = match &swept.verdict {
            Verdict::Brittle { strategies } => strategies.iter().map(|strategy| Strategy::name(*strategy)).collect(),
            Verdict::Stable | Verdict::Undecided => Vec::new(),
        };
        let range = |range: Option<Extent>| {
            range.map(|range| json!({ "least": range.least, "greatest": range.greatest, "width": range.width() }))
        };
        let figures = [
            ("verdict", swept.verdict.name().into()),
            ("brittle_with", json!(strategies)),
            ("sentence", swept.sentence().into()),
            ("bins", points().map(|point| point.n_bins).collect()),
            ("ece_uniform", points().map(|point| point.ece_uniform.value).collect()),
            ("ece_quantile", points().map(|point| point.ece_quantile.as_ref().map(|ece| ece.value)).collect()),
            (LsEce::NAME, points().map(|point| point.ls_ece.value).collect()),
            ("ls_ece_bounds", points().map(|point| point.ls_ece.numerical_bound).collect()),
            (SmoothEce::NAME, swept.smooth_ece.as_ref().map_or(Value::Null, figure)),
            (
                "ranges",
                json!({
                    "ece_uniform": range(swept.range_uniform),
                    "ece_quantile": range(swept.range_quantile),
                    (LsEce::NAME): range(swept.range_ls_ece),
                }),
            ),
            (
                "sampling_noise",
                json!({ "ece_uniform": swept.sampling_noise.uniform, "ece_quantile": swept.sampling_noise.quantile }),
            ),
            ("jump", swept.ties.map(|ties| ties.jump).into()),
            ("tied_ece", swept.ties.map(|ties| ties.tied_ece).into()),
            ("n_tied", swept.ties.map(|ties| ties.n_tied).into()),
            ("n_clipped", points().next().map(|point| point.ls_ece.n_clipped).into()),
            ("settings", settings(&swept.settings)),
        ];
        result(measured, swept.n, figures, &swept.input)
    };
    all(results.iter().map(result).collect())
}

pub(crate) fn all(results: Vec<Value>) -> String {
    text(&json!({ "calipers": env!("CARGO_PKG_VERSION"), "results": results }))
}

pub(crate) fn text(all: &Value) -> String {
    format!("{all:#}\n")
}

pub(crate) fn result<F, const N: usize>(
    measured: &Measured<F>,
    n: u64,
    figures: [(&str, Value); N],
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
        "n_classes": columns.map(|columns| columns.n_classes).filter(|n_classes| *n_classes > 1),
        "ties": rules.map(|rules| &rules.ties_name),
        "pos_label": rules.and_then(|rules| rules.positive.as_ref()),
        "sum_tolerance": rules.map(|rules| rules.sum_tolerance),
        "invalid": rules.map(|rules| &rules.invalid_name),
        "limit": rules.map(|rules| rules.limit).filter(|limit| *limit < u64::MAX),
        "method": match measured.method {
            Method::Rows => "rows",
            Method::Sketch => "sketch",
        },
        "n": n,
    });
    for (name, value) in figures {
        object[name] = value;
    }
    object["input"] = input(report);
    object["guessed"] = json!(columns.map_or(&[][..], |columns| &columns.guessed));
    if let Some(group) = &measured.group {
        object["by"] = group.by.clone().into();
        object["group"] = group.key.clone().into();
    }
    object
}

pub(crate) fn figure(estimate: &Estimate) -> Value {
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
        object["per_class"] = estimate.per_class.iter().map(figure).collect();
    }
    object
}

/// A figure with its floor, or why there is none.
fn floored(floored: &Floored) -> Value {
    let mut object = figure(&floored.estimate);
    object["floor"] = floored.floor.as_ref().map_or(Value::Null, floor);
    object["p_value"] = floored.p_value().into();
    if let Some(reason) = &floored.unavailable {
        object["unavailable"] = reason.as_str().into();
    }
    object
}

pub(crate) fn floor(floor: &NoiseFloor) -> Value {
    let [low, median, high] = floor.quantiles;
    json!({
        "mean": floor.mean,
        "deviation": floor.deviation,
        "quantiles": { "0.05": low, "0.5": median, "0.95": high },
        "n_resamples": floor.n_resamples,
        "n_failed": floor.n_failed,
        "random_state": floor.random_state,
    })
}

fn figure_or_refusal(answer: &Figure) -> Value {
    let mut object = match &answer.outcome {
        Ok(figure) => floored(figure),
        Err(refusal) => json!({ "value": null, "refused": refusal.to_string() }),
    };
    object["definition"] = answer.definition.as_str().into();
    object
}

fn multiclass(multiclass: Multiclass) -> Value {
    match multiclass {
        Multiclass::Auto => Value::Null,
        Multiclass::TopClass => "top_class".into(),
        Multiclass::Classwise => "classwise".into(),
        Multiclass::Class(class) => class.into(),
    }
}

pub(crate) fn settings(settings: &Settings) -> Value {
    let value = |setting: &Setting| match setting {
        Setting::Number(number) => (*number).into(),
        Setting::Count(count) => (*count).into(),
        Setting::Text(text) if text == "none" => Value::Null,
        Setting::Text(text) => text.as_str().into(),
    };
    Value::Object(settings.iter().map(|(name, setting)| (name.to_owned(), value(setting))).collect())
}

fn input(report: &InputReport) -> Value {
    json!({
        "n_rows": report.n_rows,
        "left_out": report.left_out,
        "n_rounded": report.n_rounded,
        "n_ties": report.n_ties,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_value_is_said_in_words() {
        let p = [0.25, 0.75];
        let predictions = calipers::Input::probabilities(&p, &[0, 1]).check().unwrap();
        let mut estimate =
            calipers::Measure::estimate(&calipers::BrierScore::new(), &predictions.binary().unwrap()).unwrap();
        assert_eq!(figure(&estimate).get("value_text"), None);
        estimate.value = f64::INFINITY;
        assert_eq!((&figure(&estimate)["value"], &figure(&estimate)["value_text"]), (&Value::Null, &json!("inf")));
    }
}
