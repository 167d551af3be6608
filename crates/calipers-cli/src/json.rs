//! JSON for programs: every digit and every setting.

use calipers::{Estimate, Form, InputReport, Multiclass, Setting, Settings};
use serde_json::{Value, json};

use crate::measured::{Measured, Method};

pub(crate) fn render(results: &[Measured]) -> String {
    let results: Vec<Value> = results.iter().map(result).collect();
    let all = json!({ "calipers": env!("CARGO_PKG_VERSION"), "results": results });
    format!("{all:#}\n")
}

fn result(measured: &Measured) -> Value {
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
        "method": match measured.method {
            Method::Rows => "rows",
            Method::Sketch => "sketch",
        },
        "n": measured.ls_ece.n,
        "ls_ece": figure(&measured.ls_ece),
        "ece": figure(&measured.ece),
        "input": input(&measured.ls_ece.input),
        "guessed": columns.map_or(&[][..], |columns| &columns.guessed),
    });
    if let Some(group) = &measured.group {
        object["by"] = group.by.clone().into();
        object["group"] = group.key.clone().into();
    }
    object
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
