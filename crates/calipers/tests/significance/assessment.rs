//! What an assessment says.

use calipers::inference::{Bootstrap, NoiseFloor};
use calipers::{Assess, BinnedEce, Compare, Debias, Input, Interval, IntervalMethod, Invalid, LsEce, Measure, Sweep};

use crate::data::{Data, Shape};

#[test]
fn the_sentence_names_value_interval_floor_and_verdict() {
    let data = Data::new("overconfident", Shape::Plain, 5000, 1);
    let measure = LsEce::new().sigma(0.3);
    let mut found = data.with(|view| Assess::new(&measure).n_resamples(100).run(view).unwrap());
    found.estimate.value = 0.0312;
    (found.interval.lower, found.interval.upper) = (0.0268, 0.0357);
    let mut floor = found.floor.clone().unwrap();
    (floor.mean, floor.deviation, floor.p_value) = (0.0091, 0.0021, 1.0 / 1001.0);
    found.floor = Some(floor.clone());
    found.smoothing = Some(0.002);
    assert_eq!(
        found.sentence(),
        "LS-ECE is 0.031 (95 % interval 0.027 to 0.036). A perfectly calibrated model would score 0.009 ± 0.002 on the same \
         data, so this model is miscalibrated (p < 0.001)."
    );
    floor.p_value = 0.0042;
    found.floor = Some(floor.clone());
    assert!(found.sentence().ends_with("miscalibrated (p = 0.004)."));
    floor.deviation = 0.00021;
    found.floor = Some(floor.clone());
    assert!(found.sentence().contains("0.0091 ± 0.0002 on the same data"));
    (floor.deviation, floor.p_value) = (0.0021, 0.41);
    (found.significant, found.floor) = (Some(false), Some(floor));
    (found.interval.lower, found.interval.upper, found.interval.is_upper_limit) = (0.0, 0.0212, true);
    found.estimate.value = 0.0094;
    assert_eq!(
        found.sentence(),
        "There is no evidence of miscalibration (p = 0.41). LS-ECE is 0.009; a perfectly calibrated model would score 0.009 ± \
         0.002 on the same data. The true LS-ECE is below 0.021 with 95 % confidence."
    );
    // Among groups, a verdict is that of the adjusted p-value; and an interval from 0 on does not
    // say by how much.
    let mut group = found.clone();
    group.significant = Some(true);
    (group.interval.is_upper_limit, group.floor.as_mut().unwrap().p_value) = (false, 0.012);
    let [alone, among] = [group.sentence(), group.sentence_among_groups(0.24)];
    assert!(
        alone.ends_with("so this model is miscalibrated (p = 0.01). The data do not show by how much at least."),
        "{alone}"
    );
    assert!(
        among.ends_with("(p = 0.01). After adjusting for all groups this is no evidence of miscalibration (p = 0.24)."),
        "{among}"
    );
    // More than half of the value is what noise on the logits makes: then the residual form speaks.
    found.smoothing = Some(0.0052);
    let note = "Sigma 0.30 is large for these predictions: smoothing alone gives 0.005, even to a perfectly calibrated \
                model. The residual form does not have this part, so it decides.";
    assert_eq!(found.smoothing_note().as_deref(), Some(note));
    assert_eq!(found.sentence(), format!("LS-ECE is 0.009. {note} {}", found.deciding().sentence()));
    found.smoothing = Some(0.0046);
    assert_eq!(found.smoothing_note(), None);
    (found.significant, found.floor, found.unavailable) = (None, None, Some("rows of a cluster depend on each other"));
    assert_eq!(
        found.sentence(),
        "LS-ECE is 0.009 (95 % interval 0.000 to 0.021). There is no noise floor: rows of a cluster depend on each other."
    );
}

#[test]
fn an_interval_below_the_value_is_explained() {
    let data = Data::new("calibrated", Shape::Plain, 2000, 1);
    let measure = BinnedEce::new();
    let mut found = data.with(|view| Assess::new(&measure).n_resamples(100).run(view).unwrap());
    (found.estimate.value, found.debiased) = (0.0093, 0.0052);
    (found.interval.lower, found.interval.upper, found.interval.is_upper_limit) = (0.0, 0.0089, true);
    found.significant = Some(false);
    found.floor.as_mut().unwrap().deviation = 0.0004;
    let note = "This limit is below the value of 0.0093 because chance raises the value: without that bias, the value is \
                about 0.0052.";
    assert_eq!(found.bias_note().as_deref(), Some(note));
    let sentence = found.sentence();
    assert!(sentence.ends_with(&format!("is below 0.0089 with 95 % confidence. {note}")), "{sentence}");
    (found.interval.is_upper_limit, found.significant) = (false, Some(true));
    assert!(found.sentence().contains("This interval is below the value of 0.0093 because chance raises the value"));
    // Not where they read the same, or the interval goes beyond the value.
    found.interval.upper = 0.00929;
    assert_eq!(found.bias_note(), None);
    found.interval.upper = 0.0101;
    assert_eq!(found.bias_note(), None);
}

#[test]
fn rows_left_out_are_part_of_every_sentence() {
    let p: Vec<f64> = (0..400).map(|row| if row % 4 == 0 { f64::NAN } else { f64::from(row % 7 + 1) / 8.0 }).collect();
    let labels: Vec<i64> = (0..400).map(|row| i64::from(row % 3 == 0)).collect();
    let predictions = Input::probabilities(&p, &labels).invalid(Invalid::Count).check().unwrap();
    let view = predictions.binary().unwrap();
    let left_out = "100 of 400 rows were left out: 100 probabilities are invalid.";
    let measure = LsEce::new().sigma(0.5);
    let found = Assess::new(&measure).n_resamples(50).run(&view).unwrap();
    for sentence in [found.sentence(), found.sentence_among_groups(0.5)] {
        assert!(sentence.ends_with(&format!(" {left_out}")) && sentence.matches(left_out).count() == 1, "{sentence}");
    }
    assert_eq!(found.sentence(), format!("{} {left_out}", found.conclusion(None)));
    let compared = Compare::new(&measure).n_resamples(50).run(&[("a", &view), ("b", &view)]).unwrap();
    assert_eq!(compared.sentence().lines().last(), Some(left_out));
    let swept = Sweep::new().bins(vec![10, 20]).run(&view).unwrap();
    assert!(swept.sentence().ends_with(&format!(". {left_out}")), "{}", swept.sentence());
}

#[test]
fn fields_are_those_of_the_functions() {
    for shape in [Shape::Plain, Shape::Weighted] {
        let data = Data::new("shifted", shape, 1000, 4);
        let measures: [&dyn Measure; 3] =
            [&LsEce::new().sigma(0.2), &LsEce::new().sigma(0.2).residual(), &BinnedEce::new()];
        for measure in measures {
            data.with(|view| {
                let assess = Assess::new(measure).n_resamples(80).random_state(9).level(0.9);
                let found = assess.run(view).unwrap();
                let value = found.estimate.value;
                assert_eq!(value, measure.estimate(view).unwrap().value);
                let resampler = measure.resampler(view, None).unwrap();
                let mut floor = NoiseFloor::new(&*resampler, 80, 9).unwrap();
                assert!(floor.quantiles[0] <= floor.quantiles[1] && floor.quantiles[1] <= floor.quantiles[2]);
                // Where another measure decides, its p-value and debiased value stand in the place
                // of their own.
                let deciding = found.deciding();
                floor.p_value = deciding.floor.as_ref().unwrap().p_value;
                assert_eq!(found.floor.as_ref(), Some(&floor));
                assert_eq!((found.debiased, found.debias), (deciding.debiased, Debias::Local));
                assert_eq!((found.significant, found.parts), (deciding.significant, deciding.parts));
                let method = IntervalMethod::BiasAware;
                assert!(found.bootstrap.draws.is_empty() && found.bootstrap.bracket == resampler.bracket());
                assert_eq!(found.interval, Interval::new(value, &found.bootstrap, 0.9, method, false).unwrap());
                assert!(found.significant == Some(true) && found.debiased < value && found.debiased > 0.5 * value);
                let wider = Interval::new(value, &found.bootstrap, 0.99, method, false).unwrap();
                assert!(wider.lower < found.interval.lower && wider.upper > found.interval.upper);
                // By draws, where a method or a rule asks for them.
                let bootstrap = Bootstrap::new(&*resampler, 80, 9).unwrap();
                let by_draws = assess.method(IntervalMethod::Normal).debias(Debias::Bootstrap).run(view).unwrap();
                assert_eq!(by_draws.bootstrap.draws, bootstrap.draws);
                assert_eq!(
                    by_draws.interval,
                    Interval::new(value, &by_draws.bootstrap, 0.9, IntervalMethod::Normal, false).unwrap()
                );
                let other = Debias::Bootstrap.apply(value, &floor, &bootstrap);
                assert!((other - (2.0 * bootstrap.value - bootstrap.mean)).abs() < 1e-5, "{other}");
                if found.residual.is_none() {
                    assert_eq!((by_draws.debiased, by_draws.debias), (other, Debias::Bootstrap));
                }
            });
        }
    }
}

#[test]
fn ls_ece_is_decided_by_its_residual_form() {
    let data = Data::new("overconfident", Shape::Plain, 1500, 2);
    let measure = LsEce::new().sigma(0.4);
    let residual = LsEce::new().sigma(0.4).residual();
    data.with(|view| {
        let [found, alone] = [&measure, &residual]
            .map(|measure| Assess::new(measure).n_resamples(60).random_state(3).run(view).unwrap());
        assert_eq!(found.residual.as_deref(), Some(&alone));
        assert!(alone.residual.is_none() && alone.smoothing.is_none() && found.smoothing.is_some());
        assert_eq!(found.deciding(), &alone);
        assert_eq!(found.against(0.02).unwrap(), alone.against(0.02).unwrap());
        // The part that noise on the logits makes is the distance at most.
        let distance = (found.estimate.value - alone.estimate.value).abs();
        assert!(distance <= found.smoothing.unwrap() + 1e-4, "{distance} {:?}", found.smoothing);
    });
}

/// Draws whose distribution is known: BCa with the bias and acceleration of 0 is the percentile
/// interval.
#[test]
fn bca_without_bias_and_acceleration_is_the_percentile_interval() {
    let draws: Vec<f64> = (0..1000).map(|k| (f64::from(k) + 0.5) / 1000.0).collect();
    let mut bootstrap = Bootstrap {
        value: 0.5,
        mean: 0.5,
        deviation: 0.29,
        draws,
        influence_deviation: None,
        bracket: None,
        acceleration: 0.0,
        range: (0.0, 1.0),
        effective_rows: 1e4,
        is_unbiased: false,
        most_bias: f64::INFINITY,
    };
    let interval = |bootstrap: &Bootstrap, method| Interval::new(0.5, bootstrap, 0.9, method, false).unwrap();
    let percentile = interval(&bootstrap, IntervalMethod::Percentile);
    let bca = interval(&bootstrap, IntervalMethod::Bca);
    assert!((percentile.lower - 0.05).abs() < 2e-3 && (percentile.upper - 0.95).abs() < 2e-3);
    assert!((bca.lower - percentile.lower).abs() < 1e-9 && (bca.upper - percentile.upper).abs() < 1e-9);
    // By hand (Efron and Tibshirani 1993, 14.10): z0 = Φ^-1(0.4) = -0.25335, a = 0.1, levels 0.0295
    // and 0.9054 of z = ±1.64485.
    bootstrap.value = 0.4;
    bootstrap.acceleration = 0.1;
    let bca = Interval::new(0.4, &bootstrap, 0.9, IntervalMethod::Bca, false).unwrap();
    let level = |z: f64| {
        let moved: f64 = -0.253_347 + z;
        0.5 * libm::erfc(-(-0.253_347 + moved / (1.0 - 0.1 * moved)) / 2f64.sqrt())
    };
    assert!((bca.lower - level(-1.644_854)).abs() < 2e-3, "{}", bca.lower);
    assert!((bca.upper - level(1.644_854)).abs() < 2e-3, "{}", bca.upper);
}

#[test]
fn the_level_of_an_upper_limit_is_all_on_one_side() {
    let data = Data::new("calibrated", Shape::Plain, 1000, 4);
    data.with(|view| {
        let measure = LsEce::new().sigma(0.2);
        let bootstrap = Bootstrap::new(&*measure.resampler(view, None).unwrap(), 100, 1).unwrap();
        let two_sided = Interval::new(0.02, &bootstrap, 0.9, IntervalMethod::Influence, false).unwrap();
        let limit = Interval::new(0.02, &bootstrap, 0.95, IntervalMethod::Influence, true).unwrap();
        assert!((two_sided.upper - limit.upper).abs() < 1e-12 && limit.lower == 0.0);
    });
}

/// Raw scores are probabilities by the measure's own link.
#[test]
fn outcomes_are_drawn_by_the_link_of_the_measure() {
    let logits: Vec<f64> = (0..2000).map(|k| f64::from(k % 100) / 25.0 - 2.0).collect();
    let probit = |h: f64| 0.5 * libm::erfc(-h / 2f64.sqrt());
    let mut next = crate::data::sequence(5);
    let outcomes: Vec<bool> = logits.iter().map(|h| next() < probit(*h)).collect();
    let predictions = Input::logits(&logits, &outcomes).check().unwrap();
    let view = predictions.binary().unwrap();
    let measures: [&dyn Measure; 2] =
        [&LsEce::new().sigma(0.2).link(calipers::Probit), &BinnedEce::new().link(calipers::Probit)];
    for measure in measures {
        let floor = NoiseFloor::new(&*measure.resampler(&view, None).unwrap(), 200, 1).unwrap();
        assert!(floor.p_value > 0.05, "{}", floor.p_value);
        assert!(floor.mean < 0.03, "{}", floor.mean);
    }
}
