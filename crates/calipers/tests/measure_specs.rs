//! What measures say of themselves is true: names, options, ranges, and what a sketch answers.

use calipers::measure::{FromSketch, OptionDefault, OptionKind};
use calipers::population::Family;
use calipers::{
    Assess, BinaryView, Error, Estimate, Input, Logistic, Measure, Predictions, Rows, Sample, Setting, Settings,
    Sketch, Spec, TCal, Ties, registry,
};

fn with_rows<T>(n: usize, seed: u64, test: impl FnOnce(&Predictions<'_>) -> T) -> T {
    let sample = Family::named("overconfident").unwrap().sample(n, seed);
    test(&sample.input().check().unwrap())
}

#[test]
fn an_estimate_has_the_name_that_was_asked_for() {
    with_rows(300, 1, |predictions| {
        let view = predictions.binary().unwrap();
        for entry in registry::all() {
            let name = entry.spec.name;
            let measure = registry::make(name, &Settings::default()).unwrap();
            assert_eq!(measure.spec(), entry.spec, "{name}");
            let estimate = measure.estimate(&view).unwrap();
            assert_eq!((estimate.measure(), estimate.spec), (name, entry.spec), "{name}");
            let (least, largest) = estimate.spec.range;
            assert!((least..=largest).contains(&estimate.value), "{name} {}", estimate.value);
        }
    });
}

#[test]
fn a_sketch_answers_what_the_description_says() {
    with_rows(2000, 2, |predictions| {
        let mut sketch = Sketch::new();
        sketch.update(&predictions.binary().unwrap()).unwrap();
        for entry in registry::all() {
            let measure = registry::make(entry.spec.name, &Settings::default()).unwrap();
            let value = sketch.estimate(&*measure).is_ok();
            let resamples = measure.sketch_resampler(&sketch).is_ok();
            let found = match (value, resamples) {
                (false, _) => FromSketch::Nothing,
                (true, true) => FromSketch::Assessment,
                (true, false) if entry.spec.from_sketch == FromSketch::Approximation => FromSketch::Approximation,
                (true, false) => FromSketch::Value,
            };
            assert_eq!(found, entry.spec.from_sketch, "{}", entry.spec.name);
        }
    });
}

#[test]
fn every_option_takes_its_default_and_no_measure_takes_another() {
    for entry in registry::all() {
        for option in entry.spec.options {
            let default = match option.default {
                OptionDefault::None => continue,
                OptionDefault::Auto => Setting::from("auto"),
                OptionDefault::Number(value) => value.into(),
                OptionDefault::Count(value) => value.into(),
                OptionDefault::Text(value) => value.into(),
                _ => panic!("a default that this test does not know"),
            };
            registry::make(entry.spec.name, &Settings::default().with(option.name, default)).unwrap();
            if let OptionKind::Choice(choices) = option.kind {
                for choice in choices {
                    let settings = Settings::default().with(option.name, *choice);
                    registry::make(entry.spec.name, &settings).unwrap();
                }
            }
        }
        let refused = registry::make(entry.spec.name, &Settings::default().with("colour", "red")).err().unwrap();
        assert!(refused.to_string().contains("colour"), "{refused}");
    }
    assert!(registry::make("no_such_measure", &Settings::default()).is_err());
}

#[test]
fn a_class_wise_interval_of_t_cal_may_end_below_zero() {
    // Three classes, calibrated: the squared error is 0 but for noise, which is on either side of
    // it.
    let sample = Family::named("calibrated").unwrap().sample(240, 5);
    let predictions = sample.input().check().unwrap();
    let mut rows = Rows::default();
    predictions.binary().unwrap().read_probabilities(0..240, &Logistic, &mut rows);
    let scores: Vec<f64> = rows.scores.iter().flat_map(|p| [0.5 * (1.0 - p), 0.5 * (1.0 - p), *p]).collect();
    let labels: Vec<u32> =
        rows.outcomes.iter().enumerate().map(|(row, y)| if *y { 2 } else { row as u32 % 2 }).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let found = Assess::new(&TCal::new(5)).n_resamples(200).run(Sample::classes(&predictions, Ties::First)).unwrap();
    assert!(found.interval.lower < 0.0, "{:?}", found.interval);
}

/// A measure of a third party: ten times the mean residual.
struct TenTimes;

const TEN_TIMES: Spec = Spec::error("ten_times", "10 |mean r|");

impl Measure for TenTimes {
    fn spec(&self) -> &'static Spec {
        &TEN_TIMES
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let mut rows = Rows::default();
        view.read_probabilities(0..view.len(), &Logistic, &mut rows);
        let residuals = rows.scores.iter().zip(&rows.outcomes).map(|(p, y)| f64::from(*y) - p);
        Ok(Estimate::new(&TEN_TIMES, 10.0 * residuals.sum::<f64>().abs() / view.len() as f64, 1e-12).of(view))
    }
}

#[test]
fn a_measure_of_a_third_party_may_be_above_one() {
    let p = vec![0.9; 400];
    let y: Vec<bool> = (0..400).map(|row| row % 2 == 0).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let found = Assess::new(&TenTimes).n_resamples(200).run(&predictions.binary().unwrap()).unwrap();
    assert!(
        found.estimate.value > 3.9 && found.interval.lower > 3.0 && found.interval.upper > 4.1,
        "{:?}",
        found.interval
    );
    assert_eq!(found.significant, Some(true));
    assert_eq!(found.estimate.measure(), "ten_times");
}
