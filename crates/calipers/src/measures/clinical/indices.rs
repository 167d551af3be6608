//! ICI, E50, E90 and Emax: the gaps of a smoothed curve at the rows.

use super::loess::Loess;
use crate::data::InputReport;
use crate::inference::{Clusters, Resampler};
use crate::measure::resampler_by_rows;
use crate::measures::ls_ece::{self, AtRows, LsEce, OfGaps, Sigma};
use crate::measures::prelude::*;
use crate::setters::setters;

/// Which index of the gaps [`CalibrationIndex`] reports as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IndexStatistic {
    /// The mean: ICI, the integrated calibration index.
    #[default]
    Ici,
    /// The median.
    E50,
    /// The 90th percentile.
    E90,
    /// The largest.
    Emax,
}

names! { IndexStatistic, "statistic";
    Ici = "ici",
    E50 = "e50",
    E90 = "e90",
    Emax = "emax",
}

impl IndexStatistic {
    /// The index of gaps with weights.
    fn of_gaps(self, mut gaps: Vec<(f64, f64)>) -> f64 {
        let total: f64 = gaps.iter().map(|row| row.1).sum();
        let quantile = |gaps: &mut Vec<(f64, f64)>, level: f64| {
            gaps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            quantiles(gaps, total, [level])[0]
        };
        match self {
            _ if !(total > 0.0) => f64::NAN,
            IndexStatistic::Ici => gaps.iter().map(|(gap, weight)| gap * weight).sum::<f64>() / total,
            IndexStatistic::E50 => quantile(&mut gaps, 0.5),
            IndexStatistic::E90 => quantile(&mut gaps, 0.9),
            IndexStatistic::Emax => gaps.iter().map(|row| row.0).fold(0.0, f64::max),
        }
    }
}

/// ICI, E50, E90 and Emax: the gaps between a smoothed curve and the diagonal, at the rows.
///
/// # Definition
/// ```text
/// gap_i = |curve(p_i) - p_i|,     curve(p) = E[Y | T = p], T = ρ(h + ξ)     that of LS-ECE, unless set
/// ICI = Σ_i s_i gap_i,   E50, E90 = quantiles by weight,   Emax = the largest of the rows with weight
/// ```
/// A quantile is the gap at which the cumulated weight passes its level; where it meets it, the
/// mean of both sides. The smoother is that of [`LsEce`], a local mean on the logit axis, with its
/// sigma, noise, link and clip: it depends on no knots or spans, and takes weights as they are.
/// With [`loess`](Self::loess) it is that of the published indices, local polynomials on the axis
/// of probabilities.
///
/// # Assumptions
/// Independent rows. The curve is that of the same rows, each of which pulls it towards
/// its own outcome.
///
/// # Cost
/// O(n) by a grid for Gaussian noise, and a sort for the quantiles; for other noise, and logits
/// that span more than 65,000 sigmas, all rows within reach for each row. LOESS compares all
/// distinct probabilities, of which there may be 100,000.
///
/// # Accuracy
/// Numerical: `numerical_bound`, the mean or largest of the gaps' own bounds (`ls_ece/at_rows.rs`,
/// `clinical/loess.rs`).
/// Statistical: biased up at small n sigma, even when calibrated.
///
/// # Reference
/// Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics", Statistics in
/// Medicine 38, 2019; E and Emax: Harrell, "Regression Modeling Strategies", 2001.
///
/// # Example
/// Three rows at 0.5, two of which occurred: the curve is at 2/3 there, and every gap is 1/6.
/// ```
/// use calipers::{CalibrationIndex, Input};
///
/// let predictions = Input::probabilities(&[0.5, 0.5, 0.5], &[1, 1, 0]).check()?;
/// let indices = CalibrationIndex::new().sigma(0.3).indices(&predictions.binary()?)?;
/// assert!((indices.ici - 1.0 / 6.0).abs() < 1e-12 && (indices.emax - 1.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CalibrationIndex {
    smoother: LsEce,
    /// In place of the smoother, but for its link.
    loess: Option<Loess>,
    statistic: IndexStatistic,
}

/// All indices of [`CalibrationIndex`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CalibrationIndices {
    /// Mean gap.
    pub ici: f64,
    /// Median gap.
    pub e50: f64,
    /// 90th percentile of the gaps.
    pub e90: f64,
    /// Largest gap.
    pub emax: f64,
    /// Bound on the numerical error of the mean.
    pub ici_bound: f64,
    /// Bound on the numerical error of the others.
    pub largest_bound: f64,
    /// The name of the smoother.
    pub smoother: &'static str,
    /// The scale of the noise; `None` for LOESS.
    pub sigma: Option<f64>,
    /// Rows measured.
    pub n: u64,
    /// Probabilities that were moved off 0 or 1 so that their logit is finite.
    pub n_clipped: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
}

impl CalibrationIndex {
    /// ICI, with the smoother that LS-ECE has unless set.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Which index is the value.
        statistic: IndexStatistic;

        /// The smoother: noise, link, sigma and clip are taken from it.
        smoother: LsEce;

        /// LOESS as the smoother, with the link that was set.
        loess: some Loess;
    }

    /// The smoother of that name: LOESS as it is given here, or that of LS-ECE.
    pub fn smoother_named(self, name: &str, loess: Loess) -> Result<Self, Error> {
        match name {
            Loess::NAME => Ok(self.loess(loess)),
            name if name == LsEce::NAME => Ok(self),
            other => Err(Error::setting("smoother", crate::names::rule(&SMOOTHERS), format!("{other:?}"))),
        }
    }

    fn at_rows(&self, view: &BinaryView<'_>) -> Result<AtRows, Error> {
        match &self.loess {
            Some(loess) => loess.at_rows(view, Measure::link(&self.smoother)),
            None => self.smoother.at_rows(view),
        }
    }

    fn smoother_name(&self) -> &'static str {
        if self.loess.is_some() { Loess::NAME } else { LsEce::NAME }
    }

    /// The scale of the smoother's noise: a number, or [`Sigma::Auto`].
    pub fn sigma(mut self, sigma: impl Into<Sigma>) -> Self {
        self.smoother = self.smoother.sigma(sigma);
        self
    }

    /// All four indices.
    pub fn indices(&self, view: &BinaryView<'_>) -> Result<CalibrationIndices, Error> {
        let at_rows = self.at_rows(view)?;
        let weight = |row: usize| at_rows.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let mut weighted: Vec<(f64, f64)> =
            at_rows.gaps.iter().enumerate().map(|(row, gap)| (*gap, weight(row))).collect();
        let total = weighted.iter().map(|row| row.1).collect::<Sum>().value();
        // Only rows with weight: far from them all, one without has no gap.
        let mean = |values: &[f64]| {
            let weighty = values.iter().enumerate().filter(|(row, _)| weight(*row) > 0.0);
            weighty.map(|(row, value)| weight(row) * value).collect::<Sum>().value() / total
        };
        let (ici, ici_bound) = (mean(&at_rows.gaps), mean(&at_rows.bounds) * (1.0 + 1e-9) + 16.0 * f64::EPSILON);
        let largest_bound = at_rows.bounds.iter().enumerate().filter(|(row, _)| weight(*row) > 0.0);
        let largest_bound = largest_bound.map(|(_, bound)| *bound).fold(0.0, f64::max);
        weighted.retain(|row| row.1 > 0.0);
        crate::numerics::parallel::sort_unstable_by(&mut weighted, |a, b| a.0.total_cmp(&b.0));
        let [e50, e90] = quantiles(&weighted, total, [0.5, 0.9]);
        Ok(CalibrationIndices {
            ici,
            e50,
            e90,
            emax: weighted.last().map_or(0.0, |row| row.0),
            ici_bound,
            largest_bound: largest_bound + 16.0 * f64::EPSILON,
            smoother: self.smoother_name(),
            sigma: at_rows.sigma,
            n: view.len() as u64,
            n_clipped: at_rows.n_clipped,
            input: view.report().clone(),
        })
    }
}

/// Weighted quantiles of sorted values, the same whether a row has weight 2 or stands twice.
fn quantiles<const N: usize>(sorted: &[(f64, f64)], total: f64, levels: [f64; N]) -> [f64; N] {
    let reached: Vec<f64> = running_sums(sorted.iter().map(|(_, weight)| *weight)).collect();
    let value = |place: usize| sorted[place.min(sorted.len() - 1)].0;
    levels.map(|level| {
        let target = level * total;
        // Met up to rounding: weights 0.1, 0.2 and 0.3 have the quantiles of 1, 2 and 3.
        let below = reached.partition_point(|weight| *weight < target * (1.0 - 1e-12));
        let above = reached.partition_point(|weight| *weight <= target * (1.0 + 1e-12));
        0.5 * (value(below) + value(above))
    })
}

pub(crate) const ICI: Entry = Entry {
    spec: &index("ici", "ICI", "mean |E[y|p] - p| over the rows, by the smoothed curve"),
    make: |options| made(IndexStatistic::Ici, options),
};

pub(crate) const E50: Entry = Entry {
    spec: &index("e50", "E50", "median |E[y|p] - p| over the rows, by the smoothed curve"),
    make: |options| made(IndexStatistic::E50, options),
};

pub(crate) const E90: Entry = Entry {
    spec: &index("e90", "E90", "90th percentile of |E[y|p] - p| over the rows, by the smoothed curve"),
    make: |options| made(IndexStatistic::E90, options),
};

pub(crate) const EMAX: Entry = Entry {
    spec: &index("emax", "Emax", "largest |E[y|p] - p| over the rows, by the smoothed curve"),
    make: |options| made(IndexStatistic::Emax, options),
};

const fn index(name: &'static str, title: &'static str, definition: &'static str) -> Spec {
    Spec::error(name, definition)
        .title(title)
        .family(Family::Regression)
        .reference("Austin, Steyerberg, Statistics in Medicine 38, 2019")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .options(&OPTIONS)
}

const OPTIONS: [OptionSpec; 7] = [
    OptionSpec::choice("smoother", &SMOOTHERS, "What makes the curve."),
    OptionSpec::number("span", Loess::SPAN, "The share of the rows in a window of LOESS."),
    OptionSpec::count("degree", Loess::DEGREE as u64, "The degree of the polynomials of LOESS."),
    ls_ece::SIGMA,
    ls_ece::NOISE,
    ls_ece::CLIP,
    LINK,
];

/// The default first.
const SMOOTHERS: [&str; 2] = [LsEce::NAME, Loess::NAME];

fn made(statistic: IndexStatistic, options: &Options<'_>) -> Result<Box<dyn Measure>, Error> {
    let smoother = LsEce::new().with_options(options)?;
    let span = options.read("span")?.unwrap_or(Loess::SPAN);
    let degree = options.read("degree")?.unwrap_or(Loess::DEGREE);
    let name: Option<String> = options.read("smoother")?;
    let index = CalibrationIndex::new().statistic(statistic).smoother(smoother);
    let loess = Loess::new().span(span).degree(degree);
    Ok(Box::new(index.smoother_named(name.as_deref().unwrap_or(LsEce::NAME), loess)?))
}

impl Measure for CalibrationIndex {
    fn spec(&self) -> &'static Spec {
        match self.statistic {
            IndexStatistic::Ici => ICI.spec,
            IndexStatistic::E50 => E50.spec,
            IndexStatistic::E90 => E90.spec,
            IndexStatistic::Emax => EMAX.spec,
        }
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let indices = self.indices(view)?;
        let (value, numerical_bound) = match self.statistic {
            IndexStatistic::Ici => (indices.ici, indices.ici_bound),
            IndexStatistic::E50 => (indices.e50, indices.largest_bound),
            IndexStatistic::E90 => (indices.e90, indices.largest_bound),
            IndexStatistic::Emax => (indices.emax, indices.largest_bound),
        };
        let estimate = Estimate::new(self.spec(), value, numerical_bound)
            .of(view)
            .clipped(indices.n_clipped)
            .with("statistic", self.statistic.name())
            .with("smoother", indices.smoother);
        Ok(match (&self.loess, indices.sigma) {
            (Some(loess), _) => estimate.with("span", loess.span_value()).with("degree", loess.degree_value() as u64),
            (None, Some(sigma)) => estimate.with("sigma", sigma),
            (None, None) => estimate,
        })
    }

    fn link(&self) -> &dyn Link {
        Measure::link(&self.smoother)
    }

    /// On the grid of LS-ECE, with the sigma of these rows; LOESS row by row.
    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let on_grid = match (clusters, &self.loess) {
            (None, None) => {
                let of_gaps: OfGaps<'a> = Box::new(|gaps| self.statistic.of_gaps(gaps));
                self.smoother.gap_resampler(self, view, of_gaps)?
            }
            _ => None,
        };
        match on_grid {
            Some(draws) => Ok(draws),
            None => resampler_by_rows(self, view, clusters),
        }
    }
}
