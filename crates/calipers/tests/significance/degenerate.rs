//! Few rows, equal rows and certain rows: finite answers, or a clear refusal.

use calipers::{Assess, Debias, Error, Input, IntervalMethod, LsEce, Measure, Settings, noise, registry};

fn rows() -> Vec<(&'static str, Vec<f64>, Vec<u8>)> {
    vec![
        ("one row", vec![0.7], vec![1]),
        ("one certain row", vec![1.0], vec![1]),
        ("one certain and wrong row", vec![0.0], vec![1]),
        ("two rows", vec![0.2, 0.9], vec![0, 1]),
        ("all equal", vec![0.3; 50], (0..50).map(|k| u8::from(k % 3 == 0)).collect()),
        ("all certain and right", [0.0, 1.0].repeat(30), [0, 1].repeat(30)),
        ("all certain and wrong", [0.0, 1.0].repeat(30), [1, 0].repeat(30)),
        ("one outcome", (0..40).map(|k| f64::from(k) / 40.0).collect(), vec![1; 40]),
    ]
}

#[test]
fn ls_ece_of_degenerate_rows_has_finite_answers() {
    for (name, p, y) in rows() {
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for noise_name in noise::NAMES {
            for measure in [LsEce::new(), LsEce::new().sigma(0.1)] {
                let measure = measure.noise(noise::by_name(noise_name).unwrap()).tolerance(1e-3);
                for method in IntervalMethod::ALL {
                    for debias in Debias::ALL {
                        let assess = Assess::new(&measure).n_resamples(20).method(method).debias(debias);
                        let found = assess.run(&view).unwrap_or_else(|error| panic!("{name} {noise_name}: {error}"));
                        let (interval, floor) = (found.interval, found.floor.unwrap());
                        let numbers = [
                            floor.mean,
                            floor.deviation,
                            floor.p_value,
                            interval.lower,
                            interval.upper,
                            found.debiased,
                            found.standard_error,
                        ];
                        assert!(numbers.iter().all(|number| number.is_finite()), "{name} {noise_name}: {numbers:?}");
                        assert!(0.0 <= interval.lower && interval.lower <= interval.upper && interval.upper <= 1.0);
                        assert!(found.debiased >= 0.0 && 0.0 < floor.p_value && floor.p_value <= 1.0);
                    }
                }
            }
        }
    }
}

#[test]
fn every_listed_measure_has_an_answer_or_a_refusal() {
    for (name, p, y) in rows() {
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for listed in registry::all() {
            let measure = registry::make(listed.spec.name, &Settings::default()).unwrap();
            let Ok(found) = Assess::new(&*measure).n_resamples(20).run(&view) else { continue };
            assert!(found.interval.lower <= found.interval.upper, "{name} {}: {:?}", listed.spec.name, found.interval);
            assert!(found.debiased >= 0.0 && found.floor.unwrap().mean.is_finite(), "{name} {}", listed.spec.name);
        }
    }
}

#[test]
fn what_cannot_be_assessed_is_refused_with_the_reason() {
    let (p, y) = ([0.2, 0.9, 0.4], [0, 1, 1]);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let refusal = |assess: Assess<'_>| assess.run(&view).unwrap_err().to_string();
    let (ls_ece, binned) = (LsEce::new(), calipers::BinnedEce::new());
    assert_eq!(refusal(Assess::new(&ls_ece).level(1.0)), "level must be in [0.5, 1), got 1");
    assert_eq!(refusal(Assess::new(&ls_ece).level(f64::NAN)), "level must be in [0.5, 1), got NaN");
    assert_eq!(
        refusal(Assess::new(&ls_ece).level(0.99).n_resamples(99)),
        "n_resamples must be from 100 to 10000000 at this level, got 99"
    );
    assert_eq!(
        refusal(Assess::new(&binned).method(IntervalMethod::Influence)),
        "method must be normal, percentile or bca for a measure without influence values, got influence"
    );
    assert_eq!(
        "median".parse::<IntervalMethod>().unwrap_err().to_string(),
        r#"method must be "bias-aware", "influence", "normal", "percentile" or "bca", got "median""#
    );
    assert_eq!(
        "none".parse::<Debias>().unwrap_err().to_string(),
        r#"debias must be "local", "mean", "floor" or "bootstrap", got "none""#
    );
    let slope = registry::make("observed_expected", &Settings::default()).unwrap();
    assert_eq!(
        refusal(Assess::new(&*slope)),
        "measure must be one for which a larger value is worse, got observed_expected"
    );
    assert!(matches!(ls_ece.clone().sigma(-1.0).resampler(&view, None), Err(Error::InvalidSetting { .. })));
}
