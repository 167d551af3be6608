//! Brittle or stable, by three ranges and a p-value, and the same in words.

use std::ops::RangeInclusive;

use super::SweepResult;
use super::chance::Ranges;
use crate::measure::Estimate;
use crate::measures::binned::Strategy;

/// The numbers of bins that people use, over which ranges are taken.
pub(super) const JUDGED: RangeInclusive<usize> = 10..=100;

/// A range must exceed the sampling noise by this factor. With many rows, the p-value alone would
/// call a range brittle that is hardly larger than that of a calibrated model.
const TIMES_NOISE: f64 = 2.0;

/// The largest p-value of a brittle range: in at most this share of samples, a calibrated model is
/// called brittle.
const LEVEL: f64 = 0.05;

/// The smallest and the largest of some values.
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

/// How far ECE moves over 10 to 100 bins by chance alone: its range for a perfectly calibrated
/// model with the same predictions.
///
/// Up to 20,000 rows, outcomes are drawn row by row; beyond, and for a sketch, the numbers of
/// unlikely outcomes are drawn for whole sets of rows: as binomial numbers where few are expected,
/// as normal ones where many are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SamplingNoise {
    /// The mean range with bins of equal width; 0 with fewer than two numbers of bins.
    pub uniform: f64,
    /// The same with bins of equal mass; `None` where there is no such ECE.
    pub quantile: Option<f64>,
    /// The p-value of the observed range with bins of equal width, under calibration. Both p-values
    /// are adjusted for there being two (Holm), so that in at most 5 % of samples from a calibrated
    /// model the smaller one is at most 0.05.
    pub p_value_uniform: f64,
    /// The same with bins of equal mass.
    pub p_value_quantile: Option<f64>,
    /// The number of draws.
    pub n_draws: u64,
    /// The seed of the draws.
    pub random_state: u64,
}

impl SamplingNoise {
    /// `observed` are the ranges with bins of equal width and of equal mass, and so are the groups
    /// of `drawn`.
    pub(super) fn new(
        drawn: &Ranges<2>,
        observed: [f64; 2],
        has_quantile: bool,
        n_draws: usize,
        random_state: u64,
    ) -> Self {
        let uniform = drawn.p_value(0, observed[0]);
        let quantile = has_quantile.then(|| drawn.p_value(1, observed[1]));
        SamplingNoise {
            uniform: drawn.mean(0),
            quantile: has_quantile.then(|| drawn.mean(1)),
            p_value_uniform: adjusted(uniform, quantile),
            p_value_quantile: quantile.map(|quantile| adjusted(quantile, Some(uniform))),
            n_draws: n_draws as u64,
            random_state,
        }
    }
}

/// The p-value adjusted for another one beside it (Holm): the smaller is doubled, and the larger is
/// at least that.
fn adjusted(p: f64, other: Option<f64>) -> f64 {
    other.map_or(p, |other| if p <= other { 2.0 * p } else { p.max(2.0 * other) }).min(1.0)
}

/// Whether the number of bins decides what ECE is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// ECE moves more than LS-ECE does, more than twice as far as by chance alone on average, and
    /// farther than chance alone moves it in 5 % of samples.
    Brittle {
        /// With which bins: one or both.
        strategies: Vec<Strategy>,
    },
    /// It does not.
    Stable,
    /// Fewer than two numbers of bins from 10 to 100 were requested.
    Undecided,
}

impl Verdict {
    pub(super) fn new(
        n_judged: usize,
        [uniform, quantile, ls_ece]: [Option<Extent>; 3],
        noise: &SamplingNoise,
    ) -> Self {
        let Some(ls_ece) = ls_ece.filter(|_| n_judged >= 2) else { return Verdict::Undecided };
        let is_brittle = |range: Option<Extent>, noise: f64, p_value: f64| {
            range.is_some_and(|range| {
                let width = range.width() - range.numerical_bound;
                width > ls_ece.width() + ls_ece.numerical_bound && width > TIMES_NOISE * noise && p_value <= LEVEL
            })
        };
        let uniform = is_brittle(uniform, noise.uniform, noise.p_value_uniform).then_some(Strategy::Uniform);
        let quantile = noise
            .quantile
            .zip(noise.p_value_quantile)
            .and_then(|(noise, p_value)| is_brittle(quantile, noise, p_value).then_some(Strategy::Quantile));
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

impl SweepResult {
    /// The verdict with its reason, in one sentence for people. Then how many rows were left out,
    /// if any were.
    pub fn sentence(&self) -> String {
        let conclusion = self.conclusion();
        match self.input.left_out_sentence() {
            Some(left_out) => format!("{conclusion}. {left_out}"),
            None => conclusion,
        }
    }

    fn conclusion(&self) -> String {
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
        match &self.verdict {
            Verdict::Brittle { strategies } => {
                let all = strategies.iter().map(|strategy| {
                    let (name, width, noise) = moves(*strategy);
                    format!("ECE with {name} bins moves by {width:.4} ({noise:.4} by chance alone)")
                });
                format!("{word}: {} {bins}, {ls_ece}", all.collect::<Vec<_>>().join(" and "))
            }
            _ => {
                // The one that is nearer to brittle: that has more of a range, next to what it
                // would have to exceed.
                let excess = |strategy: Strategy| {
                    let (_, range, noise) = of(strategy);
                    range.map_or(f64::NEG_INFINITY, |range| range.width() - ls_ece_width.max(TIMES_NOISE * noise))
                };
                let quantile_is_nearer = excess(Strategy::Quantile) > excess(Strategy::Uniform);
                let nearer = if quantile_is_nearer { Strategy::Quantile } else { Strategy::Uniform };
                let (name, width, noise) = moves(nearer);
                let p_value = match nearer {
                    Strategy::Uniform => self.sampling_noise.p_value_uniform,
                    Strategy::Quantile => self.sampling_noise.p_value_quantile.unwrap_or(1.0),
                };
                // Where the range is wide enough, the p-value is the reason.
                let p_value = if excess(nearer) > 0.0 { format!(", p = {p_value:.2}") } else { String::new() };
                format!(
                    "{word}: ECE with {name} bins moves by {width:.4} {bins} ({noise:.4} by chance alone{p_value}), {ls_ece}"
                )
            }
        }
    }
}
