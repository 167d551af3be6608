//! Binned calibration error, with every choice that makes its figures differ named.

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

use std::sync::Arc;

use crate::Error;
use crate::data::{Binary, Sample};
use crate::data::{BinaryView, InputReport, Rows, Scale};
use crate::inference::{Clusters, Resampler, RowBracket};
use crate::link::{Link, Logistic};
use crate::measure::{Estimate, Measure, Spec};
use crate::names::names;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::setters::setters;
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

/// Binned calibration error: gap between outcome rate and mean probability, bin by bin.
///
/// # Definition
/// ```text
/// ECE_B = Σ_b (W_b / W) |ȳ_b - p̄_b|
/// ```
/// with W_b the weight of bin b, ȳ_b and p̄_b its weighted means; empty bins add 0. Equal-width
/// bins are ((b-1)/B, b/B], the first closed; equal-mass bins end at the weighted quantiles b/B of
/// the probabilities, so equal probabilities always share a bin. Equation (binece) of the paper.
///
/// # Assumptions
/// Independent rows. Gaps that cancel inside a bin are not seen, and a probability next to an edge
/// can jump.
///
/// # Cost
/// O(n) time and some kilobytes for equal-width bins, a sort for equal-mass bins.
///
/// # Accuracy
/// Numerical: the sums are exact for equal-width bins of a plain column and compensated otherwise;
/// `numerical_bound` is a few units of rounding. Probabilities are compared with the edges in
/// double precision, also where they are given in single precision; those of raw scores are rounded
/// to double precision first, and the measure is that of the rounded ones. Statistical: biased up
/// at small n even when calibrated, as n grows never above the true ECE.
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
#[derive(Debug, Clone)]
pub struct BinnedEce {
    /// By which name it was requested.
    name: Name,
    n_bins: NBins,
    strategy: Strategy,
    norm: Norm,
    compat: Option<Compat>,
    link: Arc<dyn Link>,
}

impl Default for BinnedEce {
    fn default() -> Self {
        BinnedEce {
            name: Name::Expected,
            n_bins: NBins::Fixed(15),
            strategy: Strategy::Uniform,
            norm: Norm::L1,
            compat: None,
            link: Arc::new(Logistic),
        }
    }
}

impl BinnedEce {
    /// The name by which it is requested.
    pub const NAME: &'static str = ECE.spec.name;

    /// 15 bins of equal width, mean gap.
    pub fn new() -> Self {
        Self::default()
    }

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

    setters! {
        /// How many bins: a number, or [`NBins::Auto`].
        n_bins: into NBins;

        /// Equal width or equal mass.
        strategy: Strategy;

        /// How gaps are put together.
        norm: Norm;

        /// The edges of another tool, to reproduce its figures.
        compat: into Option<Compat>;

        /// The link that turns raw binary scores into probabilities.
        link: shared Link;
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
        let n = view.len();
        if n == 0 {
            return Err(Error::NoRows);
        }
        let largest_weight = view.largest_weight();
        let read = |range| {
            let mut rows = Rows::default();
            view.read(range, &mut rows);
            rows.weights.iter_mut().for_each(|weight| *weight /= largest_weight);
            self.to_probabilities(view.scale(), &mut rows.scores);
            rows
        };
        let bins = Bins::new(self.n_bins, self.strategy, self.compat, view, &read)?;
        if let (Some(rows), Strategy::Uniform, None) = (view.plain(), self.strategy, self.compat) {
            let totals = exact::of_plain(rows, &EqualWidth::new(bins.len()));
            return Ok((bins, totals.iter().map(BinSums::exact).collect()));
        }
        // Long enough that the sums of all chunks take no more room than the rows.
        let chunk = parallel::CHUNK.max(64 * bins.len());
        let chunks = parallel::map_chunks(n, chunk, |range| {
            let rows = read(range);
            let mut sums = vec![BinSums::default(); bins.len()];
            for ((&p, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
                let (bin, p) = bins.place(p);
                sums[bin].add(p, outcome, weight);
            }
            sums
        });
        let mut totals = vec![BinSums::default(); bins.len()];
        for chunk in chunks {
            totals.iter_mut().zip(chunk).for_each(|(total, sums)| total.merge(sums));
        }
        if !totals.iter().any(|bin| bin.weight.value() > 0.0) {
            return Err(Error::ZeroWeights { n_rows: n as u64 });
        }
        Ok((bins, totals))
    }

    fn to_probabilities(&self, scale: Scale, scores: &mut [f64]) {
        match scale {
            Scale::Probability => {}
            Scale::LogOdds => scores.iter_mut().for_each(|score| *score = Logistic.response(*score)),
            Scale::Link => scores.iter_mut().for_each(|score| *score = self.link.response(*score)),
        }
    }
}

impl Measure for BinnedEce {
    fn spec(&self) -> &'static Spec {
        specs::of(self.name, self.norm)
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let (bins, sums) = self.sums(view)?;
        Ok(self.estimate_of_sums(view, &bins, &sums))
    }

    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        let found = self.measure_sketch(sketch)?;
        let shape = (found.n_bins as u64, found.edges);
        Ok(self.estimate_of(found.value, found.bound, shape, sketch.n(), sketch.report()))
    }

    fn sketch_resampler<'a>(&'a self, sketch: &'a Sketch) -> Result<Box<dyn Resampler + 'a>, Error> {
        Ok(Box::new(self.bin_resampler(sketch)?))
    }

    fn row_bracket(&self, view: &BinaryView<'_>, clusters: Option<&Clusters>) -> Result<Option<RowBracket>, Error> {
        self.bracket_of_rows(view, clusters)
    }

    fn link(&self) -> &dyn Link {
        &*self.link
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
        let shape = (bins.n_asked(), bins.describe());
        self.estimate_of(value, bound, shape, view.len() as u64, view.report())
    }

    fn estimate_of(
        &self,
        value: f64,
        numerical_bound: f64,
        (n_bins, edges): (u64, &str),
        n: u64,
        report: &InputReport,
    ) -> Estimate {
        Estimate::new(self.spec(), value, numerical_bound)
            .of_rows(n, report)
            .with("n_bins", n_bins)
            .with("strategy", self.strategy.name())
            .with("norm", self.norm.name())
            .with("compat", self.compat.map_or("none", Compat::name))
            .with("link", self.link.name())
            .with("edges", edges)
    }
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

    fn merge(&mut self, other: BinSums) {
        self.n += other.n;
        self.weight.merge(other.weight);
        self.outcome.merge(other.outcome);
        self.probability.merge(other.probability);
    }
}
