//! What does not fit, what is nothing, and what only rows can answer.

use calipers::{BinnedEce, Error, Input, LsEce, Sketch, SketchOptions, Tally};

use crate::data::{Data, assert_agree, sketch_of};

#[test]
fn weights_below_the_unit_are_said_to_be_so() {
    let tiny = Input::probabilities(&[0.5, 0.7], &[1, 0]).weights(&[1e-12, 2e-12]).check().unwrap();
    let refusal = sketch_of(&tiny.binary().unwrap()).estimate(&LsEce::new()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "weights must be at least 1.1641532182693481e-10 in a sketch; multiply all weights, or set more weight_bits, got smaller ones only"
    );
}

#[test]
fn weights_that_do_not_fit_are_refused_and_nothing_changes() {
    let data = Data::new(3, 59, false);
    let mut sketch = data.sketch(&SketchOptions::new(), &[]);
    let before = sketch.clone();
    let heavy = Input::probabilities(&[0.5, 0.5], &[1, 0]).weights(&[1.0, 2e7]).check().unwrap();
    assert_eq!(
        sketch.update(&heavy.binary().unwrap()).unwrap_err().to_string(),
        "weights must be at most 16777216 in a sketch; divide all weights, or set fewer weight_bits, got 20000000"
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

/// Weights of 1/n, whose squares are below the unit of weights, of rows that share cells.
#[test]
fn weights_of_any_size_have_the_same_effective_number_of_rows() {
    let data = Data::new(5_000, 67, true);
    let coarse = SketchOptions::new().resolution(6);
    let of = |factor: f64, options: &SketchOptions| {
        let scaled = data.w.as_ref().unwrap().iter().map(|w| w * factor).collect();
        Data { w: Some(scaled), ..data.clone() }.sketch(options, &[1_000, 1_001, 4_000])
    };
    let usual = of(1.0, &coarse);
    for bits in [4, 12, 20] {
        let small = of(2f64.powi(-bits), &coarse);
        let again = Sketch::from_bytes(&small.to_bytes()).unwrap();
        assert_eq!(again, small);
        assert_eq!(again.to_bytes_for(3).unwrap(), small.to_bytes_for(3).unwrap());
        assert!((small.effective_n() / usual.effective_n() - 1.0).abs() < 1e-6, "{bits}");
        // Version 3 has nothing of squares below 2^-32, but the least that they can be.
        let older = Sketch::from_bytes(&small.to_bytes_for(3).unwrap()).unwrap();
        assert!(older.effective_n() >= small.effective_n() * (1.0 - 1e-12));
        assert!(older.effective_n() <= small.n() as f64 * (1.0 + 1e-12));
    }
    let n = 1_200_000;
    let p: Vec<f64> = (0..n).map(|k| (f64::from(k) + 0.5) / f64::from(n)).collect();
    let y: Vec<u8> = (0..n).map(|k| u8::from((f64::from(k) * 0.618_033_988_749_895).fract() < p[k as usize])).collect();
    let w = vec![1.0 / f64::from(n); n as usize];
    let sketch = sketch_of(&Input::probabilities(&p, &y).weights(&w).check().unwrap().binary().unwrap());
    assert!((sketch.effective_n() / f64::from(n) - 1.0).abs() < 1e-12);
    assert!(sketch.estimate(&LsEce::new().tolerance(1e-3)).unwrap().value < 0.01);
    let text = sketch.estimate(&LsEce::new()).unwrap_err().to_string();
    assert!(text.contains("multiply all of them, or set more weight_bits"), "{text}");
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
    assert_eq!(LsEce::new().curve(&sketch, &[0.5]).unwrap_err(), Error::ZeroWeights { n_rows: 1 });
}

#[test]
fn measures_that_need_rows_say_so() {
    let sketch = sketch_of(&Data::new(9, 71, false).all().binary().unwrap());
    let refusal = sketch.estimate(&calipers::LsEceSampled::new(0.5)).unwrap_err();
    assert_eq!(refusal.to_string(), "measure must be one that a sketch can answer, got one that needs the rows");
    let refusal = sketch.estimate(&BinnedEce::new().compat(calipers::Compat::Sklearn)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "compat must be left out for a sketch, whose bins have edges of their own, got \"sklearn\""
    );
}
