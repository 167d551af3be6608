//! Binned calibration error, with a name for every choice that changes its value.

mod bracket;
mod debiased;
mod edges;
mod equal_width;
mod exact;
mod from_sketch;
mod ordered;
mod resampling;
mod specs;
mod sweep;

pub(crate) use debiased::DEBIASED;
pub use debiased::DebiasedEce;
pub use edges::{Compat, NBins, Strategy};
use specs::Name;
pub(crate) use specs::{ADAPTIVE, ECE, MAXIMUM, ROOT_MEAN_SQUARED};
pub(crate) use sweep::SWEEP;
pub use sweep::SweepEce;

use super::prelude::*;
use super::probabilities::Merge;
use crate::data::{Binary, Sample};
use crate::inference::{Clusters, Resampler, RowBracket};
use crate::measure::Settings;
use crate::sketch::Sketch;
use edges::Bins;
pub(crate) use equal_width::EqualWidth;
pub(crate) use exact::{BinTotals, PROBABILITY_BITS, add_plain};
pub(crate) use ordered::Ordered;

/// How the gaps of the bins are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Norm {
    /// Mean gap by weight: ECE.
    #[default]
    L1,
    /// Root of the mean squared gap by weight: RMSCE. With the root, which some tools leave out.
    L2,
    /// Largest gap: MCE.
    Max,
}

names! { Norm, "norm";
    L1 = "l1",
    L2 = "l2",
    Max = "max",
}

impl Norm {
    /// The error of a measure that has no form for the largest gap.
    pub(crate) fn no_maximum(of: &str) -> Error {
        Error::setting("norm", format!("\"l1\" or \"l2\" {of}"), "\"max\"")
    }

    /// The size of a gap, of which [`mean`](Self::mean) takes the mean.
    pub(crate) fn size(self, gap: f64) -> f64 {
        if self == Norm::L1 { gap.abs() } else { gap * gap }
    }

    /// The norm from the mean of the sizes.
    pub(crate) fn mean(self, mean: f64) -> f64 {
        if self == Norm::L1 { mean } else { mean.sqrt() }
    }

    /// Of the share and the gap of each bin that has weight.
    fn of_gaps(self, gaps: impl Iterator<Item = (f64, f64)>) -> f64 {
        match self {
            Norm::L1 => gaps.map(|(share, gap)| share * gap).collect::<Sum>().value(),
            Norm::L2 => gaps.map(|(share, gap)| share * gap * gap).collect::<Sum>().value().sqrt(),
            Norm::Max => gaps.map(|(_, gap)| gap).fold(0.0, f64::max),
        }
    }
}

/// What a bin holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bin {
    /// Lower edge.
    pub lower: f64,
    /// Upper edge.
    pub upper: f64,
    /// Rows.
    pub n: u64,
    /// Sum of their weights.
    pub weight: f64,
    /// Mean probability; NaN if the bin has no weight.
    pub mean_probability: f64,
    /// Mean outcome; NaN if the bin has no weight.
    pub outcome_rate: f64,
}

measure! {
    /// Binned calibration error: gap between outcome rate and mean probability, bin by bin.
    ///
    /// # Definition
    /// ```text
    /// ECE_B = Σ_b (W_b / W) |ȳ_b - p̄_b|
    /// ```
    /// with W_b the weight of bin b, ȳ_b and p̄_b its weighted means; empty bins add 0. Equal-width
    /// bins are ((b-1)/B, b/B], the first closed; equal-mass bins end at the weighted quantiles b/B
    /// of the probabilities, so equal probabilities always share a bin. Equation (binece) of the
    /// paper.
    ///
    /// # Assumptions
    /// Independent rows. Gaps that cancel inside a bin are not seen, and a probability next to an
    /// edge can jump.
    ///
    /// # Cost
    /// O(n) time and some kilobytes for equal-width bins, a sort for equal-mass bins.
    ///
    /// # Accuracy
    /// Numerical: the sums are exact for equal-width bins of a plain column and compensated
    /// otherwise; `numerical_bound` is a few units of rounding. Probabilities are compared with the
    /// edges in double precision, also where they are given in single precision; those of raw
    /// scores are rounded to double precision first, and the measure is that of the rounded ones.
    /// Statistical: biased up at small n even when calibrated, as n grows never above the true ECE.
    ///
    /// # Reference
    /// Naeini, Cooper, Hauskrecht, AAAI 2015; equal-mass: Nixon et al., CVPR workshops 2019.
    ///
    /// # Example
    /// Two bins: (0.2 with outcomes 0, 1) has a gap of 0.3, (0.9 with outcome 1) one of 0.1.
    /// ```
    /// use calipers::{BinnedEce, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.2, 0.2, 0.9], &[0, 1, 1]).check()?;
    /// let ece = BinnedEce::new().n_bins(2).estimate(&predictions.binary()?)?;
    /// assert!((ece.value - (2.0 * 0.3 + 0.1) / 3.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct BinnedEce {
        /// 15 bins of equal width, mean gap.
        new;

        /// By which name it was requested.
        name: fixed Name = Name::Expected;

        /// How many bins: a number, or [`NBins::Auto`].
        n_bins: into NBins = NBins::Fixed(15);

        /// Equal width or equal mass.
        strategy: Strategy = Strategy::Uniform;

        /// How gaps are put together.
        norm: Norm = Norm::L1;

        /// The bin edges of another package, to reproduce its values.
        compat: into Option<Compat> = None;

        link: Link;
    }
}

impl BinnedEce {
    /// The name by which it is requested.
    pub const NAME: &'static str = ECE.spec.name;

    /// Adaptive calibration error: bins of equal mass.
    pub fn adaptive() -> Self {
        BinnedEce { name: Name::Adaptive, strategy: Strategy::Quantile, ..Self::default() }
    }

    /// The root of the mean squared gap.
    pub fn root_mean_squared() -> Self {
        BinnedEce { name: Name::RootMeanSquared, norm: Norm::L2, ..Self::default() }
    }

    /// The largest gap of all bins.
    pub fn maximum() -> Self {
        BinnedEce { name: Name::Maximum, norm: Norm::Max, ..Self::default() }
    }

    /// The table behind the value: one entry for each bin, empty ones included.
    ///
    /// # Accuracy
    /// Of a sketch, which has bins of equal width only: exact for declared bins, but for their
    /// probabilities' last digits. Otherwise a cell that an edge runs through is counted in the bin
    /// of its mean.
    pub fn bins<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Vec<Bin>, Error> {
        let view = match sample.into().binary("bins")? {
            Binary::Rows(view) => view,
            Binary::Sketch(sketch) => return self.bins_of_sketch(sketch),
        };
        let (bins, sums) = self.sums(view)?;
        let largest_weight = view.largest_weight();
        let entry = |(index, sums): (usize, &BinSums)| {
            let weight = sums.weight.value();
            let (lower, upper) = bins.limits(index);
            Bin {
                lower,
                upper,
                n: sums.n,
                weight: weight * largest_weight,
                mean_probability: sums.probability.value() / weight,
                outcome_rate: sums.outcome.value() / weight,
            }
        };
        Ok(sums.iter().enumerate().map(entry).collect())
    }

    fn sums(&self, view: &BinaryView<'_>) -> Result<(Bins, Vec<BinSums>), Error> {
        let rows = Probabilities::new(view, &*self.link)?;
        let bins = Bins::new(self.n_bins, self.strategy, self.compat, view, &rows)?;
        let sums = match (view.plain(), self.strategy, self.compat) {
            (Some(rows), Strategy::Uniform, None) => {
                exact::of_plain(rows, &EqualWidth::new(bins.len())).iter().map(BinSums::exact).collect()
            }
            _ => rows.sums_by_bin(bins.len(), |p| bins.place(p), BinSums::add),
        };
        Ok((bins, sums))
    }
}

impl Measure for BinnedEce {
    described! { self => specs::of(self.name, self.norm) }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let (bins, sums) = self.sums(view)?;
        Ok(self.estimate_of_sums(view, &bins, &sums))
    }

    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        let found = self.measure_sketch(sketch)?;
        let estimate = Estimate::new(self.spec(), found.value, found.bound).of_sketch(sketch);
        Ok(Estimate { settings: self.settings(found.n_bins, found.edges), ..estimate })
    }

    fn sketch_resampler<'a>(&'a self, sketch: &'a Sketch) -> Result<Box<dyn Resampler + 'a>, Error> {
        Ok(Box::new(self.bin_resampler(sketch)?))
    }

    fn cells<'a>(&'a self, view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        if self.compat.is_some() {
            return Ok(None);
        }
        let rows = Probabilities::new(view, &*self.link)?;
        let bins = Bins::new(self.n_bins, self.strategy, None, view, &rows)?;
        let resolved = self.clone().n_bins(bins.n_asked);
        Ok(Some(bins.cells().measured_by(resolved)))
    }

    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        self.bracket_of_rows(view, clusters)
    }

    /// Bins depend on probabilities alone, and each row is in one of them.
    fn effect_of_outcomes(&self) -> Option<f64> {
        (self.norm == Norm::L1).then_some(1.0)
    }
}

impl BinnedEce {
    /// The estimate, and where bins start among probabilities in ascending order: from 0 to how
    /// many there are. The rules of all bins keep that order.
    pub(crate) fn estimate_and_starts(
        &self,
        view: &BinaryView<'_>,
        ordered: &[f64],
    ) -> Result<(Estimate, Vec<usize>), Error> {
        let (bins, sums) = self.sums(view)?;
        Ok((self.estimate_of_sums(view, &bins, &sums), bins.starts(ordered)))
    }

    fn estimate_of_sums(&self, view: &BinaryView<'_>, bins: &Bins, sums: &[BinSums]) -> Estimate {
        let total = sums.iter().map(|bin| bin.weight.value()).collect::<Sum>().value();
        let occupied = sums.iter().filter(|bin| bin.weight.value() > 0.0);
        let value = self.norm.of_gaps(occupied.map(|bin| {
            let weight = bin.weight.value();
            let mut gap = bin.outcome;
            gap.add(-bin.probability.value());
            (weight / total, gap.value().abs() / weight)
        }));
        // Means of numbers in [0, 1] by compensated sums: no bin is off by more than this, nor any
        // mean of bins. Probabilities from raw scores have an error of their own: that of the score
        // at a slope of p(1 - p), so that scores far from 0 have less.
        let bound = 32.0 * f64::EPSILON + view.score_error(1.0);
        let settings = self.settings(bins.n_asked, bins.description);
        Estimate { settings, ..Estimate::new(self.spec(), value, bound).of(view) }
    }

    fn settings(&self, n_bins: usize, edges: &str) -> Settings {
        settings(n_bins, self.strategy, self.norm, self.compat, &*self.link, edges)
    }
}

/// The options of a value by bins, and the edges that they lead to.
fn settings(
    n_bins: usize,
    strategy: Strategy,
    norm: Norm,
    compat: Option<Compat>,
    link: &dyn Link,
    edges: &str,
) -> Settings {
    Settings::default()
        .with("n_bins", n_bins as u64)
        .with("strategy", strategy.name())
        .with("norm", norm.name())
        .with("compat", compat.map_or("none", Compat::name))
        .with("link", link.name())
        .with("edges", edges)
}

/// The sums of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct BinSums {
    n: u64,
    weight: Sum,
    outcome: Sum,
    probability: Sum,
}

impl BinSums {
    fn exact(totals: &BinTotals) -> Self {
        BinSums {
            n: totals.count,
            weight: Sum::of_fixed_point(totals.weight, 0),
            outcome: Sum::of_fixed_point(totals.positive, 0),
            probability: Sum::of_fixed_point(totals.probability, PROBABILITY_BITS),
        }
    }

    fn add(&mut self, p: f64, outcome: bool, weight: f64) {
        self.n += 1;
        self.weight.add(weight);
        self.probability.add(weight * p);
        if outcome {
            self.outcome.add(weight);
        }
    }
}

impl Merge for BinSums {
    fn merge(&mut self, other: BinSums) {
        self.n += other.n;
        self.weight.merge(other.weight);
        self.outcome.merge(other.outcome);
        self.probability.merge(other.probability);
    }
}
