//! Rows of classes in an order of their own, for fits whose sums are too many for integers.
//!
//! # The same bits for any order of rows and classes
//! A hash of a row's scores, label and weight that does not depend on the order of classes is added
//! up over rows to a key of each class, which does not depend on the order of rows: classes are
//! sorted by these keys, and then rows by their content in this order of classes. All that follows
//! is computed in that order, in chunks of a fixed size. So other orders of rows and classes, and
//! other numbers of threads, give the same bits. Classes with equal keys have the same scores in
//! the same kinds of rows, so that exchanging them changes nothing; only if the 64 bits of two
//! different classes agree by chance, or rows are so regular that the keys cannot tell apart
//! classes which are not exchangeable, can an order of classes change the last digits.

use std::cmp::Ordering;

use crate::data::ClassScores;
use crate::numerics::parallel;
use crate::recalibrate::verdict::folds::mixed;

/// All rows with weight, in order.
pub(crate) struct Panel {
    pub(crate) n_classes: usize,
    /// Raw scores, row after row.
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<u32>,
    /// As [`ClassScores::weight`] has them.
    pub(crate) weights: Vec<f64>,
    /// Where each row was.
    pub(crate) rows: Vec<u32>,
    /// Which class each one was.
    pub(crate) classes: Vec<usize>,
}

impl Panel {
    pub(crate) fn new(scores: &ClassScores<'_>) -> Self {
        let k = scores.n_classes();
        let classes = class_order(scores);
        let mut place = vec![0; k];
        classes.iter().enumerate().for_each(|(at, class)| place[*class] = at);
        let content = |index: usize| {
            let mut row = vec![0.0; k];
            scores.read_row(index, &mut row);
            let sorted: Vec<f64> = classes.iter().map(|class| row[*class] + 0.0).collect();
            (place[scores.labels[index] as usize] as u32, sorted)
        };
        let salts: Vec<u64> = place.iter().map(|place| mixed(*place as u64)).collect();
        let chunks = parallel::map_chunks(scores.len(), parallel::chunk_of(scores.len()), |range| {
            let mut row = vec![0.0; k];
            let mut keys = Vec::with_capacity(range.len());
            for index in range.filter(|index| scores.weight(*index) > 0.0) {
                scores.read_row(index, &mut row);
                let salted = |(score, salt): (&f64, &u64)| mixed((score + 0.0).to_bits() ^ salt);
                let sum = row.iter().zip(&salts).map(salted).fold(0, u64::wrapping_add);
                let label = place[scores.labels[index] as usize] as u64;
                let rest = mixed(scores.weight(index).to_bits()).wrapping_add(label);
                keys.push((mixed(sum.wrapping_add(rest)), index as u32));
            }
            keys
        });
        let mut keys: Vec<(u64, u32)> = chunks.concat();
        keys.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                let (one, other) = (content(a.1 as usize), content(b.1 as usize));
                let scores_differ = one.1.iter().zip(&other.1).map(|(a, b)| a.total_cmp(b));
                let by_scores = scores_differ.fold(Ordering::Equal, Ordering::then);
                let weights = [a, b].map(|key| scores.weight(key.1 as usize));
                one.0.cmp(&other.0).then(by_scores).then(weights[0].total_cmp(&weights[1]))
            })
        });
        let rows: Vec<u32> = keys.into_iter().map(|(_, index)| index).collect();
        let chunks = parallel::map_chunks(rows.len(), parallel::chunk_of(rows.len()), |range| {
            let mut row = vec![0.0; k];
            let mut sorted = Vec::with_capacity(range.len() * k);
            for at in range {
                scores.read_row(rows[at] as usize, &mut row);
                sorted.extend(classes.iter().map(|class| row[*class] + 0.0));
            }
            sorted
        });
        Panel {
            n_classes: k,
            scores: chunks.concat(),
            labels: rows.iter().map(|row| place[scores.labels[*row as usize] as usize] as u32).collect(),
            weights: rows.iter().map(|row| scores.weight(*row as usize)).collect(),
            rows,
            classes,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, at: usize) -> &[f64] {
        &self.scores[at * self.n_classes..(at + 1) * self.n_classes]
    }
}

/// A hash of each row that depends neither on its place nor on the order of classes.
pub(crate) fn row_hashes(scores: &ClassScores<'_>) -> Vec<u64> {
    let chunks = parallel::map_chunks(scores.len(), parallel::chunk_of(scores.len()), |range| {
        let mut entries = Entries::new(scores);
        range.map(|index| entries.read(index)).collect::<Vec<u64>>()
    });
    chunks.concat()
}

/// Hashes of the entries of one row after the other.
struct Entries<'a> {
    scores: &'a ClassScores<'a>,
    row: Vec<f64>,
    of_class: Vec<u64>,
}

impl<'a> Entries<'a> {
    fn new(scores: &'a ClassScores<'a>) -> Self {
        Entries { scores, row: vec![0.0; scores.n_classes()], of_class: vec![0; scores.n_classes()] }
    }

    /// Reads a row, and returns its own hash.
    fn read(&mut self, index: usize) -> u64 {
        let label = self.scores.labels[index] as usize;
        self.scores.read_row(index, &mut self.row);
        let entries = self.of_class.iter_mut().zip(&self.row).enumerate();
        entries.for_each(|(class, (entry, score))| *entry = of_entry(*score, class == label));
        let sum = self.of_class.iter().copied().fold(0, u64::wrapping_add);
        mixed(sum.wrapping_add(self.scores.weight(index).to_bits()))
    }
}

fn of_entry(score: f64, is_label: bool) -> u64 {
    mixed(mixed((score + 0.0).to_bits()).wrapping_add(u64::from(is_label)))
}

/// Classes in the order of keys that do not depend on their order.
fn class_order(scores: &ClassScores<'_>) -> Vec<usize> {
    let k = scores.n_classes();
    let chunks = parallel::map_chunks(scores.len(), parallel::chunk_of(scores.len()), |range| {
        let mut entries = Entries::new(scores);
        let mut keys = vec![0u64; k];
        for index in range.filter(|index| scores.weight(*index) > 0.0) {
            let of_row = entries.read(index);
            let parts = keys.iter_mut().zip(&entries.of_class);
            parts.for_each(|(key, entry)| *key = key.wrapping_add(mixed(of_row ^ entry)));
        }
        keys
    });
    let mut keys = vec![0u64; k];
    chunks.iter().for_each(|part| keys.iter_mut().zip(part).for_each(|(key, part)| *key = key.wrapping_add(*part)));
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by_key(|class| keys[*class]);
    order
}
