//! Bins of equal mass: golden values, ties, weights and the statement about all bins.

use calipers::Input;
use calipers::recalibrate::{Between, Method, Note, Recalibrate};

use crate::fixtures::{Uniforms, binary};

#[test]
fn ten_bins_are_those_of_quantiles() {
    let data = binary();
    let predictions = data.plain();
    let fit = Recalibrate::new(Method::Bins).fit(&predictions.binary().unwrap()).unwrap();
    let table = fit.map.table.as_ref().unwrap();
    assert_eq!(table.between, Between::Step);
    let counts = [
        (11.0, 40.0),
        (15.0, 40.0),
        (15.0, 39.0),
        (19.0, 40.0),
        (20.0, 40.0),
        (20.0, 39.0),
        (25.0, 39.0),
        (28.0, 40.0),
        (31.0, 40.0),
        (35.0, 43.0),
    ];
    assert_eq!(table.value.len(), 10);
    for (found, (positive, all)) in table.value.iter().zip(counts) {
        assert!((found - (positive + 0.5) / (all + 1.0)).abs() < 1e-15, "{found}");
    }
    assert_eq!((fit.effective_parameters, fit.map.mixture), (10.0, 0.0));
    // 101 different scores of 400 rows: ties, for which the statement about all bins is not proven.
    assert!(fit.notes.is_empty(), "{:?}", fit.notes);
    // The rates that belong to these values have the golden log-loss.
    let rate = |h: f64| {
        let (positive, all) = counts[table.at.partition_point(|at| *at <= h).max(1) - 1];
        positive / all
    };
    let loss = |(h, y): (&f64, &u8)| -(if *y == 1 { rate(*h) } else { 1.0 - rate(*h) }).ln();
    let mean = data.logits.iter().zip(&data.labels).map(loss).sum::<f64>() / 400.0;
    assert!((mean - 0.625690084382).abs() < 1e-12, "{mean}");
}

#[test]
fn rows_are_mapped_to_the_bin_that_they_were_fitted_in() {
    // Every bin begins with a row, whose logit must not be a digit below that of the fit.
    let data = binary();
    let p: Vec<f64> = data.logits.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect();
    let predictions = Input::probabilities(&p, &data.labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let fit = Recalibrate::new(Method::Bins).fit(&view).unwrap();
    let table = fit.map.table.as_ref().unwrap();
    let mapped = fit.map.apply_view(&view);
    let sizes = table.value.iter().map(|value| mapped.iter().filter(|mapped| *mapped == value).count());
    assert_eq!(sizes.collect::<Vec<usize>>(), [40, 40, 39, 40, 40, 39, 39, 40, 40, 43]);
    assert!(table.at.iter().all(|at| p.iter().any(|p| fit.map.logit_of(*p) == *at)));
}

#[test]
fn ties_are_never_split_and_weights_have_no_unit() {
    let mut random = Uniforms(3);
    let logits: Vec<f64> =
        (0..500).map(|i| if i % 5 < 3 { -1.0 } else { (8.0 * random.normal()).round() / 8.0 }).collect();
    let labels: Vec<u8> = logits.iter().map(|h| u8::from(random.next() < 1.0 / (1.0 + (-h).exp()))).collect();
    let weights: Vec<f64> = (0..500).map(|_| random.next()).collect();
    let fit = |weights: &[f64], n_bins: usize| {
        let predictions = Input::logits(&logits, &labels).weights(weights).check().unwrap();
        Recalibrate::new(Method::Bins).n_bins(n_bins).fit(&predictions.binary().unwrap()).unwrap()
    };
    let found = fit(&weights, 7);
    let table = found.map.table.clone().unwrap();
    let total: f64 = weights.iter().sum();
    for (place, at) in table.at.iter().enumerate() {
        let end = table.at.get(place + 1).copied().unwrap_or(f64::INFINITY);
        let inside: Vec<usize> = (0..500).filter(|i| *at <= logits[*i] && logits[*i] < end).collect();
        let sum = |of: &dyn Fn(usize) -> f64| inside.iter().map(|i| of(*i)).sum::<f64>();
        let (all, squares) = (sum(&|i| weights[i]), sum(&|i| weights[i] * weights[i]));
        let n = all * all / squares;
        let expected = (n * sum(&|i| weights[i] * f64::from(labels[i])) / all + 0.5) / (n + 1.0);
        assert!((table.value[place] - expected).abs() < 1e-13, "{} {expected}", table.value[place]);
        // Without its largest tie no bin is above its share.
        let largest = inside.iter().map(|i| sum(&|j| if logits[j] == logits[*i] { weights[j] } else { 0.0 }));
        assert!(all - largest.fold(0.0, f64::max) <= total / 7.0 + 1e-9);
    }
    let doubled: Vec<f64> = weights.iter().map(|weight| 1024.0 * weight).collect();
    assert_eq!(fit(&doubled, 7).map, found.map);
    assert_eq!(fit(&weights, 1).map.table.unwrap().value.len(), 1);
}

#[test]
fn rates_of_all_bins_are_as_near_as_stated() {
    let mut random = Uniforms(11);
    let n_runs = 400;
    let mut n_held = 0;
    for _ in 0..n_runs {
        // Uniform probabilities p, of which the outcome has p²: the rate between a and b is known.
        let p: Vec<f64> = (0..600).map(|_| random.next()).collect();
        let labels: Vec<bool> = p.iter().map(|p| random.next() < p * p).collect();
        let predictions = Input::probabilities(&p, &labels).check().unwrap();
        let fit = Recalibrate::new(Method::Bins).n_bins(8).fit(&predictions.binary().unwrap()).unwrap();
        let [Note::BinsWithin { distance, level }] = fit.notes[..] else { panic!("{:?}", fit.notes) };
        assert_eq!(level, 0.95);
        let table = fit.map.table.as_ref().unwrap();
        let edge = |place: usize| match place {
            0 => 0.0,
            8 => 1.0,
            _ => 1.0 / (1.0 + (-table.at[place]).exp()),
        };
        let holds = (0..8).all(|bin| {
            let (from, to) = (edge(bin), edge(bin + 1));
            let rate = (to.powi(3) - from.powi(3)) / (3.0 * (to - from));
            (table.value[bin] - rate).abs() <= distance
        });
        n_held += u32::from(holds);
    }
    assert!(f64::from(n_held) >= 0.95 * f64::from(n_runs), "{n_held}");
    let text = Note::BinsWithin { distance: 0.1234, level: 0.95 }.to_string();
    let expected = "With probability 0.95, the outcome rates of all bins on new rows are within 0.124 of their values; \
                    this needs independent rows and nothing else.";
    assert_eq!(text, expected);
}

#[test]
fn no_bins_are_rejected() {
    let predictions = Input::logits(&[1.0, -1.0], &[1, 0]).check().unwrap();
    let text = Recalibrate::new(Method::Bins).n_bins(0).fit(&predictions.binary().unwrap()).unwrap_err().to_string();
    assert_eq!(text, "n_bins must be at least 1, got 0");
}
