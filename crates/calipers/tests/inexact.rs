//! Rows that are valid but not quite right, from the one table that Rust, the command and Python
//! run: every way to read rows accepts the same ones, and counts them alike.

use std::collections::BTreeMap;

use calipers::recalibrate::TemperatureSketch;
use calipers::{
    BinnedEce, Estimate, Input, InputReport, Invalid, LsEce, Measure, Multiclass, Sketch, SketchOptions, Tally, Ties,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    y_true: Vec<i64>,
    y_prob: Vec<Value>,
    options: serde_json::Map<String, Value>,
    n_rounded: u64,
    n_inexact_sums: u64,
    left_out: BTreeMap<String, u64>,
}

fn table() -> Vec<Case> {
    serde_json::from_str(include_str!("../../../fixtures/inexact.json")).unwrap()
}

impl Case {
    fn n_classes(&self) -> usize {
        self.y_prob[0].as_array().map_or(1, Vec::len)
    }

    fn scores(&self) -> Vec<f64> {
        let values = |row: &Value| row.as_array().cloned().unwrap_or_else(|| vec![row.clone()]);
        self.y_prob.iter().flat_map(values).map(|value| value.as_f64().unwrap()).collect()
    }

    fn with_options<'a>(&self, mut input: Input<'a>) -> Input<'a> {
        if let Some(tolerance) = self.options.get("sum_tolerance") {
            input = input.sum_tolerance(tolerance.as_f64().unwrap());
        }
        if let Some(invalid) = self.options.get("invalid") {
            input = input.invalid(invalid.as_str().unwrap().parse::<Invalid>().unwrap());
        }
        input.classes(self.n_classes())
    }

    fn multiclass(&self) -> Multiclass {
        if self.n_classes() > 2 { Multiclass::TopClass } else { Multiclass::Auto }
    }

    fn assert_counted(&self, report: &InputReport, path: &str) {
        let name = &self.name;
        assert_eq!(report.n_rows, self.y_true.len() as u64, "{name}: {path}");
        assert_eq!(report.n_rounded, self.n_rounded, "{name}: {path}");
        assert_eq!(report.n_inexact_sums, self.n_inexact_sums, "{name}: {path}");
        let left_out: BTreeMap<String, u64> =
            report.left_out.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        assert_eq!(left_out, self.left_out, "{name}: {path}");
    }
}

/// The first rows of a case in a sketch, some of them at a time.
fn sketched(case: &Case, input: &Input<'_>, n_rows: usize, rows_at_once: usize) -> Sketch {
    let mut sketch = Sketch::with(&SketchOptions::new().n_bins(&[15])).unwrap();
    for start in (0..n_rows).step_by(rows_at_once) {
        let part = input.rows(start..n_rows.min(start + rows_at_once)).unwrap();
        let batch = part.check_batch(&mut Tally::default()).unwrap();
        sketch.update(&batch.view(case.multiclass(), Ties::First).unwrap()).unwrap();
    }
    sketch
}

#[test]
fn every_way_to_read_rows_counts_them_alike() {
    for case in table() {
        let (scores, labels) = (case.scores(), &case.y_true);
        let input = || case.with_options(Input::probabilities(&scores, labels));
        let predictions = input().check().unwrap();
        case.assert_counted(predictions.report(), "doubles");
        let single: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
        let report = case.with_options(Input::probabilities(&single, labels)).check().unwrap().report().clone();
        case.assert_counted(&report, "single precision");

        let mut tally = Tally::default();
        for row in 0..labels.len() {
            input().rows(row..row + 1).unwrap().check_batch(&mut tally).unwrap();
        }
        case.assert_counted(tally.report(), "row after row");

        let numbers: Vec<u32> = (0..labels.len() as u32).collect();
        let grouped = predictions.by_group(&numbers, labels.len(), case.multiclass(), Ties::First).unwrap();
        let mut report = InputReport::default();
        (0..labels.len()).for_each(|group| report.absorb(grouped.view(group).report()));
        case.assert_counted(&report, "groups");

        let n = labels.len();
        let sketch = sketched(&case, &input(), n, n);
        case.assert_counted(sketch.report(), "sketch");
        assert_eq!(sketched(&case, &input(), n, 1), sketch, "{}", case.name);
        let read = Sketch::from_bytes(&sketch.to_bytes()).unwrap();
        assert_eq!(read, sketch, "{}", case.name);
        case.assert_counted(read.report(), "bytes of a sketch");
        let dense = sketch.to_dense(true).unwrap();
        let mut words = vec![0; sketch.dense_len(true)];
        dense.places.iter().zip(&dense.words).for_each(|(place, word)| words[*place as usize] = *word);
        assert_eq!(sketch.of_dense(&words, dense.score_error, true).unwrap(), sketch, "{}", case.name);
        let mut whole = sketched(&case, &input(), 1, 1);
        let rest = sketch.subtract(&whole).unwrap();
        whole.merge(&rest).unwrap();
        assert_eq!(whole, sketch, "{}", case.name);
    }
}

#[test]
fn the_pass_of_ls_ece_and_the_other_way_agree() {
    let measures: [&dyn Measure; 2] = [&LsEce::new(), &BinnedEce::new()];
    for (case, measure) in table().iter().flat_map(|case| measures.map(|measure| (case, measure))) {
        let scores = case.scores();
        let input = || case.with_options(Input::probabilities(&scores, &case.y_true));
        let quick = input().estimate(case.multiclass(), Ties::First, measure).unwrap();
        let checked = input().check().unwrap().estimate(case.multiclass(), Ties::First, measure).unwrap();
        case.assert_counted(&quick.input, "estimate");
        assert_eq!(bits(&quick), bits(&checked), "{}", case.name);
    }
}

fn bits(estimate: &Estimate) -> (u64, u64, InputReport) {
    (estimate.value.to_bits(), estimate.n_clipped, estimate.input.clone())
}

#[test]
fn probabilities_are_used_as_given() {
    let rows = [0.33, 0.33, 0.33, 0.2, 0.31, 0.5];
    let predictions = Input::probabilities(&rows, &[0, 1]).classes(3).check().unwrap();
    let estimate = BinnedEce::new().n_bins(1).estimate(&predictions.top_class(Ties::First).unwrap()).unwrap();
    // Tops are 0.33, which is right, and 0.5, which is not; divided by their sums they would
    // differ.
    assert!((estimate.value - (0.5 - (0.33 + 0.5) / 2.0)).abs() < 1e-15, "{}", estimate.value);
}

#[test]
fn rows_that_are_too_far_off_are_an_error() {
    for (row, fine) in [([0.32, 0.33, 0.33], true), ([0.31, 0.33, 0.33], false), ([0.35, 0.34, 0.34], false)] {
        let checked = Input::probabilities(&row, &[0]).classes(3).check();
        assert_eq!(checked.as_ref().err().map(|error| error.code()), (!fine).then_some("row_sum"));
    }
}

#[test]
fn old_versions_cannot_hold_inexact_sums() {
    let case = table().into_iter().find(|case| case.n_inexact_sums > 0).unwrap();
    let scores = case.scores();
    let input = case.with_options(Input::probabilities(&scores, &case.y_true));
    let sketch = sketched(&case, &input, case.y_true.len(), 1);
    let text = "version must be at least 4 for the profile, the largest logit and the row sums of the sketch, got 3";
    assert_eq!(sketch.to_bytes_for(3).unwrap_err().to_string(), text);
    assert_eq!(sketch.to_bytes_for(4).unwrap(), sketch.to_bytes());
    assert_eq!(sketch.to_bytes()[8], 4);
    assert_eq!(Sketch::new().to_bytes_for(3).unwrap()[8], 3);
}

#[test]
fn temperature_sketches_count_inexact_sums() {
    let rows = [0.33, 0.33, 0.33, 0.25, 0.25, 0.5];
    let predictions = Input::probabilities(&rows, &[0, 1]).classes(3).check().unwrap();
    let mut sketch = TemperatureSketch::new(3);
    sketch.update(&predictions).unwrap();
    assert_eq!(sketch.report().n_inexact_sums, 1);
    let bytes = sketch.to_bytes();
    assert_eq!(TemperatureSketch::from_bytes(&bytes).unwrap(), sketch);
    assert_eq!(bytes[8], 2);
}
