//! Temperatures from one mergeable pass against fits of the rows.

use calipers::recalibrate::{Method, Note, Recalibrate, TemperatureSketch};
use calipers::{Error, Input};

use crate::fixtures::{Uniforms, classes};

struct Rows {
    n_classes: usize,
    scores: Vec<f64>,
    labels: Vec<i64>,
    weights: Vec<f64>,
}

impl Rows {
    /// Normal scores of this size, whose labels have the softmax of `truth` times them.
    fn drawn(n: usize, n_classes: usize, size: f64, truth: f64, seed: u64) -> Rows {
        let mut random = Uniforms(seed);
        let mut rows = Rows { n_classes, scores: Vec::new(), labels: Vec::new(), weights: Vec::new() };
        for _ in 0..n {
            let z: Vec<f64> = (0..n_classes).map(|_| size * random.normal()).collect();
            let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = z.iter().map(|z| (truth * (z - top)).exp()).collect();
            let mut left = random.next() * shares.iter().sum::<f64>();
            let label = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            rows.labels.push(label.unwrap_or(0) as i64);
            rows.scores.extend(z);
            rows.weights.push(0.25 + 2.0 * random.next());
        }
        rows
    }

    fn part(&self, part: usize, n_parts: usize) -> Rows {
        let places: Vec<usize> = (0..self.labels.len()).filter(|i| i % n_parts == part).collect();
        let k = self.n_classes;
        Rows {
            n_classes: k,
            scores: places.iter().flat_map(|i| self.scores[i * k..(i + 1) * k].to_vec()).collect(),
            labels: places.iter().map(|i| self.labels[*i]).collect(),
            weights: places.iter().map(|i| self.weights[*i]).collect(),
        }
    }

    fn input(&self, weighted: bool) -> Input<'_> {
        let input = Input::logits(&self.scores, &self.labels).classes(self.n_classes);
        if weighted { input.weights(&self.weights) } else { input }
    }

    fn sketch(&self, weighted: bool) -> TemperatureSketch {
        let mut sketch = TemperatureSketch::new(self.n_classes);
        sketch.update(&self.input(weighted).check().unwrap()).unwrap();
        sketch
    }
}

#[test]
fn slopes_are_those_of_the_rows() {
    let options = Recalibrate::new(Method::Temperature).mixture(0.0);
    for (case, (n_classes, size, truth)) in [
        (2, 1.0, 0.7),
        (3, 0.3, 2.0),
        (3, 30.0, 0.05),
        (10, 3.0, 0.5),
        (10, 1e5, 1e-5),
        (100, 2.0, 1.2),
        (100, 8.0, 0.3),
    ]
    .into_iter()
    .enumerate()
    {
        let rows = Rows::drawn(400, n_classes, size, truth, case as u64 + 1);
        for weighted in [false, true] {
            let exact = options.fit_classes(&rows.input(weighted).check().unwrap()).unwrap();
            let found = rows.sketch(weighted).fit().unwrap();
            let what = format!("{n_classes} classes of size {size}, weighted {weighted}");
            let away = (found.map.slope / exact.map.slope - 1.0).abs();
            let (one, other) =
                (found.parameters[0].standard_error.unwrap(), exact.parameters[0].standard_error.unwrap());
            assert!(away < 1e-6, "{what}: {away}");
            assert!((one / other - 1.0).abs() < 0.02, "{what}: {one} {other}");
            // The bound holds in units of the standard error by the model, √(1 / (n F'')).
            let in_errors = away * exact.map.slope / other;
            assert!(in_errors <= 2.0 * found.bound.standard_errors, "{what}: {in_errors} {:?}", found.bound);
            assert!((found.log_loss_before - exact.log_loss_before).abs() < 1e-9 * exact.log_loss_before, "{what}");
            let after = found.log_loss_after - exact.log_loss_after;
            assert!(after.abs() < 1e-6, "{what}: {after}");
            assert!((found.effective_n / exact.effective_n - 1.0).abs() < 1e-12, "{what}");
            assert_eq!(found.n, 400);
        }
    }
}

#[test]
fn the_bound_is_small_where_ranges_are() {
    let rows = Rows::drawn(2000, 3, 1.0, 0.8, 5);
    let found = rows.sketch(false).fit().unwrap();
    assert!(found.bound.standard_errors < 1e-2, "{:?}", found.bound);
    assert!(found.bound.nats < 1e-8, "{:?}", found.bound);
}

#[test]
fn golden_rows() {
    let (scores, labels) = classes();
    let rows = Rows { n_classes: 3, scores, labels, weights: (0..300).map(|i| f64::from(1 + i % 3)).collect() };
    for (weighted, slope) in [(false, 0.470814919031), (true, 0.458603038281)] {
        let found = rows.sketch(weighted).fit().unwrap();
        assert!((found.map.slope - slope).abs() < 1e-8, "{}", found.map.slope);
        assert!(found.map.mixture > 0.0 && found.map.temperature() > 2.0);
    }
    // As probabilities they are the same rows.
    let softmax = |z: &[f64]| {
        let total: f64 = z.iter().map(|z| z.exp()).sum();
        z.iter().map(|z| z.exp() / total).collect::<Vec<f64>>()
    };
    let probabilities: Vec<f64> = rows.scores.chunks(3).flat_map(softmax).collect();
    let mut sketch = TemperatureSketch::new(3);
    sketch.update(&Input::probabilities(&probabilities, &rows.labels).classes(3).check().unwrap()).unwrap();
    assert!((sketch.fit().unwrap().map.slope - 0.470814919031).abs() < 1e-8);
}

#[test]
fn merged_parts_have_the_same_bytes() {
    let rows = Rows::drawn(500, 4, 2.0, 0.6, 3);
    let merged = |n_parts: usize| {
        let mut all = TemperatureSketch::new(4);
        (0..n_parts).rev().for_each(|part| all.merge(&rows.part(part, n_parts).sketch(true)).unwrap());
        all
    };
    let first = merged(1);
    for n_parts in [7, 64] {
        assert_eq!(merged(n_parts).to_bytes(), first.to_bytes());
        assert_eq!(merged(n_parts).fit().unwrap(), first.fit().unwrap());
    }
    let read = TemperatureSketch::from_bytes(&first.to_bytes()).unwrap();
    assert_eq!(read, first);
    assert_eq!((read.n(), read.n_classes(), read.report().n_rows), (500, 4, 500));
}

#[test]
fn damaged_bytes_are_rejected() {
    let bytes = Rows::drawn(20, 3, 1.0, 1.0, 1).sketch(false).to_bytes();
    let text = |bytes: &[u8]| TemperatureSketch::from_bytes(bytes).unwrap_err().to_string();
    for at in [9, 40, 300, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(text(&damaged).contains("the checksum is wrong, so they were damaged or cut"), "{}", text(&damaged));
    }
    for length in 0..bytes.len() {
        assert!(TemperatureSketch::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    assert!(text(b"calipers").contains("they do not begin with \"calitemp\""));
    let mut newer = bytes.clone();
    newer[8] = 3;
    assert!(text(&newer).contains("version must be 1 or 2, got 3"));
}

/// Counts that overflow where sketches are merged: of clipped scores, rows, rounded probabilities,
/// ties and rows left out.
#[test]
fn counts_that_no_rows_have_are_rejected() {
    let mut sketch = TemperatureSketch::new(3);
    sketch.update(&Input::logits(&[2.0, 0.0, -1.0], &[0]).classes(3).check().unwrap()).unwrap();
    let bytes = sketch.to_bytes();
    for word in [3, 5, 6, 7, 8] {
        for count in [u64::MAX, 1 << 63] {
            let mut forged = bytes[..bytes.len() - 4].to_vec();
            forged[9 + 8 * word..][..8].copy_from_slice(&count.to_le_bytes());
            forged.extend(crc32fast::hash(&forged).to_le_bytes());
            assert!(TemperatureSketch::from_bytes(&forged).is_err(), "word {word} may be {count}");
        }
    }
}

#[test]
fn rows_without_weight_may_have_inexact_sums() {
    let p = [0.5, 0.3, 0.21, 0.4, 0.4, 0.21];
    let predictions = Input::probabilities(&p, &[0, 1]).weights(&[0.0, 1.0]).classes(3).check().unwrap();
    let mut sketch = TemperatureSketch::new(3);
    sketch.update(&predictions).unwrap();
    assert_eq!((sketch.n(), sketch.report().n_inexact_sums), (1, 2));
    assert_eq!(TemperatureSketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
}

#[test]
fn what_has_no_temperature_is_an_error() {
    let fit = |n_classes: usize, scores: &[f64], labels: &[i64]| -> Result<f64, Error> {
        let mut sketch = TemperatureSketch::new(n_classes);
        sketch.update(&Input::logits(scores, labels).classes(n_classes).check()?)?;
        Ok(sketch.fit()?.map.slope)
    };
    let text = |scores: &[f64], labels: &[i64]| fit(2, scores, labels).unwrap_err().to_string();
    assert_eq!(
        text(&[1.0, 0.0, 0.0, 2.0], &[0, 1]),
        "rows must be with a label that has not the largest score, since there is no finite slope else, got 2 rows, and \
         none is"
    );
    assert_eq!(
        text(&[1.0, 0.0, 0.0, 2.0], &[1, 0]),
        "rows must be of scores that rise with the outcome, since the best inverse temperature is 0 else, got a mean score \
         of -0.75 toward the label"
    );
    let small: Vec<f64> = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0].iter().map(|z| 1e-4 * z).collect();
    assert_eq!(
        text(&small, &[0, 0, 1]),
        "rows must be of scores whose best slope is from 5.960464477539063e-8 to 215.2694823049509; multiply or divide all \
         scores, got a larger one"
    );
    assert!(matches!(TemperatureSketch::new(3).fit(), Err(Error::NoRows)));
    let mut sketch = TemperatureSketch::new(3);
    let rows = Input::logits(&[1.0, 0.0], &[0]).classes(2).check().unwrap();
    let expected = "rows must be of 3 classes as the sketch is, got 2";
    assert_eq!(sketch.update(&rows).unwrap_err().to_string(), expected);
    assert!(sketch.merge(&TemperatureSketch::new(2)).is_err());
    assert!(sketch.merge(&TemperatureSketch::new(3).clip(1e-6)).is_err());
    let heavy = [1e9];
    let rows = Input::logits(&[1.0, 0.0, 0.0], &[0]).classes(3).weights(&heavy).check().unwrap();
    let expected = "weights must be 0 or from 2^-20 to 2^24 in a temperature sketch; multiply or divide all weights, got \
                    1000000000";
    assert_eq!(sketch.update(&rows).unwrap_err().to_string(), expected);
    assert_eq!(sketch, TemperatureSketch::new(3));
    let (scores, labels) = ([2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 2.0, 0.0, 1.0], [0, 1, 2]);
    sketch.update(&Input::logits(&scores, &labels).classes(3).check().unwrap()).unwrap();
    assert!(sketch.fit().unwrap().notes.is_empty());
    let (scores, labels) = ([2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 2.0, 0.0, 1.0], [0, 1, 1]);
    let mut sketch = TemperatureSketch::new(3);
    sketch.update(&Input::logits(&scores, &labels).classes(3).check().unwrap()).unwrap();
    assert_eq!(sketch.fit().unwrap().notes, [Note::AbsentClass { class: 2 }]);
}
