//! ECE with many binnings of the same rows, from prefix sums of residuals: O(n) for all of them.

use calipers::{BinnedEce, Error, Input, Strategy};

use super::rules::{BINS, USUAL_BINS};

/// Rows in ascending order of their probability.
pub(super) struct Sorted {
    pub(super) probabilities: Vec<f64>,
    pub(super) outcomes: Vec<bool>,
}

impl Sorted {
    /// From pairs of probability and outcome in any order.
    pub(super) fn new(probabilities: &[f64], outcomes: &[bool]) -> Self {
        let mut order: Vec<usize> = (0..probabilities.len()).collect();
        order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]).then(outcomes[*a].cmp(&outcomes[*b])));
        Sorted {
            probabilities: order.iter().map(|row| probabilities[*row]).collect(),
            outcomes: order.iter().map(|row| outcomes[*row]).collect(),
        }
    }

    /// How many different probabilities there are.
    pub(super) fn n_distinct(&self) -> u64 {
        self.probabilities.chunk_by(|a, b| a == b).count() as u64
    }

    /// Σ of y - p over the rows before each place, with outcomes that `outcome` gives.
    pub(super) fn cumulated(&self, mut outcome: impl FnMut(usize, f64) -> bool) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.probabilities.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        for (row, &p) in self.probabilities.iter().enumerate() {
            sum += f64::from(u8::from(outcome(row, p))) - p;
            sums.push(sum);
        }
        sums
    }
}

/// Where the bins of every binning end, as places in the order of the rows.
pub(super) struct Binnings {
    /// With bins of equal width, for each of [`BINS`].
    width: Vec<Vec<usize>>,
    /// With bins of equal mass.
    mass: Vec<Vec<usize>>,
    /// With [`USUAL_BINS`] of equal width.
    usual: Vec<usize>,
}

/// ECE of the same rows with every binning.
pub(super) struct Eces {
    pub(super) width: Vec<f64>,
    pub(super) mass: Vec<f64>,
    pub(super) usual: f64,
}

impl Binnings {
    /// The bins of [`BinnedEce`], so that ties and edges are treated as everywhere else.
    pub(super) fn new(rows: &Sorted) -> Result<Self, Error> {
        let predictions = Input::probabilities(&rows.probabilities, &rows.outcomes).check()?;
        let view = predictions.binary()?;
        let ends = |n_bins: usize, strategy: Strategy| {
            let bins = BinnedEce::new().n_bins(n_bins).strategy(strategy).bins(&view)?;
            let end = bins.iter().scan(0, |end, bin| {
                *end += bin.n as usize;
                Some(*end)
            });
            Ok::<Vec<usize>, Error>(end.collect())
        };
        let all = |strategy: Strategy| BINS.iter().map(|n_bins| ends(*n_bins, strategy)).collect::<Result<_, _>>();
        Ok(Binnings {
            width: all(Strategy::Uniform)?,
            mass: all(Strategy::Quantile)?,
            usual: ends(USUAL_BINS, Strategy::Uniform)?,
        })
    }

    /// Of rows whose residuals have these [cumulated](Sorted::cumulated) sums.
    pub(super) fn eces(&self, sums: &[f64]) -> Eces {
        let n = (sums.len() - 1).max(1) as f64;
        let ece = |ends: &Vec<usize>| {
            let mut start = 0;
            let total: f64 = ends.iter().map(|&end| (sums[end] - sums[std::mem::replace(&mut start, end)]).abs()).sum();
            total / n
        };
        Eces {
            width: self.width.iter().map(ece).collect(),
            mass: self.mass.iter().map(ece).collect(),
            usual: ece(&self.usual),
        }
    }

    /// The sign of the gap of each row's bin, with [`USUAL_BINS`]: by it the row's residual moves
    /// ECE.
    pub(super) fn signs(&self, sums: &[f64]) -> Vec<f64> {
        let mut signs = Vec::with_capacity(sums.len());
        let mut start = 0;
        for &end in &self.usual {
            let gap = sums[end] - sums[start];
            signs.extend(std::iter::repeat_n(if gap < 0.0 { -1.0 } else { 1.0 }, end - start));
            start = end;
        }
        signs
    }
}

impl Eces {
    /// What question a looks at: the range over bins of equal width, the range over bins of equal
    /// mass, and the largest difference between the two.
    pub(super) fn distances(&self) -> [f64; 3] {
        let range = |values: &[f64]| {
            let (least, most) = crate::summary::extent(values.iter().copied());
            most - least
        };
        let apart = self.width.iter().zip(&self.mass).map(|(width, mass)| (width - mass).abs()).fold(0.0, f64::max);
        [range(&self.width), range(&self.mass), apart]
    }
}

#[cfg(test)]
mod tests {
    use calipers::Measure;

    use super::*;
    use crate::replicates::Stream;

    #[test]
    fn every_binning_has_the_ece_of_the_measure() {
        let mut stream = Stream::new(3);
        for (n, levels) in [(1, 0.0), (7, 3.0), (500, 0.0), (2_000, 17.0)] {
            let draw = |stream: &mut Stream| match stream.uniform() {
                p if levels > 0.0 => (p * levels).floor() / levels,
                p => p,
            };
            let p: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
            let y: Vec<bool> = p.iter().map(|p| stream.uniform() < p * p).collect();
            let rows = Sorted::new(&p, &y);
            let found = Binnings::new(&rows).unwrap().eces(&rows.cumulated(|row, _| rows.outcomes[row]));
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            let view = predictions.binary().unwrap();
            for (place, &n_bins) in BINS.iter().enumerate() {
                for (strategy, own) in
                    [(Strategy::Uniform, found.width[place]), (Strategy::Quantile, found.mass[place])]
                {
                    let true_one = BinnedEce::new().n_bins(n_bins).strategy(strategy).estimate(&view).unwrap().value;
                    assert!((own - true_one).abs() < 1e-12, "n = {n}, {n_bins} bins, {strategy:?}");
                }
            }
            let usual = BinnedEce::new().estimate(&view).unwrap().value;
            assert!((found.usual - usual).abs() < 1e-12);
        }
    }
}
