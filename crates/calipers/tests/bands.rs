//! Bands about reliability curves: against outcomes drawn row by row, against their level, and
//! where there is little to draw.

use calipers::inference::bands::{Band, BandKind, BandOptions};
use calipers::{BinaryView, Corp, Error, Input, Link, Logistic, LsEce, Predictions};

/// Uniform numbers of the tests' own.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53)
    }

    fn outcomes(&mut self, p: &[f64]) -> Vec<bool> {
        p.iter().map(|p| self.next() < *p).collect()
    }
}

fn predictions<'a>(p: &'a [f64], y: &'a [bool], w: Option<&'a [f64]>) -> Predictions<'a> {
    let input = Input::probabilities(p, y);
    match w {
        Some(w) => input.weights(w).check().unwrap(),
        None => input.check().unwrap(),
    }
}

fn curve(p: &[f64], y: &[bool], w: Option<&[f64]>) -> Vec<f64> {
    Corp::new().curve(&predictions(p, y, w).binary().unwrap()).unwrap().outcome_rates
}

fn ls_curve(p: &[f64], y: &[bool], w: Option<&[f64]>, sigma: f64, at: &[f64]) -> Vec<f64> {
    LsEce::new().sigma(sigma).curve(&predictions(p, y, w).binary().unwrap(), at).unwrap().outcome_rates
}

/// How many drawn curves are outside of a band at each place: (below, above).
fn outside(band: &Band, n_draws: usize, mut draw: impl FnMut() -> Vec<f64>) -> Vec<(f64, f64)> {
    let mut counts = vec![(0.0, 0.0); band.lower.len()];
    for _ in 0..n_draws {
        for (((below, above), value), (lower, upper)) in
            counts.iter_mut().zip(draw()).zip(band.lower.iter().zip(&band.upper))
        {
            *below += f64::from(value < lower - 1e-9) / n_draws as f64;
            *above += f64::from(value > upper + 1e-9) / n_draws as f64;
        }
    }
    counts
}

/// Shares outside are at most a fortieth on either side; and as much, where values are many.
fn check_level(name: &str, shares: &[(f64, f64)], n_draws: usize, is_discrete: bool) {
    let mean = shares.iter().map(|(below, above)| below + above).sum::<f64>() / shares.len() as f64;
    let largest = shares.iter().map(|(below, above)| below.max(*above)).fold(0.0, f64::max);
    // Noise of the share itself, and of the 999 draws of the band.
    let noise = (0.025f64 * 0.975 * (1.0 / n_draws as f64 + 1.0 / 999.0)).sqrt();
    println!("{name}: outside {mean:.4} on average, at most {largest:.4} on one side of a place");
    assert!(largest < 0.025 + 4.0 * noise, "{name}: {largest}");
    assert!(mean < 0.05 + 3.0 * noise, "{name}: {mean}");
    assert!(is_discrete || mean > 0.05 - 4.0 * noise, "{name}: {mean}");
}

struct Case {
    name: &'static str,
    p: Vec<f64>,
    w: Option<Vec<f64>>,
    is_discrete: bool,
}

fn cases() -> Vec<Case> {
    let mut random = Random(1);
    let mut logits = |n: usize, scale: f64| -> Vec<f64> {
        (0..n).map(|_| Logistic.response(scale * (random.next() + random.next() + random.next() - 1.5))).collect()
    };
    let quantised = |p: Vec<f64>| p.iter().map(|p| (p * 20.0).round() / 20.0).collect::<Vec<f64>>();
    let weights = |n: usize| Some((0..n).map(|k| 0.5 + (k % 3) as f64).collect::<Vec<f64>>());
    vec![
        Case { name: "smooth", p: logits(400, 2.0), w: None, is_discrete: false },
        Case { name: "weighted", p: logits(300, 2.0), w: weights(300), is_discrete: false },
        Case { name: "quantised", p: quantised(logits(500, 3.0)), w: None, is_discrete: true },
        Case { name: "quantised and weighted", p: quantised(logits(500, 3.0)), w: weights(500), is_discrete: true },
        Case { name: "few", p: logits(12, 3.0), w: None, is_discrete: true },
        Case { name: "rare", p: logits(600, 0.5).iter().map(|p| p * 0.01).collect(), w: None, is_discrete: true },
    ]
}

#[test]
fn calibrated_fits_are_inside_the_consistency_band_of_corp_at_its_level() {
    for Case { name, p, w, is_discrete } in cases() {
        let mut random = Random(2);
        let (n_draws, w) = (2000, w.as_deref());
        let y = random.outcomes(&p);
        let band =
            Corp::new().consistency_band(&predictions(&p, &y, w).binary().unwrap(), &BandOptions::new()).unwrap();
        assert_eq!((band.kind, band.level, band.n_resamples), (BandKind::Consistency, 0.95, 999));
        let shares = outside(&band, n_draws, || curve(&p, &random.outcomes(&p), w));
        check_level(name, &shares, n_draws, is_discrete);
    }
}

#[test]
fn calibrated_curves_are_inside_the_consistency_band_of_ls_ece_at_its_level() {
    let at: Vec<f64> = (1..20).map(|k| f64::from(k) / 20.0).collect();
    for Case { name, p, w, is_discrete } in cases() {
        let (n_draws, w) = (2000, w.as_deref());
        for sigma in [0.05, 0.5] {
            let mut random = Random(3);
            let y = random.outcomes(&p);
            let measure = LsEce::new().sigma(sigma);
            let view = predictions(&p, &y, w);
            let band = measure.consistency_band(&view.binary().unwrap(), &at, &BandOptions::new()).unwrap();
            let shares = outside(&band, n_draws, || ls_curve(&p, &random.outcomes(&p), w, sigma, &at));
            // Far from the rows the curve is that of one row, and so it is as discrete.
            check_level(&format!("{name} at {sigma}"), &shares, n_draws, is_discrete || sigma < 0.1);
        }
    }
}

const N_NAIVE: usize = 3999;

/// At each place, whether either end of the band is a quantile of curves that are drawn row by row:
/// at (1 - 0.95) / 2, give or take what the draws of both leave open. Of discrete curves a range of
/// values is that quantile.
fn check_naive(name: &str, band: &Band, fit: Option<&[f64]>, mut draw: impl FnMut() -> Vec<f64>) {
    let draws: Vec<Vec<f64>> = (0..N_NAIVE).map(|_| draw()).collect();
    let noise = (0.025f64 * 0.975 * 2.0 / N_NAIVE as f64).sqrt();
    for place in 0..band.lower.len() {
        let mut values: Vec<f64> = draws.iter().map(|draw| draw[place]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let quantile = |level: f64| values[(level * (N_NAIVE - 1) as f64).round() as usize];
        let (few, many) = (0.025 - 4.5 * noise, 0.025 + 4.5 * noise);
        // The confidence band always has the fit inside.
        let rate = fit.map(|fit| fit[place]);
        let lower = [few, many].map(|level| rate.map_or(quantile(level), |rate| quantile(level).min(rate)));
        let upper = [1.0 - many, 1.0 - few].map(|level| rate.map_or(quantile(level), |rate| quantile(level).max(rate)));
        let found = (band.lower[place], band.upper[place]);
        assert!(lower[0] - 1e-9 <= found.0 && found.0 <= lower[1] + 1e-9, "{name}, place {place}: {found:?} {lower:?}");
        assert!(upper[0] - 1e-9 <= found.1 && found.1 <= upper[1] + 1e-9, "{name}, place {place}: {found:?} {upper:?}");
    }
}

#[test]
fn pooled_draws_are_those_of_rows() {
    for Case { name, p, w, .. } in cases() {
        let (mut random, w) = (Random(5), w.as_deref());
        let y: Vec<bool> = random.outcomes(&p.iter().map(|p| 0.2 + 0.6 * p).collect::<Vec<f64>>());
        let held = predictions(&p, &y, w);
        let view = held.binary().unwrap();
        let options = BandOptions::new().n_resamples(N_NAIVE as u64);
        let consistency = Corp::new().consistency_band(&view, &options).unwrap();
        check_naive(name, &consistency, None, || curve(&p, &random.outcomes(&p), w));
        // Each row's own fitted rate.
        let fit = Corp::new().curve(&view).unwrap();
        let place = |p: &f64| fit.probabilities.partition_point(|other| other < p);
        let rates: Vec<f64> = p.iter().map(|p| fit.outcome_rates[place(p)]).collect();
        let confidence = Corp::new().confidence_band(&view, &options).unwrap();
        check_naive(name, &confidence, Some(&fit.outcome_rates), || curve(&p, &random.outcomes(&rates), w));
    }
}

#[test]
fn cells_of_many_rows_are_as_good_as_the_rows() {
    let n = 12_000;
    let mut random = Random(8);
    let p: Vec<f64> = (0..n).map(|_| random.next()).collect();
    let y = random.outcomes(&p);
    let held = predictions(&p, &y, None);
    let band = Corp::new().consistency_band(&held.binary().unwrap(), &BandOptions::new()).unwrap();
    let n_draws = 600;
    let shares = outside(&band, n_draws, || curve(&p, &random.outcomes(&p), None));
    // Places that touch 0 or 1 are discrete, so they are held to less.
    check_level("cells", &shares, n_draws, false);
    // Sparse at sigma / 16 of all rows, so that outcomes are drawn by cell.
    let rare: Vec<f64> = p.iter().map(|p| 0.003 * p).collect();
    let y = random.outcomes(&rare);
    let (held, at) = (predictions(&rare, &y, None), [0.0005, 0.001, 0.002, 0.01, 0.1]);
    let band = LsEce::new().sigma(0.3).consistency_band(&held.binary().unwrap(), &at, &BandOptions::new()).unwrap();
    let shares = outside(&band, n_draws, || ls_curve(&rare, &random.outcomes(&rare), None, 0.3, &at));
    check_level("rare cells", &shares, n_draws, true);
}

/// The share of samples whose confidence band holds the true rate, at places inside.
fn confidence_coverage(n: usize, truth: impl Fn(f64) -> f64, n_samples: u64) -> f64 {
    let (mut inside, mut all) = (0.0, 0.0);
    for sample in 0..n_samples {
        let mut random = Random(1000 + sample);
        let p: Vec<f64> = (0..n).map(|_| random.next()).collect();
        let y = random.outcomes(&p.iter().map(|p| truth(*p)).collect::<Vec<f64>>());
        let held = predictions(&p, &y, None);
        let view = held.binary().unwrap();
        let band = Corp::new().confidence_band(&view, &BandOptions::new().n_resamples(399)).unwrap();
        let places = Corp::new().curve(&view).unwrap().probabilities;
        for t in [0.2, 0.35, 0.5, 0.65, 0.8] {
            let place = places.partition_point(|p| *p < t).min(places.len() - 1);
            let rate = truth(places[place]);
            inside += f64::from(band.lower[place] <= rate && rate <= band.upper[place]);
            all += 1.0;
        }
    }
    inside / all
}

#[test]
fn the_confidence_band_holds_the_true_rate_about_as_often_as_it_says() {
    let line = |p: f64| p;
    let curved = |p: f64| 0.1 + 0.8 * p * p;
    for n in [200, 1000] {
        let (line, curved) = (confidence_coverage(n, line, 200), confidence_coverage(n, curved, 200));
        println!("n = {n}: {line:.3} on the diagonal, {curved:.3} on a curve");
        assert!(line > 0.93 && curved > 0.93, "{n}: {line} {curved}");
    }
}

fn both(view: &BinaryView<'_>) -> [Band; 2] {
    let options = BandOptions::new();
    [Corp::new().consistency_band(view, &options).unwrap(), Corp::new().confidence_band(view, &options).unwrap()]
}

#[test]
fn little_to_draw_is_drawn() {
    // One row.
    let held = predictions(&[0.3], &[true], None);
    let [consistency, confidence] = both(&held.binary().unwrap());
    assert_eq!((consistency.lower[0], consistency.upper[0]), (0.0, 1.0));
    assert_eq!((confidence.lower[0], confidence.upper[0]), (1.0, 1.0));
    // Nearly certain, so that one outcome is outside of the band.
    let held = predictions(&[0.001], &[true], None);
    let [consistency, _] = both(&held.binary().unwrap());
    assert_eq!((consistency.lower[0], consistency.upper[0]), (0.0, 0.0));
    let band = LsEce::new().sigma(0.3).consistency_band(&held.binary().unwrap(), &[0.001, 0.5], &BandOptions::new());
    let band = band.unwrap();
    assert!(band.lower[0] < 1e-12 && band.upper[0] < 1e-12);
    // Places without rows have no band.
    assert!(band.lower[1].is_nan() && band.upper[1].is_nan());
    // Certain.
    let held = predictions(&[0.0, 1.0], &[true, true], None);
    let [consistency, confidence] = both(&held.binary().unwrap());
    assert_eq!((consistency.lower, consistency.upper), (vec![0.0, 1.0], vec![0.0, 1.0]));
    assert_eq!((confidence.lower, confidence.upper), (vec![1.0, 1.0], vec![1.0, 1.0]));
}

#[test]
fn equal_scores_have_the_band_of_a_binomial_number() {
    let (p, y) = (vec![0.5; 100], (0..100).map(|k| k < 60).collect::<Vec<bool>>());
    let held = predictions(&p, &y, None);
    let view = held.binary().unwrap();
    let [consistency, confidence] = both(&view);
    // Quantiles of 100 throws of a coin are 40 and 60; of one that shows 60, 50 and 69.
    assert!((consistency.lower[0] - 0.4).abs() < 0.015 && (consistency.upper[0] - 0.6).abs() < 0.015);
    assert!((confidence.lower[0] - 0.5).abs() < 0.015 && (confidence.upper[0] - 0.69).abs() < 0.015);
    let at = [0.3, 0.5, 0.7];
    let band = LsEce::new().sigma(0.5).consistency_band(&view, &at, &BandOptions::new()).unwrap();
    assert!(
        band.lower.iter().all(|end| (end - 0.4).abs() < 0.015)
            && band.upper.iter().all(|end| (end - 0.6).abs() < 0.015)
    );
}

#[test]
fn equal_outcomes_leave_the_confidence_band_no_width() {
    let p: Vec<f64> = (1..50).map(|k| f64::from(k) / 50.0).collect();
    for outcome in [false, true] {
        let y = vec![outcome; p.len()];
        let held = predictions(&p, &y, None);
        let [consistency, confidence] = both(&held.binary().unwrap());
        let rate = f64::from(outcome);
        assert!(confidence.lower.iter().chain(&confidence.upper).all(|end| *end == rate));
        assert!(consistency.lower.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(
            consistency
                .lower
                .iter()
                .zip(&consistency.upper)
                .all(|(lower, upper)| 0.0 <= *lower && *upper <= 1.0 && lower <= upper)
        );
    }
}

#[test]
fn neither_threads_nor_the_order_of_rows_change_a_bit() {
    let mut random = Random(4);
    let p: Vec<f64> = (0..300).map(|_| (random.next() * 40.0).round() / 40.0).collect();
    let y = random.outcomes(&p);
    let at = [0.03, 0.3, 0.6];
    let bands = |p: &[f64], y: &[bool]| {
        let held = predictions(p, y, None);
        let view = held.binary().unwrap();
        let [consistency, confidence] = both(&view);
        [consistency, confidence, LsEce::new().sigma(0.1).consistency_band(&view, &at, &BandOptions::new()).unwrap()]
    };
    let first = bands(&p, &y);
    for n_threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        assert_eq!(pool.install(|| bands(&p, &y)), first);
    }
    let reversed: (Vec<f64>, Vec<bool>) = (p.iter().rev().copied().collect(), y.iter().rev().copied().collect());
    let turned = bands(&reversed.0, &reversed.1);
    assert_eq!(turned[..2], first[..2]);
    let held = predictions(&p, &y, None);
    let other = Corp::new().consistency_band(&held.binary().unwrap(), &BandOptions::new().random_state(1)).unwrap();
    assert_ne!(other.lower, first[0].lower);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let held = predictions(&[0.5], &[true], None);
    let view = held.binary().unwrap();
    let refused = |options: BandOptions| -> [Result<Band, Error>; 3] {
        [
            Corp::new().consistency_band(&view, &options),
            Corp::new().confidence_band(&view, &options),
            LsEce::new().sigma(0.1).consistency_band(&view, &[0.5], &options),
        ]
    };
    let cases = [
        (BandOptions::new().level(1.0), "level must be in [0.5, 1), got 1"),
        (BandOptions::new().level(f64::NAN), "level must be in [0.5, 1), got NaN"),
        (BandOptions::new().n_resamples(38), "n_resamples must be from 39 to 10000 at this level, got 38"),
        (BandOptions::new().n_resamples(10_001), "n_resamples must be from 39 to 10000 at this level, got 10001"),
    ];
    for (options, text) in cases {
        for result in refused(options) {
            assert_eq!(result.unwrap_err().to_string(), text);
        }
    }
}
