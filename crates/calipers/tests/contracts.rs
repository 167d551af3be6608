//! What noises and links say of themselves, against sums over fine grids: the proof stands on these
//! figures.

use calipers::{link, noise};

const STEP: f64 = 1e-3;

/// Finite differences of the given order, divided by the step: averages of the derivative.
fn differences(f: &dyn Fn(f64) -> f64, order: usize, range: f64, step: f64) -> Vec<f64> {
    let n = (2.0 * range / step) as usize;
    let mut values: Vec<f64> = (0..=n).map(|k| f(k as f64 * step - range)).collect();
    for _ in 0..order {
        values = values.windows(2).map(|pair| (pair[1] - pair[0]) / step).collect();
    }
    values
}

/// A step at which rounding stays far below the derivative of that order.
fn step_for(order: usize) -> f64 {
    [1e-3, 1e-3, 4e-3, 1e-2, 2e-2, 4e-2, 6e-2, 8e-2][order - 1]
}

#[test]
fn variations_are_l1_norms_rounded_up_and_not_by_much() {
    for name in noise::NAMES {
        let noise = noise::by_name(name).unwrap();
        for order in 1..=8 {
            let Some(claimed) = noise.variation(order) else { continue };
            let step = step_for(order);
            let norm: f64 =
                differences(&|x| noise.density(x), order, 40.0, step).iter().map(|d| d.abs()).sum::<f64>() * step;
            assert!(norm <= claimed * (1.0 + 1e-6), "{name}, order {order}: {norm} above {claimed}");
            assert!(norm > claimed * 0.98, "{name}, order {order}: {norm} far below {claimed}");
        }
    }
}

#[test]
fn derivative_bounds_are_suprema_rounded_up_and_not_by_much() {
    for name in link::NAMES {
        let link = link::by_name(name).unwrap();
        for order in 1..=8 {
            let claimed = link.derivative_bound(order).unwrap();
            let differences = differences(&|u| link.response(u), order, 30.0, step_for(order));
            let largest = differences.iter().fold(0.0, |a: f64, d| a.max(d.abs()));
            assert!(largest <= claimed * (1.0 + 1e-4), "{name}, order {order}: {largest} above {claimed}");
            // Differences are averages over some steps: a peak is seen a little lower than it is.
            assert!(largest > claimed * 0.9, "{name}, order {order}: {largest} far below {claimed}");
        }
    }
}

#[test]
fn distributions_are_integrals_of_densities_and_tails_are_theirs() {
    for name in noise::NAMES {
        let noise = noise::by_name(name).unwrap();
        let mut integral = 0.0;
        for k in 0..80_000 {
            let x = f64::from(k) * STEP - 40.0;
            integral += noise.density(x + 0.5 * STEP) * STEP;
            let distribution = noise.distribution(x + STEP);
            assert!((integral - distribution).abs() < 1e-3, "{name} at {x}: {integral} against {distribution}");
        }
        for x in [0.0, 0.1, 0.45, 1.0, 2.5, 6.0] {
            let tail = 1.0 - noise.distribution(x) + noise.distribution(-x);
            assert!((noise.tail(x) - tail).abs() < 1e-12, "{name} at {x}");
        }
    }
}

#[test]
fn samples_have_the_distribution_that_is_said() {
    for name in noise::NAMES {
        let noise = noise::by_name(name).unwrap();
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) * 2f64.powi(-53)
        };
        let n = 100_000;
        let mut draws: Vec<f64> = (0..n).map(|_| noise.sample(&mut uniform)).collect();
        draws.sort_by(f64::total_cmp);
        let at = |(rank, x): (usize, &f64)| ((rank as f64 + 0.5) / n as f64 - noise.distribution(*x)).abs();
        let largest = draws.iter().enumerate().map(at).fold(0.0, f64::max);
        // Kolmogorov's statistic exceeds 1.95 / sqrt(n) once in a thousand.
        assert!(largest < 1.95 / (n as f64).sqrt(), "{name}: {largest}");
    }
}

#[test]
fn inverses_undo_links_on_both_sides() {
    for name in link::NAMES {
        let link = link::by_name(name).unwrap();
        for k in -300..=300 {
            let u = f64::from(k) / 10.0;
            let (p, complement) = (link.response(u), link.complement(u));
            // Where a side has underflowed, or says no more of u, there is nothing to undo.
            if p < 1e-300 || complement < 1e-300 {
                continue;
            }
            let back = link.inverse(p, complement);
            // The probabilities themselves are rounded: by two units, at the slope of the smaller
            // side.
            let slope = link.derivative(u) / p.min(complement);
            let allowed = link.inverse_error(u) + 8.0 * f64::EPSILON * (1.0 + u.abs()) / slope;
            assert!((back - u).abs() <= allowed, "{name} at {u}: {back}");
        }
    }
}

#[test]
fn integrals_of_links_match_fine_sums_and_short_pieces_keep_their_digits() {
    for name in link::NAMES {
        let link = link::by_name(name).unwrap();
        for (a, b) in [(-3.0, 2.0), (-20.0, -19.5), (0.0, 0.3), (4.0, 11.0), (-40.0, 40.0)] {
            let n = 200_000;
            let step = (b - a) / f64::from(n);
            let sum: f64 = (0..n).map(|k| link.response(a + (f64::from(k) + 0.5) * step)).sum::<f64>() * step;
            assert!((link.integral(a, b) / sum - 1.0).abs() < 1e-8, "{name} on [{a}, {b}]");
        }
        let (a, b) = (1.0, 1.0 + 1e-9);
        assert!((link.integral(a, b) / (link.response(1.0) * (b - a)) - 1.0).abs() < 1e-9, "{name}");
    }
}

#[test]
fn log_odds_become_logits_without_a_probability_that_saturates() {
    // Values by 40-digit arithmetic: the u with ln(rho / (1 - rho)) = log-odds.
    let cases = [
        ("probit", 30.0, 7.357_666_815_008_76),
        ("probit", 700.0, 37.295_079_632_647_4),
        ("probit", 746.0, 38.507_908_917_011_8),
        ("probit", -10_000.0, -141.379_839_873_127),
        ("cloglog", 746.0, 746f64.ln()),
        ("cloglog", -746.0, -746.0),
        ("cloglog", 0.0, 2f64.ln().ln()),
        ("logistic", 1e6, 1e6),
    ];
    for (name, log_odds, expected) in cases {
        let (u, error) = link::by_name(name).unwrap().inverse_log_odds(log_odds, 0.0);
        assert!((u - expected).abs() <= error + 1e-13 * expected.abs(), "{name} at {log_odds}: {u}");
    }
    for name in link::NAMES {
        let link = link::by_name(name).unwrap();
        for k in -60..=60 {
            let log_odds = f64::from(k) / 3.0;
            let p = 1.0 / (1.0 + (-log_odds).exp());
            let (u, error) = link.inverse_log_odds(log_odds, 0.0);
            assert!((link.response(u) - p).abs() < 1e-15 + error, "{name} at {log_odds}");
        }
    }
}
