//! Batches of any size give the sums of their rows, whichever way the rows took.

use calipers::{Input, Sketch, SketchOptions, Tally};

use crate::data::Data;
use crate::oracle;

/// Ends of batches: of equal size, or of all sizes in turn.
fn cut(n: usize, sizes: &[usize]) -> Vec<usize> {
    let mut ends = vec![];
    let mut end = 0;
    for size in sizes.iter().cycle() {
        end += size;
        if end >= n {
            ends.push(n);
            return ends;
        }
        ends.push(end);
    }
    ends
}

#[test]
fn batches_of_any_size_have_the_bytes_of_the_definition() {
    const SIZES: [&[usize]; 7] =
        [&[1], &[2], &[23], &[24, 25, 1], &[100], &[4096, 1, 4097], &[30_000, 1, 3, 900, 40_000]];
    for (weighted, logits) in [(false, false), (true, false), (false, true), (true, true)] {
        for (resolution, binnings) in [(12, &[10, 15][..]), (7, &[1, 64, 65]), (20, &[])] {
            // Enough that some tables get pages.
            let n = if resolution == 12 { 60_000 } else { 12_000 };
            let data = Data::new(n, u64::from(resolution), weighted);
            let scores: Vec<f64> = match logits {
                true => data.p.iter().map(|p| 12.0 * (p - 0.4)).collect(),
                false => data.p.clone(),
            };
            let rows = oracle::Rows {
                scores: &scores,
                outcomes: &data.y,
                weights: data.w.as_deref(),
                kind: if logits { 3 } else { 1 },
                resolution,
                binnings,
            };
            let expected = oracle::bytes(&rows);
            for sizes in SIZES {
                let options = SketchOptions::new().resolution(resolution).n_bins(binnings);
                let mut sketch = Sketch::with(&options).unwrap();
                let mut start = 0;
                for end in cut(n, sizes) {
                    let (scores, outcomes) = (&scores[start..end], &data.y[start..end]);
                    let input = match logits {
                        true => Input::logits(scores, outcomes),
                        false => Input::probabilities(scores, outcomes),
                    };
                    let input = match &data.w {
                        Some(w) => input.weights(&w[start..end]),
                        None => input,
                    };
                    sketch.update(&input.check_batch(&mut Tally::default()).unwrap().binary().unwrap()).unwrap();
                    start = end;
                }
                let what =
                    format!("weighted {weighted}, logits {logits}, resolution {resolution}, batches of {sizes:?}");
                assert!(sketch.to_bytes_for(1).unwrap() == expected, "{what}");
                assert!(Sketch::from_bytes(&sketch.to_bytes()).unwrap() == sketch, "{what}");
            }
        }
    }
}

#[test]
fn what_is_known_of_rows_that_wait_is_what_is_known_of_others() {
    let data = Data::new(300, 2, false);
    let mut one_by_one = Sketch::new();
    for row in 0..300 {
        one_by_one.update(&data.rows(row..row + 1).binary().unwrap()).unwrap();
        if row % 50 == 0 {
            let so_far = Data { p: data.p[..=row].to_vec(), y: data.y[..=row].to_vec(), w: None };
            let whole = so_far.sketch(&SketchOptions::new(), &[]);
            assert_eq!(one_by_one, whole);
            assert_eq!(one_by_one.n_cells(), whole.n_cells());
            assert_eq!(one_by_one.has_positive(), whole.has_positive());
            assert_eq!(one_by_one.effective_n(), whole.effective_n());
            let mut coarse = (one_by_one.clone(), whole.clone());
            coarse.0.coarsen(8).unwrap();
            coarse.1.coarsen(8).unwrap();
            assert_eq!(coarse.0.to_bytes(), coarse.1.to_bytes());
        }
    }
}
