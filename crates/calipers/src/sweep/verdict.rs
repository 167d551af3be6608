//! Brittle or stable, by three ranges, and the same in words.

use std::ops::RangeInclusive;

use super::{SweepPoint, SweepResult};
use crate::binned::Strategy;
use crate::estimate::Estimate;

/// The numbers of bins that people use, over which ranges are taken.
pub(super) const JUDGED: RangeInclusive<usize> = 10..=100;

/// A range must exceed so many times the sampling noise.
const TIMES_NOISE: f64 = 2.0;

/// The least and the greatest of some figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// By how much the width of the range can be off numerically.
    pub numerical_bound: f64,
}

impl Extent {
    pub(super) fn of<'a>(estimates: impl Iterator<Item = &'a Estimate>) -> Option<Self> {
        estimates.fold(None, |extent, estimate| {
            let (value, bound) = (estimate.value, 2.0 * estimate.numerical_bound);
            Some(match extent {
                None => Extent { least: value, greatest: value, numerical_bound: bound },
                Some(Extent { least, greatest, numerical_bound }) => Extent {
                    least: least.min(value),
                    greatest: greatest.max(value),
                    numerical_bound: numerical_bound.max(bound),
                },
            })
        })
    }

    /// From the least to the greatest.
    pub fn width(&self) -> f64 {
        self.greatest - self.least
    }
}

/// The mean range of ECE over 10 to 100 bins that a perfectly calibrated model with these very predictions would show; 0 with fewer than two
/// numbers of bins. Outcomes are drawn row by row up to 20,000 rows; beyond, their sums are drawn as normal numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingNoise {
    /// With bins of equal width.
    pub uniform: f64,
    /// With bins of equal mass; `None` where there is no such ECE.
    pub quantile: Option<f64>,
    /// Over how many draws the mean is.
    pub n_draws: u64,
    /// The seed of the draws.
    pub seed: u64,
}

/// Whether the number of bins decides what ECE is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// ECE moves more than LS-ECE does, and more than twice what chance would do.
    Brittle {
        /// With which bins: one or both.
        strategies: Vec<Strategy>,
    },
    /// It does not.
    Stable,
    /// Fewer than two numbers of bins from 10 to 100 were asked for.
    Undecided,
}

impl Verdict {
    pub(super) fn new(
        n_judged: usize,
        [uniform, quantile, ls_ece]: [Option<Extent>; 3],
        noise: &SamplingNoise,
    ) -> Self {
        let Some(ls_ece) = ls_ece.filter(|_| n_judged >= 2) else { return Verdict::Undecided };
        let is_brittle = |range: Option<Extent>, noise: f64| {
            range.is_some_and(|range| {
                let width = range.width() - range.numerical_bound;
                width > ls_ece.width() + ls_ece.numerical_bound && width > TIMES_NOISE * noise
            })
        };
        let uniform = is_brittle(uniform, noise.uniform).then_some(Strategy::Uniform);
        let quantile = is_brittle(quantile, noise.quantile.unwrap_or(0.0)).then_some(Strategy::Quantile);
        let strategies: Vec<Strategy> = uniform.into_iter().chain(quantile).collect();
        if strategies.is_empty() { Verdict::Stable } else { Verdict::Brittle { strategies } }
    }

    /// In one word: `brittle`, `stable` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Brittle { .. } => "brittle",
            Verdict::Stable => "stable",
            Verdict::Undecided => "undecided",
        }
    }
}

/// What a verdict is made from.
pub(super) struct Reasons<'a> {
    pub(super) points: &'a [SweepPoint],
    pub(super) range_uniform: Option<Extent>,
    pub(super) range_quantile: Option<Extent>,
    pub(super) range_ls_ece: Option<Extent>,
    pub(super) sampling_noise: SamplingNoise,
    pub(super) verdict: &'a Verdict,
}

impl SweepResult {
    /// The verdict with its reason, in one sentence for people.
    pub fn sentence(&self) -> String {
        let SweepResult { range_uniform, range_quantile, range_ls_ece, sampling_noise, .. } = *self;
        let (points, verdict) = (&self.points[..], &self.verdict);
        Reasons { points, range_uniform, range_quantile, range_ls_ece, sampling_noise, verdict }.sentence()
    }
}

impl Reasons<'_> {
    pub(super) fn sentence(&self) -> String {
        let judged: Vec<usize> = self.points.iter().map(|point| point.n_bins).filter(|n| JUDGED.contains(n)).collect();
        let (Some(first), Some(last), Some(ls_ece), true) =
            (judged.first(), judged.last(), self.range_ls_ece, judged.len() >= 2)
        else {
            return format!(
                "undecided: at least two numbers of bins from {} to {} are needed, got {}",
                JUDGED.start(),
                JUDGED.end(),
                judged.len()
            );
        };
        let word = self.verdict.name();
        let bins = format!("from {first} to {last} bins");
        let ls_ece_width = ls_ece.width();
        let ls_ece = format!("LS-ECE over the same 1/sigma by {ls_ece_width:.4}");
        let of = |strategy: Strategy| match strategy {
            Strategy::Uniform => ("equal-width", self.range_uniform, self.sampling_noise.uniform),
            Strategy::Quantile => ("equal-mass", self.range_quantile, self.sampling_noise.quantile.unwrap_or(0.0)),
        };
        let moves = |strategy: Strategy| {
            let (name, range, noise) = of(strategy);
            (name, range.map_or(0.0, |range| range.width()), noise)
        };
        match self.verdict {
            Verdict::Brittle { strategies } => {
                let all = strategies.iter().map(|strategy| {
                    let (name, width, noise) = moves(*strategy);
                    format!("ECE with {name} bins moves by {width:.4} ({noise:.4} by chance alone)")
                });
                format!("{word}: {} {bins}, {ls_ece}", all.collect::<Vec<_>>().join(" and "))
            }
            _ => {
                // The one that is nearer to brittle: that has more of a range, next to what it would have to exceed.
                let excess = |strategy: Strategy| {
                    let (_, range, noise) = of(strategy);
                    range.map_or(f64::NEG_INFINITY, |range| range.width() - ls_ece_width.max(TIMES_NOISE * noise))
                };
                let quantile_is_nearer = excess(Strategy::Quantile) > excess(Strategy::Uniform);
                let nearer = if quantile_is_nearer { Strategy::Quantile } else { Strategy::Uniform };
                let (name, width, noise) = moves(nearer);
                format!(
                    "{word}: ECE with {name} bins moves by {width:.4} {bins} ({noise:.4} by chance alone), {ls_ece}"
                )
            }
        }
    }
}
