//! The test of Hosmer and Lemeshow.

use super::resampling::{Null, NullDistribution, null_setters};
use super::trials::TrialSet;
use super::{CalibrationTest, TestResult};
use crate::Error;
use crate::data::BinaryView;
use crate::measure::Settings;
use crate::names::names;
use crate::numerics::chi_square;
use crate::numerics::sum::Sum;
use crate::setters::setters;

/// Outcomes of either kind that a group should expect at least, for the chi-square distribution to
/// be good.
const EXPECTED: f64 = 5.0;

/// Where groups of rows end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Quantiles {
    /// At the rows where the share of the weight passes 1/G, 2/G and so on.
    #[default]
    Mass,
    /// At quantiles that are interpolated between rows, as R's `quantile` has them by default (type
    /// 7); a group is open below and closed above, and the first is closed.
    Interpolated,
}

names! { Quantiles, "quantiles"; Mass = "mass", Interpolated = "interpolated" }

/// The test of Hosmer and Lemeshow: outcomes against predictions in groups of equal mass.
///
/// # Definition
/// ```text
/// H = Σ_g ( Σ_{i in g} w_i (y_i - p_i) )² / ( p̄_g (1 - p̄_g) Σ_{i in g} w_i² )        p̄_g = Σ w_i p_i / Σ w_i over the group
/// ```
/// Rows are in order of their probability, and one is in group ⌊G · (weight of all smaller ones) /
/// (weight of all)⌋ of G: so ties are in one group, and with many of them there are fewer groups
/// than requested. Without weights a group adds (observed - expected)² / (n p̄ (1 - p̄)).
/// [`Quantiles::Interpolated`] makes the groups of R's `hoslem.test` (package ResourceSelection),
/// for rows without weights.
///
/// The p-value is that of a chi-square distribution with one degree of freedom for each occupied
/// group, **for predictions that were not fitted on these rows**. Two fewer, as for a logistic
/// regression that was fitted on them, need [`fitted`](Self::fitted): on other predictions they
/// give a size of 6 to 15 % at 5 %, mostly 11. A group in which all predictions are 0, or all are
/// 1, counts only if an outcome contradicts them; then H is infinite and the p-value 0.
///
/// # Assumptions
/// Independent rows. Gaps that cancel inside a group are not seen. The value depends on the number
/// of groups; other tests here have none to choose.
///
/// # Cost
/// O(n log n) time for a sort. With drawn outcomes, for each draw as many binomial numbers as there
/// are distinct probabilities, at most about 8,000.
///
/// # Accuracy
/// Numerical: compensated sums, and a chi-square tail good to 1e-12 of itself. Statistical: the
/// chi-square distribution where each group expects at least 5 outcomes of either kind (by the
/// number of rows of equal weight that would say as much); else outcomes are drawn, unless
/// [`null_distribution`](Self::null_distribution) is set. For fitted predictions outcomes
/// cannot be drawn, since the fit would have to be repeated.
///
/// # Reference
/// Hosmer, Lemeshow, "Goodness of fit tests for the multiple logistic regression model",
/// Communications in Statistics 9, 1980.
///
/// # Example
/// Two groups, of which one expects 1 outcome of 2 and has 2, the other 1.5 of 2 and has 1: H = 1 /
/// 0.5 + 0.25 / 0.375.
/// ```
/// use calipers::Input;
/// use calipers::inference::calibration_tests::{CalibrationTest, HosmerLemeshow, NullDistribution};
///
/// let predictions = Input::probabilities(&[0.5, 0.5, 0.75, 0.75], &[1, 1, 1, 0]).check()?;
/// let test = HosmerLemeshow::new().n_groups(2).null_distribution(NullDistribution::Asymptotic);
/// let result = test.test(&predictions.binary()?)?;
/// assert!((result.statistic - 8.0 / 3.0).abs() < 1e-14);
/// assert_eq!(result.degrees_of_freedom, Some(2.0));
/// // With two degrees of freedom the tail is e^(-H/2).
/// assert!((result.p_value - (-4.0f64 / 3.0).exp()).abs() < 1e-12);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HosmerLemeshow {
    n_groups: usize,
    quantiles: Quantiles,
    fitted: bool,
    null: Null,
}

impl Default for HosmerLemeshow {
    fn default() -> Self {
        HosmerLemeshow { n_groups: 10, quantiles: Quantiles::Mass, fitted: false, null: Null::default() }
    }
}

impl HosmerLemeshow {
    /// Ten groups for predictions that were not fitted on these rows, with the chi-square
    /// distribution where it is good, otherwise with 999 resamples and seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The number of groups, from 2 to 10,000.
        n_groups: usize;

        /// Where the groups end.
        quantiles: Quantiles;

        /// Whether the predictions are those of a logistic regression that was fitted on these
        /// rows: two degrees of freedom fewer.
        fitted: bool;
    }

    null_setters! { null_distribution }

    fn check(&self) -> Result<(), Error> {
        Error::require((2..=10_000).contains(&self.n_groups), "n_groups", "from 2 to 10000", self.n_groups)?;
        let refits = self.fitted && self.null.distribution == NullDistribution::Resampled;
        let rule = "\"auto\" or \"asymptotic\" for fitted predictions, since resampling would have to repeat the fit";
        Error::require(!refits, "null_distribution", rule, "\"resampled\"")?;
        self.null.check()
    }

    /// Groups from the lowest to the highest probability; trials are told which is theirs.
    fn groups(&self, set: &mut TrialSet) -> Vec<GroupSums> {
        let total = set.0.iter().map(|trials| trials.total_weight()).collect::<Sum>().value();
        let edges = match self.quantiles {
            Quantiles::Mass => Vec::new(),
            Quantiles::Interpolated => interpolated_quantiles(set, self.n_groups),
        };
        let mut groups: Vec<GroupSums> = Vec::new();
        let (mut before, mut last) = (Sum::default(), None);
        for step in set.0.chunk_by_mut(|a, b| a.place == b.place) {
            let position = match self.quantiles {
                Quantiles::Mass => (before.value() / total * self.n_groups as f64) as usize,
                Quantiles::Interpolated => edges.partition_point(|edge| *edge < step[0].p),
            };
            if last != Some(position) {
                groups.push(GroupSums::default());
                last = Some(position);
            }
            for trials in step {
                trials.bin = groups.len() - 1;
                // proof: one was pushed for the first step
                if let Some(group) = groups.last_mut() {
                    group.weight.add(trials.total_weight());
                    group.positive.add(trials.total_weight() * trials.p);
                    group.negative.add(trials.total_weight() * (1.0 - trials.p));
                    group.squares.add(trials.weight * trials.total_weight());
                }
                before.add(trials.total_weight());
            }
        }
        groups
    }
}

/// The quantiles at 1/G, 2/G, …, (G - 1)/G of rows of equal weight: between the order statistics
/// x_j and x_(j+1), j + h = (n - 1) g / G, at (1 - h) x_j + h x_(j+1).
fn interpolated_quantiles(set: &TrialSet, n_groups: usize) -> Vec<f64> {
    let ends: Vec<u128> = set
        .0
        .iter()
        .scan(0, |rows, trials| {
            *rows += u128::from(trials.n);
            Some(*rows)
        })
        .collect();
    let (n, parts) = (ends.last().copied().unwrap_or(1), n_groups as u128);
    let row = |index: u128| set.0[ends.partition_point(|end| *end <= index).min(ends.len() - 1)].p;
    let quantile = |group: u128| {
        let (index, rest) = ((n - 1) * group / parts, (n - 1) * group % parts);
        let (below, above) = (row(index), row(index + 1));
        // Exactly at a row where that is meant: rows at an edge belong to the group below it.
        if rest == 0 || below == above {
            return below;
        }
        let h = rest as f64 / parts as f64;
        (1.0 - h) * below + h * above
    };
    (1..parts).map(quantile).collect()
}

/// Σ w, Σ w p, Σ w (1 - p) and Σ w² of a group.
///
/// Both expectations, since 1 - p̄ would be 0 for predictions of 1 - 1e-16: then what they leave of
/// an outcome would be infinitely many standard deviations.
#[derive(Debug, Clone, Copy, Default)]
struct GroupSums {
    weight: Sum,
    positive: Sum,
    negative: Sum,
    squares: Sum,
}

impl GroupSums {
    /// p̄ and 1 - p̄.
    fn means(&self) -> (f64, f64) {
        let weight = self.weight.value();
        (self.positive.value() / weight, self.negative.value() / weight)
    }

    fn variance(&self) -> f64 {
        let (mean, complement) = self.means();
        mean * complement * self.squares.value()
    }

    /// The expected number of the rarer outcome, for the effective number of rows of equal weight.
    fn expected_of_rarer(&self) -> f64 {
        let (mean, complement) = self.means();
        self.weight.value().powi(2) / self.squares.value() * mean.min(complement)
    }
}

/// H for these numbers of outcomes 1.
fn statistic(set: &TrialSet, counts: &[u64], variances: &[f64]) -> f64 {
    let mut residuals = vec![Sum::default(); variances.len()];
    for (trials, count) in set.0.iter().zip(counts) {
        residuals[trials.bin].add(trials.residual(*count));
    }
    let of_group = |(residual, variance): (Sum, &f64)| {
        let residual = residual.value();
        if residual == 0.0 { 0.0 } else { residual * residual / variance }
    };
    residuals.into_iter().zip(variances).map(of_group).sum()
}

impl CalibrationTest for HosmerLemeshow {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        self.check()?;
        let mut set = TrialSet::read(view, &*self.null.link)?;
        let weighted = self.quantiles == Quantiles::Interpolated && set.0.iter().any(|trials| trials.weight != 1.0);
        let rule = "\"mass\" for rows of different weights, between which quantiles are not interpolated";
        Error::require(!weighted, "quantiles", rule, "\"interpolated\"")?;
        let groups = self.groups(&mut set);
        let variances: Vec<f64> = groups.iter().map(GroupSums::variance).collect();
        let h = statistic(&set, &set.observed(), &variances);
        let n_uncertain = variances.iter().filter(|variance| **variance > 0.0).count();
        let degrees_of_freedom = n_uncertain as f64 - if self.fitted { 2.0 } else { 0.0 };
        if self.fitted && degrees_of_freedom < 1.0 {
            let rule = "enough for at least 3 groups with predictions between 0 and 1, where these were fitted";
            return Err(Error::setting("n_groups", rule, format!("{} with {n_uncertain} such groups", self.n_groups)));
        }
        let uncertain = groups.iter().filter(|group| group.variance() > 0.0);
        let limit_is_good = self.fitted || uncertain.map(GroupSums::expected_of_rarer).all(|count| count >= EXPECTED);
        // Without variance, and after an outcome that was impossible, there is nothing to draw.
        let is_resampled = n_uncertain > 0 && h.is_finite() && self.null.is_resampled(limit_is_good);
        let p_value = if is_resampled {
            self.null.p_value(&set, |set, counts| statistic(set, counts, &variances))
        } else if n_uncertain == 0 {
            if h > 0.0 { 0.0 } else { 1.0 }
        } else {
            chi_square::upper_tail(h, degrees_of_freedom)
        };
        let settings = Settings::default()
            .with("n_groups", self.n_groups as u64)
            .with("n_groups_occupied", groups.len() as u64)
            .with("quantiles", self.quantiles.name())
            .with("fitted", if self.fitted { "true" } else { "false" });
        Ok(TestResult {
            test: "hosmer_lemeshow",
            statistic: h,
            p_value,
            degrees_of_freedom: Some(degrees_of_freedom),
            n: view.len() as u64,
            settings: self.null.settings(settings, is_resampled),
        })
    }
}
