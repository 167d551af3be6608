//! Scalings of so many rows of classes that the first Hessian is of some of them, and that standard
//! errors share the last one.

use calipers::recalibrate::{ClassFormula, ClassMap, Fit, Method, Recalibrate};
use calipers::{Form, Input};

use crate::fixtures::Uniforms;

const N: usize = 4000;
const K: usize = 20;

/// Raw scores of a model that is too sure of some classes, and labels.
fn rows() -> (Vec<f64>, Vec<i64>) {
    let mut random = Uniforms(21);
    let scores: Vec<f64> = (0..N * K).map(|_| 2.0 * random.normal()).collect();
    let label = |row: &[f64]| {
        let weight = |class: usize| (row[class] * (0.5 + 0.04 * class as f64)).exp();
        let total: f64 = (0..K).map(weight).sum();
        let (mut left, mut class) = (random.next() * total, 0);
        while class + 1 < K && left > weight(class) {
            left -= weight(class);
            class += 1;
        }
        class as i64
    };
    let labels = scores.chunks(K).map(label).collect();
    (scores, labels)
}

fn fit(method: Method, scores: &[f64], labels: &[i64], weights: Option<&[f64]>) -> Fit<ClassMap> {
    let input = Input::logits(scores, labels).classes(K);
    let input = if let Some(weights) = weights { input.weights(weights) } else { input };
    Recalibrate::new(method).fit_classes(&input.check().unwrap()).unwrap()
}

/// The gradient of the definition by scales and biases, with g from the fitted slope.
fn gradient(map: &ClassMap, scores: &[f64], labels: &[i64]) -> Vec<f64> {
    let ClassFormula::Vector { mixture_before, scale, bias } = &map.formula else { panic!("{map:?}") };
    let n = labels.len() as f64;
    let penalty = 2.0 * K as f64 / n;
    let of_ridge = scale.iter().map(|scale| scale - 1.0).chain(bias.iter().copied());
    let mut sums: Vec<f64> = of_ridge.map(|away| penalty * away).collect();
    for (row, label) in scores.chunks(K).zip(labels) {
        let softmax = |u: Vec<f64>| {
            let top = u.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = u.iter().map(|u| (u - top).exp()).sum();
            u.into_iter().map(|u| (u - top).exp() / total).collect::<Vec<f64>>()
        };
        let before = softmax(row.iter().map(|z| map.slope * z).collect());
        let g: Vec<f64> =
            before.iter().map(|p| ((1.0 - mixture_before) * p + mixture_before / K as f64).ln()).collect();
        let p = softmax((0..K).map(|class| scale[class] * g[class] + bias[class]).collect());
        for class in 0..K {
            let residual = (p[class] - if class as i64 == *label { 1.0 } else { 0.0 }) / n;
            sums[class] += residual * g[class];
            sums[K + class] += residual;
        }
    }
    sums
}

#[test]
fn the_gradient_of_many_rows_vanishes() {
    let (scores, labels) = rows();
    let found = fit(Method::Vector, &scores, &labels, None);
    let gradient = gradient(&found.map, &scores, &labels);
    assert!(gradient.iter().all(|entry| entry.abs() < 1e-13), "{gradient:?}");
    assert!(found.bound.standard_errors < 1e-8, "{:?}", found.bound);
}

/// Weights that differ a little have a scatter of their own, which is a sum over all pairs.
#[test]
fn standard_errors_that_share_the_hessian_are_those_of_the_scatter() {
    let (scores, labels) = rows();
    let plain = fit(Method::Vector, &scores, &labels, None);
    let equal = fit(Method::Vector, &scores, &labels, Some(&[0.75; N]));
    let nearly: Vec<f64> = (0..N).map(|row| 1.0 + 1e-12 * (row % 2) as f64).collect();
    let other = fit(Method::Vector, &scores, &labels, Some(&nearly));
    let errors = |fit: &Fit<ClassMap>| -> Vec<f64> {
        fit.parameters.iter().map(|parameter| parameter.standard_error.unwrap()).collect()
    };
    for ((plain, equal), other) in errors(&plain).iter().zip(errors(&equal)).zip(errors(&other)) {
        assert!((plain / equal - 1.0).abs() < 1e-9 && (plain / other - 1.0).abs() < 1e-6, "{plain} {equal} {other}");
    }
    for (plain, other) in plain.covariance.iter().zip(&other.covariance) {
        assert!((plain - other).abs() < 1e-8, "{plain} {other}");
    }
    assert!((plain.effective_parameters - other.effective_parameters).abs() < 1e-4);
}

#[test]
fn orders_of_many_rows_and_threads_change_no_bit() {
    let (scores, labels) = rows();
    let reversed: Vec<f64> = scores.chunks(K).rev().flatten().copied().collect();
    let labels_reversed: Vec<i64> = labels.iter().rev().copied().collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for method in [Method::Vector, Method::BiasCorrectedTemperature] {
        let bits = |fit: Fit<ClassMap>| -> Vec<u64> {
            let values = fit.parameters.iter().flat_map(|parameter| [Some(parameter.value), parameter.standard_error]);
            let others = [fit.log_loss_after, fit.bound.nats, fit.effective_parameters];
            values.flatten().chain(others).map(f64::to_bits).collect()
        };
        let first = bits(fit(method, &scores, &labels, None));
        assert_eq!(first, bits(fit(method, &reversed, &labels_reversed, None)));
        assert_eq!(first, pool.install(|| bits(fit(method, &scores, &labels, None))));
    }
}

#[test]
fn probabilities_of_many_rows_give_the_map_of_their_logits() {
    let (scores, labels) = rows();
    let identity = ClassMap::identity(K);
    let p: Vec<f64> = scores.chunks(K).flat_map(|row| identity.apply(row, Form::Logits)).collect();
    let predictions = Input::probabilities(&p, &labels).classes(K).check().unwrap();
    let from_probabilities = Recalibrate::new(Method::Vector).fit_classes(&predictions).unwrap();
    let from_logits = fit(Method::Vector, &scores, &labels, None);
    for (a, b) in from_probabilities.parameters.iter().zip(&from_logits.parameters) {
        assert!((a.value - b.value).abs() < 1e-11, "{} {}", a.value, b.value);
    }
}
