//! Where ∫ |g| is, for a function g that is known with noise.
//!
//! # The problem
//! Measures of miscalibration are integrals ∫ |g(u)| du, or sums over bins, of a gap g that rows
//! show with noise: ĝ = g + s Z, Z standard normal at each place. The integral of |ĝ| is too large,
//! by ∫ s β(|g| / s) du with
//! ```text
//! β(t) = E|t + Z| - t = 2 (φ(t) - t (1 - Φ(t)))      β(0) = √(2/π) = 0.798,  β(2) = 0.017
//! ```
//! Where |g| is large against its noise this bias is nothing, and where g is 0 it is all of the
//! noise floor. In between it depends on g, which is unknown. Putting
//! |ĝ| in place of |g| ("corrected" below) takes off only 0.41 of the floor where g is 0. What is left shrinks like s, and the standard error of the integral
//! shrinks faster: so an interval about the corrected value misses the truth of a model that is
//! calibrated in part, and the more rows there are the surer it misses.
//!
//! # The bracket
//! Places are cut into blocks. A block *shows* a gap where its integral of |ĝ|, or the size of its
//! integral of ĝ, is beyond what noise alone does in one of twenty samples for any of the blocks.
//! Let C be the blocks that show a gap and N the others. Two estimates enclose the population's
//! value but for chance:
//! 1. **Lower**: the corrected integral over C alone. Whatever g is on N adds to the truth. Or the
//!    corrected integral over all, less 0.59 of the floor of N, which is the most that it can be
//!    too large by there: β(0) - E β(|Z|) = 0.59 β(0), and the bias left over is largest at g = 0.
//!    Or, where the sign of g is plain on N as a whole (below), with the integral of g over N.
//!    Whichever leaves the highest lower end.
//! 2. **Upper**: the corrected integral over C, plus the largest integral of w ĝ over N, where w is
//!    1 or -1 and changes its sign once at most. If g changes its sign at most once on N, its |g|
//!    is one of these integrals without the noise, which is linear there and adds no bias; what
//!    picking the largest one adds is taken off. Where |ĝ| on N is larger than noise makes it, g
//!    may change its sign more often: then the corrected integral over all is taken where that is
//!    more.
//!
//! Each estimate is the integral of w(u) ĝ(u) for known weights w, up to a constant, so that
//! influence values give its standard error: w is sign(ĝ) (3 - 2 Φ(|ĝ| / s)) where the value is
//! corrected, since the correction moves with ĝ, too. With the standard errors of rows, of
//! clusters, or of differences between models the bracket becomes an interval: from z standard
//! errors below the lower estimate to z above the upper one. The truth is at one of the estimates
//! or between them, so that z is smaller the further they are apart ([`critical_value`]).
//!
//! # What it assumes
//! Noise that is normal at each place, and on the places that show nothing a gap that changes its
//! sign once, or often enough to be seen in the size of ĝ. A gap that waves to and fro many times
//! below its own noise is not seen, by this method or any other: no interval holds against all such
//! gaps and is narrower than the one that calls everything noise.

use crate::link::{Link, Probit};

/// β(0).
const FLOOR: f64 = 0.797_884_560_802_865_4;

/// Of the floor, what the corrected value keeps where there is no gap: 1 - E β(|Z|) / β(0), by
/// quadrature.
const KEPT: f64 = 0.586;

/// The expected number of blocks that show a gap where there is none, for each of two looks at
/// them.
const FALSE_BLOCKS: f64 = 0.05;

/// Standard errors from which on the sign of the gap on N as a whole is plain.
const PLAIN: f64 = 3.25;

/// Standard errors from which on |ĝ| on N is taken to be larger than noise makes it.
const RESTLESS: f64 = 0.5;

/// Up to so many independent places without a gap to be seen, the best single number is the mean of
/// the corrected value and of what the blocks show; with more of them it goes over to the latter,
/// which has less bias and more noise. Chosen by simulation.
const FEW_PLACES: f64 = 25.0;

/// A standard error's weight when two candidates for an end are compared: that of a 95 % interval.
pub(super) const REACH: f64 = 1.96;

/// A function that is known with noise, at places of equal length.
pub(crate) struct Places<'a> {
    /// ĝ at each place.
    pub(crate) values: &'a [f64],
    /// The standard deviation of its noise, as rows show it.
    pub(crate) deviations: &'a [f64],
    /// What it would be were predictions the truth.
    pub(crate) null_deviations: &'a [f64],
    /// What a place stands for.
    pub(crate) length: f64,
    /// Places of a block.
    pub(crate) block: usize,
    pub(crate) likeness: Likeness,
}

/// How far noise at one place is like noise nearby, as lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness {
    /// ∫ ρ(d) dd with ρ the correlation of ĝ at distance d: the variance of ∫ ĝ is this times ∫ s².
    pub(crate) of_values: f64,
    /// The same for |ĝ| where there is no gap, ∫ cov(|Z_0|, |Z_d|) dd.
    pub(crate) of_sizes: f64,
}

impl Likeness {
    /// Of places whose noise is independent, in units of their length.
    pub(crate) const INDEPENDENT: Likeness = Likeness { of_values: 1.0, of_sizes: 1.0 - FLOOR * FLOOR };

    /// From the correlations at distances that are multiples of `step`, from 0 on to where they
    /// vanish; those of negative distances are the same.
    pub(crate) fn new(correlations: &[f64], step: f64) -> Self {
        // cov(|X|, |Y|) of two standard normal numbers of correlation r.
        let of_sizes = |r: f64| 2.0 / std::f64::consts::PI * ((1.0 - r * r).max(0.0).sqrt() + r * r.asin() - 1.0);
        let both_sides = |of: &dyn Fn(f64) -> f64| {
            let sum: f64 = correlations.iter().map(|r| of(r.clamp(-1.0, 1.0))).sum();
            step * (2.0 * sum - correlations.first().map_or(0.0, |r| of(r.clamp(-1.0, 1.0))))
        };
        Likeness { of_values: both_sides(&|r| r), of_sizes: both_sides(&of_sizes) }
    }
}

/// An estimate as an integral of weights times ĝ, up to a constant.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) value: f64,
    /// w at each place.
    pub(crate) weights: Vec<f64>,
    /// The part of the weights on places that show nothing, where the noise is at least what
    /// calibrated predictions have: few rows may show less.
    pub(crate) quiet: Option<Vec<f64>>,
}

/// Two estimates that enclose the integral of |g| but for chance, and one between them.
#[derive(Debug, Clone)]
pub(crate) struct Enclosure {
    pub(crate) lower: End,
    pub(crate) upper: End,
    /// The integral of |ĝ| with the bias taken off that |ĝ| in place of |g| shows.
    pub(crate) corrected: f64,
    /// The best single number.
    pub(crate) debiased: f64,
}

impl Enclosure {
    /// The ends with their standard deviations.
    pub(crate) fn bracket(&self, deviation: impl Fn(&End) -> f64) -> Bracket {
        Bracket {
            lower: self.lower.value,
            lower_deviation: deviation(&self.lower),
            upper: self.upper.value,
            upper_deviation: deviation(&self.upper),
            corrected: self.corrected,
            debiased: self.debiased,
        }
    }

    /// Moves all estimates by so much.
    pub(crate) fn shift(&mut self, by: f64) {
        self.lower.value += by;
        self.upper.value += by;
        self.corrected += by;
        self.debiased = (self.debiased + by).max(0.0);
    }
}

/// Two estimates that enclose the population's value but for chance, with their standard errors.
///
/// What a measure of miscalibration is biased by depends on how much of the axis is calibrated,
/// which the rows tell only in part. The lower estimate takes off all that it may be, the upper one
/// what it is for sure. Where the rows show a gap everywhere both are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// The lower estimate.
    pub lower: f64,
    /// Its standard error.
    pub lower_deviation: f64,
    /// The upper estimate.
    pub upper: f64,
    /// Its standard error.
    pub upper_deviation: f64,
    /// The value with the bias taken off that it would have were the gaps as large as they look.
    pub corrected: f64,
    /// The best single number, never below 0.
    pub debiased: f64,
}

impl Bracket {
    /// The ends of an interval; with one side, the upper one is a limit by itself.
    pub(super) fn ends(&self, tail: f64, sides: Sides) -> (f64, f64) {
        let deviation = self.lower_deviation.max(self.upper_deviation);
        let z = match sides {
            Sides::One => Probit.inverse(1.0 - tail, tail),
            Sides::Two => critical_value(tail, self.upper - self.lower, deviation),
        };
        (self.lower - z * self.lower_deviation, self.upper + z * self.upper_deviation)
    }
}

/// What an interval leaves beyond its ends: `tail` on one side, or twice that on two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    One,
    Two,
}

/// The chance that the truth is beyond either end of an interval from z standard errors below the
/// lower estimate to z above the upper one, where the estimates are `gap` standard errors apart and
/// the truth is at one of them. At any place between them it is less (Imbens and Manski 2004).
fn beyond_ends(z: f64, gap: f64) -> f64 {
    Probit.complement(z) + Probit.complement(z + gap)
}

/// The z for which that chance is `2 tail`: 1.96 for 95 % where both estimates are the same, and
/// 1.645 where they are far apart, since the truth is then near one end only.
fn critical_value(tail: f64, distance: f64, deviation: f64) -> f64 {
    let largest = Probit.inverse(1.0 - tail, tail);
    if !(deviation > 0.0 && distance > 0.0) {
        return largest;
    }
    let gap = distance / deviation;
    // At either of these the chance is 2 tail or more, and it falls with z.
    let both = 2.0 * tail;
    let smallest = if both < 1.0 { Probit.inverse(1.0 - both, both).max(-0.5 * gap) } else { -0.5 * gap };
    let (mut below, mut above) = (smallest, largest);
    for _ in 0..N_HALVINGS {
        let middle = 0.5 * (below + above);
        if beyond_ends(middle, gap) > both { below = middle } else { above = middle }
    }
    above
}

/// Halvings of an interval of some units, to a rounding error.
const N_HALVINGS: usize = 60;

/// A bracket, row by row, so that it can be compared with that of other predictions for the same
/// rows.
#[derive(Debug, Clone)]
pub struct RowBracket {
    /// The measure of the rows, as the bracket has it.
    pub value: f64,
    /// The lower estimate.
    pub lower: RowEnd,
    /// The upper estimate.
    pub upper: RowEnd,
    /// The value with the bias taken off that it would have were the gaps as large as they look.
    pub corrected: f64,
    /// The best single number, never below 0.
    pub debiased: f64,
}

/// An estimate with how each row influences at it.
#[derive(Debug, Clone)]
pub struct RowEnd {
    /// The estimate.
    pub value: f64,
    /// The share of each row in the weight times its influence; they sum to 0.
    pub influences: Vec<f64>,
    /// Variance that the influences lack: few rows may show less noise than calibrated predictions
    /// have.
    pub lacking: f64,
}

/// β of the module's documentation.
fn bias(t: f64) -> f64 {
    let density = (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (2.0 * (density - t * Probit.complement(t))).max(0.0)
}

/// Sums over a set of places.
#[derive(Default, Clone, Copy)]
struct Sums {
    /// ∫ |ĝ|, ∫ ĝ and the corrected ∫ |ĝ|.
    size: f64,
    signed: f64,
    corrected: f64,
    /// ∫ s and ∫ s², with the larger of both deviations.
    noise: f64,
    squares: f64,
    /// ∫ w² s² with w the weights of the corrected integral.
    weighted: f64,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.size += other.size;
        self.signed += other.signed;
        self.corrected += other.corrected;
        self.noise += other.noise;
        self.squares += other.squares;
        self.weighted += other.weighted;
    }
}

impl Places<'_> {
    /// Encloses ∫ |g|.
    pub(crate) fn enclose(&self) -> Enclosure {
        let n = self.values.len();
        let weights: Vec<f64> = (0..n).map(|place| self.corrected_weight(place)).collect();
        let blocks: Vec<Sums> =
            (0..n).step_by(self.block).map(|first| self.sums(first..(first + self.block).min(n), &weights)).collect();
        let shows = self.which_show(&blocks);
        let total = |which: bool| {
            let mut sums = Sums::default();
            blocks.iter().zip(&shows).filter(|(_, shows)| **shows == which).for_each(|(block, _)| sums.add(block));
            sums
        };
        let (seen, quiet) = (total(true), total(false));
        let is_seen = |place: usize| shows[place / self.block];
        let only_seen: Vec<f64> = (0..n).map(|place| if is_seen(place) { weights[place] } else { 0.0 }).collect();
        let corrected = seen.corrected + quiet.corrected;
        if quiet.noise == 0.0 {
            let end = End { value: corrected, weights, quiet: None };
            return Enclosure { lower: end.clone(), upper: end, corrected, debiased: corrected.max(0.0) };
        }

        let likeness = &self.likeness;
        let (signs, signed) = self.largest_with_one_change(&is_seen);
        let variance = likeness.of_values * quiet.squares;
        // How many independent places N is like: with one, no sign pattern was picked.
        let n_quiet = (quiet.noise * quiet.noise / variance).max(1.0);
        let picking = 1.0 - 1.0 / n_quiet;
        let without = |times: f64| (signed * signed - times * variance).max(0.0).sqrt();
        let linear = without(picking);
        let both: Vec<f64> = only_seen.iter().zip(&signs).map(|(seen, sign)| seen + sign).collect();
        let deviation = |weighted: f64| (likeness.of_values * weighted).sqrt();
        let seen_deviation = deviation(seen.weighted);
        let all_deviation = deviation(seen.weighted + quiet.weighted);
        let both_deviation = deviation(seen.weighted + quiet.squares);

        let candidates = [
            (seen.corrected, seen_deviation, true),
            (corrected - KEPT * FLOOR * quiet.noise, all_deviation, true),
            (seen.corrected + linear, both_deviation, signed > PLAIN * variance.sqrt()),
        ];
        let ends = candidates
            .map(|(value, deviation, allowed)| if allowed { value - REACH * deviation } else { f64::NEG_INFINITY });
        let best = (1..3).fold(0, |best, next| if ends[next] > ends[best] { next } else { best });
        let lower_weights = match best {
            0 => only_seen,
            1 => weights.clone(),
            _ => both.clone(),
        };
        let lower = End { value: candidates[best].0, weights: lower_weights, quiet: None };

        let linear_end = seen.corrected + linear;
        let restless = quiet.size - FLOOR * quiet.noise > RESTLESS * (likeness.of_sizes * quiet.squares).sqrt();
        let by_size = restless && corrected + REACH * all_deviation > linear_end + REACH * both_deviation;
        let upper = match by_size {
            true => End { value: corrected.max(linear_end), weights, quiet: None },
            false => End { value: linear_end, weights: both, quiet: Some(signs) },
        };
        let share = 0.5 * (FEW_PLACES / n_quiet).min(1.0);
        let by_blocks = seen.corrected + without(1.0 + 1.25 * picking);
        let debiased = (share * corrected.max(0.0) + (1.0 - share) * by_blocks).max(0.0);
        Enclosure { lower, upper, corrected, debiased }
    }

    /// The larger of both deviations.
    fn noise(&self, place: usize) -> f64 {
        self.deviations[place].max(self.null_deviations[place])
    }

    /// |ĝ| / s.
    fn ratio(&self, place: usize) -> f64 {
        let (value, deviation) = (self.values[place].abs(), self.deviations[place]);
        if deviation > 0.0 { value / deviation } else { f64::INFINITY }
    }

    fn corrected_weight(&self, place: usize) -> f64 {
        let value = self.values[place];
        if value == 0.0 { 0.0 } else { value.signum() * (1.0 + 2.0 * Probit.complement(self.ratio(place))) }
    }

    fn sums(&self, places: std::ops::Range<usize>, weights: &[f64]) -> Sums {
        let mut sums = Sums::default();
        for place in places {
            let (value, deviation, noise) = (self.values[place], self.deviations[place], self.noise(place));
            sums.size += value.abs();
            sums.signed += value;
            sums.corrected += value.abs() - if deviation > 0.0 { deviation * bias(self.ratio(place)) } else { 0.0 };
            sums.noise += noise;
            sums.squares += noise * noise;
            sums.weighted += (weights[place] * deviation).powi(2);
        }
        for sum in [
            &mut sums.size,
            &mut sums.signed,
            &mut sums.corrected,
            &mut sums.noise,
            &mut sums.squares,
            &mut sums.weighted,
        ] {
            *sum *= self.length;
        }
        sums
    }

    /// Which blocks show a gap.
    fn which_show(&self, blocks: &[Sums]) -> Vec<bool> {
        let noise: f64 = blocks.iter().map(|block| block.noise).sum();
        let n_occupied = blocks.iter().filter(|block| block.noise > 1e-3 * noise).count().max(1) as f64;
        let tail = (FALSE_BLOCKS / n_occupied).min(0.16);
        let [of_sizes, of_sums] = [tail, 0.5 * tail].map(|tail| Probit.inverse(1.0 - tail, tail));
        let shows = |block: &Sums| {
            let excess = block.size - FLOOR * block.noise;
            excess > of_sizes * (self.likeness.of_sizes * block.squares).sqrt()
                || block.signed.abs() > of_sums * (self.likeness.of_values * block.squares).sqrt()
        };
        blocks.iter().map(shows).collect()
    }

    /// Signs on the quiet places that change once at most, and make the integral of sign times ĝ
    /// there as large as it can be; and that integral.
    fn largest_with_one_change(&self, is_seen: &dyn Fn(usize) -> bool) -> (Vec<f64>, f64) {
        let quiet = |place: usize| if is_seen(place) { 0.0 } else { self.values[place] * self.length };
        let n = self.values.len();
        let total: f64 = (0..n).map(quiet).sum();
        let (mut before, mut best, mut change) = (0.0, total.abs(), 0);
        let mut first_sign = -total.signum();
        for place in 0..n {
            before += quiet(place);
            let difference = 2.0 * before - total;
            if difference.abs() > best {
                (best, change, first_sign) = (difference.abs(), place + 1, difference.signum());
            }
        }
        let sign = |place: usize| match (is_seen(place), place < change) {
            (true, _) => 0.0,
            (false, true) => first_sign,
            (false, false) => -first_sign,
        };
        ((0..n).map(sign).collect(), best)
    }
}
