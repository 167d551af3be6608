//! The bound on hard cases made for it: ties, near ties, far clusters, heavy tails, few points,
//! wild weights.

#[macro_use]
mod oracle;

use std::sync::Mutex;

use calipers::{Error, Input, LsEce, Measure, link, noise};
use oracle::Point;
use proptest::prelude::*;

/// What the oracle itself may be off by: rounding, and lobes of |G| narrower than sigma / 40.
const ORACLE_ERROR: f64 = 2e-10;

/// Logits of the kinds that break careless grids, at a given sigma.
fn logits(sigma: f64) -> impl Strategy<Value = Vec<f64>> {
    let spread = prop::collection::vec(-14.0..14.0, 1..40);
    let tied = (prop::collection::vec(-6.0..6.0, 1..4), 2usize..12).prop_map(|(values, copies)| values.repeat(copies));
    let near = (-8.0..8.0, prop::collection::vec(0.0..1.0, 2..20))
        .prop_map(move |(centre, steps)| steps.into_iter().map(|step| centre + step * sigma / 1000.0).collect());
    let far =
        prop::collection::vec(prop_oneof![Just(-700.0), Just(700.0), Just(699.999), -701.0..-699.0, -3.0..3.0], 1..16);
    let heavy = prop::collection::vec((-1.0..1.0f64, 0.05..0.95f64), 1..30).prop_map(|draws| {
        draws.into_iter().map(|(sign, u)| (sign.signum() * (1.0 / u - 1.0).powf(2.0)).clamp(-700.0, 700.0)).collect()
    });
    let few = prop::collection::vec(-3.0..3.0, 1..4);
    prop_oneof![spread, tied, near, far, heavy, few]
}

fn outcomes(n: usize) -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![
        3 => prop::collection::vec(any::<bool>(), n),
        1 => Just(vec![true; n]),
        1 => Just(vec![false; n]),
    ]
}

/// None, or spread over 12 decades.
fn weights(n: usize) -> impl Strategy<Value = Option<Vec<f64>>> {
    prop_oneof![
        Just(None),
        prop::collection::vec((-6.0..6.0f64).prop_map(|exponent| 10f64.powf(exponent)), n).prop_map(Some),
    ]
}

fn sigmas() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1e-3), Just(10.0), (-3.0..1.0f64).prop_map(|exponent| 10f64.powf(exponent))]
}

type Case = (f64, Vec<f64>, Vec<bool>, Option<Vec<f64>>);

fn cases() -> impl Strategy<Value = Case> {
    sigmas().prop_flat_map(|sigma| {
        logits(sigma).prop_flat_map(move |h| {
            let n = h.len();
            (Just(sigma), Just(h), outcomes(n), weights(n))
        })
    })
}

/// LS-ECE, or its residual form.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Paper,
    Residual,
}

/// Checks a case and returns bound / error.
fn check(case: &Case, form: Form, noise_name: &str, link_name: &str, tolerance: f64) -> f64 {
    let (sigma, h, y, w) = case;
    let mut input = Input::logits(h, y);
    if let Some(w) = w {
        input = input.weights(w);
    }
    let predictions = input.check().unwrap();
    let measure = LsEce::new()
        .sigma(*sigma)
        .tolerance(tolerance)
        .noise(noise::by_name(noise_name).unwrap())
        .link(link::by_name(link_name).unwrap());
    let measure = if form == Form::Residual { measure.residual() } else { measure };
    let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
    let point = |i: usize| Point { h: h[i], y: y[i], w: w.as_ref().map_or(1.0, |w| w[i]) };
    let points: Vec<Point> = (0..h.len()).map(point).collect();
    let slow = if form == Form::Residual { oracle::residual_ls_ece } else { oracle::ls_ece };
    let truth = slow(&points, oracle::noise(noise_name), oracle::link(link_name), *sigma);
    let error = (estimate.value - truth).abs();
    assert!(estimate.numerical_bound <= tolerance);
    assert!(
        error <= estimate.numerical_bound + ORACLE_ERROR,
        "{form:?}, {noise_name}, {link_name}, sigma {sigma}: {} against {truth}, error {error:e}, bound {:e}",
        estimate.value,
        estimate.numerical_bound
    );
    estimate.numerical_bound / error.max(1e-16)
}

fn run(noise: &str, link: &str, tolerance: f64, n_cases: u32) {
    run_form(Form::Paper, noise, link, tolerance, n_cases);
}

fn run_form(form: Form, noise: &str, link: &str, tolerance: f64, n_cases: u32) {
    let ratios = Mutex::new(Vec::new());
    let config = ProptestConfig { cases: n_cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&cases(), |case| {
            ratios.lock().unwrap().push(check(&case, form, noise, link, tolerance));
            Ok(())
        })
        .unwrap();
    let mut ratios = ratios.into_inner().unwrap();
    ratios.sort_by(f64::total_cmp);
    say!(
        "{form:?}, {noise}, {link}, tolerance {tolerance:e}: bound / true error: min {:.1}, median {:.0}",
        ratios[0],
        ratios[ratios.len() / 2]
    );
}

#[test]
fn gaussian_noise_keeps_its_bound() {
    run("gaussian", "logistic", 1e-6, 600);
    run("gaussian", "logistic", 1e-3, 200);
    run("gaussian", "logistic", 1e-9, 200);
}

#[test]
fn uniform_noise_keeps_its_bound() {
    run("uniform", "logistic", 1e-6, 400);
}

#[test]
fn logistic_noise_keeps_its_bound() {
    run("logistic", "logistic", 1e-6, 200);
}

#[test]
fn laplace_noise_keeps_its_bound() {
    run("laplace", "logistic", 1e-5, 60);
    run("laplace", "logistic", 1e-6, 20);
}

#[test]
fn epanechnikov_noise_keeps_its_bound() {
    run("epanechnikov", "logistic", 1e-5, 60);
    run("epanechnikov", "logistic", 1e-6, 20);
}

#[test]
fn other_links_keep_their_bounds() {
    for link in ["probit", "cloglog"] {
        for noise in ["gaussian", "uniform", "logistic"] {
            run(noise, link, 1e-6, 100);
        }
    }
}

#[test]
fn the_residual_form_keeps_its_bound_with_gaussian_noise() {
    for tolerance in [1e-3, 1e-6, 1e-9] {
        run_form(Form::Residual, "gaussian", "logistic", tolerance, 200);
    }
}

#[test]
fn the_residual_form_keeps_its_bound_with_every_noise_and_link() {
    for link in link::NAMES {
        for (noise, tolerance, n_cases) in [
            ("gaussian", 1e-6, 60),
            ("uniform", 1e-6, 60),
            ("logistic", 1e-6, 40),
            ("laplace", 1e-5, 12),
            ("epanechnikov", 1e-5, 12),
        ] {
            run_form(Form::Residual, noise, link, tolerance, n_cases);
        }
    }
}

#[test]
fn a_tolerance_below_rounding_is_refused_and_not_met_in_silence() {
    let predictions = Input::probabilities(&[0.3, 0.8], &[0, 1]).check().unwrap();
    for noise_name in noise::NAMES {
        let measure = LsEce::new().sigma(0.1).tolerance(1e-17).noise(noise::by_name(noise_name).unwrap());
        let refusal = measure.estimate(&predictions.binary().unwrap()).unwrap_err();
        // What it says can be met can be met.
        if let Error::ToleranceNotMet { attainable: attainable @ ..1.0, .. } = refusal {
            measure.tolerance(attainable).estimate(&predictions.binary().unwrap()).unwrap();
        }
        assert!(
            matches!(refusal, Error::ToleranceNotMet { attainable, .. } if attainable > 1e-17),
            "{noise_name}: {refusal}"
        );
    }
}

/// Noise that jumps, described by its total variation alone: half of it uniform on [-1, 1], half on
/// [-1/4, 1/4].
#[derive(Debug)]
struct Steps;

impl calipers::Noise for Steps {
    fn name(&self) -> &str {
        "steps"
    }
    fn density(&self, x: f64) -> f64 {
        let step = |half: f64| if x.abs() <= half { 0.25 / half } else { 0.0 };
        step(1.0) + step(0.25)
    }
    fn distribution(&self, x: f64) -> f64 {
        let ramp = |half: f64| ((x + half) / (2.0 * half)).clamp(0.0, 1.0) / 2.0;
        ramp(1.0) + ramp(0.25)
    }
    fn tail(&self, x: f64) -> f64 {
        2.0 * self.distribution(-x)
    }
    fn variation(&self, order: usize) -> Option<f64> {
        (order == 1).then_some(2.5)
    }
    fn sample(&self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        let half = if uniform() < 0.5 { 1.0 } else { 0.25 };
        half * (2.0 * uniform() - 1.0)
    }
}

#[test]
fn noise_of_first_order_is_certified_to_coarse_tolerances_and_refused_fine_ones() {
    let oracle_noise = oracle::Noise {
        density: |x| {
            let step = |half: f64| if x.abs() <= half { 0.25 / half } else { 0.0 };
            step(1.0) + step(0.25)
        },
        kinks: &[-1.0, -0.25, 0.25, 1.0],
        reach: 1.0,
    };
    let (h, y) = ([-1.3, -0.2, 0.0, 0.4, 0.45, 2.0], [false, true, false, true, true, false]);
    let predictions = Input::logits(&h, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for sigma in [0.1, 0.7, 3.0] {
        let truth = oracle::ls_ece(&oracle::points(&h, &y), oracle_noise, oracle::logistic, sigma);
        for tolerance in [1e-2, 1e-4] {
            let estimate = LsEce::new().noise(Steps).sigma(sigma).tolerance(tolerance).estimate(&view).unwrap();
            assert!((estimate.value - truth).abs() <= estimate.numerical_bound, "sigma {sigma}: {}", estimate.value);
        }
        let refusal = LsEce::new().noise(Steps).sigma(sigma).tolerance(1e-9).estimate(&view).unwrap_err();
        // What it says could be met can be met.
        let Error::ToleranceNotMet { attainable, .. } = refusal else { panic!("{refusal}") };
        LsEce::new().noise(Steps).sigma(sigma).tolerance(attainable).estimate(&view).unwrap();
    }
}

/// A link that is forty times as steep as the logistic one.
#[derive(Debug)]
struct Steep;

impl calipers::Link for Steep {
    fn name(&self) -> &str {
        "steep"
    }
    fn response(&self, u: f64) -> f64 {
        calipers::Logistic.response(40.0 * u)
    }
    fn complement(&self, u: f64) -> f64 {
        calipers::Logistic.complement(40.0 * u)
    }
    fn derivative(&self, u: f64) -> f64 {
        40.0 * calipers::Logistic.derivative(40.0 * u)
    }
    fn inverse(&self, p: f64, complement: f64) -> f64 {
        calipers::Logistic.inverse(p, complement) / 40.0
    }
    fn derivative_bound(&self, order: usize) -> Option<f64> {
        Some(calipers::Logistic.derivative_bound(order)? * 40f64.powi(order as i32))
    }
}

#[test]
fn a_link_of_ones_own_is_certified_too() {
    use calipers::Link;
    let steep = |u: f64| calipers::Logistic.response(40.0 * u);
    let (h, y) = ([0.003, 0.011, -0.02, 0.4], [true, false, true, true]);
    let predictions = Input::logits(&h, &y).check().unwrap();
    for noise_name in ["uniform", "gaussian", "logistic"] {
        for sigma in [0.01, 0.5] {
            let measure = LsEce::new().sigma(sigma).link(Steep).noise(noise::by_name(noise_name).unwrap());
            let estimate = measure.estimate(&predictions.binary().unwrap()).unwrap();
            // On an axis forty times as long, the link is the logistic one, whose scale the oracle
            // knows.
            let stretched: Vec<f64> = h.iter().map(|h| 40.0 * h).collect();
            let points = oracle::points(&stretched, &y);
            let truth = oracle::ls_ece(&points, oracle::noise(noise_name), oracle::logistic, 40.0 * sigma);
            let error = (estimate.value - truth).abs();
            assert!(error <= estimate.numerical_bound + ORACLE_ERROR, "{noise_name}, {sigma}: error {error:e}");
            assert!((steep(0.01) - calipers::Logistic.response(0.4)).abs() < 1e-15);
        }
    }
}

#[test]
fn it_does_not_matter_where_far_logits_are() {
    for noise_name in noise::NAMES {
        for link_name in link::NAMES {
            let value = |far: f64| {
                let h = [-far, -far * 1.1, 0.3, far, far * 1.2];
                let predictions = Input::logits(&h, &[1, 0, 1, 0, 1]).check().unwrap();
                LsEce::new()
                    .sigma(0.2)
                    .tolerance(1e-5)
                    .noise(noise::by_name(noise_name).unwrap())
                    .link(link::by_name(link_name).unwrap())
                    .estimate(&predictions.binary().unwrap())
                    .unwrap()
            };
            let (near, far) = (value(60.0), value(1e200));
            let allowed = near.numerical_bound + far.numerical_bound;
            assert!((near.value - far.value).abs() <= allowed, "{noise_name}, {link_name}");
        }
    }
}

#[test]
fn many_rows_by_cells_keep_the_bound() {
    // Rows at both ends and in the middle of a few cells: nothing cancels, and cells have all the
    // variance they can.
    let base = [0.1, 0.100_07, 0.100_09, 0.5, 0.500_3, 0.73, 0.730_1, 0.999_9, 0.0, 1.0];
    let n = 200_000;
    let p: Vec<f64> = (0..n).map(|k| base[k % base.len()]).collect();
    let y: Vec<bool> = (0..n).map(|k| k / base.len() % 7 < 3).collect();
    let mut points = Vec::new();
    for (place, value) in base.iter().enumerate() {
        for outcome in [false, true] {
            let count = (0..n).filter(|k| k % base.len() == place && y[*k] == outcome).count();
            points.push(Point { h: oracle::logit(*value, 1e-6), y: outcome, w: count as f64 });
        }
    }
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let single: Vec<f32> = p.iter().map(|p| *p as f32).collect();
    for sigma in [2.0, 0.3, 0.05, 0.02, 0.004] {
        let truth = oracle::ls_ece(&points, oracle::GAUSSIAN, oracle::logistic, sigma);
        let estimate = LsEce::new().sigma(sigma).estimate(&predictions.binary().unwrap()).unwrap();
        let error = (estimate.value - truth).abs();
        assert!(error <= estimate.numerical_bound + ORACLE_ERROR, "sigma {sigma}: error {error:e}");
        assert!(estimate.numerical_bound <= 1e-6);
        assert_eq!(estimate.n_clipped, 2 * n as u64 / 10);
        // The same in single precision, and as 0 and 1 of another type: close, since the values
        // are.
        let labels: Vec<i64> = y.iter().map(|y| i64::from(*y)).collect();
        let predictions = Input::probabilities(&single, &labels).check().unwrap();
        let rounded = LsEce::new().sigma(sigma).estimate(&predictions.binary().unwrap()).unwrap();
        assert!((rounded.value - estimate.value).abs() < 1e-3);
    }
}
