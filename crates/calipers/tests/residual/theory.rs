//! The statements of "The residual form" in docs/theory.md, one after another.

use calipers::population::{Family, Finite, Logits, Truth};
use calipers::simulate::{Population, Remembered};
use calipers::{Gaussian, Input, Laplace, LogisticNoise, LsEce, Measure, Noise};

use crate::data::{LINKS, NOISES, ORACLE_ERROR, Random, assert_within, ece, estimate, paper, residual};
use crate::oracle::{self, Point};

#[test]
fn a_it_is_never_above_ece() {
    let mut random = Random(1);
    for _ in 0..10 {
        let points = random.rows(60);
        for (link, _) in LINKS {
            let ece = ece(&points, oracle::link(link));
            for (noise, tolerance, _, _) in NOISES {
                for sigma in [0.01, 0.3, 4.0] {
                    let found = estimate(&residual(noise, link, sigma, tolerance), &points);
                    assert!(found.value <= ece + found.numerical_bound + 1e-14, "{noise}, {link}, {sigma}");
                }
            }
        }
    }
    for family in Family::all() {
        for noise in [&Gaussian as &dyn Noise, &Laplace] {
            let (ece, smoothed) = (family.ece(), family.residual_ls_ece(noise, 0.3).unwrap());
            assert!(smoothed.value <= ece.value + ece.error + smoothed.error + 1e-10, "{}", family.name());
        }
    }
}

#[test]
fn b_it_does_not_grow_with_sigma_for_gaussian_laplace_and_logistic_noise() {
    let mut random = Random(2);
    for noise in ["gaussian", "laplace", "logistic"] {
        for _ in 0..4 {
            let points = random.rows(80);
            let at = |sigma: f64| estimate(&residual(noise, "logistic", sigma, 1e-5), &points);
            let found: Vec<_> = [0.003, 0.03, 0.1, 0.2, 0.4, 0.45, 1.0, 3.0, 10.0].map(at).into();
            for pair in found.windows(2) {
                let slack = pair[0].numerical_bound + pair[1].numerical_bound;
                assert!(pair[1].value <= pair[0].value + slack, "{noise}: {} after {}", pair[1].value, pair[0].value);
            }
        }
    }
}

#[test]
fn b_it_tends_to_ece_as_sigma_vanishes() {
    let mut random = Random(3);
    let points: Vec<Point> = (0..300)
        .map(|_| {
            let h = (random.below(17) as f64 - 8.0) / 2.0;
            Point { h, y: random.next() < oracle::logistic(0.6 * h), w: 1.0 }
        })
        .collect();
    let ece = ece(&points, oracle::logistic);
    assert!(ece > 0.02);
    for (noise, tolerance, _, _) in NOISES {
        assert_within(&estimate(&residual(noise, "logistic", 0.002, tolerance), &points), ece, noise);
    }
    for family in Family::all().into_iter().filter(|family| !family.is_calibrated()) {
        let ece = family.ece().value;
        let [far, near, nearer] = [0.5, 0.1, 0.03].map(|sigma| family.residual_ls_ece(&Gaussian, sigma).unwrap().value);
        let name = family.name();
        assert!(far <= near + 1e-10 && near <= nearer + 1e-10 && nearer <= ece + 1e-10, "{name}");
        assert!(ece - nearer < 0.1 * ece, "{name}: {nearer} is far from {ece}");
    }
}

#[test]
fn c_it_is_zero_for_calibrated_rows_at_any_sigma_and_lsece_is_not() {
    // k of 8 rows at k/8 have outcome 1.
    let (mut p, mut y) = (Vec::new(), Vec::new());
    for k in 1..8 {
        for row in 0..8 {
            p.push(f64::from(k) / 8.0);
            y.push(row < k);
        }
    }
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for (noise, tolerance, _, _) in NOISES {
        for sigma in [0.01, 0.3, 3.0] {
            let found = residual(noise, "logistic", sigma, tolerance).estimate(&view).unwrap();
            assert!(found.value <= found.numerical_bound, "{noise}, {sigma}: {}", found.value);
        }
        let of_paper = paper(noise, "logistic", 1.0, tolerance).estimate(&view).unwrap();
        assert!(of_paper.value > 1e-3, "{noise}: {}", of_paper.value);
    }
    for family in Family::all().into_iter().filter(Family::is_calibrated) {
        assert_eq!(family.residual_ls_ece(&Gaussian, 0.3).unwrap().value, 0.0);
    }
    let calibrated = Finite::new(&[1.0, 2.0], &[0.3, 0.9], &[0.3, 0.9]).unwrap();
    let found = calibrated.residual_ls_ece(&LsEce::new().sigma(0.5)).unwrap();
    assert!(found.value <= found.numerical_bound);
}

#[test]
fn c_it_is_positive_for_rows_that_are_not_calibrated_whatever_the_noise() {
    let mut random = Random(4);
    for (noise, tolerance, _, _) in NOISES {
        for _ in 0..5 {
            let found = estimate(&residual(noise, "logistic", 0.3, tolerance), &random.rows(20));
            assert!(found.value > found.numerical_bound, "{noise}");
        }
    }
}

/// Residuals of one size and alternating signs, half a sigma apart: all cancel under uniform noise
/// but for both ends. The characteristic function of that noise is 0 at their frequency, and V is
/// small against ECE without being 0. With half as much noise again, one of three is left.
#[test]
fn c_a_zero_of_the_characteristic_function_hides_a_frequency_but_no_finite_law() {
    let (sigma, n) = (0.25, 40);
    let points: Vec<Point> = (0..n)
        .map(|k| {
            let (h, y) = (f64::from(k) * sigma / 2.0 - 2.5, k % 2 == 0);
            let p = oracle::logistic(h);
            Point { h, y, w: if y { 1.0 / (1.0 - p) } else { 1.0 / p } }
        })
        .collect();
    let found = estimate(&residual("uniform", "logistic", sigma, 1e-9), &points);
    let ece = ece(&points, oracle::logistic);
    assert_within(&found, ece / f64::from(n), "all but both ends cancel");
    assert!(found.value > 1e-3);
    let wider = estimate(&residual("uniform", "logistic", 1.5 * sigma, 1e-9), &points);
    assert_within(&wider, ece / 3.0, "one of three is left");
}

#[test]
fn d_moving_logits_moves_it_by_no_more_than_the_lipschitz_bound() {
    let mut random = Random(5);
    for (link, slope) in LINKS {
        for (noise, tolerance, variation, _) in NOISES {
            for sigma in [0.05, 0.5, 5.0] {
                let points = random.rows(40);
                let mut moved = points.clone();
                let size = [1e-3, 0.05, 1.0][random.below(3)];
                moved.iter_mut().for_each(|point| point.h += size * (2.0 * random.next() - 1.0));
                let total: f64 = points.iter().map(|point| point.w).sum();
                let distance: f64 =
                    points.iter().zip(&moved).map(|(from, to)| from.w / total * (from.h - to.h).abs()).sum();
                let measure = residual(noise, link, sigma, tolerance);
                let (before, after) = (estimate(&measure, &points), estimate(&measure, &moved));
                let allowed = (variation / sigma + slope) * distance + before.numerical_bound + after.numerical_bound;
                assert!((before.value - after.value).abs() <= allowed, "{noise}, {link}, {sigma}");
            }
        }
    }
}

#[test]
fn e_it_differs_from_ls_ece_by_no_more_than_smoothing_does_to_the_predictions() {
    let mut random = Random(6);
    for (link, slope) in LINKS {
        for (noise, tolerance, _, mean_size) in NOISES {
            for sigma in [0.1, 1.0] {
                let mut points = random.rows(30);
                let (kernel, rho) = (oracle::noise(noise), oracle::link(link));
                let bias = oracle::smoothing_bias(&points, kernel, rho, sigma);
                assert!(bias <= slope * mean_size * sigma + ORACLE_ERROR, "{noise}, {link}: {bias}");
                for _ in 0..3 {
                    let found = estimate(&residual(noise, link, sigma, tolerance), &points);
                    let of_paper = estimate(&paper(noise, link, sigma, tolerance), &points);
                    let slack = found.numerical_bound + of_paper.numerical_bound + ORACLE_ERROR;
                    assert!((found.value - of_paper.value).abs() <= bias + slack, "{noise}, {link}, {sigma}");
                    points.iter_mut().for_each(|point| point.y = random.next() < 0.5);
                    assert_eq!(bias, oracle::smoothing_bias(&points, kernel, rho, sigma));
                }
            }
        }
    }
}

#[test]
fn f_its_parts_above_and_below_follow_from_the_means() {
    let mut random = Random(7);
    for (noise, tolerance, _, _) in NOISES {
        let points = random.rows(25);
        let total: f64 = points.iter().map(|point| point.w).sum();
        let gap = |point: &Point| point.w / total * (f64::from(u8::from(point.y)) - oracle::logistic(point.h));
        let difference: f64 = points.iter().map(gap).sum();
        let found = estimate(&residual(noise, "logistic", 0.4, tolerance), &points);
        let (low, high) = oracle::residual_parts(&points, oracle::noise(noise), oracle::logistic, 0.4, 200_000);
        // The midpoint rule is off by a step at each jump of uniform noise.
        let allowed = found.numerical_bound + if noise == "uniform" { 1e-3 } else { 1e-7 };
        assert!((low - 0.5 * (found.value + difference)).abs() <= allowed, "{noise}: {low}");
        assert!((high - 0.5 * (found.value - difference)).abs() <= allowed, "{noise}: {high}");
    }
}

/// The density of the smoothed residuals as a plain sum over a fine lattice of logits, and its size
/// as another: for smooth laws both converge faster than any power of the step.
#[test]
fn populations_have_the_value_of_plain_double_sums() {
    for family in Family::all().into_iter().chain(Family::kept_aside()) {
        let Logits::Normal { mean, deviation } = *family.logits() else { continue };
        for (name, noise, sigma) in [("gaussian", &Gaussian as &dyn Noise, 0.3), ("logistic", &LogisticNoise, 0.2)] {
            let density = oracle::noise(name).density;
            let step = 0.02;
            let lattice: Vec<f64> = (-600..=600).map(|k| mean + f64::from(k) * step * deviation.max(1.0)).collect();
            let width = step * deviation.max(1.0);
            let masses: Vec<f64> = lattice
                .iter()
                .map(|h| {
                    let z = (h - mean) / deviation;
                    let law = (-0.5 * z * z).exp() / (std::f64::consts::TAU.sqrt() * deviation);
                    law * width * (family.truth().probability(*h) - oracle::logistic(*h))
                })
                .collect();
            let at = |u: f64| -> f64 {
                lattice.iter().zip(&masses).map(|(h, mass)| mass * density((u - h) / sigma) / sigma).sum()
            };
            let value: f64 = lattice.iter().map(|u| at(*u).abs() * width).sum();
            let found = family.residual_ls_ece(noise, sigma).unwrap();
            // |R| has kinks, at which a sum is off by the square of the step, or by the step where the truth itself jumps.
            let allowed = if matches!(family.truth(), Truth::Piecewise { .. }) { 1e-3 } else { 1e-4 };
            assert!((found.value - value).abs() < allowed, "{}, {name}: {} and {value}", family.name(), found.value);
            assert!(found.error < 1e-9);
        }
    }
}

#[test]
fn populations_remember_their_value() {
    let family = Family::named("overconfident").unwrap();
    let remembered = Remembered::new(&family);
    let direct = family.residual_ls_ece(&Gaussian, 0.4).unwrap().value;
    for _ in 0..2 {
        assert_eq!(remembered.residual_ls_ece(0.4).unwrap(), direct);
        assert_eq!(remembered.ls_ece(0.4).unwrap(), family.ls_ece(&Gaussian, 0.4).unwrap().value);
    }
    let finite = Finite::new(&[1.0, 1.0], &[0.2, 0.9], &[0.4, 0.7]).unwrap();
    let points = [(0.4, 0.2), (0.7, 0.9)].map(|(p, truth): (f64, f64)| {
        [(true, truth), (false, 1.0 - truth)].map(|(y, w)| Point { h: oracle::logit(p, 1e-6), y, w })
    });
    let truth = oracle::residual_ls_ece(points.as_flattened(), oracle::GAUSSIAN, oracle::logistic, 0.5);
    assert!((Population::residual_ls_ece(&finite, 0.5).unwrap() - truth).abs() < 1e-6);
}
