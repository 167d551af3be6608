//! The section on recalibration: the values of the core, and data that have no verdict.

use calipers::population::Family;
use calipers::recalibrate::{BinaryMap, Choose, CrossFit, Map, Method, Recalibrate, Verdict};
use calipers::{Input, Multiclass, Predictions, Sample, Sketch, Ties};
use calipers_report::{Model, Options, Recalibrated, Recalibration, Report, Source, Values};
use serde_json::Value;

fn options() -> Options {
    Options::new().n_resamples(100)
}

fn rows<'a>(predictions: &'a Predictions<'a>, clusters: Option<&'a [u32]>) -> Source<'a> {
    Source::Rows { predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters }
}

fn report(source: Source<'_>) -> Values {
    Report::new(options()).model(Model::new("m", source)).gather().unwrap()
}

fn found(values: &Values) -> &Recalibrated {
    match &values.models[0].recalibration {
        Recalibration::Done(found) => found,
        Recalibration::Not(reason) => panic!("{reason}"),
    }
}

/// Why there is none, which the page states, too.
fn reason(values: &Values) -> String {
    let Recalibration::Not(reason) = &values.models[0].recalibration else { panic!("there is a verdict") };
    let html = values.to_html();
    assert!(html.contains("Recalibration is not available: "), "{reason}");
    assert_eq!(json(&html)["unavailable"].as_str(), Some(&reason[..]));
    reason.clone()
}

/// The recalibration of the first model, from the JSON of the page.
fn json(html: &str) -> Value {
    let (_, after) = html.split_once("id=\"calipers-data\"").unwrap().1.split_once('>').unwrap();
    let page: Value = serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap();
    page["models"][0]["recalibration"].clone()
}

#[test]
fn values_are_those_of_the_core() {
    let sample = Family::named("overconfident").unwrap().sample(1500, 3);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let values = report(rows(&predictions, None));
    let found = found(&values);
    let choice = Choose::new().n_resamples(100).left(true).run(&view).unwrap();
    let improvement = &choice.improvement;
    assert_eq!((found.method, found.verdict), (choice.chosen, Verdict::Helps));
    assert_eq!((found.gain, found.interval), (improvement.gain, improvement.interval));
    assert_eq!((found.floor, &found.left), (improvement.floor, &improvement.left));
    assert_eq!(found.candidates.len(), choice.table.len());
    let curve = found.curve.as_ref().unwrap();
    for (place, p) in curve.probabilities.iter().enumerate() {
        let band = improvement.fit.band(improvement.fit.map.logit_of(*p), 0.95).unwrap();
        assert_eq!((curve.recalibrated[place], curve.lower[place]), (band.value, band.lower));
        assert!(band.lower <= band.value && band.value <= curve.upper[place]);
    }
    // The curve after is that of rows out of fold, at the sigma of the curve before.
    let outcomes = view_outcomes(&predictions);
    let after = Input::probabilities(&improvement.out_of_fold[..], &outcomes[..]).check().unwrap();
    let sigma = values.models[0].sigma;
    let expected = calipers::LsEce::new().sigma(sigma).curve(&after.binary().unwrap(), &curve.probabilities).unwrap();
    let (shown, near) = found.after.as_ref().unwrap();
    assert_eq!(format!("{:?}", shown.outcome_rates), format!("{:?}", expected.outcome_rates));
    assert_eq!(near.len(), shown.outcome_rates.len());
    let html = values.to_html();
    assert!(html.contains("id=\"recalibration-0\"") && html.contains("Before and after"), "no section");
    let json = json(&html);
    assert_eq!(json["verdict"], "helps");
    assert_eq!(json["gain"].as_f64(), Some(improvement.gain));
    assert_eq!(json["left"]["after"]["value"].as_f64(), Some(found.left.as_ref().unwrap().after.estimate.value));
    // The map of the page is one that can be read and applied.
    let Map::Binary(map) = Map::from_json(&json["map"].to_string()).unwrap() else { panic!("binary") };
    assert_eq!(map, improvement.fit.map);
    let names: Vec<String> = values.charts().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"recalibration_map_1_m.svg".to_owned()), "{names:?}");
}

fn view_outcomes(predictions: &Predictions<'_>) -> Vec<bool> {
    let mut rows = calipers::Rows::default();
    let view = predictions.binary().unwrap();
    view.read(0..view.len(), &mut rows);
    rows.outcomes
}

#[test]
fn calibrated_predictions_are_left_alone() {
    let sample = Family::named("calibrated").unwrap().sample(1000, 5);
    let predictions = sample.input().check().unwrap();
    let values = report(rows(&predictions, None));
    let found = found(&values);
    assert_ne!(found.verdict, Verdict::Helps);
    let html = values.to_html();
    assert!(html.contains(&found.sentence.replace('<', "&lt;")));
    assert_eq!(found.method == Method::Identity, found.curve.is_none());
}

#[test]
fn many_rows_have_beta_calibration_without_a_choice() {
    let sample = Family::named("overconfident").unwrap().sample(30_000, 1);
    let predictions = sample.input().check().unwrap();
    let values = report(rows(&predictions, None));
    let found = found(&values);
    assert!(found.candidates.is_empty() && found.method == Method::Beta);
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Beta)).n_resamples(100).n_folds(2);
    assert_eq!(found.gain, cross_fit.run(&predictions.binary().unwrap()).unwrap().gain);
    assert!(values.to_html().len() < 500_000);
}

#[test]
fn classes_have_a_temperature() {
    let n = 600;
    let scores: Vec<f64> = (0..3 * n).map(|at| f64::from((at * 7919) % 401) / 50.0).collect();
    let label = |row: usize| {
        let row = &scores[3 * row..3 * row + 3];
        (0..3).fold(0, |top, class| if row[class] > row[top] { class } else { top })
    };
    let labels: Vec<u32> = (0..n as usize).map(|row| ((label(row) + usize::from(row % 3 == 0)) % 3) as u32).collect();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let values = report(rows(&predictions, None));
    let found = found(&values);
    let improvement = CrossFit::new(Recalibrate::new(Method::Temperature)).n_resamples(100).run_classes(&predictions);
    assert_eq!(found.gain, improvement.unwrap().gain);
    assert!(found.curve.is_none() && found.after.is_some());
    assert!(matches!(Map::from_json(&found.file).unwrap(), Map::Classes(_)));
    let clusters: Vec<u32> = (0..n as u32).map(|row| row / 20).collect();
    assert!(reason(&report(rows(&predictions, Some(&clusters)))).contains("clusters"));
}

#[test]
fn clusters_are_held_out_together() {
    let sample = Family::named("overconfident").unwrap().sample(1200, 2);
    let predictions = sample.input().check().unwrap();
    let clusters: Vec<u32> = (0..1200).map(|row| row / 10).collect();
    let values = report(rows(&predictions, Some(&clusters)));
    let view = predictions.binary().unwrap();
    let choice = Choose::new().n_resamples(100).run(Sample::from(&view).clusters(&clusters)).unwrap();
    assert_eq!(found(&values).interval, choice.improvement.interval);
}

#[test]
fn what_has_no_verdict_has_a_line_that_says_why() {
    let cases: [(Vec<f64>, Vec<u8>, &str); 4] = [
        (vec![0.7], vec![1], "5 rows or more"),
        (vec![0.2, 0.4, 0.6, 0.8], vec![0, 0, 1, 1], "5 rows or more"),
        ((0..30).map(|row| f64::from(row) / 40.0).collect(), vec![0; 30], "both outcomes"),
        (vec![1e-12; 30], vec![0; 30], "both outcomes"),
    ];
    for (p, y, text) in cases {
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let reason = reason(&report(rows(&predictions, None)));
        assert!(reason.contains(text), "{reason}");
    }
    let sample = Family::named("overconfident").unwrap().sample(500, 2);
    let predictions = sample.input().check().unwrap();
    let mut sketch = Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    assert!(reason(&report(Source::Sketch(&sketch))).contains("a sketch does not have them"));
    let link = calipers::link::by_name("probit").unwrap();
    let probit = options().ls_ece(calipers::LsEce::new().link(link.clone()), 1e-6, link);
    let logits: Vec<f64> = (0..100).map(|row| f64::from(row) / 25.0 - 2.0).collect();
    let labels: Vec<u8> = (0..100).map(|row| u8::from(row * 37 % 100 < row)).collect();
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let values = Report::new(probit).model(Model::new("m", rows(&predictions, None))).gather().unwrap();
    assert!(reason(&values).contains("probit"));
}

#[test]
fn nasty_rows_have_a_page() {
    let cases: [(Vec<f64>, Vec<u8>); 4] = [
        // Five rows of which one has the other outcome.
        (vec![0.1, 0.2, 0.3, 0.4, 0.5], vec![0, 0, 0, 0, 1]),
        // Perfect predictions.
        ((0..100).map(|row| f64::from(row % 2)).collect(), (0..100).map(|row| row % 2).collect()),
        // Predictions of 0 and 1 that are wrong every time.
        ((0..100).map(|row| f64::from(row % 2)).collect(), (0..100).map(|row| 1 - row % 2).collect()),
        (vec![0.5; 60], (0..60).map(|row| row % 2).collect()),
    ];
    for (p, y) in cases {
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let values = report(rows(&predictions, None));
        let html = values.to_html();
        let json = json(&html);
        assert!(json["unavailable"].is_string() || json["sentence"].is_string(), "{json}");
        if let Recalibration::Done(found) = &values.models[0].recalibration {
            assert!(!found.sentence.contains("NaN"), "{}", found.sentence);
            assert!(BinaryMap::from_json(&found.file).is_ok());
        }
        let section = html.split_once("id=\"recalibration-0\"").unwrap().1.split_once("id=\"provenance\"").unwrap().0;
        assert!(!section.contains("NaN") && !section.contains(">inf"), "{section}");
    }
}
