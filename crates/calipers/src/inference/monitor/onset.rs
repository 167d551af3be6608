//! Since when outcomes are not as expected.
//!
//! With U_s and I_s the score and the information of a shift and a slope, summed over the windows s
//! to T, the log-likelihood of a departure that begins at s is, to second order, at most ½ U_s'
//! I_s⁻¹ U_s above that of none. The onset is the s with the largest value. With a range that the
//! null hypothesis allows, of half-width δ, the size √(U' I⁻¹ U) is reduced by δ √I_00 first.
//!
//! The plausible onsets are those whose value is within 3.7 of the largest. For a change of known
//! size, the excess of the largest value over that of the true onset is the maximum of two walks
//! that fall, one to each side, each above x with a probability of at most e^-x: the truth is
//! within x with a probability of at least (1 - e^-x)², which is 95 % at 3.7.
//! `calipers study monitoring` counts how often it is.
//!
//! T is the window with the largest e-value: if the departure ends, later windows would hide it.

use super::look::{Look, Sums};
use crate::inference::{Interval, IntervalMethod};

/// How far below the largest value an onset is plausible, for 95 %.
const PLAUSIBLE: f64 = 3.7;

/// 97.5 % quantile of the normal distribution.
const TWO_SIDED: f64 = 1.959_963_984_540_054;

/// The window from which on outcomes are not as expected, by maximum likelihood.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Onset {
    /// The name of the window.
    pub window: String,
    /// Its number, from 1.
    pub number: u64,
    /// The first window that is plausible as the onset, at 95 %.
    pub earliest: String,
    /// Its number.
    pub earliest_number: u64,
    /// The last one.
    pub latest: String,
    /// Its number.
    pub latest_number: u64,
    /// The mean shift of the log-odds from the onset to the window with the largest e-value. An
    /// alarm is raised where the shift looks large, so that it is somewhat overstated.
    pub shift: f64,
    /// Where it is, at 95 %, without regard to how the onset was chosen.
    pub shift_interval: Interval,
}

impl Onset {
    /// `None` without looks at rows.
    pub(super) fn of(looks: &[Look]) -> Option<Self> {
        let above = looks.iter().enumerate().filter(|(_, look)| look.is_above_limit);
        let last = above.max_by(|a, b| a.1.log_e_value.total_cmp(&b.1.log_e_value)).map(|(place, _)| place)?;
        let looks = &looks[..=last];
        let mut sums = Sums::default();
        let mut gains: Vec<f64> = looks
            .iter()
            .rev()
            .map(|look| {
                sums.add(&look.sums);
                gain(&sums)
            })
            .collect();
        gains.reverse();
        // The latest of equal ones: windows without rows before the onset change nothing.
        let onset =
            (0..looks.len()).filter(|place| looks[*place].n > 0).max_by(|a, b| gains[*a].total_cmp(&gains[*b]))?;
        let plausible = |place: &usize| gains[*place] >= gains[onset] - PLAUSIBLE && looks[*place].n > 0;
        let (earliest, latest) = ((0..=onset).find(plausible)?, (onset..looks.len()).rev().find(plausible)?);
        let (shift, shift_interval) = shift_since(&looks[onset..]);
        let name = |place: usize| looks[place].window.clone();
        Some(Onset {
            window: name(onset),
            number: looks[onset].number,
            earliest: name(earliest),
            earliest_number: looks[earliest].number,
            latest: name(latest),
            latest_number: looks[latest].number,
            shift,
            shift_interval,
        })
    }
}

/// By how much the log-likelihood of the best departure is above that of none.
fn gain(sums: &Sums) -> f64 {
    let ([u, v], [a, b, c]) = (sums.score, sums.information);
    if !(a > 0.0) {
        return 0.0;
    }
    // The slope beside the shift; left out where scores do not tell them apart.
    let (rest, left) = (c - b * b / a, v - u * b / a);
    let slope = if rest > 1e-9 * (a + c) { left * left / rest } else { 0.0 };
    let size = (u * u / a + slope).sqrt() - sums.allowed / a.sqrt();
    0.5 * size.max(0.0) * size.max(0.0)
}

/// The mean of the windows' shifts, each with its information at what is expected as weight: a
/// weight that depends on the outcomes would make it biased.
fn shift_since(looks: &[Look]) -> (f64, Interval) {
    let (mut total, mut sum, mut variance) = (0.0, 0.0, 0.0);
    for look in looks.iter().filter(|look| look.n > 0) {
        let weight = look.sums.information[0];
        total += weight;
        sum += weight * look.shift;
        variance += (weight * look.shift_standard_error).powi(2);
    }
    let (shift, half) = (sum / total, TWO_SIDED * variance.sqrt() / total);
    let interval = Interval {
        lower: shift - half,
        upper: shift + half,
        level: 0.95,
        method: IntervalMethod::Normal,
        is_upper_limit: false,
    };
    (shift, interval)
}
