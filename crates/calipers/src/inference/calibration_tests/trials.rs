//! Rows grouped by probability and weight: a sufficient statistic for tests of calibration, and the
//! unit in which outcomes are drawn.

use std::collections::BTreeMap;

use crate::Error;
use crate::data::BinaryView;
use crate::link::Link;
use crate::measures::{Group, Probabilities};
use crate::numerics::binomial::binomial;
use crate::numerics::random::Uniforms;
use crate::sketch::{CellRows, Sketch};

/// Above this number, trials of nearly the same probability are drawn together: then the cost of a
/// draw does not grow with the number of rows.
const MOST_EXACT: usize = 8192;

/// Cells of arcsin √p in which that happens. Within a cell the variance of p is below 1e-7 of
/// p (1 - p), also next to 0 and 1, so the distribution is binomial for all practical purposes.
const N_CELLS: f64 = 4096.0;

/// Rows of one probability and one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::inference) struct Trials {
    /// In [0, 1].
    pub(in crate::inference) p: f64,
    /// In (0, 1]: weights are divided by the largest.
    pub(in crate::inference) weight: f64,
    pub(in crate::inference) n: u64,
    /// Of the n, those with outcome 1.
    pub(in crate::inference) n_positive: u64,
    /// Which of the distinct probabilities, or cells, from 0.
    pub(in crate::inference) place: usize,
    /// The test's own bin.
    pub(in crate::inference) bin: usize,
}

impl Trials {
    /// Σ w (y - p), had `count` rows outcome 1.
    pub(in crate::inference) fn residual(&self, count: u64) -> f64 {
        self.weight * (count as f64 * (1.0 - self.p) - (self.n - count) as f64 * self.p)
    }

    /// Σ w² (y - p)².
    pub(in crate::inference) fn squares(&self, count: u64) -> f64 {
        let (p, q) = (self.p, 1.0 - self.p);
        self.weight * self.weight * (count as f64 * q * q + (self.n - count) as f64 * p * p)
    }

    /// Σ w.
    pub(in crate::inference) fn total_weight(&self) -> f64 {
        self.weight * self.n as f64
    }

    /// Σ w² p (1 - p): the variance of the residual.
    pub(in crate::inference) fn variance(&self) -> f64 {
        self.weight * self.weight * self.n as f64 * self.p * (1.0 - self.p)
    }
}

/// All rows that have weight, in ascending order of their probability.
pub(in crate::inference) struct TrialSet(pub(in crate::inference) Vec<Trials>);

impl TrialSet {
    pub(in crate::inference) fn read(view: &BinaryView<'_>, link: &dyn Link) -> Result<Self, Error> {
        let probabilities = Probabilities::new(view, link)?;
        let mut all = if view.is_weighted() { weighted(&probabilities) } else { counted(probabilities.groups()) };
        if all.is_empty() {
            return Err(Error::ZeroWeights { n_rows: view.len() as u64 });
        }
        let mut place = 0;
        for index in 1..all.len() {
            place += usize::from(all[index].p != all[index - 1].p);
            all[index].place = place;
        }
        Ok(TrialSet(all))
    }

    /// The rows of a sketch, cell by cell; under weights as many as would say as much if they were
    /// equal.
    pub(in crate::inference) fn of_sketch(sketch: &Sketch, link: &dyn Link) -> Result<Self, Error> {
        let cells = sketch.cell_rows(link)?;
        let weight = |cell: &CellRows| cell.share / cell.n as f64;
        let largest = cells.iter().map(weight).fold(0.0, f64::max);
        let trials = cells.iter().map(|cell| Trials {
            p: cell.p,
            weight: weight(cell) / largest,
            n: cell.n,
            n_positive: if cell.outcome { cell.n } else { 0 },
            place: cell.place,
            bin: 0,
        });
        Ok(TrialSet(trials.collect()))
    }

    /// How many outcomes 1 there are in each.
    pub(in crate::inference) fn observed(&self) -> Vec<u64> {
        self.0.iter().map(|trials| trials.n_positive).collect()
    }

    /// A draw of the number of outcomes 1 in each, for calibrated predictions.
    pub(in crate::inference) fn draw(&self, uniforms: &mut Uniforms) -> Vec<u64> {
        self.0.iter().map(|trials| binomial(uniforms, trials.n, trials.p)).collect()
    }

    /// A set that is as good for drawing: itself if it is small, else cells within the test's bins.
    /// Weights that differ by less than a fifth are taken as their mean.
    pub(in crate::inference) fn to_draw_from(&self) -> TrialSet {
        if self.0.len() <= MOST_EXACT {
            return TrialSet(self.0.clone());
        }
        let cell = |trials: &Trials| {
            let angle = trials.p.sqrt().asin() / std::f64::consts::FRAC_PI_2;
            (trials.bin, (angle * N_CELLS) as u64)
        };
        let mut merged = Vec::new();
        for (place, trials) in self.0.chunk_by(|a, b| cell(a) == cell(b)).enumerate() {
            let mut classes: BTreeMap<i32, Trials> = BTreeMap::new();
            for trials in trials {
                let class = (4.0 * trials.weight.log2()).max(-200.0) as i32;
                let empty = Trials { p: 0.0, weight: 0.0, n: 0, n_positive: 0, place, bin: trials.bin };
                let sums = classes.entry(class).or_insert(empty);
                sums.p += trials.n as f64 * trials.p;
                sums.weight += trials.total_weight();
                sums.n += trials.n;
                sums.n_positive += trials.n_positive;
            }
            merged.extend(classes.into_values().map(|sums| {
                let n = sums.n as f64;
                Trials { p: (sums.p / n).min(1.0), weight: sums.weight / n, ..sums }
            }));
        }
        TrialSet(merged)
    }
}

fn counted(groups: Vec<Group>) -> Vec<Trials> {
    let trials = |group: Group| Trials {
        p: group.p,
        weight: 1.0,
        n: group.n,
        n_positive: group.positive as u64,
        place: 0,
        bin: 0,
    };
    groups.into_iter().map(trials).collect()
}

fn weighted(probabilities: &Probabilities<'_>) -> Vec<Trials> {
    let rows = probabilities.all();
    let with_weight =
        rows.scores.iter().zip(&rows.weights).zip(&rows.outcomes).filter(|((_, weight), _)| **weight > 0.0);
    // Bits of numbers that are not negative are in their order; adding 0 turns -0 into 0.
    let mut rows: Vec<(u64, u64, bool)> =
        with_weight.map(|((p, weight), outcome)| ((p + 0.0).to_bits(), weight.to_bits(), *outcome)).collect();
    rows.sort_unstable();
    let trials = |rows: &[(u64, u64, bool)]| Trials {
        p: f64::from_bits(rows[0].0),
        weight: f64::from_bits(rows[0].1),
        n: rows.len() as u64,
        n_positive: rows.iter().filter(|row| row.2).count() as u64,
        place: 0,
        bin: 0,
    };
    rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(trials).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::link::Logistic;

    #[test]
    fn rows_are_pooled_by_probability_and_weight_and_those_without_weight_left_out() {
        let predictions =
            Input::probabilities(&[0.5, 0.2, 0.5, 0.5, 0.9], &[1, 0, 0, 1, 1]).weights(&[2.0, 1.0, 2.0, 4.0, 0.0]);
        let predictions = predictions.check().unwrap();
        let TrialSet(trials) = TrialSet::read(&predictions.binary().unwrap(), &Logistic).unwrap();
        let short: Vec<_> = trials.iter().map(|t| (t.p, t.weight, t.n, t.n_positive, t.place)).collect();
        assert_eq!(short, [(0.2, 0.25, 1, 0, 0), (0.5, 0.5, 2, 1, 1), (0.5, 1.0, 1, 1, 1)]);
    }

    #[test]
    fn cells_keep_counts_sums_and_variances() {
        let n = 50_000;
        let p: Vec<f64> = (0..n).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract().powi(4)).collect();
        let y: Vec<bool> = (0..n).map(|k| k % 7 == 0).collect();
        let w: Vec<f64> = (0..n).map(|k| 1.0 + f64::from(k % 13)).collect();
        for weighted in [false, true] {
            let input = Input::probabilities(&p, &y);
            let predictions = if weighted { input.weights(&w) } else { input }.check().unwrap();
            let rows = TrialSet::read(&predictions.binary().unwrap(), &Logistic).unwrap();
            let cells = rows.to_draw_from();
            assert!(cells.0.len() < rows.0.len());
            let sum = |set: &TrialSet, of: fn(&Trials) -> f64| set.0.iter().map(of).sum::<f64>();
            let counts: [fn(&Trials) -> f64; 3] = [|t| t.n as f64, |t| t.n_positive as f64, |t| t.n as f64 * t.p];
            for of in counts.into_iter().chain([Trials::total_weight as fn(&Trials) -> f64]) {
                assert!((sum(&cells, of) / sum(&rows, of) - 1.0).abs() < 1e-12);
            }
            // Weights within a class differ by up to a fifth, which adds at most 1 %.
            let ratio = sum(&cells, Trials::variance) / sum(&rows, Trials::variance);
            assert!((ratio - 1.0).abs() < if weighted { 0.01 } else { 1e-6 }, "{ratio}");
        }
    }
}
