//! The bytes do not say how rows came.

use calipers::{Filling, Input, Sketch, SketchOptions};

use crate::data::{Data, sketch_of};

#[test]
fn one_heavy_row_among_many_fits_however_they_are_split() {
    let n = 200_000;
    let (p, y) = (vec![0.5; n], vec![1u8; n]);
    let mut w = vec![1.0; n];
    w[77] = 1e7;
    let data = Data { p, y, w: Some(w) };
    let whole = data.sketch(&SketchOptions::new(), &[]);
    assert_eq!(whole.to_bytes(), data.sketch(&SketchOptions::new(), &[50, 100, 1_000]).to_bytes());
    assert_eq!(whole.total_weight(), 1e7 + 199_999.0);
}

#[test]
fn bytes_are_the_same_for_any_split_order_and_number_of_threads() {
    for weighted in [false, true] {
        // Enough that a large batch goes through threads and the pass for many rows.
        let data = Data::new(150_000, 31, weighted);
        for resolution in [8, 10, 12, 13] {
            let options = SketchOptions::new().resolution(resolution);
            let whole = data.sketch(&options, &[]).to_bytes();
            assert_eq!(data.sketch(&options, &[1, 2, 40_000, 40_100, 149_999]).to_bytes(), whole);
            let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            for n_threads in [1, 3] {
                assert_eq!(pool(n_threads).install(|| data.sketch(&options, &[])).to_bytes(), whole);
            }
            let parts: Vec<Sketch> = [0..10usize, 10..60_000, 60_000..60_500, 60_500..150_000]
                .into_iter()
                .map(|range| {
                    let mut part = Sketch::with(&options).unwrap();
                    part.update(&data.rows(range).binary().unwrap()).unwrap();
                    part
                })
                .collect();
            for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let mut merged = Sketch::with(&options).unwrap();
                order.iter().for_each(|part| merged.merge(&parts[*part]).unwrap());
                assert_eq!(merged.to_bytes(), whole, "weighted {weighted}, resolution {resolution}, {order:?}");
            }
            let [mut left, mut right] = [parts[0].clone(), parts[2].clone()];
            left.merge(&parts[1]).unwrap();
            right.merge(&parts[3]).unwrap();
            left.merge(&right).unwrap();
            assert_eq!(left.to_bytes(), whole);
        }
    }
}

/// However batches are cut and mixed, small ones that need no buckets and weighted ones among them.
#[test]
fn a_filling_gives_the_bytes_of_its_batches() {
    let (plain, weighted) = (Data::new(300_000, 5, false), Data::new(9_000, 6, true));
    for resolution in [8, 12, 14] {
        let empty = Sketch::with(&SketchOptions::new().resolution(resolution).n_bins(&[15, 1000])).unwrap();
        for with_weights in [false, true] {
            let (mut sketch, mut filling) = (empty.clone(), Filling::new(empty.clone()));
            let mut start = 0;
            for length in [10, 100_000, 7, 65_536, 4_096, 130_351] {
                let batch = plain.rows(start..start + length);
                sketch.update(&batch.binary().unwrap()).unwrap();
                filling.update(&batch.binary().unwrap()).unwrap();
                start += length;
                if with_weights && length == 7 {
                    let batch = weighted.rows(0..9_000);
                    sketch.update(&batch.binary().unwrap()).unwrap();
                    filling.update(&batch.binary().unwrap()).unwrap();
                }
            }
            assert_eq!(filling.finish().to_bytes(), sketch.to_bytes(), "{resolution} {with_weights}");
        }
    }
}

#[test]
fn rows_with_and_without_weights_merge_in_any_order() {
    let (plain, weighted) = (Data::new(500, 37, false), Data::new(400, 41, true));
    let ones = Data { w: Some(vec![1.0; 500]), ..plain.clone() };
    let options = SketchOptions::new();
    let [a, b, c] = [&plain, &weighted, &ones].map(|data| data.sketch(&options, &[]));
    let merged = |first: &Sketch, second: &Sketch| {
        let mut all = first.clone();
        all.merge(second).unwrap();
        all.to_bytes()
    };
    assert_eq!(merged(&a, &b), merged(&b, &a));
    assert_eq!(merged(&c, &b), merged(&a, &b));
    let mut updated = a.clone();
    updated.update(&weighted.all().binary().unwrap()).unwrap();
    assert_eq!(updated.to_bytes(), merged(&a, &b));
}

#[test]
fn unlike_sketches_are_refused_and_nothing_changes() {
    let data = Data::new(50, 53, false);
    let ours = data.sketch(&SketchOptions::new(), &[]);
    let cases = [
        (SketchOptions::new().clip(1e-5), "sketches must have the same clip to be merged, got 0.000001 and 0.00001"),
        (SketchOptions::new().n_bins(&[15]), "sketches must have the same n_bins to be merged, got [10, 15] and [15]"),
        (SketchOptions::new().weight_bits(20), "sketches must have the same weight_bits to be merged, got 32 and 20"),
    ];
    for (options, text) in cases {
        let mut merged = ours.clone();
        assert_eq!(merged.merge(&Sketch::with(&options).unwrap()).unwrap_err().to_string(), text);
        assert_eq!(merged, ours);
    }
    let logits = Input::logits(&[1.0], &[1]).check().unwrap();
    let text = "sketches must have the same kind of scores to be merged, got probabilities and raw scores";
    let mut merged = ours.clone();
    assert_eq!(merged.update(&logits.binary().unwrap()).unwrap_err().to_string(), text);
    assert_eq!(merged.merge(&sketch_of(&logits.binary().unwrap())).unwrap_err().to_string(), text);
    assert_eq!(merged, ours);
}
