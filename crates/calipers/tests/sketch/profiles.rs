//! The profiles: coarsening between them is exact, sizes and bounds are those that are stated.

use calipers::{Assess, BinnedEce, BrierScore, Input, LsEce, Profile, Sigma, Sketch, SketchOptions};

use crate::data::{Data, assert_agree};

fn monitoring() -> SketchOptions {
    SketchOptions::new().profile(Profile::Monitoring)
}

#[test]
fn coarsening_gives_the_sketch_of_the_rows_in_any_order() {
    for weighted in [false, true] {
        let data = Data::new(70_000, 3, weighted);
        for (from, to) in [(12, 12), (14, 12), (12, 9), (9, 9), (20, 6)] {
            let fine = data.sketch(&SketchOptions::new().resolution(from), &[]);
            let expected = data.sketch(&monitoring().resolution(to), &[10, 33]);
            let mut coarse = fine.clone();
            coarse.coarsen_to(Profile::Monitoring).unwrap();
            assert_eq!(coarse.options().resolution_bits(), from.min(12));
            coarse.coarsen(to).unwrap();
            assert_eq!(coarse.to_bytes(), expected.to_bytes(), "{from} {to} {weighted}");
            let mut other_way = fine.clone();
            other_way.coarsen(to).unwrap();
            other_way.coarsen_to(Profile::Monitoring).unwrap();
            assert_eq!(other_way.options().resolution_bits(), to);
            assert_eq!(other_way, expected);
        }
        let refused = data.sketch(&monitoring(), &[]).coarsen_to(Profile::Exact).unwrap_err();
        let text =
            "profile must be \"monitoring\" for a sketch of that profile, which can be made no finer, got \"exact\"";
        assert_eq!(refused.to_string(), text);
    }
}

#[test]
fn a_merge_of_both_profiles_is_of_the_coarser() {
    for weighted in [false, true] {
        let (a, b) = (Data::new(3_000, 5, weighted), Data::new(2_000, 6, false));
        let mut both = a.sketch(&SketchOptions::new().resolution(13), &[100]);
        both.merge(&b.sketch(&monitoring(), &[7])).unwrap();
        let mut other_way = b.sketch(&monitoring(), &[]);
        other_way.merge(&a.sketch(&SketchOptions::new(), &[])).unwrap();
        assert_eq!(both, other_way);
        let mut rows = a.sketch(&monitoring(), &[]);
        rows.update(&b.all().binary().unwrap()).unwrap();
        assert_eq!(both.to_bytes(), rows.to_bytes());
    }
}

#[test]
fn answers_of_the_monitoring_profile_are_within_their_bounds() {
    for weighted in [false, true] {
        let data = Data::new(20_000, 7, weighted);
        let predictions = data.all();
        let view = predictions.binary().unwrap();
        let sketch = data.sketch(&monitoring(), &[1, 50]);
        for sigma in [0.05, 0.3, 2.0] {
            let measure = LsEce::new().sigma(sigma);
            assert_agree(&measure, &view, &sketch, &format!("sigma {sigma}"));
            let bound = sketch.estimate(&measure).unwrap().numerical_bound;
            assert!(bound <= 1.3e-4 / sigma + 1e-6, "{bound} at {sigma}");
            assert_agree(&measure.clone().residual(), &view, &sketch, &format!("residual, sigma {sigma}"));
        }
        assert_agree(&BrierScore::new(), &view, &sketch, "brier");
        assert_agree(&BinnedEce::new().n_bins(15), &view, &sketch, "declared bins");
        assert_agree(&BinnedEce::new().n_bins(7), &view, &sketch, "other bins");
        if !weighted {
            assert!(sketch.estimate(&BinnedEce::new().n_bins(15)).unwrap().numerical_bound < 1e-13);
        }
    }
}

/// p from a logit, and whether a row of uniform `u` has outcome 1.
fn calibrated(n: usize, spread: f64, seed: u64) -> (Vec<f64>, Vec<u8>) {
    let data = Data::new(n, seed, false);
    let logit = |p: f64| (p.clamp(1e-5, 1.0 - 1e-5) / (1.0 - p.clamp(1e-5, 1.0 - 1e-5))).ln() / 2.5;
    let p: Vec<f64> = data.p.iter().map(|p| 1.0 / (1.0 + (-spread * logit(*p)).exp())).collect();
    let outcome = |(k, p): (usize, &f64)| u8::from((k as f64 * 0.618_033_988_749_895).fract() < *p);
    let y = p.iter().enumerate().map(outcome).collect();
    (p, y)
}

#[test]
fn the_bound_of_the_monitoring_profile_is_a_small_part_of_the_noise_floor() {
    for (n, sigma, most) in [
        (1_000, Sigma::Auto, 0.02),
        (10_000, Sigma::Auto, 0.1),
        (10_000, Sigma::Value(0.1), 0.05),
        (10_000, Sigma::Value(0.3), 0.03),
        (100_000, Sigma::Value(0.3), 0.1),
    ] {
        for spread in [0.5, 1.0, 2.5] {
            let (p, y) = calibrated(n, spread, 11);
            let mut sketch = Sketch::with(&monitoring()).unwrap();
            sketch.update(&Input::probabilities(&p, &y).check().unwrap().binary().unwrap()).unwrap();
            let found = Assess::new(&LsEce::new().sigma(sigma)).n_resamples(100).run(&sketch).unwrap();
            let share = found.estimate.numerical_bound / found.floor.as_ref().unwrap().mean;
            println!(
                "{n} rows, spread {spread}, {sigma:?}: bound {:.2e}, {share:.4} of the floor",
                found.estimate.numerical_bound
            );
            assert!(share <= most, "{n} rows, spread {spread}, {sigma:?}: {share}");
        }
    }
}

/// Rows that are spread over as many cells as there are, the worst there can be, and rows as they
/// are.
#[test]
fn ten_thousand_rows_take_ten_kilobytes_in_the_monitoring_profile_whatever_they_are() {
    let log_uniform = |k: usize| {
        let q = 0.5 * (2e-6f64).powf((k as f64 * 0.618_033_988_749_895).fract());
        if k.is_multiple_of(2) { q } else { 1.0 - q }
    };
    let clustered = |k: usize| 0.3 + 1e-4 * (k as f64 * 0.618_033_988_749_895).fract();
    let sets: [(&str, Vec<f64>); 4] = [
        ("log-uniform", (0..10_000).map(log_uniform).collect()),
        ("uniform", (0..10_000).map(|k| (f64::from(k) + 0.5) / 1e4).collect()),
        ("clustered", (0..10_000).map(clustered).collect()),
        ("logit-normal", Data::new(10_000, 9, false).p),
    ];
    for (what, p) in sets {
        let y: Vec<u8> = (0..10_000u32).map(|k| (k / 2 % 2) as u8).collect();
        let data = Data { p, y, w: None };
        let [small, exact] =
            [monitoring(), SketchOptions::new()].map(|options| data.sketch(&options, &[]).to_bytes().len());
        println!("{what}: {small} and {exact} bytes");
        assert!(small <= 10_000, "{what}: {small} bytes");
        assert!(exact <= 40_000, "{what}: {exact} bytes");
    }
}

#[test]
fn a_sketch_is_never_larger_than_its_rows() {
    for n in [0, 1, 2, 5, 10, 20, 50, 100, 300, 1_000, 5_000, 30_000, 200_000] {
        for weighted in [false, true] {
            let data = Data::new(n, 13, weighted);
            // A double, a bit for the outcome and a double for the weight; and what has a fixed
            // size: header, and bins, which hold as much for one row as for a thousand.
            let of_rows = n * (65 + if weighted { 64 } else { 0 }) / 8;
            let fixed = if n < 100 { 70 + 13 * (2 * n).min(25) * if weighted { 2 } else { 1 } } else { 0 };
            for options in [SketchOptions::new(), monitoring()] {
                let size = data.sketch(&options, &[]).to_bytes().len();
                assert!(size <= of_rows + fixed, "{n} rows, weighted {weighted}: {size} bytes, {of_rows} of rows");
            }
        }
    }
}
