//! Rows one by one, against quadrature.

use calipers::{Error, Floats, Input, Link, Logistic, LsEce, Measure, Multiclass, Noise, Ties};

use crate::data::{LINKS, NOISES, Random, assert_within, estimate, residual};
use crate::oracle::{self, Point};

/// Ends, ties, values that clipping moves and values next to them.
const NASTY: [f64; 14] = [0.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.3, 1e-9, 1.0 - 1e-9, 1e-6, 0.999_999, 0.0, 0.999, 0.031_25];

#[test]
fn probabilities_in_either_precision_with_weights_are_those_of_quadrature() {
    let mut random = Random(11);
    for (link, _) in LINKS {
        for (noise, tolerance, _, _) in NOISES {
            for weighted in [false, true] {
                let p: Vec<f64> = NASTY.into_iter().chain((0..20).map(|_| random.next())).collect();
                let singles: Vec<f32> = p.iter().map(|p| *p as f32).collect();
                let y: Vec<bool> = (0..p.len()).map(|_| random.next() < 0.5).collect();
                let w: Vec<f64> =
                    (0..p.len()).map(|_| if weighted { 10f64.powf(4.0 * random.next() - 2.0) } else { 1.0 }).collect();
                let sigma = [0.02, 0.3, 2.0][random.below(3)];
                for single in [false, true] {
                    let scores = if single { Floats::F32(&singles) } else { Floats::F64(&p) };
                    let mut input = Input::probabilities(scores, &y);
                    if weighted {
                        input = input.weights(&w);
                    }
                    let predictions = input.check().unwrap();
                    let measure = residual(noise, link, sigma, tolerance);
                    let found = measure.estimate(&predictions.binary().unwrap()).unwrap();
                    let point = |row: usize| {
                        let read = if single { f64::from(singles[row]) } else { p[row] };
                        let h = oracle::inverse(oracle::link(link), read.clamp(1e-6, 1.0 - 1e-6));
                        Point { h, y: y[row], w: w[row] }
                    };
                    let points: Vec<Point> = (0..p.len()).map(point).collect();
                    let truth = oracle::residual_ls_ece(&points, oracle::noise(noise), oracle::link(link), sigma);
                    assert_within(&found, truth, &format!("{noise}, {link}, sigma {sigma}, single {single}"));
                    assert!(found.numerical_bound <= tolerance);
                    assert_eq!(found.measure(), "residual_ls_ece");
                    assert_eq!(found.n_clipped, if single { 6 } else { 5 });
                }
            }
        }
    }
}

#[test]
fn huge_logits_are_where_the_link_saturates() {
    let h = [1e9, -1e9, 1e300, -1e300, 2e8, -5e4, 0.3, -0.7, 1e9, 700.0, -90.0, 35.0];
    let y = [false, true, true, false, false, true, true, false, true, false, true, false];
    for (link, _) in LINKS {
        for (noise, tolerance, _, _) in NOISES {
            for sigma in [0.1, 1.0, 4.0] {
                let near: Vec<f64> = h.iter().map(|h: &f64| h.clamp(-2000.0, 2000.0)).collect();
                let point = |row: usize| Point { h: h[row], y: y[row], w: 1.0 };
                let points: Vec<Point> = (0..h.len()).map(point).collect();
                let found = estimate(&residual(noise, link, sigma, tolerance), &points);
                let near = oracle::points(&near, &y);
                let truth = oracle::residual_ls_ece(&near, oracle::noise(noise), oracle::link(link), sigma);
                assert_within(&found, truth, &format!("{noise}, {link}, {sigma}"));
            }
        }
    }
    // Saturated, and right: nothing is left.
    let right = [Point { h: 1e9, y: true, w: 1.0 }, Point { h: -1e12, y: false, w: 2.0 }];
    for (noise, tolerance, _, _) in NOISES {
        let found = estimate(&residual(noise, "logistic", 0.5, tolerance), &right);
        assert!(found.value <= found.numerical_bound, "{noise}");
    }
}

/// Noise that is so wide that it takes far logits across 0: what is moved must go twice as far out
/// as for LS-ECE.
#[test]
fn huge_logits_under_wide_noise_are_those_of_quadrature() {
    let h = [3e4, -3e4, -40.0, 35.0, -900.0, 1300.0, 0.1, -2.0, 2.5e4];
    let y = [false, true, false, true, true, false, true, false, true];
    for (noise, tolerance, _, _) in NOISES {
        for sigma in [30.0, 200.0, 1000.0] {
            let points = oracle::points(&h, &y);
            let found = estimate(&residual(noise, "logistic", sigma, tolerance), &points);
            let truth = oracle::residual_ls_ece(&points, oracle::noise(noise), oracle::logistic, sigma);
            // Quadrature has panels no longer than 1/8 here, and many of them.
            assert!((found.value - truth).abs() <= found.numerical_bound + 1e-8, "{noise}, {sigma}: {}", found.value);
        }
    }
}

#[test]
fn a_weight_is_a_number_of_repeated_rows() {
    let mut random = Random(12);
    for (noise, tolerance, _, _) in NOISES {
        let mut points = random.rows(50);
        points.iter_mut().for_each(|point| point.w = random.below(4) as f64);
        let repeated: Vec<Point> =
            points.iter().flat_map(|point| std::iter::repeat_n(Point { w: 1.0, ..*point }, point.w as usize)).collect();
        let measure = residual(noise, "logistic", 0.3, tolerance);
        let (weighted, repeated) = (estimate(&measure, &points), estimate(&measure, &repeated));
        let allowed = 1e-12 + if noise == "uniform" { weighted.numerical_bound } else { 0.0 };
        assert!((weighted.value - repeated.value).abs() <= allowed, "{noise}");
    }
}

#[test]
fn one_row_has_its_residual() {
    for (noise, tolerance, _, _) in NOISES {
        for (p, y, size) in
            [(0.5, true, 0.5), (0.9, false, 0.9), (0.9, true, 0.1), (0.0, false, 1e-6), (0.0, true, 1.0)]
        {
            let (p, y) = ([p], [y]);
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            let found = residual(noise, "logistic", 0.7, tolerance).estimate(&predictions.binary().unwrap()).unwrap();
            let truth = if size == 1.0 { 1.0 - 1e-6 } else { size };
            assert_within(&found, truth, noise);
        }
    }
}

#[test]
fn classes_are_measured_one_by_one_and_averaged() {
    let mut random = Random(13);
    let (n, n_classes) = (200, 3);
    let scores: Vec<f64> = (0..n * n_classes).map(|_| 4.0 * random.next()).collect();
    let labels: Vec<u8> = (0..n).map(|_| random.below(n_classes) as u8).collect();
    let predictions = Input::logits(&scores, &labels).classes(n_classes).check().unwrap();
    let measure = LsEce::new().sigma(0.3).residual();
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &measure).unwrap();
    assert_eq!((mean.measure(), mean.per_class.len()), ("residual_ls_ece", n_classes));
    let log_odds = |row: usize, class: usize| {
        let row = &scores[row * n_classes..][..n_classes];
        let others: f64 = (0..n_classes).filter(|k| *k != class).map(|k| row[k].exp()).sum();
        row[class] - others.ln()
    };
    for class in 0..n_classes {
        let point = |row: usize| Point { h: log_odds(row, class), y: usize::from(labels[row]) == class, w: 1.0 };
        let points: Vec<Point> = (0..n).map(point).collect();
        let truth = oracle::residual_ls_ece(&points, oracle::GAUSSIAN, oracle::logistic, 0.3);
        assert_within(&mean.per_class[class], truth, "class");
    }
}

#[test]
fn sigma_by_rule_is_that_of_ls_ece_and_can_be_settled_for_several_models() {
    let mut random = Random(14);
    let models: Vec<Vec<Point>> = (0..2).map(|_| random.rows(300)).collect();
    let measure = LsEce::new().residual();
    for points in &models {
        let (found, of_paper) = (estimate(&measure, points), estimate(&LsEce::new(), points));
        assert_eq!(found.settings, of_paper.settings);
        let sigma = found.settings.number("sigma").unwrap();
        assert_within(&found, oracle::residual_ls_ece(points, oracle::GAUSSIAN, oracle::logistic, sigma), "auto");
    }
    let columns: Vec<(Vec<f64>, Vec<bool>)> =
        models.iter().map(|points| points.iter().map(|point| (point.h, point.y)).unzip()).collect();
    let checked: Vec<_> = columns.iter().map(|(h, y)| Input::logits(h, y).check().unwrap()).collect();
    let views: Vec<_> = checked.iter().map(|predictions| predictions.binary().unwrap()).collect();
    let common = measure.resolve(&[&views[0], &views[1]]).unwrap().unwrap();
    let found = common.estimate(&views[0]).unwrap();
    assert_eq!(found.measure(), "residual_ls_ece");
    let sigma = found.settings.number("sigma").unwrap();
    let alone = LsEce::new().residual().sigma(sigma).estimate(&views[0]).unwrap();
    assert_eq!(found.value.to_bits(), alone.value.to_bits());
}

/// The logistic link, of which nothing but the slope is known.
#[derive(Debug)]
struct OnlySlope(Option<f64>);

impl Link for OnlySlope {
    fn name(&self) -> &str {
        "only slope"
    }
    fn response(&self, u: f64) -> f64 {
        Logistic.response(u)
    }
    fn complement(&self, u: f64) -> f64 {
        Logistic.complement(u)
    }
    fn derivative(&self, u: f64) -> f64 {
        Logistic.derivative(u)
    }
    fn inverse(&self, p: f64, complement: f64) -> f64 {
        Logistic.inverse(p, complement)
    }
    fn derivative_bound(&self, order: usize) -> Option<f64> {
        if order == 1 { self.0 } else { None }
    }
}

#[test]
fn a_link_needs_no_more_than_a_bounded_slope() {
    let points = Random(15).rows(100);
    let truth = oracle::residual_ls_ece(&points, oracle::GAUSSIAN, oracle::logistic, 0.2);
    for noise in [&calipers::Gaussian as &dyn Noise, &calipers::LogisticNoise] {
        let name = noise.name().to_owned();
        let measure = residual(&name, "logistic", 0.2, 1e-9).link(OnlySlope(Some(0.25)));
        let truth = if name == "gaussian" {
            truth
        } else {
            oracle::residual_ls_ece(&points, oracle::LOGISTIC, oracle::logistic, 0.2)
        };
        assert_within(&estimate(&measure, &points), truth, &name);
    }
    let h: Vec<f64> = points.iter().map(|point| point.h).collect();
    let y: Vec<bool> = points.iter().map(|point| point.y).collect();
    let predictions = Input::logits(&h, &y).check().unwrap();
    for noise in ["gaussian", "uniform"] {
        let refusal =
            residual(noise, "logistic", 0.2, 1e-6).link(OnlySlope(None)).estimate(&predictions.binary().unwrap());
        assert!(matches!(refusal, Err(Error::ToleranceNotMet { .. })), "{noise}");
    }
}
