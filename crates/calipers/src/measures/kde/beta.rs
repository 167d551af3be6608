//! KDE-ECE with beta kernels and without one's own row, for one probability per row.

use super::beta_sums::BetaSums;
use super::{Bandwidth, check_others};
use crate::inference::{Clusters, Resampler};
use crate::measure::resolved_resampler;
use crate::measures::binned::Norm;
use crate::measures::ls_ece::check_clip;
use crate::measures::prelude::*;
use crate::numerics::parallel;

/// Places at which the rule compares bandwidths, at most.
const RULE_PLACES: usize = 4096;

/// Distinct probabilities that the rule tells apart, at most.
const RULE_GROUPS: usize = 1 << 16;

measure! {
    /// KDE-ECE with beta kernels: each row against the outcome rate that all other rows predict at
    /// its probability.
    ///
    /// # Definition
    /// ```text
    /// Σ_j s_j |ŷ_j - p_j|,       ŷ_j = Σ_{i≠j} w_i y_i K(p_j; p_i) / Σ_{i≠j} w_i K(p_j; p_i)
    /// K(z; x) = density at z of the beta distribution with parameters x/h + 1 and (1 - x)/h + 1
    /// ```
    /// with probabilities clipped to [clip, 1 - clip], where K is finite; with [`Norm::L2`] the
    /// root of the mean square. A row leaves itself out with all its weight, so that a weight of 2
    /// is not two rows. For a binary outcome the authors' code has twice this value, since it adds
    /// up both classes.
    ///
    /// Unless given, h maximises the likelihood of rows under the density that all others make,
    /// `Σ_j s_j ln Σ_{i≠j} w_i K(p_j; p_i)`, over 15 values from 1e-5 to 0.1 and 0.2, 0.4, ..., 1;
    /// beyond 4096 distinct probabilities it is the mean over 4096 equal parts of the weight, each
    /// with its middle probability, and beyond 65,536 neighbours are pooled. (The authors' code
    /// divides the density by h once more, which favours small h.) Many ties favour small h, too:
    /// the rows' own copies are others.
    ///
    /// # Assumptions
    /// Independent rows whose probabilities have a density.
    ///
    /// # Cost
    /// A sort, then about 100 cells of 20 moments for each row, or 20 such sums for all rows of a
    /// cell that has many; rows without neighbours are compared with all. Memory: some 60 bytes for
    /// each row.
    ///
    /// # Accuracy
    /// Numerical: `numerical_bound`: kernel sums are good to 2e-9 of themselves by cells
    /// (`kde/beta_sums.rs`) and to some units of rounding over h. Statistical: leaving out one's
    /// own row takes away most of the bias of small n h.
    ///
    /// # Reference
    /// Popordanoska, Sayer, Blaschko, "A Consistent and Differentiable Lp Canonical Calibration
    /// Error Estimator", NeurIPS 2022.
    ///
    /// # Example
    /// Two rows: each is compared with the outcome of the other, whatever the bandwidth.
    /// ```
    /// use calipers::{BetaKdeEce, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.2, 0.7], &[0, 1]).check()?;
    /// let estimate = BetaKdeEce::new().bandwidth(0.1).estimate(&predictions.binary()?)?;
    /// assert!((estimate.value - (0.8 + 0.7) / 2.0).abs() <= estimate.numerical_bound);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct BetaKdeEce {
        /// Mean distance, bandwidth by likelihood, clip 1e-6.
        new;

        /// The bandwidth h: a number, or [`Bandwidth::Auto`].
        bandwidth: into Bandwidth = Bandwidth::Auto;

        /// [`Norm::L1`] or [`Norm::L2`].
        norm: Norm = Norm::L1;

        /// Probabilities are clipped to [clip, 1 - clip].
        clip: f64 = 1e-6;

        link: Link;
    }
}

/// The bandwidths that the rule compares.
pub(super) fn candidates() -> impl Iterator<Item = f64> {
    let small = (0..15).map(|k| 10f64.powf(-5.0 + 4.0 * f64::from(k) / 14.0));
    small.chain((1..=5).map(|k| 0.2 * f64::from(k)))
}

/// Neighbours together, so that there are at most so many.
fn pooled(groups: &[Group], most: usize) -> Vec<Group> {
    let size = groups.len().div_ceil(most).max(1);
    let pool = |members: &[Group]| {
        let weight: f64 = members.iter().map(Group::weight).sum();
        Group {
            p: members.iter().map(|group| group.weight() * group.p).sum::<f64>() / weight,
            negative: members.iter().map(|group| group.negative).sum(),
            positive: members.iter().map(|group| group.positive).sum(),
            n: members.iter().map(|group| group.n).sum(),
        }
    };
    groups.chunks(size).map(pool).collect()
}

/// The candidate of the largest likelihood; the first of several.
fn by_likelihood(groups: &[Group]) -> f64 {
    let groups = &pooled(groups, RULE_GROUPS)[..];
    let total: f64 = groups.iter().map(|group| group.weight()).sum();
    let mut places: Vec<(usize, f64)> = Vec::new();
    if groups.len() <= RULE_PLACES {
        places.extend(groups.iter().enumerate().map(|(index, group)| (index, group.weight())));
    } else {
        let (mut reached, mut next) = (0.0, 0);
        for (index, group) in groups.iter().enumerate() {
            reached += group.weight();
            let before = next;
            while next < RULE_PLACES && (next as f64 + 0.5) / (RULE_PLACES as f64) * total < reached {
                next += 1;
            }
            if next > before {
                places.push((index, (next - before) as f64));
            }
        }
    }
    let likelihood = |bandwidth: f64| {
        let sums = BetaSums::new(groups, bandwidth);
        let of_place = |&(index, weight): &(usize, f64)| {
            let (others, group) = (sums.others(index), &groups[index]);
            // Tied rows leave out their mean weight.
            let copies = group.weight() * (1.0 - 1.0 / group.n as f64);
            weight * ((others.total + copies * others.own).ln() + others.scale)
        };
        parallel::map_each(&places, of_place).into_iter().collect::<Sum>().value()
    };
    let both = candidates().map(|bandwidth| (likelihood(bandwidth), bandwidth));
    both.fold((f64::NEG_INFINITY, 0.1), |best, other| if other.0 > best.0 { other } else { best }).1
}

entry! { BETA_KDE = BetaKdeEce::new();
    Spec::error("beta_kde_ece", "mean |E[y|p] - p| by beta kernels, each row left out of its own")
        .title("beta KDE-ECE")
        .family(Family::Kernel)
        .reference("Popordanoska, Sayer, Blaschko, NeurIPS 2022")
        .range(0.0, 1.0)
        .options(&[
            OptionSpec::number_or_auto("bandwidth", "The bandwidth; \"auto\" maximises a likelihood."),
            OptionSpec::choice("norm", &["l1", "l2"], "Mean distance, or root of the mean squared distance."),
            OptionSpec::number("clip", 1e-6, "Probabilities are clipped to [clip, 1 - clip]."),
            LINK,
        ])
}

impl Measure for BetaKdeEce {
    described! { BETA_KDE.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        check_clip(self.clip)?;
        if self.norm == Norm::Max {
            return Err(Norm::no_maximum("for a mean over rows"));
        }
        let probabilities = Probabilities::new(view, &*self.link)?;
        let all = probabilities.all();
        let n_clipped = all.scores.iter().filter(|p| !(self.clip..=1.0 - self.clip).contains(*p)).count() as u64;
        let mut rows: Vec<(f64, f64, bool)> = all
            .scores
            .iter()
            .zip(&all.weights)
            .zip(&all.outcomes)
            .filter(|((_, weight), _)| **weight > 0.0)
            .map(|((p, weight), outcome)| (p.clamp(self.clip, 1.0 - self.clip), *weight, *outcome))
            .collect();
        drop(all);
        check_others(rows.len(), view.len())?;
        parallel::sort_unstable_by(&mut rows, |a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let members: Vec<&[(f64, f64, bool)]> = rows.chunk_by(|a, b| a.0 == b.0).collect();
        let group = |rows: &&[(f64, f64, bool)]| Group {
            p: rows[0].0,
            negative: rows.iter().filter(|row| !row.2).map(|row| row.1).sum(),
            positive: rows.iter().filter(|row| row.2).map(|row| row.1).sum(),
            n: rows.len() as u64,
        };
        let groups: Vec<Group> = members.iter().map(group).collect();
        let (bandwidth, bandwidth_rule) = match self.bandwidth {
            Bandwidth::Auto => (by_likelihood(&groups), "likelihood"),
            Bandwidth::Value(bandwidth) => (bandwidth, "given"),
        };
        check_range("bandwidth", bandwidth, 1e-7..=100.0, "in [1e-7, 100], or \"auto\"")?;

        let sums = BetaSums::new(&groups, bandwidth);
        let all_others = sums.all_others();
        let of_group = |index: usize| {
            let (others, group) = (&all_others[index], &groups[index]);
            let mut sum = 0.0;
            for &(p, weight, outcome) in members[index] {
                // Exactly none where the row is alone: differences of sums would leave a trace.
                let is_alone = group.n == 1 && !view.is_counted();
                let copies = |weight: f64| if is_alone { 0.0 } else { weight.max(0.0) * others.own };
                let own = probabilities.row_weight(weight);
                let total = others.total + copies(group.weight() - own);
                let positive = others.positive + copies(group.positive - if outcome { own } else { 0.0 });
                let gap = (positive / total).min(1.0) - p;
                sum += weight * self.norm.size(gap);
            }
            sum
        };
        let parts = parallel::map(groups.len(), of_group);
        let total = rows.iter().map(|row| row.1).collect::<Sum>().value();
        let mean = parts.into_iter().collect::<Sum>().value() / total;
        let value = self.norm.mean(mean);
        // Exponents are sums of terms up to ln(1/h) / h, each rounded.
        let rounding = 64.0 * f64::EPSILON * (1.0 + (1.0 / bandwidth) * (2.0 + (1.0 / bandwidth).ln().abs()));
        let numerical_bound = 2.0 * (2e-9 + rounding) + probabilities.error() * (1.0 + 8.0 / bandwidth);
        Ok(Estimate::new(self.spec(), value, numerical_bound)
            .of(view)
            .clipped(n_clipped)
            .with("bandwidth", bandwidth)
            .with("bandwidth_rule", bandwidth_rule)
            .with("norm", self.norm.name())
            .with("clip", self.clip)
            .with("link", self.link.name()))
    }

    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        Ok(Some(Cells::new(1024).counting_rows()))
    }

    /// With the bandwidth of these rows, whose search takes much longer than the measure.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let bandwidth = match self.bandwidth {
            Bandwidth::Auto => self.estimate(view)?.settings.number("bandwidth"),
            Bandwidth::Value(_) => None,
        };
        resolved_resampler(self, bandwidth.map(|bandwidth| self.clone().bandwidth(bandwidth)), view, clusters)
    }
}
