//! Words at fixed places: added place by place, they are the words of the merged sketch.

use calipers::{BinaryView, Dense, Input, Invalid, Sketch, SketchOptions};

fn options() -> SketchOptions {
    SketchOptions::new().resolution(7).largest_logit(40.0).n_bins(&[3, 15])
}

fn sketch_of(view: &BinaryView<'_>) -> Sketch {
    let mut sketch = Sketch::with(&options()).unwrap();
    sketch.update(view).unwrap();
    sketch
}

fn add(words: &mut [i64], dense: &Dense) {
    assert!(dense.places.is_sorted_by(|a, b| a < b));
    for (place, word) in dense.places.iter().zip(&dense.words) {
        words[*place as usize] = words[*place as usize].wrapping_add(*word);
    }
}

#[test]
fn sums_of_words_are_the_words_of_all_rows() {
    let empty = Sketch::with(&options()).unwrap();
    for of_probabilities in [true, false] {
        let scores: Vec<f64> = (0..5000)
            .map(|k| f64::from(k) * 0.37)
            .map(|x| if of_probabilities { (0.5 + 0.501 * x.sin()).clamp(0.0, 1.0 + 5e-7) } else { 60.0 * x.sin() })
            .map(|score| if score > 1.0 && of_probabilities { f64::NAN } else { score })
            .collect();
        let labels: Vec<u8> = (0..5000).map(|k| u8::from(k % 7 > 2)).collect();
        let input = |range: std::ops::Range<usize>| {
            let (scores, labels) = (&scores[range.clone()], &labels[range]);
            let input = match of_probabilities {
                true => Input::probabilities(scores, labels),
                false => Input::logits(scores, labels),
            };
            sketch_of(&input.invalid(Invalid::Count).check().unwrap().binary().unwrap())
        };
        let all = input(0..5000);
        assert!(all.n_clipped() > 0);
        assert!(all.report().n_left_out() > 0 || !of_probabilities);
        let mut words = vec![0; empty.dense_len(of_probabilities)];
        for part in [0..1, 1..17, 17..2500, 2500..5000] {
            add(&mut words, &input(part).to_dense(of_probabilities).unwrap());
        }
        let error = all.to_dense(of_probabilities).unwrap().score_error;
        let restored = empty.of_dense(&words, error, of_probabilities).unwrap();
        assert_eq!(restored.to_bytes(), all.to_bytes());
        assert_eq!(restored, all);
        let nothing = vec![0; words.len()];
        assert_eq!(empty.of_dense(&nothing, 0.0, of_probabilities).unwrap(), empty);
    }
}

#[test]
fn the_smallest_scores_have_a_place() {
    let tiny = Input::probabilities(&[0.0, 1.0, 0.5], &[0, 1, 1]).check().unwrap();
    let far = Input::logits(&[-1e9, 1e9, 0.0], &[0, 1, 1]).check().unwrap();
    for (input, of_probabilities) in [(&tiny, true), (&far, false)] {
        let sketch = sketch_of(&input.binary().unwrap());
        let mut words = vec![0; sketch.dense_len(of_probabilities)];
        let dense = sketch.to_dense(of_probabilities).unwrap();
        add(&mut words, &dense);
        assert_eq!(sketch.of_dense(&words, dense.score_error, of_probabilities).unwrap(), sketch);
    }
}

#[test]
fn a_sum_beyond_63_bits_is_kept() {
    // 2^35 rows of one probability: the words of 32 rows, times 2^30.
    let p = vec![1.0 - 0.3; 32];
    let rows = Input::probabilities(&p, &[1u8; 32]).check().unwrap();
    let sketch = sketch_of(&rows.binary().unwrap());
    let mut many = sketch.clone();
    (0..30).for_each(|_| {
        let same = many.clone();
        many.merge(&same).unwrap();
    });
    let mut words = vec![0; sketch.dense_len(true)];
    add(&mut words, &sketch.to_dense(true).unwrap());
    words.iter_mut().for_each(|word| *word <<= 30);
    assert_eq!(sketch.of_dense(&words, 0.0, true).unwrap().to_bytes(), many.to_bytes());
    words.iter_mut().for_each(|word| *word <<= 4);
    let refusal = sketch.of_dense(&words, 0.0, true).unwrap_err();
    assert_eq!(refusal.to_string(), "rows must be at most 274877906944 in a sketch, got 549755813888");
}

#[test]
fn words_that_no_rows_have_are_refused() {
    let input = Input::probabilities(&[0.3, 0.8], &[0, 1]).check().unwrap();
    let sketch = sketch_of(&input.binary().unwrap());
    let dense = sketch.to_dense(true).unwrap();
    let mut words = vec![0; sketch.dense_len(true)];
    add(&mut words, &dense);
    for place in &dense.places {
        for change in [1, -1, i64::MAX, i64::MIN] {
            let mut changed = words.clone();
            changed[*place as usize] = changed[*place as usize].wrapping_add(change);
            // Sums may be those of other rows; what is there must be a sketch that bytes can hold.
            if let Ok(other) = sketch.of_dense(&changed, 0.0, true) {
                assert_eq!(Sketch::from_bytes(&other.to_bytes()).unwrap(), other);
                assert_eq!(other.n(), sketch.n());
            }
        }
    }
    let reason = |refusal: calipers::Error| refusal.to_string();
    let short = sketch.of_dense(&words[1..], 0.0, true).unwrap_err();
    assert!(reason(short).starts_with("bytes must be a calipers sketch: there must be "));
    assert!(reason(sketch.of_dense(&words, f64::NAN, true).unwrap_err()).contains("the error of scores"));
    assert_eq!(
        reason(sketch.to_dense(false).unwrap_err()),
        "sketches must have the same kind of scores to be merged, got raw scores or log-odds and probabilities"
    );
    let mut both = vec![0; sketch.dense_len(false)];
    (both[1], both[2]) = (1, 1);
    assert_eq!(
        reason(sketch.of_dense(&both, 0.0, false).unwrap_err()),
        "sketches must have the same kind of scores to be merged, got log-odds and raw scores"
    );
    let weighted = Input::probabilities(&[0.3], &[1]).weights(&[2.0]).check().unwrap();
    assert_eq!(
        reason(sketch_of(&weighted.binary().unwrap()).to_dense(true).unwrap_err()),
        "weights must be absent from a sketch that becomes words of fixed places, got some"
    );
}
