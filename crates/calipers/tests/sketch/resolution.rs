//! How fine cells are, and what they can answer.

use calipers::{Error, LsEce, Measure, Sketch, SketchOptions};

use crate::data::{Data, assert_agree, sketch_of, smoothing};

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
