//! A sketch as words at fixed places, as tensors that were added by another program have it.

use calipers::{Sketch, SketchOptions, on_this_thread};

use super::check_error;
use crate::bytes::Bytes;
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "sketch_words",
    about: "places and words of a sketch as a tensor: a mark of the kind of scores, then 2 + 8 bytes for each word",
    max_len: 1024,
    // The words are there whatever the input is, several times over.
    memory: Limit::new(64e6, 4096.0),
    seconds: Limit::new(2.0, 1e-2),
    run,
};

/// Words are rejected, or they are those of the sketch that was read.
fn run(input: &[u8]) {
    on_this_thread(|| check(input));
}

fn check(input: &[u8]) {
    let options = SketchOptions::new().resolution(6).clip(0.01).largest_logit(40.0).n_bins(&[2, 5]);
    let empty = Sketch::with(&options).expect("options in their ranges");
    let mut bytes = Bytes::new(input);
    let of_probabilities = bytes.byte() & 1 == 0;
    let score_error = if bytes.byte() == 0 { 0.0 } else { bytes.double() };
    let mut words = vec![0i64; empty.dense_len(of_probabilities)];
    while !bytes.is_empty() {
        let place = usize::from(u16::from_le_bytes(bytes.array())) % words.len();
        words[place] = i64::from_le_bytes(bytes.array());
    }
    let sketch = match empty.of_dense(&words, score_error, of_probabilities) {
        Ok(sketch) => sketch,
        Err(error) => return check_error(&error),
    };
    let dense = sketch.to_dense(of_probabilities).expect("a sketch of words");
    let mut again = vec![0i64; words.len()];
    dense.places.iter().zip(&dense.words).for_each(|(place, word)| again[*place as usize] = *word);
    // A long sum has one form that is written, and others that additions leave: its low word may
    // be beyond 2^32. So the sketches are compared, and not the words.
    let read = empty.of_dense(&again, dense.score_error, of_probabilities).expect("words of a sketch");
    assert_eq!(read.to_bytes(), sketch.to_bytes(), "its words are those of another sketch");
    assert!(Sketch::from_bytes(&sketch.to_bytes()).expect("bytes of a sketch") == sketch);
}
