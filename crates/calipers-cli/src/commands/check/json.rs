//! JSON of a gate: every digit and every setting.

use serde_json::{Value, json};

use super::table as check_table;
use crate::commands::assess::json as assess_json;
use crate::commands::check::{Gate, Line};
use crate::render::json;

pub(crate) fn render(gate: &Gate) -> String {
    let checked = |(place, result): (usize, &_)| {
        let mut object: Value = assess_json::result(result);
        for line in gate.lines.iter().filter(|line| line.place == place) {
            object["measures"][line.measure]["check"] = check(line);
        }
        object["name"] = gate.names[place].as_str().into();
        object
    };
    let results: Vec<Value> = gate.results.iter().enumerate().map(checked).collect();
    let all = json!({
        "calipers": env!("CARGO_PKG_VERSION"),
        "verdict": gate.verdict().name(),
        "sentence": check_table::sentence(gate),
        "level": gate.level,
        "strict": gate.strict,
        "results": results,
    });
    json::text(&all)
}

fn check(line: &Line) -> Value {
    let tested = line.tested.as_ref();
    json!({
        "max": line.max,
        "decided_by": tested.map(|tested| tested.assessment.residual.as_ref().map_or(line.measure, |residual| residual.estimate.measure())),
        "above": tested.map(|tested| tested.against.above),
        "p_value": tested.map(|tested| tested.against.p_value),
        "p_adjusted": tested.map(|tested| tested.p_adjusted),
        "verdict": line.verdict.name(),
    })
}
