//! What must not change the result.

use calipers::recalibrate::{BinaryMap, Fit, Method, Recalibrate};
use calipers::{Input, Sample};

use crate::fixtures::{Uniforms, binary};

fn bits(fit: &Fit<BinaryMap>) -> Vec<u64> {
    let table = fit.map.table.iter().flat_map(|table| table.at.iter().chain(&table.value));
    let pairs = fit.map.venn_abers.iter().flat_map(|map| map.at.iter().chain(&map.lower).chain(&map.upper));
    let numbers = fit.map.parameters.iter().chain(table).chain(pairs).chain(&fit.covariance);
    let others = [fit.log_loss_before, fit.log_loss_after, fit.effective_n, fit.map.mixture, fit.bound.nats];
    numbers.chain(&others).map(|number| number.to_bits()).collect()
}

/// Those of a binary outcome.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|method| !method.is_of_classes())
}

fn fit(method: Method, logits: &[f64], labels: &[u8], weights: &[f64]) -> Fit<BinaryMap> {
    // Venn-Abers prediction asks for whole numbers.
    let whole: Vec<f64> = weights.iter().map(|weight| (4.0 * weight).ceil()).collect();
    let weights = if method == Method::VennAbers { &whole } else { weights };
    let predictions = Input::logits(logits, labels).weights(weights).check().unwrap();
    Recalibrate::new(method).fit(&predictions.binary().unwrap()).unwrap()
}

/// Rows with ties whose weights have many digits.
fn rows(n: usize) -> (Vec<f64>, Vec<u8>, Vec<f64>) {
    let mut random = Uniforms(3);
    let logits: Vec<f64> = (0..n).map(|_| (2.0 * random.normal() * 64.0).round() / 64.0).collect();
    let labels = logits.iter().map(|h| u8::from(random.next() < 1.0 / (1.0 + (-0.6 * h).exp()))).collect();
    (logits, labels, (0..n).map(|_| random.next()).collect())
}

#[test]
fn the_order_of_rows_changes_no_bit() {
    let (logits, labels, weights) = rows(20_000);
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let mut random = Uniforms(9);
    (1..order.len()).for_each(|i| order.swap(i, (random.next() * (i + 1) as f64) as usize));
    let permuted = |values: &[f64]| order.iter().map(|&i| values[i]).collect::<Vec<f64>>();
    let permuted_labels: Vec<u8> = order.iter().map(|&i| labels[i]).collect();
    for method in methods() {
        let first = fit(method, &logits, &labels, &weights);
        let second = fit(method, &permuted(&logits), &permuted_labels, &permuted(&weights));
        assert_eq!(bits(&first), bits(&second), "{method:?}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (logits, labels, weights) = rows(40_000);
    let with_threads = |n: usize, method: Method| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| bits(&fit(method, &logits, &labels, &weights)))
    };
    for method in methods() {
        assert_eq!(with_threads(1, method), with_threads(5, method), "{method:?}");
    }
}

/// From 65,536 rows on they are sorted by cells, and from 16,384 scores on Newton's method starts
/// where cells of scores end: neither may depend on the order or on threads.
#[test]
fn many_different_scores_in_any_order_change_no_bit() {
    let mut random = Uniforms(5);
    let n = 80_000;
    let logits: Vec<f64> = (0..n).map(|_| 2.0 * random.normal()).collect();
    let labels: Vec<u8> =
        logits.iter().map(|h| u8::from(random.next() < 1.0 / (1.0 + (0.3 - 0.7 * h).exp()))).collect();
    let weights: Vec<f64> = (0..n).map(|_| random.next()).collect();
    let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
    let reversed_labels: Vec<u8> = labels.iter().rev().copied().collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for method in [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::Isotonic] {
        let first = fit(method, &logits, &labels, &weights);
        let second = one_thread.install(|| fit(method, &reversed(&logits), &reversed_labels, &reversed(&weights)));
        assert_eq!(bits(&first), bits(&second), "{method:?}");
    }
}

#[test]
fn probabilities_and_logits_give_the_same_map() {
    let data = binary();
    for method in methods() {
        let options = Recalibrate::new(method);
        let from_logits = options.fit(&data.plain().binary().unwrap()).unwrap();
        let predictions = Input::probabilities(&data.probabilities, &data.labels).check().unwrap();
        let from_probabilities = options.fit(&predictions.binary().unwrap()).unwrap();
        for h in [-5.0, -1.3, 0.0, 0.7, 3.0] {
            let p = 1.0 / (1.0 + f64::exp(-h));
            let [one, other] = [from_logits.map.apply(h), from_probabilities.map.apply_probability(p)];
            assert!((one - other).abs() < 1e-12, "{method:?} at {h}: {one} {other}");
        }
        for (one, other) in from_logits.map.parameters.iter().zip(&from_probabilities.map.parameters) {
            assert!((one - other).abs() < 1e-12, "{method:?}: {one} {other}");
        }
        // As two columns the same rows are read from the second.
        let two: Vec<f64> = data.probabilities.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let predictions = Input::probabilities(&two, &data.labels).classes(2).check().unwrap();
        let from_columns = options.fit(&predictions.binary().unwrap()).unwrap();
        assert_eq!(bits(&from_columns), bits(&from_probabilities), "{method:?}");
    }
}

#[test]
fn single_precision_is_read_as_the_doubles_that_it_equals() {
    let data = binary();
    let single: Vec<f32> = data.probabilities.iter().map(|p| *p as f32).collect();
    let double: Vec<f64> = single.iter().map(|p| f64::from(*p)).collect();
    let fit = |input: Input<'_>| Recalibrate::default().fit(&input.check().unwrap().binary().unwrap()).unwrap();
    let one = fit(Input::probabilities(&single, &data.labels));
    assert_eq!(bits(&one), bits(&fit(Input::probabilities(&double, &data.labels))));
    assert!((one.parameters[0].value - 0.3147).abs() < 1e-3);
}

#[test]
fn weights_that_count_rows_are_those_rows() {
    let data = binary();
    let repeated = |i: usize| std::iter::repeat_n(i, data.weights[i] as usize);
    let rows: Vec<usize> = (0..400).flat_map(repeated).collect();
    let logits: Vec<f64> = rows.iter().map(|&i| data.logits[i]).collect();
    let labels: Vec<u8> = rows.iter().map(|&i| data.labels[i]).collect();
    for method in methods() {
        let options = Recalibrate::new(method).counts(true);
        let counted = options.fit(&data.weighted().binary().unwrap()).unwrap();
        let predictions = Input::logits(&logits, &labels).check().unwrap();
        let repeated = options.fit(&predictions.binary().unwrap()).unwrap();
        assert_eq!(bits(&counted), bits(&repeated), "{method:?}");
    }
}

#[test]
fn the_scale_of_weights_and_rows_without_weight_do_not_matter() {
    let (logits, labels, weights) = rows(500);
    for method in methods() {
        let first = fit(method, &logits, &labels, &weights);
        let scaled: Vec<f64> = weights.iter().map(|weight| 3e100 * weight).collect();
        let second = if method == Method::VennAbers { first.clone() } else { fit(method, &logits, &labels, &scaled) };
        for h in [-4.0, -0.1, 2.2] {
            assert!((first.map.apply(h) - second.map.apply(h)).abs() < 1e-13, "{method:?}");
        }
        let more = |values: &[f64], value: f64| [values, &[value, value]].concat();
        let more_labels = [&labels[..], &[0, 1]].concat();
        let third = fit(method, &more(&logits, 30.0), &more_labels, &more(&weights, 0.0));
        assert_eq!(bits(&first), bits(&third), "{method:?}");
    }
}

#[test]
fn maps_rise_and_tables_keep_ties() {
    let (logits, labels, weights) = rows(800);
    for method in methods() {
        let map = fit(method, &logits, &labels, &weights).map;
        let values: Vec<f64> = (-400..400).map(|k| map.apply(f64::from(k) / 50.0)).collect();
        assert!(method == Method::Bins || values.windows(2).all(|pair| pair[0] <= pair[1]), "{method:?}");
        assert!(values.iter().all(|p| 0.0 < *p && *p < 1.0), "{method:?}");
        let strict = values.windows(2).all(|pair| pair[0] < pair[1]);
        assert_eq!(strict, map.keeps_ranks(), "{method:?}");
    }
}

#[test]
fn clusters_of_one_row_have_the_standard_errors_of_rows() {
    let data = binary();
    let predictions = data.plain();
    let view = predictions.binary().unwrap();
    let own: Vec<u32> = (0..400).collect();
    let options = Recalibrate::new(Method::Beta);
    let rows = options.fit(&view).unwrap();
    let clusters = options.fit(Sample::from(&view).clusters(&own)).unwrap();
    for (rows, clusters) in rows.covariance.iter().zip(&clusters.covariance) {
        assert!((clusters - rows * 400.0 / 399.0).abs() < 1e-12, "{rows} {clusters}");
    }
    // Every row twice in its cluster: twice the variance of so many independent rows.
    let twice: Vec<f64> = data.logits.iter().flat_map(|h| [*h, *h]).collect();
    let labels: Vec<u8> = data.labels.iter().flat_map(|y| [*y, *y]).collect();
    let pairs: Vec<u32> = (0..800).map(|i| i / 2).collect();
    let predictions = Input::logits(&twice, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let options = options.ridge(0.0);
    let independent = options.fit(&view).unwrap();
    let paired = options.fit(Sample::from(&view).clusters(&pairs)).unwrap();
    let ratio = paired.covariance[0] / independent.covariance[0];
    assert!((ratio - 2.0 * 400.0 / 399.0).abs() < 1e-9, "{ratio}");
}
