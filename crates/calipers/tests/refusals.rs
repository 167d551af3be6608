//! Every refusal with its exact text, from the one table that Rust, the command line and Python
//! run.

use std::collections::BTreeSet;

use calipers::recalibrate::Map;
use calipers::{
    Assess, BinaryView, BinnedEce, Compare, Debias, Error, Estimate, Input, IntervalMethod, Invalid, LsEce,
    LsEceSampled, Measure, Monitor, NBins, Sample, Settings, Sigma, Sketch, SketchOptions, Ties, link, noise, registry,
};
use serde::Deserialize;
use serde_json::Value;

const TABLE: &str = include_str!("../../../fixtures/refusals.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    code: String,
    text: String,
    measure: String,
    y_true: Vec<Value>,
    y_prob: Vec<Value>,
    sample_weight: Option<Vec<Value>>,
    options: serde_json::Map<String, Value>,
    surfaces: BTreeSet<String>,
    why_not_all: Option<String>,
}

fn table() -> Vec<Case> {
    serde_json::from_str(TABLE).unwrap()
}

/// A column of numbers and where it has none: `"nan"` and the like are numbers, `null` is missing.
fn numbers(values: &[Value]) -> (Vec<f64>, Vec<bool>) {
    let number = |value: &Value| match value {
        Value::Null => 0.0,
        Value::String(text) => text.parse().unwrap(),
        value => value.as_f64().unwrap(),
    };
    (values.iter().map(number).collect(), values.iter().map(Value::is_null).collect())
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Case {
    fn option(&self, name: &str) -> Option<String> {
        self.options.get(name).map(text_of)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.options.get(name).map(|value| value.as_f64().unwrap())
    }

    fn run(&self) -> Result<Estimate, Error> {
        match self.measure.as_str() {
            "sketch_bytes" => Sketch::from_bytes(self.option("bytes").unwrap().as_bytes())?.estimate(&LsEce::new()),
            "map_json" => match Map::from_json(&self.option("json").unwrap()) {
                Err(error) => Err(error),
                Ok(map) => panic!("{map:?} was read"),
            },
            "monitor_json" => match Monitor::from_json(&self.option("json").unwrap()) {
                Err(error) => Err(error),
                Ok(monitor) => panic!("{monitor:?} was read"),
            },
            "sketch_merge" => {
                let with_clip = |name| Sketch::with(&SketchOptions::new().clip(self.number(name).unwrap()));
                let mut sketch = with_clip("clip")?;
                sketch.merge(&with_clip("other_clip")?)?;
                sketch.estimate(&LsEce::new())
            }
            "sketch_subtract" => {
                let sketch_of = |p: &[f64], labels: &[f64]| {
                    let mut sketch = Sketch::new();
                    sketch.update(&Input::probabilities(p, labels).check()?.binary()?)?;
                    Ok::<_, Error>(sketch)
                };
                let whole = sketch_of(&numbers(&self.y_prob).0, &numbers(&self.y_true).0)?;
                whole.subtract(&sketch_of(&[self.number("other").unwrap()], &[1.0])?)?.estimate(&LsEce::new())
            }
            "compare" => self.run_compare(),
            _ => self.run_measure(),
        }
    }

    /// The first model's figure, where models can be compared.
    fn run_compare(&self) -> Result<Estimate, Error> {
        let labels = numbers(&self.y_true).0;
        let models = self.options["models"].as_object().unwrap();
        let scores: Vec<Vec<f64>> = models.values().map(|column| numbers(column.as_array().unwrap()).0).collect();
        let input = |scores| Input::probabilities(scores, &labels);
        let invalid = self.option("invalid").map_or(Ok(Invalid::Reject), |invalid| invalid.parse())?;
        let checked: Vec<_> =
            scores.iter().map(|scores| input(scores).invalid(invalid).check()).collect::<Result<_, _>>()?;
        let views: Vec<_> = checked.iter().map(|predictions| predictions.binary()).collect::<Result<_, _>>()?;
        let named: Vec<(&str, &BinaryView<'_>)> = models.keys().map(String::as_str).zip(&views).collect();
        let comparison = Compare::new(&LsEce::new()).run(&named)?;
        Ok(comparison.models[0].1.estimate.clone())
    }

    fn assess(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let name = self.option("measure").unwrap_or("ls_ece".into());
        let measure = registry::make(&name, &Settings::default())?;
        let method: Option<IntervalMethod> = self.option("method").map(|method| method.parse()).transpose()?;
        let debias: Debias = self.option("debias").map_or(Ok(Debias::default()), |debias| debias.parse())?;
        let mut assess = Assess::new(&*measure)
            .level(self.number("level").unwrap_or(0.95))
            .n_resamples(self.number("n_resamples").unwrap_or(100.0) as u64)
            .debias(debias);
        if let Some(method) = method {
            assess = assess.method(method);
        }
        let clusters: Vec<u32>;
        let mut sample = Sample::from(view);
        if let Some(Value::Array(numbers)) = self.options.get("cluster") {
            clusters = numbers.iter().map(|number| number.as_u64().unwrap() as u32).collect();
            sample = sample.clusters(&clusters);
        }
        Ok(assess.run(sample)?.estimate)
    }

    fn run_measure(&self) -> Result<Estimate, Error> {
        let n_classes = self.y_prob.first().and_then(Value::as_array).map_or(1, Vec::len);
        let flat: Vec<Value> = match n_classes {
            1 => self.y_prob.clone(),
            _ => self.y_prob.iter().flat_map(|row| row.as_array().unwrap().clone()).collect(),
        };
        let (scores, missing_scores) = numbers(&flat);
        let missing_labels: Vec<bool> = self.y_true.iter().map(Value::is_null).collect();
        let texts: Vec<String> = self.y_true.iter().map(text_of).collect();
        let labels: Vec<f64>;
        let (weights, missing_weights);

        let is_text = self.y_true.iter().any(Value::is_string);
        let mut input = if is_text {
            Input::probabilities(&scores, &texts)
        } else {
            labels = numbers(&self.y_true).0;
            if self.options.get("from_logits") == Some(&Value::Bool(true)) {
                Input::logits(&scores, &labels)
            } else {
                Input::probabilities(&scores, &labels)
            }
        };
        input = input.classes(n_classes);
        let missing_scores = (n_classes == 1).then_some(missing_scores.as_slice());
        input = match &self.sample_weight {
            None => input.missing(missing_scores, Some(&missing_labels), None),
            Some(column) => {
                (weights, missing_weights) = numbers(column);
                input.weights(&weights).missing(missing_scores, Some(&missing_labels), Some(&missing_weights))
            }
        };
        if let Some(label) = self.option("pos_label") {
            input = input.positive(label);
        }
        if let Some(tolerance) = self.number("sum_tolerance") {
            input = input.sum_tolerance(tolerance);
        }
        if let Some(invalid) = self.option("invalid") {
            input = input.invalid(invalid.parse()?);
        }
        let ties: Ties = self.option("ties").map_or(Ok(Ties::First), |ties| ties.parse())?;
        let predictions = input.check()?;
        let view = match self.options.get("multiclass") {
            Some(Value::Number(class)) => predictions.one_class(class.as_u64().unwrap() as usize)?,
            Some(_) => predictions.top_class(ties)?,
            None if n_classes > 2 => predictions.top_class(ties)?,
            None => predictions.binary()?,
        };
        self.measure(&view)
    }

    fn measure(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let sigma: Sigma = self.option("sigma").map_or(Ok(Sigma::Auto), |sigma| sigma.parse())?;
        let noise = noise::by_name(&self.option("noise").unwrap_or("gaussian".into()))?;
        let link = link::by_name(&self.option("link").unwrap_or("logistic".into()))?;
        match self.measure.as_str() {
            "assess" => self.assess(view),
            "ls_ece" => LsEce::new()
                .sigma(sigma)
                .noise(noise)
                .link(link)
                .tolerance(self.number("tolerance").unwrap_or(1e-6))
                .clip(self.number("clip").unwrap_or(1e-6))
                .estimate(view),
            "ls_ece_sampled" => {
                LsEceSampled::new(sigma).n_samples(self.number("n_samples").unwrap_or(1e4) as u64).estimate(view)
            }
            _ => {
                let mut ece = BinnedEce::new();
                if let Some(n_bins) = self.option("n_bins") {
                    ece = ece.n_bins(n_bins.parse::<NBins>()?);
                }
                if let Some(strategy) = self.option("strategy") {
                    ece = ece.strategy(strategy.parse()?);
                }
                if let Some(norm) = self.option("norm") {
                    ece = ece.norm(norm.parse()?);
                }
                if let Some(compat) = self.option("compat") {
                    ece = ece.compat(Some(compat.parse()?));
                }
                ece.estimate(view)
            }
        }
    }
}

#[test]
fn every_refusal_has_its_code_and_exact_text() {
    let mut wrong = Vec::new();
    for case in table().iter().filter(|case| case.surfaces.contains("rust")) {
        let refusal = case.run().expect_err(&case.name);
        if refusal.code() != case.code || refusal.to_string() != case.text {
            wrong.push(format!("{}: {} {refusal}", case.name, refusal.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_refusal_and_no_other() {
    let in_table: BTreeSet<String> = table().iter().map(|case| case.code.clone()).collect();
    let known: BTreeSet<String> = Error::CODES.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(in_table, known);
}

#[test]
fn a_case_that_some_surface_cannot_show_says_why() {
    for case in table() {
        assert_eq!(case.surfaces.len() < 3, case.why_not_all.is_some(), "{}", case.name);
    }
}

#[test]
fn scores_that_are_no_whole_rows_are_refused() {
    let refusal = Input::probabilities(&[0.5, 0.5, 1.0], &[0]).classes(2).check().unwrap_err();
    assert_eq!(refusal.to_string(), "probabilities must have shape (n, k), got 3 values for 2 classes");
}

#[test]
fn labels_of_classes_with_names_are_refused_by_their_text() {
    let texts = ["cat", "dog", "fox", "owl"].map(str::to_owned);
    let scores = [0.2, 0.3, 0.5, 0.5, 0.25, 0.25, 0.2, 0.3, 0.5];
    let input = |labels| Input::probabilities(&scores, labels).classes(3).coded("\"cat\", \"dog\" or \"fox\"", &texts);
    let refusal = input(&[1, 3, 2]).check().unwrap_err();
    assert_eq!(refusal.to_string(), "label in row 1 must be \"cat\", \"dog\" or \"fox\", got owl");
    // No label is the first class, and one is none: these are not classes that count from 1.
    let counted = input(&[1, 3, 2]).invalid(Invalid::Count).check().unwrap();
    assert_eq!(counted.report().left_out.get("invalid label"), Some(&1));
}

#[test]
fn logits_given_as_labels_look_swapped() {
    let refusal = Input::logits(&[1.0, 0.0], &[2.5, -1.25]).check().unwrap_err();
    assert_eq!(refusal.code(), "swapped");
}
