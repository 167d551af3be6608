//! JSON for programs: every digit and every setting.

use calipers::{Estimate, Form, InputReport, Multiclass, Setting, Settings};
use serde_json::{Value, json};

use crate::measure::Measured;

pub(crate) fn render(results: &[Measured]) -> String {
    let results: Vec<Value> = results.iter().map(result).collect();
    let all = json!({ "calipers": env!("CARGO_PKG_VERSION"), "results": results });
    format!("{all:#}\n")
}

fn result(measured: &Measured) -> Value {
    let rules = &measured.rules;
    json!({
        "file": measured.file.display().to_string(),
        "prob": measured.prob,
        "label": measured.label,
        "pred": measured.predicted,
        "weight": measured.weight,
        "from_logits": measured.form == Form::Logits,
        "multiclass": multiclass(measured.multiclass),
        "n_classes": (measured.n_classes > 1).then_some(measured.n_classes),
        "ties": rules.ties_name,
        "pos_label": rules.positive,
        "sum_tolerance": rules.sum_tolerance,
        "invalid": rules.invalid_name,
        "n": measured.ls_ece.n,
        "ls_ece": figure(&measured.ls_ece),
        "ece": figure(&measured.ece),
        "input": input(&measured.ls_ece.input),
        "guessed": measured.guessed,
    })
}

fn figure(estimate: &Estimate) -> Value {
    let mut object = json!({
        "value": estimate.value,
        "numerical_bound": estimate.numerical_bound,
        "n_clipped": estimate.n_clipped,
        "settings": settings(&estimate.settings),
    });
    if !estimate.per_class.is_empty() {
        object["per_class"] = estimate.per_class.iter().map(figure).collect();
    }
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

fn settings(settings: &Settings) -> Value {
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
