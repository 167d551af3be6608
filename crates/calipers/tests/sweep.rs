//! The sweep against the measures that it is made of, and the verdict against data whose answer is
//! known.

use calipers::{
    BinnedEce, Compat, Gaussian, Input, LsEce, Measure, SamplingNoise, SmoothEce, Strategy, Sweep, SweepResult,
    Uniform, Verdict,
};

/// Numbers in [0, 1) that look random, the same everywhere.
fn sequence(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn calibrated(n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut next = sequence(seed);
    (0..n).map(|_| (next(), next())).map(|(p, u)| (p, u < p)).unzip()
}

fn sweep(options: &Sweep, p: &[f64], y: &[bool], weights: Option<&[f64]>) -> SweepResult {
    let input = Input::probabilities(p, y);
    let input = match weights {
        Some(weights) => input.weights(weights),
        None => input,
    };
    let predictions = input.check().unwrap();
    options.run(&predictions.binary().unwrap()).unwrap()
}

#[test]
fn figures_are_those_of_the_measures() {
    let (p, y) = calibrated(3000, 1);
    // With ties among the small ones.
    let p: Vec<f64> = p.iter().map(|p| if *p < 0.3 { (p * 50.0).round() / 50.0 } else { p * p }).collect();
    let mut next = sequence(9);
    let weights: Vec<f64> = p.iter().map(|_| if next() < 0.1 { 0.0 } else { next() * 3.0 }).collect();
    for weights in [None, Some(&weights[..])] {
        let input = Input::probabilities(&p, &y);
        let input = if let Some(weights) = weights { input.weights(weights) } else { input };
        let predictions = input.check().unwrap();
        let view = predictions.binary().unwrap();
        let compats: &[Option<Compat>] = match weights {
            Some(_) => &[None],
            None => {
                &[None, Some(Compat::Netcal), Some(Compat::Sklearn), Some(Compat::Torchmetrics), Some(Compat::Relplot)]
            }
        };
        for &compat in compats {
            let result = Sweep::new().compat(compat).run(&view).unwrap();
            assert_eq!(result.n, 3000);
            let bins: Vec<usize> = result.points.iter().map(|point| point.n_bins).collect();
            assert_eq!(bins, [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
            for point in &result.points {
                let ece = |strategy| BinnedEce::new().n_bins(point.n_bins).strategy(strategy).compat(compat);
                assert_eq!(point.ece_uniform, ece(Strategy::Uniform).estimate(&view).unwrap());
                match (&point.ece_quantile, ece(Strategy::Quantile).estimate(&view)) {
                    (Some(found), Ok(expected)) => {
                        assert!((found.value - expected.value).abs() <= 1e-15, "{} {compat:?}", point.n_bins);
                        assert_eq!((found.n, &found.settings), (expected.n, &expected.settings));
                        assert_eq!(found.numerical_bound, expected.numerical_bound);
                    }
                    (None, Err(_)) => {}
                    other => panic!("{compat:?} {other:?}"),
                }
                assert_eq!(point.ls_ece, LsEce::new().sigma(1.0 / point.n_bins as f64).estimate(&view).unwrap());
            }
            assert_eq!(result.smooth_ece, Some(SmoothEce::new().estimate(&view).unwrap()));
        }
    }
}

#[test]
fn a_calibrated_model_is_stable() {
    for seed in 0..20 {
        let (p, y) = calibrated(20_000, seed);
        let result = sweep(&Sweep::new(), &p, &y, None);
        assert_eq!(result.verdict, Verdict::Stable, "{seed}: {}", result.sentence());
    }
}

#[test]
fn bins_that_hide_a_pattern_are_brittle() {
    // Outcomes are 1 just below multiples of 1/40 and 0 just above them: even numbers of bins see
    // it or not by where their edges are.
    let n = 40_000;
    let p: Vec<f64> = (0..n).map(|k| (k as f64 + 0.5) / n as f64).collect();
    let y: Vec<bool> = p.iter().map(|p| (p * 40.0).fract() < 0.5).collect();
    let result = sweep(&Sweep::new(), &p, &y, None);
    let both = Verdict::Brittle { strategies: vec![Strategy::Uniform, Strategy::Quantile] };
    assert_eq!(result.verdict, both, "{}", result.sentence());
    assert!(result.sentence().starts_with("brittle: ECE with equal-width bins moves by "), "{}", result.sentence());
}

#[test]
fn the_sampling_noise_is_that_of_drawn_outcomes() {
    let (p, _) = calibrated(1000, 3);
    let mut next = sequence(77);
    let weights: Vec<f64> = p.iter().map(|_| 0.2 + next()).collect();
    for weights in [None, Some(&weights[..])] {
        let bins = vec![10, 20, 50, 100];
        let found = sweep(&Sweep::new().bins(bins.clone()), &p, &vec![true; 1000], weights).sampling_noise;
        let (mut uniform, mut quantile) = (0.0, 0.0);
        let n_draws = 200;
        for _ in 0..n_draws {
            let y: Vec<bool> = p.iter().map(|p| next() < *p).collect();
            let drawn = sweep(&Sweep::new().bins(bins.clone()), &p, &y, weights);
            uniform += drawn.range_uniform.unwrap().width() / f64::from(n_draws);
            quantile += drawn.range_quantile.unwrap().width() / f64::from(n_draws);
        }
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.12;
        assert!(close(found.uniform, uniform), "{} {uniform}", found.uniform);
        assert!(close(found.quantile.unwrap(), quantile), "{found:?} {quantile}");
    }
}

#[test]
fn the_sampling_noise_of_few_rows_that_are_nearly_sure_is_that_of_drawn_outcomes() {
    // 300 rows, most of them near 0 or 1, as of a model that is nearly always right: normal numbers
    // would be far off here.
    let mut next = sequence(5);
    let logits = (0..300).map(|_| 30.0 * (next() - 0.5));
    let p: Vec<f64> = logits.map(|x| 1.0 / (1.0 + (-x).exp())).collect();
    let weights: Vec<f64> = p.iter().map(|_| if next() < 0.2 { 0.0 } else { 0.2 + next() }).collect();
    let options = Sweep::new().bins((1..=10).map(|tens| 10 * tens).collect::<Vec<_>>());
    for weights in [None, Some(&weights[..])] {
        let seeds = 0..5;
        let noise = |seed| sweep(&options.clone().random_state(seed), &p, &[true; 300], weights).sampling_noise;
        let found: Vec<_> = seeds.map(noise).collect();
        let mean = |of: &dyn Fn(&SamplingNoise) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
        let (mut uniform, mut quantile) = (0.0, 0.0);
        let n_draws = 1000;
        for _ in 0..n_draws {
            let y: Vec<bool> = p.iter().map(|p| next() < *p).collect();
            let input = Input::probabilities(&p, &y);
            let input = if let Some(weights) = weights { input.weights(weights) } else { input };
            let predictions = input.check().unwrap();
            let view = predictions.binary().unwrap();
            let range = |strategy| {
                let ece = |tens: usize| BinnedEce::new().n_bins(10 * tens).strategy(strategy).estimate(&view).unwrap();
                let values: Vec<f64> = (1..=10).map(|tens| ece(tens).value).collect();
                values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min)
            };
            uniform += range(Strategy::Uniform) / f64::from(n_draws);
            quantile += range(Strategy::Quantile) / f64::from(n_draws);
        }
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.06;
        let (of_uniform, of_quantile) = (mean(&|noise| noise.uniform), mean(&|noise| noise.quantile.unwrap()));
        assert!(close(of_uniform, uniform), "{of_uniform} {uniform}");
        assert!(close(of_quantile, quantile), "{of_quantile} {quantile}");
    }
}

#[test]
fn the_sampling_noise_is_the_same_on_any_number_of_threads() {
    let (p, y) = calibrated(3000, 4);
    let of = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sweep(&Sweep::new(), &p, &y, None).sampling_noise)
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn a_stable_sentence_is_about_the_bins_that_are_nearer_to_brittle() {
    let (p, y) = calibrated(20_000, 2);
    let result = sweep(&Sweep::new(), &p, &y, None);
    assert_eq!(result.verdict, Verdict::Stable);
    let bar = |noise: f64| result.range_ls_ece.unwrap().width().max(2.0 * noise);
    let uniform = result.range_uniform.unwrap().width() - bar(result.sampling_noise.uniform);
    let quantile = result.range_quantile.unwrap().width() - bar(result.sampling_noise.quantile.unwrap());
    let name = if quantile > uniform { "equal-mass" } else { "equal-width" };
    assert!(result.sentence().starts_with(&format!("stable: ECE with {name} bins moves by ")), "{}", result.sentence());
    // A tool without bins of equal mass has the others alone.
    let relplot = sweep(&Sweep::new().compat(Compat::Relplot), &p, &y, None);
    assert!(relplot.sentence().contains("ECE with equal-width bins"), "{}", relplot.sentence());
}

#[test]
fn tied_jump_by_hand() {
    // 0.5 three times with outcomes 1, 1, 0: P = 1, N = 0.5; 0.25 twice with outcome 0: P = 0; 0.8
    // once.
    let p = [0.5, 0.25, 0.5, 0.8, 0.25, 0.5];
    let y = [true, false, true, true, false, false];
    let ties = sweep(&Sweep::new(), &p, &y, None).ties.unwrap();
    assert_eq!((ties.n_tied, ties.n_sets), (5, 2));
    assert!((ties.jump - 1.0 / 6.0).abs() < 1e-15, "{ties:?}");
    assert!((ties.tied_ece - (0.5 + 0.5 + 0.2) / 6.0).abs() < 1e-15, "{ties:?}");
    // Splitting ties does raise ECE by the jump: many bins of slightly different probabilities.
    let split: Vec<f64> = p.iter().enumerate().map(|(row, p)| p + 1e-9 * row as f64).collect();
    let of_split = sweep(&Sweep::new(), &split, &y, None).ties.unwrap();
    assert!((of_split.tied_ece - ties.tied_ece - ties.jump).abs() < 1e-7);
    assert_eq!((of_split.n_tied, of_split.jump), (0, 0.0));
    // A weight of 2 is a row twice.
    let weighted =
        sweep(&Sweep::new(), &[0.5, 0.25, 0.8, 0.5], &[true, false, true, false], Some(&[2.0, 2.0, 1.0, 1.0]));
    assert!(
        (weighted.ties.unwrap().jump - ties.jump).abs() < 1e-15
            && (weighted.ties.unwrap().tied_ece - ties.tied_ece).abs() < 1e-15
    );
}

#[test]
fn rounding_alone_is_not_brittle() {
    for p in [1.0, 0.0, 0.1, 1.0 / 3.0] {
        for y in [vec![true; 7], vec![false; 7]] {
            let result = sweep(&Sweep::new(), &[p; 7], &y, None);
            assert_eq!(result.verdict, Verdict::Stable, "{p}: {}", result.sentence());
        }
    }
}

#[test]
fn few_bins_leave_the_verdict_open() {
    let (p, y) = calibrated(100, 5);
    for bins in [vec![1], vec![1, 15, 15], vec![9, 101, 10]] {
        let result = sweep(&Sweep::new().bins(bins), &p, &y, None);
        assert_eq!(result.verdict, Verdict::Undecided);
        assert!(
            result.sentence().starts_with("undecided: at least two numbers of bins from 10 to 100 are needed, got ")
        );
    }
}

#[test]
fn order_and_repetition_of_bins_do_not_matter_and_the_seed_does() {
    let (p, y) = calibrated(500, 6);
    let result = sweep(&Sweep::new().bins([30, 10, 30]), &p, &y, None);
    assert_eq!(result, sweep(&Sweep::new().bins([10, 30]).noise(Gaussian), &p, &y, None));
    let other = sweep(&Sweep::new().bins([10, 30]).random_state(1), &p, &y, None);
    assert_ne!(result.sampling_noise.uniform, other.sampling_noise.uniform);
    let reversed: (Vec<f64>, Vec<bool>) = p.iter().copied().zip(y.iter().copied()).rev().unzip();
    let backwards = sweep(&Sweep::new().bins([10, 30]), &reversed.0, &reversed.1, None);
    assert_eq!(backwards.sampling_noise, result.sampling_noise);
    assert_eq!(backwards.ties, result.ties);
}

#[test]
fn raw_scores_and_other_noise_are_taken() {
    let (p, y) = calibrated(500, 7);
    let logits: Vec<f64> = p.iter().map(|p| (p / (1.0 - p)).ln()).collect();
    let predictions = Input::logits(&logits, &y).check().unwrap();
    let of_logits = Sweep::new().noise(Uniform).run(&predictions.binary().unwrap()).unwrap();
    let of_p = sweep(&Sweep::new().noise(Uniform), &p, &y, None);
    for (a, b) in of_logits.points.iter().zip(&of_p.points) {
        assert!((a.ls_ece.value - b.ls_ece.value).abs() < 1e-6);
        assert_eq!(a.ls_ece.settings.text("noise"), Some("uniform"));
    }
}

#[test]
fn bins_that_make_no_sense_are_refused() {
    let (p, y) = calibrated(10, 8);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let refusal = |bins: Vec<usize>| Sweep::new().bins(bins).run(&view).unwrap_err().to_string();
    let rule = "bins must be 1 to 1000 numbers of bins, each from 1 to 1000000, got";
    assert_eq!(refusal(vec![]), format!("{rule} 0 numbers"));
    assert_eq!(refusal(vec![10, 0]), format!("{rule} 0"));
    assert_eq!(refusal(vec![1_000_001]), format!("{rule} 1000001"));
    assert_eq!(refusal((1..=1001).collect()), format!("{rule} 1001 numbers"));
    // Without any rows, too, and so are the options of LS-ECE.
    let refusal = |sweep: Sweep| (sweep.check().unwrap_err().to_string(), sweep.run(&view).unwrap_err().to_string());
    let both = |text: &str| (text.to_owned(), text.to_owned());
    assert_eq!(refusal(Sweep::new().bins([0])), both(&format!("{rule} 0")));
    assert_eq!(refusal(Sweep::new().tolerance(-1.0)), both("tolerance must be positive and finite, got -1"));
    assert_eq!(refusal(Sweep::new().clip(0.7)), both("clip must be in [1e-15, 0.5), got 0.7"));
    assert_eq!(Sweep::new().check(), Ok(()));
}
