//! Rows by group: the sketch of a group is that of its rows alone, whatever the rows are.

use calipers::{Error, Input, Invalid, Multiclass, Sketch, Tally, Ties};

use crate::data::Data;

const N_GROUPS: usize = 7;

/// Groups in no order, of very different sizes; the last has no rows.
fn numbers(n: usize) -> Vec<u32> {
    (0..n).map(|row| [0, 1, 0, 2, 0, 3, 0, 4, 5, 0, 1][row * row % 11]).collect()
}

/// The values of some rows, of which each has `k`.
fn chosen<T: Clone>(values: &[T], rows: &[usize], k: usize) -> Vec<T> {
    rows.iter().flat_map(|row| values[row * k..(row + 1) * k].to_vec()).collect()
}

/// Columns as a test wants them.
#[derive(Clone, Default)]
struct Columns {
    scores: Vec<f64>,
    n_classes: usize,
    logits: bool,
    labels: Vec<i64>,
    texts: Option<Vec<String>>,
    weights: Option<Vec<f64>>,
    missing: Option<Vec<bool>>,
}

impl Columns {
    fn of(data: &Data) -> Self {
        let labels = data.y.iter().map(|y| i64::from(*y)).collect();
        Columns { scores: data.p.clone(), n_classes: 1, labels, weights: data.w.clone(), ..Columns::default() }
    }

    fn input(&self) -> Input<'_> {
        let input = match (&self.texts, self.logits) {
            (Some(texts), false) => Input::probabilities(&self.scores, texts).positive("yes"),
            (Some(texts), true) => Input::logits(&self.scores, texts).positive("yes"),
            (None, false) => Input::probabilities(&self.scores, &self.labels),
            (None, true) => Input::logits(&self.scores, &self.labels),
        };
        let input = match &self.weights {
            Some(weights) => input.weights(weights),
            None => input,
        };
        input.classes(self.n_classes).invalid(Invalid::Count).missing(self.missing.as_deref(), None, None)
    }

    fn select(&self, rows: &[usize]) -> Columns {
        Columns {
            scores: chosen(&self.scores, rows, self.n_classes),
            labels: chosen(&self.labels, rows, 1),
            texts: self.texts.as_ref().map(|texts| chosen(texts, rows, 1)),
            weights: self.weights.as_ref().map(|weights| chosen(weights, rows, 1)),
            missing: self.missing.as_ref().map(|missing| chosen(missing, rows, 1)),
            ..self.clone()
        }
    }

    /// Compares the sketches of groups, over two batches, with those of their rows alone.
    fn check(&self, what: &str) {
        let n = self.labels.len();
        let numbers = numbers(n);
        let mut sketches = vec![Sketch::new(); N_GROUPS];
        for batch in [0..n / 3, n / 3..n] {
            let rows: Vec<usize> = batch.clone().collect();
            let columns = self.select(&rows);
            let predictions = columns.input().check_batch(&mut Tally::default()).unwrap();
            let grouped = predictions.by_group(&numbers[batch], N_GROUPS, Multiclass::Auto, Ties::First).unwrap();
            assert_eq!(grouped.n_groups(), N_GROUPS);
            for (group, sketch) in sketches.iter_mut().enumerate() {
                sketch.update(&grouped.view(group)).unwrap();
            }
        }
        for (group, sketch) in sketches.iter().enumerate() {
            let rows: Vec<usize> = (0..n).filter(|row| numbers[*row] as usize == group).collect();
            let columns = self.select(&rows);
            let alone = columns.input().check_batch(&mut Tally::default()).unwrap();
            let mut expected = Sketch::new();
            expected.update(&alone.view(Multiclass::Auto, Ties::First).unwrap()).unwrap();
            assert_eq!(sketch.report(), expected.report(), "{what}, group {group}");
            assert!(sketch.to_bytes() == expected.to_bytes(), "{what}, group {group}");
        }
    }
}

#[test]
fn the_sketch_of_a_group_is_that_of_its_rows_alone() {
    for weighted in [false, true] {
        let plain = Columns::of(&Data::new(50_000, 3, weighted));
        plain.check("probabilities");
        let few = plain.select(&(0..4_000).collect::<Vec<_>>());
        let logits = few.scores.iter().map(|p| 12.0 * (p - 0.4)).collect();
        Columns { logits: true, scores: logits, ..few.clone() }.check("logits");
        let text = |label: &i64| if *label == 1 { "yes".to_owned() } else { "no".to_owned() };
        Columns { texts: Some(few.labels.iter().map(text).collect()), ..few.clone() }.check("texts");
        // Rounded, invalid and missing ones, all counted in their groups.
        let mut bad = few.clone();
        for (row, score) in bad.scores.iter_mut().enumerate() {
            *score = match row % 50 {
                7 => 1.0 + 1e-7,
                13 => -1e-8,
                19 => f64::NAN,
                23 => 1.5,
                _ => *score,
            };
        }
        bad.missing = Some((0..few.labels.len()).map(|row| row % 31 == 5).collect());
        bad.labels.iter_mut().enumerate().filter(|(row, _)| row % 41 == 1).for_each(|(_, label)| *label = 7);
        bad.check("rows left out");
        // Three classes, with ties for the top.
        let classes = |p: &f64| if *p < 0.2 { [0.4, 0.4, 0.2] } else { [(1.0 - p) / 2.0, (1.0 - p) / 2.0, *p] };
        let scores = few.scores.iter().flat_map(classes).collect();
        let labels = few.labels.iter().enumerate().map(|(row, label)| label * (row as i64 % 3)).collect();
        Columns { scores, labels, n_classes: 3, ..few }.check("classes");
    }
}

#[test]
fn groups_must_be_numbered_for_every_row() {
    let input = Input::probabilities(&[0.5, 0.25], &[0, 1]).check().unwrap();
    let error = |numbers: &[u32]| input.by_group(numbers, 2, Multiclass::Auto, Ties::First).unwrap_err();
    assert!(matches!(error(&[0]), Error::LengthMismatch { what: "groups", got: 1, expected: 2 }));
    assert_eq!(error(&[0, 2]).to_string(), "groups must be numbers below 2, got 2");
}

#[test]
fn a_batch_without_rows_has_groups_without_rows() {
    let none: [f64; 0] = [];
    let labels: [i64; 0] = [];
    let input = Input::probabilities(&none, &labels).check_batch(&mut Tally::default()).unwrap();
    let grouped = input.by_group(&[], 2, Multiclass::Auto, Ties::First).unwrap();
    assert!((0..2).all(|group| grouped.view(group).is_empty()));
}
