//! A model against an earlier sample: the values are those of the core, and the page shows them.

use calipers::population::Family;
use calipers::{Drift, Error, LsEce, Multiclass, Predictions, Sketch, Ties};
use calipers_report::{Model, Options, Report, Source};

fn rows<'a>(predictions: &'a Predictions<'a>) -> Source<'a> {
    Source::Rows { predictions, multiclass: Multiclass::Auto, ties: Ties::First, clusters: None }
}

#[test]
fn the_section_has_what_drift_finds() {
    let [before, after] = [("calibrated", 1), ("overconfident", 2)]
        .map(|(family, seed)| Family::named(family).unwrap().sample(1500, seed));
    let (before, after) = (before.input().check().unwrap(), after.input().check().unwrap());
    let report = Report::new(Options::new().n_resamples(100)).model(Model::new("this week", rows(&after)));
    let values = report.against(Model::new("last <week>", rows(&before))).gather().unwrap();
    let changed = values.drifts[0].outcome.as_ref().unwrap();
    let measure = LsEce::new();
    let expected = Drift::new(&measure).n_resamples(100).run(&before.binary().unwrap(), &after.binary().unwrap());
    assert_eq!(changed.change, expected.unwrap());
    let sigma = changed.change.before.estimate.settings.number("sigma").unwrap();
    assert!(changed.curves.iter().all(|curve| curve.sigma == sigma));
    // The band is where the curve would be with the rates of both samples, so it holds those.
    let curve = &changed.curves[1];
    let inside = |place: usize| {
        let rate = changed.change.common.at(curve.curve.probabilities[place]);
        (curve.band.lower[place] - 0.02..=curve.band.upper[place] + 0.02).contains(&rate)
    };
    let seen = || (0..curve.rows_nearby.len()).filter(|place| curve.rows_nearby[*place] > 20.0);
    assert!(seen().count() > 40 && seen().all(inside));
    let html = values.to_html();
    assert!(html.contains("Has it changed?") && html.contains("Outcomes at equal predictions have changed since"));
    assert!(html.contains("last &lt;week&gt;") && !html.contains("last <week>"));
    assert!(html.contains("of it from predictions"));
    assert!(values.charts().iter().any(|(name, _)| name == "drift_1_this_week.svg"));
}

#[test]
fn a_sketch_is_a_sample_and_each_model_needs_one() {
    let sample = Family::named("calibrated").unwrap().sample(800, 3);
    let predictions = sample.input().check().unwrap();
    let mut sketch = Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    let report = || Report::new(Options::new().n_resamples(60)).model(Model::new("a", rows(&predictions)));
    let values = report().against(Model::new("before", Source::Sketch(&sketch))).gather().unwrap();
    assert!(values.to_html().contains("There is no evidence that outcomes at equal predictions have changed since"));
    let two =
        report().model(Model::new("b", rows(&predictions))).against(Model::new("before", Source::Sketch(&sketch)));
    let error = two.gather().err().unwrap();
    assert!(matches!(error, Error::InvalidSetting { name: "against", .. }), "{error}");
    assert!(!report().gather().unwrap().to_html().contains("Has it changed?"));
}
