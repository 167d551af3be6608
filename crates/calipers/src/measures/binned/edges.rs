//! Bin edges: those of calipers, and those of other packages.

use crate::Error;
use crate::data::{BinaryView, Rows};
use crate::inference::Cells;
use crate::measure::or_auto;
use crate::measures::Probabilities;
use crate::names::names;
use crate::numerics::sum::Sum;

/// How many bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NBins {
    /// So many.
    Fixed(usize),
    /// The cube root of n, rounded down.
    Auto,
}

or_auto! { NBins, "n_bins", RULE; Auto or Fixed(usize) }

const RULE: &str = "from 1 to 1000000, or \"auto\"";

impl NBins {
    pub(super) fn resolve(self, n: usize) -> Result<usize, Error> {
        match self {
            NBins::Fixed(n_bins @ 1..=1_000_000) => Ok(n_bins),
            NBins::Fixed(n_bins) => Err(Error::setting("n_bins", RULE, n_bins)),
            NBins::Auto => {
                let root = (n as f64).cbrt().round() as usize;
                Ok(if root.pow(3) > n { root - 1 } else { root }.max(1))
            }
        }
    }
}

/// What bins have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Equal width.
    #[default]
    Uniform,
    /// Equal mass, with ties in one bin.
    Quantile,
}

names! { Strategy, "strategy";
    Uniform = "uniform",
    Quantile = "quantile",
}

/// Another tool, whose edges and floating-point type are reproduced. Its sums are not: ours are
/// compensated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compat {
    /// scikit-learn's `calibration_curve`: bins (a, b], double-precision edges k · (1/B).
    Sklearn,
    /// netcal: bins [a, b), the last closed, double-precision edges k · (1/B); probabilities first
    /// clipped to [ε, 1 - ε] with ε the machine epsilon of the type they came in.
    Netcal,
    /// torchmetrics: bins [a, b) in single precision, probabilities rounded to it first; a
    /// probability of 1 has a bin of its own.
    Torchmetrics,
    /// relplot's `binnedECE`: bin number p / (1/B), rounded down, in double precision; a
    /// probability of 1 has a bin of its own unless rounding puts it into the last.
    Relplot,
    /// uncertainty-calibration's `get_ece` and, with [`Strategy::Quantile`], `get_ece_em`: bins (a,
    /// b] at k/B, or at the middle between the last of one and the first of the next of B parts of
    /// the sorted rows, equal edges taken once.
    UncertaintyCalibration,
}

names! { Compat, "compat";
    Sklearn = "sklearn",
    Netcal = "netcal",
    Torchmetrics = "torchmetrics",
    Relplot = "relplot",
    UncertaintyCalibration = "uncertainty-calibration",
}

/// Cells of resamples, of which each bin has some: its sums need no more.
pub(crate) const N_CELLS: usize = 512;

const EQUAL_MASS: &str = "(a, b] at weighted quantiles, ties pooled, float64";

/// Edges, and the rules by which a probability finds its bin.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    pub(super) n_asked: usize,
    /// Ascending, from the lower end of the first bin to the upper end of the last.
    edges: Vec<f64>,
    rule: Rule,
    pub(super) description: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    /// (a, b], the first closed.
    RightClosed,
    /// [a, b), the last closed, after clipping to [epsilon, 1 - epsilon].
    LeftClosed { epsilon: f64 },
    /// [a, b) after rounding to single precision; the upper end has a bin of its own.
    LeftClosedSingle,
    /// Number p / width, rounded down; the upper end has a bin of its own.
    Division { width: f64 },
}

impl Bins {
    pub(super) fn new(
        n_bins: NBins,
        strategy: Strategy,
        compat: Option<Compat>,
        view: &BinaryView<'_>,
        rows: &Probabilities<'_>,
    ) -> Result<Self, Error> {
        let n_asked = n_bins.resolve(view.len())?;
        if let Some(compat) = compat
            && view.is_weighted()
        {
            let rule = "left out with weights, which those tools do not take";
            return Err(Error::setting("compat", rule, format!("{:?}", compat.name())));
        }
        let all = || rows.rows(0..rows.len());
        let epsilon = if view.is_single_precision() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let (edges, rule, description) = match (compat, strategy) {
            (None | Some(Compat::UncertaintyCalibration), Strategy::Uniform) => {
                let edges = (0..=n_asked).map(|k| k as f64 / n_asked as f64).collect();
                (edges, Rule::RightClosed, "(a, b] at k/B, float64")
            }
            (None, Strategy::Quantile) => (weighted_quantile_edges(all(), n_asked), Rule::RightClosed, EQUAL_MASS),
            (Some(Compat::Sklearn), Strategy::Uniform) => {
                (linspace(n_asked), Rule::RightClosed, "(a, b] at numpy.linspace, float64")
            }
            (Some(Compat::Sklearn), Strategy::Quantile) => {
                // numpy.percentile takes the levels times 100 and divides them again.
                let levels = linspace(n_asked).into_iter().map(|level| level * 100.0 / 100.0);
                (linear_quantiles(all().scores, levels), Rule::RightClosed, "(a, b] at numpy.percentile, float64")
            }
            (Some(Compat::Netcal), Strategy::Uniform) => {
                (linspace(n_asked), Rule::LeftClosed { epsilon }, "[a, b) at numpy.linspace, float64")
            }
            (Some(Compat::Netcal), Strategy::Quantile) => {
                let scores = all().scores.into_iter().map(|p| p.clamp(epsilon, 1.0 - epsilon)).collect();
                let mut edges = linear_quantiles(scores, linspace(n_asked).into_iter());
                (edges[0], edges[n_asked]) = (0.0, 1.0);
                (edges, Rule::LeftClosed { epsilon }, "[a, b) at numpy.quantile, float64")
            }
            (Some(Compat::Torchmetrics), Strategy::Uniform) => {
                (single_linspace(n_asked), Rule::LeftClosedSingle, "[a, b) at torch.linspace, float32")
            }
            (Some(Compat::Relplot), Strategy::Uniform) => {
                let width = 1.0 / n_asked as f64;
                let edges = (0..=n_asked).map(|k| (k as f64 * width).min(1.0)).collect();
                (edges, Rule::Division { width }, "[a, b) by division, float64")
            }
            (Some(compat @ (Compat::Torchmetrics | Compat::Relplot)), Strategy::Quantile) => {
                let rule = format!("\"uniform\" with compat {:?}", compat.name());
                return Err(Error::setting("strategy", rule, "\"quantile\""));
            }
            (Some(Compat::UncertaintyCalibration), Strategy::Quantile) => {
                (edges_between_parts(all().scores, n_asked), Rule::RightClosed, "(a, b] between parts, float64")
            }
        };
        Ok(Bins { n_asked, edges, rule, description })
    }

    /// [`Strategy::Quantile`] for rows of equal weight in ascending order, without a look at each
    /// of them.
    pub(super) fn of_ordered(ordered: &[f64], n_bins: usize) -> Self {
        let n = ordered.len();
        let is_reached = |level: usize, rows: usize| {
            level as f64 * n as f64 <= rows as f64 * n_bins as f64 * (1.0 + WEIGHT_ROUNDING)
        };
        let edge = |level: usize| {
            // That many rows reach the level but for rounding; fewer may.
            let mut rows = (level as u128 * n as u128).div_ceil(n_bins as u128) as usize;
            while rows > 1 && is_reached(level, rows - 1) {
                rows -= 1;
            }
            ordered[rows - 1]
        };
        let edges = std::iter::once(0.0).chain((1..n_bins).map(edge)).chain([1.0]).collect();
        Bins { n_asked: n_bins, edges, rule: Rule::RightClosed, description: EQUAL_MASS }
    }

    /// Where bins start among probabilities in ascending order, from 0 to how many there are. All
    /// rules keep that order.
    pub(super) fn starts(&self, ordered: &[f64]) -> Vec<usize> {
        (0..=self.len()).map(|bin| ordered.partition_point(|p| self.place(*p).0 < bin)).collect()
    }

    /// Cells that no edge runs through.
    pub(super) fn cells<'a>(self) -> Cells<'a> {
        Cells::new(N_CELLS).within(move |p| self.place(p).0)
    }

    /// Number of bins, the one for the upper end included where there is one.
    pub(super) fn len(&self) -> usize {
        match self.rule {
            Rule::LeftClosedSingle | Rule::Division { .. } => self.edges.len(),
            Rule::RightClosed | Rule::LeftClosed { .. } => self.edges.len() - 1,
        }
    }

    pub(super) fn limits(&self, bin: usize) -> (f64, f64) {
        let last = self.edges.len() - 1;
        (self.edges[bin], self.edges[(bin + 1).min(last)])
    }

    /// The bin of a probability, and the probability as the rule sees it.
    #[inline]
    pub(super) fn place(&self, p: f64) -> (usize, f64) {
        let last = self.edges.len() - 2;
        match self.rule {
            Rule::RightClosed => {
                let inner = &self.edges[1..=last];
                (inner.partition_point(|edge| *edge < p), p)
            }
            Rule::LeftClosed { epsilon } => {
                let p = p.clamp(epsilon, 1.0 - epsilon);
                let inner = &self.edges[1..=last];
                (inner.partition_point(|edge| *edge <= p), p)
            }
            Rule::LeftClosedSingle => {
                let p = f64::from(p as f32);
                (self.edges[1..].partition_point(|edge| *edge <= p), p)
            }
            Rule::Division { width } => (((p / width) as usize).min(last + 1), p),
        }
    }
}

/// numpy.linspace(0, 1, B + 1): multiples of a rounded step, and the end itself.
fn linspace(n_bins: usize) -> Vec<f64> {
    let step = 1.0 / n_bins as f64;
    (0..=n_bins).map(|k| if k == n_bins { 1.0 } else { k as f64 * step }).collect()
}

/// torch.linspace(0, 1, B + 1) in single precision, which counts from the nearer end; with one
/// rounding for product and sum, as torch's builds for processors with fused multiplication have
/// it.
fn single_linspace(n_bins: usize) -> Vec<f64> {
    let step = 1.0 / n_bins as f32;
    let edge = |k: usize| {
        if k < n_bins.div_ceil(2) { step * k as f32 } else { (-step).mul_add((n_bins - k) as f32, 1.0) }
    };
    (0..=n_bins).map(|k| f64::from(edge(k))).collect()
}

/// numpy's default quantiles: linear between order statistics, from the nearer of the two.
fn linear_quantiles(mut values: Vec<f64>, levels: impl Iterator<Item = f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    levels
        .map(|level| {
            let position = level * last as f64;
            let below = (position.floor() as usize).min(last);
            let (low, high) = (values[below], values[(below + 1).min(last)]);
            let fraction = position - below as f64;
            if fraction < 0.5 { low + (high - low) * fraction } else { high - (high - low) * (1.0 - fraction) }
        })
        .collect()
}

/// The middle between neighbouring parts of the sorted rows, as many as possible of them with one
/// row more than the others; equal edges once, and the ends.
fn edges_between_parts(mut values: Vec<f64>, n_parts: usize) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n_parts = n_parts.min(values.len());
    let (size, longer) = (values.len() / n_parts, values.len() % n_parts);
    let starts = (1..n_parts).map(|part| part * size + part.min(longer));
    let mut edges = vec![0.0];
    edges.extend(starts.map(|start| (values[start - 1] + values[start]) / 2.0));
    edges.push(1.0);
    // The first edge is the lower end, also where an edge at 0 makes a bin for 0 alone.
    let mut inner = edges.split_off(1);
    inner.dedup();
    edges.extend(inner);
    edges
}

/// Relative difference of cumulated weights that is taken for rounding.
const WEIGHT_ROUNDING: f64 = 1e-12;

/// For each level b/B, the smallest probability at which the cumulated weight reaches it.
fn weighted_quantile_edges(rows: Rows, n_bins: usize) -> Vec<f64> {
    let mut weighted: Vec<(f64, f64)> = rows.scores.into_iter().zip(rows.weights).collect();
    weighted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total = weighted.iter().map(|(_, weight)| *weight).collect::<Sum>().value();
    let mut edges = vec![0.0];
    let mut cumulated = Sum::default();
    for (p, weight) in weighted {
        cumulated.add(weight);
        // Reached up to rounding: weights 0.1, 0.2 and 0.3 have the edges of 1, 2 and 3.
        let reached = cumulated.value() * n_bins as f64 * (1.0 + WEIGHT_ROUNDING);
        while edges.len() < n_bins && edges.len() as f64 * total <= reached {
            edges.push(p);
        }
    }
    edges.resize(n_bins, 1.0);
    edges.push(1.0);
    edges
}
