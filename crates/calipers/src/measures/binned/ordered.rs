//! Equal-mass bins of many sizes from rows that are sorted once: sums of all rows before each, as
//! integers.

use super::edges::{Bins, NBins};
use super::exact::fixed_point;
use super::{BinSums, BinTotals, BinnedEce};
use crate::Error;
use crate::data::BinaryView;
use crate::measure::Estimate;

/// Rows of equal weight in ascending order of their probability.
pub(crate) struct Ordered<'a> {
    probabilities: &'a [f64],
    /// Outcomes 1 among the rows before each, and among all.
    positive: Vec<u64>,
    /// Σ p over the same rows, in units of 2^-56.
    probability: Vec<u128>,
}

impl<'a> Ordered<'a> {
    pub(crate) fn new(probabilities: &'a [f64], outcomes: &[bool]) -> Self {
        let (mut positives, mut sum) = (0, 0);
        let (mut positive, mut probability) = (vec![0], vec![0]);
        positive.extend(outcomes.iter().map(|outcome| {
            positives += u64::from(*outcome);
            positives
        }));
        probability.extend(probabilities.iter().map(|p| {
            sum += u128::from(fixed_point(*p));
            sum
        }));
        Ordered { probabilities, positive, probability }
    }

    /// ECE with that many bins of equal mass, and where they start among the rows: [`BinnedEce`] of
    /// the same rows, to within rounding.
    ///
    /// `view` is what the rows are of.
    pub(crate) fn equal_mass(
        &self,
        measure: &BinnedEce,
        n_bins: usize,
        view: &BinaryView<'_>,
    ) -> Result<(Estimate, Vec<usize>), Error> {
        let n_bins = NBins::Fixed(n_bins).resolve(self.probabilities.len())?;
        let bins = Bins::of_ordered(self.probabilities, n_bins);
        let starts = bins.starts(self.probabilities);
        let sums = |bin: &[usize]| {
            let count = (bin[1] - bin[0]) as u64;
            BinSums::exact(&BinTotals {
                count,
                weight: count.into(),
                positive: (self.positive[bin[1]] - self.positive[bin[0]]).into(),
                probability: self.probability[bin[1]] - self.probability[bin[0]],
            })
        };
        let sums: Vec<BinSums> = starts.windows(2).map(sums).collect();
        Ok((measure.estimate_of_sums(view, &bins, &sums), starts))
    }
}
