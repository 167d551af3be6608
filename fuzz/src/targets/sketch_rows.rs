//! Rows of an engine -> a sketch, and all ways in which the same rows can become the same sketch.

use calipers::{Error, Input, LsEce, Measure, Predictions, Profile, Sketch, SketchOptions, on_this_thread};

use super::answers::check_estimate;
use crate::bytes::Bytes;
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "sketch_rows",
    about: "options of a sketch and rows with weights, which are sketched, merged and written",
    max_len: 512,
    memory: Limit::new(64e6, 4096.0),
    seconds: Limit::new(2.0, 1e-2),
    run,
};

struct Rows {
    scores: Vec<f64>,
    outcomes: Vec<bool>,
    weights: Vec<f64>,
    /// Rows of the first of two batches.
    n_first: usize,
    are_logits: bool,
    has_weights: bool,
}

impl Rows {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        let mode = bytes.byte();
        let (are_logits, has_weights, n_first) = (mode & 1 == 1, mode & 2 == 2, usize::from(mode >> 2));
        let (mut scores, mut outcomes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        while !bytes.is_empty() {
            let kind = bytes.byte();
            outcomes.push(kind & 1 == 1);
            scores.push(match (kind >> 1 & 3, are_logits) {
                (0, _) => bytes.double(),
                (1, false) => f64::from(u16::from_le_bytes(bytes.array())) / f64::from(u16::MAX),
                (2, false) => f64::from(bytes.byte()) / 255.0,
                (_, false) => 2f64.powi(-i32::from(bytes.byte())),
                (1, true) => f64::from(i16::from_le_bytes(bytes.array())) / 1024.0,
                (_, true) => f64::from(bytes.byte() as i8),
            });
            weights.push(match kind >> 3 & 3 {
                0 => 1.0,
                1 => f64::from(bytes.byte()) / 16.0,
                2 => 2f64.powi(i32::from(bytes.byte() as i8) / 2),
                _ => bytes.double(),
            });
        }
        Rows { n_first: n_first.min(scores.len()), scores, outcomes, weights, are_logits, has_weights }
    }

    fn check(&self, from: usize, to: usize) -> Result<Predictions<'_>, Error> {
        let (scores, outcomes) = (&self.scores[from..to], &self.outcomes[from..to]);
        let input = match self.are_logits {
            true => Input::logits(scores, outcomes),
            false => Input::probabilities(scores, outcomes),
        };
        if self.has_weights { input.weights(&self.weights[from..to]) } else { input }.check()
    }
}

fn options(bytes: &mut Bytes<'_>) -> SketchOptions {
    let mode = bytes.byte();
    let mut options = SketchOptions::new();
    if mode & 1 == 1 {
        options = options.profile(Profile::Monitoring);
    }
    if mode & 2 == 2 {
        options = options.resolution(6 + u32::from(bytes.below(15)));
    }
    if mode & 4 == 4 {
        options = options.weight_bits(u32::from(bytes.below(64)));
    }
    if mode & 8 == 8 {
        options = options.clip(2f64.powi(-i32::from(bytes.byte())));
    }
    if mode & 16 == 16 {
        options = options.largest_logit(f64::from(u16::from_le_bytes(bytes.array())) / 64.0);
    }
    if mode & 32 == 32 {
        let n_bins: Vec<usize> = (0..bytes.below(4)).map(|_| usize::from(bytes.byte())).collect();
        options = options.n_bins(&n_bins);
    }
    options
}

/// 1. The sketch of all rows, and that of two batches merged, have the same bytes.
/// 2. In every version that has room for it, the bytes read back as the sketch.
/// 3. The sketch less its second batch is the sketch of the first.
/// 4. LS-ECE of the sketch is that of the rows, within the bounds of both.
fn run(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let options = options(&mut bytes);
    let rows = Rows::read(&mut bytes);
    on_this_thread(|| check(&options, &rows));
}

fn sketch_of(options: &SketchOptions, predictions: &Predictions<'_>) -> Result<Sketch, Error> {
    let mut sketch = Sketch::with(options)?;
    sketch.update(&predictions.binary()?)?;
    Ok(sketch)
}

fn check(options: &SketchOptions, rows: &Rows) {
    let n = rows.scores.len();
    let (Ok(all), Ok(empty)) = (rows.check(0, n), Sketch::with(options)) else { return };
    let Ok(sketch) = sketch_of(options, &all) else { return };
    let bytes = sketch.to_bytes();
    let read = Sketch::from_bytes(&bytes).expect("bytes that a sketch has written");
    assert!(read == sketch && read.to_bytes() == bytes, "read again, the sketch is another one");
    for version in 1..4 {
        if let Ok(bytes) = sketch.to_bytes_for(version) {
            let read = Sketch::from_bytes(&bytes).expect("bytes of an older version");
            // Older versions cut the squares of weights.
            assert!(sketch.is_weighted() || read == sketch, "version {version} is another sketch");
            assert_eq!(read.to_bytes_for(version).as_deref(), Ok(&bytes[..]), "version {version}");
        }
    }
    if let (Ok(first), Ok(second)) = (rows.check(0, rows.n_first), rows.check(rows.n_first, n)) {
        check_parts(options, &sketch, &first, &second);
    }
    let mut merged = empty;
    merged.merge(&sketch).expect("room for the rows");
    assert_eq!(merged.to_bytes(), bytes, "merged into an empty one, the sketch is another one");
    let measure = LsEce::new().sigma(0.25);
    let (Ok(view), Ok(of_sketch)) = (all.binary(), sketch.estimate(&measure)) else { return };
    check_estimate(&of_sketch);
    // What was clipped by the options of the sketch is not what the rows have.
    if let Ok(of_rows) = measure.estimate(&view)
        && sketch.n_clipped() == 0
        && of_rows.n_clipped == 0
    {
        check_estimate(&of_rows);
        let allowed = of_sketch.numerical_bound + of_rows.numerical_bound;
        let off = (of_sketch.value - of_rows.value).abs();
        assert!(off <= allowed, "LS-ECE of the sketch is off by {off}, where {allowed} is the bound");
    }
}

fn check_parts(options: &SketchOptions, sketch: &Sketch, first: &Predictions<'_>, second: &Predictions<'_>) {
    let (Ok(first), Ok(second)) = (sketch_of(options, first), sketch_of(options, second)) else { return };
    let mut merged = first.clone();
    if merged.merge(&second).is_err() {
        return;
    }
    assert_eq!(merged.to_bytes(), sketch.to_bytes(), "two batches merged are another sketch");
    let rest = sketch.subtract(&second).expect("a part of it");
    assert_eq!(rest.n(), first.n());
}
