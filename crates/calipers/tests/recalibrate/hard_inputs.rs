//! Inputs on which fits fail elsewhere, each with its exact error or result.

use calipers::recalibrate::{BinaryMap, Fit, Method, Note, Recalibrate};
use calipers::{Error, Input};

fn fit(options: &Recalibrate, logits: &[f64], labels: &[u8]) -> Result<Fit<BinaryMap>, Error> {
    options.fit(&Input::logits(logits, labels).check()?.binary()?)
}

fn error(options: Recalibrate, logits: &[f64], labels: &[u8]) -> String {
    fit(&options, logits, labels).expect_err("an error").to_string()
}

const FITTED: [Method; 9] = [
    Method::Shift,
    Method::Temperature,
    Method::Platt,
    Method::Beta,
    Method::Spline,
    Method::Isotonic,
    Method::CentredIsotonic,
    Method::VennAbers,
    Method::Bins,
];

#[test]
fn one_outcome_is_rejected() {
    for method in FITTED {
        let text = error(Recalibrate::new(method), &[0.5, 1.0, -1.0], &[0, 0, 0]);
        assert_eq!(text, "rows must be of both outcomes, got 3 rows of outcome 0", "{method:?}");
        let text = error(Recalibrate::new(method), &[0.5, 1.0], &[1, 1]);
        assert_eq!(text, "rows must be of both outcomes, got 2 rows of outcome 1", "{method:?}");
    }
    assert!(fit(&Recalibrate::new(Method::Identity), &[0.5], &[1]).is_ok());
}

#[test]
fn separable_rows_need_a_ridge() {
    let (logits, labels) = ([-2.0, -1.0, 1.0, 1.5], [0, 0, 1, 1]);
    for method in [Method::Platt, Method::Beta] {
        let text = error(Recalibrate::new(method).ridge(0.0), &logits, &labels);
        let expected = "rows must be of outcomes whose scores overlap where ridge is 0, since there is no finite slope \
                        else, got outcome 0 up to logit -1 and outcome 1 from 1";
        assert_eq!(text, expected, "{method:?}");
        let found = fit(&Recalibrate::new(method), &logits, &labels).unwrap();
        assert!(found.map.parameters.iter().all(|value| value.abs() < 10.0), "{:?}", found.map);
        assert!(found.bound.standard_errors < 1e-9);
    }
    let text = error(Recalibrate::new(Method::Temperature), &logits, &labels);
    let expected = "rows must be with a score on the wrong side of 0 where ridge is 0, since there is no finite slope \
                    else, got 4 rows, and none is";
    assert_eq!(text, expected);
    assert!(fit(&Recalibrate::new(Method::Temperature).ridge(1.0), &logits, &labels).is_ok());
    // One tie at the border is separable, too.
    let text = error(Recalibrate::new(Method::Platt).ridge(0.0), &[-2.0, 1.0, 1.0, 1.5], &[0, 0, 1, 1]);
    assert!(text.ends_with("got outcome 0 up to logit 1 and outcome 1 from 1"), "{text}");
}

#[test]
fn few_different_scores_need_a_ridge() {
    let text = error(Recalibrate::new(Method::Platt).ridge(0.0), &[1.0, 1.0], &[0, 1]);
    assert_eq!(text, "rows must be of at least 2 different scores where ridge is 0, got 1");
    let text = error(Recalibrate::new(Method::Beta).ridge(0.0), &[1.0, 2.0, 1.0, 2.0], &[0, 1, 1, 0]);
    assert_eq!(text, "rows must be of at least 3 different scores where ridge is 0, got 2");
    for method in FITTED {
        let found = fit(&Recalibrate::new(method), &[1.0, 1.0, 1.0], &[0, 1, 1]).unwrap();
        assert!(found.notes.contains(&Note::FewScores { n_scores: 1 }), "{method:?}");
        assert_eq!(
            Note::FewScores { n_scores: 1 }.to_string(),
            "The number of different scores is 1: the map is known there, and a guess between them."
        );
    }
}

#[test]
fn scores_that_fall_have_no_temperature_and_hold_slopes_at_0() {
    let (logits, labels) = ([-2.0, -1.0, 1.0, 2.0, -0.5, 0.5], [1, 1, 0, 0, 0, 1]);
    let text = error(Recalibrate::new(Method::Temperature), &logits, &labels);
    let expected = "rows must be of scores that rise with the outcome, since the best inverse temperature is 0 else, \
                    got a mean logit of -0.8333333333333334 toward the outcome";
    assert_eq!(text, expected);
    for (method, held) in [(Method::Platt, vec!["slope"]), (Method::Beta, vec!["a", "b"])] {
        let found = fit(&Recalibrate::new(method).ridge(0.0), &logits, &labels).unwrap();
        for name in held {
            assert_eq!(found.parameter(name), Some(0.0), "{method:?}");
            let note = Note::HeldAtZero { parameter: name };
            assert!(found.notes.contains(&note), "{:?}", found.notes);
            assert_eq!(
                note.to_string(),
                format!("{name} is held at 0: the scores fall there where they should rise with the outcome.")
            );
        }
        assert!((found.map.apply(3.0) - 0.5).abs() < 1e-14 && !found.map.keeps_ranks());
    }
}

#[test]
fn two_rows_are_enough_for_every_default() {
    for method in FITTED {
        let found = fit(&Recalibrate::new(method), &[0.5, 0.2], &[1, 0]);
        if method == Method::Temperature {
            let found = found.unwrap();
            assert!(found.map.parameters[0] > 0.0);
            continue;
        }
        let found = found.unwrap();
        let note = found.notes.iter().find(|note| matches!(note, Note::FewEvents { .. })).expect("a note");
        assert!(note.to_string().starts_with("Few rows of the rarer outcome (1): "), "{note}");
        let p = [found.map.apply(0.2), found.map.apply(0.5)];
        assert!(0.0 < p[0] && p[0] <= p[1] && p[1] < 1.0, "{method:?}: {p:?}");
    }
}

#[test]
fn probabilities_of_0_and_1_are_clipped_counted_and_named() {
    let p = [0.0, 0.2, 1.0, 0.9, 1.0, 0.4, 0.0];
    let labels = [0, 1, 1, 1, 0, 0, 1];
    for method in FITTED {
        let predictions = Input::probabilities(&p, &labels).check().unwrap();
        let found = Recalibrate::new(method).fit(&predictions.binary().unwrap()).unwrap();
        assert_eq!(found.n_clipped, 4);
        let note = Note::Contradicted { n_rows: 2, row: 4, clip: 1e-12 };
        assert!(found.notes.contains(&note), "{method:?}: {:?}", found.notes);
        assert_eq!(
            note.to_string(),
            "2 rows have probability 0 of what happened, the first in row 4; they are clipped to 1e-12."
        );
        assert!(found.log_loss_after.is_finite() && found.map.apply_probability(0.0) >= 0.0);
    }
}

#[test]
fn logits_of_a_million_are_fitted() {
    // 0.9 of the rows are right, all with probabilities that are 0 or 1 in doubles.
    let logits: Vec<f64> =
        (0..1000).map(|i| if i % 2 == 0 { 1e6 } else { -1e6 } * (1.0 + f64::from(i) / 1e3)).collect();
    let labels: Vec<u8> = (0..1000).map(|i| u8::from((i % 2 == 0) != (i % 10 == 3 || i % 10 == 8))).collect();
    for (method, ridge) in [
        (Method::Temperature, 0.0),
        (Method::Platt, 0.0),
        (Method::Platt, 2.0),
        (Method::Beta, 0.0),
        (Method::Beta, 2.0),
        (Method::Spline, 2.0),
    ] {
        let found = fit(&Recalibrate::new(method).ridge(ridge), &logits, &labels).unwrap();
        assert!(found.log_loss_before > 1e5, "{}", found.log_loss_before);
        assert!(found.log_loss_after < std::f64::consts::LN_2, "{method:?}: {}", found.log_loss_after);
        assert!(found.bound.standard_errors < 1e-7, "{method:?}: {:?}", found.bound);
    }
    let slope = fit(&Recalibrate::new(Method::Temperature), &logits, &labels).unwrap().map.parameters[0];
    assert!((1e-7..1e-5).contains(&slope), "{slope}");
}

#[test]
fn options_out_of_range_are_rejected() {
    let text = |options: Recalibrate| error(options, &[1.0, -1.0], &[1, 0]);
    assert_eq!(text(Recalibrate::default().ridge(-1.0)), "ridge must be finite and not negative, got -1");
    assert_eq!(text(Recalibrate::default().ridge(f64::NAN)), "ridge must be finite and not negative, got NaN");
    assert_eq!(text(Recalibrate::default().mixture(1.0)), "mixture must be in [0, 1), got 1");
    assert_eq!(text(Recalibrate::default().clip(0.5)), "clip must be above 0 and below 1/2, got 0.5");
    let unknown = "sigmoid".parse::<Method>().unwrap_err().to_string();
    assert!(unknown.starts_with("method must be \"identity\", \"shift\""), "{unknown}");
}
