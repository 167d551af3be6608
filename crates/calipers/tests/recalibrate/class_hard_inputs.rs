//! Rows of classes on which fits fail elsewhere, each with its exact error or result.

use std::fs::File;
use std::path::Path;

use calipers::recalibrate::{ClassFormula, ClassMap, CrossFit, Fit, Method, Note, Recalibrate, Verdict};
use calipers::{Error, Form, Input};
use npyz::NpyFile;
use zip::ZipArchive;

const SCALINGS: [Method; 3] = [Method::BiasCorrectedTemperature, Method::Vector, Method::Matrix];

fn fit(options: Recalibrate, scores: &[f64], labels: &[i64]) -> Result<Fit<ClassMap>, Error> {
    options.fit_classes(&Input::logits(scores, labels).classes(3).check()?)
}

fn error(options: Recalibrate, scores: &[f64], labels: &[i64]) -> String {
    fit(options, scores, labels).expect_err("an error").to_string()
}

/// 68 rows in which scores mostly fit the labels.
fn mostly_right() -> (Vec<f64>, Vec<i64>) {
    let scores: Vec<f64> = (0..204).map(|at: i64| ((29 * at) % 17 - 8) as f64 / 4.0).collect();
    let top = |row: &[f64]| (0..3).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap() as i64;
    let labels = scores.chunks(3).enumerate().map(|(at, row)| if at % 4 == 3 { (top(row) + 1) % 3 } else { top(row) });
    (scores.clone(), labels.collect())
}

#[test]
fn one_label_is_rejected() {
    let (scores, _) = mostly_right();
    for method in SCALINGS {
        for ridge in [0.0, 3.0] {
            let text = error(Recalibrate::new(method).ridge(ridge), &scores, &[1; 68]);
            assert_eq!(text, "rows must be of at least two classes, got 68 rows of class 1", "{method:?}");
        }
    }
    let text = error(Recalibrate::new(Method::Platt).one_vs_rest(true), &scores, &[1; 68]);
    assert_eq!(text, "rows must be of at least two classes, got 68 rows of class 1");
}

#[test]
fn an_absent_class_is_recalibrated_like_the_mean_of_the_others() {
    let (scores, labels) = mostly_right();
    let labels: Vec<i64> = labels.iter().map(|label| label % 2).collect();
    for (method, ridges) in SCALINGS.into_iter().zip([&[0.0, 3.0][..], &[3.0], &[3.0]]) {
        for ridge in ridges {
            let found = fit(Recalibrate::new(method).ridge(*ridge), &scores, &labels).unwrap();
            assert!(found.notes.contains(&Note::AbsentClass { class: 2 }), "{:?}", found.notes);
            match &found.map.formula {
                ClassFormula::Vector { scale, bias, .. } => {
                    assert!((scale[2] - 0.5 * (scale[0] + scale[1])).abs() < 1e-15);
                    assert!((bias[2] - 0.5 * (bias[0] + bias[1])).abs() < 1e-15);
                }
                ClassFormula::Matrix { matrix, bias, .. } => {
                    // Off the diagonal, the mean of the column; on it, as much more as the others.
                    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b} of {matrix:?}");
                    near(matrix[6], matrix[3]);
                    near(matrix[7], matrix[1]);
                    let more = 0.5 * (matrix[0] - matrix[3] + matrix[4] - matrix[1]);
                    near(matrix[8], 0.5 * (matrix[2] + matrix[5]) + more);
                    near(bias[2], 0.5 * (bias[0] + bias[1]));
                }
                other => panic!("{other:?}"),
            }
            let p = found.map.apply(&[0.0, 0.0, 5.0], Form::Logits);
            assert!(p[2] > 0.2, "{method:?}: {p:?}");
            let absent = found.parameters.iter().filter(|parameter| parameter.standard_error.is_none()).count();
            assert_eq!(absent, [1, 2, 4][SCALINGS.iter().position(|other| *other == method).unwrap()]);
        }
    }
    let found = fit(Recalibrate::new(Method::Platt).one_vs_rest(true), &scores, &labels).unwrap();
    assert!(found.notes.contains(&Note::KeptClass { class: 2 }));
    assert_eq!(
        Note::KeptClass { class: 2 }.to_string(),
        "No row has class 2: its probability stays, but for the division by the sum."
    );
    let ClassFormula::OneVsRest { maps } = &found.map.formula else { panic!("{:?}", found.map) };
    assert_eq!(maps[2].method, Method::Identity);
}

#[test]
fn separable_rows_need_a_ridge() {
    // Every label has the largest score.
    let scores = [2.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.3, 1.0, 3.0, 1.0, 2.0];
    let labels = [0, 1, 2, 0];
    for method in SCALINGS {
        let text = error(Recalibrate::new(method).ridge(0.0), &scores, &labels);
        let expected = "rows must be with a label that has not the largest score where ridge is 0, since there is no \
                        finite slope else, got 4 rows, and none is";
        assert_eq!(text, expected, "{method:?}");
        if method == Method::BiasCorrectedTemperature {
            // Its ridge is on the biases only.
            assert_eq!(error(Recalibrate::new(method), &scores, &labels), expected);
            continue;
        }
        let found = fit(Recalibrate::new(method), &scores, &labels).unwrap();
        let slope = found.map.slope;
        assert!(slope > 1.0 && slope < 10.0, "{slope}");
        let note = Note::NoFirstSlope { slope };
        assert!(found.notes.contains(&note), "{:?}", found.notes);
        let text = note.to_string();
        assert!(
            text.starts_with("Every label has the largest score, so that no first temperature is best; "),
            "{text}"
        );
        assert!(found.parameters.iter().all(|parameter| parameter.value.abs() < 10.0));
        assert!(found.bound.standard_errors < 1e-8, "{:?}", found.bound);
    }
    // Labels that a bias separates, but no slope alone.
    let scores = [2.0, 1.0, 0.0, 2.0, 1.9, 0.0, 0.0, -0.5, 1.0, 3.0, 0.0, 2.0, 0.0, -2.0, 1.0];
    let labels = [0, 1, 2, 0, 2];
    for method in [Method::Vector, Method::Matrix] {
        let text = error(Recalibrate::new(method).ridge(0.0), &scores, &labels);
        assert!(text.contains("the outcomes are all but separated by the scores, so there is no finite fit"), "{text}");
        assert!(fit(Recalibrate::new(method), &scores, &labels).is_ok());
    }
}

#[test]
fn scores_that_fall_hold_the_first_slope_at_0() {
    let (scores, labels) = mostly_right();
    let scores: Vec<f64> = scores.iter().map(|score| -score).collect();
    let expected =
        "rows must be of scores that rise with the outcome, since the best inverse temperature is 0 else, got ";
    let text = error(Recalibrate::new(Method::BiasCorrectedTemperature), &scores, &labels);
    assert!(text.starts_with(expected), "{text}");
    for method in [Method::Vector, Method::Matrix] {
        let found = fit(Recalibrate::new(method), &scores, &labels).unwrap();
        assert!(found.notes.contains(&Note::HeldAtZero { parameter: "slope" }), "{:?}", found.notes);
        assert_eq!(found.map.slope, 0.0);
        // Nothing is left of the scores, and the biases have the shares of the classes.
        let p = found.map.apply(&scores[..3], Form::Logits);
        assert!((0..3).all(|class| (p[class] - 1.0 / 3.0).abs() < 0.2), "{p:?}");
        assert!(found.log_loss_after < found.log_loss_before);
    }
}

#[test]
fn two_rows_are_enough_with_a_ridge() {
    let scores = [0.5, 0.2, 0.1, 0.3, 0.2, 0.4];
    for method in [Method::Vector, Method::Matrix] {
        let found = fit(Recalibrate::new(method), &scores, &[0, 1]).unwrap();
        assert!(found.notes.contains(&Note::AbsentClass { class: 2 }));
        let note = Note::RareClasses { n_classes: 2, class: 0, n_rows: 1 };
        assert!(found.notes.contains(&note), "{:?}", found.notes);
        assert_eq!(
            note.to_string(),
            "2 classes have fewer than 5 rows, the first of them class 0 with 1 row: the ridge decides most about them."
        );
        let p = found.map.apply(&scores[..3], Form::Logits);
        assert!(p.iter().all(|p| *p > 0.05 && *p < 0.9), "{method:?}: {p:?}");
        assert!(found.effective_parameters < 4.0, "{}", found.effective_parameters);
    }
    let one = Note::RareClasses { n_classes: 1, class: 4, n_rows: 3 };
    assert_eq!(one.to_string(), "Class 4 has 3 rows: the ridge decides most about it.");
}

#[test]
fn probabilities_of_0_and_1_are_clipped_and_counted() {
    let p = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.2, 0.3, 0.5, 0.0, 0.0, 1.0, 0.4, 0.5, 0.1, 0.1, 0.1, 0.8];
    let labels = [0, 0, 2, 2, 1, 1];
    let predictions = Input::probabilities(&p, &labels).classes(3).check().unwrap();
    for method in [SCALINGS[0], SCALINGS[1], SCALINGS[2], Method::EnsembleTemperature] {
        let found = Recalibrate::new(method).fit_classes(&predictions).unwrap();
        assert_eq!(found.n_clipped, 6);
        assert!(found.log_loss_before > 4.0 && found.log_loss_after < 1.3, "{method:?}: {}", found.log_loss_after);
        let after = found.map.apply(&p[..3], Form::Probabilities);
        assert!(after.iter().all(|p| *p > 0.0 && p.is_finite()), "{after:?}");
    }
    for method in [Method::Isotonic, Method::Beta] {
        let found = Recalibrate::new(method).one_vs_rest(true).fit_classes(&predictions).unwrap();
        assert!(found.log_loss_after < 2.0, "{method:?}: {}", found.log_loss_after);
    }
}

#[test]
fn logits_of_a_million_are_fitted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits_naive_bayes.npz");
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let labels: Vec<i64> = NpyFile::new(archive.by_name("labels.npy").unwrap()).unwrap().into_vec().unwrap();
    let scores: Vec<f32> = NpyFile::new(archive.by_name("logits.npy").unwrap()).unwrap().into_vec().unwrap();
    let predictions = Input::logits(&scores, &labels).classes(10).check().unwrap();
    for method in [SCALINGS[0], SCALINGS[1], SCALINGS[2], Method::EnsembleTemperature] {
        let found = Recalibrate::new(method).fit_classes(&predictions).unwrap();
        println!("{method:?}: {} {} {:?}", found.log_loss_before, found.log_loss_after, found.bound);
        assert!((found.log_loss_before - 306_116.0).abs() < 1.0, "{}", found.log_loss_before);
        assert!(found.log_loss_after < 10f64.ln(), "{method:?}: {}", found.log_loss_after);
        assert!(found.bound.standard_errors < 1e-6, "{method:?}: {:?}", found.bound);
    }
    let unpenalised = Recalibrate::new(Method::Vector).ridge(0.0).fit_classes(&predictions);
    if let Err(error) = unpenalised {
        assert!(error.to_string().contains("no finite fit"), "{error}");
    }
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Vector)).n_resamples(99);
    let improvement = cross_fit.run_classes(&predictions).unwrap();
    assert_eq!(improvement.verdict, Verdict::Helps, "{}", improvement.sentence());
    assert!(improvement.gain > 306_000.0 && improvement.floor.unwrap().p_value == 0.01);
}

#[test]
fn very_many_parameters_need_a_ridge() {
    let k = 1100;
    let scores: Vec<f64> = (0..2 * k * k).map(|at| ((at * 7919) % 104_729) as f64 / 1e5).collect();
    let labels: Vec<i64> = (0..2 * k as i64).map(|row| row % k as i64).collect();
    let predictions = Input::logits(&scores, &labels).classes(k).check().unwrap();
    let text = Recalibrate::new(Method::Vector).ridge(0.0).fit_classes(&predictions).unwrap_err().to_string();
    assert_eq!(text, "ridge must be above 0 where there are more than 2000 parameters, got 0 with 2200");
}
