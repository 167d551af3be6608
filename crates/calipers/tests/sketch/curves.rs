//! Curves, bands and bins of a sketch beside those of its rows.

use calipers::inference::bands::{Band, BandOptions};
use calipers::{BinnedEce, Corp, CumulativeCalibrationError, LsEce, Sketch, SketchOptions, Strategy};

use crate::data::Data;

const N: usize = 6000;

fn sketch_of(data: &Data, options: &SketchOptions) -> Sketch {
    let mut sketch = Sketch::with(options).unwrap();
    sketch.update(&data.rows(0..N).binary().unwrap()).unwrap();
    sketch
}

fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn apart(a: &Band, b: &Band) -> f64 {
    furthest(&a.lower, &b.lower).max(furthest(&a.upper, &b.upper))
}

/// What a step function or a line through points has at x: the value at the last point that is not
/// beyond it.
fn at(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    ys[xs.partition_point(|other| *other <= x).saturating_sub(1)]
}

#[test]
fn the_band_of_the_smoothed_curve_is_that_of_the_rows() {
    let places: Vec<f64> = (1..50).map(|k| f64::from(k) / 50.0).collect();
    for weighted in [false, true] {
        let data = Data::new(N, 5, weighted);
        let sketch = sketch_of(&data, &SketchOptions::new());
        let rows = data.rows(0..N);
        for sigma in [0.05, 0.3, 2.0] {
            let measure = LsEce::new().sigma(sigma);
            let of_rows = measure.consistency_band(&rows.binary().unwrap(), &places, &BandOptions::new()).unwrap();
            let of_sketch = measure.consistency_band(&sketch, &places, &BandOptions::new()).unwrap();
            let apart = apart(&of_rows, &of_sketch);
            println!("weighted {weighted}, sigma {sigma}: bands {apart:.5} apart");
            // Where outcomes are drawn, by different numbers; cells tell weights of single rows by
            // their mean alone.
            assert!(apart < if weighted { 0.03 } else { 0.02 }, "{weighted} {sigma}: {apart}");
        }
    }
}

#[test]
fn the_isotonic_fit_and_its_band_are_those_of_the_rows() {
    for weighted in [false, true] {
        let data = Data::new(N, 6, weighted);
        let sketch = sketch_of(&data, &SketchOptions::new());
        let rows = data.rows(0..N);
        let view = rows.binary().unwrap();
        let (of_rows, of_sketch) = (Corp::new().curve(&view).unwrap(), Corp::new().curve(&sketch).unwrap());
        let bands = (
            Corp::new().consistency_band(&view, &BandOptions::new()).unwrap(),
            Corp::new().consistency_band(&sketch, &BandOptions::new()).unwrap(),
        );
        assert!((of_sketch.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let mut worst = 0.0f64;
        for k in 1..100 {
            let p = f64::from(k) / 100.0 + 0.0003;
            let fits = (
                at(p, &of_rows.probabilities, &of_rows.outcome_rates),
                at(p, &of_sketch.probabilities, &of_sketch.outcome_rates),
            );
            assert!((fits.0 - fits.1).abs() < 0.02, "{p}: {fits:?}");
            let ends = |of: fn(&Band) -> &Vec<f64>| {
                let sides =
                    (at(p, &of_rows.probabilities, of(&bands.0)), at(p, &of_sketch.probabilities, of(&bands.1)));
                (sides.0 - sides.1).abs()
            };
            worst = worst.max(ends(|band| &band.lower)).max(ends(|band| &band.upper));
        }
        println!("weighted {weighted}: bands {worst:.4} apart");
        assert!(worst < 0.06, "{weighted}: {worst}");
    }
}

#[test]
fn the_cumulative_curve_is_that_of_the_rows() {
    for weighted in [false, true] {
        let data = Data::new(N, 7, weighted);
        let rows = data.rows(0..N);
        let measure = CumulativeCalibrationError::new();
        let of_rows = measure.curve(&rows.binary().unwrap()).unwrap();
        let of_sketch = measure.curve(&sketch_of(&data, &SketchOptions::new())).unwrap();
        assert_eq!((of_sketch.shares[0], of_sketch.differences[0]), (0.0, 0.0));
        for (share, difference) in of_sketch.shares.iter().zip(&of_sketch.differences) {
            let exact = at(*share + 1e-9, &of_rows.shares, &of_rows.differences);
            assert!((exact - difference).abs() < 3e-4, "{share}: {exact} {difference}");
        }
    }
}

#[test]
fn bins_are_those_of_the_rows_and_exact_where_they_were_declared() {
    for weighted in [false, true] {
        let data = Data::new(N, 8, weighted);
        let rows = data.rows(0..N);
        let view = rows.binary().unwrap();
        let sketch = sketch_of(&data, &SketchOptions::new());
        // A cell at an edge may hold rows of both of its bins; no edge of 23 bins is one of the
        // probabilities that repeat.
        for (n_bins, tolerance) in [(15, 1e-8), (23, 0.03), (1, 1e-5)] {
            let ece = BinnedEce::new().n_bins(n_bins);
            let (of_rows, of_sketch) = (ece.bins(&view).unwrap(), ece.bins(&sketch).unwrap());
            assert_eq!(of_rows.len(), of_sketch.len());
            for (a, b) in of_rows.iter().zip(&of_sketch) {
                let close = |a: f64, b: f64| (a - b).abs() < tolerance || (a.is_nan() && b.is_nan());
                assert!(close(a.lower, b.lower) && close(a.upper, b.upper));
                assert!(close(a.mean_probability, b.mean_probability), "{a:?} {b:?}");
                assert!(close(a.outcome_rate, b.outcome_rate), "{a:?} {b:?}");
                assert!((a.weight - b.weight).abs() <= 0.04 * a.weight + 1.0, "{a:?} {b:?}");
            }
        }
        let refused = BinnedEce::new().strategy(Strategy::Quantile).bins(&sketch).unwrap_err();
        assert!(refused.to_string().contains("strategy"), "{refused}");
    }
}
