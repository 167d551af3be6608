use calipers::{BinnedEce, KdeEce, KdeKernel, SmoothEce, Smoothing};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, outcome, rows, total, value};
use crate::kde::naive_kde_ece;
use crate::quadrature::{gaussian, integral_of_abs, reflected};

pub(crate) fn naive_smooth_ece(rows: &[Row], sigma: f64) -> f64 {
    let total = total(rows);
    let g = |t: f64| {
        rows.iter()
            .map(|row| row.2 / total * (outcome(row) - row.0) * reflected(gaussian, t, row.0, sigma))
            .sum::<f64>()
    };
    integral_of_abs(&g, 600)
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn smooth_ece_is_its_definition(rows in rows(200), sigma in prop_oneof![Just(0.02), Just(0.1), Just(0.6), Just(3.0)]) {
        let found = estimate(&SmoothEce::new().sigma(sigma), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        prop_assert!((found.value - naive_smooth_ece(&rows, sigma)).abs() <= found.numerical_bound + 1e-10);
        let noised = estimate(&SmoothEce::new().sigma(sigma).smoothing(Smoothing::Predictions), &rows).unwrap();
        prop_assert!((noised.value - naive_kde_ece(&rows, gaussian, sigma)).abs() <= noised.numerical_bound + 1e-10);
        // Noise moves a probability by sigma √(2/π) on average.
        prop_assert!((noised.value - found.value).abs() <= sigma * (2.0 / std::f64::consts::PI).sqrt() + 1e-9);
        let same = value(&KdeEce::new().kernel(KdeKernel::Gaussian).bandwidth(sigma), &rows);
        prop_assert!((noised.value - same).abs() <= 2e-9);
    }

    #[test]
    fn the_fixed_point_is_one(rows in rows(200)) {
        let found = estimate(&SmoothEce::new(), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        if found.value > 1e-4 {
            let there = naive_smooth_ece(&rows, found.value);
            // smECE_σ falls, so that the distance from the fixed point is at most that from the
            // diagonal, and vice versa not.
            let left = naive_smooth_ece(&rows, found.value - 1e-6);
            prop_assert!((there - found.value).abs() <= 1e-7 && left >= there - 1e-9, "{} {there}", found.value);
        } else {
            let unsmoothed = value(&BinnedEce::new().n_bins(1_000_000), &rows);
            prop_assert!(found.value <= unsmoothed + 1e-9);
        }
    }
}

/// Calibrated by construction: rates are the probabilities themselves, so that nothing is left
/// without smoothing.
#[test]
fn no_error_is_left_where_every_probability_has_its_rate() {
    let rows: Vec<Row> = vec![(0.5, true, 1.0), (0.5, false, 1.0), (0.0, false, 1.0), (1.0, true, 1.0)];
    assert!(value(&SmoothEce::new(), &rows).abs() <= 1e-9);
    assert!(value(&SmoothEce::new().sigma(0.1), &rows).abs() <= 1e-9);
}

/// The definition where σ is far below the distances of most points: windows of twelve σ around
/// each, those that meet joined.
fn naive_smooth_ece_near_points(rows: &[Row], sigma: f64) -> f64 {
    let total = total(rows);
    // Distances in σ from the middle of a window, so that probabilities of many digits lose none.
    let g = |middle: f64, u: f64| {
        let term = |row: &Row| {
            let mirrored = gaussian((row.0 + middle) / sigma + u) + gaussian((2.0 - row.0 - middle) / sigma - u);
            row.2 / total * (outcome(row) - row.0) * (gaussian((row.0 - middle) / sigma - u) + mirrored)
        };
        rows.iter().map(term).sum::<f64>()
    };
    let mut places: Vec<f64> = rows.iter().map(|row| row.0).collect();
    places.sort_by(f64::total_cmp);
    let windows = places.chunk_by(|a, b| b - a < 24.0 * sigma);
    windows
        .map(|places| {
            let (first, last) = (places[0], places[places.len() - 1]);
            let (from, to) = ((-first / sigma).max(-12.0), ((last - first) / sigma + 12.0).min((1.0 - first) / sigma));
            let on_unit = |x: f64| g(first, from + x * (to - from));
            integral_of_abs(&on_unit, 100 + (10.0 * (to - from)) as usize) * (to - from)
        })
        .sum()
}

/// Pairs that nearly cancel, so that the fixed point is far below every distance but theirs.
#[test]
fn a_tiny_fixed_point_is_one_and_takes_no_time() {
    let started = std::time::Instant::now();
    let mut n_cases = 0;
    for distance in [1e-5, 1e-7, 1e-9, 1e-12, 2f64.powi(-52)] {
        for places in [vec![0.5], vec![0.5, 0.25, 0.75], vec![0.0, 0.5], vec![0.5, 1.0 - distance]] {
            let rows: Vec<Row> = places
                .iter()
                .flat_map(|p: &f64| [(*p, false, 1.0 - p), (p + distance, true, p + 0.01 * distance)])
                .filter(|row| row.2 > 0.0)
                .collect();
            let found = estimate(&SmoothEce::new(), &rows).unwrap();
            assert!(found.numerical_bound <= 1e-9);
            let there = naive_smooth_ece_near_points(&rows, found.value.max(1e-12));
            if found.value > 1e-8 {
                assert!(
                    (there - found.value).abs() <= 1e-7 * found.value + 2e-9,
                    "{distance:e} {} {there}",
                    found.value
                );
            }
            // smECE_σ falls: at a σ below the fixed point it is above, and beyond it below.
            let below = naive_smooth_ece_near_points(&rows, (found.value - 2e-9).max(1e-12));
            let above = naive_smooth_ece_near_points(&rows, found.value + 2e-9);
            assert!(below >= found.value - 2e-9 || found.value <= 2e-9, "{distance:e} {} {below}", found.value);
            assert!(above <= found.value + 2e-9, "{distance:e} {} {above}", found.value);
            n_cases += 1;
        }
    }
    // Some milliseconds each, with the oracle; a grid of all of [0, 1] would take a second.
    assert!(started.elapsed().as_secs_f64() < f64::from(n_cases), "{:?}", started.elapsed());
}

#[test]
fn two_points_at_a_small_distance_have_the_closed_form() {
    // ±1/4 at a distance d: smECE_σ = erf(d / (2 √2 σ)) / 2, nearly d / (√(8 π) σ) since d is far
    // below σ.
    let rows: Vec<Row> = vec![(0.5, false, 1.0), (0.5 + 1e-9, true, 1.0)];
    let distance = (0.5 + 1e-9f64) - 0.5;
    let expected = (distance / (8.0 * std::f64::consts::PI).sqrt()).sqrt();
    let found = estimate(&SmoothEce::new(), &rows).unwrap();
    assert!((found.value - expected).abs() <= 1e-9, "{} {expected}", found.value);
}

#[test]
fn almost_perfect_rows_have_their_residual_at_once() {
    let started = std::time::Instant::now();
    for residual in [1e-3, 1e-5, 1e-7, 1e-9, 1e-12, 0.0] {
        for rows in [vec![(1.0 - residual, true, 1.0)], vec![(residual, false, 1.0), (residual, false, 2.0)]] {
            let found = estimate(&SmoothEce::new(), &rows).unwrap();
            assert!((found.value - residual).abs() <= found.numerical_bound, "{residual:e} {}", found.value);
        }
    }
    let opposed: Vec<Row> = vec![(1.0 - 1e-7, true, 1.0), (1e-7, false, 1.0)];
    assert!((value(&SmoothEce::new(), &opposed) - 1e-7).abs() <= 1e-9);
    // Less than half a second in all on a quiet machine; limits of time are for a busy one.
    assert!(started.elapsed().as_secs_f64() < 20.0, "{:?}", started.elapsed());
}

#[test]
fn a_tolerance_below_rounding_is_refused_at_once() {
    let started = std::time::Instant::now();
    for rows in [vec![(0.5, false, 1.0), (0.5 + 1e-9, true, 1.0)], vec![(0.2, true, 1.0), (0.9, false, 1.0)]] {
        for tolerance in [1e-15, 1e-30, 5e-324] {
            let refused = estimate(&SmoothEce::new().tolerance(tolerance), &rows).unwrap_err();
            assert_eq!(refused.code(), "tolerance_not_met");
            // What is offered can be met.
            if let calipers::Error::ToleranceNotMet { attainable, .. } = refused {
                assert!(estimate(&SmoothEce::new().tolerance(attainable), &rows).is_ok(), "{attainable:e}");
            }
        }
    }
    // Less than half a second in all on a quiet machine; limits of time are for a busy one.
    assert!(started.elapsed().as_secs_f64() < 20.0, "{:?}", started.elapsed());
}
