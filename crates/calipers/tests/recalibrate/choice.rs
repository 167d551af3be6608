//! The choice of a method, what is left after recalibration, and maps on held-out rows.

use calipers::population::{Family, Truth};
use calipers::recalibrate::{
    BinaryMap, Choice, Choose, CrossFit, Decompose, HeldOut, Improvement, Method, Recalibrate, Verdict,
};
use calipers::{Assess, Input, LsEce, ProperScore, Sample};

use crate::fixtures::{binary, classes};
use crate::verdict::{Law, affine, draw, improve};

const WIDE: Law = Law::Normal(0.0, 1.5);

fn choose(choose: &Choose, logits: &[f64], labels: &[bool]) -> Choice {
    let predictions = Input::logits(logits, labels).check().unwrap();
    choose.run(&predictions.binary().unwrap()).unwrap()
}

/// -ln p of the outcome.
fn log_loss(p: f64, outcome: bool) -> f64 {
    -if outcome { p } else { 1.0 - p }.ln()
}

#[test]
fn out_of_fold_probabilities_have_the_loss_that_is_reported() {
    for method in Method::ALL.into_iter().filter(|method| !method.is_of_classes()) {
        let (logits, labels) = draw(WIDE, &affine(0.6, 0.2), 300, 4);
        let found = improve(&CrossFit::new(Recalibrate::new(method)).n_resamples(0), &logits, &labels);
        let Improvement { out_of_fold, log_loss_after, .. } = &found;
        assert_eq!(out_of_fold.len(), 300);
        let loss = out_of_fold.iter().zip(&labels).map(|(p, y)| log_loss(*p, *y)).sum::<f64>() / 300.0;
        assert!((loss - log_loss_after).abs() < 1e-12, "{method:?}: {loss} {log_loss_after}");
    }
}

#[test]
fn rows_without_weight_are_recalibrated_by_the_map_of_all_others() {
    let (logits, labels) = draw(WIDE, &affine(0.6, 0.2), 200, 4);
    let weights: Vec<f64> = (0..200).map(|i| f64::from(u8::from(i % 4 > 0))).collect();
    let predictions = Input::logits(&logits, &labels).weights(&weights).check().unwrap();
    let found = CrossFit::new(Recalibrate::new(Method::Platt)).n_resamples(0).run(&predictions.binary().unwrap());
    let found = found.unwrap();
    for (i, p) in found.out_of_fold.iter().enumerate() {
        let of_all = found.fit.map.apply(logits[i]);
        assert!(p.is_finite() && (p - of_all).abs() < 0.1);
        assert!(weights[i] > 0.0 || *p == of_all, "row {i}");
    }
}

#[test]
fn what_is_left_is_ls_ece_at_one_sigma() {
    let (logits, labels) = draw(WIDE, &affine(0.4, 0.0), 1500, 2);
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Temperature)).n_resamples(99).left(true);
    let found = improve(&cross_fit, &logits, &labels);
    let left = found.left.as_ref().unwrap();
    let sigma = |assessment: &calipers::Assessment| assessment.estimate.settings.number("sigma").unwrap();
    assert_eq!(sigma(&left.before), sigma(&left.after));
    // As if the out-of-fold probabilities came from another model.
    let after: Vec<f64> = found.out_of_fold.iter().map(|p| (p / (1.0 - p)).ln()).collect();
    let predictions = Input::logits(&after, &labels).check().unwrap();
    let measure = LsEce::new().sigma(sigma(&left.after));
    let apart = Assess::new(&measure).n_resamples(99).run(&predictions.binary().unwrap()).unwrap();
    assert!((apart.estimate.value - left.after.estimate.value).abs() < 1e-9);
    assert_eq!(left.before.significant, Some(true));
    assert_eq!(left.after.significant, Some(false), "{}", found.sentence());
    assert!(left.change.interval.upper < 0.0 && left.change.p_value < 0.05);
    let text = found.sentence();
    assert!(text.contains("LS-ECE is 0.") && text.contains("no evidence that miscalibration is left (p "), "{text}");
}

#[test]
fn what_is_left_of_clusters_is_judged_by_clusters() {
    let (logits, labels) = draw(WIDE, &affine(0.6, 0.0), 400, 3);
    let four = |i: usize| std::iter::repeat_n(i, 4);
    let wide: Vec<f64> = (0..400).flat_map(four).map(|i| logits[i]).collect();
    let outcomes: Vec<bool> = (0..400).flat_map(four).map(|i| labels[i]).collect();
    let clusters: Vec<u32> = (0..1600).map(|i| i / 4).collect();
    let predictions =
        Input::probabilities(&wide.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect::<Vec<_>>(), &outcomes)
            .check()
            .map(|predictions| {
                let view = predictions.binary().unwrap();
                let cross_fit = CrossFit::new(Recalibrate::new(Method::Platt)).n_resamples(99).left(true);
                let clustered = cross_fit.run(Sample::from(&view).clusters(&clusters)).unwrap();
                let blind = cross_fit.run(&view).unwrap();
                (clustered.left.unwrap(), blind.left.unwrap())
            });
    let (clustered, blind) = predictions.unwrap();
    assert_eq!(clustered.after.n_clusters, Some(400));
    assert!(clustered.change.standard_error > 1.5 * blind.change.standard_error);
}

#[test]
fn what_is_left_of_classes_is_that_of_the_top_class() {
    let (scores, labels) = classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Temperature)).n_resamples(99).left(true).out_of_fold(true);
    let found = cross_fit.run_classes(&predictions).unwrap();
    assert_eq!(found.out_of_fold.len(), 900);
    let loss = found.out_of_fold.chunks(3).zip(&labels).map(|(p, y)| -p[*y as usize].ln()).sum::<f64>() / 300.0;
    assert!((loss - found.log_loss_after).abs() < 1e-12);
    let after = Input::probabilities(&found.out_of_fold, &labels).classes(3).check().unwrap();
    let left = found.left.unwrap();
    let sigma = left.after.estimate.settings.number("sigma").unwrap();
    let apart = LsEce::new().sigma(sigma);
    let apart = after.estimate(calipers::Multiclass::TopClass, calipers::Ties::First, &apart).unwrap();
    assert!((apart.value - left.after.estimate.value).abs() < 1e-9);
    assert!(left.before.estimate.value > 2.0 * left.after.estimate.value);
}

/// The choice in the plainest way: lists of rows, one fit after another.
fn slow_choice(logits: &[f64], labels: &[bool], folds: &[usize], methods: &[Method], score: ProperScore) -> Slow {
    let n_folds = folds.iter().max().unwrap() + 1;
    let map = |method: Method, out: &[usize]| -> BinaryMap {
        let rows: Vec<usize> = (0..logits.len()).filter(|i| !out.contains(&folds[*i])).collect();
        let h: Vec<f64> = rows.iter().map(|i| logits[*i]).collect();
        let y: Vec<bool> = rows.iter().map(|i| labels[*i]).collect();
        let predictions = Input::logits(&h, &y).check().unwrap();
        Recalibrate::new(method).fit(&predictions.binary().unwrap()).unwrap().map
    };
    let loss = |p: f64, y: bool| match score {
        ProperScore::Log => log_loss(p, y),
        ProperScore::Brier => (p - f64::from(u8::from(y))).powi(2),
    };
    let ranked = |without: Option<usize>| {
        let rows: Vec<usize> = (0..logits.len()).filter(|i| Some(folds[*i]) != without).collect();
        let losses: Vec<Vec<f64>> = methods
            .iter()
            .map(|method| {
                let of = |fold: usize| map(*method, &without.into_iter().chain([fold]).collect::<Vec<_>>());
                let maps: Vec<BinaryMap> = (0..n_folds).map(of).collect();
                rows.iter().map(|i| loss(maps[folds[*i]].apply(logits[*i]), labels[*i])).collect()
            })
            .collect();
        let n = rows.len() as f64;
        let means: Vec<f64> = losses.iter().map(|losses| losses.iter().sum::<f64>() / n).collect();
        let best = (0..means.len()).min_by(|a, b| means[*a].total_cmp(&means[*b])).unwrap();
        let errors: Vec<f64> = losses
            .iter()
            .zip(&means)
            .map(|(own, mean)| {
                let away = own.iter().zip(&losses[best]).map(|(a, b)| (a - b - (mean - means[best])).powi(2));
                away.sum::<f64>().sqrt() / n
            })
            .collect();
        // The identity and Platt scaling have the places 0 and 2.
        let base = if means[2] < means[0] { 2 } else { 0 };
        let chosen = if means[base] - means[best] <= 2.5 * errors[base] { base } else { best };
        (means, errors, chosen)
    };
    let (means, errors, chosen) = ranked(None);
    let outer: Vec<Method> = (0..n_folds).map(|fold| methods[ranked(Some(fold)).2]).collect();
    let gain = (0..logits.len()).map(|i| {
        let p = 1.0 / (1.0 + (-logits[i]).exp());
        log_loss(p, labels[i]) - log_loss(map(outer[folds[i]], &[folds[i]]).apply(logits[i]), labels[i])
    });
    let nested_gain = gain.sum::<f64>() / logits.len() as f64;
    Slow { means, errors, chosen: methods[chosen], outer, nested_gain }
}

struct Slow {
    means: Vec<f64>,
    errors: Vec<f64>,
    chosen: Method,
    outer: Vec<Method>,
    nested_gain: f64,
}

/// The folds that a cross-fit has, found by which rows have the same map.
fn folds_of(logits: &[f64], labels: &[bool], n_folds: usize) -> Vec<usize> {
    let found =
        improve(&CrossFit::new(Recalibrate::new(Method::Shift)).n_folds(n_folds).n_resamples(0), logits, labels);
    let shift = |i: usize| {
        let p = found.out_of_fold[i];
        ((p / (1.0 - p)).ln() - logits[i]) * 1e8
    };
    let mut seen: Vec<i64> = Vec::new();
    let place = |i: usize| {
        let key = shift(i).round() as i64;
        let near = seen.iter().position(|other| (other - key).abs() <= 2);
        near.unwrap_or_else(|| {
            seen.push(key);
            seen.len() - 1
        })
    };
    let folds: Vec<usize> = (0..logits.len()).map(place).collect();
    assert_eq!(seen.len(), n_folds);
    folds
}

#[test]
fn the_choice_is_that_of_a_slow_one() {
    let methods = [Method::Identity, Method::Temperature, Method::Platt, Method::CentredIsotonic];
    let names: Vec<String> = methods.iter().map(|method| method.name().to_owned()).collect();
    for (seed, slope) in [(1, 1.0), (2, 0.75), (3, 0.5)] {
        let (logits, labels) = draw(WIDE, &affine(slope, 0.1), 180, seed);
        let folds = folds_of(&logits, &labels, 5);
        for score in [ProperScore::Log, ProperScore::Brier] {
            let slow = slow_choice(&logits, &labels, &folds, &methods, score);
            let options = Choose::new().candidates(names.clone()).score(score).n_resamples(0);
            let fast = choose(&options, &logits, &labels);
            assert_eq!(fast.table.len(), 4);
            for (place, candidate) in fast.table.iter().enumerate() {
                assert!((candidate.loss.unwrap() - slow.means[place]).abs() < 1e-12, "{candidate:?}");
                assert!((candidate.standard_error.unwrap() - slow.errors[place]).abs() < 1e-12, "{candidate:?}");
            }
            assert_eq!(fast.chosen, slow.chosen, "{seed}");
            // Which maps are of which fold is not known, so lists are sorted.
            let sorted = |mut methods: Vec<Method>| {
                methods.sort_by_key(|method| method.name());
                methods
            };
            assert_eq!(sorted(fast.outer.clone()), sorted(slow.outer));
            assert!((fast.nested_gain - slow.nested_gain).abs() < 1e-12);
        }
    }
}

#[test]
fn the_same_rows_have_the_same_choice_in_any_order() {
    let data = binary();
    let labels: Vec<bool> = data.labels.iter().map(|label| *label == 1).collect();
    let forth = choose(&Choose::new().n_resamples(39), &data.logits, &labels);
    let reversed: Vec<f64> = data.logits.iter().rev().copied().collect();
    let reversed_labels: Vec<bool> = labels.iter().rev().copied().collect();
    let back = choose(&Choose::new().n_resamples(39), &reversed, &reversed_labels);
    assert_eq!(forth.table, back.table);
    assert_eq!((forth.chosen, forth.outer, forth.nested_gain), (back.chosen, back.outer, back.nested_gain));
    assert_eq!(forth.improvement.interval, back.improvement.interval);
    assert_eq!(forth.improvement.floor, back.improvement.floor);
}

#[test]
fn calibrated_predictions_are_left_as_they_are() {
    let (logits, labels) = draw(WIDE, &Truth::CALIBRATED, 2000, 8);
    let found = choose(&Choose::new().n_resamples(99), &logits, &labels);
    assert_eq!(found.chosen, Method::Identity, "{:?}", found.table);
    let interval = found.improvement.interval;
    assert_eq!((found.improvement.gain, interval.lower, interval.upper), (0.0, 0.0, 0.0));
    assert_eq!(found.improvement.verdict, Verdict::NothingToFix);
    let text = found.sentence();
    assert!(text.starts_with("Leave the predictions as they are: of identity, "), "{text}");
    assert_eq!(found.fit().map, BinaryMap::identity());
}

#[test]
fn a_family_that_is_needed_is_chosen() {
    // Steps that no formula follows.
    let truth = Truth::Piecewise { edges: vec![-1.0, 1.0], shifts: vec![1.5, 0.0, -1.5] };
    let (logits, labels) = draw(WIDE, &truth, 4000, 5);
    let found = choose(&Choose::new().n_resamples(0), &logits, &labels);
    assert!(found.chosen != Method::Identity && found.chosen != Method::Shift, "{:?}", found.table);
    assert_eq!(found.improvement.verdict, Verdict::Helps);
    assert!((found.nested_gain - found.improvement.gain).abs() < 1e-15);
    let (logits, labels) = draw(WIDE, &affine(0.5, 0.0), 2000, 6);
    let found = choose(&Choose::new().n_resamples(0), &logits, &labels);
    assert_eq!(found.chosen, Method::Platt, "{:?}", found.table);
    assert!(found.sentence().starts_with("Platt scaling is chosen among "), "{}", found.sentence());
}

#[test]
fn many_rows_have_fewer_folds_and_no_spline() {
    let found = |n: usize| {
        let logits: Vec<f64> = (0..n).map(|row| (row % 9) as f64 - 4.0).collect();
        let labels: Vec<bool> = (0..n).map(|row| row % 7 < 1 + row % 9 / 2).collect();
        choose(&Choose::new().n_resamples(0), &logits, &labels)
    };
    let (few, many) = (found(200_000), found(200_001));
    assert_eq!((few.improvement.n_folds, few.table.len()), (5, 4));
    assert_eq!((many.improvement.n_folds, many.table.len()), (3, 3));
    assert!(many.table.iter().all(|candidate| candidate.method != Some(Method::Spline)));
    // Nine levels of which no line has all.
    assert_eq!((few.chosen, many.chosen), (Method::Spline, Method::CentredIsotonic));
}

#[test]
fn what_cannot_be_a_candidate_is_listed_with_its_reason() {
    let names = ["identity", "plat", "vector", "temperature"].map(str::to_owned).to_vec();
    // Scores that fall: no temperature.
    let (logits, labels) = draw(WIDE, &affine(1.0, 0.0), 300, 5);
    let falling: Vec<f64> = logits.iter().map(|h| -h).collect();
    let found = choose(&Choose::new().candidates(names).n_resamples(0), &falling, &labels);
    assert_eq!(found.table.len(), 4);
    assert_eq!(found.chosen, Method::Identity);
    assert!(found.table[0].reason.is_none() && found.table[0].loss.is_some());
    for failed in &found.table[1..] {
        assert!(failed.reason.is_some() && failed.loss.is_none(), "{failed:?}");
    }
    assert!(found.table[3].reason.as_ref().unwrap().contains("scores that rise with the outcome"));
    assert!(found.sentence().contains("Without a fit: plat ("), "{}", found.sentence());
    let none = Choose::new().candidates(vec!["plat".to_owned()]);
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    assert!(none.run(&predictions.binary().unwrap()).is_err());
    let few = Choose::new().n_folds(2).run(&predictions.binary().unwrap());
    assert_eq!(few.unwrap_err().to_string(), "n_folds must be at least 3, got 2");
}

#[test]
fn a_map_on_held_out_rows_gains_what_its_rows_say() {
    let (logits, labels) = draw(WIDE, &affine(0.5, 0.0), 500, 1);
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let map = Recalibrate::new(Method::Beta).fit(&predictions.binary().unwrap()).unwrap().map;
    let (logits, labels) = draw(WIDE, &affine(0.5, 0.0), 700, 2);
    let new = Input::logits(&logits, &labels).check().unwrap();
    let found = HeldOut::new(&map).left(true).n_resamples(99).run(&new.binary().unwrap()).unwrap();
    let change = |i: usize| {
        let p = 1.0 / (1.0 + (-logits[i]).exp());
        log_loss(p, labels[i]) - log_loss(map.apply(logits[i]), labels[i])
    };
    let gain = (0..700).map(change).sum::<f64>() / 700.0;
    let spread = ((0..700).map(|i| (change(i) - gain).powi(2)).sum::<f64>()).sqrt() / 700.0;
    assert!((found.gain - gain).abs() < 1e-12 && (found.standard_error - spread).abs() < 1e-12);
    assert!((found.interval.upper - (gain + 1.959964 * spread)).abs() < 1e-6);
    assert_eq!((found.verdict, found.n), (Verdict::Helps, 700));
    assert_eq!(found.probabilities[3], map.apply(logits[3]));
    assert!(found.sentence().starts_with("The map helps on these rows: log-loss is "), "{}", found.sentence());
    assert!(found.left.unwrap().after.estimate.value < 0.1);
    // Every row four times, by clusters: the same interval, but for the factor of few clusters.
    let four = |i: usize| std::iter::repeat_n(i, 4);
    let wide: Vec<f64> = (0..700).flat_map(four).map(|i| logits[i]).collect();
    let outcomes: Vec<bool> = (0..700).flat_map(four).map(|i| labels[i]).collect();
    let clusters: Vec<u32> = (0..2800).map(|i| i / 4).collect();
    let repeated = Input::logits(&wide, &outcomes).check().unwrap();
    let view = repeated.binary().unwrap();
    let clustered = HeldOut::new(&map).run(Sample::from(&view).clusters(&clusters)).unwrap();
    assert!((clustered.standard_error / found.standard_error - 1.0).abs() < 0.01);
}

#[test]
fn a_map_of_classes_on_held_out_rows() {
    let (scores, labels) = classes();
    let [first, second] = [0..150, 150..300]
        .map(|rows: std::ops::Range<usize>| (scores[3 * rows.start..3 * rows.end].to_vec(), labels[rows].to_vec()));
    let predictions = Input::logits(&first.0, &first.1).classes(3).check().unwrap();
    let map = Recalibrate::new(Method::Temperature).fit_classes(&predictions).unwrap().map;
    let new = Input::logits(&second.0, &second.1).classes(3).check().unwrap();
    let found = HeldOut::new(&map).run_classes(&new).unwrap();
    let loss = found.probabilities.chunks(3).zip(&second.1).map(|(p, y)| -p[*y as usize].ln()).sum::<f64>() / 150.0;
    assert!((found.log_loss_after - loss).abs() < 1e-12);
    assert_eq!((found.verdict, found.top_class_changed), (Verdict::Helps, 0.0));
    let other = Input::probabilities(&[0.5, 0.5], &[1]).classes(2).check().unwrap();
    let error = HeldOut::new(&map).run_classes(&other).unwrap_err().to_string();
    assert_eq!(error, "rows must be of 3 classes, as those that the map was fitted to, got 2");
}

#[test]
fn the_choice_is_rarely_worse_than_leaving_the_rows_as_they_are() {
    // A small version of `calipers study recalibration`.
    for (name, most) in [("calibrated", 0.002), ("overconfident", 0.01), ("rare-events", 0.004)] {
        let family = Family::named(name).unwrap();
        let gain = |seed: u64| {
            let sample = family.sample(400, seed);
            let predictions = sample.input().check().unwrap();
            let map = Choose::new().n_resamples(0).run(&predictions.binary().unwrap()).unwrap().improvement.fit.map;
            let new = family.sample(20_000, 7);
            HeldOut::new(&map).run(&new.input().check().unwrap().binary().unwrap()).unwrap().gain
        };
        let mean = (1..=20).map(gain).sum::<f64>() / 20.0;
        assert!(mean > -most, "{name}: {mean}");
    }
}

#[test]
fn classes_have_a_choice_of_their_own() {
    let (scores, labels) = classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let found = Choose::new().n_resamples(99).left(true).run_classes(&predictions).unwrap();
    let names: Vec<&str> = found.table.iter().map(|candidate| candidate.name.as_str()).collect();
    assert_eq!(names, ["identity", "temperature", "bias_corrected_temperature", "vector", "matrix"]);
    assert!(found.table.iter().all(|candidate| candidate.reason.is_none()));
    assert_ne!(found.chosen, Method::Identity, "{:?}", found.table);
    assert_eq!(found.improvement.verdict, Verdict::Helps, "{}", found.sentence());
    assert!((found.nested_gain - found.improvement.gain).abs() < 1e-15);
    assert!(found.improvement.left.is_some());
    // Temperature's own cross-fit on the same five folds has the loss of the table.
    let options = CrossFit::new(Recalibrate::new(Method::Temperature)).n_folds(5).n_resamples(0);
    let temperature = options.run_classes(&predictions).unwrap();
    assert!((found.table[1].loss.unwrap() - temperature.log_loss_after).abs() < 1e-12);
    let names = vec!["identity".to_owned(), "plat".to_owned()];
    let few =
        Choose::new().n_resamples(0).candidates(names).score(ProperScore::Brier).run_classes(&predictions).unwrap();
    assert_eq!(few.chosen, Method::Identity);
    assert!(few.table[0].loss.is_some() && few.table[1].reason.is_some());
}

#[test]
fn parts_of_a_score_add_up_and_are_those_of_the_out_of_fold_rows() {
    let (logits, labels) = draw(WIDE, &affine(0.3, 0.0), 600, 3);
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let platt = Recalibrate::new(Method::Platt);
    let improvement = CrossFit::new(platt.clone()).n_resamples(0).run(&view).unwrap();
    let log = Decompose::new().method(platt.clone()).run(&view).unwrap();
    assert_eq!((log.loss, log.refinement), (improvement.log_loss_before, improvement.log_loss_after));
    assert_eq!(log.interval, improvement.interval);
    let brier = Decompose::new().method(platt).score(ProperScore::Brier).run(&view).unwrap();
    let of = |p: &dyn Fn(usize) -> f64| {
        (0..600).map(|i| (p(i) - f64::from(u8::from(labels[i]))).powi(2)).sum::<f64>() / 600.0
    };
    assert!((brier.loss - of(&|i| 1.0 / (1.0 + (-logits[i]).exp()))).abs() < 1e-12);
    assert!((brier.refinement - of(&|i| improvement.out_of_fold[i])).abs() < 1e-12);
    assert!((brier.calibration + brier.refinement - brier.loss).abs() < 1e-15);
    assert!(brier.interval.lower > 0.0 && brier.interval.upper > brier.calibration, "{brier:?}");
    assert!(brier.sentence().starts_with("The Brier score is 0."), "{}", brier.sentence());
    // By the method that is chosen, also where that is to change nothing.
    let auto = Decompose::new().run(&view).unwrap();
    assert!(auto.interval.lower > 0.0 && auto.method != Method::Identity);
    let (logits, labels) = draw(WIDE, &Truth::CALIBRATED, 600, 3);
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let auto = Decompose::new().run(&predictions.binary().unwrap()).unwrap();
    assert!(auto.method != Method::Identity && auto.interval.lower < 0.0 && auto.interval.upper > 0.0);
}

#[test]
fn the_brier_score_of_classes_is_taken_apart() {
    let (scores, labels) = classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let temperature = Recalibrate::new(Method::Temperature);
    let options = CrossFit::new(temperature.clone()).n_resamples(0).out_of_fold(true);
    let improvement = options.run_classes(&predictions).unwrap();
    let parts = Decompose::new().method(temperature).score(ProperScore::Brier).run_classes(&predictions).unwrap();
    let row = |(row, label): (&[f64], &i64)| {
        row.iter().enumerate().map(|(class, p)| (p - f64::from(u8::from(class as i64 == *label))).powi(2)).sum::<f64>()
    };
    let after = improvement.out_of_fold.chunks(3).zip(&labels).map(row).sum::<f64>() / 300.0;
    assert!((parts.refinement - after).abs() < 1e-12);
    assert!(parts.interval.lower > 0.0, "{}", parts.sentence());
}
