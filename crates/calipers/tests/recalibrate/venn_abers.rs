//! Venn-Abers prediction against its definition, and golden values.

use calipers::Input;
use calipers::recalibrate::{BinaryMap, CrossFit, Method, Recalibrate};

use crate::fixtures::{Uniforms, binary};

/// The isotonic fit at one of some scores, by the formula: the largest over lower ends of the
/// smallest over upper ends of mean outcomes.
fn isotonic_at(rows: &[(f64, bool, u32)], at: f64) -> f64 {
    let mut scores: Vec<f64> = rows.iter().map(|row| row.0).collect();
    scores.sort_by(f64::total_cmp);
    scores.dedup();
    let mean = |from: f64, to: f64| {
        let inside = rows.iter().filter(|row| from <= row.0 && row.0 <= to);
        let (mut positive, mut all) = (0, 0);
        for (_, outcome, count) in inside {
            positive += u32::from(*outcome) * count;
            all += count;
        }
        f64::from(positive) / f64::from(all)
    };
    let least = |from: f64| scores.iter().filter(|to| **to >= at).map(|to| mean(from, *to)).fold(1.0, f64::min);
    scores.iter().filter(|from| **from <= at).map(|from| least(*from)).fold(0.0, f64::max)
}

fn by_definition(rows: &[(f64, bool, u32)], at: f64) -> [f64; 2] {
    [false, true].map(|outcome| {
        let mut with_one = rows.to_vec();
        with_one.push((at, outcome, 1));
        isotonic_at(&with_one, at)
    })
}

fn fit(rows: &[(f64, bool, u32)]) -> BinaryMap {
    let logits: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let labels: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
    let predictions = Input::logits(&logits, &labels).weights(&weights).check().unwrap();
    Recalibrate::new(Method::VennAbers).fit(&predictions.binary().unwrap()).unwrap().map
}

#[test]
fn every_score_has_the_values_of_the_definition() {
    let mut random = Uniforms(7);
    for case in 0..120 {
        let n = 2 + case % 40;
        // From all different scores to three of them.
        let steps = [1e9, 8.0, 2.0, 1.0][case % 4];
        let signal = [0.0, 1.0, 4.0, -1.0][case / 4 % 4];
        let mut rows: Vec<(f64, bool, u32)> = Vec::new();
        for place in 0..n {
            let h = ((random.next() * 2.0 - 1.0) * steps).round() / steps;
            let outcome = if place < 2 { place == 0 } else { random.next() < 1.0 / (1.0 + (-signal * h).exp()) };
            let count = if case % 3 == 0 { 1 + (random.next() * 4.0) as u32 } else { 1 };
            rows.push((h, outcome, count));
        }
        let map = fit(&rows);
        let mut at: Vec<f64> = rows.iter().map(|row| row.0).collect();
        at.sort_by(f64::total_cmp);
        let between: Vec<f64> = at.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
        for h in at.iter().chain(&between).chain(&[-9.0, 9.0]) {
            let [p0, p1] = by_definition(&rows, *h);
            let found = map.interval(*h).unwrap();
            assert_eq!((found.lower, found.upper), (p0, p1), "case {case} at {h}");
            assert_eq!(found.value, p1 / ((1.0 - p0) + p1));
            assert_eq!(map.apply(*h), found.value);
            assert!(found.lower <= found.value && found.value <= found.upper);
        }
    }
}

#[test]
fn golden_values() {
    let data = binary();
    let predictions = data.plain();
    let view = predictions.binary().unwrap();
    let fit = Recalibrate::new(Method::VennAbers).fit(&view).unwrap();
    let expected: [(f64, f64, f64, f64); 10] = [
        (-4.0, 0.0, 3.0 / 13.0, 0.1875),
        (-3.125, 2.0 / 13.0, 3.0 / 13.0, 0.214285714286),
        (-2.0, 0.352941176471, 0.409090909091, 0.387341772152),
        (-1.03125, 0.466666666667, 0.488888888889, 0.478260869565),
        (0.0, 0.489795918367, 0.525, 0.507146377526),
        (0.5, 0.5, 0.555555555556, 0.526315789474),
        (1.0, 0.607142857143, 0.636363636364, 0.618296529968),
        (2.03125, 0.764705882353, 0.816666666667, 0.776328052190),
        (3.125, 0.823529411765, 1.0, 0.85),
        (4.0, 0.823529411765, 1.0, 0.85),
    ];
    for (h, lower, upper, value) in expected {
        let found = fit.map.interval(h).unwrap();
        for (found, expected) in [(found.lower, lower), (found.upper, upper), (found.value, value)] {
            assert!((found - expected).abs() < 1e-12, "at {h}: {found} is not {expected}");
        }
    }
    assert!((fit.log_loss_after - 0.619369673816).abs() < 1e-12, "{}", fit.log_loss_after);
    let brier = data.logits.iter().zip(&data.labels).map(|(h, y)| (fit.map.apply(*h) - f64::from(*y)).powi(2));
    assert!((brier.sum::<f64>() / 400.0 - 0.215409455991).abs() < 1e-12);
    assert!(fit.band(0.0, 0.95).is_none() && fit.map.mixture == 0.0 && !fit.map.keeps_ranks());
    assert!(fit.notes.is_empty(), "{:?}", fit.notes);
}

#[test]
fn weights_are_numbers_of_rows() {
    let data = binary();
    let options = Recalibrate::new(Method::VennAbers);
    let weighted = data.weighted();
    let repeated = |values: &dyn Fn(usize) -> f64| {
        (0..400).flat_map(|i| vec![values(i); data.weights[i] as usize]).collect::<Vec<f64>>()
    };
    let logits = repeated(&|i| data.logits[i]);
    let labels: Vec<u8> = repeated(&|i| f64::from(data.labels[i])).iter().map(|y| *y as u8).collect();
    let rows = Input::logits(&logits, &labels).check().unwrap();
    let (counted, repeated) =
        (options.fit(&weighted.binary().unwrap()).unwrap(), options.fit(&rows.binary().unwrap()).unwrap());
    assert_eq!(counted.map, repeated.map);
    assert_eq!(counted.effective_n, 799.0);
    let predictions = Input::logits(&[1.0, -1.0], &[1, 0]).weights(&[0.5, 1.0]).check().unwrap();
    let text = options.fit(&predictions.binary().unwrap()).unwrap_err().to_string();
    assert_eq!(text, "weights must be whole numbers where they count rows, got 0.5");
}

#[test]
fn the_verdict_is_available() {
    let data = binary();
    let predictions = data.plain();
    for method in [Method::VennAbers, Method::Bins] {
        let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(49);
        let found = cross_fit.run(&predictions.binary().unwrap()).unwrap();
        assert!(found.interval.lower > 0.0 && found.floor.unwrap().p_value == 0.02, "{found:?}");
        let name = if method == Method::Bins { "Binning helps: " } else { "Venn-Abers prediction helps: " };
        assert!(found.sentence().starts_with(name), "{}", found.sentence());
    }
}
