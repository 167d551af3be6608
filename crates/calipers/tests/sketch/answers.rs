//! Each measure of a sketch is that of its rows, within the bounds of both.

use calipers::{
    BinnedEce, BrierScore, Input, LogLoss, LsEce, Measure, NBins, Norm, Scale, Sketch, Strategy as Binning, Ties, link,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::data::{Data, NOISES, assert_agree, sketch_of, smoothing};

#[test]
fn ls_ece_of_a_sketch_is_that_of_its_rows_for_every_noise_and_link() {
    for weighted in [false, true] {
        let data = Data::new(3_000, 7, weighted);
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = sketch_of(&view);
        for (noise, tolerance) in NOISES {
            for link in link::NAMES {
                for sigma in [0.05, 0.3, 2.0] {
                    let what = format!("{noise}, {link}, sigma {sigma}, weighted {weighted}");
                    assert_agree(&smoothing(noise, link, sigma, tolerance), &view, &sketch, &what);
                }
            }
        }
    }
}

#[test]
fn third_order_noise_is_answered_to_a_millionth_down_to_a_sigma_of_a_fiftieth() {
    let data = Data::new(20_000, 3, false);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    for noise in ["gaussian", "logistic"] {
        assert_agree(&smoothing(noise, "logistic", 0.02, 1e-6), &view, &sketch, noise);
    }
}

#[test]
fn quantile_bins_of_scores_that_round_to_one_are_within_their_bounds() {
    let logits: Vec<f64> = (0..300).map(|k| 20.0 + f64::from(k * 37 % 300) * 0.1).collect();
    let labels: Vec<u8> = (0..300).map(|k| u8::from(k % 5 != 0)).collect();
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    for n_bins in [2, 3, 5, 7, 11] {
        for norm in [Norm::L1, Norm::L2, Norm::Max] {
            let measure = BinnedEce::new().n_bins(n_bins).norm(norm).strategy(Binning::Quantile);
            assert_agree(&measure, &view, &sketch, &format!("{n_bins} {norm:?}"));
        }
    }
}

#[test]
fn the_top_class_of_logits_is_kept_as_log_odds() {
    let logits: Vec<f64> =
        (0..3_000).map(|k| 8.0 * (f64::from(k) * 0.7).sin() * (f64::from(k) * 0.013).cos()).collect();
    let labels: Vec<u8> = (0..1_000).map(|k| (k % 3) as u8).collect();
    let predictions = Input::logits(&logits, &labels).classes(3).check().unwrap();
    let view = predictions.top_class(Ties::First).unwrap();
    let sketch = sketch_of(&view);
    assert_eq!(sketch.scale(), Some(Scale::LogOdds));
    for link in link::NAMES {
        assert_agree(&smoothing("gaussian", link, 0.1, 1e-6), &view, &sketch, link);
    }
    assert_agree(&BinnedEce::new().link(calipers::Probit), &view, &sketch, "ece");
    assert_agree(&LogLoss::new(), &view, &sketch, "log loss");
}

#[test]
fn declared_bins_are_exact_and_others_within_their_bounds() {
    for weighted in [false, true] {
        let data = Data::new(20_000, 11, weighted);
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = sketch_of(&view);
        for norm in [Norm::L1, Norm::L2, Norm::Max] {
            for n_bins in [10, 15] {
                let measure = BinnedEce::new().n_bins(n_bins).norm(norm);
                if !weighted {
                    assert!(sketch.estimate(&measure).unwrap().numerical_bound < 1e-13);
                }
                assert_agree(&measure, &view, &sketch, &format!("{n_bins} declared, {norm:?}"));
            }
            for n_bins in [NBins::Fixed(1), NBins::Fixed(4), NBins::Fixed(20), NBins::Fixed(100), NBins::Auto] {
                for strategy in [Binning::Uniform, Binning::Quantile] {
                    let measure = BinnedEce::new().n_bins(n_bins).norm(norm).strategy(strategy);
                    assert_agree(&measure, &view, &sketch, &format!("{n_bins:?} {strategy:?} {norm:?} {weighted}"));
                }
            }
        }
        // Two in a hundred rows are on the edges of 20 bins, where a sketch cannot tell the side.
        let bound = |n_bins: usize| sketch.estimate(&BinnedEce::new().n_bins(n_bins)).unwrap().numerical_bound;
        assert!(bound(20) > 1e-3 && bound(7) < 3e-3, "{} and {}", bound(20), bound(7));
    }
}

#[test]
fn scores_of_a_sketch_are_those_of_its_rows() {
    for weighted in [false, true] {
        let data = Data::new(5_000, 13, weighted);
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = sketch_of(&view);
        assert_agree(&BrierScore::new(), &view, &sketch, "brier");
        assert_agree(&LogLoss::new().clip(1e-6), &view, &sketch, "log loss");
        let bound = |measure: &dyn Measure| sketch.estimate(measure).unwrap().numerical_bound;
        // Weights are off by up to 2^-33 each.
        let weights = if weighted { 1e-8 } else { 0.0 };
        assert!(bound(&BrierScore::new()) < 1e-7 && bound(&LogLoss::new().clip(1e-6)) < 1e-8 + weights);
    }
    let small = sketch_of(&Data::new(9, 1, false).all().binary().unwrap());
    assert_eq!(small.estimate(&LogLoss::new()).unwrap().settings.number("clip"), Some(1e-6));
    let refusal = small.estimate(&LogLoss::new().clip(1e-15)).unwrap_err();
    assert_eq!(refusal.to_string(), "clip must be 0.000001, that of the sketch, got 1e-15");
}

#[test]
fn the_curve_of_a_sketch_is_that_of_its_rows() {
    let at: Vec<f64> = (1..40).map(|k| f64::from(k) / 40.0).collect();
    for weighted in [false, true] {
        let data = Data::new(3_000, 17, weighted);
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = sketch_of(&view);
        for (noise, _) in NOISES {
            let measure = smoothing(noise, "logistic", 0.3, 1e-6);
            let (rows, cells) = (measure.curve(&view, &at).unwrap(), measure.curve(&sketch, &at).unwrap());
            assert_eq!(rows.n, cells.n);
            for (k, t) in at.iter().enumerate() {
                let apart = (rows.densities[k] - cells.densities[k]).abs();
                assert!(apart <= rows.density_bounds[k] + cells.density_bounds[k], "{noise} at {}", t);
                let apart = (rows.outcome_rates[k] - cells.outcome_rates[k]).abs();
                let allowed = rows.outcome_rate_bounds[k] + cells.outcome_rate_bounds[k];
                assert!(apart <= allowed || cells.outcome_rates[k].is_nan(), "{noise} at {}: {apart}", t);
            }
            // Weights are off by 2^-33 each, noise of first order by a cell.
            let most = if noise == "gaussian" && !weighted { 1e-6 } else { 0.3 };
            assert!(cells.outcome_rate_bounds.iter().all(|bound| *bound < most), "{noise}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_115), ..ProptestConfig::default() })]

    /// Few rows, at places that hurt: ends, ties, edges of bins and of cells.
    #[test]
    fn nasty_rows_agree(
        rows in prop::collection::vec(
            (
                prop_oneof![0.0..1.0, Just(0.0), Just(-0.0), Just(1.0), Just(0.5), Just(0.25), Just(1e-6), Just(1.0 - 1e-6), (0u8..=30).prop_map(|k| f64::from(k) / 30.0)],
                any::<bool>(),
                prop_oneof![Just(0.0), Just(1.0), 0.0..5.0],
            ),
            1..40,
        ),
        weighted in any::<bool>(),
        sigma in 0.05..2.0f64,
    ) {
        let data = Data {
            p: rows.iter().map(|row| row.0).collect(),
            y: rows.iter().map(|row| u8::from(row.1)).collect(),
            w: (weighted && rows.iter().any(|row| row.2 > 0.0)).then(|| rows.iter().map(|row| row.2).collect()),
        };
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = sketch_of(&view);
        assert_agree(&LsEce::new().sigma(sigma), &view, &sketch, "ls_ece");
        assert_agree(&BrierScore::new(), &view, &sketch, "brier");
        assert_agree(&LogLoss::new().clip(1e-6), &view, &sketch, "log loss");
        for norm in [Norm::L1, Norm::L2, Norm::Max] {
            for strategy in [Binning::Uniform, Binning::Quantile] {
                for n_bins in [2, 3, 15, 30] {
                    let measure = BinnedEce::new().n_bins(n_bins).norm(norm).strategy(strategy);
                    assert_agree(&measure, &view, &sketch, &format!("{n_bins} {strategy:?} {norm:?}"));
                }
            }
        }
        prop_assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
    }
}
