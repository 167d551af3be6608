//! Raw scores beyond what probabilities can tell apart.

use calipers::{BinnedEce, BrierScore, Input, LogLoss, LsEce, Scale, Sketch, SketchOptions, link};

use crate::data::{NOISES, assert_agree, sketch_of, smoothing};

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
            (measure.curve(&view, &at).unwrap(), measure.curve(&sketch, &at).unwrap())
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
fn scores_beyond_a_smaller_limit_are_priced_too() {
    let options = SketchOptions::new().largest_logit(40.0);
    let logits: Vec<f64> = (0..300).map(|k| 90.0 * (f64::from(k) * 0.7).sin()).collect();
    let labels: Vec<u8> = (0..300).map(|k| u8::from(k % 3 > 0)).collect();
    let far = Input::logits(&logits, &labels).check().unwrap();
    let view = far.binary().unwrap();
    let mut sketch = Sketch::with(&options).unwrap();
    sketch.update(&view).unwrap();
    assert!(sketch.n_clipped() > 100);
    for sigma in [0.1, 1.0, 3.0] {
        assert_agree(&LsEce::new().sigma(sigma), &view, &sketch, "within reach");
    }
    assert_agree(&BinnedEce::new(), &view, &sketch, "ece");
    assert_agree(&BrierScore::new(), &view, &sketch, "brier");
    let refusal = sketch.estimate(&LsEce::new().sigma(10.0)).unwrap_err();
    let rule = "logits must be within ±40 at this sigma and link in a sketch";
    assert_eq!(refusal.to_string(), format!("{rule}, got {} beyond", sketch.n_clipped()));

    for (version, written) in [(2, 2), (3, 3)] {
        let bytes = sketch.to_bytes_for(version).unwrap();
        assert_eq!(bytes[8], written);
        assert_eq!(Sketch::from_bytes(&bytes).unwrap(), sketch);
    }
    let refusal = Sketch::new().merge(&sketch).unwrap_err();
    assert_eq!(refusal.to_string(), "sketches must have the same largest_logit to be merged, got 708 and 40");
    let refusal = Sketch::with(&SketchOptions::new().largest_logit(f64::NAN)).unwrap_err();
    assert_eq!(refusal.to_string(), "largest_logit must be from 40 to 708, got NaN");
}
