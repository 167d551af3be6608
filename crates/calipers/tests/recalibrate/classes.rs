//! Temperature scaling of rows of classes.

use calipers::recalibrate::{ClassMap, CrossFit, Fit, Improvement, Method, Note, Recalibrate, Verdict};
use calipers::{Error, Form, Input};

use crate::fixtures::{Uniforms, binary, classes};

fn temperature() -> Recalibrate {
    Recalibrate::new(Method::Temperature)
}

fn fit(scores: &[f64], labels: &[i64], n_classes: usize) -> Result<Fit<ClassMap>, Error> {
    temperature().fit_classes(&Input::logits(scores, labels).classes(n_classes).check()?)
}

fn bits(fit: &Fit<ClassMap>) -> [u64; 6] {
    let error = fit.parameters[0].standard_error.unwrap();
    [fit.map.slope, error, fit.log_loss_before, fit.log_loss_after, fit.bound.standard_errors, fit.map.mixture]
        .map(f64::to_bits)
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
}

#[test]
fn golden_values() {
    let (scores, labels) = classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    let plain = temperature().mixture(0.0).fit_classes(&predictions).unwrap();
    assert_near(plain.map.slope, 0.470814919031);
    assert_near(plain.map.temperature(), 2.123976874095);
    assert_near(plain.log_loss_before, 1.071018197590);
    assert_near(plain.log_loss_after, 0.959618562254);
    assert!(plain.bound.standard_errors < 1e-10, "{:?}", plain.bound);
    let mixed = temperature().fit_classes(&predictions).unwrap();
    assert_eq!((mixed.map.slope, mixed.map.mixture), (plain.map.slope, 1.0 / 301.0));
    assert_near(mixed.log_loss_after, 0.959642024317);
    let square = |(row, label): (&[f64], &i64)| {
        let p = plain.map.apply(row, Form::Logits);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        (0..3).map(|class| (p[class] - f64::from(u8::from(class as i64 == *label))).powi(2)).sum::<f64>()
    };
    assert_near(scores.chunks(3).zip(&labels).map(square).sum::<f64>() / 300.0, 0.576322131452);
    let weights: Vec<f64> = (0..300).map(|i| f64::from(1 + i % 3)).collect();
    let predictions = Input::logits(&scores, &labels).classes(3).weights(&weights).check().unwrap();
    let weighted = temperature().mixture(0.0).fit_classes(&predictions).unwrap();
    assert_near(weighted.map.slope, 0.458603038281);
    assert_near(weighted.log_loss_after, 0.967857023649);
    assert_near(weighted.log_loss_before, 1.084594549659);
    let n_eff = weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>();
    assert!((weighted.effective_n - n_eff).abs() < 1e-9);
}

#[test]
fn two_classes_have_the_slope_of_their_difference() {
    let data = binary();
    let labels: Vec<i64> = data.labels.iter().map(|label| i64::from(*label)).collect();
    let scores: Vec<f64> = data.logits.iter().flat_map(|h| [-0.25 * h, 0.75 * h]).collect();
    let one = temperature().fit(&data.plain().binary().unwrap()).unwrap();
    let two = fit(&scores, &labels, 2).unwrap();
    assert!((one.parameters[0].value - two.map.slope).abs() < 1e-13);
    let errors = [one.parameters[0].standard_error.unwrap(), two.parameters[0].standard_error.unwrap()];
    assert!((errors[0] - errors[1]).abs() < 1e-12, "{errors:?}");
    assert!((one.log_loss_after - two.log_loss_after).abs() < 1e-13);
    assert!((one.map.apply(1.3) - two.map.apply(&[0.0, 1.3], Form::Logits)[1]).abs() < 1e-14);
}

#[test]
fn orders_of_rows_and_classes_and_threads_change_no_bit() {
    let mut random = Uniforms(4);
    let (n, k) = (3000, 7);
    let scores: Vec<f64> = (0..n * k).map(|_| 3.0 * random.normal()).collect();
    let labels: Vec<i64> = (0..n)
        .map(|row| (0..k).max_by_key(|c| ((0.4 * scores[row * k + c] + random.normal()) * 1e6) as i64).unwrap() as i64)
        .collect();
    let first = fit(&scores, &labels, k).unwrap();
    assert!((0.1..0.9).contains(&first.map.slope), "{}", first.map.slope);
    let reversed_rows: Vec<f64> = scores.chunks(k).rev().flatten().copied().collect();
    let reversed_labels: Vec<i64> = labels.iter().rev().copied().collect();
    assert_eq!(bits(&first), bits(&fit(&reversed_rows, &reversed_labels, k).unwrap()));
    let classes = [3, 0, 6, 1, 5, 2, 4];
    let permuted: Vec<f64> = scores.chunks(k).flat_map(|row| classes.map(|class| row[class])).collect();
    let renamed: Vec<i64> =
        labels.iter().map(|label| classes.iter().position(|class| *class as i64 == *label).unwrap() as i64).collect();
    assert_eq!(bits(&first), bits(&fit(&permuted, &renamed, k).unwrap()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(bits(&first), bits(&pool.install(|| fit(&scores, &labels, k).unwrap())));
    // A constant added to a row changes nothing but rounding.
    let shifted: Vec<f64> = scores.iter().enumerate().map(|(at, z)| z + (at / k % 5) as f64).collect();
    assert!((fit(&shifted, &labels, k).unwrap().map.slope - first.map.slope).abs() < 1e-12);
}

/// From 2^20 scores on the search starts at the temperature of a part of the rows, which must be
/// the same part in any order.
#[test]
fn many_scores_in_any_order_change_no_bit() {
    let k = 64;
    let (scores, labels) = draw((1 << 20) / k + 100, k, 0.6, 8);
    let first = fit(&scores, &labels, k).unwrap();
    let reversed: Vec<f64> = scores.chunks(k).rev().flatten().copied().collect();
    let reversed_labels: Vec<i64> = labels.iter().rev().copied().collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let second = one_thread.install(|| fit(&reversed, &reversed_labels, k).unwrap());
    assert_eq!(bits(&first), bits(&second));
}

#[test]
fn probabilities_and_single_precision_give_the_same_map() {
    let (scores, labels) = classes();
    let from_logits = fit(&scores, &labels, 3).unwrap();
    let identity = ClassMap::identity(3);
    let probabilities: Vec<f64> = scores.chunks(3).flat_map(|row| identity.apply(row, Form::Logits)).collect();
    let predictions = Input::probabilities(&probabilities, &labels).classes(3).check().unwrap();
    let from_probabilities = temperature().fit_classes(&predictions).unwrap();
    assert!((from_logits.map.slope - from_probabilities.map.slope).abs() < 1e-12);
    assert!((from_logits.log_loss_after - from_probabilities.log_loss_after).abs() < 1e-12);
    let [one, other] = [
        from_logits.map.apply(&scores[..3], Form::Logits),
        from_probabilities.map.apply(&probabilities[..3], Form::Probabilities),
    ];
    one.iter().zip(&other).for_each(|(one, other)| assert!((one - other).abs() < 1e-12));
    // Sixteenths are exact in single precision.
    let single: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
    let predictions = Input::logits(&single, &labels).classes(3).check().unwrap();
    assert_eq!(bits(&temperature().fit_classes(&predictions).unwrap()), bits(&from_logits));
}

#[test]
fn weights_that_count_rows_are_those_rows() {
    let (scores, labels) = classes();
    let weights: Vec<f64> = (0..300).map(|i| f64::from(1 + i % 3)).collect();
    let rows: Vec<usize> = (0..300).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let repeated: Vec<f64> = rows.iter().flat_map(|&i| scores[3 * i..3 * i + 3].to_vec()).collect();
    let repeated_labels: Vec<i64> = rows.iter().map(|&i| labels[i]).collect();
    let predictions = Input::logits(&scores, &labels).classes(3).weights(&weights).check().unwrap();
    let counted = temperature().counts(true).fit_classes(&predictions).unwrap();
    let repeated = fit(&repeated, &repeated_labels, 3).unwrap();
    assert_eq!((counted.effective_n, counted.map.mixture), (600.0, 1.0 / 601.0));
    assert!((counted.map.slope - repeated.map.slope).abs() < 1e-14);
    assert!((counted.log_loss_after - repeated.log_loss_after).abs() < 1e-14);
    let errors = [&counted, &repeated].map(|fit| fit.parameters[0].standard_error.unwrap());
    assert!((errors[0] - errors[1]).abs() < 1e-12, "{errors:?}");
}

#[test]
fn scores_of_any_size_have_a_temperature() {
    let (scores, labels) = classes();
    let base = fit(&scores, &labels, 3).unwrap();
    for scale in [1e-250, 1e-6, 1e6, 1e250] {
        let scaled: Vec<f64> = scores.iter().map(|score| scale * score).collect();
        let found = fit(&scaled, &labels, 3).unwrap();
        assert!((found.map.slope * scale / base.map.slope - 1.0).abs() < 1e-12, "{scale}: {}", found.map.slope);
        assert!((found.log_loss_after - base.log_loss_after).abs() < 1e-12, "{scale}");
        assert!(found.bound.standard_errors < 1e-9, "{scale}: {:?}", found.bound);
    }
}

#[test]
fn what_has_no_temperature_is_rejected() {
    let text = |scores: &[f64], labels: &[i64]| fit(scores, labels, 3).unwrap_err().to_string();
    let right = text(&[2.0, 0.0, 0.0, 0.0, 1.0, 0.5], &[0, 1]);
    let expected = "rows must be with a label that has not the largest score where ridge is 0, since there is no finite \
                    slope else, got 2 rows, and none is";
    assert_eq!(right, expected);
    let wrong = text(&[2.0, 0.0, 1.0, 0.0, 1.0, 2.0], &[1, 0]);
    let expected = "rows must be of scores that rise with the outcome, since the best inverse temperature is 0 else, got \
                    a mean score of -1 toward the label";
    assert_eq!(wrong, expected);
    let predictions = Input::logits(&[2.0, 0.0, 1.0], &[1]).classes(3).check().unwrap();
    let other = Recalibrate::new(Method::Beta).fit_classes(&predictions).unwrap_err().to_string();
    assert_eq!(other, "method must be for rows of classes, or one_vs_rest must be set, got \"beta\"");
    let predictions = Input::logits(&[2.0, 0.0, 1.0], &[1, 0, 0]).check().unwrap();
    let column = temperature().fit_classes(&predictions).unwrap_err().to_string();
    assert_eq!(column, "recalibration must be of rows of classes, got a plain column of scores");
    // A ridge makes all of them finite.
    let predictions = Input::logits(&[2.0, 0.0, 0.0, 0.0, 1.0, 0.5], &[0, 1]).classes(3).check().unwrap();
    let ridged = temperature().ridge(2.0).fit_classes(&predictions).unwrap();
    assert!(ridged.map.slope > 1.0 && ridged.map.slope < 3.0, "{}", ridged.map.slope);
    // A class without rows is no problem, and is named.
    assert!(ridged.notes.contains(&Note::AbsentClass { class: 2 }));
}

/// Normal scores of `k` classes, and labels from the softmax of `slope` times the scores.
fn draw(n: usize, k: usize, slope: f64, seed: u64) -> (Vec<f64>, Vec<i64>) {
    let mut random = Uniforms(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (mut scores, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let row: Vec<f64> = (0..k).map(|_| 2.0 * random.normal()).collect();
        let weights: Vec<f64> = row.iter().map(|z| (slope * z).exp()).collect();
        let mut at = random.next() * weights.iter().sum::<f64>();
        let label = weights.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        labels.push(label.unwrap_or(k - 1) as i64);
        scores.extend(row);
    }
    (scores, labels)
}

fn improve(cross_fit: &CrossFit, scores: &[f64], labels: &[i64], k: usize) -> Improvement<ClassMap> {
    cross_fit.run_classes(&Input::logits(scores, labels).classes(k).check().unwrap()).unwrap()
}

#[test]
fn the_verdict_of_classes_names_what_is_there() {
    let cross_fit = CrossFit::new(temperature()).n_resamples(199);
    let (scores, labels) = draw(1500, 5, 0.6, 1);
    let helps = improve(&cross_fit, &scores, &labels, 5);
    assert_eq!(helps.verdict, Verdict::Helps, "{}", helps.sentence());
    assert!(helps.sentence().starts_with("Temperature scaling helps: log-loss is "), "{}", helps.sentence());
    assert_eq!((helps.floor.unwrap().p_value, helps.top_class_changed), (0.005, 0.0));
    // The value of the test is the gain on the fitted rows, but for the mixture.
    let in_sample = helps.fit.log_loss_before - helps.fit.log_loss_after;
    assert!((helps.floor.unwrap().value - in_sample).abs() < 1e-4, "{in_sample} {:?}", helps.floor);
    let (scores, labels) = draw(600, 4, 1.0, 2);
    let nothing = improve(&cross_fit, &scores, &labels, 4);
    assert_eq!(nothing.verdict, Verdict::NothingToFix, "{}", nothing.sentence());
    // Half a squared normal number over n, on average.
    let floor = nothing.floor.unwrap();
    assert!((600.0 * floor.mean - 0.5).abs() < 0.2, "{floor:?}");
    let same = improve(&CrossFit::new(Recalibrate::new(Method::Identity)), &scores, &labels, 4);
    assert_eq!((same.gain, same.interval.lower, same.interval.upper), (0.0, 0.0, 0.0));
    // Nor can it tell whether there is anything to fix.
    assert_eq!((same.floor, same.verdict), (None, Verdict::NoDifference));
}

#[test]
fn two_classes_have_the_interval_of_a_binary_outcome() {
    let data = binary();
    let labels: Vec<i64> = data.labels.iter().map(|label| i64::from(*label)).collect();
    let scores: Vec<f64> = data.logits.iter().flat_map(|h| [0.0, *h]).collect();
    let cross_fit = CrossFit::new(temperature()).n_resamples(99);
    let one = cross_fit.run(&data.plain().binary().unwrap()).unwrap();
    let two = improve(&cross_fit, &scores, &labels, 2);
    assert!((one.interval.lower - two.interval.lower).abs() < 1e-10, "{:?} {:?}", one.interval, two.interval);
    assert!((one.interval.upper - two.interval.upper).abs() < 1e-10, "{:?} {:?}", one.interval, two.interval);
    let floors = [one.floor.unwrap(), two.floor.unwrap()];
    assert!((floors[0].value - floors[1].value).abs() < 1e-10, "{floors:?}");
    assert!((floors[0].mean / floors[1].mean - 1.0).abs() < 0.5, "{floors:?}");
}

#[test]
fn orders_of_rows_and_classes_change_no_bit_of_the_gain() {
    let (scores, labels) = draw(400, 3, 0.8, 3);
    let cross_fit = CrossFit::new(temperature()).n_resamples(0);
    let bits =
        |found: Improvement<ClassMap>| [found.gain, found.interval.lower, found.interval.upper].map(f64::to_bits);
    let first = bits(improve(&cross_fit, &scores, &labels, 3));
    let rows: Vec<f64> = scores.chunks(3).rev().flatten().copied().collect();
    let row_labels: Vec<i64> = labels.iter().rev().copied().collect();
    assert_eq!(first, bits(improve(&cross_fit, &rows, &row_labels, 3)));
    let classes: Vec<f64> = scores.chunks(3).flat_map(|row| [row[2], row[0], row[1]]).collect();
    let class_labels: Vec<i64> = labels.iter().map(|label| (label + 1) % 3).collect();
    assert_eq!(first, bits(improve(&cross_fit, &classes, &class_labels, 3)));
}

#[test]
fn intervals_of_classes_cover_the_gain_of_the_fitted_map() {
    let (population, _) = draw(4000, 3, 1.0, 77);
    for slope in [1.0, 0.85] {
        let gain = |map: &ClassMap| {
            let identity = ClassMap::identity(3);
            let truth = |row: &[f64]| identity.apply(&[slope * row[0], slope * row[1], slope * row[2]], Form::Logits);
            let of_row = |row: &[f64]| {
                let (before, after) = (identity.apply(row, Form::Logits), map.apply(row, Form::Logits));
                truth(row).iter().zip(before.iter().zip(&after)).map(|(p, (b, a))| p * (a.ln() - b.ln())).sum::<f64>()
            };
            population.chunks(3).map(of_row).sum::<f64>() / 4000.0
        };
        let cross_fit = CrossFit::new(temperature()).n_resamples(0);
        let holds = |run: &u64| {
            let (scores, labels) = draw(250, 3, slope, 1000 + run);
            let found = improve(&cross_fit, &scores, &labels, 3);
            let gain = gain(&found.fit.map);
            found.interval.lower <= gain && gain <= found.interval.upper
        };
        let share = (0..100).filter(holds).count() as f64 / 100.0;
        println!("classes {slope}: {share}");
        // Three standard errors of 100 runs are 6.5 %.
        assert!((0.87..=1.0).contains(&share), "{slope}: {share}");
    }
}
