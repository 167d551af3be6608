//! Sketches that no rows have, with a right checksum, in every version.

use super::*;
use crate::cells::Content;
use crate::data::Input;
use crate::sketch::content::Weighted;

const VERSIONS_OF_EXACT: [u8; 3] = [1, 3, 4];

/// Three rows in one cell and two others, with weights of 1, 2 and 3.
fn weighted() -> Sketch {
    let (p, y, w) = ([0.27, 0.27, 0.27001, 0.6, 0.8], [1, 1, 1, 0, 1], [1.0, 2.0, 3.0, 1.0, 2.0]);
    let mut sketch = Sketch::new();
    sketch.update(&Input::probabilities(&p, &y).weights(&w).check().unwrap().binary().unwrap()).unwrap();
    settle(sketch)
}

fn plain() -> Sketch {
    let (p, y) = ([0.27, 0.27, 0.27001, 0.6, 0.8], [1, 1, 1, 0, 1]);
    let mut sketch = Sketch::new();
    sketch.update(&Input::probabilities(&p, &y).check().unwrap().binary().unwrap()).unwrap();
    settle(sketch)
}

/// With rows in their cells.
fn settle(sketch: Sketch) -> Sketch {
    Sketch::from_bytes(&sketch.to_bytes()).unwrap()
}

/// The sketch with other sums in the cell of several rows.
fn with_weighted(change: impl Fn(Weighted) -> Weighted) -> Sketch {
    let mut sketch = weighted();
    let Cells::Weighted(tables) = &sketch.cells else { panic!("made with weights") };
    let columns = tables.tables().each_ref().map(|table| {
        let mut column = table.column().into_owned();
        column.sums.iter_mut().filter(|sums| sums.count > 1).for_each(|sums| *sums = change(*sums));
        column
    });
    sketch.cells = Cells::Weighted(Tables::of(columns));
    sketch
}

fn with_plain(change: impl Fn(Content) -> Content) -> Sketch {
    let mut sketch = plain();
    let Cells::Plain(tables) = &sketch.cells else { panic!("made without weights") };
    let columns = tables.tables().each_ref().map(|table| {
        let mut column = table.column().into_owned();
        column.sums.iter_mut().filter(|sums| sums.count > 1).for_each(|sums| *sums = change(*sums));
        column
    });
    sketch.cells = Cells::Plain(Tables::of(columns));
    sketch
}

fn with_squares(change: impl Fn(u128) -> u128, more_carries: u64) -> Sketch {
    with_weighted(|sums| {
        let (square, carries) = (change(sums.square), sums.carries(32) + more_carries);
        Weighted::with_squares(sums.count, sums.weight, square, carries, (sums.first, sums.second), 32)
    })
}

/// With other sums in the bins of three rows.
fn with_bins(mut sketch: Sketch, change: impl Fn(&mut BinTotals)) -> Sketch {
    sketch.bins.iter_mut().for_each(|totals| totals.iter_mut().filter(|bin| bin.count == 3).for_each(&change));
    sketch
}

#[track_caller]
fn check(sketch: &Sketch, versions: &[u8], reason: &str) {
    for version in versions {
        let text = match Sketch::from_bytes(&sketch.written(*version)) {
            Ok(read) => panic!("version {version} reads {read:?}"),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(reason), "version {version}: {text}");
    }
}

#[test]
fn rows_have_these_sums() {
    for sketch in [weighted(), plain(), with_squares(|square| square, 0), with_plain(|sums| sums)] {
        for version in VERSIONS_OF_EXACT {
            let read = Sketch::from_bytes(&sketch.written(version)).unwrap();
            assert_eq!(read.written(version), sketch.written(version));
        }
        assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
    }
}

/// Of weights 1, 2 and 3 in units of 2^-32 squares are 14, and at least 36 / 3 and at most 36.
#[test]
fn squared_weights_are_bounded_by_weights() {
    let unit = 1u128 << 64;
    check(&with_squares(|_| 37 * unit, 0), &VERSIONS_OF_EXACT, "squared weights of a cell");
    check(&with_squares(|_| 11 * unit, 0), &VERSIONS_OF_EXACT, "squared weights of a cell");
    check(&with_squares(|_| 0, 0), &VERSIONS_OF_EXACT, "squared weights of a cell");
    check(&with_squares(|square| square, 3), &[4], "squared weights of a cell");
    // The forgery that made a test of a sketch endless: 10^12 where some hundred are right.
    check(&with_squares(|_| 1_000_000_000_000u128 << 32, 0), &[1, 3], "squared weights of a cell");
}

#[test]
fn offsets_are_bounded_by_weights() {
    let largest = (1u128 << 20) - 1;
    let with = |change: fn(&mut Weighted, u128)| {
        with_weighted(|mut sums| {
            change(&mut sums, largest);
            sums
        })
    };
    let too_large = with(|sums, largest| (sums.first, sums.second) = (sums.weight * largest + 1, sums.weight));
    check(&too_large, &VERSIONS_OF_EXACT, "offsets of a cell");
    check(&with(|sums, largest| sums.second = sums.first * largest + 1), &VERSIONS_OF_EXACT, "offsets of a cell");
    check(&with(|sums, _| sums.second = sums.first - 2), &VERSIONS_OF_EXACT, "no integers");
    check(&with(|sums, _| sums.second += 1), &VERSIONS_OF_EXACT, "no integers");
    check(&with(|sums, _| sums.second -= sums.second / 4 * 2), &VERSIONS_OF_EXACT, "negative variance");
    let plain = |change: fn(&mut Content)| {
        with_plain(|mut sums| {
            change(&mut sums);
            sums
        })
    };
    check(&plain(|sums| sums.first = 3 << 20), &VERSIONS_OF_EXACT, "offsets of a cell");
    check(&plain(|sums| sums.second += 1), &VERSIONS_OF_EXACT, "no integers");
    check(&plain(|sums| sums.second = sums.first.into()), &VERSIONS_OF_EXACT, "negative variance");
}

/// The first cell is that of 1/2 alone.
#[test]
fn the_first_cell_has_one_place() {
    let mut sketch = Sketch::new();
    sketch.update(&Input::probabilities(&[0.5, 0.5], &[1, 0]).check().unwrap().binary().unwrap()).unwrap();
    let sketch = settle(sketch);
    let Cells::Plain(tables) = &sketch.cells else { panic!("made without weights") };
    let mut forged = sketch.clone();
    forged.cells = Cells::Plain(Tables::of(tables.tables().each_ref().map(|table| {
        let mut column = table.column().into_owned();
        column.sums.iter_mut().for_each(|sums| (sums.first, sums.second) = (3, 9));
        column
    })));
    check(&forged, &VERSIONS_OF_EXACT, "beyond 1/2");
}

/// A row has at most 2^56 units.
#[test]
fn weights_are_bounded_by_rows() {
    let heavy = (3u128 << 56) + 2;
    let mut sketch = with_weighted(|_| Weighted::with_squares(3, heavy, heavy << 56, 0, (0, 0), 32));
    sketch.units = heavy + (3 << 32);
    check(&sketch, &VERSIONS_OF_EXACT, "squared weights of a cell");
    let sketch = with_bins(weighted(), |bin| bin.weight = heavy);
    check(&sketch, &[1, 3], "a bin has sums that no rows can have");
}

#[test]
fn bins_have_sums_of_their_rows() {
    let no_rows = "a bin has sums that no rows can have";
    check(&with_bins(weighted(), |bin| bin.positive = bin.weight + 1), &VERSIONS_OF_EXACT, no_rows);
    check(&with_bins(plain(), |bin| bin.positive = bin.weight + 1), &[1], no_rows);
    for sketch in [weighted(), plain()] {
        // The bin is from 0.2 to 0.3 of 10, and from 4/15 to 1/3 of 15.
        for bits in [52, 56] {
            let changed = with_bins(sketch.clone(), |bin| bin.probability = bin.weight << bits);
            check(&changed, &VERSIONS_OF_EXACT, no_rows);
        }
        let changed = with_bins(sketch.clone(), |bin| bin.positive -= 1);
        check(&changed, &VERSIONS_OF_EXACT, "bins and cells hold different rows");
        let mut changed = sketch;
        changed.bins[0].iter_mut().filter(|bin| bin.count == 3).for_each(|bin| bin.probability = bin.weight << 54);
        check(&changed, &VERSIONS_OF_EXACT, "binnings hold different rows");
    }
}

#[test]
fn the_header_fits_the_rows() {
    let mut sketch = plain();
    sketch.n_rounded_weights = 1;
    check(&sketch, &VERSIONS_OF_EXACT, "weights were rounded, but there are none");
    let mut sketch = Sketch::new();
    sketch.score_error = 0.5;
    check(&sketch, &VERSIONS_OF_EXACT, "an error of scores without scores");
    let mut sketch = plain();
    let options = sketch.options().clone().weight_bits(57);
    sketch.shape = Arc::new(Shape::new(options));
    check(&sketch, &VERSIONS_OF_EXACT, "more units than a weight can have");
    let mut sketch = plain();
    sketch.n_clipped = 6;
    check(&sketch, &[1, 3], "more rows were clipped or rounded than there are");
    check(&sketch, &[4], "must be at most 5");
}

/// The most that a sketch can hold: sums of 2^127.
#[test]
fn the_largest_weight_has_a_value() {
    let options = SketchOptions::new().weight_bits(0);
    let heavy = 2f64.powi(56);
    let n = 1 << 14;
    let (p, y, w) = (vec![1.0; n], vec![1u8; n], vec![heavy; n]);
    let mut half = Sketch::with(&options).unwrap();
    half.update(&Input::probabilities(&p, &y).weights(&w).check().unwrap().binary().unwrap()).unwrap();
    let mut sketch = half.clone();
    sketch.merge(&half).unwrap();
    assert_eq!(sketch.units, MOST_UNITS);
    for version in VERSIONS_OF_EXACT {
        let read = Sketch::from_bytes(&sketch.written(version)).unwrap();
        assert_eq!(read.written(version), sketch.written(version));
        for measure in [&crate::BinnedEce::new() as &dyn crate::Measure, &crate::LsEce::new().sigma(0.5)] {
            assert!(read.estimate(measure).unwrap().value < 1e-5);
        }
        assert_eq!(read.effective_n(), 2.0 * n as f64);
    }
    assert!(sketch.merge(&half).is_err());
}
