//! The page is complete and safe for any input, and its numbers are those of the core.

use calipers::inference::bands::BandOptions;
use calipers::population::Family;
use calipers::{
    Assess, BinnedEce, Compare, Corp, CumulativeCalibrationError, Input, LsEce, Measure, Multiclass, Predictions,
    Sketch, Ties,
};
use calipers_report::{Compared, Groups, Model, ModelValues, Options, Origin, Report, Source, SweepValues, Values};
use serde_json::Value;

const HOSTILE: &str = "<script>alert(1)</script>\"'--><img src=x onerror=alert(2)>\u{2028}&amp;";

fn rows<'a>(predictions: &'a Predictions<'a>) -> Source<'a> {
    Source::Rows { predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None }
}

fn options() -> Options {
    Options::new().n_resamples(100)
}

/// The JSON of the page.
fn json(html: &str) -> Value {
    let (_, after) = html.split_once("id=\"calipers-data\"").unwrap();
    let (_, after) = after.split_once('>').unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

/// All drawings of a page, and all charts for files, are valid.
fn check_drawings(values: &Values, html: &str) {
    for piece in html.split("<svg").skip(1) {
        // Inner elements have no namespace.
        if !piece.trim_start().starts_with("xmlns") {
            continue;
        }
        assert!(!piece.contains("NaN") && !piece.contains("\"inf"));
    }
    for (name, chart) in values.charts() {
        let svg = chart.to_svg();
        roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            name.ends_with(".svg") && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c)),
            "{name}"
        );
    }
}

#[test]
fn values_are_those_of_the_core() {
    let sample = Family::named("overconfident").unwrap().sample(1500, 3);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let values = Report::new(options()).model(Model::new("m", rows(&predictions))).gather().unwrap();
    let model = &values.models[0];
    let measure = LsEce::new();
    let assessment = Assess::new(&measure).n_resamples(100).run(&view).unwrap();
    assert_eq!(model.measures[0].assessment(), Some(&assessment));
    // The residual form is next. Its parts show the direction of the errors.
    let residual = assessment.residual.as_deref().unwrap();
    assert_eq!((model.measures[1].spec.name, model.measures[1].assessment()), ("residual_ls_ece", Some(residual)));
    let ece = BinnedEce::new();
    assert_eq!(model.measures[2].assessment(), Some(&Assess::new(&ece).n_resamples(100).run(&view).unwrap()));
    let chosen = &model.reliability.smoothed[model.reliability.chosen];
    assert_eq!(chosen.sigma, assessment.estimate.settings.number("sigma").unwrap());
    let at = chosen.curve.probabilities.clone();
    let measure = LsEce::new().sigma(chosen.sigma);
    // Compared as text, since NaN is not equal to itself.
    let written = |value: &dyn std::fmt::Debug| format!("{value:?}");
    assert!(written(&chosen.curve) == written(&measure.curve(&view, &at).unwrap()));
    let band = measure.consistency_band(&view, &at, &BandOptions::new().n_resamples(100)).unwrap();
    assert!(written(&chosen.band) == written(&band));
    assert!(written(&model.reliability.bins) == written(&ece.bins(&view).unwrap()));
    let fit = Corp::new().curve(&view).unwrap();
    for (p, rate) in model.reliability.corp.probabilities.iter().zip(&model.reliability.corp.outcome_rates) {
        assert_eq!(fit.outcome_rates[fit.probabilities.iter().position(|other| other == p).unwrap()], *rate);
    }
    let range = CumulativeCalibrationError::new().estimate(&view).unwrap().value;
    let (low, high) = model
        .spread
        .cumulative
        .curve
        .differences
        .iter()
        .fold((0.0f64, 0.0f64), |(low, high), d| (low.min(*d), high.max(*d)));
    assert!((high - low - range).abs() < 1e-12);
    let html = values.to_html();
    check_drawings(&values, &html);
    let json = json(&html);
    let ls_ece = &json["models"][0]["measures"]["ls_ece"];
    assert_eq!(ls_ece["value"].as_f64(), Some(assessment.estimate.value));
    assert_eq!(ls_ece["smoothing"].as_f64(), assessment.smoothing);
    assert_eq!(ls_ece["residual"]["value"].as_f64(), Some(residual.estimate.value));
    assert_eq!(json["models"][0]["measures"]["residual_ls_ece"], ls_ece["residual"]);
    let overconfident = assessment.parts.as_ref().unwrap().confidence.unwrap().over;
    assert_eq!(ls_ece["parts"]["overconfident"]["debiased"].as_f64(), Some(overconfident.debiased));
    assert!(html.contains("Residual LS-ECE at sigma") && html.contains("<th scope=\"row\">overconfident</th>"));
    assert!(html.contains(&assessment.sentence().replace('<', "&lt;")));
    // The values on hover are those of the core, to four digits.
    let chart = &json["charts"]["smoothed-0"];
    let step = &chart["steps"][model.reliability.chosen];
    // The rows next to 0 and 1 are among the points of the curve.
    let is_end = |row: &&Value| model.reliability.ends.iter().any(|end| row[4].as_u64() == Some(end.n));
    let rows: Vec<&Value> = step.as_array().unwrap().iter().filter(|row| !is_end(row)).collect();
    assert_eq!(rows.len(), at.len());
    for (row, (p, rate)) in rows.into_iter().zip(at.iter().zip(&chosen.curve.outcome_rates)) {
        assert!((row[0].as_f64().unwrap() / p - 1.0).abs() < 1e-3);
        if let Some(shown) = row[1].as_f64() {
            assert!((shown - rate).abs() <= 5.1e-4 * rate.abs());
        }
    }
}

#[test]
fn smoothing_alone_is_no_evidence_of_miscalibration() {
    // For a narrow calibrated model at a large sigma, noise on the logits makes nearly all of
    // LS-ECE.
    let p: Vec<f64> = (0..2000).map(|row| 0.4 + 0.2 * f64::from(row % 200) / 200.0).collect();
    let y: Vec<bool> = (0..2000).map(|row| f64::from(row * 619 % 2000) / 2000.0 < p[row as usize]).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let options = options().ls_ece(LsEce::new().sigma(1.0), 1e-6, std::sync::Arc::new(calipers::link::Logistic));
    let html = Report::new(options).model(Model::new("m", rows(&predictions))).gather().unwrap().to_html();
    assert!(html.contains("No evidence of miscalibration") && html.contains("smoothing alone"), "{html}");
}

#[test]
fn hostile_names_are_text_everywhere() {
    let sample = Family::named("overconfident").unwrap().sample(200, 1);
    let predictions = sample.input().check().unwrap();
    let other = format!("{HOSTILE} two");
    let groups = || Groups::Rows {
        by: HOSTILE.to_owned(),
        keys: vec![HOSTILE.to_owned(), "plain".to_owned()],
        numbers: (0..200).map(|row| row % 2).collect(),
    };
    let origin = Origin {
        files: vec![HOSTILE.to_owned()],
        columns: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
        notes: vec![HOSTILE.to_owned()],
    };
    let model = |name: &str| Model::new(name, rows(&predictions)).groups(groups()).origin(origin.clone());
    let report = Report::new(options()).title(HOSTILE).command(HOSTILE).note(HOSTILE);
    let values = report.model(model(HOSTILE)).model(model(&other)).gather().unwrap();
    let html = values.to_html();
    assert_eq!(html.matches("<script").count(), 2, "the JSON and the script of the page");
    assert!(!html.contains("<img") && !html.contains("--><"));
    assert_eq!(json(&html)["models"][0]["name"], HOSTILE);
    check_drawings(&values, &html);
}

#[test]
fn models_on_the_same_rows_are_compared_and_others_are_not() {
    let sample = Family::named("overconfident").unwrap().sample(400, 1);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let report = || {
        let report = Report::new(options()).model(Model::new("a", rows(&predictions)));
        report.model(Model::new("b", rows(&predictions)))
    };
    let Some(Compared::Done(comparison)) = report().gather().unwrap().compared else { panic!("compared") };
    let measure = LsEce::new();
    assert_eq!(comparison, Compare::new(&measure).n_resamples(100).run(&[("a", &view), ("b", &view)]).unwrap());
    let values = report().unpaired("rows differ").gather().unwrap();
    assert!(matches!(&values.compared, Some(Compared::Not(reason)) if reason == "rows differ"));
    assert!(values.to_html().contains("rows differ"));
}

#[test]
fn a_sketch_makes_the_same_page_except_for_what_needs_rows() {
    let sample = Family::named("overconfident").unwrap().sample(5000, 2);
    let predictions = sample.input().check().unwrap();
    let mut sketch = Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    let by_rows = Report::new(options()).model(Model::new("m", rows(&predictions))).gather().unwrap();
    let by_sketch = Report::new(options()).model(Model::new("m", Source::Sketch(&sketch))).gather().unwrap();
    let (a, b) = (&by_rows.models[0], &by_sketch.models[0]);
    assert!(b.from_sketch && matches!(b.sweep, SweepValues::Parts { .. }));
    let value = |model: &ModelValues| model.measures[0].estimate().unwrap().value;
    assert!((value(a) - value(b)).abs() < 2e-6);
    let (a, b) = (&a.reliability.smoothed[a.reliability.chosen], &b.reliability.smoothed[b.reliability.chosen]);
    for place in 0..a.curve.probabilities.len() {
        // Bands of few rows are as random as their resamples.
        if a.curve.densities[place] > 0.1 && a.rows_nearby[place] >= 50.0 {
            assert!((a.curve.outcome_rates[place] - b.curve.outcome_rates[place]).abs() < 1e-3);
            assert!((a.band.lower[place] - b.band.lower[place]).abs() < 0.05);
        }
    }
    let html = by_sketch.to_html();
    check_drawings(&by_sketch, &html);
    assert!(html.contains("A sketch of the data."));
}

#[test]
fn classes_are_listed_with_the_worst_first() {
    let n = 600;
    let scores: Vec<f64> = (0..n)
        .flat_map(|row| {
            let p = f64::from(row % 100) / 100.0 * 0.6 + 0.2;
            [p, (1.0 - p) * 0.5, (1.0 - p) * 0.5]
        })
        .collect();
    let labels: Vec<u32> = (0..n as u32).map(|row| (row * 7 + row / 100) % 3).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let values = Report::new(options()).model(Model::new("m", rows(&predictions))).gather().unwrap();
    let classes = values.models[0].classes.as_ref().unwrap();
    assert_eq!(classes.parts.len(), 3);
    // Significant classes come first, ordered by value.
    let is_seen = |part: &&calipers_report::Part| part.p_adjusted.is_some_and(|p| p <= 0.05);
    let seen: Vec<_> = classes.parts.iter().take_while(is_seen).collect();
    assert!(seen.windows(2).all(|pair| pair[0].debiased() >= pair[1].debiased()));
    assert_eq!(classes.parts.iter().filter(is_seen).count(), seen.len());
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &LsEce::new()).unwrap().value;
    assert_eq!(classes.mean, Some(mean));
    assert!(values.models[0].question.as_ref().unwrap().contains("the top of 3 classes"));
}

#[test]
fn of_a_thousand_classes_those_with_the_most_evidence_are_listed_on_a_small_page() {
    let (n, k) = (60, 1000);
    // Two classes are predicted with 0.4 each and never occur.
    let probability = |class: usize| if [7, 991].contains(&class) { 0.4 } else { 0.2 / (k - 2) as f64 };
    let scores: Vec<f64> = (0..n).flat_map(|_| (0..k).map(probability)).collect();
    let labels: Vec<u32> = (0..n as u32).map(|row| 100 + 11 * row).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(k).check().unwrap();
    let report = Report::new(Options::new().n_resamples(40)).model(Model::new("m", rows(&predictions)));
    let values = report.gather().unwrap();
    let classes = values.models[0].classes.as_ref().unwrap();
    assert_eq!((classes.parts.len(), classes.n), (300, 1000));
    let mut first = [&classes.parts[0].name, &classes.parts[1].name];
    first.sort();
    assert_eq!(first, ["7", "991"]);
    // The two are far outside what chance does, and the p-values of all classes count.
    let is_seen = |part: &&calipers_report::Part| part.p_adjusted.is_some_and(|p| p <= 0.05);
    assert!(classes.parts.iter().take(2).all(|part| is_seen(&part)));
    assert_eq!(classes.parts.iter().filter(is_seen).count(), classes.n_found);
    let p_values = classes.parts.iter().map(|part| part.ls_ece.as_ref().unwrap().floor.as_ref().unwrap().p_value);
    let smallest = p_values.fold(1.0, f64::min);
    assert_eq!(classes.parts[0].p_adjusted.unwrap().min(1.0), (1000.0 * smallest).min(1.0));
    let html = values.to_html();
    assert!(html.contains("The table lists 300 of 1,000 classes, the worst first."));
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
}

#[test]
fn degenerate_data_have_a_page() {
    let cases: Vec<(Vec<f64>, Vec<u8>)> = vec![
        (vec![0.7], vec![1]),
        (vec![0.5; 100], (0..100).map(|row| row % 2).collect()),
        (vec![0.0, 1.0], vec![0, 1]),
        (vec![0.0, 1.0, 1.0, 0.0], vec![1, 0, 1, 0]),
        (vec![1e-12; 30], vec![0; 30]),
    ];
    for (p, y) in cases {
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let values = Report::new(options()).model(Model::new("m", rows(&predictions))).gather().unwrap();
        let html = values.to_html();
        check_drawings(&values, &html);
        assert!(html.len() < 500_000, "{} rows: {}", p.len(), html.len());
    }
}

#[test]
fn pages_are_small_for_many_rows_and_groups() {
    let sample = Family::named("overconfident").unwrap().sample(30_000, 4);
    let predictions = sample.input().check().unwrap();
    let groups = Groups::Rows {
        by: "group".to_owned(),
        keys: (0..60).map(|key| format!("group {key}")).collect(),
        numbers: (0..30_000).map(|row| row % 60).collect(),
    };
    let model = Model::new("m", rows(&predictions)).groups(groups);
    let values = Report::new(options()).model(model).gather().unwrap();
    assert!(values.models[0].drawn_from_sketch);
    let parts = values.models[0].groups.as_ref().unwrap();
    assert_eq!(parts.parts.iter().filter(|part| part.diagram.is_some()).count(), 24);
    assert_eq!(parts.parts.iter().map(|part| part.n).sum::<u64>(), 30_000);
    let html = values.to_html();
    assert!(html.len() < 700_000, "{}", html.len());
    assert_eq!(html, values.to_html());
}

/// The log-odds of classes do not depend on the link, so a group of all rows has the same values.
#[test]
fn a_group_of_all_rows_has_the_values_of_all() {
    let logits: Vec<f64> = (0..240).flat_map(|row| [0.0, f64::from(row % 17) / 4.0 - 2.0, 0.3]).collect();
    let labels: Vec<u8> = (0..240).map(|row| (row * 7 % 3) as u8).collect();
    for name in ["logistic", "probit", "cloglog"] {
        let link = calipers::link::by_name(name).unwrap();
        let options = options().ls_ece(LsEce::new().link(link.clone()), 1e-6, link);
        let predictions = Input::logits(&logits[..], &labels[..]).classes(3).check().unwrap();
        let groups = Groups::Rows { by: "g".to_owned(), keys: vec!["all".to_owned()], numbers: vec![0; 240] };
        let model = Model::new("m", rows(&predictions)).groups(groups);
        let values = Report::new(options).model(model).gather().unwrap();
        let all = values.models[0].measures[0].estimate().unwrap().value;
        let group = values.models[0].groups.as_ref().unwrap().parts[0].ls_ece.as_ref().unwrap().estimate.value;
        assert!((all - group).abs() < 2e-6, "{name}: {all} {group}");
    }
}

/// A sketch supports fewer measures than rows do, so measures are matched by name.
#[test]
fn measures_of_models_are_joined_by_name() {
    let sample = Family::named("overconfident").unwrap().sample(300, 3);
    let predictions = sample.input().check().unwrap();
    let mut sketch = Sketch::with(&options().sketch(15)).unwrap();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    let of_sketch = || Model::new("cells", Source::Sketch(&sketch));
    let of_rows = || Model::new("rows", rows(&predictions));
    let brier = format!(
        "{:.3}",
        sample
            .input()
            .check()
            .unwrap()
            .binary()
            .map(|view| calipers::BrierScore::new().estimate(&view).unwrap().value)
            .unwrap()
    );
    for models in [[of_sketch(), of_rows()], [of_rows(), of_sketch()]] {
        let report = models.into_iter().fold(Report::new(options()), Report::model);
        let html = report.gather().unwrap().to_html();
        let table = html.split_once("Brier score").unwrap().1.split_once("</tbody>").unwrap().0;
        assert!(table.contains(&brier[..4]), "{table}");
        let alone = html.split_once("Values alone, because resamples need the rows").unwrap().1;
        let alone = alone.split_once("</p>").unwrap().0;
        assert!(alone.contains(&format!("Brier score of cells is {}", &brier[..4])), "{alone}");
    }
}

#[test]
fn a_high_level_has_the_resamples_that_its_bands_need() {
    let predictions = Input::probabilities(&[0.9, 0.6, 0.2, 0.4], &[1, 0, 0, 1]).check().unwrap();
    let options = Options::new().level(0.999).n_resamples(5000);
    assert!(Report::new(options).model(Model::new("m", rows(&predictions))).gather().is_ok());
}
