//! Every measure that can be asked for by name, as it is by default, against its slow version; none
//! is without one.

use calipers::{Estimate, Norm, ProperScore, RunOut, Settings, Strategy as Bins, registry};
use proptest::prelude::*;

use crate::data::{Row, config, estimate, pooled, residuals, rows};
use crate::oracle::{self, Point};
use crate::quadrature::triweight;
use crate::{
    binned, clinical, corp, cox, cumulative, debiased, interval, kde, kernel, scores, smooth, smooth_ece, spline,
    sweep, tcal,
};

/// The slow value, and what it may itself be off by. Widths and bandwidths that a rule has chosen
/// are taken as they are.
fn slow(name: &str, rows: &[Row], found: &Estimate) -> (f64, f64) {
    let chosen = |setting: &str| found.settings.number(setting).unwrap();
    let index = |k: usize| (clinical::naive_indices(rows, chosen("sigma"))[k], 1e-12);
    let (highest, lowest) = cumulative::naive_extremes(rows);
    match name {
        "ls_ece" => {
            let point = |row: &Row| Point { h: oracle::logit(row.0, 1e-6), y: row.1, w: row.2 };
            let points: Vec<Point> = rows.iter().map(point).collect();
            (oracle::ls_ece(&points, oracle::noise("gaussian"), oracle::link("logistic"), chosen("sigma")), 2e-10)
        }
        "residual_ls_ece" => {
            let point = |row: &Row| Point { h: oracle::logit(row.0, 1e-6), y: row.1, w: row.2 };
            let points: Vec<Point> = rows.iter().map(point).collect();
            let (noise, link) = (oracle::noise("gaussian"), oracle::link("logistic"));
            (oracle::residual_ls_ece(&points, noise, link, chosen("sigma")), 2e-10)
        }
        "expected_calibration_error" => (binned::naive(rows, 15, Bins::Uniform, Norm::L1), 1e-13),
        "adaptive_calibration_error" => (binned::naive(rows, 15, Bins::Quantile, Norm::L1), 1e-13),
        "root_mean_squared_calibration_error" => (binned::naive(rows, 15, Bins::Uniform, Norm::L2), 1e-13),
        "maximum_calibration_error" => (binned::naive(rows, 15, Bins::Uniform, Norm::Max), 1e-13),
        // The root of a difference.
        "debiased_ece" => (debiased::naive_debiased(rows, 15, Bins::Quantile, Norm::L2), 1e-7),
        "sweep_ece" => (sweep::naive_sweep(rows, Bins::Quantile, Norm::L2).1, 1e-12),
        // The value is the width, and smoothing by a little more or less changes it by no more than
        // that.
        "smooth_ece" if found.value > 1e-4 => (smooth_ece::naive_smooth_ece(rows, found.value), 1e-7),
        "smooth_ece" => (smooth_ece::naive_smooth_ece(rows, 1e-4).min(1e-4), 1e-4),
        "kde_ece" => (kde::naive_kde_ece(rows, triweight, chosen("bandwidth")), 2e-9),
        "beta_kde_ece" => (kde::naive_beta(rows, chosen("bandwidth"), 1), 0.0),
        "ecce_r" => (highest - lowest, 1e-14),
        "spline_calibration_error" => (spline::naive(rows, 6, RunOut::Natural), 1e-9),
        "ecce_mad" => (highest.max(-lowest), 1e-14),
        "smooth_calibration_error" => (smooth::on_lattice(rows, LATTICE), 1e-13),
        // lower.rs has the linear program, for which these are too many rows; python/tests asks
        // another solver.
        "lower_distance_to_calibration" => (found.value, 0.0),
        // Intervals that are narrower than the lattice hold one probability each, and may be as
        // narrow as they like.
        "surrogate_interval_calibration_error" => {
            (interval::naive(rows).min(residuals(rows).iter().map(|point| point.1.abs()).sum()), 1e-12)
        }
        "kernel_calibration_error" => (kernel::naive(rows, 1.0), 1e-15),
        "mmce" => (kernel::naive(rows, 0.4), 1e-15),
        "tcal_squared_error" => (tcal::naive(rows, 15), 1e-13),
        "corp_miscalibration" => {
            let own: Vec<f64> = pooled(rows).iter().map(|group| group.0).collect();
            let score = |rates: &[f64]| corp::naive_score(rows, rates, ProperScore::Brier);
            (score(&own) - score(&corp::naive_rates(rows)), 1e-12)
        }
        "brier_score" => (scores::naive_brier(rows), 1e-14),
        "log_loss" => (scores::naive_log_loss(rows, 1e-15), 1e-12),
        "observed_expected" => (clinical::naive_observed_expected(rows), 1e-12 * found.value),
        "ici" => index(0),
        "e50" => index(1),
        "e90" => index(2),
        "emax" => index(3),
        "calibration_in_the_large" => (cox::naive_intercept(rows, 1.0), 1e-9),
        "calibration_slope" => (cox::naive_slope(rows), 1e-7 * (1.0 + found.value.abs())),
        "calibration_intercept" => {
            (cox::naive_intercept(rows, cox::naive_slope(rows)), 1e-7 * (1.0 + found.value.abs()))
        }
        _ => panic!("{name} has no slow version: write one, and name it here"),
    }
}

/// Probabilities of these tests are multiples of 1/256: on them smooth calibration error has a slow
/// version for many rows.
const LATTICE: i32 = 256;

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn every_measure_is_its_definition(rows in rows(200)) {
        let on_lattice = |p: f64| (p * f64::from(LATTICE)).round() / f64::from(LATTICE);
        let rows: Vec<Row> = rows.into_iter().map(|(p, y, weight)| (on_lattice(p), y, weight)).collect();
        prop_assume!(rows.len() > 1);
        for listed in registry::all() {
            let measure = registry::make(listed.spec.name, &Settings::default()).unwrap();
            match estimate(&*measure, &rows) {
                Ok(found) => {
                    let (slow, its_own) = slow(listed.spec.name, &rows, &found);
                    let error = (found.value - slow).abs();
                    prop_assert!(error <= found.numerical_bound + its_own, "{}: {} {slow}", listed.spec.name, found.value);
                }
                // Regressions of separated outcomes, and outcomes divided by probabilities that are
                // all 0.
                Err(refusal) => {
                    let may_refuse = listed.spec.name.starts_with("calibration_") || listed.spec.name == "observed_expected";
                    prop_assert!(may_refuse, "{}: {refusal}", listed.spec.name);
                }
            }
        }
    }
}
