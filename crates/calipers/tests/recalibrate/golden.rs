//! Values that solvers in another language have found, to 1e-10.

use calipers::BinaryView;
use calipers::recalibrate::{BinaryMap, Fit, Method, Recalibrate};

use crate::fixtures::{Binary, binary};

fn fit(options: &Recalibrate, view: &BinaryView<'_>) -> Fit<BinaryMap> {
    options.fit(view).unwrap()
}

fn brier(fit: &Fit<BinaryMap>, data: &Binary, weight: impl Fn(usize) -> f64) -> f64 {
    let n = data.labels.len();
    let square = |i: usize| (fit.map.apply(data.logits[i]) - f64::from(data.labels[i])).powi(2);
    (0..n).map(|i| weight(i) * square(i)).sum::<f64>() / (0..n).map(weight).sum::<f64>()
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-10, "{what}: {found} is not {expected}");
}

/// Parameters, log-loss and Brier score after, of a method with this ridge.
type Case = (Method, f64, &'static [f64], f64, Option<f64>);

fn check(cases: &[Case], data: &Binary, view: &BinaryView<'_>, options: &Recalibrate, weight: impl Fn(usize) -> f64) {
    for &(method, ridge, parameters, log_loss, expected_brier) in cases {
        let fit = fit(&options.clone().method(method).ridge(ridge), view);
        let name = method.name();
        assert_eq!(fit.parameters.len(), parameters.len());
        for (found, expected) in fit.parameters.iter().zip(parameters) {
            assert_near(found.value, *expected, &format!("{name} {}", found.name));
        }
        assert_near(fit.log_loss_after, log_loss, name);
        if let Some(expected) = expected_brier {
            assert_near(brier(&fit, data, &weight), expected, name);
        }
        assert!(fit.bound.standard_errors < 1e-10 && fit.bound.nats < 1e-20, "{name}: {:?}", fit.bound);
        assert!(fit.notes.is_empty(), "{name}: {:?}", fit.notes);
    }
}

#[test]
fn formulas_of_rows_without_weights() {
    let data = binary();
    let predictions = data.plain();
    let view = predictions.binary().unwrap();
    let options = Recalibrate::new(Method::Identity);
    assert_near(fit(&options, &view).log_loss_before, 0.723760622332, "before");
    let cases: [Case; 6] = [
        (Method::Shift, 0.0, &[0.334130145257], 0.715668111219, None),
        (Method::Temperature, 0.0, &[0.406516440395], 0.631883903029, Some(0.220579462082)),
        (Method::Platt, 0.0, &[0.411418849259, 0.219038405859], 0.626638341740, Some(0.218432308506)),
        (Method::Platt, 2.0, &[0.419952469054, 0.210461716938], 0.626672166416, Some(0.218453038016)),
        (Method::Beta, 0.0, &[0.264060700866, 0.567673675708, -0.085319324463], 0.625881657473, Some(0.218119421743)),
        (Method::Beta, 2.0, &[0.314795884284, 0.550130229857, -0.013393470644], 0.626021304992, Some(0.218194796528)),
    ];
    check(&cases, &data, &view, &options, |_| 1.0);
}

#[test]
fn formulas_of_rows_with_weights() {
    let data = binary();
    let predictions = data.weighted();
    let view = predictions.binary().unwrap();
    let options = Recalibrate::new(Method::Identity);
    assert_near(fit(&options, &view).log_loss_before, 0.711072302670, "before");
    let cases: [Case; 5] = [
        (Method::Temperature, 0.0, &[0.425958458460], 0.626838108238, Some(0.218293266976)),
        (Method::Platt, 0.0, &[0.430782293657, 0.213560510838], 0.621903184600, Some(0.216306609312)),
        (Method::Beta, 0.0, &[0.284981535981, 0.586280424347, -0.087330254136], 0.621174518946, Some(0.216001220147)),
        (Method::Platt, 2.0, &[0.440622455551, 0.203770867172], 0.621947031889, Some(0.216334984477)),
        (Method::Beta, 2.0, &[0.341304659206, 0.567990699767, -0.009038409645], 0.621349779174, Some(0.216100966076)),
    ];
    let weight = |i: usize| data.weights[i];
    check(&cases, &data, &view, &options, weight);
    let counts: [Case; 1] =
        [(Method::Beta, 2.0, &[0.315880225103, 0.571484054732, -0.039345007343], 0.621216366606, Some(0.216030544017))];
    check(&counts, &data, &view, &options.counts(true), weight);
}

#[test]
fn the_covariance_of_platts_parameters() {
    let data = binary();
    let predictions = data.plain();
    let fit = fit(&Recalibrate::new(Method::Platt).ridge(0.0), &predictions.binary().unwrap());
    for (found, expected) in fit.covariance.iter().zip([0.00375258, 0.00032704, 0.00032704, 0.0114988]) {
        assert!((found - expected).abs() < 1e-8, "{found} is not {expected}");
    }
    let likelihood_ratio = 800.0 * (fit.log_loss_before - fit.log_loss_after);
    assert!((likelihood_ratio - 77.6978244737).abs() < 1e-8, "{likelihood_ratio}");
    // The band at a logit is that of the linear predictor there.
    let band = fit.band(2.0, 0.95).unwrap();
    let variance = 4.0 * fit.covariance[0] + 4.0 * fit.covariance[1] + fit.covariance[3];
    let u = 2.0 * fit.parameters[0].value + fit.parameters[1].value;
    let sigma = |u: f64| 1.0 / (1.0 + (-u).exp());
    assert!((band.upper - sigma(u + 1.959963984540054 * variance.sqrt())).abs() < 1e-12);
    assert!((band.lower - sigma(u - 1.959963984540054 * variance.sqrt())).abs() < 1e-12);
    assert_eq!(band.value, fit.map.apply(2.0));
}

#[test]
fn isotonic_blocks_are_exact() {
    let data = binary();
    let predictions = data.plain();
    let view = predictions.binary().unwrap();
    let raw = fit(&Recalibrate::new(Method::Isotonic).mixture(0.0), &view);
    let table = raw.map.table.as_ref().unwrap();
    let blocks: [(f64, f64, f64); 16] = [
        (1.0, 6.0, -3.125),
        (14.0, 44.0, -2.9375),
        (1.0, 3.0, -2.25),
        (3.0, 8.0, -2.0625),
        (11.0, 27.0, -1.8125),
        (21.0, 44.0, -1.375),
        (1.0, 2.0, -0.6875),
        (12.0, 23.0, 0.25),
        (5.0, 8.0, 0.625),
        (27.0, 43.0, 0.875),
        (2.0, 3.0, 1.5625),
        (3.0, 4.0, 1.75),
        (13.0, 16.0, 2.0),
        (35.0, 43.0, 2.25),
        (5.0, 6.0, 2.9375),
        (1.0, 1.0, 3.125),
    ];
    assert_eq!(raw.effective_parameters, 16.0);
    for (positive, total, first) in blocks {
        assert_eq!(raw.map.apply(first), positive / total, "at {first}");
        assert!(table.at.contains(&first));
    }
    assert_near(raw.log_loss_after, 0.616883349862, "isotonic");
    assert_near(brier(&raw, &data, |_| 1.0), 0.214856706069, "isotonic");
    let mixed = fit(&Recalibrate::new(Method::Isotonic), &view);
    assert_eq!(mixed.map.mixture, 1.0 / 401.0);
    assert_near(mixed.log_loss_after, 0.616896437286, "isotonic with a mixture");
    assert_near(brier(&mixed, &data, |_| 1.0), 0.214856924620, "isotonic with a mixture");
}

#[test]
fn isotonic_blocks_of_weighted_rows() {
    let data = binary();
    let predictions = data.weighted();
    let view = predictions.binary().unwrap();
    let raw = fit(&Recalibrate::new(Method::Isotonic).mixture(0.0), &view);
    let mut values = raw.map.table.as_ref().unwrap().value.clone();
    values.dedup();
    let expected = [
        0.12,
        0.28,
        0.310344827586,
        0.388235294118,
        0.482758620690,
        0.491071428571,
        0.547169811321,
        0.558823529412,
        0.643678160920,
        0.740740740741,
        0.8,
        0.825581395349,
        0.863636363636,
        1.0,
    ];
    assert_eq!(values.len(), expected.len());
    values.iter().zip(expected).for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12));
    assert_near(raw.log_loss_after, 0.608261126999, "isotonic, weighted");
    assert_near(brier(&raw, &data, |i| data.weights[i]), 0.211035777349, "isotonic, weighted");
    let mixed = fit(&Recalibrate::new(Method::Isotonic).counts(true), &view);
    assert_near(mixed.log_loss_after, 0.608266792001, "isotonic with a mixture, weighted");
}

#[test]
fn centred_isotonic_regression() {
    let data = binary();
    let predictions = data.plain();
    let fit = fit(&Recalibrate::new(Method::CentredIsotonic).mixture(0.0), &predictions.binary().unwrap());
    let expected = [(-2.0, 0.36904762), (-1.0, 0.47902098), (0.0, 0.50819672), (1.0, 0.62671756), (2.0, 0.78906250)];
    for (h, p) in expected {
        assert!((fit.map.apply(h) - p).abs() < 1e-8, "at {h}: {}", fit.map.apply(h));
    }
    assert_near(fit.log_loss_after, 0.626227127210, "centred isotonic");
    assert_near(brier(&fit, &data, |_| 1.0), 0.218047281920, "centred isotonic");
}
