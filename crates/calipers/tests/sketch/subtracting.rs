//! What is left of a sketch when rows are taken out is the sketch of the other rows.

use calipers::{Input, Invalid, Profile, Sketch, SketchOptions};

use crate::data::Data;

#[test]
fn what_is_left_has_the_bytes_of_the_other_rows() {
    for weighted in [false, true] {
        let data = Data::new(90_000, 17, weighted);
        let options = [
            SketchOptions::new(),
            SketchOptions::new().resolution(7),
            SketchOptions::new().profile(Profile::Monitoring),
        ];
        for options in options {
            let whole = data.sketch(&options, &[5, 20_000]);
            for split in [0, 1, 3_000, 60_000, 89_999, 90_000] {
                let [first, second] = [0..split, split..90_000].map(|range| {
                    let mut sketch = Sketch::with(&options).unwrap();
                    sketch.update(&data.rows(range).binary().unwrap()).unwrap();
                    sketch
                });
                assert_eq!(whole.subtract(&first).unwrap().to_bytes(), second.to_bytes(), "{split} {weighted}");
                assert_eq!(whole.subtract(&second).unwrap(), first);
            }
        }
    }
}

#[test]
fn rows_that_were_left_out_and_clipped_are_taken_out_too() {
    let sketch_of = |p: &[f64], y: &[u8]| {
        let mut sketch = Sketch::new();
        let batch = Input::probabilities(p, y).invalid(Invalid::Count).check().unwrap();
        sketch.update(&batch.binary().unwrap()).unwrap();
        sketch
    };
    let monday = sketch_of(&[0.0, f64::NAN, 0.3, 1.0 + 1e-7], &[0, 1, 1, 1]);
    let tuesday = sketch_of(&[0.2, f64::NAN, 1.0], &[0, 1, 1]);
    let mut both = monday.clone();
    both.merge(&tuesday).unwrap();
    assert_eq!(both.subtract(&tuesday).unwrap().to_bytes(), monday.to_bytes());
    assert_eq!(both.subtract(&monday).unwrap().to_bytes(), tuesday.to_bytes());
    assert_eq!(both.subtract(&both).unwrap(), Sketch::new());
}

#[test]
fn the_coarser_of_two_resolutions_is_that_of_the_rest() {
    let data = Data::new(5_000, 19, false);
    let part = data.rows(0..2_000);
    let mut day = Sketch::with(&SketchOptions::new().profile(Profile::Monitoring).resolution(10)).unwrap();
    day.update(&part.binary().unwrap()).unwrap();
    let mut rest = Sketch::with(day.options()).unwrap();
    rest.update(&data.rows(2_000..5_000).binary().unwrap()).unwrap();
    assert_eq!(data.sketch(&SketchOptions::new(), &[]).subtract(&day).unwrap(), rest);
    let mut fine = Sketch::with(&SketchOptions::new().resolution(14)).unwrap();
    fine.update(&part.binary().unwrap()).unwrap();
    let left = data.sketch(day.options(), &[]).subtract(&fine).unwrap();
    assert_eq!(left, rest);
}

#[test]
fn a_part_that_is_not_contained_is_refused() {
    let one = |p: f64, y: u8| {
        let mut sketch = Sketch::new();
        sketch.update(&Input::probabilities(&[p], &[y]).check().unwrap().binary().unwrap()).unwrap();
        sketch
    };
    let mut whole = one(0.3, 1);
    whole.merge(&one(0.7, 0)).unwrap();
    let text = |what: &str| {
        format!("a sketch that is subtracted must be part of the other: {what} in it are not in the other")
    };
    // Another cell, another outcome, and another place in the same cell.
    for part in [one(0.4, 1), one(0.3, 0), one(0.300_001, 1)] {
        assert_eq!(whole.subtract(&part).unwrap_err().to_string(), text("rows of a cell"));
    }
    // The same cell and offset, but another p, which bins tell.
    let near = one(0.3 + 1e-15, 1);
    assert_eq!(whole.subtract(&near).unwrap_err().to_string(), text("rows of a bin"));
    let mut weighted = Sketch::new();
    let rows = Input::probabilities(&[0.3], &[1]).weights(&[1.0]).check().unwrap();
    weighted.update(&rows.binary().unwrap()).unwrap();
    assert_eq!(whole.subtract(&weighted).unwrap_err().to_string(), text("weights"));
    let other = Sketch::with(&SketchOptions::new().clip(1e-5)).unwrap();
    assert!(whole.subtract(&other).unwrap_err().to_string().starts_with("sketches must have the same clip"));
    assert_eq!(one(0.3, 1).subtract(&whole).unwrap_err().to_string(), text("rows of a cell"));
}

/// Subtracting is the inverse of merging for any sketches, also those that waiting rows are in.
#[test]
fn merged_and_subtracted_again_nothing_has_changed() {
    let (a, b) = (Data::new(500, 23, true), Data::new(700, 29, true));
    let mut ours = Sketch::new();
    for row in 0..500 {
        ours.update(&a.rows(row..row + 1).binary().unwrap()).unwrap();
    }
    let theirs = b.sketch(&SketchOptions::new(), &[]);
    let mut both = ours.clone();
    both.merge(&theirs).unwrap();
    assert_eq!(both.subtract(&theirs).unwrap(), ours);
}
