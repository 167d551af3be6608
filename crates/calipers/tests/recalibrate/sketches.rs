//! Fits from sketches against fits of the rows.

use calipers::recalibrate::{BinaryMap, Fit, Method, Note, Recalibrate};
use calipers::{Input, Sample, Sketch, SketchOptions};

use crate::fixtures::{Uniforms, binary};

struct Rows {
    logits: Vec<f64>,
    labels: Vec<bool>,
    weights: Vec<f64>,
}

fn rows(n: usize, seed: u64, weighted: bool) -> Rows {
    let mut random = Uniforms(seed);
    let mut rows = Rows { logits: Vec::new(), labels: Vec::new(), weights: Vec::new() };
    for _ in 0..n {
        let h = 0.3 + 1.8 * random.normal();
        rows.logits.push(h);
        rows.labels.push(random.next() < 1.0 / (1.0 + (0.2 - 0.7 * h).exp()));
        rows.weights.push(if weighted { 0.1 + 2.0 * random.next() } else { 1.0 });
    }
    rows
}

impl Rows {
    fn part(&self, part: usize, n_parts: usize) -> Rows {
        let places = (0..self.logits.len()).filter(|i| i % n_parts == part);
        Rows {
            logits: places.clone().map(|i| self.logits[i]).collect(),
            labels: places.clone().map(|i| self.labels[i]).collect(),
            weights: places.map(|i| self.weights[i]).collect(),
        }
    }

    fn input(&self) -> Input<'_> {
        let input = Input::logits(&self.logits, &self.labels);
        if self.weights.iter().all(|weight| *weight == 1.0) { input } else { input.weights(&self.weights) }
    }

    fn sketch(&self, resolution: u32) -> Sketch {
        let mut sketch = Sketch::with(&SketchOptions::new().resolution(resolution)).unwrap();
        sketch.update(&self.input().check().unwrap().binary().unwrap()).unwrap();
        sketch
    }

    fn fit(&self, options: &Recalibrate) -> Fit<BinaryMap> {
        options.fit(&self.input().check().unwrap().binary().unwrap()).unwrap()
    }
}

fn distance_of(fit: &Fit<BinaryMap>) -> f64 {
    let distance = fit.notes.iter().find_map(|note| match note {
        Note::FromCells { distance, .. } => *distance,
        _ => None,
    });
    distance.expect("a note about cells")
}

const FORMULAS: [(Method, f64); 6] = [
    (Method::Shift, 0.0),
    (Method::Temperature, 0.0),
    (Method::Platt, 0.0),
    (Method::Platt, 2.0),
    (Method::Beta, 0.0),
    (Method::Beta, 2.0),
];

#[test]
fn parameters_are_within_their_bound_of_those_of_the_rows() {
    for (case, (n, weighted)) in [(300, false), (4000, true), (20_000, false)].into_iter().enumerate() {
        let rows = rows(n, case as u64 + 1, weighted);
        for resolution in [6, 8, 10, 12, 16] {
            let sketch = rows.sketch(resolution);
            for (method, ridge) in FORMULAS {
                let options = Recalibrate::new(method).ridge(ridge);
                let (exact, found) = (rows.fit(&options), options.fit(&sketch).unwrap());
                let distance = distance_of(&found);
                let what = format!("{method:?} with ridge {ridge}, {n} rows at {resolution}");
                for (exact, found) in exact.parameters.iter().zip(&found.parameters) {
                    let away = (exact.value - found.value).abs();
                    assert!(away <= distance + 1e-12, "{what}: {away} {distance}");
                    let [one, other] = [exact, found].map(|parameter| parameter.standard_error.unwrap());
                    assert!((one / other - 1.0).abs() < 0.01, "{what}: {one} {other}");
                }
                assert!((exact.effective_n / found.effective_n - 1.0).abs() < 1e-6, "{what}");
                assert!((exact.log_loss_after - found.log_loss_after).abs() < 1e-5, "{what}");
                // Not so wide that it says nothing.
                let most = if resolution >= 10 { 1e-4 } else { 0.2 };
                let bound = found.bound.standard_errors;
                assert!(bound < most, "{what}: {bound}");
                if resolution >= 12 {
                    assert!(distance < 1e-6, "{what}: {distance}");
                }
            }
        }
    }
}

#[test]
fn merged_parts_give_the_same_bits() {
    for weighted in [false, true] {
        let rows = rows(3000, 9, weighted);
        let merged = |n_parts: usize| {
            let mut all = rows.part(0, n_parts).sketch(12);
            (1..n_parts).for_each(|part| all.merge(&rows.part(part, n_parts).sketch(12)).unwrap());
            all
        };
        let sketches = [1, 7, 64].map(merged);
        for method in Method::ALL {
            // Weights with many digits are no numbers of rows.
            if method.is_of_classes() || weighted && method == Method::VennAbers {
                continue;
            }
            let options = Recalibrate::new(method);
            let first = options.fit(&sketches[0]).unwrap();
            for sketch in &sketches[1..] {
                assert_eq!(options.fit(sketch).unwrap(), first, "{method:?}");
            }
        }
    }
}

/// Rows with their scores rounded to the mean of their cell, as the definition of cells has it.
fn rounded(rows: &Rows, resolution: u32) -> Rows {
    let place = |h: f64| {
        let q = 1.0 / (1.0 + h.abs().exp());
        (h > 0.0, q.to_bits() >> (52 - resolution), q)
    };
    let mean = |h: f64| {
        let (upper, cell, _) = place(h);
        let inside = rows.logits.iter().zip(&rows.weights).filter(|(other, _)| {
            let (other_upper, other_cell, _) = place(**other);
            (other_upper, other_cell) == (upper, cell)
        });
        let (mut sum, mut total) = (0.0, 0.0);
        for (other, weight) in inside {
            sum += weight * place(*other).2;
            total += weight;
        }
        let q: f64 = sum / total;
        if upper { (1.0 - q).ln() - q.ln() } else { q.ln() - (1.0 - q).ln() }
    };
    // The sums run over the same rows in the same order, so that scores of a cell are one.
    let logits = rows.logits.iter().map(|h| mean(*h)).collect();
    Rows { logits, labels: rows.labels.clone(), weights: rows.weights.clone() }
}

#[test]
fn tables_are_those_of_scores_rounded_to_their_cells() {
    for weighted in [false, true] {
        let rows = rows(1500, 5, weighted);
        for resolution in [6, 8] {
            let (sketch, of_cells) = (rows.sketch(resolution), rounded(&rows, resolution));
            for method in [Method::Isotonic, Method::CentredIsotonic, Method::Bins, Method::VennAbers] {
                if weighted && method == Method::VennAbers {
                    let text = Recalibrate::new(method).fit(&sketch).unwrap_err().to_string();
                    assert!(text.starts_with("weights must be whole numbers for venn_abers"), "{text}");
                    continue;
                }
                let options = Recalibrate::new(method);
                let (found, expected) = (options.fit(&sketch).unwrap(), of_cells.fit(&options));
                let values = |fit: &Fit<BinaryMap>| match (&fit.map.table, &fit.map.venn_abers) {
                    (Some(table), _) => [table.at.clone(), table.value.clone()],
                    (_, Some(map)) => [map.at.clone(), [&map.lower[..], &map.upper].concat()],
                    _ => panic!("no table"),
                };
                let what = format!("{method:?} at {resolution}, weighted {weighted}");
                for (found, expected) in values(&found).iter().zip(&values(&expected)) {
                    assert_eq!(found.len(), expected.len(), "{what}");
                    for (found, expected) in found.iter().zip(expected) {
                        assert!((found - expected).abs() < 1e-7, "{what}: {found} {expected}");
                    }
                }
                let width = 4.0 / 3.0 * 0.5f64.powi(resolution as i32);
                let Some(Note::FromCells { n_cells, width: widest, distance: None }) = found.notes.first() else {
                    panic!("{what}: {:?}", found.notes)
                };
                assert!(*n_cells > 100 && *widest <= width && *widest > 0.5 * width, "{what}: {widest} {width}");
            }
        }
    }
}

#[test]
fn probabilities_are_clipped_as_the_sketch_does() {
    let p = [0.0, 0.2, 1.0, 0.9, 1.0, 0.4, 0.0, 0.7];
    let labels = [0, 1, 1, 1, 0, 0, 1, 0];
    let predictions = Input::probabilities(&p, &labels).check().unwrap();
    let view = predictions.binary().unwrap();
    let mut sketch = Sketch::new();
    sketch.update(&view).unwrap();
    let options = Recalibrate::new(Method::Beta);
    let (found, exact) = (options.fit(&sketch).unwrap(), options.clip(1e-6).fit(&view).unwrap());
    assert_eq!((found.map.clip, found.n_clipped), (1e-6, 4));
    let distance = distance_of(&found);
    for (found, exact) in found.parameters.iter().zip(&exact.parameters) {
        assert!((found.value - exact.value).abs() <= distance + 1e-12, "{found:?} {exact:?}");
    }
}

#[test]
fn golden_rows_and_texts() {
    let data = binary();
    let mut sketch = Sketch::new();
    sketch.update(&data.plain().binary().unwrap()).unwrap();
    let fit = Recalibrate::new(Method::Platt).fit(&sketch).unwrap();
    assert!((fit.parameters[0].value - 0.419952469054).abs() < 1e-9, "{fit:?}");
    assert_eq!((fit.n, fit.effective_n), (400, 400.0));
    let text = Note::FromCells { n_cells: 93, width: 0.00032552, distance: Some(4.25e-10) }.to_string();
    let expected = "The rows were counted in 93 cells of at most 3.3e-4 logits: parameters are within 4.2e-10 of those \
                    that the rows give.";
    assert_eq!(text, expected);
    let text = Note::FromCells { n_cells: 93, width: 0.00032552, distance: None }.to_string();
    assert_eq!(text, "The scores of the rows were rounded to 93 cells of at most 3.3e-4 logits.");
    let identity = Recalibrate::new(Method::Identity).fit(&sketch).unwrap();
    assert!((identity.log_loss_before - 0.723760622332).abs() < 1e-9 && identity.notes.is_empty());
}

#[test]
fn what_a_sketch_cannot_answer_is_an_error() {
    let options = Recalibrate::new(Method::Platt);
    assert!(options.fit(&Sketch::new()).is_err());
    let predictions = Input::logits(&[0.5, 1.0, -1.0], &[0, 0, 0]).check().unwrap();
    let mut sketch = Sketch::new();
    sketch.update(&predictions.binary().unwrap()).unwrap();
    let text = options.fit(&sketch).unwrap_err().to_string();
    assert_eq!(text, "rows must be of both outcomes, got 3 rows of outcome 0");
    let text = options.fit(Sample::from(&sketch).clusters(&[1, 2, 3])).unwrap_err().to_string();
    assert_eq!(text, "clusters must be left out for a sketch, which has no single rows, got some");
}
