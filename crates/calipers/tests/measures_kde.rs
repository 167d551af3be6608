//! Smooth ECE, KDE-ECE, debiased and swept ECE, top-label, Cox and clinical indices: against slow, obviously right versions,
//! and for what must hold whatever the data.

use calipers::{
    Bandwidth, BetaKdeEce, BinnedEce, CalibrationIndex, CanonicalKdeEce, Compat, CoxCalibration, CoxCoefficient,
    DebiasedEce, Estimate, Estimator, IndexStatistic, Input, KdeEce, KdeKernel, LsEce, Norm, ObservedExpected,
    SmoothEce, SmoothMethod, Smoothing, Strategy as Bins, SweepEce,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Probability, outcome, weight.
type Row = (f64, bool, f64);

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let p = prop_oneof![0.0..1.0, Just(0.0), Just(1.0), Just(0.25), (0u8..=20).prop_map(|k| f64::from(k) / 20.0)];
    prop::collection::vec((p, any::<bool>(), (1u8..4).prop_map(f64::from)), 1..most)
}

fn estimate(measure: &dyn Estimator, rows: &[Row]) -> Result<Estimate, calipers::Error> {
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let w: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let mut input = Input::probabilities(&p, &y);
    if w.iter().any(|weight| *weight != 1.0) {
        input = input.weights(&w);
    }
    measure.estimate(&input.check().unwrap().binary().unwrap())
}

fn value(measure: &dyn Estimator, rows: &[Row]) -> f64 {
    estimate(measure, rows).unwrap().value
}

fn unweighted(rows: &[Row]) -> Vec<Row> {
    rows.iter().map(|row| (row.0, row.1, 1.0)).collect()
}

fn repeated(rows: &[Row]) -> Vec<Row> {
    rows.iter().flat_map(|row| std::iter::repeat_n((row.0, row.1, 1.0), row.2 as usize)).collect()
}

fn total(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.2).sum()
}

fn outcome(row: &Row) -> f64 {
    f64::from(u8::from(row.1))
}

/// ∫_0^1 |f| by Gauss's rule of 3 points on many panels, cut in two where the sign changes.
fn integral_of_abs(f: &dyn Fn(f64) -> f64, n_panels: usize) -> f64 {
    let gauss = |a: f64, b: f64| {
        let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
        let outer = half * 0.6f64.sqrt();
        half * (5.0 * (f(middle - outer) + f(middle + outer)) + 8.0 * f(middle)) / 9.0
    };
    let mut sum = 0.0;
    for panel in 0..n_panels {
        let (a, b) = (panel as f64 / n_panels as f64, (panel + 1) as f64 / n_panels as f64);
        if (f(a) < 0.0) == (f(b) < 0.0) {
            sum += gauss(a, b).abs();
        } else {
            let (mut low, mut high) = (a, b);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                *(if (f(middle) < 0.0) == (f(a) < 0.0) { &mut low } else { &mut high }) = middle;
            }
            sum += gauss(a, low).abs() + gauss(low, b).abs();
        }
    }
    sum
}

fn gaussian(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

fn triweight(x: f64) -> f64 {
    35.0 / 96.0 * (1.0 - x * x / 9.0).max(0.0).powi(3)
}

/// The kernel with its images at both ends.
fn reflected(kernel: fn(f64) -> f64, t: f64, p: f64, sigma: f64) -> f64 {
    let images = (6.0 * sigma).ceil() as i32 + 1;
    (-images..=images)
        .map(|k| 2.0 * f64::from(k))
        .map(|shift| kernel((t - p + shift) / sigma) + kernel((t + p + shift) / sigma))
        .sum::<f64>()
        / sigma
}

fn naive_smooth_ece(rows: &[Row], sigma: f64) -> f64 {
    let total = total(rows);
    let g = |t: f64| {
        rows.iter()
            .map(|row| row.2 / total * (outcome(row) - row.0) * reflected(gaussian, t, row.0, sigma))
            .sum::<f64>()
    };
    integral_of_abs(&g, 600)
}

fn naive_kde_ece(rows: &[Row], kernel: fn(f64) -> f64, sigma: f64) -> f64 {
    let total = total(rows);
    let g = |t: f64| {
        rows.iter().map(|row| row.2 / total * (outcome(row) - t) * reflected(kernel, t, row.0, sigma)).sum::<f64>()
    };
    integral_of_abs(&g, 600)
}

fn naive_debiased(rows: &[Row], bin_of: &dyn Fn(f64) -> usize, n_bins: usize, norm: Norm) -> f64 {
    let mut sum = 0.0;
    for bin in 0..n_bins {
        let inside: Vec<&Row> = rows.iter().filter(|row| bin_of(row.0) == bin).collect();
        let weight: f64 = inside.iter().map(|row| row.2).sum();
        if inside.is_empty() {
            continue;
        }
        let n = weight * weight / inside.iter().map(|row| row.2 * row.2).sum::<f64>();
        let rate = inside.iter().map(|row| row.2 * outcome(row)).sum::<f64>() / weight;
        let mean = inside.iter().map(|row| row.2 * row.0).sum::<f64>() / weight;
        let (gap, variance) = (rate - mean, rate * (1.0 - rate));
        let share = weight / total(rows);
        sum += match norm {
            Norm::L2 if n < 2.0 - 1e-9 => 0.0,
            Norm::L2 => share * (gap * gap - variance / (n - 1.0)),
            _ => {
                // The mean of draws by a sum over the density.
                let s = (variance / n).sqrt();
                let draw = |k: i32| (gap + s * f64::from(k) * 1e-3).abs() * gaussian(f64::from(k) * 1e-3) * 1e-3;
                let folded = if s == 0.0 { gap.abs() } else { (-9000..=9000).map(draw).sum() };
                share * (2.0 * gap.abs() - folded)
            }
        };
    }
    if norm == Norm::L2 { sum.max(0.0).sqrt() } else { sum }
}

/// Bin of each row by the definition: equal mass by the weight below, equal width by the edges.
fn sweep_bins(rows: &[Row], n_bins: usize, strategy: Bins) -> Vec<usize> {
    let bin_of = |row: &Row| match strategy {
        Bins::Quantile => {
            let below: f64 = rows.iter().filter(|other| other.0 < row.0).map(|other| other.2).sum();
            ((below * n_bins as f64 / total(rows)) * (1.0 + 1e-12)) as usize
        }
        Bins::Uniform => (1..n_bins).filter(|k| row.0 > *k as f64 / n_bins as f64).count(),
    };
    rows.iter().map(bin_of).collect()
}

fn naive_sweep(rows: &[Row], strategy: Bins, norm: Norm) -> (usize, f64) {
    let tables = |n_bins: usize| {
        let bins = sweep_bins(rows, n_bins, strategy);
        let mut table = vec![(0.0, 0.0, 0.0); n_bins];
        for (row, bin) in rows.iter().zip(bins) {
            let entry = &mut table[bin];
            *entry = (entry.0 + row.2, entry.1 + row.2 * outcome(row), entry.2 + row.2 * row.0);
        }
        table.retain(|entry| entry.0 > 0.0);
        table
    };
    let in_order = |n_bins: usize| {
        let rates: Vec<f64> = tables(n_bins).iter().map(|entry| entry.1 / entry.0).collect();
        rates.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12)
    };
    let most = (rows.len() - 1).max(1);
    let n_bins = (2..=most).find(|n_bins| !in_order(*n_bins)).map_or(most, |n_bins| n_bins - 1);
    let power = if norm == Norm::L1 { 1 } else { 2 };
    let error: f64 = tables(n_bins)
        .iter()
        .map(|entry| entry.0 / total(rows) * ((entry.1 - entry.2) / entry.0).abs().powi(power))
        .sum();
    (n_bins, if power == 2 { error.sqrt() } else { error })
}

fn naive_beta(rows: &[Row], h: f64) -> f64 {
    let clip = |p: f64| p.clamp(1e-6, 1.0 - 1e-6);
    let log_kernel = |z: f64, x: f64| {
        let log_beta = libm::lgamma(x / h + 1.0) + libm::lgamma((1.0 - x) / h + 1.0) - libm::lgamma(1.0 / h + 2.0);
        (x * z.ln() + (1.0 - x) * (-z).ln_1p()) / h - log_beta
    };
    let mut sum = 0.0;
    for (j, row) in rows.iter().enumerate() {
        let others: Vec<(f64, &Row)> = rows
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != j)
            .map(|(_, other)| (log_kernel(clip(row.0), clip(other.0)), other))
            .collect();
        let largest = others.iter().map(|other| other.0).fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = others.iter().map(|(k, other)| other.2 * (k - largest).exp()).sum();
        let ones: f64 = others.iter().map(|(k, other)| other.2 * outcome(other) * (k - largest).exp()).sum();
        sum += row.2 * (ones / all - clip(row.0)).abs();
    }
    sum / total(rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_115), ..ProptestConfig::default() })]

    #[test]
    fn smooth_ece_is_its_definition(rows in rows(40), sigma in prop_oneof![Just(0.02), Just(0.1), Just(0.6), Just(3.0)]) {
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
    fn the_fixed_point_is_one(rows in rows(40)) {
        let found = estimate(&SmoothEce::new(), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        if found.value > 1e-4 {
            let there = naive_smooth_ece(&rows, found.value);
            // smECE_σ falls, so that the distance from the fixed point is at most that from the diagonal, and vice versa not.
            let left = naive_smooth_ece(&rows, found.value - 1e-6);
            prop_assert!((there - found.value).abs() <= 1e-7 && left >= there - 1e-9, "{} {there}", found.value);
        } else {
            let unsmoothed = value(&BinnedEce::new().n_bins(1_000_000), &rows);
            prop_assert!(found.value <= unsmoothed + 1e-9);
        }
    }

    #[test]
    fn kde_ece_is_its_definition(rows in rows(40), h in prop_oneof![Just(0.02), Just(0.1), Just(0.4)]) {
        let found = estimate(&KdeEce::new().bandwidth(h), &rows).unwrap();
        prop_assert!(found.numerical_bound <= 1e-9);
        prop_assert!((found.value - naive_kde_ece(&rows, triweight, h)).abs() <= found.numerical_bound + 2e-9);
    }

    #[test]
    fn debiased_ece_is_its_definition(rows in rows(120), n_bins in 1usize..8) {
        let bin_of = |p: f64| (1..n_bins).filter(|k| p > *k as f64 / n_bins as f64).count();
        for norm in [Norm::L1, Norm::L2] {
            let found = value(&DebiasedEce::new().n_bins(n_bins).strategy(Bins::Uniform).norm(norm), &rows);
            let naive = naive_debiased(&rows, &bin_of, n_bins, norm);
            prop_assert!((found - naive).abs() <= 1e-6 && (found.powi(2) - naive.powi(2)).abs() <= 1e-6, "{found} {naive}");
        }
    }

    #[test]
    fn sweep_ece_is_its_definition(rows in rows(60), weighted in any::<bool>()) {
        let rows = if weighted { rows } else { unweighted(&rows) };
        for strategy in [Bins::Quantile, Bins::Uniform] {
            for norm in [Norm::L1, Norm::L2] {
                let found = estimate(&SweepEce::new().strategy(strategy).norm(norm), &rows).unwrap();
                let (n_bins, error) = naive_sweep(&rows, strategy, norm);
                prop_assert_eq!(found.settings.number("n_bins"), Some(n_bins as f64));
                prop_assert!((found.value - error).abs() <= 1e-12, "{} {error}", found.value);
            }
        }
    }

    #[test]
    fn a_sweep_over_rates_in_order_stops_where_theirs_do(n_zeros in 1usize..30, n_mixed in 1usize..8, n_ones in 1usize..30) {
        // Zeros, a stretch that alternates, ones: few bins are looked at, and none may be missed.
        let n = n_zeros + n_mixed + n_ones;
        let rows: Vec<Row> = (0..n)
            .map(|k| {
                let y = if k < n_zeros { false } else if k < n_zeros + n_mixed { (k - n_zeros) % 2 == 0 } else { true };
                ((k as f64 + 0.5) / n as f64, y, 1.0)
            })
            .collect();
        let found = estimate(&SweepEce::new(), &rows).unwrap();
        prop_assert_eq!(found.settings.number("n_bins"), Some(naive_sweep(&rows, Bins::Quantile, Norm::L2).0 as f64));
    }

    #[test]
    fn beta_kde_ece_is_its_definition(rows in rows(120), h in prop_oneof![Just(1e-5), Just(1e-3), Just(0.05), Just(0.6)]) {
        prop_assume!(rows.len() > 1);
        let found = estimate(&BetaKdeEce::new().bandwidth(h), &rows).unwrap();
        let naive = naive_beta(&rows, h);
        prop_assert!((found.value - naive).abs() <= found.numerical_bound, "{} {naive}", found.value);
    }

    #[test]
    fn a_weight_is_a_repeated_row(rows in rows(60)) {
        let measures: Vec<Box<dyn Estimator>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(SmoothEce::new().sigma(0.07)),
            Box::new(SmoothEce::new().sigma(0.07).smoothing(Smoothing::Predictions)),
            Box::new(KdeEce::new().bandwidth(0.1)),
            Box::new(SweepEce::new().max_bins(7)),
            Box::new(ObservedExpected::new()),
            Box::new(CalibrationIndex::new().sigma(0.4)),
            Box::new(CalibrationIndex::new().sigma(0.4).statistic(IndexStatistic::E90)),
            Box::new(CoxCalibration::new()),
            Box::new(CoxCalibration::new().coefficient(CoxCoefficient::InTheLarge)),
        ];
        prop_assume!(rows.len() > 8);
        for (index, measure) in measures.iter().enumerate() {
            match (estimate(&**measure, &rows), estimate(&**measure, &repeated(&rows))) {
                (Ok(weighted), Ok(plain)) => {
                    let allowed = 1e-12 + 2.0 * weighted.numerical_bound.max(plain.numerical_bound);
                    prop_assert!((weighted.value - plain.value).abs() <= allowed, "measure {index}: {} {}", weighted.value, plain.value);
                }
                (Err(a), Err(b)) => prop_assert_eq!(a.code(), b.code()),
                other => prop_assert!(false, "measure {index}: {other:?}"),
            }
        }
    }

    #[test]
    fn order_does_not_matter(rows in rows(60), shift in 1usize..59) {
        prop_assume!(rows.len() > 2);
        let mut turned = rows.clone();
        turned.rotate_left(shift % rows.len());
        turned.swap(0, 1);
        let measures: Vec<Box<dyn Estimator>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(KdeEce::new()),
            Box::new(BetaKdeEce::new()),
            Box::new(DebiasedEce::new().n_bins(5)),
            Box::new(SweepEce::new()),
            Box::new(CalibrationIndex::new()),
        ];
        for measure in &measures {
            prop_assert!((value(&**measure, &rows) - value(&**measure, &turned)).abs() <= 1e-9);
        }
    }

    #[test]
    fn the_other_class_has_the_same_error(rows in rows(60)) {
        let other: Vec<Row> = rows.iter().map(|row| (1.0 - row.0, !row.1, row.2)).collect();
        let measures: Vec<Box<dyn Estimator>> = vec![
            Box::new(SmoothEce::new()),
            Box::new(SmoothEce::new().smoothing(Smoothing::Predictions).sigma(0.1)),
            Box::new(KdeEce::new().bandwidth(0.05)),
        ];
        for measure in &measures {
            prop_assert!((value(&**measure, &rows) - value(&**measure, &other)).abs() <= 4e-9);
        }
    }

    #[test]
    fn cox_solves_its_equations(rows in rows(80)) {
        let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let w: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let predictions = Input::probabilities(&p, &y).weights(&w).check().unwrap();
        let fit = match CoxCalibration::new().fit(&predictions.binary().unwrap()) {
            Ok(fit) => fit,
            Err(error) => {
                prop_assert!(["invalid_setting", "tolerance_not_met"].contains(&error.code()), "{error}");
                return Ok(());
            }
        };
        let logits: Vec<f64> = p.iter().map(|p| p.clamp(1e-6, 1.0 - 1e-6)).map(|p| (p / (1.0 - p)).ln()).collect();
        let score = |a: f64, b: f64, power: i32| -> f64 {
            let terms = logits.iter().zip(&rows).map(|(h, row)| row.2 * h.powi(power) * (outcome(row) - 1.0 / (1.0 + (-a - b * h).exp())));
            terms.sum()
        };
        prop_assert!(score(fit.intercept, fit.slope, 0).abs() < 1e-7 && score(fit.intercept, fit.slope, 1).abs() < 1e-6);
        prop_assert!(score(fit.in_the_large, 1.0, 0).abs() < 1e-8);
        prop_assert!(fit.slope_standard_error > 0.0 && fit.intercept_standard_error > 0.0);
    }
}

#[test]
fn separated_outcomes_are_refused_by_cox() {
    let refusal = |p: &[f64], y: &[i32]| {
        let predictions = Input::probabilities(p, y).check().unwrap();
        CoxCalibration::new().fit(&predictions.binary().unwrap()).unwrap_err().to_string()
    };
    assert!(refusal(&[0.1, 0.2, 0.8], &[0, 0, 1]).contains("outcome 0 up to logit"));
    assert!(refusal(&[0.1, 0.2, 0.8], &[1, 1, 0]).contains("outcome 1 up to logit"));
    assert!(refusal(&[0.1, 0.2, 0.2, 0.8], &[0, 0, 1, 1]).contains("no finite solution"));
    assert!(refusal(&[0.3, 0.3], &[0, 1]).contains("only logit"));
    assert!(refusal(&[0.3, 0.6], &[1, 1]).contains("only outcome 1"));
}

/// Newton on its own closed case: two probabilities, so that the rates are fitted exactly; the information is that of two
/// binomials.
#[test]
fn standard_errors_are_those_of_two_binomials() {
    let p = [0.75, 0.75, 0.75, 0.25, 0.25, 0.25];
    let predictions = Input::probabilities(&p, &[1, 1, 0, 1, 0, 0]).check().unwrap();
    let fit = CoxCalibration::new().fit(&predictions.binary().unwrap()).unwrap();
    // Both have information 3 · 2/9 for their logits, at ±ln 3.
    let variance = 1.0 / (2.0 / 3.0);
    assert!((fit.intercept_standard_error - (variance / 2.0f64).sqrt()).abs() < 1e-10);
    assert!((fit.slope_standard_error - (variance / 2.0f64).sqrt() / 3f64.ln()).abs() < 1e-10);
    assert!(fit.covariance.abs() < 1e-12);
}

#[test]
fn indices_are_gaps_of_the_curve() {
    let p: Vec<f64> = (1..300).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract()).collect();
    let y: Vec<bool> = (1..300).map(|k| (f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let curve = LsEce::new().sigma(0.3).curve(&view, &p).unwrap();
    let mut gaps: Vec<f64> = curve.outcome_rates.iter().zip(&p).map(|(rate, p)| (rate - p).abs()).collect();
    let found = CalibrationIndex::new().sigma(0.3).indices(&view).unwrap();
    gaps.sort_by(f64::total_cmp);
    assert!((found.ici - gaps.iter().sum::<f64>() / 299.0).abs() < 1e-10);
    assert!((found.e50 - gaps[149]).abs() < 1e-10);
    assert!((found.e90 - gaps[269]).abs() < 1e-10);
    assert!((found.emax - gaps[298]).abs() < 1e-10);
}

#[test]
fn indices_by_a_grid_are_those_one_by_one() {
    // Above 4096 rows there is a grid; a noise that is not smooth enough for it does not matter here, sigma does.
    let n = 5000;
    let p: Vec<f64> = (1..=n).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract()).collect();
    let y: Vec<bool> = (1..=n).map(|k| (f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6).collect();
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    for sigma in [0.05, 0.5, 2.0] {
        let found = CalibrationIndex::new().sigma(sigma).indices(&view).unwrap();
        let curve = LsEce::new().sigma(sigma).curve(&view, &p).unwrap();
        let gaps = || curve.outcome_rates.iter().zip(&p).map(|(rate, p)| (rate - p).abs());
        let ici = gaps().sum::<f64>() / f64::from(n);
        assert!((found.ici - ici).abs() <= found.ici_bound + 1e-10, "{} {ici}", found.ici);
        assert!((found.emax - gaps().fold(0.0, f64::max)).abs() <= found.largest_bound + 1e-9);
        assert!(found.ici_bound < 1e-8, "{}", found.ici_bound);
    }
}

#[test]
fn the_likelihood_rule_takes_the_likeliest_bandwidth() {
    let rows: Vec<Row> = (1..400)
        .map(|k| {
            let p = 0.5 + 0.45 * (f64::from(k) * 0.618_033_988_749_894_9 * 7.0).sin();
            (p, k % 3 == 0, 1.0)
        })
        .collect();
    let found = estimate(&BetaKdeEce::new(), &rows).unwrap();
    let likelihood = |h: f64| -> f64 {
        let log_kernel = |z: f64, x: f64| {
            let log_beta = libm::lgamma(x / h + 1.0) + libm::lgamma((1.0 - x) / h + 1.0) - libm::lgamma(1.0 / h + 2.0);
            (x * z.ln() + (1.0 - x) * (1.0 - z).ln()) / h - log_beta
        };
        let of = |j: usize| {
            let others = (0..rows.len()).filter(|i| *i != j).map(|i| log_kernel(rows[j].0, rows[i].0).exp());
            others.sum::<f64>().ln()
        };
        (0..rows.len()).map(of).sum()
    };
    let grid = (0..15).map(|k| 10f64.powf(-5.0 + 4.0 * f64::from(k) / 14.0)).chain((1..=5).map(|k| 0.2 * f64::from(k)));
    let best = grid.max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b))).unwrap();
    let taken = found.settings.number("bandwidth").unwrap();
    assert!((taken / best - 1.0).abs() < 1e-12, "{taken} against {best}");
    let given = estimate(&BetaKdeEce::new().bandwidth(Bandwidth::Value(best)), &rows).unwrap();
    assert!((given.value - found.value).abs() < 1e-12);
}

#[test]
fn the_canonical_error_of_two_classes_is_twice_the_binary_one() {
    let p: Vec<f64> = (1..150).map(|k| (f64::from(k) * 0.618_033_988_749_894_9).fract().clamp(0.01, 0.99)).collect();
    let y: Vec<i32> = (1..150).map(|k| i32::from((f64::from(k) * 0.754_877_666_246_692_7).fract() < 0.6)).collect();
    let two: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
    let predictions = Input::probabilities(&two, &y).classes(2).check().unwrap();
    let canonical = CanonicalKdeEce::new(0.02).estimate(&predictions).unwrap().value;
    let binary = BetaKdeEce::new().bandwidth(0.02).estimate(&predictions.binary().unwrap()).unwrap().value;
    assert!((canonical - 2.0 * binary).abs() < 1e-7, "{canonical} {binary}");
    let refusal = CanonicalKdeEce::new(0.02).limit(1000).estimate(&predictions).unwrap_err().to_string();
    assert!(refusal.contains(&CanonicalKdeEce::cost(149, 2).to_string()), "{refusal}");
}

#[test]
fn top_label_error_is_the_mean_over_predicted_classes() {
    let k = 4;
    let n = 300;
    let mut scores = Vec::new();
    for row in 0..n {
        let raw: Vec<f64> =
            (0..k).map(|class| (f64::from(row * k + class) * 0.618_033_988_749_894_9).fract() + 0.01).collect();
        let sum: f64 = raw.iter().sum();
        scores.extend(raw.iter().map(|score| score / sum));
    }
    let labels: Vec<i32> = (0..n).map(|row| (row * row * 7 + row) % k).collect();
    let weights: Vec<f64> = (0..n).map(|row| f64::from(1 + row % 3)).collect();
    let predictions = Input::probabilities(&scores, &labels).classes(k as usize).weights(&weights).check().unwrap();
    let found = predictions.estimate_top_label(&BinnedEce::new().n_bins(5)).unwrap();

    let mut expected = 0.0;
    for class in 0..k {
        let mut part: Vec<Row> = Vec::new();
        for row in 0..n as usize {
            let own = &scores[row * k as usize..(row + 1) * k as usize];
            let top = (0..k as usize).fold(0, |best, class| if own[class] > own[best] { class } else { best });
            if top == class as usize {
                part.push((own[top], labels[row] == class, weights[row]));
            }
        }
        if !part.is_empty() {
            let share = total(&part) / weights.iter().sum::<f64>();
            expected += share * value(&BinnedEce::new().n_bins(5), &part);
        }
    }
    assert!((found.value - expected).abs() < 1e-12, "{} {expected}", found.value);
    let shares: f64 = found.per_class.iter().map(|estimate| estimate.settings.number("share").unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    assert_eq!(found.n, n as u64);
    // No less than confidence calibration in the same bins: gaps of classes cannot make up for each other.
    let confidence = predictions
        .estimate(calipers::Multiclass::TopClass, calipers::Ties::First, &BinnedEce::new().n_bins(5))
        .unwrap();
    assert!(found.value >= confidence.value - 1e-12);
}

/// Static calibration error (Nixon): each class against the rest, and the mean over classes.
#[test]
fn classwise_binned_error_is_the_mean_over_classes() {
    let scores = [0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4];
    let labels = [0, 1, 0];
    let predictions = Input::probabilities(&scores, &labels).classes(3).check().unwrap();
    let found = predictions
        .estimate(calipers::Multiclass::Classwise, calipers::Ties::First, &BinnedEce::new().n_bins(10))
        .unwrap();
    let of_class = |class: usize| {
        let rows: Vec<Row> = (0..3).map(|row| (scores[row * 3 + class], labels[row] == class as i32, 1.0)).collect();
        value(&BinnedEce::new().n_bins(10), &rows)
    };
    assert!((found.value - (of_class(0) + of_class(1) + of_class(2)) / 3.0).abs() < 1e-15);
}

#[test]
fn raw_scores_are_probabilities_through_the_link() {
    let logits = [2.0, -1.0, 0.5, 0.5, -3.0, 1.5];
    let y = [1, 1, 1, 0, 0, 0];
    let p: Vec<f64> = logits.iter().map(|h: &f64| 1.0 / (1.0 + (-h).exp())).collect();
    let raw = Input::logits(&logits, &y).check().unwrap();
    let plain = Input::probabilities(&p, &y).check().unwrap();
    let measures: Vec<Box<dyn Estimator>> = vec![
        Box::new(SmoothEce::new()),
        Box::new(SmoothEce::new().method(SmoothMethod::Relplot)),
        Box::new(KdeEce::new()),
        Box::new(BetaKdeEce::new().bandwidth(0.1)),
        Box::new(DebiasedEce::new().n_bins(2)),
        Box::new(SweepEce::new()),
        Box::new(ObservedExpected::new()),
        Box::new(CalibrationIndex::new()),
        Box::new(CoxCalibration::new()),
    ];
    for measure in &measures {
        let (a, b) =
            (measure.estimate(&raw.binary().unwrap()).unwrap(), measure.estimate(&plain.binary().unwrap()).unwrap());
        assert!(
            (a.value - b.value).abs() <= 1e-9 + a.numerical_bound + b.numerical_bound,
            "{}: {} {}",
            a.measure,
            a.value,
            b.value
        );
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let rows: Vec<Row> = vec![(0.2, false, 1.0), (0.6, true, 1.0), (0.4, true, 1.0)];
    let weighted: Vec<Row> = vec![(0.2, false, 2.0), (0.6, true, 1.0)];
    let refusals: Vec<Box<dyn Estimator>> = vec![
        Box::new(SmoothEce::new().sigma(f64::NAN)),
        Box::new(SmoothEce::new().sigma(1e-9)),
        Box::new(SmoothEce::new().tolerance(0.0)),
        Box::new(SmoothEce::new().method(SmoothMethod::Relplot).smoothing(Smoothing::Predictions)),
        Box::new(KdeEce::new().bandwidth(f64::NAN)),
        Box::new(KdeEce::new().tolerance(f64::NAN)),
        Box::new(BetaKdeEce::new().bandwidth(0.0)),
        Box::new(BetaKdeEce::new().norm(Norm::Max)),
        Box::new(DebiasedEce::new().norm(Norm::Max)),
        Box::new(SweepEce::new().norm(Norm::Max)),
        Box::new(SweepEce::new().max_bins(0)),
        Box::new(DebiasedEce::new().n_bins(0)),
    ];
    for measure in &refusals {
        assert_eq!(estimate(&**measure, &rows).unwrap_err().code(), "invalid_setting");
    }
    let relplot = SmoothEce::new().method(SmoothMethod::Relplot);
    assert_eq!(estimate(&relplot, &weighted).unwrap_err().code(), "invalid_setting");
    assert_eq!(estimate(&BetaKdeEce::new(), &rows[..1]).unwrap_err().code(), "invalid_setting");
    assert_eq!(estimate(&ObservedExpected::new(), &[(0.0, true, 1.0)]).unwrap_err().code(), "invalid_setting");
    let too_fine = estimate(&SmoothEce::new().sigma(1e-5).tolerance(1e-15), &rows).unwrap_err();
    assert_eq!(too_fine.code(), "tolerance_not_met");
    let compat = DebiasedEce::new().compat(Compat::Relplot).strategy(Bins::Quantile);
    assert_eq!(estimate(&compat, &rows).unwrap_err().code(), "invalid_setting");
}

/// Calibrated by construction: rates are the probabilities themselves, so that nothing is left without smoothing.
#[test]
fn no_error_is_left_where_every_probability_has_its_rate() {
    let rows: Vec<Row> = vec![(0.5, true, 1.0), (0.5, false, 1.0), (0.0, false, 1.0), (1.0, true, 1.0)];
    assert!(value(&SmoothEce::new(), &rows).abs() <= 1e-9);
    assert!(value(&SmoothEce::new().sigma(0.1), &rows).abs() <= 1e-9);
    assert_eq!(value(&SweepEce::new(), &rows), 0.0);
}

/// The definition where σ is far below the distances of most points: windows of twelve σ around each, those that meet joined.
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
    // ±1/4 at a distance d: smECE_σ = erf(d / (2 √2 σ)) / 2, nearly d / (√(8 π) σ) since d is far below σ.
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

/// Its own gap is 0 / 0.
#[test]
fn a_row_without_weight_far_from_all_others_changes_no_index() {
    let rows = [(0.001, true, 1.0), (0.002, false, 2.0), (0.999, true, 0.0)];
    for statistic in [IndexStatistic::Ici, IndexStatistic::E50, IndexStatistic::E90, IndexStatistic::Emax] {
        let measure = CalibrationIndex::new().sigma(0.1).statistic(statistic);
        let (with, without) = (value(&measure, &rows), value(&measure, &rows[..2]));
        assert!((with - without).abs() < 1e-12, "{statistic:?}: {with} {without}");
    }
}
