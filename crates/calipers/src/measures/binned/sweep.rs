//! Binned calibration error with as many bins as leave the outcome rates in order.

use super::specs::{NORM_L2, STRATEGY_QUANTILE};
use super::{Norm, Strategy};
use crate::measures::prelude::*;

/// Bins that a sweep may look at in all: some seconds.
const MAX_LOOKS: u64 = 1 << 31;

/// Relative difference of sums of weights that is taken for rounding.
const WEIGHT_ROUNDING: f64 = 1e-12;

measure! {
    /// ECE-sweep: binned calibration error with the most bins for which outcome rates still rise
    /// from bin to bin.
    ///
    /// # Definition
    /// For B = 2, 3, ..., n - 1 bins, stop at the first B whose outcome rates fall from one bin to
    /// the next, empty ones left out; the result is that of B - 1 bins:
    /// ```text
    /// ECE_B = (Σ_b share_b |ȳ_b - p̄_b|^q)^(1/q)        q = 1 or 2
    /// ```
    /// Equal-mass bins end at the weighted quantiles b/B, ties together: a probability is in bin ⌊B
    /// C⌋ with C the share of the weight below it, which for distinct probabilities is the rule of
    /// the authors' code. Equal-width bins are ((b-1)/B, b/B], the first closed.
    ///
    /// # Assumptions
    /// Independent rows, and a true outcome rate that rises with the probability.
    ///
    /// # Cost
    /// A sort, then from prefix sums O(log n) for each bin of each B. Bins before the first outcome
    /// 1 and behind the last outcome 0 are in order whatever B is, and are not looked at; rates
    /// that are in order row by row are so for every B, which is seen at once. With noise between
    /// these, order fails early: at 48 to 87 bins in trials with 10^6 rows. A sweep that would look
    /// at more than 2^31 bins is an error: [`max_bins`](Self::max_bins) ends it earlier.
    ///
    /// # Accuracy
    /// Numerical: compensated sums; rates of unweighted rows are compared exactly, those of
    /// weighted rows up to 1e-12. Statistical: biased less than with a fixed number of bins where
    /// the rate rises.
    ///
    /// # Reference
    /// Roelofs, Cain, Shlens, Mozer, "Mitigating Bias in Calibration Error Estimation",
    /// AISTATS 2022.
    ///
    /// # Example
    /// Two bins have rates 1/3 and 2/3; three have 0, 1 and 1/2, which falls. So two bins, whose
    /// residuals sum to 0.4 and 0.1.
    /// ```
    /// use calipers::{Measure, Input, Norm, SweepEce};
    ///
    /// let p = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8];
    /// let predictions = Input::probabilities(&p, &[0, 0, 1, 1, 0, 1]).check()?;
    /// let error = SweepEce::new().norm(Norm::L1).estimate(&predictions.binary()?)?;
    /// assert_eq!(error.settings.number("n_bins"), Some(2.0));
    /// assert!((error.value - (0.4 + 0.1) / 6.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct SweepEce {
        /// Equal-mass bins, root of the mean squared gap, as the authors' code has it.
        new;

        /// Equal width or equal mass.
        strategy: Strategy = Strategy::Quantile;

        /// [`Norm::L1`] or [`Norm::L2`].
        norm: Norm = Norm::L2;

        /// The sweep ends here at the latest; at n - 1 unless set.
        max_bins: into Option<usize> = None;

        link: Link;
    }
}

/// Groups of equal probabilities with their prefix sums.
struct Prefix {
    groups: Vec<Group>,
    strategy: Strategy,
    /// Weight and weight of outcome 1 before each group, and of all.
    weight: Vec<f64>,
    positive: Vec<f64>,
    /// Relative difference that is taken for rounding; 0 where all sums are whole numbers.
    slack: f64,
}

impl Prefix {
    fn new(groups: Vec<Group>, strategy: Strategy, is_weighted: bool) -> Self {
        let sums = |of: fn(&Group) -> f64| -> Vec<f64> {
            std::iter::once(0.0).chain(running_sums(groups.iter().map(of))).collect()
        };
        let (weight, positive) = (sums(Group::weight), sums(|group| group.positive));
        Prefix { groups, strategy, weight, positive, slack: if is_weighted { WEIGHT_ROUNDING } else { 0.0 } }
    }

    fn total(&self) -> f64 {
        self.weight[self.groups.len()]
    }

    /// The first group of a bin, or of a later one where it is empty.
    fn start(&self, bin: usize, n_bins: usize) -> usize {
        let n_groups = self.groups.len();
        if bin == 0 || bin >= n_bins {
            return if bin == 0 { 0 } else { n_groups };
        }
        match self.strategy {
            Strategy::Uniform => {
                let edge = bin as f64 / n_bins as f64;
                self.groups.partition_point(|group| group.p <= edge)
            }
            Strategy::Quantile => {
                // Reached up to rounding: weights 0.1, 0.2 and 0.3 have the bins of 1, 2 and 3.
                let level = bin as f64 * self.total() * (1.0 - self.slack);
                self.weight[..n_groups].partition_point(|before| before * (n_bins as f64) < level)
            }
        }
    }

    /// The bin of a group.
    fn bin_of(&self, group: usize, n_bins: usize) -> usize {
        let share = match self.strategy {
            Strategy::Uniform => self.groups[group].p,
            Strategy::Quantile => self.weight[group] / self.total(),
        };
        // One of the neighbours, by rounding: two comparisons tell.
        let mut bin = ((share * n_bins as f64) as usize).min(n_bins - 1);
        while bin > 0 && self.start(bin, n_bins) > group {
            bin -= 1;
        }
        while bin + 1 < n_bins && self.start(bin + 1, n_bins) <= group {
            bin += 1;
        }
        bin
    }

    /// Whether the rate from `middle` to `end` is below that from `start` to `middle`.
    fn falls(&self, start: usize, middle: usize, end: usize) -> bool {
        let of = |sums: &[f64], from: usize, to: usize| sums[to] - sums[from];
        let (weight, positive) = (of(&self.weight, start, middle), of(&self.positive, start, middle));
        let (next_weight, next_positive) = (of(&self.weight, middle, end), of(&self.positive, middle, end));
        next_positive * weight < positive * next_weight - self.slack * weight * next_weight
    }

    /// Whether no rate falls; `looks` counts the bins that were looked at.
    fn in_order(&self, n_bins: usize, (first, last): (usize, usize), looks: &mut u64) -> bool {
        let (first_bin, last_bin) = (self.bin_of(first, n_bins), self.bin_of(last, n_bins));
        // The bin before has rate 0 and the one behind has rate 1: they are in order with any.
        let mut start = self.start(first_bin, n_bins);
        let mut previous: Option<(usize, usize)> = None;
        let mut bin = first_bin;
        while bin <= last_bin {
            *looks += 1;
            let end = self.start(bin + 1, n_bins);
            if end > start {
                if let Some((before, middle)) = previous
                    && self.falls(before, middle, end)
                {
                    return false;
                }
                previous = Some((start, end));
                start = end;
                bin += 1;
            } else {
                // The bin of the next group, however many empty ones there are before it.
                bin = (bin + 1).max(self.bin_of(start, n_bins));
            }
        }
        true
    }

    /// The groups between which order can fail: from the first with an outcome 1 to the last with
    /// an outcome 0.
    fn mixed(&self) -> Option<(usize, usize)> {
        let first = self.groups.iter().position(|group| group.positive > 0.0)?;
        let last = self.groups.iter().rposition(|group| group.negative > 0.0)?;
        (first < last).then_some((first, last))
    }

    fn all_in_order(&self) -> bool {
        (1..self.groups.len()).all(|middle| !self.falls(middle - 1, middle, middle + 1))
    }

    /// The most bins whose rates are in order, with all fewer ones.
    fn sweep(&self, max_bins: usize) -> Result<usize, Error> {
        let Some(mixed) = self.mixed() else { return Ok(max_bins) };
        if self.all_in_order() {
            return Ok(max_bins);
        }
        let mut looks = 0;
        for n_bins in 2..=max_bins {
            if !self.in_order(n_bins, mixed, &mut looks) {
                return Ok(n_bins - 1);
            }
            if looks > MAX_LOOKS {
                let rule =
                    format!("set to {n_bins} or less: rates are in order up to there, and to go on takes too long");
                return Err(Error::setting("max_bins", rule, max_bins));
            }
        }
        Ok(max_bins)
    }

    /// The calibration error with so many bins.
    fn error(&self, n_bins: usize, norm: Norm) -> f64 {
        let (mut sum, total) = (Sum::default(), self.total());
        let mut start = 0;
        while start < self.groups.len() {
            let end = self.start(self.bin_of(start, n_bins) + 1, n_bins);
            let mut residual = Sum::default();
            for group in &self.groups[start..end] {
                residual.add(group.positive);
                residual.add(-group.weight() * group.p);
            }
            let weight = self.groups[start..end].iter().map(Group::weight).collect::<Sum>().value();
            sum.add(weight / total * norm.size(residual.value() / weight));
            start = end;
        }
        norm.mean(sum.value())
    }
}

entry! { SWEEP = SweepEce::new();
    Spec::error("sweep_ece", "mean gap over as many bins of equal mass as keep mean y rising")
        .title("sweep ECE")
        .family(Family::Binned)
        .reference("Roelofs, Cain, Shlens, Mozer, AISTATS 2022")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&[
            STRATEGY_QUANTILE,
            NORM_L2,
            OptionSpec::optional_count("max_bins", "The largest number of bins that is tried."),
            LINK,
        ])
}

impl Measure for SweepEce {
    described! { SWEEP.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        if self.norm == Norm::Max {
            return Err(Norm::no_maximum("for a sweep"));
        }
        Error::require(self.max_bins != Some(0), "max_bins", "at least 1", 0)?;
        let rows = Probabilities::new(view, &*self.link)?;
        let prefix = Prefix::new(rows.groups(), self.strategy, view.is_weighted());
        let most = self.max_bins.unwrap_or(usize::MAX).min(rows.len().saturating_sub(1)).max(1);
        let n_bins = prefix.sweep(most)?;
        Ok(Estimate::new(self.spec(), prefix.error(n_bins, self.norm), 32.0 * f64::EPSILON + rows.error())
            .of(view)
            .with("n_bins", n_bins as u64)
            .with("strategy", self.strategy.name())
            .with("norm", self.norm.name())
            .with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(2048)))
    }
}
