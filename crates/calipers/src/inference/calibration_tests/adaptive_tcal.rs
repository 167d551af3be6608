//! T-Cal's adaptive test, with a p-value.

use std::cmp::Reverse;

use super::resampling::{Null, null_setters};
use super::trials::TrialSet;
use super::{CalibrationTest, TestResult};
use crate::Error;
use crate::data::BinaryView;
use crate::measure::Settings;
use crate::setters::setters;

/// Rows for each bin of the finest scale, at least.
const ROWS_PER_BIN: usize = 8;

/// T-Cal's adaptive test: the squared calibration error in 2, 4, 8, ... bins, judged by the scale
/// at which it is most surprising.
///
/// # Definition
/// ```text
/// T_m = Σ_b ( (Σ_{i in b} w_i r_i)² - Σ_{i in b} w_i² r_i² ) / W_b        r_i = y_i - p_i, m bins [(b-1)/m, b/m), the last closed
/// p_m = share of draws, with the data among them, whose T_m is at least that of the data
/// statistic = min over m = 2, 4, 8, ..., M of p_m
/// ```
/// T_m is [`TCal`](crate::TCal). M is the largest power of 2 with at least 8 rows for each bin,
/// from 2 to 4,096. In a draw each outcome is 1 with its predicted probability. Since the smallest
/// of several p-values is small by itself, the p-value is the share of draws whose own smallest p_m
/// is as small; among equal ones the second smallest decides, and so on.
///
/// The authors' code tests each scale at the level divided by the number of scales, draws anew for
/// each, and returns yes or no. Here all scales share their draws, so that their dependence is used
/// and there is a p-value.
///
/// # Assumptions
/// Independent rows. Bins are of equal width: if all probabilities are near 1, only the finest
/// scales tell them apart. Products of a row with itself are left out, so that one single outcome
/// that was predicted to be impossible is not detected.
///
/// # Cost
/// O(n log n) time for a sort, and for each draw as many binomial numbers as there are distinct
/// probabilities, at most about 8,000: it does not grow with n.
///
/// # Accuracy
/// Statistical: the size is exact for any n, but for rounding and for what is written at the cost
/// (probabilities within 1 / 2,600 of each other are drawn together where there are more than 8,192
/// distinct ones). The p-value is one of 1/(R+1), 2/(R+1), ... for R draws.
///
/// # Reference
/// Lee, Huang, Hassani, Dobriban, "T-Cal: an optimal test for the calibration of predictive
/// models", JMLR 24, 2023.
///
/// # Example
/// Predictions of 0.2 and 0.8 for outcomes that are as frequent everywhere.
/// ```
/// use calipers::Input;
/// use calipers::inference::calibration_tests::{AdaptiveTCal, CalibrationTest};
///
/// let p: Vec<f64> = (0..100).map(|k| if k < 50 { 0.2 } else { 0.8 }).collect();
/// let y: Vec<bool> = (0..100).map(|k| k % 2 == 0).collect();
/// let predictions = Input::probabilities(&p, &y).check()?;
/// let result = AdaptiveTCal::new().test(&predictions.binary()?)?;
/// assert_eq!(result.p_value, 0.001);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AdaptiveTCal {
    most_bins: usize,
    null: Null,
}

impl Default for AdaptiveTCal {
    fn default() -> Self {
        AdaptiveTCal { most_bins: 4096, null: Null::default() }
    }
}

impl AdaptiveTCal {
    /// Up to 4,096 bins, 999 resamples with seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The largest number of bins of the finest scale, however many rows there are.
        most_bins: usize;
    }

    null_setters! {}
}

/// How many scales there are, of 2, 4, 8, ... bins.
fn n_scales(n: usize, most_bins: usize) -> u32 {
    (n / ROWS_PER_BIN).min(most_bins).max(2).ilog2()
}

/// T_m of all scales, from the finest to 2 bins, for these numbers of outcomes 1; times the total
/// weight.
///
/// `weights` are the bins' at the finest scale.
fn statistics(set: &TrialSet, counts: &[u64], weights: &[f64]) -> Vec<f64> {
    let mut bins: Vec<[f64; 3]> = weights.iter().map(|weight| [0.0, 0.0, *weight]).collect();
    for (trials, count) in set.0.iter().zip(counts) {
        bins[trials.bin][0] += trials.residual(*count);
        bins[trials.bin][1] += trials.squares(*count);
    }
    let of_bin = |[residual, squares, weight]: &[f64; 3]| {
        if *weight > 0.0 { (residual * residual - squares) / weight } else { 0.0 }
    };
    let mut all = Vec::new();
    while bins.len() > 1 {
        all.push(bins.iter().map(of_bin).sum());
        let (pairs, _) = bins.as_chunks::<2>();
        bins = pairs.iter().map(|[a, b]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]).collect();
    }
    all
}

/// For each item and scale, how many items have a statistic at least as large. Statistics that
/// differ by rounding alone are equal.
fn ranks(items: &[Vec<f64>], total_weight: f64) -> Vec<Vec<u32>> {
    let unit = total_weight * 2f64.powi(-44);
    let rounded = |item: &Vec<f64>, scale: usize| (item[scale] / unit).round();
    let mut ranks = vec![Vec::new(); items.len()];
    for scale in 0..items[0].len() {
        let mut descending: Vec<f64> = items.iter().map(|item| rounded(item, scale)).collect();
        descending.sort_unstable_by(|a, b| b.total_cmp(a));
        for (item, ranks) in items.iter().zip(&mut ranks) {
            let value = rounded(item, scale);
            ranks.push(descending.partition_point(|other| *other >= value) as u32);
        }
    }
    ranks
}

impl CalibrationTest for AdaptiveTCal {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        self.null.check()?;
        Error::require((2..=1 << 20).contains(&self.most_bins), "most_bins", "from 2 to 1048576", self.most_bins)?;
        let mut set = TrialSet::read(view, &*self.null.link)?;
        let n_scales = n_scales(view.len(), self.most_bins);
        let n_bins = 1usize << n_scales;
        for trials in &mut set.0 {
            // Exact, since the number of bins is a power of 2.
            trials.bin = ((trials.p * n_bins as f64) as usize).min(n_bins - 1);
        }
        let cells = set.to_draw_from();
        let mut weights = vec![0.0; n_bins];
        cells.0.iter().for_each(|trials| weights[trials.bin] += trials.total_weight());
        let total_weight = weights.iter().sum();
        // The data come first.
        let mut items = vec![statistics(&cells, &cells.observed(), &weights)];
        items.extend(self.null.of_draws(&cells, |counts| statistics(&cells, counts, &weights)));
        let mut ranks = ranks(&items, total_weight);
        let smallest = ranks[0].iter().copied().min().unwrap_or(0);
        // Of equal ones the coarsest, which comes last.
        let at = ranks[0].iter().enumerate().min_by_key(|(scale, rank)| (**rank, Reverse(*scale)));
        let coarser = n_scales - 1 - at.map_or(0, |(scale, _)| scale as u32);
        ranks.iter_mut().for_each(|ranks| ranks.sort_unstable());
        let n_extreme = ranks.iter().filter(|other| **other <= ranks[0]).count();
        let n_items = items.len() as f64;
        let settings = Settings::default()
            .with("n_bins", 2u64 << coarser)
            .with("n_bins_finest", n_bins as u64)
            .with("link", self.null.link.name());
        Ok(TestResult {
            test: "tcal_adaptive",
            statistic: f64::from(smallest) / n_items,
            p_value: n_extreme as f64 / n_items,
            degrees_of_freedom: None,
            n: view.len() as u64,
            settings: self.null.resampling(settings),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Logistic;
    use crate::{Input, Measure, TCal};

    #[test]
    fn all_scales_at_once_are_tcal_scale_by_scale() {
        let p: Vec<f64> = (0..300).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract()).collect();
        let y: Vec<bool> = (0..300).map(|k| k % 3 == 0).collect();
        let w: Vec<f64> = (0..300).map(|k| 1.0 + f64::from(k % 4)).collect();
        let predictions = Input::probabilities(&p, &y).weights(&w).check().unwrap();
        let view = predictions.binary().unwrap();
        let mut set = TrialSet::read(&view, &Logistic).unwrap();
        set.0.iter_mut().for_each(|trials| trials.bin = (trials.p * 32.0) as usize);
        let mut weights = vec![0.0; 32];
        set.0.iter().for_each(|trials| weights[trials.bin] += trials.total_weight());
        let total: f64 = weights.iter().sum();
        let all = statistics(&set, &set.observed(), &weights);
        for (value, n_bins) in all.iter().zip([32, 16, 8, 4, 2]) {
            let expected = TCal::new(n_bins).estimate(&view).unwrap().value;
            assert!((value / total - expected).abs() < 1e-14, "{n_bins}: {} {expected}", value / total);
        }
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn scales_go_up_to_eight_rows_for_each_bin() {
        assert_eq!([1, 31, 32, 500, 5000, 1 << 15, 1 << 30].map(|n| n_scales(n, 4096)), [1, 1, 2, 5, 9, 12, 12]);
    }

    #[test]
    fn ranks_count_what_is_at_least_as_large() {
        let items = [vec![3.0], vec![1.0], vec![3.0 + 1e-16], vec![5.0]];
        assert_eq!(ranks(&items, 1.0), [[3], [4], [3], [1]]);
    }
}
