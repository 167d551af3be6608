//! Rows of classes: each kind of question against its definition, with ties among the classes and
//! weights.

use calipers::{
    BetaKdeEce, BinnedEce, BrierScore, CanonicalKdeEce, Input, LogLoss, Measure, Multiclass, Norm, Strategy as Bins,
    Ties,
};
use proptest::prelude::*;

use crate::binned;
use crate::data::{Row, config};
use crate::scores::naive_brier;

/// Probabilities of k classes in each row, a label and a whole weight.
type ClassRow = (Vec<f64>, usize, f64);

/// Up to 200 rows; classes may tie, and may have probability 0.
fn rows(k: usize) -> impl Strategy<Value = Vec<ClassRow>> {
    let score = prop_oneof![0.0..1.0, (0u8..5).prop_map(f64::from)];
    let row = (prop::collection::vec(score, k), 0..k, 1u8..4).prop_map(move |(scores, label, weight)| {
        let sum: f64 = scores.iter().sum();
        let p = if sum > 0.0 { scores.iter().map(|score| score / sum).collect() } else { vec![1.0 / k as f64; k] };
        (p, label, f64::from(weight))
    });
    prop::collection::vec(row, 1..=200)
}

fn top(p: &[f64]) -> usize {
    (0..p.len()).fold(0, |best, class| if p[class] > p[best] { class } else { best })
}

/// Class against the rest.
fn one_class(rows: &[ClassRow], class: usize) -> Vec<Row> {
    rows.iter().map(|(p, label, weight)| (p[class], *label == class, *weight)).collect()
}

/// Each row against the class rates that all others predict at its probabilities.
fn naive_canonical(rows: &[ClassRow], h: f64, power: i32) -> f64 {
    let k = rows[0].0.len();
    // The density of the Dirichlet distribution with parameters x / h + 1, probabilities being at
    // least 1e-6.
    let log_density = |z: &[f64], x: &[f64]| -> f64 {
        let parameters = || x.iter().map(|x| x.max(1e-6) / h + 1.0);
        let log_beta = parameters().map(libm::lgamma).sum::<f64>() - libm::lgamma(parameters().sum());
        parameters().zip(z).map(|(parameter, z)| (parameter - 1.0) * z.max(1e-6).ln()).sum::<f64>() - log_beta
    };
    let mut sum = 0.0;
    for (j, (z, _, weight)) in rows.iter().enumerate() {
        let others = || rows.iter().enumerate().filter(|(i, _)| *i != j).map(|(_, row)| row);
        let largest = others().map(|row| log_density(z, &row.0)).fold(f64::NEG_INFINITY, f64::max);
        let mut rates = vec![0.0; k];
        for (x, label, weight) in others() {
            rates[*label] += weight * (log_density(z, x) - largest).exp();
        }
        let all: f64 = rates.iter().sum();
        sum += weight * rates.iter().zip(z).map(|(rate, z)| (rate / all - z).abs().powi(power)).sum::<f64>();
    }
    (sum / rows.iter().map(|row| row.2).sum::<f64>()).powf(1.0 / f64::from(power))
}

/// The columns that an input borrows.
fn columns(rows: &[ClassRow]) -> (Vec<f64>, Vec<i32>, Vec<f64>) {
    let scores = rows.iter().flat_map(|row| row.0.iter().copied()).collect();
    (scores, rows.iter().map(|row| row.1 as i32).collect(), rows.iter().map(|row| row.2).collect())
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn canonical_error_of_three_and_four_classes_is_its_definition(
        rows in prop_oneof![rows(3), rows(4)], h in prop_oneof![Just(1e-3), Just(0.05), Just(0.6)],
    ) {
        prop_assume!(rows.len() > 1);
        let (scores, labels, weights) = columns(&rows);
        let predictions =
            Input::probabilities(&scores, &labels).classes(rows[0].0.len()).weights(&weights).check().unwrap();
        for (norm, power) in [(Norm::L1, 1), (Norm::L2, 2)] {
            let found = CanonicalKdeEce::new(h).norm(norm).estimate(&predictions).unwrap();
            let naive = naive_canonical(&rows, h, power);
            prop_assert!((found.value - naive).abs() <= found.numerical_bound + 1e-12 / h, "{norm:?}: {} {naive}", found.value);
        }
    }

    #[test]
    fn questions_of_one_outcome_are_their_definition(rows in prop_oneof![rows(3), rows(4), rows(7)], n_bins in 1usize..20) {
        let k = rows[0].0.len();
        let (scores, labels, weights) = columns(&rows);
        let predictions = Input::probabilities(&scores, &labels).classes(k).weights(&weights).check().unwrap();
        for strategy in [Bins::Uniform, Bins::Quantile] {
            let measure = BinnedEce::new().n_bins(n_bins).strategy(strategy);
            let naive = |rows: &[Row]| binned::naive(rows, n_bins, strategy, Norm::L1);
            let of = |how: Multiclass, ties: Ties| predictions.estimate(how, ties, &measure).unwrap().value;

            let confident = |right: &dyn Fn(&ClassRow) -> bool| -> Vec<Row> {
                rows.iter().map(|row| (row.0[top(&row.0)], right(row), row.2)).collect()
            };
            let first = confident(&|row| row.1 == top(&row.0));
            prop_assert!((of(Multiclass::TopClass, Ties::First) - naive(&first)).abs() < 1e-12);
            let any = confident(&|row| row.0[row.1] == row.0[top(&row.0)]);
            prop_assert!((of(Multiclass::TopClass, Ties::Any) - naive(&any)).abs() < 1e-12);

            let each: Vec<f64> = (0..k).map(|class| naive(&one_class(&rows, class))).collect();
            prop_assert!((of(Multiclass::Classwise, Ties::First) - each.iter().sum::<f64>() / k as f64).abs() < 1e-12);
            prop_assert!((of(Multiclass::Class(k - 1), Ties::First) - each[k - 1]).abs() < 1e-12);

            let all: f64 = weights.iter().sum();
            let mut expected = 0.0;
            for class in 0..k {
                let predicted: Vec<ClassRow> = rows.iter().filter(|row| top(&row.0) == class).cloned().collect();
                if !predicted.is_empty() {
                    let share = predicted.iter().map(|row| row.2).sum::<f64>() / all;
                    expected += share * naive(&one_class(&predicted, class));
                }
            }
            let found = predictions.estimate_top_label(&measure).unwrap().value;
            prop_assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            // Gaps of classes cannot make up for each other in the same bins.
            if strategy == Bins::Uniform {
                prop_assert!(found >= of(Multiclass::TopClass, Ties::First) - 1e-12);
            }
        }
        let total: f64 = weights.iter().sum();
        let mean = |loss: &dyn Fn(&ClassRow) -> f64| rows.iter().map(|row| row.2 * loss(row)).sum::<f64>() / total;
        let of_classes = |measure: &dyn Measure| {
            let found = predictions.estimate(Multiclass::Auto, Ties::First, measure).unwrap();
            assert_eq!(found.settings.text("multiclass"), Some("all_classes"));
            (found.value, found.numerical_bound, found.n_clipped)
        };
        let squares = mean(&|(p, label, _)| (0..k).map(|c| (f64::from(c == *label) - p[c]).powi(2)).sum());
        for (brier, expected) in [(BrierScore::new(), squares), (BrierScore::new().scale_by_half(true), squares / 2.0)] {
            let (value, bound, _) = of_classes(&brier);
            prop_assert!((value - expected).abs() <= bound + 1e-14, "{value} {expected}");
        }
        for clip in [1e-15, 0.01] {
            let entropy = mean(&|(p, label, _)| -p[*label].clamp(clip, 1.0 - clip).ln());
            let n_clipped = rows.iter().filter(|row| !(clip..=1.0 - clip).contains(&row.0[row.1])).count() as u64;
            let (value, bound, found_clipped) = of_classes(&LogLoss::new().clip(clip));
            prop_assert!((value - entropy).abs() <= bound + 1e-12 && found_clipped == n_clipped, "{value} {entropy}");
        }
        // Logarithms of probabilities are raw scores.
        let logs: Vec<f64> = scores.iter().map(|p| p.max(1e-30).ln() + 3.0).collect();
        let single: Vec<f32> = logs.iter().map(|z| *z as f32).collect();
        let raw = Input::logits(&logs, &labels).classes(k).weights(&weights).check().unwrap();
        let raw_single = Input::logits(&single, &labels).classes(k).weights(&weights).check().unwrap();
        let entropy = mean(&|(p, label, _)| -p[*label].max(1e-30).ln());
        for (predictions, tolerance) in [(&raw, 1e-12), (&raw_single, 1e-5)] {
            let of = |measure: &dyn Measure| predictions.estimate(Multiclass::AllClasses, Ties::First, measure).unwrap();
            prop_assert!((of(&LogLoss::new()).value - entropy).abs() < tolerance * (1.0 + entropy));
            prop_assert!((of(&BrierScore::new()).value - squares).abs() < tolerance);
        }
        let brier = predictions.estimate(Multiclass::Classwise, Ties::First, &BrierScore::new()).unwrap().value;
        let each: f64 = (0..k).map(|class| naive_brier(&one_class(&rows, class))).sum();
        prop_assert!((brier - each / k as f64).abs() < 1e-12);
    }
}

#[test]
fn the_canonical_error_of_two_classes_is_twice_the_binary_one() {
    let p: Vec<f64> = (1..150).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract().clamp(0.01, 0.99)).collect();
    let y: Vec<i32> = (1..150).map(|k| i32::from((f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6)).collect();
    let two: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
    let predictions = Input::probabilities(&two, &y).classes(2).check().unwrap();
    let canonical = CanonicalKdeEce::new(0.02).estimate(&predictions).unwrap().value;
    let binary = BetaKdeEce::new().bandwidth(0.02).estimate(&predictions.binary().unwrap()).unwrap().value;
    assert!((canonical - 2.0 * binary).abs() < 1e-7, "{canonical} {binary}");
    let refusal = CanonicalKdeEce::new(0.02).limit(1000).estimate(&predictions).unwrap_err().to_string();
    assert!(refusal.contains(&CanonicalKdeEce::cost(149, 2).to_string()), "{refusal}");
}

#[test]
fn parts_of_the_top_label_error_have_their_shares() {
    let scores = [0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.6, 0.3, 0.1];
    let predictions = Input::probabilities(&scores, &[0, 1, 1]).classes(3).weights(&[1.0, 1.0, 2.0]).check().unwrap();
    let found = predictions.estimate_top_label(&BinnedEce::new().n_bins(1)).unwrap();
    let shares: Vec<f64> = found.per_class.iter().map(|part| part.settings.number("share").unwrap()).collect();
    // Class 2 is never predicted.
    assert_eq!((shares, found.n), (vec![0.75, 0.25], 3));
    // (0.7 right, 0.6 wrong twice) and (0.8 right).
    assert!((found.value - (0.75 * (1.9 / 3.0 - 1.0 / 3.0) + 0.25 * 0.2)).abs() < 1e-15);
}

/// Static calibration error (Nixon): each class against the rest, and the mean over classes.
#[test]
fn classwise_binned_error_is_the_mean_over_classes() {
    let scores = [0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4];
    let labels = [0, 1, 0];
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let found = predictions.estimate(Multiclass::Classwise, Ties::First, &BinnedEce::new().n_bins(10)).unwrap();
    // No two rows share a bin, but for 0.1 twice in class 2; gaps by class are .3 .1 .7, .2 .2 .3
    // and .1 .1 .4.
    let of_class = [(0.3 + 0.1 + 0.7) / 3.0, (0.2 + 0.2 + 0.3) / 3.0, (0.2 + 0.4) / 3.0];
    assert!((found.value - of_class.iter().sum::<f64>() / 3.0).abs() < 1e-15);
}

#[test]
fn two_classes_are_one_outcome_unless_all_are_requested() {
    let (two, y) = ([0.9, 0.1, 0.4, 0.6, 0.75, 0.25], [0, 0, 1]);
    let predictions = Input::probabilities(&two, &y).classes(2).check().unwrap();
    let value = |how: Multiclass, measure: &dyn Measure| predictions.estimate(how, Ties::First, measure).unwrap().value;
    let brier = (0.01 + 0.36 + 0.5625) / 3.0;
    assert!((value(Multiclass::Auto, &BrierScore::new()) - brier).abs() < 1e-15);
    assert!((value(Multiclass::Auto, &BrierScore::new().scale_by_half(false)) - 2.0 * brier).abs() < 1e-15);
    assert!((value(Multiclass::AllClasses, &BrierScore::new()) - 2.0 * brier).abs() < 1e-15);
    assert!((value(Multiclass::AllClasses, &BrierScore::new().scale_by_half(true)) - brier).abs() < 1e-15);
    let loss = value(Multiclass::Auto, &LogLoss::new());
    assert!((value(Multiclass::AllClasses, &LogLoss::new()) - loss).abs() < 1e-15);
}

#[test]
fn far_raw_scores_have_a_finite_cross_entropy() {
    // A wrong class by a million and by a thousand, and a right one.
    let logits = [1e6, 0.0, -5.0, 0.0, 1e3, 0.0, 0.0, 0.0, 50.0];
    let predictions = Input::logits(&logits, &[1, 2, 2]).classes(3).check().unwrap();
    let loss = predictions.estimate(Multiclass::Auto, Ties::First, &LogLoss::new()).unwrap();
    assert!((loss.value - (1e6 + 1e3 + 2.0 * (-50f64).exp()) / 3.0).abs() <= loss.numerical_bound);
    let brier = predictions.estimate(Multiclass::Auto, Ties::First, &BrierScore::new()).unwrap();
    assert!((brier.value - 4.0 / 3.0).abs() <= brier.numerical_bound);
}

#[test]
fn measures_of_one_outcome_do_not_take_all_classes() {
    let predictions = Input::probabilities(&[0.2, 0.3, 0.5], &[2]).classes(3).check().unwrap();
    let text = |error: calipers::Error| error.to_string();
    let found = predictions.estimate(Multiclass::AllClasses, Ties::First, &BinnedEce::new()).unwrap_err();
    assert_eq!(
        text(found),
        "multiclass must be \"top_class\", \"classwise\" or a class for expected_calibration_error, since only \
         brier_score and log_loss take all classes together, got \"all_classes\""
    );
    let plain = Input::probabilities(&[0.2, 0.3], &[0, 1]).check().unwrap();
    let found = plain.estimate(Multiclass::AllClasses, Ties::First, &LogLoss::new()).unwrap_err();
    assert_eq!(text(found), "multiclass must be left out for a plain column of scores, got \"all_classes\"");
}
