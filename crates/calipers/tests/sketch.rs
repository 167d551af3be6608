//! A sketch says what the rows say, within its bounds, and does not care how they came.

use calipers::{
    BinaryView, BinnedEce, BrierScore, Error, Estimator, Filling, Input, LogLoss, LsEce, NBins, Norm, Predictions,
    Scale, Sketch, SketchOptions, Strategy as Binning, Tally, Ties, link, noise,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Probabilities, outcomes and weights as some test wants them.
#[derive(Debug, Clone)]
struct Data {
    p: Vec<f64>,
    y: Vec<u8>,
    w: Option<Vec<f64>>,
}

impl Data {
    /// Logit-normal probabilities, with ends and repeated values, by a small generator of our own.
    fn new(n: usize, seed: u64, weighted: bool) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut data = Data { p: vec![], y: vec![], w: weighted.then(Vec::new) };
        for row in 0..n {
            let normal: f64 = (0..6).map(|_| uniform() - 0.5).sum::<f64>() * 2f64.sqrt();
            let p = match row % 97 {
                0 => 0.0,
                1 => 1.0,
                2 => 0.25,
                3 => (uniform() * 20.0).floor() / 20.0,
                _ => 1.0 / (1.0 + (-2.5 * normal).exp()),
            };
            data.p.push(p);
            data.y.push(u8::from(uniform() < 0.8 * p + 0.1));
            if let Some(w) = &mut data.w {
                w.push(if row % 31 == 0 { 0.0 } else { uniform() * 3.0 });
            }
        }
        data
    }

    fn rows(&self, range: std::ops::Range<usize>) -> Predictions<'_> {
        let mut input = Input::probabilities(&self.p[range.clone()], &self.y[range.clone()]);
        if let Some(w) = &self.w {
            input = input.weights(&w[range]);
        }
        // A batch of a stream: rows of weight 0 may be alone in it.
        input.check_batch(&mut Tally::default()).unwrap()
    }

    fn all(&self) -> Predictions<'_> {
        self.rows(0..self.p.len())
    }

    /// A sketch of batches that end at the given places.
    fn sketch(&self, options: &SketchOptions, ends: &[usize]) -> Sketch {
        let mut sketch = Sketch::with(options).unwrap();
        let mut start = 0;
        for end in ends.iter().copied().chain([self.p.len()]) {
            if start < end {
                sketch.update(&self.rows(start..end).binary().unwrap()).unwrap();
                start = end;
            }
        }
        sketch
    }
}

fn sketch_of(view: &BinaryView<'_>) -> Sketch {
    let mut sketch = Sketch::new();
    sketch.update(view).unwrap();
    sketch
}

/// Both answers are within their bounds of each other.
fn assert_agree(measure: &dyn Estimator, view: &BinaryView<'_>, sketch: &Sketch, what: &str) {
    let (rows, cells) = (measure.estimate(view).unwrap(), sketch.estimate(measure).expect(what));
    assert_eq!(rows.n, cells.n);
    assert_eq!(rows.input, cells.input);
    let (rows, cells, allowed) = (rows.value, cells.value, rows.numerical_bound + cells.numerical_bound);
    assert!((rows - cells).abs() <= allowed, "{what}: {rows} and {cells} differ by more than {allowed:e}");
}

fn smoothing(noise_name: &str, link_name: &str, sigma: f64, tolerance: f64) -> LsEce {
    let (noise, link) = (noise::by_name(noise_name).unwrap(), link::by_name(link_name).unwrap());
    LsEce::new().sigma(sigma).shared_noise(noise).shared_link(link).tolerance(tolerance)
}

/// A tolerance that cells of 2^-12 can prove, by the order of the noise.
const NOISES: [(&str, f64); 5] =
    [("gaussian", 1e-6), ("logistic", 1e-6), ("laplace", 1e-4), ("epanechnikov", 1e-4), ("uniform", 0.05)];

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
fn raw_scores_far_out_are_kept_to_all_their_digits() {
    let logits: Vec<f64> = (-70..=70).map(|k| f64::from(k) * 10.0 + 0.123).chain([0.0, 1e-300, -1e-12]).collect();
    let labels: Vec<u8> = (0..logits.len()).map(|k| u8::from(k % 3 == 0)).collect();
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    assert_eq!(sketch.scale(), Some(Scale::Link));
    assert_eq!(sketch.n_clipped(), 0);
    for (noise, tolerance) in NOISES {
        for link in link::NAMES {
            assert_agree(&smoothing(noise, link, 0.5, tolerance), &view, &sketch, &format!("{noise}, {link}"));
        }
    }
    assert_agree(&BinnedEce::new(), &view, &sketch, "ece");
    assert_agree(&BinnedEce::new().link(calipers::Probit), &view, &sketch, "ece by probit");
    assert_agree(&BrierScore::new(), &view, &sketch, "brier");
    assert_agree(&LogLoss::new(), &view, &sketch, "log loss");
}

#[test]
fn scores_beyond_708_count_as_clipped() {
    let predictions = Input::logits(&[1e4, -1e300, 3.0], &[1, 0, 1]).check().unwrap();
    let sketch = sketch_of(&predictions.binary().unwrap());
    assert_eq!(sketch.n_clipped(), 2);
    let refusal = sketch.estimate(&LogLoss::new()).unwrap_err();
    assert_eq!(refusal.to_string(), "logits must be within ±708 for the log loss of a sketch, got 2 beyond");
}

#[test]
fn scores_beyond_708_are_priced_or_refused() {
    let far = Input::logits(&[5000.0, -900.0, 1.0], &[0, 0, 1]).check().unwrap();
    let view = far.binary().unwrap();
    let sketch = sketch_of(&view);
    assert_agree(&LsEce::new().sigma(10.0), &view, &sketch, "noise that does not reach that far");
    let at = [0.1, 0.5, 0.9];
    let (rows, cells) = [1.0, 1000.0]
        .map(|sigma| {
            let measure = LsEce::new().sigma(sigma);
            (measure.curve(&view, &at).unwrap(), measure.curve_from_sketch(&sketch, &at).unwrap())
        })
        .into_iter()
        .unzip::<_, _, Vec<_>, Vec<_>>();
    for (rows, cells) in rows.iter().zip(&cells) {
        for k in 0..at.len() {
            let apart = (rows.densities[k] - cells.densities[k]).abs();
            assert!(apart <= rows.density_bounds[k] + cells.density_bounds[k], "{apart}");
        }
    }
    let refusal = sketch.estimate(&LsEce::new().sigma(1000.0)).unwrap_err();
    assert_eq!(refusal.to_string(), "logits must be within ±708 at this sigma and link in a sketch, got 2 beyond");

    // Under the complementary log-log link log-odds of 708 are a logit of 6.6 only.
    let logits: Vec<f64> = (0..400).map(|k| 900.0 * (f64::from(k) * 0.7).sin()).collect();
    let labels: Vec<u8> = (0..100).map(|k| (k % 4) as u8).collect();
    let classes = Input::logits(&logits, &labels).classes(4).check().unwrap();
    let view = classes.one_class(2).unwrap();
    let sketch = sketch_of(&view);
    assert!(sketch.n_clipped() > 0);
    assert_agree(&smoothing("gaussian", "logistic", 5.0, 1e-6), &view, &sketch, "logistic");
    assert_eq!(sketch.estimate(&smoothing("gaussian", "cloglog", 5.0, 1e-6)).unwrap_err().code(), "invalid_setting");
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
fn one_heavy_row_among_many_fits_however_they_are_split() {
    let n = 200_000;
    let (p, y) = (vec![0.5; n], vec![1u8; n]);
    let mut w = vec![1.0; n];
    w[77] = 1e7;
    let data = Data { p, y, w: Some(w) };
    let whole = data.sketch(&SketchOptions::new(), &[]);
    assert_eq!(whole.to_bytes(), data.sketch(&SketchOptions::new(), &[50, 100, 1_000]).to_bytes());
    assert_eq!(whole.total_weight(), 1e7 + 199_999.0);
}

#[test]
fn weights_below_the_unit_are_said_to_be_so() {
    let tiny = Input::probabilities(&[0.5, 0.7], &[1, 0]).weights(&[1e-12, 2e-12]).check().unwrap();
    let refusal = sketch_of(&tiny.binary().unwrap()).estimate(&LsEce::new()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "weights must be at least 1.1641532182693481e-10 in a sketch; multiply all weights, or give it more weight_bits, got smaller ones only"
    );
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
        let bound = |measure: &dyn Estimator| sketch.estimate(measure).unwrap().numerical_bound;
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
            let (rows, cells) = (measure.curve(&view, &at).unwrap(), measure.curve_from_sketch(&sketch, &at).unwrap());
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

#[test]
fn a_bound_above_the_tolerance_is_said_with_what_can_be_met() {
    let data = Data::new(20_000, 19, false);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    for (noise, sigma) in [("uniform", 0.1), ("laplace", 0.01), ("gaussian", 0.001)] {
        let Err(Error::ToleranceNotMet { attainable, .. }) =
            sketch.estimate(&smoothing(noise, "logistic", sigma, 1e-6))
        else {
            panic!("{noise} was answered");
        };
        assert_agree(&smoothing(noise, "logistic", sigma, attainable), &view, &sketch, noise);
    }
}

#[test]
fn auto_goes_no_lower_than_the_sketch_can_answer_and_says_so() {
    let data = Data::new(20_000, 23, false);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    let by_rule = LsEce::new().estimate(&view).unwrap();
    let fine = sketch_of(&view).estimate(&LsEce::new()).unwrap();
    assert_eq!(fine.settings.text("sigma_rule"), Some("auto"));
    let sigma = |estimate: &calipers::Estimate| estimate.settings.number("sigma").unwrap();
    assert!((sigma(&fine) / sigma(&by_rule) - 1.0).abs() < 1e-3);

    let mut coarse = Sketch::with(&SketchOptions::new().resolution(7)).unwrap();
    coarse.update(&view).unwrap();
    let raised = coarse.estimate(&LsEce::new()).unwrap();
    assert_eq!(raised.settings.text("sigma_rule"), Some("auto, raised to what the sketch can answer"));
    assert!(sigma(&raised) > sigma(&fine) && raised.numerical_bound <= 1e-6);
    assert_agree(&LsEce::new().sigma(sigma(&raised)), &view, &coarse, "raised");
    let refusal = coarse.estimate(&LsEce::new().tolerance(1e-9)).unwrap_err();
    assert_eq!(refusal.code(), "tolerance_not_met");
}

#[test]
fn the_resolution_that_serves_a_sigma_serves_it() {
    let data = Data::new(4_000, 29, false);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    for (tolerance, sigma) in [(1e-4, 0.5), (1e-6, 0.1), (1e-6, 0.02), (1e-8, 0.1)] {
        let options = SketchOptions::new().serving(tolerance, sigma);
        let sketch = data.sketch(&options, &[]);
        assert_agree(&smoothing("gaussian", "logistic", sigma, tolerance), &view, &sketch, &format!("{options:?}"));
    }
    // Points at both ends of every cell are the worst that can be.
    let options = SketchOptions::new().serving(1e-6, 0.1);
    let bits = options.resolution_bits();
    let starts = (0..2_000u64).map(|k| (0.49f64.to_bits() >> (52 - bits)) - k);
    let p: Vec<f64> =
        starts.flat_map(|start| [start << (52 - bits), ((start + 1) << (52 - bits)) - 1].map(f64::from_bits)).collect();
    let data = Data { y: (0..p.len()).map(|k| u8::from(k % 5 < 2)).collect(), p, w: None };
    let sketch = data.sketch(&options, &[]);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    assert_agree(&LsEce::new().sigma(0.1), &view, &sketch, "both ends");
}

#[test]
fn bytes_are_the_same_for_any_split_order_and_number_of_threads() {
    for weighted in [false, true] {
        // Enough that a large batch goes through threads and the pass for many rows.
        let data = Data::new(150_000, 31, weighted);
        for resolution in [8, 10, 12, 13] {
            let options = SketchOptions::new().resolution(resolution);
            let whole = data.sketch(&options, &[]).to_bytes();
            assert_eq!(data.sketch(&options, &[1, 2, 40_000, 40_100, 149_999]).to_bytes(), whole);
            let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            for n_threads in [1, 3] {
                assert_eq!(pool(n_threads).install(|| data.sketch(&options, &[])).to_bytes(), whole);
            }
            let parts: Vec<Sketch> = [0..10usize, 10..60_000, 60_000..60_500, 60_500..150_000]
                .into_iter()
                .map(|range| {
                    let mut part = Sketch::with(&options).unwrap();
                    part.update(&data.rows(range).binary().unwrap()).unwrap();
                    part
                })
                .collect();
            for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let mut merged = Sketch::with(&options).unwrap();
                order.iter().for_each(|part| merged.merge(&parts[*part]).unwrap());
                assert_eq!(merged.to_bytes(), whole, "weighted {weighted}, resolution {resolution}, {order:?}");
            }
            let [mut left, mut right] = [parts[0].clone(), parts[2].clone()];
            left.merge(&parts[1]).unwrap();
            right.merge(&parts[3]).unwrap();
            left.merge(&right).unwrap();
            assert_eq!(left.to_bytes(), whole);
        }
    }
}

/// However batches are cut and mixed, small ones that need no buckets and weighted ones among them.
#[test]
fn a_filling_gives_the_bytes_of_its_batches() {
    let (plain, weighted) = (Data::new(300_000, 5, false), Data::new(9_000, 6, true));
    for resolution in [8, 12, 14] {
        let empty = Sketch::with(&SketchOptions::new().resolution(resolution).n_bins(&[15, 1000])).unwrap();
        for with_weights in [false, true] {
            let (mut sketch, mut filling) = (empty.clone(), Filling::new(empty.clone()));
            let mut start = 0;
            for length in [10, 100_000, 7, 65_536, 4_096, 130_351] {
                let batch = plain.rows(start..start + length);
                sketch.update(&batch.binary().unwrap()).unwrap();
                filling.update(&batch.binary().unwrap()).unwrap();
                start += length;
                if with_weights && length == 7 {
                    let batch = weighted.rows(0..9_000);
                    sketch.update(&batch.binary().unwrap()).unwrap();
                    filling.update(&batch.binary().unwrap()).unwrap();
                }
            }
            assert_eq!(filling.finish().to_bytes(), sketch.to_bytes(), "{resolution} {with_weights}");
        }
    }
}

#[test]
fn rows_with_and_without_weights_merge_in_any_order() {
    let (plain, weighted) = (Data::new(500, 37, false), Data::new(400, 41, true));
    let ones = Data { w: Some(vec![1.0; 500]), ..plain.clone() };
    let options = SketchOptions::new();
    let [a, b, c] = [&plain, &weighted, &ones].map(|data| data.sketch(&options, &[]));
    let merged = |first: &Sketch, second: &Sketch| {
        let mut all = first.clone();
        all.merge(second).unwrap();
        all.to_bytes()
    };
    assert_eq!(merged(&a, &b), merged(&b, &a));
    assert_eq!(merged(&c, &b), merged(&a, &b));
    let mut updated = a.clone();
    updated.update(&weighted.all().binary().unwrap()).unwrap();
    assert_eq!(updated.to_bytes(), merged(&a, &b));
}

#[test]
fn a_coarser_sketch_is_that_of_the_same_rows() {
    for weighted in [false, true] {
        let data = Data::new(50_000, 43, weighted);
        let fine = data.sketch(&SketchOptions::new().resolution(16), &[]);
        for resolution in [6, 11, 12, 14, 16] {
            let direct = data.sketch(&SketchOptions::new().resolution(resolution), &[]);
            let mut coarse = fine.clone();
            coarse.coarsen(resolution).unwrap();
            assert_eq!(coarse.to_bytes(), direct.to_bytes(), "{resolution}");
            // Merging takes the coarser of two, whichever comes first.
            let (mut a, mut b) = (fine.clone(), direct.clone());
            a.merge(&direct).unwrap();
            b.merge(&fine).unwrap();
            assert_eq!(a.to_bytes(), b.to_bytes());
        }
        assert_eq!(
            fine.clone().coarsen(17).unwrap_err().to_string(),
            "resolution must be at most 16, that of the sketch, got 17"
        );
    }
}

#[test]
fn groups_of_a_batch_add_up_to_it() {
    let data = Data::new(2_000, 47, true);
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    let whole = sketch_of(&view);
    let mut merged = whole.empty_like();
    for group in 0..7 {
        let places: Vec<usize> = (0..2_000).filter(|place| place % 7 == group).collect();
        let mut sketch = whole.empty_like();
        sketch.update_selected(&view, &places).unwrap();
        assert_eq!(sketch.n(), places.len() as u64);
        merged.merge(&sketch).unwrap();
    }
    assert_eq!(merged.to_bytes(), whole.to_bytes());
    assert_eq!(merged.update_selected(&view, &[2_000]).unwrap_err().code(), "invalid_setting");
}

#[test]
fn unlike_sketches_are_refused_and_nothing_changes() {
    let data = Data::new(50, 53, false);
    let ours = data.sketch(&SketchOptions::new(), &[]);
    let cases = [
        (SketchOptions::new().clip(1e-5), "sketches must have the same clip to be merged, got 0.000001 and 0.00001"),
        (SketchOptions::new().n_bins(&[15]), "sketches must have the same n_bins to be merged, got [10, 15] and [15]"),
        (SketchOptions::new().weight_bits(20), "sketches must have the same weight_bits to be merged, got 32 and 20"),
    ];
    for (options, text) in cases {
        let mut merged = ours.clone();
        assert_eq!(merged.merge(&Sketch::with(&options).unwrap()).unwrap_err().to_string(), text);
        assert_eq!(merged, ours);
    }
    let logits = Input::logits(&[1.0], &[1]).check().unwrap();
    let text = "sketches must have the same kind of scores to be merged, got probabilities and raw scores";
    let mut merged = ours.clone();
    assert_eq!(merged.update(&logits.binary().unwrap()).unwrap_err().to_string(), text);
    assert_eq!(merged.merge(&sketch_of(&logits.binary().unwrap())).unwrap_err().to_string(), text);
    assert_eq!(merged, ours);
}

#[test]
fn weights_that_do_not_fit_are_refused_and_nothing_changes() {
    let data = Data::new(3, 59, false);
    let mut sketch = data.sketch(&SketchOptions::new(), &[]);
    let before = sketch.clone();
    let heavy = Input::probabilities(&[0.5, 0.5], &[1, 0]).weights(&[1.0, 2e7]).check().unwrap();
    assert_eq!(
        sketch.update(&heavy.binary().unwrap()).unwrap_err().to_string(),
        "weights must be at most 16777216 in a sketch; divide all weights, or give it fewer weight_bits, got 20000000"
    );
    assert_eq!(sketch, before);
    let fitting = Sketch::with(&SketchOptions::new().weight_bits(10)).unwrap();
    assert!(fitting.clone().update(&heavy.binary().unwrap()).is_ok());
    // Sums that would overflow: 2^40 of weight and more.
    let p = vec![0.5; 70_000];
    let (y, w) = (vec![1u8; 70_000], vec![1.6e7; 70_000]);
    let many = Input::probabilities(&p, &y).weights(&w).check().unwrap();
    let refusal = sketch.update(&many.binary().unwrap()).unwrap_err();
    assert!(refusal.to_string().starts_with("weights must be at most 549755813888 in sum"), "{refusal}");
    assert_eq!(sketch, before);
}

#[test]
fn small_weights_are_priced() {
    let data = Data::new(1_000, 61, true);
    let tiny: Vec<f64> = data.w.as_ref().unwrap().iter().map(|w| w * 1e-5).collect();
    let data = Data { w: Some(tiny), ..data };
    let predictions = data.all();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    assert_agree(&LsEce::new().sigma(0.3).tolerance(1e-4), &view, &sketch, "tiny weights");
    assert!(sketch.estimate(&LsEce::new().sigma(0.3).tolerance(1e-4)).unwrap().numerical_bound > 1e-6);
    let exact = data.sketch(&SketchOptions::new().weight_bits(52), &[]);
    assert_agree(&LsEce::new().sigma(0.3), &view, &exact, "tiny weights in finer units");
}

#[test]
fn an_empty_sketch_has_bytes_but_no_figure() {
    let empty = Sketch::new();
    assert_eq!(Sketch::from_bytes(&empty.to_bytes()).unwrap(), empty);
    assert_eq!(empty.estimate(&LsEce::new()).unwrap_err(), Error::NoRows);
    let mut merged = empty.clone();
    merged.merge(&empty).unwrap();
    assert_eq!(merged, empty);
    let zeros = Input::probabilities(&[0.5], &[1]).weights(&[1.0]).check().unwrap();
    let mut sketch = empty;
    sketch.update(&zeros.binary().unwrap()).unwrap();
    assert!(sketch.is_weighted());
    assert_eq!((sketch.total_weight(), sketch.effective_n()), (1.0, 1.0));
}

#[test]
fn rows_without_weight_have_no_figure_and_no_curve() {
    let zeros = Input::probabilities(&[0.5], &[1]).weights(&[0.0]).check_batch(&mut Tally::default()).unwrap();
    let sketch = sketch_of(&zeros.binary().unwrap());
    assert_eq!(sketch.estimate(&LsEce::new()).unwrap_err(), Error::ZeroWeights { n_rows: 1 });
    assert_eq!(LsEce::new().curve_from_sketch(&sketch, &[0.5]).unwrap_err(), Error::ZeroWeights { n_rows: 1 });
}

#[test]
fn nothing_can_be_served_to_a_tolerance_or_sigma_that_is_none() {
    let cases = [
        (0.0, 0.1, "tolerance must be positive and finite, got 0"),
        (f64::NAN, 0.1, "tolerance must be positive and finite, got NaN"),
        (1e-6, -0.1, "smallest_sigma must be in [1e-9, 1e6], got -0.1"),
        (1e-6, f64::NAN, "smallest_sigma must be in [1e-9, 1e6], got NaN"),
    ];
    for (tolerance, sigma, text) in cases {
        let options = SketchOptions::new().serving(tolerance, sigma);
        assert_eq!(Sketch::with(&options).unwrap_err().to_string(), text);
    }
}

#[test]
fn a_sketch_of_a_hundred_rows_is_small() {
    let data = Data::new(100, 67, false);
    let bytes = data.sketch(&SketchOptions::new(), &[]).to_bytes();
    assert!(bytes.len() < 2_000, "{}", bytes.len());
    let many = Data::new(100_000, 67, false).sketch(&SketchOptions::new(), &[]);
    println!(
        "bytes of 100 rows: {}, of 100,000 rows: {} in {} cells",
        bytes.len(),
        many.to_bytes().len(),
        many.n_cells()
    );
}

#[test]
fn measures_that_need_rows_say_so() {
    let sketch = sketch_of(&Data::new(9, 71, false).all().binary().unwrap());
    let refusal = sketch.estimate(&calipers::LsEceSampled::new(0.5)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "measure must be one that a sketch can answer, got one that needs the rows themselves"
    );
    let refusal = sketch.estimate(&BinnedEce::new().compat(calipers::Compat::Sklearn)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "compat must be left out for a sketch, whose bins have edges of their own, got \"sklearn\""
    );
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
