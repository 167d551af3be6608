//! Many rows by cells, and sketches, against the rows themselves.

use calipers::{Floats, Input, LsEce, Measure, Sketch, SketchOptions, link};

use crate::data::{Random, assert_within, paper, residual};
use crate::oracle::{self, Point};
use crate::sketches::{Data, NOISES, assert_agree, sketch_of};

#[test]
fn many_plain_rows_are_measured_as_rows_one_by_one_are() {
    let mut random = Random(21);
    let n = 600_000;
    let mut p: Vec<f64> = (0..n)
        .map(|_| {
            let normal: f64 = (0..6).map(|_| random.next() - 0.5).sum::<f64>() * 2f64.sqrt();
            oracle::logistic(1.0 + 2.0 * normal)
        })
        .collect();
    p[..6].copy_from_slice(&[0.0, 1.0, 0.5, 0.5, 1e-7, 1.0 - 1e-7]);
    let y: Vec<bool> = p.iter().map(|p| random.next() < 0.9 * p + 0.02).collect();
    let singles: Vec<f32> = p.iter().map(|p| *p as f32).collect();
    let ones = vec![1.0; n];
    for scores in [Floats::F64(&p), Floats::F32(&singles)] {
        let plain = Input::probabilities(scores, &y).check().unwrap();
        // Weights, even if all are 1, keep rows out of cells.
        let weighted = Input::probabilities(scores, &y).weights(&ones).check().unwrap();
        for (noise, link, sigma) in [
            ("gaussian", "logistic", 0.03),
            ("gaussian", "logistic", 0.5),
            ("gaussian", "probit", 0.1),
            ("logistic", "cloglog", 0.2),
        ] {
            let measure = residual(noise, link, sigma, 1e-6);
            let cells = measure.estimate(&plain.binary().unwrap()).unwrap();
            let rows = measure.estimate(&weighted.binary().unwrap()).unwrap();
            let apart = (cells.value - rows.value).abs();
            let allowed = cells.numerical_bound + rows.numerical_bound;
            assert!(apart <= allowed, "{noise}, {link}, {sigma}: {apart:e} above {allowed:e}");
            assert!(cells.numerical_bound <= 1e-6);
            assert_eq!((cells.n_clipped, cells.measure()), (rows.n_clipped, "residual_ls_ece"));
            assert_ne!(cells.value.to_bits(), rows.value.to_bits(), "rows were not put into cells");
        }
    }
}

#[test]
fn sketches_agree_with_their_rows() {
    for weighted in [false, true] {
        let data = Data::new(20_000, 5, weighted);
        let rows = data.all();
        let view = rows.binary().unwrap();
        let sketch = data.sketch(&SketchOptions::new(), &[3_000, 11_000]);
        for (noise, tolerance) in NOISES {
            for link in link::NAMES {
                for sigma in [0.2, 1.0] {
                    let what = format!("{noise}, {link}, {sigma}, weighted {weighted}");
                    assert_agree(&residual(noise, link, sigma, tolerance), &view, &sketch, &what);
                }
            }
        }
        let auto = sketch.estimate(&LsEce::new().residual()).unwrap();
        assert_eq!(auto.measure(), "residual_ls_ece");
        let sigma = auto.settings.number("sigma").unwrap();
        assert_agree(&LsEce::new().residual().sigma(sigma), &view, &sketch, "auto");
    }
}

#[test]
fn merged_sketches_have_the_same_bits() {
    let data = Data::new(30_000, 9, true);
    let options = SketchOptions::new();
    let whole = data.sketch(&options, &[]);
    let part = |range: std::ops::Range<usize>| sketch_of(&data.rows(range).binary().unwrap());
    let parts = [part(0..100), part(100..20_000), part(20_000..30_000)];
    for (noise, tolerance) in NOISES {
        let measure = residual(noise, "logistic", 0.4, tolerance);
        let expected = whole.estimate(&measure).unwrap();
        for order in [[0, 1, 2], [2, 0, 1]] {
            let mut merged = Sketch::new();
            order.iter().for_each(|place| merged.merge(&parts[*place]).unwrap());
            let found = merged.estimate(&measure).unwrap();
            assert_eq!(found.value.to_bits(), expected.value.to_bits(), "{noise}");
            assert_eq!(found.numerical_bound.to_bits(), expected.numerical_bound.to_bits(), "{noise}");
        }
    }
}

#[test]
fn sketches_of_raw_scores_agree_with_their_rows_under_any_link() {
    let logits: Vec<f64> =
        (-70..=70).map(|k| f64::from(k) * 10.0 + 0.123).chain((-40..40).map(|k| f64::from(k) * 0.11)).collect();
    let labels: Vec<u8> = (0..logits.len()).map(|k| u8::from(k % 3 == 0)).collect();
    let predictions = Input::logits(&logits, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let sketch = sketch_of(&view);
    for (noise, tolerance) in NOISES {
        for link in link::NAMES {
            assert_agree(&residual(noise, link, 0.5, tolerance), &view, &sketch, &format!("{noise}, {link}"));
        }
    }
}

#[test]
fn scores_beyond_the_last_cell_are_priced_or_rejected() {
    let logits: Vec<f64> = (0..300).map(|k| 90.0 * (f64::from(k) * 0.7).sin()).collect();
    let labels: Vec<u8> = (0..300).map(|k| u8::from(k % 3 > 0)).collect();
    let far = Input::logits(&logits, &labels).check().unwrap();
    let view = far.binary().unwrap();
    let mut sketch = Sketch::with(&SketchOptions::new().largest_logit(40.0)).unwrap();
    sketch.update(&view).unwrap();
    assert!(sketch.n_clipped() > 100);
    for sigma in [0.1, 1.0] {
        assert_agree(&residual("gaussian", "logistic", sigma, 1e-6), &view, &sketch, "within reach");
    }
    // The residual form needs twice the room: noise that LS-ECE still has room for may be too wide.
    let refusal = sketch.estimate(&residual("gaussian", "logistic", 10.0, 1e-6)).unwrap_err();
    assert_eq!(refusal.code(), "invalid_setting");
    assert_eq!(sketch.estimate(&paper("gaussian", "logistic", 10.0, 1e-6)).unwrap_err().code(), "invalid_setting");
}

/// Few rows at the ends of wide cells, which is where two points in place of them are worst,
/// against quadrature.
#[test]
fn wide_cells_keep_their_bound_on_hard_rows() {
    let mut random = Random(22);
    let mut ratios = Vec::new();
    for round in 0..150 {
        let (noise, sigma) = [("gaussian", 0.05), ("gaussian", 0.3), ("logistic", 0.05), ("laplace", 0.1)][round % 4];
        let link = link::NAMES[round % 3];
        let n = 2 + random.below(12);
        let centre = 0.02 + 0.96 * random.next();
        let p: Vec<f64> = (0..n)
            .map(|_| match random.below(3) {
                0 => centre,
                1 => (centre * (1.0 + random.next() / 256.0)).min(0.999),
                _ => random.next(),
            })
            .collect();
        let y: Vec<bool> = (0..n).map(|_| random.next() < 0.5).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let mut sketch = Sketch::with(&SketchOptions::new().resolution(8)).unwrap();
        sketch.update(&predictions.binary().unwrap()).unwrap();
        let found = sketch.estimate(&residual(noise, link, sigma, 0.05)).unwrap();
        let rho = oracle::link(link);
        let point = |row: usize| Point { h: oracle::inverse(rho, p[row].clamp(1e-6, 1.0 - 1e-6)), y: y[row], w: 1.0 };
        let points: Vec<Point> = (0..n).map(point).collect();
        let truth = oracle::residual_ls_ece(&points, oracle::noise(noise), rho, sigma);
        assert_within(&found, truth, &format!("{noise}, {link}, {sigma}"));
        ratios.push((found.value - truth).abs() / found.numerical_bound);
    }
    ratios.sort_by(f64::total_cmp);
    say!("wide cells: true error / bound: median {:.1e}, largest {:.2}", ratios[75], ratios[149]);
}
