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
